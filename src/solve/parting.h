/* SPDX-License-Identifier: Apache-2.0 */
/* solve/parting.h: partitions of a network with idle nodes that few cables cross, by local search. */
#ifndef BANYAN_SOLVE_PARTING_H
#define BANYAN_SOLVE_PARTING_H

#include "solve/graph.h"

typedef struct banyan_parting banyan_parting;

/* The graph is symmetric and must live on. */
banyan_status banyan_parting_create(const banyan_graph *graph, banyan_parting **out, banyan_error *err);
void banyan_parting_destroy(banyan_parting *parting); /* accepts NULL */

/* Looks for a partition, with an active node in every part, of small crossing capacity / (parts - 1), beginning
 * where the prices per arc (equal on twins, not negative) are high. Returns that quotient: no packing of trees
 * weighs more, whichever idle nodes help. */
banyan_status banyan_parting_search(banyan_parting *parting, const double *price, double *quotient,
                                    banyan_error *err);

/* What the last search found: the part of each node, 0..*count-1; -1: it has no cable. */
const int *banyan_parting_parts(const banyan_parting *parting, int *count);

#endif
