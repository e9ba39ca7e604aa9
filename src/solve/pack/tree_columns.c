/* SPDX-License-Identifier: Apache-2.0 */
/* solve/pack/tree_columns.c: column generation. The linear program over the trees known so far gives prices;
 * the cheapest tree under them is the next column, and also a proof of how far we can still be from the
 * optimum.
 *
 * Two things keep the number of rounds small. Before the first program, multiplicative weights (Garg,
 * Konemann 1998) bring a first lot of trees and decent prices. Then the oracle is asked not at the program's
 * prices, which jump, but between them and the best prices so far (in-out smoothing, Ben-Ameur and Neto
 * 2007). Prices are integers before the oracle sees them, so every bound is exact whatever the program's
 * rounding was. */
#include "solve/pack/tree_columns.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "solve/net/lp.h"

#define PRICE_SCALE 17179869184.0 /* 2^34: sums over a tree stay far below 2^63 */
#define SMALL_DENOMINATOR 2000
#define WARM_STEP 0.5
#define QUICK_SHARE 0.3 /* of the best prices, where trees are asked for quickly */
#define LOT 24          /* trees before the program is solved again, at most */
#define LOT_STEP 0.5    /* by this part the narrowest cables of a tree get more expensive for the next */

typedef struct {
    const banyan_graph *graph;
    const banyan_tree_packing_problem *problem;
    banyan_tree_packing *packing;
    banyan_lp *lp;
    int row_count;
    int *row;           /* per arc: of its cable */
    double *capacity;   /* per row, the largest is 1 */
    double unit;        /* graph units of 1 */
    double *used;       /* per row: scratch of one column */
    int *touched;       /* rows with used != 0 */
    double *column;     /* values at touched rows */
    double *now, *best; /* prices per row: the program's, and those of the best bound */
    int64_t *asked;     /* per arc: what the oracle saw last */
    double *mixed;      /* per row: what it was made from */
} generator;

static void generator_fini(generator *g)
{
    banyan_lp_destroy(g->lp);
    banyan_free(g->row);
    banyan_free(g->capacity);
    banyan_free(g->used);
    banyan_free(g->touched);
    banyan_free(g->column);
    banyan_free(g->now);
    banyan_free(g->best);
    banyan_free(g->asked);
    banyan_free(g->mixed);
}

/* The arc that stands for this one: itself, or the first of its cable. */
static int owner_of(const generator *g, int arc)
{
    return g->problem->directed ? arc : banyan_graph_cable(g->graph, arc);
}

static void number_rows(generator *g)
{
    const banyan_graph *graph = g->graph;

    for (int i = 0; i < graph->arc_count; i++) {
        int owner = owner_of(g, i);

        if (g->problem->group)
            g->row[i] = g->problem->group[owner];
        else
            g->row[i] = owner == i ? g->row_count++ : g->row[owner];
    }
    if (g->problem->group)
        g->row_count = g->problem->group_count;
}

static void sum_capacities(generator *g)
{
    double largest = 0;

    for (int i = 0; i < g->graph->arc_count; i++)
        if (owner_of(g, i) == i)
            g->capacity[g->row[i]] += (double)g->graph->arcs[i].capacity;
    for (int r = 0; r < g->row_count; r++)
        largest = g->capacity[r] > largest ? g->capacity[r] : largest;
    g->unit = largest > 0 ? largest : 1;
    for (int r = 0; r < g->row_count; r++)
        g->capacity[r] /= g->unit;
}

static banyan_status generator_init(generator *g, const banyan_graph *graph,
                                    const banyan_tree_packing_problem *problem, banyan_tree_packing *packing,
                                    banyan_error *err)
{
    size_t arcs = (size_t)graph->arc_count;

    *g = (generator){.graph = graph, .problem = problem, .packing = packing};
    g->row = banyan_alloc(arcs, sizeof *g->row);
    g->capacity = banyan_alloc(arcs + 1, sizeof(double));
    g->used = banyan_alloc(arcs + 1, sizeof(double));
    g->touched = banyan_alloc(arcs + 1, sizeof(int));
    g->column = banyan_alloc(arcs + 1, sizeof(double));
    g->now = banyan_alloc(arcs + 1, sizeof(double));
    g->best = banyan_alloc(arcs + 1, sizeof(double));
    g->mixed = banyan_alloc(arcs + 1, sizeof(double));
    g->asked = banyan_alloc(arcs, sizeof(int64_t));
    packing->price = banyan_alloc(arcs, sizeof(int64_t));
    if (!g->row || !g->capacity || !g->used || !g->touched || !g->column || !g->now || !g->best ||
        !g->mixed || !g->asked || !packing->price)
        return banyan_fail_memory(err);
    number_rows(g);
    sum_capacities(g);
    return banyan_lp_create(g->row_count, NULL, g->capacity, &g->lp, err);
}

