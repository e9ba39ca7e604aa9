/* SPDX-License-Identifier: Apache-2.0 */
/* solve/pairs.c: pairs of equal weight. Each root brings as many as its part of the vector asks for; trees are the cheapest
 * under the prices that prove the bound, and where these leave a choice, as mostly, they avoid what those before
 * them use. What arcs then bear is levelled (solve/rehang.h), and a linear program weighs the pairs.
 *
 * With k pairs an arc bears whole numbers of k-ths, so some of its capacity is lost. How much depends on k: the prices say
 * how much of the rate that costs, and the best k below the limit is taken. */
#include "solve/pairs.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "solve/coupled-oracle.h"
#include "solve/lp.h"
#include "solve/pairing.h"
#include "solve/rehang.h"

#define PROOF 0.5                /* share of the proof's prices in those that trees are grown under */
#define PRICE_SCALE 1073741824.0 /* 2^30 */
#define STEEP 12                 /* a full arc costs 2^12 times as much as an empty one */
#define TOGETHER 4               /* pairs under the same prices */
#define LOSS 5e-4                /* steps in which a loss of rate is looked for, */
#define LOSSES 60                /* and so many at most */
#define FEWEST 0.9               /* of the limit */
#define ATTEMPTS 4000            /* a pair */
#define MORE_HOPS 4              /* than the deepest tree has at first */

typedef struct {
    const banyan_graph *graph;
    banyan_coupled_oracle oracle;
    banyan_trees trees; /* in, out, in, out, ... */
    int *root, *above;  /* per tree; and of the tree at hand */
    double *limit, *load;
    int64_t *cost;
    int pair_count;
} maker;

static void maker_fini(maker *m)
{
    banyan_coupled_oracle_fini(&m->oracle);
    banyan_trees_fini(&m->trees);
    banyan_free(m->root);
    banyan_free(m->above);
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
    status = banyan_coupled_oracle_init(&m->oracle, graph, err);
    m->oracle.quick = 1;
    m->root = banyan_alloc(2 * (size_t)pair_limit, sizeof(int));
    m->above = banyan_alloc((size_t)graph->node_count, sizeof(int));
    m->limit = banyan_alloc(arcs, sizeof(double));
    m->load = banyan_alloc(arcs, sizeof(double));
    m->cost = banyan_alloc(arcs, sizeof(int64_t));
    if (!status && (!m->root || !m->above || !m->limit || !m->load || !m->cost))
        status = banyan_fail_memory(err);
    return status;
}

/* Whether the prices let so many pairs reach this rate, each arc bearing whole pairs. */
static int is_possible(const maker *m, const banyan_coupled *packing, int pairs, double rate)
{
    double worth = 0, whole = 0;

    for (int i = 0; i < m->graph->arc_count; i++) {
        double capacity = (double)m->graph->arcs[i].capacity;

        worth += (double)packing->price[i] * capacity;
        whole += (double)packing->price[i] * floor(pairs * capacity / rate + 1e-6);
    }
    return whole >= pairs * worth / packing->bound_value * (1 - 1e-9);
}

/* The number of pairs that loses least, and the rate to aim at. */
static double choose_count(maker *m, const banyan_coupled *packing, int pair_limit)
{
    int fewest = (int)ceil(FEWEST * pair_limit);

    for (int loss = 0; loss < LOSSES; loss++)
        for (m->pair_count = pair_limit; m->pair_count >= fewest; m->pair_count--)
            if (is_possible(m, packing, m->pair_count, packing->bound_value * (1 - LOSS * loss)))
                return packing->bound_value * (1 - LOSS * loss);
    m->pair_count = pair_limit;
    return packing->bound_value * (1 - LOSS * LOSSES);
}

/* Roots in turn, the one that lags behind its part the most. */
static void choose_roots(maker *m, const double *part)
{
    double all = 0;

    for (int v = 0; v < m->graph->node_count; v++)
        all += part[v];
    for (int k = 0; k < m->pair_count; k++) {
        double most = -HUGE_VAL;

        for (int i = 0; i < m->oracle.root_count; i++) {
            int v = m->oracle.root[i];
            double lag = part[v] / all * (k + 1);

            for (int j = 0; j < k; j++)
                lag -= m->root[2 * j] == v;
            if (lag > most) {
                most = lag;
                m->root[2 * k] = m->root[2 * k + 1] = v;
            }
        }
    }
}

