/* SPDX-License-Identifier: Apache-2.0 */
/* solve/pack/pair_columns.c: column generation with two kinds of columns, in-trees and out-trees, tied
 * together by one row a root (out-trees there must weigh as much as in-trees). The row's price splits the
 * worth of 1 between the two kinds. The linear program over the trees known so far gives prices; the cheapest
 * trees under them are the next columns, and also a proof of how far we can still be from the optimum.
 *
 * The oracle is asked not at the program's prices, which jump, but between them and the best prices so far
 * (in-out smoothing, Ben-Ameur and Neto 2007): that keeps the number of rounds small. Prices are integers
 * before the oracle sees them, so every bound is exact whatever the program's rounding was. */
#include "solve/pack/pair_columns.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/scratch.h"
#include "solve/cut/split.h"
#include "solve/net/effort.h"
#include "solve/net/lp.h"
#include "solve/net/tolerance.h"
#include "solve/net/work.h"
#include "solve/oracle/pair_oracle.h"

#define FIRST_PAIRS 24     /* pairs of trees that a split begins with, whatever the number of arcs */
#define ARCS_A_PAIR 2      /* arcs for which it begins with one pair more */
#define TOGETHER 3         /* pairs that are found under the same prices */
#define PROOF 0.5          /* share of the split's prices in these pairs' prices */
#define STEEP 12           /* doublings of the price between an empty arc and a full one */
#define LEARNED_SHARE 0.5  /* weight of the program's own prices beside those */
#define TURNS 5            /* times that pairs are added, each with the prices of the program so far */
#define QUICK_SHARE 0.25   /* share of the best prices where trees are asked for quickly */
#define TARGET_SHARE 0.995 /* share of the bound that will do where trees are not the cheapest */
#define MAX_ROUNDS 16      /* programs that are solved at most where trees are not the cheapest */
/* sets of helpers times roots up to which the cheapest trees are found in little time */
#define MAX_SETS 2048
#define MAX_ROOTS 12 /* roots per round; others take turns with them, so that the program grows slowly */

typedef struct {
    const banyan_graph *graph;
    const banyan_pair_packing_problem *problem;
    banyan_pair_packing *packing;
    banyan_pair_oracle oracle;
    banyan_lp *lp;
    int is_divided; /* prices and bound come from a division */
    /* the last trees have not improved the program: mostly it is at its end, and its own prices show it */
    int is_still;
    int stage_rows; /* arc_count, or twice that */
    int stride;     /* only every such root's trees become columns in one round, in turn */
    banyan_work begun;
    size_t meta_capacity, kind_capacity;
    double largest;             /* capacity */
    double *now, *best, *mixed; /* prices per stage row */
    double *tie;                /* price per root row */
    int64_t *asked;
    int *row;
    double *value;
    double *in_cost, *out_cost; /* per root: of the last trees, under the asked prices */
    banyan_scratch memory;
} generator;

static void generator_fini(generator *g)
{
    banyan_pair_oracle_fini(&g->oracle);
    banyan_lp_destroy(g->lp);
    banyan_scratch_free(&g->memory);
}

static banyan_status make_program(generator *g, banyan_error *err)
{
    int rows = g->stage_rows + g->oracle.root_count;
    double *upper = banyan_alloc((size_t)rows, sizeof *upper);
    banyan_status status = upper ? BANYAN_SUCCESS : banyan_fail_memory(err);

    for (int r = 0; !status && r < g->stage_rows; r++)
        upper[r] = (double)g->graph->arcs[r % g->graph->arc_count].capacity / g->largest;
    if (!status)
        status = banyan_lp_create(rows, NULL, upper, &g->lp, err);
    banyan_free(upper);
    return status;
}