/* The latest tree has been a column before. The program's prices are off by its tolerance, so it may look
 * worth another, again and again. */
static int is_known(const generator *g)
{
    const banyan_trees *trees = &g->packing->trees;
    size_t latest = trees->tree_count - 1, t = 0;

    while (t < latest && !banyan_trees_are_same(trees, t, latest))
        t++;
    return t < latest;
}

/* The latest tree's use of each row, as a column of the program. */
static void add_latest_column(generator *g)
{
    const banyan_trees *trees = &g->packing->trees;
    size_t tree = trees->tree_count - 1;
    int count = 0;

    for (size_t a = banyan_trees_arcs_begin(trees, tree); a < trees->arc_count; a++) {
        int row = g->row[trees->arcs[a]];

        if (g->used[row] == 0)
            g->touched[count++] = row;
        g->used[row]++;
    }
    for (int i = 0; i < count; i++) {
        g->column[i] = g->used[g->touched[i]];
        g->used[g->touched[i]] = 0;
    }
    banyan_lp_add_column(g->lp, 1, count, g->touched, g->column);
}

/* Asks for the cheapest tree under the prices in g->mixed, or quickly for a cheap one. Returns what the tree
 * costs under the program's own prices (so that the caller sees whether it helps), or -1 when there is none.
 * Keeps the bound if it is new. */
static double ask(generator *g, int quickly)
{
    banyan_tree_packing *packing = g->packing;
    const banyan_trees *trees = &packing->trees;
    double largest = 0, cost_now = 0;
    int64_t cost;
    banyan_wide value;

    for (int r = 0; r < g->row_count; r++)
        largest = g->mixed[r] > largest ? g->mixed[r] : largest;
    for (int i = 0; i < g->graph->arc_count; i++)
        g->asked[i] = (int64_t)nearbyint(g->mixed[g->row[i]] / largest * PRICE_SCALE);
    cost = (quickly ? g->problem->quick : g->problem->oracle)(g->problem->context, g->asked, &packing->trees);
    if (cost < 0 || packing->trees.failed)
        return -1;
    value = banyan_tree_packing_value(g->graph, g->asked, g->problem->directed);
    if (!quickly && cost > 0 && (double)value / (double)cost < packing->bound_value) {
        packing->bound_value = (double)value / (double)cost;
        packing->bound = banyan_fraction_make(value, cost);
        memcpy(packing->price, g->asked, (size_t)g->graph->arc_count * sizeof(int64_t));
        memcpy(g->best, g->mixed, (size_t)g->row_count * sizeof(double));
    }
    for (size_t a = banyan_trees_arcs_begin(trees, trees->tree_count - 1); a < trees->arc_count; a++)
        cost_now += g->now[g->row[trees->arcs[a]]];
    return cost_now;
}

/* What the latest tree uses gets more expensive in g->mixed. */
static void make_dearer(generator *g, double step)
{
    const banyan_trees *trees = &g->packing->trees;
    size_t begin = banyan_trees_arcs_begin(trees, trees->tree_count - 1);
    double narrowest = HUGE_VAL;

    for (size_t a = begin; a < trees->arc_count; a++)
        g->used[g->row[trees->arcs[a]]]++;
    for (size_t a = begin; a < trees->arc_count; a++) {
        int r = g->row[trees->arcs[a]];

        if (g->capacity[r] / g->used[r] < narrowest)
            narrowest = g->capacity[r] / g->used[r];
    }
    for (size_t a = begin; a < trees->arc_count; a++) {
        int r = g->row[trees->arcs[a]];

        g->mixed[r] *= 1 + step * narrowest * g->used[r] / g->capacity[r];
        g->used[r] = 0;
    }
}

/* Where only workers add, the ends of cables at workers often limit all: then the best prices are known, and
 * to begin with them is quicker than to end with them. */
