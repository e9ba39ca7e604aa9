/* SPDX-License-Identifier: Apache-2.0 */
/* schedule/msccl_import.c: an MSCCL program as a schedule.
 *
 * We walk the steps in a possible order, chunk by chunk. A send reads a chunk and makes a unit, which is on
 * its way; the step that puts it into the input or output makes it a transfer. Scratch may hold a unit on its
 * way until a local step takes it out, but nothing else. A schedule has one buffer a node, a program up to
 * two, and `rrs` adds without storing: so for every chunk of the vector we know whether input and output hold
 * what the schedule's buffer holds, and refuse to read where they do not.
 *
 * Who reads and changes a chunk before whom is kept as edges between units; schedule/msccl_rounds.c makes
 * rounds of them. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "schedule/import.h"
#include "schedule/msccl_graph.h"
#include "schedule/msccl_units.h"

#define MAX_CELLS ((size_t)1 << 28)

enum { IN_INPUT = 1, IN_OUTPUT = 2 };

typedef struct {
    int unit, next;
} reading;

typedef struct {
    const banyan_msccl_program *program;
    banyan_msccl_graph *graph;
    int in_place, root_of_broadcast;
    size_t *message_first; /* by step that sends: its first unit */
    banyan_msccl_unit *units;
    int unit_count;
    int sequence;
    /* By rank and position. */
    char *holds;                /* which buffers hold the schedule's value */
    int *last_change, *readers; /* unit, -1: none; list in readings */
    reading *readings;
    size_t reading_count, reading_capacity;
    size_t *scratch_first; /* by rank */
    int *scratch;          /* the unit that lies there, -1: none */
    banyan_msccl_edge *edges;
    size_t edge_count, edge_capacity;
    banyan_status status;
    banyan_error *err;
} importer;

__attribute__((format(printf, 3, 4))) static void refuse(importer *in, int step, const char *format, ...)
{
    char name[80], why[240];
    va_list arguments;

    if (in->status)
        return;
    va_start(arguments, format);
    vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    in->status = banyan_fail(in->err, BANYAN_UNSUPPORTED, "%s: %s",
                             banyan_msccl_step_name(in->program, step, name, sizeof name), why);
}

static int rank_of(const importer *in, int step)
{
    return in->program->blocks[in->program->steps[step].block].rank;
}

static size_t cell_of(const importer *in, int rank, int position)
{
    return (size_t)rank * (size_t)in->program->chunk_count + (size_t)position;
}

static void add_edge(importer *in, int from, int to, int weight)
{
    void *edges = in->edges;

    if (from < 0 || in->status)
        return;
    if (!banyan_grow(&edges, in->edge_count, &in->edge_capacity, sizeof *in->edges)) {
        in->status = banyan_fail_memory(in->err);
        return;
    }
    in->edges = edges;
    in->edges[in->edge_count++] = (banyan_msccl_edge){from, to, weight};
}

static void note_read(importer *in, size_t cell, int u)
{
    void *readings = in->readings;

    add_edge(in, in->last_change[cell], u, 1);
    if (in->status)
        return;
    if (!banyan_grow(&readings, in->reading_count, &in->reading_capacity, sizeof *in->readings)) {
        in->status = banyan_fail_memory(in->err);
        return;
    }
    in->readings = readings;
    in->readings[in->reading_count] = (reading){u, in->readers[cell]};
    in->readers[cell] = (int)in->reading_count++;
}

static void note_change(importer *in, size_t cell, int u)
{
    add_edge(in, in->last_change[cell], u, 0);
    for (int i = in->readers[cell]; i >= 0; i = in->readings[i].next)
        add_edge(in, in->readings[i].unit, u, 0);
    in->readers[cell] = -1;
    in->last_change[cell] = u;
}

/* The position that the chunk of the buffer has, after seeing that a schedule can say it. */
static int position_of(importer *in, int step, char buffer, int offset)
{
    const banyan_msccl_program *program = in->program;
    int chunks = buffer == 'i' ? banyan_msccl_input_chunks(program) : banyan_msccl_output_chunks(program);

    if (buffer == 's')
        refuse(in, step, "it uses scratch %d, and a schedule has no scratch", offset);
    else if (offset < 0 || offset >= chunks)
        refuse(in, step, "%c %d is outside the buffer of %d chunks", buffer, offset, chunks);
    else
        return banyan_msccl_position(program, rank_of(in, step), buffer, offset);
    return -1;
}

static int bit_of(const importer *in, char buffer)
{
    return in->in_place ? IN_INPUT | IN_OUTPUT : buffer == 'i' ? IN_INPUT : IN_OUTPUT;
}

/* The chunk that the step reads, as a position. */
static int read_position(importer *in, int step, char buffer, int offset)
{
    int position = position_of(in, step, buffer, offset);

    if (!in->status && !(in->holds[cell_of(in, rank_of(in, step), position)] & bit_of(in, buffer)))
        refuse(in, step, "%c %d differs here from the one buffer that a schedule has a node", buffer, offset);
    return in->status ? -1 : position;
}

