/* SPDX-License-Identifier: Apache-2.0 */
/* bound/cut_proof.c: where idle nodes only forward and links are symmetric, the cuts of a minimum spanning
 * tree (bound/laminar.h); else those of a linear program (solve/cut/split.h). The latter say what every
 * packing of trees must respect, but where idle nodes add, trees may be worth less than any cuts prove: then
 * a search is the only proof. */
#include "bound/cut_proof.h"

#include <math.h>

#include "bound/laminar.h"
#include "solve/cut/split.h"
#include "solve/net/tolerance.h"

#define MOST_MEMBERS 4000000 /* nodes of all cuts together: more make a file of over 30 MB */

/* The cuts of one direction that have a weight; even: of both, since a tree out of a root is one into it. */
static int is_taken(const banyan_split_proof *proof, int is_even, int reduce, size_t k)
{
    return (is_even || proof->cuts[k * ((size_t)proof->node_count + 1)] == reduce) && proof->weight[k] > 0;
}

static banyan_status take_family(const banyan_split_proof *proof, int is_even, int reduce,
                                 banyan_cut_family *out, banyan_error *err)
{
    size_t nodes = (size_t)proof->node_count, members = 0;
    int count = 0;
    banyan_status status;

    for (size_t k = 0; k < proof->count; k++) {
        count += is_taken(proof, is_even, reduce, k);
        for (size_t v = 0; is_taken(proof, is_even, reduce, k) && v < nodes; v++)
            members += proof->cuts[k * (nodes + 1) + 1 + v];
    }
    status = banyan_cut_family_init(out, count, members, proof->node_count, err);
    count = 0;
    for (size_t k = 0; !status && k < proof->count; k++) {
        int end = out->first[count];

        if (!is_taken(proof, is_even, reduce, k))
            continue;
        for (int v = 0; v < proof->node_count; v++)
            if (proof->cuts[k * (nodes + 1) + 1 + (size_t)v])
                out->node[end++] = v;
        out->weight[count++] = proof->weight[k];
        out->first[count] = end;
    }
    for (size_t v = 0; !status && v < nodes; v++)
        out->potential[v] = -proof->limit[(size_t)reduce * nodes + v] -
                            (is_even ? proof->limit[(size_t)!reduce * nodes + v] : 0);
    return status;
}

static banyan_status by_program(const banyan_graph *graph, const int64_t *price, double value,
                                banyan_cut_family *reduce, banyan_cut_family *broadcast, banyan_error *err)
{
    banyan_split_proof proof;
    double worth = (double)banyan_graph_worth(graph, price);
    int is_even = banyan_graph_has_even_prices(graph, price);
    banyan_status status = banyan_split_find_proof(graph, price, (banyan_wide)(worth / value), &proof, err);

    if (!status)
        status = take_family(&proof, is_even, 0, broadcast, err);
    if (!status && !is_even)
        status = take_family(&proof, 0, 1, reduce, err);
    banyan_split_proof_fini(&proof);
    return status;
}

banyan_status banyan_cut_proof_find(const banyan_graph *graph, const int64_t *price, double value,
                                    banyan_cut_family *reduce, banyan_cut_family *broadcast,
                                    banyan_error *err)
{
    banyan_fraction fraction;
    double proven = HUGE_VAL;
    banyan_status status;

    *reduce = *broadcast = (banyan_cut_family){0};
    if (banyan_laminar_applies(graph, price))
        status = banyan_laminar_cuts(graph, price, MOST_MEMBERS, broadcast, err);
    else
        status = by_program(graph, price, value, reduce, broadcast, err);
    if (!status && broadcast->count)
        status = banyan_check_allreduce(graph, price, reduce, broadcast, &fraction, &proven, err);
    if (status == BANYAN_PLAN_INVALID) /* numbers too large to be checked */
        status = BANYAN_SUCCESS;
    if (!status && proven <= value * (1 + BANYAN_SAME)) {
        banyan_cut_family_reduce(broadcast, reduce->count ? reduce : NULL, graph->node_count);
    } else {
        banyan_cut_family_fini(reduce);
        banyan_cut_family_fini(broadcast);
    }
    return status;
}
