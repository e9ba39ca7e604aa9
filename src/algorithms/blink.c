/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/blink.c: spanning trees inside a machine, a ring across machines.
 *
 *     machine A           machine B
 *     0 --> 1 <-- 2       3 --> 4 <-- 5        share j is summed inside every machine along trees
 *           |                   |              to the j-th worker ...
 *           +------- ring ------+              ... which reduces it with its peers over a ring;
 *                                              then it goes down the trees again
 *
 * Inside a machine every worker is the root of an equal share, and a root has as many trees as the machine's
 * links are worth (machine_trees.h). Machines of different sizes have a common multiple of shares, each
 * worker of a small one serving several.
 *
 * Cost with m machines of k workers: 2 n / X over the trees, X the machine's own rate with equal roots, 2
 * (m-1)/m n/k over each ring link.
 *
 * Paper: G. Wang, S. Venkataraman, A. Phanishayee et al., Blink: Fast and Generic Collectives for Distributed
 * ML, MLSys 2020; there trees are found by multiplicative weights and made fewer, here by column
 * generation. */
#include <stdlib.h>

#include "algorithms/machine_trees.h"
#include "algorithms/machines.h"
#include "core/alloc.h"

#define MAX_SHARES 64
#define GRAIN 55440 /* steps in a share's m-th part at which trees can be cut */

typedef struct {
    const banyan_problem *problem;
    banyan_machines machines;
    banyan_machine_trees *trees; /* per machine */
    banyan_builder builder;
    int *depth; /* by node, in the current tree */
    int share_count, deepest;
    int64_t grains; /* of a share */
    int64_t *cut;   /* of all shares; the first of share s is first_piece[s] */
    int *first_piece;
    int piece_count;
} weaver;

static void weaver_fini(weaver *w)
{
    for (int m = 0; w->trees && m < w->machines.count; m++)
        banyan_machine_trees_fini(&w->trees[m]);
    banyan_free(w->trees);
    banyan_free(w->depth);
    banyan_free(w->cut);
    banyan_free(w->first_piece);
    banyan_machines_fini(&w->machines);
}

static int machine_size(const weaver *w, int machine)
{
    return w->machines.first[machine + 1] - w->machines.first[machine];
}

/* The least common multiple of the machines' sizes, or the smallest size where that is large. */
static int count_shares(const weaver *w)
{
    int shares = 1;

    for (int m = 0; m < w->machines.count; m++) {
        int size = machine_size(w, m), a = shares, b = size;

        while (b) {
            int rest = a % b;

            a = b;
            b = rest;
        }
        shares = shares / a * size;
        if (shares > MAX_SHARES)
            return w->machines.smallest;
    }
    return shares;
}

/* Where the tree's part of a share begins: after the root's trees before it. tree_count: the end. */
static int64_t tree_begin(const weaver *w, int machine, size_t tree)
{
    const banyan_machine_trees *trees = &w->trees[machine];
    double sum = 0;

    for (size_t t = 0; t < tree; t++)
        sum += trees->root[t] == trees->root[tree] ? trees->share[t] : 0;
    return (int64_t)(sum * (double)w->grains + 0.5);
}

static int64_t tree_end(const weaver *w, int machine, size_t tree)
{
    const banyan_machine_trees *trees = &w->trees[machine];

    for (size_t t = tree + 1; t < trees->trees.tree_count; t++)
        if (trees->root[t] == trees->root[tree])
            return tree_begin(w, machine, t);
    return w->grains;
}

static int compare_cuts(const void *left, const void *right)
{
    const int64_t *a = left, *b = right;

    return *a < *b ? -1 : *a > *b;
}

static int serves(const weaver *w, int machine, size_t tree, int share)
{
    return w->trees[machine].root[tree] == share % machine_size(w, machine);
}

/* A share is cut where any machine passes from tree to tree, and into as many parts as the ring has
 * machines. */