static void price_workers(generator *g)
{
    const banyan_graph *graph = g->graph;

    for (int i = 0; i < graph->arc_count; i++)
        g->mixed[g->row[i]] = ((graph->role[graph->arcs[i].src] & BANYAN_NODE_ACTIVE) != 0) +
                              ((graph->role[graph->arcs[i].dst] & BANYAN_NODE_ACTIVE) != 0);
    if (ask(g, 0) >= 0)
        add_latest_column(g);
}

/* Multiplicative weights: each tree makes what it uses more expensive. The first gives a bound in any
 * case. */
static banyan_status warm_up(generator *g, banyan_error *err)
{
    if (!g->problem->directed && !g->problem->group && g->problem->warm_trees > 1 &&
        !banyan_graph_has_idle_adders(g->graph))
        price_workers(g);
    for (int r = 0; r < g->row_count; r++)
        g->mixed[r] = 1 / g->capacity[r];
    for (int i = 0; g->problem->start && i < g->graph->arc_count; i++)
        g->mixed[g->row[i]] = (double)g->problem->start[i] / PRICE_SCALE;
    for (int i = 0; i < g->problem->warm_trees || i == 0; i++) {
        if (ask(g, i > 0 && g->problem->quick) < 0)
            return g->packing->trees.failed ? banyan_fail_memory(err)
                                            : banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                                                          "the active workers are not all connected");
        add_latest_column(g);
        make_dearer(g, WARM_STEP);
    }
    return BANYAN_SUCCESS;
}

/* The program's prices as small whole numbers, if they are such, give the bound as a short fraction. */
static void sharpen(generator *g)
{
    banyan_tree_packing *packing = g->packing;
    int64_t *small = g->asked, cost;
    banyan_wide value;
    double *per_arc = g->used; /* free at this point, one entry a row */
    int64_t *whole = banyan_alloc((size_t)g->row_count, sizeof *whole);

    memcpy(per_arc, g->now, (size_t)g->row_count * sizeof(double));
    if (!whole || !banyan_fraction_small_integers(per_arc, g->row_count, SMALL_DENOMINATOR, 1e-7, whole)) {
        banyan_free(whole);
        return;
    }
    for (int i = 0; i < g->graph->arc_count; i++)
        small[i] = whole[g->row[i]];
    banyan_free(whole);
    cost = g->problem->oracle(g->problem->context, small, &packing->trees);
    if (cost < 0 || packing->trees.failed)
        return;
    banyan_trees_drop_last(&packing->trees);
    value = banyan_tree_packing_value(g->graph, small, g->problem->directed);
    if (cost > 0 && (double)value / (double)cost <= packing->bound_value * (1 + 1e-9)) {
        packing->bound = banyan_fraction_make(value, cost);
        packing->bound_value = (double)value / (double)cost;
        memcpy(packing->price, small, (size_t)g->graph->arc_count * sizeof(int64_t));
    }
}

static banyan_status take_seed(generator *g, banyan_error *err)
{
    const banyan_trees *seed = g->problem->seed;

    for (size_t t = 0; seed && t < seed->tree_count; t++) {
        banyan_trees_copy(&g->packing->trees, seed, t);
        if (g->packing->trees.failed)
            return banyan_fail_memory(err);
        add_latest_column(g);
    }
    return BANYAN_SUCCESS;
}

static banyan_status solve_program(generator *g, banyan_error *err)
{
    banyan_status status = banyan_lp_solve(g->lp, err);

    if (status)
        return status;
    g->packing->total = banyan_lp_objective(g->lp) * g->unit;
    for (int r = 0; r < g->row_count; r++) {
        double price = banyan_lp_price(g->lp, r);

        g->now[r] = price > 0 ? price : 0;
    }
    g->packing->rounds++;
    return BANYAN_SUCCESS;
}

static int is_done(const generator *g)
{
    const banyan_tree_packing *packing = g->packing;

    return packing->bound_value - packing->total <= g->problem->tolerance * packing->bound_value ||
           (g->problem->good_enough > 0 && packing->total >= g->problem->good_enough) ||
           packing->rounds >= g->problem->round_limit;
}

/* After one tree that improves the program some more like it, which use other cables: then the program, which
 * has to begin with its basis anew each time, is solved less often. */