/* The proof's prices, and the dearer the fuller an arc is. */
static void set_prices(maker *m, const banyan_coupled *packing)
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
    banyan_coupled_measure_in(&m->oracle, m->cost);
    banyan_coupled_measure_out(&m->oracle, m->cost);
}

static banyan_status grow_tree(maker *m, int tree, banyan_error *err)
{
    banyan_status status = banyan_pairing_grow(&m->oracle, tree % 2, m->root[tree], &m->trees, err);

    if (status)
        return status;
    for (size_t a = banyan_trees_arcs_begin(&m->trees, (size_t)tree); a < m->trees.arc_count; a++)
        m->load[m->trees.arcs[a]]++;
    return BANYAN_SUCCESS;
}

static banyan_status grow_trees(maker *m, const banyan_coupled *packing, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    for (int t = 0; !status && t < 2 * m->pair_count; t++) {
        if (t % (2 * TOGETHER) == 0)
            set_prices(m, packing);
        status = grow_tree(m, t, err);
    }
    return status;
}

static banyan_status weigh(maker *m, double *weight, banyan_error *err)
{
    int arcs = m->graph->arc_count, *row = banyan_alloc((size_t)arcs, sizeof *row);
    double *lower = banyan_alloc((size_t)arcs, sizeof *lower),
           *upper = banyan_alloc((size_t)arcs, sizeof *upper),
           *value = banyan_alloc((size_t)arcs, sizeof *value);
    banyan_lp *lp = NULL;
    banyan_status status = row && lower && upper && value ? BANYAN_SUCCESS : banyan_fail_memory(err);

    for (int i = 0; !status && i < arcs; i++) {
        lower[i] = -1e300;
        upper[i] = m->limit[i] / m->pair_count;
    }
    if (!status)
        status = banyan_lp_create(arcs, lower, upper, &lp, err);
    for (int k = 0; !status && k < m->pair_count; k++) {
        int count = 0;

        memset(m->load, 0, (size_t)arcs * sizeof *m->load);
        for (size_t a = banyan_trees_arcs_begin(&m->trees, 2 * (size_t)k);
             a < banyan_trees_arcs_close(&m->trees, 2 * (size_t)k + 1); a++)
            m->load[m->trees.arcs[a]]++;
        for (int i = 0; i < arcs; i++)
            if (m->load[i] > 0) {
                row[count] = i;
                value[count++] = m->load[i];
            }
        banyan_lp_add_column(lp, 1, count, row, value);
    }
    if (!status)
        status = banyan_lp_solve(lp, err);
    for (int k = 0; !status && k < m->pair_count; k++)
        weight[k] = fmax(0, banyan_lp_values(lp)[k]);
    banyan_lp_destroy(lp);
    banyan_free(row);
    banyan_free(lower);
    banyan_free(upper);
    banyan_free(value);
    return status;
}

banyan_status banyan_pairs_find(const banyan_graph *graph, const double *root, int pair_limit, double least,
                                banyan_coupled *packing, banyan_error *err)
{
    maker m;
    double *part = banyan_alloc((size_t)pair_limit, sizeof *part), rate = 0, fullest = 0, sum = 0;
    banyan_status status = maker_init(&m, graph, pair_limit, err);

    if (!status && !part)
        status = banyan_fail_memory(err);
    if (!status) {
        rate = choose_count(&m, packing, pair_limit);
        choose_roots(&m, root);
        for (int i = 0; i < graph->arc_count; i++)
            m.limit[i] = m.pair_count * (double)graph->arcs[i].capacity / rate;
        status = grow_trees(&m, packing, err);
    }
    if (!status) {
        banyan_rehang_problem problem = {.root = m.root,
                                         .limit = m.limit,
                                         .depth_limit =
                                             banyan_pairing_depth(graph, &m.trees, m.above) + MORE_HOPS,
                                         .attempt_limit = (long)ATTEMPTS * m.pair_count};

        status = banyan_rehang(graph, &problem, &m.trees, &fullest, err);
    }
    if (!status)
        status = weigh(&m, part, err);
    for (int k = 0; !status && k < m.pair_count; k++)
        sum += part[k];
    for (int k = 0; !status && k < m.pair_count; k++)
        part[k] *= rate;
    if (!status && sum * rate > least)
        status = banyan_pairing_hand_over(packing, &m.trees, &m.root, part, err);
    maker_fini(&m);
    banyan_free(part);
    return status;
}
