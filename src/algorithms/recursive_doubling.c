/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/recursive_doubling.c: everybody swaps all it has with a partner twice as far away each round.
 *
 *     0 <-> 1   2 <-> 3        after round k each rank has the sum of the 2^(k+1) ranks of its block;
 *     0 <-----> 2, 1 <-> 3     ranks beyond a power of two lean on a neighbour (fold.h)
 *
 * The whole vector travels each round, which is the fastest way for vectors so short that only rounds count.
 * Cost: log2(p) (a + n b), plus 2 (a + n b) where p is no power of two.
 * All-gather swaps only what there is, so its volume is (p-1)/p n like any other's.
 *
 * Paper: R. Thakur, R. Rabenseifner, W. Gropp, Optimization of Collective Communication Operations in MPICH,
 * 2005. */
#include "algorithms/fold.h"

static void all_reduce(const banyan_fold *fold, banyan_builder *builder)
{
    int round = banyan_fold_reduce_in(fold, builder, 0, 1);

    for (int distance = 1; distance < fold->position_count; distance *= 2, round++)
        for (int position = 0; position < fold->position_count; position++)
            banyan_builder_reduce(builder, round, banyan_fold_node(fold, position),
                                  banyan_fold_node(fold, position ^ distance), 0, 1, 0);
    banyan_fold_copy_out(fold, builder, round, 1);
}

static void all_gather(const banyan_fold *fold, banyan_builder *builder)
{
    int round = fold->pair_count > 0;

    for (int pair = 0; pair < fold->pair_count; pair++)
        banyan_builder_copy(builder, 0, fold->active[2 * pair + 1], fold->active[2 * pair], 2 * pair + 1, 1,
                            0);
    for (int distance = 1; distance < fold->position_count; distance *= 2, round++)
        for (int position = 0; position < fold->position_count; position++) {
            int block = position & ~(distance - 1), first = banyan_fold_first_rank(fold, block);

            banyan_builder_copy(builder, round, banyan_fold_node(fold, position),
                                banyan_fold_node(fold, position ^ distance), first,
                                banyan_fold_first_rank(fold, block + distance) - first, 0);
        }
    banyan_fold_copy_rest(fold, builder, round);
}

static banyan_status build(const banyan_problem *problem, banyan_schedule **out, banyan_error *err)
{
    banyan_fold fold = banyan_fold_ranks(problem->active, problem->active_count);
    banyan_builder builder;

    banyan_problem_begin(problem, &builder);
    if (problem->collective == BANYAN_COLLECTIVE_ALLGATHER) {
        banyan_builder_cut_evenly(&builder, problem->active_count);
        all_gather(&fold, &builder);
    } else {
        banyan_builder_cut_evenly(&builder, 1);
        all_reduce(&fold, &builder);
    }
    return banyan_builder_finish(&builder, out, err);
}

const banyan_algorithm banyan_algorithm_recursive_doubling = {
    .name = "recursive-doubling",
    .summary = "partners at doubling distances swap whole vectors: fewest rounds, for short vectors",
    .paper =
        "Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH, 2005",
    .cost = "log2(p) (a + n b); 2 (a + n b) more where p is no power of two",
    .collectives = BANYAN_CAN(ALLREDUCE) | BANYAN_CAN(ALLGATHER),
    .build = build,
};
