/* SPDX-License-Identifier: Apache-2.0 */
/* solve/cut/scarce_regions.c: in every pair of trees an active node sends once and is sent to once, or
 * something like it if it is the root. So at a rate of X it needs X of the arcs that leave it and X of those
 * that enter it:
 *
 *      u ──> v      an arc serves u's sending or v's being sent to, or either in part
 *
 * A maximum flow from needs to arcs shows which needs are not met. What lacks is a set of senders A and
 * receivers B; all arcs that leave A or enter B, over the number of both, is what it allows. With that as X
 * the set gets smaller, until nothing lacks: then the set before is the scarcest one. It is left out, and the
 * next is looked for. In a torus of asymmetric links, where each node has either role in turn, this finds two
 * dozen nodes of a thousand that limit it. Cost: some maximum flows a part. */
#include "solve/cut/scarce_regions.h"

#include <math.h>

#include "core/alloc.h"
#include "solve/net/flow.h"

#define SCALE 1099511627776.0 /* 2^40, of the most that leaves a node */
#define LESS (1 - 1e-9)

typedef struct {
    const banyan_graph *graph;
    banyan_flow
        *flow;    /* needs, from the source, 2 v: sends, 2 v + 1: is sent to; arcs; senders, to the sink */
    double most;  /* that leaves a node */
    double scale; /* of the flow */
    unsigned char *asks;      /* per need */
    unsigned char *lacks;     /* per need, in the scarcest set so far */
    int *part, *queue, *hops; /* per node */
} seeker;

static void seeker_fini(seeker *s)
{
    banyan_flow_destroy(s->flow);
    banyan_free(s->asks);
    banyan_free(s->lacks);
    banyan_free(s->part);
    banyan_free(s->queue);
    banyan_free(s->hops);
}

static int source_of(const seeker *s)
{
    return 2 * s->graph->node_count;
}

static double leaves(const banyan_graph *graph, int v)
{
    double sum = 0;

    for (int j = graph->out_first[v]; j < graph->out_first[v + 1]; j++)
        sum += (double)graph->arcs[graph->out_arc[j]].capacity;
    return sum;
}

static banyan_status make_flow(seeker *s, banyan_error *err)
{
    const banyan_graph *graph = s->graph;
    int nodes = graph->node_count, edges = 3 * nodes + graph->arc_count, e = 0;
    int *src = banyan_alloc((size_t)edges, sizeof *src), *dst = banyan_alloc((size_t)edges, sizeof *dst);
    banyan_status status = src && dst ? BANYAN_SUCCESS : banyan_fail_memory(err);

    for (int i = 0; !status && i < graph->arc_count; i++, e++) {
        src[e] = 2 * graph->arcs[i].dst + 1;
        dst[e] = 2 * graph->arcs[i].src;
    }
    for (int need = 0; !status && need < 2 * nodes; need++, e++) {
        src[e] = source_of(s);
        dst[e] = need;
    }
    for (int v = 0; !status && v < nodes; v++, e++) {
        src[e] = 2 * v;
        dst[e] = source_of(s) + 1;
    }
    if (!status)
        status = banyan_flow_create(source_of(s) + 2, edges, src, dst, &s->flow, err);
    banyan_free(src);
    banyan_free(dst);
    return status;
}

static banyan_status seeker_init(seeker *s, banyan_error *err)
{
    const banyan_graph *graph = s->graph;
    size_t nodes = (size_t)graph->node_count;

    s->asks = banyan_alloc(2 * nodes, 1);
    s->lacks = banyan_alloc(2 * nodes, 1);
    s->part = banyan_alloc(nodes, sizeof(int));
    s->queue = banyan_alloc(nodes, sizeof(int));
    s->hops = banyan_alloc(nodes, sizeof(int));
    if (!s->asks || !s->lacks || !s->part || !s->queue || !s->hops)
        return banyan_fail_memory(err);
    for (int i = 0; i < graph->active_count; i++)
        s->asks[2 * graph->active[i]] = s->asks[2 * graph->active[i] + 1] = 1;
    for (int v = 0; v < graph->node_count; v++)
        s->most = fmax(s->most, leaves(graph, v));
    s->scale = SCALE / fmax(1, s->most);
    return make_flow(s, err);
}

