/* SPDX-License-Identifier: Apache-2.0 */
/* calls/collectives.c: the calls that move data, each with the memory that its plan works on. Inputs that lie
 * apart are read where they are (execute/vector.h): nothing is copied before a call.
 *
 *                    works on                              input                then
 *   allreduce        recv, or all segments as one vector   send                 -
 *   broadcast        recv                                  root: send           -
 *   all-gather       recv                                  own part: send       -
 *   reduce           root: recv, others: scratch, or       send                 -
 *                    nothing where nothing is received
 *   reduce-scatter   scratch                               send                 own part copied to recv
 *   gather           root: recv, others: scratch           own part: send       -
 *   scatter          own part: recv, others: scratch       root: send           -
 *   all-to-all       column of this rank: recv             row of this rank: send
 */
#include <stdint.h>
#include <string.h>

#include "calls/call.h"

static const void *input_unless_same(const banyan_buffers *buffers)
{
    return buffers->send == buffers->recv ? NULL : buffers->send;
}

/* The segments as parts of one vector; empty ones are left out. */
static size_t lay_out(const banyan_buffers *buffers, banyan_part *parts)
{
    size_t made = 0, at = 0;

    for (size_t i = 0; i < buffers->segment_count; i++) {
        const banyan_segment *s = &buffers->segments[i];

        if (s->count)
            parts[made++] = (banyan_part){.first = at, .into = s->recv, .from = s->send};
        at += s->count;
    }
    return made;
}

banyan_status banyan_comm_allreduce(const banyan_buffers *buffers, const banyan_call *call, banyan_comm *comm)
{
    banyan_run_request memory = {.buffer = buffers->recv, .input = input_unless_same(buffers)};
    banyan_call_entry *entry;
    banyan_part *parts;
    banyan_status status =
        banyan_calls_open(comm, call, buffers, BANYAN_NEEDS_SEND | BANYAN_NEEDS_RECV, &entry);

    if (status)
        return status;
    if (buffers->segments && call->count) {
        parts = banyan_calls_parts(comm, buffers->segment_count);
        if (!parts)
            return banyan_calls_give_up(comm, entry, BANYAN_SYSTEM_ERROR);
        memory = (banyan_run_request){.parts = parts, .part_count = lay_out(buffers, parts)};
    }
    return banyan_calls_run(comm, entry, &memory);
}

static banyan_status reduce_scatter(const banyan_buffers *buffers, const banyan_call *call, banyan_comm *comm)
{
    banyan_call_entry *entry;
    size_t part;
    char *scratch;
    banyan_status status =
        banyan_calls_open(comm, call, buffers, BANYAN_NEEDS_SEND | BANYAN_NEEDS_RECV, &entry);

    if (status)
        return status;
    part = call->count * banyan_datatype_bytes(call->type);
    scratch = banyan_calls_scratch(comm, part * (size_t)comm->group->setup.size);
    if (part && !scratch)
        return banyan_calls_give_up(comm, entry, BANYAN_SYSTEM_ERROR);
    status = banyan_calls_run(comm, entry, &(banyan_run_request){.buffer = scratch, .input = buffers->send});
    if (!status && part)
        memcpy(buffers->recv, scratch + part * (size_t)comm->rank, part);
    return status;
}

banyan_status banyan_comm_all_gather(const banyan_buffers *buffers, const banyan_call *call,
                                     banyan_comm *comm)
{
    banyan_part parts[3] = {{0}};
    banyan_run_request memory = {.parts = parts};
    size_t before = call->count * (size_t)comm->rank;
    size_t count = call->count * (size_t)comm->group->setup.size, bytes = banyan_datatype_bytes(call->type);
    size_t first[3] = {0, before, before + call->count};
    banyan_call_entry *entry;
    banyan_status status =
        banyan_calls_open(comm, call, buffers, BANYAN_NEEDS_SEND | BANYAN_NEEDS_RECV, &entry);

    if (status)
        return status;
    for (int i = 0; i < 3 && call->count; i++) {
        char *into = (char *)buffers->recv + first[i] * bytes;

        if (first[i] < (i < 2 ? first[i + 1] : count))
            parts[memory.part_count++] =
                (banyan_part){.first = first[i], .into = into, .from = i == 1 ? buffers->send : into};
    }
    return banyan_calls_run(comm, entry, &memory);
}

