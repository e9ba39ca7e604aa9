/* SPDX-License-Identifier: Apache-2.0 */
/* execute/crew.c: every rank shows its input to all, computes a share of the sums, and takes the others'
 * shares.
 *
 *     short    stage all ─> wait for all ─> add up everything               one wait, one line a rank
 *     two      the same, chunk by chunk, while those to come are staged: crew_pair.c
 *     lent     where all ranks' vectors lie in memory that the others have mapped: a share each: crew_lent.c
 *     long     chunk by chunk:
 *              stage the others' shares ─> wait ─> add up the own share ─> wait ─> copy the others' sums
 *                        slot of rank 1:   | input for 0 | own sums | input for 2 | input for 3 |
 *
 * The schedule decides what is added to what (execute/sums.h), so the bits are the same as over streams; who
 * computes a sum and how it travels is decided here. Two things make it fast: chunks are so small that what
 * is staged or added up is in a cache when it is read, and each element is touched as often as it must be: an
 * input is read once from memory, a result is written once. Unless memory is lent, a rank writes its own
 * only, and nobody else reads it: a failed call leaves nothing behind.
 *
 * Slots are used in turn; chunk t may be staged when all others are done with chunk t - BANYAN_BOARD_SLOTS.
 * Why nothing stands still: all ranks stage t + 1, add up t and take t - 1 in this order, and whatever they
 * wait for on the way (t - 3 taken, t staged, t - 1 added up) comes earlier in it. Of two ranks, each adds up
 * t and stages t + 2 at a time, for which t must be staged and t - 2 added up.
 *
 * Cost, all ranks together: 2 (p - 1) n bytes copied, p n read and n written by additions. */
#include "execute/crew.h"

#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/clock.h"
#include "execute/crew_internal.h"

#define SHORT_BYTES ((size_t)64 << 10) /* all ranks' vectors together: less is added up by everybody */
#define SHARE_BYTES                                                                                          \
    ((size_t)64 << 10) /* of a chunk, for each rank: all that a chunk touches stays in a core's cache */
#define CROWDED_SHARE_BYTES                                                                                  \
    ((size_t)128 << 10)             /* where ranks share cores: fewer changes from one to the other */
#define FAR_BYTES ((size_t)4 << 20) /* vectors from here on leave no room in a core's cache, */
#define PAST_CACHE_BYTES                                                                                     \
    ((size_t)24 << 20) /* and all ranks' together, from here on, none in the one that they share */

banyan_status banyan_crew_create(const banyan_program *program, banyan_board *board, banyan_crew **out,
                                 banyan_error *err)
{
    banyan_sums *sums = NULL;
    banyan_crew *crew = NULL;
    banyan_status status = board ? banyan_sums_derive(program->schedule, &sums, err) : BANYAN_SUCCESS;

    *out = NULL;
    if (status || !sums)
        return status;
    crew = banyan_alloc(1, sizeof *crew);
    if (crew) {
        crew->sums = sums;
        crew->board = board;
        crew->own = board->seats[board->place];
        crew->copies = banyan_copies_best();
        crew->places = banyan_alloc((size_t)sums->place_count, BANYAN_CREW_BLOCK_BYTES);
        crew->piece_begin =
            banyan_alloc((size_t)program->schedule->piece_count + 1, sizeof *crew->piece_begin);
    } else {
        banyan_sums_destroy(sums);
    }
    if (!crew || !crew->places || !crew->piece_begin) {
        banyan_crew_destroy(crew);
        return banyan_fail_memory(err);
    }
    *out = crew;
    return BANYAN_SUCCESS;
}

