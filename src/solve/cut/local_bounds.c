/* SPDX-License-Identifier: Apache-2.0 */
/* solve/cut/local_bounds.c: what limits a large network of asymmetric links is often some few nodes in a
 * corner. With all others as one node the network is small, its bound holds for the whole
 * (solve/presolve/contraction.h), and a division by cuts finds it soon (solve/cut/split.h).
 *
 * It also says how much is best summed at each of its nodes: where they have narrow arcs it must be some, or
 * they would have to be left and entered by everything.
 *
 * Which places are worth it easy measures tell: for each node and all that are one, two or three hops from
 * it, what leaves them, what enters them, and what joins them to anybody, over twice their number; the least
 * of these. And parts in which arcs are scarce (solve/cut/scarce_regions.h), which may have any shape. Cost:
 * a search of that many hops a node, some maximum flows, and some linear programs over a few dozen nodes. */
#include "solve/cut/local_bounds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "solve/cut/scarce_regions.h"
#include "solve/cut/split.h"
#include "solve/presolve/contraction.h"

#define HOPS 3         /* by which places are measured, */
#define MORE_HOPS 4    /* and around which they are looked at, */
#define PLACES 12      /* of these that promise most, */
#define APART 3        /* hops, or more, from each other */
#define MANY_NODES 80  /* more are no place */
#define HARDLY 0.1     /* more than the bound */
#define PROMISING 1.15 /* times the bound, by easy measures, at most: else it will hardly be less */
#define LOWER (1 - 1e-9)
#define DIVIDED 1e-10
#define ROUNDS 300

typedef struct {
    const banyan_graph *graph;
    int *near, near_count; /* nodes of the current place, by hops */
    int *hops;             /* per node from its middle; -1: not there */
    double *measure;       /* per node, of the place around it */
    int64_t *price;
    double allows[PLACES]; /* per place, */
    double *root;          /* and [place * nodes + v]: what of it is best summed there */
} seeker;

static void seeker_fini(seeker *s)
{
    banyan_free(s->near);
    banyan_free(s->hops);
    banyan_free(s->measure);
    banyan_free(s->price);
    banyan_free(s->root);
}

static banyan_status seeker_init(seeker *s, banyan_error *err)
{
    size_t nodes = (size_t)s->graph->node_count;

    s->near = banyan_alloc(nodes, sizeof(int));
    s->hops = banyan_alloc(nodes, sizeof(int));
    s->measure = banyan_alloc(nodes, sizeof(double));
    s->price = banyan_alloc((size_t)s->graph->arc_count, sizeof(int64_t));
    s->root = banyan_alloc(PLACES * nodes, sizeof(double));
    if (!s->near || !s->hops || !s->measure || !s->price || !s->root)
        return banyan_fail_memory(err);
    for (int k = 0; k < PLACES; k++)
        s->allows[k] = HUGE_VAL;
    for (size_t v = 0; v < nodes; v++)
        s->hops[v] = -1;
    return BANYAN_SUCCESS;
}

static void meet(seeker *s, int v, int hops)
{
    if (s->hops[v] >= 0)
        return;
    s->hops[v] = hops;
    s->near[s->near_count++] = v;
}

static void leave(seeker *s)
{
    while (s->near_count)
        s->hops[s->near[--s->near_count]] = -1;
}

/* The next nodes around those that are there. */
static void widen(seeker *s, int hops)
{
    const banyan_graph *graph = s->graph;

    for (int k = 0, count = s->near_count; k < count && s->near_count <= MANY_NODES; k++) {
        int v = s->near[k];

        for (int j = graph->out_first[v]; j < graph->out_first[v + 1] && s->near_count <= MANY_NODES; j++)
            meet(s, graph->arcs[graph->out_arc[j]].dst, hops);
        for (int j = graph->in_first[v]; j < graph->in_first[v + 1] && s->near_count <= MANY_NODES; j++)
            meet(s, graph->arcs[graph->in_arc[j]].src, hops);
    }
}

/* The least that the place allows by easy measures; idle nodes need not be served. */
static double measure(const seeker *s)
{
    const banyan_graph *graph = s->graph;
    double leaves = 0, enters = 0, inside = 0;
    int active = 0;

    for (int k = 0; k < s->near_count; k++) {
        int v = s->near[k];

        active += (graph->role[v] & BANYAN_NODE_ACTIVE) != 0;
        for (int j = graph->out_first[v]; j < graph->out_first[v + 1]; j++) {
            const banyan_arc *arc = &graph->arcs[graph->out_arc[j]];

            *(s->hops[arc->dst] < 0 ? &leaves : &inside) += (double)arc->capacity;
        }
        for (int j = graph->in_first[v]; j < graph->in_first[v + 1]; j++) {
            const banyan_arc *arc = &graph->arcs[graph->in_arc[j]];

            enters += s->hops[arc->src] < 0 ? (double)arc->capacity : 0;
        }
    }
    return active ? fmin(fmin(leaves, enters), (leaves + enters + inside) / (2 * active)) : HUGE_VAL;
}

