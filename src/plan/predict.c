/* SPDX-License-Identifier: Apache-2.0 */
/* plan/predict.c: how long a schedule takes, for users of the library. */
#include "planner/predict.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/sized.h"
#include "plan/closed_form.h"
#include "plan/flit.h"
#include "plan/prediction.h"
#include "plan/problem.h"
#include "schedule/slice.h"
#include "simulate/fluid.h"
#include "simulate/simulate.h"
#include "verify/verify.h"

/* What the models all read. */
typedef struct {
    const banyan_schedule *schedule;
    const banyan_topology *topology;
    size_t bytes;
    banyan_fluid_options options;
    const char *flow, *flit;
} question;

/* What the model does not know, and which one does. */
static banyan_status refuse(int is_given, const char *option, const char *model, const char *needs,
                            banyan_error *err)
{
    return is_given
               ? banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                             "%s is not for the model %s: leave it out, or choose %s", option, model, needs)
               : BANYAN_SUCCESS;
}

static banyan_status refuse_fluid_options(const question *asked, const char *model, banyan_error *err)
{
    const banyan_fluid_options *options = &asked->options;
    banyan_status status = refuse(options->overhead_s > 0, "overhead", model, "fluid", err);

    if (!status)
        status = refuse(options->reduce_bytes_per_s > 0, "a reduce speed", model, "fluid", err);
    if (!status)
        status = refuse(options->service != BANYAN_SERVICE_TURNS, "service", model, "fluid", err);
    return status;
}

static banyan_status refuse_flit_options(const question *asked, const char *model, banyan_error *err)
{
    banyan_status status = refuse(asked->flow != NULL, "flow", model, "flit", err);

    return status ? status : refuse(asked->flit != NULL, "flit", model, "flit", err);
}

static banyan_status refuse_all_options(const question *asked, const char *model, banyan_error *err)
{
    banyan_status status = refuse_fluid_options(asked, model, err);

    if (!status)
        status = refuse(asked->options.lockstep, "lockstep", model, "fluid or flit", err);
    return status ? status : refuse_flit_options(asked, model, err);
}

static banyan_status run_fluid(const question *asked, banyan_prediction *out, banyan_error *err)
{
    banyan_fluid_result result;
    banyan_status status = refuse_flit_options(asked, "fluid", err);

    if (!status)
        status = banyan_fluid(asked->schedule, asked->topology, asked->bytes, &asked->options, &result, err);
    if (status)
        return status;
    out->timeline = result.timeline;
    out->info.utilization = result.utilization;
    out->info.bottleneck = result.bottleneck;
    out->info.bottleneck_share = result.busiest;
    out->info.message_count = result.message_count;
    result.timeline = NULL;
    banyan_fluid_fini(&result);
    return BANYAN_SUCCESS;
}

static banyan_status run_walk(const question *asked, banyan_prediction *out, banyan_error *err)
{
    banyan_status status = refuse_all_options(asked, "walk", err);

    return status ? status
                  : banyan_walk(asked->schedule, asked->topology, asked->bytes, asked->options.slice_bytes,
                                &out->timeline, err);
}

static banyan_status run_auto(const question *asked, banyan_prediction *out, banyan_error *err)
{
    banyan_status status = refuse_all_options(asked, "auto", err);

    return status ? status
                  : banyan_predict(asked->schedule, asked->topology, asked->bytes, asked->options.slice_bytes,
                                   &out->timeline, &out->info.model, err);
}

/* The flit engine sends transfers whole: slices are made in the schedule. */
static banyan_status cut(const question *asked, banyan_prediction *out, banyan_error *err)
{
    size_t slice_bytes = asked->options.slice_bytes;

    if (!slice_bytes)
        return BANYAN_SUCCESS;
    return banyan_schedule_slice(asked->schedule,
                                 banyan_schedule_slice_count(asked->schedule, asked->bytes, slice_bytes),
                                 &out->sliced, err);
}

static void copy_report(const banyan_flit_report *report, banyan_prediction_info *out)
{
    out->cycles = report->cycles;
    out->applied_cycles = report->applied_cycles;
    out->clock_hz = report->clock_hz;
    out->flit_hops = report->flit_hops;
    out->link_flits = report->link_flit_count;
    out->head_flits = report->head_flit_count;
    out->arbitrations = report->arbitrations;
    out->table_entries = report->table_entries;
    out->table_bits = report->table_bits;
    out->normal_packets = report->normal_packets;
    out->normal_worst_cycles = report->normal_worst_cycles;
    out->normal_mean_cycles = report->normal_mean_cycles;
}