static banyan_status broadcast(const banyan_buffers *buffers, const banyan_call *call, banyan_comm *comm)
{
    int is_root = comm->rank == call->root;
    banyan_run_request memory = {.buffer = buffers->recv,
                                 .input = is_root ? input_unless_same(buffers) : NULL};
    banyan_call_entry *entry;
    banyan_status status = banyan_calls_open(
        comm, call, buffers, is_root ? BANYAN_NEEDS_SEND | BANYAN_NEEDS_RECV : BANYAN_NEEDS_RECV, &entry);

    return status ? status : banyan_calls_run(comm, entry, &memory);
}

/* Where a rank that is not the root adds up what passes through it: not in the input, which belongs to the
 * user. */
static banyan_status reduce_below_root(const void *send, banyan_call_entry *entry, banyan_comm *comm)
{
    banyan_run_request memory = {.input = send};

    memory.buffer = banyan_calls_scratch(comm, entry->whole * banyan_datatype_bytes(entry->call.type));
    if (!memory.buffer)
        return banyan_calls_give_up(comm, entry, BANYAN_SYSTEM_ERROR);
    return banyan_calls_run(comm, entry, &memory);
}

static banyan_status reduce(const banyan_buffers *buffers, const banyan_call *call, banyan_comm *comm)
{
    int is_root = comm->rank == call->root;
    banyan_run_request memory = {.buffer = buffers->recv, .input = input_unless_same(buffers)};
    banyan_call_entry *entry;
    banyan_status status = banyan_calls_open(
        comm, call, buffers, is_root ? BANYAN_NEEDS_SEND | BANYAN_NEEDS_RECV : BANYAN_NEEDS_SEND, &entry);

    if (status)
        return status;
    if (!is_root && call->count)
        return reduce_below_root(buffers->send, entry, comm);
    return banyan_calls_run(comm, entry, &memory);
}

/* Appends the part that begins with this element, up to the next part's first. */
static void add_part(banyan_run_request *memory, banyan_part *parts, size_t first, void *into,
                     const void *from)
{
    parts[memory->part_count++] = (banyan_part){.first = first, .into = into, .from = from};
}

/* A vector of one part per rank: this rank's is read from own_from and written to own_into, all others lie in
 * memory. */
static banyan_status run_with_own_part(banyan_comm *comm, banyan_call_entry *entry, char *memory,
                                       const void *own_from, void *own_into)
{
    banyan_part parts[3];
    banyan_run_request request = {.parts = parts};
    size_t count = entry->call.count, bytes = banyan_datatype_bytes(entry->call.type);
    size_t own = count * (size_t)comm->rank, after = own + count;

    if (count && own)
        add_part(&request, parts, 0, memory, memory);
    if (count)
        add_part(&request, parts, own, own_into, own_from);
    if (count && after < entry->whole)
        add_part(&request, parts, after, memory + after * bytes, memory + after * bytes);
    return banyan_calls_run(comm, entry, &request);
}

static banyan_status gather(const banyan_buffers *buffers, const banyan_call *call, banyan_comm *comm)
{
    int is_root = comm->rank == call->root;
    size_t bytes = call->count * banyan_datatype_bytes(call->type), own = bytes * (size_t)comm->rank;
    char *memory = buffers->recv;
    banyan_call_entry *entry;
    banyan_status status = banyan_calls_open(
        comm, call, buffers, is_root ? BANYAN_NEEDS_SEND | BANYAN_NEEDS_RECV : BANYAN_NEEDS_SEND, &entry);

    if (status)
        return status;
    if (!is_root && bytes) {
        memory = banyan_calls_scratch(comm, bytes * (size_t)comm->group->setup.size);
        if (!memory)
            return banyan_calls_give_up(comm, entry, BANYAN_SYSTEM_ERROR);
    }
    return run_with_own_part(comm, entry, memory, buffers->send, bytes ? memory + own : NULL);
}

