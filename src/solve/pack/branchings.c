/* SPDX-License-Identifier: Apache-2.0 */
/* solve/pack/branchings.c: Edmonds' disjoint branchings (1973), grown with all their copies at a time.
 *
 * Trees are still to be grown from roots v, k(v) copies each; some are partly grown. All of them fit into
 * what is left of the arcs just when into every set Z of nodes as much leads as trees have no node in Z. A
 * tree T of m copies may take the arc (x,y) for
 *
 *     min over Z with y in it, x outside, of  room into Z - copies of other trees with no node in Z
 *
 * of them, one maximum flow from x to y: x also reaches every node of the other trees, through an edge as
 * wide as their copies. Some arc out of T can always be taken. The rest of the copies, if there is a rest,
 * goes on as a tree of its own. An arc that cannot be taken never can be by the same tree, so that a tree
 * costs at most one flow for each arc. Arcs near to the root are tried first: trees become shallow.
 *
 * Papers: K. Berczi, A. Frank, Packing Arborescences, 2010; L. Zhao et al., ForestColl, 2024. */
#include "solve/pack/branchings.h"

#include <string.h>

#include "core/alloc.h"
#include "core/scratch.h"
#include "solve/net/effort.h"
#include "solve/net/work.h"
#include "solve/round/parent_swaps.h"

/* A tree that does not span all active nodes yet. */
typedef struct {
    int64_t copies;
    int count;            /* of its nodes */
    int *node, *via;      /* in the order in which they joined it, and by which arc; the root by -1 */
    unsigned char *holds; /* by node */
    banyan_scratch memory;
} sprout;

typedef struct {
    const banyan_joined_network *network;
    banyan_branchings *out;
    int *first, *leaving; /* arcs that leave v: leaving[first[v] .. first[v+1]) */
    int64_t *room;        /* by arc */
    int64_t *most;        /* by arc: copies of the current tree that can take it, at most */
    int64_t *whole;       /* by node: copies of trees of which it is the root and the only node */
    sprout *waiting;      /* trees that were begun */
    size_t waiting_count, waiting_capacity;
    banyan_flow *flow; /* arcs, source -> active, active -> source, then source -> tree -> its nodes */
    int64_t others;    /* copies of all trees but the current one */
    int *via;          /* by finished tree and node: the arc into it; -1 at its root */
    size_t kept_count;
    banyan_work begun;
    banyan_scratch memory;
} packer;

static banyan_status sprout_init(sprout *s, const banyan_graph *graph, int root, int64_t copies,
                                 banyan_error *err)
{
    size_t nodes = (size_t)graph->node_count;

    *s = (sprout){.copies = copies, .count = 1};
    s->node = banyan_scratch_take(&s->memory, nodes, sizeof *s->node);
    s->via = banyan_scratch_take(&s->memory, nodes, sizeof *s->via);
    s->holds = banyan_scratch_take(&s->memory, nodes, 1);
    if (s->memory.failed)
        return banyan_fail_memory(err);
    s->node[0] = root;
    s->via[0] = -1;
    s->holds[root] = 1;
    return BANYAN_SUCCESS;
}

static void packer_fini(packer *p)
{
    for (size_t i = 0; i < p->waiting_count; i++)
        banyan_scratch_free(&p->waiting[i].memory);
    banyan_flow_destroy(p->flow);
    banyan_free(p->waiting);
    banyan_scratch_free(&p->memory);
    banyan_free(p->via);
}

static banyan_status packer_init(packer *p, const banyan_joined_network *network, banyan_branchings *out,
                                 banyan_error *err)
{
    size_t nodes = (size_t)network->graph->node_count, arcs = network->arc_count;

    *p = (packer){.network = network, .out = out, .begun = banyan_work_now()};
    p->first = banyan_scratch_take(&p->memory, nodes + 2, sizeof *p->first);
    p->leaving = banyan_scratch_take(&p->memory, arcs, sizeof *p->leaving);
    p->room = banyan_scratch_take(&p->memory, arcs, sizeof *p->room);
    p->most = banyan_scratch_take(&p->memory, arcs, sizeof *p->most);
    p->whole = banyan_scratch_take(&p->memory, nodes, sizeof *p->whole);
    if (p->memory.failed)
        return banyan_fail_memory(err);
    for (size_t i = 0; i < arcs; i++) {
        p->room[i] = network->arcs[i].capacity;
        p->first[network->arcs[i].src + 2]++;
    }
    for (size_t v = 0; v < nodes; v++)
        p->first[v + 2] += p->first[v + 1];
    for (size_t i = 0; i < arcs; i++)
        p->leaving[p->first[network->arcs[i].src + 1]++] = (int)i;
    for (int i = 0; i < network->graph->active_count; i++)
        p->whole[network->graph->active[i]] = network->demand;
    return BANYAN_SUCCESS;
}

