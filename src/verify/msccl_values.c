/* SPDX-License-Identifier: Apache-2.0 */
/* verify/msccl_values.c: runs the program once on symbols. A value is the multiset of the (rank, chunk) that
 * have been added up in it.
 *
 * No result holds anything twice or two different chunks, and adding never takes anything away. So a value
 * that once goes wrong in such a way can never be part of a right result, and it is enough to remember where
 * it happened. All others are one chunk number and a set of ranks: a set of bits. Values that nobody has
 * added to are only a number. Cost: chunks moved x ranks / 64. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "verify/msccl_judge.h"

#define NOTHING (-1)                /* nobody has written there */
#define MAX_CELLS ((size_t)1 << 28) /* of all ranks together */

typedef enum { SOUND, TWICE, MIXED, UNWRITTEN } soundness;

/* Values from rank_count * chunk_count on; the ones below are the ranks' own chunks. */
typedef struct {
    soundness soundness;
    int chunk;       /* SOUND; MIXED: the first of the two chunks */
    int rank;        /* TWICE: whose contribution */
    int other, step; /* MIXED: the second chunk; where it went wrong */
} value;

typedef struct {
    banyan_msccl_judge *judge;
    int ranks, chunks, own; /* own = ranks * chunks */
    size_t words;           /* of a set of ranks */
    value *values;
    uint64_t *bits;
    size_t value_count, value_capacity, bit_capacity;
    size_t *cell_first; /* by rank */
    int *cells;         /* by cell: value */
    int *writer;        /* by cell: the last step that wrote it, or -1 */
    size_t *message_first;
    int *messages; /* by step that sends: the values sent */
    int root;
    int failed;
} machine;

static int chunk_of(const machine *in, int v)
{
    return v < in->own ? v % in->chunks : in->values[v - in->own].chunk;
}

static int has_rank(const machine *in, int v, int rank)
{
    if (v < in->own)
        return v / in->chunks == rank;
    return (int)(in->bits[(size_t)(v - in->own) * in->words + (size_t)rank / 64] >> (rank % 64) & 1);
}

static int is_sound(const machine *in, int v)
{
    return v >= 0 && (v < in->own || in->values[v - in->own].soundness == SOUND);
}

static int new_value(machine *in, value v)
{
    void *values = in->values, *bits = in->bits;
    int fits = banyan_grow(&values, in->value_count, &in->value_capacity, sizeof *in->values);

    in->values = values;
    fits = fits && in->value_count < (size_t)(INT32_MAX - in->own) &&
           banyan_grow(&bits, in->value_count, &in->bit_capacity, in->words * sizeof *in->bits);
    in->bits = bits;
    if (!fits) {
        in->failed = 1;
        return NOTHING;
    }
    in->values[in->value_count] = v;
    memset(in->bits + in->value_count * in->words, 0, in->words * sizeof *in->bits);
    return in->own + (int)in->value_count++;
}

static void add_bits(machine *in, uint64_t *into, int v)
{
    if (v < in->own)
        into[v / in->chunks / 64] |= (uint64_t)1 << (v / in->chunks % 64);
    else
        for (size_t w = 0; w < in->words; w++)
            into[w] |= in->bits[(size_t)(v - in->own) * in->words + w];
}

static int first_common(const machine *in, int a, int b)
{
    for (int rank = 0; rank < in->ranks; rank++)
        if (has_rank(in, a, rank) && has_rank(in, b, rank))
            return rank;
    return -1;
}

/* Sets of one word, or a rank's own chunk, meet in no loop over ranks; only a clash is looked for in one. */
static int may_clash(const machine *in, int a, int b)
{
    if (a < in->own)
        return has_rank(in, b, a / in->chunks);
    if (b < in->own)
        return has_rank(in, a, b / in->chunks);
    for (size_t w = 0; w < in->words; w++)
        if (in->bits[(size_t)(a - in->own) * in->words + w] & in->bits[(size_t)(b - in->own) * in->words + w])
            return 1;
    return 0;
}

static int sum(machine *in, int a, int b, int step)
{
    int result;

    if (!is_sound(in, a) || a == NOTHING)
        return a;
    if (!is_sound(in, b))
        return b;
    if (chunk_of(in, a) != chunk_of(in, b))
        return new_value(in, (value){MIXED, chunk_of(in, a), -1, chunk_of(in, b), step});
    if (may_clash(in, a, b))
        return new_value(in, (value){TWICE, chunk_of(in, a), first_common(in, a, b), -1, step});
    result = new_value(in, (value){SOUND, chunk_of(in, a), -1, -1, step});
    if (in->failed)
        return NOTHING;
    add_bits(in, in->bits + (size_t)(result - in->own) * in->words, a);
    add_bits(in, in->bits + (size_t)(result - in->own) * in->words, b);
    return result;
}