static void cut_share(weaver *w, int share)
{
    int64_t *cut = w->cut + w->piece_count;
    int count = 0, kept = 0;

    w->first_piece[share] = w->piece_count;
    for (int i = 0; i < w->machines.count; i++)
        cut[count++] = i * (int64_t)GRAIN;
    for (int m = 0; m < w->machines.count; m++)
        for (size_t t = 0; t < w->trees[m].trees.tree_count; t++)
            if (serves(w, m, t, share))
                cut[count++] = tree_begin(w, m, t);
    qsort(cut, (size_t)count, sizeof *cut, compare_cuts);
    for (int i = 0; i < count; i++)
        if (cut[i] < w->grains && (kept == 0 || cut[i] != cut[kept - 1]))
            cut[kept++] = cut[i];
    w->piece_count += kept;
}

static banyan_status cut_all(weaver *w, banyan_error *err)
{
    size_t most = 1;

    for (int m = 0; m < w->machines.count; m++)
        most += w->trees[m].trees.tree_count + 1;
    w->grains = (int64_t)GRAIN * w->machines.count;
    w->first_piece = banyan_alloc((size_t)w->share_count + 1, sizeof *w->first_piece);
    w->cut = banyan_alloc(most * (size_t)w->share_count + 1, sizeof *w->cut);
    if (!w->first_piece || !w->cut)
        return banyan_fail_memory(err);
    for (int s = 0; s < w->share_count; s++) {
        cut_share(w, s);
        for (int i = w->first_piece[s]; i < w->piece_count; i++)
            w->cut[i] += s * w->grains;
    }
    w->first_piece[w->share_count] = w->piece_count;
    w->cut[w->piece_count] = w->share_count * w->grains;
    banyan_builder_cut(&w->builder, w->share_count * w->grains, w->cut, w->piece_count);
    return BANYAN_SUCCESS;
}

