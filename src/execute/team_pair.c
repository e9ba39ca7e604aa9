/* SPDX-License-Identifier: Apache-2.0 */
/* execute/team_pair.c: two ranks: both add up everything.
 *
 *     chunk k + 2 of the own input ─> own slot                block by block, one after the other: while the
 *     chunk k of the own input + the other's slot ─> result   loads of the sums wait for the other core, the
 *                                                             stores of the copy go on
 *
 * Both show their whole input. Shares of the sums (team.c) would move as many bytes between the cores: with
 * two ranks, half of the inputs and half of the sums are as much as all inputs. But here each input is
 * fetched from memory by the copy, which asks ahead, and is in the cache when it is added; there is one wait
 * a chunk, not two; and loads and stores that wait for the other core overlap. Every kernel commutes to the
 * last bit, so both have the plan's sums.
 *
 * Cost, each rank: 2 n read and n written of its own, n written that the other has read before, and n read
 * that it wrote. */
#include "execute/copy.h"
#include "execute/team_internal.h"

#define CHUNK_BYTES ((size_t)128 << 10)
#define MIN_CHUNK_BYTES ((size_t)32 << 10)
#define BLOCK_BYTES                                                                                          \
    ((size_t)512) /* less than a core has in flight: the next one begins before it is through */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Both chunks as memory in one piece: what of them is. */
typedef struct {
    const char *next_input; /* to copy into the slot; NULL: nothing */
    char *next_slot;
    size_t next_bytes;
    const char *mine, *theirs;
    char *into;
    size_t bytes;
} strip;

static void fetch_block(const char *from)
{
    for (size_t at = 0; at < BLOCK_BYTES; at += BANYAN_COPY_LINE)
        __builtin_prefetch(from + at);
}

static void add_block(const banyan_team *team, const strip *s, size_t at, size_t bytes)
{
    const banyan_runner *runner = team->runner;
    _Alignas(BANYAN_COPY_LINE) char sums[BLOCK_BYTES];
    char *into = team->is_past_cache ? sums : s->into + at;
    size_t elements = bytes / runner->element_bytes;

    runner->kernel(into, s->mine + at, s->theirs + at, elements);
    if (runner->request->op == BANYAN_AVG)
        banyan_kernel_divide(runner->request->type, into, elements, team->sums->ranks);
    if (team->is_past_cache)
        team->copies.past_cache(s->into + at, into, bytes);
}

/* Results should begin with a line of the cache; the first block is as long as that needs. */
static size_t first_block(const banyan_team *team, const strip *s)
{
    size_t beyond = (uintptr_t)s->into % BANYAN_COPY_LINE;

    return BLOCK_BYTES - (beyond % team->runner->element_bytes ? 0 : beyond);
}

static void work_off(const banyan_team *team, const strip *s)
{
    size_t block = first_block(team, s);

    for (size_t at = 0; at < s->bytes || at < s->next_bytes; at += block, block = BLOCK_BYTES) {
        if (at + block < s->bytes)
            fetch_block(s->theirs + at + block);
        if (at + block < s->next_bytes)
            fetch_block(s->next_input + at + block);
        if (at < s->next_bytes)
            team->copies.plainly(s->next_slot + at, s->next_input + at, least(block, s->next_bytes - at));
        if (at < s->bytes)
            add_block(team, s, at, least(block, s->bytes - at));
    }
    if (team->is_past_cache)
        banyan_copy_settle();
}

/* 0: the chunks' memory is not in one piece. */
static int find_strip(const banyan_team *team, const banyan_chunk *now, const banyan_chunk *next, strip *out)
{
    const banyan_vector *vector = &team->runner->vector;
    size_t count = now->end - now->begin, from = count, into = count, ahead = next->end - next->begin;
    int place = team->workspaces->place;

    *out = (strip){.bytes = count * vector->element_bytes, .next_bytes = ahead * vector->element_bytes};
    out->mine = banyan_vector_from(vector, now->begin, &from);
    out->into = banyan_vector_into(vector, now->begin, &into);
    out->theirs = banyan_team_data(banyan_team_slot(team, !place, now));
    if (!ahead)
        return from == count && into == count;
    out->next_input = banyan_vector_from(vector, next->begin, &ahead);
    out->next_slot = banyan_team_data(banyan_team_slot(team, place, next));
    return from == count && into == count && ahead == next->end - next->begin;
}

void banyan_team_add_pair(const banyan_team *team, const banyan_chunk *now, const banyan_chunk *next)
{
    strip s;

    if (next->begin < next->end)
        banyan_team_slot(team, team->workspaces->place, next)->phase = team->phase;
    if (find_strip(team, now, next, &s)) {
        work_off(team, &s);
        return;
    }
    banyan_team_gather(team, next->begin, next->end,
                       banyan_team_data(banyan_team_slot(team, team->workspaces->place, next)));
    banyan_team_add_up(team, now, now->begin, now->end, 0);
}

/* The first two are shown before anything is added, so short vectors are cut finer. */
size_t banyan_team_pair_elements(const banyan_team *team)
{
    size_t bytes = team->runner->request->count * team->runner->element_bytes / 32;

    bytes = bytes < MIN_CHUNK_BYTES ? MIN_CHUNK_BYTES : least(bytes, CHUNK_BYTES);
    return bytes / BANYAN_WORKSPACE_LINE * BANYAN_WORKSPACE_LINE / team->runner->element_bytes;
}

/* Inputs and results mostly begin at the same place in a line, on both ranks; what is shown then should, too,
 * so that nothing straddles two lines. */
uint32_t banyan_team_pair_phase(const banyan_team *team)
{
    size_t elements = 1;

    return (uint32_t)((uintptr_t)banyan_vector_from(&team->runner->vector, 0, &elements) % BANYAN_COPY_LINE);
}