static int *cell_at(machine *in, int rank, char buffer, int offset)
{
    return &in->cells[in->cell_first[rank] + banyan_msccl_cell(in->judge, rank, buffer, offset)];
}

/* What nobody has written is a problem once; from there on the value is just unsound. */
static int load(machine *in, int step, int rank, char buffer, int offset)
{
    int v = *cell_at(in, rank, buffer, offset);
    char name[80];

    if (v != NOTHING || in->failed)
        return v;
    banyan_msccl_complain(in->judge, "%s reads %c %d, where nothing has been written yet",
                          banyan_msccl_step_name(in->judge->program, step, name, sizeof name), buffer,
                          offset);
    return new_value(in, (value){UNWRITTEN, -1, -1, -1, step});
}

static void run_chunk(machine *in, int step, int c)
{
    const banyan_msccl_program *program = in->judge->program;
    const banyan_msccl_step *s = &program->steps[step];
    const banyan_msccl_ability *can = banyan_msccl_can(s->type);
    int rank = program->blocks[s->block].rank, v = NOTHING;
    int sender = in->judge->graph->after[step][BANYAN_MSCCL_AFTER_SEND];

    if (can->receives)
        v = in->messages[in->message_first[sender] + (size_t)c];
    if (can->reads) {
        int own = load(in, step, rank, s->srcbuf, s->srcoff + c);

        v = can->receives ? sum(in, v, own, step) : own;
    }
    if (s->type == BANYAN_MSCCL_LOCAL_REDUCE)
        v = sum(in, load(in, step, rank, s->dstbuf, s->dstoff + c), v, step);
    if (can->sends)
        in->messages[in->message_first[step] + (size_t)c] = v;
    if (can->writes) {
        int *cell = cell_at(in, rank, s->dstbuf, s->dstoff + c);

        *cell = v;
        in->writer[cell - in->cells] = step;
    }
}

static void run(machine *in)
{
    const banyan_msccl_program *program = in->judge->program;
    size_t cells = in->cell_first[in->ranks];

    for (size_t i = 0; i < cells; i++)
        in->cells[i] = in->writer[i] = NOTHING;
    for (int rank = 0; rank < in->ranks; rank++) {
        /* The others' input of a broadcast may be no memory at all. */
        if (program->collective == BANYAN_COLLECTIVE_BROADCAST && in->root >= 0 && rank != in->root)
            continue;
        for (int c = 0; c < banyan_msccl_input_chunks(program); c++)
            *cell_at(in, rank, 'i', c) = rank * in->chunks + banyan_msccl_position(program, rank, 'i', c);
    }
    in->value_count = 0;
    for (int i = 0; i < program->step_count && !in->failed; i++) {
        int step = in->judge->graph->order[i];

        for (int c = 0; c < program->steps[step].cnt && program->steps[step].type != BANYAN_MSCCL_NOP; c++)
            run_chunk(in, step, c);
    }
}

/* The one rank whose contribution a right result has, or -1 where it has all. */
static int lone_contributor(const machine *in, int chunk)
{
    switch (in->judge->program->collective) {
    case BANYAN_COLLECTIVE_ALLGATHER:
        return chunk / (in->chunks / in->ranks);
    case BANYAN_COLLECTIVE_BROADCAST:
        return in->root;
    default:
        return -1;
    }
}

static void complain_unsound(machine *in, int rank, int chunk, const value *v, const char *by)
{
    char name[80];

    banyan_msccl_step_name(in->judge->program, v->step, name, sizeof name);
    if (v->soundness == TWICE)
        banyan_msccl_complain(in->judge, "rank %d ends with chunk %d wrong%s: rank %d is counted twice at %s",
                              rank, chunk, by, v->rank, name);
    else if (v->soundness == MIXED)
        banyan_msccl_complain(in->judge, "rank %d ends with chunk %d wrong%s: %s adds chunk %d to chunk %d",
                              rank, chunk, by, name, v->other, v->chunk);
    else
        banyan_msccl_complain(in->judge, "rank %d ends with chunk %d wrong%s: %s read what was not there",
                              rank, chunk, by, name);
}

