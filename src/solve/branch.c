/* SPDX-License-Identifier: Apache-2.0 */
/* solve/branch.c: Lovász's proof (1976) of Edmonds' theorem as an algorithm. A set of nodes is tight if just as much can
 * enter it as is wanted from roots outside. A tree grows breadth first from its root, so that it is shallow, and
 * enters no tight set that it has been in. Then it takes as much weight as leaves enough for the others in every set: first what
 * the sets known so far allow; then a maximum flow to each node asks whether others do, and one that does not becomes
 * known. If it leaves the tree nothing it is tight, and the tree is grown again. Trees towards roots are the same with
 * arcs turned round. Cost: one maximum flow a node for each tree, some hundred trees. */
#include "solve/branch.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "solve/flow.h"

#define SCALE 1099511627776.0 /* 2^40 for the largest capacity: flows are whole numbers */
#define LEAST 1e-6            /* of all that is wanted: a lighter tree is not worth its while */
#define CLOSE 16              /* times that: a set with less to spare is tight */
#define MORE_SETS 1024        /* beside each node alone and all but it */
#define WORD 64

typedef struct {
    const banyan_graph *graph;
    const banyan_branch_problem *problem;
    banyan_flow *flow;
    double unit;
    int64_t *room, *root; /* what is left of the problem's, as whole numbers */
    int64_t total, least;
    size_t set_count, set_limit, words; /* words of 64 sets */
    int64_t *spare;                     /* by set: what can enter beyond what is wanted */
    uint64_t *inside;                   /* [node * words + word]: the sets that hold the node */
    uint64_t *tight, *touched;
    unsigned char *cut;        /* the set at hand */
    int *parent, *via, *queue; /* the tree at hand; parent -1: the root, -2: not reached */
    int tree_size;
} brancher;

static void brancher_fini(brancher *b)
{
    banyan_flow_destroy(b->flow);
    banyan_free(b->room);
    banyan_free(b->root);
    banyan_free(b->spare);
    banyan_free(b->inside);
    banyan_free(b->tight);
    banyan_free(b->touched);
    banyan_free(b->cut);
    banyan_free(b->parent);
    banyan_free(b->via);
    banyan_free(b->queue);
}

/* Where an arc begins and ends as the trees see it. */
static int tail(const brancher *b, int arc)
{
    return b->problem->towards ? b->graph->arcs[arc].dst : b->graph->arcs[arc].src;
}

static int head(const brancher *b, int arc)
{
    return b->problem->towards ? b->graph->arcs[arc].src : b->graph->arcs[arc].dst;
}

/* Edges against the trees' direction: a node is served mostly from near by, so searches from it are short. First the arcs,
 * then one from each node to the node before the roots, and one to that of the tree at hand, which leads there too. */
static banyan_status make_flow(brancher *b, banyan_error *err)
{
    int nodes = b->graph->node_count, arcs = b->graph->arc_count, edges = arcs + 2 * nodes + 1;
    int *src = banyan_alloc((size_t)edges, sizeof *src), *dst = banyan_alloc((size_t)edges, sizeof *dst);
    banyan_status status = src && dst ? BANYAN_SUCCESS : banyan_fail_memory(err);

    for (int i = 0; !status && i < edges; i++) {
        src[i] = i < arcs ? head(b, i) : i < edges - 1 ? (i - arcs) % nodes : nodes + 1;
        dst[i] = i < arcs ? tail(b, i) : i < arcs + nodes || i == edges - 1 ? nodes : nodes + 1;
    }
    if (!status)
        status = banyan_flow_create(nodes + 2, edges, src, dst, &b->flow, err);
    banyan_free(src);
    banyan_free(dst);
    return status;
}

