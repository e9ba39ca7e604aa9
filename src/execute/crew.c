/* SPDX-License-Identifier: Apache-2.0 */
/* execute/crew.c: every rank shows its input to all, computes a share of the sums, and takes the others' shares.
 *
 *     short    stage all ─> wait for all ─> add up everything                          one wait, one line a rank
 *     long     chunk by chunk:
 *              stage the others' shares ─> wait ─> add up the own share ─> wait ─> copy the others' sums
 *                        slot of rank 1:   | input for 0 | own sums | input for 2 | input for 3 |
 *
 * The schedule decides what is added to what (execute/sums.h), so the bits are the same as over streams; who computes
 * a sum and how it travels is decided here. Two things make it fast: chunks are so small that what is staged or added
 * up is in a cache when it is read, and each element is touched as often as it must be: an input is read once from
 * memory, a result is written once. A rank writes its own memory only, and nobody else reads it: a failed call
 * leaves nothing behind.
 *
 * Slots are used in turn; chunk t may be staged when all others are done with chunk t - BANYAN_BOARD_SLOTS. Why nothing
 * stands still: all ranks stage t + 1, add up t and take t - 1 in this order, and whatever they wait for on the way (t - 3
 * taken, t staged, t - 1 added up) comes earlier in it.
 *
 * Cost, all ranks together: 2 (p - 1) n bytes copied, p n read and n written by additions. */
#include "execute/crew.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/clock.h"
#include "execute/copy.h"
#include "execute/sums.h"

#define SHORT_BYTES ((size_t)64 << 10) /* all ranks' vectors together: less is added up by everybody */
#define SHARE_BYTES                                                                                          \
    ((size_t)64 << 10) /* of a chunk, for each rank: all that a chunk touches stays in a core's cache */
#define CROWDED_SHARE_BYTES                                                                                  \
    ((size_t)128 << 10)               /* where ranks share cores: fewer changes from one to the other */
#define FAR_BYTES ((size_t)4 << 20)   /* vectors from here on leave no room in a core's cache */
#define BLOCK_BYTES ((size_t)8 << 10) /* what is added up at a time: it stays in the first cache */

struct banyan_crew {
    banyan_sums *sums;
    banyan_board *board;
    banyan_seat *own;
    char *places;        /* for what additions keep, BLOCK_BYTES each */
    size_t *piece_begin; /* by piece, for bound_count elements; one more at the end */
    size_t bound_count;
    int is_bound;
    /* of the run at hand */
    banyan_runner *runner;
    int64_t deadline_ns; /* 0: not worked out yet */
    int stranger;        /* the place of a rank that means another call, or -1 */
    char strange_label[BANYAN_BOARD_LABEL_BYTES];
    int is_far;        /* the vector is in no cache */
    int is_past_cache; /* results go to memory that is in no cache and will not fit */
    int late;          /* the place of one that did not come in time, or -1 */
};

typedef struct {
    uint64_t number;
    size_t begin, end;
    size_t share; /* elements */
} chunk;

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
        crew->places = banyan_alloc((size_t)sums->place_count, BLOCK_BYTES);
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

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* ---- Counters: published and waited for. */

/* Either the waiter sees the counter, or we see the waiter. */
static void publish(const banyan_runner *runner, _Atomic uint64_t *counter, uint64_t value)
{
    const banyan_board *board = runner->board;

    atomic_store_explicit(counter, value, memory_order_release);
    atomic_thread_fence(memory_order_seq_cst);
    for (int i = 0; i < board->count; i++)
        if (atomic_load_explicit(&board->seats[i]->waits_for, memory_order_relaxed) ==
            (uint32_t)board->place + 1)
            runner->transport->ring(runner->endpoint, board->members[i]);
}

static int has_come(const _Atomic uint64_t *counter, uint64_t value)
{
    return atomic_load_explicit(counter, memory_order_acquire) >= value;
}

/* Briefly, for one that is just about to come. */
static int spin(const banyan_board *board, const _Atomic uint64_t *counter, uint64_t value)
{
    for (int i = 0; i < board->spins; i++) {
        if (has_come(counter, value))
            return 1;
        relax();
    }
    for (int i = 0; i < board->yields; i++) {
        sched_yield();
        if (has_come(counter, value))
            return 1;
    }
    return 0;
}

/* Whether it has begun a call elsewhere that comes at the place of ours, or later. */
static int is_elsewhere(const banyan_board *board, int place)
{
    return atomic_load_explicit(&board->seats[place]->elsewhere, memory_order_acquire) > board->calls;
}

