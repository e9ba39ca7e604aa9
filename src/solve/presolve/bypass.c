/* SPDX-License-Identifier: Apache-2.0 */
/* solve/presolve/bypass.c: which two active nodes a cable through an idle node should join. Trees on n active
 * nodes have n - 1 edges, and on a network in which most pairs are cabled only their number counts. So all
 * that leads to an idle node is to be used; each time the widest cable that is left there is joined with
 * another one to a node that it has least to do with so far, as far as that leaves no cable that is wider
 * than all others together.
 *
 * Asymmetric links: the same with what comes in and what goes out; what comes into one idle node and cannot
 * leave it goes on to another, from which more can leave than comes in.
 *
 * Cost: O(arcs * nodes). */
#include "solve/presolve/bypass.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"

#define SIMILAR_WIDTH                                                                                        \
    0.05             /* of its width: cables that differ by no more are chosen from for another reason */
#define LITTLE 1e-12 /* of what there was: nothing */
#define MOST_ARCS 3  /* of a cable through idle nodes */

typedef struct {
    const banyan_graph *graph;
    banyan_bypass *out;
    double *left;    /* per arc */
    double *between; /* per two nodes: what joins them so far */
    int *src, *dst;
    double *capacity;
    size_t count, end, src_capacity, dst_capacity, width_capacity, first_capacity, via_capacity;
    int failed;
} layout;

static int is_active(const layout *l, int v)
{
    return l->graph->role[v] & BANYAN_NODE_ACTIVE;
}

static double *joins(const layout *l, int a, int b)
{
    return &l->between[(size_t)a * (size_t)l->graph->node_count + (size_t)b];
}

/* An arc over these ones, of this width. */
static void add(layout *l, int count, const int *arcs, double width)
{
    if (!banyan_grow((void **)&l->src, l->count, &l->src_capacity, sizeof *l->src) ||
        !banyan_grow((void **)&l->dst, l->count, &l->dst_capacity, sizeof *l->dst) ||
        !banyan_grow((void **)&l->capacity, l->count, &l->width_capacity, sizeof *l->capacity) ||
        !banyan_grow((void **)&l->out->first, l->count + 1, &l->first_capacity, sizeof *l->out->first) ||
        !banyan_grow((void **)&l->out->via, l->end + MOST_ARCS, &l->via_capacity, sizeof *l->out->via)) {
        l->failed = 1;
        return;
    }
    l->src[l->count] = l->graph->arcs[arcs[0]].src;
    l->dst[l->count] = l->graph->arcs[arcs[count - 1]].dst;
    l->capacity[l->count] = width * l->graph->unit;
    *joins(l, l->src[l->count], l->dst[l->count]) += width;
    l->out->first[l->count++] = (int)l->end;
    for (int i = 0; i < count; i++) {
        l->out->via[l->end++] = arcs[i];
        l->left[arcs[i]] -= width;
    }
    l->out->first[l->count] = (int)l->end;
}

static void add_direct_ones(layout *l)
{
    for (int i = 0; i < l->graph->arc_count; i++)
        if (is_active(l, l->graph->arcs[i].src) && is_active(l, l->graph->arcs[i].dst))
            add(l, 1, &i, l->left[i]);
}

/* The widest arc from (entering: to) a node other than these two; -1: none. */
static int widest(const layout *l, int hub, int entering, int but, int nor)
{
    const banyan_graph *graph = l->graph;
    const int *first = entering ? graph->in_first : graph->out_first,
              *arcs = entering ? graph->in_arc : graph->out_arc;
    int best = -1;

    for (int j = first[hub]; j < first[hub + 1]; j++) {
        int v = entering ? graph->arcs[arcs[j]].src : graph->arcs[arcs[j]].dst;

        if (is_active(l, v) && v != but && v != nor && (best < 0 || l->left[arcs[j]] > l->left[best]))
            best = arcs[j];
    }
    return best;
}

/* Of those that leave the hub (entering: come in), and are nearly as wide as can be had, the one at the node
 * that has least to do with v; -1: none. */
