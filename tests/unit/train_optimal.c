/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/train_optimal.c: the optimal policy against exhaustive search, the bound, and itself. */
#include "unit/test.h"

#include "train/traffic.h"
#include "unit/train_reference.h"

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

static double iteration(const char *policy, const banyan_model *model, const banyan_cost *cost, int streams)
{
    banyan_grouping *grouping = plan(policy, model, cost, streams);
    double iteration_s = grouping->iteration_s;

    banyan_grouping_destroy(grouping);
    return iteration_s;
}

/* What any grouping must keep. */
static void check_grouping(const banyan_grouping *g, const banyan_model *model, uint64_t seed)
{
    size_t offset = 0, total = 0;
    int part = 0, tensor = 0;
    double last_s = g->backward_s;

    for (int i = 0; i < g->part_count; i++) { /* parts: every byte of every tensor once, in order */
        if (g->parts[i].tensor != tensor || g->parts[i].offset_bytes != offset || !g->parts[i].bytes)
            fail_msg("part %d is out of order; seed %llu", i, (unsigned long long)seed);
        offset += g->parts[i].bytes;
        if (offset == model->tensors[tensor].bytes) {
            offset = 0;
            tensor++;
        }
    }
    assert_int_equal(tensor, model->tensor_count);
    for (int i = 0; i < g->group_count; i++) {
        const banyan_gradient_group *group = &g->groups[i];

        assert_int_equal(group->first_part, part);
        assert_true(group->part_count > 0 && group->level >= 0 && group->level < g->streams);
        assert_true(group->stream >= 0 && group->stream < g->streams);
        part += group->part_count;
        total += group->bytes;
        assert_true(group->start_s >= model->tensors[g->parts[part - 1].tensor].ready_s);
        assert_true(group->end_s >= group->start_s);
        if (i)
            assert_true(group->start_s >= g->groups[i - 1].start_s);
        for (int k = 0; k < i; k++) /* one at a time on a stream */
            if (g->groups[k].stream == group->stream && g->groups[k].end_s > group->start_s)
                fail_msg("groups %d and %d share a stream; seed %llu", k, i, (unsigned long long)seed);
        last_s = fmax(last_s, group->end_s);
    }
    assert_int_equal(part, g->part_count);
    for (int i = 0; i < model->tensor_count; i++)
        total -= model->tensors[i].bytes;
    assert_int_equal(total, 0);
    assert_true(fabs(g->iteration_s - g->forward_s - last_s) < 1e-12);
    if (g->iteration_s < g->bound_s - 1e-12)
        fail_msg("%.9g is below the bound %.9g; seed %llu", g->iteration_s, g->bound_s,
                 (unsigned long long)seed);
}

static void compare_with_search(int cases, int most, int streams, uint64_t seed)
{
    for (int i = 0; i < cases; i++, seed++) {
        banyan_random random = {seed};
        banyan_tensor tensors[REFERENCE_MOST];
        banyan_model model = random_model(&random, tensors, most);
        banyan_cost cost = random_cost(&random);
        banyan_grouping *g = plan("optimal", &model, &cost, streams);
        double best_s = model.forward_s + fmax(model.backward_s, reference_best(&model, &cost, streams));

        check_grouping(g, &model, seed);
        /* The search stops within 1e-5 of the bound. */
        if (g->iteration_s > best_s * (1 + (streams > 1 ? 1.1e-5 : 1e-12)) ||
            g->iteration_s < best_s * (1 - 1e-9))
            fail_msg("%.9g, but exhaustive search finds %.9g; seed %llu", g->iteration_s, best_s,
                     (unsigned long long)seed);
        banyan_grouping_destroy(g);
    }
}

TEST(one_stream_equals_exhaustive_search_on_a_thousand_cases)
{
    compare_with_search(1000, 9, 1, 1);
}

TEST(two_streams_equal_exhaustive_search_on_two_hundred_cases)
{
    compare_with_search(200, 7, 2, 5000);
}

TEST(three_streams_equal_exhaustive_search_on_fifty_cases)
{
    compare_with_search(50, 5, 3, 9000);
}