/* Which needs lack at this rate, and what they allow, if any do; else 0. */
static double find_lacking(seeker *s, double rate)
{
    const banyan_graph *graph = s->graph;
    int nodes = graph->node_count, arcs = graph->arc_count, count = 0;
    double sum = 0;

    for (int i = 0; i < arcs; i++)
        banyan_flow_set(s->flow, i, (int64_t)nearbyint(s->scale * (double)graph->arcs[i].capacity), 0);
    for (int need = 0; need < 2 * nodes; need++)
        banyan_flow_set(s->flow, arcs + need, s->asks[need] ? (int64_t)nearbyint(s->scale * rate) : 0, 0);
    for (int v = 0; v < nodes; v++)
        banyan_flow_set(s->flow, arcs + 2 * nodes + v, (int64_t)nearbyint(s->scale * leaves(graph, v)), 0);
    banyan_flow_run(s->flow, source_of(s), source_of(s) + 1, INT64_MAX);
    for (int need = 0; need < 2 * nodes; need++)
        count += s->asks[need] && banyan_flow_reaches(s->flow, need);
    for (int i = 0; i < arcs; i++)
        if (banyan_flow_reaches(s->flow, 2 * graph->arcs[i].src) ||
            banyan_flow_reaches(s->flow, 2 * graph->arcs[i].dst + 1))
            sum += (double)graph->arcs[i].capacity;
    if (!count || sum / count >= rate * LESS)
        return 0;
    for (int need = 0; need < 2 * nodes; need++)
        s->lacks[need] = s->asks[need] && banyan_flow_reaches(s->flow, need);
    return sum / count;
}

static int is_lacking(const seeker *s, int v)
{
    return s->lacks[2 * v] || s->lacks[2 * v + 1];
}

/* Nodes of the part in the order of hops from v; returns how many there are. */
static int search_part(seeker *s, int v, int *farthest)
{
    const banyan_graph *graph = s->graph;
    int count = 1;

    s->queue[0] = v;
    s->hops[v] = 0;
    for (int k = 0; k < count; k++) {
        int at = s->queue[k];

        for (int j = graph->out_first[at]; j < graph->out_first[at + 1]; j++) {
            int w = graph->arcs[graph->out_arc[j]].dst;

            if (s->hops[w] < 0 && is_lacking(s, w)) {
                s->hops[w] = s->hops[at] + 1;
                s->queue[count++] = w;
            }
        }
        for (int j = graph->in_first[at]; j < graph->in_first[at + 1]; j++) {
            int w = graph->arcs[graph->in_arc[j]].src;

            if (s->hops[w] < 0 && is_lacking(s, w)) {
                s->hops[w] = s->hops[at] + 1;
                s->queue[count++] = w;
            }
        }
    }
    *farthest = s->hops[s->queue[count - 1]];
    for (int k = 0; k < count; k++)
        s->hops[s->queue[k]] = -1;
    return count;
}

/* The middle of the part that v is in; all its nodes are then done. */
static int find_middle(seeker *s, int v, int limit)
{
    int farthest, count = search_part(s, v, &farthest), best = -1, least = 0;

    for (int k = 0; k < count; k++)
        s->part[k] = s->queue[k];
    for (int k = 0; k < count && count <= limit; k++) {
        search_part(s, s->part[k], &farthest);
        if (best < 0 || farthest < least) {
            best = s->part[k];
            least = farthest;
        }
    }
    for (int k = 0; k < count; k++) {
        int w = s->part[k];

        s->asks[2 * w] &= !s->lacks[2 * w];
        s->asks[2 * w + 1] &= !s->lacks[2 * w + 1];
        s->lacks[2 * w] = s->lacks[2 * w + 1] = 0;
    }
    return best;
}

banyan_status banyan_scarce_regions_find(const banyan_graph *graph,
                                         const banyan_scarce_regions_problem *problem, double *allowed,
                                         banyan_error *err)
{
    seeker s = {.graph = graph};
    banyan_status status = seeker_init(&s, err);

    for (int v = 0; !status && v < graph->node_count; v++)
        s.hops[v] = -1;
    for (int k = 0; !status && k < problem->part_limit; k++) {
        double most = fmin(problem->enough, s.most), rate = 0;

        for (double next = most; next > 0; next = find_lacking(&s, next))
            rate = next;
        if (rate >= most)
            break;
        for (int v = 0; v < graph->node_count; v++)
            if (is_lacking(&s, v)) {
                int middle = find_middle(&s, v, problem->node_limit);

                if (middle >= 0)
                    allowed[middle] = fmin(allowed[middle], rate);
            }
    }
    seeker_fini(&s);
    return status;
}
