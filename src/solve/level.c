/* SPDX-License-Identifier: Apache-2.0 */
/* solve/level.c: local search on trees whose edges are single cables.
 *
 *          r            v leaves the full cable to its parent; any other cable between what hangs below v and
 *         / \           the rest of the tree can take its place:  s - - t  here. The part is then hung up at
 *        o   t          s, if that is not too deep. Of all trees on the fullest cable the first whose move makes
 *     x  |    .         no other cable too full goes, heavy ones first; else the one that lowers the sum of load
 *        v     .        squared over capacity the most, or at least does not raise it.
 *       / \   .
 *      o   s .
 *
 * Nodes of a tree are kept in the order of a walk from parents to children, so what hangs below v is a stretch
 * of it, and mostly a short one: a trial costs some hundred instructions. A move numbers its tree anew, O(V). */
#include "solve/level.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"

#define LEAST_GAIN 1e-6  /* of what leaving the cable gains */
#define FAR_TOO_FULL 2.0 /* times as full as usual: such a cable must be left */
#define SLIP 1e-4        /* the same: what a step aside may lose */

typedef struct {
    const banyan_graph *graph;
    const banyan_level_problem *problem;
    int node_count;
    int *parent, *via;           /* the caller's: [tree * node_count + v] */
    int *depth, *place, *size;   /* place: in the order; size: of what hangs below, with the node */
    int *height, *second, *heir; /* the two longest ways down, and the child that the longest begins with */
    int *order, *deepest;        /* order: [tree * node_count + place]; deepest: per tree */
    int *child, *next, *stack;   /* scratch */
    int *cable, cable_count, *heavy; /* cables; trees, heaviest first */
    int *to, *by;                    /* as graph->out_arc: where the arc leads, and its cable */
    double *load;                    /* per cable's arc */
    double *inverse;                 /* per cable's arc: 1 / capacity */
    int depth_limit;
    unsigned char *vain; /* per cable's arc: tried in this season */
} leveller;

/* A step aside does not lower the sum, but what made one cable too full is then on another, where more may be
 * possible. In one season no cable is met by it twice. */
typedef enum { STUCK, ASIDE, BETTER } step;

/* A way to take a tree off a cable: what hangs below top is hung by arc, which leads from that part to the rest. */
typedef struct {
    int tree, top, arc;
    double change; /* of the sum */
    step kind;
} move;

static void leveller_fini(leveller *l)
{
    banyan_free(l->depth);
    banyan_free(l->place);
    banyan_free(l->size);
    banyan_free(l->height);
    banyan_free(l->second);
    banyan_free(l->heir);
    banyan_free(l->order);
    banyan_free(l->deepest);
    banyan_free(l->child);
    banyan_free(l->next);
    banyan_free(l->stack);
    banyan_free(l->cable);
    banyan_free(l->heavy);
    banyan_free(l->to);
    banyan_free(l->by);
    banyan_free(l->load);
    banyan_free(l->inverse);
    banyan_free(l->vain);
}

static banyan_status leveller_init(leveller *l, const banyan_graph *graph,
                                   const banyan_level_problem *problem, banyan_error *err)
{
    size_t nodes = (size_t)graph->node_count, trees = (size_t)problem->tree_count, cells = nodes * trees,
           arcs = (size_t)graph->arc_count;

    l->graph = graph;
    l->problem = problem;
    l->node_count = graph->node_count;
    l->depth = banyan_alloc(cells, sizeof(int));
    l->place = banyan_alloc(cells, sizeof(int));
    l->size = banyan_alloc(cells, sizeof(int));
    l->height = banyan_alloc(cells, sizeof(int));
    l->second = banyan_alloc(cells, sizeof(int));
    l->heir = banyan_alloc(cells, sizeof(int));
    l->order = banyan_alloc(cells, sizeof(int));
    l->deepest = banyan_alloc(trees, sizeof(int));
    l->child = banyan_alloc(nodes, sizeof(int));
    l->next = banyan_alloc(nodes, sizeof(int));
    l->stack = banyan_alloc(nodes, sizeof(int));
    l->cable = banyan_alloc(arcs, sizeof(int));
    l->heavy = banyan_alloc(trees, sizeof(int));
    l->to = banyan_alloc(arcs, sizeof(int));
    l->by = banyan_alloc(arcs, sizeof(int));
    l->load = banyan_alloc(arcs, sizeof(double));
    l->inverse = banyan_alloc(arcs, sizeof(double));
    l->vain = banyan_alloc(arcs, 1);
    if (!l->depth || !l->place || !l->size || !l->height || !l->second || !l->heir || !l->order ||
        !l->deepest || !l->child || !l->next || !l->stack || !l->cable || !l->heavy || !l->load || !l->vain ||
        !l->to || !l->by || !l->inverse)
        return banyan_fail_memory(err);
    for (int i = 0; i < graph->arc_count; i++) {
        if (banyan_graph_cable(graph, i) == i)
            l->cable[l->cable_count++] = i;
        l->to[i] = graph->arcs[graph->out_arc[i]].dst;
        l->by[i] = banyan_graph_cable(graph, graph->out_arc[i]);
        l->inverse[i] = 1 / (double)graph->arcs[i].capacity;
    }
    return BANYAN_SUCCESS;
}

