/* SPDX-License-Identifier: Apache-2.0 */
/* solve/oracle/closure.h: shortest paths between chosen nodes through all the others, as a matrix. */
#ifndef BANYAN_SOLVE_ORACLE_CLOSURE_H
#define BANYAN_SOLVE_ORACLE_CLOSURE_H

#include "core/scratch.h"
#include "solve/net/graph.h"
#include "solve/net/trees.h"

#define BANYAN_FAR (INT64_MAX / 4) /* no path */

typedef struct {
    const banyan_graph *graph;
    int count;
    int *node;         /* node of index i, ascending */
    int *index;        /* index of a node, or -1 */
    int64_t *distance; /* [i * count + j]: from node[i] to node[j]; BANYAN_FAR: none; 0 on the diagonal */
    int *via;          /* [i * node_count + v]: the arc into v on the path from node[i], or -1 */
    int64_t *scratch;
    int *heap;
    banyan_scratch memory;
} banyan_closure;

/* Chooses the nodes whose role has any of the bits. At most 2,048 of them. */
banyan_status banyan_closure_init(banyan_closure *closure, const banyan_graph *graph, unsigned roles,
                                  banyan_error *err);
void banyan_closure_fini(banyan_closure *closure);

/* Fills distance and via for these costs of the arcs (not negative). */
void banyan_closure_measure(banyan_closure *closure, const int64_t *cost);

/* Appends the path from index i to index j as an edge of the latest tree. */
void banyan_closure_add_path(const banyan_closure *closure, int i, int j, banyan_trees *trees);

/* After measuring: the chosen nodes as a graph, an arc for each path, and what the paths cost. */
banyan_status banyan_closure_graph(const banyan_closure *closure, banyan_graph **out, banyan_error *err);
void banyan_closure_costs(const banyan_closure *closure, const banyan_graph *ways, int64_t *cost);

#endif