static banyan_status generator_init(generator *g, const banyan_graph *graph,
                                    const banyan_pair_packing_problem *problem, banyan_pair_packing *packing,
                                    banyan_error *err)
{
    size_t rows, nodes = (size_t)graph->node_count;
    banyan_status status;

    memset(g, 0, sizeof *g);
    g->begun = banyan_work_now();
    g->graph = graph;
    g->problem = problem;
    g->packing = packing;
    g->stride = 1;
    g->stage_rows = problem->stages == BANYAN_STAGES_PIPELINED ? graph->arc_count : 2 * graph->arc_count;
    for (int i = 0; i < graph->arc_count; i++)
        if ((double)graph->arcs[i].capacity > g->largest)
            g->largest = (double)graph->arcs[i].capacity;
    rows = (size_t)g->stage_rows;
    g->now = banyan_scratch_take(&g->memory, rows, sizeof(double));
    g->best = banyan_scratch_take(&g->memory, rows, sizeof(double));
    g->mixed = banyan_scratch_take(&g->memory, rows, sizeof(double));
    g->tie = banyan_scratch_take(&g->memory, nodes, sizeof(double));
    g->asked = banyan_scratch_take(&g->memory, rows, sizeof(int64_t));
    g->row = banyan_scratch_take(&g->memory, rows + 1, sizeof(int));
    g->value = banyan_scratch_take(&g->memory, rows + 1, sizeof(double));
    g->in_cost = banyan_scratch_take(&g->memory, nodes, sizeof(double));
    g->out_cost = banyan_scratch_take(&g->memory, nodes, sizeof(double));
    packing->price = banyan_alloc(rows, sizeof(int64_t));
    if (g->memory.failed || !packing->price)
        return banyan_fail_memory(err);
    status = banyan_pair_oracle_init(&g->oracle, graph, err);
    if (!status && problem->kinds == BANYAN_KINDS_MIRRORED) {
        g->oracle.root[0] = graph->active[0];
        g->oracle.root_count = 1;
    }
    if (!status && problem->search_effort > 0)
        status = banyan_pair_oracle_allow_search(&g->oracle, problem->search_effort, err);
    return status ? status : make_program(g, err);
}

static int is_spent(const generator *g)
{
    return g->problem->visit_limit && banyan_work_since(&g->begun).visits > g->problem->visit_limit;
}

/* The row of an arc, behind base: one for both directions of a cable, where trees serve both ways. */
static int row_of(const generator *g, int base, int arc)
{
    return base + (g->problem->kinds == BANYAN_KINDS_MIRRORED ? banyan_graph_cable(g->graph, arc) : arc);
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
    banyan_pair_packing *p = g->packing;
    const banyan_trees *trees = &p->trees;
    size_t tree = trees->tree_count - 1;
    int count = 0, base = kind == BANYAN_TREE_OUT_LATER ? g->graph->arc_count : 0;

    if (trees->failed || !banyan_grow((void **)&p->kind, tree, &g->kind_capacity, sizeof *p->kind) ||
        !banyan_grow((void **)&p->root, tree, &g->meta_capacity, sizeof *p->root))
        return banyan_fail_memory(err);
    p->kind[tree] = kind;
    p->root[tree] = g->oracle.root[root_index];
    for (size_t a = banyan_trees_arcs_begin(trees, tree); a < trees->arc_count; a++) {
        int row = row_of(g, base, trees->arcs[a]), i = 0;

        while (i < count && g->row[i] != row)
            i++;
        if (i == count) {
            g->row[count] = row;
            g->value[count++] = 0;
        }
        g->value[i]++;
    }
    if (g->problem->kinds == BANYAN_KINDS_BOTH) {
        g->row[count] = g->stage_rows + root_index;
        g->value[count++] = kind == BANYAN_TREE_IN ? 1 : -1;
    }
    banyan_lp_add_column(g->lp, kind == BANYAN_TREE_IN || g->problem->kinds == BANYAN_KINDS_OUT, count,
                         g->row, g->value);
    return BANYAN_SUCCESS;
}

static int is_in_turn(const generator *g, int root_index)
{
    return (root_index + g->packing->rounds) % g->stride == 0;
}

/* The latest tree, of this root and kind, has been a column before. The program's prices are off by its
 * tolerance, so it may look worth another, again and again. */
static int is_known(const generator *g, banyan_tree_kind kind, int root)
{
    const banyan_pair_packing *p = g->packing;
    size_t latest = p->trees.tree_count - 1, t = 0;

    while (t < latest &&
           !(p->root[t] == root && p->kind[t] == kind && banyan_trees_are_same(&p->trees, t, latest)))
        t++;
    return t < latest;
}

