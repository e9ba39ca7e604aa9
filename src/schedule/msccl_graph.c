/* SPDX-License-Identifier: Apache-2.0 */
/* schedule/msccl_graph.c: who waits for whom. Connections are found by sorting their two ends; the k-th send
 * meets the k-th receive. The order is Kahn's; where it gets stuck we walk backwards over steps that still
 * wait until one comes again: that is a deadlock. Cost: steps, plus a sort of the blocks. */
#include "schedule/msccl_graph.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"

typedef struct {
    int src, dst, chan, block;
} end;

typedef struct {
    const banyan_msccl_program *program;
    int slots;
    banyan_msccl_reporter report;
    void *context;
    int problems;
    banyan_msccl_graph *graph;
    end *sends, *receives; /* the two ends of every connection, sorted */
    int send_count, receive_count;
} linker;

__attribute__((format(printf, 2, 3))) static void complain(linker *in, const char *format, ...)
{
    char sentence[320];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    in->problems++;
    in->report(in->context, sentence);
}

static const banyan_msccl_ability *can(const linker *in, int step)
{
    return banyan_msccl_can(in->program->steps[step].type);
}

/* The step must exist, publish, and be able to. */
static void link_dependency(linker *in, int step)
{
    const banyan_msccl_program *program = in->program;
    const banyan_msccl_step *s = &program->steps[step];
    const banyan_msccl_rank *rank = &program->ranks[program->blocks[s->block].rank];
    char name[80];
    int awaited;

    if (s->depid < 0)
        return;
    banyan_msccl_step_name(program, step, name, sizeof name);
    if (s->depid >= rank->block_count) {
        complain(in, "%s waits for tb %d, and the rank has %d", name, s->depid, rank->block_count);
        return;
    }
    const banyan_msccl_block *block = &program->blocks[rank->first_block + s->depid];

    if (s->deps < 0 || s->deps >= block->step_count) {
        complain(in, "%s waits for step %d of tb %d, which has %d steps", name, s->deps, s->depid,
                 block->step_count);
        return;
    }
    awaited = block->first_step + s->deps;
    if (program->steps[awaited].type == BANYAN_MSCCL_NOP)
        complain(in, "%s waits for step %d of tb %d, a nop, which never publishes", name, s->deps, s->depid);
    else if (!program->steps[awaited].hasdep)
        complain(in, "%s waits for step %d of tb %d, which has hasdep=\"0\" and never publishes", name,
                 s->deps, s->depid);
    in->graph->after[step][BANYAN_MSCCL_AFTER_DEPENDENCY] = awaited;
}

/* A nop hands its dependency to the next step, which must have one of its own. */
static void check_nop(linker *in, int step, int last)
{
    const banyan_msccl_step *steps = in->program->steps;
    char name[80];

    if (steps[step].type != BANYAN_MSCCL_NOP)
        return;
    banyan_msccl_step_name(in->program, step, name, sizeof name);
    if (steps[step].depid < 0)
        complain(in, "%s is a nop that waits for nothing", name);
    else if (step == last)
        complain(in, "%s is a nop at the end of its tb: nobody takes over its dependency", name);
    else if (steps[step + 1].depid < 0)
        complain(in, "%s is a nop, so the step after it must have a dependency too", name);
}

static void check_peers(linker *in, int step)
{
    const banyan_msccl_block *block = &in->program->blocks[in->program->steps[step].block];
    char name[80];

    if (can(in, step)->sends && block->send < 0)
        complain(in, "%s sends, but its tb has send=\"-1\"",
                 banyan_msccl_step_name(in->program, step, name, sizeof name));
    if (can(in, step)->receives && block->recv < 0)
        complain(in, "%s receives, but its tb has recv=\"-1\"",
                 banyan_msccl_step_name(in->program, step, name, sizeof name));
}

static void link_block(linker *in, int index)
{
    const banyan_msccl_block *block = &in->program->blocks[index];
    int first = block->first_step, last = first + block->step_count - 1, sends = 0, receives = 0;

    for (int step = first; step <= last; step++) {
        int *after = in->graph->after[step];

        for (int i = 0; i < BANYAN_MSCCL_AFTER_COUNT; i++)
            after[i] = -1;
        in->graph->received_by[step] = -1;
        if (step > first)
            after[BANYAN_MSCCL_AFTER_STEP] = step - 1;
        link_dependency(in, step);
        check_nop(in, step, last);
        check_peers(in, step);
        sends += can(in, step)->sends;
        receives += can(in, step)->receives;
    }
    if (sends)
        in->sends[in->send_count++] = (end){block->rank, block->send, block->chan, index};
    if (receives)
        in->receives[in->receive_count++] = (end){block->recv, block->rank, block->chan, index};
}

