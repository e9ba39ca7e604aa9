/* SPDX-License-Identifier: Apache-2.0 */
/* train/observe.h: what was seen in the last iterations, such as when each tensor was ready, and the median
 * of that. Medians, because now and then an iteration is slow for reasons that will not come back. */
#ifndef BANYAN_TRAIN_OBSERVE_H
#define BANYAN_TRAIN_OBSERVE_H

#include "core/status.h"

typedef struct {
    int columns, window; /* how many iterations are kept */
    int count, next;     /* rows that are filled, and the one that is written next */
    double *rows_s;      /* window x columns */
    double *sorted_s;    /* room for one column */
} banyan_observations;

banyan_status banyan_observations_init(banyan_observations *observations, int columns, int window,
                                       banyan_error *err);
void banyan_observations_fini(banyan_observations *observations);

void banyan_observations_add(banyan_observations *observations, const double *row_s);
void banyan_observations_forget(banyan_observations *observations);

/* The latest is 0, the one before it 1, ...; below count. */
const double *banyan_observations_row(const banyan_observations *observations, int age);

/* Of each column; needs at least one row. */
void banyan_observations_median(banyan_observations *observations, double *out_s);

/* The median of the values, which it sorts; 0 for none. */
double banyan_median(double *values, int count);

/* 0 for none. Of waiting times: where ranks take turns in being late, each waits long or not at all, and the
 * middle of that is either. */
double banyan_mean(const double *values, int count);

#endif
