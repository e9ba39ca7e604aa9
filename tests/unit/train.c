/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/train.c: the evaluator against closed forms and a second simulation; every policy against
 * reference values; costs; pictures; failing allocations. */
#include "unit/test.h"

#include "core/alloc.h"
#include "core/json.h"
#include "train/traffic.h"
#include "unit/train_reference.h"

#define PAPER "linear:1.4e-3,1.7e-9,1.5,1.6967e-9" /* its a, b, gamma and 9.43 Gb/s link */

static void near(double found, double wanted, double tolerance)
{
    if (!(fabs(found - wanted) <= tolerance * fabs(wanted)))
        fail_msg("%.9g should be %.9g", found, wanted);
}

static banyan_cost cost_of(const char *text)
{
    banyan_cost cost;
    banyan_error err;

    if (banyan_cost_parse(text, &cost, &err))
        fail_msg("%s", err.text);
    return cost;
}

static banyan_model *load(const char *name)
{
    banyan_model *model;
    banyan_error err;

    if (banyan_model_load(name, 4, &model, &err))
        fail_msg("%s", err.text);
    return model;
}

static banyan_grouping *plan(const char *policy, const banyan_model *model, const banyan_cost *cost,
                             int streams)
{
    banyan_train_problem problem = {model, cost, streams, 0};
    banyan_grouping *grouping;
    banyan_error err;

    if (banyan_policy_plan(banyan_policy_find(policy), &problem, &grouping, &err))
        fail_msg("%s", err.text);
    return grouping;
}

TEST(two_at_once_take_the_papers_closed_form)
{
    banyan_cost cost = cost_of("linear:1e-3,1e-9,1.5,none");
    banyan_traffic traffic = {.now_s = 0};

    /* Both at 0: a + gamma b m, equation 9. */
    banyan_traffic_send(&traffic, &cost, 0, 1e6, 0, 1, NULL);
    banyan_traffic_send(&traffic, &cost, 1, 1e6, 0, 1, NULL);
    near(banyan_traffic_end(&traffic, &cost), 1e-3 + 1.5e-3, 1e-12);
    /* One after the other: 2a + 2bm, equation 8. */
    traffic = (banyan_traffic){.now_s = 0};
    banyan_traffic_send(&traffic, &cost, 0, 1e6, 0, 0, NULL);
    banyan_traffic_send(&traffic, &cost, 1, 1e6, 0, 0, NULL);
    near(traffic.now_s, 2e-3, 1e-12);
    near(banyan_traffic_end(&traffic, &cost), 4e-3, 1e-12);
}

TEST(a_start_up_takes_no_bandwidth)
{
    banyan_cost cost = cost_of("linear:1e-3,1e-9,2");
    banyan_traffic traffic = {.now_s = 0};

    /* The second starts up while the first is on the wire, and comes onto it just as the first leaves. */
    banyan_traffic_send(&traffic, &cost, 0, 1e6, 0, 1, NULL);
    banyan_traffic_send(&traffic, &cost, 1, 1e6, 1e-3, 1, NULL);
    near(banyan_traffic_end(&traffic, &cost), 3e-3, 1e-12);
}

TEST(the_evaluator_agrees_with_a_second_simulation)
{
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        banyan_random random = {seed};
        banyan_tensor tensors[REFERENCE_MOST];
        banyan_model model = random_model(&random, tensors, REFERENCE_MOST);
        banyan_cost cost = random_cost(&random);
        reference_group groups[REFERENCE_MOST];
        banyan_traffic traffic = {.now_s = 0};
        double found_s, wanted_s;

        for (int i = 0; i < model.tensor_count; i++) {
            int level = banyan_random_below(&random, BANYAN_MAX_STREAMS);

            groups[i] = (reference_group){
                .ready_s = tensors[i].ready_s, .bytes = (double)tensors[i].bytes, .level = level};
            banyan_traffic_send(&traffic, &cost, i, groups[i].bytes, groups[i].ready_s, level, NULL);
        }
        found_s = banyan_traffic_end(&traffic, &cost);
        wanted_s = reference_end(groups, model.tensor_count, &cost);
        if (fabs(found_s - wanted_s) > 1e-10)
            fail_msg("%.12g should be %.12g; seed %llu", found_s, wanted_s, (unsigned long long)seed);
    }
}

