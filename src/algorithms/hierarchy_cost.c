/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/hierarchy_cost.c: sums over the levels of a tree.
 * A level takes as long as the slowest link that its traffic passes: its own, or one below, where the same
 * traffic is shared out among more links. */
#include "algorithms/hierarchy_cost.h"

#include <math.h>

/* Reduce-scatter of d around a ring. */
static double reduce_scatter_s(double latency_s, double bytes, int degree, double bytes_per_s)
{
    return (degree - 1) * (latency_s + bytes / degree / bytes_per_s);
}

/* What the reduce of a level needs at the links of a branch x on that level or below. */
static double branch_s(const banyan_hierarchy_links *links, int x, int depth, double bytes)
{
    const banyan_hierarchy *tree = links->tree;
    int up = x;

    for (; tree->depth[up] > depth; up = tree->parent[up])
        bytes /= tree->degree[up];
    return reduce_scatter_s(links->latency_s, bytes, tree->degree[up], links->bytes_per_s[x]);
}

double banyan_hierarchy_flexreduce_s(const banyan_hierarchy_links *links, double bytes)
{
    const banyan_hierarchy *tree = links->tree;
    double sum = 0;

    for (int depth = banyan_hierarchy_depth(tree); depth >= 0; depth--) {
        double slowest = 0;

        for (int x = 0; x < tree->node_count; x++)
            if (tree->rank[x] < 0 && tree->depth[x] >= depth)
                slowest = fmax(slowest, branch_s(links, x, depth, bytes));
        sum += slowest;
    }
    return 2 * sum;
}

static double slowest_link(const banyan_hierarchy_links *links, int depth)
{
    double slowest = HUGE_VAL;

    for (int x = 0; x < links->tree->node_count; x++)
        if (links->tree->rank[x] < 0 && (depth < 0 || links->tree->depth[x] == depth))
            slowest = fmin(slowest, links->bytes_per_s[x]);
    return slowest;
}

double banyan_hierarchy_ring_s(const banyan_hierarchy_links *links, double bytes)
{
    int ranks = 0;

    for (int x = 0; x < links->tree->node_count; x++)
        ranks += links->tree->rank[x] >= 0;
    return ranks < 2 ? 0 : 2 * reduce_scatter_s(links->latency_s, bytes, ranks, slowest_link(links, -1));
}

double banyan_hierarchy_blueconnect_s(const banyan_hierarchy_links *links, double bytes)
{
    int degrees[64], levels = banyan_hierarchy_shape(links->tree, degrees, 64);
    double sum = 0, rings = 1, share = HUGE_VAL; /* rings side by side below, and a ring's part of any link */

    if (levels == 0)
        return banyan_hierarchy_ring_s(links, bytes);
    for (int depth = levels - 1; depth >= 0; depth--) {
        share = fmin(share, slowest_link(links, depth) / rings);
        sum += reduce_scatter_s(links->latency_s, bytes / rings, degrees[depth], share);
        rings *= degrees[depth];
    }
    return 2 * sum;
}

/* The part of the vector that a leaf is left with below some depth. */
static double portion(const banyan_hierarchy *tree, int leaf, int depth)
{
    double part = 1;

    for (int up = tree->parent[leaf]; up >= 0 && tree->depth[up] >= depth; up = tree->parent[up])
        part /= tree->degree[up];
    return part;
}

int banyan_hierarchy_most_calls(const banyan_hierarchy *tree, int rank)
{
    double own = 0, sum = 0;

    for (int leaf = 0; leaf < tree->node_count; leaf++)
        if (tree->rank[leaf] == rank)
            own = portion(tree, leaf, 0);
    for (int child = 1; child < tree->node_count; child = tree->end[child]) {
        double least = 1;

        for (int leaf = child; leaf < tree->end[child]; leaf++)
            if (tree->rank[leaf] >= 0)
                least = fmin(least, portion(tree, leaf, 1));
        sum += ceil(own / least - 1e-9);
    }
    return (int)sum + 1;
}
