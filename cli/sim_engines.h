/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sim_engines.h: the simulators that «banyan sim» can be asked for, one line each in sim_engines.c. */
#ifndef BANYAN_CLI_SIM_ENGINES_H
#define BANYAN_CLI_SIM_ENGINES_H

#include "cli.h"
#include "schedule/timeline.h"
#include "simulate/fluid.h"

/* What was asked for: the fluid options that all engines may read, and the options as they were typed. */
typedef struct {
    const cli_arguments *arguments;
    banyan_fluid_options fluid;
} sim_settings;

typedef struct {
    banyan_timeline *timeline; /* the caller's */
    double utilization;   /* bytes carried by all links over what they could have carried; NAN: unknown */
    double busiest;       /* the same of the bottleneck */
    int bottleneck;       /* a link, or -1 */
    size_t message_count; /* 0: not counted */
    char note[64];        /* what else a line of text should say, or "" */
    char json[640];       /* further fields, each after a comma, or "" */
} sim_outcome;

typedef struct {
    const char *name, *summary;
    banyan_status (*run)(const sim_settings *settings, const banyan_schedule *schedule,
                         const banyan_topology *topology, size_t bytes, sim_outcome *out, banyan_error *err);
} sim_engine;

/* Engines end with a NULL name; the first is the default. */
extern const sim_engine sim_engines[];
const sim_engine *sim_engine_find(const char *name, banyan_error *err); /* NULL: err lists those there are */

#endif
