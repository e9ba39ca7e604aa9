/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/report.c: the data and the page of a report: they parse, hold what they must, stay small, and
 * ask nobody for anything. */
#include "unit/test.h"

#include <math.h>

#include "algorithms/algorithms.h"
#include "core/alloc.h"
#include "core/json.h"
#include "report/moves.h"
#include "report/report.h"
#include "report/use.h"
#include "schedule/export.h"
#include "simulate/paths.h"
#include "simulate/simulate.h"
#include "topology/build.h"
#include "topology/generate.h"

enum { BYTES = 1 << 20 };

typedef struct {
    banyan_topology *topology;
    banyan_schedule *schedule;
    banyan_paths *paths;
    banyan_timeline *timeline;
    banyan_report_result results[2];
    double curve_s[2];
    char is_walked[2];
    size_t sizes[2];
    int *part;
    int64_t *price;
    banyan_report report;
} sample;

static void say(banyan_status status, const char *what, const banyan_error *err)
{
    if (status)
        fail_msg("%s: %s", what, err->text);
}

/* The values that the command line would hand in, with the walk as the judge and every link in the proof. */
static void sample_init(sample *s, const char *spec, const char *algorithm)
{
    banyan_error err = {""};
    banyan_problem problem = {.bytes = BYTES};

    memset(s, 0, sizeof *s);
    say(banyan_topology_generate(spec, &s->topology, &err), spec, &err);
    problem.topology = s->topology;
    problem.active = s->topology->workers;
    problem.active_count = s->topology->worker_count;
    say(banyan_algorithm_build(banyan_algorithm_find(algorithm), &problem, &s->schedule, &err), spec, &err);
    say(banyan_paths_find(s->schedule, s->topology, &s->paths, &err), spec, &err);
    say(banyan_walk(s->schedule, s->topology, BYTES, 0, &s->timeline, &err), spec, &err);
    s->part = banyan_alloc((size_t)s->topology->node_count, sizeof *s->part);
    s->price = banyan_alloc((size_t)s->topology->link_count, sizeof *s->price);
    for (int i = 0; i < s->topology->link_count; i++)
        s->price[i] = 1;
    s->curve_s[0] = 1e-3;
    s->curve_s[1] = NAN;
    s->sizes[0] = 1024;
    s->sizes[1] = 4096;
    s->results[0] = (banyan_report_result){.algorithm = algorithm,
                                           .summary = "a summary",
                                           .predicted_s = s->timeline->total_s,
                                           .model = "walk",
                                           .bytes_per_s = 1e9,
                                           .rounds = s->schedule->round_count,
                                           .flows = s->schedule->flow_count,
                                           .transfers = s->schedule->transfer_count,
                                           .curve_s = s->curve_s,
                                           .is_walked = s->is_walked};
    s->results[1] = (banyan_report_result){
        .algorithm = "other", .summary = "another", .why_not = "it </script> \"cannot\""};
    s->report = (banyan_report){.topology = s->topology,
                                .schedule = s->schedule,
                                .path_of = s->paths->path_of,
                                .path_first = s->paths->first,
                                .path_link = s->paths->link,
                                .predicted = s->timeline,
                                .why = "it is \"fast\"",
                                .bytes = BYTES,
                                .result_count = 2,
                                .results = s->results,
                                .size_count = 2,
                                .sizes = s->sizes,
                                .bound = {.bytes_per_s = 2e9,
                                          .kind = "cut",
                                          .words = "links g0-g1: every byte",
                                          .part_count = 1,
                                          .part = s->part,
                                          .price = s->price}};
}

static void sample_fini(sample *s)
{
    banyan_topology_destroy(s->topology);
    banyan_schedule_destroy(s->schedule);
    banyan_paths_destroy(s->paths);
    banyan_timeline_destroy(s->timeline);
    banyan_free(s->part);
    banyan_free(s->price);
}

static char *format(const sample *s)
{
    banyan_error err = {""};
    char *data;

    say(banyan_report_format(&s->report, &data, &err), s->topology->name, &err);
    return data;
}

static banyan_json *parse(const char *data)
{
    banyan_error err = {""};
    banyan_json *document;

    say(banyan_json_parse(data, strlen(data), &document, &err), "the data", &err);
    return document;
}

static char *make_page(const char *title, const char *data)
{
    banyan_error err = {""};
    char *page = NULL;

    say(banyan_report_page(title, data, &page, &err), "the page", &err);
    return page;
}

