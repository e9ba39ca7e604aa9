/* SPDX-License-Identifier: Apache-2.0 */
/* probe/survey.h: a survey of the network that can be interrupted between any two measurements. Every rank
 * makes the same calls in the same order, and knows every result. */
#ifndef BANYAN_PROBE_SURVEY_H
#define BANYAN_PROBE_SURVEY_H

#include "probe/findings.h"
#include "probe/probe.h"

typedef struct banyan_survey banyan_survey;

/* The options must outlive the survey. */
banyan_status banyan_survey_create(const banyan_probe_options *options, banyan_survey **out,
                                   banyan_error *err);
void banyan_survey_destroy(banyan_survey *survey); /* accepts NULL */

/* The next measurement. *is_done: none is left, and the findings have been judged. */
banyan_status banyan_survey_step(banyan_survey *survey, int *is_done, banyan_error *err);

/* Between hosts all is measured anew, except latencies. */
void banyan_survey_restart(banyan_survey *survey);

const banyan_probe_findings *banyan_survey_findings(const banyan_survey *survey);
int banyan_survey_host_count(const banyan_survey *survey);
int banyan_survey_step_count(const banyan_survey *survey); /* so far */
uint64_t banyan_survey_sent_bytes(const banyan_survey *survey);

#endif
