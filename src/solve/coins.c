/* SPDX-License-Identifier: Apache-2.0 */
/* solve/coins.c: a cable's share of all trees, made up as a sum of money is of coins.
 *
 *     cable   11 = 8   + 2 + 1        Trees of one weight fill a cable only to the next whole unit below its share. With
 *             13 = 8+4     + 1        halves, quarters, ... of that unit every share can be had to the finest of these; and
 *              6 =   4 + 2            a further half costs few trees: those that use every second cable once.
 *
 * All trees together weigh Q quanta, at a rate that is enough; a cable's share is its capacity in quanta of that rate. On
 * the cables with a price half a quantum is lost each, in the mean: the h trees that they could have borne. So h / Q is the
 * loss, each finer weight takes about h trees, and these three numbers choose the heaviest weight. From it on, as many
 * trees as there can be are placed in what whole times of their weight fits into cables (solve/place.h); trees
 * that do not fit there are left to finer weights. Cost: that of the placing. */
#include "solve/coins.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "solve/coin-weights.h"
#include "solve/loads.h"
#include "solve/place.h"
#include "solve/strength.h"

#define CHOICE 1.05 /* places for each tree are enough of a choice; where it is less, */
#define FEWER 4     /* trees of a weight: one of them may be left to the next */
#define TRIES 3     /* to place trees of a weight so that there is room for the rest */
#define QUANTUM_PARTS 256.0

typedef struct {
    const banyan_graph *graph;
    const banyan_units_problem *problem;
    double *left, *room; /* per arc: quanta of its share that are left; whole times of the weight at hand */
    double *ones;        /* weights of trees that are placed */
    int64_t *price;      /* per arc: the bound's, and those of partitions that were short of room */
    banyan_loads *loads; /* NULL: there are switches */
    int64_t *whole;      /* per arc: what is left, in parts of a quantum */
    int *part;           /* per node */
    double tree_cost;    /* of a cheapest tree, by the prices */
    double half;         /* trees that half a quantum on each cable with a price could bear */
    banyan_coin_weights weights;
    double rest; /* quanta that are not placed yet */
    banyan_trees *trees;
    double *weight; /* per tree, in quanta */
} purse;

static void purse_fini(purse *p)
{
    banyan_free(p->left);
    banyan_free(p->room);
    banyan_free(p->ones);
    banyan_free(p->price);
    banyan_loads_destroy(p->loads);
    banyan_free(p->whole);
    banyan_free(p->part);
    banyan_free(p->weight);
}

static banyan_status purse_init(purse *p, banyan_error *err)
{
    const banyan_graph *graph = p->graph;
    size_t arcs = (size_t)graph->arc_count, trees = (size_t)p->problem->tree_limit;
    double worth = 0, prices = 0;

    p->left = banyan_alloc(arcs, sizeof(double));
    p->room = banyan_alloc(arcs, sizeof(double));
    p->ones = banyan_alloc(trees, sizeof(double));
    p->weight = banyan_alloc(trees, sizeof(double));
    p->price = banyan_alloc(arcs, sizeof *p->price);
    p->whole = banyan_alloc(arcs, sizeof *p->whole);
    p->part = banyan_alloc((size_t)graph->node_count, sizeof *p->part);
    if (!p->left || !p->room || !p->ones || !p->weight || !p->price || !p->whole || !p->part)
        return banyan_fail_memory(err);
    memcpy(p->price, p->problem->price, arcs * sizeof *p->price);
    for (size_t i = 0; i < arcs; i++) {
        worth += (double)graph->arcs[i].capacity * (double)p->problem->price[i];
        prices += (double)p->problem->price[i];
    }
    p->tree_cost = worth / p->problem->bound; /* both arcs of a cable counted, here and below */
    p->half = 0.5 * prices / p->tree_cost;
    p->weights = banyan_coin_weights_choose(p->half, 1 - p->problem->enough, p->problem->tree_limit);
    p->rest = p->weights.quanta;
    for (size_t i = 0; i < arcs; i++)
        p->left[i] =
            (double)graph->arcs[i].capacity * p->weights.quanta / (p->problem->bound * p->problem->enough);
    for (size_t t = 0; t < trees; t++)
        p->ones[t] = 1;
    return banyan_graph_all_active(graph) ? banyan_loads_create(graph, &p->loads, err) : BANYAN_SUCCESS;
}

/* Trees of one weight, placed together, of which some may have gone again. */
typedef struct {
    banyan_trees trees;
    unsigned char *gone;
    double weight;
    int count; /* that have not */
} lot;

static void count_tree(const banyan_graph *graph, const banyan_trees *trees, size_t t, double *left,
                       double weight)
{
    for (size_t a = banyan_trees_arcs_begin(trees, t); a < banyan_trees_arcs_close(trees, t); a++) {
        left[trees->arcs[a]] -= weight;
        left[graph->arcs[trees->arcs[a]].twin] -= weight;
    }
}

/* The tree is no longer of the lot. */
static void drop(purse *p, lot *l, size_t t)
{
    l->gone[t] = 1;
    l->count--;
    count_tree(p->graph, &l->trees, t, p->left, -l->weight);
}

