/* SPDX-License-Identifier: Apache-2.0 */
/* plan/export.c: schedules in other forms, for users of the library. */
#include "schedule/export.h"

#include <string.h>

#include "core/alloc.h"
#include "core/file.h"
#include "core/sized.h"
#include "plan/flit.h"
#include "plan/prediction.h"
#include "plan/problem.h"
#include "schedule/slice.h"

#define DEFAULT_MAX_STEPS 64   /* of an MSCCL thread block: what the Azure build holds */
#define LARGEST_MAX_STEPS 1024 /* no runtime holds more than 256 */
#define DEFAULT_MAX_ROWS 40    /* of text: what fits on a screen */

typedef banyan_status writer(const banyan_schedule *schedule, const banyan_topology *topology,
                             const banyan_export_config *config, char **out, banyan_error *err);

static const char *node_name(const void *topology, int node)
{
    return banyan_topology_node_name(topology, node);
}

static banyan_node_namer namer(const banyan_topology *topology)
{
    return topology ? node_name : NULL;
}

static banyan_status write_json(const banyan_schedule *schedule, const banyan_topology *topology,
                                const banyan_export_config *config, char **out, banyan_error *err)
{
    (void)topology;
    (void)config;
    return banyan_schedule_format(schedule, out, err);
}

static banyan_status write_msccl(const banyan_schedule *schedule, const banyan_topology *topology,
                                 const banyan_export_config *config, char **out, banyan_error *err)
{
    banyan_msccl_limits limits = {.max_steps = config->max_steps ? config->max_steps : DEFAULT_MAX_STEPS};

    (void)topology;
    if (limits.max_steps < 1 || limits.max_steps > LARGEST_MAX_STEPS)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "a limit of %d steps is not from 1 to %d",
                           limits.max_steps, LARGEST_MAX_STEPS);
    return banyan_schedule_export_msccl(schedule, &limits, out, err);
}

static banyan_status write_mscclpp(const banyan_schedule *schedule, const banyan_topology *topology,
                                   const banyan_export_config *config, char **out, banyan_error *err)
{
    (void)topology;
    (void)config;
    return banyan_schedule_export_mscclpp(schedule, out, err);
}

static banyan_status write_dot(const banyan_schedule *schedule, const banyan_topology *topology,
                               const banyan_export_config *config, char **out, banyan_error *err)
{
    (void)config;
    return banyan_schedule_export_dot(schedule, namer(topology), topology, out, err);
}

static banyan_status write_text(const banyan_schedule *schedule, const banyan_topology *topology,
                                const banyan_export_config *config, char **out, banyan_error *err)
{
    return banyan_schedule_export_text(schedule, namer(topology), topology,
                                       config->max_rows ? config->max_rows : DEFAULT_MAX_ROWS, out, err);
}

static size_t bytes_of(const banyan_export_config *config)
{
    return config->bytes ? config->bytes : BANYAN_PLAN_DEFAULT_BYTES;
}

static banyan_status write_trace(const banyan_schedule *schedule, const banyan_topology *topology,
                                 const banyan_export_config *config, char **out, banyan_error *err)
{
    const banyan_prediction *given = config->prediction;
    banyan_prediction *own = NULL;
    banyan_status status = BANYAN_SUCCESS;

    if (given && given->sliced)
        schedule = given->sliced;
    if (given && given->timeline->count != schedule->transfer_count)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "the prediction is of %zu transfers, but the schedule has %zu",
                           given->timeline->count, schedule->transfer_count);
    if (!given)
        status = banyan_schedule_predict(schedule, topology, bytes_of(config), NULL, &own, err);
    if (!status)
        status = banyan_schedule_export_trace(schedule, given ? given->timeline : own->timeline,
                                              bytes_of(config), namer(topology), topology, out, err);
    banyan_prediction_destroy(own);
    return status;
}

static banyan_status write_tables(const banyan_schedule *schedule, const banyan_topology *topology,
                                  const banyan_export_config *config, char **out, banyan_error *err)
{
    size_t bytes = bytes_of(config), slice_bytes = config->slice_bytes;
    banyan_schedule *sliced = NULL;
    banyan_flit_settings settings;
    banyan_status status = banyan_read_flit_settings(config->flow, config->flit, 0, &settings, err);

    if (!status && slice_bytes)
        status = banyan_schedule_slice(schedule, banyan_schedule_slice_count(schedule, bytes, slice_bytes),
                                       &sliced, err);
    if (!status)
        status = banyan_flit_format_tables(sliced ? sliced : schedule, topology, bytes, &settings, out, err);
    banyan_schedule_destroy(sliced);
    return status;
}

static const struct {
    const char *name;
    writer *write;
    int needs_topology;
} formats[] = {{"json", write_json, 0},    {"msccl", write_msccl, 0}, {"mscclpp", write_mscclpp, 0},
               {"dot", write_dot, 0},      {"text", write_text, 0},   {"trace", write_trace, 1},
               {"tables", write_tables, 1}};

static banyan_status write(const banyan_schedule *schedule, const banyan_topology *topology,
                           const char *format, const banyan_export_config *config, char **out,
                           banyan_error *err)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (strcmp(format, formats[i].name) != 0)
            continue;
        if (formats[i].needs_topology && !topology)
            return banyan_fail_null("topology", err);
        return formats[i].write(schedule, topology, config, out, err);
    }
    return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                       "the format '%.40s' is not json, msccl, mscclpp, dot, trace, tables or text", format);
}

banyan_status banyan_schedule_export(const banyan_schedule *schedule, const banyan_topology *topology,
                                     const char *format, const banyan_export_config *config, char **out,
                                     banyan_error *err)
{
    banyan_export_config own = BANYAN_EXPORT_CONFIG_INITIALIZER;
    banyan_status status;

    if (!out)
        return banyan_fail_null("out", err);
    *out = NULL;
    if (!schedule || !format)
        return banyan_fail_null(schedule ? "format" : "schedule", err);
    status = banyan_sized_read(config, &own, "banyan_export_config", err);
    if (!status)
        status = banyan_check_vector_bytes(own.bytes, err);
    if (!status && topology)
        status = banyan_prediction_check_nodes(schedule, topology, err);
    return status ? status : write(schedule, topology, format, &own, out, err);
}

banyan_status banyan_schedule_save_chakra(const banyan_schedule *schedule, size_t bytes, const char *prefix,
                                          banyan_error *err)
{
    banyan_status status;

    if (!schedule || !prefix)
        return banyan_fail_null(schedule ? "prefix" : "schedule", err);
    status = banyan_check_vector_bytes(bytes, err);
    if (!bytes)
        bytes = BANYAN_PLAN_DEFAULT_BYTES;
    for (int rank = 0; rank < schedule->active_count && !status; rank++) {
        banyan_text trace = BANYAN_TEXT_EMPTY, path = BANYAN_TEXT_EMPTY;

        banyan_text_add(&path, "%s.%d.et", prefix, rank);
        status = path.failed ? banyan_fail_memory(err)
                             : banyan_schedule_export_chakra(schedule, bytes, rank, &trace, err);
        if (!status)
            status = banyan_file_save(path.bytes, trace.bytes, trace.length, err);
        banyan_text_fini(&trace);
        banyan_text_fini(&path);
    }
    return status;
}
