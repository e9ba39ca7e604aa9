/* SPDX-License-Identifier: Apache-2.0 */
/* execute/team_wait.c: how members of a team wait for one another. Counters only grow; who waits looks a
 * few times, gives its core away a few times where ranks crowd, then writes down for whom it waits and
 * sleeps until it is rung.
 *
 * Where there is a core for every member, the system may still put two onto one, and takes a tenth of a
 * second to notice: until then they take turns, and a call that takes 5 us takes 60. So who waits leaves a
 * core where another member waits, too. */
#include <sched.h>
#include <string.h>

#include "core/clock.h"
#include "core/relax.h"
#include "execute/team_internal.h"

/* A few microseconds: what a short call takes. Crowded ranks do not spin as long. */
#define SPINS_BEFORE_MOVE 64

/* Either the waiter sees the counter, or we see the waiter. */
void banyan_team_publish(const banyan_runner *runner, _Atomic uint64_t *counter, uint64_t value)
{
    const banyan_workspaces *workspaces = runner->workspaces;

    atomic_store_explicit(counter, value, memory_order_release);
    atomic_thread_fence(memory_order_seq_cst);
    for (int i = 0; i < workspaces->count; i++)
        if (atomic_load_explicit(&workspaces->of[i]->waits_for, memory_order_relaxed) ==
            (uint32_t)workspaces->place + 1)
            runner->transport->wake(runner->endpoint, workspaces->members[i]);
}

static int has_come(const _Atomic uint64_t *counter, uint64_t value)
{
    return atomic_load_explicit(counter, memory_order_acquire) >= value;
}

/* The cores that we may use and on which no member is known to be. */
static int find_free_cores(const banyan_workspaces *workspaces, const cpu_set_t *allowed, cpu_set_t *out)
{
    *out = *allowed;
    for (int i = 0; i < workspaces->count; i++) {
        uint32_t core = atomic_load_explicit(&workspaces->of[i]->core, memory_order_relaxed);

        if (core)
            CPU_CLR(core - 1, out);
    }
    return CPU_COUNT(out) > 0;
}

void banyan_team_leave_shared_core(const banyan_workspaces *workspaces)
{
    _Atomic uint32_t *own = &workspaces->of[workspaces->place]->core;
    uint32_t core = (uint32_t)sched_getcpu() + 1;
    cpu_set_t allowed, wanted;
    int is_shared = 0;

    atomic_store_explicit(own, core, memory_order_relaxed);
    for (int i = 0; i < workspaces->place; i++)
        is_shared |= atomic_load_explicit(&workspaces->of[i]->core, memory_order_relaxed) == core;
    if (!core || !is_shared || sched_getaffinity(0, sizeof allowed, &allowed) ||
        !find_free_cores(workspaces, &allowed, &wanted) || sched_setaffinity(0, sizeof wanted, &wanted))
        return;
    atomic_store_explicit(own, (uint32_t)sched_getcpu() + 1, memory_order_relaxed);
    sched_setaffinity(0, sizeof allowed, &allowed);
}

/* Briefly, for one that is just about to come. */
static int spin(const banyan_workspaces *workspaces, const _Atomic uint64_t *counter, uint64_t value)
{
    for (int i = 0; i < workspaces->spins; i++) {
        if (has_come(counter, value))
            return 1;
        if (i == SPINS_BEFORE_MOVE)
            banyan_team_leave_shared_core(workspaces);
        banyan_relax();
    }
    for (int i = 0; i < workspaces->yields; i++) {
        sched_yield();
        if (has_come(counter, value))
            return 1;
    }
    return 0;
}

/* Whether it has begun a call elsewhere that comes at the place of ours, or later. */
static int is_elsewhere(const banyan_workspaces *workspaces, int place)
{
    return atomic_load_explicit(&workspaces->of[place]->elsewhere, memory_order_acquire) > workspaces->calls;
}

static void read_elsewhere(const banyan_workspace *workspace, char label[BANYAN_WORKSPACE_LABEL_BYTES])
{
    for (size_t i = 0; i < BANYAN_WORKSPACE_LABEL_BYTES / sizeof(uint64_t); i++) {
        uint64_t word = atomic_load_explicit(&workspace->elsewhere_label[i], memory_order_relaxed);

        memcpy(label + i * sizeof word, &word, sizeof word);
    }
}

static banyan_status sleep_until(banyan_team *team, int place, const _Atomic uint64_t *counter,
                                 uint64_t value, banyan_error *err)
{
    banyan_runner *runner = team->runner;
    banyan_status status = BANYAN_SUCCESS;

    if (!team->deadline_ns)
        team->deadline_ns = banyan_clock_ns() + (int64_t)runner->request->timeout_ms * 1000000;
    for (;;) {
        atomic_store(&team->own->waits_for, (uint32_t)place + 1);
        if (atomic_load(counter) >= value)
            break;
        if (runner->request->label_bytes && is_elsewhere(team->workspaces, place)) {
            team->stranger = place;
            read_elsewhere(team->workspaces->of[place], team->strange_label);
            status = BANYAN_MISMATCH;
            break;
        }
        status = runner->transport->wait(runner->endpoint, team->deadline_ns, err);
        if (status && atomic_load(counter) >= value) { /* the group has failed, but in a later call */
            status = BANYAN_SUCCESS;
            break;
        }
        if (status == BANYAN_TIMEOUT) {
            banyan_status failure = runner->transport->failure(runner->endpoint, err);

            if (failure)
                status = failure;
            else
                team->late = place;
        }
        if (status)
            break;
    }
    atomic_store_explicit(&team->own->waits_for, 0, memory_order_relaxed);
    return status;
}

banyan_status banyan_team_wait_for(banyan_team *team, int place, const _Atomic uint64_t *counter,
                                   uint64_t value, banyan_error *err)
{
    if (has_come(counter, value) || spin(team->workspaces, counter, value))
        return BANYAN_SUCCESS;
    return sleep_until(team, place, counter, value, err);
}

void banyan_team_announce(const banyan_runner *runner)
{
    const banyan_run_request *request = runner->request;
    banyan_workspaces *workspaces = runner->workspaces;
    banyan_workspace *workspace = workspaces->of[workspaces->place];
    uint64_t words[BANYAN_WORKSPACE_LABEL_BYTES / sizeof(uint64_t)] = {0};

    if (request->label_bytes)
        memcpy(words, request->label, request->label_bytes);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        atomic_store_explicit(&workspace->elsewhere_label[i], words[i], memory_order_relaxed);
    banyan_team_publish(runner, &workspace->elsewhere, ++workspaces->calls);
}
