/* SPDX-License-Identifier: Apache-2.0 */
/* solve/cut/endpoint_service.h: what the ends of links at workers allow, where idle workers help. */
#ifndef BANYAN_SOLVE_CUT_ENDPOINT_SERVICE_H
#define BANYAN_SOLVE_CUT_ENDPOINT_SERVICE_H

#include "solve/net/fraction.h"
#include "solve/net/graph.h"

/* The best prices of this kind, equal both ways in a symmetric graph; *value is what they prove, in the
 * graph's units. Where two workers are joined by a link there may be none: HUGE_VAL. */
banyan_status banyan_endpoint_service_price(const banyan_graph *graph, int64_t *price, double *value,
                                            banyan_error *err);

/* No in-tree and out-tree with one root cost less together, by this kind of proof; -1: it does not apply. */
banyan_wide banyan_endpoint_service_cost(const banyan_graph *graph, const int64_t *price);

#endif
