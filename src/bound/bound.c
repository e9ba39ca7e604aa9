/* SPDX-License-Identifier: Apache-2.0 */
/* bound/bound.c: the three rates of a network with their certificates, as plain values. */
#include "bound/bound.h"

#include <math.h>
#include <string.h>

#include "bound/allreduce.h"
#include "bound/cut_proof.h"
#include "bound/large.h"
#include "bound/rate.h"
#include "core/alloc.h"
#include "core/gcd.h"
#include "solve/net/tolerance.h"
#include "topology/scale.h"

#define ROUNDED 1e-6 /* share by which a proof may miss a bound: whole numbers in place of doubles */
#define TIGHT                                                                                                \
    1e-6 /* share by which a packing may fall short of a bound that it reaches: it is one of doubles */

banyan_status banyan_certificate_init(banyan_certificate *c, const banyan_topology *topology,
                                      banyan_error *err)
{
    memset(c, 0, sizeof *c);
    c->node_count = topology->node_count;
    c->link_count = topology->link_count;
    c->part = banyan_alloc((size_t)topology->node_count, sizeof *c->part);
    c->price = banyan_alloc((size_t)topology->link_count, sizeof *c->price);
    return c->part && c->price ? BANYAN_SUCCESS : banyan_fail_memory(err);
}

void banyan_rate_set(banyan_rate *rate, const banyan_graph *graph, banyan_fraction fraction, double value)
{
    rate->fraction = fraction;
    rate->unit = graph->unit;
    rate->exact = graph->exact && fraction.den > 0;
    rate->bytes_per_s = value * graph->unit;
}

int banyan_rate_is_reached(const banyan_rate *rate, const banyan_graph *graph, double reached)
{
    return reached * graph->unit >= rate->bytes_per_s * (1 - TIGHT);
}

banyan_status banyan_rate_judge(const char *name, const banyan_rate *claimed, const banyan_rate *proven,
                                banyan_error *err)
{
    if (proven->bytes_per_s <= claimed->bytes_per_s * (1 + BANYAN_SAME))
        return BANYAN_SUCCESS;
    return banyan_fail(err, BANYAN_PLAN_INVALID,
                       "the certificate proves that %s cannot pass %.6g bytes/s, but the bound claims %.6g",
                       name, proven->bytes_per_s, claimed->bytes_per_s);
}

void banyan_rate_fini(banyan_rate *rate)
{
    banyan_cut_family_fini(&rate->certificate.family);
    banyan_cut_family_fini(&rate->certificate.reduce);
    banyan_free(rate->certificate.part);
    banyan_free(rate->certificate.price);
    rate->certificate.part = NULL;
    rate->certificate.price = NULL;
}

const char *banyan_rate_tightness(const banyan_rate *rate)
{
    return rate->is_tight ? "proven" : "unknown";
}

void banyan_bound_fini(banyan_bound *bound)
{
    banyan_rate_fini(&bound->allreduce);
    banyan_rate_fini(&bound->allgather);
    banyan_rate_fini(&bound->reducescatter);
}

static banyan_status lone_worker(const banyan_topology *topology, banyan_rate *rate, banyan_error *err)
{
    rate->bytes_per_s = HUGE_VAL;
    rate->unit = 1;
    rate->is_tight = 1;
    return banyan_certificate_init(&rate->certificate, topology, err);
}

/* Nodes joined by arcs without a price are one part. */
static void join_free_arcs(banyan_certificate *c, const banyan_graph *graph)
{
    for (int v = 0; v < graph->node_count; v++)
        c->part[v] = banyan_graph_is_joined(graph, v) ? v : -1;
    for (int i = 0; i < graph->arc_count; i++) {
        int twin = graph->arcs[i].twin, a, b;

        if (c->price[graph->arcs[i].link] || (twin >= 0 && c->price[graph->arcs[twin].link]))
            continue;
        a = banyan_graph_find_top(c->part, graph->arcs[i].src);
        b = banyan_graph_find_top(c->part, graph->arcs[i].dst);
        c->part[a > b ? a : b] = a > b ? b : a;
    }
    for (int v = 0; v < graph->node_count; v++)
        if (c->part[v] >= 0)
            c->part[v] = banyan_graph_find_top(c->part, v);
    c->part_count = 0;
    for (int v = 0; v < graph->node_count;
         v++) /* a part's name is its first node, which comes before the others */
        if (c->part[v] == v)
            c->part[v] = c->part_count++;
        else if (c->part[v] >= 0)
            c->part[v] = c->part[c->part[v]];
}

