/* SPDX-License-Identifier: Apache-2.0 */
/* bound/rate.h: a rate with its certificate, found for a graph or derived from a claim; for bound.c and
 * its parts. */
#ifndef BANYAN_BOUND_RATE_H
#define BANYAN_BOUND_RATE_H

#include "bound/bound.h"

banyan_status banyan_certificate_init(banyan_certificate *certificate, const banyan_topology *topology,
                                      banyan_error *err);

/* value: in the graph's units, with widths as they are; fraction: with its capacities. */
void banyan_rate_set(banyan_rate *rate, const banyan_graph *graph, banyan_fraction fraction, double value);

/* PLAN_INVALID with a sentence where more was claimed than proven; name: of the collective. */
banyan_status banyan_rate_judge(const char *name, const banyan_rate *claimed, const banyan_rate *proven,
                                banyan_error *err);

/* Whether what is reached, in the graph's units, is the rate. */
int banyan_rate_is_reached(const banyan_rate *rate, const banyan_graph *graph, double reached);

/* All-gather, or (towards) reduce-scatter. */
typedef struct {
    const banyan_topology *topology;
    const banyan_graph *graph;
    banyan_relays relays;
    int towards;
} banyan_gather_question;

banyan_status banyan_gather_find_rate(const banyan_gather_question *question, banyan_rate *out,
                                      banyan_error *err);
banyan_status banyan_gather_derive_rate(const banyan_gather_question *question, const banyan_rate *claimed,
                                        banyan_rate *out, banyan_error *err);

#endif