/* What the tree bears too much of; what is left of cables may be below 0. */
static double too_much(const purse *p, const banyan_trees *trees, size_t t)
{
    double sum = 0;

    for (size_t a = banyan_trees_arcs_begin(trees, t); a < banyan_trees_arcs_close(trees, t); a++)
        sum += fmax(0, -1e-6 - p->left[trees->arcs[a]]);
    return sum;
}

/* While some cable bears too much, the tree goes that has most of that. */
static void drop_unfit(purse *p, lot *l)
{
    for (;;) {
        size_t worst = l->trees.tree_count;
        double most = 0;

        for (size_t t = 0; t < l->trees.tree_count; t++) {
            double much = l->gone[t] ? 0 : too_much(p, &l->trees, t);

            if (much > most) {
                most = much;
                worst = t;
            }
        }
        if (most <= 0)
            return;
        drop(p, l, worst);
    }
}

/* The worker whose cables have the least left, less rest: each tree needs one of them. */
static double worst_worker(purse *p, double rest)
{
    const banyan_graph *graph = p->graph;
    double least = HUGE_VAL;
    int worst = 0;

    for (int i = 0; i < graph->active_count; i++) {
        int v = graph->active[i];
        double left = -rest;

        for (int j = graph->out_first[v]; j < graph->out_first[v + 1]; j++)
            left += p->left[graph->out_arc[j]];
        if (left < least) {
            least = left;
            worst = v;
        }
    }
    for (int v = 0; v < graph->node_count; v++)
        p->part[v] = v == worst ? v : worst ? 0 : 1;
    return least;
}

/* Whether what is left of cables cannot bear the rest: then p->part is the partition that has the least. With switches
 * only single workers are looked at. */
static int is_short(purse *p, const lot *l)
{
    double rest = p->rest - l->count * l->weight;

    if (rest <= 0)
        return 0;
    if (!p->loads)
        return worst_worker(p, rest) < -1e-6;
    for (int i = 0; i < p->graph->arc_count; i++)
        p->whole[i] = (int64_t)(p->left[i] * QUANTUM_PARTS);
    return banyan_loads_spare(p->loads, p->whole, (int64_t)(rest * QUANTUM_PARTS), p->part) < 0;
}

static int crosses(const purse *p, int arc)
{
    return p->part[p->graph->arcs[arc].src] != p->part[p->graph->arcs[arc].dst];
}

/* The tree that crosses the partition most often goes; 0: they all cross it as seldom as can be. */
static int drop_crossing(purse *p, lot *l)
{
    int most = -1, worst = -1;

    for (int v = 0; v < p->graph->node_count; v++)
        most += p->part[v] == v;
    for (size_t t = 0; t < l->trees.tree_count; t++) {
        int count = 0;

        for (size_t a = banyan_trees_arcs_begin(&l->trees, t); a < banyan_trees_arcs_close(&l->trees, t); a++)
            count += crosses(p, l->trees.arcs[a]);
        if (!l->gone[t] && count > most) {
            most = count;
            worst = (int)t;
        }
    }
    if (worst >= 0)
        drop(p, l, (size_t)worst);
    return worst >= 0;
}

/* So many trees, less what does not fit. */
static banyan_status place_lot(purse *p, lot *l, int count, banyan_error *err)
{
    banyan_place_problem problem = {.price = p->price,
                                    .room = p->room,
                                    .weight = p->ones,
                                    .tree_count = count,
                                    .round_limit = p->problem->round_limit,
                                    .oracle = p->problem->oracle,
                                    .context = p->problem->context};
    double over;
    banyan_status status = banyan_place(p->graph, &problem, &l->trees, &over, err);

    if (status)
        return status;
    memset(l->gone, 0, (size_t)count);
    l->count = count;
    for (int t = 0; t < count; t++)
        count_tree(p->graph, &l->trees, (size_t)t, p->left, l->weight);
    drop_unfit(p, l);
    return BANYAN_SUCCESS;
}

/* None of them: what crosses the partition gets dearer before others are placed. */
static void take_back(purse *p, lot *l)
{
    int64_t highest = 1;

    for (size_t t = 0; t < l->trees.tree_count; t++)
        if (!l->gone[t])
            drop(p, l, t);
    banyan_trees_fini(&l->trees);
    for (int i = 0; i < p->graph->arc_count; i++)
        highest = p->problem->price[i] > highest ? p->problem->price[i] : highest;
    for (int i = 0; i < p->graph->arc_count; i++)
        p->price[i] += crosses(p, i) * highest;
}

static banyan_status keep(purse *p, const lot *l, banyan_error *err)
{
    for (size_t t = 0; t < l->trees.tree_count; t++)
        if (!l->gone[t]) {
            banyan_trees_copy(p->trees, &l->trees, t);
            if (p->trees->failed)
                return banyan_fail_memory(err);
            p->weight[p->trees->tree_count - 1] = l->weight;
        }
    p->rest -= l->count * l->weight;
    return BANYAN_SUCCESS;
}

