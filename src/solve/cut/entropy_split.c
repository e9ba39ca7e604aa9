/* SPDX-License-Identifier: Apache-2.0 */
/* solve/cut/entropy_split.c: where most pairs are cabled, all idle nodes and one active node, the host, are
 * one part, and each other active node is one. Every pair of trees crosses between k parts 2 (k - 1) times,
 * so
 *
 * X = all that crosses / 2 (k - 1)
 *
 * is a bound, the lower the more joins the host to idle nodes. If it is reached, all that crosses is full,
 * and every part is a tight set: with x of an arc for the broadcast, the rest of its width c for the reduce,
 * and r summed in the part,
 *
 *     x(into P) + r(P) = X        (c - x)(out of P) + r(P) = X
 *
 * The host can have all that joins it to idle nodes, M from them and N to them. So it is tight by itself, and
 * for all idle nodes I together there is left
 *
 *     x(into I) + r(I) = M        (c - x)(out of I) + r(I) = N        without what joins them to the host
 *
 * Of the answers to these equations the one with most entropy is in the middle of all, and so most likely to
 * serve larger sets as well: x = c / (1 + exp(-(a + p(src) + q(dst)))) and r = b exp(q - p), with one p and
 * one q for each active node and I, found by Newton steps, each solved by conjugate gradients. a and b say
 * what is best where all arcs are the same: from idle nodes all is the broadcast's, to them all is the
 * reduce's, and between active ones each has a half. Only one kind of set was ever seen to lack anything: I
 * and one active node, which has x from idle nodes and to them that come to more than M, or c - x that come
 * to more than N. Then they are pinned to what is allowed, by one equation more. Whether all active nodes are
 * served, two maximum flows each tell in the end.
 *
 * If some active node's own arcs allow less than X, that much of the others is left unused that parts allow
 * just that. No linear program is needed. Cost: some hundred times the arcs, and the flows. */
#include "solve/cut/entropy_split.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "solve/cut/split_check.h"

#define STEPS 16      /* of Newton at most, */
#define SOLVED 1e-13  /* of the rate is missing at parts, */
#define NEARLY 1e-10  /* or this, where equations depend on each other: flows will tell */
#define WAYS 3        /* to share what idle nodes sum */
#define LONGEST 1.5   /* in exponents, */
#define GRADIENTS 400 /* of each step at most */
#define EXACT 1e-8    /* of a step's length */
#define SPARE 1e-3    /* of what is allowed is left by whoever would use more, if it can */
#define TURNS 20      /* in which all are found who would, or what is left unused */
#define SAME 1e-12
#define UNUSED 1e-14 /* of what crosses may be left over */
#define LITTLE 0.02  /* of arcs between active nodes and idle ones, the other way round, */
#define LEAST 0.1    /* of the rate: summed at idle nodes, usually */

typedef struct {
    const banyan_graph *graph;
    int host, idle; /* idle: one of them, for all */
    int narrowest;  /* node, or node_count + node: what leaves (enters) it is the rate; -1: parts say it */
    double rate;
    double *width, *x;           /* per arc: what of it is used, and of that by the broadcast */
    double *odds, *usual;        /* a per arc and b per node, */
    double *root;                /* r, */
    double *p;                   /* and p, then q, then what pins add to both, per node; the same order in: */
    double *due;                 /* what each equation should come to, */
    double *missing;             /* and what it lacks, */
    double *step, *way, *moved;  /* for the gradients, */
    double *joins;               /* and widths, of several kinds */
    double *from_idle, *to_idle; /* per node: widths */
    unsigned char *pinned;       /* per node */
    banyan_flow *flow;           /* one edge an arc, then one from the node before the roots to every node */
} divider;

static void divider_fini(divider *d)
{
    banyan_free(d->width);
    banyan_free(d->x);
    banyan_free(d->odds);
    banyan_free(d->root);
    banyan_free(d->usual);
    banyan_free(d->p);
    banyan_free(d->missing);
    banyan_free(d->step);
    banyan_free(d->way);
    banyan_free(d->moved);
    banyan_free(d->from_idle);
    banyan_free(d->to_idle);
    banyan_free(d->due);
    banyan_free(d->joins);
    banyan_free(d->pinned);
    banyan_flow_destroy(d->flow);
}

