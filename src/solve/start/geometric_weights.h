/* SPDX-License-Identifier: Apache-2.0 */
/* solve/start/geometric_weights.h: few trees, each of another weight, where cables have many widths: which
 * cables a tree should take, so that in the end as little as can be is left of each. The things that trees
 * use up are cables, or arcs where links are asymmetric. */
#ifndef BANYAN_SOLVE_START_GEOMETRIC_WEIGHTS_H
#define BANYAN_SOLVE_START_GEOMETRIC_WEIGHTS_H

#include "core/status.h"

typedef struct banyan_geometric_weights banyan_geometric_weights;

enum { BANYAN_GEOMETRIC_ATTEMPTS = 3 };

/* what is given for that many is converted for other numbers of trees */
#define BANYAN_USUAL_TREES 64.

typedef struct {
    int count;           /* things */
    const double *width; /* of each */
    const double *
        /* of each, by which the bound is proven: no tree costs less than all widths' worth over the bound */
        price;
    double bound;
    double enough; /* share of the bound that the weights come to together */
    int tree_limit;
    int attempt; /* below BANYAN_GEOMETRIC_ATTEMPTS: each has other weights */
} banyan_geometric_weights_problem;

/* The arrays are copied. */
banyan_status banyan_geometric_weights_create(const banyan_geometric_weights_problem *problem,
                                              banyan_geometric_weights **out, banyan_error *err);
void banyan_geometric_weights_destroy(banyan_geometric_weights *fit); /* accepts NULL */

/* The weight of the current tree, 0 when all are done; and of all that are to come, with it. */
double banyan_geometric_weights_weight(const banyan_geometric_weights *fit);
double banyan_geometric_weights_rest(const banyan_geometric_weights *fit);

/* What is left of the thing. */
double banyan_geometric_weights_left(const banyan_geometric_weights *fit, int thing);

/* What it costs that the current tree takes the thing: its price, more the more of it would be left over in
 * the end, less if it is used up just so. Below 0: it has no room for the tree. */
double banyan_geometric_weights_cost(const banyan_geometric_weights *fit, int thing);

/* The tree takes that much of the thing, or gives it back (below 0); and the next one is current. */
void banyan_geometric_weights_take(banyan_geometric_weights *fit, int thing, double weight);
void banyan_geometric_weights_next(banyan_geometric_weights *fit);

/* From now on it has another price; a tree costs what it did. */
void banyan_geometric_weights_reprice(banyan_geometric_weights *fit, int thing, double price);

/* The current tree is too heavy: it and all later ones weigh no more than this, and still as much together if
 * they can. */
void banyan_geometric_weights_lower(banyan_geometric_weights *fit, double most);

#endif
