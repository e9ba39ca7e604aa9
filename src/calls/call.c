/* SPDX-License-Identifier: Apache-2.0 */
/* calls/call.c: the way of every call: checked, entered, run, left. */
#include "calls/call.h"

#include <stdint.h>
#include <stdio.h>

#include "calls/learning.h"
#include "calls/stragglers.h"
#include "core/alloc.h"
#include "core/clock.h"
#include "group/pacing.h"

/* Bytes of the whole vector are at most what memory can hold. */
static banyan_status check_call(banyan_comm *comm, const banyan_call *call)
{
    size_t bytes = banyan_datatype_bytes(call->type);
    size_t size = (size_t)comm->group->setup.size;
    size_t most_parts = call->collective == BANYAN_COLLECTIVE_ALLTOALL ? size * size : size;

    if (!bytes)
        return banyan_fail(&comm->err, BANYAN_INVALID_ARGUMENT, "there is no datatype %d", (int)call->type);
    if ((unsigned)call->op > BANYAN_AVG)
        return banyan_fail(&comm->err, BANYAN_INVALID_ARGUMENT, "there is no op %d", (int)call->op);
    if (call->root < 0 || call->root >= comm->group->setup.size)
        return banyan_fail(&comm->err, BANYAN_INVALID_ARGUMENT, "root %d is not a rank from 0 to %d",
                           call->root, comm->group->setup.size - 1);
    if (call->count > (size_t)PTRDIFF_MAX / bytes / most_parts)
        return banyan_fail(&comm->err, BANYAN_INVALID_ARGUMENT,
                           "%zu elements of %zu bytes on %zu ranks do not fit in memory", call->count, bytes,
                           size);
    return BANYAN_SUCCESS;
}

static banyan_status check_buffers(banyan_comm *comm, const banyan_call *call, const banyan_buffers *buffers,
                                   int needs)
{
    if (buffers->segments) {
        for (size_t i = 0; i < buffers->segment_count; i++)
            if (buffers->segments[i].count && (!buffers->segments[i].send || !buffers->segments[i].recv))
                return banyan_fail(&comm->err, BANYAN_INVALID_ARGUMENT,
                                   "the %s buffer of segment %zu is NULL",
                                   buffers->segments[i].send ? "recv" : "send", i);
    } else if (call->count && (((needs & BANYAN_NEEDS_SEND) && !buffers->send) ||
                               ((needs & BANYAN_NEEDS_RECV) && !buffers->recv))) {
        return banyan_fail(&comm->err, BANYAN_INVALID_ARGUMENT, "the %s buffer is NULL",
                           (needs & BANYAN_NEEDS_SEND) && !buffers->send ? "send" : "recv");
    }
    return banyan_calls_check_overlap(comm, call, buffers, needs);
}

banyan_status banyan_calls_check(banyan_comm *comm, const banyan_call *call, const banyan_buffers *buffers,
                                 int needs)
{
    banyan_status status = check_call(comm, call);

    return status ? status : check_buffers(comm, call, buffers, needs);
}

banyan_status banyan_calls_open(banyan_comm *comm, const banyan_call *call, const banyan_buffers *buffers,
                                int needs, banyan_call_entry **entry)
{
    banyan_status status = banyan_calls_check(comm, call, buffers, needs), entered;

    if (status && status != BANYAN_SYSTEM_ERROR)
        return status;
    entered = banyan_group_enter(comm->group, comm->rank, comm->endpoint, call, entry, &comm->err);
    if (entered || !status)
        return entered;
    return banyan_calls_give_up(comm, *entry, status); /* the call is right: the others wait for it */
}

