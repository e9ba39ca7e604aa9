/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sim_engines.c: the table of simulators. */
#include "sim_engines.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim_flit.h"
#include "simulate/simulate.h"

static banyan_status refuse(const sim_settings *settings, const char *option, const char *model,
                            const char *needs, banyan_error *err)
{
    return cli_has(settings->arguments, option)
               ? banyan_fail(err, BANYAN_INVALID_ARGUMENT, "--%s is not for the %s: it needs --model %s",
                             option, model, needs)
               : BANYAN_SUCCESS;
}

/* What only the flit engine has. */
static banyan_status refuse_flit(const sim_settings *settings, const char *model, banyan_error *err)
{
    static const char *const names[] = {"flow", "flit", "tables"};
    banyan_status status = BANYAN_SUCCESS;

    for (int i = 0; !status && i < 3; i++)
        status = refuse(settings, names[i], model, "flit", err);
    return status;
}

static banyan_status run_fluid(const sim_settings *settings, const banyan_schedule *schedule,
                               const banyan_topology *topology, size_t bytes, sim_outcome *out,
                               banyan_error *err)
{
    banyan_fluid_result result;
    banyan_status status = refuse_flit(settings, "fluid", err);

    if (!status)
        status = banyan_fluid(schedule, topology, bytes, &settings->fluid, &result, err);
    if (status)
        return status;
    *out = (sim_outcome){.timeline = result.timeline,
                         .utilization = result.utilization,
                         .busiest = result.busiest,
                         .bottleneck = result.bottleneck,
                         .message_count = result.message_count};
    result.timeline = NULL;
    banyan_fluid_fini(&result);
    return BANYAN_SUCCESS;
}

static banyan_status run_walk(const sim_settings *settings, const banyan_schedule *schedule,
                              const banyan_topology *topology, size_t bytes, sim_outcome *out,
                              banyan_error *err)
{
    banyan_limits limits;
    banyan_status status = refuse_flit(settings, "walk", err);

    *out = (sim_outcome){.utilization = NAN, .busiest = NAN};
    if (!status)
        status = refuse(settings, "lockstep", "walk", "fluid or flit", err);
    if (!status)
        status = refuse(settings, "overhead", "walk", "fluid", err);
    if (!status)
        status = refuse(settings, "reduce-speed", "walk", "fluid", err);
    if (!status)
        status = banyan_bandwidth_limit(schedule, topology, &limits, err);
    if (!status)
        status = banyan_walk(schedule, topology, bytes, settings->fluid.slice_bytes, &out->timeline, err);
    if (status)
        return status;
    out->bottleneck = limits.bottleneck;
    out->busiest = (double)bytes / limits.bytes_per_s / out->timeline->total_s;
    return BANYAN_SUCCESS;
}

const sim_engine sim_engines[] = {
    {"fluid", "event driven: transfers share links max-min fairly along their routes", run_fluid},
    {"walk", "one walk over the transfers: links serve one after the other; rough and fast", run_walk},
    {"flit", "cycle accurate: routers with virtual channels, interfaces with schedule tables", sim_flit_run},
    {NULL, NULL, NULL}};

const sim_engine *sim_engine_find(const char *name, banyan_error *err)
{
    char names[200] = "";

    for (const sim_engine *engine = sim_engines; engine->name; engine++) {
        size_t length = strlen(names);

        if (!strcmp(engine->name, name))
            return engine;
        snprintf(names + length, sizeof names - length, "%s%s", length ? ", " : "", engine->name);
    }
    banyan_fail(err, BANYAN_INVALID_ARGUMENT, "--model %.40s is not one of %s", name, names);
    return NULL;
}