/* Everything that is known of a tree, from its parents. */
static void number_tree(leveller *l, int tree)
{
    size_t first = (size_t)tree * (size_t)l->node_count;
    const int *parent = l->parent + first;
    int *depth = l->depth + first, *place = l->place + first, *size = l->size + first;
    int *height = l->height + first, *second = l->second + first, *heir = l->heir + first;
    int *order = l->order + first, count = 0, at = 0;

    memset(l->child, -1, (size_t)l->node_count * sizeof(int));
    for (int v = l->node_count - 1; v >= 0; v--) {
        size[v] = 1;
        height[v] = second[v] = 0;
        heir[v] = -1;
        if (parent[v] >= 0) {
            l->next[v] = l->child[parent[v]];
            l->child[parent[v]] = v;
        } else {
            l->stack[count++] = v;
        }
    }
    while (count) {
        int v = l->stack[--count];

        depth[v] = parent[v] < 0 ? 0 : depth[parent[v]] + 1;
        place[v] = at;
        order[at++] = v;
        for (int c = l->child[v]; c >= 0; c = l->next[c])
            l->stack[count++] = c;
    }
    for (int i = l->node_count - 1; i > 0; i--) {
        int v = order[i], above = parent[v], way = height[v] + 1;

        size[above] += size[v];
        if (way > height[above]) {
            second[above] = height[above];
            height[above] = way;
            heir[above] = v;
        } else if (way > second[above]) {
            second[above] = way;
        }
    }
    l->deepest[tree] = height[order[0]];
}

/* The root moves down the longest way until that is no longer than the second by more than a hop. */
static void centre_tree(leveller *l, int tree)
{
    size_t first = (size_t)tree * (size_t)l->node_count;
    int *parent = l->parent + first, *via = l->via + first, root, steps;

    number_tree(l, tree);
    root = l->order[first];
    steps = (l->height[first + (size_t)root] - l->second[first + (size_t)root]) / 2;
    if (!steps)
        return;
    for (; steps; steps--) {
        int heir = l->heir[first + (size_t)root];

        parent[root] = heir;
        via[root] = via[heir];
        parent[heir] = via[heir] = -1;
        root = heir;
    }
    number_tree(l, tree);
}

/* Hops from u to the farthest node of the part below top, were u its root. */
static int reach_in_part(const leveller *l, size_t first, int u, int top)
{
    const int *parent = l->parent + first, *height = l->height + first;
    int reach = height[u], up = 0;

    for (int v = u; v != top; v = parent[v]) {
        int above = parent[v],
            aside = l->heir[first + (size_t)above] == v ? l->second[first + (size_t)above] : height[above];

        up++;
        reach = up + aside > reach ? up + aside : reach;
    }
    return reach;
}

/* What the sum of load squared over capacity gains when weight is added to the cable (taken off: below 0). */
static double added(const leveller *l, int cable, double weight)
{
    return weight * (2 * l->load[cable] + weight) * l->inverse[cable];
}

