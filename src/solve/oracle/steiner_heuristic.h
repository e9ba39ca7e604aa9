/* SPDX-License-Identifier: Apache-2.0 */
/* solve/oracle/steiner_heuristic.h: good Steiner trees, quickly, on symmetric graphs in which every node may
 * branch. */
#ifndef BANYAN_SOLVE_ORACLE_STEINER_HEURISTIC_H
#define BANYAN_SOLVE_ORACLE_STEINER_HEURISTIC_H

#include "solve/net/trees.h"

typedef struct banyan_steiner_heuristic banyan_steiner_heuristic;

/* The graph must live on. */
banyan_status banyan_steiner_heuristic_create(const banyan_graph *graph, banyan_steiner_heuristic **out,
                                              banyan_error *err);
void banyan_steiner_heuristic_destroy(banyan_steiner_heuristic *helpers); /* accepts NULL */

/* Appends a cheap tree on the active nodes under the arcs' costs (equal on twins, not negative) and returns
 * its cost; -1 where they are not connected. */
int64_t banyan_steiner_heuristic_tree(banyan_steiner_heuristic *helpers, const int64_t *cost,
                                      banyan_trees *trees);

#endif
