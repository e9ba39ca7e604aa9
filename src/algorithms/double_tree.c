/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/double_tree.c: two binary trees, half of the vector each, in which nobody works twice.
 *
 *     first tree, p = 7       second tree: moved on by one place (p even: its mirror image)
 *
 *             3                       4
 *         1       5               2       6
 *       0   2   4   6           1   3   5   0
 *
 * In a binary tree half of the ranks are leaves, which have no children to serve. Even ranks are the
 * leaves of the first tree, odd ones are leaves of the second, so every rank is inner in one tree at most
 * and sends no more than the whole vector twice: once slices follow one another through the trees, time
 * for bandwidth is that of a ring, in 2 log2(p) hops. Cost: 2 log2(p) a + 2 n b. Broadcast and reduce: the
 * root feeds the heads of both trees over all others.
 *
 * All-reduce over several hosts has trees of hosts, as NCCL has since its version 2.4: in each host a
 * chain in the ring's order ends at a leader, and leaders make the trees. The two trees have different
 * leaders where several workers of a host have links that leave it.
 *
 * Papers: P. Sanders, J. Speck, J. L. Träff, Two-Tree Algorithms for Full Bandwidth Broadcast, Reduction
 * and Scan, 2009; S. Jeaugey, Massively Scale Your Deep Learning Training with NCCL 2.4, 2019. */
#include <stdlib.h>

#include "algorithms/algorithms.h"
#include "algorithms/order.h"
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

/* Chains of nodes, one per member: node[first[m] .. first[m+1]), of which one leads in each tree. */
typedef struct {
    banyan_builder *builder;
    int *node, *first, *leader[2]; /* leader: its place in node */
    char *is_circle;               /* by member: a step from its last node to its first is like any other */
    int count, depth, longest;
} forest;