static int count_edges(const packer *p)
{
    int count = (int)p->network->arc_count + 2 * p->network->graph->active_count;

    for (size_t i = 0; i < p->waiting_count; i++)
        count += 1 + p->waiting[i].count;
    return count;
}

/* The edges of begun trees change with these, so that the flow network is made anew when there is another. */
static banyan_status make_flow(packer *p, banyan_error *err)
{
    const banyan_graph *graph = p->network->graph;
    int source = graph->node_count;
    banyan_status status;

    banyan_flow_destroy(p->flow);
    status = banyan_flow_create(source + 1 + (int)p->waiting_count, count_edges(p), &p->flow, err);
    for (size_t i = 0; !status && i < p->network->arc_count; i++)
        banyan_flow_join(p->flow, p->network->arcs[i].src, p->network->arcs[i].dst);
    for (int i = 0; !status && i < graph->active_count; i++)
        banyan_flow_join(p->flow, source, graph->active[i]);
    for (int i = 0; !status && i < graph->active_count; i++)
        banyan_flow_join(p->flow, graph->active[i], source);
    for (size_t t = 0; !status && t < p->waiting_count; t++) {
        banyan_flow_join(p->flow, source, source + 1 + (int)t);
        for (int i = 0; i < p->waiting[t].count; i++)
            banyan_flow_join(p->flow, source + 1 + (int)t, p->waiting[t].node[i]);
    }
    p->others = 0;
    for (int i = 0; i < graph->active_count; i++)
        p->others += p->whole[graph->active[i]];
    for (size_t t = 0; t < p->waiting_count; t++)
        p->others += p->waiting[t].copies;
    return status;
}

static void set_capacities(packer *p, int from)
{
    const banyan_graph *graph = p->network->graph;
    int e = 0;

    for (size_t i = 0; i < p->network->arc_count; i++)
        banyan_flow_set(p->flow, e++, p->room[i], 0);
    for (int i = 0; i < graph->active_count; i++)
        banyan_flow_set(p->flow, e++, p->whole[graph->active[i]], 0);
    for (int i = 0; i < graph->active_count; i++)
        banyan_flow_set(p->flow, e++, graph->active[i] == from ? p->others : 0, 0);
    for (size_t t = 0; t < p->waiting_count; t++) {
        banyan_flow_set(p->flow, e++, p->waiting[t].copies, 0);
        for (int i = 0; i < p->waiting[t].count; i++)
            banyan_flow_set(p->flow, e++, p->waiting[t].copies, 0);
    }
}

/* Copies of the tree that can take the arc. */
static int64_t find_copies(packer *p, const sprout *tree, int arc)
{
    const banyan_joined_arc *a = &p->network->arcs[arc];
    int64_t copies;

    set_capacities(p, a->src);
    copies = banyan_flow_run(p->flow, a->src, a->dst, p->others + tree->copies) - p->others;
    return copies < p->room[arc] ? copies : p->room[arc];
}

/* The nearest arc that all copies can take, or the one that most can; -1: none. */
static int choose_arc(packer *p, const sprout *tree, int64_t *copies)
{
    int best = -1;

    *copies = 0;
    for (int i = 0; i < tree->count; i++)
        for (int j = p->first[tree->node[i]]; j < p->first[tree->node[i] + 1]; j++) {
            int arc = p->leaving[j];

            if (tree->holds[p->network->arcs[arc].dst] || p->most[arc] <= *copies || p->room[arc] <= *copies)
                continue;
            p->most[arc] = find_copies(p, tree, arc);
            if (p->most[arc] <= *copies)
                continue;
            *copies = p->most[arc];
            best = arc;
            if (*copies >= tree->copies)
                return best;
        }
    return best;
}

/* The copies that do not take the arc wait as a tree of their own. */
static banyan_status leave_rest(packer *p, sprout *tree, int64_t copies, banyan_error *err)
{
    size_t nodes = (size_t)p->network->graph->node_count;
    sprout *rest;
    banyan_status status;

    if (!banyan_grow((void **)&p->waiting, p->waiting_count, &p->waiting_capacity, sizeof *p->waiting))
        return banyan_fail_memory(err);
    rest = &p->waiting[p->waiting_count++];
    status = sprout_init(rest, p->network->graph, tree->node[0], tree->copies - copies, err);
    if (status)
        return status;
    rest->count = tree->count;
    memcpy(rest->node, tree->node, nodes * sizeof *rest->node);
    memcpy(rest->via, tree->via, nodes * sizeof *rest->via);
    memcpy(rest->holds, tree->holds, nodes);
    tree->copies = copies;
    return make_flow(p, err);
}

