/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/forest/join.c: idle workers behind switches. Cables to which the bound gives no price are wide
 * enough for whatever is done over them, so the nodes that they join are one node: a host with its ranks, or
 * all switches of a fat-tree.
 *
 *      g0 g1   g2 g3                             Trees are packed in that smaller network, and then laid into this
 *       \ /     \ /                              one: each edge takes the way that is least busy, and where several
 *        h0      h1        (01) --- net --- (23)   ends, or active workers, lie in one node, a minimum spanning
 *          \    /                                tree inside joins them. In the end edges are exchanged, should
 *           net                                  cables inside be too full, and the trees weighed. */
#include <math.h>
#include <string.h>

#include "algorithms/forest/parts.h"
#include "core/alloc.h"
#include "solve/net/effort.h"
#include "solve/oracle/spanning.h"
#include "solve/pack/weigh.h"
#include "solve/presolve/contraction.h"
#include "solve/round/edge_exchange.h"

#define STEEPNESS 10.0 /* prices double so often from an empty cable to one as full as all should be, */
#define STEEPEST 30.0  /* and at most */
#define OUTSIDE ((int64_t)1 << 44) /* price of cables that the smaller network's trees have chosen already */
#define GOOD 0.995                 /* of the same: trees are not laid in pieces */
#define FULL 0.98                  /* of its capacity: the cable is not free, whatever its price */
#define ROUNDS 3                   /* where there are */
#define MOST_PIECES 128            /* of trees */
#define DEPTH 16                   /* that exchanges do not go beyond */
#define ATTEMPTS 20000             /* exchanges */
#define ENOUGH 0.999               /* of the smaller network's rate: no exchange is needed */

typedef struct {
    const banyan_graph *graph;
    const banyan_contraction *joined;
    banyan_spanning *spanning;
    double *load;          /* per arc: weight so far; twins bear the same */
    double placed;         /* weight of the trees so far */
    int64_t *inner;        /* per arc: its price, or OUTSIDE where it leaves its node */
    unsigned char *member; /* per node: in the current tree */
    int64_t *far;          /* [stage * nodes + v] */
    int *via, *queue;
    unsigned char *waits;
    int state_count;
    int *way; /* arcs of the current way, last first */
    banyan_trees trees, inside;
    double *weight;
} layer;

static void layer_fini(layer *l)
{
    banyan_spanning_destroy(l->spanning);
    banyan_free(l->load);
    banyan_free(l->inner);
    banyan_free(l->member);
    banyan_free(l->far);
    banyan_free(l->via);
    banyan_free(l->queue);
    banyan_free(l->waits);
    banyan_free(l->way);
    banyan_free(l->weight);
    banyan_trees_fini(&l->trees);
    banyan_trees_fini(&l->inside);
}

static banyan_status layer_init(layer *l, const banyan_graph *graph, const banyan_contraction *joined,
                                const banyan_flows *flows, int most, banyan_error *err)
{
    size_t arcs = (size_t)graph->arc_count, states;
    int longest = 0;

    for (size_t h = 0; h < flows->hop_count; h++)
        longest = flows->hops[h].link_count > longest ? flows->hops[h].link_count : longest;
    *l = (layer){.graph = graph, .joined = joined, .state_count = graph->node_count * (longest + 1)};
    states = (size_t)l->state_count;
    banyan_trees_init(&l->trees);
    banyan_trees_init(&l->inside);
    l->load = banyan_alloc(arcs, sizeof *l->load);
    l->inner = banyan_alloc(arcs, sizeof *l->inner);
    l->member = banyan_alloc((size_t)graph->node_count, 1);
    l->far = banyan_alloc(states, sizeof *l->far);
    l->via = banyan_alloc(states, sizeof *l->via);
    l->queue = banyan_alloc(states + 1, sizeof *l->queue);
    l->waits = banyan_alloc(states, 1);
    l->way = banyan_alloc(states, sizeof *l->way);
    l->weight = banyan_alloc(flows->flow_count + (size_t)most, sizeof *l->weight);
    if (!l->load || !l->inner || !l->member || !l->far || !l->via || !l->queue || !l->waits || !l->way ||
        !l->weight)
        return banyan_fail_memory(err);
    return banyan_spanning_create(graph, &l->spanning, err);
}

