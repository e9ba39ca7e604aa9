/* SPDX-License-Identifier: Apache-2.0 */
/* solve/net/effort.c: which networks are small enough for what takes long in bounds and packings; limits of
 * whole topologies are in topology/scale.h. */
#include "solve/net/effort.h"

#define DENSE 13              /* arcs a node */
#define TABLE_WORK 450000     /* sets of helpers times nodes squared: a tree for each takes a second */
#define SEARCHED_NODES 200    /* for one cheapest tree */
#define SEARCHED_AS_ROOTS 100 /* where each node is searched for as a root */

/* Up to there a packing of pairs with limited searches proves a bound in seconds. */
#define PACKED_NODES 100
#define PACKED_ARCS 1000

static const int search_efforts[] = {400000, 4000000}; /* of each such search; and patiently */

int banyan_graph_is_dense(const banyan_graph *graph)
{
    return graph->arc_count > DENSE * graph->node_count;
}

int banyan_graph_suits_tables(const banyan_graph *graph)
{
    int helpers = 0, nodes;

    for (int v = 0; v < graph->node_count; v++)
        helpers += !(graph->role[v] & BANYAN_NODE_ACTIVE) &&
                   (graph->role[v] & (BANYAN_NODE_ADDS | BANYAN_NODE_COPIES)) &&
                   graph->out_first[v] < graph->out_first[v + 1];
    nodes = graph->active_count + helpers;
    if (graph->active_count <= BANYAN_STEINER_TERMINALS)
        return 1;
    return helpers <= BANYAN_STEINER_TERMINALS && (1 << helpers) * nodes <= TABLE_WORK / nodes;
}

int banyan_graph_suits_trees_of_roots(const banyan_graph *graph, int root_count)
{
    double active = graph->active_count;

    return 2 * root_count * active * active <= BANYAN_CUT_VISITS;
}

int banyan_graph_suits_search(const banyan_graph *graph)
{
    return graph->node_count <= SEARCHED_NODES;
}

int banyan_graph_suits_searches_of_roots(const banyan_graph *graph)
{
    return graph->node_count <= SEARCHED_AS_ROOTS;
}

int banyan_graph_suits_packing(const banyan_graph *graph, int patient, int *search_effort)
{
    *search_effort = banyan_graph_suits_tables(graph) ? 0 : search_efforts[patient];
    return !*search_effort || (graph->node_count <= PACKED_NODES && graph->arc_count <= PACKED_ARCS);
}
