/* SPDX-License-Identifier: Apache-2.0 */
/* flit.h: what tests of the flit engine share: build a schedule, run it, check what must always hold. */
#ifndef BANYAN_TESTS_FLIT_H
#define BANYAN_TESTS_FLIT_H

#include "unit/test.h"

#include "algorithms/algorithms.h"
#include "simulate/flit.h"

static inline banyan_topology *flit_load(const char *spec)
{
    banyan_topology *t;
    banyan_error err;

    if (banyan_topology_load(spec, &t, &err))
        fail_msg("%s", err.text);
    return t;
}

/* 'order=yx' sets the algorithm's option; NULL: none. */
static inline banyan_schedule *flit_build(const banyan_topology *t, const char *algorithm, const char *order)
{
    banyan_parameter parameter = {"order", order};
    banyan_problem problem = {.topology = t,
                              .active = t->workers,
                              .active_count = t->worker_count,
                              .parameters = &parameter,
                              .parameter_count = order != NULL};
    banyan_schedule *s;
    banyan_error err;

    if (banyan_algorithm_build(banyan_algorithm_find(algorithm), &problem, &s, &err))
        fail_msg("%s", err.text);
    return s;
}

/* Runs it and returns the cycles until the network is quiet. */
static inline int64_t flit_cycles(const char *spec, const char *algorithm, const char *order, size_t bytes,
                                  const banyan_flit_settings *settings)
{
    banyan_topology *t = flit_load(spec);
    banyan_schedule *s = flit_build(t, algorithm, order);
    banyan_flit_report *report;
    banyan_error err;
    int64_t cycles;

    if (banyan_flit_run(s, t, bytes, settings, NULL, &report, &err))
        fail_msg("%s on %s: %s", algorithm, spec, err.text);
    cycles = report->cycles;
    banyan_flit_report_destroy(report);
    banyan_schedule_destroy(s);
    banyan_topology_destroy(t);
    return cycles;
}

static inline void flit_within(double found, double wanted, double share, const char *what)
{
    double off = found / wanted - 1;

    if (off > share || off < -share)
        fail_msg("%s: %.6g should be %.6g within %g %%, but is off by %.2f %%", what, found, wanted,
                 100 * share, 100 * off);
}

#endif
