/* SPDX-License-Identifier: Apache-2.0 */
/* solve/start/hub_pairs.c: pairs of trees with hubs. Which workers are hubs is chosen first
 * (solve/start/hub_choice.h); these are joined to one another and the others to them, by ways through the
 * switches that bear the least so far. A group's slots are for its own, but for those that it can spare. In
 * the end pairs are rebalanced (solve/round/rebalance.h). Cost: a search through the switches a worker and
 * tree. */
#include "solve/start/hub_pairs.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/scratch.h"
#include "solve/round/rebalance.h"
#include "solve/start/hub_choice.h"
#include "solve/start/pair_tools.h"

/* doublings of a link's price from an empty one to one that bears what it should by then */
#define STEEPNESS 24.0
#define AIM 0.9906 /* share of the bound that is aimed at, at least */
/* price of each hop between a hub and the root, as a part of that of a link that bears what it should */
#define HOP_PRICE 0.1
#define AIM_MARGIN 1.0003 /* factor on the rate that will do: what is aimed at */
/* share of the rate with whole hubs that will do where that rate is below the aim */
#define WHOLE_SHARE 0.9995
#define MAX_TURNS 6 /* turns of rebalancing, at most */
#define MORE_HOPS 2 /* hops by which rebalancing may make trees deeper */

typedef struct {
    banyan_hub_choice choice;
    int pair_count;
    double placed;         /* weight of all so far */
    int *room;             /* per group: slots beyond what its own nodes will take */
    int *depth;            /* per hub in the current tree */
    unsigned char *inside; /* per node: it is a hub, and in the tree already */
    double *load, *price;  /* per arc */
    double *distance;
    int *via, *open, open_count, *way;
    banyan_trees trees;
    int *root;
    banyan_scratch memory;
} maker;

static void maker_fini(maker *m)
{
    banyan_hub_choice_fini(&m->choice);
    banyan_scratch_free(&m->memory);
    banyan_free(m->root);
    banyan_trees_fini(&m->trees);
}

static banyan_status maker_init(maker *m, banyan_error *err)
{
    size_t nodes = (size_t)m->choice.graph->node_count, arcs = (size_t)m->choice.graph->arc_count;

    banyan_trees_init(&m->trees);
    m->room = banyan_scratch_take(&m->memory, nodes + 1, sizeof(int));
    m->depth = banyan_scratch_take(&m->memory, nodes, sizeof(int));
    m->inside = banyan_scratch_take(&m->memory, nodes, 1);
    m->load = banyan_scratch_take(&m->memory, arcs, sizeof(double));
    m->price = banyan_scratch_take(&m->memory, arcs, sizeof(double));
    m->distance = banyan_scratch_take(&m->memory, nodes, sizeof(double));
    m->via = banyan_scratch_take(&m->memory, nodes, sizeof(int));
    m->open = banyan_scratch_take(&m->memory, nodes, sizeof(int));
    m->way = banyan_scratch_take(&m->memory, nodes, sizeof(int));
    m->root = banyan_alloc(2 * (size_t)m->pair_count, sizeof(int));
    if (m->memory.failed || !m->root)
        return banyan_fail_memory(err);
    return banyan_hub_choice_init(&m->choice, err);
}

static void set_price(maker *m, int arc)
{
    double due =
        (double)m->choice.graph->arcs[arc].capacity * (m->placed + m->choice.weight) / m->choice.rate;

    m->price[arc] = 1e-3 + exp2(fmin(60, STEEPNESS * ((m->load[arc] + m->choice.weight) / due - 1)));
}

/* How much is asked of a place. */
enum { ANY_HUB, A_SLOT, A_SLOT_TO_SPARE };

static int is_free_end(const maker *m, int v, int child, int g, int asked)
{
    if (!m->inside[v] || v == child || (g >= 0 && m->choice.group[v] != g))
        return 0;
    return asked == ANY_HUB ||
           (m->choice.slots[v] > 0 && (asked == A_SLOT || m->choice.group[v] == m->choice.group[child] ||
                                       m->room[m->choice.group[v]] > 0));
}

/* The nearest hub with a slot, through switches; -1: none. */
static int nearest(maker *m, int child, int d, int g, int asked)
{
    const banyan_graph *graph = m->choice.graph;
    const int *first = d ? graph->in_first : graph->out_first, *arcs = d ? graph->in_arc : graph->out_arc;
    int best = -1, at = child;
    double far = HUGE_VAL;

    for (int v = 0; v < graph->node_count; v++)
        m->distance[v] = HUGE_VAL;
    m->open_count = 0;
    m->distance[child] = 0;
    for (;;) {
        int next = 0;

        for (int i = first[at]; i < first[at + 1]; i++) {
            int arc = arcs[i], w = d ? graph->arcs[arc].src : graph->arcs[arc].dst;
            double cost = m->distance[at] + m->price[arc];

            if (m->inside[w])
                cost += HOP_PRICE * m->depth[w];
            if (cost >= m->distance[w] || cost >= far)
                continue;
            if (graph->role[w]) {
                if (!is_free_end(m, w, child, g, asked))
                    continue;
                best = w;
                far = cost;
            } else if (m->distance[w] == HUGE_VAL) {
                m->open[m->open_count++] = w;
            }
            m->distance[w] = cost;
            m->via[w] = arc;
        }
        if (!m->open_count)
            return best;
        for (int i = 1; i < m->open_count; i++)
            next = m->distance[m->open[i]] < m->distance[m->open[next]] ? i : next;
        at = m->open[next];
        m->open[next] = m->open[--m->open_count];
        if (m->distance[at] >= far)
            return best;
    }
}

