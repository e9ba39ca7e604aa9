/* SPDX-License-Identifier: Apache-2.0 */
/* execute/crew_lent.c: all ranks' vectors lie in memory that the others have mapped (banyan_mem_alloc).
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
 * All must decide the same, so only what is in the slots counts. Memory that a rank lends for the first
 * time is
 * marked there: then everybody tries to map it and says whether it could, in one more round. If one could
 * not, it is not lent again.
 *
 * A call that fails must not leave others writing into what is the user's again. Who writes says so in its
 * seat and looks every few kilobytes whether anybody has withdrawn; who fails says that it has, and waits for
 * the writers (shm_board.c).
 *
 * Cost, all ranks together: p n read, p n written. */
#include "core/alloc.h"
#include "execute/copy.h"
#include "execute/crew_internal.h"

#define BLOCK_BYTES ((size_t)4 << 10) /* at most BANYAN_CREW_BLOCK_BYTES */
#define PART_BYTES ((size_t)64 << 10) /* of a long vector, that a rank takes at a time */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

int banyan_crew_lend(banyan_crew *crew, banyan_board_slot *slot)
{
    banyan_runner *runner = crew->runner;
    size_t elements = runner->vector.count, bytes = elements * runner->element_bytes;
    const char *input;
    char *result;

    slot->is_lent = 0;
    if (!runner->transport->locate || runner->vector.part_count != 1)
        return 0;
    input = banyan_vector_from(&runner->vector, 0, &elements);
    result = banyan_vector_into(&runner->vector, 0, &elements);
    if (!runner->transport->locate(runner->endpoint, input, bytes, &slot->input) ||
        !runner->transport->locate(runner->endpoint, result, bytes, &slot->result))
        return 0;
    slot->is_lent = 1;
    atomic_store_explicit(&slot->next, 0, memory_order_relaxed);
    crew->board->lent = result;
    crew->board->lent_bytes = bytes;
    return 1;
}

int banyan_crew_count_lenders(const banyan_crew *crew, const banyan_chunk *c)
{
    int lenders = 0;

    for (int i = 0; i < crew->board->count; i++)
        lenders += banyan_crew_slot(crew, i, c)->is_lent != 0;
    return lenders;
}

/* ---- Finding everybody's memory. */

static int is_new(const banyan_board_slot *slot)
{
    return slot->input.is_new || slot->result.is_new;
}

/* 0: somebody's is not to be had. */
static int map_all(banyan_crew *crew, const banyan_chunk *c)
{
    banyan_runner *runner = crew->runner;
    size_t elements = runner->vector.count, bytes = elements * runner->element_bytes;

    for (int i = 0; i < crew->board->count; i++) {
        const banyan_board_slot *slot = banyan_crew_slot(crew, i, c);
        int member = crew->board->members[i];

        if (i == crew->board->place) {
            crew->inputs[i] = banyan_vector_from(&runner->vector, 0, &elements);
            crew->results[i] = banyan_vector_into(&runner->vector, 0, &elements);
            continue;
        }
        crew->inputs[i] = runner->transport->map(runner->endpoint, member, &slot->input, bytes);
        crew->results[i] = runner->transport->map(runner->endpoint, member, &slot->result, bytes);
        if (!crew->inputs[i] || !crew->results[i])
            return 0;
    }
    return 1;
}

/* A round in which everybody says whether it has mapped everything. */
static banyan_status agree(banyan_crew *crew, const banyan_chunk *c, int is_mapped, int *all_mapped,
                           banyan_error *err)
{
    banyan_board *board = crew->board;
    banyan_board_slot *slot = banyan_crew_slot(crew, board->place, c);
    banyan_chunk verdict = {.number = board->filled};
    banyan_status status = banyan_crew_wait_for_slot(crew, &verdict, err);

    if (status)
        return status;
    board->filled++;
    banyan_crew_slot(crew, board->place, &verdict)->is_lent = (uint32_t)is_mapped;
    banyan_crew_show(crew, &verdict);
    status = banyan_crew_wait_for_inputs(crew, &verdict, err);
    if (status)
        return status;
    *all_mapped = banyan_crew_count_lenders(crew, &verdict) == board->count;
    if (slot->input.is_new)
        crew->runner->transport->confirm(crew->runner->endpoint, &slot->input, *all_mapped);
    if (slot->result.is_new)
        crew->runner->transport->confirm(crew->runner->endpoint, &slot->result, *all_mapped);
    return BANYAN_SUCCESS;
}

static banyan_status find_all(banyan_crew *crew, const banyan_chunk *c, int *is_mapped, banyan_error *err)
{
    int needs_round = 0;

    for (int i = 0; i < crew->board->count; i++)
        needs_round |= is_new(banyan_crew_slot(crew, i, c));
    *is_mapped = map_all(crew, c);
    if (needs_round)
        return agree(crew, c, *is_mapped, is_mapped, err);
    if (*is_mapped)
        return BANYAN_SUCCESS;
    crew->runner->transport->abort(crew->runner->endpoint, BANYAN_SYSTEM_ERROR,
                                   "shared memory that was there is there no more");
    return banyan_fail(err, BANYAN_SYSTEM_ERROR, "shared memory that was there is there no more");
}

