/* SPDX-License-Identifier: Apache-2.0 */
/* bound/allreduce_search.c: is a bound the best one, where idle nodes are many? Whole trees may cost more
 * than cuts or a dual ascent can tell: then nothing reaches it. Pairs of trees are packed, beginning with its
 * prices. Mostly they come up to it; else the cheapest trees are searched for, which proves a lower bound as
 * it goes. */
#include <math.h>
#include <string.h>

#include "bound/allreduce.h"
#include "core/alloc.h"
#include "solve/cut/split.h"
#include "solve/net/effort.h"
#include "solve/net/tolerance.h"
#include "solve/pack/pair_columns.h"

#define ROUNDS 3000

/* What a packing says is not taken on trust. */
static banyan_status take_prices(const banyan_graph *graph, int64_t *price, double hoped,
                                 banyan_allreduce_bound *out, banyan_error *err)
{
    banyan_allreduce_bound lower = {.price = price};
    banyan_status status = banyan_allreduce_prove(graph, hoped, &lower, err);

    if (!status && lower.value < out->value) {
        memcpy(out->price, price, (size_t)graph->arc_count * sizeof *price);
        out->cost = lower.cost;
        banyan_allreduce_set_value(graph, out);
    }
    return status;
}

/* The prices so far, and where sums are made: anywhere, where links are symmetric. */
static banyan_status begin(const banyan_graph *graph, const banyan_allreduce_bound *known, banyan_split *out,
                           banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    if (graph->symmetric)
        *out = (banyan_split){.total = 1,
                              .price = banyan_alloc((size_t)graph->arc_count, sizeof *out->price),
                              .root = banyan_alloc((size_t)graph->node_count, sizeof *out->root),
                              .bound_value = HUGE_VAL};
    else
        status = banyan_split_find(graph, BANYAN_SAME, out, err);
    if (!status && (!out->price || !out->root))
        status = banyan_fail_memory(err);
    if (!status && known->value < out->bound_value) {
        memcpy(out->price, known->price, (size_t)graph->arc_count * sizeof *out->price);
        out->cost = known->cost;
        out->bound_value = known->value;
    }
    return status;
}

static banyan_status lower_by_pairs(const banyan_graph *graph, int effort, banyan_allreduce_bound *out,
                                    banyan_error *err)
{
    banyan_pair_packing_problem problem = {.stages = BANYAN_STAGES_PIPELINED,
                                           .kinds =
                                               graph->symmetric ? BANYAN_KINDS_MIRRORED : BANYAN_KINDS_BOTH,
                                           .tolerance = 1e-10,
                                           .good_enough = out->value * (1 - BANYAN_SAME),
                                           .round_limit = ROUNDS,
                                           .visit_limit = BANYAN_CUT_VISITS,
                                           .search_effort = effort};
    banyan_pair_packing packing = {0};
    banyan_split known = {0};
    banyan_status status = begin(graph, out, &known, err);

    if (!status)
        status = banyan_pair_packing_by_columns(graph, &problem, &known, &packing, err);
    banyan_split_fini(&known);
    if (status)
        return status;
    out->reached = fmax(out->reached, packing.total);
    if (packing.bound_value < out->value * (1 - BANYAN_SAME))
        status = take_prices(graph, packing.price, packing.bound_value, out, err);
    banyan_pair_packing_fini(&packing);
    return status;
}

banyan_status banyan_allreduce_lower_by_search(const banyan_graph *graph, int patient,
                                               banyan_allreduce_bound *out, banyan_error *err)
{
    int effort;

    if (out->value <= out->reached * (1 + BANYAN_NEARLY_SAME) || !banyan_graph_has_helpers(graph) ||
        !banyan_graph_suits_packing(graph, patient, &effort))
        return BANYAN_SUCCESS;
    return lower_by_pairs(graph, effort, out, err);
}
