/* SPDX-License-Identifier: Apache-2.0 */
/* schedule/export_trace.c: a timeline as Chrome trace JSON, for chrome://tracing and Perfetto.
 *
 *     g0   send        ███ add 0-3 to g1 ███ ─┐
 *     g1   receive     ███ add 0-3 from g0 ███ <┘
 *
 * A node is a process. Slices of one lane (a thread, to the viewers) may not overlap, so a node has as many
 * lanes for sending and for receiving as it does at a time: a transfer takes the first that is free. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/alloc.h"
#include "core/text.h"
#include "schedule/export.h"

#define RECEIVE_LANES 100000 /* thread ids from here on receive */

typedef struct {
    double begin_s;
    size_t transfer;
} start;

/* The lanes of a node in one direction: when each is free again. */
typedef struct {
    double *free_s;
    size_t count, capacity;
} lanes;

typedef struct {
    const banyan_schedule *schedule;
    const banyan_timeline *timeline;
    size_t bytes;
    banyan_node_namer node_name;
    const void *context;
    lanes *sends, *receives; /* by node */
    banyan_text text;
    int failed;
} recorder;

static int by_begin(const void *a, const void *b)
{
    const start *x = a, *y = b;

    if (x->begin_s != y->begin_s)
        return x->begin_s < y->begin_s ? -1 : 1;
    return (x->transfer > y->transfer) - (x->transfer < y->transfer);
}

static int take_lane(recorder *in, lanes *of, double begin_s, double end_s)
{
    void *free_s = of->free_s;
    size_t lane = 0;

    while (lane < of->count && of->free_s[lane] > begin_s)
        lane++;
    if (lane == of->count) {
        if (!banyan_grow(&free_s, of->count, &of->capacity, sizeof *of->free_s)) {
            in->failed = 1;
            return 0;
        }
        of->free_s = free_s;
        of->count++;
    }
    of->free_s[lane] = end_s;
    return (int)lane;
}

static void add_name(recorder *in, int node)
{
    char number[24];

    snprintf(number, sizeof number, "node %d", node);
    banyan_text_add_json_string(&in->text, in->node_name ? in->node_name(in->context, node) : number);
}

static void add_time(recorder *in, const char *key, double seconds)
{
    banyan_text_add(&in->text, ",\"%s\":", key);
    banyan_text_add_number(&in->text, seconds * 1e6);
}

static void add_slice(recorder *in, size_t i, int is_send, int lane)
{
    const banyan_transfer *t = &in->schedule->transfers[i];
    int node = is_send ? t->src : t->dst, thread = (is_send ? 0 : RECEIVE_LANES) + lane;
    double begin_s = in->timeline->begin_s[i], end_s = in->timeline->end_s[i];
    size_t first, end;

    banyan_schedule_elements(in->schedule, in->bytes, t->first_piece, t->piece_count, &first, &end);
    banyan_text_add(&in->text,
                    ",\n{\"ph\":\"X\",\"cat\":\"transfer\",\"name\":\"%s %d-%d\",\"pid\":%d,\"tid\":%d",
                    t->action == BANYAN_ACTION_REDUCE ? "add" : "copy", t->first_piece,
                    t->first_piece + t->piece_count - 1, node, thread);
    add_time(in, "ts", begin_s);
    add_time(in, "dur", end_s - begin_s);
    banyan_text_add(&in->text, ",\"args\":{\"transfer\":%zu,\"%s\":", i, is_send ? "to" : "from");
    add_name(in, is_send ? t->dst : t->src);
    banyan_text_add(&in->text, ",\"round\":%d,\"flow\":%d,\"bytes\":%zu}}", t->round, t->flow, end - first);
    /* The two ends of an arrow between the slices. */
    banyan_text_add(&in->text, ",\n{\"ph\":\"%s\",\"cat\":\"transfer\",\"name\":\"message\",\"id\":%zu,",
                    is_send ? "s" : "f\",\"bp\":\"e", i);
    banyan_text_add(&in->text, "\"pid\":%d,\"tid\":%d", node, thread);
    add_time(in, "ts", begin_s);
    banyan_text_add(&in->text, "}");
}

