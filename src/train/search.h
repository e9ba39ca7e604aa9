/* SPDX-License-Identifier: Apache-2.0 */
/* train/search.h: the parts that policy optimal is made of. For the files of train only. */
#ifndef BANYAN_TRAIN_SEARCH_H
#define BANYAN_TRAIN_SEARCH_H

#include "core/random.h"
#include "train/traffic.h"

/* The best grouping so far, for that many streams. */
typedef struct {
    const banyan_grouping_units *units;
    const banyan_cost *cost;
    int streams;
    double goal_s; /* nothing is better than this */
    banyan_grouping_cuts best;
    double best_s; /* when the last all-reduce of best ends, or backward does */
} banyan_search;

/* Takes a copy of the cuts if they are better than what there is. */
void banyan_search_offer(banyan_search *search, const banyan_grouping_cuts *cuts);

/* Whether the best is so near the goal that looking further is of no use. */
int banyan_search_is_done(const banyan_search *search);

/* single_stream.c: the best for one all-reduce at a time, in O(L^2), where that much of the start-up counts
 * and bytes travel faster by gain; every cut gets the level. */
banyan_status banyan_grouping_cuts_one_by_one(const banyan_grouping_units *units, const banyan_cost *cost,
                                              double start_share, double gain, int level,
                                              banyan_grouping_cuts *out, banyan_error *err);

/* asc_wfbp.c: normal, merged or simultaneous, tensor by tensor, by exact evaluation. */
void banyan_grouping_cuts_three_way(const banyan_grouping_units *units, const banyan_cost *cost, int streams,
                                    banyan_grouping_cuts *out);

/* seeds.c: everything that is quick to try. */
banyan_status banyan_search_seed(banyan_search *search, banyan_error *err);

/* labels.c: the best grouping that cuts only at the given places (ends of units, ascending, the last is the
 * end of all). Without a width it is exact and takes (streams + 1)^count steps at the worst; with one it
 * keeps only that many states a place. */
banyan_status banyan_search_labels(banyan_search *search, const int *ends, int count, int width,
                                   banyan_error *err);

/* climb.c: local search from the best, for about that many steps of evaluation. */
banyan_status banyan_search_climb(banyan_search *search, long steps, banyan_error *err);

#endif
