/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/exporters.c: a schedule as DOT, as a Chrome trace and as a table. */
#include "unit/test.h"

#include "core/alloc.h"
#include "core/json.h"
#include "schedule/build.h"
#include "schedule/export.h"

static const char *name_node(const void *context, int node)
{
    static const char *const names[] = {"g0", "g\"1", "g\\2"};

    assert_non_null(context);
    return names[node];
}

/* 1 and 2 send to 0, which sends the sum back; the second half has 2 as its root. */
static banyan_schedule *make_trees(void)
{
    static const int active[] = {0, 1, 2};
    static const int64_t cut[] = {0, 1, 2, 4};
    banyan_schedule *schedule;
    banyan_builder b;

    banyan_builder_init(&b, BANYAN_COLLECTIVE_ALLREDUCE, 0, 3, active, 3);
    banyan_builder_cut(&b, 4, cut, 3);
    for (int i = 1; i < 3; i++) {
        banyan_builder_reduce(&b, 0, i, 0, 0, 2, 0);
        banyan_builder_reduce(&b, 0, i - 1, 2, 2, 1, 1);
        banyan_builder_copy(&b, 1, 0, i, 0, 2, 0);
        banyan_builder_copy(&b, 1, 2, i - 1, 2, 1, 1);
    }
    assert_int_equal(banyan_builder_finish(&b, &schedule, NULL), 0);
    return schedule;
}

static int count_of(const char *text, const char *words)
{
    int count = 0;

    for (; (text = strstr(text, words)); text += strlen(words))
        count++;
    return count;
}

TEST(a_table_has_a_line_for_every_transfer)
{
    banyan_schedule *schedule = make_trees();
    char *text;

    assert_int_equal(banyan_schedule_export_text(schedule, NULL, NULL, 100, &text, NULL), 0);
    assert_non_null(strstr(text, "allreduce of 3 ranks: 3 pieces, 8 transfers in 2 rounds\n"));
    assert_non_null(strstr(text, "\nround 0   1 -> 0   add    pieces 0-1   (1/2)   flow 0\n"));
    assert_non_null(strstr(text, "\n          0 -> 2   add    piece 2      (1/2)   flow 1\n"));
    assert_int_equal(count_of(text, "\nround "), 2);
    assert_int_equal(count_of(text, "\n"), 9);
    banyan_free(text);
    assert_int_equal(banyan_schedule_export_text(schedule, name_node, "", 3, &text, NULL), 0);
    assert_int_equal(count_of(text, "flow"), 3);
    assert_non_null(strstr(text, "... and 5 more\n"));
    assert_non_null(strstr(text, "g\"1 -> g0"));
    banyan_free(text);
    banyan_schedule_destroy(schedule);
}

TEST(a_graph_has_a_cluster_for_every_flow_and_an_edge_for_every_transfer)
{
    banyan_schedule *schedule = make_trees();
    char *text;

    assert_int_equal(banyan_schedule_export_dot(schedule, name_node, "", &text, NULL), 0);
    assert_int_equal(strncmp(text, "digraph schedule {\n", 19), 0);
    assert_int_equal(count_of(text, "subgraph cluster_"), 2);
    assert_int_equal(count_of(text, " -> "), 8);
    assert_int_equal(count_of(text, "style=dashed"), 4);
    assert_int_equal(count_of(text, "{"), count_of(text, "}"));
    assert_non_null(strstr(text, "f0_n1 [label=\"g\\\"1\"];"));
    assert_non_null(strstr(text, "f1_n2 [label=\"g\\\\2\"];"));
    assert_non_null(strstr(text, "f0_n1 -> f0_n0 [label=\"0: 0-1\"];"));
    assert_int_equal(count_of(text, "[label=\"g0\"]"), 2);
    banyan_free(text);
    banyan_schedule_destroy(schedule);
}

static banyan_timeline *make_timeline(const banyan_schedule *schedule)
{
    banyan_timeline *timeline;

    assert_int_equal(banyan_timeline_create(schedule->transfer_count, &timeline, NULL), 0);
    for (size_t i = 0; i < timeline->count; i++) {
        timeline->begin_s[i] = schedule->transfers[i].round * 1e-3;
        timeline->end_s[i] = timeline->begin_s[i] + 1e-3;
    }
    timeline->total_s = 2e-3;
    return timeline;
}