static banyan_certificate_kind kind_of_prices(const banyan_certificate *c)
{
    int64_t common = 0;

    for (int i = 0; i < c->link_count; i++) {
        if (c->price[i] && common && c->price[i] != common)
            return BANYAN_CERTIFICATE_PRICES;
        if (c->price[i])
            common = c->price[i];
    }
    return c->part_count == 2 ? BANYAN_CERTIFICATE_CUT : BANYAN_CERTIFICATE_PARTITION;
}

/* What prices of arcs that prove this value come to, as a rate with its certificate. */
static void set_by_prices(const banyan_graph *graph, const int64_t *price, banyan_fraction fraction,
                          double value, banyan_rate *rate)
{
    int64_t common = 0;

    for (int i = 0; i < graph->arc_count; i++)
        common = banyan_gcd(common, price[i]);
    for (int i = 0; i < graph->arc_count; i++)
        rate->certificate.price[graph->arcs[i].link] = price[i] / (common ? common : 1);
    join_free_arcs(&rate->certificate, graph);
    rate->certificate.kind = kind_of_prices(&rate->certificate);
    banyan_rate_set(rate, graph, fraction, value * banyan_graph_rounding(graph, price, 1));
}

/* A single narrow cable is one proof; other cables are just as narrow if the bound stays when they count as
 * much. People want to hear of all of them. */
static banyan_status name_equals(const banyan_graph *graph, banyan_allreduce_bound *found, banyan_error *err)
{
    banyan_allreduce_bound both = *found;
    int single = -1;

    for (int i = 0; i < graph->arc_count; i++)
        if (found->price[i] && banyan_graph_cable(graph, i) == i) {
            if (single >= 0)
                return BANYAN_SUCCESS;
            single = i;
        }
    for (int i = 0; single >= 0 && i < graph->arc_count; i++) {
        int twin = graph->arcs[i].twin;
        banyan_status status;

        if (found->price[i] || twin < i || graph->arcs[i].capacity != graph->arcs[single].capacity)
            continue;
        found->price[i] = found->price[twin] = found->price[single];
        status = banyan_allreduce_prove(graph, found->value, &both, err);
        if (status)
            return status;
        if (both.value > found->value * (1 + ROUNDED))
            found->price[i] = found->price[twin] = 0;
        else
            found->cost = both.cost;
    }
    banyan_allreduce_set_value(graph, found);
    return BANYAN_SUCCESS;
}

/* What a smaller network proves, prices of this one may not quite: there are roundings, and searches that end
 * early. The bound is what whoever verifies it can prove. */
static banyan_status take_what_is_proven(const banyan_graph *graph, banyan_allreduce_bound *found,
                                         banyan_error *err)
{
    banyan_allreduce_bound proven = *found;
    banyan_status status = banyan_allreduce_prove(graph, found->value, &proven, err);

    if (!status && proven.value > found->value)
        *found = proven;
    return status;
}

static banyan_status solve(const banyan_graph *graph, int patient, banyan_allreduce_bound *found,
                           banyan_error *err)
{
    banyan_status status = banyan_allreduce_solve(graph, found, err);

    if (!status && patient)
        status = banyan_allreduce_lower_by_search(graph, 1, found, err);
    if (!status && graph->symmetric && !banyan_graph_all_active(graph))
        status = name_equals(graph, found, err);
    if (!status && banyan_graph_has_helpers(graph))
        status = take_what_is_proven(graph, found, err);
    return status;
}

