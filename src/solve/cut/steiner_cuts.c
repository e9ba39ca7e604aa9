/* SPDX-License-Identifier: Apache-2.0 */
/* solve/cut/steiner_cuts.c: a family of cuts, weighed, each between a root and some active node; every tree
 * crosses each.
 *
 *     maximise    sum of w(S)
 *     subject to  sum of w(S) over the cuts S that an arc enters <= y(cable), both ways
 *                 sum of capacity(cable) y(cable) <= 1
 *
 * A tree costs at least the sum of w under the prices y, all cables together are worth 1: no packing weighs
 * more than 1 / sum of w. The program over the cuts known so far gives capacities to directions (the prices
 * of its rows); an active node to which they do not carry enough brings its minimum cut as a new column. When
 * all are served, the family is the best. Cost: one maximum flow an active node in each round, some ten to
 * forty rounds; whatever the family is when we stop, its bound holds. */
#include "solve/cut/steiner_cuts.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "solve/cut/partition_search.h"
#include "solve/net/flow.h"
#include "solve/net/fraction.h"
#include "solve/net/lp.h"

#define SCALE 1073741824.0 /* 2^30: of capacities in flows, which are whole numbers */
#define ENOUGH (1 - 1e-7)  /* of what a cut must carry */
#define ROUNDS 200
#define IDLE_ROUNDS 6     /* without a better bound: then this is it, most likely; */
#define FEW_IDLE_ROUNDS 4 /* of large programs */
#define LARGE 600         /* arcs */
#define STANDSTILL 1e-5   /* a bound that falls by less stands still: the program's noise is not far below */
#define SMALL_DENOMINATOR 2000
#define LARGE_PRICE 17179869184.0 /* 2^34, where prices are not small whole numbers */

typedef struct {
    const banyan_graph *graph;
    banyan_lp *lp;
    banyan_flow *flow; /* one edge an arc */
    int *cable;        /* arcs that stand for their cables, in the order of the first columns */
    int cable_count;
    double unit; /* the largest capacity */
    int *row;
    double *ones;
    int64_t *carried;      /* per arc: what the program gives it */
    unsigned char *inside; /* per node: of the current cut */
    banyan_partition_search *parting;
    int *part;     /* per node: the best partition so far */
    double parted; /* crossing capacity / (parts - 1) of it */
    double *price; /* per arc: the program's */
} family;

static void family_fini(family *f)
{
    banyan_lp_destroy(f->lp);
    banyan_flow_destroy(f->flow);
    banyan_free(f->cable);
    banyan_free(f->row);
    banyan_free(f->ones);
    banyan_free(f->carried);
    banyan_free(f->inside);
    banyan_free(f->part);
    banyan_free(f->price);
    banyan_partition_search_destroy(f->parting);
}

/* Rows: the arcs, then what cables are worth. The first columns are the cables' prices. */
static banyan_status make_program(family *f, banyan_error *err)
{
    int arcs = f->graph->arc_count;
    double *upper = banyan_alloc((size_t)arcs + 1, sizeof *upper);
    banyan_status status = upper ? BANYAN_SUCCESS : banyan_fail_memory(err);

    if (!status) {
        upper[arcs] = 1;
        status = banyan_lp_create(arcs + 1, NULL, upper, &f->lp, err);
    }
    for (int i = 0; !status && i < f->cable_count; i++) {
        const banyan_arc *arc = &f->graph->arcs[f->cable[i]];
        int row[3] = {f->cable[i], arc->twin, arcs};
        double value[3] = {-1, -1, (double)arc->capacity / f->unit};

        banyan_lp_add_column(f->lp, 0, 3, row, value);
    }
    banyan_free(upper);
    return status;
}

static banyan_status family_init(family *f, const banyan_graph *graph, banyan_error *err)
{
    size_t arcs = (size_t)graph->arc_count, nodes = (size_t)graph->node_count;
    banyan_status status;

    *f = (family){.graph = graph, .cable = banyan_alloc(arcs, sizeof *f->cable), .parted = HUGE_VAL};
    f->row = banyan_alloc(arcs, sizeof *f->row);
    f->ones = banyan_alloc(arcs, sizeof *f->ones);
    f->carried = banyan_alloc(arcs, sizeof *f->carried);
    f->inside = banyan_alloc(nodes, 1);
    f->part = banyan_alloc(nodes, sizeof *f->part);
    f->price = banyan_alloc(arcs, sizeof *f->price);
    if (!f->cable || !f->row || !f->ones || !f->carried || !f->inside || !f->part || !f->price)
        return banyan_fail_memory(err);
    for (int i = 0; i < graph->arc_count; i++) {
        f->ones[i] = 1;
        f->unit = fmax(f->unit, (double)graph->arcs[i].capacity);
        if (banyan_graph_cable(graph, i) == i)
            f->cable[f->cable_count++] = i;
    }
    status = banyan_partition_search_create(graph, &f->parting, err);
    if (!status)
        status = banyan_graph_make_flow(f->graph, 0, &f->flow, err);
    return status ? status : make_program(f, err);
}

/* The nodes inside become a cut of the family; 0: no arc enters them. */
static int add_cut(family *f)
{
    int count = 0;

    for (int i = 0; i < f->graph->arc_count; i++)
        if (!f->inside[f->graph->arcs[i].src] && f->inside[f->graph->arcs[i].dst])
            f->row[count++] = i;
    if (count)
        banyan_lp_add_column(f->lp, 1, count, f->row, f->ones);
    return count > 0;
}

