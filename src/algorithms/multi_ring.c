/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/multi_ring.c: several rings at once: as many as a torus has links out of a worker, none
 * sharing a link, or one per way out of a machine, as NCCL has one per network adapter (machine_rings.h).
 *
 *     3x3 torus, two cycles, each both ways:   0-1-2-5-3-4-7-8-6-0   and   0-2-8-5-4-1-7-6-3-0
 *
 * A torus of d dimensions falls into d Hamiltonian cycles without a common cable (cycles.c). Each is used as
 * two opposite rings with 1/2d of every rank's share, so all links are busy all the time and the bandwidth
 * term is the least there is. Cost: 2(p-1) a + (p-1)/(d p) n b. Broadcast and reduce are 2d chains. */
#include "algorithms/algorithms.h"
#include "algorithms/circle.h"
#include "algorithms/cycles.h"
#include "algorithms/machine_rings.h"
#include "core/alloc.h"

typedef struct {
    int *cycles; /* of ranks, one after the other */
    int cycle_count;
    int ring_count; /* as many, or twice as many where each cycle is used both ways */
} rings;

static int is_torus(const banyan_problem *problem)
{
    return problem->topology->grid.dimension_count > 0;
}

static banyan_status find_rings(const banyan_problem *problem, rings *out, banyan_error *err)
{
    banyan_status status =
        is_torus(problem) ? banyan_cycles_find(&problem->topology->grid, &out->cycles, &out->cycle_count, err)
                          : banyan_machine_rings_find(problem, &out->cycles, &out->cycle_count, err);

    if (!status)
        out->ring_count = out->cycle_count * (is_torus(problem) ? 2 : 1);
    return status;
}

/* One ring: its stops, and the place of the root. Beyond the cycles, rings go backwards. */
static void find_stops(const banyan_problem *problem, const rings *r, int ring, banyan_stop *stops, int *root)
{
    int count = problem->active_count;
    const int *cycle = r->cycles + (size_t)(ring % r->cycle_count) * (size_t)count;

    for (int i = 0; i < count; i++) {
        int place = ring >= r->cycle_count ? count - 1 - i : i, rank = cycle[i];

        stops[place] = (banyan_stop){problem->active[rank], rank * r->ring_count + ring, 1};
        if (rank == problem->root)
            *root = place;
    }
}

static void append_ring(const banyan_problem *problem, banyan_builder *builder, const banyan_stop *stops,
                        int root, int ring)
{
    int count = problem->active_count, round = 0;

    switch (problem->collective) {
    case BANYAN_COLLECTIVE_BROADCAST:
        banyan_circle_broadcast(builder, 0, stops, count, root, ring, 1, ring);
        return;
    case BANYAN_COLLECTIVE_REDUCE:
        banyan_circle_reduce(builder, 0, stops, count, root, ring, 1, ring);
        return;
    default:
        if (problem->collective != BANYAN_COLLECTIVE_ALLGATHER)
            round = banyan_circle_reduce_scatter(builder, round, stops, count, ring);
        if (problem->collective != BANYAN_COLLECTIVE_REDUCE_SCATTER)
            banyan_circle_all_gather(builder, round, stops, count, ring);
    }
}

static banyan_status check_torus(const banyan_problem *problem, banyan_error *err)
{
    const banyan_topology *topology = problem->topology;
    const banyan_grid *grid = &topology->grid;

    for (int d = 0; d < grid->dimension_count; d++)
        if (grid->extent[d] == 2 || (grid->extent[d] > 2 && !grid->wraps[d]))
            return banyan_fail(
                err, BANYAN_UNSUPPORTED,
                "multi-ring needs a torus with extents of at least 3, but dimension %d of %s has "
                "%d%s",
                d, topology->name, grid->extent[d], grid->wraps[d] ? "" : " and does not wrap");
    if (problem->active_count != topology->worker_count)
        return banyan_fail(err, BANYAN_UNSUPPORTED,
                           "multi-ring needs every worker of the torus, but only %d of %d are active",
                           problem->active_count, topology->worker_count);
    return BANYAN_SUCCESS;
}

/* Of a torus the rings are known to be there; machines are asked only where two rings would not be too many
 * transfers. */
static banyan_status applies(const banyan_problem *problem, banyan_error *err)
{
    double ranks = problem->active_count, ring_transfers = 2 * ranks * (ranks - 1);
    rings r = {0};
    banyan_status status;

    if (is_torus(problem)) {
        status = check_torus(problem, err);
        return status ? status
                      : banyan_problem_check_transfers(
                            problem, "multi-ring",
                            2 * problem->topology->grid.dimension_count * ring_transfers, err);
    }
    status = banyan_problem_check_transfers(problem, "multi-ring", 2 * ring_transfers, err);
    if (!status)
        status = find_rings(problem, &r, err);
    if (!status)
        status = banyan_problem_check_transfers(problem, "multi-ring", r.ring_count * ring_transfers, err);
    banyan_free(r.cycles);
    return status;
}

static banyan_status build(const banyan_problem *problem, banyan_schedule **out, banyan_error *err)
{
    int is_chain =
        problem->collective == BANYAN_COLLECTIVE_BROADCAST || problem->collective == BANYAN_COLLECTIVE_REDUCE;
    int count = problem->active_count, root = 0;
    rings r = {0};
    banyan_builder builder;
    banyan_stop *stops;
    banyan_status status = find_rings(problem, &r, err);

    if (status)
        return status;
    stops = banyan_alloc((size_t)count, sizeof *stops);
    if (!stops) {
        banyan_free(r.cycles);
        return banyan_fail_memory(err);
    }
    banyan_problem_begin(problem, &builder);
    banyan_builder_cut_evenly(&builder, r.ring_count * (is_chain ? 1 : count));
    for (int ring = 0; ring < r.ring_count; ring++) {
        find_stops(problem, &r, ring, stops, &root);
        append_ring(problem, &builder, stops, root, ring);
    }
    banyan_free(stops);
    banyan_free(r.cycles);
    return banyan_builder_finish(&builder, out, err);
}

const banyan_algorithm banyan_algorithm_multi_ring = {
    .name = "multi-ring",
    .summary =
        "rings along edge-disjoint Hamiltonian cycles of a torus, both ways, or one per way out of machines",
    .paper = NULL,
    .cost =
        "2(p-1) a + (p-1)/(d p) n b on a torus of d dimensions; 2(p-1) a + 2(p-1)/(r p) n b with r ways out",
    .collectives = BANYAN_CAN(ALLREDUCE) | BANYAN_CAN(REDUCE_SCATTER) | BANYAN_CAN(ALLGATHER) |
                   BANYAN_CAN(BROADCAST) | BANYAN_CAN(REDUCE),
    .applies = applies,
    .build = build,
};