static banyan_status add_more(generator *g, int quickly, banyan_error *err)
{
    for (int k = 1; k < LOT; k++) {
        double cost;

        make_dearer(g, LOT_STEP);
        cost = ask(g, quickly);
        if (cost < 0)
            return banyan_fail_memory(err);
        if (cost >= 1 - 1e-9 || is_known(g)) {
            banyan_trees_drop_last(&g->packing->trees);
            return BANYAN_SUCCESS;
        }
        add_latest_column(g);
    }
    return BANYAN_SUCCESS;
}

/* Prices between the best ones and the program's. */
static void mix(generator *g, double share)
{
    double worth = 0, best_worth = 0;

    for (int r = 0; r < g->row_count; r++) {
        worth += g->capacity[r] * g->now[r];
        best_worth += g->capacity[r] * g->best[r];
    }
    for (int r = 0; r < g->row_count; r++)
        g->mixed[r] = share * g->best[r] / best_worth + (1 - share) * g->now[r] / worth;
}

/* Asks for one tree; if that improves the program, for some more. */
static banyan_status try_share(generator *g, double share, int quickly, int *better, banyan_error *err)
{
    double cost;

    mix(g, share);
    cost = ask(g, quickly);
    if (cost < 0)
        return banyan_fail_memory(err);
    *better = cost < 1 - 1e-9 && !is_known(g);
    if (*better) {
        add_latest_column(g);
        return add_more(g, quickly, err);
    }
    banyan_trees_drop_last(&g->packing->trees);
    return BANYAN_SUCCESS;
}

/* More trees: such as are found quickly, or else, asked for between the best prices and the program's, nearer
 * and nearer to the latter, until one improves the program. */
static banyan_status improve(generator *g, int *stuck, banyan_error *err)
{
    int better = 0;
    banyan_status status = g->problem->quick ? try_share(g, QUICK_SHARE, 1, &better, err) : BANYAN_SUCCESS;

    *stuck = 0;
    for (double share = 0.6; !status && !better && !*stuck; share = share > 0.5 ? 0.3 : 0) {
        status = try_share(g, share, 0, &better, err);
        *stuck = !better && (share < 0.1 || is_done(g));
    }
    return status;
}

static banyan_status take_weights(generator *g, banyan_error *err)
{
    banyan_tree_packing *packing = g->packing;
    const double *values = banyan_lp_values(g->lp);

    packing->weight = banyan_alloc(packing->trees.tree_count, sizeof(double));
    if (!packing->weight)
        return banyan_fail_memory(err);
    for (size_t t = 0; t < packing->trees.tree_count; t++)
        packing->weight[t] = values[t] > 0 ? values[t] * g->unit : 0;
    return BANYAN_SUCCESS;
}

banyan_status banyan_tree_packing_solve(const banyan_graph *graph, const banyan_tree_packing_problem *problem,
                                        banyan_tree_packing *out, banyan_error *err)
{
    generator g;
    banyan_status status;
    int stuck = 0;

    memset(out, 0, sizeof *out);
    out->bound_value = HUGE_VAL;
    status = generator_init(&g, graph, problem, out, err);
    if (!status)
        status = take_seed(&g, err);
    if (!status)
        status = warm_up(&g, err);
    if (!status)
        status = solve_program(&g, err);
    while (!status && !stuck && !is_done(&g)) {
        status = improve(&g, &stuck, err);
        if (!status)
            status = solve_program(&g, err);
    }
    if (!status)
        sharpen(&g);
    if (!status && out->trees.failed)
        status = banyan_fail_memory(err);
    if (!status)
        status = take_weights(&g, err);
    generator_fini(&g);
    if (status)
        banyan_tree_packing_fini(out);
    return status;
}

void banyan_tree_packing_fini(banyan_tree_packing *packing)
{
    banyan_trees_fini(&packing->trees);
    banyan_free(packing->weight);
    banyan_free(packing->price);
    packing->weight = NULL;
    packing->price = NULL;
}

banyan_wide banyan_tree_packing_value(const banyan_graph *graph, const int64_t *price, int directed)
{
    banyan_wide sum = 0;

    for (int i = 0; i < graph->arc_count; i++)
        if (directed || banyan_graph_cable(graph, i) == i)
            sum += (banyan_wide)graph->arcs[i].capacity * price[i];
    return sum;
}