/* The first of the share's pieces that does not begin before the grain. */
static int piece_at(const weaver *w, int share, int64_t grain)
{
    int low = w->first_piece[share], high = w->first_piece[share + 1];

    while (low < high) {
        int middle = low + (high - low) / 2;

        if (w->cut[middle] < share * w->grains + grain)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Depths along the tree's edges, most of which come after those above them; returns the greatest. */
static int measure(weaver *w, int machine, size_t tree)
{
    const banyan_trees *trees = &w->trees[machine].trees;
    int deepest = 0, is_changed = 1;

    w->depth[w->machines.member[w->machines.first[machine] + w->trees[machine].root[tree]]] = 0;
    while (is_changed) {
        is_changed = 0;
        deepest = 0;
        for (size_t e = trees->first_edge[tree]; e < banyan_trees_edges_end(trees, tree); e++) {
            int depth = w->depth[trees->edges[e].src] + 1;

            is_changed = is_changed || w->depth[trees->edges[e].dst] != depth;
            w->depth[trees->edges[e].dst] = depth;
            deepest = depth > deepest ? depth : deepest;
        }
    }
    return deepest;
}

/* Over the edge's own links, or back over their twins; -1: the default route. */
static int add_route(weaver *w, int machine, size_t edge, int back)
{
    const banyan_machine_trees *t = &w->trees[machine];
    size_t first = t->trees.edges[edge].first_arc, end = banyan_trees_arcs_end(&t->trees, edge);
    int links[64], count = 0;

    if (end - first < 2 || end - first > 64)
        return -1;
    for (size_t a = 0; a < end - first; a++) {
        const banyan_arc *arcs = t->graph->arcs;
        int arc = t->trees.arcs[back ? end - 1 - a : first + a];

        links[count++] = back ? arcs[arcs[arc].twin].link : arcs[arc].link;
    }
    return banyan_builder_add_route(&w->builder, links, count);
}

/* A machine's tree for its part of the share: up in rounds that end before the ring, and down after it. */
static void climb(weaver *w, int machine, size_t tree, int share)
{
    const banyan_trees *trees = &w->trees[machine].trees;
    int first = piece_at(w, share, tree_begin(w, machine, tree));
    int count = piece_at(w, share, tree_end(w, machine, tree)) - first;
    int down = w->deepest + 2 * (w->machines.count - 1);

    if (count <= 0)
        return;
    measure(w, machine, tree);
    for (size_t e = trees->first_edge[tree]; e < banyan_trees_edges_end(trees, tree); e++) {
        int above = trees->edges[e].src, below = trees->edges[e].dst;

        banyan_builder_add(&w->builder, (banyan_transfer){.round = w->deepest - w->depth[below],
                                                          .src = below,
                                                          .dst = above,
                                                          .first_piece = first,
                                                          .piece_count = count,
                                                          .action = BANYAN_ACTION_REDUCE,
                                                          .flow = share,
                                                          .route = add_route(w, machine, e, 1)});
        banyan_builder_add(&w->builder, (banyan_transfer){.round = down + w->depth[below] - 1,
                                                          .src = above,
                                                          .dst = below,
                                                          .first_piece = first,
                                                          .piece_count = count,
                                                          .action = BANYAN_ACTION_COPY,
                                                          .flow = share,
                                                          .route = add_route(w, machine, e, 0)});
    }
}

/* Reduce-scatter and all-gather of the share's parts around the leaders. */
static void go_round(weaver *w, int share)
{
    int count = w->machines.count;

    for (int step = 0; step < 2 * (count - 1); step++)
        for (int i = 0; i < count; i++) {
            int src = banyan_machines_leader(&w->machines, i, share);
            int dst = banyan_machines_leader(&w->machines, (i + 1) % count, share);
            int part = ((i - step) % count + count) % count;
            int first = piece_at(w, share, part * (int64_t)GRAIN);
            int pieces = piece_at(w, share, (part + 1) * (int64_t)GRAIN) - first;

            if (step < count - 1)
                banyan_builder_reduce(&w->builder, w->deepest + step, src, dst, first, pieces, share);
            else
                banyan_builder_copy(&w->builder, w->deepest + step, src, dst, first, pieces, share);
        }
}

static banyan_status find_trees(weaver *w, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    w->trees = banyan_alloc((size_t)w->machines.count, sizeof *w->trees);
    w->depth = banyan_alloc((size_t)w->problem->topology->node_count, sizeof *w->depth);
    if (!w->trees || !w->depth)
        return banyan_fail_memory(err);
    for (int m = 0; !status && m < w->machines.count; m++) {
        status = banyan_machine_trees_find(&w->machines, w->problem->topology, m, &w->trees[m], err);
        for (size_t t = 0; !status && t < w->trees[m].trees.tree_count; t++) {
            int depth = measure(w, m, t);

            w->deepest = depth > w->deepest ? depth : w->deepest;
        }
    }
    return status;
}

/* A lower bound: each share goes up and down one tree per machine, and around the leaders. */
static double count_transfers(const weaver *w)
{
    double ring = (double)w->machines.count * (w->machines.count - 1);
    double trees = w->machines.first[w->machines.count] - w->machines.count;

    return 2 * (ring + trees) * w->share_count;
}

static void weave(weaver *w)
{
    for (int share = 0; share < w->share_count; share++) {
        for (int m = 0; m < w->machines.count; m++)
            for (size_t t = 0; t < w->trees[m].trees.tree_count; t++)
                if (serves(w, m, t, share))
                    climb(w, m, t, share);
        go_round(w, share);
    }
}

static banyan_status build(const banyan_problem *problem, banyan_schedule **out, banyan_error *err)
{
    weaver w = {.problem = problem};
    banyan_schedule *unfinished = NULL;
    banyan_status status = banyan_machines_find(problem, &w.machines, err);

    *out = NULL;
    if (status)
        return status;
    banyan_problem_begin(problem, &w.builder);
    w.share_count = count_shares(&w);
    status = banyan_problem_check_transfers(problem, "blink", count_transfers(&w), err);
    if (!status)
        status = find_trees(&w, err);
    if (!status)
        status = cut_all(&w, err);
    if (!status)
        weave(&w);
    else
        banyan_builder_fail(&w.builder, status, "%s", err ? err->text : "memory ran out");
    status = banyan_builder_finish(&w.builder, &unfinished, err);
    *out = status ? NULL : unfinished;
    weaver_fini(&w);
    return status;
}

const banyan_algorithm banyan_algorithm_blink = {
    .name = "blink",
    .summary = "spanning trees inside machines, a ring across them",
    .paper = "G. Wang et al., Blink: Fast and Generic Collectives for Distributed ML, 2020",
    .cost = "2 (m-1) a + 2 (m-1)/m n/k b across, 2 depth a + 2 n/X inside",
    .collectives = BANYAN_CAN(ALLREDUCE),
    .applies = banyan_machines_apply,
    .build = build,
};
