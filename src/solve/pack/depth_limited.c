/* SPDX-License-Identifier: Apache-2.0 */
/* solve/pack/depth_limited.c: column generation over pairs of trees. A tree grows by the cheapest step from
 * nodes that are not too deep yet (Prim); nodes that nobody may take on in the end are joined by a path of
 * the fewest hops, and whatever hung deeper on it comes up. That is no cheapest tree, so the packing is good
 * but not proven to be the best. Cost: two trees in O(nodes^2) for each root and round, some twenty
 * rounds. */
#include "solve/pack/depth_limited.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "solve/net/lp.h"
#include "solve/oracle/closure.h"

#define PRICE_SCALE 1073741824.0 /* 2^30 */
#define MORE_HOPS 3    /* than the best root needs: trees may have that many, unless the limit is lower */
#define FIRST_PAIRS 64 /* at least, each avoiding what those before it use, */
#define STEEP 16       /* and a full arc costs 2^16 times as much as an empty one */
#define ROUNDS 10      /* of new pairs under the program's prices, */
#define GAIN 1.0015    /* while a round gains more than this */
#define PROMISING 0.97 /* of what is enough: else rounds are too many, unless depth is limited */
#define PAIRS 12       /* new ones a round, from as many roots */
#define OLD 0.5        /* share of the old prices in those asked about: they follow the program's slowly */

typedef struct {
    const banyan_graph *graph;
    banyan_closure closure; /* on the active nodes */
    int count, limit;       /* nodes of the closure, and hops */
    int *root, root_count;  /* those that have all others within the limit */
    int *hops, *before;     /* [(towards * count + root) * count + v]: the fewest, and the node before v */
    int64_t *cost, *key;    /* prices by arc; the cheapest step to a node that is not reached */
    int *step, *parent, *depth, *stack;
    double unit;
    double *now, *price; /* by arc: the program's, and those asked about */
    double *load;        /* by arc: of the first pairs */
    double *worth;       /* by root: what its pair costs */
    banyan_lp *lp;
    int *row;
    double *value, *used;
    banyan_trees trees; /* in pairs: in, out */
    int *tree_root;     /* by pair */
    size_t root_capacity;
} grower;

static void grower_fini(grower *g)
{
    banyan_closure_fini(&g->closure);
    banyan_lp_destroy(g->lp);
    banyan_trees_fini(&g->trees);
    banyan_free(g->root);
    banyan_free(g->hops);
    banyan_free(g->before);
    banyan_free(g->cost);
    banyan_free(g->key);
    banyan_free(g->step);
    banyan_free(g->parent);
    banyan_free(g->depth);
    banyan_free(g->stack);
    banyan_free(g->price);
    banyan_free(g->now);
    banyan_free(g->load);
    banyan_free(g->worth);
    banyan_free(g->row);
    banyan_free(g->value);
    banyan_free(g->used);
    banyan_free(g->tree_root);
}

static banyan_status make_program(grower *g, banyan_error *err)
{
    size_t arcs = (size_t)g->graph->arc_count;
    double *upper = banyan_alloc(arcs, sizeof *upper);
    banyan_status status = upper ? BANYAN_SUCCESS : banyan_fail_memory(err);

    for (size_t i = 0; !status && i < arcs; i++)
        upper[i] = (double)g->graph->arcs[i].capacity / g->unit;
    if (!status)
        status = banyan_lp_create((int)arcs, NULL, upper, &g->lp, err);
    banyan_free(upper);
    return status;
}

