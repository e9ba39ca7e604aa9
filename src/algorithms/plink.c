/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/plink.c: one tree inside every machine, one balanced tree across machines.
 *
 *           A         the first worker of each machine sums its machine's data;
 *         /   \       these leaders sum along a binary tree,
 *        B     C      and the sum goes the same way back
 *       / \
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
#include "algorithms/machines.h"

static int place_depth(int place)
{
    int depth = 0;

    for (; place > 0; place = (place - 1) / 2)
        depth++;
    return depth;
}

/* Leaders: the later half of the places first, so that every place has heard from those below it. */
static void across(banyan_builder *builder, const banyan_machines *machines, int first_round)
{
    int levels = place_depth(machines->count - 1);

    for (int place = 1; place < machines->count; place++) {
        int below = banyan_machines_leader(machines, place, 0);
        int above = banyan_machines_leader(machines, (place - 1) / 2, 0), depth = place_depth(place);

        banyan_builder_reduce(builder, first_round + levels - depth, below, above, 0, 1, 0);
        banyan_builder_copy(builder, first_round + levels + depth - 1, above, below, 0, 1, 0);
    }
}

static banyan_status build(const banyan_problem *problem, banyan_schedule **out, banyan_error *err)
{
    banyan_machines machines;
    banyan_builder builder;
    int deepest = 0, turn;
    banyan_status status = banyan_machines_find(problem, &machines, err);

    *out = NULL;
    if (status)
        return status;
    banyan_problem_begin(problem, &builder);
    banyan_builder_cut_evenly(&builder, 1);
    for (int m = 0; m < machines.count; m++) {
        int depth = banyan_machines_tree(&machines, problem->topology, m, 0);

        deepest = depth > deepest ? depth : deepest;
    }
    turn = deepest + 2 * place_depth(machines.count - 1);
    for (int i = 0; i < machines.first[machines.count]; i++) {
        int v = machines.member[i], parent = machines.parent[v];

        if (parent < 0)
            continue;
        banyan_builder_reduce(&builder, deepest - machines.depth[v], v, parent, 0, 1, 0);
        banyan_builder_copy(&builder, turn + machines.depth[v] - 1, parent, v, 0, 1, 0);
    }
    across(&builder, &machines, deepest);
    banyan_machines_fini(&machines);
    return banyan_builder_finish(&builder, out, err);
}

const banyan_algorithm banyan_algorithm_plink = {
    .name = "plink",
    .summary = "one tree inside each machine, one binary tree across machines",
    .paper = "L. Luo et al., PLink: Discovering and Exploiting Datacenter Network Locality, 2020",
    .cost = "2 (depth + log2 m) a + 2 n b",
    .collectives = BANYAN_CAN(ALLREDUCE),
    .applies = banyan_machines_apply,
    .build = build,
};
