/* SPDX-License-Identifier: Apache-2.0 */
/* schedule/export_mscclpp.c: a schedule as an execution plan of MSCCL++: JSON, the form with remote_buffers
 * and semaphores.
 *
 * A lane is a thread block with channels of its own to its peers. A thread block holds 64 operations; a
 * longer lane goes on in another one, handed over by a semaphore. Operations name channels and remote
 * buffers by their index in the thread block's lists, and those by the index in the rank's. */
#include <inttypes.h>
#include <string.h>

#include "core/alloc.h"
#include "core/text.h"
#include "schedule/export.h"
#include "schedule/mscclpp.h"

typedef struct {
    const banyan_mscclpp_plan *plan;
    const char *name; /* of the algorithm */
    banyan_text text;
    banyan_error *err;
} writer;

static const banyan_mscclpp_program *program_of(const writer *in, int rank, int lane)
{
    return &in->plan->programs[(size_t)rank * (size_t)in->plan->lanes + (size_t)lane];
}

static void add_list(writer *in, const int *items, int count)
{
    for (int i = 0; i < count; i++)
        banyan_text_add(&in->text, "%s%d", i ? "," : "", items[i]);
}

/* The ranks that the operations from first to end name, ascending; BANYAN_MSCCLPP_CHANNELS + 1: too many. */
static int find_peers(const writer *in, const banyan_mscclpp_program *of, size_t first, size_t end,
                      int reads_only, int *out)
{
    int count = 0;

    for (int peer = 0; peer < in->plan->ranks; peer++) {
        int is_used = 0;

        for (size_t i = first; i < end && !is_used; i++) {
            const banyan_mscclpp_operation *op = &of->operations[i];

            for (int k = 0; k < op->peer_count && !is_used; k++)
                is_used = op->peers[k] == peer && (!reads_only || op->kind >= BANYAN_MSCCLPP_READ_ADD);
        }
        if (is_used && count == BANYAN_MSCCLPP_CHANNELS)
            return BANYAN_MSCCLPP_CHANNELS + 1;
        if (is_used)
            out[count++] = peer;
    }
    return count;
}

static int position(const int *list, int count, int item)
{
    int at = 0;

    while (at < count && list[at] != item)
        at++;
    return at;
}

/* Where the peer's channel of the lane stands among those of the rank: lanes in order, in each the peers. */
static int channel_number(const writer *in, int rank, int lane, int peer)
{
    int number = 0, peers[BANYAN_MSCCLPP_CHANNELS];

    for (int l = 0; l <= lane; l++) {
        const banyan_mscclpp_program *of =
            &in->plan->programs[(size_t)rank * (size_t)in->plan->lanes + (size_t)l];
        int count = find_peers(in, of, 0, of->count, 0, peers);

        number += l < lane ? count : position(peers, count, peer);
    }
    return number;
}

static void add_local(writer *in, const char *buffer, const banyan_mscclpp_operation *op)
{
    banyan_text_add(&in->text, "{\"type\":\"%s\",\"index\":%" PRId64 ",\"size\":%" PRId64 "}", buffer,
                    op->index, op->size);
}

static void add_remote(writer *in, int buffer, const banyan_mscclpp_operation *op)
{
    banyan_text_add(&in->text, "{\"buffer_id\":%d,\"index\":%" PRId64 ",\"size\":%" PRId64 "}", buffer,
                    op->index, op->size);
}

/* What a thread block knows: its peers, and those whose memory it reads. */
typedef struct {
    int peers[BANYAN_MSCCLPP_CHANNELS], sources[BANYAN_MSCCLPP_CHANNELS];
    int peer_count, source_count;
} block;

static void add_channels(writer *in, const block *of, const banyan_mscclpp_operation *op)
{
    banyan_text_add(&in->text, "\"channel_ids\":[");
    for (int i = 0; i < op->peer_count; i++)
        banyan_text_add(&in->text, "%s%d", i ? "," : "", position(of->peers, of->peer_count, op->peers[i]));
    banyan_text_add(&in->text, "],\"channel_type\":\"memory\"");
}

static void add_reading(writer *in, const block *of, const banyan_mscclpp_operation *op)
{
    banyan_text_add(&in->text, "\"src_buff\":[");
    if (op->kind == BANYAN_MSCCLPP_READ_ADD)
        add_local(in, "i", op);
    for (int i = 0; i < op->peer_count; i++) {
        banyan_text_add(&in->text, "%s", i || op->kind == BANYAN_MSCCLPP_READ_ADD ? "," : "");
        add_remote(in, position(of->sources, of->source_count, op->peers[i]), op);
    }
    banyan_text_add(&in->text, "],\"dst_buff\":[");
    add_local(in, op->kind == BANYAN_MSCCLPP_READ_SCRATCH ? "s" : "i", op);
    banyan_text_add(&in->text, "],");
    if (op->kind == BANYAN_MSCCLPP_READ_ADD)
        banyan_text_add(&in->text, "\"channel_type\":\"memory\",\"reduce_op\":\"sum\"");
    else
        add_channels(in, of, op);
}

