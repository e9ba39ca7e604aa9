/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/fold.c: see fold.h for the drawing. */
#include "algorithms/fold.h"

banyan_fold banyan_fold_ranks(const int *active, int rank_count)
{
    int positions = 1;

    while (positions <= rank_count / 2)
        positions *= 2;
    return (banyan_fold){active, rank_count, positions, rank_count - positions};
}

int banyan_fold_first_rank(const banyan_fold *fold, int position)
{
    return position < fold->pair_count ? 2 * position : position + fold->pair_count;
}

int banyan_fold_position(const banyan_fold *fold, int rank)
{
    return rank < 2 * fold->pair_count ? rank / 2 : rank - fold->pair_count;
}

int banyan_fold_node(const banyan_fold *fold, int position)
{
    return fold->active[banyan_fold_first_rank(fold, position)];
}

int banyan_fold_leans(const banyan_fold *fold, int rank)
{
    return rank < 2 * fold->pair_count && rank % 2;
}

int banyan_fold_bits(const banyan_fold *fold)
{
    int bits = 0;

    while (1 << bits < fold->position_count)
        bits++;
    return bits;
}

int banyan_fold_reduce_in(const banyan_fold *fold, banyan_builder *builder, int round, int piece_count)
{
    for (int pair = 0; pair < fold->pair_count; pair++)
        banyan_builder_reduce(builder, round, fold->active[2 * pair + 1], fold->active[2 * pair], 0,
                              piece_count, 0);
    return round + (fold->pair_count > 0);
}

int banyan_fold_copy_out(const banyan_fold *fold, banyan_builder *builder, int round, int piece_count)
{
    for (int pair = 0; pair < fold->pair_count; pair++)
        banyan_builder_copy(builder, round, fold->active[2 * pair], fold->active[2 * pair + 1], 0,
                            piece_count, 0);
    return round + (fold->pair_count > 0);
}

int banyan_fold_copy_rest(const banyan_fold *fold, banyan_builder *builder, int round)
{
    for (int odd = 1; odd < 2 * fold->pair_count; odd += 2) {
        int after = fold->rank_count - odd - 1;

        banyan_builder_copy(builder, round, fold->active[odd - 1], fold->active[odd], 0, odd, 0);
        if (after > 0)
            banyan_builder_copy(builder, round, fold->active[odd - 1], fold->active[odd], odd + 1, after, 0);
    }
    return round + (fold->pair_count > 0);
}