static banyan_status grow(packer *p, sprout *tree, banyan_error *err)
{
    banyan_status status = make_flow(p, err);

    for (size_t i = 0; i < p->network->arc_count; i++)
        p->most[i] = INT64_MAX;
    while (!status && tree->count < p->network->graph->active_count) {
        int64_t copies;
        int arc = choose_arc(p, tree, &copies), dst;

        if (banyan_work_since(&p->begun).visits > BANYAN_BRANCHING_VISITS)
            return banyan_fail(err, BANYAN_UNSUPPORTED,
                               "packing a tree for each of %d ranks takes too many maximum flows",
                               p->network->graph->active_count);
        if (arc < 0)
            return banyan_fail(err, BANYAN_PLAN_INVALID, "no arc leads on from the tree at node %d",
                               tree->node[0]);
        if (copies < tree->copies)
            status = leave_rest(p, tree, copies, err);
        dst = p->network->arcs[arc].dst;
        p->room[arc] -= tree->copies;
        tree->via[tree->count] = arc;
        tree->node[tree->count++] = dst;
        tree->holds[dst] = 1;
    }
    return status;
}

/* The arcs of the graph that a joined arc runs over, from its src on, or backwards. */
static void add_arcs(const packer *p, int arc)
{
    const banyan_joined_arc *a = &p->network->arcs[arc];
    int is_turned = p->network->towards;

    if (a->second < 0) {
        banyan_trees_add_arc(&p->out->trees, a->first);
        return;
    }
    add_arcs(p, is_turned ? a->second : a->first);
    add_arcs(p, is_turned ? a->first : a->second);
}

/* The finished tree: its root, its copies, and the arc into each other node. */
static banyan_status keep(packer *p, const sprout *tree, banyan_error *err)
{
    size_t nodes = (size_t)p->network->graph->node_count, capacity = p->out->capacity,
           via_capacity = capacity;
    int *via;

    if (!banyan_grow((void **)&p->out->root, p->kept_count, &capacity, sizeof *p->out->root) ||
        !banyan_grow((void **)&p->via, p->kept_count, &via_capacity, nodes * sizeof *p->via) ||
        !banyan_grow((void **)&p->out->weight, p->kept_count, &p->out->capacity, sizeof *p->out->weight))
        return banyan_fail_memory(err);
    p->out->root[p->kept_count] = tree->node[0];
    p->out->weight[p->kept_count] = tree->copies;
    via = p->via + p->kept_count++ * nodes;
    for (size_t v = 0; v < nodes; v++)
        via[v] = -1;
    for (int i = 1; i < tree->count; i++)
        via[tree->node[i]] = tree->via[i];
    return BANYAN_SUCCESS;
}

static void add_tree_edge(const packer *p, int arc)
{
    const banyan_joined_arc *a = &p->network->arcs[arc];

    banyan_trees_add_edge(&p->out->trees, p->network->towards ? a->dst : a->src,
                          p->network->towards ? a->src : a->dst);
    add_arcs(p, arc);
}

static banyan_status emit(packer *p, banyan_error *err)
{
    const banyan_graph *graph = p->network->graph;

    for (size_t t = 0; t < p->kept_count; t++) {
        banyan_trees_begin(&p->out->trees);
        for (int i = 0; i < graph->active_count; i++)
            if (graph->active[i] != p->out->root[t])
                add_tree_edge(p, p->via[t * (size_t)graph->node_count + (size_t)graph->active[i]]);
    }
    return p->out->trees.failed ? banyan_fail_memory(err) : BANYAN_SUCCESS;
}

static banyan_status make_shallow(packer *p, banyan_error *err)
{
    banyan_swapped_trees trees = {p->network, p->kept_count, p->out->root, p->out->weight, p->via, p->room};

    return banyan_parent_swaps_run(&trees, err);
}

static banyan_status grow_from(packer *p, int root, banyan_error *err)
{
    sprout tree;
    banyan_status status = sprout_init(&tree, p->network->graph, root, p->whole[root], err);

    p->whole[root] = 0;
    for (;;) {
        if (!status)
            status = grow(p, &tree, err);
        if (!status)
            status = keep(p, &tree, err);
        banyan_scratch_free(&tree.memory);
        if (status || !p->waiting_count)
            return status;
        tree = p->waiting[--p->waiting_count];
    }
}

banyan_status banyan_branchings_pack(const banyan_joined_network *network, banyan_branchings *out,
                                     banyan_error *err)
{
    packer p;
    banyan_status status;

    *out = (banyan_branchings){0};
    banyan_trees_init(&out->trees);
    status = packer_init(&p, network, out, err);
    for (int i = 0; !status && i < network->graph->active_count; i++)
        status = grow_from(&p, network->graph->active[i], err);
    if (!status)
        status = make_shallow(&p, err);
    if (!status)
        status = emit(&p, err);
    packer_fini(&p);
    if (status)
        banyan_branchings_fini(out);
    return status;
}

void banyan_branchings_fini(banyan_branchings *branchings)
{
    banyan_trees_fini(&branchings->trees);
    banyan_free(branchings->root);
    banyan_free(branchings->weight);
    *branchings = (banyan_branchings){0};
}