/* As measured on a shaped network: small ones are nearly all start-up, so that a byte of theirs seems to cost
 * nothing. */
TEST(the_bound_is_near_where_small_all_reduces_are_all_start_up)
{
    banyan_tensor tensors[2] = {{(char *)"late", 40000000, 0.01}, {(char *)"last", 60000000, 0.02}};
    banyan_model model = {
        .name = (char *)"two", .tensor_count = 2, .tensors = tensors, .forward_s = 0.01, .backward_s = 0.02};
    double bytes[] = {64, 256, 4096, 65536, 1048576, 16777216};
    double seconds[] = {27e-6, 27.1e-6, 50e-6, 520e-6, 8.2e-3, 0.13};
    banyan_grouping *g;
    banyan_cost cost;

    assert_int_equal(banyan_cost_table(bytes, seconds, 6, &cost, NULL, NULL), 0);
    g = plan("optimal", &model, &cost, 1);
    assert_true(g->bound_s <= g->iteration_s);
    if (g->iteration_s > g->bound_s * 1.04)
        fail_msg("%.9g is far above the bound %.9g", g->iteration_s, g->bound_s);
    banyan_grouping_destroy(g);
}

TEST(no_policy_beats_the_optimal_one_with_as_many_streams)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        banyan_random random = {seed};
        banyan_tensor tensors[12];
        banyan_model model = random_model(&random, tensors, 12);
        banyan_cost cost = random_cost(&random);

        for (int streams = 1; streams <= 4; streams++) {
            double best_s = iteration("optimal", &model, &cost, streams);

            for (int p = 0; p < banyan_policy_count(); p++) {
                banyan_grouping *g = plan(banyan_policy_at(p)->name, &model, &cost, streams);

                check_grouping(g, &model, seed);
                if (g->iteration_s < best_s * (1 - 1.1e-5))
                    fail_msg("%s takes %.9g, optimal %.9g; seed %llu", banyan_policy_at(p)->name,
                             g->iteration_s, best_s, (unsigned long long)seed);
                banyan_grouping_destroy(g);
            }
        }
    }
}

/* The search for many tensors is not exact, but must stay near what exact search finds on the same problem
 * made coarse: merging neighbours beforehand can only lose. */
TEST(many_tensors_are_grouped_no_worse_than_their_coarse_form)
{
    for (uint64_t seed = 1; seed <= 8; seed++) {
        banyan_random random = {seed};
        banyan_tensor fine[120], coarse[12];
        banyan_model model = random_model(&random, fine, 1), few = {.name = (char *)"few", .tensors = coarse};
        banyan_cost cost = random_cost(&random);

        model.tensor_count = 120;
        model.backward_s = 0;
        few.tensor_count = 12;
        memset(coarse, 0, sizeof coarse);
        for (int i = 0; i < 120; i++) {
            model.backward_s += 4e-4 * banyan_random_unit(&random);
            fine[i] = (banyan_tensor){(char *)"t", (size_t)(1 + banyan_random_below(&random, 300000)),
                                      model.backward_s};
            coarse[i / 10].name = (char *)"t";
            coarse[i / 10].bytes += fine[i].bytes;
            coarse[i / 10].ready_s = model.backward_s;
        }
        few.forward_s = model.forward_s;
        few.backward_s = model.backward_s;
        for (int streams = 2; streams <= 3; streams++) {
            banyan_grouping *g = plan("optimal", &model, &cost, streams);
            double coarse_s = iteration("optimal", &few, &cost, streams);

            check_grouping(g, &model, seed);
            if (g->iteration_s > coarse_s * 1.0001)
                fail_msg("%.9g, coarse %.9g; seed %llu", g->iteration_s, coarse_s, (unsigned long long)seed);
            banyan_grouping_destroy(g);
        }
    }
}

