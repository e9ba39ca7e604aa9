/* SPDX-License-Identifier: Apache-2.0 */
/* solve/start/falling_pairs.c: pairs of trees one after the other, each a little lighter than the one before
 * and cheap under prices of two sorts: those of the proof, which say what trees are good ones, and others
 * that rise exponentially with what arcs bear already, beside what they should bear by now. Cost: two quick
 * trees a pair. */
#include "solve/start/falling_pairs.h"

#include <math.h>

#include "core/alloc.h"
#include "solve/oracle/pair_oracle.h"
#include "solve/start/pair_tools.h"

#define FALL 0.97                 /* of a pair's weight is the next one's */
#define STEEP 12                  /* doublings of the price between an empty arc and a full one */
#define MOST 3                    /* times full, and more, is all the same */
#define PROOF 0.5                 /* share of the proof's prices */
#define PRICE_SCALE 17179869184.0 /* 2^34 */

typedef struct {
    const banyan_graph *graph;
    const banyan_falling_pairs_problem *problem;
    banyan_pair_oracle oracle;
    double bound, worth; /* of all arcs under the prices */
    double parts;        /* all roots' together */
    double *load;        /* per arc */
    double *price;
    int64_t *asked;
    double *summed; /* per node */
    double *weight; /* per pair, */
    double done;    /* together, with the current pair */
    int *root;      /* per tree */
    banyan_trees trees;
} loader;

static void loader_fini(loader *l)
{
    banyan_pair_oracle_fini(&l->oracle);
    banyan_trees_fini(&l->trees);
    banyan_free(l->load);
    banyan_free(l->price);
    banyan_free(l->asked);
    banyan_free(l->summed);
    banyan_free(l->weight);
    banyan_free(l->root);
}

static banyan_status loader_init(loader *l, banyan_error *err)
{
    size_t arcs = (size_t)l->graph->arc_count, nodes = (size_t)l->graph->node_count,
           pairs = (size_t)l->problem->pair_limit;
    banyan_status status;

    banyan_trees_init(&l->trees);
    l->load = banyan_alloc(arcs, sizeof(double));
    l->price = banyan_alloc(arcs, sizeof(double));
    l->asked = banyan_alloc(arcs, sizeof(int64_t));
    l->summed = banyan_alloc(nodes, sizeof(double));
    l->weight = banyan_alloc(pairs, sizeof(double));
    l->root = banyan_alloc(2 * pairs, sizeof(int));
    if (!l->load || !l->price || !l->asked || !l->summed || !l->weight || !l->root)
        return banyan_fail_memory(err);
    for (int i = 0; i < l->graph->arc_count; i++)
        l->worth += (double)l->problem->price[i] * (double)l->graph->arcs[i].capacity;
    for (int v = 0; v < l->graph->node_count; v++)
        l->parts += l->problem->root[v];
    status = banyan_pair_oracle_init(&l->oracle, l->graph, err);
    l->oracle.quick = 1;
    return status;
}

/* Where most is missing of what should be summed there by now. */
static int choose_root(const loader *l)
{
    double most = -HUGE_VAL;
    int best = l->oracle.root[0];

    for (int i = 0; i < l->oracle.root_count; i++) {
        int v = l->oracle.root[i];
        double lag = l->problem->root[v] / l->parts * l->done - l->summed[v];

        if (lag > most) {
            most = lag;
            best = v;
        }
    }
    return best;
}

static void set_prices(loader *l, double weight)
{
    double loaded = 0, largest = 0;

    for (int i = 0; i < l->graph->arc_count; i++) {
        double full = (l->load[i] + weight) / (double)l->graph->arcs[i].capacity * l->bound / l->done;

        loaded += l->price[i] = exp2(STEEP * (fmin(full, MOST) - 1));
    }
    for (int i = 0; i < l->graph->arc_count; i++) {
        l->price[i] = PROOF * (double)l->problem->price[i] / l->worth +
                      (1 - PROOF) * l->price[i] / loaded / (double)l->graph->arcs[i].capacity;
        largest = fmax(largest, l->price[i]);
    }
    for (int i = 0; i < l->graph->arc_count; i++)
        l->asked[i] = (int64_t)nearbyint(l->price[i] / largest * PRICE_SCALE);
    banyan_pair_packing_measure_in(&l->oracle, l->asked);
    banyan_pair_packing_measure_out(&l->oracle, l->asked);
}

static banyan_status add_pair(loader *l, int pair, banyan_error *err)
{
    double weight = l->weight[pair];
    int root = choose_root(l);
    banyan_status status = BANYAN_SUCCESS;

    l->summed[root] += weight;
    set_prices(l, weight);
    for (int is_out = 0; !status && is_out < 2; is_out++) {
        size_t tree = l->trees.tree_count;

        status = banyan_pair_tools_grow(&l->oracle, is_out, root, &l->trees, err);
        if (status)
            return status;
        l->root[tree] = root;
        for (size_t a = banyan_trees_arcs_begin(&l->trees, tree); a < l->trees.arc_count; a++)
            l->load[l->trees.arcs[a]] += weight;
    }
    return status;
}

banyan_status banyan_falling_pairs_find(const banyan_graph *graph,
                                        const banyan_falling_pairs_problem *problem,
                                        banyan_pair_packing *packing, banyan_error *err)
{
    loader l = {.graph = graph, .problem = problem, .bound = packing->bound_value};
    banyan_status status = loader_init(&l, err);
    double sum = 0;

    for (int k = 0; !status && k < problem->pair_limit; k++)
        sum += l.weight[k] = pow(FALL, k);
    for (int k = 0; !status && k < problem->pair_limit; k++) {
        l.weight[k] *= l.bound / sum;
        l.done += l.weight[k];
        status = add_pair(&l, k, err);
    }
    if (!status)
        status = banyan_pair_tools_hand_over(packing, &l.trees, &l.root, l.weight, err);
    loader_fini(&l);
    return status;
}
