/* SPDX-License-Identifier: Apache-2.0 */
/* solve/oracle/spanning.h: the cheapest tree on chosen nodes of a symmetric graph, where edges may run
 * through any node that is not chosen (such nodes only forward). */
#ifndef BANYAN_SOLVE_ORACLE_SPANNING_H
#define BANYAN_SOLVE_ORACLE_SPANNING_H

#include "solve/net/trees.h"

typedef struct banyan_spanning banyan_spanning;

banyan_status banyan_spanning_create(const banyan_graph *graph, banyan_spanning **out, banyan_error *err);
void banyan_spanning_destroy(banyan_spanning *spanning); /* accepts NULL */

/* Spans the nodes with member[v] != 0 (NULL: the active ones) under the arcs' costs (equal on twins, not
 * negative, below 2^56) and appends the tree to trees, unless trees is NULL. Returns its cost, or -1 where
 * the members are not connected. Ties go to the lower arc. */
int64_t banyan_spanning_tree(banyan_spanning *spanning, const unsigned char *member, const int64_t *cost,
                             banyan_trees *trees);

/* What the cheapest tree on the active nodes costs up and down, where no idle node adds: each byte goes up a
 * tree's cable and down it again, so a cable costs what its directions do together. */
banyan_status banyan_spanning_cost(const banyan_graph *graph, const int64_t *price, banyan_wide *out,
                                   banyan_error *err);

#endif
