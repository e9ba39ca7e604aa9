/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/blink.c: spanning trees inside a machine, a ring across machines.
 *
 *     machine A           machine B
 *     0 --> 1 <-- 2       3 --> 4 <-- 5        share j is summed inside every machine along a tree
 *           |                   |              to the j-th worker ...
 *           +------- ring ------+              ... which reduces it with its peers over a ring;
 *                                              then it goes down the trees again
 *
 * Cost with m machines of k workers: n/k over each tree twice, 2 (m-1)/m n/k over each ring link.
 *
 * Paper: G. Wang, S. Venkataraman, A. Phanishayee et al., Blink: Fast and Generic Collectives for Distributed
 * ML, MLSys 2020; here with breadth-first trees, as a baseline. */
#include "algorithms/machines.h"

typedef struct {
    const banyan_problem *problem;
    banyan_machines machines;
    banyan_builder builder;
    int share, first_piece; /* at hand; a share has one piece a machine */
    int deepest;
} weaver;

/* The machine's tree for the share, up in rounds that end before the ring, or down after it. */
static void climb(weaver *w, int machine, int down_round)
{
    const banyan_machines *m = &w->machines;

    banyan_machines_tree(m, w->problem->topology, machine, w->share);
    for (int i = m->first[machine]; i < m->first[machine + 1]; i++) {
        int v = m->member[i], parent = m->parent[v];

        if (parent < 0)
            continue;
        if (down_round < 0)
            banyan_builder_reduce(&w->builder, w->deepest - m->depth[v], v, parent, w->first_piece, m->count,
                                  w->share);
        else
            banyan_builder_copy(&w->builder, down_round + m->depth[v] - 1, parent, v, w->first_piece,
                                m->count, w->share);
    }
}

/* Reduce-scatter and all-gather of the share's pieces around the leaders. */
static void go_round(weaver *w)
{
    int count = w->machines.count;

    for (int step = 0; step < 2 * (count - 1); step++)
        for (int i = 0; i < count; i++) {
            int src = banyan_machines_leader(&w->machines, i, w->share);
            int dst = banyan_machines_leader(&w->machines, (i + 1) % count, w->share);
            int piece = w->first_piece + ((i - step) % count + count) % count;

            if (step < count - 1)
                banyan_builder_reduce(&w->builder, w->deepest + step, src, dst, piece, 1, w->share);
            else
                banyan_builder_copy(&w->builder, w->deepest + step, src, dst, piece, 1, w->share);
        }
}

static int deepest_tree(weaver *w, int shares)
{
    int deepest = 0;

    for (int share = 0; share < shares; share++)
        for (int machine = 0; machine < w->machines.count; machine++) {
            int depth = banyan_machines_tree(&w->machines, w->problem->topology, machine, share);

            deepest = depth > deepest ? depth : deepest;
        }
    return deepest;
}

static banyan_status build(const banyan_problem *problem, banyan_schedule **out, banyan_error *err)
{
    weaver w = {.problem = problem};
    banyan_status status = banyan_machines_find(problem, &w.machines, err);
    int shares = w.machines.smallest;

    *out = NULL;
    if (status)
        return status;
    banyan_problem_begin(problem, &w.builder);
    banyan_builder_cut_evenly(&w.builder, shares * w.machines.count);
    w.deepest = deepest_tree(&w, shares);
    for (w.share = 0; w.share < shares; w.share++) {
        w.first_piece = w.share * w.machines.count;
        for (int machine = 0; machine < w.machines.count; machine++)
            climb(&w, machine, -1);
        go_round(&w);
        for (int machine = 0; machine < w.machines.count; machine++)
            climb(&w, machine, w.deepest + 2 * (w.machines.count - 1));
    }
    banyan_machines_fini(&w.machines);
    return banyan_builder_finish(&w.builder, out, err);
}

const banyan_algorithm banyan_algorithm_blink = {
    .name = "blink",
    .summary = "spanning trees inside machines, a ring across them",
    .paper = "G. Wang et al., Blink: Fast and Generic Collectives for Distributed ML, 2020",
    .cost = "2 (m-1) a + 2 (m-1)/m n/k b across, 2 depth a + 2 n/k b inside",
    .collectives = BANYAN_CAN(ALLREDUCE),
    .applies = banyan_machines_apply,
    .build = build,
};