/* How often so many trees may use the arc. Where nothing tells whether the rest of the trees still has room, in proportion
 * to what the arc has left: then the rest of it is as good for the rest of them. */
static double share_of(const purse *p, int arc, double weight, int count)
{
    double most = floor(p->left[arc] / weight + 1e-9);

    return p->loads ? most : fmin(most, ceil(count * p->left[arc] / p->rest - 1e-9));
}

/* The cable of the worker whose room was rounded up the most; -1: none has room. */
static int most_rounded(const purse *p, int worker, int count)
{
    const banyan_graph *graph = p->graph;
    double most = -HUGE_VAL;
    int found = -1;

    for (int j = graph->out_first[worker]; j < graph->out_first[worker + 1]; j++) {
        int arc = graph->out_arc[j];
        double over = p->room[arc] - count * p->left[arc] / p->rest;

        if (p->room[arc] > 0 && over > most) {
            most = over;
            found = arc;
        }
    }
    return found;
}

/* Each tree to come needs a cable of every worker: there its cables together must not be used more. */
static void keep_for_the_rest(purse *p, double weight, int count)
{
    const banyan_graph *graph = p->graph;

    for (int i = 0; i < graph->active_count; i++) {
        int v = graph->active[i], arc = 0;
        double free = -(p->rest - count * weight), room = 0;

        for (int j = graph->out_first[v]; j < graph->out_first[v + 1]; j++) {
            free += p->left[graph->out_arc[j]];
            room += p->room[graph->out_arc[j]];
        }
        for (; arc >= 0 && room * weight > free + 1e-9; room--) {
            arc = most_rounded(p, v, count);
            if (arc >= 0)
                p->room[arc] = --p->room[graph->arcs[arc].twin];
        }
    }
}

/* What so many trees would have to choose from, in trees. */
static double places_for(const purse *p, double weight, int count)
{
    double worth = 0;

    for (int i = 0; i < p->graph->arc_count; i++)
        worth += (double)p->problem->price[i] * share_of(p, i, weight, count);
    return worth / p->tree_cost;
}

/* How many trees of the weight there can be, with some room to spare but for the last; some fewer where these have more
 * choice. */
static int count_places(purse *p, double weight)
{
    double worth = weight > 1 ? -2 * p->half * p->weights.spare * p->tree_cost : 0, most = 0;
    int limit, least, count;

    for (int i = 0; i < p->graph->arc_count; i++)
        worth += (double)p->problem->price[i] * floor(p->left[i] / weight + 1e-9);
    count = limit = (int)fmin(fmin(floor(worth / p->tree_cost + 1e-9), floor(p->rest / weight + 1e-9)),
                              p->problem->tree_limit - (double)p->trees->tree_count);
    least = weight > 1 && !p->loads ? limit - limit / FEWER : limit;
    for (int fewer = limit; most < CHOICE && fewer >= least && fewer > 0; fewer--) {
        double choice = places_for(p, weight, fewer) / fewer;

        if (choice > most + 1e-3) {
            most = choice;
            count = fewer;
        }
    }
    for (int i = 0; i < p->graph->arc_count; i++)
        p->room[i] = share_of(p, i, weight, count);
    if (!p->loads)
        keep_for_the_rest(p, weight, count);
    return count;
}

/* As many trees of the weight as there can be. */
static banyan_status place_weight(purse *p, double weight, banyan_error *err)
{
    int count = count_places(p, weight), is_good = 0;
    lot l = {.weight = weight, .gone = count < 1 ? NULL : banyan_alloc((size_t)count, 1)};
    banyan_status status = count < 1 || l.gone ? BANYAN_SUCCESS : banyan_fail_memory(err);

    banyan_trees_init(&l.trees);
    for (int i = 0; !status && !is_good && i < (p->loads ? TRIES : 1) && count > 0; i++) {
        if (i > 0)
            take_back(p, &l);
        status = place_lot(p, &l, count, err);
        is_good = !status && !is_short(p, &l);
    }
    while (!status && !is_good && count > 0 && drop_crossing(p, &l))
        is_good = !is_short(p, &l);
    if (!status)
        status = keep(p, &l, err);
    banyan_trees_fini(&l.trees);
    banyan_free(l.gone);
    return status;
}

banyan_status banyan_coins_pack(const banyan_graph *graph, const banyan_units_problem *problem,
                                banyan_trees *trees, double **weight, double *total, banyan_error *err)
{
    purse p = {.graph = graph, .problem = problem, .trees = trees};
    banyan_status status = purse_init(&p, err);

    *weight = NULL;
    *total = 0;
    for (int k = p.weights.doublings; !status && k >= 0 && p.rest > 0; k--)
        status = place_weight(&p, exp2(k), err);
    if (status) {
        banyan_trees_fini(trees);
    } else {
        double unit = problem->bound * problem->enough / p.weights.quanta;

        for (size_t t = 0; t < trees->tree_count; t++)
            *total += p.weight[t] *= unit;
        *weight = p.weight;
        p.weight = NULL;
    }
    purse_fini(&p);
    return status;
}
