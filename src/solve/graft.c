/* SPDX-License-Identifier: Apache-2.0 */
/* solve/graft.c: local search on trees with a direction that may branch at any node, active or not.
 *
 *        root              A branch over an arc that bears too much is cut off at the next node above that is active or has
 *        /  \              other branches: idle nodes between, which served it alone, leave the tree. Then it is
 *       A    i - - i       grafted on by the cheapest way to what is left of its tree, perhaps over other idle nodes,
 *       |x          \      which join. In every second round it may be joined by any of its nodes: then the way from there
 *       i            v     to its top turns round. Trees towards their roots are the same, backwards.
 *       |x
 *       v                  An arc's price grows exponentially with what it bears. That alone would level all arcs by
 * ways that are too long, for idle nodes let trees have more edges than need be. So prices learn: what is too full after a
 * round costs more from then on, and the others less, as the prices of a linear program would; with them, prices need
 * not be steep. And a part of each price is that of the proof, however little the arc bears. Where nearly all limits are held,
 * steep prices bring the rest to rest. Cost: a search for a shortest way an attempt, mostly a short one. */
#include "solve/graft.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"

#define STEEP 10         /* doublings of the price between an empty arc and a full one, */
#define FIRM_STEEP 200   /* and where nearly all limits are held */
#define PROOF 0.3        /* of the proof's price beside that of a full arc, however little it bears */
#define MOST 600         /* doublings, so that sums are still numbers, */
#define MOST_BY_TREE 300 /* and by one tree alone */
#define LEAST_GAIN 1e-3  /* of the old way's price */
#define NEARLY 0.95      /* of the limit: branches over arcs that bear more may move; firm: of all of it */
#define LEARN 5          /* doublings of an arc's base price a round for each limit that it bears too much, */
#define DEAREST 1e12     /* up to this, and down to its inverse */
#define ROUNDS 8
#define ROOT (-1)    /* in the place of the arc above a node: it has none, */
#define OUTSIDE (-2) /* or is not in the tree */

typedef enum { FREE, BRANCH, STOCK } side; /* not in the tree; below the cut; what is left */

typedef struct {
    const banyan_graph *graph;
    const banyan_rehang_problem *problem;
    int node_count, tree_count;
    int *above;    /* [tree * node_count + v]: the arc between v and the node above, or ROOT, or OUTSIDE */
    int *children; /* the same: how many are below v */
    int *back;     /* per arc: one in the other direction, or -1 */
    double *base;  /* per arc: what it costs when it is full, */
    double *proof; /* and what, besides, in any case */
    double steep;
    double *load;       /* per arc: what its users weigh */
    double *full;       /* per arc: 2^(steep (load / limit - 1)) */
    double *growth;     /* [pair * arc_count + arc]: by how many times a tree of the pair makes that more */
    double *price;      /* per arc, of one more user: the tree at hand, */
    const double *grow; /* of the pair growth */
    double weight;      /* which weighs so much */
    int towards;        /* and leads to its root */
    int *up;            /* its part of above, */
    int *below;         /* and of children */
    side *side;
    int *depth; /* per node of the stock, below the root; of the branch, below its top */
    double *distance;
    int *via, *hops; /* per node: by which arc it was reached, and over how many */
    int *open, open_count;
    int *line, line_count; /* nodes that lost their arc, from the branch's top upwards; and their arcs */
    int *cut;
} grafter;

static void grafter_fini(grafter *g)
{
    banyan_free(g->above);
    banyan_free(g->children);
    banyan_free(g->back);
    banyan_free(g->base);
    banyan_free(g->proof);
    banyan_free(g->load);
    banyan_free(g->full);
    banyan_free(g->growth);
    banyan_free(g->price);
    banyan_free(g->side);
    banyan_free(g->depth);
    banyan_free(g->distance);
    banyan_free(g->via);
    banyan_free(g->hops);
    banyan_free(g->open);
    banyan_free(g->line);
    banyan_free(g->cut);
}

static double weight_of(const grafter *g, int tree)
{
    return g->problem->weight ? g->problem->weight[tree] : 1;
}

