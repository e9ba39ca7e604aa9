/* SPDX-License-Identifier: Apache-2.0 */
/* cli/bench_bound.c: the bound for a table of measurements; where there is none, the table does without. */
#include "bench_bound.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"

static double rate_of(const banyan_bounds_info *info, const char *collective)
{
    if (!strcmp(collective, "allreduce"))
        return info->allreduce_bytes_per_s;
    if (!strcmp(collective, "allgather"))
        return info->allgather_bytes_per_s;
    return !strcmp(collective, "reducescatter") ? info->reducescatter_bytes_per_s : NAN;
}

double bench_bound(const char *spec, int ranks, const char *collective)
{
    banyan_bounds_config config = BANYAN_BOUNDS_CONFIG_INITIALIZER;
    banyan_bounds_info info = {.size = sizeof info};
    banyan_topology *topology;
    banyan_bounds *bounds;
    char active[32];
    double rate = NAN;

    if (!spec || !*spec || !strcmp(spec, "probe") || ranks < 2 || ranks > CLI_BOUND_WORKERS)
        return NAN;
    if (banyan_topology_load(spec, &topology, NULL))
        return NAN;
    snprintf(active, sizeof active, "0-%d", ranks - 1);
    config.active = active;
    if (!banyan_bounds_create(topology, &config, &bounds, NULL)) {
        if (!banyan_bounds_get_info(bounds, &info, NULL))
            rate = rate_of(&info, collective);
        banyan_bounds_destroy(bounds);
    }
    banyan_topology_destroy(topology);
    return rate;
}
