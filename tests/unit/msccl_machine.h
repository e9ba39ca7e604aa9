/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/msccl_machine.h: runs an MSCCL program in a random interleaving, the way a runtime might: an
 * independent witness for what the judge says without running. Values are plain counts of (rank, chunk). */
#ifndef BANYAN_TEST_MSCCL_MACHINE_H
#define BANYAN_TEST_MSCCL_MACHINE_H

#include <stdlib.h>

#include "core/random.h"
#include "schedule/msccl.h"

enum { RUN_RIGHT, RUN_WRONG, RUN_STUCK };

typedef struct {
    const banyan_msccl_program *program;
    int slots, in_place, values; /* counts a value */
    int *next, *done;            /* by block: its next step; steps finished */
    int *sent, *received;        /* by block that sends: messages so far; by block that receives */
    int *cells, *messages;       /* values; a message for each step that sends */
    int cells_a_rank;
} interleaver;

static int *cell(interleaver *in, int rank, char buffer, int offset)
{
    int chunks = in->program->chunk_count, at;

    if (buffer == 's')
        at = 2 * chunks + offset;
    else
        at = banyan_msccl_position(in->program, rank, buffer, offset) +
             (buffer == 'o' && !in->in_place ? chunks : 0);
    return in->cells + (size_t)(rank * in->cells_a_rank + at) * (size_t)in->values;
}

/* The block at the other end; -1: there is none. */
static int other_end(const banyan_msccl_program *program, int block, int is_sender)
{
    const banyan_msccl_block *a = &program->blocks[block];

    for (int b = 0; b < program->block_count; b++) {
        const banyan_msccl_block *o = &program->blocks[b];
        int receives = 0, sends = 0;

        for (int s = 0; s < o->step_count; s++) {
            receives |= banyan_msccl_can(program->steps[o->first_step + s].type)->receives;
            sends |= banyan_msccl_can(program->steps[o->first_step + s].type)->sends;
        }
        if (o->chan == a->chan && (is_sender ? receives && o->rank == a->send && o->recv == a->rank
                                             : sends && o->rank == a->recv && o->send == a->rank))
            return b;
    }
    return -1;
}

/* The k-th step of the block that sends; -1: none. */
static int nth_send(const banyan_msccl_program *program, int block, int k)
{
    const banyan_msccl_block *b = &program->blocks[block];

    for (int s = 0; s < b->step_count; s++)
        if (banyan_msccl_can(program->steps[b->first_step + s].type)->sends && k-- == 0)
            return b->first_step + s;
    return -1;
}

static int may_run(const interleaver *in, int block)
{
    const banyan_msccl_program *program = in->program;
    const banyan_msccl_block *b = &program->blocks[block];
    const banyan_msccl_step *s;
    int peer;

    if (in->next[block] == b->step_count)
        return 0;
    s = &program->steps[b->first_step + in->next[block]];
    if (s->depid >= 0 && in->done[program->ranks[b->rank].first_block + s->depid] <= s->deps)
        return 0;
    if (banyan_msccl_can(s->type)->receives) {
        peer = other_end(program, block, 0);
        if (peer < 0 || in->sent[peer] <= in->received[block])
            return 0;
    }
    if (banyan_msccl_can(s->type)->sends) {
        peer = other_end(program, block, 1);
        if (peer < 0 || in->sent[block] - in->received[peer] >= in->slots)
            return 0;
    }
    return 1;
}

static void run_step(interleaver *in, int block)
{
    const banyan_msccl_program *program = in->program;
    const banyan_msccl_block *b = &program->blocks[block];
    int step = b->first_step + in->next[block]++, from = -1;
    const banyan_msccl_step *s = &program->steps[step];
    const banyan_msccl_ability *can = banyan_msccl_can(s->type);

    if (can->receives)
        from = nth_send(program, other_end(program, block, 0), in->received[block]++);
    for (int c = 0; c < s->cnt && s->type != BANYAN_MSCCL_NOP; c++)
        for (int v = 0; v < in->values; v++) {
            int value = 0;

            if (from >= 0)
                value += in->messages[(from * BANYAN_MSCCL_COUNT + c) * in->values + v];
            if (can->reads)
                value += cell(in, b->rank, s->srcbuf, s->srcoff + c)[v];
            if (s->type == BANYAN_MSCCL_LOCAL_REDUCE)
                value += cell(in, b->rank, s->dstbuf, s->dstoff + c)[v];
            value = value > 1000 ? 1000 : value; /* wrong enough */
            if (can->sends)
                in->messages[(step * BANYAN_MSCCL_COUNT + c) * in->values + v] = value;
            if (can->writes)
                cell(in, b->rank, s->dstbuf, s->dstoff + c)[v] = value;
        }
    in->sent[block] += can->sends;
    in->done[block]++;
}

/* Only all-reduce is looked at: every chunk at every rank, each rank's chunk once and nothing else. */
static int is_right(interleaver *in)
{
    const banyan_msccl_program *program = in->program;

    for (int r = 0; r < program->rank_count; r++)
        for (int c = 0; c < program->chunk_count; c++)
            for (int v = 0; v < in->values; v++)
                if (cell(in, r, 'o', c)[v] != (v % program->chunk_count == c))
                    return 0;
    return 1;
}

static int run_interleaved(const banyan_msccl_program *program, int slots, banyan_random *random)
{
    int blocks = program->block_count, left = program->step_count, scratch = 0, result = RUN_STUCK;
    interleaver in = {.program = program, .slots = slots, .in_place = program->in_place};
    size_t n = (size_t)blocks;

    for (int r = 0; r < program->rank_count; r++)
        scratch = program->ranks[r].s_chunks > scratch ? program->ranks[r].s_chunks : scratch;
    in.values = program->rank_count * program->chunk_count;
    in.cells_a_rank = 2 * program->chunk_count + scratch;
    in.next = calloc(4 * n + 1, sizeof *in.next);
    in.done = in.next + n;
    in.sent = in.done + n;
    in.received = in.sent + n;
    in.cells = calloc((size_t)(program->rank_count * in.cells_a_rank * in.values), sizeof *in.cells);
    in.messages =
        calloc((size_t)(program->step_count * BANYAN_MSCCL_COUNT * in.values) + 1, sizeof *in.messages);
    for (int r = 0; r < program->rank_count; r++)
        for (int c = 0; c < program->chunk_count; c++)
            cell(&in, r, 'i', c)[r * program->chunk_count + c] = 1;
    while (left > 0) {
        int start = banyan_random_below(random, blocks), tries = 0;

        while (tries < blocks && !may_run(&in, (start + tries) % blocks))
            tries++;
        if (tries == blocks)
            goto out;
        run_step(&in, (start + tries) % blocks);
        left--;
    }
    result = is_right(&in) ? RUN_RIGHT : RUN_WRONG;
    for (int b = 0; b < blocks; b++) /* nothing may be left over */
        if (in.sent[b] && in.sent[b] != in.received[other_end(program, b, 1)])
            result = RUN_WRONG;
out:
    free(in.next);
    free(in.cells);
    free(in.messages);
    return result;
}

#endif
