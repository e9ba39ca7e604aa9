/* SPDX-License-Identifier: Apache-2.0 */
/* solve/net/effort.h: what bounds and branchings may take, whatever the effort of a plan (core/effort.h): a
 * yardstick does not depend on what is measured. */
#ifndef BANYAN_SOLVE_NET_EFFORT_H
#define BANYAN_SOLVE_NET_EFFORT_H

#include "solve/net/graph.h"

/* Visits (solve/net/work.h) of one search for a bound: some seconds. What it has found by then is taken. */
#define BANYAN_CUT_VISITS 500000000

/* And of packing a tree for each rank: about a minute, as long as people wait for what nothing else finds. */
#define BANYAN_BRANCHING_VISITS (10LL * BANYAN_CUT_VISITS)

enum {
    /* up to that many trees are looked for as that many; more come of a linear program as they will */
    BANYAN_FEW_TREES = 256,

    /* as many active nodes, or as many helpers, can be served by one table of cheapest trees */
    BANYAN_STEINER_TERMINALS = 9
};

/* That many arcs at a node, on average, that a program over trees takes long, and that edges can move one by
 * one. */
int banyan_graph_is_dense(const banyan_graph *graph);

/* The cheapest trees through idle nodes that add or copy are found with every set of these: there are few, or
 * few active workers. */
int banyan_graph_suits_tables(const banyan_graph *graph);

/* The cheapest trees of that many roots (Edmonds) are found before the cuts' time is over. */
int banyan_graph_suits_trees_of_roots(const banyan_graph *graph, int root_count);

/* A cheapest tree is searched for by branch and bound; and one for each root. */
int banyan_graph_suits_search(const banyan_graph *graph);
int banyan_graph_suits_searches_of_roots(const banyan_graph *graph);

/* Pairs of trees are packed to lower a bound. *search_effort: for each cheapest tree; 0: there are tables. */
int banyan_graph_suits_packing(const banyan_graph *graph, int patient, int *search_effort);

#endif
