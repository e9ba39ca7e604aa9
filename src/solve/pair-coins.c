/* SPDX-License-Identifier: Apache-2.0 */
/* solve/pair-coins.c: an arc's share of all pairs, made up as a sum of money is of coins; solve/coins.c tells why, and does the
 * same for trees that have no direction.
 *
 * All pairs together weigh Q quanta at a rate that is enough. From the heaviest weight on, as many pairs of one weight as there
 * can be are placed in what whole times of that weight fits into arcs: each pair is taken out and grown anew under prices
 * made of the proof's, of what the others leave of each arc, and of how often an arc was too full before; then
 * edges move off arcs that are still too full (solve/rehang.h). Pairs that do not fit go, and what they would have carried
 * is left to the next weight. At the end a linear program weighs all of them, and its prices show the way to some more.
 * Cost: all pairs a round. */
#include "solve/pair-coins.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "solve/coin-weights.h"
#include "solve/coupled-oracle.h"
#include "solve/lp.h"
#include "solve/pairing.h"
#include "solve/rehang.h"

#define AIM 0.995     /* of the bound */
#define ENOUGH 0.9905 /* of the bound: no more pairs are added */
#define FEW_HELPERS 6
#define ROUNDS 20          /* that pairs of a weight are grown anew, */
#define IDLE_ROUNDS 5      /* but no more than so many without a better fit */
#define HALF_STEP_AFTER 10 /* rounds too full arcs get dearer by half as much */
#define CHOICE 1.05        /* places for each pair are enough of a choice; where it is less, */
#define FEWER 4            /* pairs of a weight: one of them may be left to the next */
#define PRICE_PART 6.0     /* of an arc's cost is what it costs by the proof's prices, */
#define FLOOR 0.01         /* with this much of the mean where these are 0, */
#define MEMORY_FLOOR 0.2   /* and this much where it is dearer for what was before: */
#define MEMORY_STEP 1.5    /* for each pair too many; */
#define GENTLE 0.1         /* exponent of e for each pair that an arc has room for, */
#define STEEPEST 20.0
#define NO_ROOM 0.6    /* pairs: an arc that should bear none */
#define ATTEMPTS 600   /* a pair, of moving edges */
#define MORE_HOPS 4    /* than the deepest tree has at first */
#define COST_SCALE 1e9 /* of all arcs together, at mean capacity */
#define MOST_COST 1e12

typedef struct {
    const banyan_graph *graph;
    const banyan_coupled *proof; /* prices and bound */
    const double *part;          /* per node: of the vector is summed there */
    int limit;
    banyan_coupled_oracle oracle;
    double *left, *room, *load, *memory; /* per arc: in quanta; in pairs */
    int64_t *cost;
    double *given; /* per node: quanta of pairs that are rooted there */
    int *above;    /* per node, of the tree at hand */
    double worth, capacities, pair_cost;
    double half; /* pairs that half a quantum on each arc with a price could bear */
    banyan_coin_weights weights;
    double rest;        /* quanta that are not placed yet */
    banyan_trees trees; /* in, out, in, out, ... */
    int *root;          /* per tree */
    double *weight;     /* per pair, in the graph's units */
    double total;
} purse;

/* Pairs of one weight. */
typedef struct {
    banyan_trees *tree; /* one each: in, out, ... */
    int *root;          /* per tree */
    int count;          /* pairs */
    double weight;      /* quanta */
    double over;
} lot;

static void purse_fini(purse *p)
{
    banyan_coupled_oracle_fini(&p->oracle);
    banyan_trees_fini(&p->trees);
    banyan_free(p->left);
    banyan_free(p->room);
    banyan_free(p->load);
    banyan_free(p->memory);
    banyan_free(p->cost);
    banyan_free(p->given);
    banyan_free(p->above);
    banyan_free(p->root);
    banyan_free(p->weight);
}

static void lot_fini(lot *l)
{
    for (int t = 0; l->tree && t < 2 * l->count; t++)
        banyan_trees_fini(&l->tree[t]);
    banyan_free(l->tree);
    banyan_free(l->root);
}

static double capacity(const purse *p, int arc)
{
    return (double)p->graph->arcs[arc].capacity;
}

/* So few idle nodes that trees may be tried without each of theirs. */
static int is_small(const banyan_graph *graph)
{
    int helpers = 0;

    for (int v = 0; v < graph->node_count; v++)
        helpers += !(graph->role[v] & BANYAN_NODE_ACTIVE) &&
                   (graph->role[v] & (BANYAN_NODE_ADDS | BANYAN_NODE_COPIES));
    return helpers <= FEW_HELPERS;
}

