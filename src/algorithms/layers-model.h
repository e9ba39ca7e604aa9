/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/layers-model.h: the plain model of nested rings on a cluster of nodes with several adapters, and
 * the best shapes by it.
 *
 * It is known to be flat where the choice matters: on ABCI it puts the shapes that were fastest in
 * measurement far down its list, if only by a percent or two. So ask it for a shortlist and measure. */
#ifndef BANYAN_ALGORITHMS_LAYERS_MODEL_H
#define BANYAN_ALGORITHMS_LAYERS_MODEL_H

#include "algorithms/layers.h"

typedef struct {
    double latency_s;           /* of one message */
    double slices;              /* messages that a step is cut into */
    int node_size;              /* workers of a node */
    double inside_bytes_per_s;  /* a ring within a node */
    double outside_bytes_per_s; /* all adapters of a node together */
} banyan_layers_model;

/* Eq. of section IV-C, Ueno and Yokota 2019: 2 s a (sum pi - h) + 2 n sum bi (pi - 1)/(p1 ... pi). */
double banyan_layers_model_s(const banyan_layers_model *model, const banyan_layers *shape, double bytes);

typedef struct {
    banyan_layers shape;
    double seconds;
} banyan_ranked_layers;

/* The best shapes of so many ranks, fastest first; of equals the one with smaller first layers. Looks at all
 * ordered factorisations of at most so many layers. Returns how many were written; *tried may be NULL. */
int banyan_layers_rank(const banyan_layers_model *model, int ranks, int most_layers, double bytes,
                       banyan_ranked_layers *out, int most, long *tried);

#endif
