/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/machines.c: sorting active workers by host, and shallow trees among them. */
#include "algorithms/machines.h"

#include <string.h>

#include "core/alloc.h"

void banyan_machines_fini(banyan_machines *machines)
{
    banyan_free(machines->first);
    banyan_free(machines->member);
    banyan_free(machines->parent);
    banyan_free(machines->depth);
    memset(machines, 0, sizeof *machines);
}

static void collect(const banyan_problem *problem, banyan_machines *out)
{
    const banyan_topology *topology = problem->topology;
    int members = 0;

    for (int host = 0; host < topology->host_count; host++) {
        int before = members;

        for (int r = 0; r < problem->active_count; r++)
            if (topology->nodes[problem->active[r]].host == host)
                out->member[members++] = problem->active[r];
        if (members == before)
            continue;
        out->first[out->count++] = before;
        if (out->count == 1 || members - before < out->smallest)
            out->smallest = members - before;
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
    if (!out->first || !out->member || !out->parent || !out->depth) {
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

static int is_linked(const banyan_topology *topology, int a, int b)
{
    return banyan_topology_find_link(topology, a, b) >= 0 && banyan_topology_find_link(topology, b, a) >= 0;
}

int banyan_machines_tree(const banyan_machines *machines, const banyan_topology *topology, int machine,
                         int leader)
{
    const int *member = machines->member + machines->first[machine];
    int size = machines->first[machine + 1] - machines->first[machine], root = member[leader % size],
        deepest = 0;

    for (int i = 0; i < size; i++)
        machines->depth[member[i]] = -1;
    machines->depth[root] = 0;
    machines->parent[root] = -1;
    for (int level = 0, found = 1; found; level++) {
        found = 0;
        for (int i = 0; i < size; i++)
            for (int j = 0; j < size && machines->depth[member[i]] < 0; j++)
                if (machines->depth[member[j]] == level && is_linked(topology, member[j], member[i])) {
                    machines->depth[member[i]] = level + 1;
                    machines->parent[member[i]] = member[j];
                    deepest = level + 1;
                    found = 1;
                }
    }
    for (int i = 0; i < size; i++)
        if (machines->depth[member[i]] < 0) {
            machines->depth[member[i]] = 1;
            machines->parent[member[i]] = root;
            deepest = deepest > 1 ? deepest : 1;
        }
    return deepest;
}
