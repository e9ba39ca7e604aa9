/* SPDX-License-Identifier: Apache-2.0 */
/* solve/coupled.c: column generation with two kinds of columns, in-trees and out-trees, tied together by one
 * row a root (out-trees there must weigh as much as in-trees). The row's price splits the worth of 1 between
 * the two kinds. Smoothing and integer prices as in packing.c. */
#include "solve/coupled.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "solve/lp.h"
#include "solve/shallow.h"
#include "solve/steiner.h"

#define PRICE_SCALE 17179869184.0 /* 2^34 */
#define SMALL_DENOMINATOR 2000
#define MANY_ROOTS 12 /* beyond these, roots take turns, so that the program grows slowly */

/* Finds cheapest trees of both kinds for every root. */
typedef struct {
    const banyan_graph *graph;
    banyan_closure in, out; /* on the nodes that add, and on those that copy */
    banyan_steiner *in_steiner, *out_steiner;
    int *root; /* nodes that do both */
    int root_count;
} oracle;

typedef struct {
    const banyan_graph *graph;
    const banyan_coupled_problem *problem;
    banyan_coupled *packing;
    oracle oracle;
    banyan_lp *lp;
    int stage_rows; /* arc_count, or twice that */
    int stride;     /* only every such root's trees become columns in one round, in turn */
    size_t meta_capacity, kind_capacity;
    double largest;             /* capacity */
    double *now, *best, *mixed; /* prices per stage row */
    double *tie;                /* price per root row */
    int64_t *asked;
    int *row;
    double *value;
    double *in_cost, *out_cost; /* per root: of the last trees, under the asked prices */
} generator;

static void oracle_fini(oracle *o)
{
    banyan_steiner_destroy(o->in_steiner);
    banyan_steiner_destroy(o->out_steiner);
    banyan_closure_fini(&o->in);
    banyan_closure_fini(&o->out);
    banyan_free(o->root);
}

static banyan_status oracle_init(oracle *o, const banyan_graph *graph, banyan_error *err)
{
    const unsigned both = BANYAN_NODE_ADDS | BANYAN_NODE_COPIES;
    banyan_status status;

    memset(o, 0, sizeof *o);
    o->graph = graph;
    o->root = banyan_alloc((size_t)graph->node_count, sizeof(int));
    if (!o->root)
        return banyan_fail_memory(err);
    for (int v = 0; v < graph->node_count; v++)
        if ((graph->role[v] & both) == both)
            o->root[o->root_count++] = v;
    status = banyan_closure_init(&o->in, graph, BANYAN_NODE_ADDS, err);
    if (!status)
        status = banyan_closure_init(&o->out, graph, BANYAN_NODE_COPIES, err);
    if (!status)
        status = banyan_steiner_create(&o->in, &o->in_steiner, err);
    if (!status)
        status = banyan_steiner_create(&o->out, &o->out_steiner, err);
    return status;
}

static void measure_in(oracle *o, const int64_t *price)
{
    banyan_closure_measure(&o->in, price);
    banyan_steiner_prepare(o->in_steiner, 1);
}

static void measure_out(oracle *o, const int64_t *price)
{
    banyan_closure_measure(&o->out, price);
    banyan_steiner_prepare(o->out_steiner, 0);
}

static int64_t in_tree(oracle *o, int root, banyan_trees *trees)
{
    return banyan_steiner_tree(o->in_steiner, o->in.index[root], trees);
}

static int64_t out_tree(oracle *o, int root, banyan_trees *trees)
{
    return banyan_steiner_tree(o->out_steiner, o->out.index[root], trees);
}

static void generator_fini(generator *g)
{
    oracle_fini(&g->oracle);
    banyan_lp_destroy(g->lp);
    banyan_free(g->now);
    banyan_free(g->best);
    banyan_free(g->mixed);
    banyan_free(g->tie);
    banyan_free(g->asked);
    banyan_free(g->row);
    banyan_free(g->value);
    banyan_free(g->in_cost);
    banyan_free(g->out_cost);
}