static void measure_all(seeker *s)
{
    int nodes = s->graph->node_count;

    for (int v = 0; v < nodes; v++) {
        s->measure[v] = HUGE_VAL;
        meet(s, v, 0);
        for (int hops = 1; hops <= HOPS && s->near_count <= MANY_NODES; hops++) {
            s->measure[v] = fmin(s->measure[v], measure(s));
            widen(s, hops);
        }
        leave(s);
    }
}

/* What the current place allows, and how much of that is best summed at each of its nodes; lowers the bound
 * if it is less. */
static banyan_status look(seeker *s, int place, int64_t *price, double *value, banyan_error *err)
{
    const banyan_graph *graph = s->graph;
    banyan_contraction joined;
    banyan_split division = {0};
    banyan_status status;

    for (int i = 0; i < graph->arc_count; i++)
        s->price[i] = s->hops[graph->arcs[i].src] >= 0 || s->hops[graph->arcs[i].dst] >= 0;
    status = banyan_contract(graph, s->price, 1, &joined, err);
    if (!status && joined.graph && joined.graph->active_count > 1 &&
        joined.graph->node_count <= 2 * MANY_NODES)
        status = banyan_split_find(joined.graph, DIVIDED, ROUNDS, &division, err);
    if (!status && division.price) {
        s->allows[place] = division.bound_value * joined.graph->unit / graph->unit;
        for (int k = 0; k < s->near_count; k++)
            s->root[(size_t)place * (size_t)graph->node_count + (size_t)s->near[k]] =
                division.root[joined.part[s->near[k]]] / division.total;
    }
    if (!status && division.price && s->allows[place] < *value * LOWER) {
        *value = s->allows[place];
        for (int i = 0; i < graph->arc_count; i++)
            price[i] = joined.arc[i] < 0 ? 0 : division.price[joined.arc[i]];
    }
    banyan_split_fini(&division);
    banyan_contraction_fini(&joined);
    return status;
}

/* All places that allow hardly more than the bound have their say, the less the more they allow; what they
 * leave is summed at all active nodes in equal parts. */
static void mix_roots(const seeker *s, double value, double *root)
{
    int nodes = s->graph->node_count;
    double all = 0;

    for (int v = 0; v < nodes; v++)
        root[v] = 0;
    for (int k = 0; k < PLACES; k++) {
        double say = 1 - (s->allows[k] / value - 1) / HARDLY;

        for (int v = 0; v < nodes && say > 0; v++)
            root[v] = fmax(root[v], say * s->root[(size_t)k * (size_t)nodes + (size_t)v]);
    }
    for (int v = 0; v < nodes; v++)
        all += root[v];
    for (int v = 0; v < nodes; v++)
        root[v] /= fmax(1, all);
    for (int i = 0; i < s->graph->active_count && all < 1; i++)
        root[s->graph->active[i]] += (1 - all) / s->graph->active_count;
}

banyan_status banyan_local_bounds_lower(const banyan_graph *graph, int64_t *price, double *root,
                                        double *value, banyan_error *err)
{
    seeker s = {.graph = graph};
    banyan_status status;

    if (graph->node_count <= 2 * MANY_NODES) /* no place is small beside it */
        return BANYAN_SUCCESS;
    status = seeker_init(&s, err);
    if (!status) {
        measure_all(&s);
        status = banyan_scarce_regions_find(graph,
                                            &(banyan_scarce_regions_problem){.node_limit = MANY_NODES,
                                                                             .part_limit = PLACES,
                                                                             .enough = PROMISING * *value},
                                            s.measure, err);
    }
    for (int k = 0; !status && k < PLACES; k++) {
        int best = 0;

        for (int v = 1; v < graph->node_count; v++)
            best = s.measure[v] < s.measure[best] ? v : best;
        if (!(s.measure[best] < PROMISING * *value))
            break;
        meet(&s, best, 0);
        for (int hops = 1; hops <= MORE_HOPS && s.near_count <= MANY_NODES; hops++)
            widen(&s, hops);
        if (s.near_count <= MANY_NODES)
            status = look(&s, k, price, value, err);
        for (int i = 0; i < s.near_count; i++)
            s.measure[s.near[i]] = s.hops[s.near[i]] < APART ? HUGE_VAL : s.measure[s.near[i]];
        leave(&s);
    }
    if (!status)
        mix_roots(&s, *value, root);
    seeker_fini(&s);
    return status;
}
