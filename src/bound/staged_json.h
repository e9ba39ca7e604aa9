/* SPDX-License-Identifier: Apache-2.0 */
/* bound/staged_json.h: the bound of plans in stages as a file that anybody can check. */
#ifndef BANYAN_BOUND_STAGED_JSON_H
#define BANYAN_BOUND_STAGED_JSON_H

#include "bound/network.h"
#include "bound/staged.h"
#include "core/json.h"

typedef struct {
    const banyan_topology *topology;
    const int *active;
    int active_count;
    banyan_relays relays;
    banyan_stages stages;
    double bytes; /* of the vector whose time is told */
} banyan_staged_question;

/* The answer found on the question's graph, as JSON; the caller frees *out. */
banyan_status banyan_staged_format(const banyan_staged_question *question, const banyan_graph *graph,
                                   const banyan_staged *staged, char **out, banyan_error *err);

/* The certificate in words, or that there is none. The caller frees *out. */
banyan_status banyan_staged_explain(const banyan_staged_question *question, const banyan_graph *graph,
                                    const banyan_staged *staged, char **out, banyan_error *err);

/* Recomputes it from the prices alone: PLAN_INVALID with a sentence where it does not say what they prove. */
banyan_status banyan_staged_check(const banyan_json *root, const banyan_topology *topology,
                                  banyan_error *err);

#endif
