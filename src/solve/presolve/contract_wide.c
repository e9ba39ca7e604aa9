/* SPDX-License-Identifier: Apache-2.0 */
/* solve/presolve/contract_wide.c: which cables are wide. No rate is more than what leaves, or enters, a part
 * of the network that holds some but not all active nodes. Such parts are found as in Kruskal's algorithm:
 * cables are taken from the widest on, and the nodes that they join looked at as one each time.
 *
 *   g0 -12- h0 -12- g1                Between nodes that add a byte comes over a cable at most twice each
 *           |                         way, to be summed and as a sum. Behind a node that only forwards,
 *           1     no rate above 1     workers form a chain, so it is twice as well; and one of them bears
 *           |                         besides what all other cables bring there. Cables are wide if they bear
 *          net                        as much in all.
 *
 * The cables of a switch that leads nowhere else, as in a machine, may be wide together though each is not:
 * for each byte some worker there takes what all others have, or sends them the sum, and they can take turns.
 * So a worker's cable needs to bear but its own part, and what its other cables bring or take; and what is
 * left of all cables, all parts once more. That may be so only for a rate below the limit, which is then to
 * be checked.
 *
 * And a node that only forwards has nothing for one of its cables but what its others bring: one that is
 * wider than these together is wide, whatever the rate is, unless it leads to a node that cannot add or copy
 * what this one can. So a switch in a machine, with a narrow cable to the network, becomes one with the
 * machine.
 *
 * Cost: O(nodes * arcs), mostly much less. */
#include "solve/presolve/contract_wide.h"

#include <stdlib.h>

#include "core/scratch.h"

typedef struct {
    int64_t width; /* of the narrower direction */
    int arc, back;
} cable;

typedef struct {
    const banyan_graph *graph;
    cable *cables; /* widest first */
    int cable_count;
    int *top, *active;
    double *in, *out; /* per node: what crosses, of its part, or over cables that are no end of a chain */
} search;

static int compare_cables(const void *left, const void *right)
{
    const cable *a = left, *b = right;

    if (a->width != b->width)
        return a->width > b->width ? -1 : 1;
    return a->arc < b->arc ? -1 : a->arc > b->arc;
}

/* The widest arc back; -1: none. */
static int find_back(const banyan_graph *graph, int arc)
{
    int src = graph->arcs[arc].src, dst = graph->arcs[arc].dst, best = -1;

    for (int i = graph->out_first[dst]; i < graph->out_first[dst + 1]; i++) {
        int other = graph->out_arc[i];

        if (graph->arcs[other].dst == src &&
            (best < 0 || graph->arcs[other].capacity > graph->arcs[best].capacity))
            best = other;
    }
    return best;
}

static void list_cables(search *s)
{
    const banyan_arc *arcs = s->graph->arcs;

    for (int i = 0; i < s->graph->arc_count; i++) {
        int back = find_back(s->graph, i);

        if (back >= 0)
            s->cables[s->cable_count++] = (cable){
                arcs[i].capacity < arcs[back].capacity ? arcs[i].capacity : arcs[back].capacity, i, back};
    }
    qsort(s->cables, (size_t)s->cable_count, sizeof *s->cables, compare_cables);
}

/* The least that leaves or enters a part with some, but not all, active nodes; or, where nobody helps who is
 * not active, the share of a tree's edges in what leaves or enters all of these parts, for each has two ends
 * there. */
static double least_crossing(search *s, int has_helpers, double least)
{
    const banyan_graph *graph = s->graph;
    double in = 0, out = 0;
    int parts = 0;

    for (int v = 0; v < graph->node_count; v++) {
        s->in[v] = s->out[v] = 0;
        s->active[v] = 0;
    }
    for (int i = 0; i < graph->active_count; i++)
        s->active[banyan_graph_find_top(s->top, graph->active[i])]++;
    for (int i = 0; i < graph->arc_count; i++) {
        int from = banyan_graph_find_top(s->top, graph->arcs[i].src);
        int to = banyan_graph_find_top(s->top, graph->arcs[i].dst);

        if (from == to)
            continue;
        s->out[from] += (double)graph->arcs[i].capacity;
        s->in[to] += (double)graph->arcs[i].capacity;
    }
    for (int v = 0; v < graph->node_count; v++) {
        if (!s->active[v] || s->active[v] == graph->active_count)
            continue;
        least = s->in[v] < least ? s->in[v] : least;
        least = s->out[v] < least ? s->out[v] : least;
        in += s->in[v];
        out += s->out[v];
        parts++;
    }
    if (!has_helpers && parts > 1) {
        double both = (in < out ? in : out) / (2.0 * (parts - 1));

        least = both < least ? both : least;
    }
    return least;
}