/* Seconds per iteration with the paper's a, b, gamma and link cap. */
typedef struct {
    const char *model, *policy;
    int streams;
    double iteration_s;
    int groups; /* 0: any */
} expectation;

static const expectation expectations[] = {
    {"resnet152", "wfbp", 0, 1.154, 467},
    {"resnet152", "single", 0, .684, 1},
    {"resnet152", "mg-wfbp", 0, .666, 2},
    {"resnet152", "asc-wfbp-printed", 0, .665, 5},
    {"resnet152", "asc-wfbp-theorem1", 0, .665, 2},
    {"resnet152", "asc-wfbp-released", 0, .506, 5},
    {"resnet152", "asc-wfbp", 0, .501, 0},
    {"resnet152", "ddp", 0, .515, 0},
    {"resnet152", "ddp", 2, .506, 0},
    {"resnet152", "horovod", 0, .557, 0},
    {"resnet152", "optimal", 1, .506, 4},
    {"resnet152", "optimal", 2, .501, 0},
    {"densenet201", "wfbp", 0, 1.055, 604},
    {"densenet201", "single", 0, .356, 1},
    {"densenet201", "mg-wfbp", 0, .235, 3},
    {"densenet201", "asc-wfbp-printed", 0, .243, 14},
    {"densenet201", "asc-wfbp-theorem1", 0, .233, 3},
    {"densenet201", "asc-wfbp-released", 0, .220, 9},
    {"densenet201", "asc-wfbp", 0, .220, 0},
    {"densenet201", "ddp", 0, .253, 0},
    {"densenet201", "horovod", 0, .256, 0},
    {"densenet201", "optimal", 1, .220, 7},
    {"densenet201", "optimal", 2, .220, 0},
    {"inceptionv4", "wfbp", 0, .982, 449},
    {"inceptionv4", "single", 0, .481, 1},
    {"inceptionv4", "mg-wfbp", 0, .426, 2},
    {"inceptionv4", "asc-wfbp-printed", 0, .430, 10},
    {"inceptionv4", "asc-wfbp-theorem1", 0, .424, 2},
    {"inceptionv4", "asc-wfbp-released", 0, .357, 4},
    {"inceptionv4", "asc-wfbp", 0, .354, 0},
    {"inceptionv4", "ddp", 0, .365, 0},
    {"inceptionv4", "horovod", 0, .395, 0},
    {"inceptionv4", "optimal", 1, .358, 3},
    {"inceptionv4", "optimal", 2, .354, 0},
    {"bert_base", "wfbp", 0, 1.174, 206},
    {"bert_base", "single", 0, 1.056, 1},
    {"bert_base", "mg-wfbp", 0, .898, 5},
    {"bert_base", "asc-wfbp-printed", 0, .892, 38},
    {"bert_base", "asc-wfbp-theorem1", 0, .895, 5},
    {"bert_base", "asc-wfbp-released", 0, .893, 8},
    {"bert_base", "asc-wfbp", 0, .892, 0},
    {"bert_base", "ddp", 0, .918, 0},
    {"bert_base", "horovod", 0, .943, 0},
    {"bert_base", "optimal", 1, .898, 5},
    {"bert_base", "optimal", 2, .891, 0},
};

static void check_expectation(const expectation *e, const char *cost_text, double tolerance)
{
    banyan_cost cost = cost_of(cost_text);
    banyan_model *model = load(e->model);
    banyan_grouping *g = plan(e->policy, model, &cost, e->streams);

    if (fabs(g->iteration_s / e->iteration_s - 1) > tolerance || (e->groups && g->group_count != e->groups))
        fail_msg("%s, %s: %.4f s in %d groups, not %.4f in %d", e->model, e->policy, g->iteration_s,
                 g->group_count, e->iteration_s, e->groups);
    assert_true(g->iteration_s >= g->bound_s - 1e-12);
    near(g->iteration_s, g->forward_s + g->backward_s + g->exposed_comm_s, 1e-12);
    banyan_grouping_destroy(g);
    banyan_model_destroy(model);
}

