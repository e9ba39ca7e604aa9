/* SPDX-License-Identifier: Apache-2.0 */
/* solve/cut/near_minimum_cuts.c: a bound is proven by one cut or partition, but where most pairs are cabled
 * there are many others that allow hardly more, and trees that follow the one alone soon lack cables in the
 * others. With k active nodes these are, for each of them, v:
 *
 *     what leaves v, and what enters it:      every pair of trees, up and down, does so once
 *     v and all idle nodes are one part,
 *     the others one each:                    every pair crosses 2 (k - 1) times
 *     the v narrowest active nodes one part each, the rest one: every pair crosses 2 v times
 *
 * and where few pairs are cabled and asymmetric links, partitions at random (solve/cut/soft_partitions.h).
 * Each has the say that fits to how little it has to spare for the trees to come. Cost: arcs. */
#include "solve/cut/near_minimum_cuts.h"

#include <math.h>
#include <stdlib.h>

#include "core/alloc.h"
#include "core/scratch.h"
#include "solve/cut/soft_partitions.h"
#include "solve/net/effort.h"

/* width that a cut has to spare, as a part of what is to come, for which its weight falls to 1 / e */
#define SPARE_SCALE 0.03
#define MAX_EXPONENT 20    /* of the weight of a cut that lacks width */
#define PARTITION_WEIGHT 3 /* weight of random partitions in multiples of that of one cut */

typedef struct {
    double width;
    int node;
} measured;

struct banyan_near_minimum_cuts {
    const banyan_graph *graph;
    double *proof;    /* per arc: its price, so that a pair costs 1 */
    double *idle;     /* per node: width of its arcs from and to idle nodes, */
    double *out, *in; /* of those that leave it and that enter it; then what these two cuts say */
    double *joined;   /* per node: what its cut of the second kind says, for each time that trees cross */
    double *chain;    /* by rank: the same of the third kind, from this one on */
    measured *order;  /* active nodes, by what leaves and enters them */
    int *rank;        /* per node: its place there; idle ones come after all */
    banyan_soft_partitions *parts; /* NULL: most pairs are cabled, or links are symmetric */
    double *soft;                  /* per arc: their prices */
    banyan_scratch memory;
};

void banyan_near_minimum_cuts_destroy(banyan_near_minimum_cuts *c)
{
    if (!c)
        return;
    banyan_scratch_free(&c->memory);
    banyan_soft_partitions_destroy(c->parts);
    banyan_free(c);
}

banyan_status banyan_near_minimum_cuts_create(const banyan_graph *graph, const int64_t *price, double bound,
                                              banyan_near_minimum_cuts **out, banyan_error *err)
{
    size_t nodes = (size_t)graph->node_count;
    banyan_near_minimum_cuts *c = banyan_alloc(1, sizeof *c);
    double worth = 0;
    banyan_status status = BANYAN_SUCCESS;

    *out = NULL;
    if (!c)
        return banyan_fail_memory(err);
    c->graph = graph;
    c->proof = banyan_scratch_take(&c->memory, (size_t)graph->arc_count, sizeof(double));
    c->idle = banyan_scratch_take(&c->memory, nodes, sizeof(double));
    c->out = banyan_scratch_take(&c->memory, nodes, sizeof(double));
    c->in = banyan_scratch_take(&c->memory, nodes, sizeof(double));
    c->joined = banyan_scratch_take(&c->memory, nodes, sizeof(double));
    c->chain = banyan_scratch_take(&c->memory, nodes + 1, sizeof(double));
    c->order = banyan_scratch_take(&c->memory, nodes, sizeof *c->order);
    c->rank = banyan_scratch_take(&c->memory, nodes, sizeof *c->rank);
    c->soft = banyan_scratch_take(&c->memory, (size_t)graph->arc_count, sizeof(double));
    if (c->memory.failed)
        status = banyan_fail_memory(err);
    if (!status && !graph->symmetric && !banyan_graph_is_dense(graph))
        status = banyan_soft_partitions_create(graph, price, &c->parts, err);
    if (status) {
        banyan_near_minimum_cuts_destroy(c);
        return status;
    }
    for (int i = 0; i < graph->arc_count; i++)
        worth += (double)price[i] * (double)graph->arcs[i].capacity;
    for (int i = 0; i < graph->arc_count; i++)
        c->proof[i] = (double)price[i] * bound / worth;
    *out = c;
    return BANYAN_SUCCESS;
}

static int is_active(const banyan_near_minimum_cuts *c, int v)
{
    return c->graph->role[v] & BANYAN_NODE_ACTIVE;
}