static banyan_status make_program(generator *g, banyan_error *err)
{
    int rows = g->stage_rows + g->oracle.root_count;
    double *lower = banyan_alloc((size_t)rows, sizeof *lower),
           *upper = banyan_alloc((size_t)rows, sizeof *upper);
    banyan_status status = lower && upper ? BANYAN_SUCCESS : banyan_fail_memory(err);

    if (!status) {
        for (int r = 0; r < rows; r++) {
            lower[r] = -1e300;
            upper[r] =
                r < g->stage_rows ? (double)g->graph->arcs[r % g->graph->arc_count].capacity / g->largest : 0;
        }
        status = banyan_lp_create(rows, lower, upper, &g->lp, err);
    }
    banyan_free(lower);
    banyan_free(upper);
    return status;
}

static banyan_status generator_init(generator *g, const banyan_graph *graph,
                                    const banyan_coupled_problem *problem, banyan_coupled *packing,
                                    banyan_error *err)
{
    size_t rows, nodes = (size_t)graph->node_count;
    banyan_status status;

    memset(g, 0, sizeof *g);
    g->graph = graph;
    g->problem = problem;
    g->packing = packing;
    g->stride = 1;
    g->stage_rows = problem->stages == BANYAN_STAGES_PIPELINED ? graph->arc_count : 2 * graph->arc_count;
    for (int i = 0; i < graph->arc_count; i++)
        if ((double)graph->arcs[i].capacity > g->largest)
            g->largest = (double)graph->arcs[i].capacity;
    rows = (size_t)g->stage_rows;
    g->now = banyan_alloc(rows, sizeof(double));
    g->best = banyan_alloc(rows, sizeof(double));
    g->mixed = banyan_alloc(rows, sizeof(double));
    g->tie = banyan_alloc(nodes, sizeof(double));
    g->asked = banyan_alloc(rows, sizeof(int64_t));
    g->row = banyan_alloc(rows + 1, sizeof(int));
    g->value = banyan_alloc(rows + 1, sizeof(double));
    g->in_cost = banyan_alloc(nodes, sizeof(double));
    g->out_cost = banyan_alloc(nodes, sizeof(double));
    packing->price = banyan_alloc(rows, sizeof(int64_t));
    if (!g->now || !g->best || !g->mixed || !g->tie || !g->asked || !g->row || !g->value || !g->in_cost ||
        !g->out_cost || !packing->price)
        return banyan_fail_memory(err);
    status = oracle_init(&g->oracle, graph, err);
    return status ? status : make_program(g, err);
}

/* Sum of the program's prices over the latest tree, in the rows that begin at base. */
static double cost_now(const generator *g, int base)
{
    const banyan_trees *trees = &g->packing->trees;
    double sum = 0;

    for (size_t a = banyan_trees_arcs_begin(trees, trees->tree_count - 1); a < trees->arc_count; a++)
        sum += g->now[base + trees->arcs[a]];
    return sum;
}

/* The latest tree becomes a column. */
static banyan_status add_column(generator *g, banyan_tree_kind kind, int root_index, banyan_error *err)
{
    banyan_coupled *p = g->packing;
    const banyan_trees *trees = &p->trees;
    size_t tree = trees->tree_count - 1;
    int count = 0, base = kind == BANYAN_TREE_OUT_LATER ? g->graph->arc_count : 0;

    if (trees->failed || !banyan_grow((void **)&p->kind, tree, &g->kind_capacity, sizeof *p->kind) ||
        !banyan_grow((void **)&p->root, tree, &g->meta_capacity, sizeof *p->root))
        return banyan_fail_memory(err);
    p->kind[tree] = kind;
    p->root[tree] = g->oracle.root[root_index];
    for (size_t a = banyan_trees_arcs_begin(trees, tree); a < trees->arc_count; a++) {
        int row = base + trees->arcs[a], i = 0;

        while (i < count && g->row[i] != row)
            i++;
        if (i == count) {
            g->row[count] = row;
            g->value[count++] = 0;
        }
        g->value[i]++;
    }
    g->row[count] = g->stage_rows + root_index;
    g->value[count++] = kind == BANYAN_TREE_IN ? 1 : -1;
    banyan_lp_add_column(g->lp, kind == BANYAN_TREE_IN, count, g->row, g->value);
    return BANYAN_SUCCESS;
}