TEST(policies_take_as_long_as_the_reference_says)
{
    for (size_t i = 0; i < sizeof expectations / sizeof *expectations; i++)
        check_expectation(&expectations[i], PAPER, 0.004);
}

TEST(without_a_stated_link_one_all_reduce_fills_it)
{
    for (size_t i = 0; i < sizeof expectations / sizeof *expectations; i++)
        check_expectation(&expectations[i], "linear:1.4e-3,1.7e-9,1.5", 0.006);
}

TEST(theorem_1_is_not_optimal_on_three_tensors)
{
    banyan_tensor tensors[] = {
        {(char *)"a", 2 << 20, 1.0e-3}, {(char *)"b", 1 << 20, 2.1e-3}, {(char *)"c", 1 << 19, 3.1e-3}};
    banyan_model model = {
        .name = (char *)"three", .tensors = tensors, .tensor_count = 3, .backward_s = 3.1e-3};
    banyan_cost cost = cost_of("linear:1.4e-3,1.7e-9,1.5,none");
    banyan_grouping *printed = plan("asc-wfbp-printed", &model, &cost, 0);
    banyan_grouping *repaired = plan("asc-wfbp", &model, &cost, 0);
    banyan_grouping *best = plan("optimal", &model, &cost, 2);

    near(printed->iteration_s, 10.74e-3, 1e-3); /* all merged */
    assert_int_equal(printed->group_count, 1);
    near(best->iteration_s, 7.91e-3, 1e-3); /* the first, and the others merged beside it */
    assert_int_equal(best->group_count, 2);
    assert_int_equal(best->groups[0].part_count, 1);
    near(best->iteration_s, reference_best(&model, &cost, 2), 1e-9);
    assert_true(repaired->iteration_s < printed->iteration_s);
    banyan_grouping_destroy(printed);
    banyan_grouping_destroy(repaired);
    banyan_grouping_destroy(best);
}

TEST(costs_are_read_as_written)
{
    banyan_cost cost = cost_of("linear:1e-3,2e-9,1.5,none");

    near(banyan_cost_seconds(&cost, 1e6), 3e-3, 1e-12);
    near(cost.speed[1], 1, 1e-12);
    near(cost.speed[2], 1 / 1.5, 1e-12);
    near(cost.speed[4], 1 / 2.25, 1e-12);
    near(banyan_cost_gain(&cost, 2), 2 / 1.5, 1e-12);
    cost = cost_of("linear:1e-3,2e-9,1.5"); /* the link is full with one */
    near(cost.speed[2], 0.5, 1e-12);
    near(banyan_cost_gain(&cost, 8), 1, 1e-12);
    cost = cost_of("linear:1e-3,2e-9,1.5,1.6e-9"); /* room for a quarter more */
    near(cost.speed[2], 2 / 3.2, 1e-12);
    cost = cost_of("linear:0,2e-9,3"); /* two get in each other's way */
    near(cost.speed[2], 1 / 3.0, 1e-12);
    cost = cost_of("linear:0,2e-9,1,4e-9"); /* the link itself is slower than b */
    near(cost.s_per_byte, 4e-9, 1e-12);
}