/* What one more tree of the weight makes of the cable, beside what all should bear by then. */
static int64_t price_of(const layer *l, int arc, double weight, double rate)
{
    double due = (double)l->graph->arcs[arc].capacity * (l->placed + weight) / rate;

    return 64 + (int64_t)(64 * exp2(fmin(STEEPEST, STEEPNESS * (l->load[arc] + weight) / due)));
}

static void bear(layer *l, int arc, double weight)
{
    l->load[arc] += weight;
    l->load[l->graph->arcs[arc].twin] += weight;
}

/* Whether an edge of a tree can end at the node: at active workers where there are some in its part. */
static int is_end(const layer *l, int v)
{
    unsigned role = l->joined->graph->role[l->joined->part[v]];

    return l->graph->role[v] & (role & BANYAN_NODE_ACTIVE ? BANYAN_NODE_ACTIVE : BANYAN_NODE_ADDS);
}

static void offer(layer *l, int state, int64_t far, int via, int *tail)
{
    if (far >= l->far[state])
        return;
    l->far[state] = far;
    l->via[state] = via;
    if (l->waits[state])
        return;
    l->waits[state] = 1;
    l->queue[*tail] = state;
    *tail = (*tail + 1) % (l->state_count + 1);
}

/* Ways from the part that a hop begins in over its first arcs, in order, and over cables inside parts. */
static void measure(layer *l, const int *hop_arcs, int stages, int from, double weight, double rate)
{
    const banyan_graph *graph = l->graph;
    int head = 0, tail = 0;

    for (int i = 0; i < graph->node_count * (stages + 1); i++)
        l->far[i] = INT64_MAX;
    for (int v = 0; v < graph->node_count; v++)
        if (l->joined->part[v] == from && is_end(l, v))
            offer(l, v, 0, -1, &tail);
    while (head != tail) {
        int state = l->queue[head], v = state % graph->node_count, stage = state / graph->node_count;

        head = (head + 1) % (l->state_count + 1);
        l->waits[state] = 0;
        for (int j = graph->out_first[v]; j < graph->out_first[v + 1]; j++) {
            int arc = graph->out_arc[j], crosses = l->joined->arc[arc] >= 0;

            if (crosses && (stage == stages || l->joined->arc[arc] != hop_arcs[stage]))
                continue;
            offer(l, (stage + crosses) * graph->node_count + graph->arcs[arc].dst,
                  l->far[state] + price_of(l, arc, weight, rate), arc, &tail);
        }
    }
}

/* One edge of the smaller network's tree. 0: there is no way, which cannot be. */
static int lay_hop(layer *l, const banyan_flows *flows, const banyan_hop *hop, double weight, double rate)
{
    const banyan_graph *graph = l->graph;
    const int *hop_arcs = flows->links + hop->first_link;
    int best = -1, count = 0, state;

    measure(l, hop_arcs, hop->link_count, hop->src, weight, rate);
    for (int v = 0; v < graph->node_count; v++) {
        state = hop->link_count * graph->node_count + v;
        if (l->joined->part[v] == hop->dst && is_end(l, v) && l->far[state] < INT64_MAX &&
            (best < 0 || l->far[state] < l->far[best]))
            best = state;
    }
    if (best < 0)
        return 0;
    for (state = best; l->via[state] >= 0;) {
        int arc = l->via[state], stage = state / graph->node_count - (l->joined->arc[arc] >= 0);

        l->way[count++] = arc;
        state = stage * graph->node_count + graph->arcs[arc].src;
    }
    l->member[state] = l->member[best % graph->node_count] = 1;
    banyan_trees_add_edge(&l->trees, state, best % graph->node_count);
    while (count-- > 0) {
        banyan_trees_add_arc(&l->trees, l->way[count]);
        bear(l, l->way[count], weight);
    }
    return 1;
}