banyan_status banyan_calls_give_up(banyan_comm *comm, banyan_call_entry *entry, banyan_status status)
{
    char sentence[sizeof comm->err.text];

    snprintf(sentence, sizeof sentence, "rank %d: %.400s", comm->rank, comm->err.text);
    comm->endpoint->transport->abort(comm->endpoint, BANYAN_REMOTE_ERROR, sentence);
    banyan_group_leave(comm->group, entry);
    return status;
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

/* What ended the group is told in the same words everywhere. A rank of this host may have ended our data
 * before the control thread has heard of anything: then there is a failure to wait for the root's words
 * about, or to be told to all where we are the root. */
banyan_status banyan_calls_hear_verdict(banyan_comm *comm, banyan_status status)
{
    banyan_control *control = banyan_world_control(comm->group->world);
    banyan_status verdict;

    if (status == BANYAN_PEER_LOST || status == BANYAN_REMOTE_ERROR)
        banyan_control_abort(control, status, comm->err.text);
    verdict = banyan_control_verdict(control, &comm->err);
    return verdict ? verdict : status;
}

static banyan_status run(banyan_comm *comm, const banyan_call_entry *entry, banyan_runner *runner,
                         banyan_run_request *request)
{
    unsigned char label[BANYAN_LABEL_BYTES];
    explaining context = {comm->group->world, entry};
    banyan_status status;

    request->count = entry->whole;
    request->type = entry->call.type;
    request->op = entry->call.op;
    request->timeout_ms = comm->group->setup.timeout_ms;
    request->waited_s = banyan_stragglers_waits(comm);
    if (!comm->group->world)
        return banyan_runner_run(runner, request, &comm->err);
    banyan_world_label(entry, label);
    request->label = label;
    request->label_bytes = sizeof label;
    request->explain = explain;
    request->context = &context;
    status = banyan_runner_run(runner, request, &comm->err);
    return status ? banyan_calls_hear_verdict(comm, status) : status;
}

banyan_status banyan_calls_run(banyan_comm *comm, banyan_call_entry *entry, const banyan_run_request *memory)
{
    banyan_run_request request = *memory;
    banyan_runner *runner = NULL;
    banyan_group_plan *entry_plan = entry->whole ? entry->plan : NULL;
    banyan_call call = entry->call;
    size_t bytes = entry->whole * banyan_datatype_bytes(call.type);
    double begin_s, took_s = 0;
    banyan_status status = BANYAN_SUCCESS;

    if (comm->direct)
        banyan_direct_note_host_call(comm->direct, entry->number);
    if (entry->whole) {
        status =
            banyan_group_plan_runner(entry->plan, &comm->group->setup, comm->endpoint, &runner, &comm->err);
        if (status)
            return banyan_calls_give_up(comm, entry, status);
        status = banyan_pacing_begin(entry->plan, &comm->group->setup, comm->endpoint, &comm->err);
        if (status)
            return banyan_calls_give_up(comm, entry, status);
        begin_s = banyan_clock_s();
        status = run(comm, entry, runner, &request);
        took_s = banyan_clock_s() - begin_s;
        if (!status)
            banyan_pacing_end(entry->plan, comm->endpoint, bytes, took_s);
    }
    banyan_group_leave(comm->group, entry);
    if (!status && entry_plan && comm->learning)
        status = banyan_learning_note(comm, &call, entry_plan, bytes, took_s);
    if (!status && bytes)
        status = banyan_stragglers_note(comm, call.collective, took_s);
    return status;
}

char *banyan_calls_scratch(banyan_comm *comm, size_t bytes)
{
    if (bytes > comm->scratch_bytes) {
        char *scratch = banyan_realloc(comm->scratch, bytes, 1);

        if (!scratch) {
            banyan_fail_memory(&comm->err);
            return NULL;
        }
        comm->scratch = scratch;
        comm->scratch_bytes = bytes;
    }
    return comm->scratch;
}

banyan_part *banyan_calls_parts(banyan_comm *comm, size_t count)
{
    if (count > comm->part_count) {
        banyan_part *parts = banyan_realloc(comm->parts, count, sizeof *parts);

        if (!parts) {
            banyan_fail_memory(&comm->err);
            return NULL;
        }
        comm->parts = parts;
        comm->part_count = count;
    }
    return comm->parts;
}