static int least_joined(const layout *l, int hub, int entering, int v, double width)
{
    const banyan_graph *graph = l->graph;
    const int *first = entering ? graph->in_first : graph->out_first,
              *arcs = entering ? graph->in_arc : graph->out_arc;
    int best = -1;
    double nearest = HUGE_VAL, joined = HUGE_VAL;

    for (int round = 0; round < 2; round++)
        for (int j = first[hub]; j < first[hub + 1]; j++) {
            int w = entering ? graph->arcs[arcs[j]].src : graph->arcs[arcs[j]].dst;
            double now = *joins(l, entering ? w : v, entering ? v : w), off = fabs(l->left[arcs[j]] - width);

            if (!is_active(l, w) || w == v)
                continue;
            if (round == 0)
                nearest = fmin(nearest, off);
            else if (off <= nearest + SIMILAR_WIDTH * width && now < joined) {
                joined = now;
                best = arcs[j];
            }
        }
    return best;
}

/* What is left of the arcs that leave the hub, or come in. */
static double sum_left(const layout *l, int hub, int entering)
{
    const banyan_graph *graph = l->graph;
    const int *first = entering ? graph->in_first : graph->out_first,
              *arcs = entering ? graph->in_arc : graph->out_arc;
    double sum = 0;

    for (int j = first[hub]; j < first[hub + 1]; j++)
        sum += is_active(l, entering ? graph->arcs[arcs[j]].src : graph->arcs[arcs[j]].dst) ? l->left[arcs[j]]
                                                                                            : 0;
    return sum;
}

/* Symmetric links: two cables of the hub become one, and again. */
static void join_cables(layout *l, int hub)
{
    const banyan_arc *arcs = l->graph->arcs;
    double all = sum_left(l, hub, 0), sum = all;

    while (sum > LITTLE * all && !l->failed) {
        int a = widest(l, hub, 0, -1, -1), b = a < 0 ? -1 : least_joined(l, hub, 0, arcs[a].dst, l->left[a]),
            c;
        double width;

        if (b < 0 || l->left[b] <= LITTLE * all)
            return;
        c = widest(l, hub, 0, arcs[a].dst, arcs[b].dst);
        width = fmin(l->left[b], c < 0 ? l->left[b] : sum / 2 - l->left[c]);
        if (width <= LITTLE * all) { /* then the widest others are as wide as all else */
            b = widest(l, hub, 0, arcs[a].dst, arcs[a].dst);
            width = l->left[b];
        }
        add(l, 2, (int[]){arcs[a].twin, b}, width);
        add(l, 2, (int[]){arcs[b].twin, a}, width);
        sum = sum_left(l, hub, 0);
    }
}

/* Asymmetric links: what comes in is joined with what goes out. The node at which most is left of both comes
 * first, lest it be left with itself. */
static void join_arcs(layout *l, int hub)
{
    const banyan_graph *graph = l->graph;
    double *both = banyan_alloc((size_t)graph->node_count, sizeof *both);
    double all = fmin(sum_left(l, hub, 0), sum_left(l, hub, 1)), used = 0;

    l->failed |= !both;
    while (used < all * (1 - LITTLE) && !l->failed) {
        int best = -1, in, out;
        double width;

        memset(both, 0, (size_t)graph->node_count * sizeof *both);
        for (int j = graph->in_first[hub]; j < graph->in_first[hub + 1]; j++)
            both[graph->arcs[graph->in_arc[j]].src] += l->left[graph->in_arc[j]];
        for (int j = graph->out_first[hub]; j < graph->out_first[hub + 1]; j++)
            both[graph->arcs[graph->out_arc[j]].dst] += l->left[graph->out_arc[j]];
        for (int i = 0; i < graph->active_count; i++)
            if (best < 0 || both[graph->active[i]] > both[best])
                best = graph->active[i];
        in = out = -1;
        for (int j = graph->in_first[hub]; j < graph->in_first[hub + 1]; j++)
            if (graph->arcs[graph->in_arc[j]].src == best &&
                (in < 0 || l->left[graph->in_arc[j]] > l->left[in]))
                in = graph->in_arc[j];
        for (int j = graph->out_first[hub]; j < graph->out_first[hub + 1]; j++)
            if (graph->arcs[graph->out_arc[j]].dst == best &&
                (out < 0 || l->left[graph->out_arc[j]] > l->left[out]))
                out = graph->out_arc[j];
        if (out < 0 || (in >= 0 && l->left[in] >= l->left[out]))
            out = least_joined(l, hub, 0, best, l->left[in]);
        else
            in = least_joined(l, hub, 1, best, l->left[out]);
        width = in < 0 || out < 0 ? 0 : fmin(l->left[in], l->left[out]);
        if (width <= LITTLE * all)
            break;
        add(l, 2, (int[]){in, out}, width);
        used += width;
    }
    banyan_free(both);
}

