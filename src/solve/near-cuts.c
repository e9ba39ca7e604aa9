/* SPDX-License-Identifier: Apache-2.0 */
/* solve/near-cuts.c: a bound is proven by one cut or partition, but where most pairs are cabled there are many others that allow
 * hardly more, and trees that heed the one alone soon lack cables in the others. With k active nodes these are, for each
 * of them, v:
 *
 *     what leaves v;                                            every tree leaves it once
 *     v and all idle nodes are one part, the others one each:   every tree crosses k - 1 times
 *     the v narrowest active nodes one part each, the rest one: every tree crosses v times
 *
 * Each has the say that fits to how little it has to spare for the trees to come. Cost: arcs. */
#include "solve/near-cuts.h"

#include <math.h>
#include <stdlib.h>

#include "core/alloc.h"

#define NEAR                                                                                                 \
    0.03 /* to spare, of what is to come: then a cut has a say of 1 / e, where one that has nothing to spare has 1, */
#define STEEPEST 20 /* and one that lacks much e to this */

typedef struct {
    double width;
    int node;
} measured;

struct banyan_near_cuts {
    const banyan_graph *graph;
    double *proof; /* per arc: its price, so that a tree costs 1 */
    double *idle;  /* per node: width of its arcs to idle nodes */
    double *alone,
        *joined;     /* per node: what its cuts of the first two kinds say, for each time that trees cross */
    double *chain;   /* by rank: the same of the third kind, from this one on */
    measured *order; /* active nodes, by what leaves them */
    int *rank;       /* per node: its place there; idle ones come after all */
};

void banyan_near_cuts_destroy(banyan_near_cuts *c)
{
    if (!c)
        return;
    banyan_free(c->proof);
    banyan_free(c->idle);
    banyan_free(c->alone);
    banyan_free(c->joined);
    banyan_free(c->chain);
    banyan_free(c->order);
    banyan_free(c->rank);
    banyan_free(c);
}

banyan_status banyan_near_cuts_create(const banyan_graph *graph, const int64_t *price, double bound,
                                      banyan_near_cuts **out, banyan_error *err)
{
    size_t nodes = (size_t)graph->node_count;
    banyan_near_cuts *c = banyan_alloc(1, sizeof *c);
    double worth = 0;

    *out = NULL;
    if (!c)
        return banyan_fail_memory(err);
    c->graph = graph;
    c->proof = banyan_alloc((size_t)graph->arc_count, sizeof(double));
    c->idle = banyan_alloc(nodes, sizeof(double));
    c->alone = banyan_alloc(nodes, sizeof(double));
    c->joined = banyan_alloc(nodes, sizeof(double));
    c->chain = banyan_alloc(nodes + 1, sizeof(double));
    c->order = banyan_alloc(nodes, sizeof *c->order);
    c->rank = banyan_alloc(nodes, sizeof *c->rank);
    if (!c->proof || !c->idle || !c->alone || !c->joined || !c->chain || !c->order || !c->rank) {
        banyan_near_cuts_destroy(c);
        return banyan_fail_memory(err);
    }
    for (int i = 0; i < graph->arc_count; i++)
        worth += 0.5 * (double)price[i] * (double)graph->arcs[i].capacity;
    for (int i = 0; i < graph->arc_count; i++)
        c->proof[i] = (double)price[i] * bound / worth;
    *out = c;
    return BANYAN_SUCCESS;
}

static int is_active(const banyan_near_cuts *c, int v)
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

/* The nodes' order; returns what joins active nodes to any. */
static double measure(banyan_near_cuts *c, const double *left)
{
    const banyan_graph *graph = c->graph;
    double all = 0;

    for (int v = 0; v < graph->node_count; v++) {
        c->idle[v] = 0;
        c->rank[v] = graph->active_count;
    }
    for (int i = 0; i < graph->active_count; i++) {
        int v = graph->active[i];

        c->order[i] = (measured){0, v};
        for (int j = graph->out_first[v]; j < graph->out_first[v + 1]; j++) {
            int arc = graph->out_arc[j], between = is_active(c, graph->arcs[arc].dst);

            c->order[i].width += left[arc];
            c->idle[v] += between ? 0 : left[arc];
            all += between ? 0.5 * left[arc] : left[arc];
        }
    }
    qsort(c->order, (size_t)graph->active_count, sizeof *c->order, compare_measured);
    for (int i = 0; i < graph->active_count; i++)
        c->rank[c->order[i].node] = i;
    return all;
}

static double say(double width, double rest, double *says, double *sum)
{
    double much = exp(fmin(STEEPEST, (1 - width / rest) / NEAR));

    *says += much;
    *sum += much * width;
    return much;
}

double banyan_near_cuts_mix(banyan_near_cuts *c, const double *left, double rest, double *price)
{
    const banyan_graph *graph = c->graph;
    double all = measure(c, left), proven = 0, says = 0, sum = 0, first, joined = 0, crossing = 0;
    int last = graph->active_count - 1;

    for (int i = 0; i < graph->arc_count; i++)
        proven += 0.5 * c->proof[i] * left[i];
    first = say(proven, rest, &says, &sum);
    for (int i = 0; i <= last; i++) {
        int v = c->order[i].node;

        c->alone[v] = say(c->order[i].width, rest, &says, &sum);
        c->joined[v] = say((all - c->idle[v]) / last, rest, &says, &sum) / last;
        joined += c->joined[v];
    }
    for (int i = 0; i <= last; i++) { /* those before have a part each already */
        int v = c->order[i].node;

        crossing += c->order[i].width;
        for (int j = graph->out_first[v]; j < graph->out_first[v + 1]; j++)
            crossing -= c->rank[graph->arcs[graph->out_arc[j]].dst] < i ? left[graph->out_arc[j]] : 0;
        c->chain[i] = i && i < last ? say(crossing / (i + 1), rest, &says, &sum) / (i + 1) : 0;
    }
    for (int i = last - 1; i >= 0; i--)
        c->chain[i] += c->chain[i + 1];
    c->chain[last + 1] = 0;
    for (int i = 0; i < graph->arc_count; i++) {
        int a = graph->arcs[i].src, b = graph->arcs[i].dst,
            narrow = c->rank[a] < c->rank[b] ? c->rank[a] : c->rank[b];

        price[i] = first * c->proof[i] + c->chain[narrow];
        price[i] += is_active(c, a) ? c->alone[a] : 0;
        price[i] += is_active(c, b) ? c->alone[b] : 0;
        if (is_active(c, a) && is_active(c, b))
            price[i] += joined;
        else if (is_active(c, a) || is_active(c, b))
            price[i] += joined - c->joined[is_active(c, a) ? a : b];
        price[i] /= says;
    }
    return sum / says;
}