static int compare_ends(const end *a, const end *b)
{
    if (a->src != b->src)
        return a->src < b->src ? -1 : 1;
    if (a->dst != b->dst)
        return a->dst < b->dst ? -1 : 1;
    return (a->chan > b->chan) - (a->chan < b->chan);
}

static int by_connection(const void *a, const void *b)
{
    const end *x = a, *y = b;
    int difference = compare_ends(x, y);

    return difference ? difference : (x->block > y->block) - (x->block < y->block);
}

static void check_owners(linker *in, const end *ends, int count, const char *does)
{
    for (int i = 1; i < count; i++)
        if (!compare_ends(&ends[i - 1], &ends[i]))
            complain(in,
                     "rank %d: tb %d and tb %d both %s the connection from rank %d to rank %d on channel %d",
                     in->program->blocks[ends[i].block].rank, in->program->blocks[ends[i - 1].block].id,
                     in->program->blocks[ends[i].block].id, does, ends[i].src, ends[i].dst, ends[i].chan);
}

/* The next step of the block, from step on, that sends (or receives); -1: none. */
static int next_message(const linker *in, int block, int step, int is_send)
{
    const banyan_msccl_block *b = &in->program->blocks[block];

    for (; step < b->first_step + b->step_count; step++)
        if (is_send ? can(in, step)->sends : can(in, step)->receives)
            return step;
    return -1;
}

static void match(linker *in, int send, int receive)
{
    const banyan_msccl_program *program = in->program;
    char sender[80], receiver[80];

    in->graph->after[receive][BANYAN_MSCCL_AFTER_SEND] = send;
    in->graph->received_by[send] = receive;
    if (program->steps[send].cnt != program->steps[receive].cnt)
        complain(in, "%s sends %d chunks, but %s, which meets it, receives %d",
                 banyan_msccl_step_name(program, send, sender, sizeof sender), program->steps[send].cnt,
                 banyan_msccl_step_name(program, receive, receiver, sizeof receiver),
                 program->steps[receive].cnt);
}

/* The k-th send meets the k-th receive and waits, beyond the slots, for the receive that frees one. */
static void match_connection(linker *in, const end *a, const end *b)
{
    const banyan_msccl_block *blocks = in->program->blocks;
    int send = next_message(in, a->block, blocks[a->block].first_step, 1);
    int receive = next_message(in, b->block, blocks[b->block].first_step, 0);
    int frees = receive, sent = 0;
    char name[80];

    while (send >= 0 && receive >= 0) {
        match(in, send, receive);
        if (in->slots > 0 && sent >= in->slots) {
            in->graph->after[send][BANYAN_MSCCL_AFTER_SLOT] = frees;
            frees = next_message(in, b->block, frees + 1, 0);
        }
        sent++;
        send = next_message(in, a->block, send + 1, 1);
        receive = next_message(in, b->block, receive + 1, 0);
    }
    if (send >= 0)
        complain(in, "%s sends to rank %d on channel %d, which has no receive left for it",
                 banyan_msccl_step_name(in->program, send, name, sizeof name), a->dst, a->chan);
    if (receive >= 0)
        complain(in, "%s receives from rank %d on channel %d, which has no send left for it",
                 banyan_msccl_step_name(in->program, receive, name, sizeof name), a->src, a->chan);
}

/* One side only. */
static void complain_alone(linker *in, const end *e, int is_send)
{
    int step = next_message(in, e->block, in->program->blocks[e->block].first_step, is_send);
    char name[80];

    banyan_msccl_step_name(in->program, step, name, sizeof name);
    if (is_send)
        complain(in, "%s sends to rank %d on channel %d, where no tb receives it", name, e->dst, e->chan);
    else
        complain(in, "%s receives from rank %d on channel %d, where no tb sends it", name, e->src, e->chan);
}

static void match_all(linker *in)
{
    int i = 0, j = 0;

    while (i < in->send_count || j < in->receive_count) {
        int difference = i >= in->send_count      ? 1
                         : j >= in->receive_count ? -1
                                                  : compare_ends(&in->sends[i], &in->receives[j]);

        if (difference < 0)
            complain_alone(in, &in->sends[i++], 1);
        else if (difference > 0)
            complain_alone(in, &in->receives[j++], 0);
        else
            match_connection(in, &in->sends[i++], &in->receives[j++]);
    }
}