static int node_at(const forest *trees, int place, int tree)
{
    return trees->node[trees->leader[tree][member_at(place, trees->count, tree)]];
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

/* The place towards the leader, and its distance. A member that is a circle has one chain, and the trees go
 * opposite ways round; else there are two, one on each side of the leader. */
static int next_place(const forest *trees, int member, int tree, int place, int *distance)
{
    int first = trees->first[member], size = trees->first[member + 1] - first;
    int leader = trees->leader[tree][member], back = tree ? 1 : -1;

    if (trees->is_circle[member]) {
        *distance = (size + back * (leader - place)) % size;
        return first + (place - first + size + back) % size;
    }
    *distance = abs(place - leader);
    return place < leader ? place + 1 : place - 1;
}

static void append_chains(const forest *trees, int tree, int turn)
{
    for (int member = 0; member < trees->count; member++)
        for (int i = trees->first[member]; i < trees->first[member + 1]; i++) {
            int distance, next = next_place(trees, member, tree, i, &distance);

            if (distance == 0)
                continue;
            banyan_builder_reduce(trees->builder, trees->longest - distance, trees->node[i],
                                  trees->node[next], tree, 1, tree);
            banyan_builder_copy(trees->builder, turn + distance - 1, trees->node[next], trees->node[i], tree,
                                1, tree);
        }
}

static void append_allreduce(const forest *trees, int tree)
{
    reduce_up(trees, tree, trees->longest);
    copy_down(trees, tree, trees->longest + trees->depth);
    append_chains(trees, tree, trees->longest + 2 * trees->depth);
}

/* Every rank but the root stands alone. */
static void stand_alone(const banyan_problem *problem, forest *trees)
{
    for (int rank = 0; rank < problem->active_count; rank++)
        if (problem->collective == BANYAN_COLLECTIVE_ALLREDUCE || rank != problem->root) {
            trees->node[trees->count] = problem->active[rank];
            trees->leader[0][trees->count] = trees->leader[1][trees->count] = trees->count;
            trees->count++;
            trees->first[trees->count] = trees->count;
        }
}

static int leaves_host(const banyan_topology *topology, int node)
{
    for (int i = topology->out_first[node]; i < topology->out_first[node + 1]; i++) {
        const banyan_node *to = &topology->nodes[topology->links[topology->out_link[i]].dst];

        if (to->kind == BANYAN_NODE_WORKER && to->host != topology->nodes[node].host)
            return 1;
    }
    return 0;
}

/* Of the nodes with a link to a worker elsewhere (of all, where none has one) those with the lowest and the
 * highest number: hosts that are built the same way are joined at the same places. */
static void choose_leaders(const banyan_topology *topology, forest *trees, int member)
{
    int any_leaves = 0, first = -1, last = -1;

    for (int i = trees->first[member]; i < trees->first[member + 1]; i++)
        any_leaves |= leaves_host(topology, trees->node[i]);
    for (int i = trees->first[member]; i < trees->first[member + 1]; i++) {
        if (any_leaves && !leaves_host(topology, trees->node[i]))
            continue;
        if (first < 0 || trees->node[i] < trees->node[first])
            first = i;
        if (last < 0 || trees->node[i] > trees->node[last])
            last = i;
    }
    trees->leader[0][member] = first;
    trees->leader[1][member] = last;
}

static int is_circle(const banyan_topology *topology, const forest *trees, int member)
{
    const int *first = trees->node + trees->first[member], *last = trees->node + trees->first[member + 1] - 1;

    return first < last && (banyan_topology_find_link(topology, *last, *first) >= 0 ||
                            banyan_topology_find_link(topology, first[0], first[1]) < 0);
}

static int host_of_last(const banyan_problem *problem, const int *order)
{
    return problem->topology->nodes[problem->active[order[problem->active_count - 1]]].host;
}

/* Hosts in the ring's order, which may begin within one. *is_done is 0 where there is one host, or a
 * worker has none. */
static banyan_status stand_by_host(const banyan_problem *problem, forest *trees, int *is_done,
                                   banyan_error *err)
{
    const banyan_node *nodes = problem->topology->nodes;
    int *order, ranks = problem->active_count, start = 0, host = -1, count = 0;
    banyan_status status;

    *is_done = 0;
    for (int rank = 0; rank < ranks; rank++)
        if (nodes[problem->active[rank]].host < 0)
            return BANYAN_SUCCESS;
    status = banyan_problem_order(problem, &order, err);
    if (status)
        return status;
    while (start + 1 < ranks && nodes[problem->active[order[start]]].host == host_of_last(problem, order))
        start++;
    for (int i = 0; i < ranks; i++) {
        int node = problem->active[order[(start + i) % ranks]];

        if (nodes[node].host != host)
            trees->first[count++] = i;
        host = nodes[node].host;
        trees->node[i] = node;
    }
    banyan_free(order);
    trees->first[count] = ranks;
    *is_done = count > 1;
    if (!*is_done)
        return BANYAN_SUCCESS;
    trees->count = count;
    for (int member = 0; member < count; member++) {
        int length = trees->first[member + 1] - trees->first[member] - 1;

        choose_leaders(problem->topology, trees, member);
        trees->is_circle[member] = (char)is_circle(problem->topology, trees, member);
        trees->longest = length > trees->longest ? length : trees->longest;
    }
    return BANYAN_SUCCESS;
}

static banyan_status find_members(const banyan_problem *problem, forest *trees, banyan_error *err)
{
    int has_hosts = 0;
    banyan_status status = BANYAN_SUCCESS;

    if (!trees->node || !trees->first || !trees->leader[0] || !trees->leader[1] || !trees->is_circle)
        return banyan_fail_memory(err);
    if (problem->collective == BANYAN_COLLECTIVE_ALLREDUCE)
        status = stand_by_host(problem, trees, &has_hosts, err);
    if (!status && !has_hosts)
        stand_alone(problem, trees);
    trees->depth = depth_of(1, trees->count); /* the first place is as deep as any */
    return status;
}

static banyan_status build(const banyan_problem *problem, banyan_schedule **out, banyan_error *err)
{
    size_t ranks = (size_t)problem->active_count;
    banyan_builder builder;
    forest trees = {.builder = &builder,
                    .node = banyan_alloc(ranks, sizeof(int)),
                    .first = banyan_alloc(ranks + 1, sizeof(int)),
                    .leader = {banyan_alloc(ranks, sizeof(int)), banyan_alloc(ranks, sizeof(int))},
                    .is_circle = banyan_alloc(ranks, 1)};
    banyan_status status = find_members(problem, &trees, err);

    if (!status) {
        banyan_problem_begin(problem, &builder);
        banyan_builder_cut_evenly(&builder, 2);
        for (int tree = 0; tree < 2; tree++)
            if (problem->collective == BANYAN_COLLECTIVE_ALLREDUCE)
                append_allreduce(&trees, tree);
            else
                append_rooted(problem, &trees, tree);
        status = banyan_builder_finish(&builder, out, err);
    }
    banyan_free(trees.node);
    banyan_free(trees.first);
    banyan_free(trees.leader[0]);
    banyan_free(trees.leader[1]);
    banyan_free(trees.is_circle);
    return status;
}

static const banyan_algorithm_option options[] = {BANYAN_ORDER_OPTION, {NULL, NULL, NULL}};

const banyan_algorithm banyan_algorithm_double_tree = {
    .name = "double-tree",
    .summary = "two complementary binary trees, of hosts where there are some, half of the vector each",
    .paper =
        "Sanders, Speck, Träff: Two-Tree Algorithms for Full Bandwidth Broadcast, Reduction and Scan, 2009",
    .cost = "2 log2(p) a + 2 n b",
    .collectives = BANYAN_CAN(ALLREDUCE) | BANYAN_CAN(BROADCAST) | BANYAN_CAN(REDUCE),
    .options = options,
    .build = build,
};
