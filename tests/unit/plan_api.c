/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/plan_api.c: plan.h as a user of the library sees it: only the public headers are included. */
#include <banyan/plan.h>

#include <math.h>
#include <pthread.h>
#include <unistd.h>

#include "test.h"

static banyan_topology *network(const char *spec)
{
    banyan_topology *topology;
    banyan_error err;

    if (banyan_topology_load(spec, &topology, &err))
        fail_msg("%s", err.text);
    return topology;
}

static banyan_plan *plan(const banyan_topology *topology, const char *algorithm, size_t bytes)
{
    banyan_plan_config config = BANYAN_PLAN_CONFIG_INITIALIZER;
    banyan_plan *made;
    banyan_error err;

    config.algorithm = algorithm;
    config.bytes = bytes;
    if (banyan_plan_create(topology, &config, &made, &err))
        fail_msg("%s", err.text);
    return made;
}

static banyan_plan_info info_of(const banyan_plan *made)
{
    banyan_plan_info info = {.size = sizeof info};

    assert_int_equal(banyan_plan_get_info(made, &info, NULL), BANYAN_SUCCESS);
    return info;
}

static double allreduce_bound(const banyan_topology *topology)
{
    banyan_bounds_info info = {.size = sizeof info};
    banyan_bounds *bounds;

    assert_int_equal(banyan_bounds_create(topology, NULL, &bounds, NULL), BANYAN_SUCCESS);
    assert_int_equal(banyan_bounds_get_info(bounds, &info, NULL), BANYAN_SUCCESS);
    banyan_bounds_destroy(bounds);
    return info.allreduce_bytes_per_s;
}

TEST(a_network_shows_its_nodes_and_links)
{
    banyan_topology *topology = network("hosts:2+3");
    banyan_topology_info info = {.size = sizeof info};
    int src[64], is_switch[64], switches = 0;
    double rate[64], fastest = 0;
    banyan_topology_arrays arrays = {.size = sizeof arrays, .node_is_switch = is_switch, .link_src = src};
    char name[64];

    arrays.link_bytes_per_s = rate;
    assert_int_equal(banyan_topology_get_info(topology, &info, NULL), BANYAN_SUCCESS);
    assert_string_equal(info.name, "hosts:2+3");
    assert_int_equal(info.worker_count, 5);
    assert_int_equal(info.host_count, 2);
    assert_int_equal(strlen(info.digest), 16);
    assert_int_equal(banyan_topology_get_arrays(topology, &arrays, NULL), BANYAN_SUCCESS);
    for (int i = 0; i < info.node_count; i++)
        switches += is_switch[i];
    assert_int_equal(switches, info.node_count - 5);
    for (int i = 0; i < info.link_count; i++)
        fastest = fmax(fastest, rate[i]);
    assert_true(fastest == info.fastest_bytes_per_s);
    assert_string_equal(banyan_topology_node_name(topology, 0), "g0");
    assert_null(banyan_topology_node_name(topology, info.node_count));
    assert_null(banyan_topology_node_name(topology, -1));
    assert_int_equal(src[0], 0);
    assert_int_equal(strncmp(banyan_topology_link_name(topology, 0, name, sizeof name), "g0->", 4), 0);
    assert_string_equal(banyan_topology_link_name(topology, info.link_count, name, sizeof name), "");
    banyan_topology_destroy(topology);
}

TEST(a_network_survives_a_file)
{
    char path[] = "/tmp/banyan-plan-api-XXXXXX";
    int descriptor = mkstemp(path);
    banyan_topology *topology = network("torus:2x3,gbps=10"), *again;
    banyan_topology_info a = {.size = sizeof a}, b = {.size = sizeof b};

    close(descriptor);
    assert_int_equal(banyan_topology_save(topology, path, NULL), BANYAN_SUCCESS);
    assert_int_equal(banyan_topology_import(path, "json", &again, NULL), BANYAN_SUCCESS);
    assert_int_equal(banyan_topology_get_info(topology, &a, NULL), BANYAN_SUCCESS);
    assert_int_equal(banyan_topology_get_info(again, &b, NULL), BANYAN_SUCCESS);
    assert_string_equal(a.digest, b.digest);
    unlink(path);
    banyan_topology_destroy(topology);
    banyan_topology_destroy(again);
}

TEST(a_network_is_drawn_in_every_form)
{
    static const char *const formats[] = {"json", "text", "dot", "svg"};
    banyan_topology *topology = network("hosts:2+3");
    banyan_error err;
    char *text;

    for (int i = 0; i < 4; i++) {
        assert_int_equal(banyan_topology_export(topology, formats[i], &text, NULL), BANYAN_SUCCESS);
        assert_true(strlen(text) > 20);
        banyan_free(text);
    }
    assert_int_equal(banyan_topology_export(topology, "pdf", &text, &err), BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "the format 'pdf' is not json, text, dot or svg");
    assert_null(text);
    banyan_topology_destroy(topology);
}

