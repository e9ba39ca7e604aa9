/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce/predict.h: a network by its name, and how long an algorithm takes on it. */
#ifndef BANYAN_REPRODUCE_PREDICT_H
#define BANYAN_REPRODUCE_PREDICT_H

#include "planner/planner.h"

typedef struct {
    banyan_topology *topology;
    int *active;
    banyan_problem problem;
} paper_network;

/* All its workers are active, or those that `active` names. Fini also after failure. */
banyan_status paper_network_init(paper_network *network, const char *spec, const char *active,
                                 banyan_error *err);
void paper_network_fini(paper_network *network);

/* Built, proven and predicted by the fluid simulator (the walk where that would take long). option:
 * 'key=value' for the algorithm, or NULL. */
banyan_status paper_network_predict(const paper_network *network, const char *algorithm, const char *option,
                                    size_t bytes, double *seconds, banyan_error *err);

/* Bytes of vector a second that no algorithm exceeds. */
banyan_status paper_network_bound(const paper_network *network, double *bytes_per_s, banyan_error *err);

#endif
