/* SPDX-License-Identifier: Apache-2.0 */
/* solve/round/branch_trees.c: trees as arcs above nodes, what arcs bear, and what they cost the current tree.
 * An arc's price grows exponentially with what it bears; a part of it is that of the proof, however little
 * that is. */
#include <math.h>

#include "solve/round/branch_parts.h"

#define STEEP 10       /* doublings of the price between an empty arc and a full one */
#define FIRM_STEEP 200 /* the same where nearly all arcs keep to their limits already */
/* weight of the proof's price beside that of a full arc, however little the arc bears */
#define PROOF 0.3
#define KEPT 0.75 /* power to which learned prices are raised for the next time: the rest is forgotten */
/* doublings of a price by one tree alone: the other half is for the rest of the load */
#define MAX_BY_TREE (BANYAN_GRAFT_MOST / 2)

void banyan_branch_mover_fini(banyan_branch_mover *g)
{
    banyan_scratch_free(&g->memory);
}

/* The proof's prices have a say from the beginning, beside equal ones, and then those that were learned. */
static void set_base(banyan_branch_mover *g)
{
    const int64_t *price = g->problem->price;
    const double *limit = g->problem->limit;
    double sum = 0;

    for (int i = 0; price && i < g->graph->arc_count; i++)
        sum += (double)price[i] * limit[i] / g->graph->arc_count;
    for (int i = 0; i < g->graph->arc_count; i++) {
        double proof = sum > 0 ? (double)price[i] * limit[i] / sum : 0;

        g->base[i] = g->problem->learned && g->problem->learned[i] > 0 ? pow(g->problem->learned[i], KEPT)
                     : sum > 0                                         ? (1 + proof) / 2
                                                                       : 1;
        g->proof[i] = PROOF * proof * g->steep * log(2) / limit[i];
        g->full[i] = exp2(-g->steep);
        for (int t = 0; t < g->tree_count; t += 2)
            g->growth[t / 2 * g->graph->arc_count + i] =
                exp2(fmin(MAX_BY_TREE, g->steep * banyan_branch_moves_weight(g, t) / limit[i])) - 1;
    }
}

static void sort_pairs(banyan_branch_mover *g)
{
    for (int k = 0; k < g->tree_count / 2; k++) {
        int at = k;

        for (; at > 0 &&
               banyan_branch_moves_weight(g, 2 * g->by_weight[at - 1]) < banyan_branch_moves_weight(g, 2 * k);
             at--)
            g->by_weight[at] = g->by_weight[at - 1];
        g->by_weight[at] = k;
    }
}

banyan_status banyan_branch_mover_init(banyan_branch_mover *g, banyan_error *err)
{
    size_t nodes = (size_t)g->node_count, arcs = (size_t)g->graph->arc_count,
           cells = nodes * (size_t)g->tree_count;

    g->above = banyan_scratch_take(&g->memory, cells, sizeof(int));
    g->children = banyan_scratch_take(&g->memory, cells, sizeof(int));
    g->back = banyan_scratch_take(&g->memory, arcs, sizeof(int));
    g->base = banyan_scratch_take(&g->memory, arcs, sizeof(double));
    g->proof = banyan_scratch_take(&g->memory, arcs, sizeof(double));
    g->by_weight = banyan_scratch_take(&g->memory, (size_t)(g->tree_count + 1) / 2, sizeof(int));
    g->load = banyan_scratch_take(&g->memory, arcs, sizeof(double));
    g->full = banyan_scratch_take(&g->memory, arcs, sizeof(double));
    g->growth = banyan_scratch_take(&g->memory, arcs * (size_t)(g->tree_count + 1) / 2, sizeof(double));
    g->price = banyan_scratch_take(&g->memory, arcs, sizeof(double));
    g->branch = banyan_scratch_take(&g->memory, nodes, sizeof(int));
    g->depth = banyan_scratch_take(&g->memory, nodes, sizeof(int));
    g->turning = banyan_scratch_take(&g->memory, nodes, sizeof(double));
    g->is_branch = banyan_scratch_take(&g->memory, nodes, 1);
    g->distance = banyan_scratch_take(&g->memory, nodes, sizeof(double));
    g->via = banyan_scratch_take(&g->memory, nodes, sizeof(int));
    g->hops = banyan_scratch_take(&g->memory, nodes, sizeof(int));
    g->open = banyan_scratch_take(&g->memory, nodes, sizeof(int));
    g->met = banyan_scratch_take(&g->memory, nodes, sizeof(int));
    g->line = banyan_scratch_take(&g->memory, nodes, sizeof(int));
    g->cut = banyan_scratch_take(&g->memory, nodes, sizeof(int));
    if (g->memory.failed)
        return banyan_fail_memory(err);
    for (int i = 0; i < g->graph->arc_count; i++) {
        const banyan_arc *arc = &g->graph->arcs[i];

        g->back[i] = arc->twin;
        for (int j = g->graph->out_first[arc->dst]; g->back[i] < 0 && j < g->graph->out_first[arc->dst + 1];
             j++)
            if (g->graph->arcs[g->graph->out_arc[j]].dst == arc->src)
                g->back[i] = g->graph->out_arc[j];
    }
    for (int v = 0; v < g->node_count; v++)
        g->distance[v] = HUGE_VAL;
    g->steep = g->problem->is_firm ? FIRM_STEEP : STEEP;
    set_base(g);
    sort_pairs(g);
    return BANYAN_SUCCESS;
}