TEST(damage_lowers_the_bound)
{
    banyan_topology *whole = network("torus:4x4"), *damaged;
    banyan_error err;

    assert_int_equal(banyan_topology_damage(whole, "down=g0-g1", &damaged, NULL), BANYAN_SUCCESS);
    assert_true(allreduce_bound(damaged) < allreduce_bound(whole));
    banyan_topology_destroy(damaged);
    assert_int_equal(banyan_topology_damage(whole, "down=g0-g99", &damaged, &err), BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "g99");
    assert_null(damaged);
    banyan_topology_destroy(whole);
}

TEST(a_plan_reaches_the_bound_and_is_verified)
{
    banyan_topology *topology = network("hosts:2+3");
    banyan_plan *made = plan(topology, "forest", 0);
    banyan_plan_info info = info_of(made);
    banyan_verdict_info judged = {.size = sizeof judged};
    banyan_verdict *verdict;

    assert_string_equal(info.algorithm, "forest");
    assert_null(info.explanation);
    assert_true(info.predicted_s > 0 && info.bytes == (size_t)64 << 20);
    assert_true(info.bytes_per_s >= 0.99 * allreduce_bound(topology));
    assert_true(info.bytes_per_s <= 1.000001 * allreduce_bound(topology));
    assert_int_equal(banyan_schedule_verify(banyan_plan_schedule(made), topology, &verdict, NULL),
                     BANYAN_SUCCESS);
    assert_int_equal(banyan_verdict_get_info(verdict, &judged, NULL), BANYAN_SUCCESS);
    assert_int_equal(judged.problem_count, 0);
    assert_int_equal(judged.is_same_bits, 1);
    assert_null(banyan_verdict_problem(verdict, 0));
    banyan_verdict_destroy(verdict);
    banyan_plan_destroy(made);
    banyan_topology_destroy(topology);
}

TEST(auto_says_why_it_has_chosen)
{
    banyan_topology *topology = network("ring:5");
    banyan_plan *made = plan(topology, NULL, 1 << 20);

    assert_non_null(info_of(made).explanation);
    assert_non_null(strstr(info_of(made).explanation, info_of(made).algorithm));
    banyan_plan_destroy(made);
    banyan_topology_destroy(topology);
}

static banyan_comparison *compare(const banyan_topology *topology, const char *algorithms, size_t bytes,
                                  banyan_comparison_info *info)
{
    banyan_plan_config config = BANYAN_PLAN_CONFIG_INITIALIZER;
    banyan_comparison *comparison;
    banyan_error err;

    config.algorithm = algorithms;
    config.bytes = bytes;
    if (banyan_comparison_create(topology, &config, &comparison, &err))
        fail_msg("%s", err.text);
    info->size = sizeof *info;
    assert_int_equal(banyan_comparison_get_info(comparison, info, NULL), BANYAN_SUCCESS);
    return comparison;
}

TEST(a_comparison_holds_what_a_plan_is_chosen_from)
{
    static const size_t sizes[] = {1 << 10, 64 << 10, 1 << 20, 0};
    banyan_topology *topology = network("hosts:2+3");

    for (int s = 0; s < 4; s++) {
        banyan_comparison_info info;
        banyan_comparison *comparison = compare(topology, NULL, sizes[s], &info);
        banyan_plan *chosen = plan(topology, NULL, sizes[s]);
        banyan_plan_info a = info_of(banyan_comparison_plan(comparison, info.chosen)), b = info_of(chosen);

        assert_string_equal(a.algorithm, b.algorithm);
        assert_string_equal(a.explanation, b.explanation);
        for (int i = 0; i < info.plan_count; i++) {
            banyan_plan_info at = info_of(banyan_comparison_plan(comparison, i));

            assert_int_equal(at.why_not == NULL, i < info.applicable_count);
            assert_int_equal(!banyan_plan_schedule(banyan_comparison_plan(comparison, i)),
                             at.why_not != NULL);
            if (i && !at.why_not)
                assert_true(at.predicted_s >= info_of(banyan_comparison_plan(comparison, i - 1)).predicted_s);
        }
        assert_null(banyan_comparison_plan(comparison, info.plan_count));
        assert_null(banyan_comparison_plan(comparison, -1));
        banyan_plan_destroy(chosen);
        banyan_comparison_destroy(comparison);
    }
    banyan_topology_destroy(topology);
}

TEST(a_comparison_of_some_algorithms_says_which_do_not_apply)
{
    banyan_topology *topology = network("hosts:2+3");
    banyan_plan_config config = BANYAN_PLAN_CONFIG_INITIALIZER;
    banyan_comparison_info info;
    banyan_comparison *comparison = compare(topology, "ring,swing,forest", 0, &info);
    banyan_error err;

    assert_int_equal(info.plan_count, 3);
    assert_int_equal(info.applicable_count, 2);
    assert_string_equal(info_of(banyan_comparison_plan(comparison, 2)).algorithm, "swing");
    banyan_comparison_destroy(comparison);
    comparison = compare(topology, "swing", 0, &info);
    assert_int_equal(info.chosen, -1);
    banyan_comparison_destroy(comparison);
    config.algorithm = "ring,rong";
    assert_int_equal(banyan_comparison_create(topology, &config, &comparison, &err), BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "no algorithm is named rong (did you mean ring?)");
    assert_null(comparison);
    assert_int_equal(banyan_comparison_create(NULL, NULL, &comparison, &err), BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "'topology' is NULL");
    assert_int_equal(banyan_comparison_get_info(NULL, &info, &err), BANYAN_INVALID_ARGUMENT);
    assert_null(banyan_comparison_plan(NULL, 0));
    banyan_comparison_destroy(NULL);
    banyan_topology_destroy(topology);
}