/* Every active node by itself, and all nodes but the root. */
static int add_first_cuts(family *f)
{
    int good = 1;

    for (int i = 0; good && i < f->graph->active_count; i++) {
        int v = f->graph->active[i];

        memset(f->inside, i == 0, (size_t)f->graph->node_count);
        f->inside[v] = i != 0;
        good = add_cut(f);
    }
    return good;
}

/* The 1 more makes those the smallest cuts that fewest arcs enter: they serve best (Koch and Martin 1998). */
static void take_capacities(family *f)
{
    for (int i = 0; i < f->graph->arc_count; i++) {
        double x = banyan_lp_price(f->lp, i);

        f->carried[i] = x > 0 ? (int64_t)nearbyint(x * SCALE) + 1 : 1;
    }
}

/* Minimum cuts that carry too little; returns how many. */
static int find_cuts(family *f)
{
    const banyan_graph *graph = f->graph;
    int found = 0;

    take_capacities(f);
    for (int k = 1; k < graph->active_count; k++) {
        for (int i = 0; i < graph->arc_count; i++)
            banyan_flow_set(f->flow, i, f->carried[i], 0);
        if ((double)banyan_flow_run(f->flow, graph->active[0], graph->active[k], (int64_t)SCALE) >=
            SCALE * ENOUGH)
            continue;
        for (int v = 0; v < graph->node_count; v++)
            f->inside[v] = !banyan_flow_reaches(f->flow, v);
        found += add_cut(f);
    }
    return found;
}

/* A partition near the prices (none: by itself), if it is the best so far, brings its parts as cuts. */
static banyan_status add_parts(family *f, const double *y, banyan_error *err)
{
    const banyan_graph *graph = f->graph;
    const int *part;
    double rate;
    int count;
    banyan_status status;

    for (int i = 0; y && i < f->cable_count; i++)
        f->price[f->cable[i]] = f->price[graph->arcs[f->cable[i]].twin] = y[i] > 0 ? y[i] : 0;
    status = banyan_partition_search_run(f->parting, y ? f->price : NULL, &rate, err);
    if (status || rate >= f->parted * (1 - 1e-12))
        return status;
    part = banyan_partition_search_parts(f->parting, &count);
    memcpy(f->part, part, (size_t)graph->node_count * sizeof *part);
    f->parted = rate;
    for (int q = 0; q < count; q++) {
        if (q == part[graph->active[0]])
            continue;
        for (int v = 0; v < graph->node_count; v++)
            f->inside[v] = part[v] == q;
        add_cut(f);
    }
    return BANYAN_SUCCESS;
}

/* The program's bound stands still for many rounds before it falls again; a partition often goes there at
 * once. */
static banyan_status improve(family *f, double *sum, banyan_error *err)
{
    int idle = 0, idle_limit = f->graph->arc_count > LARGE ? FEW_IDLE_ROUNDS : IDLE_ROUNDS;
    banyan_status status = add_parts(f, NULL, err);

    if (!status)
        status = banyan_lp_solve(f->lp, err);
    *sum = status ? 0 : banyan_lp_objective(f->lp);
    for (int round = 0; !status && round < ROUNDS && idle < idle_limit; round++) {
        double before = f->parted;

        status = add_parts(f, banyan_lp_values(f->lp), err);
        if (status || (!find_cuts(f) && f->parted >= before))
            break;
        before = *sum;
        status = banyan_lp_solve(f->lp, err);
        if (status)
            break;
        *sum = banyan_lp_objective(f->lp);
        idle = *sum > before * (1 + STANDSTILL) ? 0 : idle + 1;
    }
    return status;
}

static void price_parts(const family *f, int64_t *price)
{
    for (int i = 0; i < f->graph->arc_count; i++)
        price[i] = f->part[f->graph->arcs[i].src] != f->part[f->graph->arcs[i].dst];
}

static banyan_status take_prices(family *f, int64_t *price, banyan_error *err)
{
    const double *y = banyan_lp_values(f->lp);
    int64_t *whole = banyan_alloc((size_t)f->cable_count, sizeof *whole);
    double largest = 0;

    if (!whole)
        return banyan_fail_memory(err);
    for (int i = 0; i < f->cable_count; i++)
        largest = fmax(largest, y[i]);
    if (!banyan_fraction_small_integers(y, f->cable_count, SMALL_DENOMINATOR, 1e-7, whole))
        for (int i = 0; i < f->cable_count; i++)
            whole[i] = y[i] > 0 ? (int64_t)nearbyint(y[i] / largest * LARGE_PRICE) : 0;
    for (int i = 0; i < f->cable_count; i++)
        price[f->cable[i]] = price[f->graph->arcs[f->cable[i]].twin] = whole[i];
    banyan_free(whole);
    return BANYAN_SUCCESS;
}

banyan_status banyan_steiner_cuts_price(const banyan_graph *graph, int64_t *price, double *bound,
                                        banyan_error *err)
{
    family f;
    double sum = 0;
    banyan_status status = family_init(&f, graph, err);

    if (!status && !add_first_cuts(&f))
        status = banyan_fail(err, BANYAN_INVALID_ARGUMENT, "the active workers are not all connected");
    if (!status)
        status = improve(&f, &sum, err);
    if (!status && f.parted <= f.unit / sum * (1 + 1e-6)) {
        price_parts(&f, price);
        *bound = f.parted;
    } else if (!status) {
        status = take_prices(&f, price, err);
        *bound = f.unit / sum;
    }
    family_fini(&f);
    return status;
}