static banyan_status purse_init(purse *p, banyan_error *err)
{
    size_t arcs = (size_t)p->graph->arc_count, nodes = (size_t)p->graph->node_count;
    double prices = 0;
    banyan_status status = banyan_coupled_oracle_init(&p->oracle, p->graph, err);

    banyan_trees_init(&p->trees);
    p->oracle.quick = 1;
    p->oracle.careful = is_small(p->graph);
    p->left = banyan_alloc(arcs, sizeof(double));
    p->room = banyan_alloc(arcs, sizeof(double));
    p->load = banyan_alloc(arcs, sizeof(double));
    p->memory = banyan_alloc(arcs, sizeof(double));
    p->cost = banyan_alloc(arcs, sizeof *p->cost);
    p->given = banyan_alloc(nodes, sizeof(double));
    p->above = banyan_alloc(nodes, sizeof(int));
    p->root = banyan_alloc(2 * (size_t)p->limit, sizeof(int));
    p->weight = banyan_alloc((size_t)p->limit, sizeof(double));
    if (!status && (!p->left || !p->room || !p->load || !p->memory || !p->cost || !p->given || !p->above ||
                    !p->root || !p->weight))
        status = banyan_fail_memory(err);
    if (status)
        return status;
    for (size_t i = 0; i < arcs; i++) {
        p->worth += capacity(p, (int)i) * (double)p->proof->price[i];
        p->capacities += capacity(p, (int)i);
        prices += (double)p->proof->price[i];
    }
    p->pair_cost = p->worth / p->proof->bound_value;
    p->half = 0.5 * prices / p->pair_cost;
    p->weights = banyan_coin_weights_choose(p->half, 1 - AIM, p->limit);
    p->rest = p->weights.quanta;
    for (size_t i = 0; i < arcs; i++)
        p->left[i] = capacity(p, (int)i) * p->weights.quanta / (p->proof->bound_value * AIM);
    return BANYAN_SUCCESS;
}

/* The root that lags behind its part the most, when so many quanta more are there; they are its own then. */
static int next_root(purse *p, double quanta)
{
    double all = 0, given = quanta, most = -HUGE_VAL;
    int best = p->oracle.root[0];

    for (int i = 0; i < p->oracle.root_count; i++) {
        all += p->part[p->oracle.root[i]];
        given += p->given[p->oracle.root[i]];
    }
    for (int i = 0; i < p->oracle.root_count; i++) {
        int v = p->oracle.root[i];
        double lag = p->part[v] / all * given - p->given[v];

        if (lag > most) {
            most = lag;
            best = v;
        }
    }
    p->given[best] += quanta;
    return best;
}

static void count_tree(const banyan_trees *trees, size_t tree, double *load, double amount)
{
    for (size_t a = banyan_trees_arcs_begin(trees, tree); a < banyan_trees_arcs_close(trees, tree); a++)
        load[trees->arcs[a]] += amount;
}

/* Costs for one more pair, that is missing in the loads; due: the part of all pairs that there are then. */
static void set_costs(purse *p, double due)
{
    double sum = 0, mean = p->capacities / p->graph->arc_count;

    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < p->graph->arc_count; i++) {
            double missing = p->load[i] + 1 - (due < 1 ? due * p->room[i] + 0.5 : p->room[i]);
            double price = (double)p->proof->price[i] / p->worth + FLOOR / p->capacities;
            double cost = PRICE_PART * price + (price + MEMORY_FLOOR / p->capacities) * p->memory[i] +
                          exp(missing <= 0 ? GENTLE * missing : fmin(STEEPEST, missing)) / p->capacities;

            if (pass == 0)
                sum += cost * capacity(p, i);
            else
                p->cost[i] = 1 + (int64_t)fmin(MOST_COST, COST_SCALE * mean * cost / sum);
        }
}

static banyan_status grow_tree(purse *p, int is_out, int root, banyan_trees *tree, banyan_error *err)
{
    if (is_out)
        banyan_coupled_measure_out(&p->oracle, p->cost);
    else
        banyan_coupled_measure_in(&p->oracle, p->cost);
    return banyan_pairing_grow(&p->oracle, is_out, root, tree, err);
}

