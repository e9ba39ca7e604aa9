/* SPDX-License-Identifier: Apache-2.0 */
/* solve/net/graph.h: a network as the solvers see it: one-way arcs with exact integer capacities, and what
 * each node may do with the data that comes by.
 *
 * An active node must be spanned. A node that adds may join streams, one that copies may split them; a node
 * that does neither only forwards, so a tree's branches cannot meet there: each branch runs through it on a
 * path of its own. Active nodes add and copy always.
 *
 * Where every arc has a twin (the arc back, of equal capacity) and every node adds just when it copies, the
 * graph is symmetric, and one undirected tree serves reduce and broadcast at once. */
#ifndef BANYAN_SOLVE_NET_GRAPH_H
#define BANYAN_SOLVE_NET_GRAPH_H

#include <stdint.h>

#include "core/scratch.h"
#include "core/status.h"
#include "solve/net/flow.h"
#include "solve/net/fraction.h"

enum { BANYAN_NODE_ACTIVE = 1, BANYAN_NODE_ADDS = 2, BANYAN_NODE_COPIES = 4 };

typedef struct {
    int src, dst;
    int64_t capacity;
    double width; /* the same before rounding, in units */
    int twin;     /* the arc back, or -1 */
    int link;     /* the caller's number for it */
} banyan_arc;

typedef struct {
    int node_count, arc_count, active_count;
    unsigned char *role; /* bits above */
    int *active;         /* active nodes, ascending */
    banyan_arc *arcs;
    int *out_first, *out_arc; /* arcs that leave v: out_arc[out_first[v] .. out_first[v+1]) */
    int *in_first, *in_arc;
    int symmetric;
    double unit; /* bytes per second of one unit of capacity */
    int exact;   /* capacity * unit is the bandwidth without rounding */
    banyan_scratch memory;
} banyan_graph;

/* What it is made from; everything is copied. capacity[] are any positive doubles: they become integers with
 * the largest common unit that is exact where there is one, else rounded to 32 to 40 bits. */
typedef struct {
    int node_count;
    const unsigned char *role;
    int arc_count;
    const int *src, *dst;
    const double *capacity;
    const int *link; /* NULL: the index */
} banyan_graph_input;

banyan_status banyan_graph_create(const banyan_graph_input *input, banyan_graph **out, banyan_error *err);
void banyan_graph_destroy(banyan_graph *graph); /* accepts NULL */

/* Symmetric, and each cable has the same price in both directions. */
int banyan_graph_has_even_prices(const banyan_graph *graph, const int64_t *price);

/* Gives both directions of each cable what they cost together, which proves as much: a tree is used up and
 * down. Only where links are symmetric; nothing changes where prices are even. */
void banyan_graph_make_even_prices(const banyan_graph *graph, int64_t *price);

/* The least price of an arc between two nodes; -1: there is none. */
int64_t banyan_graph_price_between(const banyan_graph *graph, const int64_t *price, int src, int dst);

/* Who stands for v's part, where top[v] is v or somebody nearer to that one; ways get shorter by it. */
static inline int banyan_graph_find_top(int *top, int v)
{
    while (top[v] != v)
        v = top[v] = top[top[v]];
    return v;
}

/* Who stands for a stands for b, too, and is the lower one of both. 0: it was so. */
static inline int banyan_graph_join_tops(int *top, int a, int b)
{
    a = banyan_graph_find_top(top, a);
    b = banyan_graph_find_top(top, b);
    top[a > b ? a : b] = a > b ? b : a;
    return a != b;
}

/* Whether some arc leaves or enters the node. */
static inline int banyan_graph_is_joined(const banyan_graph *graph, int v)
{
    return graph->out_first[v] < graph->out_first[v + 1] || graph->in_first[v] < graph->in_first[v + 1];
}

/* Every node with an arc is active. */
int banyan_graph_all_active(const banyan_graph *graph);

/* Some node with an arc adds though it is not active. */
int banyan_graph_has_idle_adders(const banyan_graph *graph);

/* Some node with an arc adds or copies though it is not active. */
int banyan_graph_has_helpers(const banyan_graph *graph);

/* Some node with an arc neither adds nor copies. */
int banyan_graph_has_forwarders(const banyan_graph *graph);

/* The same graph, but nodes that only add or only copy just forward. A view: role (node_count bytes, the
 * caller's) and the original must live on; it is not destroyed. */
banyan_graph banyan_graph_even_view(const banyan_graph *graph, unsigned char *role);

/* A flow network of its arcs, edge for arc; then follow edges to every node from a source, which is the node
 * after the last. */
banyan_status banyan_graph_make_flow(const banyan_graph *graph, banyan_flow **out, banyan_error *err);

/* Which nodes the first active one reaches (back: which reach it) over arcs without a price; price NULL: over
 * all. queue: node_count entries, scratch. */
void banyan_graph_mark_reached(const banyan_graph *graph, const int64_t *price, int back, unsigned char *seen,
                               int *queue);

/* What prices (rounds of arc_count each) collect from bandwidths as they are, over what they collect from the
 * capacities. */
double banyan_graph_rounding(const banyan_graph *graph, const int64_t *price, int rounds);

/* Sum of the capacities of the arcs that leave a node (is_out), or of those that enter it. */
int64_t banyan_graph_width(const banyan_graph *graph, int v, int is_out);

/* Sum over the arcs of capacity times price. */
banyan_wide banyan_graph_worth(const banyan_graph *graph, const int64_t *price);

/* One number a pair of twins (the lower arc's), so that prices of symmetric graphs can be kept equal. */
static inline int banyan_graph_cable(const banyan_graph *graph, int arc)
{
    int twin = graph->arcs[arc].twin;

    return twin >= 0 && twin < arc ? twin : arc;
}

/* Every node that has arcs adds and copies. */
int banyan_graph_all_branch(const banyan_graph *graph);

/* The same graph, but idle nodes only forward; role has room for one entry a node, and must live on. */
banyan_graph banyan_graph_forwarding_view(const banyan_graph *graph, unsigned char *role);

#endif