static banyan_status divider_init(divider *d, banyan_error *err)
{
    size_t nodes = (size_t)d->graph->node_count, arcs = (size_t)d->graph->arc_count;

    d->width = banyan_alloc(arcs, sizeof(double));
    d->x = banyan_alloc(arcs, sizeof(double));
    d->odds = banyan_alloc(arcs, sizeof(double));
    d->root = banyan_alloc(nodes, sizeof(double));
    d->usual = banyan_alloc(nodes, sizeof(double));
    d->p = banyan_alloc(3 * nodes, sizeof(double));
    d->missing = banyan_alloc(3 * nodes, sizeof(double));
    d->step = banyan_alloc(3 * nodes, sizeof(double));
    d->way = banyan_alloc(3 * nodes, sizeof(double));
    d->moved = banyan_alloc(3 * nodes, sizeof(double));
    d->from_idle = banyan_alloc(nodes, sizeof(double));
    d->to_idle = banyan_alloc(nodes, sizeof(double));
    d->due = banyan_alloc(3 * nodes, sizeof(double));
    d->joins = banyan_alloc(3 * nodes, sizeof(double));
    d->pinned = banyan_alloc(nodes, 1);
    if (!d->width || !d->x || !d->odds || !d->root || !d->usual || !d->p || !d->missing || !d->step ||
        !d->way || !d->moved || !d->from_idle || !d->to_idle || !d->due || !d->joins || !d->pinned)
        return banyan_fail_memory(err);
    return banyan_graph_make_flow(d->graph, 1, &d->flow, err);
}

static int is_active(const divider *d, int v)
{
    return d->graph->role[v] & BANYAN_NODE_ACTIVE;
}

static int part_of(const divider *d, int v)
{
    return is_active(d, v) ? v : d->idle;
}

/* Inside a part, or between the host and idle nodes: nothing moves there. */
static int is_fixed(const divider *d, int a, int b)
{
    return a == b || (a == d->host && b == d->idle) || (a == d->idle && b == d->host);
}

/* What joins nodes to idle ones, and what leaves and enters each; returns all that crosses if the host is
 * chosen well. */
static double measure(divider *d)
{
    const banyan_graph *graph = d->graph;
    int nodes = graph->node_count;
    double all = 0;

    d->host = graph->active[0];
    memset(d->to_idle, 0, (size_t)nodes * sizeof(double));
    memset(d->from_idle, 0, (size_t)nodes * sizeof(double));
    memset(d->joins, 0, 2 * (size_t)nodes * sizeof(double));
    for (int i = 0; i < graph->arc_count; i++) {
        int a = graph->arcs[i].src, b = graph->arcs[i].dst;

        d->idle = is_active(d, a) ? d->idle : a;
        all += is_active(d, a) || is_active(d, b) ? d->width[i] : 0;
        d->to_idle[a] += is_active(d, b) ? 0 : d->width[i];
        d->from_idle[b] += is_active(d, a) ? 0 : d->width[i];
        d->joins[a] += d->width[i];
        d->joins[nodes + b] += d->width[i];
    }
    for (int i = 1; i < graph->active_count; i++) {
        int v = graph->active[i];

        if (d->to_idle[v] + d->from_idle[v] > d->to_idle[d->host] + d->from_idle[d->host])
            d->host = v;
    }
    return all - d->to_idle[d->host] - d->from_idle[d->host];
}

/* What of a node's arcs, as src or dst, it can do without. */
static double spare(const divider *d, int v, int end)
{
    return is_active(d, v) ? fmax(0, 1 - d->rate / d->joins[end]) : 1;
}

/* Some active node's own arcs allow less than the parts: of others that much is left unused that parts allow
 * just as much. */
static int narrow(divider *d, double crossing)
{
    const banyan_graph *graph = d->graph;
    int nodes = graph->node_count;

    for (int turn = 0; turn < TURNS; turn++) {
        double over = crossing - 2 * (graph->active_count - 1) * d->rate, all = 0;

        if (fabs(over) <= UNUSED * crossing)
            return 1;
        for (int i = 0; i < graph->arc_count; i++) {
            int a = graph->arcs[i].src, b = graph->arcs[i].dst;

            if (!is_fixed(d, part_of(d, a), part_of(d, b)))
                all += d->width[i] * fmin(spare(d, a, a), spare(d, b, nodes + b));
        }
        if (!(over >= -SAME * crossing && over < all))
            return 0;
        for (int i = 0; i < graph->arc_count; i++) {
            int a = graph->arcs[i].src, b = graph->arcs[i].dst;

            if (!is_fixed(d, part_of(d, a), part_of(d, b)))
                d->x[i] = d->width[i] * (1 - over / all * fmin(spare(d, a, a), spare(d, b, nodes + b)));
            else
                d->x[i] = d->width[i];
        }
        memcpy(d->width, d->x, (size_t)graph->arc_count * sizeof(double));
        crossing = measure(d);
    }
    return 0;
}

