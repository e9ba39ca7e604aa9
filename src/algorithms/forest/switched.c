/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/forest/switched.c: workers behind switches that only forward. Column generation finds the best
 * rate and the prices that prove it, but its trees are as deep and as different in weight as chance has it.
 * Here much is equally good: under the prices many trees cost the same. So we grow trees anew, one from each
 * worker, that are cheapest under the prices and shallow:
 *
 *      r ── v                from the root on, whoever can be joined at the least price is, but never
 *      | \                   below depth_limit; among equals the one whose cables have carried the least
 *      v  h ── v             in the trees so far, so that after some trees all have done the same.
 *
 * If these trees, with equal weights or weighed by one linear program, reach the rate, they replace the
 * others: trees of equal weight share links fairly without being told to, and shallow ones fill their
 * pipelines sooner. Depths are tried from 1 on. Cost: a shortest-path search for each node that has others
 * below it. */
#include <math.h>
#include <string.h>

#include "algorithms/forest/parts.h"
#include "core/alloc.h"
#include "solve/net/effort.h"
#include "solve/oracle/closure.h"
#include "solve/oracle/tree_oracle.h"
#include "solve/pack/weigh.h"

#define AS_GOOD 0.9999     /* of the best rate */
#define HOPELESS 0.5       /* with equal weights: other weights will not mend that */
#define LEAST_GAIN 1.02    /* times the rate by one more hop, */
#define MOST_FRUITLESS 2   /* or so often less, and no deeper trees are tried */
#define PRICE_STEPS 100000 /* prices closer than this part of the highest are equal */
#define LOAD_STEPS 512     /* of a cable, up to the fullest */
#define ROUGH_ARCS 300     /* from that many on, a packing is rough at first: */
#define ROUGHLY 4e-3       /* of the bound */
#define MOST_WAY 64        /* cables between two workers: one more weighs more than all loads on a way */

typedef struct {
    const banyan_graph *graph;
    banyan_closure closure; /* on the active nodes */
    int64_t *price;         /* per arc, in steps */
    int64_t *cost;          /* per arc: price and load */
    double *load;           /* per cable: uses so far over capacity */
    int *parent, *depth;    /* per worker, in the current tree; depth -1: not in it yet */
    int64_t *key;           /* per worker outside the tree: what joining it costs */
    double *width;          /* per worker: bandwidth of its cables */
    double *duty;           /* per worker: children so far, over width */
    int *reach;             /* per worker: hops to the farthest, at least */
    int by_level;           /* nobody hangs deeper than need be */
} grower;

static void grower_fini(grower *g)
{
    banyan_closure_fini(&g->closure);
    banyan_free(g->price);
    banyan_free(g->cost);
    banyan_free(g->load);
    banyan_free(g->parent);
    banyan_free(g->depth);
    banyan_free(g->key);
    banyan_free(g->width);
    banyan_free(g->duty);
    banyan_free(g->reach);
}

static banyan_status grower_init(grower *g, const banyan_graph *graph, const int64_t *price,
                                 banyan_error *err)
{
    size_t arcs = (size_t)graph->arc_count, workers = (size_t)graph->active_count;
    int64_t highest = 1;
    banyan_status status;

    *g = (grower){.graph = graph};
    status = banyan_closure_init(&g->closure, graph, BANYAN_NODE_ACTIVE, err);
    if (status)
        return status;
    g->price = banyan_alloc(arcs, sizeof *g->price);
    g->cost = banyan_alloc(arcs, sizeof *g->cost);
    g->load = banyan_alloc(arcs, sizeof *g->load);
    g->parent = banyan_alloc(workers, sizeof *g->parent);
    g->depth = banyan_alloc(workers, sizeof *g->depth);
    g->key = banyan_alloc(workers, sizeof *g->key);
    g->width = banyan_alloc(workers, sizeof *g->width);
    g->duty = banyan_alloc(workers, sizeof *g->duty);
    g->reach = banyan_alloc(workers, sizeof *g->reach);
    if (!g->price || !g->cost || !g->load || !g->parent || !g->depth || !g->key || !g->width || !g->duty ||
        !g->reach)
        return banyan_fail_memory(err);
    for (int v = 0; v < graph->active_count; v++)
        for (int j = graph->out_first[g->closure.node[v]]; j < graph->out_first[g->closure.node[v] + 1]; j++)
            g->width[v] += (double)graph->arcs[graph->out_arc[j]].capacity;
    for (size_t i = 0; i < arcs; i++)
        highest = price[i] > highest ? price[i] : highest;
    for (size_t i = 0; i < arcs; i++)
        g->price[i] = (int64_t)nearbyint((double)price[i] / (double)highest * PRICE_STEPS);
    return BANYAN_SUCCESS;
}

