/* SPDX-License-Identifier: Apache-2.0 */
/* solve/oracle/branch_and_bound.c: branch and bound. An idle node is in the tree or it is not, and to say so
 * for one makes two smaller questions: with it as if it were active, and without it. A dual ascent bounds
 * either; what costs no less than the best tree so far is done with. Most idle nodes need no question:
 * what is left of the arcs' costs says how much more expensive trees over them are. */
#include "solve/oracle/branch_and_bound.h"

#include <string.h>

#include "core/alloc.h"
#include "core/scratch.h"
#include "solve/oracle/arborescence.h"
#include "solve/oracle/closure.h"
#include "solve/oracle/dual_ascent.h"

#define ROOTS 4                /* to begin with, at most: ascents from some prove more than from others */
#define CLOSED (INT64_MAX / 4) /* what arcs cost at nodes that are out */
#define UNKNOWN (INT64_MAX / 2)

enum { OPEN, IN, OUT };

struct banyan_branch_and_bound {
    banyan_graph *ways; /* nodes that add, and the paths between them; NULL where no node only forwards */
    banyan_closure closure;
    int64_t *way_cost;
    const banyan_graph *graph; /* what is searched */
    banyan_graph view;         /* the same with more active nodes */
    banyan_dual_ascent ascent;
    int is_rooted, towards;
    int effort, root, failed;
    const int64_t *asked; /* costs of the arcs, */
    int64_t *cost;        /* and as they are now */
    unsigned char *state; /* a row for each node that was decided */
    int64_t aim;          /* only what is cheaper is looked for */
    int64_t *from_root, *to_active;
    int *via, *degree, *best;
    int best_count;
    banyan_arborescence *arborescence; /* rooted trees only, */
    int64_t *between;                  /* from node to node, */
    int *cheapest;                     /* by which arc, */
    int *parent;
    unsigned char *member;
    banyan_scratch memory;
};

static int parent_of(const banyan_branch_and_bound *e, int arc)
{
    return e->towards ? e->graph->arcs[arc].dst : e->graph->arcs[arc].src;
}

static int child_of(const banyan_branch_and_bound *e, int arc)
{
    return e->towards ? e->graph->arcs[arc].src : e->graph->arcs[arc].dst;
}

/* Some node with an arc only forwards what belongs to such trees. */
static int has_forwarders(const banyan_graph *graph, unsigned ability)
{
    for (int i = 0; i < graph->arc_count; i++)
        if (!(graph->role[graph->arcs[i].src] & ability) || !(graph->role[graph->arcs[i].dst] & ability))
            return 1;
    return 0;
}

/* Branches cannot meet in a node that only forwards, so trees are searched in the network of ways through
 * such nodes. */
static banyan_status join_ways(banyan_branch_and_bound *e, const banyan_graph *graph, unsigned ability,
                               banyan_error *err)
{
    banyan_status status = banyan_closure_init(&e->closure, graph, ability, err);
    int64_t *none = banyan_alloc((size_t)graph->arc_count, sizeof *none);

    if (!status && !none)
        status = banyan_fail_memory(err);
    if (!status) {
        banyan_closure_measure(&e->closure, none);
        status = banyan_closure_graph(&e->closure, &e->ways, err);
    }
    if (!status) {
        e->way_cost = banyan_scratch_take(&e->memory, (size_t)e->ways->arc_count, sizeof *e->way_cost);
        status = banyan_scratch_check(&e->memory, err);
    }
    banyan_free(none);
    return status;
}

static banyan_status make_room(banyan_branch_and_bound *e, const banyan_graph *graph, banyan_error *err)
{
    size_t nodes = (size_t)graph->node_count;

    e->graph = graph;
    e->view = *graph;
    e->view.active = banyan_scratch_take(&e->memory, nodes, sizeof(int));
    e->cost = banyan_scratch_take(&e->memory, (size_t)graph->arc_count, sizeof *e->cost);
    e->state = banyan_scratch_take(&e->memory, nodes * (nodes + 1), 1);
    e->from_root = banyan_scratch_take(&e->memory, nodes, sizeof *e->from_root);
    e->to_active = banyan_scratch_take(&e->memory, nodes, sizeof *e->to_active);
    e->via = banyan_scratch_take(&e->memory, nodes, sizeof *e->via);
    e->degree = banyan_scratch_take(&e->memory, nodes, sizeof *e->degree);
    e->best = banyan_scratch_take(&e->memory, nodes, sizeof *e->best);
    return e->memory.failed ? banyan_fail_memory(err) : banyan_dual_ascent_init(&e->ascent, &e->view, err);
}