/* Keeps the latest tree if it is worth more than it costs under the program's prices, else drops it. */
static banyan_status offer_column(generator *g, banyan_tree_kind kind, int root_index, int always, int *added,
                                  banyan_error *err)
{
    double cost = cost_now(g, kind == BANYAN_TREE_OUT_LATER ? g->graph->arc_count : 0);
    double worth = kind == BANYAN_TREE_IN ? 1 - g->tie[root_index] : g->tie[root_index];

    if (!always && ((root_index + g->packing->rounds) % g->stride || worth - cost <= 1e-9)) {
        banyan_trees_drop_last(&g->packing->trees);
        return BANYAN_SUCCESS;
    }
    ++*added;
    return add_column(g, kind, root_index, err);
}

static banyan_status all_in_trees(generator *g, int always, int *added, banyan_error *err)
{
    banyan_trees *trees = &g->packing->trees;
    banyan_status status = BANYAN_SUCCESS;

    measure_in(&g->oracle, g->asked);
    for (int i = 0; !status && i < g->oracle.root_count; i++) {
        int64_t cost = in_tree(&g->oracle, g->oracle.root[i], trees);

        g->in_cost[i] = cost < 0 ? HUGE_VAL : (double)cost;
        if (trees->failed)
            return banyan_fail_memory(err);
        if (cost >= 0)
            status = offer_column(g, BANYAN_TREE_IN, i, always, added, err);
    }
    return status;
}

static banyan_status all_out_trees(generator *g, banyan_tree_kind kind, int always, int *added,
                                   banyan_error *err)
{
    banyan_trees *trees = &g->packing->trees;
    banyan_status status = BANYAN_SUCCESS;

    measure_out(&g->oracle, g->asked + (kind == BANYAN_TREE_OUT_LATER ? g->graph->arc_count : 0));
    for (int i = 0; !status && i < g->oracle.root_count; i++) {
        int64_t cost = out_tree(&g->oracle, g->oracle.root[i], trees);

        if (cost >= 0 && (double)cost < g->out_cost[i])
            g->out_cost[i] = (double)cost;
        if (trees->failed)
            return banyan_fail_memory(err);
        if (cost >= 0)
            status = offer_column(g, kind, i, always, added, err);
    }
    return status;
}

static banyan_wide stage_value(const generator *g)
{
    banyan_wide sum = 0;

    for (int r = 0; r < g->stage_rows; r++)
        sum += (banyan_wide)g->graph->arcs[r % g->graph->arc_count].capacity * g->asked[r];
    return sum;
}

/* The bound that the prices just asked about prove; kept if it is the best. */
static void keep_bound(generator *g, int even_if_equal)
{
    banyan_coupled *p = g->packing;
    double least = HUGE_VAL, value = (double)stage_value(g), slack = even_if_equal ? 1e-9 : 0;

    for (int i = 0; i < g->oracle.root_count; i++)
        if (g->in_cost[i] + g->out_cost[i] < least)
            least = g->in_cost[i] + g->out_cost[i];
    if (!(least > 0) || least == HUGE_VAL || value / least >= p->bound_value * (1 + slack))
        return;
    p->bound_value = value / least;
    p->bound = banyan_fraction_make(stage_value(g), (banyan_wide)least);
    memcpy(p->price, g->asked, (size_t)g->stage_rows * sizeof(int64_t));
    memcpy(g->best, g->mixed, (size_t)g->stage_rows * sizeof(double));
}