/* Loads of links, compared with what they could have carried. */
static void measure(const banyan_topology *topology, int flit_bytes, const banyan_flit_report *report,
                    banyan_prediction *out)
{
    double seconds = out->timeline->total_s, carried = 0, possible = 0;

    for (int l = 0; l < topology->link_count; l++) {
        double bytes = (double)report->link_flits[l] * flit_bytes;
        double share = bytes / (topology->links[l].bytes_per_s * seconds);

        carried += bytes;
        possible += topology->links[l].bytes_per_s * seconds;
        if (bytes > 0 && (out->info.bottleneck < 0 || share > out->info.bottleneck_share)) {
            out->info.bottleneck = l;
            out->info.bottleneck_share = share;
        }
    }
    out->info.utilization = possible > 0 ? carried / possible : 0;
}

static banyan_status run_flit(const question *asked, banyan_prediction *out, banyan_error *err)
{
    banyan_flit_settings settings;
    banyan_flit_report *report;
    banyan_status status = refuse_fluid_options(asked, "flit", err);

    if (!status)
        status = banyan_read_flit_settings(asked->flow, asked->flit, asked->options.lockstep, &settings, err);
    settings.progress = asked->options.progress;
    settings.context = asked->options.context;
    if (!status)
        status = cut(asked, out, err);
    if (!status)
        status = banyan_flit_run(out->sliced ? out->sliced : asked->schedule, asked->topology, asked->bytes,
                                 &settings, &out->timeline, &report, err);
    if (status)
        return status;
    out->info.message_count = out->timeline->count;
    copy_report(report, &out->info);
    measure(asked->topology, settings.flit_bytes, report, out);
    banyan_flit_report_destroy(report);
    return BANYAN_SUCCESS;
}

/* Models that count no loads of links have the bottleneck of the bandwidth limit. */
static banyan_status add_limit(const question *asked, banyan_prediction *out, banyan_error *err)
{
    banyan_limits limits;
    banyan_status status = banyan_bandwidth_limit(asked->schedule, asked->topology, &limits, err);

    if (status)
        return status;
    out->info.bytes_per_s = limits.bytes_per_s;
    if (isnan(out->info.utilization) && limits.bottleneck >= 0) {
        out->info.bottleneck = limits.bottleneck;
        out->info.bottleneck_share = (double)asked->bytes / limits.bytes_per_s / out->timeline->total_s;
    }
    return banyan_closed_form_find(asked->schedule, asked->topology, (double)asked->bytes,
                                   asked->options.overhead_s, &out->info.closed_form_s, err);
}

static const struct {
    const char *name;
    banyan_status (*run)(const question *asked, banyan_prediction *out, banyan_error *err);
} models[] = {{"auto", run_auto}, {"fluid", run_fluid}, {"walk", run_walk}, {"flit", run_flit}};

banyan_status banyan_prediction_check_nodes(const banyan_schedule *schedule, const banyan_topology *topology,
                                            banyan_error *err)
{
    if (schedule->node_count == topology->node_count)
        return BANYAN_SUCCESS;
    return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "the schedule is for %d nodes, but %.60s has %d",
                       schedule->node_count, topology->name, topology->node_count);
}

/* Models trust that a schedule is right and fits its network. */
static banyan_status check_schedule(const question *asked, banyan_error *err)
{
    banyan_verdict verdict;
    banyan_status status = banyan_prediction_check_nodes(asked->schedule, asked->topology, err);

    if (!status)
        status = banyan_verify(asked->schedule, asked->topology, &verdict, err);
    return status ? status : banyan_verdict_status(&verdict, err);
}

static banyan_status read_service(const char *name, banyan_service *out, banyan_error *err)
{
    *out = BANYAN_SERVICE_TURNS;
    if (!name)
        return BANYAN_SUCCESS;
    if (strcmp(name, "shared") != 0 && strcmp(name, "turns") != 0)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "the service '%.40s' is not shared or turns", name);
    *out = strcmp(name, "turns") ? BANYAN_SERVICE_SHARED : BANYAN_SERVICE_TURNS;
    return BANYAN_SUCCESS;
}

