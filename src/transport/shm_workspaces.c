/* SPDX-License-Identifier: Apache-2.0 */
/* transport/shm_workspaces.c: the workspaces lie in the members' segments, behind the headers. */
#include <sched.h>

#include "core/alloc.h"
#include "core/clock.h"
#include "transport/shm_endpoint.h"

#define WRITERS_PATIENCE_NS INT64_C(200000000)

static int has_place(const shm_endpoint *e, int member)
{
    return member == e->base.member ||
           (member >= 0 && member < e->base.member_count && e->peers[member].segment.header != NULL);
}

static int rank_count(const shm_endpoint *e)
{
    int count = 0;

    for (int i = 0; i < e->base.member_count; i++)
        count += has_place(e, i) && e->peers[i].rank >= 0;
    return count;
}

static banyan_status sit_down(shm_endpoint *e, const int *members, int count, banyan_error *err)
{
    banyan_workspaces *workspaces;
    banyan_status status = BANYAN_SUCCESS;

    for (int i = 0; i < count && !status; i++)
        status = banyan_shm_watch(e, members[i], err);
    if (status)
        return status;
    workspaces = banyan_alloc(1, sizeof *workspaces);
    if (!workspaces)
        return banyan_fail_memory(err);
    workspaces->count = count;
    workspaces->spins = e->spins;
    workspaces->yields = e->team_yields;
    for (int i = 0; i < count; i++) {
        workspaces->members[i] = members[i];
        workspaces->of[i] = (banyan_workspace *)(void *)e->peers[members[i]].workspace.memory;
        if (members[i] == e->base.member)
            workspaces->place = i;
    }
    e->workspaces = workspaces;
    return BANYAN_SUCCESS;
}

banyan_status banyan_shm_workspaces(banyan_endpoint *base, const int *members, int count,
                                    banyan_workspaces **out, banyan_error *err)
{
    shm_endpoint *e = (shm_endpoint *)base;
    banyan_status status = BANYAN_SUCCESS;

    *out = NULL;
    if (e->way != BANYAN_SHM_BEST || count < 2 || count > BANYAN_WORKSPACE_MAX_MEMBERS)
        return BANYAN_SUCCESS;
    for (int i = 0; i < count; i++)
        if (!has_place(e, members[i]))
            return BANYAN_SUCCESS;
    if (count !=
        rank_count(e)) /* all ranks of the host or none: none must see other workspaces than the others */
        return BANYAN_SUCCESS;
    if (!e->workspaces)
        status = sit_down(e, members, count, err);
    *out = e->workspaces;
    return status;
}

/* Whether a living member writes into our registered memory. */
static int is_written(const shm_endpoint *e)
{
    const banyan_workspaces *workspaces = e->workspaces;

    for (int i = 0; i < workspaces->count; i++)
        if (i != workspaces->place && atomic_load(&workspaces->of[i]->writes) &&
            !banyan_shm_is_lost(&e->peers[workspaces->members[i]]))
            return 1;
    return 0;
}

/* Writers look at has_withdrawn every few kilobytes, so they are gone in a moment; but one that is stopped in
 * between could go on at any time, perhaps when our buffer has long been used for something else. It may
 * write where our pages were. */
void banyan_shm_workspaces_withdraw(shm_endpoint *e)
{
    int64_t patience_ns = banyan_clock_ns() + WRITERS_PATIENCE_NS;
    banyan_workspaces *workspaces = e->workspaces;

    if (!workspaces)
        return;
    atomic_store(&workspaces->of[workspaces->place]->has_withdrawn, 1);
    if (!workspaces->registered)
        return;
    while (is_written(e) && banyan_clock_ns() < patience_ns)
        sched_yield();
    if (is_written(e))
        banyan_shared_memory_cut_off(workspaces->registered, workspaces->registered_bytes);
    workspaces->registered = NULL;
}