/* What the current tree adds to the sum of 2^(steep load / limit) over the arcs, and the proof's part. */
static void set_price(banyan_branch_mover *g, int arc)
{
    g->price[arc] = g->base[arc] * g->full[arc] * g->grow[arc] + g->proof[arc] * g->weight;
}

static void count(banyan_branch_mover *g, int arc, int more)
{
    banyan_branch_moves_add_load(g, arc, more * g->weight);
    set_price(g, arc);
}

void banyan_branch_moves_face(banyan_branch_mover *g, int towards)
{
    const banyan_graph *graph = g->graph;

    g->towards = towards;
    g->up_first = towards ? graph->out_first : graph->in_first;
    g->up_arc = towards ? graph->out_arc : graph->in_arc;
    g->down_first = towards ? graph->in_first : graph->out_first;
    g->down_arc = towards ? graph->in_arc : graph->out_arc;
}

void banyan_branch_moves_take_up(banyan_branch_mover *g, int tree)
{
    banyan_branch_moves_face(g, tree % 2 == 0);
    g->up = g->above + (size_t)tree * (size_t)g->node_count;
    g->below = g->children + (size_t)tree * (size_t)g->node_count;
    g->grow = g->growth + (size_t)(tree / 2) * (size_t)g->graph->arc_count;
    g->weight = banyan_branch_moves_weight(g, tree);
    for (int i = 0; i < g->graph->arc_count; i++)
        set_price(g, i);
}

void banyan_branch_moves_join(banyan_branch_mover *g, int v, int arc)
{
    g->up[v] = arc;
    g->below[banyan_branch_moves_upper(g, arc)]++;
    count(g, arc, 1);
}

void banyan_branch_moves_leave(banyan_branch_mover *g, int v)
{
    int arc = g->up[v];

    g->up[v] = BANYAN_GRAFT_OUTSIDE;
    g->below[banyan_branch_moves_upper(g, arc)]--;
    count(g, arc, -1);
}

void banyan_branch_moves_drop(banyan_branch_mover *g, int v)
{
    while (banyan_branch_moves_is_idle(g, v) && g->up[v] >= 0 && g->below[v] == 0) {
        int next = banyan_branch_moves_upper(g, g->up[v]);

        banyan_branch_moves_leave(g, v);
        v = next;
    }
}

int banyan_branch_moves_climb(const banyan_branch_mover *g, const int *up, int u, int v)
{
    int hops = 0;

    for (; u != v; u = banyan_branch_moves_upper(g, up[u]), hops++)
        if (up[u] < 0)
            return hops;
    return -1;
}

int banyan_branch_moves_height(const banyan_branch_mover *g, const int *up, const int *below, int v)
{
    int most = 0;

    for (int j = g->down_first[v], left = below[v]; left && j < g->down_first[v + 1]; j++) {
        int w = banyan_branch_moves_lower(g, g->down_arc[j]), hops;

        if (up[w] != g->down_arc[j])
            continue;
        hops = 1 + banyan_branch_moves_height(g, up, below, w);
        most = hops > most ? hops : most;
        left--;
    }
    return most;
}

void banyan_branch_moves_take_tree(banyan_branch_mover *g, const banyan_trees *trees, int tree)
{
    size_t begin = banyan_trees_arcs_begin(trees, (size_t)tree),
           end = banyan_trees_arcs_close(trees, (size_t)tree);

    banyan_branch_moves_take_up(g, tree);
    for (int v = 0; v < g->node_count; v++)
        g->up[v] = BANYAN_GRAFT_OUTSIDE;
    g->up[g->problem->root[tree]] = BANYAN_GRAFT_ROOT;
    for (int found = 1; found;) {
        found = 0;
        for (size_t a = begin; a < end; a++) {
            int arc = trees->arcs[a], top = banyan_branch_moves_upper(g, arc),
                v = banyan_branch_moves_lower(g, arc);

            if (g->up[top] != BANYAN_GRAFT_OUTSIDE && g->up[v] == BANYAN_GRAFT_OUTSIDE) {
                banyan_branch_moves_join(g, v, arc);
                found = 1;
            }
        }
    }
    for (int v = 0; v < g->node_count; v++)
        banyan_branch_moves_drop(g, v);
}

void banyan_branch_moves_give_tree(banyan_branch_mover *g, int tree, banyan_trees *trees)
{
    banyan_trees_begin(trees);
    banyan_branch_moves_take_up(g, tree);
    for (int v = 0; v < g->node_count; v++) /* swaps leave idle nodes without children */
        banyan_branch_moves_drop(g, v);
    for (int v = 0; v < g->node_count; v++) {
        int top = v, length = 0;

        if (g->up[v] < 0 || banyan_branch_moves_is_way(g, v))
            continue;
        do {
            g->line[length++] = g->up[top];
            top = banyan_branch_moves_upper(g, g->up[top]);
        } while (banyan_branch_moves_is_way(g, top));
        banyan_trees_add_edge(trees, g->towards ? v : top, g->towards ? top : v);
        for (int i = 0; i < length; i++)
            banyan_trees_add_arc(trees, g->line[g->towards ? i : length - 1 - i]);
    }
}