static void add_applying(writer *in, const banyan_mscclpp_operation *op)
{
    banyan_text_add(&in->text, "\"src_buff\":[");
    if (op->kind == BANYAN_MSCCLPP_ADD_SCRATCH) {
        add_local(in, "i", op);
        banyan_text_add(&in->text, ",");
    }
    add_local(in, "s", op);
    banyan_text_add(&in->text, "],\"dst_buff\":[");
    add_local(in, "i", op);
    banyan_text_add(&in->text, "]%s", op->kind == BANYAN_MSCCLPP_ADD_SCRATCH ? ",\"reduce_op\":\"sum\"" : "");
}

static void add_operation(writer *in, const block *of, const banyan_mscclpp_operation *op)
{
    static const char *const names[] = {"nop", "signal", "wait", "rre", "get", "get", "re", "copy"};

    banyan_text_add(&in->text, "\n{\"name\":\"%s\"", names[op->kind]);
    if (op->kind != BANYAN_MSCCLPP_NOP)
        banyan_text_add(&in->text, ",");
    if (op->kind == BANYAN_MSCCLPP_SIGNAL || op->kind == BANYAN_MSCCLPP_WAIT)
        add_channels(in, of, op);
    else if (op->kind >= BANYAN_MSCCLPP_ADD_SCRATCH)
        add_applying(in, op);
    else if (op->kind != BANYAN_MSCCLPP_NOP)
        add_reading(in, of, op);
    banyan_text_add(&in->text, "}");
}

static void add_handover(writer *in, const char *name, int semaphore)
{
    banyan_text_add(&in->text, "\n{\"name\":\"%s\",\"semaphore_ids\":[%d]}", name, semaphore);
}

/* What was written of a rank so far, and the list that its thread blocks refer to. */
typedef struct {
    int rank, blocks, semaphores;
    int sources[BANYAN_MSCCLPP_CHANNELS * BANYAN_MSCCLPP_LANES],
        source_count; /* whose memory the rank reads */
} rank_lists;

static void add_facts(writer *in, const rank_lists *at, int lane, const block *of)
{
    banyan_text_add(&in->text, "],\n\"channels\":[{\"channel_type\":\"memory\",\"channel_ids\":[");
    for (int i = 0; i < of->peer_count; i++)
        banyan_text_add(&in->text, "%s%d", i ? "," : "", channel_number(in, at->rank, lane, of->peers[i]));
    banyan_text_add(
        &in->text, "]}],\"remote_buffer_refs\":[{\"access_channel_type\":\"memory\",\"remote_buffer_ids\":[");
    for (int i = 0; i < of->source_count; i++)
        banyan_text_add(&in->text, "%s%d", i ? "," : "",
                        position(at->sources, at->source_count, of->sources[i]));
    banyan_text_add(&in->text, "]}]}");
}

/* Operations first .. end-1 of the lane as one thread block. */
static void add_block(writer *in, rank_lists *at, int lane, size_t first, size_t end)
{
    const banyan_mscclpp_program *of = program_of(in, at->rank, lane);
    block here;
    const char *separator = "";

    here.peer_count = find_peers(in, of, first, end, 0, here.peers);
    here.source_count = find_peers(in, of, first, end, 1, here.sources);
    banyan_text_add(&in->text, "%s\n{\"id\":%d,\"ops\":[", at->blocks ? "," : "", at->blocks);
    at->blocks++;
    if (first) {
        add_handover(in, "sem_acquire", at->semaphores - 1);
        banyan_text_add(&in->text, ",\n{\"name\":\"nop\"}");
        separator = ",";
    }
    for (size_t i = first; i < end; i++, separator = ",") {
        banyan_text_add(&in->text, "%s", separator);
        add_operation(in, &here, &of->operations[i]);
    }
    if (end < of->count) {
        banyan_text_add(&in->text, ",\n{\"name\":\"nop\"},");
        add_handover(in, "sem_release", at->semaphores++);
    }
    add_facts(in, at, lane, &here);
}

static banyan_status add_lane(writer *in, rank_lists *at, int lane)
{
    const banyan_mscclpp_program *of = program_of(in, at->rank, lane);
    int peers[BANYAN_MSCCLPP_CHANNELS];

    if (find_peers(in, of, 0, of->count, 0, peers) > BANYAN_MSCCLPP_CHANNELS)
        return banyan_fail(
            in->err, BANYAN_UNSUPPORTED,
            "rank %d has more than %d peers in one flow, and an MSCCL++ thread block has as many channels",
            at->rank, BANYAN_MSCCLPP_CHANNELS);
    for (size_t first = 0, end; first < of->count; first = end) {
        size_t room = BANYAN_MSCCLPP_OPERATIONS - (first ? 2 : 0);

        end = of->count - first <= room ? of->count : first + room - 2;
        add_block(in, at, lane, first, end);
    }
    if (at->semaphores > BANYAN_MSCCLPP_SEMAPHORES)
        return banyan_fail(
            in->err, BANYAN_UNSUPPORTED,
            "rank %d needs more than the %d semaphores of MSCCL++: the flows have too many steps", at->rank,
            BANYAN_MSCCLPP_SEMAPHORES);
    return BANYAN_SUCCESS;
}

