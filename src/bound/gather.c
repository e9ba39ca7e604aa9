/* SPDX-License-Identifier: Apache-2.0 */
/* bound/gather.c: every worker has x to tell to all others. A set S of nodes that misses some active
 * worker must send out x for each active worker inside: x <= out(S) / active(S), and the best x is the
 * least of these.
 *
 * Newton: for a guess x = p/q and a worker t, let a source give every active worker p and all links carry
 * q times their capacity. If not everything reaches t, the minimum cut is an S with a smaller quotient,
 * the next guess. Guesses only fall, so workers that were content stay so: about one flow a worker.
 * Reduce-scatter is the same with all arcs turned.
 *
 * Trees reach that where every idle node has as much width in as out (bound/balance.h says why). Elsewhere
 * the best rate of trees in which idle nodes only forward is found; where some may branch, trees may reach
 * more, up to the cut or to what cuts with potentials prove. */
#include "bound/gather.h"

#include <string.h>

#include "bound/balance.h"
#include "bound/large.h"
#include "core/alloc.h"
#include "solve/net/flow.h"
#include "solve/net/tolerance.h"
#include "topology/scale.h"

typedef struct {
    const banyan_graph *graph;
    banyan_flow *flow; /* arcs, then source -> each node */
    int towards;
    banyan_fraction guess;
    unsigned char *inside;
} search;

/* Does all of it reach t? If not, the guess becomes the cut's quotient. */
static int is_content(search *s, int t)
{
    const banyan_graph *graph = s->graph;
    int64_t wanted = s->guess.num * graph->active_count, crossing = 0;
    int inside = 0;

    for (int i = 0; i < graph->arc_count; i++) {
        int64_t room = graph->arcs[i].capacity * s->guess.den;

        banyan_flow_set(s->flow, i, s->towards ? 0 : room, s->towards ? room : 0);
    }
    for (int i = 0; i < graph->active_count; i++)
        banyan_flow_set(s->flow, graph->arc_count + graph->active[i], s->guess.num, 0);
    if (banyan_flow_run(s->flow, graph->node_count, t, wanted) == wanted)
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
        banyan_fraction guess =
            banyan_fraction_make(banyan_graph_width(graph, v, s->towards), graph->active_count - 1);

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
    unsigned char *own = banyan_alloc((size_t)graph->node_count, 1);
    search s = {.graph = graph, .towards = towards, .inside = inside ? inside : own};
    banyan_status status = own ? banyan_graph_make_flow(graph, &s.flow, err) : banyan_fail_memory(err);

    if (!status) {
        guess_from_workers(&s);
        for (int i = 0; i < graph->active_count; i++)
            while (s.guess.num > 0 && !is_content(&s, graph->active[i]))
                ;
        *out = banyan_fraction_make((banyan_wide)s.guess.num * graph->active_count, s.guess.den);
    }
    banyan_flow_destroy(s.flow);
    banyan_free(own);
    return status;
}

/* Takes the family if it proves less than the cut. */
static void lower(double cut, banyan_balance *balance, banyan_gather_bound *out)
{
    if (balance->family.count && balance->value < cut * (1 - BANYAN_SAME)) {
        banyan_cut_family_fini(&out->family);
        out->family = balance->family;
        balance->family = (banyan_cut_family){0};
    }
}

/* What trees reach if idle nodes only forward. That is the best where they can do nothing else. Where they
 * may branch, trees may reach more, and only a bound of these is looked for, if it can be less than the
 * cut. */
static banyan_status balance(const banyan_graph *graph, int towards, double cut, const unsigned char *inside,
                             banyan_gather_bound *out, banyan_error *err)
{
    unsigned char *role = banyan_alloc((size_t)graph->node_count, 1);
    banyan_balance forwarded = {0}, branched = {0};
    banyan_graph view;
    banyan_status status = role ? BANYAN_SUCCESS : banyan_fail_memory(err);

    if (!status) {
        view = banyan_graph_forwarding_view(graph, role);
        status = banyan_balance_solve(&view, towards, cut, inside, &forwarded, err);
        out->reached = forwarded.reached;
    }
    if (!status && !banyan_balance_branches(graph, towards)) {
        lower(cut, &forwarded, out);
    } else if (!status && forwarded.value < cut * (1 - BANYAN_SAME)) {
        status = banyan_balance_solve(graph, towards, cut, inside, &branched, err);
        if (!status)
            lower(cut, &branched, out);
    }
    banyan_cut_family_fini(&forwarded.family);
    banyan_cut_family_fini(&branched.family);
    banyan_free(role);
    return status;
}

banyan_status banyan_gather_solve(const banyan_topology *topology, const banyan_graph *graph, int towards,
                                  banyan_gather_bound *out, banyan_error *err)
{
    int is_large = banyan_scale_is_large(topology);
    unsigned char *inside = banyan_alloc((size_t)graph->node_count, 1);
    banyan_fraction fraction;
    banyan_status status = inside ? BANYAN_SUCCESS : banyan_fail_memory(err);

    *out = (banyan_gather_bound){0};
    if (!status)
        status = is_large ? banyan_large_gather(topology, graph, towards, &fraction, inside, err)
                          : banyan_gather_rate(graph, towards, &fraction, inside, err);
    if (!status)
        status = banyan_cut_family_of_cut(graph, inside, &out->family, err);
    if (!status && !is_large) {
        out->reached = banyan_fraction_value(fraction);
        if (banyan_balance_is_needed(graph))
            status = balance(graph, towards, out->reached, inside, out, err);
    }
    if (status)
        banyan_cut_family_fini(&out->family);
    banyan_free(inside);
    return status;
}