static banyan_status brancher_init(brancher *b, const banyan_graph *graph,
                                   const banyan_branch_problem *problem, banyan_error *err)
{
    size_t arcs = (size_t)graph->arc_count, nodes = (size_t)graph->node_count;

    *b = (brancher){.graph = graph, .problem = problem, .words = (2 * nodes + MORE_SETS) / WORD + 1};
    b->set_limit = b->words * WORD;
    b->room = banyan_alloc(arcs, sizeof *b->room);
    b->root = banyan_alloc(nodes, sizeof *b->root);
    b->spare = banyan_alloc(b->set_limit, sizeof *b->spare);
    b->inside = banyan_alloc(nodes * b->words, sizeof *b->inside);
    b->tight = banyan_alloc(b->words, sizeof *b->tight);
    b->touched = banyan_alloc(b->words, sizeof *b->touched);
    b->cut = banyan_alloc(nodes, 1);
    b->parent = banyan_alloc(nodes, sizeof *b->parent);
    b->via = banyan_alloc(nodes, sizeof *b->via);
    b->queue = banyan_alloc(nodes, sizeof *b->queue);
    if (!b->room || !b->root || !b->spare || !b->inside || !b->tight || !b->touched || !b->cut ||
        !b->parent || !b->via || !b->queue)
        return banyan_fail_memory(err);
    for (int i = 0; i < graph->arc_count; i++)
        b->unit = fmax(b->unit, problem->capacity[i] / SCALE);
    for (int i = 0; i < graph->arc_count; i++)
        b->room[i] = (int64_t)ceil(problem->capacity[i] / b->unit);
    for (int v = 0; v < graph->node_count; v++)
        b->total += b->root[v] = (int64_t)floor(problem->root[v] / b->unit * (1 - 1e-9));
    b->least = (int64_t)(LEAST * (double)b->total) + 1;
    return make_flow(b, err);
}

static int holds(const brancher *b, size_t set, int node)
{
    return (b->inside[(size_t)node * b->words + set / WORD] >> set % WORD) & 1;
}

static void mark_tight(brancher *b, size_t set)
{
    uint64_t bit = (uint64_t)1 << set % WORD;

    b->tight[set / WORD] &= ~bit;
    if (b->spare[set] < CLOSE * b->least)
        b->tight[set / WORD] |= bit;
}

static int64_t spare_of_cut(const brancher *b)
{
    int64_t spare = 0;

    for (int i = 0; i < b->graph->arc_count; i++)
        if (b->cut[head(b, i)] && !b->cut[tail(b, i)])
            spare += b->room[i];
    for (int v = 0; v < b->graph->node_count; v++)
        spare -= b->cut[v] ? 0 : b->root[v];
    return spare;
}

/* The cut at hand becomes a known set; 0: no room for it. */
static int add_set(brancher *b)
{
    size_t set = b->set_count;

    if (set == b->set_limit)
        return 0;
    b->set_count++;
    b->spare[set] = spare_of_cut(b);
    for (int v = 0; v < b->graph->node_count; v++)
        if (b->cut[v])
            b->inside[(size_t)v * b->words + set / WORD] |= (uint64_t)1 << set % WORD;
    mark_tight(b, set);
    return 1;
}

static void first_sets(brancher *b)
{
    const banyan_graph *graph = b->graph;

    for (int i = 0; i < graph->active_count; i++)
        for (int others = 0; others < 2; others++) {
            for (int j = 0; j < graph->active_count; j++)
                b->cut[graph->active[j]] = (i == j) != others;
            add_set(b);
        }
}

static void reach(brancher *b, int node, int parent, int via)
{
    b->parent[node] = parent;
    b->via[node] = via;
    b->queue[b->tree_size++] = node;
    for (size_t w = 0; w < b->words; w++)
        b->touched[w] |= b->inside[(size_t)node * b->words + w];
}

/* Whether a step from u to v enters a tight set that the tree has been in. */
static int enters_again(const brancher *b, int u, int v)
{
    const uint64_t *at_u = b->inside + (size_t)u * b->words, *at_v = b->inside + (size_t)v * b->words;

    for (size_t w = 0; w < b->words; w++)
        if (at_v[w] & ~at_u[w] & b->tight[w] & b->touched[w])
            return 1;
    return 0;
}