TEST(a_report_shows_the_plan_that_is_chosen)
{
    banyan_topology *topology = network("hosts:2+3");
    banyan_plan_config config = BANYAN_PLAN_CONFIG_INITIALIZER;
    banyan_report_config how = BANYAN_REPORT_CONFIG_INITIALIZER;
    banyan_report_info info = {.size = sizeof info};
    banyan_plan *chosen = plan(topology, NULL, 64 << 10);
    banyan_error err;
    char *text;

    config.bytes = 64 << 10;
    assert_int_equal(banyan_report_create(topology, &config, NULL, &text, &info, NULL), BANYAN_SUCCESS);
    assert_int_equal(strncmp(text, "<!DOCTYPE html>", 15), 0);
    assert_string_equal(info.algorithm, info_of(chosen).algorithm);
    assert_true(info.predicted_s == info_of(chosen).predicted_s);
    assert_true(info.bound_bytes_per_s == allreduce_bound(topology));
    banyan_free(text);
    banyan_plan_destroy(chosen);
    how.format = "json";
    config.algorithm = "ring";
    assert_int_equal(banyan_report_create(topology, &config, &how, &text, NULL, NULL), BANYAN_SUCCESS);
    assert_int_equal(text[0], '{');
    banyan_free(text);
    how.format = "pdf";
    assert_int_equal(banyan_report_create(topology, NULL, &how, &text, NULL, &err), BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "the format 'pdf' is not html or json");
    config.collective = "broadcast";
    assert_int_equal(banyan_report_create(topology, &config, NULL, &text, NULL, &err), BANYAN_UNSUPPORTED);
    CHECK_SAYS(err, "a report is about all-reduce alone");
    assert_null(text);
    assert_int_equal(banyan_report_create(NULL, NULL, NULL, &text, NULL, &err), BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "'topology' is NULL");
    banyan_topology_destroy(topology);
}

/* Bucket applies to grids alone, which planning would say if anything were planned. */
TEST(a_network_that_is_too_large_for_a_report_is_refused_before_anything_is_planned)
{
    banyan_topology *topology = network("hosts:5000");
    banyan_plan_config config = BANYAN_PLAN_CONFIG_INITIALIZER;
    banyan_error err;
    char *text;

    config.algorithm = "bucket";
    assert_int_equal(banyan_report_create(topology, &config, NULL, &text, NULL, &err), BANYAN_UNSUPPORTED);
    CHECK_SAYS(err, "a report holds at most 4096 and 20000");
    banyan_topology_destroy(topology);
}

TEST(a_schedule_shows_its_transfers)
{
    banyan_topology *topology = network("ring:4");
    banyan_plan *made = plan(topology, "ring", 0);
    const banyan_schedule *schedule = banyan_plan_schedule(made);
    banyan_schedule_info info = {.size = sizeof info};
    int round[64], src[64], dst[64], is_copy[64], active[4], copies = 0;
    int64_t cut[64];
    banyan_schedule_arrays arrays = {.size = sizeof arrays, .round = round, .src = src, .dst = dst};

    arrays.is_copy = is_copy;
    arrays.active = active;
    arrays.cut = cut;
    assert_int_equal(banyan_schedule_get_info(schedule, &info, NULL), BANYAN_SUCCESS);
    assert_string_equal(info.collective, "allreduce");
    assert_string_equal(info.algorithm, "ring");
    assert_int_equal(info.transfer_count, 24); /* 2 (p - 1) rounds of p */
    assert_int_equal(info.piece_count, 4);
    assert_int_equal(banyan_schedule_get_arrays(schedule, &arrays, NULL), BANYAN_SUCCESS);
    for (int i = 0; i < 24; i++) {
        copies += is_copy[i];
        assert_true(!i || round[i] >= round[i - 1]);
        assert_int_not_equal(src[i], dst[i]);
    }
    assert_int_equal(copies, 12);
    assert_int_equal(active[3], 3);
    assert_true(cut[0] == 0 && cut[4] > cut[3]);
    banyan_plan_destroy(made);
    banyan_topology_destroy(topology);
}