/* All trees anew, one after the other, each in what the others leave. */
static banyan_status grow_all(purse *p, lot *l, int is_first, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    for (int t = 0; !status && t < 2 * l->count; t++) {
        if (l->tree[t].tree_count)
            count_tree(&l->tree[t], 0, p->load, -1);
        banyan_trees_fini(&l->tree[t]);
        set_costs(p, is_first ? (t + 1) / (2.0 * l->count) * (1 - 1e-9) : 1);
        status = grow_tree(p, t % 2, l->root[t], &l->tree[t], err);
        if (!status)
            count_tree(&l->tree[t], 0, p->load, 1);
    }
    return status;
}

static double find_over(const purse *p)
{
    double over = 0;

    for (int i = 0; i < p->graph->arc_count; i++)
        over += fmax(0, p->load[i] - p->room[i]);
    return over;
}

/* Too full arcs get dearer for the next round. */
static void remember(purse *p, int round)
{
    double step = MEMORY_STEP * HALF_STEP_AFTER / (HALF_STEP_AFTER + round);

    for (int i = 0; i < p->graph->arc_count; i++)
        p->memory[i] += step * fmax(0, p->load[i] - p->room[i]);
}

/* The lot's trees are the best so far. */
static banyan_status save(const lot *l, banyan_trees *best, banyan_error *err)
{
    banyan_trees_fini(best);
    banyan_trees_init(best);
    for (int t = 0; t < 2 * l->count; t++)
        banyan_trees_copy(best, &l->tree[t], 0);
    return best->failed ? banyan_fail_memory(err) : BANYAN_SUCCESS;
}

static banyan_status take(purse *p, lot *l, const banyan_trees *trees, banyan_error *err)
{
    for (int t = 0; t < 2 * l->count; t++) {
        count_tree(&l->tree[t], 0, p->load, -1);
        banyan_trees_fini(&l->tree[t]);
        banyan_trees_copy(&l->tree[t], trees, (size_t)t);
        if (l->tree[t].failed)
            return banyan_fail_memory(err);
        count_tree(&l->tree[t], 0, p->load, 1);
    }
    return BANYAN_SUCCESS;
}

/* Edges move off arcs that are too full. */
static banyan_status rehang(purse *p, lot *l, banyan_error *err)
{
    double *limit = banyan_alloc((size_t)p->graph->arc_count, sizeof *limit), fullest;
    banyan_rehang_problem problem = {
        .root = l->root, .limit = limit, .attempt_limit = (long)ATTEMPTS * l->count};
    banyan_trees all;
    banyan_status status = limit ? BANYAN_SUCCESS : banyan_fail_memory(err);

    banyan_trees_init(&all);
    for (int i = 0; !status && i < p->graph->arc_count; i++)
        limit[i] = fmax(NO_ROOM, p->room[i]);
    for (int t = 0; !status && t < 2 * l->count; t++)
        banyan_trees_copy(&all, &l->tree[t], 0);
    if (!status && all.failed)
        status = banyan_fail_memory(err);
    if (!status) {
        problem.depth_limit = banyan_pairing_depth(p->graph, &all, p->above) + MORE_HOPS;
        status = banyan_rehang(p->graph, &problem, &all, &fullest, err);
    }
    if (!status)
        status = take(p, l, &all, err);
    banyan_trees_fini(&all);
    banyan_free(limit);
    return status;
}

static banyan_status place(purse *p, lot *l, banyan_error *err)
{
    banyan_trees best;
    banyan_status status = BANYAN_SUCCESS;
    int idle = 0;

    banyan_trees_init(&best);
    memset(p->load, 0, (size_t)p->graph->arc_count * sizeof *p->load);
    memset(p->memory, 0, (size_t)p->graph->arc_count * sizeof *p->memory);
    l->over = HUGE_VAL;
    for (int round = 0; !status && round < ROUNDS && idle < IDLE_ROUNDS && l->over > 0; round++) {
        status = grow_all(p, l, round == 0, err);
        if (!status)
            remember(p, round);
        if (!status && find_over(p) > 0)
            status = rehang(p, l, err);
        idle++;
        if (!status && find_over(p) < l->over) {
            idle = 0;
            l->over = find_over(p);
            status = save(l, &best, err);
        }
    }
    if (!status)
        status = take(p, l, &best, err);
    banyan_trees_fini(&best);
    return status;
}

