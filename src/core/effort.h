/* SPDX-License-Identifier: Apache-2.0 */
/* core/effort.h: how hard a planner looks: one dial, as FFTW's users know it, and what it sets. */
#ifndef BANYAN_CORE_EFFORT_H
#define BANYAN_CORE_EFFORT_H

#include "core/status.h"

typedef enum {
    BANYAN_EFFORT_ESTIMATE, /* every algorithm, judged by the walk */
    BANYAN_EFFORT_MEASURE,  /* every algorithm, judged by the fluid simulator */
    BANYAN_EFFORT_PATIENT,  /* and every variant of its settings */
    BANYAN_EFFORT_TIMED     /* not predicted, but run on the real network; only wisdom has it */
} banyan_effort;

/* What one search for a plan may spend. Work is counted in visits (solve/net/work.h), not in time, so that
 * every machine finds the same plan. */
typedef struct {
    double target_share;    /* of the bound, which a search promises; */
    double near_share;      /* what it looks for at first, */
    int64_t near_visits;    /* for so long; */
    int64_t most_visits;    /* and after that many it makes do with less, if need be: in networks of up to
                             * BANYAN_BUDGET_NODES, in larger ones more by the square of nodes, since a
                             * tree has more edges, and each more ends to move to */
    int64_t column_visits;  /* of them for column generation, */
    int max_column_workers; /* in networks with at most that many active workers */
} banyan_budget;

#define BANYAN_BUDGET_NODES 256

/* Share of a plan's time to which no prediction is exact: of plans that differ by less and burden links
 * equally the one with the fewest transfers is taken, and no rate is looked for that would change less. */
#define BANYAN_PLAN_TIE 0.005

const banyan_budget *banyan_effort_budget(banyan_effort effort);

const char *banyan_effort_name(banyan_effort effort);
banyan_status banyan_effort_parse(const char *text, banyan_effort *out, banyan_error *err);

#endif