static void read_elsewhere(const banyan_seat *seat, char label[BANYAN_BOARD_LABEL_BYTES])
{
    for (size_t i = 0; i < BANYAN_BOARD_LABEL_BYTES / sizeof(uint64_t); i++) {
        uint64_t word = atomic_load_explicit(&seat->elsewhere_label[i], memory_order_relaxed);

        memcpy(label + i * sizeof word, &word, sizeof word);
    }
}

static banyan_status sleep_until(banyan_crew *crew, int place, const _Atomic uint64_t *counter,
                                 uint64_t value, banyan_error *err)
{
    banyan_runner *runner = crew->runner;
    banyan_status status = BANYAN_SUCCESS;

    if (!crew->deadline_ns)
        crew->deadline_ns = banyan_clock_ns() + (int64_t)runner->request->timeout_ms * 1000000;
    for (;;) {
        atomic_store(&crew->own->waits_for, (uint32_t)place + 1);
        if (atomic_load(counter) >= value)
            break;
        if (runner->request->label_bytes && is_elsewhere(crew->board, place)) {
            crew->stranger = place;
            read_elsewhere(crew->board->seats[place], crew->strange_label);
            status = BANYAN_MISMATCH;
            break;
        }
        status = runner->transport->wait(runner->endpoint, crew->deadline_ns, err);
        if (status == BANYAN_TIMEOUT && !runner->transport->failure(runner->endpoint, err))
            crew->late = place;
        if (status)
            break;
    }
    atomic_store_explicit(&crew->own->waits_for, 0, memory_order_relaxed);
    return status;
}

static banyan_status wait_for(banyan_crew *crew, int place, const _Atomic uint64_t *counter, uint64_t value,
                              banyan_error *err)
{
    if (has_come(counter, value) || spin(crew->board, counter, value))
        return BANYAN_SUCCESS;
    return sleep_until(crew, place, counter, value, err);
}

/* ---- Where things lie. */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static banyan_board_slot *slot_of(const banyan_crew *crew, int place, const chunk *c)
{
    return &crew->board->seats[place]->slots[c->number % BANYAN_BOARD_SLOTS];
}

static void find_share(const chunk *c, int place, size_t *begin, size_t *end)
{
    *begin = c->begin + least((size_t)place * c->share, c->end - c->begin);
    *end = c->begin + least((size_t)(place + 1) * c->share, c->end - c->begin);
}

/* Shares begin with a line of the cache. */
static void cut_chunk(const banyan_crew *crew, chunk *c, size_t begin, size_t end)
{
    size_t bytes = crew->runner->element_bytes, ranks = (size_t)crew->board->count;
    size_t line = BANYAN_BOARD_LINE / bytes;

    c->begin = begin;
    c->end = end;
    c->share = ((end - begin + ranks - 1) / ranks + line - 1) / line * line;
}

static void bind(banyan_crew *crew, size_t count)
{
    const banyan_schedule *schedule = crew->sums->schedule;
    size_t begin;

    if (crew->is_bound && crew->bound_count == count)
        return;
    for (int piece = 0; piece < schedule->piece_count; piece++)
        banyan_schedule_elements(schedule, count, piece, 1, &begin, &crew->piece_begin[piece + 1]);
    crew->bound_count = count;
    crew->is_bound = 1;
}

/* ---- Copies between the user's vector and slots. */

static void gather(const banyan_crew *crew, size_t begin, size_t end, char *into)
{
    const banyan_vector *vector = &crew->runner->vector;

    while (begin < end) {
        size_t elements = end - begin;
        const char *from = banyan_vector_from(vector, begin, &elements);

        if (crew->is_far)
            banyan_copy_from_far(into, from, elements * vector->element_bytes);
        else
            memcpy(into, from, elements * vector->element_bytes);
        into += elements * vector->element_bytes;
        begin += elements;
    }
}

static void scatter(const banyan_crew *crew, size_t begin, size_t end, const char *from)
{
    const banyan_vector *vector = &crew->runner->vector;

    while (begin < end) {
        size_t elements = end - begin;
        char *into = banyan_vector_into(vector, begin, &elements);

        if (crew->is_past_cache)
            banyan_copy_past_cache(into, from, elements * vector->element_bytes);
        else
            banyan_copy_from_far(into, from, elements * vector->element_bytes);
        from += elements * vector->element_bytes;
        begin += elements;
    }
}

