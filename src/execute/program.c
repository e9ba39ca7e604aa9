/* SPDX-License-Identifier: Apache-2.0 */
/* execute/program.c: gathers a node's transfers, sorts them into streams and points each at what it waits
 * for.
 *
 * Cost: one pass over the schedule and a sort of the node's own transfers. */
#include "execute/program.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/alloc.h"

/* A transfer with what decides its place. */
typedef struct {
    int is_send, peer, flow, action, lane, round, first_piece, end_piece, transfer;
} entry;

static int compare(int a, int b)
{
    return (a > b) - (a < b);
}

static int by_stream(const entry *a, const entry *b)
{
    int order = compare(a->is_send, b->is_send);

    order = order ? order : compare(a->peer, b->peer);
    order = order ? order : compare(a->flow, b->flow);
    order = order ? order : compare(a->action, b->action);
    return order ? order : compare(a->lane, b->lane);
}

static int by_place(const void *left, const void *right)
{
    const entry *a = left, *b = right;
    int order = by_stream(a, b);

    order = order ? order : compare(a->round, b->round);
    order = order ? order : compare(a->first_piece, b->first_piece);
    return order ? order : compare(a->transfer, b->transfer);
}

static entry *gather(const banyan_schedule *schedule, int node, int *count)
{
    size_t found = 0;
    entry *entries;

    for (size_t i = 0; i < schedule->transfer_count; i++)
        found += schedule->transfers[i].src == node || schedule->transfers[i].dst == node;
    entries = banyan_alloc(found, sizeof *entries);
    if (!entries)
        return NULL;
    found = 0;
    for (size_t i = 0; i < schedule->transfer_count; i++) {
        const banyan_transfer *t = &schedule->transfers[i];

        if (t->src == node || t->dst == node)
            entries[found++] = (entry){.is_send = t->src == node,
                                       .peer = t->src == node ? t->dst : t->src,
                                       .flow = t->flow,
                                       .action = (int)t->action,
                                       .round = t->round,
                                       .first_piece = t->first_piece,
                                       .end_piece = t->first_piece + t->piece_count,
                                       .transfer = (int)i};
    }
    *count = (int)found;
    return entries;
}

/* Transfers of one stream and round, ascending: each gets the first lane that is free where it begins. */
static void assign_lanes(entry *entries, int count, int *lane_end)
{
    int lanes = 0;

    for (int i = 0; i < count; i++) {
        int lane = 0;

        while (lane < lanes && lane_end[lane] > entries[i].first_piece)
            lane++;
        lanes = lane == lanes ? lanes + 1 : lanes;
        lane_end[lane] = entries[i].end_piece;
        entries[i].lane = lane;
    }
}

static int sort_into_lanes(entry *entries, int count)
{
    int *lane_end = banyan_alloc((size_t)count, sizeof *lane_end);

    if (!lane_end)
        return 0;
    qsort(entries, (size_t)count, sizeof *entries, by_place);
    for (int begin = 0, end; begin < count; begin = end) {
        for (end = begin + 1; end < count && entries[end].round == entries[begin].round; end++)
            if (by_stream(&entries[begin], &entries[end]))
                break;
        assign_lanes(entries + begin, end - begin, lane_end);
    }
    banyan_free(lane_end);
    qsort(entries, (size_t)count, sizeof *entries, by_place);
    return 1;
}

