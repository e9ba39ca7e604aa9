/* SPDX-License-Identifier: Apache-2.0 */
/* bound/gather_rate.c: rates of all-gather and reduce-scatter with their certificates: cuts, weighted and
 * with potentials where one cut alone does not prove the best rate. */
#include "bound/gather.h"
#include "bound/rate.h"
#include "core/alloc.h"

static const char *name_of(const banyan_gather_question *question)
{
    return question->towards ? "reduce-scatter" : "all-gather";
}

/* Nodes that the graph has left out as dead ends are on the side of what they are attached to; what is in no
 * connection with it, and idle workers that are not there, on none. */
static void place_dead_ends(const banyan_topology *topology, const banyan_graph *graph, banyan_relays relays,
                            int *part)
{
    for (int v = 0; v < graph->node_count; v++)
        if (graph->out_first[v] == graph->out_first[v + 1] && graph->in_first[v] == graph->in_first[v + 1])
            part[v] = -1;
    for (int again = 1; again;) {
        again = 0;
        for (int i = 0; i < 2 * topology->link_count; i++) {
            const banyan_link *link = &topology->links[i / 2];
            int from = i % 2 ? link->dst : link->src, to = i % 2 ? link->src : link->dst;

            if (part[from] < 0 || part[to] >= 0 ||
                (relays == BANYAN_RELAYS_NONE && topology->nodes[to].kind == BANYAN_NODE_WORKER))
                continue;
            part[to] = part[from];
            again = 1;
        }
    }
}

static int is_one_cut(const banyan_cut_family *family, int node_count)
{
    for (int v = 0; v < node_count; v++)
        if (family->potential[v])
            return 0;
    return family->count == 1;
}

/* One cut is told as two parts of the network; several are listed. */
static void tell_cuts(const banyan_gather_question *question, banyan_cut_family *family,
                      banyan_certificate *c)
{
    int is_cut = is_one_cut(family, c->node_count);

    for (int v = 0; v < c->node_count; v++)
        c->part[v] = is_cut ? 0 : -1;
    c->kind = is_cut ? BANYAN_CERTIFICATE_CUT : BANYAN_CERTIFICATE_CUTS;
    c->part_count = is_cut ? 2 : 0;
    if (is_cut) {
        for (int i = family->first[0]; i < family->first[1]; i++)
            c->part[family->node[i]] = 1;
        place_dead_ends(question->topology, question->graph, question->relays, c->part);
    } else {
        c->family = *family;
        *family = (banyan_cut_family){0};
    }
}

/* What a family proves, as a rate with its certificate. */
static banyan_status set_by_cuts(const banyan_gather_question *question, const banyan_cut_family *family,
                                 banyan_rate *rate, banyan_error *err)
{
    const banyan_graph *graph = question->graph;
    int64_t *price = banyan_alloc((size_t)graph->arc_count, sizeof *price);
    banyan_cut_family own = {0};
    banyan_fraction fraction;
    double value;
    banyan_status status = price ? banyan_cut_family_copy(graph, family, &own, err) : banyan_fail_memory(err);

    if (!status)
        banyan_cut_family_reduce(&own, NULL, graph->node_count);
    if (!status)
        status = banyan_check_gather(graph, question->towards, &own, name_of(question), price, &fraction,
                                     &value, err);
    if (!status)
        status = banyan_certificate_init(&rate->certificate, question->topology, err);
    if (!status) {
        banyan_rate_set(rate, graph, fraction, value * banyan_graph_rounding(graph, price, 1));
        for (int i = 0; i < graph->arc_count; i++)
            rate->certificate.price[graph->arcs[i].link] = price[i];
        tell_cuts(question, &own, &rate->certificate);
    }
    banyan_cut_family_fini(&own);
    banyan_free(price);
    return status;
}

static banyan_status solve(const banyan_gather_question *question, banyan_gather_bound *out,
                           banyan_error *err)
{
    return banyan_gather_solve(question->topology, question->graph, question->towards, out, err);
}

banyan_status banyan_gather_find_rate(const banyan_gather_question *question, banyan_rate *out,
                                      banyan_error *err)
{
    banyan_gather_bound found;
    banyan_status status = solve(question, &found, err);

    if (!status)
        status = set_by_cuts(question, &found.family, out, err);
    if (!status)
        out->is_tight = banyan_rate_is_reached(out, question->graph, found.reached);
    banyan_cut_family_fini(&found.family);
    return status;
}

/* The cut that the parts of a certificate tell. */
static banyan_status take_cut(const banyan_gather_question *question, const int *part, banyan_cut_family *out,
                              banyan_error *err)
{
    unsigned char *inside = banyan_alloc((size_t)question->graph->node_count, 1);
    banyan_status status;

    if (!inside)
        return banyan_fail_memory(err);
    for (int v = 0; v < question->graph->node_count; v++)
        inside[v] = part[v] == 0;
    status = banyan_cut_family_of_cut(question->graph, inside, out, err);
    banyan_free(inside);
    return status;
}

banyan_status banyan_gather_derive_rate(const banyan_gather_question *question, const banyan_rate *claimed,
                                        banyan_rate *out, banyan_error *err)
{
    const banyan_certificate *c = &claimed->certificate;
    banyan_cut_family cut = {0};
    banyan_status status = BANYAN_SUCCESS;

    if (c->kind != BANYAN_CERTIFICATE_CUTS)
        status = take_cut(question, c->part, &cut, err);
    if (!status)
        status = set_by_cuts(question, c->kind == BANYAN_CERTIFICATE_CUTS ? &c->family : &cut, out, err);
    if (!status) {
        out->is_tight = claimed->is_tight;
        status = banyan_rate_judge(name_of(question), claimed, out, err);
    }
    banyan_cut_family_fini(&cut);
    return status;
}
