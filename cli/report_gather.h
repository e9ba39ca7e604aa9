/* SPDX-License-Identifier: Apache-2.0 */
/* cli/report_gather.h: everything that a report shows, asked of planner, bound and simulators. */
#ifndef BANYAN_CLI_REPORT_GATHER_H
#define BANYAN_CLI_REPORT_GATHER_H

#include "bound/bound.h"
#include "planner/planner.h"
#include "problem.h"
#include "report/report.h"
#include "simulate/paths.h"

#define REPORT_SIZES 11 /* 1 KiB, 4 KiB, ... 1 GiB */

typedef struct {
    cli_problem problem;
    const banyan_algorithm **algorithms; /* NULL: all */
    int algorithm_count;
    int count;
    banyan_plan *plans; /* auto's choice first, then the others by prediction; those that do not apply last */
    banyan_report_result *results;
    double *curves; /* by plan, then size */
    size_t sizes[REPORT_SIZES];
    banyan_bound bound;
    int has_bound;
    char *words, *why;
    banyan_timeline *predicted, *measured;
    banyan_paths *paths;
    banyan_report report;
} report_gathering;

/* Fills all of it, or cleans up and says why not. */
banyan_status report_gather(const cli_arguments *arguments, report_gathering *out, banyan_error *err);
void report_gathering_fini(report_gathering *gathering);

#endif
