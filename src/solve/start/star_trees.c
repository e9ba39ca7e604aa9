/* SPDX-License-Identifier: Apache-2.0 */
/* solve/start/star_trees.c: in a network in which idle nodes have cables to most active ones, their best use
 * is to be the middle of stars: n cables for n active nodes, one more than a tree without them takes.
 *
 *      a   b             each idle node in the middle of a star as heavy as its narrowest cable, where nodes
 *       \ /              without a cable to it hang elsewhere; then trees over what is left of the idle
 *        h               nodes' cables, one by one, the widest cables first; what is left of the cables
 *       / \              between active nodes is for spanning trees, which the strength of that part counts.
 *      c   d             Often that is the optimum, as where all pairs of some machines' GPUs are cabled.
 *
 *
 * Cost: a tree search for each tree. */
#include "solve/start/star_trees.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "solve/cut/strength.h"
#include "solve/oracle/steiner_heuristic.h"

#define LEAST 1e-3                /* of what has been packed: lighter trees are not taken */
#define MOST 0.75                 /* of the active nodes an idle one must have cables to */
#define LEFT_OVER 0.5             /* of a tree's cables may be between active nodes */
#define MOST_TREES 256            /* beside the stars */
#define WIDEST_COST 1e4           /* of the widest cable, the square of which grows as cables get narrower; */
#define AWAY 64                   /* times as expensive: cables between active nodes */
#define CLOSED ((int64_t)1 << 40) /* and of one that is not to be used */

typedef struct {
    const banyan_graph *graph;
    banyan_star_trees *stars;
    double *left; /* per arc */
    int64_t *cost;
    size_t weight_capacity;
} maker;

static int is_active(const banyan_graph *graph, int v)
{
    return graph->role[v] & BANYAN_NODE_ACTIVE;
}

/* The cables between active nodes, as wide as is left of them. */
static banyan_status part_active(const banyan_graph *graph, const double *left, banyan_graph **out,
                                 banyan_error *err)
{
    size_t arcs = (size_t)graph->arc_count;
    int *src = banyan_alloc(arcs, sizeof(int)), *dst = banyan_alloc(arcs, sizeof(int)),
        *link = banyan_alloc(arcs, sizeof(int));
    double *capacity = banyan_alloc(arcs, sizeof(double));
    banyan_graph_input input = {graph->node_count, graph->role, 0, src, dst, capacity, link};
    banyan_status status = src && dst && link && capacity ? BANYAN_SUCCESS : banyan_fail_memory(err);

    for (int i = 0; !status && i < graph->arc_count; i++) {
        const banyan_arc *arc = &graph->arcs[i];

        if (!is_active(graph, arc->src) || !is_active(graph, arc->dst) || !(left[i] > 0))
            continue;
        src[input.arc_count] = arc->src;
        dst[input.arc_count] = arc->dst;
        link[input.arc_count] = arc->link;
        capacity[input.arc_count++] = graph->unit * left[i];
    }
    if (!status)
        status = banyan_graph_create(&input, out, err);
    banyan_free(src);
    banyan_free(dst);
    banyan_free(link);
    banyan_free(capacity);
    return status;
}

/* Whether the active nodes are connected in the graph. */
static int is_connected(const banyan_graph *graph, int *stack, unsigned char *seen)
{
    int count = 1, found = 1;

    stack[0] = graph->active[0];
    seen[graph->active[0]] = 1;
    while (count) {
        int v = stack[--count];

        for (int i = graph->out_first[v]; i < graph->out_first[v + 1]; i++) {
            int w = graph->arcs[graph->out_arc[i]].dst;

            if (seen[w])
                continue;
            seen[w] = 1;
            stack[count++] = w;
            found++;
        }
    }
    return found == graph->active_count;
}

/* Every idle node has cables to most active ones. */
static int has_stars(const banyan_graph *graph)
{
    for (int v = 0; v < graph->node_count; v++) {
        int count = 0;

        for (int i = graph->out_first[v]; i < graph->out_first[v + 1]; i++)
            count += is_active(graph, graph->arcs[graph->out_arc[i]].dst) != 0;
        if (!is_active(graph, v) && graph->out_first[v] < graph->out_first[v + 1] &&
            count < MOST * graph->active_count)
            return 0;
    }
    return 1;
}

static banyan_status look(const banyan_graph *rest, int *good, banyan_error *err)
{
    int *stack = banyan_alloc((size_t)rest->node_count, sizeof *stack);
    unsigned char *seen = banyan_alloc((size_t)rest->node_count, 1);
    banyan_status status = stack && seen ? BANYAN_SUCCESS : banyan_fail_memory(err);

    *good = !status && is_connected(rest, stack, seen);
    banyan_free(stack);
    banyan_free(seen);
    return status;
}

/* The more expensive the less is left; cables between active nodes more often by this factor (0: they are
 * closed). */
static void set_costs(maker *m, int64_t factor)
{
    const banyan_graph *graph = m->graph;
    double widest = 0;

    for (int i = 0; i < graph->arc_count; i++)
        widest = fmax(widest, m->left[i]);
    for (int i = 0; i < graph->arc_count; i++) {
        double narrow = m->left[i] > 0 ? widest / m->left[i] : HUGE_VAL;
        int between = is_active(graph, graph->arcs[i].src) && is_active(graph, graph->arcs[i].dst);

        m->cost[i] =
            narrow < WIDEST_COST && (!between || factor) ? (int64_t)(WIDEST_COST * narrow * narrow) : CLOSED;
        if (between && m->cost[i] < CLOSED)
            m->cost[i] *= factor;
    }
}

