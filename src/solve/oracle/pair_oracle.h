/* SPDX-License-Identifier: Apache-2.0 */
/* solve/oracle/pair_oracle.h: cheapest trees towards roots and away from them, under changing prices. */
#ifndef BANYAN_SOLVE_ORACLE_PAIR_ORACLE_H
#define BANYAN_SOLVE_ORACLE_PAIR_ORACLE_H

#include "solve/oracle/branch_and_bound.h"
#include "solve/oracle/steiner.h"

typedef struct {
    const banyan_graph *graph;
    banyan_closure in, out; /* on the nodes that add, and on those that copy */
    banyan_steiner *in_steiner, *out_steiner;
    int *root; /* nodes that do both */
    int root_count;
    int quick;                                       /* cheap trees will do; they need not be the cheapest, */
    int careful;                                     /* but may take a little longer */
    banyan_branch_and_bound *in_search, *out_search; /* NULL: not allowed */
    const int64_t *in_price, *out_price;             /* that were measured, for them */
    banyan_trees found;
} banyan_pair_oracle;

/* The graph must live on. On failure fini is still to be called. */
banyan_status banyan_pair_oracle_init(banyan_pair_oracle *oracle, const banyan_graph *graph,
                                      banyan_error *err);
void banyan_pair_oracle_fini(banyan_pair_oracle *oracle);

/* From now on the cheapest trees are searched for where tables and lists do not find them, with an effort for
 * each kind as in solve/oracle/branch_and_bound.h; what is returned is less than the tree's cost where it was
 * not enough. Prices must live on until the next ones. */
banyan_status banyan_pair_oracle_allow_search(banyan_pair_oracle *oracle, int effort, banyan_error *err);

int banyan_pair_oracle_is_exact(const banyan_pair_oracle *oracle);
int banyan_pair_oracle_is_slow(const banyan_pair_oracle *oracle); /* quick trees take less time */

/* Prices per arc, before trees of the kind are asked for. */
void banyan_pair_packing_measure_in(banyan_pair_oracle *oracle, const int64_t *price);
void banyan_pair_packing_measure_out(banyan_pair_oracle *oracle, const int64_t *price);

/* What the tree of a root costs, or -1: none; it is appended unless trees is NULL. */
int64_t banyan_pair_packing_in_tree(banyan_pair_oracle *oracle, int root, banyan_trees *trees);
int64_t banyan_pair_packing_out_tree(banyan_pair_oracle *oracle, int root, banyan_trees *trees);

#endif