TEST(a_schedule_survives_a_file_and_every_export)
{
    static const char *const formats[] = {"json", "msccl", "dot", "trace", "tables", "text"};
    char path[] = "/tmp/banyan-plan-api-XXXXXX";
    int descriptor = mkstemp(path);
    banyan_topology *topology = network("ring:4");
    banyan_plan *made = plan(topology, "ring", 0);
    banyan_schedule_info a = {.size = sizeof a}, b = {.size = sizeof b};
    banyan_schedule *again;
    char *text;

    close(descriptor);
    assert_int_equal(banyan_schedule_save(banyan_plan_schedule(made), path, NULL), BANYAN_SUCCESS);
    assert_int_equal(banyan_schedule_load(path, &again, NULL), BANYAN_SUCCESS);
    assert_int_equal(banyan_schedule_get_info(banyan_plan_schedule(made), &a, NULL), BANYAN_SUCCESS);
    assert_int_equal(banyan_schedule_get_info(again, &b, NULL), BANYAN_SUCCESS);
    assert_string_equal(a.digest, b.digest);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(banyan_schedule_export(again, topology, formats[i], NULL, &text, NULL),
                         BANYAN_SUCCESS);
        assert_true(strlen(text) > 20);
        banyan_free(text);
    }
    banyan_schedule_destroy(again);
    unlink(path);
    banyan_plan_destroy(made);
    banyan_topology_destroy(topology);
}

TEST(a_prediction_has_a_time_for_each_transfer_at_any_size)
{
    banyan_topology *topology = network("ring:4");
    banyan_plan *made = plan(topology, "ring", 0);
    banyan_prediction_info small = {.size = sizeof small}, large = {.size = sizeof large};
    banyan_prediction *prediction;
    double begin_s[24], end_s[24];

    assert_int_equal(banyan_schedule_predict(banyan_plan_schedule(made), topology, (size_t)1 << 32, NULL,
                                             &prediction, NULL),
                     BANYAN_SUCCESS);
    assert_int_equal(banyan_prediction_get_info(prediction, &small, NULL), BANYAN_SUCCESS);
    assert_int_equal(small.transfer_count, 24);
    assert_int_equal(banyan_prediction_get_times(prediction, begin_s, end_s, NULL), BANYAN_SUCCESS);
    for (int i = 0; i < 24; i++)
        assert_true(begin_s[i] >= 0 && end_s[i] > begin_s[i] && end_s[i] <= small.total_s);
    banyan_prediction_destroy(prediction);
    assert_int_equal(banyan_schedule_predict(banyan_plan_schedule(made), topology, (size_t)1 << 35, NULL,
                                             &prediction, NULL),
                     BANYAN_SUCCESS);
    assert_int_equal(banyan_prediction_get_info(prediction, &large, NULL), BANYAN_SUCCESS);
    assert_true(fabs(large.total_s / small.total_s - 8) < 0.01); /* 32 GiB, eight times 4 GiB */
    assert_true(fabs(large.closed_form_s / large.total_s - 1) < 0.01);
    banyan_prediction_destroy(prediction);
    banyan_plan_destroy(made);
    banyan_topology_destroy(topology);
}

TEST(a_bound_is_checked_by_its_text)
{
    banyan_topology *topology = network("hosts:2+3"), *other = network("hosts:2+3,degrade=h0-net:0.5");
    banyan_bounds_info info = {.size = sizeof info};
    banyan_verdict_info judged = {.size = sizeof judged};
    banyan_bounds *bounds;
    banyan_verdict *verdict;
    banyan_error err;

    assert_int_equal(banyan_bounds_create(topology, NULL, &bounds, NULL), BANYAN_SUCCESS);
    assert_int_equal(banyan_bounds_get_info(bounds, &info, NULL), BANYAN_SUCCESS);
    assert_true(info.is_proven && isnan(info.stages_bytes_per_s) && *info.explanation);
    assert_int_equal(banyan_verify_text(info.json, strlen(info.json), topology, &verdict, NULL),
                     BANYAN_SUCCESS);
    assert_int_equal(banyan_verdict_get_info(verdict, &judged, NULL), BANYAN_SUCCESS);
    assert_int_equal(judged.problem_count, 0);
    banyan_verdict_destroy(verdict);
    assert_int_equal(banyan_verify_text(info.json, strlen(info.json), other, &verdict, NULL), BANYAN_SUCCESS);
    assert_int_equal(banyan_verdict_get_info(verdict, &judged, NULL), BANYAN_SUCCESS);
    assert_int_equal(judged.problem_count, 1);
    assert_non_null(banyan_verdict_problem(verdict, 0));
    banyan_verdict_destroy(verdict);
    assert_int_equal(banyan_verify_text(info.json, strlen(info.json), NULL, &verdict, &err),
                     BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "a bound is verified on its network");
    banyan_bounds_destroy(bounds);
    banyan_topology_destroy(topology);
    banyan_topology_destroy(other);
}

TEST(bounds_of_stages_are_no_larger)
{
    banyan_topology *topology = network("hosts:2+3");
    banyan_bounds_config config = BANYAN_BOUNDS_CONFIG_INITIALIZER;
    banyan_bounds_info info = {.size = sizeof info};
    banyan_bounds *bounds;

    config.stages = "sequential";
    assert_int_equal(banyan_bounds_create(topology, &config, &bounds, NULL), BANYAN_SUCCESS);
    assert_int_equal(banyan_bounds_get_info(bounds, &info, NULL), BANYAN_SUCCESS);
    assert_true(info.allreduce_bytes_per_s <= 1.000001 * allreduce_bound(topology));
    assert_true(info.stages_bytes_per_s > 0 && isnan(info.allgather_bytes_per_s));
    banyan_bounds_destroy(bounds);
    banyan_topology_destroy(topology);
}

