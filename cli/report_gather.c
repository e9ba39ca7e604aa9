/* SPDX-License-Identifier: Apache-2.0 */
/* cli/report_gather.c: plans, bound, curves and timelines for a report. */
#include "report_gather.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/file.h"
#include "core/progress.h"
#include "planner/predict.h"
#include "simulate/fluid.h"

/* Beyond these a report would take minutes: the walk instead of the fluid model, no curve. */
enum { MOST_FLUID_TRANSFERS = 10000, MOST_CURVES = 8 };

static void show_progress(void *context, int done, int all)
{
    banyan_progress *bar = context;

    bar->total = (size_t)all;
    banyan_progress_set(bar, (size_t)done);
}

/* The plans that auto chooses from, its choice first. */
static banyan_status make_plans(const cli_arguments *arguments, report_gathering *g, banyan_error *err)
{
    banyan_problem *problem = &g->problem.problem;
    banyan_progress progress;
    banyan_status status;
    banyan_plan chosen;
    int best;

    banyan_progress_begin(&progress, STDERR_FILENO, cli_has(arguments, "quiet"), "planning",
                          (size_t)g->algorithm_count);
    problem->watch = show_progress;
    problem->watch_context = &progress;
    status = banyan_plan_candidates_of(problem, g->problem.effort, g->algorithms, g->algorithm_count, 0,
                                       &g->plans, &g->count, err);
    problem->watch = NULL;
    banyan_progress_end(&progress);
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

static banyan_status find_bound(report_gathering *g, banyan_error *err)
{
    static const char *const kinds[] = {"none", "cut", "partition", "prices", "cuts"};
    const banyan_problem *p = &g->problem.problem;
    banyan_status status;

    g->report.bound.bytes_per_s = NAN;
    if (p->active_count < 2 || p->active_count > CLI_BOUND_WORKERS)
        return BANYAN_SUCCESS;
    status = cli_problem_bounds(&g->problem, &g->bound, err);
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

static banyan_status predict_point(const banyan_plan *plan, const banyan_topology *topology, size_t bytes,
                                   double *out, banyan_error *err)
{
    const banyan_fluid_options options = {.work_limit = 2000000};
    banyan_fluid_result result;
    banyan_timeline *timeline;
    banyan_status status;

    if (plan->schedule->transfer_count > MOST_FLUID_TRANSFERS) {
        status = banyan_walk(plan->schedule, topology, bytes, 0, &timeline, err);
        if (!status)
            *out = timeline->total_s;
        if (!status)
            banyan_timeline_destroy(timeline);
        return status;
    }
    *out = NAN; /* a gap in the curve where the fluid model would take too long */
    status = banyan_fluid(plan->schedule, topology, bytes, &options, &result, err);
    if (status)
        return status == BANYAN_UNSUPPORTED ? BANYAN_SUCCESS : status;
    *out = result.timeline->total_s;
    banyan_fluid_fini(&result);
    return BANYAN_SUCCESS;
}

static int curve_count(const report_gathering *g)
{
    int count = 0;

    while (count < g->count && count < MOST_CURVES && g->plans[count].schedule)
        count++;
    return count;
}

static banyan_status find_curves(const cli_arguments *arguments, report_gathering *g, banyan_error *err)
{
    size_t points = (size_t)curve_count(g) * REPORT_SIZES;
    banyan_progress progress;
    banyan_status status = BANYAN_SUCCESS;

    g->curves = banyan_alloc(points, sizeof *g->curves);
    if (!g->curves)
        return banyan_fail_memory(err);
    for (int i = 0; i < REPORT_SIZES; i++)
        g->sizes[i] = (size_t)1024 << (2 * i);
    banyan_progress_begin(&progress, STDERR_FILENO, cli_has(arguments, "quiet"), "simulating", points);
    for (size_t i = 0; !status && i < points; i++) {
        status = predict_point(&g->plans[i / REPORT_SIZES], g->problem.topology, g->sizes[i % REPORT_SIZES],
                               &g->curves[i], err);
        banyan_progress_set(&progress, i + 1);
    }
    banyan_progress_end(&progress);
    return status;
}

static banyan_status list_results(report_gathering *g, banyan_error *err)
{
    int curves = curve_count(g);

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
        result->curve_s = i < curves ? g->curves + (size_t)i * REPORT_SIZES : NULL;
        result->curve_model = result->transfers > MOST_FLUID_TRANSFERS ? "walk" : "fluid";
    }
    return BANYAN_SUCCESS;
}

static banyan_status load_trace(const cli_arguments *arguments, report_gathering *g, banyan_error *err)
{
    const char *path = cli_get(arguments, "trace");
    banyan_status status;
    size_t length;
    char *text;

    if (!path)
        return BANYAN_SUCCESS;
    status = banyan_file_load(path, &text, &length, err);
    if (status)
        return status;
    status =
        banyan_report_parse_trace(text, length, g->plans[0].schedule, g->problem.topology, &g->measured, err);
    if (status)
        banyan_error_prefix(err, path);
    banyan_free(text);
    return status;
}

static banyan_status find_timelines(const cli_arguments *arguments, report_gathering *g, banyan_error *err)
{
    const banyan_schedule *schedule = g->plans[0].schedule;
    const char *model;
    banyan_status status = banyan_predict(schedule, g->problem.topology, g->problem.problem.bytes, 0,
                                          &g->predicted, &model, err);

    if (!status)
        status = banyan_paths_find(schedule, g->problem.topology, &g->paths, err);
    return status ? status : load_trace(arguments, g, err);
}

static void fill_report(report_gathering *g)
{
    banyan_report *report = &g->report;

    report->topology = g->problem.topology;
    report->schedule = g->plans[0].schedule;
    report->path_of = g->paths->path_of;
    report->path_first = g->paths->first;
    report->path_link = g->paths->link;
    report->predicted = g->predicted;
    report->measured = g->measured;
    report->why = g->why;
    report->bytes = g->problem.problem.bytes;
    report->result_count = g->count;
    report->results = g->results;
    report->size_count = REPORT_SIZES;
    report->sizes = g->sizes;
}

banyan_status report_gather(const cli_arguments *arguments, report_gathering *out, banyan_error *err)
{
    banyan_status status;

    memset(out, 0, sizeof *out);
    status = cli_problem_load(arguments, arguments->words[0], &out->problem, err);
    if (!status)
        status = banyan_plan_select(cli_get(arguments, "algo"), &out->algorithms, &out->algorithm_count, err);
    if (!status)
        status = make_plans(arguments, out, err);
    if (!status)
        status = find_bound(out, err);
    if (!status)
        status = find_curves(arguments, out, err);
    if (!status)
        status = list_results(out, err);
    if (!status)
        status = find_timelines(arguments, out, err);
    if (!status)
        status = banyan_plan_explain(&out->problem.problem, out->plans, out->count, 0, &out->why, err);
    if (!status)
        fill_report(out);
    else
        report_gathering_fini(out);
    return status;
}

void report_gathering_fini(report_gathering *g)
{
    banyan_plans_destroy(g->plans, g->plans ? g->count : 0);
    banyan_free(g->algorithms);
    banyan_free(g->results);
    banyan_free(g->curves);
    if (g->has_bound)
        banyan_bound_fini(&g->bound);
    banyan_free(g->words);
    banyan_free(g->why);
    banyan_timeline_destroy(g->predicted);
    banyan_timeline_destroy(g->measured);
    banyan_paths_destroy(g->paths);
    cli_problem_fini(&g->problem);
    memset(g, 0, sizeof *g);
}
