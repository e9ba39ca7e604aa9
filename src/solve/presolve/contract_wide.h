/* SPDX-License-Identifier: Apache-2.0 */
/* solve/presolve/contract_wide.h: a network in which nodes that are joined by cables wider than anything
 * could use are one node: a host with its workers, where the cable that leaves it is narrow. */
#ifndef BANYAN_SOLVE_PRESOLVE_CONTRACT_WIDE_H
#define BANYAN_SOLVE_PRESOLVE_CONTRACT_WIDE_H

#include "solve/presolve/contraction.h"

/* Bounds of what comes of it hold for the graph, as for any contraction, and its trees can be laid into the
 * graph if they weigh no more than *most, in the graph's units, together. merge as there. No rate is above
 * *limit; *most is less only where cables were looked for that are wide together, and found: *together says
 * both. */
banyan_status banyan_contract_wide(const banyan_graph *graph, int merge, int *together, double *limit,
                                   double *most, banyan_contraction *out, banyan_error *err);

#endif