static void find_sources(writer *in, rank_lists *at)
{
    for (int lane = 0; lane < in->plan->lanes; lane++) {
        const banyan_mscclpp_program *of = program_of(in, at->rank, lane);
        int peers[BANYAN_MSCCLPP_CHANNELS], count = find_peers(in, of, 0, of->count, 1, peers);

        for (int i = 0; i < count && count <= BANYAN_MSCCLPP_CHANNELS; i++)
            if (position(at->sources, at->source_count, peers[i]) == at->source_count)
                at->sources[at->source_count++] = peers[i];
    }
}

static void add_connections(writer *in, const rank_lists *at)
{
    int is_first = 1;

    banyan_text_add(&in->text, "],\n\"channels\":[{\"channel_type\":\"memory\",\"connected_to\":[");
    for (int lane = 0; lane < in->plan->lanes; lane++) {
        const banyan_mscclpp_program *of = program_of(in, at->rank, lane);
        int peers[BANYAN_MSCCLPP_CHANNELS], count = find_peers(in, of, 0, of->count, 0, peers);

        banyan_text_add(&in->text, "%s", count && !is_first ? "," : "");
        add_list(in, peers, count);
        is_first = is_first && !count;
    }
    banyan_text_add(&in->text, "]}],\n\"remote_buffers\":[");
    for (int i = 0; i < at->source_count; i++)
        banyan_text_add(&in->text, "%s{\"rank\":%d,\"type\":\"i\",\"access_channel_types\":[\"memory\"]}",
                        i ? "," : "", at->sources[i]);
    banyan_text_add(&in->text, "],\"semaphores\":[");
    for (int i = 0; i < at->semaphores; i++)
        banyan_text_add(&in->text, "%s{\"init_value\":0}", i ? "," : "");
    banyan_text_add(&in->text, "]}");
}

static banyan_status add_rank(writer *in, int rank)
{
    int64_t chunks = in->plan->chunks;
    rank_lists at = {.rank = rank};
    banyan_status status = BANYAN_SUCCESS;

    find_sources(in, &at);
    banyan_text_add(&in->text,
                    "%s\n{\"id\":%d,\"input_chunks\":%" PRId64 ",\"output_chunks\":%" PRId64
                    ",\"scratch_chunks\":%" PRId64 ",\"threadblocks\":[",
                    rank ? "," : "", rank, chunks, chunks, in->plan->uses_scratch[rank] ? chunks : 0);
    for (int lane = 0; lane < in->plan->lanes && !status; lane++)
        status = add_lane(in, &at, lane);
    if (!status)
        add_connections(in, &at);
    return status;
}

static banyan_status format(writer *in, char **out)
{
    banyan_status status = BANYAN_SUCCESS;

    banyan_text_add(&in->text, "{\"name\":\"banyan_%s\",", in->name);
    banyan_text_add(&in->text, "\"collective\":\"allreduce\",\"protocol\":\"Simple\",\"inplace\":true,"
                               "\"reuse_resources\":false,\"gpus\":[");
    for (int rank = 0; rank < in->plan->ranks && !status; rank++)
        status = add_rank(in, rank);
    banyan_text_add(&in->text, "],\n\"num_threads_per_block\":1024,\"use_double_scratch_buffer\":false,"
                               "\"buffer_alignment\":16,\"min_message_size\":0,"
                               "\"max_message_size\":4294967295}\n"); /* offsets have 32 bits */
    return status ? status : banyan_text_take(&in->text, out, in->err);
}

banyan_status banyan_schedule_export_mscclpp(const banyan_schedule *schedule, char **out, banyan_error *err)
{
    banyan_mscclpp_plan plan = {0};
    writer in = {.plan = &plan, .name = schedule->algorithm ? schedule->algorithm : "plan", .err = err};
    banyan_status status;

    *out = NULL;
    if (schedule->collective != BANYAN_COLLECTIVE_ALLREDUCE)
        return banyan_fail(err, BANYAN_UNSUPPORTED,
                           "MSCCL++ plans are written of all-reduces, and this is %s",
                           banyan_collective_name(schedule->collective));
    if (schedule->active_count < 2 || schedule->active_count > 1024)
        return banyan_fail(err, BANYAN_UNSUPPORTED,
                           "MSCCL++ plans are written for 2 to 1024 ranks, not for %d",
                           schedule->active_count);
    status = banyan_mscclpp_plan_init(schedule, &plan, err);
    if (!status)
        status = format(&in, out);
    banyan_mscclpp_plan_fini(&plan);
    banyan_text_fini(&in.text);
    return status;
}
