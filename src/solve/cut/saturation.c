/* SPDX-License-Identifier: Apache-2.0 */
/* solve/cut/saturation.c: the division of solve/cut/split.h where nothing is lost. If all arcs are full,
 * every node alone is a tight set: with x of an arc for the broadcast and the rest of its width c for the
 * reduce, and r summed at a node, at a rate of X
 *
 *     x(into v) = X - r(v) = (c - x)(out of v)        for every v
 *
 * As much is summed at each node. Of the x that do so the one nearest to halves of the arcs is in the middle
 * of all, and so most likely to serve larger sets of nodes as well: x = c/2 + g (p(src) + q(dst)), with one
 * equation for each p and q, solved by conjugate gradients. g says how readily an arc gives way: at first
 * half its width, less where x would not be within the width. Whether it serves all nodes, two maximum flows
 * a node tell. No linear program is needed. */
#include "solve/cut/saturation.h"

#include <math.h>

#include "core/alloc.h"
#include "solve/cut/split_check.h"

#define STEPS 2000   /* of the gradients at most */
#define SOLVED 3e-12 /* of the rate is missing at nodes */
#define TRIES 8      /* to keep within the widths */
#define MARGIN 0.01  /* of a width, at both ends: an arc that would be beyond gives way */
#define STIFFER 0.5  /* times as readily */

typedef struct {
    const banyan_graph *graph;
    const double *width;
    double rate;
    double *x;                         /* per arc */
    double *give;                      /* per arc, as above */
    double *root;                      /* per node */
    double *p, *missing, *way, *moved; /* per node as src, then per node as dst: of the gradients */
    int *part, *size;  /* the same: ends that arcs join, named by one of them; how many these are */
    double *odds;      /* per part */
    banyan_flow *flow; /* one edge an arc, then one from the node before the roots to every node */
} divider;

static void divider_fini(divider *d)
{
    banyan_free(d->x);
    banyan_free(d->give);
    banyan_free(d->root);
    banyan_free(d->p);
    banyan_free(d->missing);
    banyan_free(d->way);
    banyan_free(d->moved);
    banyan_free(d->part);
    banyan_free(d->size);
    banyan_free(d->odds);
    banyan_flow_destroy(d->flow);
}

/* An arc has its src end and its dst end; in halves of nodes between which all arcs run these are in two
 * parts. */
static void join_ends(divider *d)
{
    int nodes = d->graph->node_count;

    for (int v = 0; v < 2 * nodes; v++)
        d->part[v] = v;
    for (int i = 0; i < d->graph->arc_count; i++)
        d->part[banyan_graph_find_top(d->part, d->graph->arcs[i].src)] =
            banyan_graph_find_top(d->part, nodes + d->graph->arcs[i].dst);
    for (int v = 0; v < 2 * nodes; v++) {
        d->part[v] = banyan_graph_find_top(d->part, v);
        d->size[d->part[v]]++;
    }
}

static banyan_status divider_init(divider *d, banyan_error *err)
{
    size_t nodes = (size_t)d->graph->node_count;

    d->x = banyan_alloc((size_t)d->graph->arc_count, sizeof(double));
    d->give = banyan_alloc((size_t)d->graph->arc_count, sizeof(double));
    d->root = banyan_alloc(nodes, sizeof(double));
    d->p = banyan_alloc(2 * nodes, sizeof(double));
    d->missing = banyan_alloc(2 * nodes, sizeof(double));
    d->way = banyan_alloc(2 * nodes, sizeof(double));
    d->moved = banyan_alloc(2 * nodes, sizeof(double));
    d->part = banyan_alloc(2 * nodes, sizeof(int));
    d->size = banyan_alloc(2 * nodes, sizeof(int));
    d->odds = banyan_alloc(2 * nodes, sizeof(double));
    if (!d->x || !d->give || !d->root || !d->p || !d->missing || !d->way || !d->moved || !d->part ||
        !d->size || !d->odds)
        return banyan_fail_memory(err);
    join_ends(d);
    for (int i = 0; i < d->graph->arc_count; i++) {
        d->rate += d->width[i] / (2 * (d->graph->active_count - 1));
        d->give[i] = d->width[i] / 2;
    }
    return banyan_graph_make_flow(d->graph, 1, &d->flow, err);
}