/* Over arcs with room for so much; whether all nodes were reached. */
static int grow_tree(brancher *b, int root, int64_t width)
{
    const banyan_graph *graph = b->graph;
    const int *first = b->problem->towards ? graph->in_first : graph->out_first,
              *list = b->problem->towards ? graph->in_arc : graph->out_arc;

    for (int v = 0; v < graph->node_count; v++)
        b->parent[v] = -2;
    memset(b->touched, 0, b->words * sizeof *b->touched);
    b->tree_size = 0;
    reach(b, root, -1, -1);
    for (int i = 0; i < b->tree_size; i++) {
        int u = b->queue[i];

        for (int k = first[u]; k < first[u + 1]; k++) {
            int v = head(b, list[k]);

            if (b->parent[v] == -2 && b->room[list[k]] >= width && !enters_again(b, u, v))
                reach(b, v, u, list[k]);
        }
    }
    return b->tree_size == graph->active_count;
}

/* How many times the tree enters a set beyond what a tree from its root has to. */
static int surplus(const brancher *b, size_t set)
{
    int times = holds(b, set, b->queue[0]) - 1;

    for (int i = 1; i < b->tree_size; i++)
        times += holds(b, set, b->queue[i]) && !holds(b, set, b->parent[b->queue[i]]);
    return times;
}

static int64_t weight_by_sets(const brancher *b)
{
    int64_t weight = b->root[b->queue[0]];

    for (int i = 1; i < b->tree_size; i++)
        weight = b->room[b->via[b->queue[i]]] < weight ? b->room[b->via[b->queue[i]]] : weight;
    for (size_t s = 0; s < b->set_count; s++) {
        int times = surplus(b, s);

        if (times > 0 && b->spare[s] / times < weight)
            weight = b->spare[s] / times;
    }
    return weight;
}

static void take(brancher *b, int64_t weight)
{
    b->root[b->queue[0]] -= weight;
    b->total -= weight;
    for (int i = 1; i < b->tree_size; i++)
        b->room[b->via[b->queue[i]]] -= weight;
}

/* What the node lacks, of all that is wanted and what the tree at hand should bring from where it has got to. */
static int64_t lack(brancher *b, int node, int64_t brings)
{
    int arcs = b->graph->arc_count, nodes = b->graph->node_count;

    for (int i = 0; i < arcs; i++)
        banyan_flow_set(b->flow, i, b->room[i], 0);
    for (int v = 0; v < nodes; v++) {
        banyan_flow_set(b->flow, arcs + v, b->root[v], 0);
        banyan_flow_set(b->flow, arcs + nodes + v, b->parent[v] != -2 ? brings : 0, 0);
    }
    banyan_flow_set(b->flow, arcs + 2 * nodes, brings, 0);
    return b->total + brings - banyan_flow_run(b->flow, node, nodes, b->total + brings);
}

static void take_cut(brancher *b)
{
    for (int v = 0; v < b->graph->node_count; v++)
        b->cut[v] = (unsigned char)banyan_flow_reaches(b->flow, v);
}

/* As much of the weight as leaves every node served. *full: there are too many sets. */
static int64_t weight_by_flows(brancher *b, int64_t weight, int *full)
{
    for (int i = 0; i < b->graph->active_count && weight >= b->least; i++) {
        int64_t lacks, allowed;

        take(b, weight);
        lacks = lack(b, b->graph->active[i], 0);
        take(b, -weight);
        if (lacks <= 0)
            continue;
        take_cut(b);
        if (!add_set(b)) {
            *full = 1;
            return 0;
        }
        if (surplus(b, b->set_count - 1) <= 0) /* by rounding only */
            continue;
        allowed = b->spare[b->set_count - 1] / surplus(b, b->set_count - 1);
        weight = allowed < weight ? allowed : weight;
        i--; /* perhaps there is a smaller one */
    }
    return weight;
}