/* While some arc bears more than it has left, the pair goes that has most of that; the others become the purse's. */
static banyan_status keep_fitting(purse *p, lot *l, banyan_error *err)
{
    unsigned char *gone = banyan_alloc((size_t)l->count, 1);

    if (!gone)
        return banyan_fail_memory(err);
    for (;;) {
        double most = 0;
        int worst = -1;

        for (int k = 0; k < l->count; k++) {
            double much = 0;

            for (int t = 2 * k; !gone[k] && t < 2 * k + 2; t++)
                for (size_t a = 0; a < l->tree[t].arc_count; a++)
                    much +=
                        fmax(0, p->load[l->tree[t].arcs[a]] * l->weight - p->left[l->tree[t].arcs[a]] - 1e-6);
            if (much > most) {
                most = much;
                worst = k;
            }
        }
        if (worst < 0)
            break;
        gone[worst] = 1;
        p->given[l->root[2 * worst]] -= l->weight;
        count_tree(&l->tree[2 * worst], 0, p->load, -1);
        count_tree(&l->tree[2 * worst + 1], 0, p->load, -1);
    }
    for (int t = 0; t < 2 * l->count; t++) {
        if (gone[t / 2])
            continue;
        count_tree(&l->tree[t], 0, p->left, -l->weight);
        p->root[p->trees.tree_count] = l->root[t];
        banyan_trees_copy(&p->trees, &l->tree[t], 0);
        p->rest -= t % 2 ? l->weight : 0;
    }
    banyan_free(gone);
    return p->trees.failed ? banyan_fail_memory(err) : BANYAN_SUCCESS;
}

static double room_of(const purse *p, int arc, double weight, int count)
{
    return fmax(0, fmin(floor(p->left[arc] / weight + 1e-9), ceil(count * p->left[arc] / p->rest - 1e-9)));
}

/* Each pair to come needs an arc out of every worker and one into it: these together must not be used more. */
static void keep_for_the_rest(purse *p, double weight, int count, int into)
{
    const banyan_graph *graph = p->graph;
    const int *first = into ? graph->in_first : graph->out_first,
              *list = into ? graph->in_arc : graph->out_arc;

    for (int i = 0; i < graph->active_count; i++) {
        int v = graph->active[i];
        double free = -(p->rest - count * weight), room = 0;

        for (int j = first[v]; j < first[v + 1]; j++) {
            free += p->left[list[j]];
            room += p->room[list[j]];
        }
        for (int found = 0; found >= 0 && room * weight > free + 1e-9; room--) {
            double most = -HUGE_VAL;

            found = -1;
            for (int j = first[v]; j < first[v + 1]; j++) {
                double over = p->room[list[j]] - count * p->left[list[j]] / p->rest;

                if (p->room[list[j]] > 0 && over > most) {
                    most = over;
                    found = list[j];
                }
            }
            if (found >= 0)
                p->room[found]--;
        }
    }
}

/* Some fewer than so many, where these have more choice. */
static int with_choice(const purse *p, double weight, int count)
{
    double most = 0;
    int best = count, least = weight > 1 ? count - count / FEWER : count;

    for (int fewer = count; most < CHOICE && fewer >= least && fewer > 0; fewer--) {
        double worth = 0;

        for (int i = 0; i < p->graph->arc_count; i++)
            worth += (double)p->proof->price[i] * room_of(p, i, weight, fewer);
        if (worth / p->pair_cost / fewer > most + 1e-3) {
            most = worth / p->pair_cost / fewer;
            best = fewer;
        }
    }
    return best;
}

/* How many pairs of the weight there can be, with some room to spare but for the last. */
static int count_places(purse *p, double weight)
{
    double worth = weight > 1 ? -2 * p->half * p->weights.spare * p->pair_cost : 0;
    int count;

    for (int i = 0; i < p->graph->arc_count; i++)
        worth += (double)p->proof->price[i] * floor(p->left[i] / weight + 1e-9);
    count = (int)fmin(fmin(floor(worth / p->pair_cost + 1e-9), floor(p->rest / weight + 1e-9)),
                      p->limit - (double)(p->trees.tree_count / 2));
    if (count < 1)
        return 0;
    count = with_choice(p, weight, count);
    for (int i = 0; i < p->graph->arc_count; i++)
        p->room[i] = room_of(p, i, weight, count);
    keep_for_the_rest(p, weight, count, 0);
    keep_for_the_rest(p, weight, count, 1);
    return count;
}

static banyan_status place_weight(purse *p, double weight, banyan_error *err)
{
    lot l = {.weight = weight, .count = count_places(p, weight)};
    banyan_status status;

    if (l.count == 0)
        return BANYAN_SUCCESS;
    l.tree = banyan_alloc(2 * (size_t)l.count, sizeof *l.tree);
    l.root = banyan_alloc(2 * (size_t)l.count, sizeof *l.root);
    status = l.tree && l.root ? BANYAN_SUCCESS : banyan_fail_memory(err);
    for (int k = 0; !status && k < l.count; k++)
        l.root[2 * k] = l.root[2 * k + 1] = next_root(p, weight);
    if (!status)
        status = place(p, &l, err);
    if (!status)
        status = keep_fitting(p, &l, err);
    lot_fini(&l);
    return status;
}