/* ---- Additions. */

/* One block of one piece: offset is that of the block in everybody's slot, mine is where our own input lies. */
static void add_block(const banyan_crew *crew, int piece, const chunk *c, size_t offset, const char *mine,
                      char *into, size_t elements)
{
    const banyan_sums *sums = crew->sums;
    int first = sums->first[piece], end = sums->first[piece + 1];

    for (int i = first; i < end; i++) {
        const banyan_addition *addition = &sums->additions[i];
        const char *operands[2];
        char *sum = i == end - 1 ? into : crew->places + (size_t)(addition->into - sums->ranks) * BLOCK_BYTES;

        for (int k = 0; k < 2; k++) {
            int value = k ? addition->b : addition->a;

            operands[k] = value >= sums->ranks ? crew->places + (size_t)(value - sums->ranks) * BLOCK_BYTES
                          : value == crew->board->place ? mine
                                                        : slot_of(crew, value, c)->data + offset;
        }
        if (operands[1] == sum) /* a + b is b + a, and a kernel may overwrite a only */
            crew->runner->kernel(sum, operands[1], operands[0], elements);
        else
            crew->runner->kernel(sum, operands[0], operands[1], elements);
    }
    if (crew->runner->request->op == BANYAN_AVG)
        banyan_kernel_divide(crew->runner->request->type, into, elements, sums->ranks);
}

/* Adds up elements begin..end-1 of the chunk: in the user's memory, or with is_shown in our slot and then there. */
static void add_up(const banyan_crew *crew, const chunk *c, size_t begin, size_t end, int is_shown)
{
    const banyan_vector *vector = &crew->runner->vector;
    size_t bytes = vector->element_bytes;
    int piece = 0;

    while (begin < end) {
        size_t elements = least(end - begin, BLOCK_BYTES / bytes), offset = (begin - c->begin) * bytes;
        const char *mine;
        char *into;

        while (crew->piece_begin[piece + 1] <= begin)
            piece++;
        elements = least(elements, crew->piece_begin[piece + 1] - begin);
        mine = banyan_vector_from(vector, begin, &elements);
        into = is_shown ? slot_of(crew, crew->board->place, c)->data + offset
                        : banyan_vector_into(vector, begin, &elements);
        add_block(crew, piece, c, offset, mine, into, elements);
        if (is_shown)
            scatter(crew, begin, begin + elements, into);
        begin += elements;
    }
}

/* ---- The steps of a chunk. */

static banyan_status wait_for_slot(banyan_crew *crew, const chunk *c, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    if (c->number < BANYAN_BOARD_SLOTS)
        return BANYAN_SUCCESS;
    for (int i = 0; i < crew->board->count && !status; i++)
        if (i != crew->board->place)
            status =
                wait_for(crew, i, &crew->board->seats[i]->copied, c->number + 1 - BANYAN_BOARD_SLOTS, err);
    return status;
}

/* Shows the input, but for elements hidden..hidden_end-1. */
static banyan_status stage(banyan_crew *crew, const chunk *c, size_t hidden, size_t hidden_end,
                           banyan_error *err)
{
    const banyan_run_request *request = crew->runner->request;
    banyan_board_slot *slot = slot_of(crew, crew->board->place, c);
    size_t bytes = crew->runner->element_bytes;
    banyan_status status = wait_for_slot(crew, c, err);

    if (status)
        return status;
    if (request->label_bytes)
        memcpy(slot->label, request->label, request->label_bytes);
    gather(crew, c->begin, hidden, slot->data);
    gather(crew, hidden_end, c->end, slot->data + (hidden_end - c->begin) * bytes);
    atomic_store_explicit(&crew->own->copied, crew->board->taken, memory_order_release);
    publish(crew->runner, &crew->own->staged, c->number + 1);
    return BANYAN_SUCCESS;
}

static banyan_status wait_for_inputs(banyan_crew *crew, const chunk *c, banyan_error *err)
{
    const banyan_run_request *request = crew->runner->request;
    banyan_board *board = crew->board;

    for (int i = 1; i < board->count; i++) {
        int place = (board->place + i) % board->count;
        banyan_status status = wait_for(crew, place, &board->seats[place]->staged, c->number + 1, err);

        if (status)
            return status;
        if (request->label_bytes &&
            memcmp(slot_of(crew, place, c)->label, request->label, request->label_bytes) != 0) {
            crew->stranger = place;
            memcpy(crew->strange_label, slot_of(crew, place, c)->label, BANYAN_BOARD_LABEL_BYTES);
            return BANYAN_MISMATCH;
        }
    }
    return BANYAN_SUCCESS;
}

