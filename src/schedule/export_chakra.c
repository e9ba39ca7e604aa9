/* SPDX-License-Identifier: Apache-2.0 */
/* schedule/export_chakra.c: a rank's part of a schedule as a Chakra trace, which ASTRA-sim runs as a custom
 * collective.
 *
 *     transfer 7, g0 -> g1, add      rank 0: SEND 21           rank 1: RECV 22, then COMP 23 (adds)
 *     transfer 8, g1 -> g2, copy     rank 1: SEND 24 waits for COMP 23
 *
 * Transfer t has the ids 3t, 3t+1 and 3t+2, and its number as tag. Nodes wait for what
 * schedule/dependencies.h derives, where it happens on the same rank; messages order the rest. Sizes are
 * those of the vector that the caller names: the form has no others. The chunk counts of -1 tell ASTRA-sim
 * to use them. */
#include <stdint.h>
#include <string.h>

#include "core/alloc.h"
#include "core/protobuf.h"
#include "schedule/dependencies.h"
#include "schedule/export.h"

/* The schema's numbers (et_def.proto 1.0.0). */
enum { NODE_COMPUTE = 4, NODE_SEND = 5, NODE_RECEIVE = 6 };
enum { ATTRIBUTE_INT32 = 7, ATTRIBUTE_INT64 = 9, ATTRIBUTE_BOOL = 27 };

typedef struct {
    const banyan_schedule *schedule;
    const banyan_dependencies *after;
    size_t bytes;
    int node;     /* whose part is written */
    int *rank_of; /* of each node; -1: none */
    banyan_text *out;
    banyan_text message, attribute; /* reused */
} writer;

static uint64_t send_id(size_t t)
{
    return 3 * (uint64_t)t;
}

/* The node that changes the pieces at the destination. */
static uint64_t apply_id(const writer *in, size_t t)
{
    return 3 * (uint64_t)t + (in->schedule->transfers[t].action == BANYAN_ACTION_REDUCE ? 2 : 1);
}

static void add_attribute(writer *in, const char *name, int type, int64_t value)
{
    in->attribute.length = 0;
    banyan_protobuf_add_bytes(&in->attribute, 1, name, strlen(name));
    banyan_protobuf_add_number(&in->attribute, type, (uint64_t)value);
    banyan_protobuf_add_bytes(&in->message, 10, in->attribute.bytes, in->attribute.length);
}

static void begin_node(writer *in, uint64_t id, const char *name, int type)
{
    in->message.length = 0;
    banyan_protobuf_add_number(&in->message, 1, id);
    banyan_protobuf_add_bytes(&in->message, 2, name, strlen(name));
    banyan_protobuf_add_number(&in->message, 3, (uint64_t)type);
}

static void end_node(writer *in)
{
    if (in->message.failed || in->attribute.failed)
        in->out->failed = 1;
    banyan_protobuf_add_varint(in->out, in->message.length);
    banyan_text_add_bytes(in->out, in->message.bytes, in->message.length);
}

static void wait_for(writer *in, uint64_t id)
{
    banyan_protobuf_add_number(&in->message, 5, id);
}

static void wait_for_applied(writer *in, const banyan_dependency_list *list, size_t t)
{
    for (size_t i = list->first[t]; i < list->first[t + 1]; i++)
        wait_for(in, apply_id(in, (size_t)list->item[i]));
}

/* What must be over at the destination before its pieces change. */
static void wait_to_apply(writer *in, size_t t)
{
    const banyan_dependency_list *sends = &in->after->apply_after_send;

    wait_for_applied(in, &in->after->apply_after_apply, t);
    for (size_t i = sends->first[t]; i < sends->first[t + 1]; i++)
        wait_for(in, send_id((size_t)sends->item[i]));
}