TEST(a_wrong_schedule_is_told_from_a_right_one)
{
    static const char text[] =
        "{\"format\":\"banyan-schedule\",\"version\":1,\"collective\":\"allreduce\",\"nodes\":2,"
        "\"active\":[0,1],\"whole\":1,\"cut\":[0,1],\"transfers\":[[0,0,1,0,1,\"reduce\",0,-1]]}";
    banyan_verdict_info judged = {.size = sizeof judged};
    banyan_verdict *verdict;
    banyan_error err;

    if (banyan_verify_text(text, strlen(text), NULL, &verdict, &err))
        fail_msg("%s", err.text);
    assert_int_equal(banyan_verdict_get_info(verdict, &judged, NULL), BANYAN_SUCCESS);
    assert_true(judged.problem_count > 0 && judged.shown_count > 0);
    assert_true(strlen(banyan_verdict_problem(verdict, 0)) > 10);
    assert_null(banyan_verdict_problem(verdict, judged.shown_count));
    banyan_verdict_destroy(verdict);
}

TEST(a_bound_of_one_collective_has_no_file)
{
    banyan_topology *topology = network("hosts:2+3");
    banyan_bounds_config config = BANYAN_BOUNDS_CONFIG_INITIALIZER;
    banyan_bounds_info info = {.size = sizeof info};
    banyan_bounds *bounds;
    banyan_error err;

    config.collective = "allreduce";
    assert_int_equal(banyan_bounds_create(topology, &config, &bounds, NULL), BANYAN_SUCCESS);
    assert_int_equal(banyan_bounds_get_info(bounds, &info, NULL), BANYAN_SUCCESS);
    assert_true(info.allreduce_bytes_per_s > 0 && info.allreduce_is_tight);
    assert_true(isnan(info.allgather_bytes_per_s) && !info.json);
    assert_int_equal(banyan_bounds_save(bounds, "nowhere/bound.json", &err), BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "has no file");
    banyan_bounds_destroy(bounds);
    config.collective = "broadcast";
    assert_int_equal(banyan_bounds_create(topology, &config, &bounds, &err), BANYAN_INVALID_ARGUMENT);
    banyan_topology_destroy(topology);
}

TEST(a_parameter_that_no_algorithm_has_is_refused)
{
    const char *const parameters[] = {"colour", "red", NULL};
    banyan_topology *topology = network("ring:4");
    banyan_plan_config config = BANYAN_PLAN_CONFIG_INITIALIZER;
    banyan_plan *plan;
    banyan_error err;

    config.parameters = parameters;
    assert_int_equal(banyan_plan_create(topology, &config, &plan, &err), BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "no algorithm has a parameter 'colour'");
    banyan_topology_destroy(topology);
}

TEST(one_worker_has_nothing_to_send)
{
    banyan_topology *topology = network("line:1");
    banyan_plan *made = plan(topology, NULL, 0);
    banyan_schedule_info info = {.size = sizeof info};

    assert_int_equal(banyan_schedule_get_info(banyan_plan_schedule(made), &info, NULL), BANYAN_SUCCESS);
    assert_int_equal(info.transfer_count, 0);
    assert_int_equal(info.active_count, 1);
    assert_true(info_of(made).predicted_s == 0);
    assert_true(isinf(allreduce_bound(topology)));
    banyan_plan_destroy(made);
    banyan_topology_destroy(topology);
}

/* A plan that must fail; what it says. */
static banyan_status refused(const char *spec, const banyan_plan_config *config, banyan_error *err)
{
    banyan_topology *topology = network(spec);
    banyan_plan *made;
    banyan_status status = banyan_plan_create(topology, config, &made, err);

    assert_int_not_equal(status, BANYAN_SUCCESS);
    assert_null(made);
    banyan_topology_destroy(topology);
    return status;
}

TEST(what_cannot_be_planned_is_refused_in_one_sentence)
{
    const banyan_plan_config empty = BANYAN_PLAN_CONFIG_INITIALIZER;
    const char *const odd[] = {"trees", NULL}, *const unknown[] = {"colour", "red", NULL};
    banyan_plan_config config = empty;
    banyan_error err;

    config.algorithm = "rign";
    assert_int_equal(refused("ring:4", &config, &err), BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "no algorithm is named rign (did you mean ring?)");
    config = empty;
    config.collective = "alltosome";
    assert_int_equal(refused("ring:4", &config, &err), BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "the collective 'alltosome' is not");
    config = empty;
    config.root = 4;
    assert_int_equal(refused("ring:4", &config, &err), BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "the root 4 is not a rank from 0 to 3");
    config = empty;
    config.active = "0,9";
    assert_int_equal(refused("ring:4", &config, &err), BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "9");
    config = empty;
    config.effort = "timed";
    assert_int_equal(refused("ring:4", &config, &err), BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "the effort is estimate, measure or patient");
    config = empty;
    config.executor = "nccl";
    assert_int_equal(refused("ring:4", &config, &err), BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "the executor 'nccl' is not banyan, msccl or interface");
    config = empty;
    config.bytes = ((size_t)1 << 53) + 1;
    assert_int_equal(refused("ring:4", &config, &err), BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "is too large");
    config = empty;
    config.timeout_ms = -1;
    assert_int_equal(refused("ring:4", &config, &err), BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "a time-out of -1 ms is negative");
    config = empty;
    config.parameters = odd;
    assert_int_equal(refused("ring:4", &config, &err), BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "the parameter 'trees' has no value");
    config.parameters = unknown;
    config.algorithm = "ring";
    assert_int_equal(refused("ring:4", &config, &err), BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "colour");
    config = empty;
    config.algorithm = "swing";
    assert_int_equal(refused("hosts:2+3", &config, &err), BANYAN_UNSUPPORTED);
}