static const banyan_json *field(const banyan_json *object, const char *path)
{
    char names[100], *rest, *name;

    snprintf(names, sizeof names, "%s", path);
    for (name = strtok_r(names, ".", &rest); name; name = strtok_r(NULL, ".", &rest)) {
        object = banyan_json_field(object, name);
        if (!object)
            fail_msg("there is no %s", path);
    }
    return object;
}

static double number(const banyan_json *value)
{
    double out = NAN;

    assert_true(banyan_json_get_number(value, &out));
    return out;
}

static const char *string(const banyan_json *value)
{
    const char *out = NULL;

    assert_true(banyan_json_get_string(value, &out));
    return out;
}

static void check_nodes(const sample *s, const banyan_json *document)
{
    const banyan_json *nodes = field(document, "network.nodes");
    char *seen = banyan_alloc((size_t)s->topology->node_count, 1);

    assert_int_equal(banyan_json_count(nodes), s->topology->node_count);
    for (size_t i = 0; i < banyan_json_count(nodes); i++) {
        const banyan_json *node = banyan_json_item(nodes, i);
        int id = (int)number(field(node, "id"));

        assert_in_range(id, 0, s->topology->node_count - 1);
        assert_int_equal(seen[id]++, 0);
        assert_string_equal(string(field(node, "name")), banyan_topology_node_name(s->topology, id));
    }
    banyan_free(seen);
}

/* Loads of all steps together are those of the schedule. */
static void check_loads(const sample *s, const banyan_json *document)
{
    double *load = banyan_alloc((size_t)s->topology->link_count, sizeof *load);
    const banyan_json *steps = field(document, "plan.steps");

    for (size_t i = 0; i < s->schedule->transfer_count; i++) {
        const banyan_transfer *t = &s->schedule->transfers[i];

        for (int j = s->paths->first[s->paths->path_of[i]]; j < s->paths->first[s->paths->path_of[i] + 1];
             j++)
            load[s->paths->link[j]] -= banyan_schedule_share(s->schedule, t->first_piece, t->piece_count);
    }
    for (size_t i = 0; i < banyan_json_count(steps); i++) {
        const banyan_json *pairs = field(banyan_json_item(steps, i), "load");

        for (size_t k = 0; k < banyan_json_count(pairs); k += 2)
            load[(int)number(banyan_json_item(pairs, k))] += number(banyan_json_item(pairs, k + 1));
    }
    for (int i = 0; i < s->topology->link_count; i++)
        if (fabs(load[i]) > 2e-3)
            fail_msg("link %d: the steps are off by %g vectors", i, load[i]);
    banyan_free(load);
}

static const struct {
    const char *spec, *algorithm;
} samples[] = {
    {"hosts:2+3", "ring"},
    {"dgx1", "forest"},
    {"torus:4x4", "bucket"},
    {"torus:3x3x3", "ring"},
    {"fattree:4x4", "ring"},
    {"switch:6", "halving-doubling"},
    {"hosts:1+2", "parameter-server"},
    {"ring:1", "ring"},
};

TEST(the_data_parses_and_names_every_node_and_all_loads)
{
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        banyan_json *document;
        sample s;
        char *data;

        sample_init(&s, samples[i].spec, samples[i].algorithm);
        data = format(&s);
        document = parse(data);
        check_nodes(&s, document);
        check_loads(&s, document);
        assert_int_equal(banyan_json_count(field(document, "plan.moves")), s.schedule->transfer_count);
        assert_int_equal(banyan_json_count(field(document, "plan.trees")), s.schedule->piece_count);
        assert_int_equal(banyan_json_count(field(document, "network.links")), s.topology->link_count);
        assert_string_equal(string(field(document, "why")), "it is \"fast\"");
        assert_string_equal(string(field(document, "bound.words")), "links g0-g1: every byte");
        banyan_json_destroy(document);
        banyan_free(data);
        sample_fini(&s);
    }
}

TEST(links_that_are_slow_or_gone_are_in_the_data)
{
    const banyan_json *damaged, *link;
    banyan_json *document;
    sample s;
    char *data;

    sample_init(&s, "ring:4,down=g0-g1,degrade=g2->g3:0.25", "binomial");
    data = format(&s);
    document = parse(data);
    damaged = field(document, "network.damaged");
    assert_int_equal(banyan_json_count(damaged), 3);
    for (size_t i = 0; i < 3; i++) {
        link = banyan_json_item(damaged, i);
        if ((int)number(banyan_json_item(link, 0)) == 2)
            assert_true(number(banyan_json_item(link, 3)) == 0.25);
        else
            assert_true(number(banyan_json_item(link, 3)) == 0);
    }
    banyan_json_destroy(document);
    banyan_free(data);
    sample_fini(&s);
}