/* The best way to hang what is below top, with its cable, elsewhere; fits: the cable it takes is not too full. */
static int find_place(const leveller *l, int tree, int top, int cable, move *best, int *fits)
{
    const banyan_graph *graph = l->graph;
    size_t first = (size_t)tree * (size_t)l->node_count;
    const int *place = l->place + first, *order = l->order + first;
    int begin = place[top], end = begin + l->size[first + (size_t)top], found = 0;
    int limit = l->deepest[tree] > l->depth_limit ? l->deepest[tree] : l->depth_limit;
    double weight = l->problem->weight[tree], off = added(l, cable, -weight);

    for (int i = begin; i < end; i++) {
        int u = order[i], reach = -1;

        for (int j = graph->out_first[u]; j < graph->out_first[u + 1]; j++) {
            int w = l->to[j], other = l->by[j];
            double change;
            step kind;

            if ((place[w] >= begin && place[w] < end) || other == cable)
                continue;
            change = off + added(l, other, weight);
            kind = change < LEAST_GAIN * off                 ? BETTER
                   : change < -SLIP * off && !l->vain[other] ? ASIDE
                                                             : STUCK;
            if (change >= best->change || kind == STUCK)
                continue;
            if (reach < 0)
                reach = reach_in_part(l, first, u, top);
            if (l->depth[first + (size_t)w] + 1 + reach > limit)
                continue;
            *best = (move){tree, top, graph->out_arc[j], change, kind};
            *fits = (l->load[other] + weight) * l->inverse[other] <= l->problem->enough;
            found = 1;
        }
    }
    return found;
}

static void make(leveller *l, const move *m)
{
    size_t first = (size_t)m->tree * (size_t)l->node_count;
    int *parent = l->parent + first, *via = l->via + first;
    int v = l->graph->arcs[m->arc].src, above = l->graph->arcs[m->arc].dst;
    int by = banyan_graph_cable(l->graph, m->arc);
    double weight = l->problem->weight[m->tree];

    l->load[via[m->top]] -= weight;
    l->load[by] += weight;
    for (;;) { /* parents from the new joint up to the old one turn round */
        int next = parent[v], next_via = via[v];

        parent[v] = above;
        via[v] = by;
        if (v == m->top)
            break;
        above = v;
        by = next_via;
        v = next;
    }
    centre_tree(l, m->tree);
}

/* One move off the cable. */
static step relieve(leveller *l, int cable)
{
    int a = l->graph->arcs[cable].src, b = l->graph->arcs[cable].dst;
    move best = {-1, -1, -1, HUGE_VAL, STUCK};

    for (int i = 0; i < l->problem->tree_count; i++) {
        int tree = l->heavy[i], fits = 0, top;
        const int *via = l->via + (size_t)tree * (size_t)l->node_count;

        if (via[a] != cable && via[b] != cable)
            continue;
        top = via[a] == cable ? a : b;
        if (find_place(l, tree, top, cable, &best, &fits) && fits)
            break;
    }
    if (best.kind != STUCK)
        make(l, &best);
    return best.kind;
}

static double share_of(const leveller *l, int cable)
{
    return l->load[cable] * l->inverse[cable];
}

static int would_be_far_too_full(const leveller *l, int cable, double weight)
{
    return (l->load[cable] + weight) * l->inverse[cable] > FAR_TOO_FULL * l->problem->usual;
}

/* Hops from the root over cables that can bear the weight, in l->next, and the nodes in that order in l->stack.
 * 0: some cannot be reached. */
static int spread(leveller *l, int root, double weight)
{
    int count = 1;

    memset(l->next, -1, (size_t)l->node_count * sizeof(int));
    l->next[root] = 0;
    l->stack[0] = root;
    for (int i = 0; i < count; i++)
        for (int v = l->stack[i], j = l->graph->out_first[v]; j < l->graph->out_first[v + 1]; j++)
            if (l->next[l->to[j]] < 0 && !would_be_far_too_full(l, l->by[j], weight)) {
                l->next[l->to[j]] = l->next[v] + 1;
                l->stack[count++] = l->to[j];
            }
    return count == l->node_count;
}

