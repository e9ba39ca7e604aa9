/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/machine_rings.c: as many rings as the smallest machine has workers, as NCCL has one per network
 * adapter.
 *
 *     ring 0    0 - 1 - 2 - 3  ->  4 - 5 - 6 - 7  -> 0       All have the same order of machines, and of the
 *     ring 1    1 - 2 - 3 - 0  ->  5 - 6 - 7 - 4  -> 1       workers in each; every ring enters a machine at
 *     ring 2    2 - 3 - 0 - 1  ->  6 - 7 - 4 - 5  -> 2       another worker and so leaves it at another one:
 *     ring 3    3 - 0 - 1 - 2  ->  7 - 4 - 5 - 6  -> 3       each adapter is used by one ring in, one out.
 *
 * Where all of them have to cross one link, that link carries as much as with one ring, and the rings do not
 * apply. */
#include "algorithms/machine_rings.h"

#include <string.h>

#include "algorithms/order.h"
#include "core/alloc.h"
#include "topology/routes.h"

typedef struct {
    const banyan_problem *problem;
    int *order;         /* ranks, machine after machine */
    int *first, *count; /* places of a machine's workers in order */
    int machine_count, ring_count;
    int *crossings; /* by link: how many rings cross it on their way between two machines */
} tour;

static void tour_fini(tour *t)
{
    banyan_free(t->order);
    banyan_free(t->first);
    banyan_free(t->count);
    banyan_free(t->crossings);
}

static int host_at(const tour *t, int place)
{
    int count = t->problem->active_count;

    return t->problem->topology->nodes[t->problem->active[t->order[place % count]]].host;
}

/* The ring's order, cut where the host changes. A ring that begins within a machine is turned first. */
static banyan_status find_machines(tour *t, banyan_error *err)
{
    int ranks = t->problem->active_count, start = 0;

    while (start < ranks && host_at(t, start) == host_at(t, start + ranks - 1))
        start++;
    for (int i = 0; i < ranks && start < ranks; i++) {
        if (host_at(t, start + i) < 0)
            return banyan_fail(err, BANYAN_UNSUPPORTED, "worker %s has no host",
                               banyan_topology_node_name(t->problem->topology,
                                                         t->problem->active[t->order[(start + i) % ranks]]));
        if (i == 0 || host_at(t, start + i) != host_at(t, start + i - 1))
            t->first[t->machine_count++] = start + i;
        t->count[t->machine_count - 1]++;
    }
    for (int m = 0; m < t->machine_count; m++)
        if (m == 0 || t->count[m] < t->ring_count)
            t->ring_count = t->count[m];
    if (t->machine_count < 2 || t->ring_count < 2)
        return banyan_fail(err, BANYAN_UNSUPPORTED,
                           "multi-ring needs a torus, or machines of several active workers each, and %s has "
                           "none",
                           t->problem->topology->name);
    return BANYAN_SUCCESS;
}

/* Where ring enters machine: workers one after the other, spread over larger machines. */
static int entry(const tour *t, int machine, int ring)
{
    return (int)((int64_t)ring * t->count[machine] / t->ring_count);
}

static int rank_at(const tour *t, int machine, int place)
{
    return t->order[(t->first[machine] + place % t->count[machine]) % t->problem->active_count];
}

/* The way from machine to the next one must not be one link for all rings. */
static banyan_status check_ways_out(tour *t, banyan_routes *routes, int machine, banyan_error *err)
{
    const banyan_topology *topology = t->problem->topology;
    int next = (machine + 1) % t->machine_count;

    memset(t->crossings, 0, (size_t)topology->link_count * sizeof *t->crossings);
    for (int ring = 0; ring < t->ring_count; ring++) {
        int from = rank_at(t, machine, entry(t, machine, ring) + t->count[machine] - 1);
        int to = rank_at(t, next, entry(t, next, ring)), count;
        const int *links;
        banyan_status status =
            banyan_routes_find(routes, t->problem->active[from], t->problem->active[to], &links, &count, err);

        if (status)
            return status;
        for (int i = 0; i < count; i++)
            if (++t->crossings[links[i]] == t->ring_count) {
                const banyan_link *link = &topology->links[links[i]];

                return banyan_fail(err, BANYAN_UNSUPPORTED,
                                   "multi-ring gains nothing on %s: all rings would cross link %s->%s",
                                   topology->name, banyan_topology_node_name(topology, link->src),
                                   banyan_topology_node_name(topology, link->dst));
            }
    }
    return BANYAN_SUCCESS;
}

static void write_rings(const tour *t, int *out)
{
    for (int ring = 0; ring < t->ring_count; ring++)
        for (int m = 0; m < t->machine_count; m++)
            for (int i = 0; i < t->count[m]; i++)
                *out++ = rank_at(t, m, entry(t, m, ring) + i);
}

static banyan_status find_tour(tour *t, banyan_error *err)
{
    const banyan_topology *topology = t->problem->topology;
    size_t ranks = (size_t)t->problem->active_count;
    banyan_routes *routes = NULL;
    banyan_status status = banyan_problem_order(t->problem, &t->order, err);

    t->first = banyan_alloc(ranks, sizeof *t->first);
    t->count = banyan_alloc(ranks, sizeof *t->count);
    t->crossings = banyan_alloc((size_t)topology->link_count + 1, sizeof *t->crossings);
    if (!status && (!t->first || !t->count || !t->crossings))
        status = banyan_fail_memory(err);
    if (!status)
        status = find_machines(t, err);
    if (!status)
        status = banyan_routes_create(topology, &routes, err);
    for (int m = 0; !status && m < t->machine_count; m++)
        status = check_ways_out(t, routes, m, err);
    banyan_routes_destroy(routes);
    return status;
}

banyan_status banyan_machine_rings_find(const banyan_problem *problem, int **out, int *ring_count,
                                        banyan_error *err)
{
    tour t = {.problem = problem};
    int *rings = NULL;
    banyan_status status = find_tour(&t, err);

    if (!status) {
        rings = banyan_alloc((size_t)t.ring_count * (size_t)problem->active_count, sizeof *rings);
        status = rings ? BANYAN_SUCCESS : banyan_fail_memory(err);
    }
    if (!status) {
        write_rings(&t, rings);
        *out = rings;
        *ring_count = t.ring_count;
    }
    tour_fini(&t);
    return status;
}
