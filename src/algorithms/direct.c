/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/direct.c: everybody sends every share straight to its owner, in turns that never collide.
 *
 *     round k, p = 4:   r -> r + k        k = 1   0 -> 1 -> 2 -> 3 -> 0
 *                                         k = 2   0 <-> 2, 1 <-> 3
 *                                         k = 3   0 -> 3 -> 2 -> 1 -> 0
 *
 * Each rank sends one share and receives one in every round, so a switch that joins all is used to the full
 * and nothing is stored on the way. Cost: 2(p-1) a + 2 (p-1)/p n b, as a ring, but no hop waits for another:
 * where sends overlap the latency is 2 a. Broadcast is scatter and all-gather, reduce is reduce-scatter and
 * gather.
 *
 * Gather, scatter and all-to-all move each byte once, from where it is to where it is wanted. Where the
 * network is a tree (hosts at switches), every byte has one path, so no schedule loads a link with less:
 * their bound is the time that the busiest link needs for the bytes that must cross it, and only latency
 * comes on top. */
#include "algorithms/algorithms.h"

/* Everybody's share r goes to rank r, rank by rank further on. */
static int reduce_scatter(const banyan_problem *problem, banyan_builder *builder, int round)
{
    int count = problem->active_count;

    for (int step = 1; step < count; step++, round++)
        for (int rank = 0; rank < count; rank++) {
            int owner = (rank + step) % count;

            banyan_builder_reduce(builder, round, problem->active[rank], problem->active[owner], owner, 1, 0);
        }
    return round;
}

static int all_gather(const banyan_problem *problem, banyan_builder *builder, int round)
{
    int count = problem->active_count;

    for (int step = 1; step < count; step++, round++)
        for (int rank = 0; rank < count; rank++)
            banyan_builder_copy(builder, round, problem->active[rank], problem->active[(rank + step) % count],
                                rank, 1, 0);
    return round;
}

static int scatter(const banyan_problem *problem, banyan_builder *builder, int round)
{
    int count = problem->active_count;

    for (int step = 1; step < count; step++, round++) {
        int owner = (problem->root + step) % count;

        banyan_builder_copy(builder, round, problem->active[problem->root], problem->active[owner], owner, 1,
                            0);
    }
    return round;
}

static int gather(const banyan_problem *problem, banyan_builder *builder, int round)
{
    int count = problem->active_count;

    for (int step = 1; step < count; step++, round++) {
        int owner = (problem->root + step) % count;

        banyan_builder_copy(builder, round, problem->active[owner], problem->active[problem->root], owner, 1,
                            0);
    }
    return round;
}

/* Row by row: part d of rank s's row goes to rank d. */
static void exchange(const banyan_problem *problem, banyan_builder *builder)
{
    int count = problem->active_count;

    for (int step = 1; step < count; step++)
        for (int rank = 0; rank < count; rank++) {
            int target = (rank + step) % count;

            banyan_builder_copy(builder, step - 1, problem->active[rank], problem->active[target],
                                rank * count + target, 1, 0);
        }
}

static banyan_status applies(const banyan_problem *problem, banyan_error *err)
{
    double ranks = problem->active_count;

    return banyan_problem_check_transfers(problem, "direct", 2 * ranks * (ranks - 1), err);
}

static void build_moves(const banyan_problem *problem, banyan_builder *builder)
{
    int parts = (int)banyan_collective_parts(problem->collective, problem->active_count);

    banyan_builder_cut_evenly(builder, parts);
    if (problem->collective == BANYAN_COLLECTIVE_GATHER)
        gather(problem, builder, 0);
    else if (problem->collective == BANYAN_COLLECTIVE_SCATTER)
        scatter(problem, builder, 0);
    else
        exchange(problem, builder);
}

static banyan_status build(const banyan_problem *problem, banyan_schedule **out, banyan_error *err)
{
    banyan_builder builder;
    int round = 0;

    banyan_problem_begin(problem, &builder);
    if (problem->collective > BANYAN_COLLECTIVE_REDUCE) {
        build_moves(problem, &builder);
        return banyan_builder_finish(&builder, out, err);
    }
    banyan_builder_cut_evenly(&builder, problem->active_count);
    switch (problem->collective) {
    case BANYAN_COLLECTIVE_BROADCAST:
        round = scatter(problem, &builder, round);
        break;
    case BANYAN_COLLECTIVE_ALLGATHER:
        break;
    default:
        round = reduce_scatter(problem, &builder, round);
    }
    switch (problem->collective) {
    case BANYAN_COLLECTIVE_REDUCE:
        gather(problem, &builder, round);
        break;
    case BANYAN_COLLECTIVE_REDUCE_SCATTER:
        break;
    default:
        all_gather(problem, &builder, round);
    }
    return banyan_builder_finish(&builder, out, err);
}

const banyan_algorithm banyan_algorithm_direct = {
    .name = "direct",
    .summary = "every share goes straight to its owner and back, in turns: for full meshes and fast switches",
    .paper = NULL,
    .cost = "2(p-1) a + 2 (p-1)/p n b",
    .collectives = BANYAN_CAN(ALLREDUCE) | BANYAN_CAN(REDUCE_SCATTER) | BANYAN_CAN(ALLGATHER) |
                   BANYAN_CAN(BROADCAST) | BANYAN_CAN(REDUCE) | BANYAN_CAN(GATHER) | BANYAN_CAN(SCATTER) |
                   BANYAN_CAN(ALLTOALL),
    .applies = applies,
    .build = build,
};
