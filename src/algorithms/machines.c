/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/machines.c: sorting active workers by host, and shallow trees among them. */
#include "algorithms/machines.h"

#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"

void banyan_machines_fini(banyan_machines *machines)
{
    banyan_free(machines->first);
    banyan_free(machines->member);
    banyan_free(machines->parent);
    banyan_free(machines->depth);
    banyan_free(machines->order);
    banyan_free(machines->level_first);
    memset(machines, 0, sizeof *machines);
}

/* Sorts by host, keeping the order within each; first has room for all hosts and one more. */
static void collect(const banyan_problem *problem, banyan_machines *out)
{
    const banyan_topology *topology = problem->topology;
    int *begin = out->first, members = 0;

    for (int r = 0; r < problem->active_count; r++)
        begin[topology->nodes[problem->active[r]].host + 1]++;
    for (int host = 0; host < topology->host_count; host++)
        begin[host + 1] += begin[host];
    for (int r = 0; r < problem->active_count; r++)
        out->member[begin[topology->nodes[problem->active[r]].host]++] = problem->active[r];
    /* Now begin[host] is where the host's members end. */
    for (int host = 0; host < topology->host_count; host++) {
        int size = begin[host] - members;

        if (!size)
            continue;
        out->first[out->count++] = members;
        members += size;
        if (out->count == 1 || size < out->smallest)
            out->smallest = size;
    }
    out->first[out->count] = members;
}

banyan_status banyan_machines_find(const banyan_problem *problem, banyan_machines *out, banyan_error *err)
{
    const banyan_topology *topology = problem->topology;
    size_t nodes = (size_t)topology->node_count;

    memset(out, 0, sizeof *out);
    for (int r = 0; r < problem->active_count; r++)
        if (topology->nodes[problem->active[r]].host < 0)
            return banyan_fail(err, BANYAN_UNSUPPORTED,
                               "worker %s has no host, so there are no machines to work in",
                               banyan_topology_node_name(topology, problem->active[r]));
    out->first = banyan_alloc((size_t)topology->host_count + 1, sizeof(int));
    out->member = banyan_alloc((size_t)problem->active_count, sizeof(int));
    out->parent = banyan_alloc(nodes, sizeof(int));
    out->depth = banyan_alloc(nodes, sizeof(int));
    out->order = banyan_alloc((size_t)problem->active_count, sizeof(int));
    out->level_first = banyan_alloc((size_t)problem->active_count + 1, sizeof(int));
    if (!out->first || !out->member || !out->parent || !out->depth || !out->order || !out->level_first) {
        banyan_machines_fini(out);
        return banyan_fail_memory(err);
    }
    collect(problem, out);
    return BANYAN_SUCCESS;
}

banyan_status banyan_machines_apply(const banyan_problem *problem, banyan_error *err)
{
    banyan_machines machines;
    banyan_status status = banyan_machines_find(problem, &machines, err);

    if (!status)
        banyan_machines_fini(&machines);
    return status;
}

static int compare_nodes(const void *left, const void *right)
{
    const int *a = left, *b = right;

    return *a < *b ? -1 : *a > *b;
}

/* Gives the node's neighbours that have no depth yet theirs, and appends them; returns the new end. Nodes of
 * other machines have a depth that is not -1. */
static int append_neighbours(const banyan_machines *machines, const banyan_topology *topology, int node,
                             int end)
{
    for (int i = topology->out_first[node]; i < topology->out_first[node + 1]; i++) {
        int next = topology->links[topology->out_link[i]].dst;

        if (machines->depth[next] != -1 || banyan_topology_find_link(topology, next, node) < 0)
            continue;
        machines->depth[next] = machines->depth[node] + 1;
        machines->parent[next] = node;
        machines->order[end++] = next;
    }
    return end;
}

/* Orders the members, which ascend, by depth. */
static void sort_by_depth(const banyan_machines *machines, const int *member, int size, int deepest)
{
    int *first = machines->level_first;

    memset(first, 0, (size_t)(deepest + 2) * sizeof *first);
    for (int i = 0; i < size; i++)
        first[machines->depth[member[i]] + 1]++;
    for (int depth = 0; depth <= deepest; depth++)
        first[depth + 1] += first[depth];
    for (int i = 0; i < size; i++)
        machines->order[first[machines->depth[member[i]]]++] = member[i];
}

int banyan_machines_tree(const banyan_machines *machines, const banyan_topology *topology, int machine,
                         int leader)
{
    const int *member = machines->member + machines->first[machine];
    int size = machines->first[machine + 1] - machines->first[machine], root = member[leader % size];
    int deepest = 0, level_end = 1, end = 1;

    for (int i = 0; i < size; i++)
        machines->depth[member[i]] = -1;
    machines->depth[root] = 0;
    machines->parent[root] = -1;
    machines->order[0] = root;
    for (int i = 0; i < end; i++) {
        if (i == level_end) { /* a node is attached to the first of those that could be above it */
            qsort(machines->order + i, (size_t)(end - i), sizeof(int), compare_nodes);
            level_end = end;
        }
        deepest = machines->depth[machines->order[i]];
        end = append_neighbours(machines, topology, machines->order[i], end);
    }
    for (int i = 0; i < size; i++)
        if (machines->depth[member[i]] < 0) {
            machines->depth[member[i]] = 1;
            machines->parent[member[i]] = root;
            deepest = deepest > 1 ? deepest : 1;
        }
    sort_by_depth(machines, member, size, deepest);
    return deepest;
}
