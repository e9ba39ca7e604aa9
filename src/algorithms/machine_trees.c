/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/machine_trees.c: Edmonds (1973): as many out-trees from given roots can be packed into a network
 * as its cuts allow. The rate by cuts is known first; then a node of no machine is linked to every worker
 * with the share of that rate that each is to be the root of,
 *
 *              *             and column generation packs trees from there. A tree that enters the machine
 *          1/3 | \ 1/3       twice would waste such a link, of which there is just enough, so none does.
 *     0 ------ 1   2
 *
 * Links are turned round for the way to the root. */
#include "algorithms/machine_trees.h"

#include <math.h>
#include <string.h>

#include "bound/gather.h"
#include "core/alloc.h"
#include "solve/oracle/tree_oracle.h"
#include "solve/pack/tree_columns.h"

#define MANY_WORKERS 32

typedef struct {
    const banyan_topology *topology;
    const int *member;
    int size;
    unsigned char *role;
    unsigned char *inside; /* by node: of this machine */
    int *src, *dst, *link;
    double *capacity;
    int arc_count;
} sketch;

void banyan_machine_trees_fini(banyan_machine_trees *trees)
{
    banyan_graph_destroy(trees->graph);
    banyan_trees_fini(&trees->trees);
    banyan_free(trees->root);
    banyan_free(trees->share);
    memset(trees, 0, sizeof *trees);
}

static void sketch_fini(sketch *s)
{
    banyan_free(s->role);
    banyan_free(s->inside);
    banyan_free(s->src);
    banyan_free(s->dst);
    banyan_free(s->link);
    banyan_free(s->capacity);
}

/* Its active workers, and the switches that have links to no other machine's workers. */
static void mark_inside(sketch *s)
{
    const banyan_topology *topology = s->topology;
    int host = topology->nodes[s->member[0]].host;

    for (int i = 0; i < topology->link_count; i++) {
        const banyan_link *link = &topology->links[i];

        if (topology->nodes[link->dst].kind != BANYAN_NODE_WORKER &&
            topology->nodes[link->src].kind == BANYAN_NODE_WORKER && topology->nodes[link->src].host == host)
            s->inside[link->dst] = 1;
    }
    for (int i = 0; i < topology->link_count; i++) {
        const banyan_link *link = &topology->links[i];

        if (topology->nodes[link->src].kind == BANYAN_NODE_WORKER && topology->nodes[link->src].host != host)
            s->inside[link->dst] = 0;
    }
    for (int i = 0; i < s->size; i++)
        s->inside[s->member[i]] = 1;
}

static banyan_status sketch_init(sketch *s, banyan_error *err)
{
    const banyan_topology *topology = s->topology;
    size_t nodes = (size_t)topology->node_count + 1, links = (size_t)(topology->link_count + s->size);

    s->role = banyan_alloc(nodes, 1);
    s->inside = banyan_alloc(nodes, 1);
    s->src = banyan_alloc(links, sizeof(int));
    s->dst = banyan_alloc(links, sizeof(int));
    s->link = banyan_alloc(links, sizeof(int));
    s->capacity = banyan_alloc(links, sizeof(double));
    if (!s->role || !s->inside || !s->src || !s->dst || !s->link || !s->capacity)
        return banyan_fail_memory(err);
    mark_inside(s);
    for (int i = 0; i < topology->link_count; i++) {
        const banyan_link *link = &topology->links[i];

        if (!s->inside[link->src] || !s->inside[link->dst] || link->src == link->dst)
            continue;
        s->src[s->arc_count] = link->src;
        s->dst[s->arc_count] = link->dst;
        s->link[s->arc_count] = i;
        s->capacity[s->arc_count++] = link->bytes_per_s;
    }
    for (int i = 0; i < s->size; i++)
        s->role[s->member[i]] = BANYAN_NODE_ACTIVE;
    return BANYAN_SUCCESS;
}

static banyan_status make_graph(const sketch *s, banyan_graph **out, banyan_error *err)
{
    banyan_graph_input input = {
        s->topology->node_count + 1, s->role, s->arc_count, s->src, s->dst, s->capacity, s->link};

    return banyan_graph_create(&input, out, err);
}

/* The rate by cuts, bytes per second of the whole vector; 0 where this way does not serve. */
static banyan_status find_rate(const sketch *s, double *rate, banyan_error *err)
{
    banyan_graph *graph;
    banyan_fraction fraction;
    unsigned char *side = banyan_alloc((size_t)s->topology->node_count + 1, 1);
    banyan_status status = side ? make_graph(s, &graph, err) : banyan_fail_memory(err);

    *rate = 0;
    if (!status) {
        if (graph->symmetric && graph->arc_count) {
            status = banyan_gather_rate(graph, 0, &fraction, side, err);
            if (!status && fraction.num > 0)
                *rate = banyan_fraction_value(fraction) * graph->unit;
        }
        banyan_graph_destroy(graph);
    }
    banyan_free(side);
    return status == BANYAN_INVALID_ARGUMENT ? BANYAN_SUCCESS : status;
}

