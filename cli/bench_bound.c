/* SPDX-License-Identifier: Apache-2.0 */
/* cli/bench_bound.c: the bound for a table of measurements; where there is none, the table does without. */
#include "bench_bound.h"

#include <math.h>
#include <string.h>

#include "bound/bound.h"
#include "cli.h"

static double rate_of(const banyan_bound *bound, banyan_collective collective)
{
    switch (collective) {
    case BANYAN_COLLECTIVE_ALLREDUCE:
        return bound->allreduce.bytes_per_s;
    case BANYAN_COLLECTIVE_ALLGATHER:
        return bound->allgather.bytes_per_s;
    case BANYAN_COLLECTIVE_REDUCE_SCATTER:
        return bound->reducescatter.bytes_per_s;
    default:
        return NAN;
    }
}

double bench_bound(const char *spec, int ranks, banyan_collective collective)
{
    banyan_topology *topology = NULL;
    banyan_bound bound;
    double rate = NAN;

    if (!spec || !*spec || !strcmp(spec, "probe") || ranks < 2 || ranks > CLI_BOUND_WORKERS)
        return NAN;
    if (banyan_topology_load(spec, &topology, NULL))
        return NAN;
    if (ranks <= topology->worker_count &&
        !banyan_bound_find(topology, topology->workers, ranks, BANYAN_RELAYS_ADD, &bound, NULL)) {
        rate = rate_of(&bound, collective);
        banyan_bound_fini(&bound);
    }
    banyan_topology_destroy(topology);
    return rate;
}