/* Hops from each worker to the farthest, over ways that do not go through other workers. */
static void measure_reach(grower *g)
{
    int count = g->closure.count;

    banyan_closure_measure(&g->closure, g->price);
    for (int root = 0; root < count; root++) {
        for (int v = 0; v < count; v++)
            g->depth[v] = v == root ? 0 : -1;
        g->reach[root] = 0;
        for (int hops = 0, found = 1; found; hops++) {
            found = 0;
            for (int v = 0; v < count; v++)
                for (int w = 0; g->depth[v] == hops && w < count; w++)
                    if (g->depth[w] < 0 &&
                        g->closure.distance[(size_t)v * (size_t)count + (size_t)w] < BANYAN_FAR) {
                        g->depth[w] = hops + 1;
                        g->reach[root] = hops + 1;
                        found = 1;
                    }
        }
    }
}

/* The limit, or what the best root needs. */
static int least_depth(grower *g, int limit)
{
    int least = g->closure.count;

    measure_reach(g);
    for (int v = 0; v < g->closure.count; v++)
        least = g->reach[v] < least ? g->reach[v] : least;
    return limit > least ? limit : least;
}

static void set_costs(grower *g)
{
    double fullest = 1e-300;

    for (int i = 0; i < g->graph->arc_count; i++)
        fullest = g->load[i] > fullest ? g->load[i] : fullest;
    for (int i = 0; i < g->graph->arc_count; i++) {
        double part = g->load[banyan_graph_cable(g->graph, i)] / fullest;

        g->cost[i] =
            (g->price[i] * MOST_WAY + 1) * (LOAD_STEPS * MOST_WAY) + (int64_t)(part * (LOAD_STEPS - 1));
    }
}

/* What a way costs, but for the loads on it: those only choose between ways. */
static int64_t without_loads(int64_t cost)
{
    return cost / (LOAD_STEPS * MOST_WAY);
}

/* Offers everybody who is not in the tree a place below the worker, if that is cheaper than what they
 * have. */
static void offer_places(grower *g, int worker)
{
    const int64_t *distance = g->closure.distance + (size_t)worker * (size_t)g->closure.count;

    banyan_closure_measure_from(&g->closure, g->cost, worker);
    for (int v = 0; v < g->closure.count; v++)
        if (g->depth[v] < 0 && distance[v] < BANYAN_FAR && without_loads(distance[v]) < g->key[v] &&
            (!g->by_level || g->key[v] == BANYAN_FAR || g->depth[g->parent[v]] == g->depth[worker])) {
            g->key[v] = without_loads(distance[v]);
            g->parent[v] = worker;
        }
}

/* Among equals the one with the least duty, then the next after the root. */
static int cheapest_outside(const grower *g, int root)
{
    int best = -1, count = g->closure.count;

    for (int i = 1; i < count; i++) {
        int v = (root + i) % count;

        if (g->depth[v] >= 0 || g->key[v] == BANYAN_FAR)
            continue;
        if (best < 0 || (g->by_level && g->depth[g->parent[v]] < g->depth[g->parent[best]])) {
            best = v;
            continue;
        }
        if (g->by_level && g->depth[g->parent[v]] > g->depth[g->parent[best]])
            continue;
        if (g->key[v] < g->key[best] || (g->key[v] == g->key[best] && g->duty[v] < g->duty[best]))
            best = v;
    }
    return best;
}

