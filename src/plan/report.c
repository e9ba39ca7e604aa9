/* SPDX-License-Identifier: Apache-2.0 */
/* plan/report.c: plans, bound, curves and timelines of a network, gathered for one page. */
#include "report/report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "bound/bound.h"
#include "core/alloc.h"
#include "core/file.h"
#include "core/show.h"
#include "core/sized.h"
#include "plan/problem.h"
#include "planner/predict.h"
#include "simulate/fluid.h"
#include "simulate/paths.h"

/* Beyond these a report would take minutes: the walk instead of the fluid model, no curve, no bound. */
enum { MAX_FLUID_TRANSFERS = 10000, MAX_FLUID_WORK = 2000000, MAX_CURVES = 8, MAX_BOUND_WORKERS = 1024 };

/* What readers compare with: it has a curve even where it is not among the fastest. */
static const char baseline[] = "ring";

#define SIZES 11 /* 1 KiB, 4 KiB, ... 1 GiB */

typedef struct {
    const banyan_report_config *config;
    banyan_plan_problem problem;
    int count;
    banyan_plan *plans; /* auto's choice first, then the others by prediction; those that do not apply last */
    banyan_report_result *results;
    double *curves; /* by curve, then size */
    char *walked;   /* likewise: 1 where the walk predicted the point */
    size_t sizes[SIZES];
    banyan_bound bound;
    int has_bound;
    char *words, *why;
    banyan_timeline *predicted, *measured;
    banyan_paths *paths;
    banyan_report report;
} gathering;

/* The plans that auto chooses from, its choice first. */
static banyan_status make_plans(const char *names, gathering *g, banyan_error *err)
{
    banyan_problem *problem = &g->problem.problem;
    const banyan_algorithm **algorithms = NULL;
    int count = 0, best;
    banyan_plan chosen;
    banyan_status status = banyan_plan_select(names, &algorithms, &count, err);

    if (!status)
        status = banyan_plan_candidates_of(problem, g->problem.effort, algorithms, count, 0, &g->plans,
                                           &g->count, err);
    banyan_free(algorithms);
    if (status)
        return status;
    best = banyan_plan_best(problem, g->plans, g->count, NULL, NULL);
    if (best == g->count)
        return banyan_fail(err, BANYAN_UNSUPPORTED, "no algorithm applies: %.200s", g->plans[0].why_not.text);
    chosen = g->plans[best];
    memmove(g->plans + 1, g->plans, (size_t)best * sizeof *g->plans);
    g->plans[0] = chosen;
    return BANYAN_SUCCESS;
}

static banyan_status find_bound(gathering *g, banyan_error *err)
{
    static const char *const kinds[] = {"none", "cut", "partition", "prices", "cuts"};
    const banyan_problem *p = &g->problem.problem;
    banyan_relays relays;
    banyan_status status;

    g->report.bound.bytes_per_s = NAN;
    if (p->active_count < 2 || p->active_count > MAX_BOUND_WORKERS)
        return BANYAN_SUCCESS;
    status = banyan_relays_parse(banyan_problem_parameter(p, "relays", "add"), &relays, err);
    if (!status)
        status = banyan_bound_find(p->topology, p->active, p->active_count, relays, &g->bound, err);
    if (status)
        return status;
    g->has_bound = 1;
    status = banyan_bound_check_certificate(p->topology, p->active, p->active_count, &g->bound, err);
    if (!status)
        status = banyan_bound_explain(p->topology, p->active, p->active_count, &g->bound, &g->words, err);
    if (status)
        return status;
    g->report.bound = (banyan_report_bound){.bytes_per_s = g->bound.allreduce.bytes_per_s,
                                            .kind = kinds[g->bound.allreduce.certificate.kind],
                                            .words = g->words,
                                            .part_count = g->bound.allreduce.certificate.part_count,
                                            .part = g->bound.allreduce.certificate.part,
                                            .price = g->bound.allreduce.certificate.price};
    return BANYAN_SUCCESS;
}

/* As the plan itself was predicted: with the same slices, pacing and costs of messages; by the walk where the
 * fluid model would take too long. */