void banyan_crew_destroy(banyan_crew *crew)
{
    if (!crew)
        return;
    banyan_sums_destroy(crew->sums);
    banyan_free(crew->places);
    banyan_free(crew->piece_begin);
    banyan_free(crew);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

void banyan_crew_find_share(const banyan_chunk *c, int place, size_t *begin, size_t *end)
{
    *begin = c->begin + least((size_t)place * c->share, c->end - c->begin);
    *end = c->begin + least((size_t)(place + 1) * c->share, c->end - c->begin);
}

/* Shares begin with a line of the cache. */
void banyan_crew_cut_chunk(const banyan_crew *crew, banyan_chunk *c, size_t begin, size_t end)
{
    size_t bytes = crew->runner->element_bytes, ranks = (size_t)crew->board->count;
    size_t line = BANYAN_BOARD_LINE / bytes;

    c->begin = begin;
    c->end = end;
    c->share = ((end - begin + ranks - 1) / ranks + line - 1) / line * line;
}

/* ---- The steps of a chunk. */

banyan_status banyan_crew_wait_for_slot(banyan_crew *crew, const banyan_chunk *c, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    if (c->number < BANYAN_BOARD_SLOTS)
        return BANYAN_SUCCESS;
    for (int i = 0; i < crew->board->count && !status; i++)
        if (i != crew->board->place)
            status = banyan_crew_wait_for(crew, i, &crew->board->seats[i]->copied,
                                          c->number + 1 - BANYAN_BOARD_SLOTS, err);
    return status;
}

/* What is in the slot is told, and what we have taken meanwhile. */
void banyan_crew_show(banyan_crew *crew, const banyan_chunk *c)
{
    const banyan_run_request *request = crew->runner->request;

    if (request->label_bytes)
        memcpy(banyan_crew_slot(crew, crew->board->place, c)->label, request->label, request->label_bytes);
    atomic_store_explicit(&crew->own->copied, crew->board->taken, memory_order_release);
    banyan_crew_publish(crew->runner, &crew->own->staged, c->number + 1);
}

/* Shows the input, but for elements hidden..hidden_end-1. */
static banyan_status stage(banyan_crew *crew, const banyan_chunk *c, size_t hidden, size_t hidden_end,
                           banyan_error *err)
{
    banyan_board_slot *slot = banyan_crew_slot(crew, crew->board->place, c);
    size_t bytes = crew->runner->element_bytes;
    banyan_status status = banyan_crew_wait_for_slot(crew, c, err);

    if (status)
        return status;
    slot->phase = crew->phase;
    slot->is_lent = 0;
    banyan_crew_gather(crew, c->begin, hidden, banyan_crew_data(slot));
    banyan_crew_gather(crew, hidden_end, c->end, banyan_crew_data(slot) + (hidden_end - c->begin) * bytes);
    banyan_crew_show(crew, c);
    return BANYAN_SUCCESS;
}

banyan_status banyan_crew_wait_for_inputs(banyan_crew *crew, const banyan_chunk *c, banyan_error *err)
{
    const banyan_run_request *request = crew->runner->request;
    banyan_board *board = crew->board;

    for (int i = 1; i < board->count; i++) {
        int place = (board->place + i) % board->count;
        banyan_status status =
            banyan_crew_wait_for(crew, place, &board->seats[place]->staged, c->number + 1, err);

        if (status)
            return status;
        if (request->label_bytes &&
            memcmp(banyan_crew_slot(crew, place, c)->label, request->label, request->label_bytes) != 0) {
            crew->stranger = place;
            memcpy(crew->strange_label, banyan_crew_slot(crew, place, c)->label, BANYAN_BOARD_LABEL_BYTES);
            return BANYAN_MISMATCH;
        }
    }
    return BANYAN_SUCCESS;
}

static banyan_status take_sums(banyan_crew *crew, const banyan_chunk *c, banyan_error *err)
{
    banyan_board *board = crew->board;
    size_t begin, end;

    for (int i = 1; i < board->count; i++) {
        int place = (board->place + i) % board->count;
        banyan_status status =
            banyan_crew_wait_for(crew, place, &board->seats[place]->summed, c->number + 1, err);

        if (status)
            return status;
        banyan_crew_find_share(c, place, &begin, &end);
        banyan_crew_scatter(crew, begin, end,
                            banyan_crew_data(banyan_crew_slot(crew, place, c)) +
                                (begin - c->begin) * crew->runner->element_bytes);
    }
    crew->board->taken = c->number + 1;
    banyan_crew_publish(crew->runner, &crew->own->copied, crew->board->taken);
    return BANYAN_SUCCESS;
}

/* ---- Runs. */

/* That we are done with the slot is told with the next one that we fill: nobody needs it before. */
static banyan_status run_short(banyan_crew *crew, banyan_error *err)
{
    banyan_chunk c = {.number = crew->board->filled, .end = crew->runner->request->count};
    banyan_status status;

    status = stage(crew, &c, c.end, c.end, err);
    if (!status)
        status = banyan_crew_wait_for_inputs(crew, &c, err);
    if (status)
        return status;
    banyan_crew_add_up(crew, &c, 0, c.end, 0);
    crew->board->taken = ++crew->board->filled;
    return BANYAN_SUCCESS;
}

static banyan_status stage_shares(banyan_crew *crew, banyan_chunk *c, size_t begin, size_t end,
                                  banyan_error *err)
{
    size_t own_begin, own_end;

    c->number = crew->board->filled++;
    banyan_crew_cut_chunk(crew, c, begin, end);
    banyan_crew_find_share(c, crew->board->place, &own_begin, &own_end);
    return stage(crew, c, own_begin, own_end, err);
}

/* Of a chunk. */
static size_t most_elements(const banyan_crew *crew)
{
    size_t ranks = (size_t)crew->board->count, fits = BANYAN_BOARD_SLOT_BYTES / ranks;
    size_t share = least(crew->board->yields ? CROWDED_SHARE_BYTES : SHARE_BYTES, fits);

    return share / BANYAN_BOARD_LINE * BANYAN_BOARD_LINE / crew->runner->element_bytes * ranks;
}

static banyan_status sum_share(banyan_crew *crew, const banyan_chunk *c, banyan_error *err)
{
    size_t begin, end;
    banyan_status status = banyan_crew_wait_for_inputs(crew, c, err);

    if (status)
        return status;
    banyan_crew_find_share(c, crew->board->place, &begin, &end);
    banyan_crew_add_up(crew, c, begin, end, 1);
    banyan_crew_publish(crew->runner, &crew->own->summed, c->number + 1);
    return BANYAN_SUCCESS;
}

/* While one chunk is added up the next is on show already, and the sums of the one before are taken: whatever
 * is waited for should have happened a chunk ago. The first one is on show. */
static banyan_status run_long(banyan_crew *crew, const banyan_chunk *first, banyan_error *err)
{
    size_t count = crew->runner->request->count, most = most_elements(crew);
    banyan_chunk before = {0}, now = {0}, next = *first; /* empty: there is none */
    banyan_status status = BANYAN_SUCCESS;

    while (!status && (now.begin < now.end || next.begin < next.end)) {
        before = now;
        now = next;
        next.begin = next.end;
        if (next.end < count)
            status = stage_shares(crew, &next, next.end, next.end + least(most, count - next.end), err);
        if (!status && now.begin < now.end)
            status = sum_share(crew, &now, err);
        if (!status && before.begin < before.end)
            status = take_sums(crew, &before, err);
    }
    return status;
}

static banyan_chunk next_chunk(banyan_crew *crew, size_t begin)
{
    banyan_chunk c = {.begin = begin};

    c.end = begin + least(banyan_crew_pair_elements(crew), crew->runner->request->count - begin);
    if (c.begin < c.end)
        c.number = crew->board->filled++;
    return c;
}

/* While one chunk is added up the one after the next is put on show (crew_pair.c): what is waited for should
 * have happened a chunk ago. The first one is on show. */
static banyan_status run_pair(banyan_crew *crew, const banyan_chunk *first, banyan_error *err)
{
    banyan_chunk now = *first, next = next_chunk(crew, now.end), after;
    banyan_status status = BANYAN_SUCCESS;

    if (next.begin < next.end)
        status = stage(crew, &next, next.end, next.end, err);
    while (!status && now.begin < now.end) {
        after = next_chunk(crew, next.end);
        status = banyan_crew_wait_for_inputs(crew, &now, err);
        if (!status && after.begin < after.end)
            status = banyan_crew_wait_for_slot(crew, &after, err);
        if (status)
            return status;
        banyan_crew_add_pair(crew, &now, &after);
        crew->board->taken = now.number + 1;
        if (after.begin < after.end)
            banyan_crew_show(crew, &after);
        now = next;
        next = after;
    }
    return status;
}

static banyan_status stage_first(banyan_crew *crew, banyan_chunk *out, banyan_error *err)
{
    if (crew->board->count > 2)
        return stage_shares(crew, out, 0, least(most_elements(crew), crew->runner->request->count), err);
    crew->phase = banyan_crew_pair_phase(crew);
    *out = next_chunk(crew, 0);
    return stage(crew, out, out->end, out->end, err);
}

/* Instead of the first chunk. */
static banyan_status lend(banyan_crew *crew, banyan_chunk *out, banyan_error *err)
{
    banyan_status status;

    *out = (banyan_chunk){.number = crew->board->filled};
    status = banyan_crew_wait_for_slot(crew, out, err);
    if (status || !banyan_crew_lend(crew, banyan_crew_slot(crew, crew->board->place, out)))
        return status ? status : stage_first(crew, out, err);
    crew->board->filled++;
    banyan_crew_show(crew, out);
    return BANYAN_SUCCESS;
}

/* Everybody begins with a slot that holds its first chunk, or says where its vector is. Where all lend,
 * nothing is staged; where some do, all begin again: what is in the slots decides, so it is the same for
 * all. */
static banyan_status run_chunks(banyan_crew *crew, banyan_error *err)
{
    size_t count = crew->runner->request->count;
    banyan_chunk first;
    banyan_status status;
    int lenders = 0, is_done = 0;

    crew->deadline_ns = banyan_clock_ns() + (int64_t)crew->runner->request->timeout_ms * 1000000;
    crew->is_far = count * crew->runner->element_bytes >= FAR_BYTES;
    crew->is_past_cache =
        crew->is_far && banyan_vector_parts_apart(&crew->runner->vector) > 0 &&
        count >= PAST_CACHE_BYTES / crew->runner->element_bytes / (size_t)crew->board->count;
    status = lend(crew, &first, err);
    if (!status)
        status = banyan_crew_wait_for_inputs(crew, &first, err);
    if (!status)
        lenders = banyan_crew_count_lenders(crew, &first);
    if (lenders == crew->board->count)
        status = banyan_crew_run_lent(crew, &first, &is_done, err);
    if (!status && lenders && !is_done) {
        crew->board->lent = NULL; /* nobody has written there */
        crew->board->taken = crew->board->filled;
        status = stage_first(crew, &first, err);
    }
    if (status || is_done)
        return status;
    return crew->board->count == 2 ? run_pair(crew, &first, err) : run_long(crew, &first, err);
}

/* ---- Ends. */

static banyan_status meet_stranger(const banyan_crew *crew, banyan_error *err)
{
    const banyan_runner *runner = crew->runner;
    const banyan_board *board = crew->board;
    banyan_error sentence = {""};

    runner->request->explain(runner->request->context, board->members[crew->stranger], crew->strange_label,
                             &sentence);
    runner->transport->abort(runner->endpoint, BANYAN_MISMATCH, sentence.text);
    return banyan_fail(err, BANYAN_MISMATCH, "%s", sentence.text);
}

static banyan_status time_out(const banyan_crew *crew, banyan_error *err)
{
    const banyan_runner *runner = crew->runner;
    char sentence[160];

    snprintf(sentence, sizeof sentence, "rank %d waited %d ms for rank %d to go on in shared memory",
             crew->board->place, runner->request->timeout_ms, crew->late);
    runner->transport->abort(runner->endpoint, BANYAN_TIMEOUT, sentence);
    return banyan_fail(err, BANYAN_TIMEOUT, "%s", sentence);
}

banyan_status banyan_crew_run(banyan_crew *crew, banyan_runner *runner, banyan_error *err)
{
    const banyan_run_request *request = runner->request;
    size_t ranks = (size_t)crew->board->count;
    banyan_status status = runner->transport->failure(runner->endpoint, err);

    if (status)
        return status;
    crew->runner = runner;
    crew->deadline_ns = 0;
    crew->stranger = crew->late = -1;
    crew->is_far = crew->is_past_cache = 0;
    crew->phase = 0;
    banyan_crew_bind(crew, request->count);
    if (request->count * runner->element_bytes <= SHORT_BYTES / ranks)
        status = run_short(crew, err);
    else
        status = run_chunks(crew, err);
    if (crew->stranger >= 0)
        status = meet_stranger(crew, err);
    else if (crew->late >= 0)
        status = time_out(crew, err);
    if (status && crew->board->lent)
        runner->transport->withdraw(runner->endpoint);
    crew->board->calls++;
    crew->runner = NULL;
    return status;
}