/* The proof's prices have a say from the beginning, beside equal ones. */
static void set_base(grafter *g)
{
    const int64_t *price = g->problem->price;
    const double *limit = g->problem->limit;
    double sum = 0;

    for (int i = 0; price && i < g->graph->arc_count; i++)
        sum += (double)price[i] * limit[i] / g->graph->arc_count;
    for (int i = 0; i < g->graph->arc_count; i++) {
        double proof = sum > 0 ? (double)price[i] * limit[i] / sum : 0;

        g->base[i] = sum > 0 ? (1 + proof) / 2 : 1;
        g->proof[i] = PROOF * proof * g->steep * log(2) / limit[i];
        g->full[i] = exp2(-g->steep);
        for (int t = 0; t < g->tree_count; t += 2)
            g->growth[t / 2 * g->graph->arc_count + i] =
                exp2(fmin(MOST_BY_TREE, g->steep * weight_of(g, t) / limit[i])) - 1;
    }
}

static banyan_status grafter_init(grafter *g, banyan_error *err)
{
    size_t nodes = (size_t)g->node_count, arcs = (size_t)g->graph->arc_count,
           cells = nodes * (size_t)g->tree_count;

    g->above = banyan_alloc(cells, sizeof(int));
    g->children = banyan_alloc(cells, sizeof(int));
    g->back = banyan_alloc(arcs, sizeof(int));
    g->base = banyan_alloc(arcs, sizeof(double));
    g->proof = banyan_alloc(arcs, sizeof(double));
    g->load = banyan_alloc(arcs, sizeof(double));
    g->full = banyan_alloc(arcs, sizeof(double));
    g->growth = banyan_alloc(arcs * (size_t)(g->tree_count + 1) / 2, sizeof(double));
    g->price = banyan_alloc(arcs, sizeof(double));
    g->side = banyan_alloc(nodes, sizeof *g->side);
    g->depth = banyan_alloc(nodes, sizeof(int));
    g->distance = banyan_alloc(nodes, sizeof(double));
    g->via = banyan_alloc(nodes, sizeof(int));
    g->hops = banyan_alloc(nodes, sizeof(int));
    g->open = banyan_alloc(nodes, sizeof(int));
    g->line = banyan_alloc(nodes, sizeof(int));
    g->cut = banyan_alloc(nodes, sizeof(int));
    if (!g->above || !g->children || !g->back || !g->base || !g->proof || !g->load || !g->full ||
        !g->growth || !g->price || !g->side || !g->depth || !g->distance || !g->via || !g->hops || !g->open ||
        !g->line || !g->cut)
        return banyan_fail_memory(err);
    for (int i = 0; i < g->graph->arc_count; i++) {
        const banyan_arc *arc = &g->graph->arcs[i];

        g->back[i] = arc->twin;
        for (int j = g->graph->out_first[arc->dst]; g->back[i] < 0 && j < g->graph->out_first[arc->dst + 1];
             j++)
            if (g->graph->arcs[g->graph->out_arc[j]].dst == arc->src)
                g->back[i] = g->graph->out_arc[j];
    }
    g->steep = g->problem->is_firm ? FIRM_STEEP : STEEP;
    set_base(g);
    return BANYAN_SUCCESS;
}

/* The end of an arc that is nearer to the root of the tree at hand. */
static int upper_end(const grafter *g, int arc)
{
    return g->towards ? g->graph->arcs[arc].dst : g->graph->arcs[arc].src;
}

static int lower_end(const grafter *g, int arc)
{
    return g->towards ? g->graph->arcs[arc].src : g->graph->arcs[arc].dst;
}

static int is_idle(const grafter *g, int v)
{
    return !(g->graph->role[v] & BANYAN_NODE_ACTIVE);
}

/* Nothing but a way to the one node below. */
static int is_way(const grafter *g, int v)
{
    return is_idle(g, v) && g->up[v] >= 0 && g->below[v] == 1;
}

/* What the tree at hand adds to the sum of 2^(steep load / limit) over the arcs, and the proof's part. */
static void set_price(grafter *g, int arc)
{
    g->price[arc] = g->base[arc] * g->full[arc] * g->grow[arc] + g->proof[arc] * g->weight;
}

