/* SPDX-License-Identifier: Apache-2.0 */
/* bound/staged.c: where every link has a twin, a broadcast packing turned round is a reduce packing with the
 * same roots, so two stages need one packing of out-trees with free roots; and overlapping them gains
 * nothing, for the reduce trees alone cannot weigh more. Switches that copy but do not add help the broadcast
 * only, which then has to wait for the reduce all the same. Elsewhere both kinds are packed with common
 * roots. */
#include "bound/staged.h"

#include <math.h>
#include <string.h>

#include "bound/allreduce.h"
#include "core/alloc.h"
#include "core/gcd.h"
#include "solve/cut/strength.h"
#include "solve/net/tolerance.h"
#include "solve/pack/pair_columns.h"

static const char *const stage_names[] = {"pipelined", "sequential", "overlap"};

const char *banyan_stages_name(banyan_stages stages)
{
    return stage_names[stages];
}

banyan_status banyan_stages_parse(const char *text, banyan_stages *out, banyan_error *err)
{
    for (int i = 0; i < 3; i++)
        if (strcmp(text, stage_names[i]) == 0) {
            *out = (banyan_stages)i;
            return BANYAN_SUCCESS;
        }
    return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                       "stages is '%s'; it can be pipelined, sequential or overlap", text);
}

double banyan_staged_sum(const banyan_graph *graph, banyan_stages stages, const banyan_staged *staged)
{
    double rounding =
        staged->price ? banyan_graph_rounding(graph, staged->price, stages == BANYAN_STAGES_PIPELINED ? 1 : 2)
                      : 1;

    return staged->chi * graph->unit * rounding;
}

void banyan_staged_fini(banyan_staged *staged)
{
    banyan_free(staged->price);
    staged->price = NULL;
}

banyan_status banyan_staged_prove(const banyan_graph *graph, banyan_stages stages, int64_t *price,
                                  double *value, int *proven, banyan_error *err)
{
    banyan_allreduce_bound bound = {.price = price};
    banyan_wide num, den;
    banyan_status status;

    if (stages == BANYAN_STAGES_PIPELINED) { /* the all-reduce bound, which knows more kinds of networks */
        *proven = 1;
        status = banyan_allreduce_prove(graph, 0, &bound, err);
        *value = bound.value;
        return status;
    }
    status = banyan_pair_prices_check_stages(graph, stages, price, &num, &den, proven, err);
    if (!status)
        *value = den > 0 ? (double)num / (double)den : HUGE_VAL;
    return status;
}

/* Keeps prices of stages that prove the sum of chi; others say nothing. */
static banyan_status keep_price(const banyan_graph *graph, banyan_stages stages, int64_t *price,
                                banyan_staged *out, banyan_error *err)
{
    size_t rows = (size_t)graph->arc_count * (stages == BANYAN_STAGES_PIPELINED ? 1 : 2);
    double value = HUGE_VAL;
    int64_t common = 0;
    int proven = 0;
    banyan_status status =
        out->proven ? banyan_staged_prove(graph, stages, price, &value, &proven, err) : BANYAN_SUCCESS;

    if (status || !proven || value > out->chi * (1 + BANYAN_NEARLY_SAME))
        return status;
    out->chi = value;
    out->price = banyan_alloc(rows, sizeof *out->price);
    if (!out->price)
        return banyan_fail_memory(err);
    for (size_t r = 0; r < rows; r++)
        common = banyan_gcd(common, price[r]);
    for (size_t r = 0; r < rows; r++)
        out->price[r] = price[r] / (common ? common : 1);
    return BANYAN_SUCCESS;
}

static banyan_status by_allreduce(const banyan_graph *graph, banyan_staged *out, banyan_error *err)
{
    banyan_allreduce_bound found = {.price = banyan_alloc((size_t)graph->arc_count, sizeof(int64_t))};
    banyan_status status = found.price ? banyan_allreduce_solve(graph, &found, err) : banyan_fail_memory(err);

    if (!status) {
        *out = (banyan_staged){found.value, found.reached, 1, NULL};
        status = keep_price(graph, BANYAN_STAGES_PIPELINED, found.price, out, err);
    }
    banyan_free(found.price);
    return status;
}

static banyan_status by_coupled(const banyan_graph *graph, banyan_stages stages, banyan_staged *out,
                                banyan_error *err)
{
    banyan_pair_packing_problem problem = {.stages = stages, .tolerance = 1e-9, .round_limit = 1000};
    banyan_pair_packing packing;
    banyan_status status = banyan_pair_packing_by_columns(graph, &problem, NULL, &packing, err);

    if (status)
        return status;
    *out = (banyan_staged){packing.bound_value, packing.total, packing.proven, NULL};
    status = keep_price(graph, stages, packing.price, out, err);
    banyan_pair_packing_fini(&packing);
    return status;
}