/* All cheapest trees under the asked prices, as columns where they help. */
static banyan_status ask(generator *g, int always, int *added, banyan_error *err)
{
    banyan_status status;

    *added = 0;
    for (int i = 0; i < g->oracle.root_count; i++)
        g->out_cost[i] = HUGE_VAL;
    status = all_in_trees(g, always, added, err);
    if (!status && g->problem->stages != BANYAN_STAGES_SEQUENTIAL)
        status = all_out_trees(g, BANYAN_TREE_OUT, always, added, err);
    if (!status && g->problem->stages != BANYAN_STAGES_PIPELINED)
        status = all_out_trees(g, BANYAN_TREE_OUT_LATER, always, added, err);
    return status;
}

static banyan_status ask_mixed(generator *g, int always, int *added, banyan_error *err)
{
    double largest = 0;
    banyan_status status;

    for (int r = 0; r < g->stage_rows; r++)
        largest = g->mixed[r] > largest ? g->mixed[r] : largest;
    for (int r = 0; r < g->stage_rows; r++)
        g->asked[r] = (int64_t)nearbyint(g->mixed[r] / largest * PRICE_SCALE);
    status = ask(g, always, added, err);
    if (!status)
        keep_bound(g, 0);
    return status;
}

static banyan_status solve_program(generator *g, banyan_error *err)
{
    banyan_status status = banyan_lp_solve(g->lp, err);

    if (status)
        return status;
    g->packing->total = banyan_lp_objective(g->lp) * g->largest;
    for (int r = 0; r < g->stage_rows; r++) {
        double price = banyan_lp_price(g->lp, r);

        g->now[r] = price > 0 ? price : 0;
    }
    for (int i = 0; i < g->oracle.root_count; i++)
        g->tie[i] = banyan_lp_price(g->lp, g->stage_rows + i);
    g->packing->rounds++;
    return BANYAN_SUCCESS;
}

static int is_done(const generator *g)
{
    const banyan_coupled *p = g->packing;

    return p->bound_value - p->total <= g->problem->tolerance * p->bound_value ||
           (g->problem->good_enough > 0 && p->total >= g->problem->good_enough) ||
           p->rounds >= g->problem->round_limit;
}

static banyan_status improve(generator *g, int *added, banyan_error *err)
{
    double worth = 0, best_worth = 0;
    banyan_status status = BANYAN_SUCCESS;

    for (int r = 0; r < g->stage_rows; r++) {
        double capacity = (double)g->graph->arcs[r % g->graph->arc_count].capacity;

        worth += capacity * g->now[r];
        best_worth += capacity * g->best[r];
    }
    *added = 0;
    g->stride = g->oracle.root_count > MANY_ROOTS ? 1 + g->oracle.root_count / MANY_ROOTS : 1;
    for (double share = 0.5; !status && *added == 0; share = share > 0.2 ? share - 0.25 : 0) {
        for (int r = 0; r < g->stage_rows; r++)
            g->mixed[r] = share * g->best[r] / best_worth + (1 - share) * g->now[r] / worth;
        status = ask_mixed(g, 0, added, err);
        if (g->stride == 1 && (share == 0 || is_done(g)))
            break;
        if (share == 0)
            g->stride = 1;
    }
    return status;
}

/* Small whole prices, where the program's are such, give a short fraction. */
static banyan_status sharpen(generator *g, banyan_error *err)
{
    int added;
    banyan_status status;

    if (!banyan_fraction_small_integers(g->now, g->stage_rows, SMALL_DENOMINATOR, 1e-7, g->asked))
        return BANYAN_SUCCESS;
    memset(g->now, 0, (size_t)g->stage_rows * sizeof(double));
    for (int i = 0; i < g->oracle.root_count; i++)
        g->tie[i] = 0;
    for (int r = 0; r < g->stage_rows; r++)
        g->now[r] = 1; /* no tree is worth that: nothing becomes a column */
    status = ask(g, 0, &added, err);
    if (!status)
        keep_bound(g, 1);
    return status;
}