static banyan_status make_room_for_roots(banyan_branch_and_bound *e, banyan_error *err)
{
    size_t nodes = (size_t)e->graph->node_count;

    e->between = banyan_scratch_take(&e->memory, nodes * nodes, sizeof *e->between);
    e->cheapest = banyan_scratch_take(&e->memory, nodes * nodes, sizeof *e->cheapest);
    e->parent = banyan_scratch_take(&e->memory, nodes, sizeof *e->parent);
    e->member = banyan_scratch_take(&e->memory, nodes, 1);
    if (e->memory.failed)
        return banyan_fail_memory(err);
    return banyan_arborescence_create(e->graph->node_count, &e->arborescence, err);
}

static banyan_status create(const banyan_graph *graph, int is_rooted, int towards, int effort,
                            banyan_branch_and_bound **out, banyan_error *err)
{
    unsigned ability = is_rooted && !towards ? BANYAN_NODE_COPIES : BANYAN_NODE_ADDS;
    banyan_branch_and_bound *e = banyan_alloc(1, sizeof *e);
    banyan_status status;

    *out = NULL;
    if (!e)
        return banyan_fail_memory(err);
    e->effort = effort;
    e->is_rooted = is_rooted;
    e->towards = towards;
    status = has_forwarders(graph, ability) ? join_ways(e, graph, ability, err) : BANYAN_SUCCESS;
    if (!status)
        status = make_room(e, e->ways ? e->ways : graph, err);
    if (!status && is_rooted)
        status = make_room_for_roots(e, err);
    if (status)
        banyan_branch_and_bound_destroy(e);
    else
        *out = e;
    return status;
}

banyan_status banyan_branch_and_bound_create(const banyan_graph *graph, int effort,
                                             banyan_branch_and_bound **out, banyan_error *err)
{
    return create(graph, 0, 0, effort, out, err);
}

banyan_status banyan_branch_and_bound_create_rooted(const banyan_graph *graph, int towards, int effort,
                                                    banyan_branch_and_bound **out, banyan_error *err)
{
    return create(graph, 1, towards, effort, out, err);
}

void banyan_branch_and_bound_destroy(banyan_branch_and_bound *e)
{
    if (!e)
        return;
    banyan_dual_ascent_fini(&e->ascent);
    banyan_graph_destroy(e->ways);
    banyan_closure_fini(&e->closure);
    banyan_scratch_free(&e->memory);
    banyan_arborescence_destroy(e->arborescence);
    banyan_free(e);
}

static void apply(banyan_branch_and_bound *e, const unsigned char *state)
{
    const banyan_graph *graph = e->graph;

    e->view.active_count = 0;
    for (int v = 0; v < graph->node_count; v++)
        if (state[v] == IN)
            e->view.active[e->view.active_count++] = v;
    for (int i = 0; i < graph->arc_count; i++) {
        const banyan_arc *arc = &graph->arcs[i];

        e->cost[i] = state[arc->src] == OUT || state[arc->dst] == OUT ? CLOSED : e->asked[i];
    }
}

/* The nearest node that is not done with; -1: none can be reached. */
static int nearest(const banyan_branch_and_bound *e, const int64_t *far, const unsigned char *done)
{
    int best = -1;

    for (int v = 0; v < e->graph->node_count; v++)
        if (!done[v] && far[v] < CLOSED && (best < 0 || far[v] < far[best]))
            best = v;
    return best;
}

/* The cheapest arborescence over all that is not out, by Edmonds' algorithm. */
static void span_from_root(banyan_branch_and_bound *e, const unsigned char *state)
{
    const banyan_graph *graph = e->graph;
    size_t nodes = (size_t)graph->node_count;
    int64_t cost;

    for (int v = 0; v < graph->node_count; v++)
        e->member[v] = state[v] != OUT;
    cost = banyan_arborescence_find(e->arborescence, e->between, e->towards, e->member, e->root, e->parent);
    for (size_t v = 0; v < nodes; v++) {
        size_t u = (size_t)e->parent[v];

        e->via[v] =
            cost < 0 || e->parent[v] < 0 ? -1 : e->cheapest[e->towards ? v * nodes + u : u * nodes + v];
    }
}