/* The tree at hand cannot go on, because it has been in a tight set that was not known. Finds such sets; 0: there are none. */
static int find_sets(brancher *b, int *full)
{
    size_t before = b->set_count;

    take(b, b->least);
    for (int i = 0; i < b->graph->active_count && !*full; i++)
        if (lack(b, b->graph->active[i], b->least) > b->least / 2) {
            take_cut(b);
            take(b, -b->least);
            *full = !add_set(b);
            b->tight[(b->set_count - 1) / WORD] |= (uint64_t)1 << (b->set_count - 1) % WORD;
            take(b, b->least);
        }
    take(b, -b->least);
    return b->set_count > before;
}

/* The tree that is found, with its weight; 0: none. */
static int64_t find_tree(brancher *b, int root, int *full)
{
    for (int64_t width = b->root[root]; !*full;) {
        int64_t weight;

        if (!grow_tree(b, root, width)) {
            if (width == b->least && !find_sets(b, full))
                return 0;
            width = width / 2 < b->least ? b->least : width / 2;
            continue;
        }
        weight = weight_by_sets(b);
        if (weight >= b->least)
            weight = weight_by_flows(b, weight, full);
        if (weight >= b->least || *full)
            return weight;
        for (size_t s = 0; s < b->set_count; s++) /* what leaves it nothing must not be entered again */
            if (b->spare[s] < surplus(b, s) * b->least)
                b->tight[s / WORD] |= (uint64_t)1 << s % WORD;
    }
    return 0;
}

static banyan_status keep_tree(brancher *b, int64_t weight, banyan_branches *out, banyan_error *err)
{
    size_t tree = out->trees.tree_count;

    if (!banyan_grow((void **)&out->root, tree, &out->root_capacity, sizeof *out->root) ||
        !banyan_grow((void **)&out->weight, tree, &out->weight_capacity, sizeof *out->weight))
        return banyan_fail_memory(err);
    banyan_trees_begin(&out->trees);
    for (int i = 1; i < b->tree_size; i++) {
        const banyan_arc *arc = &b->graph->arcs[b->via[b->queue[i]]];

        banyan_trees_add_edge(&out->trees, arc->src, arc->dst);
        banyan_trees_add_arc(&out->trees, b->via[b->queue[i]]);
    }
    if (out->trees.failed)
        return banyan_fail_memory(err);
    out->root[tree] = b->queue[0];
    out->weight[tree] = (double)weight * b->unit;
    out->total += out->weight[tree];
    for (size_t s = 0; s < b->set_count; s++) {
        b->spare[s] -= weight * surplus(b, s);
        mark_tight(b, s);
    }
    take(b, weight);
    return BANYAN_SUCCESS;
}

static int largest_root(const brancher *b)
{
    int root = 0;

    for (int v = 1; v < b->graph->node_count; v++)
        root = b->root[v] > b->root[root] ? v : root;
    return root;
}

banyan_status banyan_branch(const banyan_graph *graph, const banyan_branch_problem *problem,
                            banyan_branches *out, banyan_error *err)
{
    brancher b;
    int full = 0;
    banyan_status status = brancher_init(&b, graph, problem, err);

    memset(out, 0, sizeof *out);
    banyan_trees_init(&out->trees);
    if (!status)
        first_sets(&b);
    while (!status && !full) {
        int root = largest_root(&b);
        int64_t weight;

        if (b.root[root] < b.least)
            break;
        weight = find_tree(&b, root, &full);
        if (weight) {
            status = keep_tree(&b, weight, out, err);
        } else { /* what is wanted there cannot be had */
            for (size_t s = 0; s < b.set_count; s++) {
                b.spare[s] += holds(&b, s, root) ? 0 : b.root[root];
                mark_tight(&b, s);
            }
            b.total -= b.root[root];
            b.root[root] = 0;
        }
    }
    brancher_fini(&b);
    if (status)
        banyan_branches_fini(out);
    return status;
}

void banyan_branches_fini(banyan_branches *branches)
{
    banyan_trees_fini(&branches->trees);
    banyan_free(branches->root);
    banyan_free(branches->weight);
    memset(branches, 0, sizeof *branches);
}
