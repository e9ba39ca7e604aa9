/* SPDX-License-Identifier: Apache-2.0 */
/* calls/overlap.c: what a call reads must not be what it writes, but for the forms that work in place.
 *
 * Two buffers are compared as they are. Segments are many, so their stretches of memory are sorted by where
 * they begin, and one walk holds each against the furthest end so far: n log n. */
#include <stdint.h>
#include <stdlib.h>

#include "calls/call.h"

/* A stretch of memory. The end of one that no memory can hold is cut off. */
typedef struct {
    uintptr_t begin, end;
    size_t segment;
    int is_written;
} stretch;

static stretch make_stretch(const void *memory, size_t bytes)
{
    uintptr_t begin = (uintptr_t)memory;

    return (stretch){.begin = begin, .end = bytes > UINTPTR_MAX - begin ? UINTPTR_MAX : begin + bytes};
}

static size_t shared_bytes(const stretch *a, const stretch *b)
{
    uintptr_t begin = a->begin > b->begin ? a->begin : b->begin, end = a->end < b->end ? a->end : b->end;

    return begin < end ? end - begin : 0;
}

/* ---- Two buffers. */

/* Whether recv, or send, holds a part for every rank. */
static int gathers(const banyan_call *call)
{
    return call->collective == BANYAN_COLLECTIVE_ALLGATHER || call->collective == BANYAN_COLLECTIVE_GATHER;
}

static int scatters(const banyan_call *call)
{
    return call->collective == BANYAN_COLLECTIVE_REDUCE_SCATTER ||
           call->collective == BANYAN_COLLECTIVE_SCATTER;
}

/* The smaller buffer's place in the larger one, and how that is said. */
static const char *in_place_form(const banyan_call *call, int rank, size_t *elements)
{
    *elements = (size_t)rank * call->count;
    if (gathers(call))
        return "send == recv + rank * count elements";
    if (scatters(call))
        return "recv == send + rank * count elements";
    *elements = 0;
    return "send == recv";
}

static banyan_status check_pair(banyan_comm *comm, const banyan_call *call, const void *send,
                                const void *recv)
{
    size_t bytes = call->count * banyan_datatype_bytes(call->type), ranks = (size_t)comm->group->setup.size,
           shared, elements;
    int exchanges = call->collective == BANYAN_COLLECTIVE_ALLTOALL;
    stretch in = make_stretch(send, scatters(call) || exchanges ? bytes * ranks : bytes),
            out = make_stretch(recv, gathers(call) || exchanges ? bytes * ranks : bytes);
    const char *form = in_place_form(call, comm->rank, &elements);
    uintptr_t whole = gathers(call) ? out.begin : in.begin, part = gathers(call) ? in.begin : out.begin;
    char name[160];

    shared = shared_bytes(&in, &out);
    if (!shared || (!exchanges && part - whole == elements * banyan_datatype_bytes(call->type)))
        return BANYAN_SUCCESS;
    if (exchanges)
        return banyan_fail(&comm->err, BANYAN_INVALID_ARGUMENT,
                           "%s on rank %d: send and recv share %zu bytes; they must not overlap",
                           banyan_call_describe(call, name, sizeof name), comm->rank, shared);
    return banyan_fail(&comm->err, BANYAN_INVALID_ARGUMENT,
                       "%s on rank %d: recv begins %zu bytes %s send and shares %zu bytes with it; they must "
                       "be in place (%s) or not overlap",
                       banyan_call_describe(call, name, sizeof name), comm->rank,
                       out.begin < in.begin ? in.begin - out.begin : out.begin - in.begin,
                       out.begin < in.begin ? "before" : "after", shared, form);
}

/* ---- Segments. */

static int by_begin(const void *left, const void *right)
{
    const stretch *a = left, *b = right;

    return (a->begin > b->begin) - (a->begin < b->begin);
}

/* One stretch for a segment in place, else two. */
static size_t list_stretches(const banyan_buffers *buffers, size_t width, stretch *out)
{
    size_t made = 0;

    for (size_t i = 0; i < buffers->segment_count; i++) {
        const banyan_segment *s = &buffers->segments[i];

        for (int is_written = s->send == s->recv; s->count && is_written < 2; is_written++) {
            out[made] = make_stretch(is_written ? s->recv : s->send, s->count * width);
            out[made].segment = i;
            out[made++].is_written = is_written;
        }
    }
    return made;
}

static banyan_status refuse_segments(banyan_comm *comm, const banyan_call *call, const stretch *a,
                                     const stretch *b)
{
    char name[160];

    return banyan_fail(
        &comm->err, BANYAN_INVALID_ARGUMENT,
        "%s on rank %d: the %s of segment %zu and the %s of segment %zu share %zu bytes; a recv "
        "may be its own segment's send or lie apart from all others",
        banyan_call_describe(call, name, sizeof name), comm->rank, a->is_written ? "recv" : "send",
        a->segment, b->is_written ? "recv" : "send", b->segment, shared_bytes(a, b));
}

/* What is only read may overlap what is only read. */
static banyan_status check_segments(banyan_comm *comm, const banyan_call *call, const banyan_buffers *buffers)
{
    const stretch *any = NULL, *written = NULL; /* those that reach furthest so far */
    stretch *list = (stretch *)(void *)banyan_calls_scratch(comm, 2 * buffers->segment_count * sizeof *list);
    size_t count;

    if (!list)
        return BANYAN_SYSTEM_ERROR;
    count = list_stretches(buffers, banyan_datatype_bytes(call->type), list);
    qsort(list, count, sizeof *list, by_begin);
    for (size_t i = 0; i < count; i++) {
        const stretch *other = list[i].is_written ? any : written;

        if (other && other->end > list[i].begin)
            return refuse_segments(comm, call, other, &list[i]);
        if (!any || list[i].end > any->end)
            any = &list[i];
        if (list[i].is_written && (!written || list[i].end > written->end))
            written = &list[i];
    }
    return BANYAN_SUCCESS;
}

banyan_status banyan_calls_check_overlap(banyan_comm *comm, const banyan_call *call,
                                         const banyan_buffers *buffers, int needs)
{
    if (!call->count)
        return BANYAN_SUCCESS;
    if (buffers->segments)
        return check_segments(comm, call, buffers);
    if (needs != (BANYAN_NEEDS_SEND | BANYAN_NEEDS_RECV))
        return BANYAN_SUCCESS;
    return check_pair(comm, call, buffers->send, buffers->recv);
}
