/* SPDX-License-Identifier: Apache-2.0 */
/* comm/collectives.c: the calls that move data.
 *
 * Each has the same shape: check the arguments (a wrong one has no effect on anybody), enter the group's log,
 * put the input where the plan works on it, run, and take the output from there:
 *
 *                    works on                            input                       output
 *   allreduce        recv                                copied from send            -
 *   broadcast        recv                                root: copied from send      -
 *   all-gather       recv                                own part copied from send   -
 *   reduce           root: recv, others: scratch,        copied from send            -
 *                    or send itself where nothing is received
 *   reduce-scatter   scratch                             copied from send            own part copied to recv
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "comm/internal.h"
#include "core/alloc.h"

/* Bytes of the whole vector are at most what memory can hold. */
static banyan_status check_call(banyan_comm *comm, const banyan_call *call)
{
    size_t bytes = banyan_datatype_bytes(call->type);
    size_t size = (size_t)comm->group->setup.size;

    if (!bytes)
        return banyan_fail(&comm->err, BANYAN_INVALID_ARGUMENT, "there is no datatype %d", (int)call->type);
    if ((unsigned)call->op > BANYAN_AVG)
        return banyan_fail(&comm->err, BANYAN_INVALID_ARGUMENT, "there is no op %d", (int)call->op);
    if (call->root < 0 || call->root >= comm->group->setup.size)
        return banyan_fail(&comm->err, BANYAN_INVALID_ARGUMENT, "root %d is not a rank from 0 to %d",
                           call->root, comm->group->setup.size - 1);
    if (call->count > (size_t)PTRDIFF_MAX / bytes / size)
        return banyan_fail(&comm->err, BANYAN_INVALID_ARGUMENT,
                           "%zu elements of %zu bytes on %zu ranks do not fit in memory", call->count, bytes,
                           size);
    return BANYAN_SUCCESS;
}

static banyan_status check_buffers(banyan_comm *comm, const banyan_call *call, int needs_send, int needs_recv,
                                   const void *send, const void *recv)
{
    if (call->count && ((needs_send && !send) || (needs_recv && !recv)))
        return banyan_fail(&comm->err, BANYAN_INVALID_ARGUMENT, "the %s buffer is NULL",
                           needs_send && !send ? "send" : "recv");
    return BANYAN_SUCCESS;
}

static banyan_status begin(banyan_comm *comm, const banyan_call *call, banyan_call_entry **entry)
{
    return banyan_group_enter(comm->group, comm->rank, comm->endpoint, call, entry, &comm->err);
}

/* The others wait for us: they must know that we will not come. */
static banyan_status give_up(banyan_comm *comm, banyan_status status)
{
    char sentence[sizeof comm->err.text];

    snprintf(sentence, sizeof sentence, "rank %d: %.400s", comm->rank, comm->err.text);
    comm->endpoint->transport->abort(comm->endpoint, BANYAN_REMOTE_ERROR, sentence);
    return status;
}

static banyan_status get_runner(banyan_comm *comm, const banyan_call_entry *entry, banyan_runner **runner)
{
    banyan_status status =
        banyan_comm_plan_runner(entry->plan, &comm->group->setup, comm->endpoint, runner, &comm->err);

    return status ? give_up(comm, status) : BANYAN_SUCCESS;
}

typedef struct {
    banyan_world *world;
    const banyan_call_entry *entry;
} explaining;

static void explain(void *context, int peer, const void *theirs, banyan_error *out)
{
    const explaining *e = context;

    banyan_world_explain(e->world, e->entry, peer, theirs, out);
}

static banyan_status run(banyan_comm *comm, const banyan_call_entry *entry, void *buffer)
{
    unsigned char label[BANYAN_LABEL_BYTES];
    explaining context = {comm->group->world, entry};
    banyan_run_request request = {.buffer = buffer,
                                  .count = entry->whole,
                                  .type = entry->call.type,
                                  .op = entry->call.op,
                                  .timeout_ms = comm->group->setup.timeout_ms};
    banyan_runner *runner = NULL;
    banyan_status status = get_runner(comm, entry, &runner);

    if (status)
        return status;
    if (!comm->group->world)
        return banyan_runner_run(runner, &request, &comm->err);
    banyan_world_label(entry, label);
    request.label = label;
    request.label_bytes = sizeof label;
    request.explain = explain;
    request.context = &context;
    status = banyan_runner_run(runner, &request, &comm->err);
    /* What ended the group is told in the same words everywhere. */
    if (status)
        banyan_control_failure(banyan_world_control(comm->group->world), &comm->err);
    return status;
}