TEST(a_network_that_is_cut_names_a_worker)
{
    banyan_plan_config config = BANYAN_PLAN_CONFIG_INITIALIZER;
    banyan_topology *topology = network("ring:4,down=g1");
    banyan_bounds *bounds;
    banyan_error err;
    int count;

    assert_int_equal(refused("ring:4,down=g1", &config, &err), BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "g1");
    assert_int_equal(banyan_bounds_create(topology, NULL, &bounds, &err), BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "g1");
    assert_null(bounds);
    assert_int_equal(banyan_topology_check(topology, NULL, &count, &err), BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "g1");
    assert_int_equal(banyan_topology_check(topology, "0,2,3", &count, &err), BANYAN_SUCCESS);
    assert_int_equal(count, 3);
    banyan_topology_destroy(topology);
}

static void wait_a_little(void *context, int done, int all)
{
    (void)all;
    *(int *)context = done;
    usleep(2000);
}

TEST(a_time_limit_ends_the_choice)
{
    banyan_plan_config config = BANYAN_PLAN_CONFIG_INITIALIZER;
    banyan_error err;
    int done = 0;

    config.timeout_ms = 1;
    config.progress = wait_a_little;
    config.context = &done;
    assert_int_equal(refused("ring:4", &config, &err), BANYAN_TIMEOUT);
    CHECK_SAYS(err, "time was up after 1 of");
    assert_int_equal(done, 1);
}

static void count_name(void *context, const char *algorithm)
{
    *(int *)context += !strcmp(algorithm, "ring");
}

TEST(each_algorithm_is_named_before_it_is_tried)
{
    banyan_plan_config config = BANYAN_PLAN_CONFIG_INITIALIZER;
    banyan_topology *topology = network("ring:4");
    banyan_comparison *comparison;
    int rings = 0;

    config.begins = count_name;
    config.context = &rings;
    assert_int_equal(banyan_comparison_create(topology, &config, &comparison, NULL), BANYAN_SUCCESS);
    assert_int_equal(rings, 1);
    banyan_comparison_destroy(comparison);
    banyan_topology_destroy(topology);
}

TEST(every_null_is_named)
{
    banyan_topology *topology = network("ring:3");
    banyan_plan *made = plan(topology, "ring", 0);
    const banyan_schedule *schedule = banyan_plan_schedule(made);
    banyan_error err;
    banyan_topology *other;
    banyan_bounds *bounds;
    banyan_schedule *loaded;
    banyan_plan *again;
    banyan_verdict *verdict;
    banyan_prediction *prediction;
    char *text;

#define REFUSES(call, name)                                                                                  \
    do {                                                                                                     \
        memset(&err, 0, sizeof err);                                                                         \
        assert_int_equal(call, BANYAN_INVALID_ARGUMENT);                                                     \
        CHECK_SAYS(err, "the argument '" name "' is NULL");                                                  \
    } while (0)
    REFUSES(banyan_topology_load(NULL, &other, &err), "spec");
    REFUSES(banyan_topology_load("ring:3", NULL, &err), "out");
    REFUSES(banyan_topology_generate(NULL, &other, &err), "spec");
    REFUSES(banyan_topology_import(NULL, "json", &other, &err), "path");
    REFUSES(banyan_topology_import("x", NULL, &other, &err), "form");
    REFUSES(banyan_topology_parse(NULL, 0, &other, &err), "text");
    REFUSES(banyan_topology_discover(NULL, &err), "out");
    REFUSES(banyan_topology_damage(NULL, "", &other, &err), "topology");
    REFUSES(banyan_topology_damage(topology, NULL, &other, &err), "damage");
    REFUSES(banyan_topology_export(NULL, "json", &text, &err), "topology");
    REFUSES(banyan_topology_save(topology, NULL, &err), "path");
    REFUSES(banyan_topology_check(NULL, NULL, NULL, &err), "topology");
    REFUSES(banyan_topology_get_info(NULL, NULL, &err), "topology");
    REFUSES(banyan_topology_get_info(topology, NULL, &err), "banyan_topology_info");
    REFUSES(banyan_topology_get_arrays(topology, NULL, &err), "banyan_topology_arrays");
    REFUSES(banyan_bounds_create(NULL, NULL, &bounds, &err), "topology");
    REFUSES(banyan_bounds_get_info(NULL, NULL, &err), "bounds");
    REFUSES(banyan_bounds_save(NULL, "x", &err), "bounds");
    REFUSES(banyan_schedule_load(NULL, &loaded, &err), "path");
    REFUSES(banyan_schedule_parse(NULL, 0, &loaded, &err), "text");
    REFUSES(banyan_schedule_save(schedule, NULL, &err), "path");
    REFUSES(banyan_schedule_get_info(NULL, NULL, &err), "schedule");
    REFUSES(banyan_schedule_get_arrays(NULL, NULL, &err), "schedule");
    REFUSES(banyan_plan_create(NULL, NULL, &again, &err), "topology");
    REFUSES(banyan_plan_create(topology, NULL, NULL, &err), "out");
    REFUSES(banyan_plan_get_info(NULL, NULL, &err), "plan");
    REFUSES(banyan_schedule_verify(NULL, topology, &verdict, &err), "schedule");
    REFUSES(banyan_verify_text(NULL, 0, topology, &verdict, &err), "text");
    REFUSES(banyan_verdict_get_info(NULL, NULL, &err), "verdict");
    REFUSES(banyan_schedule_predict(NULL, topology, 1, NULL, &prediction, &err), "schedule");
    REFUSES(banyan_schedule_predict(schedule, NULL, 1, NULL, &prediction, &err), "topology");
    REFUSES(banyan_prediction_get_info(NULL, NULL, &err), "prediction");
    REFUSES(banyan_prediction_get_times(NULL, NULL, NULL, &err), "prediction");
    REFUSES(banyan_schedule_export(schedule, NULL, "trace", NULL, &text, &err), "topology");
    REFUSES(banyan_schedule_export(schedule, NULL, NULL, NULL, &text, &err), "format");
    assert_null(banyan_plan_schedule(NULL));
    assert_null(banyan_verdict_problem(NULL, 0));
    banyan_topology_destroy(NULL);
    banyan_bounds_destroy(NULL);
    banyan_schedule_destroy(NULL);
    banyan_plan_destroy(NULL);
    banyan_verdict_destroy(NULL);
    banyan_prediction_destroy(NULL);
    banyan_plan_destroy(made);
    banyan_topology_destroy(topology);
}

