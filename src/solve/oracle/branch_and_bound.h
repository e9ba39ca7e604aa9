/* SPDX-License-Identifier: Apache-2.0 */
/* solve/oracle/branch_and_bound.h: the cheapest tree of a symmetric graph, or from or to one root where links
 * are asymmetric, where idle nodes that add or copy are too many for tables and lists of sets: by a search
 * that leaves out what a dual ascent shows to be expensive. */
#ifndef BANYAN_SOLVE_ORACLE_BRANCH_AND_BOUND_H
#define BANYAN_SOLVE_ORACLE_BRANCH_AND_BOUND_H

#include "solve/net/trees.h"

typedef struct banyan_branch_and_bound banyan_branch_and_bound;

/* effort: in all searches together, ascents times arcs, or paths where nodes only forward. The graph must
 * live on. */
banyan_status banyan_branch_and_bound_create(const banyan_graph *graph, int effort,
                                             banyan_branch_and_bound **out, banyan_error *err);

/* The same for trees away from a root, or towards it, whatever the directions are. */
banyan_status banyan_branch_and_bound_create_rooted(const banyan_graph *graph, int towards, int effort,
                                                    banyan_branch_and_bound **out, banyan_error *err);
void banyan_branch_and_bound_destroy(banyan_branch_and_bound *exhaust); /* accepts NULL */

/* Returns what no tree on the active nodes is cheaper than, under the arcs' costs (equal on twins, not
 * negative): `hoped`, if that can be shown, else the cost of the cheapest tree, or, where the effort is
 * spent, something less. A tree that is cheaper than hoped is appended if one was found and trees is not
 * NULL. */
int64_t banyan_branch_and_bound_search(banyan_branch_and_bound *exhaust, const int64_t *cost, int64_t hoped,
                                       banyan_trees *trees);

/* The same from the root, or to it. Costs may be asymmetric. */
int64_t banyan_branch_and_bound_search_rooted(banyan_branch_and_bound *exhaust, int root, const int64_t *cost,
                                              int64_t hoped, banyan_trees *trees);

#endif