TEST(a_move_says_when_and_where_its_transfer_goes)
{
    const banyan_json *move, *path;
    banyan_json *document;
    double tick_s;
    sample s;
    char *data;

    sample_init(&s, "hosts:2+3", "ring");
    data = format(&s);
    document = parse(data);
    tick_s = number(field(document, "plan.tick_s"));
    for (size_t i = 0; i < s.schedule->transfer_count; i++) {
        const banyan_transfer *t = &s.schedule->transfers[i];
        int first = s.paths->first[s.paths->path_of[i]];

        move = banyan_json_item(field(document, "plan.moves"), i);
        assert_int_equal((int)number(banyan_json_item(move, 0)), t->round);
        assert_int_equal((int)number(banyan_json_item(move, 1)), t->src);
        assert_int_equal((int)number(banyan_json_item(move, 2)), t->dst);
        assert_int_equal((int)number(banyan_json_item(move, 3)), t->action == BANYAN_ACTION_COPY);
        path = banyan_json_item(field(document, "plan.paths"), (size_t)number(banyan_json_item(move, 4)));
        assert_int_equal((int)number(banyan_json_item(path, 0)), s.paths->link[first]);
        assert_true(fabs(number(banyan_json_item(move, 10)) * tick_s - s.timeline->end_s[i]) < 2 * tick_s);
    }
    banyan_json_destroy(document);
    banyan_free(data);
    sample_fini(&s);
}

TEST(a_link_that_is_always_full_is_shown_full)
{
    banyan_text text = BANYAN_TEXT_EMPTY;
    banyan_error err = {""};
    sample s;

    sample_init(&s, "ring:2", "ring");
    for (size_t i = 0; i < s.timeline->count; i++) { /* each way, half a vector and half a vector */
        s.timeline->begin_s[i] = s.schedule->transfers[i].round ? 0.5 : 0;
        s.timeline->end_s[i] = s.schedule->transfers[i].round ? 1 : 0.5;
    }
    for (int i = 0; i < s.topology->link_count; i++)
        s.topology->links[i].bytes_per_s = BYTES * (i ? 1.0 : 4.0);
    say(banyan_report_add_use(&text, &s.report, s.timeline, 1, &err), "use", &err);
    assert_non_null(strstr(text.bytes, ",\"----------"));
    assert_non_null(strstr(text.bytes, "[\"GGGGGGGGGG")); /* a quarter of 63 */
    banyan_text_fini(&text);
    sample_fini(&s);
}

TEST(a_bound_that_is_not_known_is_null)
{
    banyan_json *document;
    sample s;
    char *data;

    sample_init(&s, "ring:4", "ring");
    s.report.bound = (banyan_report_bound){.bytes_per_s = NAN};
    data = format(&s);
    document = parse(data);
    assert_int_equal(banyan_json_kind(field(document, "bound")), BANYAN_JSON_NULL);
    assert_int_equal(
        banyan_json_kind(field(banyan_json_item(field(document, "results"), 0), "share_of_bound")),
        BANYAN_JSON_NULL);
    banyan_json_destroy(document);
    banyan_free(data);
    sample_fini(&s);
}

/* Rings of 256 have 130560 transfers; the file keeps whole trees and says how many. */
TEST(a_page_of_256_workers_stays_below_five_megabytes)
{
    static const char *const specs[] = {"fattree:16x16", "torus:16x16"};
    static const char *const algorithms[] = {"ring", "direct"};

    for (int i = 0; i < 4; i++) {
        banyan_json *document;
        char *data, *page;
        sample s;

        sample_init(&s, specs[i / 2], algorithms[i % 2]);
        s.report.measured = s.timeline;
        data = format(&s);
        page = make_page("large", data);
        assert_in_range(strlen(page), 1000000, 5000000);
        document = parse(data);
        check_nodes(&s, document);
        check_loads(&s, document);
        assert_in_range((int)number(field(document, "plan.shown_transfers")), 1000, 36000);
        assert_in_range(banyan_json_count(field(document, "plan.trees")), 10, 255);
        assert_in_range(banyan_json_count(field(document, "plan.steps")), 16, 130);
        banyan_json_destroy(document);
        banyan_free(page);
        banyan_free(data);
        sample_fini(&s);
    }
}