/* The active node that has most to do with idle ones, and the rate. */
static int choose_host(divider *d)
{
    const banyan_graph *graph = d->graph;
    int nodes = graph->node_count;
    double crossing;

    for (int i = 0; i < graph->arc_count; i++)
        d->width[i] = (double)graph->arcs[i].capacity;
    crossing = measure(d);
    d->rate = crossing / (2 * (graph->active_count - 1));
    for (int i = 0; i < 2 * nodes; i++)
        if (is_active(d, i % nodes) && d->joins[i] < d->rate) {
            d->rate = d->joins[i];
            d->narrowest = i;
        }
    if (d->narrowest >= 0 && !narrow(d, crossing))
        return 0;
    for (int i = 0; i < graph->active_count; i++)
        d->due[graph->active[i]] = d->due[nodes + graph->active[i]] = d->rate;
    d->due[d->idle] = d->to_idle[d->host];
    d->due[nodes + d->idle] = d->from_idle[d->host];
    d->due[d->host] -= d->to_idle[d->host];
    d->due[nodes + d->host] -= d->from_idle[d->host];
    return d->due[d->host] > 0 && d->due[nodes + d->host] > 0;
}

/* What is best where arcs are the same. No active node can use more from idle ones than the host has. */
static void set_usual(divider *d)
{
    const banyan_graph *graph = d->graph;
    double between = 0, idle = 0;
    int h = d->host;

    for (int i = 0; i < graph->arc_count; i++) {
        int a = graph->arcs[i].src, b = graph->arcs[i].dst;
        double part = 0.5;

        if (is_active(d, a) && !is_active(d, b))
            part = a == h ? 0 : 1 - (1 - LITTLE) * fmin(1, d->to_idle[h] / d->to_idle[a]);
        else if (!is_active(d, a) && is_active(d, b))
            part = b == h ? 1 : (1 - LITTLE) * fmin(1, d->from_idle[h] / d->from_idle[b]);
        d->odds[i] = log(part / (1 - part));
        d->x[i] = d->width[i] * part;
        between += (a == h && is_active(d, b)) || (b == h && is_active(d, a)) ? d->width[i] / 4 : 0;
        idle += is_active(d, a) && a != h && !is_active(d, b) ? d->x[i] : 0;
    }
    for (int i = 0; i < graph->active_count; i++)
        d->usual[graph->active[i]] = (between + idle) / (graph->active_count - 1);
    d->usual[d->idle] = fmax(d->rate - between - idle, LEAST * d->rate);
}

/* The end for what joins an active node to idle ones, both ways, if that is given; or -1. */
static int pin_of(const divider *d, int a, int b)
{
    int v = b == d->idle ? a : a == d->idle ? b : -1;

    return v >= 0 && d->pinned[v] ? 2 * d->graph->node_count + v : -1;
}

/* Parts of arcs and roots; returns the square of what equations miss. */
static double set_parts(divider *d)
{
    const banyan_graph *graph = d->graph;
    int nodes = graph->node_count;
    double square = 0;

    for (int v = 0; v < nodes; v++) {
        d->missing[2 * nodes + v] = d->pinned[v] ? d->due[2 * nodes + v] : 0;
        if (part_of(d, v) != v)
            continue;
        d->root[v] = d->usual[v] * exp(d->p[nodes + v] - d->p[v]);
        d->missing[v] = d->root[v] - d->due[v];
        d->missing[nodes + v] = d->due[nodes + v] - d->root[v];
    }
    for (int i = 0; i < graph->arc_count; i++) {
        int a = part_of(d, graph->arcs[i].src), b = part_of(d, graph->arcs[i].dst), pin = pin_of(d, a, b);

        if (is_fixed(d, a, b))
            continue;
        d->x[i] =
            d->width[i] / (1 + exp(-(d->odds[i] + d->p[a] + d->p[nodes + b] + (pin < 0 ? 0 : d->p[pin]))));
        d->missing[a] += d->width[i] - d->x[i];
        d->missing[nodes + b] -= d->x[i];
        if (pin >= 0)
            d->missing[pin] -= d->x[i];
    }
    for (int v = 0; v < 3 * nodes; v++)
        square += d->missing[v] * d->missing[v];
    return square;
}

