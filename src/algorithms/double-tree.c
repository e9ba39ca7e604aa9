/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/double-tree.c: two binary trees, half of the vector each, in which nobody works twice.
 *
 *     first tree, p = 7       second tree: moved on by one place (p even: its mirror image)
 *
 *             3                       4
 *         1       5               2       6
 *       0   2   4   6           1   3   5   0
 *
 * In a binary tree half of the ranks are leaves, which have no children to serve. Even ranks are the leaves
 * of the first tree, odd ones are leaves of the second, so every rank is inner in one tree at most and sends
 * no more than the whole vector twice: once slices follow one another through the trees, time for bandwidth
 * is that of a ring, in 2 log2(p) hops. Cost: 2 log2(p) a + 2 n b. Broadcast and reduce: the root feeds the
 * heads of both trees over all others.
 *
 * Paper: P. Sanders, J. Speck, J. L. Träff, Two-Tree Algorithms for Full Bandwidth Broadcast, Reduction and
 * Scan, 2009. */
#include "algorithms/algorithms.h"
#include "core/alloc.h"

/* Places are counted from 1; a place's lowest bit says how high it stands. Where the usual parent lies beyond
 * the end the nearest lower one takes its part; 0 is above the head. */
static int parent_place(int place, int count)
{
    int low = place & -place, up = (place - low) | (low << 1);

    return up <= count ? up : place - low;
}

static int depth_of(int place, int count)
{
    int depth = 0;

    for (place = parent_place(place, count); place > 0; place = parent_place(place, count))
        depth++;
    return depth;
}

/* The largest power of two stands at the head. */
static int head_place(int count)
{
    int head = 1;

    while (head <= count / 2)
        head *= 2;
    return head;
}

/* Which member stands at a place of the first or second tree. */
static int member_at(int place, int count, int tree)
{
    if (tree == 0)
        return place - 1;
    return count % 2 ? place % count : count - place;
}

typedef struct {
    banyan_builder *builder;
    const int *node; /* of each member */
    int count, depth;
} forest;

static int node_at(const forest *trees, int place, int tree)
{
    return trees->node[member_at(place, trees->count, tree)];
}

/* Leaves first; the heads end with the sums of half of the vector each. */
static void reduce_up(const forest *trees, int tree, int round)
{
    for (int place = 1; place <= trees->count; place++) {
        int parent = parent_place(place, trees->count);

        if (parent > 0)
            banyan_builder_reduce(trees->builder, round + trees->depth - depth_of(place, trees->count),
                                  node_at(trees, place, tree), node_at(trees, parent, tree), tree, 1, tree);
    }
}

static void copy_down(const forest *trees, int tree, int round)
{
    for (int place = 1; place <= trees->count; place++) {
        int parent = parent_place(place, trees->count);

        if (parent > 0)
            banyan_builder_copy(trees->builder, round + depth_of(place, trees->count) - 1,
                                node_at(trees, parent, tree), node_at(trees, place, tree), tree, 1, tree);
    }
}

/* A root outside the tree; its half-vector comes from the head or goes to it. */
static void append_rooted(const banyan_problem *problem, const forest *trees, int tree)
{
    int root = problem->active[problem->root], head = node_at(trees, head_place(trees->count), tree);

    if (problem->collective == BANYAN_COLLECTIVE_REDUCE) {
        reduce_up(trees, tree, 0);
        banyan_builder_reduce(trees->builder, trees->depth, head, root, tree, 1, tree);
    } else {
        banyan_builder_copy(trees->builder, 0, root, head, tree, 1, tree);
        copy_down(trees, tree, 1);
    }
}

static banyan_status build(const banyan_problem *problem, banyan_schedule **out, banyan_error *err)
{
    int is_rooted = problem->collective != BANYAN_COLLECTIVE_ALLREDUCE, count = 0;
    int *node = banyan_alloc((size_t)problem->active_count, sizeof *node);
    banyan_builder builder;
    forest trees;

    if (!node)
        return banyan_fail_memory(err);
    for (int rank = 0; rank < problem->active_count; rank++)
        if (!is_rooted || rank != problem->root)
            node[count++] = problem->active[rank];
    trees = (forest){&builder, node, count, depth_of(1, count)}; /* the first place is as deep as any */
    banyan_problem_begin(problem, &builder);
    banyan_builder_cut_evenly(&builder, 2);
    for (int tree = 0; tree < 2; tree++)
        if (is_rooted) {
            append_rooted(problem, &trees, tree);
        } else {
            reduce_up(&trees, tree, 0);
            copy_down(&trees, tree, trees.depth);
        }
    banyan_free(node);
    return banyan_builder_finish(&builder, out, err);
}

const banyan_algorithm banyan_algorithm_double_tree = {
    .name = "double-tree",
    .summary = "two complementary binary trees, half of the vector each: few hops, nobody inner in both",
    .paper =
        "Sanders, Speck, Träff: Two-Tree Algorithms for Full Bandwidth Broadcast, Reduction and Scan, 2009",
    .cost = "2 log2(p) a + 2 n b",
    .collectives = BANYAN_CAN(ALLREDUCE) | BANYAN_CAN(BROADCAST) | BANYAN_CAN(REDUCE),
    .build = build,
};