/* ---- Sums. */

static int has_anybody_withdrawn(const banyan_board *board)
{
    for (int i = 0; i < board->count; i++)
        if (atomic_load(&board->seats[i]->has_withdrawn))
            return 1;
    return 0;
}

static void fetch(const banyan_crew *crew, size_t at, size_t bytes)
{
    for (int i = 0; i < crew->board->count; i++)
        for (size_t line = 0; line < bytes; line += BANYAN_COPY_LINE)
            __builtin_prefetch(crew->inputs[i] + at + line);
}

/* The block is summed up where our own result goes, or in the cache, and goes to the others from there. */
static void add_block(const banyan_crew *crew, int piece, size_t begin, size_t elements)
{
    _Alignas(BANYAN_COPY_LINE) char sums[BLOCK_BYTES];
    size_t at = begin * crew->runner->element_bytes, bytes = elements * crew->runner->element_bytes;
    const char *inputs[BANYAN_BOARD_MOST_MEMBERS];
    int own = crew->board->place;
    char *into = crew->is_past_cache ? sums : crew->results[own] + at;

    for (int i = 0; i < crew->board->count; i++)
        inputs[i] = crew->inputs[i] + at;
    banyan_crew_sum(crew, piece, inputs, into, elements);
    for (int i = 0; i < crew->board->count; i++) {
        if (crew->is_past_cache)
            crew->copies.past_cache(crew->results[i] + at, into, bytes);
        else if (i != own)
            crew->copies.plainly(crew->results[i] + at, into, bytes);
    }
}

/* 0: somebody has withdrawn. */
static int add_share(const banyan_crew *crew, size_t begin, size_t end)
{
    size_t bytes = crew->runner->element_bytes;
    int piece = 0;

    while (begin < end) {
        size_t elements = least(end - begin, BLOCK_BYTES / bytes), next;

        if (has_anybody_withdrawn(crew->board))
            return 0;
        while (crew->piece_begin[piece + 1] <= begin)
            piece++;
        elements = least(elements, crew->piece_begin[piece + 1] - begin);
        next = begin + elements;
        if (crew->is_far)
            fetch(crew, next * bytes, least(end - next, BLOCK_BYTES / bytes) * bytes);
        add_block(crew, piece, begin, elements);
        begin = next;
    }
    if (crew->is_past_cache)
        banyan_copy_settle();
    return 1;
}

/* Parts until none is left. */
static int add_parts(const banyan_crew *crew, const banyan_chunk *c)
{
    _Atomic uint64_t *next = &banyan_crew_slot(crew, 0, c)->next;
    size_t count = crew->runner->request->count, part = PART_BYTES / crew->runner->element_bytes, begin;

    while ((begin = (size_t)atomic_fetch_add_explicit(next, part, memory_order_relaxed)) < count)
        if (!add_share(crew, begin, begin + least(part, count - begin)))
            return 0;
    return 1;
}

/* Either we see that one has withdrawn, or it sees that we write: all are sequentially consistent. */
static banyan_status write_share(banyan_crew *crew, const banyan_chunk *c, banyan_error *err)
{
    banyan_chunk whole = {0};
    banyan_status status;
    size_t begin, end;
    int is_done;

    banyan_crew_cut_chunk(crew, &whole, 0, crew->runner->request->count);
    banyan_crew_find_share(&whole, crew->board->place, &begin, &end);
    atomic_store(&crew->own->writes, 1);
    is_done = crew->is_far ? add_parts(crew, c) : add_share(crew, begin, end);
    atomic_store(&crew->own->writes, 0);
    if (is_done)
        return BANYAN_SUCCESS;
    status = crew->runner->transport->failure(crew->runner->endpoint, err);
    return status ? status : banyan_fail(err, BANYAN_REMOTE_ERROR, "another rank has given up");
}

banyan_status banyan_crew_run_lent(banyan_crew *crew, const banyan_chunk *c, int *is_done, banyan_error *err)
{
    banyan_board *board = crew->board;
    banyan_status status = find_all(crew, c, is_done, err);

    if (status || !*is_done)
        return status;
    status = write_share(crew, c, err);
    if (status)
        return status;
    board->taken = board->filled;
    banyan_crew_publish(crew->runner, &crew->own->summed, board->filled);
    for (int i = 1; i < board->count && !status; i++) {
        int place = (board->place + i) % board->count;

        status = banyan_crew_wait_for(crew, place, &board->seats[place]->summed, board->filled, err);
    }
    if (!status)
        board->lent = NULL;
    return status;
}