static void add_message_facts(writer *in, size_t t)
{
    const banyan_transfer *transfer = &in->schedule->transfers[t];
    size_t first, end;

    banyan_schedule_elements(in->schedule, in->bytes, transfer->first_piece, transfer->piece_count, &first,
                             &end);
    add_attribute(in, "is_cpu_op", ATTRIBUTE_BOOL, 0);
    add_attribute(in, "comm_size", ATTRIBUTE_INT64, (int64_t)(end - first));
    add_attribute(in, "comm_src", ATTRIBUTE_INT32, in->rank_of[transfer->src]);
    add_attribute(in, "comm_dst", ATTRIBUTE_INT32, in->rank_of[transfer->dst]);
    add_attribute(in, "comm_tag", ATTRIBUTE_INT32, (int64_t)t);
    add_attribute(in, "msg_chunk_cnt", ATTRIBUTE_INT32, -1);
    add_attribute(in, "msg_chunk_idx", ATTRIBUTE_INT32, -1);
    add_attribute(in, "total_chunk_cnt", ATTRIBUTE_INT32, -1);
}

static void add_send(writer *in, size_t t)
{
    begin_node(in, send_id(t), "send", NODE_SEND);
    wait_for_applied(in, &in->after->send_after_apply, t);
    add_message_facts(in, t);
    end_node(in);
}

static void add_receive(writer *in, size_t t)
{
    int adds = in->schedule->transfers[t].action == BANYAN_ACTION_REDUCE;

    begin_node(in, 3 * (uint64_t)t + 1, "receive", NODE_RECEIVE);
    if (!adds)
        wait_to_apply(in, t);
    add_message_facts(in, t);
    end_node(in);
    if (!adds)
        return;
    begin_node(in, apply_id(in, t), "add", NODE_COMPUTE);
    wait_for(in, 3 * (uint64_t)t + 1);
    wait_to_apply(in, t);
    add_attribute(in, "is_cpu_op", ATTRIBUTE_BOOL, 0);
    end_node(in);
}

static banyan_status find_ranks(writer *in, banyan_error *err)
{
    const banyan_schedule *schedule = in->schedule;

    in->rank_of = banyan_schedule_make_ranks(schedule);
    if (!in->rank_of)
        return banyan_fail_memory(err);
    for (size_t t = 0; t < schedule->transfer_count; t++)
        if (in->rank_of[schedule->transfers[t].src] < 0 || in->rank_of[schedule->transfers[t].dst] < 0)
            return banyan_fail(
                err, BANYAN_UNSUPPORTED,
                "transfer %zu uses a node that only relays, and a Chakra trace has ranks alone", t);
    if (schedule->transfer_count > INT32_MAX)
        return banyan_fail(err, BANYAN_UNSUPPORTED,
                           "the schedule has more transfers than a Chakra tag can count");
    return BANYAN_SUCCESS;
}

static void add_metadata(writer *in)
{
    in->message.length = 0;
    banyan_protobuf_add_bytes(&in->message, 1, "1.0.0", 5);
    end_node(in);
}

banyan_status banyan_schedule_export_chakra(const banyan_schedule *schedule, size_t bytes, int rank,
                                            banyan_text *out, banyan_error *err)
{
    writer in = {.schedule = schedule, .bytes = bytes, .node = schedule->active[rank], .out = out};
    banyan_dependencies *after = NULL;
    banyan_status status = find_ranks(&in, err);

    if (!status)
        status = banyan_dependencies_derive(schedule, &after, err);
    if (!status) {
        in.after = after;
        add_metadata(&in);
        for (size_t t = 0; t < schedule->transfer_count; t++) {
            if (schedule->transfers[t].src == in.node)
                add_send(&in, t);
            if (schedule->transfers[t].dst == in.node)
                add_receive(&in, t);
        }
        if (out->failed)
            status = banyan_fail_memory(err);
    }
    banyan_dependencies_destroy(after);
    banyan_free(in.rank_of);
    banyan_text_fini(&in.message);
    banyan_text_fini(&in.attribute);
    return status;
}