static int attach(maker *m, int child, int d, int g)
{
    const banyan_graph *graph = m->choice.graph;
    int hub = nearest(m, child, d, g, A_SLOT_TO_SPARE), length = 0;

    for (int asked = A_SLOT_TO_SPARE; hub < 0 && asked >= ANY_HUB; asked--)
        hub = nearest(m, child, d, -1, asked);
    if (hub < 0)
        return 0;
    m->choice.slots[hub]--;
    m->room[m->choice.group[hub]]--;
    m->room[m->choice.group[child]]++;
    m->depth[child] = m->depth[hub] + 1;
    banyan_trees_add_edge(&m->trees, d ? hub : child, d ? child : hub);
    for (int v = hub; v != child; v = d ? graph->arcs[m->via[v]].dst : graph->arcs[m->via[v]].src)
        m->way[length++] = m->via[v];
    for (int i = 0; i < length; i++) {
        int arc = m->way[d ? i : length - 1 - i];

        banyan_trees_add_arc(&m->trees, arc);
        m->load[arc] += m->choice.weight;
        set_price(m, arc);
    }
    return 1;
}

static void sort_hubs(maker *m, int root)
{
    for (int i = 1; i < m->choice.hub_count; i++) {
        int v = m->choice.hubs[i], j = i;

        for (; j > 0 && (v == root || (m->choice.hubs[j - 1] != root &&
                                       m->choice.slots[m->choice.hubs[j - 1]] < m->choice.slots[v]));
             j--)
            m->choice.hubs[j] = m->choice.hubs[j - 1];
        m->choice.hubs[j] = v;
    }
}

static void find_room(maker *m, int root)
{
    const banyan_hub_choice *choice = &m->choice;
    const banyan_graph *graph = choice->graph;

    memset(m->room, 0, (size_t)choice->group_count * sizeof(int));
    for (int i = 0; i < graph->active_count; i++)
        m->room[choice->group[graph->active[i]]] -= graph->active[i] != root;
    for (int j = 0; j < choice->hub_count; j++) {
        int v = choice->hubs[j];

        m->room[choice->group[v]] += choice->slots[v] - (v != root && !(graph->role[v] & BANYAN_NODE_ACTIVE));
    }
}

static int make_tree(maker *m, int root, int d)
{
    const banyan_hub_choice *choice = &m->choice;
    const banyan_graph *graph = choice->graph;

    banyan_hub_choice_make(&m->choice, root, d);
    sort_hubs(m, root);
    find_room(m, root);
    for (int i = 0; i < graph->arc_count; i++)
        set_price(m, i);
    memset(m->inside, 0, (size_t)graph->node_count);
    banyan_trees_begin(&m->trees);
    m->inside[root] = 1;
    m->depth[root] = 0;
    for (int j = 1; j < choice->hub_count; j++) {
        if (!attach(m, choice->hubs[j], d, -1))
            return 0;
        m->inside[choice->hubs[j]] = 1;
    }
    for (int i = 0; i < graph->active_count; i++) {
        int v = graph->active[i], g = choice->group[v];

        if (!choice->is_hub[v] && !attach(m, v, d, g == graph->node_count ? -1 : g))
            return 0;
    }
    return 1;
}

static banyan_status make_trees(maker *m, int *whole, banyan_error *err)
{
    *whole = 1;
    for (int k = 0; *whole && k < m->pair_count; k++) {
        banyan_hub_choice_next(&m->choice);
        m->root[2 * k] = m->root[2 * k + 1] = banyan_hub_choice_root(&m->choice);
        for (int d = 0; d < 2 && *whole; d++)
            *whole = make_tree(m, m->root[2 * k], d);
        m->placed += m->choice.weight;
    }
    return m->trees.failed ? banyan_fail_memory(err) : BANYAN_SUCCESS;
}

banyan_status banyan_hub_pairs_find(const banyan_graph *graph, const banyan_hub_pairs_problem *problem,
                                    banyan_pair_packing *packing, banyan_error *err)
{
    double rate = fmax(AIM * packing->bound_value, AIM_MARGIN * problem->enough);
    double whole_hubs = banyan_hub_pairs_whole(graph, rate, problem->pair_limit);
    maker m = {.choice = {.graph = graph, .rate = whole_hubs, .weight = whole_hubs / problem->pair_limit},
               .pair_count = problem->pair_limit};
    banyan_rebalance_problem rebalanced = {.aim = whole_hubs,
                                           .enough =
                                               whole_hubs < rate ? WHOLE_SHARE * whole_hubs : problem->enough,
                                           .turn_limit = MAX_TURNS,
                                           .more_hops = MORE_HOPS};
    double total = 0, *weight = banyan_alloc((size_t)m.pair_count, sizeof *weight);
    int whole = 0;
    banyan_status status = weight ? maker_init(&m, err) : banyan_fail_memory(err);

    if (!status)
        status = make_trees(&m, &whole, err);
    for (int k = 0; weight && k < m.pair_count; k++)
        weight[k] = m.choice.weight;
    if (!status && whole)
        status = banyan_rebalance(graph, &rebalanced, &m.trees, m.root, weight, &total, err);
    if (!status && total > 0) {
        status = banyan_pair_tools_hand_over(packing, &m.trees, &m.root, weight, err);
        packing->total = total;
    }
    maker_fini(&m);
    banyan_free(weight);
    return status;
}
