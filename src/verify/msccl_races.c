/* SPDX-License-Identifier: Apache-2.0 */
/* verify/msccl_races.c: no two accesses to a chunk, of which one writes, are unordered.
 *
 * A cell belongs to one rank, so we take the ranks one at a time. Every step of the program gets a clock with
 * one hand for each thread block of that rank: how many of the block's steps are surely done before it. It is
 * the maximum of the clocks of the (at most three) steps that it surely waits for. Step a is before step b
 * exactly when b's hand for a's block is past a.
 *
 * Then we walk the rank's steps in a possible order. A read must come after the cell's last write; a write
 * after the last write and all reads since. If these few pairs are in order, all pairs are, and a pair that
 * is not is a race for sure. Cost: steps x blocks of a rank, in batches of blocks so that memory stays
 * small. */
#include <string.h>

#include "core/alloc.h"
#include "verify/msccl_judge.h"

#define CLOCK_ENTRIES ((size_t)1 << 24) /* of one batch */

typedef struct {
    int step, next;
} reading;

typedef struct {
    banyan_msccl_judge *judge;
    int *by_rank, *rank_first; /* steps in order, rank by rank */
    int *clock;                /* by step and block of the batch */
    int batch_first, batch;    /* blocks whose hands the clock has */
    int is_looking, has_met;   /* only looking whether two blocks of a rank ever meet on a cell */
    int *last_write;           /* by cell: step, or -1 */
    int *readers;              /* by cell: list of readings since, or -1 */
    reading *readings;
    size_t reading_count, reading_capacity;
    int failed;
} racer;

static void tick(racer *in, int step)
{
    const banyan_msccl_program *program = in->judge->program;
    const int *after = in->judge->graph->after[step];
    int *clock = in->clock + (size_t)step * (size_t)in->batch, block = program->steps[step].block;

    memset(clock, 0, (size_t)in->batch * sizeof *clock);
    for (int k = 0; k < BANYAN_MSCCL_AFTER_COUNT; k++) {
        const int *other;

        /* A runtime may hold more messages than we ask for, so a full connection orders nothing. */
        if (after[k] < 0 || k == BANYAN_MSCCL_AFTER_SLOT)
            continue;
        other = in->clock + (size_t)after[k] * (size_t)in->batch;
        for (int b = 0; b < in->batch; b++)
            clock[b] = clock[b] > other[b] ? clock[b] : other[b];
    }
    if (block >= in->batch_first && block < in->batch_first + in->batch)
        clock[block - in->batch_first] = banyan_msccl_step_number(program, step) + 1;
}

/* Looks only at pairs whose first step's block is in the batch. */
static void expect_before(racer *in, int first, int second, char buffer, int offset)
{
    const banyan_msccl_program *program = in->judge->program;
    int hand = first < 0 ? -1 : program->steps[first].block - in->batch_first;
    char a[80], b[80];

    if (in->is_looking) {
        in->has_met |= first >= 0 && program->steps[first].block != program->steps[second].block;
        return;
    }
    if (hand < 0 || hand >= in->batch || first == second ||
        in->clock[(size_t)second * (size_t)in->batch + (size_t)hand] >
            banyan_msccl_step_number(program, first))
        return;
    banyan_msccl_complain(in->judge, "race on %c %d: nothing orders %s (%s) and %s (%s)", buffer, offset,
                          banyan_msccl_step_name(program, first, a, sizeof a),
                          banyan_msccl_can(program->steps[first].type)->text,
                          banyan_msccl_step_name(program, second, b, sizeof b),
                          banyan_msccl_can(program->steps[second].type)->text);
}

static void read_cell(racer *in, int step, size_t cell, char buffer, int offset)
{
    void *readings = in->readings;

    expect_before(in, in->last_write[cell], step, buffer, offset);
    if (!banyan_grow(&readings, in->reading_count, &in->reading_capacity, sizeof *in->readings)) {
        in->failed = 1;
        return;
    }
    in->readings = readings;
    in->readings[in->reading_count] = (reading){step, in->readers[cell]};
    in->readers[cell] = (int)in->reading_count++;
}

static void write_cell(racer *in, int step, size_t cell, char buffer, int offset)
{
    expect_before(in, in->last_write[cell], step, buffer, offset);
    for (int i = in->readers[cell]; i >= 0; i = in->readings[i].next)
        expect_before(in, in->readings[i].step, step, buffer, offset);
    in->readers[cell] = -1;
    in->last_write[cell] = step;
}