static double find_most(search *s)
{
    const banyan_graph *graph = s->graph;
    int has_helpers = banyan_graph_has_helpers(graph);
    double most;

    for (int v = 0; v < graph->node_count; v++)
        s->top[v] = v;
    most = least_crossing(s, has_helpers, 1e300);
    for (int i = 0, joined = 0; i < s->cable_count; i++) {
        const banyan_arc *arc = &graph->arcs[s->cables[i].arc];

        joined |= banyan_graph_join_tops(s->top, arc->src, arc->dst);
        if (!joined || (i + 1 < s->cable_count && s->cables[i + 1].width == s->cables[i].width))
            continue;
        most = least_crossing(s, has_helpers, most);
        joined = 0;
    }
    return most;
}

static int only_forwards(const banyan_graph *graph, int v)
{
    unsigned all = BANYAN_NODE_ADDS | BANYAN_NODE_COPIES;

    return !(graph->role[v] & BANYAN_NODE_ACTIVE) && (graph->role[v] & all) != all;
}

/* Whether the cable bears all that can come to it. s->in and out: over cables that are narrow, or lead to
 * nodes that only forward. */
static int is_wide(const search *s, const cable *c, double most)
{
    const banyan_graph *graph = s->graph;
    double there = (double)graph->arcs[c->arc].capacity, back = (double)graph->arcs[c->back].capacity;

    for (int end = 0; end < 2; end++) {
        int v = end ? graph->arcs[c->arc].dst : graph->arcs[c->arc].src;
        double away = end ? back : there, towards = end ? there : back;

        if (only_forwards(graph, v) && (away < s->in[v] + 2 * most || towards < s->out[v] + 2 * most))
            return 0;
    }
    return (double)c->width >= 2 * most;
}

/* 1 for arcs that are not wide; returns how many are. */
static int mark_narrow(search *s, double most, int64_t *mark)
{
    const banyan_graph *graph = s->graph;
    int wide = 0;

    for (int v = 0; v < graph->node_count; v++)
        s->in[v] = s->out[v] = 0;
    for (int i = 0; i < graph->arc_count; i++)
        mark[i] = 1;
    for (int i = 0; i < s->cable_count && (double)s->cables[i].width >= 2 * most; i++)
        mark[s->cables[i].arc] = 0;
    for (int i = 0; i < graph->arc_count; i++) {
        if (mark[i] || only_forwards(graph, graph->arcs[i].dst))
            s->out[graph->arcs[i].src] += (double)graph->arcs[i].capacity;
        if (mark[i] || only_forwards(graph, graph->arcs[i].src))
            s->in[graph->arcs[i].dst] += (double)graph->arcs[i].capacity;
        mark[i] = 1;
    }
    for (int i = 0; i < s->cable_count; i++)
        if (is_wide(s, &s->cables[i], most)) {
            mark[s->cables[i].arc] = mark[s->cables[i].back] = 0;
            wide++;
        }
    return wide;
}

/* The highest rate at which the switch's cables are wide together; 0: it leads elsewhere, too, or some of
 * them are wide anyway. */
static double find_turns(const search *s, int hub, const int64_t *mark)
{
    const banyan_graph *graph = s->graph;
    double most = 1e300;
    int active = 0;

    for (int side = 0; side < 2; side++) {
        const int *first = side ? graph->in_first : graph->out_first,
                  *arcs = side ? graph->in_arc : graph->out_arc;
        double spare = 0, others = 0;

        active = 0;
        for (int i = first[hub]; i < first[hub + 1]; i++) {
            const banyan_arc *arc = &graph->arcs[arcs[i]];
            int v = side ? arc->src : arc->dst, is_active = graph->role[v] & BANYAN_NODE_ACTIVE;
            double left = (double)arc->capacity, apart = 0, there = 0;

            if (only_forwards(graph, v) || !mark[arcs[i]] || find_back(graph, arcs[i]) < 0)
                return 0;
            for (int j = graph->out_first[v]; j < graph->out_first[v + 1]; j++)
                if (graph->arcs[graph->out_arc[j]].dst != hub)
                    *(side ? &there : &apart) += (double)graph->arcs[graph->out_arc[j]].capacity;
            for (int j = graph->in_first[v]; j < graph->in_first[v + 1]; j++)
                if (graph->arcs[graph->in_arc[j]].src != hub)
                    *(side ? &apart : &there) += (double)graph->arcs[graph->in_arc[j]].capacity;
            left -= apart;
            if (is_active)
                most = left < most ? left : most;
            else if (left < 0)
                return 0;
            spare += left;
            others += there;
            active += is_active != 0;
        }
        if (active)
            most = (spare - others) / (2 * active) < most ? (spare - others) / (2 * active) : most;
        else if (spare < others)
            return 0;
    }
    return active < graph->active_count ? most : 0;
}

