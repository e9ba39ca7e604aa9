/* SPDX-License-Identifier: Apache-2.0 */
/* train/asc_wfbp.c: ASC-WFBP repaired: the three-way choice by the exact evaluator.
 *
 * The paper compares three completion times for a layer and the next one, each by a closed form of its own,
 * about different pairs of layers. Here one state is carried along (what is in flight, and how much of it
 * is left) and the three are played from it:
 *
 *     normal         [ this ][ next ]        this starts when the network is free
 *     simultaneous   [ this ]                this starts as soon as a stream is free
 *                      [ next ]
 *     merged            [this+next]          both start when next is ready
 *
 * whichever has both done first is taken. The first group has no predecessor: normal and simultaneous are the
 * same. Greedy, so not optimal, but O(L) and within a few per mille of it where the link is the limit. */
#include <math.h>

#include "train/search.h"

typedef struct {
    const banyan_grouping_units *units;
    const banyan_cost *cost;
    int top; /* the level of a simultaneous group */
} choice;

/* When the units from first up to end, sent on top of the traffic, are done at the earliest. */
static double soonest_end(const choice *c, const banyan_traffic *traffic, int first, int end)
{
    double best_s = INFINITY;

    for (int level = 0; level <= c->top; level += c->top ? c->top : 1) {
        banyan_traffic after = *traffic;

        banyan_traffic_send_units(&after, c->cost, c->units, first, end, level);
        best_s = fmin(best_s, banyan_traffic_end(&after, c->cost));
    }
    return best_s;
}

void banyan_grouping_cuts_three_way(const banyan_grouping_units *units, const banyan_cost *cost, int streams,
                                    banyan_grouping_cuts *out)
{
    choice c = {units, cost, streams - 1};
    banyan_traffic traffic = {.now_s = 0};
    int first = 0;

    out->count = 0;
    for (int i = 0; i < units->count; i++) {
        banyan_traffic normal = traffic, beside = traffic;
        double normal_s, beside_s;
        int level;

        banyan_traffic_send_units(&normal, cost, units, first, i + 1, 0);
        banyan_traffic_send_units(&beside, cost, units, first, i + 1, c.top);
        if (i + 1 < units->count) {
            normal_s = soonest_end(&c, &normal, i + 1, i + 2);
            beside_s = soonest_end(&c, &beside, i + 1, i + 2);
            if (soonest_end(&c, &traffic, first, i + 2) <= fmin(normal_s, beside_s))
                continue;
        } else {
            normal_s = banyan_traffic_end(&normal, cost);
            beside_s = banyan_traffic_end(&beside, cost);
        }
        level = beside_s < normal_s ? c.top : 0;
        banyan_grouping_cuts_add(out, i + 1, level);
        traffic = level ? beside : normal;
        first = i + 1;
    }
}

static banyan_status decide(const banyan_train_problem *problem, banyan_decision *decision, banyan_error *err)
{
    (void)err;
    banyan_grouping_cuts_three_way(&decision->units, problem->cost, decision->streams, &decision->cuts);
    return BANYAN_SUCCESS;
}

const banyan_policy banyan_policy_asc_wfbp = {
    .name = "asc-wfbp",
    .summary = "normal, merged or simultaneous, each choice made by the exact evaluator",
    .paper = "after Shi, Chu, Li, Exploiting Simultaneous Communications to Accelerate Data Parallel "
             "Distributed Deep Learning, 2021",
    .streams = 2,
    .decide = decide};