/* The tree anew from its root, as shallow as can be, over the emptiest cables. 0: that cannot be. */
static int regrow(leveller *l, int tree)
{
    size_t first = (size_t)tree * (size_t)l->node_count;
    int *parent = l->parent + first, *via = l->via + first;
    double weight = l->problem->weight[tree];

    if (!spread(l, l->order[first], weight))
        return 0;
    for (int i = 1; i < l->node_count; i++) {
        int v = l->stack[i], best = -1;

        l->load[via[l->order[first + (size_t)i]]] -= weight;
        for (int j = l->graph->out_first[v]; j < l->graph->out_first[v + 1]; j++)
            if (l->next[l->to[j]] == l->next[v] - 1 && !would_be_far_too_full(l, l->by[j], weight) &&
                (best < 0 || share_of(l, l->by[j]) < share_of(l, l->by[best])))
                best = j;
        l->depth[first + (size_t)v] = best; /* for now */
    }
    for (int i = 1; i < l->node_count; i++) {
        int v = l->stack[i], slot = l->depth[first + (size_t)v];

        parent[v] = l->to[slot];
        via[v] = l->by[slot];
        l->load[via[v]] += weight;
    }
    centre_tree(l, tree);
    return 1;
}

/* Trees that no exchange of a single cable takes off this one without making them too deep. */
static int regrow_users(leveller *l, int cable)
{
    int a = l->graph->arcs[cable].src, b = l->graph->arcs[cable].dst, done = 0;

    for (int t = 0; t < l->problem->tree_count; t++) {
        const int *via = l->via + (size_t)t * (size_t)l->node_count;

        if (via[a] == cable || via[b] == cable)
            done += regrow(l, t);
    }
    return done;
}

/* The fullest of all cables, and of those that may yet be relieved in this season (-1: none). */
static double find_fullest(const leveller *l, int *at, int *untried)
{
    double fullest = 0, most = l->problem->usual;

    *at = *untried = -1;
    for (int i = 0; i < l->cable_count; i++) {
        int cable = l->cable[i];
        double share = share_of(l, cable);

        if (share > fullest) {
            fullest = share;
            *at = cable;
        }
        if (!l->vain[cable] && share > most) {
            most = share;
            *untried = cable;
        }
    }
    return fullest;
}

/* A cable that nothing can leave is tried again in the next season, when all others have been tried. A season in
 * which nothing got better lets trees be deeper. In the end trees that are still on a cable that cannot bear them
 * are grown anew. */
static double run(leveller *l)
{
    double fullest;
    long moves = 0, better = 0;

    l->depth_limit = l->problem->depth_limit;
    for (;;) {
        int cable, worst;

        fullest = find_fullest(l, &worst, &cable);
        if (fullest <= l->problem->enough || moves >= l->problem->move_limit)
            return fullest;
        if (cable < 0) {
            if (!better && l->depth_limit == l->problem->depth_most) {
                int grown = fullest > FAR_TOO_FULL * l->problem->usual ? regrow_users(l, worst) : 0;

                if (!grown)
                    return fullest;
                moves += grown;
            } else {
                l->depth_limit += !better;
            }
            better = 0;
            memset(l->vain, 0, (size_t)l->graph->arc_count);
        } else {
            step done = relieve(l, cable);

            l->vain[cable] = done != BETTER;
            better += done == BETTER;
            moves += done != STUCK;
        }
    }
}

/* Heaviest first; equal ones in their order. */
static void sort_trees(leveller *l)
{
    for (int t = 0; t < l->problem->tree_count; t++) {
        int at = t;

        for (; at > 0 && l->problem->weight[l->heavy[at - 1]] < l->problem->weight[t]; at--)
            l->heavy[at] = l->heavy[at - 1];
        l->heavy[at] = t;
    }
}

banyan_status banyan_level(const banyan_graph *graph, const banyan_level_problem *problem, int *parent,
                           int *via, double *fullest, banyan_error *err)
{
    leveller l = {.parent = parent, .via = via};
    banyan_status status = leveller_init(&l, graph, problem, err);

    if (!status) {
        sort_trees(&l);
        for (int t = 0; t < problem->tree_count; t++) {
            size_t first = (size_t)t * (size_t)graph->node_count;

            centre_tree(&l, t);
            for (int v = 0; v < graph->node_count; v++)
                if (parent[first + (size_t)v] >= 0)
                    l.load[via[first + (size_t)v]] += problem->weight[t];
        }
        *fullest = run(&l);
    }
    leveller_fini(&l);
    return status;
}
