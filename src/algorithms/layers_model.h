/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/layers_model.h: how long nested rings take on a cluster of nodes with several adapters, and the
 * best shapes by that.
 *
 * The plain model is flat where the choice matters: on ABCI it puts the shapes that were fastest in
 * measurement far down its list, if only by a percent or two. With measured layers (layers_measured.h) these
 * come first, but the model was fitted to them. So ask for a shortlist and measure. */
#ifndef BANYAN_ALGORITHMS_LAYERS_MODEL_H
#define BANYAN_ALGORITHMS_LAYERS_MODEL_H

#include "algorithms/layers.h"
#include "algorithms/layers_measured.h"

typedef struct {
    double latency_s;                       /* of one message */
    double slices;                          /* messages that a step is cut into */
    int node_size;                          /* workers of a node */
    double inside_bytes_per_s;              /* a ring within a node */
    double outside_bytes_per_s;             /* all adapters of a node together */
    const banyan_layers_measured *measured; /* NULL: the plain model */
} banyan_layers_model;

/* Plain, by the equation of section IV-C, Ueno and Yokota 2019: 2 s a (sum pi - h) + 2 n sum bi (pi - 1)/(p1
 * ... pi); else layer by layer with what was measured. */
double banyan_layers_model_s(const banyan_layers_model *model, const banyan_layers *shape, double bytes);

typedef struct {
    banyan_layers shape;
    double seconds;
} banyan_ranked_layers;

typedef struct {
    long tried; /* shapes that were looked at */
    long close; /* those of them within 3 % of the best, it included */
} banyan_layers_tally;

#define BANYAN_LAYERS_CLOSE 1.03

/* The best shapes of that many ranks, fastest first; of equals the one with smaller first layers. Looks at
 * all ordered factorisations of at most that many layers. Returns how many were written; tally may be
 * NULL. */
int banyan_layers_rank(const banyan_layers_model *model, int ranks, int most_layers, double bytes,
                       banyan_ranked_layers *out, int most, banyan_layers_tally *tally);

/* The same, but beyond that many ranks only those are looked at that extend the best shape of a smaller
 * number, the ranks over their smallest prime factor: by one more layer, or by a longer last one. These are
 * the two rules of section V-B5. They need few trials and fail by their own measurements: 4x8x8x4 won at
 * 1,024 ranks, yet extends neither way what won at 512, 4x8x4x4. */
int banyan_layers_rank_by_rules(const banyan_layers_model *model, int ranks, int most_layers, int all_up_to,
                                double bytes, banyan_ranked_layers *out, int most,
                                banyan_layers_tally *tally);

#endif
