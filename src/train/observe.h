/* SPDX-License-Identifier: Apache-2.0 */
/* train/observe.h: when each tensor was ready in the last iterations, and the median of that.
 * Medians, because now and then an iteration is slow for reasons that will not come back. */
#ifndef BANYAN_TRAIN_OBSERVE_H
#define BANYAN_TRAIN_OBSERVE_H

#include "core/status.h"

typedef struct {
    int tensor_count, window; /* how many iterations are kept */
    int count, next;          /* rows that are filled, and the one that is written next */
    double *rows_s;           /* window x tensor_count */
    double *sorted_s;         /* room for one tensor */
} banyan_observations;

banyan_status banyan_observations_init(banyan_observations *observations, int tensor_count, int window,
                                       banyan_error *err);
void banyan_observations_fini(banyan_observations *observations);

void banyan_observations_add(banyan_observations *observations, const double *ready_s);
void banyan_observations_forget(banyan_observations *observations);

/* Of each tensor; needs at least one row. */
void banyan_observations_median(banyan_observations *observations, double *out_s);

/* The median of the values, which it sorts; 0 for none. */
double banyan_median(double *values, int count);

#endif