TEST(wrong_costs_are_refused_with_a_sentence)
{
    static const struct {
        const char *text, *says;
    } wrong[] = {{"", "is not linear:A,B"},
                 {"linear:", "is not linear:A,B"},
                 {"linear:1e-3", "is not linear:A,B"},
                 {"cubic:1,2", "is not linear:A,B"},
                 {"linear:1e-3,1e-9x", "is not linear:A,B"},
                 {"linear:1e-3,1e-9,1.5,1e-9,7", "is not linear:A,B"},
                 {"linear:1e-3,none", "is not linear:A,B"},
                 {"linear:-1,1e-9", "a start-up of -1 s is not from 0 to 3600 s"},
                 {"linear:nan,1e-9", "a start-up of nan s"},
                 {"linear:1e-3,0", "0 s per byte is not above 0"},
                 {"linear:1e-3,inf", "inf s per byte"},
                 {"linear:1e-3,1e-9,0.5", "gamma 0.5 is not from 1 to 16"},
                 {"linear:1e-3,1e-9,1.5,-1", "the link's -1 s per byte"},
                 {"table:", "is not table:BYTES=SECONDS"},
                 {"table:1=2,", "is not table:BYTES=SECONDS"},
                 {"table:1=2,3", "is not table:BYTES=SECONDS"},
                 {"table:1=2,3=4;", "is not table:BYTES=SECONDS"},
                 {"table:1=2,3=4;0.5;", "is not table:BYTES=SECONDS"},
                 {"table:1=2", "a table has 2 to 24 sizes, not 1"},
                 {"table:3=2,1=4", "is not above the one before"},
                 {"table:1=2,3=4;-1", "speed -1 of each of 2"}};
    banyan_cost cost;
    banyan_error err;

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(banyan_cost_parse(wrong[i].text, &cost, &err), BANYAN_INVALID_ARGUMENT);
        CHECK_SAYS(err, wrong[i].says);
    }
}

TEST(a_line_is_found_through_its_points)
{
    double bytes[] = {4096, 65536, 1 << 20, 1 << 24}, seconds[4], worst;
    banyan_cost cost;
    banyan_error err;

    for (int i = 0; i < 4; i++)
        seconds[i] = 3e-4 + 5e-10 * bytes[i];
    assert_int_equal(banyan_cost_fit(bytes, seconds, 4, &cost, &worst, NULL), 0);
    near(cost.start_s, 3e-4, 1e-9);
    near(cost.s_per_byte, 5e-10, 1e-9);
    assert_true(worst < 1e-9);
    seconds[2] *= 1.2;
    assert_int_equal(banyan_cost_fit(bytes, seconds, 4, &cost, &worst, NULL), 0);
    assert_true(worst > 0.02 && worst < 0.2);
    assert_int_equal(banyan_cost_fit(bytes, seconds, 1, &cost, &worst, &err), BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "a line needs two sizes");
    for (int i = 0; i < 4; i++)
        seconds[i] = 1 - 0.1 * i;
    assert_int_equal(banyan_cost_fit(bytes, seconds, 4, &cost, &worst, &err), BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "does not grow with size");
    seconds[1] = 0;
    assert_int_equal(banyan_cost_fit(bytes, seconds, 4, &cost, &worst, &err), BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "fit no line");
}

TEST(a_table_is_straight_between_its_sizes_and_goes_on_beyond)
{
    double bytes[] = {1000, 3000, 10000}, seconds[] = {3, 5, 6}, worst;
    banyan_cost cost;
    banyan_error err;

    assert_int_equal(banyan_cost_table(bytes, seconds, 3, &cost, &worst, NULL), 0);
    near(cost.start_s, 2, 1e-12);
    near(banyan_cost_seconds(&cost, 500), 2.5, 1e-12);
    near(banyan_cost_seconds(&cost, 1000), 3, 1e-12);
    near(banyan_cost_seconds(&cost, 2000), 4, 1e-12);
    near(banyan_cost_seconds(&cost, 6500), 5.5, 1e-12);
    near(banyan_cost_seconds(&cost, 17000), 7, 1e-12);
    near(cost.least_s_per_byte, 1 / 7000.0, 1e-12);
    seconds[1] = 2; /* faster than a smaller one: as fast */
    seconds[2] = 20;
    assert_int_equal(banyan_cost_table(bytes, seconds, 3, &cost, &worst, NULL), 0);
    near(banyan_cost_seconds(&cost, 3000), 3, 1e-12);
    assert_int_equal(banyan_cost_table(bytes, seconds, 1, &cost, &worst, &err), BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "a table has 2 to 24 sizes, not 1");
    bytes[1] = 1000;
    assert_int_equal(banyan_cost_table(bytes, seconds, 3, &cost, &worst, &err), BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "size 1, 1000 bytes, is not above the one before");
    seconds[0] = 0;
    assert_int_equal(banyan_cost_table(bytes, seconds, 3, &cost, &worst, &err), BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "1000 bytes in 0 s");
}

