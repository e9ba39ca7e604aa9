/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/hierarchy_sources.c: a hierarchy from the network itself.
 *
 * Switches: where cables between switches and workers make a tree with the workers at its leaves, that tree,
 * rooted at the switch from which the farthest worker is nearest.
 * Hosts: one branch a host.
 * Bandwidth: ranks that reach one another over links of at least some speed belong together; the fastest such
 * groups are the lowest branches, all speeds together the root. Measured speeds scatter, so speeds are one
 * class up to a gap of a quarter: a full mesh of 9 to 11 GB/s in hosts and 1.1 to 1.3 between has two. */
#include "algorithms/hierarchy_sources.h"

#include <stdlib.h>

#include "core/alloc.h"

#define DEEPEST 1000

/* --- switches --- */

typedef struct {
    const banyan_topology *topology;
    banyan_hierarchy *hierarchy;
    int *rank_of; /* node -> rank + 1 */
    int *below;   /* active workers below a node, seen from the root */
    int *queue, *distance;
} switch_tree;

static void switch_tree_fini(switch_tree *t)
{
    banyan_free(t->rank_of);
    banyan_free(t->below);
    banyan_free(t->queue);
    banyan_free(t->distance);
}

static banyan_status switch_tree_init(switch_tree *t, const banyan_problem *problem,
                                      banyan_hierarchy *hierarchy, banyan_error *err)
{
    size_t nodes = (size_t)problem->topology->node_count;

    t->topology = problem->topology;
    t->hierarchy = hierarchy;
    t->rank_of = banyan_alloc(nodes, sizeof(int));
    t->below = banyan_alloc(nodes, sizeof(int));
    t->queue = banyan_alloc(nodes, sizeof(int));
    t->distance = banyan_alloc(nodes, sizeof(int));
    if (!t->rank_of || !t->below || !t->queue || !t->distance)
        return banyan_fail_memory(err);
    for (int rank = 0; rank < problem->active_count; rank++)
        t->rank_of[problem->active[rank]] = rank + 1;
    return BANYAN_SUCCESS;
}

/* Next neighbour after a place in the node's out-links, each neighbour once; -1 after the last. */
static int next_neighbour(const banyan_topology *topology, int node, int *place)
{
    while (*place < topology->out_first[node + 1]) {
        int next = topology->links[topology->out_link[*place]].dst, is_new = 1;

        for (int i = topology->out_first[node]; i < *place && is_new; i++)
            is_new = topology->links[topology->out_link[i]].dst != next;
        ++*place;
        if (is_new)
            return next;
    }
    return -1;
}

static int degree_of(const banyan_topology *topology, int node)
{
    int place = topology->out_first[node], count = 0;

    while (next_neighbour(topology, node, &place) >= 0)
        count++;
    return count;
}

/* Farthest rank from a switch; -1 where a node is not reached, or too far for recursion. */
static int farthest_worker(switch_tree *t, int from)
{
    const banyan_topology *topology = t->topology;
    int head = 0, tail = 0, farthest = 0;

    for (int i = 0; i < topology->node_count; i++)
        t->distance[i] = -1;
    t->distance[from] = 0;
    t->queue[tail++] = from;
    while (head < tail) {
        int node = t->queue[head++];

        if (t->rank_of[node])
            farthest = t->distance[node];
        for (int i = topology->out_first[node]; i < topology->out_first[node + 1]; i++) {
            int next = topology->links[topology->out_link[i]].dst;

            if (t->distance[next] < 0) {
                t->distance[next] = t->distance[node] + 1;
                t->queue[tail++] = next;
            }
        }
    }
    if (tail < topology->node_count || t->distance[t->queue[tail - 1]] > DEEPEST)
        return -1;
    return farthest;
}

/* The switch at which the tree has its root, or -1 where the network is none. */
static int find_root(switch_tree *t)
{
    const banyan_topology *topology = t->topology;
    long ends = 0;
    int root = -1, best = DEEPEST + 1;

    for (int node = 0; node < topology->node_count; node++) {
        int degree = degree_of(topology, node);

        if (topology->nodes[node].kind == BANYAN_NODE_WORKER && degree != 1)
            return -1;
        ends += degree;
    }
    if (ends != 2L * (topology->node_count - 1))
        return -1;
    for (int i = 0; i < topology->link_count; i++)
        if (banyan_topology_find_link(topology, topology->links[i].dst, topology->links[i].src) < 0)
            return -1;
    for (int node = 0; node < topology->node_count; node++)
        if (topology->nodes[node].kind == BANYAN_NODE_SWITCH) {
            int farthest = farthest_worker(t, node);

            if (farthest < 0)
                return -1;
            if (farthest < best) {
                best = farthest;
                root = node;
            }
        }
    return root;
}

