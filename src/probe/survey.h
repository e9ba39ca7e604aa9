/* SPDX-License-Identifier: Apache-2.0 */
/* probe/survey.h: a survey under way, and its instruments, for the survey*.c files. */
#ifndef BANYAN_PROBE_SURVEY_H
#define BANYAN_PROBE_SURVEY_H

#include "probe/infer.h"
#include "probe/measure.h"

#define BANYAN_SURVEY_SUSPICIOUS 0.9 /* of what was expected, less is looked at again */

typedef struct {
    const banyan_probe_options *options;
    banyan_probe_gauge *gauge;
    banyan_probe_findings findings;
    int *ranks, *first; /* ranks of host h: ranks[first[h] .. first[h + 1]) */
    int *turn;          /* by host: whose turn it is */
    double *speeds;     /* by host, at a first look; 0: not known */
    double wire_bytes;  /* what the fastest path holds */
    int done, total;
    banyan_probe_flow *flows;
    double *rates, *second, *sorted; /* by flow */
    int *pairs;                      /* hosts of the flows */
} banyan_survey;

/* survey_flows.c: the flows of s->pairs. */
void banyan_survey_step(banyan_survey *s);
banyan_status banyan_survey_measure_sum(banyan_survey *s, int count, double *out, banyan_error *err);
banyan_status banyan_survey_measure_each(banyan_survey *s, int count, banyan_error *err);
banyan_status banyan_survey_measure(banyan_survey *s, int count, int is_shared, double *rates,
                                    banyan_error *err);
void banyan_survey_pick_ranks(banyan_survey *s, int count);

#endif