/* effort: 0 the rate alone, 1 with cuts that prove it, 2 patiently. */
static banyan_status find_allreduce(const banyan_topology *topology, const banyan_graph *graph, int effort,
                                    banyan_rate *rate, double *reached_bytes_per_s, banyan_error *err)
{
    banyan_allreduce_bound found = {.price = banyan_alloc((size_t)graph->arc_count, sizeof(int64_t))};
    banyan_status status =
        found.price ? banyan_certificate_init(&rate->certificate, topology, err) : banyan_fail_memory(err);

    if (!status)
        status = banyan_scale_is_large(topology) ? banyan_large_solve(topology, graph, &found, err)
                                                 : solve(graph, effort > 1, &found, err);
    if (!status && !graph->symmetric && !banyan_scale_is_large(topology) &&
        found.reached < found.value * (1 - BANYAN_SAME))
        status = banyan_large_lower(topology, graph, &found, err);
    if (!status) {
        if (effort > 0)
            banyan_graph_make_even_prices(graph, found.price);
        set_by_prices(graph, found.price, found.fraction, found.value, rate);
        rate->is_tight = banyan_rate_is_reached(rate, graph, found.reached);
        *reached_bytes_per_s = found.reached * graph->unit;
    }
    if (!status && effort > 0)
        status = banyan_cut_proof_find(graph, found.price, found.value, &rate->certificate.reduce,
                                       &rate->certificate.family, err);
    banyan_free(found.price);
    return status;
}

static banyan_status make_graph(const banyan_topology *topology, const int *active, int active_count,
                                banyan_relays relays, banyan_graph **out, banyan_error *err)
{
    banyan_status status;

    *out = NULL;
    if (active_count < 1)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "there is no active worker");
    status = banyan_scale_check(topology, err);
    if (!status)
        status = banyan_topology_check_connected(topology, active, active_count, err);
    if (!status)
        status = banyan_network_graph(topology, active, active_count, relays, out, err);
    return status;
}

banyan_status banyan_bound_allreduce(const banyan_topology *topology, const int *active, int active_count,
                                     banyan_relays relays, banyan_rate *out, double *reached_bytes_per_s,
                                     banyan_error *err)
{
    banyan_graph *graph;
    banyan_status status = make_graph(topology, active, active_count, relays, &graph, err);

    memset(out, 0, sizeof *out);
    *reached_bytes_per_s = HUGE_VAL;
    if (!status)
        status = active_count == 1 ? lone_worker(topology, out, err)
                                   : find_allreduce(topology, graph, 0, out, reached_bytes_per_s, err);
    if (status)
        banyan_rate_fini(out);
    banyan_graph_destroy(graph);
    return status;
}

static banyan_status find_all(const banyan_topology *topology, const int *active, int active_count,
                              banyan_relays relays, int patient, banyan_bound *out, banyan_error *err)
{
    banyan_graph *graph;
    banyan_status status = make_graph(topology, active, active_count, relays, &graph, err);

    memset(out, 0, sizeof *out);
    out->relays = relays;
    out->reached_bytes_per_s = HUGE_VAL;
    if (!status && active_count == 1) {
        status = lone_worker(topology, &out->allreduce, err);
        if (!status)
            status = lone_worker(topology, &out->allgather, err);
        if (!status)
            status = lone_worker(topology, &out->reducescatter, err);
    } else if (!status) {
        status =
            find_allreduce(topology, graph, 1 + patient, &out->allreduce, &out->reached_bytes_per_s, err);
        for (int towards = 0; !status && towards < 2; towards++) {
            banyan_gather_question question = {topology, graph, relays, towards};

            status = banyan_gather_find_rate(&question, towards ? &out->reducescatter : &out->allgather, err);
        }
    }
    if (status)
        banyan_bound_fini(out);
    banyan_graph_destroy(graph);
    return status;
}

banyan_status banyan_bound_find(const banyan_topology *topology, const int *active, int active_count,
                                banyan_relays relays, banyan_bound *out, banyan_error *err)
{
    return find_all(topology, active, active_count, relays, 0, out, err);
}

banyan_status banyan_bound_search(const banyan_topology *topology, const int *active, int active_count,
                                  banyan_relays relays, banyan_bound *out, banyan_error *err)
{
    return find_all(topology, active, active_count, relays, 1, out, err);
}

