/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/circulant.c: few rounds and least volume for any number of ranks, powers of two or not.
 *
 *     p = 5: what rank r still has sums of, as distances from r; what it sends away, and to whom
 *
 *        0 1 2 3 4                 3 4 go to rank r + 3, for which they are 0 1
 *        0 1 2                     2 goes to rank r + 2, for which it is 0
 *        0 1                       1 goes to rank r + 1, for which it is 0
 *        0                         the rank's own; all-gather takes the same way back
 *
 * Each round halves what is left, rounded up; the larger part stays, so that what comes in always meets a sum
 * that is there. Cost: 2 ceil(log2 p) a + 2 (p-1)/p n b: halving-doubling's without its price for ranks
 * beyond a power of two.
 *
 * Paper: J. L. Träff, Optimal, Non-pipelined Reduce-scatter and Allreduce Algorithms, 2024. */
#include "algorithms/algorithms.h"

#define MAX_ROUNDS 32

/* Pieces first, first + 1, ..., counted round the circle: one transfer, or two where they pass the end. */
static void send(const banyan_problem *problem, banyan_builder *builder, banyan_action action, int round,
                 int src, int dst, int first, int count)
{
    int ranks = problem->active_count;

    first %= ranks;
    while (count > 0) {
        int run = count < ranks - first ? count : ranks - first;

        banyan_builder_add(builder, (banyan_transfer){round, problem->active[src], problem->active[dst],
                                                      first, run, action, 0, -1});
        first = 0;
        count -= run;
    }
}

/* What is left after each round: p, ..., 3, 2, 1. Returns the number of rounds. */
static int find_sizes(int ranks, int *size)
{
    int rounds = 0;

    size[0] = ranks;
    while (size[rounds] > 1) {
        size[rounds + 1] = (size[rounds] + 1) / 2;
        rounds++;
    }
    return rounds;
}

static banyan_status build(const banyan_problem *problem, banyan_schedule **out, banyan_error *err)
{
    int has_reduce = problem->collective != BANYAN_COLLECTIVE_ALLGATHER;
    int has_gather = problem->collective != BANYAN_COLLECTIVE_REDUCE_SCATTER;
    int ranks = problem->active_count, size[MAX_ROUNDS + 1], rounds = find_sizes(ranks, size);
    int last = (has_reduce ? 2 : 1) * rounds - 1;
    banyan_builder builder;

    banyan_problem_begin(problem, &builder);
    banyan_builder_cut_evenly(&builder, ranks);
    for (int i = 0; i < rounds; i++)
        for (int rank = 0; rank < ranks; rank++) {
            int keep = size[i + 1], other = (rank + keep) % ranks;

            if (has_reduce)
                send(problem, &builder, BANYAN_ACTION_REDUCE, i, rank, other, other, size[i] - keep);
            if (has_gather)
                send(problem, &builder, BANYAN_ACTION_COPY, last - i, other, rank, other, size[i] - keep);
        }
    return banyan_builder_finish(&builder, out, err);
}

const banyan_algorithm banyan_algorithm_circulant = {
    .name = "circulant",
    .summary = "halving around a circle: least volume in fewest rounds, also where p is no power of two",
    .paper = "Träff: Optimal, Non-pipelined Reduce-scatter and Allreduce Algorithms, 2024",
    .cost = "2 ceil(log2 p) a + 2 (p-1)/p n b",
    .collectives = BANYAN_CAN(ALLREDUCE) | BANYAN_CAN(REDUCE_SCATTER) | BANYAN_CAN(ALLGATHER),
    .build = build,
};