TEST(a_huge_tensor_is_split_where_two_streams_move_more)
{
    banyan_tensor tensors[] = {{(char *)"small", 4000, 1e-3}, {(char *)"huge", 400000004, 2e-3}};
    banyan_model model = {
        .name = (char *)"m", .tensors = tensors, .tensor_count = 2, .forward_s = 1e-3, .backward_s = 2e-3};
    banyan_cost free_cost, capped;
    banyan_grouping *g;

    assert_int_equal(banyan_cost_parse("linear:1e-4,1e-9,1.2,none", &free_cost, NULL), 0);
    assert_int_equal(banyan_cost_parse("linear:1e-4,1e-9,1.2", &capped, NULL), 0);
    g = plan("optimal", &model, &free_cost, 2);
    check_grouping(g, &model, 0);
    assert_true(g->part_count > 90);
    for (int i = 0; i < g->part_count; i++)
        assert_int_equal(g->parts[i].offset_bytes % 8, 0);
    /* 0.4 s alone; two at 1/1.2 each: 0.24 s. */
    assert_true(g->iteration_s < 0.25 && g->iteration_s > 0.24);
    banyan_grouping_destroy(g);
    g = plan("optimal", &model, &capped, 2);
    assert_int_equal(g->part_count, 2);
    banyan_grouping_destroy(g);
}

TEST(no_more_streams_are_taken_than_are_worth_half_a_per_cent)
{
    banyan_model *model;
    banyan_cost cost;
    banyan_grouping *g;

    assert_int_equal(banyan_model_load("resnet152", 4, &model, NULL), 0);
    /* One fills the link and start-up costs next to nothing. */
    assert_int_equal(banyan_cost_parse("linear:1e-6,1.7e-9,1.5", &cost, NULL), 0);
    g = plan("optimal", model, &cost, 0);
    assert_int_equal(g->streams, 1);
    banyan_grouping_destroy(g);
    /* The second hides start-ups, the third has nothing left to hide. */
    assert_int_equal(banyan_cost_parse("linear:1.4e-3,1.7e-9,1.5", &cost, NULL), 0);
    g = plan("optimal", model, &cost, 0);
    assert_int_equal(g->streams, 2);
    banyan_grouping_destroy(g);
    /* Each one more brings more. */
    assert_int_equal(banyan_cost_parse("linear:1.4e-3,1.7e-9,1.5,none", &cost, NULL), 0);
    g = plan("optimal", model, &cost, 0);
    assert_int_equal(g->streams, 4);
    check_grouping(g, model, 0);
    banyan_grouping_destroy(g);
    banyan_model_destroy(model);
}

TEST(the_same_problem_gets_the_same_grouping)
{
    banyan_model *model;
    banyan_cost cost;
    char digests[2][17];

    assert_int_equal(banyan_model_load("resnet50", 4, &model, NULL), 0);
    assert_int_equal(banyan_cost_parse("linear:1.4e-3,1.7e-9,1.5,none", &cost, NULL), 0);
    for (int i = 0; i < 2; i++) {
        banyan_grouping *g = plan("optimal", model, &cost, 3);

        banyan_grouping_digest(g, digests[i]);
        if (i) { /* and another grouping has another digest */
            char other[17];

            g->groups[0].level ^= 1;
            banyan_grouping_digest(g, other);
            assert_string_not_equal(other, digests[0]);
        }
        banyan_grouping_destroy(g);
    }
    assert_string_equal(digests[0], digests[1]);
    banyan_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_stream_equals_exhaustive_search_on_a_thousand_cases),
        cmocka_unit_test(two_streams_equal_exhaustive_search_on_two_hundred_cases),
        cmocka_unit_test(three_streams_equal_exhaustive_search_on_fifty_cases),
        cmocka_unit_test(the_bound_is_near_where_small_all_reduces_are_all_start_up),
        cmocka_unit_test(no_policy_beats_the_optimal_one_with_as_many_streams),
        cmocka_unit_test(many_tensors_are_grouped_no_worse_than_their_coarse_form),
        cmocka_unit_test(a_huge_tensor_is_split_where_two_streams_move_more),
        cmocka_unit_test(no_more_streams_are_taken_than_are_worth_half_a_per_cent),
        cmocka_unit_test(the_same_problem_gets_the_same_grouping),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