/* ---- What certificates prove. */

/* By the cuts in one pass, or by a search where there are none. */
static banyan_status prove_prices(const banyan_graph *graph, int64_t *price, const banyan_rate *claimed,
                                  int is_large, banyan_fraction *fraction, double *value, banyan_error *err)
{
    const banyan_certificate *c = &claimed->certificate;
    banyan_allreduce_bound proven = {.price = price};
    banyan_status status;

    if (c->family.count)
        return banyan_check_allreduce(graph, price, &c->reduce, &c->family, fraction, value, err);
    if (is_large)
        return banyan_large_prove(graph, price, fraction, value, err);
    status = banyan_allreduce_prove(graph, claimed->bytes_per_s / graph->unit, &proven, err);
    *fraction = proven.fraction;
    *value = proven.value;
    return status;
}

/* The same cuts, as they are written. */
static banyan_status copy_cuts(const banyan_graph *graph, const banyan_certificate *from,
                               banyan_certificate *to, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    if (from->family.count)
        status = banyan_cut_family_copy(graph, &from->family, &to->family, err);
    if (!status && from->reduce.count)
        status = banyan_cut_family_copy(graph, &from->reduce, &to->reduce, err);
    if (!status && from->family.count)
        banyan_cut_family_reduce(&to->family, to->reduce.count ? &to->reduce : NULL, graph->node_count);
    return status;
}

static banyan_status derive_allreduce(const banyan_topology *topology, const banyan_graph *graph,
                                      const banyan_rate *claimed, banyan_rate *out, banyan_error *err)
{
    int64_t *price = banyan_alloc((size_t)graph->arc_count, sizeof *price);
    banyan_status status =
        price ? banyan_certificate_init(&out->certificate, topology, err) : banyan_fail_memory(err);
    banyan_fraction fraction;
    double value;

    for (int i = 0; !status && i < graph->arc_count; i++) {
        price[i] = claimed->certificate.price[graph->arcs[i].link];
        if (price[i] < 0)
            status = banyan_fail(err, BANYAN_PLAN_INVALID, "the certificate has a negative price on link %d",
                                 graph->arcs[i].link);
    }
    if (!status)
        status = prove_prices(graph, price, claimed, banyan_scale_is_large(topology), &fraction, &value, err);
    if (!status)
        status = copy_cuts(graph, &claimed->certificate, &out->certificate, err);
    if (!status) {
        set_by_prices(graph, price, fraction, value, out);
        out->is_tight = claimed->is_tight;
        status = banyan_rate_judge("all-reduce", claimed, out, err);
    }
    banyan_free(price);
    return status;
}

banyan_status banyan_bound_derive(const banyan_topology *topology, const int *active, int active_count,
                                  const banyan_bound *claimed, banyan_bound *out, banyan_error *err)
{
    banyan_graph *graph;
    banyan_status status;

    if (active_count == 1)
        return banyan_bound_find(topology, active, active_count, claimed->relays, out, err);
    memset(out, 0, sizeof *out);
    out->relays = claimed->relays;
    out->reached_bytes_per_s = claimed->reached_bytes_per_s;
    status = make_graph(topology, active, active_count, claimed->relays, &graph, err);
    if (!status)
        status = derive_allreduce(topology, graph, &claimed->allreduce, &out->allreduce, err);
    for (int towards = 0; !status && towards < 2; towards++) {
        banyan_gather_question question = {topology, graph, claimed->relays, towards};

        status = banyan_gather_derive_rate(&question, towards ? &claimed->reducescatter : &claimed->allgather,
                                           towards ? &out->reducescatter : &out->allgather, err);
    }
    if (status)
        banyan_bound_fini(out);
    banyan_graph_destroy(graph);
    return status;
}

banyan_status banyan_bound_check_certificate(const banyan_topology *topology, const int *active,
                                             int active_count, const banyan_bound *bound, banyan_error *err)
{
    banyan_bound proven;
    banyan_status status = banyan_bound_derive(topology, active, active_count, bound, &proven, err);

    if (!status)
        banyan_bound_fini(&proven);
    return status;
}