static void access_cells(racer *in, int rank, int step)
{
    const banyan_msccl_step *s = &in->judge->program->steps[step];
    const banyan_msccl_ability *can = banyan_msccl_can(s->type);
    /* In place, a copy from the input to the output may be one onto itself, which changes nothing. */
    int is_idle =
        s->type == BANYAN_MSCCL_LOCAL_COPY && banyan_msccl_cell(in->judge, rank, s->srcbuf, s->srcoff) ==
                                                  banyan_msccl_cell(in->judge, rank, s->dstbuf, s->dstoff);

    for (int c = 0; can->reads && c < s->cnt; c++)
        read_cell(in, step, banyan_msccl_cell(in->judge, rank, s->srcbuf, s->srcoff + c), s->srcbuf,
                  s->srcoff + c);
    for (int c = 0; can->writes && !is_idle && c < s->cnt; c++)
        write_cell(in, step, banyan_msccl_cell(in->judge, rank, s->dstbuf, s->dstoff + c), s->dstbuf,
                   s->dstoff + c);
}

static banyan_status walk_rank(racer *in, int rank, banyan_error *err)
{
    size_t cells = banyan_msccl_cell_count(in->judge, rank);

    for (size_t i = 0; i < cells; i++)
        in->last_write[i] = in->readers[i] = -1;
    in->reading_count = 0;
    for (int i = in->rank_first[rank]; i < in->rank_first[rank + 1] && !in->failed; i++)
        access_cells(in, rank, in->by_rank[i]);
    return in->failed ? banyan_fail_memory(err) : BANYAN_SUCCESS;
}

static banyan_status judge_rank(racer *in, int rank, banyan_error *err)
{
    const banyan_msccl_program *program = in->judge->program;
    size_t steps = (size_t)program->step_count + 1, wide = CLOCK_ENTRIES / steps + 1;
    const banyan_msccl_rank *r = &program->ranks[rank];
    int end = r->first_block + r->block_count;
    banyan_status status = BANYAN_SUCCESS;

    in->is_looking = 1;
    in->has_met = 0;
    status = walk_rank(in, rank, err);
    in->is_looking = 0;
    if (status || !in->has_met)
        return status; /* the order inside the blocks says it all */
    wide = wide < (size_t)r->block_count ? wide : (size_t)r->block_count;
    in->clock = banyan_alloc(steps * wide, sizeof *in->clock);
    if (!in->clock)
        return banyan_fail_memory(err);
    for (in->batch_first = r->first_block; !status && in->batch_first < end; in->batch_first += (int)wide) {
        in->batch = end - in->batch_first < (int)wide ? end - in->batch_first : (int)wide;
        for (int i = 0; i < program->step_count; i++)
            tick(in, in->judge->graph->order[i]);
        status = walk_rank(in, rank, err);
    }
    banyan_free(in->clock);
    in->clock = NULL;
    return status;
}

/* Sorts the steps by rank, keeping their order. */
static void sort_by_rank(racer *in)
{
    const banyan_msccl_program *program = in->judge->program;
    int *first = in->rank_first;

    for (int i = 0; i < program->step_count; i++)
        first[program->blocks[program->steps[i].block].rank + 1]++;
    for (int r = 0; r < program->rank_count; r++)
        first[r + 1] += first[r];
    for (int i = program->step_count - 1; i >= 0; i--) {
        int step = in->judge->graph->order[i];

        in->by_rank[--first[program->blocks[program->steps[step].block].rank + 1]] = step;
    }
    /* Each first[r + 1] has come down to where rank r begins. */
    for (int r = 0; r < program->rank_count; r++)
        first[r] = first[r + 1];
    first[program->rank_count] = program->step_count;
}

banyan_status banyan_msccl_judge_races(banyan_msccl_judge *judge, banyan_error *err)
{
    const banyan_msccl_program *program = judge->program;
    racer in = {.judge = judge};
    banyan_status status = BANYAN_SUCCESS;
    size_t most_cells = 0;

    for (int r = 0; r < program->rank_count; r++)
        if (banyan_msccl_cell_count(judge, r) > most_cells)
            most_cells = banyan_msccl_cell_count(judge, r);
    in.by_rank = banyan_alloc((size_t)program->step_count, sizeof *in.by_rank);
    in.rank_first = banyan_alloc((size_t)program->rank_count + 1, sizeof *in.rank_first);
    in.last_write = banyan_alloc(most_cells, sizeof *in.last_write);
    in.readers = banyan_alloc(most_cells, sizeof *in.readers);
    if (in.by_rank && in.rank_first && in.last_write && in.readers) {
        sort_by_rank(&in);
        for (int r = 0; r < program->rank_count && !status; r++)
            status = judge_rank(&in, r, err);
    } else {
        status = banyan_fail_memory(err);
    }
    banyan_free(in.by_rank);
    banyan_free(in.rank_first);
    banyan_free(in.last_write);
    banyan_free(in.readers);
    banyan_free(in.readings);
    return status;
}