/* Out-trees' prices turned round are in-trees', which have the first stage for themselves in both kinds of
 * stages. Where nodes that only add help the in-trees, the prices are those of the broadcast in the second
 * stage. */
static banyan_status keep_broadcast_price(const banyan_graph *graph, banyan_stages stages,
                                          const int64_t *sent, banyan_staged *out, banyan_error *err)
{
    size_t arcs = (size_t)graph->arc_count;
    int64_t *price = banyan_alloc(2 * arcs, sizeof *price);
    banyan_status status;

    if (!price)
        return banyan_fail_memory(err);
    for (int i = 0; i < graph->arc_count; i++)
        price[graph->arcs[i].twin] = sent[i];
    status = keep_price(graph, stages, price, out, err);
    if (!status && !out->price) {
        memset(price, 0, arcs * sizeof *price);
        memcpy(price + arcs, sent, arcs * sizeof *price);
        status = keep_price(graph, stages, price, out, err);
    }
    banyan_free(price);
    return status;
}

/* No idle node helps: out-trees fill what cuts allow. */
static banyan_status by_strength(const banyan_graph *graph, banyan_staged *out, int64_t *price,
                                 banyan_error *err)
{
    banyan_fraction strength;
    banyan_wide cost;
    banyan_status status = banyan_strength_prices(graph, &strength, price, &cost, err);

    if (!status)
        *out = (banyan_staged){2 * banyan_fraction_value(strength), 2 * banyan_fraction_value(strength), 1,
                               NULL};
    return status;
}

static banyan_status by_out_trees(const banyan_graph *graph, banyan_staged *out, int64_t *price,
                                  banyan_error *err)
{
    banyan_pair_packing_problem problem = {
        .stages = BANYAN_STAGES_PIPELINED, .kinds = BANYAN_KINDS_OUT, .tolerance = 1e-9, .round_limit = 2000};
    banyan_pair_packing packing;
    banyan_status status = banyan_pair_packing_by_columns(graph, &problem, NULL, &packing, err);

    if (status)
        return status;
    *out = (banyan_staged){packing.bound_value, packing.total, packing.proven, NULL};
    memcpy(price, packing.price, (size_t)graph->arc_count * sizeof *price);
    banyan_pair_packing_fini(&packing);
    return BANYAN_SUCCESS;
}

/* graph: the whole one in which nodes that only add or only copy just forward. */
static banyan_status by_broadcast(const banyan_graph *whole, const banyan_graph *graph, banyan_stages stages,
                                  banyan_staged *out, banyan_error *err)
{
    int64_t *price = banyan_alloc((size_t)graph->arc_count, sizeof *price);
    banyan_status status = !price                            ? banyan_fail_memory(err)
                           : banyan_graph_has_helpers(graph) ? by_out_trees(graph, out, price, err)
                                                             : by_strength(graph, out, price, err);

    if (!status)
        status = keep_broadcast_price(whole, stages, price, out, err);
    banyan_free(price);
    return status;
}

/* Some nodes may only add, or some only copy, but not both kinds: then one of the stages gains nothing, and
 * the other must not run ahead of it. */
static int helps_one_stage_at_most(const banyan_graph *graph)
{
    const unsigned both = BANYAN_NODE_ADDS | BANYAN_NODE_COPIES;
    unsigned lone = 0;

    for (int v = 0; v < graph->node_count; v++)
        if ((graph->role[v] & both) != both)
            lone |= graph->role[v] & both;
    return lone != both;
}

banyan_status banyan_staged_solve(const banyan_graph *graph, banyan_stages stages, banyan_staged *out,
                                  banyan_error *err)
{
    unsigned char *role = banyan_alloc((size_t)graph->node_count, 1);
    banyan_graph even;
    banyan_status status;

    if (!role)
        return banyan_fail_memory(err);
    even = banyan_graph_even_view(graph, role);
    if (stages == BANYAN_STAGES_PIPELINED)
        status = by_allreduce(graph, out, err);
    else if (even.symmetric && helps_one_stage_at_most(graph))
        status = by_broadcast(graph, &even, stages, out, err);
    else
        status = by_coupled(graph, stages, out, err);
    if (!status && out->proven && !out->price &&
        stages == BANYAN_STAGES_OVERLAP) { /* adders may leave room for sums */
        banyan_staged_fini(out);
        status = by_coupled(graph, stages, out, err);
    }
    banyan_free(role);
    return status;
}
