/* SPDX-License-Identifier: Apache-2.0 */
/* tests/conformance/algorithms.c: every algorithm on every sample network, for every collective that it
 * offers: built, proven, predicted, run with threads on random data, and held against a plain sum and against
 * the reference's bits. A new algorithm is met here without a new line. Collectives other than all-reduce
 * meet every third sample, each algorithm and collective others, or all with BANYAN_TEST_ALL. */
#include "unit/test.h"

#include "algorithms/algorithms.h"
#include "conformance/samples.h"
#include "core/alloc.h"
#include "core/random.h"
#include "execute/local.h"
#include "execute/reference.h"
#include "planner/planner.h"
#include "verify/verify.h"

/* Small whole numbers: their sums are exact in any order, so a plain sum must agree to the last bit. */
static int32_t **make_buffers(int ranks, size_t count, uint64_t seed)
{
    int32_t **buffers = calloc((size_t)ranks, sizeof *buffers);
    banyan_random random = {seed};

    for (int r = 0; r < ranks; r++) {
        buffers[r] = calloc(count + 1, sizeof **buffers);
        for (size_t i = 0; i < count; i++)
            buffers[r][i] = (int32_t)banyan_random_below(&random, 2001) - 1000;
    }
    return buffers;
}

static void free_buffers(int32_t **buffers, int ranks)
{
    for (int r = 0; r < ranks; r++)
        free(buffers[r]);
    free(buffers);
}

/* What rank should hold in element i, or 0 in *matters where anything goes. */
static int32_t expected(const banyan_schedule *s, int32_t *const *before, int rank, int piece, size_t i,
                        int *matters)
{
    int32_t sum = 0;

    for (int r = 0; r < s->active_count; r++)
        sum += before[r][i];
    *matters = 1;
    switch (s->collective) {
    case BANYAN_COLLECTIVE_REDUCE:
        *matters = rank == s->root;
        return sum;
    case BANYAN_COLLECTIVE_REDUCE_SCATTER:
        *matters = rank == s->owner[piece];
        return sum;
    case BANYAN_COLLECTIVE_ALLGATHER:
        return before[s->owner[piece]][i];
    case BANYAN_COLLECTIVE_BROADCAST:
        return before[s->root][i];
    case BANYAN_COLLECTIVE_GATHER:
        *matters = rank == s->root;
        return before[s->owner[piece]][i];
    case BANYAN_COLLECTIVE_SCATTER:
        *matters = rank == s->owner[piece];
        return before[s->root][i];
    case BANYAN_COLLECTIVE_ALLTOALL:
        *matters = rank == s->owner[piece];
        return before[banyan_schedule_source(s, piece)][i];
    default:
        return sum;
    }
}

static void check_result(const banyan_schedule *s, size_t count, int32_t *const *before,
                         int32_t *const *after, int32_t *const *reference, const char *what)
{
    for (int rank = 0; rank < s->active_count; rank++)
        for (int piece = 0; piece < s->piece_count; piece++) {
            size_t begin, end;

            banyan_schedule_elements(s, count, piece, 1, &begin, &end);
            for (size_t i = begin; i < end; i++) {
                int matters;
                int32_t wanted = expected(s, before, rank, piece, i, &matters);

                if (matters && (after[rank][i] != wanted || reference[rank][i] != wanted))
                    fail_msg("%s: rank %d element %zu is %d (reference %d), should be %d", what, rank, i,
                             after[rank][i], reference[rank][i], wanted);
            }
        }
}

static void run_schedule(const banyan_schedule *s, size_t count, uint64_t seed, const char *what)
{
    int ranks = s->active_count;
    int32_t **before = make_buffers(ranks, count, seed), **after = make_buffers(ranks, count, seed);
    int32_t **reference = make_buffers(ranks, count, seed);
    banyan_local_options options = {.slice_bytes = 64};
    banyan_error err = {""};

    if (banyan_execute_local(s, count, BANYAN_INT32, BANYAN_SUM, (void *const *)after, &options, NULL, &err))
        fail_msg("%s: %s", what, err.text);
    if (banyan_reference_run(s, count, BANYAN_INT32, BANYAN_SUM, (void *const *)reference, &err))
        fail_msg("%s: %s", what, err.text);
    check_result(s, count, before, after, reference, what);
    free_buffers(before, ranks);
    free_buffers(after, ranks);
    free_buffers(reference, ranks);
}