static void count(grafter *g, int arc, int more)
{
    g->load[arc] += more * g->weight;
    g->full[arc] = exp2(fmin(MOST, g->steep * (g->load[arc] / g->problem->limit[arc] - 1)));
    set_price(g, arc);
}

/* The tree is at hand now. */
static void take_up(grafter *g, int tree)
{
    g->towards = tree % 2 == 0;
    g->up = g->above + (size_t)tree * (size_t)g->node_count;
    g->below = g->children + (size_t)tree * (size_t)g->node_count;
    g->grow = g->growth + (size_t)(tree / 2) * (size_t)g->graph->arc_count;
    g->weight = weight_of(g, tree);
    for (int i = 0; i < g->graph->arc_count; i++)
        set_price(g, i);
}

static void join(grafter *g, int v, int arc)
{
    g->up[v] = arc;
    g->below[upper_end(g, arc)]++;
    count(g, arc, 1);
}

static void leave(grafter *g, int v)
{
    int arc = g->up[v];

    g->up[v] = OUTSIDE;
    g->below[upper_end(g, arc)]--;
    count(g, arc, -1);
}

/* Ways of several arcs may meet: of all arcs of a tree those remain by which each node is first reached from the root. */
static void take_tree(grafter *g, const banyan_trees *trees, int tree)
{
    size_t begin = banyan_trees_arcs_begin(trees, (size_t)tree),
           end = banyan_trees_arcs_close(trees, (size_t)tree);

    take_up(g, tree);
    for (int v = 0; v < g->node_count; v++)
        g->up[v] = OUTSIDE;
    g->up[g->problem->root[tree]] = ROOT;
    for (int found = 1; found;) {
        found = 0;
        for (size_t a = begin; a < end; a++) {
            int arc = trees->arcs[a], top = upper_end(g, arc), v = lower_end(g, arc);

            if (g->up[top] != OUTSIDE && g->up[v] == OUTSIDE) {
                join(g, v, arc);
                found = 1;
            }
        }
    }
    for (int v = 0; v < g->node_count; v++)
        for (int u = v; is_idle(g, u) && g->up[u] >= 0 && g->below[u] == 0;) {
            int top = upper_end(g, g->up[u]);

            leave(g, u);
            u = top;
        }
}

/* The branch of top comes off, with the way above it that served it alone; what that costs if it is put back. */
static double cut_off(grafter *g, int top)
{
    double cost = 0;

    g->line_count = 0;
    for (int v = top, is_more = 1; is_more;) {
        int arc = g->up[v], next = upper_end(g, arc);

        g->line[g->line_count] = v;
        g->cut[g->line_count++] = arc;
        is_more = is_way(g, next);
        leave(g, v);
        cost += g->price[arc];
        v = next;
    }
    return cost;
}

static void put_back(grafter *g)
{
    for (int i = g->line_count - 1; i >= 0; i--)
        join(g, g->line[i], g->cut[i]);
}

/* Sides and depths after a cut; returns the hops from the top to the farthest node below. */
static int mark_sides(grafter *g, int top)
{
    int deepest = 0;

    memset(g->side, 0, (size_t)g->node_count * sizeof *g->side);
    g->side[top] = BRANCH;
    g->depth[top] = 0;
    for (int v = 0; v < g->node_count; v++) {
        int u = v, hops = 0, depth;
        side mark;

        if (g->up[v] == OUTSIDE)
            continue;
        for (; !g->side[u] && g->up[u] >= 0; u = upper_end(g, g->up[u]))
            hops++;
        mark = g->side[u] ? g->side[u] : STOCK;
        depth = (g->side[u] ? g->depth[u] : 0) + hops;
        deepest = mark == BRANCH && depth > deepest ? depth : deepest;
        for (u = v; !g->side[u]; u = upper_end(g, g->up[u]), depth--) {
            g->side[u] = mark;
            g->depth[u] = depth;
            if (g->up[u] == ROOT)
                break;
        }
    }
    return deepest;
}