typedef struct {
    int64_t pid, tid;
    double begin, end;
} slice;

TEST(a_trace_is_valid_json_and_its_slices_do_not_overlap)
{
    banyan_schedule *schedule = make_trees();
    banyan_timeline *timeline = make_timeline(schedule);
    int arrows = 0, names = 0, count = 0;
    const banyan_json *events;
    banyan_json *document;
    slice slices[16];
    char *text;

    assert_int_equal(banyan_schedule_export_trace(schedule, timeline, 4096, name_node, "", &text, NULL), 0);
    assert_int_equal(banyan_json_parse(text, strlen(text), &document, NULL), 0);
    events = banyan_json_field(document, "traceEvents");
    for (size_t i = 0; i < banyan_json_count(events); i++) {
        const banyan_json *event = banyan_json_item(events, i);
        const char *phase;
        double duration;

        assert_true(banyan_json_get_string(banyan_json_field(event, "ph"), &phase));
        arrows += !strcmp(phase, "s") || !strcmp(phase, "f");
        names += !strcmp(phase, "M");
        if (strcmp(phase, "X") != 0)
            continue;
        assert_in_range(count, 0, 15);
        assert_true(banyan_json_get_integer(banyan_json_field(event, "pid"), &slices[count].pid));
        assert_true(banyan_json_get_integer(banyan_json_field(event, "tid"), &slices[count].tid));
        assert_true(banyan_json_get_number(banyan_json_field(event, "ts"), &slices[count].begin));
        assert_true(banyan_json_get_number(banyan_json_field(event, "dur"), &duration));
        slices[count].end = slices[count].begin + duration;
        count++;
    }
    assert_int_equal(count, 16);
    assert_int_equal(arrows, 16);
    assert_true(names > 3);
    for (int i = 0; i < count; i++)
        for (int j = 0; j < i; j++)
            if (slices[i].pid == slices[j].pid && slices[i].tid == slices[j].tid)
                assert_true(slices[i].end <= slices[j].begin + 1e-6 ||
                            slices[j].end <= slices[i].begin + 1e-6);
    assert_int_equal(count_of(text, "\"bytes\":2048}"), 16);
    banyan_json_destroy(document);
    banyan_free(text);
    banyan_timeline_destroy(timeline);
    banyan_schedule_destroy(schedule);
}

TEST(a_trace_wants_a_time_for_every_transfer)
{
    banyan_schedule *schedule = make_trees();
    banyan_timeline *timeline = make_timeline(schedule);
    banyan_error err;
    char *text;

    timeline->end_s[3] = 1 / (double)0;
    assert_int_equal(banyan_schedule_export_trace(schedule, timeline, 1, NULL, NULL, &text, &err),
                     BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "transfer 3 has no finite time");
    timeline->count--;
    assert_int_equal(banyan_schedule_export_trace(schedule, timeline, 1, NULL, NULL, &text, &err),
                     BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "the timeline has 7 transfers, the schedule 8");
    banyan_timeline_destroy(timeline);
    banyan_schedule_destroy(schedule);
}

TEST(survives_the_failure_of_each_allocation)
{
    banyan_schedule *schedule = make_trees();
    banyan_timeline *timeline = make_timeline(schedule);

    for (int form = 0; form < 3; form++) {
        char *text = NULL;

        for (long calls = 0; !text; calls++) {
            banyan_alloc_fail_after(calls);
            if (form == 0)
                banyan_schedule_export_text(schedule, NULL, NULL, 100, &text, NULL);
            else if (form == 1)
                banyan_schedule_export_dot(schedule, NULL, NULL, &text, NULL);
            else
                banyan_schedule_export_trace(schedule, timeline, 64, NULL, NULL, &text, NULL);
        }
        banyan_alloc_fail_after(-1);
        banyan_free(text);
    }
    banyan_timeline_destroy(timeline);
    banyan_schedule_destroy(schedule);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_has_a_line_for_every_transfer),
        cmocka_unit_test(a_graph_has_a_cluster_for_every_flow_and_an_edge_for_every_transfer),
        cmocka_unit_test(a_trace_is_valid_json_and_its_slices_do_not_overlap),
        cmocka_unit_test(a_trace_wants_a_time_for_every_transfer),
        cmocka_unit_test(survives_the_failure_of_each_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