/* What small potentials would move at each end. */
static void move(const divider *d, const double *potential, double *moved)
{
    const banyan_graph *graph = d->graph;
    int nodes = graph->node_count;

    for (int v = 0; v < 3 * nodes; v++)
        moved[v] = 0;
    for (int v = 0; v < nodes; v++) {
        double more = d->root[v] * (potential[nodes + v] - potential[v]);

        if (part_of(d, v) != v)
            continue;
        moved[v] -= more;
        moved[nodes + v] += more;
    }
    for (int i = 0; i < graph->arc_count; i++) {
        int a = part_of(d, graph->arcs[i].src), b = part_of(d, graph->arcs[i].dst), pin = pin_of(d, a, b);
        double more;

        if (is_fixed(d, a, b))
            continue;
        more = d->x[i] * (1 - d->x[i] / d->width[i]) *
               (potential[a] + potential[nodes + b] + (pin < 0 ? 0 : potential[pin]));
        moved[a] += more;
        moved[nodes + b] += more;
        if (pin >= 0)
            moved[pin] += more;
    }
}

static double product(const divider *d, const double *a, const double *b)
{
    double sum = 0;

    for (int v = 0; v < 3 * d->graph->node_count; v++)
        sum += a[v] * b[v];
    return sum;
}

/* One step of Newton. */
static void improve(divider *d, double square)
{
    int ends = 3 * d->graph->node_count;
    double left = square, longest = 0, part;

    for (int v = 0; v < ends; v++) {
        d->step[v] = 0;
        d->way[v] = d->missing[v];
    }
    for (int k = 0; k < GRADIENTS && left > EXACT * EXACT * square; k++) {
        double length, next;

        move(d, d->way, d->moved);
        length = left / product(d, d->way, d->moved);
        if (!(length < HUGE_VAL))
            break;
        for (int v = 0; v < ends; v++) {
            d->step[v] += length * d->way[v];
            d->missing[v] -= length * d->moved[v];
        }
        next = product(d, d->missing, d->missing);
        for (int v = 0; v < ends; v++)
            d->way[v] = d->missing[v] + next / left * d->way[v];
        left = next;
    }
    for (int v = 0; v < ends; v++)
        longest = fmax(longest, fabs(d->step[v]));
    part = longest > LONGEST ? LONGEST / longest : 1;
    for (int v = 0; v < ends; v++)
        d->p[v] += part * d->step[v];
}

static int solve(divider *d)
{
    double solved = SOLVED * d->rate * SOLVED * d->rate, square = set_parts(d);

    for (int step = 0; step < STEPS && square > solved; step++) {
        improve(d, square);
        square = set_parts(d);
    }
    return square <= NEARLY * d->rate * NEARLY * d->rate;
}

/* No active node can get more from idle ones than is summed there or comes to them from others, and alike the
 * other way: whoever would gets as much as is allowed. Returns whether somebody did. */
static int keep_within(divider *d, double spare)
{
    const banyan_graph *graph = d->graph;
    int nodes = graph->node_count, beyond = 0;

    memset(d->joins, 0, 2 * (size_t)nodes * sizeof(double));
    for (int i = 0; i < graph->arc_count; i++) {
        int a = graph->arcs[i].src, b = graph->arcs[i].dst, v = is_active(d, a) ? a : b;

        if (is_active(d, a) == is_active(d, b) || v == d->host)
            continue;
        d->joins[v] += d->width[i] - d->x[i];
        d->joins[nodes + v] += d->x[i];
    }
    for (int i = 0; i < graph->active_count; i++) {
        int v = graph->active[i];
        double all = d->joins[v] + d->joins[nodes + v], most = d->due[nodes + d->idle],
               least = all - d->due[d->idle], margin = fmin(spare * most, (most - least) / 2),
               within = fmin(most - margin, fmax(least + margin, d->joins[nodes + v]));

        if (v == d->host || d->pinned[v] ||
            (d->joins[nodes + v] <= most * (1 + SAME) && d->joins[nodes + v] >= least - most * SAME))
            continue;
        d->pinned[v] = 1;
        d->due[2 * nodes + v] = within;
        beyond++;
    }
    return beyond;
}

/* Among idle nodes half of the arcs between them are for each, and that much is summed as they lack of what
 * the host has from them (or gives to them), the mean of both; or, by_arcs, in proportion to their arcs. */