/* The members of each part by a minimum spanning tree inside it. */
static int join_inside(layer *l, double weight, double rate)
{
    const banyan_trees *found = &l->inside;

    for (int i = 0; i < l->graph->arc_count; i++)
        l->inner[i] = l->joined->arc[i] >= 0 ? OUTSIDE : price_of(l, i, weight, rate);
    if (banyan_spanning_tree(l->spanning, l->member, l->inner, &l->inside) < 0)
        return 0;
    for (size_t e = found->first_edge[found->tree_count - 1]; e < found->edge_count; e++) {
        size_t begin = found->edges[e].first_arc, end = banyan_trees_arcs_end(found, e);
        int is_inside = 1;

        for (size_t a = begin; a < end; a++)
            is_inside &= l->joined->arc[found->arcs[a]] < 0;
        if (!is_inside)
            continue;
        banyan_trees_add_edge(&l->trees, found->edges[e].src, found->edges[e].dst);
        for (size_t a = begin; a < end; a++) {
            banyan_trees_add_arc(&l->trees, found->arcs[a]);
            bear(l, found->arcs[a], weight);
        }
    }
    banyan_trees_drop_last(&l->inside);
    return 1;
}

static int lay_tree(layer *l, const banyan_flows *flows, const banyan_flow_tree *flow, double weight,
                    double rate)
{
    size_t first = flow->first_hop + (size_t)flow->in_count;

    banyan_trees_begin(&l->trees);
    memset(l->member, 0, (size_t)l->graph->node_count);
    for (int i = 0; i < l->graph->active_count; i++)
        l->member[l->graph->active[i]] = 1;
    for (size_t h = first; h < first + (size_t)flow->out_count; h++)
        if (!lay_hop(l, flows, &flows->hops[h], weight, rate))
            return 0;
    if (!join_inside(l, weight, rate))
        return 0;
    l->weight[l->trees.tree_count - 1] = weight;
    l->placed += weight;
    return 1;
}

/* Edges off cables that are too full inside, and the best weights for what comes of it. */
static banyan_status settle(layer *l, double *total, banyan_error *err)
{
    banyan_edge_exchange_problem problem = {
        .weight = l->weight, .enough = 1 / ENOUGH, .depth_limit = DEPTH, .attempt_limit = ATTEMPTS};
    banyan_weighing *weighing = NULL;
    double fullest = 0;
    banyan_status status = BANYAN_SUCCESS;

    for (int i = 0; i < l->graph->arc_count; i++)
        fullest = fmax(fullest, l->load[i] / (double)l->graph->arcs[i].capacity);
    if (fullest > 1 / ENOUGH)
        status = banyan_edge_exchange(l->graph, &problem, &l->trees, &fullest, err);
    if (!status)
        status = banyan_weighing_create(l->graph, &l->trees, &weighing, err);
    if (!status)
        status = banyan_weighing_solve(weighing, total, err);
    for (size_t t = 0; !status && t < l->trees.tree_count; t++)
        l->weight[t] = banyan_weighing_weight(weighing, t);
    banyan_weighing_destroy(weighing);
    return status;
}

/* Pieces that a flow is laid in: where cables side by side are one in the smaller network, its trees are too
 * heavy for each. */
static int pieces_of(const banyan_flow_tree *flow, double sum, int most)
{
    int pieces = (int)(flow->weight / sum * most * (1 + 1e-9));

    return pieces > 1 ? pieces : 1;
}

/* The smaller network's flows laid into this one, in at most that many pieces, or whole (1); *total is what
 * they reach. */
