/* SPDX-License-Identifier: Apache-2.0 */
/* execute/team.c: every rank shows its input to all, computes a share of the sums, and takes the others'
 * shares.
 *
 *     short    stage all ─> wait for all ─> add up everything               one wait, one line per rank
 *     two      the same, chunk by chunk, while those to come are staged: team_pair.c
 *     in place where all vectors lie in memory that the others have mapped: a share each: team_registered.c
 *     long     chunk by chunk:
 *              stage the others' shares ─> wait ─> add up the own share ─> wait ─> copy the others' sums
 *                        slot of rank 1:   | input for 0 | own sums | input for 2 | input for 3 |
 *
 * The schedule decides what is added to what (execute/sums.h), so the bits are the same as over streams; who
 * computes a sum and how it travels is decided here. Two things make it fast: chunks are so small that what
 * is staged or added up is in a cache when it is read, and each element is touched as often as it must be: an
 * input is read once from memory, a result is written once. Except in registered memory, a rank writes its
 * own only, and nobody else reads it: a failed call leaves nothing behind.
 *
 * Slots are used in turn; chunk t may be staged when all others are done with chunk t -
 * BANYAN_WORKSPACE_SLOTS. Why nothing stands still: all ranks stage t + 1, add up t and take t - 1 in this
 * order, and whatever they wait for on the way (t - 3 taken, t staged, t - 1 added up) comes earlier in it.
 * Of two ranks, each adds up t and stages t + 2 at a time, for which t must be staged and t - 2 added up.
 *
 * Cost, all ranks together: 2 (p - 1) n bytes copied, p n read and n written by additions. */
#include "execute/team.h"

#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/clock.h"
#include "execute/team_internal.h"

#define SHORT_BYTES ((size_t)64 << 10) /* all ranks' vectors together: less is added up by everybody */
#define SHARE_BYTES                                                                                          \
    ((size_t)64 << 10) /* of a chunk, for each rank: all that a chunk touches stays in a core's cache */
#define CROWDED_SHARE_BYTES                                                                                  \
    ((size_t)128 << 10)             /* where ranks share cores: fewer changes from one to the other */
#define FAR_BYTES ((size_t)4 << 20) /* vectors from here on leave no room in a core's cache, */
#define PAST_CACHE_BYTES                                                                                     \
    ((size_t)24 << 20) /* and all ranks' together, from here on, none in the one that they share */

banyan_status banyan_team_create(const banyan_program *program, banyan_workspaces *workspaces,
                                 banyan_team **out, banyan_error *err)
{
    banyan_sums *sums = NULL;
    banyan_team *team = NULL;
    banyan_status status = workspaces ? banyan_sums_derive(program->schedule, &sums, err) : BANYAN_SUCCESS;

    *out = NULL;
    if (status || !sums)
        return status;
    team = banyan_alloc(1, sizeof *team);
    if (team) {
        team->sums = sums;
        team->workspaces = workspaces;
        team->own = workspaces->of[workspaces->place];
        team->copies = banyan_copies_best();
        team->places = banyan_alloc((size_t)sums->place_count, BANYAN_TEAM_BLOCK_BYTES);
        team->piece_begin =
            banyan_alloc((size_t)program->schedule->piece_count + 1, sizeof *team->piece_begin);
    } else {
        banyan_sums_destroy(sums);
    }
    if (!team || !team->places || !team->piece_begin) {
        banyan_team_destroy(team);
        return banyan_fail_memory(err);
    }
    *out = team;
    return BANYAN_SUCCESS;
}