TEST(the_trees_that_are_kept_are_whole)
{
    banyan_report_moves m;
    banyan_error err = {""};
    size_t *count;
    sample s;

    sample_init(&s, "switch:256", "ring");
    say(banyan_report_moves_find(&s.report, &m, &err), "moves", &err);
    count = banyan_alloc((size_t)s.schedule->piece_count, sizeof *count);
    for (size_t i = 0; i < m.count; i++)
        count[s.schedule->transfers[m.transfers[i]].first_piece]++;
    for (int i = 0; i < m.piece_count; i++)
        assert_int_equal(count[m.pieces[i]], 2 * 255);
    banyan_free(count);
    banyan_report_moves_fini(&m);
    sample_fini(&s);
}

/* How often the word is there. */
static int occurrences(const char *text, const char *word)
{
    int count = 0;

    while ((text = strstr(text, word))) {
        count++;
        text++;
    }
    return count;
}

TEST(the_page_holds_everything_and_asks_nobody)
{
    static const char *const forbidden[] = {"https:",         "src=",      "@import", "url(",  "fetch(",
                                            "XMLHttpRequest", "WebSocket", "{{",      "<link", "import("};
    sample s;
    char *data, *page;

    sample_init(&s, "hosts:2+3", "ring");
    data = format(&s);
    page = make_page("a <b> & \"c\"", data);
    for (size_t i = 0; i < sizeof forbidden / sizeof *forbidden; i++)
        if (strstr(page, forbidden[i]))
            fail_msg("the page holds '%s'", forbidden[i]);
    assert_int_equal(occurrences(page, "http:"), occurrences(page, "http://www.w3.org/2000/svg"));
    assert_non_null(strstr(page, "<title>a &lt;b&gt; &amp; &quot;c&quot;</title>"));
    assert_non_null(strstr(page, "default-src 'none'"));
    /* One script of data and one of code: what stands in the data ends neither. */
    assert_int_equal(occurrences(page, "<script"), 2);
    assert_int_equal(occurrences(page, "</script>"), 2);
    assert_int_equal(occurrences(page, "<style"), occurrences(page, "</style>"));
    assert_int_equal(occurrences(page, "<section"), occurrences(page, "</section>"));
    assert_int_equal(occurrences(page, "<div"), occurrences(page, "</div>"));
    banyan_free(page);
    banyan_free(data);
    sample_fini(&s);
}

static const char *name_of(const void *topology, int node)
{
    return banyan_topology_node_name(topology, node);
}

static char *trace_of(const sample *s)
{
    banyan_error err = {""};
    char *text;

    say(banyan_schedule_export_trace(s->schedule, s->timeline, BYTES, name_of, s->topology, &text, &err),
        "trace", &err);
    return text;
}

static void check_refusal(const sample *s, const char *text, const char *words)
{
    banyan_timeline *timeline;
    banyan_error err = {""};

    assert_int_equal(banyan_report_parse_trace(text, strlen(text), s->schedule, s->topology, &timeline, &err),
                     BANYAN_INVALID_ARGUMENT);
    assert_null(timeline);
    CHECK_SAYS(err, words);
}

TEST(a_trace_gives_back_the_times_that_it_was_written_with)
{
    banyan_timeline *timeline;
    banyan_error err = {""};
    banyan_json *document;
    sample s;
    char *text, *data;

    sample_init(&s, "hosts:2+3", "ring");
    text = trace_of(&s);
    say(banyan_report_parse_trace(text, strlen(text), s.schedule, s.topology, &timeline, &err), "trace",
        &err);
    for (size_t i = 0; i < timeline->count; i++) {
        assert_true(fabs(timeline->begin_s[i] - s.timeline->begin_s[i]) < 1e-12);
        assert_true(fabs(timeline->end_s[i] - s.timeline->end_s[i]) < 1e-12);
    }
    s.report.measured = timeline;
    data = format(&s);
    document = parse(data);
    assert_int_equal(banyan_json_count(banyan_json_item(field(document, "plan.moves"), 0)), 13);
    assert_int_equal(banyan_json_count(field(document, "plan.measured_use")), s.topology->link_count);
    banyan_json_destroy(document);
    banyan_free(data);
    banyan_free(text);
    banyan_timeline_destroy(timeline);
    sample_fini(&s);
}