/* Builds, proves and predicts; runs with fewer elements than pieces, and with an odd number above. */
static int meet(const banyan_algorithm *algorithm, const sample *on, const banyan_problem *problem)
{
    banyan_error err = {""};
    banyan_status status = banyan_algorithm_applies(algorithm, problem, &err);
    banyan_plan plan;
    char what[200];

    snprintf(what, sizeof what, "%s on %s (%s), %s from %d", algorithm->name, on->spec,
             on->active ? on->active : "all", banyan_collective_name(problem->collective), problem->root);
    if (!status)
        status = banyan_plan_make(algorithm, problem, &plan, &err);
    if (status == BANYAN_UNSUPPORTED) {
        if (strlen(err.text) < 10)
            fail_msg("%s: does not say why it does not apply", what);
        return 0;
    }
    if (status)
        fail_msg("%s: %s", what, err.text);
    if (problem->active_count > 1 && !(plan.predicted_s > 0))
        fail_msg("%s: predicted to take no time", what);
    run_schedule(plan.schedule, 1, 1, what);
    run_schedule(plan.schedule, 4 * (size_t)plan.schedule->piece_count + 3, 2, what);
    banyan_plan_fini(&plan);
    return 1;
}

static int meet_all_collectives(const banyan_algorithm *algorithm, const sample *on, int turn)
{
    banyan_problem problem = {.bytes = 1 << 20};
    banyan_topology *topology;
    banyan_error err = {""};
    int *active = NULL, met = 0;

    if (banyan_topology_load(on->spec, &topology, &err) ||
        banyan_topology_parse_active(topology, on->active, &active, &problem.active_count, &err))
        fail_msg("%s: %s", on->spec, err.text);
    problem.topology = topology;
    problem.active = active;
    for (int c = 0; c < BANYAN_COLLECTIVE_COUNT; c++) {
        int rooted = banyan_collective_has_root((banyan_collective)c);

        if (!(algorithm->collectives >> c & 1))
            continue;
        if (c != BANYAN_COLLECTIVE_ALLREDUCE && (turn + c) % 3 && !getenv("BANYAN_TEST_ALL"))
            continue;
        problem.collective = (banyan_collective)c;
        problem.root = 0;
        met += meet(algorithm, on, &problem);
        problem.root = problem.active_count - 1;
        if (rooted && problem.root)
            met += meet(algorithm, on, &problem);
    }
    banyan_free(active);
    banyan_topology_destroy(topology);
    return met;
}

TEST(every_algorithm_meets_every_sample)
{
    for (int a = 0; a < banyan_algorithm_count(); a++) {
        const banyan_algorithm *algorithm = banyan_algorithm_at(a);
        int met = 0;

        for (int i = 0; i < SAMPLE_COUNT; i++)
            met += meet_all_collectives(algorithm, &samples[i], a + i);
        print_message("%-20s %d schedules built, proven and run\n", algorithm->name, met);
        if (!met)
            fail_msg("%s applies to no sample", algorithm->name);
    }
}

TEST(every_algorithm_tells_what_it_is)
{
    for (int a = 0; a < banyan_algorithm_count(); a++) {
        const banyan_algorithm *algorithm = banyan_algorithm_at(a);

        assert_true(algorithm->summary && strlen(algorithm->summary) > 10);
        assert_true(algorithm->cost && *algorithm->cost);
        assert_true(algorithm->collectives & BANYAN_CAN(ALLREDUCE));
        assert_ptr_equal(banyan_algorithm_find(algorithm->name), algorithm);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_algorithm_tells_what_it_is),
        cmocka_unit_test(every_algorithm_meets_every_sample),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