static void add_edge(grower *g, banyan_trees *trees, int child)
{
    size_t begin = trees->arc_count;

    g->duty[g->parent[child]] += 1 / g->width[g->parent[child]];
    banyan_closure_add_path(&g->closure, g->parent[child], child, trees);
    for (size_t a = begin; a < trees->arc_count; a++) {
        int cable = banyan_graph_cable(g->graph, trees->arcs[a]);

        g->load[cable] += 1 / (double)g->graph->arcs[cable].capacity;
    }
}

/* Prim's algorithm with a limit to the depth. 0: somebody cannot be reached. */
static int grow(grower *g, int root, int depth_limit, banyan_trees *trees)
{
    int count = g->closure.count, next = root;

    for (int v = 0; v < count; v++) {
        g->depth[v] = -1;
        g->key[v] = BANYAN_FAR;
    }
    set_costs(g);
    banyan_trees_begin(trees);
    for (int joined = 0; joined < count; joined++) {
        if (next < 0)
            return 0;
        g->depth[next] = next == root ? 0 : g->depth[g->parent[next]] + 1;
        if (next != root)
            add_edge(g, trees, next);
        if (g->depth[next] < depth_limit)
            offer_places(g, next);
        next = cheapest_outside(g, root);
    }
    return !trees->failed;
}

/* Each tree from the worker that has done the least so far, of those from which all are in reach. */
static int grow_all(grower *g, int tree_count, int depth_limit, banyan_trees *trees)
{
    memset(g->load, 0, (size_t)g->graph->arc_count * sizeof *g->load);
    memset(g->duty, 0, (size_t)g->closure.count * sizeof *g->duty);
    for (int t = 0; t < tree_count; t++) {
        int root = -1;

        for (int v = 0; v < g->closure.count; v++)
            if ((!g->by_level || g->reach[v] <= depth_limit) && (root < 0 || g->duty[v] < g->duty[root]))
                root = v;
        if (root < 0 || !grow(g, root, depth_limit, trees))
            return 0;
    }
    return 1;
}

/* What is cheap may lie so deep that not all find a place: then the trees are grown level by level. */
static int grow_or_level(grower *g, int tree_count, int depth_limit, int is_needed, banyan_trees *trees)
{
    g->by_level = 0;
    if (grow_all(g, tree_count, depth_limit, trees))
        return 1;
    if (!is_needed || trees->failed)
        return 0;
    banyan_trees_fini(trees);
    banyan_trees_init(trees);
    g->by_level = 1;
    return grow_all(g, tree_count, depth_limit, trees);
}

static void add_flows(const banyan_graph *graph, const banyan_trees *trees, const banyan_weighing *weighing,
                      banyan_flows *flows)
{
    flows->flow_count = 0;
    for (size_t t = 0; t < trees->tree_count; t++) {
        double weight = weighing ? banyan_weighing_weight(weighing, t) : 1;

        if (weight > 0)
            banyan_flows_add_tree(flows, graph, trees, t, -1, weight);
    }
}

/* The trees with equal weights, or weighed anew where that may be enough; *rate in bytes per second. */
static banyan_status take_equal(const banyan_topology *topology, const banyan_graph *graph,
                                const banyan_trees *trees, double enough, banyan_flows *flows, double *rate,
                                banyan_error *err)
{
    banyan_weighing *weighing = NULL;
    double total = 0;
    banyan_status status;

    add_flows(graph, trees, NULL, flows);
    status = flows->failed ? banyan_fail_memory(err) : banyan_flows_rate(flows, topology, rate, err);
    if (status || *rate >= enough || *rate < HOPELESS * enough)
        return status;
    status = banyan_weighing_create(graph, trees, &weighing, err);
    if (!status)
        status = banyan_weighing_solve(weighing, &total, err);
    if (!status && total * graph->unit > *rate) {
        *rate = total * graph->unit;
        add_flows(graph, trees, weighing, flows);
        status = flows->failed ? banyan_fail_memory(err) : BANYAN_SUCCESS;
    }
    banyan_weighing_destroy(weighing);
    return status;
}

/* Puts shallow trees in the place of the flows if they reach enough, or whatever they reach. *rate is 0 where
 * there are none. */
