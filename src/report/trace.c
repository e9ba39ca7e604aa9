/* SPDX-License-Identifier: Apache-2.0 */
/* report/trace.c: when transfers really began and ended, read from a Chrome trace. Only slices that name
 * their transfer count; the earliest of them is the moment 0. */
#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/json.h"
#include "report/report.h"

static int get_number(const banyan_json *object, const char *key, double *out)
{
    const banyan_json *value = object ? banyan_json_field(object, key) : NULL;

    return value && banyan_json_get_number(value, out);
}

/* The peer that the slice names is the transfer's other end. */
static banyan_status check_peer(const banyan_json *args, const banyan_transfer *t, int64_t id,
                                const banyan_topology *topology, banyan_error *err)
{
    const banyan_json *to = banyan_json_field(args, "to"), *from = banyan_json_field(args, "from");
    const char *name = NULL, *wanted = banyan_topology_node_name(topology, to ? t->dst : t->src);

    if ((!to && !from) || !banyan_json_get_string(to ? to : from, &name) || !strcmp(name, wanted))
        return BANYAN_SUCCESS;
    return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                       "the trace is of another schedule: there transfer %lld goes %s %.60s, here %s %.60s",
                       (long long)id, to ? "to" : "from", name, to ? "to" : "from", wanted);
}

static banyan_status read_event(const banyan_json *event, const banyan_schedule *schedule,
                                const banyan_topology *topology, banyan_timeline *timeline, banyan_error *err)
{
    const banyan_json *args = banyan_json_field(event, "args"), *number;
    double begin_us, length_us;
    banyan_status status;
    int64_t id;

    number = args ? banyan_json_field(args, "transfer") : NULL;
    if (!number || !banyan_json_get_integer(number, &id) || !get_number(event, "ts", &begin_us) ||
        !get_number(event, "dur", &length_us))
        return BANYAN_SUCCESS;
    if (id < 0 || (size_t)id >= schedule->transfer_count)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "the trace is of another schedule: it has transfer %lld, and here are %zu",
                           (long long)id, schedule->transfer_count);
    if (length_us < 0)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "the trace is wrong: transfer %lld ends before it begins", (long long)id);
    status = check_peer(args, &schedule->transfers[id], id, topology, err);
    if (status)
        return status;
    timeline->begin_s[id] = fmin(timeline->begin_s[id], begin_us * 1e-6);
    timeline->end_s[id] = fmax(timeline->end_s[id], (begin_us + length_us) * 1e-6);
    return BANYAN_SUCCESS;
}

static banyan_status begin_at_zero(banyan_timeline *timeline, banyan_error *err)
{
    double first_s = HUGE_VAL;

    for (size_t i = 0; i < timeline->count; i++)
        first_s = fmin(first_s, timeline->begin_s[i]);
    if (!isfinite(first_s))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "the trace holds no transfer: no slice has \"transfer\" among its \"args\"");
    for (size_t i = 0; i < timeline->count; i++) {
        timeline->begin_s[i] -= first_s;
        timeline->end_s[i] -= first_s;
        timeline->total_s = fmax(timeline->total_s, timeline->end_s[i]);
    }
    return BANYAN_SUCCESS;
}

static banyan_status read_events(const banyan_json *document, const banyan_schedule *schedule,
                                 const banyan_topology *topology, banyan_timeline *timeline,
                                 banyan_error *err)
{
    const banyan_json *events = banyan_json_kind(document) == BANYAN_JSON_OBJECT
                                    ? banyan_json_field(document, "traceEvents")
                                    : document;
    banyan_status status = BANYAN_SUCCESS;

    if (!events || banyan_json_kind(events) != BANYAN_JSON_ARRAY)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "the trace has no \"traceEvents\"");
    for (size_t i = 0; i < timeline->count; i++)
        timeline->begin_s[i] = timeline->end_s[i] = NAN; /* fmin and fmax pass over it */
    for (size_t i = 0; !status && i < banyan_json_count(events); i++)
        status = read_event(banyan_json_item(events, i), schedule, topology, timeline, err);
    return status ? status : begin_at_zero(timeline, err);
}

banyan_status banyan_report_parse_trace(const char *text, size_t length, const banyan_schedule *schedule,
                                        const banyan_topology *topology, banyan_timeline **out,
                                        banyan_error *err)
{
    banyan_timeline *timeline = NULL;
    banyan_json *document = NULL;
    banyan_status status = banyan_json_parse(text, length, &document, err);

    *out = NULL;
    if (!status)
        status = banyan_timeline_create(schedule->transfer_count, &timeline, err);
    if (!status)
        status = read_events(document, schedule, topology, timeline, err);
    if (!status) {
        *out = timeline;
        timeline = NULL; /* the caller's now */
    }
    banyan_timeline_destroy(timeline);
    banyan_json_destroy(document);
    return status;
}