/* A star at the idle node, as far as it has cables: they cost next to nothing; who has none hangs where there
 * is most left. */
static int add_star(maker *m, int v, banyan_steiner_heuristic *helpers)
{
    const banyan_graph *graph = m->graph;

    set_costs(m, AWAY);
    for (int i = 0; i < graph->arc_count; i++)
        if ((graph->arcs[i].src == v || graph->arcs[i].dst == v) && m->cost[i] < CLOSED)
            m->cost[i] =
                is_active(graph, graph->arcs[i].src) || is_active(graph, graph->arcs[i].dst) ? 1 : AWAY;
    return banyan_steiner_heuristic_tree(helpers, m->cost, &m->stars->trees) >= 0;
}

/* The latest tree takes all that its narrowest cable has left; if that is nothing, or it goes over other
 * cables, it goes. */
static banyan_status weigh_latest(maker *m, int *taken, banyan_error *err)
{
    banyan_trees *trees = &m->stars->trees;
    size_t tree = trees->tree_count - 1, begin;
    double weight = HUGE_VAL;
    int between = 0;

    if (trees->failed || !banyan_grow((void **)&m->stars->weight, tree, &m->weight_capacity, sizeof weight))
        return banyan_fail_memory(err);
    begin = banyan_trees_arcs_begin(trees, tree);
    for (size_t a = begin; a < trees->arc_count; a++) {
        const banyan_arc *arc = &m->graph->arcs[trees->arcs[a]];

        between += is_active(m->graph, arc->src) && is_active(m->graph, arc->dst);
        weight = fmin(weight, m->left[trees->arcs[a]]);
    }
    if (between > LEFT_OVER * m->graph->active_count)
        weight = 0;
    *taken = weight > LEAST * m->stars->total && weight > 0;
    if (!*taken) {
        banyan_trees_drop_last(trees);
        return BANYAN_SUCCESS;
    }
    for (size_t a = begin; a < trees->arc_count; a++) {
        m->left[trees->arcs[a]] -= weight;
        m->left[m->graph->arcs[trees->arcs[a]].twin] -= weight;
    }
    m->stars->weight[tree] = weight;
    m->stars->total += weight;
    return BANYAN_SUCCESS;
}

static banyan_status find_trees(maker *m, banyan_error *err)
{
    const banyan_graph *graph = m->graph;
    banyan_steiner_heuristic *helpers = NULL;
    banyan_status status = banyan_steiner_heuristic_create(graph, &helpers, err);
    int taken = 1;

    for (int v = 0; !status && v < graph->node_count; v++)
        if (!is_active(graph, v) && graph->out_first[v] < graph->out_first[v + 1]) {
            if (add_star(m, v, helpers) || m->stars->trees.failed)
                status = weigh_latest(m, &taken, err);
        }
    taken = 1;
    for (int i = 0; !status && taken && i < MOST_TREES; i++) {
        set_costs(m, AWAY);
        if (banyan_steiner_heuristic_tree(helpers, m->cost, &m->stars->trees) < 0)
            break;
        status = weigh_latest(m, &taken, err);
    }
    banyan_steiner_heuristic_destroy(helpers);
    return status;
}

banyan_status banyan_star_trees_find(const banyan_graph *graph, banyan_star_trees *out, int *good,
                                     banyan_error *err)
{
    maker m = {.graph = graph, .stars = out};
    banyan_status status;

    memset(out, 0, sizeof *out);
    banyan_trees_init(&out->trees);
    m.left = banyan_alloc((size_t)graph->arc_count, sizeof *m.left);
    m.cost = banyan_alloc((size_t)graph->arc_count, sizeof *m.cost);
    out->part = banyan_alloc((size_t)graph->node_count, sizeof *out->part);
    status = m.left && m.cost && out->part ? BANYAN_SUCCESS : banyan_fail_memory(err);
    *good = !status && has_stars(graph);
    for (int i = 0; *good && i < graph->arc_count; i++)
        m.left[i] = (double)graph->arcs[i].capacity;
    if (!status && *good)
        status = find_trees(&m, err);
    if (!status && *good)
        status = part_active(graph, m.left, &out->rest, err);
    if (!status && *good)
        status = look(out->rest, good, err);
    if (!status && *good)
        status = banyan_strength(out->rest, &out->strength, out->part, &out->part_count, err);
    banyan_free(m.left);
    banyan_free(m.cost);
    if (status || !*good)
        banyan_star_trees_fini(out);
    return status;
}

void banyan_star_trees_fini(banyan_star_trees *stars)
{
    banyan_trees_fini(&stars->trees);
    banyan_free(stars->weight);
    banyan_graph_destroy(stars->rest);
    banyan_free(stars->part);
    memset(stars, 0, sizeof *stars);
}

void banyan_star_trees_price(const banyan_graph *graph, const banyan_star_trees *stars, int64_t *price)
{
    for (int i = 0; i < graph->arc_count; i++) {
        int a = graph->arcs[i].src, b = graph->arcs[i].dst;

        if (is_active(graph, a) && is_active(graph, b))
            price[i] = stars->part[a] != stars->part[b] ? stars->part_count : 0;
        else
            price[i] = is_active(graph, a) || is_active(graph, b) ? stars->part_count - 1 : 0;
    }
}
