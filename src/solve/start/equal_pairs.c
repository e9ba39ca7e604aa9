/* SPDX-License-Identifier: Apache-2.0 */
/* solve/start/equal_pairs.c: pairs of equal weight, or of weights that fall. Each root brings as much as its
 * part of the vector asks for; trees are the cheapest under the prices that prove the bound, and where these
 * leave a choice, as mostly, they avoid what those before them use. Then weights and trees are rebalanced
 * (solve/round/rebalance.h).
 *
 * With k pairs of equal weight an arc bears whole numbers of k-ths, so some of its capacity is lost. How much
 * depends on k: the prices say how much of the rate that costs, and the best k below the limit is taken.
 * Where all lose much, each pair weighs some per cent less than the one before: then any capacity is nearly
 * the sum of some weights. */
#include "solve/start/equal_pairs.h"

#include <math.h>

#include "core/alloc.h"
#include "solve/oracle/pair_oracle.h"
#include "solve/round/rebalance.h"
#include "solve/start/pair_tools.h"

#define PROOF 0.5                /* share of the proof's prices in those that trees are grown under */
#define PRICE_SCALE 1073741824.0 /* 2^30 */
#define STEEP 12                 /* a full arc costs 2^12 times as much as an empty one */
#define TOGETHER 4               /* pairs under the same prices */
#define LOSS 5e-4                /* steps in which a loss of rate is looked for, */
#define LOSSES 16                /* and that many at most */
#define FALL 0.95                /* where weights fall, each is that much of the one before, */
#define USUAL_PAIRS 64.          /* if there are that many */
#define PROMISING 0.98 /* of the bound is reached by equal weights at once, so that they may rebalance; */
#define HOPELESS 0.9   /* so little, and nothing will come of it; */
#define TURNS 10       /* in that many turns at most */
#define FEWEST 0.9     /* of the limit */
#define MORE_HOPS 4    /* than the deepest tree has at first */

typedef struct {
    const banyan_graph *graph;
    banyan_pair_oracle oracle;
    banyan_trees trees; /* in, out, in, out, ... */
    int *root, *above;  /* per tree; and of the current tree */
    double *weight;     /* per pair: 1 on average */
    double *limit, *load;
    int64_t *cost;
    int pair_count;
} maker;

static void maker_fini(maker *m)
{
    banyan_pair_oracle_fini(&m->oracle);
    banyan_trees_fini(&m->trees);
    banyan_free(m->root);
    banyan_free(m->above);
    banyan_free(m->weight);
    banyan_free(m->limit);
    banyan_free(m->load);
    banyan_free(m->cost);
}

static banyan_status maker_init(maker *m, const banyan_graph *graph, int pair_limit, banyan_error *err)
{
    size_t arcs = (size_t)graph->arc_count;
    banyan_status status;

    *m = (maker){.graph = graph};
    banyan_trees_init(&m->trees);
    status = banyan_pair_oracle_init(&m->oracle, graph, err);
    m->oracle.quick = 1;
    m->root = banyan_alloc(2 * (size_t)pair_limit, sizeof(int));
    m->above = banyan_alloc((size_t)graph->node_count, sizeof(int));
    m->weight = banyan_alloc((size_t)pair_limit, sizeof(double));
    m->limit = banyan_alloc(arcs, sizeof(double));
    m->load = banyan_alloc(arcs, sizeof(double));
    m->cost = banyan_alloc(arcs, sizeof(int64_t));
    if (!status && (!m->root || !m->above || !m->weight || !m->limit || !m->load || !m->cost))
        status = banyan_fail_memory(err);
    return status;
}

/* Whether the prices let that many pairs reach this rate, each arc bearing whole pairs. */
static int is_possible(const maker *m, const banyan_pair_packing *packing, int pairs, double rate)
{
    double worth = 0, whole = 0;

    for (int i = 0; i < m->graph->arc_count; i++) {
        double capacity = (double)m->graph->arcs[i].capacity;

        worth += (double)packing->price[i] * capacity;
        whole += (double)packing->price[i] * floor(pairs * capacity / rate + 1e-6);
    }
    return whole >= pairs * worth / packing->bound_value * (1 - 1e-9);
}

/* As many of equal weight as lose least, if that is little: then *rate is what they may reach. */
static int choose_equal(maker *m, const banyan_pair_packing *packing, int pair_limit, double *rate)
{
    int fewest = (int)ceil(FEWEST * pair_limit);

    for (int k = 0; k < pair_limit; k++)
        m->weight[k] = 1;
    for (int loss = 0; loss < LOSSES; loss++)
        for (m->pair_count = pair_limit; m->pair_count >= fewest; m->pair_count--) {
            *rate = packing->bound_value * (1 - LOSS * loss);
            if (is_possible(m, packing, m->pair_count, *rate))
                return 1;
        }
    return 0;
}

static void choose_falling(maker *m, int pair_limit)
{
    double fall = pow(FALL, USUAL_PAIRS / pair_limit), sum = 0;

    m->pair_count = pair_limit;
    m->weight[0] = 1;
    for (int k = 1; k < pair_limit; k++)
        m->weight[k] = fall * m->weight[k - 1];
    for (int k = 0; k < pair_limit; k++)
        sum += m->weight[k];
    for (int k = 0; k < pair_limit; k++)
        m->weight[k] *= pair_limit / sum;
}