static int make_streams(banyan_program *program, const entry *entries)
{
    int count = program->operation_count;
    banyan_stream *stream;

    program->streams = banyan_alloc((size_t)count, sizeof *program->streams);
    program->operations = banyan_alloc((size_t)count + 1, sizeof *program->operations);
    if (!program->streams || !program->operations)
        return 0;
    for (int i = 0; i < count; i++) {
        const entry *e = &entries[i];

        if (i == 0 || by_stream(&entries[i - 1], e)) {
            stream = &program->streams[program->stream_count++];
            *stream = (banyan_stream){.peer = e->peer, .is_send = e->is_send, .first = i};
            if (i > 0 && entries[i - 1].is_send == e->is_send && entries[i - 1].peer == e->peer)
                stream->number = stream[-1].number + 1;
        }
        program->streams[program->stream_count - 1].count++;
        program->operations[i] =
            (banyan_operation){.transfer = e->transfer,
                               .first_piece = e->first_piece,
                               .piece_count = e->end_piece - e->first_piece,
                               .action = program->schedule->transfers[e->transfer].action};
        program->is_changed |= !e->is_send;
    }
    return 1;
}

static void add_predecessors(const banyan_program *program, const banyan_dependency_list *list, int transfer,
                             const int *operation_of, size_t *count)
{
    for (size_t i = list->first[transfer]; i < list->first[transfer + 1]; i++) {
        if (program->predecessors)
            program->predecessors[*count] = operation_of[list->item[i]];
        ++*count;
    }
}

/* Counts when there is no room yet, fills when there is. */
static size_t list_predecessors(banyan_program *program, const banyan_dependencies *dependencies,
                                const int *operation_of)
{
    size_t count = 0;

    for (int i = 0; i < program->operation_count; i++) {
        int transfer = program->operations[i].transfer;

        program->operations[i].first_predecessor = count;
        if (program->schedule->transfers[transfer].src == program->node) {
            add_predecessors(program, &dependencies->send_after_apply, transfer, operation_of, &count);
        } else {
            add_predecessors(program, &dependencies->apply_after_apply, transfer, operation_of, &count);
            add_predecessors(program, &dependencies->apply_after_send, transfer, operation_of, &count);
        }
    }
    program->operations[program->operation_count].first_predecessor = count;
    return count;
}

static int find_predecessors(banyan_program *program, const banyan_dependencies *dependencies)
{
    int *operation_of = banyan_alloc(program->schedule->transfer_count, sizeof *operation_of);
    size_t count;
    int done;

    if (!operation_of)
        return 0;
    for (int i = 0; i < program->operation_count; i++)
        operation_of[program->operations[i].transfer] = i;
    count = list_predecessors(program, dependencies, operation_of);
    program->predecessors = banyan_alloc(count, sizeof *program->predecessors);
    if (program->predecessors)
        list_predecessors(program, dependencies, operation_of);
    done = program->predecessors && banyan_program_find_inputs(program, operation_of) &&
           banyan_program_find_whole(program, operation_of);
    banyan_free(operation_of);
    return done;
}

banyan_status banyan_program_compile(const banyan_schedule *schedule, const banyan_dependencies *dependencies,
                                     int node, banyan_program **out, banyan_error *err)
{
    banyan_program *program = banyan_alloc(1, sizeof *program);
    entry *entries = NULL;

    *out = NULL;
    if (!program)
        return banyan_fail_memory(err);
    program->schedule = schedule;
    program->node = node;
    program->rank = banyan_schedule_rank(schedule, node);
    entries = gather(schedule, node, &program->operation_count);
    if (entries && sort_into_lanes(entries, program->operation_count) && make_streams(program, entries) &&
        find_predecessors(program, dependencies))
        *out = program;
    else
        banyan_program_destroy(program);
    banyan_free(entries);
    return *out ? BANYAN_SUCCESS : banyan_fail_memory(err);
}

void banyan_program_destroy(banyan_program *program)
{
    if (!program)
        return;
    banyan_free(program->operations);
    banyan_free(program->streams);
    banyan_free(program->predecessors);
    banyan_free(program->is_kept);
    banyan_free(program);
}

const char *banyan_program_node_name(const banyan_schedule *schedule, int node, char *buffer, size_t size)
{
    int rank = banyan_schedule_rank(schedule, node);

    if (rank >= 0)
        snprintf(buffer, size, "rank %d", rank);
    else
        snprintf(buffer, size, "relay node %d", node);
    return buffer;
}
