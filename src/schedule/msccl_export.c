/* SPDX-License-Identifier: Apache-2.0 */
/* schedule/msccl_export.c: a schedule as MSCCL XML.
 *
 * The program works in place and is as narrow as the limits allow: one channel a flow first; where a thread
 * block gets too long, two channels a flow, four, ...; where there are too many blocks, flows share channels.
 * The first that fits is taken. */
#include <string.h>

#include "core/alloc.h"
#include "schedule/export.h"
#include "schedule/msccl_weave.h"

typedef struct {
    const banyan_schedule *schedule;
    banyan_msccl_limits limits;
    banyan_schedule *parts;
    banyan_dependencies *dependencies;
    int64_t window;
    banyan_msccl_program *program;
    banyan_error *err;
} exporter;

static banyan_status check_size(const banyan_msccl_program *program, banyan_error *err)
{
    for (int r = 0; r < program->rank_count; r++) {
        int nodes = banyan_msccl_node_count(program, r), blocks = program->ranks[r].block_count;

        if (nodes > BANYAN_MSCCL_NODES)
            return banyan_fail(err, BANYAN_UNSUPPORTED,
                               "rank %d needs %d XML elements, and a runtime holds %d a rank", r, nodes,
                               BANYAN_MSCCL_NODES);
        if (blocks > BANYAN_MSCCL_CHILDREN)
            return banyan_fail(err, BANYAN_UNSUPPORTED,
                               "rank %d needs %d thread blocks, and a runtime holds %d a rank", r, blocks,
                               BANYAN_MSCCL_CHILDREN);
    }
    return BANYAN_SUCCESS;
}

/* is_crowded: more channels may help. */
static banyan_status attempt(exporter *in, int channels, int groups, int *is_crowded, banyan_error *err)
{
    banyan_msccl_lanes *lanes = NULL;
    banyan_status status;

    *is_crowded = 0;
    status = banyan_msccl_lay_lanes(in->parts, in->dependencies, in->window, channels, groups, &lanes, err);
    if (!status)
        status = banyan_msccl_weave(lanes, in->limits.max_steps, &in->program, is_crowded, err);
    if (!status) {
        status = check_size(in->program, err);
        if (status) {
            banyan_msccl_destroy(in->program);
            in->program = NULL;
        }
    }
    banyan_msccl_lanes_destroy(lanes);
    return status;
}

static banyan_status find_channels(exporter *in)
{
    int most = in->limits.max_channels, flows = in->parts->flow_count ? in->parts->flow_count : 1;
    int narrow = flows < most ? flows : most, is_crowded;
    banyan_status status = attempt(in, narrow, 1, &is_crowded, in->err);
    banyan_error ignored;

    for (int groups = 2; status == BANYAN_UNSUPPORTED && is_crowded && groups <= most; groups *= 2) {
        int channels = flows > most / groups ? most : flows * groups;

        status = attempt(in, channels, groups, &is_crowded, in->err);
    }
    for (int channels = narrow / 2; status == BANYAN_UNSUPPORTED && !is_crowded && channels > 0;
         channels /= 2)
        status = attempt(in, channels, 1, &is_crowded, &ignored);
    return status;
}

static banyan_status label(exporter *in)
{
    const banyan_schedule *parts = in->parts;
    banyan_msccl_program *program = in->program;
    const char *name =
        in->schedule->algorithm && *in->schedule->algorithm ? in->schedule->algorithm : "banyan";
    int is_rooted = banyan_collective_has_root(parts->collective);

    program->name = banyan_strdup(name);
    if (!program->name)
        return banyan_fail_memory(in->err);
    if (strlen(program->name) > 200)
        program->name[200] = 0; /* the parsers hold 255 bytes */
    memcpy(program->proto, "Simple", sizeof "Simple");
    program->collective = parts->collective;
    program->root = is_rooted ? parts->root : -1;
    program->chunk_count = (int)parts->whole;
    program->in_place = 1;
    program->min_bytes = (int64_t)in->limits.min_bytes;
    program->max_bytes = (int64_t)in->limits.max_bytes;
    for (int r = 0; r < program->rank_count; r++) {
        program->ranks[r].i_chunks = banyan_msccl_input_chunks(program);
        program->ranks[r].o_chunks = banyan_msccl_output_chunks(program);
    }
    return BANYAN_SUCCESS;
}

static banyan_status check_limits(exporter *in)
{
    banyan_msccl_limits *limits = &in->limits;

    if (!limits->max_steps)
        limits->max_steps = BANYAN_MSCCL_AZURE_STEPS;
    if (!limits->max_channels)
        limits->max_channels = BANYAN_MSCCL_CHANNELS;
    if (limits->max_steps < 1 || limits->max_steps > BANYAN_MSCCL_STEPS)
        return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT, "%d steps a thread block are not from 1 to %d",
                           limits->max_steps, BANYAN_MSCCL_STEPS);
    if (limits->max_channels < 1 || limits->max_channels > BANYAN_MSCCL_CHANNELS)
        return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT, "%d channels are not from 1 to %d",
                           limits->max_channels, BANYAN_MSCCL_CHANNELS);
    if (limits->min_bytes > INT64_MAX / 2 || limits->max_bytes > INT64_MAX / 2)
        return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT, "the window of sizes is out of range");
    if (in->schedule->collective > BANYAN_COLLECTIVE_REDUCE)
        return banyan_fail(in->err, BANYAN_UNSUPPORTED, "a schedule of %s is not written as MSCCL XML",
                           banyan_collective_name(in->schedule->collective));
    if (in->schedule->active_count > BANYAN_MSCCL_NODES - 1)
        return banyan_fail(in->err, BANYAN_UNSUPPORTED, "%d ranks, and a runtime holds %d XML elements",
                           in->schedule->active_count, BANYAN_MSCCL_NODES);
    return BANYAN_SUCCESS;
}

banyan_status banyan_schedule_export_msccl(const banyan_schedule *schedule, const banyan_msccl_limits *limits,
                                           char **out, banyan_error *err)
{
    exporter in = {.schedule = schedule, .err = err};
    banyan_status status;

    *out = NULL;
    if (limits)
        in.limits = *limits;
    status = check_limits(&in);
    if (!status)
        status = banyan_msccl_refine(schedule, &in.parts, &in.window, err);
    if (!status)
        status = banyan_dependencies_derive(in.parts, &in.dependencies, err);
    if (!status)
        status = find_channels(&in);
    if (!status)
        status = label(&in);
    if (!status)
        status = banyan_msccl_format(in.program, out, err);
    banyan_msccl_destroy(in.program);
    banyan_dependencies_destroy(in.dependencies);
    banyan_schedule_destroy(in.parts);
    return status;
}
