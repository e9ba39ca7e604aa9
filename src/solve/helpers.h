/* SPDX-License-Identifier: Apache-2.0 */
/* solve/helpers.h: good Steiner trees, quickly, on symmetric graphs in which every node may branch. */
#ifndef BANYAN_SOLVE_HELPERS_H
#define BANYAN_SOLVE_HELPERS_H

#include "solve/trees.h"

typedef struct banyan_helpers banyan_helpers;

/* The graph must live on. */
banyan_status banyan_helpers_create(const banyan_graph *graph, banyan_helpers **out, banyan_error *err);
void banyan_helpers_destroy(banyan_helpers *helpers); /* accepts NULL */

/* Appends a cheap tree on the active nodes under the arcs' costs (equal on twins, not negative) and returns its
 * cost; -1 where they are not connected. */
int64_t banyan_helpers_tree(banyan_helpers *helpers, const int64_t *cost, banyan_trees *trees);

#endif