TEST(flits_are_counted_cycle_by_cycle)
{
    banyan_topology *topology = network("ring:4");
    banyan_plan *made = plan(topology, "ring", 4096);
    banyan_predict_config config = BANYAN_PREDICT_CONFIG_INITIALIZER;
    banyan_prediction_info info = {.size = sizeof info};
    banyan_prediction *prediction;
    banyan_error err;

    config.model = "flit";
    config.flit = "vcs=4";
    config.slice_bytes = 512; /* each transfer of 1024 bytes twice */
    assert_int_equal(
        banyan_schedule_predict(banyan_plan_schedule(made), topology, 4096, &config, &prediction, NULL),
        BANYAN_SUCCESS);
    assert_int_equal(banyan_prediction_get_info(prediction, &info, NULL), BANYAN_SUCCESS);
    assert_int_equal(info.transfer_count, 48);
    assert_true(info.cycles > 0 && info.link_flits > 0 && info.utilization > 0);
    banyan_prediction_destroy(prediction);
    config.flit = "vcs";
    assert_int_equal(
        banyan_schedule_predict(banyan_plan_schedule(made), topology, 4096, &config, &prediction, &err),
        BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "expected KEY=VALUE, not 'vcs'");
    banyan_plan_destroy(made);
    banyan_topology_destroy(topology);
}

TEST(algorithms_have_names_and_parameters)
{
    int count = 0;

    while (banyan_algorithm_name(count))
        count++;
    assert_true(count > 10);
    assert_null(banyan_algorithm_name(-1));
    assert_int_equal(banyan_algorithm_takes("forest", "max-trees"), 1);
    assert_int_equal(banyan_algorithm_takes("ring", "max-trees"), 0);
    assert_int_equal(banyan_algorithm_takes("nonsense", "max-trees"), 0);
    assert_int_equal(banyan_algorithm_takes(NULL, NULL), 0);
}

TEST(models_refuse_what_they_do_not_know)
{
    banyan_topology *topology = network("ring:3"), *other = network("ring:4");
    banyan_plan *made = plan(topology, "ring", 0);
    const banyan_schedule *schedule = banyan_plan_schedule(made);
    banyan_predict_config config = BANYAN_PREDICT_CONFIG_INITIALIZER;
    banyan_prediction *prediction;
    banyan_error err;

    assert_int_equal(banyan_schedule_predict(schedule, topology, SIZE_MAX, NULL, &prediction, &err),
                     BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "is too large");
    assert_int_equal(banyan_schedule_predict(schedule, other, 1, NULL, &prediction, &err),
                     BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "the schedule is for 3 nodes, but ring:4 has 4");
    config.model = "crystal";
    assert_int_equal(banyan_schedule_predict(schedule, topology, 1, &config, &prediction, &err),
                     BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "the model 'crystal' is not");
    config.model = "walk";
    config.is_lockstep = 1;
    assert_int_equal(banyan_schedule_predict(schedule, topology, 1, &config, &prediction, &err),
                     BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "lockstep is not for the model walk");
    config.model = "fluid";
    config.overhead_s = NAN;
    assert_int_equal(banyan_schedule_predict(schedule, topology, 1, &config, &prediction, &err),
                     BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "is not a time");
    banyan_plan_destroy(made);
    banyan_topology_destroy(topology);
    banyan_topology_destroy(other);
}

