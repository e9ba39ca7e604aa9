/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/bidirectional_ring.c: two rings in opposite directions, half of every rank's share in each.
 *
 *        0 --even--> 1 --even--> 2 --even--> 3 --even--> 0
 *        0 <--odd--- 1 <--odd--- 2 <--odd--- 3 <--odd--- 0
 *
 * Pieces 2r and 2r+1 are rank r's; the even ones go one way round, the odd ones the other. Where neighbours
 * are joined by cables that carry full speed both ways, each direction moves half of the vector, so the time
 * for bandwidth is half of one ring's. Cost: 2(p-1) a + (p-1)/p n b. Broadcast and reduce are two chains
 * likewise.
 *
 * With two ranks both directions are the same exchange, and the algorithm is a ring in two halves. */
#include "algorithms/algorithms.h"
#include "algorithms/circle.h"
#include "algorithms/order.h"
#include "core/alloc.h"

/* Two circles, one after the other in the array; the second is the first one backwards. */
typedef struct {
    banyan_stop *stops;
    int root[2]; /* the root's place in each */
} circles;

static banyan_status find_circles(const banyan_problem *problem, circles *found, banyan_error *err)
{
    int count = problem->active_count;
    banyan_stop *stops = banyan_alloc(2 * (size_t)count, sizeof *stops);
    int *order = NULL;
    banyan_status status = stops ? banyan_problem_order(problem, &order, err) : banyan_fail_memory(err);

    if (status) {
        banyan_free(stops);
        return status;
    }
    for (int place = 0; place < count; place++) {
        int rank = order[place], back = count - 1 - place;

        stops[place] = (banyan_stop){problem->active[rank], 2 * rank, 1};
        stops[count + back] = (banyan_stop){problem->active[rank], 2 * rank + 1, 1};
        if (rank == problem->root) {
            found->root[0] = place;
            found->root[1] = back;
        }
    }
    banyan_free(order);
    found->stops = stops;
    return BANYAN_SUCCESS;
}

static void append(const banyan_problem *problem, banyan_builder *builder, const circles *both, int way)
{
    const banyan_stop *stops = both->stops + (way ? problem->active_count : 0);
    int count = problem->active_count, round = 0;

    switch (problem->collective) {
    case BANYAN_COLLECTIVE_BROADCAST:
        banyan_circle_broadcast(builder, 0, stops, count, both->root[way], way, 1, way);
        return;
    case BANYAN_COLLECTIVE_REDUCE:
        banyan_circle_reduce(builder, 0, stops, count, both->root[way], way, 1, way);
        return;
    default:
        if (problem->collective != BANYAN_COLLECTIVE_ALLGATHER)
            round = banyan_circle_reduce_scatter(builder, round, stops, count, way);
        if (problem->collective != BANYAN_COLLECTIVE_REDUCE_SCATTER)
            banyan_circle_all_gather(builder, round, stops, count, way);
    }
}

static banyan_status applies(const banyan_problem *problem, banyan_error *err)
{
    double ranks = problem->active_count;

    return banyan_problem_check_transfers(problem, "bidirectional-ring", 4 * ranks * (ranks - 1), err);
}

static banyan_status build(const banyan_problem *problem, banyan_schedule **out, banyan_error *err)
{
    int is_chain =
        problem->collective == BANYAN_COLLECTIVE_BROADCAST || problem->collective == BANYAN_COLLECTIVE_REDUCE;
    banyan_builder builder;
    circles both = {NULL, {0, 0}};
    banyan_status status = find_circles(problem, &both, err);

    if (status)
        return status;
    banyan_problem_begin(problem, &builder);
    banyan_builder_cut_evenly(&builder, is_chain ? 2 : 2 * problem->active_count);
    append(problem, &builder, &both, 0);
    append(problem, &builder, &both, 1);
    banyan_free(both.stops);
    return banyan_builder_finish(&builder, out, err);
}

static const banyan_algorithm_option options[] = {BANYAN_ORDER_OPTION, {NULL, NULL, NULL}};

const banyan_algorithm banyan_algorithm_bidirectional_ring = {
    .name = "bidirectional-ring",
    .summary = "two opposite rings, half of the vector each, for cables that carry full speed both ways",
    .paper = NULL,
    .cost = "2(p-1) a + (p-1)/p n b",
    .collectives = BANYAN_CAN(ALLREDUCE) | BANYAN_CAN(REDUCE_SCATTER) | BANYAN_CAN(ALLGATHER) |
                   BANYAN_CAN(BROADCAST) | BANYAN_CAN(REDUCE),
    .options = options,
    .applies = applies,
    .build = build,
};