static banyan_status try_depth(grower *g, const banyan_topology *topology, int depth_limit, int tree_count,
                               double enough, int whatever, banyan_flows *flows, double *rate, int *good,
                               banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;
    banyan_flows shallow;
    banyan_trees trees;

    *rate = 0;
    banyan_trees_init(&trees);
    banyan_flows_init(&shallow);
    if (grow_or_level(g, tree_count, depth_limit, whatever, &trees))
        status = take_equal(topology, g->graph, &trees, enough, &shallow, rate, err);
    else if (trees.failed)
        status = banyan_fail_memory(err);
    *good = !status && (*rate >= enough || (whatever && *rate > 0));
    if (*good) {
        banyan_flows_fini(flows);
        *flows = shallow;
        banyan_flows_init(&shallow);
    }
    banyan_flows_fini(&shallow);
    banyan_trees_fini(&trees);
    return status;
}

static int is_too_deep(const banyan_flows *flows, const banyan_forest_options *options)
{
    return options->max_depth && options->max_depth < banyan_flows_depth(flows);
}

/* Puts shallow trees in the place of the flows if they reach as much, and as the bound if that is asked
 * for. */
static banyan_status make_shallow(const banyan_topology *topology, const banyan_graph *graph,
                                  const banyan_tree_packing *packing, int by_bound,
                                  const banyan_forest_options *options, banyan_flows *flows, int *is_done,
                                  banyan_error *err)
{
    int is_limited = is_too_deep(flows, options), good = 0;
    int deepest = is_limited ? options->max_depth : banyan_flows_depth(flows);
    int tree_count = graph->active_count < options->max_trees ? graph->active_count : options->max_trees;
    int fruitless = 0;
    double best, rate, most = 0;
    grower g;
    banyan_status status = banyan_flows_rate(flows, topology, &best, err);

    if (status || flows->flow_count == 0)
        return status;
    if (by_bound)
        best = packing->bound_value * graph->unit;
    status = grower_init(&g, graph, packing->price, err);
    if (!status && is_limited)
        deepest = least_depth(&g, deepest);
    for (int depth = 1; !status && !good && depth <= deepest; depth++) {
        if (fruitless >= MOST_FRUITLESS && (!is_limited || depth < deepest))
            continue;
        status = try_depth(&g, topology, depth, tree_count, AS_GOOD * best, is_limited && depth == deepest,
                           flows, &rate, &good, err);
        fruitless = rate > most * LEAST_GAIN || rate <= 0 ? 0 : fruitless + 1;
        most = fmax(most, rate);
    }
    *is_done = *is_done || good;
    grower_fini(&g);
    return status;
}

/* Puts trees that are found for their number in the place of the flows where these are too many, if they
 * reach enough. */
static banyan_status make_fewer(const banyan_graph *graph, const banyan_tree_packing *packing,
                                banyan_oracle *oracle, const banyan_forest_options *options,
                                banyan_flows *flows, int *is_done, banyan_error *err)
{
    banyan_tree_oracle quick = banyan_oracle_quick(oracle);
    banyan_flows fewer;
    double rate = 0;
    int good = 0;
    banyan_status status;

    if (flows->flow_count <= (size_t)options->max_trees || options->max_depth)
        return BANYAN_SUCCESS;
    banyan_flows_init(&fewer);
    status = banyan_forest_few_flows(graph, packing->price, packing->bound_value, options,
                                     quick ? quick : banyan_oracle_tree, oracle, &fewer, &good, err);
    if (!status && !good && options->max_trees <= BANYAN_FEW_TREES && !banyan_graph_has_idle_adders(graph)) {
        status =
            banyan_forest_pairs(graph, packing->price, packing->bound_value, options, &fewer, &rate, err);
        good = !status && rate >= BANYAN_TARGET_SHARE * packing->bound_value;
    }
    if (!status && good) {
        banyan_flows_fini(flows);
        *flows = fewer;
        *is_done = 1;
    } else {
        banyan_flows_fini(&fewer);
    }
    return status;
}