static banyan_status run_and_leave(banyan_comm *comm, banyan_call_entry *entry, void *buffer)
{
    banyan_status status = entry->whole ? run(comm, entry, buffer) : BANYAN_SUCCESS;

    banyan_group_leave(comm->group, entry);
    return status;
}

static void copy_unless_same(void *to, const void *from, size_t bytes)
{
    if (bytes && to != from)
        memcpy(to, from, bytes);
}

/* The handle's own memory with a copy of the input, or NULL after telling the others. */
static char *copy_to_scratch(banyan_comm *comm, const void *send, size_t bytes)
{
    if (bytes > comm->scratch_bytes) {
        char *scratch = banyan_realloc(comm->scratch, bytes, 1);

        if (!scratch) {
            banyan_fail_memory(&comm->err);
            give_up(comm, BANYAN_SYSTEM_ERROR);
            return NULL;
        }
        comm->scratch = scratch;
        comm->scratch_bytes = bytes;
    }
    if (bytes)
        memcpy(comm->scratch, send, bytes);
    return comm->scratch;
}

banyan_status banyan_comm_allreduce(const void *send, void *recv, const banyan_call *call, banyan_comm *comm)
{
    banyan_call_entry *entry;
    banyan_status status = check_call(comm, call);

    if (!status)
        status = check_buffers(comm, call, 1, 1, send, recv);
    if (!status)
        status = begin(comm, call, &entry);
    if (status)
        return status;
    copy_unless_same(recv, send, call->count * banyan_datatype_bytes(call->type));
    return run_and_leave(comm, entry, recv);
}

static banyan_status reduce_scatter(const void *send, void *recv, const banyan_call *call, banyan_comm *comm)
{
    banyan_call_entry *entry;
    size_t part;
    char *scratch;
    banyan_status status = check_call(comm, call);

    if (!status)
        status = check_buffers(comm, call, 1, 1, send, recv);
    if (!status)
        status = begin(comm, call, &entry);
    if (status)
        return status;
    part = call->count * banyan_datatype_bytes(call->type);
    scratch = copy_to_scratch(comm, send, part * (size_t)comm->group->setup.size);
    if (part && !scratch) {
        banyan_group_leave(comm->group, entry);
        return BANYAN_SYSTEM_ERROR;
    }
    status = run_and_leave(comm, entry, scratch);
    if (!status && part)
        memcpy(recv, scratch + part * (size_t)comm->rank, part);
    return status;
}

static banyan_status all_gather(const void *send, void *recv, const banyan_call *call, banyan_comm *comm)
{
    banyan_call_entry *entry;
    size_t part;
    banyan_status status = check_call(comm, call);

    if (!status)
        status = check_buffers(comm, call, 1, 1, send, recv);
    if (!status)
        status = begin(comm, call, &entry);
    if (status)
        return status;
    part = call->count * banyan_datatype_bytes(call->type);
    if (part)
        copy_unless_same((char *)recv + part * (size_t)comm->rank, send, part);
    return run_and_leave(comm, entry, recv);
}

static banyan_status broadcast(const void *send, void *recv, const banyan_call *call, banyan_comm *comm)
{
    banyan_call_entry *entry;
    banyan_status status = check_call(comm, call);

    if (!status)
        status = check_buffers(comm, call, comm->rank == call->root, 1, send, recv);
    if (!status)
        status = begin(comm, call, &entry);
    if (status)
        return status;
    if (comm->rank == call->root)
        copy_unless_same(recv, send, call->count * banyan_datatype_bytes(call->type));
    return run_and_leave(comm, entry, recv);
}