TEST(transfers_that_were_not_measured_are_left_open)
{
    const char *text = "[{\"ph\":\"X\",\"ts\":5e6,\"dur\":1e6,\"args\":{\"transfer\":3}},{\"ph\":\"M\"}, 7]";
    banyan_timeline *timeline;
    banyan_error err = {""};
    const banyan_json *move;
    banyan_json *document;
    sample s;
    char *data;

    sample_init(&s, "ring:4", "ring");
    say(banyan_report_parse_trace(text, strlen(text), s.schedule, s.topology, &timeline, &err), "trace",
        &err);
    assert_true(timeline->begin_s[3] == 0 && timeline->end_s[3] == 1 && timeline->total_s == 1);
    assert_true(isnan(timeline->begin_s[2]));
    s.report.measured = timeline;
    data = format(&s);
    document = parse(data);
    move = banyan_json_item(field(document, "plan.moves"), 2);
    assert_int_equal(banyan_json_kind(banyan_json_item(move, 11)), BANYAN_JSON_NULL);
    banyan_json_destroy(document);
    banyan_free(data);
    banyan_timeline_destroy(timeline);
    sample_fini(&s);
}

TEST(the_trace_of_another_schedule_is_refused_with_the_transfer)
{
    sample s, other;
    char *text;

    sample_init(&s, "hosts:2+3", "ring");
    sample_init(&other, "hosts:2+3", "double-tree");
    text = trace_of(&other);
    check_refusal(&s, text, "the trace is of another schedule: there transfer ");
    check_refusal(&s, "{\"traceEvents\":[{\"ts\":1,\"dur\":1,\"args\":{\"transfer\":4000}}]}",
                  "it has transfer 4000, and here are 40");
    check_refusal(&s, "{\"traceEvents\":[{\"ts\":1,\"dur\":-1,\"args\":{\"transfer\":4}}]}",
                  "transfer 4 ends before it begins");
    check_refusal(&s, "{\"events\":[]}", "the trace has no \"traceEvents\"");
    check_refusal(&s, "{\"traceEvents\":[]}", "the trace holds no transfer");
    check_refusal(&s, "{\"traceEvents\":", "line 1");
    banyan_free(text);
    sample_fini(&s);
    sample_fini(&other);
}

TEST(a_network_that_is_too_large_to_draw_is_refused)
{
    banyan_topology large = {.name = (char[]){"big"}, .node_count = 5000, .link_count = 2};
    banyan_report report = {.topology = &large};
    banyan_error err = {""};
    char *data;

    assert_int_equal(banyan_report_format(&report, &data, &err), BANYAN_UNSUPPORTED);
    assert_null(data);
    CHECK_SAYS(err, "big has 5000 nodes and 2 links; a report holds at most 4096 and 20000");
}

TEST(every_failing_allocation_is_reported_and_leaks_nothing)
{
    banyan_timeline *timeline = NULL;
    char *data = NULL, *page = NULL, *text;
    banyan_error err;
    sample s;

    sample_init(&s, "hosts:2+3", "ring");
    text = trace_of(&s);
    for (long n = 0; !timeline; n++) {
        banyan_alloc_fail_after(n);
        banyan_report_parse_trace(text, strlen(text), s.schedule, s.topology, &timeline, &err);
    }
    s.report.measured = timeline;
    for (long n = 0; !data; n++) {
        banyan_alloc_fail_after(n);
        if (banyan_report_format(&s.report, &data, &err))
            assert_null(data);
    }
    for (long n = 0; !page; n++) {
        banyan_alloc_fail_after(n);
        banyan_report_page("title", data, &page, &err);
    }
    banyan_alloc_fail_after(-1);
    banyan_free(page);
    banyan_free(data);
    banyan_free(text);
    banyan_timeline_destroy(timeline);
    sample_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_data_parses_and_names_every_node_and_all_loads),
        cmocka_unit_test(links_that_are_slow_or_gone_are_in_the_data),
        cmocka_unit_test(a_move_says_when_and_where_its_transfer_goes),
        cmocka_unit_test(a_link_that_is_always_full_is_shown_full),
        cmocka_unit_test(a_bound_that_is_not_known_is_null),
        cmocka_unit_test(a_page_of_256_workers_stays_below_five_megabytes),
        cmocka_unit_test(the_trees_that_are_kept_are_whole),
        cmocka_unit_test(the_page_holds_everything_and_asks_nobody),
        cmocka_unit_test(a_trace_gives_back_the_times_that_it_was_written_with),
        cmocka_unit_test(transfers_that_were_not_measured_are_left_open),
        cmocka_unit_test(the_trace_of_another_schedule_is_refused_with_the_transfer),
        cmocka_unit_test(a_network_that_is_too_large_to_draw_is_refused),
        cmocka_unit_test(every_failing_allocation_is_reported_and_leaks_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
