/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/halving_doubling.c: Rabenseifner's algorithm: reduce-scatter by recursive halving, all-gather by
 * recursive doubling.
 *
 *     0 xxxx  1 xxxx  2 xxxx  3 xxxx      each round a partner gets the half that it keeps, and adds
 *     0 xx..  1 ..xx  2 xx..  3 ..xx      0 <-> 1, 2 <-> 3
 *     0 x...  1 ..x.  2 .x..  3 ...x      0 <-> 2, 1 <-> 3; then the same way back, copying
 *
 * Cost for p = 2^k: 2 log2(p) a + 2 (p-1)/p n b: as little volume as a ring in far fewer rounds. Ranks beyond
 * a power of two lean on a neighbour (fold.h), which costs 2 (a + n b) more. Reduce is reduce-scatter and
 * gather, broadcast is scatter and all-gather.
 *
 * All-reduce starts with the nearest partner, because the first round carries the most; reduce-scatter and
 * all-gather must end with piece r at rank r, for which halving starts with the farthest one.
 *
 * Paper: R. Rabenseifner, Optimization of Collective Reduction Operations, 2004. */
#include "algorithms/fold.h"
#include "algorithms/halving.h"
#include "core/alloc.h"

typedef struct {
    banyan_fold fold;
    int *node, *begin; /* as banyan_halving wants them */
    int piece_count;
} folding;

static void folding_fini(folding *folded)
{
    banyan_free(folded->node);
    banyan_free(folded->begin);
}

/* One piece per rank where pieces have owners, else one per position. */
static banyan_status folding_init(const banyan_problem *problem, int is_owned, folding *folded,
                                  banyan_error *err)
{
    banyan_fold fold = banyan_fold_ranks(problem->active, problem->active_count);

    folded->fold = fold;
    folded->piece_count = is_owned ? fold.rank_count : fold.position_count;
    folded->node = banyan_alloc((size_t)fold.position_count, sizeof(int));
    folded->begin = banyan_alloc((size_t)fold.position_count + 1, sizeof(int));
    if (!folded->node || !folded->begin) {
        folding_fini(folded);
        return banyan_fail_memory(err);
    }
    for (int position = 0; position <= fold.position_count; position++) {
        folded->begin[position] = is_owned ? banyan_fold_first_rank(&fold, position) : position;
        if (position < fold.position_count)
            folded->node[position] = banyan_fold_node(&fold, position);
    }
    return BANYAN_SUCCESS;
}

static void all_reduce(const folding *folded, const banyan_halving *halving)
{
    int round = banyan_fold_reduce_in(&folded->fold, halving->builder, 0, folded->piece_count);

    round = banyan_halving_reduce_scatter(halving, round);
    round = banyan_halving_all_gather(halving, round);
    banyan_fold_copy_out(&folded->fold, halving->builder, round, folded->piece_count);
}

static void reduce_scatter(const folding *folded, const banyan_halving *halving)
{
    const int *active = folded->fold.active;
    int round = banyan_fold_reduce_in(&folded->fold, halving->builder, 0, folded->piece_count);

    round = banyan_halving_reduce_scatter(halving, round);
    for (int odd = 1; odd < 2 * folded->fold.pair_count; odd += 2)
        banyan_builder_copy(halving->builder, round, active[odd - 1], active[odd], odd, 1, 0);
}

static void all_gather(const folding *folded, const banyan_halving *halving)
{
    const int *active = folded->fold.active;
    int round = folded->fold.pair_count > 0;

    for (int odd = 1; odd < 2 * folded->fold.pair_count; odd += 2)
        banyan_builder_copy(halving->builder, 0, active[odd], active[odd - 1], odd, 1, 0);
    round = banyan_halving_all_gather(halving, round);
    banyan_fold_copy_rest(&folded->fold, halving->builder, round);
}

static void reduce(const folding *folded, const banyan_halving *halving, int root)
{
    const int *active = folded->fold.active;
    int round = banyan_fold_reduce_in(&folded->fold, halving->builder, 0, folded->piece_count);

    round = banyan_halving_reduce_scatter(halving, round);
    round = banyan_halving_gather(halving, round, banyan_fold_position(&folded->fold, root));
    if (banyan_fold_leans(&folded->fold, root))
        banyan_builder_copy(halving->builder, round, active[root - 1], active[root], 0, folded->piece_count,
                            0);
}

static void broadcast(const folding *folded, const banyan_halving *halving, int root)
{
    const int *active = folded->fold.active;
    int round = 0;

    if (banyan_fold_leans(&folded->fold, root))
        banyan_builder_copy(halving->builder, round++, active[root], active[root - 1], 0, folded->piece_count,
                            0);
    round = banyan_halving_scatter(halving, round, banyan_fold_position(&folded->fold, root));
    round = banyan_halving_all_gather(halving, round);
    for (int odd = 1; odd < 2 * folded->fold.pair_count; odd += 2)
        if (odd != root)
            banyan_builder_copy(halving->builder, round, active[odd - 1], active[odd], 0, folded->piece_count,
                                0);
}

static void append(const banyan_problem *problem, const folding *folded, const banyan_halving *halving)
{
    switch (problem->collective) {
    case BANYAN_COLLECTIVE_REDUCE_SCATTER:
        reduce_scatter(folded, halving);
        return;
    case BANYAN_COLLECTIVE_ALLGATHER:
        all_gather(folded, halving);
        return;
    case BANYAN_COLLECTIVE_BROADCAST:
        broadcast(folded, halving, problem->root);
        return;
    case BANYAN_COLLECTIVE_REDUCE:
        reduce(folded, halving, problem->root);
        return;
    default:
        all_reduce(folded, halving);
    }
}

static banyan_status build(const banyan_problem *problem, banyan_schedule **out, banyan_error *err)
{
    int is_owned = problem->collective == BANYAN_COLLECTIVE_REDUCE_SCATTER ||
                   problem->collective == BANYAN_COLLECTIVE_ALLGATHER;
    banyan_builder builder;
    folding folded;
    banyan_status status = folding_init(problem, is_owned, &folded, err);

    if (status)
        return status;
    banyan_problem_begin(problem, &builder);
    banyan_builder_cut_evenly(&builder, folded.piece_count);
    append(problem, &folded,
           &(banyan_halving){&builder, folded.node, folded.begin, banyan_fold_bits(&folded.fold), !is_owned});
    folding_fini(&folded);
    return banyan_builder_finish(&builder, out, err);
}

const banyan_algorithm banyan_algorithm_halving_doubling = {
    .name = "halving-doubling",
    .summary = "halves swapped with ever farther partners, then gathered back: least volume in few rounds",
    .paper = "Rabenseifner: Optimization of Collective Reduction Operations, 2004",
    .cost = "2 log2(p) a + 2 (p-1)/p n b; 2 (a + n b) more where p is no power of two",
    .collectives = BANYAN_CAN(ALLREDUCE) | BANYAN_CAN(REDUCE_SCATTER) | BANYAN_CAN(ALLGATHER) |
                   BANYAN_CAN(BROADCAST) | BANYAN_CAN(REDUCE),
    .build = build,
};