static void share_out(divider *d, double all_root, double by_arcs)
{
    const banyan_graph *graph = d->graph;
    int nodes = graph->node_count;
    double lacking = 0, arcs = 0;

    memset(d->joins, 0, 2 * (size_t)nodes * sizeof(double));
    for (int i = 0; i < graph->arc_count; i++) {
        int a = graph->arcs[i].src, b = graph->arcs[i].dst, v = is_active(d, a) ? b : a;
        double fits =
            is_active(d, a) ? d->width[i] - d->x[i] : d->x[i]; /* to idle nodes summed, from them sent */

        if (is_active(d, a) == is_active(d, b))
            continue;
        d->joins[v] += fits;
        d->joins[nodes + v] += a == d->host || b == d->host ? d->width[i] : fits - d->width[i];
    }
    for (int v = 0; v < nodes; v++) {
        arcs += is_active(d, v) ? 0 : d->joins[v];
        lacking += is_active(d, v) ? 0 : fmax(0, d->joins[nodes + v]);
    }
    for (int v = 0; v < nodes; v++)
        if (!is_active(d, v))
            d->root[v] = all_root * (by_arcs * d->joins[v] / arcs +
                                     (1 - by_arcs) * fmax(0, d->joins[nodes + v]) / fmax(lacking, 1e-300));
}

static int serves_all(const divider *d)
{
    banyan_split_check_problem problem = {d->graph, d->width, d->x, d->root, d->rate};

    return banyan_split_check_all(&problem, d->flow);
}

/* Every node with an arc can do all, and most pairs are cabled. */
static int applies(const banyan_graph *graph)
{
    return banyan_graph_all_branch(graph) &&
           2 * graph->arc_count > graph->node_count * (graph->node_count - 1) &&
           banyan_graph_has_helpers(graph) && graph->active_count > 2;
}

/* A division that serves all active nodes, if one is found. */
static int divide(divider *d)
{
    double root;
    int good;

    if (!choose_host(d))
        return 0;
    set_usual(d);
    good = solve(d);
    for (int turn = 0; good && turn < TURNS && keep_within(d, SPARE); turn++)
        good = solve(d);
    if (!good) { /* that many are pinned that there is nothing to spare */
        for (int v = 0; v < 3 * d->graph->node_count; v++)
            d->p[v] = d->pinned[v % d->graph->node_count] = 0;
        good = solve(d);
        for (int turn = 0; good && turn < TURNS && keep_within(d, 0); turn++)
            good = solve(d);
    }
    if (!good)
        return 0;
    root = d->root[d->idle];
    for (int way = 0; way < WAYS; way++) {
        share_out(d, root, 1 - way / (WAYS - 1.0));
        if (serves_all(d))
            return 1;
    }
    return 0;
}

/* What crosses between parts, or leaves the narrowest node or enters it, has a price; both where links are
 * symmetric. */
static banyan_status hand_over(divider *d, banyan_split *out, banyan_error *err)
{
    const banyan_graph *graph = d->graph;
    int nodes = graph->node_count, is_cut = d->narrowest >= 0;
    int node = d->narrowest % nodes, both = graph->symmetric, into = d->narrowest >= nodes;
    banyan_wide worth = 0, crossings = is_cut ? 1 + both : 2 * (graph->active_count - 1);

    out->price = banyan_alloc((size_t)graph->arc_count, sizeof *out->price);
    out->summed = banyan_alloc((size_t)graph->arc_count, sizeof *out->summed);
    if (!out->price || !out->summed) {
        banyan_split_fini(out);
        return banyan_fail_memory(err);
    }
    for (int i = 0; i < graph->arc_count; i++) {
        int a = graph->arcs[i].src, b = graph->arcs[i].dst;

        out->price[i] = is_cut ? (a == node && (both || !into)) || (b == node && (both || into))
                               : !is_fixed(d, part_of(d, a), part_of(d, b));
        worth += out->price[i] ? graph->arcs[i].capacity : 0;
        out->summed[i] = d->width[i] - d->x[i];
    }
    out->bound = banyan_fraction_make(worth, crossings);
    out->bound_value = (double)worth / (double)crossings;
    out->total = d->rate;
    out->is_settled = 1;
    out->sent = d->x;
    out->root = d->root;
    d->x = d->root = NULL;
    return BANYAN_SUCCESS;
}

banyan_status banyan_entropy_split(const banyan_graph *graph, banyan_split *out, int *found,
                                   banyan_error *err)
{
    divider d = {.graph = graph, .narrowest = -1};
    banyan_status status;

    memset(out, 0, sizeof *out);
    *found = applies(graph);
    if (!*found)
        return BANYAN_SUCCESS;
    status = divider_init(&d, err);
    *found = !status && divide(&d);
    if (*found)
        status = hand_over(&d, out, err);
    divider_fini(&d);
    return status;
}