static int count_below(switch_tree *t, int node, int from)
{
    int place = t->topology->out_first[node], next;

    t->below[node] = t->rank_of[node] > 0;
    while ((next = next_neighbour(t->topology, node, &place)) >= 0)
        if (next != from)
            t->below[node] += count_below(t, next, node);
    return t->below[node];
}

/* A branch with one child that has ranks is passed over; one without ranks is left out. */
static int add_below(switch_tree *t, int node, int from)
{
    int place = t->topology->out_first[node], next, children = 0, fits = 1;

    if (t->rank_of[node])
        return banyan_hierarchy_leaf(t->hierarchy, t->rank_of[node] - 1);
    while ((next = next_neighbour(t->topology, node, &place)) >= 0)
        children += next != from && t->below[next] > 0;
    if (children > 1)
        fits = banyan_hierarchy_open(t->hierarchy);
    place = t->topology->out_first[node];
    while (fits && (next = next_neighbour(t->topology, node, &place)) >= 0)
        if (next != from && t->below[next] > 0)
            fits = add_below(t, next, node);
    if (fits && children > 1)
        banyan_hierarchy_close(t->hierarchy);
    return fits;
}

banyan_status banyan_hierarchy_from_switches(const banyan_problem *problem, banyan_hierarchy *hierarchy,
                                             banyan_error *err)
{
    switch_tree t = {0};
    banyan_status status = switch_tree_init(&t, problem, hierarchy, err);
    int root = status ? -1 : find_root(&t);

    if (root >= 0) {
        count_below(&t, root, -1);
        if (!add_below(&t, root, -1))
            status = banyan_fail_memory(err);
    }
    switch_tree_fini(&t);
    return status;
}

/* --- groups of groups, from labels --- */

/* A branch for each label in the order of first ranks; a label that stands for one rank only is that leaf. */
static int add_groups(banyan_hierarchy *hierarchy, const int *label, int count)
{
    int fits = banyan_hierarchy_open(hierarchy);

    for (int first = 0; fits && first < count; first++) {
        int is_first = 1, members = 0;

        for (int i = 0; i < first && is_first; i++)
            is_first = label[i] != label[first];
        if (!is_first)
            continue;
        for (int i = first; i < count; i++)
            members += label[i] == label[first];
        if (members > 1)
            fits = banyan_hierarchy_open(hierarchy);
        for (int i = first; fits && i < count; i++)
            if (label[i] == label[first])
                fits = banyan_hierarchy_leaf(hierarchy, i);
        if (fits && members > 1)
            banyan_hierarchy_close(hierarchy);
    }
    if (fits)
        banyan_hierarchy_close(hierarchy);
    return fits;
}

/* Are there several labels, and fewer than ranks? */
static int sets_apart(const int *label, int count)
{
    int differ = 0, agree = 0;

    for (int i = 1; i < count; i++) {
        differ |= label[i] != label[0];
        for (int j = 0; j < i && !agree; j++)
            agree = label[i] == label[j];
    }
    return differ && agree;
}

banyan_status banyan_hierarchy_from_hosts(const banyan_problem *problem, banyan_hierarchy *hierarchy,
                                          banyan_error *err)
{
    int count = problem->active_count, fits = 1;
    int *label = banyan_alloc((size_t)count, sizeof *label);

    if (!label)
        return banyan_fail_memory(err);
    for (int rank = 0; rank < count; rank++) {
        int host = problem->topology->nodes[problem->active[rank]].host;

        label[rank] = host >= 0 ? host : -1 - rank;
    }
    if (sets_apart(label, count))
        fits = add_groups(hierarchy, label, count);
    banyan_free(label);
    return fits ? BANYAN_SUCCESS : banyan_fail_memory(err);
}

/* --- bandwidth --- */

typedef struct {
    const banyan_problem *problem;
    banyan_hierarchy *hierarchy;
    double *speed; /* the least of each class, ascending */
    int speed_count;
    int *group; /* of each node, as the union of what is joined: a parent, or itself */
    int *label; /* speed s, rank r -> label[s * ranks + r]: a node that stands for its group */
} speed_groups;

