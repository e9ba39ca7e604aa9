/* SPDX-License-Identifier: Apache-2.0 */
/* cli/plan.c: banyan plan SPEC: build, prove and predict a schedule, and write it in any form. */
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "core/alloc.h"
#include "core/file.h"
#include "plan_json.h"
#include "planner/predict.h"
#include "planner/wisdom.h"
#include "replan.h"
#include "schedule/export.h"
#include "simulate/flit.h"
#include "waiting.h"

static const cli_option options[] = {
    {"algo", 'a', "NAME", "algorithm, or auto for the best prediction (default: auto)"},
    CLI_PROBLEM_OPTIONS,
    {"effort", 0, "EFFORT",
     "estimate, measure or patient, for auto and for the bound (default: patient for short vectors, else "
     "measure)"},
    {"wisdom", 0, "FILE", "auto remembers its choices there, and uses them"},
    CLI_REPLAN_OPTIONS,
    {"output", 'o', "FILE", "write the schedule there"},
    {"format", 'f', "FORMAT",
     "json, msccl, dot, trace, tables or text (default: json; text when no file is given)"},
    {"max-steps", 0, "N",
     "msccl: steps a thread block may have (default: 64, the Azure build; microsoft/msccl: 256)"},
    {NULL, 0, NULL, NULL}};

static banyan_status export_trace(const banyan_plan *plan, const cli_problem *problem, char **out,
                                  banyan_error *err)
{
    banyan_timeline *timeline;
    const char *model;
    banyan_status status =
        banyan_predict(plan->schedule, problem->topology, problem->problem.bytes, 0, &timeline, &model, err);

    if (status)
        return status;
    status = banyan_schedule_export_trace(plan->schedule, timeline, problem->problem.bytes, cli_node_name,
                                          problem->topology, out, err);
    banyan_timeline_destroy(timeline);
    return status;
}

static banyan_status export_msccl(const cli_arguments *arguments, const banyan_plan *plan, char **out,
                                  banyan_error *err)
{
    banyan_msccl_limits limits = {.max_steps = 64};
    const char *steps = cli_get(arguments, "max-steps");

    if (steps &&
        (sscanf(steps, "%d", &limits.max_steps) != 1 || limits.max_steps < 1 || limits.max_steps > 1024))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "--max-steps %.40s is not a number from 1 to 1024",
                           steps);
    return banyan_schedule_export_msccl(plan->schedule, &limits, out, err);
}

static banyan_status export_as(const cli_arguments *arguments, const char *format, const banyan_plan *plan,
                               const cli_problem *problem, char **out, banyan_error *err)
{
    if (!strcmp(format, "json"))
        return banyan_schedule_format(plan->schedule, out, err);
    if (!strcmp(format, "msccl"))
        return export_msccl(arguments, plan, out, err);
    if (!strcmp(format, "dot"))
        return banyan_schedule_export_dot(plan->schedule, cli_node_name, problem->topology, out, err);
    if (!strcmp(format, "trace"))
        return export_trace(plan, problem, out, err);
    if (!strcmp(format, "tables")) {
        banyan_flit_settings settings = banyan_flit_defaults();

        return banyan_flit_format_tables(plan->schedule, problem->topology, problem->problem.bytes, &settings,
                                         out, err);
    }
    if (!strcmp(format, "text"))
        return banyan_schedule_export_text(plan->schedule, cli_node_name, problem->topology, 40, out, err);
    return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                       "--format %.40s is not json, msccl, dot, trace, tables or text", format);
}

