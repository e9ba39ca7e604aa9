/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/machine_trees.c: Edmonds (1973): as many out-trees from given roots can be packed into a network
 * as its cuts allow. The rate by cuts is known first; then switches are split off and trees from every worker
 * fill it (solve/pack/branchings.h), as in an all-gather inside the machine.
 *
 * Links are turned round for the way to the root. */
#include "algorithms/machine_trees.h"

#include <string.h>

#include "bound/gather.h"
#include "core/alloc.h"
#include "core/scratch.h"
#include "solve/pack/branchings.h"

#define MAX_SEARCHED_WORKERS 32

typedef struct {
    const banyan_topology *topology;
    const int *member;
    int size;
    unsigned char *role;
    unsigned char *inside; /* by node: of this machine */
    int *src, *dst, *link;
    double *capacity;
    int arc_count;
    banyan_scratch memory;
} sketch;

void banyan_machine_trees_fini(banyan_machine_trees *trees)
{
    banyan_graph_destroy(trees->graph);
    banyan_trees_fini(&trees->trees);
    banyan_free(trees->root);
    banyan_free(trees->share);
    memset(trees, 0, sizeof *trees);
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
    size_t nodes = (size_t)topology->node_count, links = (size_t)topology->link_count;

    s->role = banyan_scratch_take(&s->memory, nodes, 1);
    s->inside = banyan_scratch_take(&s->memory, nodes, 1);
    s->src = banyan_scratch_take(&s->memory, links, sizeof(int));
    s->dst = banyan_scratch_take(&s->memory, links, sizeof(int));
    s->link = banyan_scratch_take(&s->memory, links, sizeof(int));
    s->capacity = banyan_scratch_take(&s->memory, links, sizeof(double));
    if (s->memory.failed)
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
        s->topology->node_count, s->role, s->arc_count, s->src, s->dst, s->capacity, s->link};

    return banyan_graph_create(&input, out, err);
}

/* Copies the tree, its edges from the root on. */
static void take_tree(const sketch *s, const banyan_branchings *from, size_t tree, unsigned char *is_reached,
                      banyan_machine_trees *out)
{
    const banyan_trees *trees = &from->trees;

    memset(is_reached, 0, (size_t)s->topology->node_count);
    is_reached[from->root[tree]] = 1;
    banyan_trees_begin(&out->trees);
    for (int found = 1; found;) {
        found = 0;
        for (size_t e = trees->first_edge[tree]; e < banyan_trees_edges_end(trees, tree); e++) {
            if (!is_reached[trees->edges[e].src] || is_reached[trees->edges[e].dst])
                continue;
            found = is_reached[trees->edges[e].dst] = 1;
            banyan_trees_add_edge(&out->trees, trees->edges[e].src, trees->edges[e].dst);
            for (size_t a = trees->edges[e].first_arc; a < banyan_trees_arcs_end(trees, e); a++)
                banyan_trees_add_arc(&out->trees, trees->arcs[a]);
        }
    }
    for (int i = 0; i < s->size; i++)
        if (s->member[i] == from->root[tree])
            out->root[tree] = i;
}

static banyan_status take_trees(const sketch *s, const banyan_branchings *from, int64_t demand,
                                banyan_machine_trees *out, banyan_error *err)
{
    unsigned char *is_reached = banyan_alloc((size_t)s->topology->node_count, 1);
    banyan_status status = is_reached ? BANYAN_SUCCESS : banyan_fail_memory(err);

    out->root = banyan_alloc(from->trees.tree_count, sizeof *out->root);
    out->share = banyan_alloc(from->trees.tree_count, sizeof *out->share);
    if (!out->root || !out->share)
        status = banyan_fail_memory(err);
    for (size_t t = 0; !status && t < from->trees.tree_count; t++) {
        take_tree(s, from, t, is_reached, out);
        out->share[t] = (double)from->weight[t] / (double)demand;
    }
    banyan_free(is_reached);
    return !status && out->trees.failed ? banyan_fail_memory(err) : status;
}

/* *is_whole: every root has trees. */
static banyan_status pack(const sketch *s, banyan_machine_trees *out, int *is_whole, banyan_error *err)
{
    banyan_joined_network network;
    banyan_branchings branchings = {0};
    banyan_fraction rate = {0, 1};
    banyan_status status = make_graph(s, &out->graph, err);

    if (!status && out->graph->symmetric && out->graph->arc_count)
        status = banyan_gather_rate(out->graph, 0, &rate, NULL, err);
    if (status || rate.num <= 0)
        return status == BANYAN_INVALID_ARGUMENT ? BANYAN_SUCCESS : status;
    status = banyan_joined_network_init(&network, out->graph, 0, rate, err);
    if (status)
        return status;
    if (network.demand > 0)
        status = banyan_branchings_pack(&network, &branchings, err);
    if (!status && branchings.trees.tree_count) {
        status = take_trees(s, &branchings, network.demand, out, err);
        *is_whole = 1;
    }
    banyan_branchings_fini(&branchings);
    banyan_joined_network_fini(&network);
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
    int is_whole = 0;
    banyan_status status = BANYAN_SUCCESS;

    memset(out, 0, sizeof *out);
    if (s.size > 1 && s.size <= MAX_SEARCHED_WORKERS) {
        status = sketch_init(&s, err);
        if (!status)
            status = pack(&s, out, &is_whole, err);
    }
    if (!status && !is_whole)
        status = breadth_first(machines, topology, machine, out, err);
    banyan_scratch_free(&s.memory);
    if (status)
        banyan_machine_trees_fini(out);
    return status;
}