static void reach(grafter *g, int v, double distance, int via, int hops)
{
    if (g->distance[v] == HUGE_VAL)
        g->open[g->open_count++] = v;
    g->distance[v] = distance;
    g->via[v] = via;
    g->hops[v] = hops;
}

static int take_nearest(grafter *g)
{
    int next = 0, v;

    for (int i = 1; i < g->open_count; i++)
        next = g->distance[g->open[i]] < g->distance[g->open[next]] ? i : next;
    v = g->open[next];
    g->open[next] = g->open[--g->open_count];
    return v;
}

/* What the program of all prices gains when the tree at hand leaves the arc. */
static double refund(const grafter *g, int arc)
{
    return g->base[arc] * g->full[arc] * g->grow[arc] / (1 + g->grow[arc]) + g->proof[arc] * g->weight;
}

/* All nodes of the branch are where a way may begin; each at the price of turning round the way from there to the top. */
static void begin_everywhere(grafter *g, int top)
{
    for (int v = 0; v < g->node_count; v++) {
        double cost = 0;
        int u;

        if (g->side[v] != BRANCH || v == top)
            continue;
        for (u = v; u != top && g->back[g->up[u]] >= 0; u = upper_end(g, g->up[u]))
            cost += g->price[g->back[g->up[u]]] - refund(g, g->up[u]);
        if (u == top)
            reach(g, v, cost, -1, g->depth[v]);
    }
}

/* The cheapest way from the branch to the stock, at less than the cost, and not to where it would be too deep: its upper end, or
 * -1. */
static int find_end(grafter *g, int top, int everywhere, int most, double cost)
{
    const banyan_graph *graph = g->graph;
    const int *first = g->towards ? graph->out_first : graph->in_first,
              *arcs = g->towards ? graph->out_arc : graph->in_arc;

    for (int v = 0; v < g->node_count; v++)
        g->distance[v] = HUGE_VAL;
    g->open_count = 0;
    reach(g, top, 0, -1, 0);
    if (everywhere)
        begin_everywhere(g, top);
    while (g->open_count) {
        int v = take_nearest(g);
        double so_far = g->distance[v];

        if (so_far >= cost)
            break;
        if (g->side[v] == STOCK)
            return v;
        g->distance[v] = -HUGE_VAL; /* done: nothing is nearer */
        for (int i = first[v]; i < first[v + 1]; i++) {
            int arc = arcs[i], w = upper_end(g, arc);
            double sum = so_far + g->price[arc];

            if (g->side[w] == BRANCH || sum >= g->distance[w] || sum >= cost ||
                (g->side[w] == STOCK && g->depth[w] + g->hops[v] + 1 > most))
                continue;
            reach(g, w, sum, arc, g->hops[v] + 1);
        }
    }
    return -1;
}

/* Turns round the way from v up to the top of the branch, so that v is the top. */
static void turn_round(grafter *g, int v, int top)
{
    int length = 0;

    for (int u = v; u != top; u = upper_end(g, g->up[u])) {
        g->line[length] = u;
        g->cut[length++] = g->up[u];
    }
    for (int i = 0; i < length; i++)
        leave(g, g->line[i]);
    for (int i = length - 1; i >= 0; i--)
        join(g, i + 1 < length ? g->line[i + 1] : top, g->back[g->cut[i]]);
}

/* The branch is joined to the stock by the way that was found. */
static void graft(grafter *g, int top, int end)
{
    int v = end;

    while (g->side[v] != BRANCH) {
        int below = lower_end(g, g->via[v]);

        if (g->side[below] == BRANCH && below != top)
            turn_round(g, below, top);
        join(g, below, g->via[v]);
        v = below;
    }
}

/* Some arc by which the branch can be joined at its top costs less: else no way from there does. */
static int has_cheaper(const grafter *g, int top, double cost)
{
    const int *first = g->towards ? g->graph->out_first : g->graph->in_first,
              *arcs = g->towards ? g->graph->out_arc : g->graph->in_arc;

    for (int i = first[top]; i < first[top + 1]; i++)
        if (g->price[arcs[i]] < cost)
            return 1;
    return 0;
}