static banyan_status grower_init(grower *g, const banyan_graph *graph, banyan_error *err)
{
    size_t n, arcs = (size_t)graph->arc_count;
    banyan_status status;

    memset(g, 0, sizeof *g);
    g->graph = graph;
    banyan_trees_init(&g->trees);
    status = banyan_closure_init(&g->closure, graph, BANYAN_NODE_ACTIVE, err);
    if (status)
        return status;
    g->count = g->closure.count;
    n = (size_t)g->count;
    g->root = banyan_alloc(n, sizeof(int));
    g->hops = banyan_alloc(2 * n * n, sizeof(int));
    g->before = banyan_alloc(2 * n * n, sizeof(int));
    g->cost = banyan_alloc(arcs, sizeof *g->cost);
    g->key = banyan_alloc(n, sizeof *g->key);
    g->step = banyan_alloc(n, sizeof(int));
    g->parent = banyan_alloc(n, sizeof(int));
    g->depth = banyan_alloc(n, sizeof(int));
    g->stack = banyan_alloc(n, sizeof(int));
    g->price = banyan_alloc(arcs, sizeof(double));
    g->now = banyan_alloc(arcs, sizeof(double));
    g->load = banyan_alloc(arcs, sizeof(double));
    g->worth = banyan_alloc(n, sizeof(double));
    g->row = banyan_alloc(arcs, sizeof(int));
    g->value = banyan_alloc(arcs, sizeof(double));
    g->used = banyan_alloc(arcs, sizeof(double));
    if (!g->root || !g->hops || !g->before || !g->cost || !g->key || !g->step || !g->parent || !g->depth ||
        !g->stack || !g->price || !g->now || !g->load || !g->worth || !g->row || !g->value || !g->used)
        return banyan_fail_memory(err);
    for (size_t i = 0; i < arcs; i++)
        g->unit = fmax(g->unit, (double)graph->arcs[i].capacity);
    for (size_t i = 0; i < arcs; i++)
        g->price[i] = g->unit / (double)graph->arcs[i].capacity;
    return make_program(g, err);
}

/* From u to v away from the root, or back towards it. */
static int64_t distance(const grower *g, int towards, int u, int v)
{
    int from = towards ? v : u, to = towards ? u : v;

    return g->closure.distance[(size_t)from * (size_t)g->count + (size_t)to];
}

static void measure(grower *g)
{
    double largest = 0;

    for (int i = 0; i < g->graph->arc_count; i++)
        largest = fmax(largest, g->price[i]);
    for (int i = 0; i < g->graph->arc_count; i++)
        g->cost[i] = (int64_t)nearbyint(g->price[i] / largest * PRICE_SCALE);
    banyan_closure_measure(&g->closure, g->cost);
}

/* Breadth first from a root; the hops that the farthest node needs, or -1. */
static int count_hops(grower *g, int towards, int root)
{
    size_t base = (size_t)(towards * g->count + root) * (size_t)g->count;
    int *hops = g->hops + base, *before = g->before + base, seen = 0, last = -1;

    for (int v = 0; v < g->count; v++)
        hops[v] = -1;
    hops[root] = 0;
    g->stack[seen++] = root;
    for (int i = 0; i < seen; i++) {
        int u = g->stack[i];

        last = hops[u];
        for (int v = 0; v < g->count; v++)
            if (hops[v] < 0 && distance(g, towards, u, v) < BANYAN_FAR) {
                hops[v] = hops[u] + 1;
                before[v] = u;
                g->stack[seen++] = v;
            }
    }
    return seen == g->count ? last : -1;
}

/* Roots that can keep to the limit, which is raised to what the best one needs, and lowered to little more:
 * with deeper trees rounds bring less. 0: none reaches all. */
static int choose_roots(grower *g, int limit)
{
    int least = -1;

    for (int v = 0; v < g->count; v++) {
        int out = count_hops(g, 0, v), in = count_hops(g, 1, v), most = out > in ? out : in;

        g->step[v] = out < 0 || in < 0 ? -1 : most;
        if (g->step[v] >= 0 && (least < 0 || most < least))
            least = most;
    }
    limit = limit && limit < least + MORE_HOPS ? limit : least + MORE_HOPS;
    g->limit = limit > least ? limit : least;
    for (int v = 0; v < g->count; v++)
        if (g->step[v] >= 0 && g->step[v] <= g->limit)
            g->root[g->root_count++] = v;
    return least >= 0;
}

/* The node is in the tree now: its steps may be cheaper ones. */
static void reach(grower *g, int towards, int u)
{
    g->key[u] = -1;
    for (int v = 0; g->depth[u] < g->limit && v < g->count; v++)
        if (g->key[v] >= 0 && distance(g, towards, u, v) < g->key[v]) {
            g->key[v] = distance(g, towards, u, v);
            g->step[v] = u;
        }
}

static void join_by_fewest_hops(grower *g, int towards, int root, int node)
{
    size_t base = (size_t)(towards * g->count + root) * (size_t)g->count;
    const int *hops = g->hops + base, *before = g->before + base;
    int count = 0;

    for (int v = node; v != root; v = before[v])
        g->stack[count++] = v;
    while (count) {
        int v = g->stack[--count];

        if (g->key[v] < 0 && g->depth[v] <= hops[v])
            continue;
        g->parent[v] = before[v];
        g->depth[v] = hops[v];
        g->key[v] = -1;
    }
}