TEST(a_table_is_read_as_it_was_written)
{
    banyan_cost cost = cost_of("table:4096=1e-4,65536=3e-4,1048576=2e-3;0.7,0.5"), again;
    char *text;

    near(banyan_cost_seconds(&cost, 65536), 3e-4, 1e-12);
    near(cost.speed[2], 0.7, 1e-12);
    near(cost.speed[3], 0.5, 1e-12);
    near(cost.speed[4], 0.375, 1e-12);
    assert_int_equal(banyan_cost_format(&cost, &text, NULL), 0);
    again = cost_of(text);
    assert_int_equal(again.point_count, 3);
    for (double bytes = 100; bytes < 1e8; bytes *= 3)
        near(banyan_cost_seconds(&again, bytes), banyan_cost_seconds(&cost, bytes), 1e-12);
    for (int c = 1; c <= BANYAN_MAX_STREAMS; c++)
        near(again.speed[c], cost.speed[c], 1e-12);
    banyan_free(text);
    cost = cost_of("linear:1e-3,2e-9,1.5,none");
    assert_int_equal(banyan_cost_format(&cost, &text, NULL), 0);
    again = cost_of(text);
    near(banyan_cost_seconds(&again, 5e6), banyan_cost_seconds(&cost, 5e6), 1e-12);
    near(again.speed[2], 1 / 1.5, 1e-12);
    banyan_free(text);
}

TEST(impossible_problems_are_refused)
{
    banyan_tensor tensors[] = {{(char *)"a", 4, 2}, {(char *)"b", 4, 1}};
    banyan_model model = {.name = (char *)"odd", .tensors = tensors, .tensor_count = 2, .backward_s = 2};
    banyan_cost cost = cost_of(PAPER);
    banyan_train_problem problem = {&model, &cost, BANYAN_MAX_STREAMS + 1, 0};
    banyan_grouping *grouping;
    banyan_error err;

    assert_int_equal(banyan_policy_plan(banyan_policy_at(0), &problem, &grouping, &err),
                     BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "9 all-reduces at a time are not from 1 to 8");
    problem.streams = 0;
    assert_int_equal(banyan_policy_plan(banyan_policy_at(0), &problem, &grouping, &err),
                     BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "tensor 1 is ready at 1 s, before 2 s");
    model.tensor_count = 0;
    assert_int_equal(banyan_policy_plan(banyan_policy_at(0), &problem, &grouping, &err),
                     BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "odd has 0 tensors");
    assert_null(grouping);
    assert_null(banyan_policy_find("best"));
    assert_null(banyan_policy_at(banyan_policy_count()));
}

TEST(pictures_are_well_formed)
{
    banyan_model *model = load("vgg16");
    banyan_cost cost = cost_of(PAPER);
    banyan_training trainings[2];
    banyan_json *json;
    char *text;
    banyan_error err;

    trainings[0] = (banyan_training){"a & b", plan("wfbp", model, &cost, 0)};
    trainings[1] = (banyan_training){"<two>", plan("optimal", model, &cost, 2)};
    assert_int_equal(banyan_training_export_trace(model, trainings, 2, &text, NULL), 0);
    if (banyan_json_parse(text, strlen(text), &json, &err))
        fail_msg("%s", err.text);
    /* names of lanes and processes, forward, every tensor, every group */
    assert_int_equal(banyan_json_count(banyan_json_field(json, "traceEvents")),
                     1 + 3 + 4 + 2 * (1 + model->tensor_count) + trainings[0].grouping->group_count +
                         trainings[1].grouping->group_count);
    banyan_json_destroy(json);
    banyan_free(text);
    assert_int_equal(banyan_training_draw_svg(model, trainings, 2, &text, NULL), 0);
    assert_non_null(strstr(text, "&lt;two&gt;"));
    assert_null(strstr(text, "nan"));
    assert_int_equal(strncmp(text, "<svg", 4), 0);
    banyan_free(text);
    for (int i = 0; i < 2; i++)
        banyan_grouping_destroy((banyan_grouping *)trainings[i].grouping);
    banyan_model_destroy(model);
}

