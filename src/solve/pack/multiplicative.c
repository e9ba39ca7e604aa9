/* SPDX-License-Identifier: Apache-2.0 */
/* solve/pack/multiplicative.c: multiplicative weights around prices that are known to be the right ones.
 *
 * In an optimal packing every tree is a cheapest one under the bound's prices, but there are very many of
 * those, and few sets of them fill the cables evenly. So a cable costs its proven price, and as much again by
 * what the trees so far have laid on it: exponentially, beside what it should bear after that many trees at
 * the bound's rate (Garg and Konemann 1998 let such loads find the prices; here they only choose among
 * equals). A linear program over some hundred such trees is as good as column generation with a program for
 * every single tree: on halves of tori of 64 nodes, 400 trees reach 99.9 % and 600 the bound. */
#include "solve/pack/multiplicative.h"

#include <math.h>

#include "core/alloc.h"

#define STEEP 16.0       /* exponent of e between an empty cable and one that bears what it should */
#define MOST 40.0        /* exponent at most */
#define COST_SCALE 1.0e9 /* all cables' capacities times costs, at mean capacity */
#define MOST_COST 1.0e12
#define FLOOR 0.01 /* of the mean price: nothing is free */

struct banyan_multiplicative {
    const banyan_graph *graph;
    const int64_t *price;
    double rate, worth; /* sum of capacity times price */
    double *load, *term;
    const double *learned; /* NULL: none */
    double learned_worth;
    int64_t *cost;
    int count;
};

void banyan_multiplicative_destroy(banyan_multiplicative *s)
{
    if (!s)
        return;
    banyan_free(s->load);
    banyan_free(s->term);
    banyan_free(s->cost);
    banyan_free(s);
}

banyan_status banyan_multiplicative_create(const banyan_graph *graph, const int64_t *price, double rate,
                                           banyan_multiplicative **out, banyan_error *err)
{
    size_t arcs = (size_t)graph->arc_count;
    banyan_multiplicative *s = banyan_alloc(1, sizeof *s);

    *out = NULL;
    if (!s)
        return banyan_fail_memory(err);
    *s = (banyan_multiplicative){.graph = graph, .price = price, .rate = rate};
    s->load = banyan_alloc(arcs, sizeof *s->load);
    s->term = banyan_alloc(arcs, sizeof *s->term);
    s->cost = banyan_alloc(arcs, sizeof *s->cost);
    if (!s->load || !s->term || !s->cost) {
        banyan_multiplicative_destroy(s);
        return banyan_fail_memory(err);
    }
    for (int i = 0; i < graph->arc_count; i++)
        s->worth += (double)graph->arcs[i].capacity * (double)price[i];
    *out = s;
    return BANYAN_SUCCESS;
}

void banyan_multiplicative_heed(banyan_multiplicative *s, const double *price)
{
    s->learned = price;
    s->learned_worth = 0;
    for (int i = 0; i < s->graph->arc_count; i++)
        s->learned_worth += (double)s->graph->arcs[i].capacity * price[i];
}

static void set_costs(banyan_multiplicative *s)
{
    const banyan_graph *graph = s->graph;
    double sum = 0, capacities = 0;

    for (int i = 0; i < graph->arc_count; i++) {
        double capacity = (double)graph->arcs[i].capacity, due = s->count * capacity / s->rate;

        s->term[i] = exp(fmin(MOST, STEEP * (s->load[i] / (due > 1 ? due : 1) - 1))) / capacity;
        sum += capacity * s->term[i];
        capacities += capacity;
    }
    for (int i = 0; i < graph->arc_count; i++) {
        double price = (double)s->price[i] / s->worth + s->term[i] / sum + FLOOR / capacities;

        if (s->learned)
            price += s->learned[i] / s->learned_worth;
        s->cost[i] = 1 + (int64_t)fmin(MOST_COST, COST_SCALE * price * capacities / graph->arc_count);
    }
}

banyan_status banyan_multiplicative_trees(banyan_multiplicative *s, int count, banyan_tree_oracle oracle,
                                          void *context, banyan_trees *trees, banyan_error *err)
{
    for (int k = 0; k < count; k++) {
        set_costs(s);
        if (oracle(context, s->cost, trees) < 0)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "the active workers are not all connected");
        if (trees->failed)
            return banyan_fail_memory(err);
        for (size_t a = banyan_trees_arcs_begin(trees, trees->tree_count - 1); a < trees->arc_count; a++) {
            s->load[trees->arcs[a]]++;
            s->load[s->graph->arcs[trees->arcs[a]].twin]++;
        }
        s->count++;
    }
    return BANYAN_SUCCESS;
}
