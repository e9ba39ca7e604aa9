/* SPDX-License-Identifier: Apache-2.0 */
/* What a schedule adds to what, against the schedule itself: every algorithm, sums whose order shows in the
 * bits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "algorithms/algorithms.h"
#include "core/alloc.h"
#include "core/random.h"
#include "execute/kernels.h"
#include "execute/reference.h"
#include "execute/sums.h"
#include "schedule/build.h"

#define TEST(name) static void name(void **state)

enum { RANKS = 7, COUNT = 211 };

static banyan_schedule *build(const banyan_algorithm *algorithm, const char *spec)
{
    banyan_problem problem = {.collective = BANYAN_COLLECTIVE_ALLREDUCE, .bytes = 1 << 20};
    banyan_schedule *schedule = NULL;
    banyan_topology *topology;
    banyan_error err;
    int *active;

    assert_int_equal(banyan_topology_load(spec, &topology, &err), BANYAN_SUCCESS);
    assert_int_equal(banyan_topology_parse_active(topology, NULL, &active, &problem.active_count, &err),
                     BANYAN_SUCCESS);
    problem.topology = topology;
    problem.active = active;
    if (banyan_algorithm_build(algorithm, &problem, &schedule, &err))
        schedule = NULL; /* it does not apply here */
    banyan_free(active);
    banyan_topology_destroy(topology);
    return schedule;
}

/* Adds up one element as the sums say. */
static float evaluate(const banyan_sums *sums, int piece, float inputs[][COUNT], size_t element)
{
    banyan_kernel kernel = banyan_kernel_find(BANYAN_FLOAT32, BANYAN_SUM);
    float places[RANKS + 1] = {0}, result = 0;

    for (int i = sums->first[piece]; i < sums->first[piece + 1]; i++) {
        const banyan_addition *add = &sums->additions[i];
        float a = add->a < sums->ranks ? inputs[add->a][element] : places[add->a - sums->ranks];
        float b = add->b < sums->ranks ? inputs[add->b][element] : places[add->b - sums->ranks];

        assert_in_range(add->into, sums->ranks, sums->ranks + sums->place_count - 1);
        kernel(&result, &a, &b, 1);
        places[add->into - sums->ranks] = result;
    }
    return result;
}

static void check(const banyan_schedule *schedule, const banyan_sums *sums)
{
    static float inputs[RANKS][COUNT], outputs[RANKS][COUNT];
    void *buffers[RANKS];
    banyan_random random = {5};

    for (int rank = 0; rank < RANKS; rank++) {
        for (int i = 0; i < COUNT; i++)
            inputs[rank][i] = (float)banyan_random_below(&random, 1 << 20) * (rank % 2 ? 1e-3f : 1e3f);
        memcpy(outputs[rank], inputs[rank], sizeof inputs[rank]);
        buffers[rank] = outputs[rank];
    }
    assert_int_equal(banyan_reference_run(schedule, COUNT, BANYAN_FLOAT32, BANYAN_SUM, buffers, NULL),
                     BANYAN_SUCCESS);
    for (int piece = 0; piece < schedule->piece_count; piece++) {
        size_t begin, end;

        banyan_schedule_elements(schedule, COUNT, piece, 1, &begin, &end);
        for (size_t i = begin; i < end; i++) {
            float sum = evaluate(sums, piece, inputs, i);

            if (memcmp(&sum, &outputs[0][i], sizeof sum))
                fail_msg("%s: element %zu of piece %d is %.9g, not %.9g", schedule->algorithm, i, piece,
                         (double)sum, (double)outputs[0][i]);
        }
    }
}

TEST(sums_have_the_bits_of_the_schedule_for_every_algorithm)
{
    int checked = 0;

    (void)state;
    for (int i = 0; i < banyan_algorithm_count(); i++) {
        banyan_schedule *schedule = build(banyan_algorithm_at(i), "full:7");
        banyan_sums *sums = NULL;

        if (!schedule)
            continue;
        assert_int_equal(banyan_sums_derive(schedule, &sums, NULL), BANYAN_SUCCESS);
        if (!sums)
            fail_msg("%s: its ranks have no common sums", banyan_algorithm_at(i)->name);
        check(schedule, sums);
        checked++;
        banyan_sums_destroy(sums);
        banyan_schedule_destroy(schedule);
    }
    assert_true(checked > 10);
}

TEST(sums_through_nodes_that_are_no_ranks_are_left_alone)
{
    int active[2] = {0, 2};
    banyan_sums *sums = NULL;
    banyan_schedule *schedule;
    banyan_builder builder;

    (void)state;
    banyan_builder_init(&builder, BANYAN_COLLECTIVE_ALLREDUCE, 0, 3, active, 2);
    banyan_builder_cut_evenly(&builder, 1);
    banyan_builder_copy(&builder, 0, 0, 1, 0, 1, 0);
    banyan_builder_reduce(&builder, 1, 1, 2, 0, 1, 0);
    banyan_builder_copy(&builder, 2, 2, 0, 0, 1, 0);
    assert_int_equal(banyan_builder_finish(&builder, &schedule, NULL), BANYAN_SUCCESS);
    assert_int_equal(banyan_sums_derive(schedule, &sums, NULL), BANYAN_SUCCESS);
    assert_null(sums);
    banyan_schedule_destroy(schedule);
}

/* Rank 0 ends with (0 + 1) + 2, rank 2 with 0 + (1 + 2), rank 1 with either. */
TEST(sums_of_different_order_are_left_alone)
{
    int active[3] = {0, 1, 2};
    banyan_sums *sums = NULL;
    banyan_schedule *schedule;
    banyan_builder builder;

    (void)state;
    banyan_builder_init(&builder, BANYAN_COLLECTIVE_ALLREDUCE, 0, 3, active, 3);
    banyan_builder_cut_evenly(&builder, 1);
    banyan_builder_reduce(&builder, 0, 1, 0, 0, 1, 0);
    banyan_builder_reduce(&builder, 0, 1, 2, 0, 1, 1);
    banyan_builder_copy(&builder, 1, 0, 1, 0, 1, 0);
    assert_int_equal(banyan_builder_finish(&builder, &schedule, NULL), BANYAN_SUCCESS);
    assert_int_equal(banyan_sums_derive(schedule, &sums, NULL), BANYAN_SUCCESS);
    assert_null(sums);
    banyan_schedule_destroy(schedule);
}

TEST(survives_the_failure_of_each_allocation)
{
    banyan_schedule *schedule = build(banyan_algorithm_find("recursive-doubling"), "full:7");
    banyan_sums *sums = NULL;

    (void)state;
    assert_non_null(schedule);
    for (long calls = 0; !sums; calls++) {
        banyan_alloc_fail_after(calls);
        banyan_sums_derive(schedule, &sums, NULL);
    }
    banyan_alloc_fail_after(-1);
    check(schedule, sums);
    banyan_sums_destroy(sums);
    banyan_schedule_destroy(schedule);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_have_the_bits_of_the_schedule_for_every_algorithm),
        cmocka_unit_test(sums_through_nodes_that_are_no_ranks_are_left_alone),
        cmocka_unit_test(sums_of_different_order_are_left_alone),
        cmocka_unit_test(survives_the_failure_of_each_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