/* A shallow tree into g->parent; what it costs. */
static int64_t grow_tree(grower *g, int towards, int root)
{
    int64_t total = 0;

    for (int v = 0; v < g->count; v++)
        g->key[v] = BANYAN_FAR;
    g->depth[root] = 0;
    g->parent[root] = -1;
    reach(g, towards, root);
    for (int i = 1; i < g->count; i++) {
        int next = -1;

        for (int v = 0; v < g->count; v++)
            if (g->key[v] >= 0 && g->key[v] < BANYAN_FAR && (next < 0 || g->key[v] < g->key[next]))
                next = v;
        if (next < 0)
            break;
        g->parent[next] = g->step[next];
        g->depth[next] = g->depth[g->step[next]] + 1;
        reach(g, towards, next);
    }
    for (int v = 0; v < g->count; v++)
        if (g->key[v] >= 0)
            join_by_fewest_hops(g, towards, root, v);
    for (int v = 0; v < g->count; v++)
        total += v == root ? 0 : distance(g, towards, g->parent[v], v);
    return total;
}

static void append_tree(grower *g, int towards, int root)
{
    grow_tree(g, towards, root);
    banyan_trees_begin(&g->trees);
    for (int v = 0; v < g->count; v++)
        if (v != root)
            banyan_closure_add_path(&g->closure, towards ? v : g->parent[v], towards ? g->parent[v] : v,
                                    &g->trees);
}

/* The pair of a root under the prices becomes a column. */
static banyan_status add_pair(grower *g, int root, banyan_error *err)
{
    size_t pair = g->trees.tree_count / 2;
    int count = 0;

    if (!banyan_grow((void **)&g->tree_root, pair, &g->root_capacity, sizeof(int)))
        return banyan_fail_memory(err);
    g->tree_root[pair] = g->closure.node[root];
    append_tree(g, 1, root);
    append_tree(g, 0, root);
    if (g->trees.failed)
        return banyan_fail_memory(err);
    for (size_t a = banyan_trees_arcs_begin(&g->trees, 2 * pair); a < g->trees.arc_count; a++) {
        int arc = g->trees.arcs[a];

        if (g->used[arc] == 0)
            g->row[count++] = arc;
        g->used[arc]++;
    }
    for (int i = 0; i < count; i++) {
        g->value[i] = g->used[g->row[i]];
        g->used[g->row[i]] = 0;
    }
    banyan_lp_add_column(g->lp, 1, count, g->row, g->value);
    return BANYAN_SUCCESS;
}

/* Arcs that the latest pair uses become more expensive, the more the fuller they are. */
static void load_latest(grower *g)
{
    double fullest = 1e-12;

    for (size_t a = banyan_trees_arcs_begin(&g->trees, g->trees.tree_count - 2); a < g->trees.arc_count; a++)
        g->load[g->trees.arcs[a]] += g->unit / (double)g->graph->arcs[g->trees.arcs[a]].capacity;
    for (int i = 0; i < g->graph->arc_count; i++)
        fullest = fmax(fullest, g->load[i]);
    for (int i = 0; i < g->graph->arc_count; i++)
        g->price[i] = (1 + exp2(STEEP * g->load[i] / fullest)) * g->unit / (double)g->graph->arcs[i].capacity;
    measure(g);
}

static double value_of(const grower *g, const double *price)
{
    double sum = 0;

    for (int i = 0; i < g->graph->arc_count; i++)
        sum += (double)g->graph->arcs[i].capacity * price[i];
    return sum;
}

static banyan_status solve_program(grower *g, double *total, banyan_error *err)
{
    banyan_status status = banyan_lp_solve(g->lp, err);
    double before = value_of(g, g->price), after;

    for (int i = 0; !status && i < g->graph->arc_count; i++)
        g->now[i] = fmax(0, banyan_lp_price(g->lp, i));
    after = value_of(g, g->now);
    *total = status ? 0 : banyan_lp_objective(g->lp);
    for (int i = 0; !status && i < g->graph->arc_count; i++)
        g->price[i] = OLD * g->price[i] / before + (1 - OLD) * g->now[i] / after;
    return status;
}

/* What the tree of a root under the asked prices costs under the program's. */
static double cost_now(grower *g, int towards, int root)
{
    const banyan_graph *graph = g->graph;
    double sum = 0;

    grow_tree(g, towards, root);
    for (int v = 0; v < g->count; v++) {
        int from = towards ? v : g->parent[v], to = towards ? g->parent[v] : v;
        const int *via = g->closure.via + (size_t)(v == root ? 0 : from) * (size_t)graph->node_count;

        for (int u = v == root ? -1 : g->closure.node[to]; u >= 0 && u != g->closure.node[from];
             u = graph->arcs[via[u]].src)
            sum += g->now[via[u]];
    }
    return sum;
}