static banyan_status predict_point(const banyan_plan *plan, const banyan_problem *page, size_t bytes,
                                   double *out, char *is_walked, banyan_error *err)
{
    banyan_problem problem = *page;
    banyan_fluid_options options = {.work_limit = MAX_FLUID_WORK, .is_paced = plan->is_paced};
    banyan_status status = BANYAN_UNSUPPORTED;
    banyan_fluid_result result;
    banyan_timeline *timeline;

    problem.bytes = bytes;
    options.slice_bytes = banyan_plan_slice(plan, &problem);
    if (bytes == plan->bytes) {
        *out = plan->predicted_s;
        *is_walked = !strcmp(plan->model, "walk");
        return BANYAN_SUCCESS;
    }
    if (plan->schedule->transfer_count <= MAX_FLUID_TRANSFERS)
        status = banyan_fluid(plan->schedule, problem.topology, bytes, &options, &result, err);
    if (!status) {
        *out = banyan_plan_with_messages(result.timeline->total_s, &plan->costs);
        banyan_fluid_fini(&result);
    }
    *is_walked = status == BANYAN_UNSUPPORTED;
    if (!*is_walked)
        return status;
    status = banyan_walk(plan->schedule, problem.topology, bytes, options.slice_bytes, &timeline, err);
    if (status)
        return status;
    *out = banyan_plan_with_messages(timeline->total_s, &plan->costs);
    banyan_timeline_destroy(timeline);
    return BANYAN_SUCCESS;
}

/* Plans with a curve: the fastest and the baseline. Returns how many. */
static int choose_curves(const gathering *g, int out[MAX_CURVES + 1])
{
    int count = 0;

    for (int i = 0; i < g->count && g->plans[i].schedule; i++)
        if (i < MAX_CURVES || !strcmp(g->plans[i].algorithm->name, baseline))
            out[count++] = i;
    return count;
}

static banyan_status find_curves(gathering *g, banyan_error *err)
{
    int plans[MAX_CURVES + 1];
    size_t points = (size_t)choose_curves(g, plans) * SIZES;
    banyan_status status = BANYAN_SUCCESS;

    g->curves = banyan_alloc(points, sizeof *g->curves);
    g->walked = banyan_alloc(points, 1);
    if (!g->curves || !g->walked)
        return banyan_fail_memory(err);
    for (int i = 0; i < SIZES; i++)
        g->sizes[i] = (size_t)1024 << (2 * i);
    for (size_t i = 0; !status && i < points; i++) {
        const banyan_plan *plan = &g->plans[plans[i / SIZES]];

        if (g->problem.problem.begins)
            g->problem.problem.begins(g->problem.problem.watch_context, plan->algorithm->name);
        status =
            predict_point(plan, &g->problem.problem, g->sizes[i % SIZES], &g->curves[i], &g->walked[i], err);
        if (g->config->progress)
            g->config->progress(g->config->context, (int)i + 1, (int)points);
    }
    return status;
}

static banyan_status list_results(gathering *g, banyan_error *err)
{
    int plans[MAX_CURVES + 1], curves = choose_curves(g, plans);

    g->results = banyan_alloc((size_t)g->count, sizeof *g->results);
    if (!g->results)
        return banyan_fail_memory(err);
    for (int i = 0; i < g->count; i++) {
        const banyan_plan *plan = &g->plans[i];
        banyan_report_result *result = &g->results[i];

        result->algorithm = plan->algorithm->name;
        result->summary = plan->algorithm->summary;
        if (!plan->schedule) {
            result->why_not = plan->why_not.text;
            continue;
        }
        result->predicted_s = plan->predicted_s;
        result->model = plan->model;
        result->bytes_per_s = plan->limits.bytes_per_s;
        result->volume = plan->limits.volume;
        result->depth = plan->limits.depth;
        result->rounds = plan->schedule->round_count;
        result->flows = plan->schedule->flow_count;
        result->transfers = plan->schedule->transfer_count;
    }
    for (size_t i = 0; i < (size_t)curves; i++) {
        g->results[plans[i]].curve_s = g->curves + i * SIZES;
        g->results[plans[i]].is_walked = g->walked + i * SIZES;
    }
    return BANYAN_SUCCESS;
}

static banyan_status load_trace(gathering *g, banyan_error *err)
{
    const char *path = g->config->trace;
    banyan_status status;
    size_t length;
    char *text;

    if (!path)
        return BANYAN_SUCCESS;
    status = banyan_file_load(path, &text, &length, err);
    if (status)
        return status;
    status = banyan_report_parse_trace(text, length, g->plans[0].schedule, g->problem.problem.topology,
                                       &g->measured, err);
    if (status)
        banyan_error_prefix(err, path);
    banyan_free(text);
    return status;
}

static banyan_status find_timelines(gathering *g, banyan_error *err)
{
    const banyan_schedule *schedule = g->plans[0].schedule;
    const banyan_problem *problem = &g->problem.problem;
    const char *model;
    banyan_status status =
        banyan_predict(schedule, problem->topology, problem->bytes, 0, &g->predicted, &model, err);

    if (!status)
        status = banyan_paths_find(schedule, problem->topology, &g->paths, err);
    return status ? status : load_trace(g, err);
}

