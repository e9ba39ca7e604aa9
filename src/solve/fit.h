/* SPDX-License-Identifier: Apache-2.0 */
/* solve/fit.h: few trees, each of another weight, where cables have many widths: which cables a tree should take, so that in
 * the end as little as can be is left of each. The things that trees use up are cables, or arcs where directions are unlike. */
#ifndef BANYAN_SOLVE_FIT_H
#define BANYAN_SOLVE_FIT_H

#include "core/status.h"

typedef struct banyan_fit banyan_fit;

enum { BANYAN_FIT_ATTEMPTS = 3 };

typedef struct {
    int count;           /* things */
    const double *width; /* of each */
    const double *
        price; /* of each, by which the bound is proven: no tree costs less than all widths' worth over the bound */
    double bound;
    double enough; /* share of the bound that the weights come to together */
    int tree_limit;
    int attempt; /* below BANYAN_FIT_ATTEMPTS: each has other weights */
} banyan_fit_problem;

/* The arrays are copied. */
banyan_status banyan_fit_create(const banyan_fit_problem *problem, banyan_fit **out, banyan_error *err);
void banyan_fit_destroy(banyan_fit *fit); /* accepts NULL */

/* The weight of the tree at hand, 0 when all are done; and of all that are to come, with it. */
double banyan_fit_weight(const banyan_fit *fit);
double banyan_fit_rest(const banyan_fit *fit);

/* What is left of the thing. */
double banyan_fit_left(const banyan_fit *fit, int thing);

/* What it costs that the tree at hand takes the thing: its price, more the more of it would be left over in the end, less if it
 * is used up just so. Below 0: it has no room for the tree. */
double banyan_fit_cost(const banyan_fit *fit, int thing);

/* The tree takes so much of the thing, or gives it back (below 0); and the next one is at hand. */
void banyan_fit_take(banyan_fit *fit, int thing, double weight);
void banyan_fit_next(banyan_fit *fit);

/* From now on it has another price; a tree costs what it did. */
void banyan_fit_reprice(banyan_fit *fit, int thing, double price);

/* The tree at hand is too heavy: it and all later ones weigh no more than this, and still as much together if they can. */
void banyan_fit_lower(banyan_fit *fit, double most);

#endif
