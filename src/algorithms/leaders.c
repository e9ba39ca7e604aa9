/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/leaders.c: one worker of each machine speaks for it.
 *
 *     machine 0   1 \                          / 1        all of a machine add to its leader, leaders swap
 *                 2 - 0 <------> 4 - 5 - ...  -  2        whole vectors by recursive doubling, and copy the
 *     machine 1   3 /                          \ 3        result back
 *
 * The fastest way for short vectors where machines are far apart: between them it takes as few hops as there
 * can be, and each leader exchanges one message a hop. Leaders beyond a power of two lean on a neighbour
 * (fold.h). Cost, with M machines of m workers: 2 (m - 1) (a' + n b') inside, log2(M) (a + n b) between. */
#include "algorithms/fold.h"
#include "algorithms/machines.h"

#include "core/alloc.h"

static int gather(const banyan_machines *machines, banyan_builder *builder, const int *leaders)
{
    int most = 0;

    for (int m = 0; m < machines->count; m++)
        for (int i = machines->first[m]; i < machines->first[m + 1]; i++) {
            int size = machines->first[m + 1] - machines->first[m];

            most = size > 1 ? 1 : most;
            if (machines->member[i] != leaders[m])
                banyan_builder_reduce(builder, 0, machines->member[i], leaders[m], 0, 1, 0);
        }
    return most;
}

static void spread(const banyan_machines *machines, banyan_builder *builder, const int *leaders, int round)
{
    for (int m = 0; m < machines->count; m++)
        for (int i = machines->first[m]; i < machines->first[m + 1]; i++)
            if (machines->member[i] != leaders[m])
                banyan_builder_copy(builder, round, leaders[m], machines->member[i], 0, 1, 0);
}

static int swap(const int *leaders, int count, banyan_builder *builder, int round)
{
    banyan_fold fold = banyan_fold_ranks(leaders, count);

    round = banyan_fold_reduce_in(&fold, builder, round, 1);
    for (int distance = 1; distance < fold.position_count; distance *= 2, round++)
        for (int position = 0; position < fold.position_count; position++)
            banyan_builder_reduce(builder, round, banyan_fold_node(&fold, position),
                                  banyan_fold_node(&fold, position ^ distance), 0, 1, 0);
    return banyan_fold_copy_out(&fold, builder, round, 1);
}

static banyan_status build(const banyan_problem *problem, banyan_schedule **out, banyan_error *err)
{
    banyan_machines machines = {0};
    banyan_builder builder;
    banyan_status status = banyan_machines_find(problem, &machines, err);
    int *leaders, round;

    if (status)
        return status;
    leaders = banyan_alloc((size_t)machines.count, sizeof *leaders);
    if (!leaders) {
        banyan_machines_fini(&machines);
        return banyan_fail_memory(err);
    }
    for (int m = 0; m < machines.count; m++)
        leaders[m] = banyan_machines_leader(&machines, m, 0);
    banyan_problem_begin(problem, &builder);
    banyan_builder_cut_evenly(&builder, 1);
    round = gather(&machines, &builder, leaders);
    round = swap(leaders, machines.count, &builder, round);
    spread(&machines, &builder, leaders, round);
    banyan_free(leaders);
    banyan_machines_fini(&machines);
    return banyan_builder_finish(&builder, out, err);
}

const banyan_algorithm banyan_algorithm_leaders = {
    .name = "leaders",
    .summary =
        "one worker of each machine swaps whole vectors with the others': fewest hops, for short vectors",
    .paper =
        "Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH, 2005",
    .cost = "2 (m - 1) (a' + n b') inside machines of m, log2(M) (a + n b) between M of them",
    .collectives = BANYAN_CAN(ALLREDUCE),
    .applies = banyan_machines_apply,
    .build = build,
};
