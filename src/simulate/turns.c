/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/turns.c: transfers chained by path; then each path's chain is walked twice, once to sum up its
 * flows and once to say what comes before each transfer. Cost: the transfers, paths and flows. */
#include "simulate/turns.h"

#include "core/alloc.h"

typedef struct {
    int path; /* for which sum is, plus one */
    double sum, all;
} tally;

typedef struct {
    int *first, *next; /* by path, by transfer: chains in the order of the schedule */
    tally *flows;
} chains;

static void chain_up(chains *c, const banyan_schedule *schedule, const banyan_paths *paths)
{
    for (int p = 0; p < paths->path_count; p++)
        c->first[p] = -1;
    for (size_t i = schedule->transfer_count; i-- > 0;) {
        int path = paths->path_of[i];

        c->next[i] = c->first[path];
        c->first[path] = (int)i;
    }
}

static double share_of(const banyan_schedule *schedule, int transfer)
{
    const banyan_transfer *t = &schedule->transfers[transfer];

    return banyan_schedule_share(schedule, t->first_piece, t->piece_count);
}

static void divide_path(chains *c, const banyan_schedule *schedule, int path, banyan_turn *turns)
{
    for (int i = c->first[path]; i >= 0; i = c->next[i]) {
        tally *flow = &c->flows[schedule->transfers[i].flow];

        if (flow->path != path + 1)
            *flow = (tally){.path = path + 1};
        flow->all += share_of(schedule, i);
    }
    for (int i = c->first[path]; i >= 0; i = c->next[i]) {
        tally *flow = &c->flows[schedule->transfers[i].flow];
        double share = share_of(schedule, i);

        turns[i] = (banyan_turn){flow->sum / flow->all, share / flow->all};
        flow->sum += share;
    }
}

banyan_status banyan_turns_find(const banyan_schedule *schedule, const banyan_paths *paths, banyan_turn **out,
                                banyan_error *err)
{
    banyan_turn *turns = banyan_alloc(schedule->transfer_count, sizeof *turns);
    chains c = {.first = banyan_alloc((size_t)paths->path_count, sizeof *c.first),
                .next = banyan_alloc(schedule->transfer_count, sizeof *c.next),
                .flows = banyan_alloc((size_t)schedule->flow_count, sizeof *c.flows)};
    int fits = turns && c.first && c.next && c.flows;

    if (fits) {
        chain_up(&c, schedule, paths);
        for (int p = 0; p < paths->path_count; p++)
            divide_path(&c, schedule, p, turns);
    }
    banyan_free(c.first);
    banyan_free(c.next);
    banyan_free(c.flows);
    if (!fits)
        banyan_free(turns);
    *out = fits ? turns : NULL;
    return fits ? BANYAN_SUCCESS : banyan_fail_memory(err);
}