/* Keeps the latest tree if it is worth more than it costs under the program's prices, else drops it. */
static banyan_status offer_column(generator *g, banyan_tree_kind kind, int root_index, int always, int *added,
                                  banyan_error *err)
{
    double cost = cost_now(g, kind == BANYAN_TREE_OUT_LATER ? g->graph->arc_count : 0);
    double worth = kind == BANYAN_TREE_IN ? 1 - g->tie[root_index] : g->tie[root_index];

    if (!always && (!is_in_turn(g, root_index) || worth - cost <= 1e-9 ||
                    is_known(g, kind, g->oracle.root[root_index]))) {
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

    banyan_pair_packing_measure_in(&g->oracle, g->asked);
    for (int i = 0; !status && i < g->oracle.root_count; i++) {
        int64_t cost;

        if (g->oracle.quick && !is_in_turn(g, i)) /* it would prove nothing, either */
            continue;
        cost = banyan_pair_packing_in_tree(&g->oracle, g->oracle.root[i], trees);

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

    banyan_pair_packing_measure_out(&g->oracle,
                                    g->asked + (kind == BANYAN_TREE_OUT_LATER ? g->graph->arc_count : 0));
    for (int i = 0; !status && i < g->oracle.root_count; i++) {
        int64_t cost;

        if (g->oracle.quick && !is_in_turn(g, i))
            continue;
        cost = banyan_pair_packing_out_tree(&g->oracle, g->oracle.root[i], trees);

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

/* The bound that the prices just asked about prove; kept if it is the best. Where there is one by cuts, trees
 * that are merely cheap do not prove a better one. */
static void keep_bound(generator *g, int even_if_equal)
{
    banyan_pair_packing *p = g->packing;
    double least = HUGE_VAL, value = (double)stage_value(g), slack = even_if_equal ? 1e-9 : 0;

    if (g->is_divided && !banyan_pair_oracle_is_exact(&g->oracle))
        return;

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
    for (int i = 0; i < g->oracle.root_count; i++) {
        g->in_cost[i] = 0;
        g->out_cost[i] = HUGE_VAL;
    }
    status = g->problem->kinds == BANYAN_KINDS_OUT ? BANYAN_SUCCESS : all_in_trees(g, always, added, err);
    if (g->problem->kinds == BANYAN_KINDS_MIRRORED)
        g->out_cost[0] = g->in_cost[0];
    else if (!status && g->problem->stages != BANYAN_STAGES_SEQUENTIAL)
        status = all_out_trees(g, BANYAN_TREE_OUT, always, added, err);
    if (!status && g->problem->stages != BANYAN_STAGES_PIPELINED)
        status = all_out_trees(g, BANYAN_TREE_OUT_LATER, always, added, err);
    return status;
}

static banyan_status ask_mixed(generator *g, int always, int *added, banyan_error *err)
{
    banyan_status status;

    banyan_fraction_scaled_prices(g->mixed, g->stage_rows, g->asked);
    status = ask(g, always, added, err);
    if (!status && !g->oracle.quick)
        keep_bound(g, 0);
    return status;
}

static banyan_status solve_program(generator *g, banyan_error *err)
{
    int64_t left = g->problem->visit_limit - banyan_work_since(&g->begun).visits;
    double before = g->packing->total;
    banyan_status status;

    if (g->problem->visit_limit)
        banyan_lp_limit(g->lp, left > 1 ? left : 1);
    status = banyan_lp_solve(g->lp, err);
    if (status)
        return status;
    g->packing->total = banyan_lp_objective(g->lp) * g->largest;
    g->is_still = g->packing->total <= before * (1 + BANYAN_NEARLY_SAME);
    for (int r = 0; r < g->stage_rows; r++) {
        double price = banyan_lp_price(g->lp, row_of(g, 0, r));

        g->now[r] = price > 0 ? price : 0;
    }
    for (int i = 0; i < g->oracle.root_count; i++)
        g->tie[i] = g->problem->kinds == BANYAN_KINDS_OUT ? 1 : banyan_lp_price(g->lp, g->stage_rows + i);
    g->packing->rounds++;
    return BANYAN_SUCCESS;
}

static int is_done(const generator *g)
{
    const banyan_pair_packing *p = g->packing;

    return p->bound_value - p->total <= g->problem->tolerance * p->bound_value ||
           (g->problem->good_enough > 0 && p->total >= g->problem->good_enough) ||
           p->rounds >= g->problem->round_limit;
}

/* Prices between the best ones and the program's. */
static void mix(generator *g, double share)
{
    double worth = 0, best_worth = 0;

    for (int r = 0; r < g->stage_rows; r++) {
        double capacity = (double)g->graph->arcs[r % g->graph->arc_count].capacity;

        worth += capacity * g->now[r];
        best_worth += capacity * g->best[r];
    }
    for (int r = 0; r < g->stage_rows; r++)
        g->mixed[r] = share * g->best[r] / best_worth + (1 - share) * g->now[r] / worth;
}

/* Cheap trees, where these are found much sooner than the cheapest, as long as they improve the program. */
static banyan_status improve_quickly(generator *g, double share, int *added, banyan_error *err)
{
    banyan_status status;

    g->oracle.quick = g->oracle.careful = 1;
    mix(g, share);
    status = ask_mixed(g, 0, added, err);
    g->oracle.quick = 0;
    return status;
}

/* The cheapest trees can be found; where few trees are wanted, only if that does not take long. */
static int has_cheapest(const generator *g)
{
    int helpers = g->oracle.out.count - g->graph->active_count;

    if (!banyan_pair_oracle_is_exact(&g->oracle))
        return 0;
    return g->problem->tree_limit == 0 || g->problem->tree_limit > BANYAN_FEW_TREES ||
           g->graph->active_count <= BANYAN_STEINER_TERMINALS || g->oracle.root_count <= MAX_SETS >> helpers;
}

static banyan_status improve(generator *g, int *added, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    *added = 0;
    g->stride = g->oracle.root_count > MAX_ROOTS ? 1 + g->oracle.root_count / MAX_ROOTS : 1;
    if (banyan_pair_oracle_is_slow(&g->oracle))
        status = improve_quickly(g, QUICK_SHARE, added, err);
    if (g->is_divided && !has_cheapest(g)) /* there are no others, and they prove nothing */
        return status || *added ? status : improve_quickly(g, 0, added, err);
    for (double share = g->is_still ? 0 : 0.5; !status && *added == 0;
         share = share > 0.2 ? share - 0.25 : 0) {
        mix(g, share);
        status = ask_mixed(g, 0, added, err);
        if (is_done(g) || (g->stride == 1 && share == 0))
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

    if (!banyan_fraction_small_prices(g->now, g->stage_rows, g->asked))
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
    banyan_pair_packing *p = g->packing;
    const double *values = banyan_lp_values(g->lp);

    p->weight = banyan_alloc(p->trees.tree_count, sizeof(double));
    if (!p->weight)
        return banyan_fail_memory(err);
    for (size_t t = 0; t < p->trees.tree_count; t++)
        p->weight[t] = values[t] > 0 ? values[t] * g->largest : 0;
    p->proven = g->is_divided || banyan_pair_oracle_is_exact(&g->oracle);
    return BANYAN_SUCCESS;
}

/* The division's prices, and the more expensive the fuller an arc is. */
static void price_loads(generator *g, const banyan_split *division, const double *load)
{
    double worth = 0, loaded = 0, learned = 0, fullest = 1e-12;
    int arcs = g->graph->arc_count;

    for (int i = 0; i < arcs; i++) {
        worth += (double)division->price[i] * (double)g->graph->arcs[i].capacity;
        fullest = fmax(fullest, load[i]);
    }
    for (int i = 0; i < arcs; i++)
        loaded += exp2(STEEP * (load[i] / fullest - 1));
    for (int i = 0; i < arcs; i++) {
        learned += (double)g->graph->arcs[i].capacity * g->now[i];
    }
    for (int i = 0; i < arcs; i++) {
        double full = exp2(STEEP * (load[i] / fullest - 1)) / (double)g->graph->arcs[i].capacity;

        g->mixed[i] = PROOF * (double)division->price[i] / worth + (1 - PROOF) * full / loaded +
                      (learned > 0 ? LEARNED_SHARE * g->now[i] / learned : 0);
    }
    banyan_fraction_scaled_prices(g->mixed, arcs, g->asked);
    banyan_pair_packing_measure_in(&g->oracle, g->asked);
    banyan_pair_packing_measure_out(&g->oracle, g->asked);
}

/* The root that lags behind its part the most, after that many pairs. */
static int next_root(generator *g, const banyan_split *division, int pairs)
{
    int best = 0;

    for (int i = 0; i < g->oracle.root_count; i++) {
        g->in_cost[i] = division->root[g->oracle.root[i]] / division->total * (pairs + 1) - g->out_cost[i];
        best = g->in_cost[i] > g->in_cost[best] ? i : best;
    }
    g->out_cost[best]++;
    return best;
}

static banyan_status add_loaded(generator *g, banyan_tree_kind kind, int root_index, double *load,
                                banyan_error *err)
{
    banyan_trees *trees = &g->packing->trees;
    int root = g->oracle.root[root_index];
    int64_t cost = kind == BANYAN_TREE_IN ? banyan_pair_packing_in_tree(&g->oracle, root, trees)
                                          : banyan_pair_packing_out_tree(&g->oracle, root, trees);

    if (cost < 0)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "the active workers are not all connected");
    if (trees->failed)
        return banyan_fail_memory(err);
    for (size_t a = banyan_trees_arcs_begin(trees, trees->tree_count - 1); a < trees->arc_count; a++) {
        const banyan_arc *arc = &g->graph->arcs[trees->arcs[a]];

        load[trees->arcs[a]] += g->largest / (double)arc->capacity;
        if (g->problem->kinds == BANYAN_KINDS_MIRRORED)
            load[arc->twin] += g->largest / (double)arc->capacity;
    }
    return add_column(g, kind, root_index, err);
}

/* Pairs of trees from the roots of the division, each under its prices, and avoiding what those before it
 * use. */
static banyan_status add_pairs(generator *g, const banyan_split *division, int first, int count, double *load,
                               banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    for (int k = first; !status && k < first + count; k++) {
        int root = next_root(g, division, k);

        if ((k - first) % TOGETHER == 0)
            price_loads(g, division, load);
        status = add_loaded(g, BANYAN_TREE_IN, root, load, err);
        if (!status && g->problem->kinds == BANYAN_KINDS_BOTH)
            status = add_loaded(g, BANYAN_TREE_OUT, root, load, err);
    }
    return status;
}

/* Where pairs fall short, the program's prices are followed as well for some more, and again. */
static banyan_status follow(generator *g, const banyan_split *division, banyan_error *err)
{
    double *load = banyan_alloc((size_t)g->graph->arc_count, sizeof *load);
    banyan_status status = load ? BANYAN_SUCCESS : banyan_fail_memory(err);
    int first = 0, count = FIRST_PAIRS + g->graph->arc_count / ARCS_A_PAIR;

    for (int i = 0; i < g->graph->arc_count; i++) {
        g->packing->price[i] = division->price[i];
        g->best[i] = (double)division->price[i];
    }
    g->packing->bound = banyan_fraction_make(banyan_graph_worth(g->graph, division->price), division->cost);
    g->packing->bound_value = division->bound_value;
    g->is_divided = 1;
    for (int i = 0; i < g->oracle.root_count; i++)
        g->out_cost[i] = 0; /* pairs so far, here */
    g->oracle.quick = banyan_pair_oracle_is_slow(&g->oracle);
    for (int turn = 0; !status && turn < TURNS && g->packing->rounds < g->problem->round_limit &&
                       g->packing->total < (1 - g->problem->tolerance) * division->bound_value;
         turn++) {
        if (g->is_still || is_spent(g))
            break;
        g->oracle.careful = turn > 0;
        status = add_pairs(g, division, first, count, load, err);
        first += count;
        if (!status)
            status = solve_program(g, err);
    }
    g->oracle.quick = 0;
    banyan_free(load);
    return status;
}

static banyan_status begin(generator *g, const banyan_split *division, banyan_error *err)
{
    banyan_status status;
    int added;

    if (division)
        return follow(g, division, err);
    for (int r = 0; r < g->stage_rows; r++)
        g->mixed[r] = g->largest / (double)g->graph->arcs[r % g->graph->arc_count].capacity;
    status = ask_mixed(g, 1, &added, err);
    if (!status && g->packing->bound_value == HUGE_VAL)
        status = banyan_fail(err, BANYAN_INVALID_ARGUMENT, "the active workers are not all connected");
    return status ? status : solve_program(g, err);
}

/* Trees that are not the cheapest bring little in the end: what is nearly at the bound by cuts has to do, or,
 * after some rounds, what there is. */
static int is_enough(const generator *g)
{
    return g->is_divided && !has_cheapest(g) &&
           (g->packing->total >= TARGET_SHARE * g->packing->bound_value || g->packing->rounds >= MAX_ROUNDS);
}

banyan_status banyan_pair_packing_by_columns(const banyan_graph *graph,
                                             const banyan_pair_packing_problem *problem,
                                             const banyan_split *division, banyan_pair_packing *out,
                                             banyan_error *err)
{
    generator g;
    banyan_status status;
    int added = 1;

    memset(out, 0, sizeof *out);
    out->bound_value = HUGE_VAL;
    status = generator_init(&g, graph, problem, out, err);
    if (!status)
        status = begin(&g, division, err);
    while (!status && added && !is_done(&g) && !is_enough(&g) && !is_spent(&g)) {
        status = improve(&g, &added, err);
        if (!status)
            status = solve_program(&g, err);
    }
    if (!status)
        status = take_weights(&g, err);
    if (!status && !(division && out->bound_value >= division->bound_value))
        status = sharpen(&g, err);
    generator_fini(&g);
    if (status)
        banyan_pair_packing_fini(out);
    return status;
}

void banyan_pair_packing_fini(banyan_pair_packing *packing)
{
    banyan_trees_fini(&packing->trees);
    banyan_free(packing->kind);
    banyan_free(packing->root);
    banyan_free(packing->weight);
    banyan_free(packing->price);
    memset(packing, 0, sizeof *packing);
}

void banyan_pair_packing_replace(banyan_pair_packing *packing, banyan_tree_kind *kind, int *root,
                                 double *weight, banyan_trees *trees)
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