static banyan_status make_program(const purse *p, banyan_lp **lp, banyan_error *err)
{
    size_t arcs = (size_t)p->graph->arc_count;
    double *upper = banyan_alloc(arcs, sizeof *upper);
    banyan_status status = upper ? BANYAN_SUCCESS : banyan_fail_memory(err);

    for (size_t i = 0; !status && i < arcs; i++)
        upper[i] = capacity(p, (int)i) / p->proof->bound_value;
    if (!status)
        status = banyan_lp_create((int)arcs, NULL, upper, lp, err);
    banyan_free(upper);
    return status;
}

static banyan_status add_pair(const purse *p, banyan_lp *lp, size_t pair, banyan_error *err)
{
    int *row = banyan_alloc((size_t)p->graph->arc_count, sizeof *row), count = 0;
    double *value = banyan_alloc((size_t)p->graph->arc_count, sizeof *value);
    banyan_status status = row && value ? BANYAN_SUCCESS : banyan_fail_memory(err);

    memset(p->load, 0, (size_t)p->graph->arc_count * sizeof *p->load);
    count_tree(&p->trees, 2 * pair, p->load, 1);
    count_tree(&p->trees, 2 * pair + 1, p->load, 1);
    for (int i = 0; !status && i < p->graph->arc_count; i++)
        if (p->load[i] > 0) {
            row[count] = i;
            value[count++] = p->load[i];
        }
    if (!status)
        banyan_lp_add_column(lp, 1, count, row, value);
    banyan_free(row);
    banyan_free(value);
    return status;
}

/* One more pair under the program's prices. */
static banyan_status grow_more(purse *p, banyan_lp *lp, banyan_error *err)
{
    size_t pair = p->trees.tree_count / 2;
    double highest = 1e-300;
    int root = next_root(p, 1);
    banyan_status status = BANYAN_SUCCESS;

    for (int i = 0; i < p->graph->arc_count; i++)
        highest = fmax(highest, banyan_lp_price(lp, i));
    for (int i = 0; i < p->graph->arc_count; i++)
        p->cost[i] = 1 + (int64_t)(fmax(0, banyan_lp_price(lp, i)) / highest * COST_SCALE);
    for (int k = 0; !status && k < 2; k++) {
        p->root[2 * pair + (size_t)k] = root;
        status = grow_tree(p, k, root, &p->trees, err);
    }
    return status ? status : add_pair(p, lp, pair, err);
}

static banyan_status weigh(purse *p, banyan_error *err)
{
    banyan_lp *lp = NULL;
    banyan_status status = make_program(p, &lp, err);

    for (size_t k = 0; !status && k < p->trees.tree_count / 2; k++)
        status = add_pair(p, lp, k, err);
    if (!status)
        status = banyan_lp_solve(lp, err);
    while (!status && banyan_lp_objective(lp) < ENOUGH && p->trees.tree_count / 2 < (size_t)p->limit) {
        status = grow_more(p, lp, err);
        if (!status)
            status = banyan_lp_solve(lp, err);
    }
    p->total = status ? 0 : banyan_lp_objective(lp) * p->proof->bound_value;
    for (size_t k = 0; !status && k < p->trees.tree_count / 2; k++)
        p->weight[k] = fmax(0, banyan_lp_values(lp)[k]) * p->proof->bound_value;
    banyan_lp_destroy(lp);
    return status;
}

banyan_status banyan_pair_coins_find(const banyan_graph *graph, const double *root, int pair_limit,
                                     double least, banyan_coupled *packing, banyan_error *err)
{
    purse p = {.graph = graph, .proof = packing, .part = root, .limit = pair_limit};
    banyan_status status = purse_init(&p, err);

    for (int k = p.weights.doublings; !status && p.weights.quanta > 0 && k >= 0 && p.rest > 0; k--)
        status = place_weight(&p, exp2(k), err);
    if (!status && p.trees.tree_count)
        status = weigh(&p, err);
    if (!status && p.total > least)
        status = banyan_pairing_hand_over(packing, &p.trees, &p.root, p.weight, err);
    purse_fini(&p);
    return status;
}