/* Where a rank that is not the root adds up what passes through it: not in what the user only lent. */
static banyan_status reduce_below_root(const void *send, banyan_call_entry *entry, banyan_comm *comm)
{
    size_t bytes = entry->whole * banyan_datatype_bytes(entry->call.type);
    banyan_runner *runner = NULL;
    banyan_status status = get_runner(comm, entry, &runner);
    void *buffer = (void *)(uintptr_t)send; /* only read, when the program receives nothing */

    if (!status && entry->plan->programs[comm->endpoint->member]->is_changed) {
        buffer = copy_to_scratch(comm, send, bytes);
        status = buffer ? BANYAN_SUCCESS : BANYAN_SYSTEM_ERROR;
    }
    if (!status)
        return run_and_leave(comm, entry, buffer);
    banyan_group_leave(comm->group, entry);
    return status;
}

static banyan_status reduce(const void *send, void *recv, const banyan_call *call, banyan_comm *comm)
{
    banyan_call_entry *entry;
    banyan_status status = check_call(comm, call);

    if (!status)
        status = check_buffers(comm, call, 1, comm->rank == call->root, send, recv);
    if (!status)
        status = begin(comm, call, &entry);
    if (status)
        return status;
    if (comm->rank != call->root && call->count)
        return reduce_below_root(send, entry, comm);
    copy_unless_same(recv, send, call->count * banyan_datatype_bytes(call->type));
    return run_and_leave(comm, entry, recv);
}

static banyan_status call_locked(banyan_collective_function function, const void *send, void *recv,
                                 const banyan_call *call, banyan_comm *comm)
{
    banyan_status status;

    if (!comm)
        return BANYAN_INVALID_ARGUMENT;
    if (banyan_worker_run(comm, function, send, recv, call, &status))
        return status;
    pthread_mutex_lock(&comm->lock);
    status = function(send, recv, call, comm);
    pthread_mutex_unlock(&comm->lock);
    return status;
}

banyan_status banyan_allreduce(const void *send, void *recv, size_t count, banyan_datatype type, banyan_op op,
                               banyan_comm *comm)
{
    banyan_call call = {.collective = BANYAN_COLLECTIVE_ALLREDUCE, .count = count, .type = type, .op = op};

    return call_locked(banyan_comm_allreduce, send, recv, &call, comm);
}

banyan_status banyan_reduce_scatter(const void *send, void *recv, size_t recv_count, banyan_datatype type,
                                    banyan_op op, banyan_comm *comm)
{
    banyan_call call = {
        .collective = BANYAN_COLLECTIVE_REDUCE_SCATTER, .count = recv_count, .type = type, .op = op};

    return call_locked(reduce_scatter, send, recv, &call, comm);
}

banyan_status banyan_all_gather(const void *send, void *recv, size_t send_count, banyan_datatype type,
                                banyan_comm *comm)
{
    banyan_call call = {.collective = BANYAN_COLLECTIVE_ALLGATHER, .count = send_count, .type = type};

    return call_locked(all_gather, send, recv, &call, comm);
}

banyan_status banyan_broadcast(const void *send, void *recv, size_t count, banyan_datatype type, int root,
                               banyan_comm *comm)
{
    banyan_call call = {
        .collective = BANYAN_COLLECTIVE_BROADCAST, .count = count, .type = type, .root = root};

    return call_locked(broadcast, send, recv, &call, comm);
}

banyan_status banyan_reduce(const void *send, void *recv, size_t count, banyan_datatype type, banyan_op op,
                            int root, banyan_comm *comm)
{
    banyan_call call = {
        .collective = BANYAN_COLLECTIVE_REDUCE, .count = count, .type = type, .op = op, .root = root};

    return call_locked(reduce, send, recv, &call, comm);
}

/* Everybody's byte goes into everybody's result, so nobody has it before all have come. */
banyan_status banyan_barrier(banyan_comm *comm)
{
    banyan_call call = {.collective = BANYAN_COLLECTIVE_ALLREDUCE,
                        .is_barrier = 1,
                        .count = 1,
                        .type = BANYAN_UINT8,
                        .op = BANYAN_MAX};
    char byte = 0;

    return call_locked(banyan_comm_allreduce, &byte, &byte, &call, comm);
}