/* The root receives nothing (group/plans.c), so what it sends is not written to. */
static banyan_status scatter(const banyan_buffers *buffers, const banyan_call *call, banyan_comm *comm)
{
    int is_root = comm->rank == call->root;
    size_t bytes = call->count * banyan_datatype_bytes(call->type), own = bytes * (size_t)comm->rank;
    char *memory = (char *)(uintptr_t)buffers->send;
    banyan_call_entry *entry;
    banyan_status status = banyan_calls_open(
        comm, call, buffers, is_root ? BANYAN_NEEDS_SEND | BANYAN_NEEDS_RECV : BANYAN_NEEDS_RECV, &entry);

    if (status)
        return status;
    if (!is_root && bytes) {
        memory = banyan_calls_scratch(comm, bytes * (size_t)comm->group->setup.size);
        if (!memory)
            return banyan_calls_give_up(comm, entry, BANYAN_SYSTEM_ERROR);
    }
    return run_with_own_part(comm, entry, memory, is_root && bytes ? memory + own : buffers->recv,
                             buffers->recv);
}

/* The vector has a row for each source and in it a part for each destination. Of all that, this rank has
 * memory for its row, which it sends, and its column, which it receives; nothing else passes through it
 * (group/plans.c), so the rest may point anywhere. */
static void lay_out_exchange(const banyan_buffers *buffers, const banyan_call *call, const banyan_comm *comm,
                             banyan_run_request *memory, banyan_part *parts)
{
    size_t count = call->count, bytes = count * banyan_datatype_bytes(call->type);
    size_t rank = (size_t)comm->rank, size = (size_t)comm->group->setup.size;
    char *recv = buffers->recv, *send = (char *)(uintptr_t)buffers->send;

    for (size_t row = 0; row < size; row++) {
        size_t first = row * size * count, own = first + rank * count;
        char *others = row == rank ? send : recv, *after = row == rank ? send + (rank + 1) * bytes : recv;
        char *into = recv + row * bytes;

        if (rank)
            add_part(memory, parts, first, others, others);
        add_part(memory, parts, own, into, row == rank ? send + rank * bytes : into);
        if (rank + 1 < size)
            add_part(memory, parts, own + count, after, after);
    }
}

static banyan_status all_to_all(const banyan_buffers *buffers, const banyan_call *call, banyan_comm *comm)
{
    banyan_run_request memory = {0};
    banyan_call_entry *entry;
    banyan_part *parts;
    banyan_status status =
        banyan_calls_open(comm, call, buffers, BANYAN_NEEDS_SEND | BANYAN_NEEDS_RECV, &entry);

    if (status)
        return status;
    if (call->count) {
        parts = banyan_calls_parts(comm, 3 * (size_t)comm->group->setup.size);
        if (!parts)
            return banyan_calls_give_up(comm, entry, BANYAN_SYSTEM_ERROR);
        lay_out_exchange(buffers, call, comm, &memory, parts);
        memory.parts = parts;
    }
    return banyan_calls_run(comm, entry, &memory);
}

banyan_status banyan_comm_run(const banyan_buffers *buffers, const banyan_call *call, banyan_comm *comm)
{
    switch (call->collective) {
    case BANYAN_COLLECTIVE_REDUCE_SCATTER:
        return reduce_scatter(buffers, call, comm);
    case BANYAN_COLLECTIVE_ALLGATHER:
        return banyan_comm_all_gather(buffers, call, comm);
    case BANYAN_COLLECTIVE_BROADCAST:
        return broadcast(buffers, call, comm);
    case BANYAN_COLLECTIVE_REDUCE:
        return reduce(buffers, call, comm);
    case BANYAN_COLLECTIVE_GATHER:
        return gather(buffers, call, comm);
    case BANYAN_COLLECTIVE_SCATTER:
        return scatter(buffers, call, comm);
    case BANYAN_COLLECTIVE_ALLTOALL:
        return all_to_all(buffers, call, comm);
    default:
        return banyan_comm_allreduce(buffers, call, comm);
    }
}

static banyan_status call_locked(banyan_collective_function function, const banyan_buffers *buffers,
                                 const banyan_call *call, banyan_comm *comm)
{
    banyan_status status;

    if (!comm)
        return BANYAN_INVALID_ARGUMENT;
    if (banyan_worker_run(comm, function, buffers, call, &status))
        return status;
    pthread_mutex_lock(&comm->lock);
    status = function(buffers, call, comm);
    pthread_mutex_unlock(&comm->lock);
    return status;
}

banyan_status banyan_allreduce(const void *send, void *recv, size_t count, banyan_datatype type, banyan_op op,
                               banyan_comm *comm)
{
    banyan_call call = {.collective = BANYAN_COLLECTIVE_ALLREDUCE, .count = count, .type = type, .op = op};

    return call_locked(banyan_comm_allreduce, &(banyan_buffers){.send = send, .recv = recv}, &call, comm);
}

