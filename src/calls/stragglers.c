/* SPDX-License-Identifier: Apache-2.0 */
/* calls/stragglers.c: sums up waiting times between two exchanges, and compares those of all ranks. */
#include "calls/stragglers.h"

#include <string.h>

#include "core/alloc.h"
#include "core/clock.h"

#define PERIOD_S 60.0
#define MIN_CALLS 64 /* fewer say little of who is slow, and are over before anybody looks */
#define MAX_CALLS (1 << 28)
#define MAX_GROWTH 4 /* of the pause: calls may become slower */

struct banyan_stragglers {
    double period_s, begun_s, in_calls_s;
    int calls, next; /* since the last report, and at how many of them the next exchange is */
    double *waits_s; /* by node, of a network that may have more of them once it is learnt */
    int node_count;
    banyan_straggler_report *all;
};

banyan_stragglers_found banyan_stragglers_find(const banyan_straggler_report *all, int size)
{
    banyan_stragglers_found found = {.src = -1, .dst = -1};
    double sum_s = 0;

    for (int i = 0; i < size; i++) {
        sum_s += all[i].in_calls_s;
        if (all[i].in_calls_s < all[found.rank].in_calls_s)
            found.rank = i;
        if (all[i].waited_for >= 0 && all[i].waited_s > found.link_s) {
            found.link_s = all[i].waited_s;
            found.src = all[i].waited_for;
            found.dst = i;
        }
    }
    if (size > 1)
        found.waited_s = (sum_s - all[found.rank].in_calls_s) / (size - 1) - all[found.rank].in_calls_s;
    return found;
}

int banyan_stragglers_pause(int calls, double elapsed_s, double period_s)
{
    double left_s = elapsed_s < period_s ? period_s - elapsed_s : period_s;
    double wanted = elapsed_s > 0 ? calls * (left_s / elapsed_s) : MAX_CALLS;
    double most = calls < MAX_CALLS / MAX_GROWTH ? (double)MAX_GROWTH * calls : MAX_CALLS;

    wanted = wanted < most ? wanted : most;
    return wanted > MIN_CALLS ? (int)wanted : MIN_CALLS;
}

banyan_status banyan_stragglers_create(banyan_comm *comm, banyan_stragglers **out, banyan_error *err)
{
    const banyan_setup *setup = &comm->group->setup;
    banyan_stragglers *s;

    *out = NULL;
    if (!comm->group->world || setup->size < 2 || setup->relay_count)
        return BANYAN_SUCCESS;
    s = banyan_alloc(1, sizeof *s);
    if (s) {
        s->node_count = setup->topology->node_count;
        s->waits_s = banyan_alloc((size_t)s->node_count, sizeof *s->waits_s);
        s->all = banyan_alloc((size_t)setup->size, sizeof *s->all);
    }
    if (!s || !s->waits_s || !s->all) {
        banyan_stragglers_destroy(s);
        return banyan_fail_memory(err);
    }
    s->period_s = PERIOD_S;
    s->begun_s = banyan_clock_s();
    s->next = MIN_CALLS;
    *out = s;
    return BANYAN_SUCCESS;
}

void banyan_stragglers_destroy(banyan_stragglers *stragglers)
{
    if (!stragglers)
        return;
    banyan_free(stragglers->waits_s);
    banyan_free(stragglers->all);
    banyan_free(stragglers);
}

void banyan_stragglers_set_period(banyan_stragglers *stragglers, double period_s)
{
    stragglers->period_s = period_s;
}

double *banyan_stragglers_waits(banyan_comm *comm)
{
    int node_count = comm->group->setup.topology->node_count;
    banyan_stragglers *s = comm->stragglers;

    if (s && s->node_count < node_count) {
        double *more = banyan_alloc((size_t)node_count, sizeof *more);

        if (!more)
            return NULL; /* this call is not looked at */
        memcpy(more, s->waits_s, (size_t)s->node_count * sizeof *more);
        banyan_free(s->waits_s);
        s->waits_s = more;
        s->node_count = node_count;
    }
    return s ? s->waits_s : NULL;
}

static int all_need_all(banyan_collective collective)
{
    return collective == BANYAN_COLLECTIVE_ALLREDUCE || collective == BANYAN_COLLECTIVE_REDUCE_SCATTER ||
           collective == BANYAN_COLLECTIVE_ALLGATHER || collective == BANYAN_COLLECTIVE_ALLTOALL;
}

static banyan_straggler_report report(const banyan_stragglers *s, const banyan_setup *setup)
{
    banyan_straggler_report mine = {.in_calls_s = s->in_calls_s,
                                    .elapsed_s = banyan_clock_s() - s->begun_s,
                                    .waited_for = -1,
                                    .calls = s->calls};

    for (int rank = 0; rank < setup->size; rank++)
        if (setup->active[rank] < s->node_count && s->waits_s[setup->active[rank]] > mine.waited_s) {
            mine.waited_s = s->waits_s[setup->active[rank]];
            mine.waited_for = rank;
        }
    return mine;
}

static void tell(const banyan_stragglers *s, const banyan_setup *setup)
{
    banyan_stragglers_found found = banyan_stragglers_find(s->all, setup->size);
    double whole_s = s->all[0].elapsed_s;

    BANYAN_INFO(setup->log, RAS,
                "the last %d calls, %.1f s: the other ranks waited for rank %d %.3g s (%.1f %%)",
                s->all[0].calls, whole_s, found.rank, found.waited_s, 100 * found.waited_s / whole_s);
    if (found.src >= 0)
        BANYAN_INFO(
            setup->log, RAS,
            "the last %d calls, %.1f s: rank %d waited longest for data of a link: %.3g s from rank %d",
            s->all[0].calls, whole_s, found.dst, found.link_s, found.src);
}

static void begin_again(banyan_stragglers *s)
{
    s->in_calls_s = 0;
    s->calls = 0;
    s->begun_s = banyan_clock_s();
    memset(s->waits_s, 0, (size_t)s->node_count * sizeof *s->waits_s);
}

banyan_status banyan_stragglers_note(banyan_comm *comm, banyan_collective collective, double seconds)
{
    const banyan_setup *setup = &comm->group->setup;
    banyan_stragglers *s = comm->stragglers;
    int64_t deadline_ns = banyan_clock_ns() + (int64_t)setup->timeout_ms * 1000000;
    banyan_straggler_report mine;
    banyan_status status;
    int pause;

    if (!s || !all_need_all(collective))
        return BANYAN_SUCCESS;
    s->in_calls_s += seconds;
    if (++s->calls < s->next)
        return BANYAN_SUCCESS;
    mine = report(s, setup);
    status = banyan_control_gather(banyan_world_control(comm->group->world), &mine, sizeof mine, s->all,
                                   deadline_ns, &comm->err);
    if (status)
        return status;
    pause = banyan_stragglers_pause(s->all[0].calls, s->all[0].elapsed_s, s->period_s);
    if (s->all[0].elapsed_s >= s->period_s) {
        if (comm->rank == 0)
            tell(s, setup);
        begin_again(s);
    }
    s->next = s->calls + pause;
    return BANYAN_SUCCESS;
}