/* Copies the tree without its edge from the outer node; 0 if it has several such edges. */
static int take_tree(const sketch *s, const banyan_tree_packing *packing, size_t tree,
                     banyan_machine_trees *out)
{
    const banyan_trees *trees = &packing->trees;
    size_t end = banyan_trees_edges_end(trees, tree);
    int entries = 0, root = -1;

    for (size_t e = trees->first_edge[tree]; e < end; e++)
        if (trees->edges[e].src == s->topology->node_count) {
            entries++;
            root = trees->edges[e].dst;
        }
    if (entries != 1)
        return 0;
    banyan_trees_begin(&out->trees);
    for (size_t e = trees->first_edge[tree]; e < end; e++) {
        if (trees->edges[e].src == s->topology->node_count)
            continue;
        banyan_trees_add_edge(&out->trees, trees->edges[e].src, trees->edges[e].dst);
        for (size_t a = trees->edges[e].first_arc; a < banyan_trees_arcs_end(trees, e); a++)
            banyan_trees_add_arc(&out->trees, trees->arcs[a]);
    }
    if (out->trees.failed)
        return 0;
    for (int i = 0; i < s->size; i++)
        if (s->member[i] == root)
            out->root[out->trees.tree_count - 1] = i;
    out->share[out->trees.tree_count - 1] = packing->weight[tree];
    return 1;
}

/* Each root's weights become shares of 1. *whole: every root has some. */
static void level_shares(const sketch *s, banyan_machine_trees *out, int *whole)
{
    *whole = 1;
    for (int root = 0; root < s->size; root++) {
        double sum = 0;

        for (size_t t = 0; t < out->trees.tree_count; t++)
            sum += out->root[t] == root ? out->share[t] : 0;
        if (!(sum > 0))
            *whole = 0;
        for (size_t t = 0; t < out->trees.tree_count; t++)
            if (out->root[t] == root && sum > 0)
                out->share[t] /= sum;
    }
}

static banyan_status pack(sketch *s, double rate, banyan_machine_trees *out, int *whole, banyan_error *err)
{
    banyan_tree_packing_problem problem = {.oracle = banyan_rooted_oracle_tree,
                                           .directed = 1,
                                           .tolerance = 1e-9,
                                           .warm_trees = 4 * s->size,
                                           .round_limit = 1000};
    banyan_rooted_oracle *oracle = NULL;
    banyan_tree_packing packing;
    int outer = s->topology->node_count;
    banyan_status status;

    for (int i = 0; i < s->size; i++) {
        s->src[s->arc_count] = outer;
        s->dst[s->arc_count] = s->member[i];
        s->link[s->arc_count] = -1;
        s->capacity[s->arc_count++] = rate / s->size;
    }
    s->role[outer] = BANYAN_NODE_ACTIVE;
    status = make_graph(s, &out->graph, err);
    if (!status)
        status = banyan_rooted_oracle_create(out->graph, outer, &oracle, err);
    problem.context = oracle;
    if (!status)
        status = banyan_tree_packing_solve(out->graph, &problem, &packing, err);
    banyan_rooted_oracle_destroy(oracle);
    if (status)
        return status;
    out->root = banyan_alloc(packing.trees.tree_count, sizeof *out->root);
    out->share = banyan_alloc(packing.trees.tree_count, sizeof *out->share);
    if (!out->root || !out->share)
        status = banyan_fail_memory(err);
    for (size_t t = 0; !status && t < packing.trees.tree_count; t++)
        if (packing.weight[t] > 1e-6 * packing.total && !take_tree(s, &packing, t, out) && out->trees.failed)
            status = banyan_fail_memory(err);
    if (!status)
        level_shares(s, out, whole);
    banyan_tree_packing_fini(&packing);
    return status;
}

/* One tree a root; edges without arcs go by the default route. */
static banyan_status breadth_first(const banyan_machines *machines, const banyan_topology *topology,
                                   int machine, banyan_machine_trees *out, banyan_error *err)
{
    int size = machines->first[machine + 1] - machines->first[machine];

    banyan_machine_trees_fini(out);
    out->root = banyan_alloc((size_t)size, sizeof *out->root);
    out->share = banyan_alloc((size_t)size, sizeof *out->share);
    if (!out->root || !out->share)
        return banyan_fail_memory(err);
    for (int root = 0; root < size; root++) {
        banyan_machines_tree(machines, topology, machine, root);
        banyan_trees_begin(&out->trees);
        for (int i = 1; i < size; i++)
            banyan_trees_add_edge(&out->trees, machines->parent[machines->order[i]], machines->order[i]);
        out->root[root] = root;
        out->share[root] = 1;
    }
    return out->trees.failed ? banyan_fail_memory(err) : BANYAN_SUCCESS;
}

banyan_status banyan_machine_trees_find(const banyan_machines *machines, const banyan_topology *topology,
                                        int machine, banyan_machine_trees *out, banyan_error *err)
{
    sketch s = {.topology = topology,
                .member = machines->member + machines->first[machine],
                .size = machines->first[machine + 1] - machines->first[machine]};
    double rate = 0;
    int whole = 0;
    banyan_status status = BANYAN_SUCCESS;

    memset(out, 0, sizeof *out);
    if (s.size > 1 && s.size <= MANY_WORKERS) {
        status = sketch_init(&s, err);
        if (!status)
            status = find_rate(&s, &rate, err);
        if (!status && rate > 0)
            status = pack(&s, rate, out, &whole, err);
    }
    if (!status && !whole)
        status = breadth_first(machines, topology, machine, out, err);
    sketch_fini(&s);
    if (status)
        banyan_machine_trees_fini(out);
    return status;
}
