/* SPDX-License-Identifier: Apache-2.0 */
/* solve/cut/soft_partitions.c: a bound is often proven by a partition with one active node in each part, and
 * each idle node in some part:
 *
 *     a - - i - - b        Every tree crosses between parts at least once less than there are parts. If i is
 *           |              in the part of a, its arcs to a are free, if in that of b those to b, and it
 *           c              matters little which, as it has but some arcs of all. So a tree had better not
 *                          depend on where i is: it has all of i's arcs (a star), or none. Prices of one
 *                          partition do not say so, those of a mean over many do.
 *
 * Each idle node is in each part at random, the more likely the wider the arcs that join it there (a mean
 * field); an arc costs as much as it is likely to cross. Whatever the chances are, this is a mean over
 * partitions, so the proof holds. Cost: some rounds over the arcs of idle nodes, for each part. */
#include "solve/cut/soft_partitions.h"

#include <math.h>

#include "core/alloc.h"

/* share of an arc's mean width: a part that is joined by that much less is 1 / e times as likely */
#define SOFT 0.3
#define FIRST_ROUNDS 20 /* rounds of the first mean */
#define LATER_ROUNDS 3  /* rounds of later means, each from where the one before ended */

struct banyan_soft_partitions {
    const banyan_graph *graph;
    int part_count, rounds;
    double *chance; /* [node * part_count + part] */
    double *pull;   /* per part: width of the arcs between it and the current node */
};

void banyan_soft_partitions_destroy(banyan_soft_partitions *s)
{
    if (!s)
        return;
    banyan_free(s->chance);
    banyan_free(s->pull);
    banyan_free(s);
}

static int is_active(const banyan_soft_partitions *s, int v)
{
    return s->graph->role[v] & BANYAN_NODE_ACTIVE;
}

/* All nodes that free arcs join to v, both ways, belong to the part. */
static void spread(const banyan_graph *graph, const int64_t *price, int v, int part, int *label, int *open)
{
    int count = 1;

    open[0] = v;
    label[v] = part;
    while (count) {
        int u = open[--count];

        for (int way = 0; way < 2; way++) {
            const int *first = way ? graph->in_first : graph->out_first,
                      *arcs = way ? graph->in_arc : graph->out_arc;

            for (int j = first[u]; j < first[u + 1]; j++) {
                const banyan_arc *arc = &graph->arcs[arcs[j]];
                int w = way ? arc->src : arc->dst;

                if (label[w] >= 0 || banyan_graph_price_between(graph, price, u, w) ||
                    banyan_graph_price_between(graph, price, w, u))
                    continue;
                label[w] = part;
                open[count++] = w;
            }
        }
    }
}

static banyan_status make_parts(banyan_soft_partitions *s, const int64_t *price, int *label, int *open,
                                banyan_error *err)
{
    const banyan_graph *graph = s->graph;

    for (int v = 0; v < graph->node_count; v++)
        label[v] = -1;
    for (int i = 0; i < graph->active_count; i++)
        if (label[graph->active[i]] < 0)
            spread(graph, price, graph->active[i], s->part_count++, label, open);
    s->chance = banyan_alloc((size_t)graph->node_count * (size_t)s->part_count, sizeof *s->chance);
    s->pull = banyan_alloc((size_t)s->part_count, sizeof *s->pull);
    if (!s->chance || !s->pull)
        return banyan_fail_memory(err);
    for (int v = 0; v < graph->node_count; v++)
        if (label[v] >= 0)
            s->chance[v * s->part_count + label[v]] = 1;
        else /* for now; it has no way to any */
            s->chance[v * s->part_count] = 1;
    return BANYAN_SUCCESS;
}

banyan_status banyan_soft_partitions_create(const banyan_graph *graph, const int64_t *price,
                                            banyan_soft_partitions **out, banyan_error *err)
{
    size_t nodes = (size_t)graph->node_count;
    int *label = banyan_alloc(nodes, sizeof *label), *open = banyan_alloc(nodes, sizeof *open);
    banyan_soft_partitions *s = banyan_alloc(1, sizeof *s);
    banyan_status status = label && open && s ? BANYAN_SUCCESS : banyan_fail_memory(err);

    *out = NULL;
    if (!status) {
        s->graph = graph;
        s->rounds = FIRST_ROUNDS;
        status = make_parts(s, price, label, open, err);
    }
    banyan_free(label);
    banyan_free(open);
    if (status)
        banyan_soft_partitions_destroy(s);
    else
        *out = s;
    return status;
}

/* Where the idle node is most likely, beside the chances of its neighbours. */
static void move(banyan_soft_partitions *s, int v, const double *left, double soft)
{
    const banyan_graph *graph = s->graph;
    double *chance = s->chance + v * s->part_count, most = 0, sum = 0;

    for (int p = 0; p < s->part_count; p++)
        s->pull[p] = 0;
    for (int way = 0; way < 2; way++) {
        const int *first = way ? graph->in_first : graph->out_first,
                  *arcs = way ? graph->in_arc : graph->out_arc;

        for (int j = first[v]; j < first[v + 1]; j++) {
            const banyan_arc *arc = &graph->arcs[arcs[j]];
            const double *near = s->chance + (way ? arc->src : arc->dst) * s->part_count;

            for (int p = 0; p < s->part_count; p++)
                s->pull[p] += left[arcs[j]] * near[p];
        }
    }
    for (int p = 0; p < s->part_count; p++)
        most = fmax(most, s->pull[p]);
    if (!(most > 0))
        return;
    for (int p = 0; p < s->part_count; p++)
        sum += chance[p] = s->pull[p] > 0 ? exp((s->pull[p] - most) / soft) : 0;
    for (int p = 0; p < s->part_count; p++)
        chance[p] /= sum;
}

static double together(const banyan_soft_partitions *s, const banyan_arc *arc)
{
    const double *a = s->chance + arc->src * s->part_count, *b = s->chance + arc->dst * s->part_count;
    double sum = 0;

    for (int p = 0; p < s->part_count; p++)
        sum += a[p] * b[p];
    return sum;
}

double banyan_soft_partitions_mix(banyan_soft_partitions *s, const double *left, double *price)
{
    const banyan_graph *graph = s->graph;
    double all = 0, proven = 0;

    for (int i = 0; i < graph->arc_count; i++)
        all += left[i];
    for (int round = 0; all > 0 && round < s->rounds; round++)
        for (int v = 0; v < graph->node_count; v++)
            if (!is_active(s, v))
                move(s, v, left, SOFT * all / graph->arc_count);
    s->rounds = LATER_ROUNDS;
    for (int i = 0; i < graph->arc_count; i++) {
        price[i] = fmax(0, 1 - together(s, &graph->arcs[i])) / (2 * fmax(1, s->part_count - 1));
        proven += left[i] * price[i];
    }
    return proven;
}