TEST(structs_of_other_versions_are_told_from_rubbish)
{
    banyan_topology *topology = network("ring:3");
    banyan_topology_info info = {.size = offsetof(banyan_topology_info, worker_count)};
    banyan_plan_config config = BANYAN_PLAN_CONFIG_INITIALIZER;
    banyan_plan *made;
    banyan_error err;

    info.worker_count = -7; /* beyond what an older header knew: left alone */
    assert_int_equal(banyan_topology_get_info(topology, &info, NULL), BANYAN_SUCCESS);
    assert_int_equal(info.node_count, 3);
    assert_int_equal(info.worker_count, -7);
    info.size = 0;
    assert_int_equal(banyan_topology_get_info(topology, &info, &err), BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "set it to sizeof(banyan_topology_info)");
    info.size = sizeof info + 8;
    assert_int_equal(banyan_topology_get_info(topology, &info, &err), BANYAN_VERSION_MISMATCH);
    config.magic = 1;
    assert_int_equal(banyan_plan_create(topology, &config, &made, &err), BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "the banyan_plan_config does not begin with its initializer");
    config = (banyan_plan_config)BANYAN_PLAN_CONFIG_INITIALIZER;
    config.size = sizeof config + 8;
    assert_int_equal(banyan_plan_create(topology, &config, &made, &err), BANYAN_VERSION_MISMATCH);
    config.size = offsetof(banyan_plan_config, algorithm); /* an older program */
    config.algorithm = "nonsense";
    assert_int_equal(banyan_plan_create(topology, &config, &made, &err), BANYAN_SUCCESS);
    banyan_plan_destroy(made);
    banyan_topology_destroy(topology);
}

/* With idle workers, so that a linear program is solved. */
static void *plan_in_a_thread(void *argument)
{
    banyan_plan_config config = BANYAN_PLAN_CONFIG_INITIALIZER;
    banyan_schedule_info info = {.size = sizeof info};
    banyan_plan *made = NULL;
    char *digest;

    config.algorithm = "forest";
    config.active = "0-3,5";
    banyan_plan_create(argument, &config, &made, NULL);
    banyan_schedule_get_info(banyan_plan_schedule(made), &info, NULL);
    digest = strdup(info.digest);
    banyan_plan_destroy(made);
    return digest;
}

TEST(threads_plan_on_one_network)
{
    banyan_topology *topology = network("hosts:4+3+2");
    pthread_t threads[4];
    void *digests[4];

    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, plan_in_a_thread, topology), 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_join(threads[i], &digests[i]), 0);
    assert_int_equal(strlen(digests[0]), 16); /* there was a plan */
    for (int i = 0; i < 4; i++) {
        assert_string_equal(digests[0], digests[i]);
        if (i)
            free(digests[i]);
    }
    free(digests[0]);
    banyan_topology_destroy(topology);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_network_shows_its_nodes_and_links),
        cmocka_unit_test(a_network_survives_a_file),
        cmocka_unit_test(a_network_is_drawn_in_every_form),
        cmocka_unit_test(damage_lowers_the_bound),
        cmocka_unit_test(a_plan_reaches_the_bound_and_is_verified),
        cmocka_unit_test(auto_says_why_it_has_chosen),
        cmocka_unit_test(a_comparison_holds_what_a_plan_is_chosen_from),
        cmocka_unit_test(a_comparison_of_some_algorithms_says_which_do_not_apply),
        cmocka_unit_test(a_report_shows_the_plan_that_is_chosen),
        cmocka_unit_test(a_network_that_is_too_large_for_a_report_is_refused_before_anything_is_planned),
        cmocka_unit_test(a_schedule_shows_its_transfers),
        cmocka_unit_test(a_schedule_survives_a_file_and_every_export),
        cmocka_unit_test(a_prediction_has_a_time_for_each_transfer_at_any_size),
        cmocka_unit_test(a_bound_is_checked_by_its_text),
        cmocka_unit_test(bounds_of_stages_are_no_larger),
        cmocka_unit_test(a_wrong_schedule_is_told_from_a_right_one),
        cmocka_unit_test(a_bound_of_one_collective_has_no_file),
        cmocka_unit_test(a_parameter_that_no_algorithm_has_is_refused),
        cmocka_unit_test(one_worker_has_nothing_to_send),
        cmocka_unit_test(what_cannot_be_planned_is_refused_in_one_sentence),
        cmocka_unit_test(a_network_that_is_cut_names_a_worker),
        cmocka_unit_test(a_time_limit_ends_the_choice),
        cmocka_unit_test(each_algorithm_is_named_before_it_is_tried),
        cmocka_unit_test(every_null_is_named),
        cmocka_unit_test(flits_are_counted_cycle_by_cycle),
        cmocka_unit_test(algorithms_have_names_and_parameters),
        cmocka_unit_test(models_refuse_what_they_do_not_know),
        cmocka_unit_test(structs_of_other_versions_are_told_from_rubbish),
        cmocka_unit_test(threads_plan_on_one_network),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