static void judge_cell(machine *in, int rank, int offset)
{
    int chunk = banyan_msccl_position(in->judge->program, rank, 'o', offset);
    size_t cell = (size_t)(cell_at(in, rank, 'o', offset) - in->cells);
    int v = in->cells[cell], lone = lone_contributor(in, chunk), writer = in->writer[cell];
    char name[80], by[120] = "";

    if (writer >= 0)
        snprintf(by, sizeof by, ", last written by %s",
                 banyan_msccl_step_name(in->judge->program, writer, name, sizeof name));
    if (v == NOTHING) {
        banyan_msccl_complain(in->judge, "rank %d ends without chunk %d: nothing writes it", rank, chunk);
    } else if (!is_sound(in, v)) {
        complain_unsound(in, rank, chunk, &in->values[v - in->own], by);
    } else if (chunk_of(in, v) != chunk) {
        banyan_msccl_complain(in->judge, "rank %d ends with chunk %d wrong%s: it holds chunk %d", rank, chunk,
                              by, chunk_of(in, v));
    } else {
        for (int r = 0; r < in->ranks; r++) {
            int wanted = lone < 0 || r == lone;

            if (has_rank(in, v, r) == wanted)
                continue;
            banyan_msccl_complain(in->judge, "rank %d ends with chunk %d wrong%s: rank %d is %s", rank, chunk,
                                  by, r, wanted ? "missing" : "in it");
            return;
        }
    }
}

/* Files do not say the root of a broadcast or reduce: the rank that is seen most in what they give. */
static int guess_root(machine *in)
{
    const banyan_msccl_program *program = in->judge->program;
    int best = 0, best_count = -1;

    for (int candidate = 0; candidate < in->ranks; candidate++) {
        int count = 0;

        for (int c = 0; c < in->chunks; c++) {
            int is_broadcast = program->collective == BANYAN_COLLECTIVE_BROADCAST;
            int at = is_broadcast ? (candidate + 1) % in->ranks : candidate;
            int v = *cell_at(in, at, 'o', c), full = is_sound(in, v) && chunk_of(in, v) == c;

            for (int r = 0; r < in->ranks && full; r++)
                full = has_rank(in, v, r) == (is_broadcast ? r == candidate : 1);
            count += full;
        }
        if (count > best_count) {
            best = candidate;
            best_count = count;
        }
    }
    return best;
}

static void judge_outputs(machine *in)
{
    const banyan_msccl_program *program = in->judge->program;

    for (int rank = 0; rank < in->ranks; rank++)
        for (int c = 0; c < banyan_msccl_output_chunks(program); c++)
            if (program->collective != BANYAN_COLLECTIVE_REDUCE || rank == in->root)
                judge_cell(in, rank, c);
}

static int make_room(machine *in)
{
    const banyan_msccl_program *program = in->judge->program;
    size_t cells = 0, sent = 0;

    in->cell_first = banyan_alloc((size_t)in->ranks + 1, sizeof *in->cell_first);
    in->message_first = banyan_alloc((size_t)program->step_count, sizeof *in->message_first);
    if (!in->cell_first || !in->message_first)
        return 0;
    for (int r = 0; r < in->ranks; r++) {
        in->cell_first[r] = cells;
        cells += banyan_msccl_cell_count(in->judge, r);
    }
    in->cell_first[in->ranks] = cells;
    for (int i = 0; i < program->step_count; i++) {
        in->message_first[i] = sent;
        sent += banyan_msccl_can(program->steps[i].type)->sends ? (size_t)program->steps[i].cnt : 0;
    }
    if (cells > MAX_CELLS)
        return 0;
    in->cells = banyan_alloc(cells, sizeof *in->cells);
    in->writer = banyan_alloc(cells, sizeof *in->writer);
    in->messages = banyan_alloc(sent, sizeof *in->messages);
    return in->cells && in->writer && in->messages;
}

banyan_status banyan_msccl_judge_values(banyan_msccl_judge *judge, banyan_error *err)
{
    const banyan_msccl_program *program = judge->program;
    machine in = {.judge = judge,
                  .ranks = program->rank_count,
                  .chunks = program->chunk_count,
                  .own = program->rank_count * program->chunk_count,
                  .words = ((size_t)program->rank_count + 63) / 64,
                  .root = program->root};
    int rooted =
        program->collective == BANYAN_COLLECTIVE_BROADCAST || program->collective == BANYAN_COLLECTIVE_REDUCE;
    long before = judge->verdict->problem_count;

    in.failed = !make_room(&in);
    if (!in.failed)
        run(&in);
    if (!in.failed && rooted && in.root < 0) {
        in.root = guess_root(&in);
        judge->verdict->problem_count = before; /* the second run says them again */
        run(&in);
    }
    if (!in.failed)
        judge_outputs(&in);
    banyan_free(in.cell_first);
    banyan_free(in.message_first);
    banyan_free(in.cells);
    banyan_free(in.writer);
    banyan_free(in.messages);
    banyan_free(in.values);
    banyan_free(in.bits);
    return in.failed ? banyan_fail_memory(err) : BANYAN_SUCCESS;
}