static int find_group(int *group, int node)
{
    while (group[node] != node)
        node = group[node] = group[group[node]];
    return node;
}

#define SPEED_GAP 1.25

static int compare_speeds(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void find_speeds(speed_groups *s)
{
    const banyan_topology *topology = s->problem->topology;
    double before = 0;
    int count = 0;

    for (int i = 0; i < topology->link_count; i++)
        s->speed[i] = topology->links[i].bytes_per_s;
    qsort(s->speed, (size_t)topology->link_count, sizeof *s->speed, compare_speeds);
    for (int i = 0; i < topology->link_count; i++) {
        double speed = s->speed[i];

        if (speed > before * SPEED_GAP)
            s->speed[count++] = speed;
        before = speed;
    }
    s->speed_count = count;
}

/* Who belongs together over links of at least this speed? */
static void label_ranks(speed_groups *s, double least, int *label)
{
    const banyan_topology *topology = s->problem->topology;

    for (int node = 0; node < topology->node_count; node++)
        s->group[node] = node;
    for (int i = 0; i < topology->link_count; i++)
        if (topology->links[i].bytes_per_s >= least)
            s->group[find_group(s->group, topology->links[i].src)] =
                find_group(s->group, topology->links[i].dst);
    for (int rank = 0; rank < s->problem->active_count; rank++)
        label[rank] = find_group(s->group, s->problem->active[rank]);
}

/* The ranks that share a label of one speed with first, split by the labels of the next speeds that
 * differ. */
static int add_speed(speed_groups *s, int speed, int first)
{
    int ranks = s->problem->active_count, fits = 1, members = 0, parts = 0;
    const int *label = s->label + (size_t)speed * (size_t)ranks;
    const int *next = speed + 1 < s->speed_count ? label + ranks : NULL;

    for (int i = first; i < ranks; i++)
        members += label[i] == label[first];
    if (members == 1)
        return banyan_hierarchy_leaf(s->hierarchy, first);
    for (int i = first; next && i < ranks; i++)
        parts += label[i] == label[first] && next[i] != next[first];
    if (next && !parts)
        return add_speed(s, speed + 1, first);
    fits = banyan_hierarchy_open(s->hierarchy);
    for (int i = first; fits && i < ranks; i++) {
        int is_first = 1;

        if (label[i] != label[first])
            continue;
        for (int j = first; next && j < i && is_first; j++)
            is_first = next[j] != next[i];
        if (!next)
            fits = banyan_hierarchy_leaf(s->hierarchy, i);
        else if (is_first)
            fits = add_speed(s, speed + 1, i);
    }
    if (fits)
        banyan_hierarchy_close(s->hierarchy);
    return fits;
}

#define MAX_SPEEDS 16

static banyan_status speed_groups_run(speed_groups *s, banyan_error *err)
{
    const banyan_topology *topology = s->problem->topology;
    int ranks = s->problem->active_count;

    s->speed = banyan_alloc((size_t)topology->link_count, sizeof *s->speed);
    s->group = banyan_alloc((size_t)topology->node_count, sizeof *s->group);
    s->label = banyan_alloc((size_t)MAX_SPEEDS * (size_t)ranks, sizeof *s->label);
    if (!s->speed || !s->group || !s->label)
        return banyan_fail_memory(err);
    find_speeds(s);
    if (s->speed_count < 2 || s->speed_count > MAX_SPEEDS)
        return BANYAN_SUCCESS;
    for (int i = 0; i < s->speed_count; i++)
        label_ranks(s, s->speed[i], s->label + (size_t)i * (size_t)ranks);
    for (int i = 1; i < s->speed_count; i++)
        if (sets_apart(s->label + (size_t)i * (size_t)ranks, ranks))
            return add_speed(s, 0, 0) ? BANYAN_SUCCESS : banyan_fail_memory(err);
    return BANYAN_SUCCESS;
}

banyan_status banyan_hierarchy_from_bandwidth(const banyan_problem *problem, banyan_hierarchy *hierarchy,
                                              banyan_error *err)
{
    speed_groups s = {.problem = problem, .hierarchy = hierarchy};
    banyan_status status = speed_groups_run(&s, err);

    banyan_free(s.speed);
    banyan_free(s.group);
    banyan_free(s.label);
    return status;
}