static int compare_measured(const void *left, const void *right)
{
    const measured *a = left, *b = right;

    if (a->width < b->width || a->width > b->width)
        return a->width < b->width ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

/* The nodes' order; returns what joins active nodes to any, both ways. */
static double measure(banyan_near_minimum_cuts *c, const double *left)
{
    const banyan_graph *graph = c->graph;
    double all = 0;

    for (int v = 0; v < graph->node_count; v++) {
        c->idle[v] = c->out[v] = c->in[v] = 0;
        c->rank[v] = graph->active_count;
    }
    for (int i = 0; i < graph->arc_count; i++) {
        int a = graph->arcs[i].src, b = graph->arcs[i].dst;

        c->out[a] += left[i];
        c->in[b] += left[i];
        c->idle[a] += is_active(c, b) ? 0 : left[i];
        c->idle[b] += is_active(c, a) ? 0 : left[i];
        all += is_active(c, a) || is_active(c, b) ? left[i] : 0;
    }
    for (int i = 0; i < graph->active_count; i++) {
        int v = graph->active[i];

        c->order[i] = (measured){c->out[v] + c->in[v], v};
    }
    qsort(c->order, (size_t)graph->active_count, sizeof *c->order, compare_measured);
    for (int i = 0; i < graph->active_count; i++)
        c->rank[c->order[i].node] = i;
    return all;
}

static double say(double width, double rest, double *says, double *sum)
{
    double much = exp(fmin(MAX_EXPONENT, (1 - width / rest) / SPARE_SCALE));

    *says += much;
    *sum += much * width;
    return much;
}

/* What joins the node of this rank to those before it. */
static double joins_earlier(const banyan_near_minimum_cuts *c, int rank, const double *left)
{
    const banyan_graph *graph = c->graph;
    int v = c->order[rank].node;
    double sum = 0;

    for (int j = graph->out_first[v]; j < graph->out_first[v + 1]; j++)
        sum += c->rank[graph->arcs[graph->out_arc[j]].dst] < rank ? left[graph->out_arc[j]] : 0;
    for (int j = graph->in_first[v]; j < graph->in_first[v + 1]; j++)
        sum += c->rank[graph->arcs[graph->in_arc[j]].src] < rank ? left[graph->in_arc[j]] : 0;
    return sum;
}

double banyan_near_minimum_cuts_mix(banyan_near_minimum_cuts *c, const double *left, double rest,
                                    double *price)
{
    const banyan_graph *graph = c->graph;
    double all = measure(c, left), proven = 0, says = 0, sum = 0, first, soft = 0, joined = 0, crossing = 0;
    int last = graph->active_count - 1;

    for (int i = 0; i < graph->arc_count; i++)
        proven += c->proof[i] * left[i];
    first = say(proven, rest, &says, &sum);
    if (c->parts) {
        double width = banyan_soft_partitions_mix(c->parts, left, c->soft);

        for (int k = 0; k < PARTITION_WEIGHT; k++)
            soft += say(width, rest, &says, &sum);
    }
    for (int i = 0; i <= last; i++) {
        int v = c->order[i].node;

        c->joined[v] = say((all - c->idle[v]) / (2 * last), rest, &says, &sum) / (2 * last);
        joined += c->joined[v];
        crossing += c->order[i].width - joins_earlier(c, i, left);
        c->chain[i] = i && i < last ? say(crossing / (2 * (i + 1)), rest, &says, &sum) / (2 * (i + 1)) : 0;
        c->out[v] = say(c->out[v], rest, &says, &sum);
        c->in[v] = say(c->in[v], rest, &says, &sum);
    }
    for (int i = last - 1; i >= 0; i--)
        c->chain[i] += c->chain[i + 1];
    c->chain[last + 1] = 0;
    for (int i = 0; i < graph->arc_count; i++) {
        int a = graph->arcs[i].src, b = graph->arcs[i].dst,
            narrow = c->rank[a] < c->rank[b] ? c->rank[a] : c->rank[b];

        price[i] = first * c->proof[i] + soft * c->soft[i] + c->chain[narrow];
        price[i] += is_active(c, a) ? c->out[a] : 0;
        price[i] += is_active(c, b) ? c->in[b] : 0;
        if (is_active(c, a) && is_active(c, b))
            price[i] += joined;
        else if (is_active(c, a) || is_active(c, b))
            price[i] += joined - c->joined[is_active(c, a) ? a : b];
        price[i] /= says;
    }
    return sum / says;
}
