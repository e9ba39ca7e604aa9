/* SPDX-License-Identifier: Apache-2.0 */
/* solve/oracle/tree_oracle.h: the cheapest undirected tree of a symmetric graph under changing prices: what
 * column generation asks for, over and over. */
#ifndef BANYAN_SOLVE_ORACLE_TREE_ORACLE_H
#define BANYAN_SOLVE_ORACLE_TREE_ORACLE_H

#include "solve/pack/tree_columns.h"

typedef struct banyan_oracle banyan_oracle;

/* Spanning trees on the active nodes; Steiner trees where some idle node adds, and may thus be a branching
 * point. The graph must live on. */
banyan_status banyan_oracle_create(const banyan_graph *graph, banyan_oracle **out, banyan_error *err);
void banyan_oracle_destroy(banyan_oracle *oracle); /* accepts NULL */

/* Appends the cheapest tree under the arcs' costs (equal on twins) and returns its cost; -1: none. Its type
 * is banyan_tree_oracle, the context a banyan_oracle. */
int64_t banyan_oracle_tree(void *oracle, const int64_t *cost, banyan_trees *trees);

/* The same as a tree's oracle where the cheapest tree is not found by banyan_oracle_tree: it is searched for,
 * with an effort in all as in solve/oracle/branch_and_bound.h. What is returned is less than the tree's cost
 * where the effort was not enough. */
banyan_status banyan_oracle_allow_search(banyan_oracle *oracle, int effort, banyan_error *err);
int64_t banyan_oracle_search(void *oracle, const int64_t *cost, banyan_trees *trees);

/* Out-trees for packings with a direction: the cheapest over all roots, which may be any node that adds and
 * copies, or from one root alone. */
typedef struct banyan_rooted_oracle banyan_rooted_oracle;

/* root -1: any. */
banyan_status banyan_rooted_oracle_create(const banyan_graph *graph, int root, banyan_rooted_oracle **out,
                                          banyan_error *err);
void banyan_rooted_oracle_destroy(banyan_rooted_oracle *oracle); /* accepts NULL */
int banyan_rooted_oracle_is_exact(const banyan_rooted_oracle *oracle);
int64_t banyan_rooted_oracle_tree(void *oracle, const int64_t *cost, banyan_trees *trees);

#endif
