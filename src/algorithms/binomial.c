/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/binomial.c: one tree in which whoever has the vector hands it to a new rank every round.
 *
 *     reduce to 0, p = 8:   round 0   1 -> 0   3 -> 2   5 -> 4   7 -> 6
 *                           round 1   2 -> 0            6 -> 4
 *                           round 2   4 -> 0                             then broadcast, the same way back
 *
 * Ranks are counted from the root, so any rank may be it. A gather goes up the tree and a scatter down, each
 * edge with the parts of the whole subtree below it: ceil(log2 p) a + (p-1)/p n b at the root. Cost: 2
 * ceil(log2 p) (a + n b); broadcast or reduce alone half of that. */
#include "algorithms/algorithms.h"

static int node_at(const banyan_problem *problem, int root, int place)
{
    return problem->active[(place + root) % problem->active_count];
}

static int reduce(const banyan_problem *problem, banyan_builder *builder, int root, int round)
{
    for (int distance = 1; distance < problem->active_count; distance *= 2, round++)
        for (int place = distance; place < problem->active_count; place += 2 * distance)
            banyan_builder_reduce(builder, round, node_at(problem, root, place),
                                  node_at(problem, root, place - distance), 0, 1, 0);
    return round;
}

static void broadcast(const banyan_problem *problem, banyan_builder *builder, int root, int round)
{
    int distance = 1;

    while (distance <= (problem->active_count - 1) / 2)
        distance *= 2;
    for (; distance > 0; distance /= 2, round++)
        for (int place = distance; place < problem->active_count; place += 2 * distance)
            banyan_builder_copy(builder, round, node_at(problem, root, place - distance),
                                node_at(problem, root, place), 0, 1, 0);
}

/* The parts of places first to end-1, counted from the root: one stretch of ranks, or two where it passes the
 * last rank. */
static void move(const banyan_problem *problem, banyan_builder *builder, int round, int src, int dst,
                 int first, int end)
{
    int size = problem->active_count, begin = (first + problem->root) % size, count = end - first;
    int straight = count < size - begin ? count : size - begin;

    banyan_builder_copy(builder, round, src, dst, begin, straight, 0);
    if (count > straight)
        banyan_builder_copy(builder, round, src, dst, 0, count - straight, 0);
}

/* Up: every subtree's parts to its parent, the smallest first. Down: the same edges the other way round. */
static void move_parts(const banyan_problem *problem, banyan_builder *builder, int is_up)
{
    int size = problem->active_count, rounds = 0;

    while (1 << rounds < size)
        rounds++;
    for (int level = 0; level < rounds; level++)
        for (int place = 1 << level; place < size; place += 2 << level) {
            int parent = node_at(problem, problem->root, place - (1 << level));
            int child = node_at(problem, problem->root, place);
            int end = place + (1 << level) < size ? place + (1 << level) : size;

            move(problem, builder, is_up ? level : rounds - 1 - level, is_up ? child : parent,
                 is_up ? parent : child, place, end);
        }
}

static banyan_status build(const banyan_problem *problem, banyan_schedule **out, banyan_error *err)
{
    banyan_builder builder;
    int root = problem->root, round = 0;
    banyan_status status = BANYAN_SUCCESS;

    if (problem->collective == BANYAN_COLLECTIVE_ALLREDUCE)
        status = banyan_problem_integer(problem, "root-rank", 0, 0, problem->active_count - 1, &root, err);
    if (status)
        return status;
    banyan_problem_begin(problem, &builder);
    if (problem->collective == BANYAN_COLLECTIVE_GATHER || problem->collective == BANYAN_COLLECTIVE_SCATTER) {
        banyan_builder_cut_evenly(&builder, problem->active_count);
        move_parts(problem, &builder, problem->collective == BANYAN_COLLECTIVE_GATHER);
        return banyan_builder_finish(&builder, out, err);
    }
    banyan_builder_cut_evenly(&builder, 1);
    if (problem->collective != BANYAN_COLLECTIVE_BROADCAST)
        round = reduce(problem, &builder, root, round);
    if (problem->collective != BANYAN_COLLECTIVE_REDUCE)
        broadcast(problem, &builder, root, round);
    return banyan_builder_finish(&builder, out, err);
}

static const banyan_algorithm_option options[] = {
    {"root-rank", "RANK", "where an all-reduce adds up (default 0)"},
    {NULL, NULL, NULL},
};

const banyan_algorithm banyan_algorithm_binomial = {
    .name = "binomial",
    .summary = "reduce to a root along a binomial tree, then broadcast the same way back",
    .paper = NULL,
    .cost = "2 ceil(log2 p) (a + n b)",
    .collectives = BANYAN_CAN(ALLREDUCE) | BANYAN_CAN(BROADCAST) | BANYAN_CAN(REDUCE) | BANYAN_CAN(GATHER) |
                   BANYAN_CAN(SCATTER),
    .options = options,
    .build = build,
};
