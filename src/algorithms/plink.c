/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/plink.c: one tree inside every machine, one balanced tree across machines.
 *
 *           A         the first worker of each machine sums its machine's data;
 *         /   \       these leaders sum along a binary tree,
 *        B     C      and the sum goes the same way back
 *       / \          or, where two of its vectors would meet on a cable, along a chain
 *      D   E
 *
 * Few, short steps: good for small vectors and many machines, poor for large ones, since one tree uses few
 * links.
 *
 * Cost: 2 (depth + log2 m) a + 2 n b, pipelined.
 *
 * Paper: L. Luo, P. West, J. Nelson, A. Krishnamurthy, L. Ceze, PLink: Discovering and Exploiting Datacenter
 * Network Locality for Efficient Cloud-based Distributed Training, MLSys 2020; here with given machines, as a
 * baseline. */
#include <math.h>

#include "algorithms/machines.h"
#include "core/alloc.h"
#include "topology/routes.h"

#define SLICE_BYTES 131072.0 /* messages of a pipeline have about that size */

/* Place 0 is the root of the leaders; fan 2 is a binary tree, 1 a chain. */
static int place_depth(int place, int fan)
{
    int depth = 0;

    for (; place > 0; place = (place - 1) / fan)
        depth++;
    return depth;
}

/* What two ways up the binary tree lose by sharing a link, in seconds a byte, and the longest latency of a
 * way. */
static banyan_status find_sharing(const banyan_problem *problem, const banyan_machines *machines,
                                  double *shared_s, double *latency_s, banyan_error *err)
{
    const banyan_topology *topology = problem->topology;
    char *is_used = banyan_alloc((size_t)topology->link_count, 1);
    banyan_routes *routes = NULL;
    banyan_status status = is_used ? banyan_routes_create(topology, &routes, err) : banyan_fail_memory(err);

    *shared_s = *latency_s = 0;
    for (int place = 1; !status && place < machines->count; place++) {
        double way_s = 0;
        const int *links;
        int count = 0;

        status =
            banyan_routes_find(routes, banyan_machines_leader(machines, place, 0),
                               banyan_machines_leader(machines, (place - 1) / 2, 0), &links, &count, err);
        for (int i = 0; !status && i < count; i++) {
            if (is_used[links[i]])
                *shared_s = fmax(*shared_s, 1 / topology->links[links[i]].bytes_per_s);
            is_used[links[i]] = 1;
            way_s += topology->links[links[i]].latency_s;
        }
        *latency_s = fmax(*latency_s, way_s);
    }
    banyan_routes_destroy(routes);
    banyan_free(is_used);
    return status;
}

/* Seconds up the leaders' tree in slices, of which the first passes every level and the others follow. */
static double time_up(double bytes, int levels, double s_per_byte, double latency_s)
{
    double slice = fmin(bytes, SLICE_BYTES);

    return levels * (latency_s + slice * s_per_byte) + (bytes - slice) * s_per_byte;
}

/* The fan of the leaders' tree: 1 where sharing a link costs more than the further hops of a chain. */
static banyan_status find_fan(const banyan_problem *problem, const banyan_machines *machines, int *fan,
                              banyan_error *err)
{
    int levels = place_depth(machines->count - 1, 2);
    double shared_s, latency_s, bytes = (double)problem->bytes;
    banyan_status status = find_sharing(problem, machines, &shared_s, &latency_s, err);

    if (status)
        return status;
    *fan = 2;
    if (shared_s > 0 && (problem->bytes == 0 || time_up(bytes, machines->count - 1, shared_s, latency_s) <
                                                    time_up(bytes, levels, 2 * shared_s, latency_s)))
        *fan = 1;
    return BANYAN_SUCCESS;
}

/* Leaders: the later half of the places first, so that every place has heard from those below it. */
static void across(banyan_builder *builder, const banyan_machines *machines, int fan, int first_round)
{
    int levels = place_depth(machines->count - 1, fan);

    for (int place = 1; place < machines->count; place++) {
        int below = banyan_machines_leader(machines, place, 0);
        int above = banyan_machines_leader(machines, (place - 1) / fan, 0), depth = place_depth(place, fan);

        banyan_builder_reduce(builder, first_round + levels - depth, below, above, 0, 1, 0);
        banyan_builder_copy(builder, first_round + levels + depth - 1, above, below, 0, 1, 0);
    }
}

static banyan_status build(const banyan_problem *problem, banyan_schedule **out, banyan_error *err)
{
    banyan_machines machines;
    banyan_builder builder;
    int deepest = 0, turn, fan = 2;
    banyan_status status = banyan_machines_find(problem, &machines, err);

    *out = NULL;
    if (!status)
        status = find_fan(problem, &machines, &fan, err);
    if (status) {
        banyan_machines_fini(&machines);
        return status;
    }
    banyan_problem_begin(problem, &builder);
    banyan_builder_cut_evenly(&builder, 1);
    for (int m = 0; m < machines.count; m++) {
        int depth = banyan_machines_tree(&machines, problem->topology, m, 0);

        deepest = depth > deepest ? depth : deepest;
    }
    turn = deepest + 2 * place_depth(machines.count - 1, fan);
    for (int i = 0; i < machines.first[machines.count]; i++) {
        int v = machines.member[i], parent = machines.parent[v];

        if (parent < 0)
            continue;
        banyan_builder_reduce(&builder, deepest - machines.depth[v], v, parent, 0, 1, 0);
        banyan_builder_copy(&builder, turn + machines.depth[v] - 1, parent, v, 0, 1, 0);
    }
    across(&builder, &machines, fan, deepest);
    banyan_machines_fini(&machines);
    return banyan_builder_finish(&builder, out, err);
}

const banyan_algorithm banyan_algorithm_plink = {
    .name = "plink",
    .summary =
        "one tree inside each machine, one binary tree across machines, or a chain where cables are shared",
    .paper = "L. Luo et al., PLink: Discovering and Exploiting Datacenter Network Locality, 2020",
    .cost = "2 (depth + log2 m) a + 2 n b",
    .collectives = BANYAN_CAN(ALLREDUCE),
    .applies = banyan_machines_apply,
    .build = build,
};
