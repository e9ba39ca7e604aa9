/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/fold.h: any number of ranks as a power of two.
 *
 *     p = 6:   0 1   2 3   4   5        In the first pairs the odd rank leans on the even one: it hands over
 *               \|    \|   |   |        its data, waits, and gets the result. What is left is the largest
 *               (0)   (1) (2) (3)       power of two, numbered without gaps; a block of such positions is an
 *                                       interval of ranks. */
#ifndef BANYAN_ALGORITHMS_FOLD_H
#define BANYAN_ALGORITHMS_FOLD_H

#include "algorithms/algorithms.h"

typedef struct {
    const int *active;
    int rank_count;
    int position_count; /* the largest power of two that ranks fill */
    int pair_count;     /* ranks too many: ranks 0 .. 2 pair_count - 1 come in pairs */
} banyan_fold;

banyan_fold banyan_fold_ranks(const int *active, int rank_count);

int banyan_fold_first_rank(const banyan_fold *fold,
                           int position); /* also for position == position_count: rank_count */
int banyan_fold_position(const banyan_fold *fold, int rank);
int banyan_fold_node(const banyan_fold *fold, int position);
int banyan_fold_leans(const banyan_fold *fold, int rank); /* is it the odd one of a pair? */
int banyan_fold_bits(const banyan_fold *fold);            /* log2 of position_count */

/* One round in which every leaning rank adds the pieces into its position; and one in which it gets them
 * back. Both return the round after, which is the same one where nobody leans. */
int banyan_fold_reduce_in(const banyan_fold *fold, banyan_builder *builder, int round, int piece_count);
int banyan_fold_copy_out(const banyan_fold *fold, banyan_builder *builder, int round, int piece_count);

/* The same for pieces that are one per rank: all but the leaning rank's own. */
int banyan_fold_copy_rest(const banyan_fold *fold, banyan_builder *builder, int round);

#endif
