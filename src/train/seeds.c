/* SPDX-License-Identifier: Apache-2.0 */
/* train/seeds.c: everything that is quick to try, before a search begins.
 *
 * - the single-stream optimum with start-ups taken to be partly hidden, as other streams hide them;
 * - send all that is ready whenever a stream is free, if it is enough to be worth a start-up;
 * - the three-way choice; buckets of even size. */
#include <math.h>

#include "train/search.h"

#define GOAL_TOLERANCE 1e-5 /* of the goal */

void banyan_search_offer(banyan_search *search, const banyan_grouping_cuts *cuts)
{
    double end_s = banyan_grouping_cuts_end(cuts, search->units, search->cost);

    if (end_s < search->best_s) {
        search->best_s = end_s;
        banyan_grouping_cuts_copy(&search->best, cuts);
    }
}

int banyan_search_is_done(const banyan_search *search)
{
    return search->best_s <= search->goal_s * (1 + GOAL_TOLERANCE);
}

static void send_all_ready(const banyan_search *search, double least_bytes, banyan_grouping_cuts *out)
{
    const banyan_grouping_units *units = search->units;
    banyan_traffic traffic = {.now_s = 0};
    int first = 0, level = search->streams - 1;

    out->count = 0;
    while (first < units->count) {
        int end = first + 1;

        while (end < units->count && units->bytes_before[end] - units->bytes_before[first] < least_bytes)
            end++;
        banyan_traffic_wait(&traffic, search->cost, units->ready_s[end - 1], level, NULL);
        while (end < units->count && units->ready_s[end] <= traffic.now_s)
            end++;
        banyan_traffic_send_units(&traffic, search->cost, units, first, end, level);
        banyan_grouping_cuts_add(out, end, level);
        first = end;
    }
}

static void buckets(const banyan_search *search, double bytes, banyan_grouping_cuts *out)
{
    const banyan_grouping_units *units = search->units;
    double before = 0;

    out->count = 0;
    for (int i = 0; i < units->count; i++)
        if (i + 1 == units->count || units->bytes_before[i + 1] - before >= bytes) {
            banyan_grouping_cuts_add(out, i + 1, search->streams - 1);
            before = units->bytes_before[i + 1];
        }
}

static banyan_status try_partly_hidden(banyan_search *search, banyan_grouping_cuts *cuts, banyan_error *err)
{
    static const double shares[] = {1, 0.5, 0.25, 0.1};
    double gain = banyan_cost_gain(search->cost, search->streams);

    for (int i = 0; i < 4; i++) {
        banyan_status status = banyan_grouping_cuts_one_by_one(search->units, search->cost, shares[i], gain,
                                                               search->streams - 1, cuts, err);

        if (status)
            return status;
        banyan_search_offer(search, cuts);
    }
    return BANYAN_SUCCESS;
}

static banyan_status try_all(banyan_search *search, banyan_grouping_cuts *cuts, banyan_error *err)
{
    banyan_grouping_cuts_three_way(search->units, search->cost, search->streams, cuts);
    banyan_search_offer(search, cuts);
    send_all_ready(search, 0, cuts);
    banyan_search_offer(search, cuts);
    for (double bytes = 1 << 18; bytes <= 1 << 23 && !banyan_search_is_done(search); bytes *= 2) {
        send_all_ready(search, bytes, cuts);
        banyan_search_offer(search, cuts);
    }
    for (double bytes = 1 << 19; bytes <= 1 << 25 && !banyan_search_is_done(search); bytes *= 2) {
        buckets(search, bytes, cuts);
        banyan_search_offer(search, cuts);
    }
    return banyan_search_is_done(search) ? BANYAN_SUCCESS : try_partly_hidden(search, cuts, err);
}

banyan_status banyan_search_seed(banyan_search *search, banyan_error *err)
{
    banyan_grouping_cuts cuts;
    banyan_status status = banyan_grouping_cuts_init(&cuts, search->units, err);

    if (status)
        return status;
    status = try_all(search, &cuts, err);
    banyan_grouping_cuts_fini(&cuts);
    return status;
}
