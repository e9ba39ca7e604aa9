/* SPDX-License-Identifier: Apache-2.0 */
/* bound/staged.h: the best rate when reduce and broadcast are stages, as in the tree packing paper's
 * problems 4 (one after the other) and 8 (partly at once). */
#ifndef BANYAN_BOUND_STAGED_H
#define BANYAN_BOUND_STAGED_H

#include "solve/pack/pair_columns.h"

typedef struct {
    double chi;     /* no sum of chi over the roots is larger, in the graph's units */
    double reached; /* a packing that was found */
    int proven;     /* the trees that the bound rests on were the cheapest */
    int64_t *price; /* per arc of the first stage, then of the second; NULL: there is no certificate */
} banyan_staged;

/* A vector of C bytes takes C / chi pipelined, and 2 C / chi in two stages. */
banyan_status banyan_staged_solve(const banyan_graph *graph, banyan_stages stages, banyan_staged *out,
                                  banyan_error *err);

/* The sum of chi in bytes a second. */
double banyan_staged_sum(const banyan_graph *graph, banyan_stages stages, const banyan_staged *staged);

void banyan_staged_fini(banyan_staged *staged);

/* What prices of stages prove: no sum of chi passes *value. *proven is 0 where the cheapest trees were not
 * searched fully. */
banyan_status banyan_staged_prove(const banyan_graph *graph, banyan_stages stages, int64_t *price,
                                  double *value, int *proven, banyan_error *err);

/* Stages by name: pipelined, sequential, overlap. */
const char *banyan_stages_name(banyan_stages stages);
banyan_status banyan_stages_parse(const char *text, banyan_stages *out, banyan_error *err);

#endif