static void send(importer *in, int step, int c, int position)
{
    const banyan_msccl_block *block = &in->program->blocks[in->program->steps[step].block];
    int u = (int)in->message_first[step] + c;
    size_t cell;

    if (in->status)
        return;
    cell = cell_of(in, block->rank, position);
    in->units[u] = (banyan_msccl_unit){.src = block->rank,
                                       .dst = block->send,
                                       .position = position,
                                       .flow = block->chan,
                                       .sender = step,
                                       .action = -1};
    if (in->last_change[cell] < 0 && in->root_of_broadcast < 0)
        in->root_of_broadcast = block->rank;
    note_read(in, cell, u);
}

static void apply(importer *in, int step, int u, int action, int position, int holds)
{
    banyan_msccl_unit *x;
    size_t cell;

    if (in->status)
        return;
    x = &in->units[u];
    if (x->position != position) {
        refuse(in, step, "chunk %d arrives as chunk %d, and a transfer keeps its place in the vector",
               x->position, position);
        return;
    }
    cell = cell_of(in, x->dst, position);
    x->action = action;
    x->sequence = in->sequence++;
    note_change(in, cell, u);
    in->holds[cell] = (char)holds;
}

static int *scratch_at(importer *in, int step, int offset)
{
    int rank = rank_of(in, step);

    if (offset < 0 || offset >= in->program->ranks[rank].s_chunks) {
        refuse(in, step, "s %d is outside the scratch of %d chunks", offset,
               in->program->ranks[rank].s_chunks);
        return NULL;
    }
    return &in->scratch[in->scratch_first[rank] + (size_t)offset];
}

static void receive(importer *in, int step, int c, int u)
{
    const banyan_msccl_step *s = &in->program->steps[step];
    int *slot;

    if (s->dstbuf != 's' || s->type != BANYAN_MSCCL_RECEIVE) {
        apply(in, step, u, BANYAN_ACTION_COPY, position_of(in, step, s->dstbuf, s->dstoff + c),
              bit_of(in, s->dstbuf));
        return;
    }
    slot = scratch_at(in, step, s->dstoff + c);
    if (slot)
        *slot = u;
}

static void receive_reduce(importer *in, int step, int c, int u)
{
    const banyan_msccl_step *s = &in->program->steps[step];
    int stores = s->type != BANYAN_MSCCL_REDUCE_SEND;
    int from = read_position(in, step, s->srcbuf, s->srcoff + c), to = from;

    if (!in->status && stores)
        to = position_of(in, step, s->dstbuf, s->dstoff + c);
    if (!in->status && to != from)
        refuse(in, step, "it adds to chunk %d and stores as chunk %d", from, to);
    apply(in, step, u, BANYAN_ACTION_REDUCE, to, stores ? bit_of(in, s->dstbuf) : 0);
}

static void take_from_scratch(importer *in, int step, int c)
{
    const banyan_msccl_step *s = &in->program->steps[step];
    int is_reduce = s->type == BANYAN_MSCCL_LOCAL_REDUCE;
    int *slot = scratch_at(in, step, s->srcoff + c), position;

    if (!slot)
        return;
    if (*slot < 0) {
        refuse(in, step, "s %d holds no message that just arrived", s->srcoff + c);
        return;
    }
    position = is_reduce ? read_position(in, step, s->dstbuf, s->dstoff + c)
                         : position_of(in, step, s->dstbuf, s->dstoff + c);
    apply(in, step, *slot, is_reduce ? BANYAN_ACTION_REDUCE : BANYAN_ACTION_COPY, position,
          bit_of(in, s->dstbuf));
    *slot = -1;
}

static void run_local(importer *in, int step, int c)
{
    const banyan_msccl_step *s = &in->program->steps[step];
    int from, to;

    if (s->srcbuf == 's') {
        take_from_scratch(in, step, c);
        return;
    }
    from = read_position(in, step, s->srcbuf, s->srcoff + c);
    to = in->status ? -1 : position_of(in, step, s->dstbuf, s->dstoff + c);
    if (in->status)
        return;
    if (s->type == BANYAN_MSCCL_LOCAL_REDUCE)
        refuse(in, step, "it adds chunk %d to chunk %d inside a rank, and a transfer goes between two", from,
               to);
    else if (from != to)
        refuse(in, step, "it copies chunk %d to chunk %d inside a rank", from, to);
    else
        in->holds[cell_of(in, rank_of(in, step), from)] |= (char)bit_of(in, s->dstbuf);
}

static void run_chunk(importer *in, int step, int c)
{
    const banyan_msccl_step *s = &in->program->steps[step];
    const banyan_msccl_ability *can = banyan_msccl_can(s->type);
    int sender = in->graph->after[step][BANYAN_MSCCL_AFTER_SEND];
    int u = can->receives ? (int)in->message_first[sender] + c : -1;

    if (s->type == BANYAN_MSCCL_NOP)
        return;
    if (!can->receives && !can->sends)
        run_local(in, step, c);
    else if (can->receives && can->reads)
        receive_reduce(in, step, c, u);
    else if (can->receives)
        receive(in, step, c, u);
    if (in->status || !can->sends)
        return;
    send(in, step, c,
         can->receives ? in->units[u].position : read_position(in, step, s->srcbuf, s->srcoff + c));
}