/* A minimum spanning tree over all that is not out, by Prim's algorithm: e->via are its arcs. */
static void span(banyan_branch_and_bound *e)
{
    const banyan_graph *graph = e->graph;
    unsigned char *done = e->ascent.in; /* free between two ascents */
    int64_t *far = e->from_root;

    memset(done, 0, (size_t)graph->node_count);
    for (int v = 0; v < graph->node_count; v++) {
        far[v] = v == e->root ? 0 : UNKNOWN;
        e->via[v] = -1;
    }
    for (int v; (v = nearest(e, far, done)) >= 0;) {
        done[v] = 1;
        for (int j = graph->out_first[v]; j < graph->out_first[v + 1]; j++) {
            int arc = graph->out_arc[j], w = graph->arcs[arc].dst;

            if (!done[w] && e->cost[arc] < far[w]) {
                far[w] = e->cost[arc];
                e->via[w] = arc;
            }
        }
    }
}

/* Idle nodes at which the tree ends bring nothing. */
static void cut_idle_ends(banyan_branch_and_bound *e)
{
    const banyan_graph *graph = e->graph;

    memset(e->degree, 0, (size_t)graph->node_count * sizeof *e->degree);
    for (int v = 0; v < graph->node_count; v++)
        if (e->via[v] >= 0)
            e->degree[parent_of(e, e->via[v])]++;
    for (int v = 0; v < graph->node_count; v++)
        for (int u = v; e->via[u] >= 0 && e->degree[u] == 0 && !(graph->role[u] & BANYAN_NODE_ACTIVE);) {
            int parent = parent_of(e, e->via[u]);

            e->via[u] = -1;
            e->degree[parent]--;
            u = parent;
        }
}

/* A known tree may be cheaper than what is known: if no node is open, it is the cheapest there is. */
static void find_tree(banyan_branch_and_bound *e, const unsigned char *state)
{
    int64_t sum = 0;

    if (e->is_rooted)
        span_from_root(e, state);
    else
        span(e);
    for (int i = 0; i < e->view.active_count; i++)
        if (e->view.active[i] != e->root && e->via[e->view.active[i]] < 0)
            return; /* what is out was needed */
    cut_idle_ends(e);
    for (int v = 0; v < e->graph->node_count; v++)
        sum += e->via[v] < 0 ? 0 : e->cost[e->via[v]];
    if (sum >= e->aim)
        return;
    e->aim = sum;
    e->best_count = 0;
    for (int v = 0; v < e->graph->node_count; v++)
        if (e->via[v] >= 0)
            e->best[e->best_count++] = e->via[v];
}

/* How far nodes are, by what the ascent left of costs, along the tree: from the root, or (back) from the
 * active nodes but the root. */
static void measure(banyan_branch_and_bound *e, int back, int64_t *far)
{
    const banyan_graph *graph = e->graph;
    const int *first = back != e->towards ? graph->in_first : graph->out_first;
    const int *list = back != e->towards ? graph->in_arc : graph->out_arc;
    unsigned char *done = e->ascent.in;

    memset(done, 0, (size_t)graph->node_count);
    for (int v = 0; v < graph->node_count; v++)
        far[v] = v == e->root && !back ? 0 : UNKNOWN;
    for (int i = 0; back && i < e->view.active_count; i++)
        far[e->view.active[i]] = e->view.active[i] == e->root ? UNKNOWN : 0;
    for (int v; (v = nearest(e, far, done)) >= 0;) {
        done[v] = 1;
        for (int j = first[v]; j < first[v + 1]; j++) {
            int arc = list[j], w = back ? parent_of(e, arc) : child_of(e, arc);

            if (far[v] + e->ascent.left[arc] < far[w])
                far[w] = far[v] + e->ascent.left[arc];
        }
    }
}

/* Idle nodes over which no tree is cheap enough are out. */
static void leave_out_dear_ones(banyan_branch_and_bound *e, unsigned char *state, int64_t bound)
{
    measure(e, 0, e->from_root);
    measure(e, 1, e->to_active);
    for (int v = 0; v < e->graph->node_count; v++)
        if (state[v] == OPEN && e->from_root[v] + e->to_active[v] >= e->aim - bound)
            state[v] = OUT;
}

/* The open node at which most arcs have no cost left; -1: none is open. */
static int choose(const banyan_branch_and_bound *e, const unsigned char *state)
{
    const banyan_graph *graph = e->graph;
    int best = -1, most = -1;

    for (int v = 0; v < graph->node_count; v++) {
        int count = 0;

        if (state[v] != OPEN)
            continue;
        for (int j = graph->out_first[v]; j < graph->out_first[v + 1]; j++)
            count += e->ascent.left[graph->out_arc[j]] == 0;
        for (int j = graph->in_first[v]; j < graph->in_first[v + 1]; j++)
            count += e->ascent.left[graph->in_arc[j]] == 0;
        if (count > most) {
            most = count;
            best = v;
        }
    }
    return best;
}

