/* SPDX-License-Identifier: Apache-2.0 */
/* solve/exhaust.h: the cheapest tree of a symmetric graph, or from or to one root where directions are unlike, where idle nodes that add
 * or copy are too many for tables and lists of sets: by a search that leaves out what a dual ascent shows to be dear. */
#ifndef BANYAN_SOLVE_EXHAUST_H
#define BANYAN_SOLVE_EXHAUST_H

#include "solve/trees.h"

typedef struct banyan_exhaust banyan_exhaust;

/* effort: in all searches together, ascents times arcs, or paths where nodes only forward. The graph must live on. */
banyan_status banyan_exhaust_create(const banyan_graph *graph, int effort, banyan_exhaust **out,
                                    banyan_error *err);

/* The same for trees away from a root, or towards it, whatever the directions are. */
banyan_status banyan_exhaust_create_rooted(const banyan_graph *graph, int towards, int effort,
                                           banyan_exhaust **out, banyan_error *err);
void banyan_exhaust_destroy(banyan_exhaust *exhaust); /* accepts NULL */

/* Returns what no tree on the active nodes is cheaper than, under the arcs' costs (equal on twins, not negative): `hoped`, if that can
 * be shown, else the cost of the cheapest tree, or, where the effort is spent, something less. A tree that is cheaper than hoped is
 * appended if one was found and trees is not NULL. */
int64_t banyan_exhaust_search(banyan_exhaust *exhaust, const int64_t *cost, int64_t hoped,
                              banyan_trees *trees);

/* The same from the root, or to it. Costs may be unlike. */
int64_t banyan_exhaust_search_rooted(banyan_exhaust *exhaust, int root, const int64_t *cost, int64_t hoped,
                                     banyan_trees *trees);

#endif