static banyan_status take_sums(banyan_crew *crew, const chunk *c, banyan_error *err)
{
    banyan_board *board = crew->board;
    size_t begin, end;

    for (int i = 1; i < board->count; i++) {
        int place = (board->place + i) % board->count;
        banyan_status status = wait_for(crew, place, &board->seats[place]->summed, c->number + 1, err);

        if (status)
            return status;
        find_share(c, place, &begin, &end);
        scatter(crew, begin, end,
                slot_of(crew, place, c)->data + (begin - c->begin) * crew->runner->element_bytes);
    }
    crew->board->taken = c->number + 1;
    publish(crew->runner, &crew->own->copied, crew->board->taken);
    return BANYAN_SUCCESS;
}

/* ---- Runs. */

/* That we are done with the slot is told with the next one that we fill: nobody needs it before. */
static banyan_status run_short(banyan_crew *crew, banyan_error *err)
{
    chunk c = {.number = crew->board->filled, .end = crew->runner->request->count};
    banyan_status status;

    status = stage(crew, &c, c.end, c.end, err);
    if (!status)
        status = wait_for_inputs(crew, &c, err);
    if (status)
        return status;
    add_up(crew, &c, 0, c.end, 0);
    crew->board->taken = ++crew->board->filled;
    return BANYAN_SUCCESS;
}

static banyan_status stage_shares(banyan_crew *crew, chunk *c, size_t begin, size_t end, banyan_error *err)
{
    size_t own_begin, own_end;

    c->number = crew->board->filled++;
    cut_chunk(crew, c, begin, end);
    find_share(c, crew->board->place, &own_begin, &own_end);
    return stage(crew, c, own_begin, own_end, err);
}

/* Of a chunk. */
static size_t most_elements(const banyan_crew *crew)
{
    size_t ranks = (size_t)crew->board->count, fits = BANYAN_BOARD_SLOT_BYTES / ranks;
    size_t share = least(crew->board->yields ? CROWDED_SHARE_BYTES : SHARE_BYTES, fits);

    return share / BANYAN_BOARD_LINE * BANYAN_BOARD_LINE / crew->runner->element_bytes * ranks;
}

static banyan_status sum_share(banyan_crew *crew, const chunk *c, banyan_error *err)
{
    size_t begin, end;
    banyan_status status = wait_for_inputs(crew, c, err);

    if (status)
        return status;
    find_share(c, crew->board->place, &begin, &end);
    add_up(crew, c, begin, end, 1);
    publish(crew->runner, &crew->own->summed, c->number + 1);
    return BANYAN_SUCCESS;
}

/* While one chunk is added up the next is on show already, and the sums of the one before are taken: whatever is waited
 * for should have happened a chunk ago. */
static banyan_status run_long(banyan_crew *crew, banyan_error *err)
{
    size_t count = crew->runner->request->count, most = most_elements(crew);
    chunk before = {0}, now = {0}, next = {0}; /* empty: there is none */
    banyan_status status;

    crew->deadline_ns = banyan_clock_ns() + (int64_t)crew->runner->request->timeout_ms * 1000000;
    crew->is_far = count * crew->runner->element_bytes >= FAR_BYTES;
    crew->is_past_cache = crew->is_far && banyan_vector_parts_apart(&crew->runner->vector) > 0;
    status = stage_shares(crew, &next, 0, least(most, count), err);
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
    bind(crew, request->count);
    if (request->count * runner->element_bytes <= SHORT_BYTES / ranks)
        status = run_short(crew, err);
    else
        status = run_long(crew, err);
    if (crew->stranger >= 0)
        status = meet_stranger(crew, err);
    else if (crew->late >= 0)
        status = time_out(crew, err);
    crew->board->calls++;
    crew->runner = NULL;
    return status;
}

void banyan_crew_announce(const banyan_runner *runner)
{
    const banyan_run_request *request = runner->request;
    banyan_board *board = runner->board;
    banyan_seat *seat = board->seats[board->place];
    uint64_t words[BANYAN_BOARD_LABEL_BYTES / sizeof(uint64_t)] = {0};

    if (request->label_bytes)
        memcpy(words, request->label, request->label_bytes);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        atomic_store_explicit(&seat->elsewhere_label[i], words[i], memory_order_relaxed);
    publish(runner, &seat->elsewhere, ++board->calls);
}
