/* SPDX-License-Identifier: Apache-2.0 */
/* solve/cut/split_parts.h: what the division by cuts and its proof share. */
#ifndef BANYAN_SOLVE_CUT_SPLIT_PARTS_H
#define BANYAN_SOLVE_CUT_SPLIT_PARTS_H

#include "core/scratch.h"
#include "solve/cut/split.h"
#include "solve/net/flow.h"
#include "solve/net/lp.h"

/* Prices that are small whole numbers are taken as such, up to this denominator; else the largest is 2^34. */
#define BANYAN_DIVIDE_SMALL 2000
#define BANYAN_DIVIDE_LARGE 17179869184.0

typedef struct {
    const banyan_graph *graph;
    const int64_t *fixed; /* prices of the arcs, which are given; NULL: they are not */
    banyan_lp *lp;
    banyan_flow *flow;          /* one edge an arc, then one from the node before the roots to every node */
    double unit;                /* the largest capacity */
    int *root_node, root_count; /* where sums can be made */
    int has_parts,
        x_count; /* arcs, twice as many where some node forwards: the broadcast's part, then the reduce's */
    double *x, *root;           /* the program's answer, in units */
    double *good_x, *good_root; /* works, */
    double good;                /* and reaches this */
    double *mid_x, *mid_root;   /* asked about */
    unsigned char *cuts;        /* per cut: 1 if it is left, 0 if entered, then the nodes inside */
    size_t cut_count, cut_capacity;
    int first_limit, first_cut; /* their columns */
    int *potential;             /* [reduce * node_count + v]: its column, or -1 */
    int *row;
    double *value;
    banyan_scratch memory;
} banyan_divider;
static inline size_t banyan_split_find_cut_bytes(const banyan_divider *d)
{
    return (size_t)d->graph->node_count + 1;
}

/* Whether the node has arcs and cannot do its share of the broadcast (the reduce): copy (add). */
static inline int banyan_split_find_forwards(const banyan_graph *graph, int v, int reduce)
{
    return !(graph->role[v] & (reduce ? BANYAN_NODE_ADDS : BANYAN_NODE_COPIES)) &&
           graph->out_first[v] < graph->out_first[v + 1];
}

/* As many times more than it gets a node can send on: a forwarder as much, an idle node that copies once to
 * each active node (but the root). Active nodes have it all. */
static inline int banyan_split_find_most_copies(const banyan_graph *graph, int v, int reduce)
{
    if ((graph->role[v] & BANYAN_NODE_ACTIVE) || graph->out_first[v] == graph->out_first[v + 1])
        return 0;
    return banyan_split_find_forwards(graph, v, reduce) ? 1 : graph->active_count - 1;
}

/* Weights of the program's limits and cuts as whole numbers, small ones if they are such; the caller frees
 * them. */
banyan_status banyan_split_find_whole(const banyan_divider *divider, int64_t **out, banyan_error *err);

/* What the weights of the program's cuts prove where nodes help that are not active: every pair of trees
 * crosses each cut, so it costs no less than the cuts that a root is outside of weigh together (*least), if
 * each arc costs what the cuts over it do (price; all capacity is then worth *worth). Whole numbers, so it
 * holds exactly. */
banyan_status banyan_split_find_prove_by_cuts(const banyan_divider *divider, int64_t *price,
                                              banyan_wide *worth, banyan_wide *least, banyan_error *err);

#endif
