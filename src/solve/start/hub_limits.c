/* SPDX-License-Identifier: Apache-2.0 */
/* solve/start/hub_limits.c: where pairs with hubs apply, and how much that many of them can reach. */
#include <math.h>

#include "solve/start/hub_pairs.h"

/* share of what its workers' links carry: a switch with that much to others needs no hub of its own */
#define NON_BLOCKING 0.5
#define MIN_RATE 0.95 /* share of the aim below which no rate is looked for that suits whole hubs */
/* share of what a hub serves: if active workers serve more, hubs need not be whole */
#define ACTIVE_SHARE 0.1

/* Whether all its links lead to and from one node that only forwards. */
static int is_behind_one(const banyan_graph *graph, int v)
{
    int out = graph->out_first[v], in = graph->in_first[v], home;

    if (out == graph->out_first[v + 1] || in == graph->in_first[v + 1])
        return 0;
    home = graph->arcs[graph->out_arc[out]].dst;
    for (int i = out; i < graph->out_first[v + 1]; i++)
        if (graph->arcs[graph->out_arc[i]].dst != home)
            return 0;
    for (int i = in; i < graph->in_first[v + 1]; i++)
        if (graph->arcs[graph->in_arc[i]].src != home)
            return 0;
    return !graph->role[home];
}

int banyan_hub_pairs_apply(const banyan_graph *graph)
{
    const unsigned both = BANYAN_NODE_ADDS | BANYAN_NODE_COPIES;

    for (int v = 0; v < graph->node_count; v++) {
        if (!graph->role[v] ||
            (graph->out_first[v] == graph->out_first[v + 1] && !(graph->role[v] & BANYAN_NODE_ACTIVE)))
            continue;
        if ((graph->role[v] & both) != both || !is_behind_one(graph, v))
            return 0;
    }
    return 1;
}

int banyan_hub_pairs_blocks(const banyan_graph *graph, int s)
{
    double inner[2] = {0, 0}, outer[2] = {0, 0};

    for (int side = 0; side < 2; side++) {
        const int *first = side ? graph->out_first : graph->in_first,
                  *arcs = side ? graph->out_arc : graph->in_arc;

        for (int i = first[s]; i < first[s + 1]; i++) {
            const banyan_arc *arc = &graph->arcs[arcs[i]];

            *(graph->role[side ? arc->dst : arc->src] ? &inner[side] : &outer[side]) += (double)arc->capacity;
        }
    }
    return outer[0] > 0 && (outer[0] < NON_BLOCKING * inner[1] || outer[1] < NON_BLOCKING * inner[0]);
}

/* Widths of all active and of all idle workers' links, out (is_out) or in, and of the widest idle one. */
static void add_widths(const banyan_graph *graph, int is_out, double *active, double *idle, double *widest)
{
    *active = *idle = 0;
    for (int v = 0; v < graph->node_count; v++) {
        double width = (double)banyan_graph_width(graph, v, is_out);

        if (!(graph->role[v] & BANYAN_NODE_ADDS))
            continue;
        *(graph->role[v] & BANYAN_NODE_ACTIVE ? active : idle) += width;
        *widest = graph->role[v] & BANYAN_NODE_ACTIVE ? *widest : fmax(*widest, width);
    }
}

/* If the widest idle worker serves that many in a tree, this takes as many of them as serve all who send,
 * themselves included. If all links cannot bear as many edges the rate is too high, and the next to try is
 * that at which one more is served. */
double banyan_hub_pairs_whole(const banyan_graph *graph, double rate, int pairs)
{
    double active[2], idle[2], widest = 0, all, tried = rate, sends = graph->active_count - 1;

    for (int d = 0; d < 2; d++)
        add_widths(graph, d, &active[d], &idle[d], &widest);
    all = fmin(active[0] + idle[0], active[1] + idle[1]);
    while (widest > 0 && tried >= MIN_RATE * rate) {
        double served = floor(pairs * widest / tried * (1 + 1e-9));
        double by_active = fmax(active[0], active[1]) / tried - graph->active_count;

        if (served < 2 || by_active > ACTIVE_SHARE * fmin(served, sends) ||
            2 * (sends + ceil(sends / (served - 1) - 1e-9)) * tried <= all)
            return tried;
        tried = pairs * widest / (served + 1);
    }
    return rate;
}