static banyan_status take_weights(generator *g, banyan_error *err)
{
    banyan_coupled *p = g->packing;
    const double *values = banyan_lp_values(g->lp);

    p->weight = banyan_alloc(p->trees.tree_count, sizeof(double));
    if (!p->weight)
        return banyan_fail_memory(err);
    for (size_t t = 0; t < p->trees.tree_count; t++)
        p->weight[t] = values[t] > 0 ? values[t] * g->largest : 0;
    p->proven =
        banyan_steiner_is_exact(g->oracle.in_steiner) && banyan_steiner_is_exact(g->oracle.out_steiner);
    return BANYAN_SUCCESS;
}

banyan_status banyan_coupled_by_columns(const banyan_graph *graph, const banyan_coupled_problem *problem,
                                        banyan_coupled *out, banyan_error *err)
{
    generator g;
    banyan_status status;
    int added = 1;

    memset(out, 0, sizeof *out);
    out->bound_value = HUGE_VAL;
    status = generator_init(&g, graph, problem, out, err);
    if (!status) {
        for (int r = 0; r < g.stage_rows; r++)
            g.mixed[r] = g.largest / (double)graph->arcs[r % graph->arc_count].capacity;
        status = ask_mixed(&g, 1, &added, err);
    }
    if (!status && out->bound_value == HUGE_VAL)
        status = banyan_fail(err, BANYAN_INVALID_ARGUMENT, "the active workers are not all connected");
    if (!status)
        status = solve_program(&g, err);
    while (!status && added && !is_done(&g)) {
        status = improve(&g, &added, err);
        if (!status)
            status = solve_program(&g, err);
    }
    if (!status)
        status = take_weights(&g, err);
    if (!status)
        status = sharpen(&g, err);
    generator_fini(&g);
    if (status)
        banyan_coupled_fini(out);
    return status;
}

/* Trees that are deeper than wanted give way to pairs of shallow ones. */
static banyan_status keep_to_depth(const banyan_graph *graph, int limit, banyan_coupled *packing,
                                   banyan_error *err)
{
    int deeper;
    banyan_status status = banyan_shallow_find_deeper(graph, packing, limit, &deeper, err);

    if (!status && deeper)
        status = banyan_shallow_pairs(graph, limit, packing->bound_value, packing, err);
    return status;
}

banyan_status banyan_coupled_solve(const banyan_graph *graph, const banyan_coupled_problem *problem,
                                   banyan_coupled *out, banyan_error *err)
{
    banyan_status status;

    if (problem->stages == BANYAN_STAGES_PIPELINED && !banyan_graph_has_helpers(graph))
        return banyan_coupled_by_cuts(graph, problem, out, err);
    status = banyan_coupled_by_columns(graph, problem, out, err);
    if (!status && problem->depth_limit && problem->stages == BANYAN_STAGES_PIPELINED) {
        status = keep_to_depth(graph, problem->depth_limit, out, err);
        if (status)
            banyan_coupled_fini(out);
    }
    return status;
}

void banyan_coupled_fini(banyan_coupled *packing)
{
    banyan_trees_fini(&packing->trees);
    banyan_free(packing->kind);
    banyan_free(packing->root);
    banyan_free(packing->weight);
    banyan_free(packing->price);
    memset(packing, 0, sizeof *packing);
}

void banyan_coupled_replace(banyan_coupled *packing, banyan_tree_kind *kind, int *root, double *weight,
                            banyan_trees *trees)
{
    banyan_free(packing->kind);
    banyan_free(packing->root);
    banyan_free(packing->weight);
    banyan_trees_fini(&packing->trees);
    packing->kind = kind;
    packing->root = root;
    packing->weight = weight;
    packing->trees = *trees;
    banyan_trees_init(trees);
    packing->total = 0;
    for (size_t t = 0; t < packing->trees.tree_count; t++)
        packing->total += kind[t] == BANYAN_TREE_OUT ? weight[t] : 0;
}

