/* SPDX-License-Identifier: Apache-2.0 */
/* bound/gather.c: every worker has x to tell to all others. A set S of nodes that misses some active worker
 * must send out x for each active worker inside: x <= out(S) / active(S), and the best x is the least of
 * these.
 *
 * Newton: for a guess x = p/q and a worker t, let a source give every active worker p and all links carry q
 * times their capacity. If not everything reaches t, the minimum cut is an S with a smaller quotient, the
 * next guess. Guesses only fall, so workers that were content stay so: about one flow a worker.
 * Reduce-scatter is the same with all arcs turned. */
#include "bound/gather.h"

#include <string.h>

#include "core/alloc.h"
#include "solve/net/flow.h"

typedef struct {
    const banyan_graph *graph;
    banyan_flow *flow; /* arcs, then source -> each active */
    int towards, source;
    banyan_fraction guess;
    unsigned char *inside;
} search;

static banyan_status make_flow(search *s, banyan_error *err)
{
    const banyan_graph *graph = s->graph;
    int edges = graph->arc_count + graph->active_count;
    int *src = banyan_alloc((size_t)edges, sizeof *src), *dst = banyan_alloc((size_t)edges, sizeof *dst);
    banyan_status status = src && dst ? BANYAN_SUCCESS : banyan_fail_memory(err);

    if (!status) {
        for (int i = 0; i < graph->arc_count; i++) {
            src[i] = s->towards ? graph->arcs[i].dst : graph->arcs[i].src;
            dst[i] = s->towards ? graph->arcs[i].src : graph->arcs[i].dst;
        }
        for (int i = 0; i < graph->active_count; i++) {
            src[graph->arc_count + i] = s->source;
            dst[graph->arc_count + i] = graph->active[i];
        }
        status = banyan_flow_create(graph->node_count + 1, edges, src, dst, &s->flow, err);
    }
    banyan_free(src);
    banyan_free(dst);
    return status;
}

/* Does all of it reach t? If not, the guess becomes the cut's quotient. */
static int is_content(search *s, int t)
{
    const banyan_graph *graph = s->graph;
    int64_t wanted = s->guess.num * graph->active_count, crossing = 0;
    int inside = 0;

    for (int i = 0; i < graph->arc_count; i++)
        banyan_flow_set(s->flow, i, graph->arcs[i].capacity * s->guess.den, 0);
    for (int i = 0; i < graph->active_count; i++)
        banyan_flow_set(s->flow, graph->arc_count + i, s->guess.num, 0);
    if (banyan_flow_run(s->flow, s->source, t, wanted) == wanted)
        return 1;
    for (int v = 0; v < graph->node_count; v++)
        s->inside[v] = (unsigned char)banyan_flow_reaches(s->flow, v);
    for (int i = 0; i < graph->arc_count; i++) {
        int from = s->towards ? graph->arcs[i].dst : graph->arcs[i].src;
        int to = s->towards ? graph->arcs[i].src : graph->arcs[i].dst;

        if (s->inside[from] && !s->inside[to])
            crossing += graph->arcs[i].capacity;
    }
    for (int i = 0; i < graph->active_count; i++)
        inside += s->inside[graph->active[i]];
    s->guess = banyan_fraction_make(crossing, inside);
    return 0;
}

/* The first guess: what can come into one worker, shared by all the others. */
static void guess_from_workers(search *s)
{
    const banyan_graph *graph = s->graph;

    for (int i = 0; i < graph->active_count; i++) {
        int v = graph->active[i];
        const int *first = s->towards ? graph->out_first : graph->in_first;
        const int *arc = s->towards ? graph->out_arc : graph->in_arc;
        int64_t room = 0;
        banyan_fraction guess;

        for (int j = first[v]; j < first[v + 1]; j++)
            room += graph->arcs[arc[j]].capacity;
        guess = banyan_fraction_make(room, graph->active_count - 1);
        if (i == 0 || banyan_fraction_compare(guess, s->guess) < 0) {
            s->guess = guess;
            memset(s->inside, 1, (size_t)graph->node_count);
            s->inside[v] = 0;
        }
    }
}

banyan_status banyan_gather_rate(const banyan_graph *graph, int towards, banyan_fraction *out,
                                 unsigned char *inside, banyan_error *err)
{
    search s = {.graph = graph, .towards = towards, .source = graph->node_count, .inside = inside};
    banyan_status status = make_flow(&s, err);

    if (!status) {
        guess_from_workers(&s);
        for (int i = 0; i < graph->active_count; i++)
            while (s.guess.num > 0 && !is_content(&s, graph->active[i]))
                ;
        *out = banyan_fraction_make((banyan_wide)s.guess.num * graph->active_count, s.guess.den);
    }
    banyan_flow_destroy(s.flow);
    return status;
}
