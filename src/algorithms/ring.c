/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/ring.c: ranks in a circle, each sending to its right-hand neighbour only.
 *
 *     reduce-scatter, p = 4: piece 2 sets out from the rank behind its owner and collects on its way home
 *
 *        3 --2--> 0 --2--> 1 --2--> 2          all-gather: it goes once more round, from 2 to 3, 0, 1
 *
 * All p pieces travel at once, so every rank sends and receives in every round.
 * Cost: 2(p-1) a + 2 (p-1)/p n b; the second term is the least possible for one link in and out of each rank.
 * Broadcast and reduce are a chain, the whole vector from neighbour to neighbour: (p-1) a + n b once slices
 * follow one another.
 *
 * Paper: P. Patarasuk, X. Yuan, Bandwidth Optimal All-reduce Algorithms for Clusters of Workstations,
 * 2009. */
#include "algorithms/algorithms.h"
#include "algorithms/circle.h"
#include "algorithms/order.h"
#include "core/alloc.h"

/* The circle of ranks, piece r for rank r, and the place of the root in it. */
static banyan_status find_stops(const banyan_problem *problem, banyan_stop **out, int *root,
                                banyan_error *err)
{
    banyan_stop *stops = banyan_alloc((size_t)problem->active_count, sizeof *stops);
    int *order = NULL;
    banyan_status status = stops ? banyan_problem_order(problem, &order, err) : banyan_fail_memory(err);

    if (status) {
        banyan_free(stops);
        return status;
    }
    for (int place = 0; place < problem->active_count; place++) {
        stops[place] = (banyan_stop){problem->active[order[place]], order[place], 1};
        if (order[place] == problem->root)
            *root = place;
    }
    banyan_free(order);
    *out = stops;
    return BANYAN_SUCCESS;
}

static void append(const banyan_problem *problem, banyan_builder *builder, const banyan_stop *stops, int root)
{
    int count = problem->active_count, round = 0;

    switch (problem->collective) {
    case BANYAN_COLLECTIVE_BROADCAST:
        banyan_circle_broadcast(builder, 0, stops, count, root, 0, 1, 0);
        return;
    case BANYAN_COLLECTIVE_REDUCE:
        banyan_circle_reduce(builder, 0, stops, count, root, 0, 1, 0);
        return;
    default:
        if (problem->collective != BANYAN_COLLECTIVE_ALLGATHER)
            round = banyan_circle_reduce_scatter(builder, round, stops, count, 0);
        if (problem->collective != BANYAN_COLLECTIVE_REDUCE_SCATTER)
            banyan_circle_all_gather(builder, round, stops, count, 0);
    }
}

static banyan_status applies(const banyan_problem *problem, banyan_error *err)
{
    double ranks = problem->active_count;

    return banyan_problem_check_transfers(problem, "ring", 2 * ranks * (ranks - 1), err);
}

static banyan_status build(const banyan_problem *problem, banyan_schedule **out, banyan_error *err)
{
    int is_chain =
        problem->collective == BANYAN_COLLECTIVE_BROADCAST || problem->collective == BANYAN_COLLECTIVE_REDUCE;
    banyan_builder builder;
    banyan_stop *stops = NULL;
    int root = 0;
    banyan_status status = find_stops(problem, &stops, &root, err);

    if (status)
        return status;
    banyan_problem_begin(problem, &builder);
    banyan_builder_cut_evenly(&builder, is_chain ? 1 : problem->active_count);
    append(problem, &builder, stops, root);
    banyan_free(stops);
    return banyan_builder_finish(&builder, out, err);
}

static const banyan_algorithm_option options[] = {BANYAN_ORDER_OPTION, {NULL, NULL, NULL}};

const banyan_algorithm banyan_algorithm_ring = {
    .name = "ring",
    .summary = "pieces go round a ring of all ranks, collecting sums and then spreading them",
    .paper = "Patarasuk, Yuan: Bandwidth Optimal All-reduce Algorithms for Clusters of Workstations, 2009",
    .cost = "2(p-1) a + 2 (p-1)/p n b",
    .collectives = BANYAN_CAN(ALLREDUCE) | BANYAN_CAN(REDUCE_SCATTER) | BANYAN_CAN(ALLGATHER) |
                   BANYAN_CAN(BROADCAST) | BANYAN_CAN(REDUCE),
    .options = options,
    .applies = applies,
    .build = build,
};