static banyan_status lay(const banyan_graph *graph, const banyan_contraction *joined,
                         const banyan_flows *small, double rate, int most, unsigned char *full,
                         banyan_flows *flows, double *total, banyan_error *err)
{
    layer l;
    double sum = 0;
    int whole = 1;
    banyan_status status;

    *total = 0;
    for (size_t t = 0; t < small->flow_count; t++)
        sum += small->flows[t].weight;
    status = layer_init(&l, graph, joined, small, most, err);
    for (int lap = 0; !status && whole && lap < most; lap++)
        for (size_t t = 0; whole && t < small->flow_count; t++) {
            int pieces = pieces_of(&small->flows[t], sum, most);

            if (lap < pieces)
                whole =
                    lay_tree(&l, small, &small->flows[t], small->flows[t].weight / sum * rate / pieces, rate);
        }
    if (!status && (l.trees.failed || l.inside.failed))
        status = banyan_fail_memory(err);
    for (int i = 0; !status && i < graph->arc_count; i++)
        full[i] = joined->arc[i] < 0 && l.load[i] > FULL * (double)graph->arcs[i].capacity;
    if (!status && whole)
        status = settle(&l, total, err);
    for (size_t t = 0; !status && whole && t < l.trees.tree_count; t++)
        if (l.weight[t] > 0)
            banyan_flows_add_tree(flows, graph, &l.trees, t, -1, l.weight[t]);
    layer_fini(&l);
    return status;
}

/* One try: whole trees, or pieces of them if these are too heavy. *found, in the graph's units: the best so
 * far, whose flows are there. */
static banyan_status try_joined(const banyan_graph *graph, const banyan_forest_options *options,
                                const int64_t *price, int merge, unsigned char *full, banyan_flows *flows,
                                double *found, banyan_error *err)
{
    banyan_contraction joined;
    banyan_flows small;
    double rate = 0, reached = 0;
    int most = options->max_trees < MOST_PIECES ? options->max_trees : MOST_PIECES;
    banyan_status status = banyan_contract(graph, price, merge, &joined, err);

    banyan_flows_init(&small);
    if (!status && joined.graph && joined.graph->active_count > 1)
        status = banyan_forest_small(joined.graph, options, &small, &rate, err);
    rate /= graph->unit;
    for (int pieces = 0; !status && pieces < 2 && small.flow_count && reached < GOOD * rate; pieces++) {
        banyan_flows laid;

        if (pieces && small.flow_count * 2 > (size_t)most)
            break;
        banyan_flows_init(&laid);
        status = lay(graph, &joined, &small, rate, pieces ? most : 1, full, &laid, &reached, err);
        if (!status && reached > *found) {
            banyan_flows before = *flows;

            *flows = laid;
            laid = before;
            *found = reached;
        }
        banyan_flows_fini(&laid);
    }
    banyan_flows_fini(&small);
    banyan_contraction_fini(&joined);
    return status;
}

/* Cables that turn out to be too full, though they have no price, are not free the next time. */
banyan_status banyan_forest_join(const banyan_graph *graph, const banyan_forest_options *options,
                                 const banyan_allreduce_bound *bound, banyan_flows *flows, banyan_error *err)
{
    size_t arcs = (size_t)graph->arc_count;
    int64_t *price = banyan_alloc(arcs, sizeof *price);
    unsigned char *full = banyan_alloc(arcs, 1);
    double found = 0;
    banyan_status status = price && full ? BANYAN_SUCCESS : banyan_fail_memory(err);

    if (!status)
        memcpy(price, bound->price, arcs * sizeof *price);
    for (int round = 0, again = 1;
         !status && again && round < (graph->active_count > BANYAN_MANY_WORKERS ? ROUNDS : 1) &&
         found < BANYAN_TARGET_SHARE * bound->value;
         round++) {
        memset(full, 0, arcs);
        status = try_joined(graph, options, price, round == 0, full, flows, &found, err);
        again = round == 0;
        for (size_t i = 0; i < arcs; i++)
            if (full[i]) {
                price[i] = 1;
                again = 1;
            }
    }
    banyan_free(price);
    banyan_free(full);
    return status;
}