/* A packing from the seed's trees on, where there is one, and what is made of it. *is_done: other trees are
 * in its place, or it is the best one. */
static banyan_status pack(const banyan_topology *topology, const banyan_graph *graph,
                          const banyan_forest_options *options, banyan_oracle *oracle, int is_rough,
                          const banyan_trees *seed, banyan_tree_packing *packing, banyan_flows *flows,
                          int *is_done, banyan_error *err)
{
    banyan_tree_packing_problem problem = {.oracle = banyan_oracle_tree,
                                           .context = oracle,
                                           .quick = banyan_oracle_quick(oracle),
                                           .tolerance = is_rough ? ROUGHLY : 1e-9,
                                           .warm_trees = seed ? 1 : 60,
                                           .seed = seed,
                                           .round_limit =
                                               graph->arc_count > BANYAN_LP_ARCS ? BANYAN_LP_ROUNDS : 3000};
    banyan_status status = banyan_tree_packing_solve(graph, &problem, packing, err);

    if (status)
        return status;
    flows->flow_count = 0;
    banyan_forest_take(flows, graph, packing);
    *is_done = packing->total >= (1 - 1e-9) * packing->bound_value;
    if (flows->failed)
        status = banyan_fail_memory(err);
    else if (!banyan_graph_has_idle_adders(graph) || is_too_deep(flows, options))
        status = make_shallow(topology, graph, packing, is_rough, options, flows, is_done, err);
    if (!status)
        status = make_fewer(graph, packing, oracle, options, flows, is_done, err);
    if (status)
        banyan_tree_packing_fini(packing);
    return status;
}

/* Where the packing will have more trees than are allowed, the best one is not needed: prices that are nearly
 * its own show others the way. */
static int may_be_rough(const banyan_graph *graph, const banyan_forest_options *options)
{
    return graph->arc_count >= ROUGH_ARCS && options->max_trees <= BANYAN_FEW_TREES && !options->max_depth &&
           !banyan_graph_has_idle_adders(graph);
}

static banyan_status pack_columns(const banyan_topology *topology, const banyan_graph *graph,
                                  const banyan_forest_options *options, banyan_flows *flows,
                                  banyan_error *err)
{
    int is_rough = may_be_rough(graph, options), is_done;
    banyan_tree_packing packing, best;
    banyan_oracle *oracle;
    banyan_status status = banyan_oracle_create(graph, &oracle, err);

    if (status)
        return status;
    status = pack(topology, graph, options, oracle, is_rough, NULL, &packing, flows, &is_done, err);
    if (!status && is_rough && !is_done) {
        status = pack(topology, graph, options, oracle, 0, &packing.trees, &best, flows, &is_done, err);
        if (!status)
            banyan_tree_packing_fini(&best);
        banyan_tree_packing_fini(&packing);
    } else if (!status) {
        banyan_tree_packing_fini(&packing);
    }
    banyan_oracle_destroy(oracle);
    return status;
}

/* Column generation; where it needs more trees than are allowed, trees of equal weight may lose less. */
banyan_status banyan_forest_switched(const banyan_topology *topology, const banyan_graph *graph,
                                     const banyan_forest_options *options, banyan_flows *flows,
                                     banyan_error *err)
{
    banyan_flows equal;
    double rate;
    banyan_status status = pack_columns(topology, graph, options, flows, err);

    if (status || flows->flow_count <= (size_t)options->max_trees || banyan_graph_has_idle_adders(graph))
        return status;
    banyan_flows_init(&equal);
    status = banyan_forest_equal_weights(graph, options, &equal, err);
    if (!status)
        return banyan_forest_keep_better(topology, options, flows, &equal, &rate, err);
    banyan_flows_fini(&equal);
    return status;
}

banyan_status banyan_forest_plain(const banyan_topology *topology, const banyan_graph *graph,
                                  const banyan_forest_options *options, banyan_flows *flows,
                                  banyan_error *err)
{
    if (graph->active_count > BANYAN_MANY_WORKERS)
        return banyan_forest_equal_weights(graph, options, flows, err);
    return banyan_forest_switched(topology, graph, options, flows, err);
}
