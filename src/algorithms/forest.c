/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/forest.c: trees packed so that the narrowest part of the network is never idle.
 *
 *          share 5/8                share 3/8            every byte is summed up its tree and the sum comes
 * down 2                        0                 the same tree at once: links work both ways all the time.
 *           / | \                     / \                Together the trees fill just the links that limit
 * any 0  1  3                   1   2               all-reduce whatever, so no schedule can be faster.
 *                                        |
 *                                        3
 *
 * How the trees are found is in packed.h; here the choice of how many, how deep, and the making of the
 * schedule. Cost in the limit: n / X, X the bound; for small vectors (sqrt(n/X) + sqrt((D-1) a))^2 with D
 * hops up and down.
 *
 * Paper: Z. Luo et al., Near-Optimal Topology-adaptive Parameter Synchronization in Distributed DNN Training,
 * INFOCOM 2020; gone past by packing both stages into one. */
#include "algorithms/flows.h"
#include "algorithms/packed.h"
#include "core/alloc.h"

static const banyan_algorithm_option options[] = {
    {"method", "columns|ellipsoid",
     "how trees are found; ellipsoid is the paper's way, for small networks (columns)"},
    {"relays", "add|forward|none", "what idle workers do (add)"},
    {"max-trees", "N", "at most this many trees (64)"},
    {"max-depth", "N", "trees of at most this many hops, where that is possible (0: shallow at no loss)"},
    {"stages", "pipelined|sequential|overlap",
     "reduce and broadcast at once, or one after the other (pipelined)"},
    {NULL, NULL, NULL},
};

/* Fewer trees lose some rate and save latency and messages. */
static const banyan_parameter variants[] = {
    {"max-trees", "1"}, {"max-trees", "4"}, {"max-trees", "16"}, {NULL, NULL}};

static banyan_status applies(const banyan_problem *problem, banyan_error *err)
{
    if (problem->active_count > 4096)
        return banyan_fail(err, BANYAN_UNSUPPORTED, "forest plans up to 4096 workers, here are %d",
                           problem->active_count);
    return BANYAN_SUCCESS;
}

static banyan_status build(const banyan_problem *problem, banyan_schedule **out, banyan_error *err)
{
    banyan_packed_options choice;
    banyan_flows flows;
    banyan_status status = banyan_packed_options_read(problem, &choice, err);

    *out = NULL;
    if (status)
        return status;
    banyan_flows_init(&flows);
    status = banyan_packed_find(problem, &choice, &flows, err);
    if (!status)
        status = banyan_flows_build(&flows, problem, out, err);
    banyan_flows_fini(&flows);
    return status;
}

const banyan_algorithm banyan_algorithm_forest = {
    .name = "forest",
    .summary = "the heaviest packing of trees, which reaches the network's bound",
    .paper = "Z. Luo et al., Near-Optimal Topology-adaptive Parameter Synchronization in Distributed DNN "
             "Training, "
             "2020",
    .cost = "n / bound + 2 depth a",
    .collectives = BANYAN_CAN(ALLREDUCE),
    .options = options,
    .variants = variants,
    .applies = applies,
    .build = build,
};