static banyan_status read_config(const banyan_predict_config *config, banyan_fluid_options *out,
                                 banyan_error *err)
{
    if (!(config->overhead_s >= 0) || !isfinite(config->overhead_s))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "an overhead of %g s is not a time",
                           config->overhead_s);
    if (!(config->reduce_bytes_per_s >= 0) || !isfinite(config->reduce_bytes_per_s))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "a reduce speed of %g bytes per second is not a speed",
                           config->reduce_bytes_per_s);
    *out = (banyan_fluid_options){.slice_bytes = config->slice_bytes,
                                  .overhead_s = config->overhead_s,
                                  .reduce_bytes_per_s = config->reduce_bytes_per_s,
                                  .lockstep = config->is_lockstep,
                                  .progress = config->progress,
                                  .context = config->context};
    return read_service(config->service, &out->service, err);
}

static banyan_status run(const char *model, const question *asked, banyan_prediction *out, banyan_error *err)
{
    out->info = (banyan_prediction_info){.utilization = NAN, .bottleneck = -1, .bottleneck_share = NAN};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        if (!strcmp(model, models[i].name)) {
            banyan_status status;

            out->info.model = models[i].name;
            status = models[i].run(asked, out, err);
            if (status)
                return status;
            out->info.total_s = out->timeline->total_s;
            out->info.transfer_count = out->timeline->count;
            return add_limit(asked, out, err);
        }
    return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "the model '%.40s' is not auto, fluid, walk or flit",
                       model);
}

static banyan_status make(const banyan_predict_config *config, question *asked, banyan_prediction **out,
                          banyan_error *err)
{
    banyan_prediction *prediction;
    banyan_status status = read_config(config, &asked->options, err);

    asked->flow = config->flow;
    asked->flit = config->flit;
    if (!status)
        status = check_schedule(asked, err);
    if (status)
        return status;
    prediction = banyan_alloc(1, sizeof *prediction);
    status = prediction ? run(config->model ? config->model : "auto", asked, prediction, err)
                        : banyan_fail_memory(err);
    if (status) {
        banyan_prediction_destroy(prediction);
        return status;
    }
    *out = prediction;
    return BANYAN_SUCCESS;
}

banyan_status banyan_schedule_predict(const banyan_schedule *schedule, const banyan_topology *topology,
                                      size_t bytes, const banyan_predict_config *config,
                                      banyan_prediction **out, banyan_error *err)
{
    banyan_predict_config own = BANYAN_PREDICT_CONFIG_INITIALIZER;
    question asked = {.schedule = schedule, .topology = topology, .bytes = bytes};
    banyan_status status;

    if (!out)
        return banyan_fail_null("out", err);
    *out = NULL;
    if (!schedule || !topology)
        return banyan_fail_null(schedule ? "topology" : "schedule", err);
    status = banyan_check_vector_bytes(bytes, err);
    if (!status)
        status = banyan_sized_read(config, &own, "banyan_predict_config", err);
    return status ? status : make(&own, &asked, out, err);
}

void banyan_prediction_destroy(banyan_prediction *prediction)
{
    if (prediction) {
        banyan_timeline_destroy(prediction->timeline);
        banyan_schedule_destroy(prediction->sliced);
    }
    banyan_free(prediction);
}

banyan_status banyan_prediction_get_info(const banyan_prediction *prediction, banyan_prediction_info *info,
                                         banyan_error *err)
{
    if (!prediction)
        return banyan_fail_null("prediction", err);
    return banyan_sized_write(&prediction->info, sizeof prediction->info, info, "banyan_prediction_info",
                              err);
}

banyan_status banyan_prediction_get_times(const banyan_prediction *prediction, double *begin_s, double *end_s,
                                          banyan_error *err)
{
    if (!prediction)
        return banyan_fail_null("prediction", err);
    if (begin_s)
        memcpy(begin_s, prediction->timeline->begin_s, prediction->timeline->count * sizeof *begin_s);
    if (end_s)
        memcpy(end_s, prediction->timeline->end_s, prediction->timeline->count * sizeof *end_s);
    return BANYAN_SUCCESS;
}