static void print_summary(const banyan_plan *plan, const cli_problem *problem, double bound)
{
    const banyan_schedule *schedule = plan->schedule;
    char size[32], rate[32], time[32], planning[32], link[128];

    printf("%s on %s: %s of %s over %d worker%s\n", plan->algorithm->name, problem->topology->name,
           banyan_collective_name(schedule->collective),
           banyan_show_bytes((double)problem->problem.bytes, size, sizeof size), schedule->active_count,
           schedule->active_count == 1 ? "" : "s");
    printf("  %zu transfer%s in %d round%s, %d piece%s, %d flow%s, depth %d\n", schedule->transfer_count,
           schedule->transfer_count == 1 ? "" : "s", schedule->round_count,
           schedule->round_count == 1 ? "" : "s", schedule->piece_count,
           schedule->piece_count == 1 ? "" : "s", schedule->flow_count, schedule->flow_count == 1 ? "" : "s",
           plan->limits.depth);
    if (plan->limits.bottleneck >= 0) {
        printf("  at most %s, limited by link %s",
               banyan_show_rate(plan->limits.bytes_per_s, rate, sizeof rate),
               banyan_topology_link_name(problem->topology, plan->limits.bottleneck, link, sizeof link));
        if (bound > 0)
            printf(": %.1f %% of the bound", 100 * plan->limits.bytes_per_s / bound);
        printf("\n");
    }
    printf("  predicted %s by the %s model; planned and proven in %s\n",
           banyan_show_seconds(plan->predicted_s, time, sizeof time), plan->model,
           banyan_show_seconds(plan->planning_s, planning, sizeof planning));
}

static banyan_status print_json(const banyan_plan *plan, const cli_problem *problem, const cli_replan *replan,
                                double bound, banyan_error *err)
{
    banyan_text text = BANYAN_TEXT_EMPTY, more = BANYAN_TEXT_EMPTY;

    if (replan->old)
        cli_replan_json(&more, replan);
    cli_plan_json(&text, plan, &problem->problem, bound, more.length ? more.bytes : "");
    text.failed |= more.failed;
    banyan_text_fini(&more);
    return cli_print(&text, err);
}

static banyan_status write_schedule(const cli_arguments *arguments, const banyan_plan *plan,
                                    const cli_problem *problem, banyan_error *err)
{
    const char *format = cli_get(arguments, "format");
    int has_file = cli_has(arguments, "output");
    banyan_status status;
    char *out;

    if (!format && !has_file && (cli_has(arguments, "json") || cli_has(arguments, "quiet")))
        return BANYAN_SUCCESS;
    status = export_as(arguments, format ? format : has_file ? "json" : "text", plan, problem, &out, err);
    if (status)
        return status;
    status = cli_write(arguments, out, err);
    banyan_free(out);
    return status;
}

/* With --format and no file the schedule alone goes to standard output, so that it can be piped. */
static banyan_status print(const cli_arguments *arguments, const banyan_plan *plan,
                           const cli_problem *problem, cli_replan *replan, const char *explanation,
                           banyan_error *err)
{
    const char *path = cli_get(arguments, "output");
    int only_schedule = (cli_has(arguments, "format") && !path) || (path && !strcmp(path, "-"));
    banyan_status status = BANYAN_SUCCESS;
    double bound;

    if (!only_schedule)
        status = cli_problem_bound(problem, &bound, err);
    if (!status && !only_schedule && cli_has(arguments, "json"))
        status = print_json(plan, problem, replan, bound, err);
    else if (!status && !only_schedule && !cli_has(arguments, "quiet"))
        print_summary(plan, problem, bound);
    if (!status && explanation && !only_schedule && !cli_has(arguments, "json") &&
        !cli_has(arguments, "quiet"))
        printf("  chosen: %s\n", explanation);
    if (!status && replan->old && !only_schedule && !cli_has(arguments, "json") &&
        !cli_has(arguments, "quiet"))
        cli_replan_print(replan, plan);
    if (!status)
        status = write_schedule(arguments, plan, problem, err);
    if (!status)
        cli_say_written(arguments, path);
    return status;
}