/* What came in over the arc and cannot leave the idle node at its end goes on to others, from which it
 * can. */
static void go_on(layout *l, int in)
{
    const banyan_graph *graph = l->graph;
    int from = graph->arcs[in].src, hub = graph->arcs[in].dst;
    double all = l->left[in];

    for (int j = graph->out_first[hub]; j < graph->out_first[hub + 1] && l->left[in] > LITTLE * all; j++) {
        int on = graph->out_arc[j], out = -1;

        while (!is_active(l, graph->arcs[on].dst) && fmin(l->left[in], l->left[on]) > LITTLE * all &&
               !l->failed) {
            out = widest(l, graph->arcs[on].dst, 0, from, from);
            if (out < 0 || l->left[out] <= LITTLE * all)
                break;
            add(l, 3, (int[]){in, on, out}, fmin(fmin(l->left[in], l->left[on]), l->left[out]));
        }
    }
}

/* Whether most pairs of active nodes are cabled. */
static int is_dense(const layout *l)
{
    const banyan_graph *graph = l->graph;
    long count = 0;

    for (int i = 0; i < graph->active_count; i++)
        for (int j = 0; j < graph->active_count; j++)
            count += *joins(l, graph->active[i], graph->active[j]) > 0;
    return 2 * count > (long)graph->active_count * (graph->active_count - 1);
}

static void lay_out(layout *l)
{
    const banyan_graph *graph = l->graph;

    for (int v = 0; v < graph->node_count && !l->failed; v++)
        if (!is_active(l, v) && graph->symmetric)
            join_cables(l, v);
        else if (!is_active(l, v))
            join_arcs(l, v);
    for (int i = 0; i < graph->arc_count && !l->failed && !graph->symmetric; i++)
        if (is_active(l, graph->arcs[i].src) && !is_active(l, graph->arcs[i].dst))
            go_on(l, i);
}

/* Many cables, nobody helps who is not active, and some only forward. */
static int applies(const banyan_graph *graph)
{
    return banyan_graph_is_dense(graph) && banyan_graph_has_forwarders(graph) &&
           !banyan_graph_has_helpers(graph) && graph->active_count > 2;
}

banyan_status banyan_bypass_make(const banyan_graph *graph, banyan_bypass *out, banyan_error *err)
{
    size_t nodes = (size_t)graph->node_count;
    layout l = {.graph = graph, .out = out};
    banyan_graph_input input = {graph->node_count, graph->role, 0, NULL, NULL, NULL, NULL};
    int is_through = 0;
    banyan_status status = BANYAN_SUCCESS;

    *out = (banyan_bypass){0};
    if (!applies(graph))
        return BANYAN_SUCCESS;
    l.left = banyan_alloc((size_t)graph->arc_count, sizeof *l.left);
    l.between = banyan_alloc(nodes * nodes, sizeof *l.between);
    if (l.left && l.between) {
        for (int i = 0; i < graph->arc_count; i++)
            l.left[i] = (double)graph->arcs[i].capacity;
        add_direct_ones(&l);
        is_through = is_dense(&l);
        if (is_through)
            lay_out(&l);
    }
    if (!l.left || !l.between || l.failed)
        status = banyan_fail_memory(err);
    input.arc_count = (int)l.count;
    input.src = l.src;
    input.dst = l.dst;
    input.capacity = l.capacity;
    if (!status && is_through)
        status = banyan_graph_create(&input, &out->graph, err);
    banyan_free(l.left);
    banyan_free(l.between);
    banyan_free(l.src);
    banyan_free(l.dst);
    banyan_free(l.capacity);
    if (status)
        banyan_bypass_fini(out);
    return status;
}

void banyan_bypass_fini(banyan_bypass *through)
{
    banyan_graph_destroy(through->graph);
    banyan_free(through->first);
    banyan_free(through->via);
    *through = (banyan_bypass){0};
}

void banyan_bypass_price(const banyan_graph *graph, int64_t *price)
{
    for (int i = 0; i < graph->arc_count; i++)
        price[i] = (graph->role[graph->arcs[i].src] & BANYAN_NODE_ACTIVE) +
                   (graph->role[graph->arcs[i].dst] & BANYAN_NODE_ACTIVE);
}