/* Everything in a row; the status of the first that failed. */
static banyan_status do_all(const char *policy, int streams, const char *cost_text)
{
    static const char csv[] =
        "name,elements,t_b\na,3000000,1e-3\nb,100,1e-4\nc,100000,1e-3\nd,7,0\ne,90,1e-3\n"
        "f,40000,1e-3\ng,100,1e-4\nh,100000,1e-3\ni,7,0\nj,90,1e-3\nk,5000000,1e-3\n";
    banyan_cost cost = cost_of(cost_text);
    banyan_model *model = NULL;
    banyan_grouping *grouping = NULL;
    banyan_status status = banyan_model_parse(csv, sizeof csv - 1, "small", 4, &model, NULL);
    char *picture = NULL, *trace = NULL;

    if (!status) {
        banyan_train_problem problem = {model, &cost, streams, 0};

        status = banyan_policy_plan(banyan_policy_find(policy), &problem, &grouping, NULL);
    }
    if (!status && !strcmp(policy, "wfbp")) { /* once is enough */
        banyan_training training = {policy, grouping};

        status = banyan_training_draw_svg(model, &training, 1, &picture, NULL);
        if (!status)
            status = banyan_training_export_trace(model, &training, 1, &trace, NULL);
    }
    banyan_free(picture);
    banyan_free(trace);
    banyan_grouping_destroy(grouping);
    banyan_model_destroy(model);
    return status;
}

static void walk_allocations(const char *policy, int streams, const char *cost)
{
    banyan_status status = BANYAN_SYSTEM_ERROR;
    long calls = 0;

    for (; status; calls++) {
        banyan_alloc_fail_after(calls);
        status = do_all(policy, streams, cost);
        banyan_alloc_fail_after(-1);
        assert_true(calls < 3000);
    }
    assert_true(calls > 10);
}

TEST(every_policy_survives_the_failure_of_each_allocation)
{
    for (int p = 0; p < banyan_policy_count(); p++)
        walk_allocations(banyan_policy_at(p)->name, 0, PAPER);
    walk_allocations("optimal", 2, "linear:1.4e-3,1.7e-9,1.5,none");
    walk_allocations("optimal", 3, "linear:1.4e-3,1.7e-9,1.5,none");
    walk_allocations("optimal", 0, "linear:1.4e-3,1.7e-9,1.5,none");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_at_once_take_the_papers_closed_form),
        cmocka_unit_test(a_start_up_takes_no_bandwidth),
        cmocka_unit_test(the_evaluator_agrees_with_a_second_simulation),
        cmocka_unit_test(policies_take_as_long_as_the_reference_says),
        cmocka_unit_test(without_a_stated_link_one_all_reduce_fills_it),
        cmocka_unit_test(theorem_1_is_not_optimal_on_three_tensors),
        cmocka_unit_test(costs_are_read_as_written),
        cmocka_unit_test(wrong_costs_are_refused_with_a_sentence),
        cmocka_unit_test(a_line_is_found_through_its_points),
        cmocka_unit_test(a_table_is_straight_between_its_sizes_and_goes_on_beyond),
        cmocka_unit_test(a_table_is_read_as_it_was_written),
        cmocka_unit_test(impossible_problems_are_refused),
        cmocka_unit_test(pictures_are_well_formed),
        cmocka_unit_test(every_policy_survives_the_failure_of_each_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
