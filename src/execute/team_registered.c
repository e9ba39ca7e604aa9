/* SPDX-License-Identifier: Apache-2.0 */
/* execute/team_registered.c: all ranks' vectors lie in memory that the others have mapped (banyan_mem_alloc).
 *
 *     say where it is ─> wait for all ─> add up the own share of all inputs, into all results ─> wait for all
 *
 * Of short vectors every rank's share is the same in every call, so that what is in its cache stays there.
 * Long ones are taken part by part, by whoever is free: cores do not get the same share of the memory's
 * bandwidth.
 *
 * Nothing is copied, and each element is read once from each input and written once to each result, by one
 * rank: no line of the cache changes hands but for what the program itself does with its vectors. There are
 * two waits, however long they are.
 *
 * All must decide the same, so only what is in the slots counts. Memory that a rank uses for the
 * first time is marked there: then everybody tries to map it and says whether it could, in one more round. If
 * one could not, it is not used so again.
 *
 * A call that fails must not leave others writing into what is the user's again. Who writes says so in its
 * workspace and looks every few kilobytes whether anybody has withdrawn; who fails says that it has, and
 * waits for the writers (shm_workspaces.c).
 *
 * Cost, all ranks together: p n read, p n written. */
#include "core/alloc.h"
#include "execute/copy.h"
#include "execute/team_internal.h"

#define BLOCK_BYTES ((size_t)4 << 10) /* at most BANYAN_TEAM_BLOCK_BYTES */
#define PART_BYTES ((size_t)64 << 10) /* of a long vector, that a rank takes at a time */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

int banyan_team_register(banyan_team *team, banyan_workspace_slot *slot)
{
    banyan_runner *runner = team->runner;
    size_t elements = runner->vector.count, bytes = elements * runner->element_bytes;
    const char *input;
    char *result;

    slot->is_registered = 0;
    if (!runner->transport->locate || runner->vector.part_count != 1)
        return 0;
    input = banyan_vector_from(&runner->vector, 0, &elements);
    result = banyan_vector_into(&runner->vector, 0, &elements);
    if (!runner->transport->locate(runner->endpoint, input, bytes, &slot->input) ||
        !runner->transport->locate(runner->endpoint, result, bytes, &slot->result))
        return 0;
    slot->is_registered = 1;
    atomic_store_explicit(&slot->next, 0, memory_order_relaxed);
    team->workspaces->registered = result;
    team->workspaces->registered_bytes = bytes;
    return 1;
}

int banyan_team_count_registered(const banyan_team *team, const banyan_chunk *c)
{
    int registered = 0;

    for (int i = 0; i < team->workspaces->count; i++)
        registered += banyan_team_slot(team, i, c)->is_registered != 0;
    return registered;
}

/* ---- Finding everybody's memory. */

static int is_new(const banyan_workspace_slot *slot)
{
    return slot->input.is_new || slot->result.is_new;
}

/* 0: somebody's is not to be had. */
static int map_all(banyan_team *team, const banyan_chunk *c)
{
    banyan_runner *runner = team->runner;
    size_t elements = runner->vector.count, bytes = elements * runner->element_bytes;

    for (int i = 0; i < team->workspaces->count; i++) {
        const banyan_workspace_slot *slot = banyan_team_slot(team, i, c);
        int member = team->workspaces->members[i];

        if (i == team->workspaces->place) {
            team->inputs[i] = banyan_vector_from(&runner->vector, 0, &elements);
            team->results[i] = banyan_vector_into(&runner->vector, 0, &elements);
            continue;
        }
        team->inputs[i] = runner->transport->map(runner->endpoint, member, &slot->input, bytes);
        team->results[i] = runner->transport->map(runner->endpoint, member, &slot->result, bytes);
        if (!team->inputs[i] || !team->results[i])
            return 0;
    }
    return 1;
}

/* A round in which everybody says whether it has mapped everything. */
static banyan_status agree(banyan_team *team, const banyan_chunk *c, int is_mapped, int *all_mapped,
                           banyan_error *err)
{
    banyan_workspaces *workspaces = team->workspaces;
    banyan_workspace_slot *slot = banyan_team_slot(team, workspaces->place, c);
    banyan_chunk verdict = {.number = workspaces->filled};
    banyan_status status = banyan_team_wait_for_slot(team, &verdict, err);

    if (status)
        return status;
    workspaces->filled++;
    banyan_team_slot(team, workspaces->place, &verdict)->is_registered = (uint32_t)is_mapped;
    banyan_team_show(team, &verdict);
    status = banyan_team_wait_for_inputs(team, &verdict, err);
    if (status)
        return status;
    *all_mapped = banyan_team_count_registered(team, &verdict) == workspaces->count;
    if (slot->input.is_new)
        team->runner->transport->confirm(team->runner->endpoint, &slot->input, *all_mapped);
    if (slot->result.is_new)
        team->runner->transport->confirm(team->runner->endpoint, &slot->result, *all_mapped);
    return BANYAN_SUCCESS;
}