static void complain_deadlock(linker *in, const int *waits)
{
    static const char *const why[] = {"follows", "depends on", "receives from", "needs the slot freed by"};
    const banyan_msccl_graph *graph = in->graph;
    int step = 0, length = 0, next, kind = 0;
    char text[256], name[80];
    size_t used;

    while (!waits[step])
        step++;
    /* After as many moves as there are steps we are surely on a cycle. */
    for (int i = 0; i < graph->step_count; i++) {
        for (kind = 0; graph->after[step][kind] < 0 || !waits[graph->after[step][kind]];)
            kind++;
        step = graph->after[step][kind];
    }
    used = (size_t)snprintf(text, sizeof text, "%s",
                            banyan_msccl_step_name(in->program, step, name, sizeof name));
    next = step;
    do {
        for (kind = 0; graph->after[next][kind] < 0 || !waits[graph->after[next][kind]];)
            kind++;
        next = graph->after[next][kind];
        if (length++ < 3 && used < sizeof text)
            used += (size_t)snprintf(text + used, sizeof text - used, " %s %s", why[kind],
                                     banyan_msccl_step_name(in->program, next, name, sizeof name));
    } while (next != step);
    complain(in, "deadlock%s: %s%s",
             in->slots > 0 ? (in->slots == 1 ? " with 1 slot a connection" : " with bounded connections")
                           : "",
             text, length > 3 ? ", and so on round a cycle" : "");
}

static banyan_status find_order(linker *in, banyan_error *err)
{
    banyan_msccl_graph *graph = in->graph;
    int count = graph->step_count, head = 0, tail = 0;
    int *waits = banyan_alloc((size_t)count, sizeof *waits);
    int *first = banyan_alloc((size_t)count + 1, sizeof *first), *then = NULL;
    banyan_status status = BANYAN_SUCCESS;

    then = banyan_alloc((size_t)count * BANYAN_MSCCL_AFTER_COUNT, sizeof *then);
    if (!waits || !first || !then) {
        status = banyan_fail_memory(err);
        goto out;
    }
    for (int i = 0; i < count; i++)
        for (int k = 0; k < BANYAN_MSCCL_AFTER_COUNT; k++)
            if (graph->after[i][k] >= 0) {
                waits[i]++;
                first[graph->after[i][k]]++;
            }
    for (int i = 0, sum = 0; i <= count; i++) {
        int here = first[i];

        first[i] = sum += here;
    }
    for (int i = count - 1; i >= 0; i--)
        for (int k = 0; k < BANYAN_MSCCL_AFTER_COUNT; k++)
            if (graph->after[i][k] >= 0)
                then[--first[graph->after[i][k]]] = i;
    for (int i = 0; i < count; i++)
        if (!waits[i])
            graph->order[tail++] = i;
    while (head < tail) {
        int step = graph->order[head++];

        for (int k = first[step]; k < first[step + 1]; k++)
            if (--waits[then[k]] == 0)
                graph->order[tail++] = then[k];
    }
    if (tail < count)
        complain_deadlock(in, waits);
out:
    banyan_free(waits);
    banyan_free(first);
    banyan_free(then);
    return status;
}

static banyan_status link_all(linker *in, banyan_error *err)
{
    const banyan_msccl_program *program = in->program;
    size_t steps = (size_t)program->step_count, blocks = (size_t)program->block_count;
    banyan_msccl_graph *graph = in->graph;

    graph->step_count = program->step_count;
    graph->after = banyan_alloc(steps, sizeof *graph->after);
    graph->received_by = banyan_alloc(steps, sizeof *graph->received_by);
    graph->order = banyan_alloc(steps, sizeof *graph->order);
    in->sends = banyan_alloc(blocks, sizeof *in->sends);
    in->receives = banyan_alloc(blocks, sizeof *in->receives);
    if (!graph->after || !graph->received_by || !graph->order || !in->sends || !in->receives)
        return banyan_fail_memory(err);
    for (int b = 0; b < program->block_count; b++)
        link_block(in, b);
    if (in->problems)
        return BANYAN_SUCCESS;
    qsort(in->sends, (size_t)in->send_count, sizeof *in->sends, by_connection);
    qsort(in->receives, (size_t)in->receive_count, sizeof *in->receives, by_connection);
    check_owners(in, in->sends, in->send_count, "send on");
    check_owners(in, in->receives, in->receive_count, "receive on");
    if (!in->problems)
        match_all(in);
    return in->problems ? BANYAN_SUCCESS : find_order(in, err);
}

banyan_status banyan_msccl_graph_build(const banyan_msccl_program *program, int slots,
                                       banyan_msccl_reporter report, void *context, banyan_msccl_graph **out,
                                       banyan_error *err)
{
    linker in = {.program = program, .slots = slots, .report = report, .context = context};
    banyan_status status;

    *out = NULL;
    in.graph = banyan_alloc(1, sizeof *in.graph);
    status = in.graph ? link_all(&in, err) : banyan_fail_memory(err);
    if (!status && !in.problems) {
        *out = in.graph;
        in.graph = NULL;
    }
    banyan_free(in.sends);
    banyan_free(in.receives);
    banyan_msccl_graph_destroy(in.graph);
    return status;
}

void banyan_msccl_graph_destroy(banyan_msccl_graph *graph)
{
    if (!graph)
        return;
    banyan_free(graph->after);
    banyan_free(graph->received_by);
    banyan_free(graph->order);
    banyan_free(graph);
}