banyan_status banyan_allreduce_segments(const banyan_segment *segments, size_t segment_count,
                                        banyan_datatype type, banyan_op op, banyan_comm *comm)
{
    banyan_buffers buffers = {.segments = segments, .segment_count = segment_count};
    banyan_call call = {.collective = BANYAN_COLLECTIVE_ALLREDUCE, .type = type, .op = op};

    if (!segments && segment_count)
        return BANYAN_INVALID_ARGUMENT;
    call.count = banyan_buffers_count(&buffers);
    return call_locked(banyan_comm_allreduce, &buffers, &call, comm);
}

banyan_status banyan_reduce_scatter(const void *send, void *recv, size_t recv_count, banyan_datatype type,
                                    banyan_op op, banyan_comm *comm)
{
    banyan_call call = {
        .collective = BANYAN_COLLECTIVE_REDUCE_SCATTER, .count = recv_count, .type = type, .op = op};

    return call_locked(reduce_scatter, &(banyan_buffers){.send = send, .recv = recv}, &call, comm);
}

banyan_status banyan_all_gather(const void *send, void *recv, size_t send_count, banyan_datatype type,
                                banyan_comm *comm)
{
    banyan_call call = {.collective = BANYAN_COLLECTIVE_ALLGATHER, .count = send_count, .type = type};

    return call_locked(banyan_comm_all_gather, &(banyan_buffers){.send = send, .recv = recv}, &call, comm);
}

banyan_status banyan_broadcast(const void *send, void *recv, size_t count, banyan_datatype type, int root,
                               banyan_comm *comm)
{
    banyan_call call = {
        .collective = BANYAN_COLLECTIVE_BROADCAST, .count = count, .type = type, .root = root};

    return call_locked(broadcast, &(banyan_buffers){.send = send, .recv = recv}, &call, comm);
}

banyan_status banyan_reduce(const void *send, void *recv, size_t count, banyan_datatype type, banyan_op op,
                            int root, banyan_comm *comm)
{
    banyan_call call = {
        .collective = BANYAN_COLLECTIVE_REDUCE, .count = count, .type = type, .op = op, .root = root};

    return call_locked(reduce, &(banyan_buffers){.send = send, .recv = recv}, &call, comm);
}

banyan_status banyan_gather(const void *send, void *recv, size_t send_count, banyan_datatype type, int root,
                            banyan_comm *comm)
{
    banyan_call call = {
        .collective = BANYAN_COLLECTIVE_GATHER, .count = send_count, .type = type, .root = root};

    return call_locked(gather, &(banyan_buffers){.send = send, .recv = recv}, &call, comm);
}

banyan_status banyan_scatter(const void *send, void *recv, size_t recv_count, banyan_datatype type, int root,
                             banyan_comm *comm)
{
    banyan_call call = {
        .collective = BANYAN_COLLECTIVE_SCATTER, .count = recv_count, .type = type, .root = root};

    return call_locked(scatter, &(banyan_buffers){.send = send, .recv = recv}, &call, comm);
}

banyan_status banyan_all_to_all(const void *send, void *recv, size_t count, banyan_datatype type,
                                banyan_comm *comm)
{
    banyan_call call = {.collective = BANYAN_COLLECTIVE_ALLTOALL, .count = count, .type = type};

    return call_locked(all_to_all, &(banyan_buffers){.send = send, .recv = recv}, &call, comm);
}

/* Everybody's byte goes into everybody's result, so nobody has it before all have come. */
static banyan_status meet(banyan_comm *comm, banyan_call_place before)
{
    banyan_call call = {.collective = BANYAN_COLLECTIVE_ALLREDUCE,
                        .is_barrier = 1,
                        .before = before,
                        .count = 1,
                        .type = BANYAN_UINT8,
                        .op = BANYAN_MAX};
    char byte = 0;

    return call_locked(banyan_comm_allreduce, &(banyan_buffers){.send = &byte, .recv = &byte}, &call, comm);
}

banyan_status banyan_barrier(banyan_comm *comm)
{
    return meet(comm, BANYAN_PLACE_ANY);
}

banyan_status banyan_barrier_before(banyan_comm *comm, int device)
{
    return meet(comm, device == BANYAN_HOST ? BANYAN_PLACE_HOST : BANYAN_PLACE_DEVICE);
}