static banyan_status find_all(banyan_team *team, const banyan_chunk *c, int *is_mapped, banyan_error *err)
{
    int needs_round = 0;

    for (int i = 0; i < team->workspaces->count; i++)
        needs_round |= is_new(banyan_team_slot(team, i, c));
    *is_mapped = map_all(team, c);
    if (needs_round)
        return agree(team, c, *is_mapped, is_mapped, err);
    if (*is_mapped)
        return BANYAN_SUCCESS;
    team->runner->transport->abort(team->runner->endpoint, BANYAN_SYSTEM_ERROR,
                                   "shared memory that was there is there no more");
    return banyan_fail(err, BANYAN_SYSTEM_ERROR, "shared memory that was there is there no more");
}

/* ---- Sums. */

static int has_anybody_withdrawn(const banyan_workspaces *workspaces)
{
    for (int i = 0; i < workspaces->count; i++)
        if (atomic_load(&workspaces->of[i]->has_withdrawn))
            return 1;
    return 0;
}

static void fetch(const banyan_team *team, size_t at, size_t bytes)
{
    for (int i = 0; i < team->workspaces->count; i++)
        for (size_t line = 0; line < bytes; line += BANYAN_COPY_LINE)
            __builtin_prefetch(team->inputs[i] + at + line);
}

/* The block is summed up where our own result goes, or in the cache, and goes to the others from there. */
static void add_block(const banyan_team *team, int piece, size_t begin, size_t elements)
{
    _Alignas(BANYAN_COPY_LINE) char sums[BLOCK_BYTES];
    size_t at = begin * team->runner->element_bytes, bytes = elements * team->runner->element_bytes;
    const char *inputs[BANYAN_WORKSPACE_MAX_MEMBERS];
    int own = team->workspaces->place;
    char *into = team->is_past_cache ? sums : team->results[own] + at;

    for (int i = 0; i < team->workspaces->count; i++)
        inputs[i] = team->inputs[i] + at;
    banyan_team_sum(team, piece, inputs, into, elements);
    for (int i = 0; i < team->workspaces->count; i++) {
        if (team->is_past_cache)
            team->copies.past_cache(team->results[i] + at, into, bytes);
        else if (i != own)
            team->copies.plainly(team->results[i] + at, into, bytes);
    }
}

/* 0: somebody has withdrawn. */
static int add_share(const banyan_team *team, size_t begin, size_t end)
{
    size_t bytes = team->runner->element_bytes;
    int piece = 0;

    while (begin < end) {
        size_t elements = least(end - begin, BLOCK_BYTES / bytes), next;

        if (has_anybody_withdrawn(team->workspaces))
            return 0;
        while (team->piece_begin[piece + 1] <= begin)
            piece++;
        elements = least(elements, team->piece_begin[piece + 1] - begin);
        next = begin + elements;
        if (team->is_far)
            fetch(team, next * bytes, least(end - next, BLOCK_BYTES / bytes) * bytes);
        add_block(team, piece, begin, elements);
        begin = next;
    }
    if (team->is_past_cache)
        banyan_copy_settle();
    return 1;
}

/* Parts until none is left. */
static int add_parts(const banyan_team *team, const banyan_chunk *c)
{
    _Atomic uint64_t *next = &banyan_team_slot(team, 0, c)->next;
    size_t count = team->runner->request->count, part = PART_BYTES / team->runner->element_bytes, begin;

    while ((begin = (size_t)atomic_fetch_add_explicit(next, part, memory_order_relaxed)) < count)
        if (!add_share(team, begin, begin + least(part, count - begin)))
            return 0;
    return 1;
}

/* Either we see that one has withdrawn, or it sees that we write: all are sequentially consistent. */
static banyan_status write_share(banyan_team *team, const banyan_chunk *c, banyan_error *err)
{
    banyan_chunk whole = {0};
    banyan_status status;
    size_t begin, end;
    int is_done;

    banyan_team_cut_chunk(team, &whole, 0, team->runner->request->count);
    banyan_team_find_share(&whole, team->workspaces->place, &begin, &end);
    atomic_store(&team->own->writes, 1);
    is_done = team->is_far ? add_parts(team, c) : add_share(team, begin, end);
    atomic_store(&team->own->writes, 0);
    if (is_done)
        return BANYAN_SUCCESS;
    status = team->runner->transport->failure(team->runner->endpoint, err);
    return status ? status : banyan_fail(err, BANYAN_REMOTE_ERROR, "another rank has given up");
}

banyan_status banyan_team_run_registered(banyan_team *team, const banyan_chunk *c, int *is_done,
                                         banyan_error *err)
{
    banyan_workspaces *workspaces = team->workspaces;
    banyan_status status = find_all(team, c, is_done, err);

    if (status || !*is_done)
        return status;
    status = write_share(team, c, err);
    if (status)
        return status;
    workspaces->taken = workspaces->filled;
    banyan_team_publish(team->runner, &team->own->summed, workspaces->filled);
    for (int i = 1; i < workspaces->count && !status; i++) {
        int place = (workspaces->place + i) % workspaces->count;

        status = banyan_team_wait_for(team, place, &workspaces->of[place]->summed, workspaces->filled, err);
    }
    if (!status)
        workspaces->registered = NULL;
    return status;
}