static void try_branch(grafter *g, int top, int everywhere)
{
    double cost = cut_off(g, top) * (1 - LEAST_GAIN);
    int end = -1;

    if (everywhere || has_cheaper(g, top, cost)) {
        int below = mark_sides(g, top);

        end = find_end(g, top, everywhere, g->problem->depth_limit - below, cost);
    }
    if (end < 0)
        put_back(g);
    else
        graft(g, top, end);
}

/* The way above v, as far as it serves v alone, is nearly full or more somewhere. */
static int is_over(const grafter *g, int v)
{
    double nearly = g->problem->is_firm ? 1 : NEARLY;

    do {
        int arc = g->up[v];

        if (g->load[arc] > nearly * g->problem->limit[arc])
            return 1;
        v = upper_end(g, arc);
    } while (is_way(g, v));
    return 0;
}

/* One round over all branches. */
static void sweep(grafter *g, int everywhere)
{
    for (int t = 0; t < g->tree_count; t++) {
        take_up(g, t);
        for (int v = 0; v < g->node_count; v++) {
            if (g->up[v] >= 0 && !is_way(g, v) && is_over(g, v))
                try_branch(g, v, everywhere);
        }
    }
}

static double find_fullest(const grafter *g)
{
    double fullest = 0;

    for (int i = 0; i < g->graph->arc_count; i++)
        fullest = fmax(fullest, g->load[i] / g->problem->limit[i]);
    return fullest;
}

/* What was too full in spite of its price gets dearer, and the rest cheaper. */
static void learn(grafter *g)
{
    for (int i = 0; i < g->graph->arc_count; i++) {
        double change = exp2(fmin(MOST, LEARN * (g->load[i] / g->problem->limit[i] - 1)));

        g->base[i] = fmax(1 / DEAREST, fmin(DEAREST, g->base[i] * change));
    }
}

/* An edge for each node but those on the ways of others. */
static void give_tree(grafter *g, int tree, banyan_trees *trees)
{
    banyan_trees_begin(trees);
    take_up(g, tree);
    for (int v = 0; v < g->node_count; v++) {
        int top = v, length = 0;

        if (g->up[v] < 0 || is_way(g, v))
            continue;
        do {
            g->line[length++] = g->up[top];
            top = upper_end(g, g->up[top]);
        } while (is_way(g, top));
        banyan_trees_add_edge(trees, g->towards ? v : top, g->towards ? top : v);
        for (int i = 0; i < length; i++)
            banyan_trees_add_arc(trees, g->line[g->towards ? i : length - 1 - i]);
    }
}

int banyan_graft_applies(const banyan_graph *graph)
{
    for (int v = 0; v < graph->node_count; v++)
        if (graph->out_first[v + 1] > graph->out_first[v] &&
            (!(graph->role[v] & BANYAN_NODE_ADDS) || !(graph->role[v] & BANYAN_NODE_COPIES)))
            return 0;
    return banyan_graph_has_helpers(graph) && !banyan_graph_is_dense(graph);
}

banyan_status banyan_graft(const banyan_graph *graph, const banyan_rehang_problem *problem,
                           banyan_trees *trees, double *fullest, banyan_error *err)
{
    grafter g = {.graph = graph,
                 .problem = problem,
                 .node_count = graph->node_count,
                 .tree_count = (int)trees->tree_count};
    banyan_trees better;
    banyan_status status = grafter_init(&g, err);

    banyan_trees_init(&better);
    for (int t = 0; !status && t < g.tree_count; t++)
        take_tree(&g, trees, t);
    for (int round = 0; !status && round < ROUNDS && find_fullest(&g) > 1; round++) {
        sweep(&g, round % 2);
        learn(&g);
    }
    for (int t = 0; !status && t < g.tree_count; t++)
        give_tree(&g, t, &better);
    if (!status && better.failed)
        status = banyan_fail_memory(err);
    if (!status) {
        *fullest = find_fullest(&g);
        banyan_trees_fini(trees);
        *trees = better;
    } else {
        banyan_trees_fini(&better);
    }
    grafter_fini(&g);
    return status;
}