void banyan_team_destroy(banyan_team *team)
{
    if (!team)
        return;
    banyan_sums_destroy(team->sums);
    banyan_free(team->places);
    banyan_free(team->piece_begin);
    banyan_free(team);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

void banyan_team_find_share(const banyan_chunk *c, int place, size_t *begin, size_t *end)
{
    *begin = c->begin + least((size_t)place * c->share, c->end - c->begin);
    *end = c->begin + least((size_t)(place + 1) * c->share, c->end - c->begin);
}

/* Shares begin with a line of the cache. */
void banyan_team_cut_chunk(const banyan_team *team, banyan_chunk *c, size_t begin, size_t end)
{
    size_t bytes = team->runner->element_bytes, ranks = (size_t)team->workspaces->count;
    size_t line = BANYAN_WORKSPACE_LINE / bytes;

    c->begin = begin;
    c->end = end;
    c->share = ((end - begin + ranks - 1) / ranks + line - 1) / line * line;
}

/* ---- The steps of a chunk. */

banyan_status banyan_team_wait_for_slot(banyan_team *team, const banyan_chunk *c, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    if (c->number < BANYAN_WORKSPACE_SLOTS)
        return BANYAN_SUCCESS;
    for (int i = 0; i < team->workspaces->count && !status; i++)
        if (i != team->workspaces->place)
            status = banyan_team_wait_for(team, i, &team->workspaces->of[i]->copied,
                                          c->number + 1 - BANYAN_WORKSPACE_SLOTS, err);
    return status;
}

/* What is in the slot is told, and what we have taken meanwhile. */
void banyan_team_show(banyan_team *team, const banyan_chunk *c)
{
    const banyan_run_request *request = team->runner->request;

    if (request->label_bytes)
        memcpy(banyan_team_slot(team, team->workspaces->place, c)->label, request->label,
               request->label_bytes);
    atomic_store_explicit(&team->own->copied, team->workspaces->taken, memory_order_release);
    banyan_team_publish(team->runner, &team->own->staged, c->number + 1);
}

/* Shows the input, but for elements hidden..hidden_end-1. */
static banyan_status stage(banyan_team *team, const banyan_chunk *c, size_t hidden, size_t hidden_end,
                           banyan_error *err)
{
    banyan_workspace_slot *slot = banyan_team_slot(team, team->workspaces->place, c);
    size_t bytes = team->runner->element_bytes;
    banyan_status status = banyan_team_wait_for_slot(team, c, err);

    if (status)
        return status;
    slot->phase = team->phase;
    slot->is_registered = 0;
    banyan_team_gather(team, c->begin, hidden, banyan_team_data(slot));
    banyan_team_gather(team, hidden_end, c->end, banyan_team_data(slot) + (hidden_end - c->begin) * bytes);
    banyan_team_show(team, c);
    return BANYAN_SUCCESS;
}

banyan_status banyan_team_wait_for_inputs(banyan_team *team, const banyan_chunk *c, banyan_error *err)
{
    const banyan_run_request *request = team->runner->request;
    banyan_workspaces *workspaces = team->workspaces;

    for (int i = 1; i < workspaces->count; i++) {
        int place = (workspaces->place + i) % workspaces->count;
        banyan_status status =
            banyan_team_wait_for(team, place, &workspaces->of[place]->staged, c->number + 1, err);

        if (status)
            return status;
        if (request->label_bytes &&
            memcmp(banyan_team_slot(team, place, c)->label, request->label, request->label_bytes) != 0) {
            team->stranger = place;
            memcpy(team->strange_label, banyan_team_slot(team, place, c)->label,
                   BANYAN_WORKSPACE_LABEL_BYTES);
            return BANYAN_MISMATCH;
        }
    }
    return BANYAN_SUCCESS;
}

static banyan_status take_sums(banyan_team *team, const banyan_chunk *c, banyan_error *err)
{
    banyan_workspaces *workspaces = team->workspaces;
    size_t begin, end;

    for (int i = 1; i < workspaces->count; i++) {
        int place = (workspaces->place + i) % workspaces->count;
        banyan_status status =
            banyan_team_wait_for(team, place, &workspaces->of[place]->summed, c->number + 1, err);

        if (status)
            return status;
        banyan_team_find_share(c, place, &begin, &end);
        banyan_team_scatter(team, begin, end,
                            banyan_team_data(banyan_team_slot(team, place, c)) +
                                (begin - c->begin) * team->runner->element_bytes);
    }
    team->workspaces->taken = c->number + 1;
    banyan_team_publish(team->runner, &team->own->copied, team->workspaces->taken);
    return BANYAN_SUCCESS;
}

/* ---- Runs. */

/* That we are done with the slot is told with the next one that we fill: nobody needs it before. */
static banyan_status run_short(banyan_team *team, banyan_error *err)
{
    banyan_chunk c = {.number = team->workspaces->filled, .end = team->runner->request->count};
    banyan_status status;

    status = stage(team, &c, c.end, c.end, err);
    if (!status)
        status = banyan_team_wait_for_inputs(team, &c, err);
    if (status)
        return status;
    banyan_team_add_up(team, &c, 0, c.end, 0);
    team->workspaces->taken = ++team->workspaces->filled;
    return BANYAN_SUCCESS;
}

static banyan_status stage_shares(banyan_team *team, banyan_chunk *c, size_t begin, size_t end,
                                  banyan_error *err)
{
    size_t own_begin, own_end;

    c->number = team->workspaces->filled++;
    banyan_team_cut_chunk(team, c, begin, end);
    banyan_team_find_share(c, team->workspaces->place, &own_begin, &own_end);
    return stage(team, c, own_begin, own_end, err);
}

/* Of a chunk. */
static size_t most_elements(const banyan_team *team)
{
    size_t ranks = (size_t)team->workspaces->count, fits = BANYAN_WORKSPACE_SLOT_BYTES / ranks;
    size_t share = least(team->workspaces->yields ? CROWDED_SHARE_BYTES : SHARE_BYTES, fits);

    return share / BANYAN_WORKSPACE_LINE * BANYAN_WORKSPACE_LINE / team->runner->element_bytes * ranks;
}

static banyan_status sum_share(banyan_team *team, const banyan_chunk *c, banyan_error *err)
{
    size_t begin, end;
    banyan_status status = banyan_team_wait_for_inputs(team, c, err);

    if (status)
        return status;
    banyan_team_find_share(c, team->workspaces->place, &begin, &end);
    banyan_team_add_up(team, c, begin, end, 1);
    banyan_team_publish(team->runner, &team->own->summed, c->number + 1);
    return BANYAN_SUCCESS;
}

/* While one chunk is added up the next is on show already, and the sums of the one before are taken: whatever
 * is waited for should have happened a chunk ago. The first one is on show. */
static banyan_status run_long(banyan_team *team, const banyan_chunk *first, banyan_error *err)
{
    size_t count = team->runner->request->count, most = most_elements(team);
    banyan_chunk before = {0}, now = {0}, next = *first; /* empty: there is none */
    banyan_status status = BANYAN_SUCCESS;

    while (!status && (now.begin < now.end || next.begin < next.end)) {
        before = now;
        now = next;
        next.begin = next.end;
        if (next.end < count)
            status = stage_shares(team, &next, next.end, next.end + least(most, count - next.end), err);
        if (!status && now.begin < now.end)
            status = sum_share(team, &now, err);
        if (!status && before.begin < before.end)
            status = take_sums(team, &before, err);
    }
    return status;
}

static banyan_chunk next_chunk(banyan_team *team, size_t begin)
{
    banyan_chunk c = {.begin = begin};

    c.end = begin + least(banyan_team_pair_elements(team), team->runner->request->count - begin);
    if (c.begin < c.end)
        c.number = team->workspaces->filled++;
    return c;
}

/* While one chunk is added up the one after the next is put on show (team_pair.c): what is waited for should
 * have happened a chunk ago. The first one is on show. */
static banyan_status run_pair(banyan_team *team, const banyan_chunk *first, banyan_error *err)
{
    banyan_chunk now = *first, next = next_chunk(team, now.end), after;
    banyan_status status = BANYAN_SUCCESS;

    if (next.begin < next.end)
        status = stage(team, &next, next.end, next.end, err);
    while (!status && now.begin < now.end) {
        after = next_chunk(team, next.end);
        status = banyan_team_wait_for_inputs(team, &now, err);
        if (!status && after.begin < after.end)
            status = banyan_team_wait_for_slot(team, &after, err);
        if (status)
            return status;
        banyan_team_add_pair(team, &now, &after);
        team->workspaces->taken = now.number + 1;
        if (after.begin < after.end)
            banyan_team_show(team, &after);
        now = next;
        next = after;
    }
    return status;
}

static banyan_status stage_first(banyan_team *team, banyan_chunk *out, banyan_error *err)
{
    if (team->workspaces->count > 2)
        return stage_shares(team, out, 0, least(most_elements(team), team->runner->request->count), err);
    team->phase = banyan_team_pair_phase(team);
    *out = next_chunk(team, 0);
    return stage(team, out, out->end, out->end, err);
}

/* Instead of the first chunk. */
static banyan_status show_first(banyan_team *team, banyan_chunk *out, banyan_error *err)
{
    banyan_status status;

    *out = (banyan_chunk){.number = team->workspaces->filled};
    status = banyan_team_wait_for_slot(team, out, err);
    if (status || !banyan_team_register(team, banyan_team_slot(team, team->workspaces->place, out)))
        return status ? status : stage_first(team, out, err);
    team->workspaces->filled++;
    banyan_team_show(team, out);
    return BANYAN_SUCCESS;
}

/* Everybody begins with a slot that holds its first chunk, or says where its vector is. Where all have
 * registered theirs, nothing is staged; where some do, all begin again: what is in the slots decides, so it
 * is the same for all. */
static banyan_status run_chunks(banyan_team *team, banyan_error *err)
{
    size_t count = team->runner->request->count;
    banyan_chunk first;
    banyan_status status;
    int registered = 0, is_done = 0;

    team->deadline_ns = banyan_clock_ns() + (int64_t)team->runner->request->timeout_ms * 1000000;
    team->is_far = count * team->runner->element_bytes >= FAR_BYTES;
    team->is_past_cache =
        team->is_far && banyan_vector_parts_apart(&team->runner->vector) > 0 &&
        count >= PAST_CACHE_BYTES / team->runner->element_bytes / (size_t)team->workspaces->count;
    status = show_first(team, &first, err);
    if (!status)
        status = banyan_team_wait_for_inputs(team, &first, err);
    if (!status)
        registered = banyan_team_count_registered(team, &first);
    if (registered == team->workspaces->count)
        status = banyan_team_run_registered(team, &first, &is_done, err);
    if (!status && registered && !is_done) {
        team->workspaces->registered = NULL; /* nobody has written there */
        team->workspaces->taken = team->workspaces->filled;
        status = stage_first(team, &first, err);
    }
    if (status || is_done)
        return status;
    return team->workspaces->count == 2 ? run_pair(team, &first, err) : run_long(team, &first, err);
}

/* ---- Ends. */

static banyan_status meet_stranger(const banyan_team *team, banyan_error *err)
{
    const banyan_runner *runner = team->runner;
    const banyan_workspaces *workspaces = team->workspaces;
    banyan_error sentence = {""};

    runner->request->explain(runner->request->context, workspaces->members[team->stranger],
                             team->strange_label, &sentence);
    runner->transport->abort(runner->endpoint, BANYAN_MISMATCH, sentence.text);
    return banyan_fail(err, BANYAN_MISMATCH, "%s", sentence.text);
}

static banyan_status time_out(const banyan_team *team, banyan_error *err)
{
    const banyan_runner *runner = team->runner;
    char sentence[160];

    snprintf(sentence, sizeof sentence, "rank %d waited %d ms for rank %d to go on in shared memory",
             team->workspaces->place, runner->request->timeout_ms, team->late);
    runner->transport->abort(runner->endpoint, BANYAN_TIMEOUT, sentence);
    return banyan_fail(err, BANYAN_TIMEOUT, "%s", sentence);
}

banyan_status banyan_team_run(banyan_team *team, banyan_runner *runner, banyan_error *err)
{
    const banyan_run_request *request = runner->request;
    size_t ranks = (size_t)team->workspaces->count;
    banyan_status status = runner->transport->failure(runner->endpoint, err);

    if (status)
        return status;
    team->runner = runner;
    team->deadline_ns = 0;
    team->stranger = team->late = -1;
    team->is_far = team->is_past_cache = 0;
    team->phase = 0;
    banyan_team_bind(team, request->count);
    if (request->count * runner->element_bytes <= SHORT_BYTES / ranks)
        status = run_short(team, err);
    else
        status = run_chunks(team, err);
    if (team->stranger >= 0)
        status = meet_stranger(team, err);
    else if (team->late >= 0)
        status = time_out(team, err);
    if (status && team->workspaces->registered)
        runner->transport->withdraw(runner->endpoint);
    team->workspaces->calls++;
    team->runner = NULL;
    return status;
}