/* The roots whose pairs are the cheapest bring one each, if that is cheaper than what is there. */
static banyan_status improve(grower *g, int *added, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    *added = 0;
    measure(g);
    for (int i = 0; i < g->root_count; i++)
        g->worth[i] = cost_now(g, 0, g->root[i]) + cost_now(g, 1, g->root[i]);
    while (!status && *added < PAIRS) {
        int best = 0;

        for (int i = 1; i < g->root_count; i++)
            best = g->worth[i] < g->worth[best] ? i : best;
        if (g->worth[best] > 1 - 1e-6)
            break;
        g->worth[best] = HUGE_VAL;
        ++*added;
        status = add_pair(g, g->root[best], err);
    }
    return status;
}

static banyan_status take_pairs(grower *g, banyan_pair_packing *packing, banyan_error *err)
{
    size_t count = g->trees.tree_count;
    banyan_tree_kind *kind = banyan_alloc(count, sizeof *kind);
    int *root = banyan_alloc(count, sizeof *root);
    double *weight = banyan_alloc(count, sizeof *weight);
    const double *values = banyan_lp_values(g->lp);

    if (!kind || !root || !weight) {
        banyan_free(kind);
        banyan_free(root);
        banyan_free(weight);
        return banyan_fail_memory(err);
    }
    for (size_t t = 0; t < count; t++) {
        kind[t] = t % 2 ? BANYAN_TREE_OUT : BANYAN_TREE_IN;
        root[t] = g->tree_root[t / 2];
        weight[t] = fmax(0, values[t / 2]) * g->unit;
    }
    banyan_pair_packing_replace(packing, kind, root, weight, &g->trees);
    return BANYAN_SUCCESS;
}

static banyan_status first_pairs(grower *g, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    for (int i = 0; !status && (i < FIRST_PAIRS || i < 2 * g->root_count); i++) {
        status = add_pair(g, g->root[i % g->root_count], err);
        if (!status)
            load_latest(g);
    }
    return status;
}

static banyan_status pack(grower *g, int depth_limit, double enough, banyan_error *err)
{
    int added = 1;
    double before = 0, now = 0;
    banyan_status status;

    measure(g);
    if (!choose_roots(g, depth_limit))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "the active workers are not all connected");
    status = first_pairs(g, err);
    if (!status)
        status = solve_program(g, &now, err);
    for (int round = 0; !status && added && round < ROUNDS && now < enough &&
                        now > (depth_limit ? 0 : PROMISING * enough) && now > GAIN * before;
         round++) {
        before = now;
        status = improve(g, &added, err);
        if (!status && added)
            status = solve_program(g, &now, err);
    }
    return status;
}

banyan_status banyan_depth_limited_pairs(const banyan_graph *graph, int depth_limit, double enough,
                                         banyan_pair_packing *packing, banyan_error *err)
{
    grower g;
    banyan_status status = grower_init(&g, graph, err);

    if (!status)
        status = pack(&g, depth_limit, enough / g.unit, err);
    if (!status)
        status = take_pairs(&g, packing, err);
    grower_fini(&g);
    return status;
}

banyan_status banyan_depth_limited_find_deeper(const banyan_graph *graph, const banyan_pair_packing *packing,
                                               int limit, int *deeper, banyan_error *err)
{
    const banyan_trees *trees = &packing->trees;
    int *parent = banyan_alloc((size_t)graph->node_count, sizeof *parent);

    *deeper = 0;
    if (!parent)
        return banyan_fail_memory(err);
    for (size_t t = 0; t < trees->tree_count && !*deeper; t++) {
        for (int v = 0; v < graph->node_count; v++)
            parent[v] = -1;
        for (size_t e = trees->first_edge[t]; e < banyan_trees_edges_end(trees, t); e++)
            if (packing->kind[t] == BANYAN_TREE_IN)
                parent[trees->edges[e].src] = trees->edges[e].dst;
            else
                parent[trees->edges[e].dst] = trees->edges[e].src;
        for (int v = 0; v < graph->node_count && packing->weight[t] > 1e-9 * packing->total; v++) {
            int depth = 0;

            for (int u = v; parent[u] >= 0 && depth <= limit; u = parent[u])
                depth++;
            *deeper |= depth > limit;
        }
    }
    banyan_free(parent);
    return BANYAN_SUCCESS;
}