/* The rank whose first chunk is changed last and not read any more. */
static int root_of_reduce(const importer *in)
{
    for (int r = 0; r < in->program->rank_count; r++)
        if (in->last_change[cell_of(in, r, 0)] >= 0 && in->readers[cell_of(in, r, 0)] < 0)
            return r;
    return 0;
}

static int root_of(const importer *in)
{
    if (in->program->root >= 0)
        return in->program->root;
    if (in->program->collective == BANYAN_COLLECTIVE_REDUCE)
        return root_of_reduce(in);
    return in->program->collective == BANYAN_COLLECTIVE_BROADCAST && in->root_of_broadcast > 0
               ? in->root_of_broadcast
               : 0;
}

static banyan_status prepare(importer *in)
{
    const banyan_msccl_program *program = in->program;
    size_t cells = (size_t)program->rank_count * (size_t)program->chunk_count, scratch = 0, units = 0;

    in->message_first = banyan_alloc((size_t)program->step_count, sizeof *in->message_first);
    in->scratch_first = banyan_alloc((size_t)program->rank_count, sizeof *in->scratch_first);
    if (!in->message_first || !in->scratch_first || cells > MAX_CELLS)
        return banyan_fail_memory(in->err);
    for (int i = 0; i < program->step_count; i++) {
        in->message_first[i] = units;
        units += banyan_msccl_can(program->steps[i].type)->sends ? (size_t)program->steps[i].cnt : 0;
    }
    for (int r = 0; r < program->rank_count; r++) {
        in->scratch_first[r] = scratch;
        scratch += (size_t)program->ranks[r].s_chunks;
    }
    if (units > MAX_CELLS || scratch > MAX_CELLS)
        return banyan_fail_memory(in->err);
    in->unit_count = (int)units;
    in->units = banyan_alloc(units, sizeof *in->units);
    in->holds = banyan_alloc(cells, 1);
    in->last_change = banyan_alloc(cells, sizeof *in->last_change);
    in->readers = banyan_alloc(cells, sizeof *in->readers);
    in->scratch = banyan_alloc(scratch, sizeof *in->scratch);
    if (!in->units || !in->holds || !in->last_change || !in->readers || !in->scratch)
        return banyan_fail_memory(in->err);
    for (size_t i = 0; i < cells; i++)
        in->last_change[i] = in->readers[i] = -1;
    for (size_t i = 0; i < scratch; i++)
        in->scratch[i] = -1;
    /* Whether a rank's input has meaning there (broadcast, all-gather) is for the proof to say. */
    memset(in->holds, in->in_place ? IN_INPUT | IN_OUTPUT : IN_INPUT, cells);
    return BANYAN_SUCCESS;
}

/* Keeps the first problem. */
static void note_problem(void *context, const char *sentence)
{
    importer *in = context;

    if (!in->status)
        in->status = banyan_fail(in->err, BANYAN_PLAN_INVALID, "%s", sentence);
}

static void walk(importer *in)
{
    const banyan_msccl_program *program = in->program;

    for (int i = 0; i < program->step_count && !in->status; i++)
        for (int c = 0; c < program->steps[in->graph->order[i]].cnt && !in->status; c++)
            run_chunk(in, in->graph->order[i], c);
    for (int u = 0; u < in->unit_count && !in->status; u++)
        if (in->units[u].action < 0)
            refuse(in, in->units[u].sender, "its message stays in scratch");
}

banyan_status banyan_schedule_import_msccl(const banyan_msccl_program *program, banyan_schedule **out,
                                           banyan_error *err)
{
    int shares = program->collective == BANYAN_COLLECTIVE_ALLGATHER ||
                 program->collective == BANYAN_COLLECTIVE_REDUCE_SCATTER;
    importer in = {.program = program, .in_place = program->in_place, .root_of_broadcast = -1, .err = err};
    banyan_status status;

    *out = NULL;
    if (shares && program->chunk_count % program->rank_count)
        return banyan_fail(err, BANYAN_PLAN_INVALID,
                           "nchunksperloop=\"%d\" is not a multiple of ngpus=\"%d\"", program->chunk_count,
                           program->rank_count);
    status = banyan_msccl_graph_build(program, 0, note_problem, &in, &in.graph, err);
    if (!status && !in.status)
        in.status = prepare(&in);
    if (!status && !in.status)
        walk(&in);
    if (!status && !in.status)
        in.status = banyan_msccl_find_rounds(program, in.units, in.unit_count, in.edges, in.edge_count, err);
    if (!status && !in.status)
        in.status = banyan_msccl_build_schedule(program, root_of(&in), in.units, in.unit_count, out, err);
    banyan_msccl_graph_destroy(in.graph);
    banyan_free(in.message_first);
    banyan_free(in.units);
    banyan_free(in.holds);
    banyan_free(in.last_change);
    banyan_free(in.readers);
    banyan_free(in.readings);
    banyan_free(in.scratch_first);
    banyan_free(in.scratch);
    banyan_free(in.edges);
    return status ? status : in.status;
}