/* Cables that are wide together at half the limit become so, one switch after the other; lowers *most to the
 * rate up to which. */
static int mark_turns(search *s, double limit, int64_t *mark, double *most)
{
    const banyan_graph *graph = s->graph;
    int wide = 0;

    for (int v = 0; v < graph->node_count; v++) {
        double rate = only_forwards(graph, v) && graph->out_first[v] < graph->out_first[v + 1]
                          ? find_turns(s, v, mark)
                          : 0;

        if (rate < limit / 2)
            continue;
        *most = rate < *most ? rate : *most;
        for (int i = graph->out_first[v]; i < graph->out_first[v + 1]; i++)
            mark[graph->out_arc[i]] = 0;
        for (int i = graph->in_first[v]; i < graph->in_first[v + 1]; i++)
            mark[graph->in_arc[i]] = 0;
        wide++;
    }
    return wide;
}

/* Whether the node can do nothing that its neighbour cannot: as one node they have the abilities of both. */
static int brings_no_ability(const banyan_graph *graph, int v, int neighbour)
{
    return (graph->role[neighbour] & BANYAN_NODE_ACTIVE) || !(graph->role[v] & ~graph->role[neighbour]);
}

/* Whether the cable bears more than the node's other cables bring or take, which is all that a node that only
 * forwards has for it. */
static int bears_all(const banyan_graph *graph, int v, int to, int back)
{
    int other = graph->arcs[to].dst;
    double in = 0, out = 0;

    for (int i = graph->in_first[v]; i < graph->in_first[v + 1]; i++)
        in += graph->arcs[graph->in_arc[i]].src != other ? (double)graph->arcs[graph->in_arc[i]].capacity : 0;
    for (int i = graph->out_first[v]; i < graph->out_first[v + 1]; i++)
        out +=
            graph->arcs[graph->out_arc[i]].dst != other ? (double)graph->arcs[graph->out_arc[i]].capacity : 0;
    return (double)graph->arcs[to].capacity > in && (double)graph->arcs[back].capacity > out;
}

/* Of each node that only forwards one such cable is wide, and no more: two would join what they do not bear
 * together. */
static int mark_ends(const search *s, int64_t *mark)
{
    const banyan_graph *graph = s->graph;
    int wide = 0;

    for (int v = 0; v < graph->node_count; v++)
        for (int i = graph->out_first[v]; i < graph->out_first[v + 1] && only_forwards(graph, v); i++) {
            int arc = graph->out_arc[i], back = find_back(graph, arc);

            if (back < 0 || !brings_no_ability(graph, v, graph->arcs[arc].dst) ||
                !bears_all(graph, v, arc, back))
                continue;
            mark[arc] = mark[back] = 0;
            wide++;
            break;
        }
    return wide;
}

banyan_status banyan_contract_wide(const banyan_graph *graph, int merge, int *together, double *limit,
                                   double *most, banyan_contraction *out, banyan_error *err)
{
    size_t nodes = (size_t)graph->node_count, arcs = (size_t)graph->arc_count;
    banyan_scratch memory = {0};
    search s = {.graph = graph,
                .cables = banyan_scratch_take(&memory, arcs, sizeof *s.cables),
                .top = banyan_scratch_take(&memory, nodes, sizeof *s.top),
                .active = banyan_scratch_take(&memory, nodes, sizeof *s.active),
                .in = banyan_scratch_take(&memory, nodes, sizeof *s.in),
                .out = banyan_scratch_take(&memory, nodes, sizeof *s.out)};
    int64_t *mark = banyan_scratch_take(&memory, arcs, sizeof *mark);
    int wide;
    banyan_status status = banyan_scratch_check(&memory, err);

    *out = (banyan_contraction){0};
    if (!status) {
        list_cables(&s);
        *limit = *most = find_most(&s);
        wide = mark_narrow(&s, *limit, mark);
        *together = *together ? mark_turns(&s, *limit, mark, most) : 0;
        wide += mark_ends(&s, mark);
        if (wide + *together)
            status = banyan_contract(graph, mark, merge, out, err);
    }
    banyan_scratch_free(&memory);
    return status;
}