static void add_transfers(recorder *in, const start *starts)
{
    for (size_t k = 0; k < in->schedule->transfer_count && !in->failed; k++) {
        size_t i = starts[k].transfer;
        const banyan_transfer *t = &in->schedule->transfers[i];
        double begin_s = in->timeline->begin_s[i], end_s = in->timeline->end_s[i];

        add_slice(in, i, 1, take_lane(in, &in->sends[t->src], begin_s, end_s));
        add_slice(in, i, 0, take_lane(in, &in->receives[t->dst], begin_s, end_s));
    }
}

static void add_lane_names(recorder *in, int node, const lanes *of, const char *does, int first)
{
    for (size_t lane = 0; lane < of->count; lane++)
        banyan_text_add(
            &in->text,
            ",\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%d,\"tid\":%d,\"args\":{\"name\":\"%s "
            "%zu\"}}",
            node, first + (int)lane, does, lane);
}

static void add_nodes(recorder *in)
{
    for (int node = 0; node < in->schedule->node_count; node++) {
        if (!in->sends[node].count && !in->receives[node].count)
            continue;
        banyan_text_add(&in->text,
                        ",\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%d,\"args\":{\"name\":", node);
        add_name(in, node);
        banyan_text_add(&in->text, "}}");
        add_lane_names(in, node, &in->sends[node], "send", 0);
        add_lane_names(in, node, &in->receives[node], "receive", RECEIVE_LANES);
    }
}

static banyan_status record(recorder *in, char **out, banyan_error *err)
{
    const banyan_schedule *schedule = in->schedule;
    start *starts = banyan_alloc(schedule->transfer_count, sizeof *starts);

    in->sends = banyan_alloc((size_t)schedule->node_count, sizeof *in->sends);
    in->receives = banyan_alloc((size_t)schedule->node_count, sizeof *in->receives);
    in->failed = !starts || !in->sends || !in->receives;
    if (!in->failed) {
        for (size_t i = 0; i < schedule->transfer_count; i++)
            starts[i] = (start){in->timeline->begin_s[i], i};
        qsort(starts, schedule->transfer_count, sizeof *starts, by_begin);
        banyan_text_add(&in->text,
                        "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"collective\":\"%s\",\"bytes\":%zu},\n",
                        banyan_collective_name(schedule->collective), in->bytes);
        banyan_text_add(&in->text, "\"traceEvents\":[\n{\"ph\":\"M\",\"name\":\"trace_name\",\"pid\":0,"
                                   "\"args\":{\"name\":\"banyan\"}}");
        add_transfers(in, starts);
        add_nodes(in);
        banyan_text_add(&in->text, "\n]}\n");
    }
    banyan_free(starts);
    return in->failed ? banyan_fail_memory(err) : banyan_text_take(&in->text, out, err);
}

static void free_lanes(lanes *of, int count)
{
    for (int i = 0; of && i < count; i++)
        banyan_free(of[i].free_s);
    banyan_free(of);
}

banyan_status banyan_schedule_export_trace(const banyan_schedule *schedule, const banyan_timeline *timeline,
                                           size_t bytes, banyan_node_namer node_name, const void *context,
                                           char **out, banyan_error *err)
{
    recorder in = {.schedule = schedule,
                   .timeline = timeline,
                   .bytes = bytes,
                   .node_name = node_name,
                   .context = context};
    banyan_status status;

    *out = NULL;
    if (timeline->count != schedule->transfer_count)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "the timeline has %zu transfers, the schedule %zu",
                           timeline->count, schedule->transfer_count);
    for (size_t i = 0; i < timeline->count; i++)
        if (!isfinite(timeline->begin_s[i]) || !isfinite(timeline->end_s[i]))
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "transfer %zu has no finite time", i);
    status = record(&in, out, err);
    free_lanes(in.sends, schedule->node_count);
    free_lanes(in.receives, schedule->node_count);
    banyan_text_fini(&in.text);
    return status;
}