static void fill_report(gathering *g)
{
    banyan_report *report = &g->report;

    report->topology = g->problem.problem.topology;
    report->schedule = g->plans[0].schedule;
    report->path_of = g->paths->path_of;
    report->path_first = g->paths->first;
    report->path_link = g->paths->link;
    report->predicted = g->predicted;
    report->measured = g->measured;
    report->why = g->why;
    report->command = g->config->command;
    report->made_at = time(NULL);
    report->bytes = g->problem.problem.bytes;
    report->result_count = g->count;
    report->results = g->results;
    report->size_count = SIZES;
    report->sizes = g->sizes;
}

static banyan_status gather(const char *algorithms, gathering *g, banyan_error *err)
{
    banyan_status status = banyan_report_check(g->problem.problem.topology, err);

    if (!status)
        status = make_plans(algorithms, g, err);
    if (!status)
        status = find_bound(g, err);
    if (!status)
        status = find_curves(g, err);
    if (!status)
        status = list_results(g, err);
    if (!status)
        status = find_timelines(g, err);
    if (!status)
        status = banyan_plan_explain(&g->problem.problem, g->plans, g->count, 0, &g->why, err);
    if (!status)
        fill_report(g);
    return status;
}

static void fini(gathering *g)
{
    banyan_plans_destroy(g->plans, g->plans ? g->count : 0);
    banyan_free(g->results);
    banyan_free(g->curves);
    banyan_free(g->walked);
    if (g->has_bound)
        banyan_bound_fini(&g->bound);
    banyan_free(g->words);
    banyan_free(g->why);
    banyan_timeline_destroy(g->predicted);
    banyan_timeline_destroy(g->measured);
    banyan_paths_destroy(g->paths);
    banyan_plan_problem_fini(&g->problem);
}

static banyan_status write(const gathering *g, char **out, banyan_error *err)
{
    char title[256], size[32], *data;
    banyan_status status = banyan_report_format(&g->report, &data, err);

    if (status)
        return status;
    if (g->config->format && !strcmp(g->config->format, "json")) {
        *out = data;
        return BANYAN_SUCCESS;
    }
    snprintf(title, sizeof title, "Banyan: all-reduce of %s on %.200s",
             banyan_show_bytes((double)g->report.bytes, size, sizeof size), g->report.topology->name);
    status = banyan_report_page(title, data, out, err);
    banyan_free(data);
    return status;
}

static banyan_status describe(const gathering *g, banyan_report_info *info, banyan_error *err)
{
    banyan_report_info own = {.algorithm = g->results[0].algorithm,
                              .bytes = g->report.bytes,
                              .predicted_s = g->results[0].predicted_s,
                              .bytes_per_s = g->results[0].bytes_per_s,
                              .bound_bytes_per_s = g->report.bound.bytes_per_s};

    while (own.applicable_count < g->count && g->plans[own.applicable_count].schedule)
        own.applicable_count++;
    return info ? banyan_sized_write(&own, sizeof own, info, "banyan_report_info", err) : BANYAN_SUCCESS;
}

static banyan_status read_configs(const banyan_plan_config *plan, banyan_plan_config *own_plan,
                                  const banyan_report_config *config, banyan_report_config *own,
                                  banyan_error *err)
{
    banyan_status status = banyan_read_plan_config(plan, own_plan, err);

    if (!status)
        status = banyan_sized_read(config, own, "banyan_report_config", err);
    if (!status && own->format && strcmp(own->format, "html") != 0 && strcmp(own->format, "json") != 0)
        status =
            banyan_fail(err, BANYAN_INVALID_ARGUMENT, "the format '%.40s' is not html or json", own->format);
    return status;
}

banyan_status banyan_report_create(const banyan_topology *topology, const banyan_plan_config *plan,
                                   const banyan_report_config *config, char **out, banyan_report_info *info,
                                   banyan_error *err)
{
    banyan_plan_config own_plan = BANYAN_PLAN_CONFIG_INITIALIZER;
    banyan_report_config own = BANYAN_REPORT_CONFIG_INITIALIZER;
    gathering g = {.config = &own};
    char *page = NULL;
    banyan_status status;

    if (!out)
        return banyan_fail_null("out", err);
    *out = NULL;
    if (!topology)
        return banyan_fail_null("topology", err);
    status = read_configs(plan, &own_plan, config, &own, err);
    if (!status)
        status = banyan_plan_problem_init(topology, &own_plan, &g.problem, err);
    if (status)
        return status;
    if (g.problem.problem.collective != BANYAN_COLLECTIVE_ALLREDUCE)
        status = banyan_fail(err, BANYAN_UNSUPPORTED, "a report is about all-reduce alone");
    if (!status)
        status = gather(own_plan.algorithm, &g, err);
    if (!status)
        status = write(&g, &page, err);
    if (!status)
        status = describe(&g, info, err);
    fini(&g);
    if (status)
        banyan_free(page);
    else
        *out = page;
    return status;
}