/* Prices are alike both ways. Then a tree costs the same from whichever of its nodes it is rooted, and as every
 * tree holds all active nodes, one of these is as good a root as any node. */
static int roots_are_alike(const banyan_graph *graph, const int64_t *price)
{
    for (int i = 0; i < graph->arc_count; i++)
        if (graph->arcs[i].twin < 0 || price[i] != price[graph->arcs[i].twin])
            return 0;
    return 1;
}

banyan_status banyan_coupled_check(const banyan_graph *graph, const int64_t *price, banyan_wide *num,
                                   banyan_wide *den, int *proven, banyan_error *err)
{
    oracle o;
    int found = 0;
    banyan_status status = oracle_init(&o, graph, err);

    *num = *den = 0;
    if (!status) {
        measure_in(&o, price);
        measure_out(&o, price);
        if (roots_are_alike(graph, price)) {
            o.root[0] = graph->active[0];
            o.root_count = 1;
        }
        for (int i = 0; i < o.root_count; i++) {
            int64_t in = in_tree(&o, o.root[i], NULL), out = out_tree(&o, o.root[i], NULL);

            if (in >= 0 && out >= 0 && (!found || (banyan_wide)in + out < *den)) {
                *den =
                    (banyan_wide)in + out; /* may be 0: then nothing is proven, whatever other roots cost */
                found = 1;
            }
        }
        for (int i = 0; i < graph->arc_count; i++)
            *num += (banyan_wide)graph->arcs[i].capacity * price[i];
        *proven = banyan_steiner_is_exact(o.in_steiner) && banyan_steiner_is_exact(o.out_steiner);
    }
    oracle_fini(&o);
    return status;
}

/* Out-trees run in the second stage, or in either where stages overlap: the cheaper one counts. */
static void least_of_stages(oracle *o, banyan_stages stages, const int64_t *price, int64_t *out_cost,
                            banyan_wide *least, int *found)
{
    for (int i = 0; i < o->root_count; i++)
        out_cost[i] = -1;
    for (int later = stages == BANYAN_STAGES_SEQUENTIAL; later < 2; later++) {
        measure_out(o, price + (later ? o->graph->arc_count : 0));
        for (int i = 0; i < o->root_count; i++) {
            int64_t cost = out_tree(o, o->root[i], NULL);

            out_cost[i] = cost >= 0 && (out_cost[i] < 0 || cost < out_cost[i]) ? cost : out_cost[i];
        }
    }
    measure_in(o, price);
    for (int i = 0; i < o->root_count; i++) {
        int64_t in = in_tree(o, o->root[i], NULL);

        if (in < 0 || out_cost[i] < 0 || (*found && (banyan_wide)in + out_cost[i] >= *least))
            continue;
        *least = (banyan_wide)in + out_cost[i];
        *found = 1;
    }
}

banyan_status banyan_coupled_check_stages(const banyan_graph *graph, banyan_stages stages,
                                          const int64_t *price, banyan_wide *num, banyan_wide *den,
                                          int *proven, banyan_error *err)
{
    oracle o = {0};
    int found = 0;
    int64_t *out_cost;
    banyan_status status;

    if (stages == BANYAN_STAGES_PIPELINED)
        return banyan_coupled_check(graph, price, num, den, proven, err);
    *num = *den = 0;
    out_cost = banyan_alloc((size_t)graph->node_count, sizeof *out_cost);
    status = out_cost ? oracle_init(&o, graph, err) : banyan_fail_memory(err);
    if (!status) {
        least_of_stages(&o, stages, price, out_cost, den, &found);
        for (int r = 0; r < 2 * graph->arc_count; r++)
            *num += (banyan_wide)graph->arcs[r % graph->arc_count].capacity * price[r];
        *proven = banyan_steiner_is_exact(o.in_steiner) && banyan_steiner_is_exact(o.out_steiner);
    }
    oracle_fini(&o);
    banyan_free(out_cost);
    return status;
}
