/* SPDX-License-Identifier: Apache-2.0 */
/* solve/cut/near_minimum_cuts.h: prices made of all cuts that are nearly as narrow as the narrowest one,
 * where most pairs are cabled. */
#ifndef BANYAN_SOLVE_CUT_NEAR_MINIMUM_CUTS_H
#define BANYAN_SOLVE_CUT_NEAR_MINIMUM_CUTS_H

#include "solve/net/graph.h"

typedef struct banyan_near_minimum_cuts banyan_near_minimum_cuts;

/* The graph must live on. price, per arc, proves the bound; it is copied. */
banyan_status banyan_near_minimum_cuts_create(const banyan_graph *graph, const int64_t *price, double bound,
                                              banyan_near_minimum_cuts **out, banyan_error *err);
void banyan_near_minimum_cuts_destroy(banyan_near_minimum_cuts *cuts); /* accepts NULL */

/* Prices per arc, under which no pair of trees, up and down, costs less than 1, where arcs have that much
 * left, and trees of this weight are to come. Returns what they prove of what is left. */
double banyan_near_minimum_cuts_mix(banyan_near_minimum_cuts *cuts, const double *left, double rest,
                                    double *price);

#endif