static void search(banyan_branch_and_bound *e, unsigned char *state)
{
    size_t nodes = (size_t)e->graph->node_count;
    banyan_wide bound;
    int v;

    apply(e, state);
    e->effort -= e->graph->arc_count;
    if (e->effort <= 0) {
        e->failed = 1;
        return;
    }
    bound = banyan_dual_ascent_from(&e->ascent, e->cost, e->root, e->towards);
    if (bound < 0 || bound >= e->aim)
        return;
    leave_out_dear_ones(e, state, (int64_t)bound);
    v = choose(e, state);
    apply(e, state);
    find_tree(e, state);
    for (int decision = IN; v >= 0 && !e->failed && bound < e->aim && decision <= OUT; decision++) {
        memcpy(state + nodes, state, nodes);
        state[nodes + (size_t)v] = (unsigned char)decision;
        search(e, state + nodes);
    }
}

/* Which root proves most; returns what it does, -1 if there is no tree. */
static banyan_wide choose_root(banyan_branch_and_bound *e)
{
    const banyan_graph *graph = e->graph;
    banyan_wide most = -1;

    for (int i = 0; i < graph->active_count; i += (graph->active_count + ROOTS - 1) / ROOTS) {
        banyan_wide bound = banyan_dual_ascent_from(&e->ascent, e->cost, graph->active[i], 0);

        if (bound > most) {
            most = bound;
            e->root = graph->active[i];
        }
    }
    return most;
}

static void take_best(const banyan_branch_and_bound *e, banyan_trees *trees)
{
    banyan_trees_begin(trees);
    for (int i = 0; i < e->best_count; i++) {
        const banyan_arc *arc = &e->graph->arcs[e->best[i]];

        if (e->ways) {
            banyan_closure_add_path(&e->closure, arc->src, arc->dst, trees);
        } else {
            banyan_trees_add_edge(trees, arc->src, arc->dst);
            banyan_trees_add_arc(trees, e->best[i]);
        }
    }
}

/* The cheapest arcs between nodes, which decisions do not change. */
static void list_cheapest(banyan_branch_and_bound *e)
{
    const banyan_graph *graph = e->graph;
    size_t nodes = (size_t)graph->node_count;

    for (size_t i = 0; i < nodes * nodes; i++)
        e->between[i] = BANYAN_FAR;
    for (int i = 0; i < graph->arc_count; i++) {
        size_t pair = (size_t)graph->arcs[i].src * nodes + (size_t)graph->arcs[i].dst;

        if (e->asked[i] < e->between[pair]) {
            e->between[pair] = e->asked[i];
            e->cheapest[pair] = i;
        }
    }
}

static void ask(banyan_branch_and_bound *e, const int64_t *cost, int64_t hoped)
{
    if (e->ways) {
        banyan_closure_measure(&e->closure, cost);
        banyan_closure_costs(&e->closure, e->ways, e->way_cost);
        cost = e->way_cost;
    }
    for (int v = 0; v < e->graph->node_count; v++)
        e->state[v] = e->graph->role[v] & BANYAN_NODE_ACTIVE ? IN : OPEN;
    e->asked = cost;
    e->aim = hoped < CLOSED ? hoped : CLOSED;
    e->best_count = e->failed = 0;
}

/* bound: no tree is cheaper. */
static int64_t answer(banyan_branch_and_bound *e, banyan_wide bound, banyan_trees *trees)
{
    if (bound >= 0 && bound < e->aim)
        search(e, e->state);
    if (trees && e->best_count)
        take_best(e, trees);
    return e->failed && bound < e->aim ? (int64_t)bound : e->aim;
}

int64_t banyan_branch_and_bound_search(banyan_branch_and_bound *e, const int64_t *cost, int64_t hoped,
                                       banyan_trees *trees)
{
    ask(e, cost, hoped);
    apply(e, e->state);
    return answer(e, choose_root(e), trees);
}

int64_t banyan_branch_and_bound_search_rooted(banyan_branch_and_bound *e, int root, const int64_t *cost,
                                              int64_t hoped, banyan_trees *trees)
{
    ask(e, cost, hoped);
    e->root = e->ways ? e->closure.index[root] : root;
    e->state[e->root] = IN;
    list_cheapest(e);
    apply(e, e->state);
    return answer(e, banyan_dual_ascent_from(&e->ascent, e->cost, e->root, e->towards), trees);
}