/* What potentials move at each end. */
static void move(const divider *d, const double *potential, double *moved)
{
    int nodes = d->graph->node_count;

    for (int v = 0; v < 2 * nodes; v++)
        moved[v] = 0;
    for (int i = 0; i < d->graph->arc_count; i++) {
        const banyan_arc *arc = &d->graph->arcs[i];
        double more = d->give[i] * (potential[arc->src] + potential[nodes + arc->dst]);

        moved[arc->src] += more;
        moved[nodes + arc->dst] += more;
    }
}

static double product(const divider *d, const double *a, const double *b)
{
    double sum = 0;

    for (int v = 0; v < 2 * d->graph->node_count; v++)
        sum += a[v] * b[v];
    return sum;
}

/* What halves of the arcs are too little by at each end. */
static void find_missing(divider *d)
{
    int nodes = d->graph->node_count, actives = d->graph->active_count;

    for (int i = 0; i < actives; i++) {
        int v = d->graph->active[i];

        d->root[v] = d->rate / actives;
        d->missing[v] = d->root[v] - d->rate;
        d->missing[nodes + v] = d->rate - d->root[v];
    }
    for (int i = 0; i < d->graph->arc_count; i++) {
        d->missing[d->graph->arcs[i].src] += d->width[i] / 2;
        d->missing[nodes + d->graph->arcs[i].dst] -= d->width[i] / 2;
    }
}

/* What src ends miss, dst ends miss as well, in each part. Roundings that say otherwise are of no potential's
 * making: gradients that followed them would never come to an end. */
static void even_out(divider *d)
{
    int nodes = d->graph->node_count;

    for (int v = 0; v < 2 * nodes; v++)
        d->odds[v] = 0;
    for (int v = 0; v < 2 * nodes; v++)
        d->odds[d->part[v]] += v < nodes ? d->missing[v] : -d->missing[v];
    for (int v = 0; v < 2 * nodes; v++) {
        double odd = d->odds[d->part[v]] / d->size[d->part[v]];

        d->missing[v] -= v < nodes ? odd : -odd;
    }
}

static void find_potentials(divider *d)
{
    int ends = 2 * d->graph->node_count;
    double left;

    for (int v = 0; v < ends; v++)
        d->p[v] = d->missing[v] = 0;
    find_missing(d);
    even_out(d);
    for (int v = 0; v < ends; v++)
        d->way[v] = d->missing[v];
    left = product(d, d->missing, d->missing);
    for (int step = 0; step < STEPS && left > SOLVED * SOLVED * d->rate * d->rate; step++) {
        double length, next;

        move(d, d->way, d->moved);
        length = left / product(d, d->way, d->moved);
        if (!(length < HUGE_VAL))
            return;
        for (int v = 0; v < ends; v++) {
            d->p[v] += length * d->way[v];
            d->missing[v] -= length * d->moved[v];
        }
        even_out(d);
        next = product(d, d->missing, d->missing);
        for (int v = 0; v < ends; v++)
            d->way[v] = d->missing[v] + next / left * d->way[v];
        left = next;
    }
}

/* The arcs' parts; how many of them are not well within their widths. */
static int set_parts(divider *d)
{
    const banyan_graph *graph = d->graph;
    int beyond = 0;

    for (int i = 0; i < graph->arc_count; i++) {
        double part;

        d->x[i] = d->width[i] / 2 +
                  d->give[i] * (d->p[graph->arcs[i].src] + d->p[graph->node_count + graph->arcs[i].dst]);
        part = d->x[i] / d->width[i];
        if (part < MARGIN || part > 1 - MARGIN) {
            d->give[i] *= STIFFER;
            beyond++;
        }
    }
    return beyond;
}

static int divide(divider *d)
{
    int beyond = 1;

    for (int i = 0; i < TRIES && beyond; i++) {
        find_potentials(d);
        beyond = set_parts(d);
    }
    for (int i = 0; i < d->graph->arc_count; i++)
        if (!(d->x[i] >= 0 && d->x[i] <= d->width[i]))
            return 0;
    return 1;
}

static int serves_all(const divider *d)
{
    banyan_split_check_problem problem = {d->graph, d->width, d->x, d->root, d->rate};

    return banyan_split_check_all(&problem, d->flow);
}

banyan_status banyan_saturation_find(const banyan_graph *graph, const double *width, int *full,
                                     banyan_error *err)
{
    divider d = {.graph = graph, .width = width};
    banyan_status status = divider_init(&d, err);

    *full = 0;
    if (!status)
        *full = divide(&d) && serves_all(&d);
    divider_fini(&d);
    return status;
}