/* Roots in turn, the one that lags behind its part the most. */
static void choose_roots(maker *m, const double *part)
{
    double all = 0, given = 0;

    for (int v = 0; v < m->graph->node_count; v++)
        all += part[v];
    for (int k = 0; k < m->pair_count; k++) {
        double most = -HUGE_VAL;

        given += m->weight[k];

        for (int i = 0; i < m->oracle.root_count; i++) {
            int v = m->oracle.root[i];
            double lag = part[v] / all * given;

            for (int j = 0; j < k; j++)
                lag -= m->root[2 * j] == v ? m->weight[j] : 0;
            if (lag > most) {
                most = lag;
                m->root[2 * k] = m->root[2 * k + 1] = v;
            }
        }
    }
}

/* The proof's prices, and the more expensive the fuller an arc is. */
static void set_prices(maker *m, const banyan_pair_packing *packing)
{
    double worth = 0, loaded = 0, largest = 0, fullest = 1e-12;

    for (int i = 0; i < m->graph->arc_count; i++) {
        worth += (double)packing->price[i] * m->limit[i];
        fullest = fmax(fullest, m->load[i] / m->limit[i]);
    }
    for (int i = 0; i < m->graph->arc_count; i++)
        loaded += exp2(STEEP * (m->load[i] / m->limit[i] / fullest - 1));
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < m->graph->arc_count; i++) {
            double price =
                PROOF * (double)packing->price[i] / worth +
                (1 - PROOF) * exp2(STEEP * (m->load[i] / m->limit[i] / fullest - 1)) / m->limit[i] / loaded;

            largest = fmax(largest, price);
            m->cost[i] = (int64_t)nearbyint(price / largest * PRICE_SCALE);
        }
    banyan_pair_packing_measure_in(&m->oracle, m->cost);
    banyan_pair_packing_measure_out(&m->oracle, m->cost);
}

static banyan_status grow_tree(maker *m, int tree, banyan_error *err)
{
    banyan_status status = banyan_pair_tools_grow(&m->oracle, tree % 2, m->root[tree], &m->trees, err);

    if (status)
        return status;
    for (size_t a = banyan_trees_arcs_begin(&m->trees, (size_t)tree); a < m->trees.arc_count; a++)
        m->load[m->trees.arcs[a]] += m->weight[tree / 2];
    return BANYAN_SUCCESS;
}

static banyan_status grow_trees(maker *m, const banyan_pair_packing *packing, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    for (int t = 0; !status && t < 2 * m->pair_count; t++) {
        if (t % (2 * TOGETHER) == 0)
            set_prices(m, packing);
        status = grow_tree(m, t, err);
    }
    return status;
}

/* Pairs of the weights that were chosen, for this rate, once levelled and weighed. */
static banyan_status make_pairs(maker *m, const double *part, double rate, const banyan_pair_packing *packing,
                                double *total, banyan_error *err)
{
    banyan_rebalance_problem settle = {.aim = rate, .turn_limit = 1, .more_hops = MORE_HOPS};
    banyan_status status;

    banyan_trees_fini(&m->trees);
    banyan_trees_init(&m->trees);
    choose_roots(m, part);
    for (int i = 0; i < m->graph->arc_count; i++) {
        m->load[i] = 0;
        m->limit[i] = m->pair_count * (double)m->graph->arcs[i].capacity / rate;
    }
    status = grow_trees(m, packing, err);
    return status ? status : banyan_rebalance(m->graph, &settle, &m->trees, m->root, m->weight, total, err);
}

/* Not much, but not hopeless. */
static int is_between(double total, const banyan_pair_packing *packing)
{
    return total > HOPELESS * packing->bound_value && total < PROMISING * packing->bound_value;
}

banyan_status banyan_equal_pairs_find(const banyan_graph *graph, const banyan_equal_pairs_problem *problem,
                                      banyan_pair_packing *packing, banyan_error *err)
{
    maker m;
    double total = 0, rate;
    banyan_rebalance_problem settle = {.aim = packing->bound_value,
                                       .enough = problem->enough,
                                       .turn_limit = TURNS,
                                       .in_hurry = problem->in_hurry};
    banyan_status status = maker_init(&m, graph, problem->pair_limit, err);

    if (!status && choose_equal(&m, packing, problem->pair_limit, &rate))
        status = make_pairs(&m, problem->root, rate, packing, &total, err);
    if (!status && (total == 0 || (is_between(total, packing) && total < problem->enough))) {
        choose_falling(&m, problem->pair_limit);
        status = make_pairs(&m, problem->root, packing->bound_value, packing, &total, err);
    }
    if (!status && total < problem->enough && total > HOPELESS * packing->bound_value)
        status = banyan_rebalance(graph, &settle, &m.trees, m.root, m.weight, &total, err);
    if (!status && total > problem->least)
        status = banyan_pair_tools_hand_over(packing, &m.trees, &m.root, m.weight, err);
    maker_fini(&m);
    return status;
}