static banyan_status load_wisdom(const char *path, banyan_wisdom *out, banyan_error *err)
{
    banyan_status status;
    size_t length;
    char *text;

    banyan_wisdom_init(out);
    if (!path || !banyan_file_exists(path))
        return BANYAN_SUCCESS;
    status = banyan_file_load(path, &text, &length, err);
    if (status)
        return status;
    status = banyan_wisdom_parse(text, length, out, err);
    if (status)
        banyan_error_prefix(err, path);
    banyan_free(text);
    return status;
}

static banyan_status save_wisdom(const char *path, const banyan_wisdom *wisdom, banyan_error *err)
{
    char *text;
    banyan_status status;

    if (!path || !wisdom->changed)
        return BANYAN_SUCCESS;
    status = banyan_wisdom_format(wisdom, &text, err);
    if (status)
        return status;
    status = banyan_file_save(path, text, strlen(text), err);
    banyan_free(text);
    return status;
}

/* «auto»: with the effort that was asked for, by wisdom where it knows. */
static banyan_status search(const cli_arguments *arguments, const cli_problem *problem, banyan_plan *out,
                            char **explanation, banyan_error *err)
{
    const char *path = cli_get(arguments, "wisdom");
    banyan_wisdom wisdom;
    banyan_status status = load_wisdom(path, &wisdom, err);

    if (status)
        return status;
    status =
        banyan_plan_search(&problem->problem, problem->effort, path ? &wisdom : NULL, out, explanation, err);
    if (!status) {
        status = save_wisdom(path, &wisdom, err);
        if (status)
            banyan_plan_fini(out);
    }
    banyan_wisdom_fini(&wisdom);
    return status;
}

static int run(const cli_arguments *arguments)
{
    const char *algorithm = cli_get(arguments, "algo");
    char *explanation = NULL;
    cli_problem problem;
    cli_replan replan = {0};
    banyan_error err;
    banyan_status status;
    banyan_plan plan;
    cli_waiting waiting;

    if (!arguments->word_count)
        return cli_usage_error(arguments, "name a network: a file or a string such as hosts:2+3");
    status = cli_problem_load(arguments, arguments->words[0], &problem, &err);
    if (!status) {
        status = cli_replan_load(arguments, &problem, &replan, &err);
        if (status)
            cli_problem_fini(&problem);
    }
    if (status)
        return cli_fail(arguments, status, &err);
    if (cli_has(arguments, "format") && !strcmp(cli_get(arguments, "format"), "msccl"))
        problem.problem.is_size_open = 1; /* MSCCL's runtimes cut by themselves, and hold few steps */
    if (cli_has(arguments, "format") && !strcmp(cli_get(arguments, "format"), "tables"))
        problem.problem.is_streamed = 0; /* network interfaces send transfers whole */
    if (algorithm && strcmp(algorithm, "auto") != 0) {
        cli_waiting_begin(&waiting, arguments, "planning, seconds");
        status = banyan_plan_choose(algorithm, &problem.problem, &plan, &err);
        cli_waiting_end(&waiting);
    } else {
        cli_planning_begin(&waiting, arguments, &problem.problem);
        status = search(arguments, &problem, &plan, &explanation, &err);
        cli_planning_end(&waiting, &problem.problem);
    }
    if (!status) {
        status = print(arguments, &plan, &problem, &replan, explanation, &err);
        banyan_plan_fini(&plan);
    }
    banyan_free(explanation);
    cli_replan_fini(&replan);
    cli_problem_fini(&problem);
    return status ? cli_fail(arguments, status, &err) : CLI_OK;
}

const cli_verb cli_verb_plan = {.name = "plan",
                                .usage = "SPEC [--algo NAME] [--effort EFFORT] [--wisdom FILE] [--from FILE] "
                                         "[--without LINKS] [--slow LINKS] [--bytes SIZE] [-o FILE] "
                                         "[--format json|msccl|dot|trace|tables|text]",
                                .summary =
                                    "build a schedule, prove it, predict its time, write it in any form",
                                .word_limit = 1,
                                .takes_parameters = 1,
                                .options = options,
                                .run = run};
