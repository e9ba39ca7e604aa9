/* SPDX-License-Identifier: Apache-2.0 */
/* cli/plan.c: banyan plan SPEC: build, prove and predict a schedule, and write it in any form. */
#include <stdio.h>
#include <string.h>

#include "core/value.h"
#include "flat_ring.h"
#include "plan_json.h"
#include "question.h"
#include "replan.h"
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
     "json, msccl, mscclpp, chakra, dot, trace, tables or text (default: json; text when no file is given)"},
    {"max-steps", 0, "N",
     "msccl: steps a thread block may have (default: 64, the Azure build; microsoft/msccl: 256)"},
    {NULL, 0, NULL, NULL}};

/* What was planned, to be printed and written. */
typedef struct {
    const cli_arguments *arguments;
    const cli_question *question;
    const banyan_plan *plan;
    banyan_plan_info figures;
    banyan_schedule_info schedule;
} result;

static banyan_status export(const result *made, const char *format, char **out, banyan_error *err)
{
    banyan_export_config config = BANYAN_EXPORT_CONFIG_INITIALIZER;
    const char *steps = cli_get(made->arguments, "max-steps");
    int64_t number = 0;
    banyan_status status = steps ? banyan_value_integer(steps, 1, 1024, &number, err) : BANYAN_SUCCESS;

    if (status) {
        cli_blame("max-steps", err);
        return status;
    }
    config.bytes = made->figures.bytes;
    config.max_steps = (int)number;
    return banyan_schedule_export(banyan_plan_schedule(made->plan), made->question->topology, format, &config,
                                  out, err);
}

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

static void print_summary(const result *made, double bound)
{
    const banyan_plan_info *figures = &made->figures;
    const banyan_schedule_info *schedule = &made->schedule;
    char size[32], rate[32], time[32], planning[32], link[128];

    printf("%s on %s: %s of %s over %d worker%s\n", figures->algorithm, made->question->network.name,
           schedule->collective, banyan_show_bytes((double)figures->bytes, size, sizeof size),
           schedule->active_count, plural((size_t)schedule->active_count));
    printf("  %zu transfer%s in %d round%s, %d piece%s, %d flow%s, depth %d\n", schedule->transfer_count,
           plural(schedule->transfer_count), schedule->round_count, plural((size_t)schedule->round_count),
           schedule->piece_count, plural((size_t)schedule->piece_count), schedule->flow_count,
           plural((size_t)schedule->flow_count), figures->depth);
    if (figures->bottleneck >= 0) {
        printf("  peak rate %s, limited by link %s",
               banyan_show_rate(figures->bytes_per_s, rate, sizeof rate),
               banyan_topology_link_name(made->question->topology, figures->bottleneck, link, sizeof link));
        if (bound > 0)
            printf(": %.1f %% of the bound", 100 * figures->bytes_per_s / bound);
        printf("\n");
    }
    printf("  predicted %s by the %s model; built and proven in %s\n",
           banyan_show_seconds(figures->predicted_s, time, sizeof time), figures->model,
           banyan_show_seconds(figures->planning_s, planning, sizeof planning));
    if (figures->explanation)
        printf("  chosen: %s\n", figures->explanation);
    else if (strcmp(figures->algorithm, "ring") != 0 && cli_is_flat_ring(banyan_plan_schedule(made->plan)))
        printf("  this is one flat ring of all workers: %s found no levels to use here\n",
               figures->algorithm);
}

static banyan_status print_json(const result *made, const cli_replan *replan, double bound, banyan_error *err)
{
    banyan_text text = BANYAN_TEXT_EMPTY, more = BANYAN_TEXT_EMPTY;
    banyan_status status;

    if (replan->old)
        cli_replan_json(&more, replan);
    status =
        cli_plan_json(&text, made->plan, made->question->topology, bound, more.length ? more.bytes : "", err);
    text.failed |= more.failed;
    banyan_text_fini(&more);
    if (!status)
        status = cli_print(&text, err);
    banyan_text_fini(&text);
    return status;
}

static banyan_status print_figures(const result *made, const cli_replan *replan, banyan_error *err)
{
    double bound;
    banyan_status status = cli_question_bound(made->question, banyan_plan_schedule(made->plan), &bound, err);

    if (status)
        return status;
    if (cli_has(made->arguments, "json"))
        return print_json(made, replan, bound, err);
    if (cli_has(made->arguments, "quiet"))
        return BANYAN_SUCCESS;
    print_summary(made, bound);
    if (replan->old)
        cli_replan_print(replan, &made->figures);
    return BANYAN_SUCCESS;
}

static banyan_status write_schedule(const result *made, banyan_error *err)
{
    const cli_arguments *arguments = made->arguments;
    const char *format = cli_get(arguments, "format");
    int has_file = cli_has(arguments, "output");
    banyan_status status;
    char *out;

    if (format && !strcmp(format, "chakra"))
        return banyan_schedule_save_chakra(banyan_plan_schedule(made->plan), made->figures.bytes,
                                           cli_get(arguments, "output"), err);
    if (!format && !has_file && (cli_has(arguments, "json") || cli_has(arguments, "quiet")))
        return BANYAN_SUCCESS;
    status = export(made, format ? format : has_file ? "json" : "text", &out, err);
    if (status)
        return status;
    status = cli_write(arguments, out, err);
    banyan_free(out);
    return status;
}

/* With --format and no file the schedule alone goes to standard output, so that it can be piped. */
static banyan_status print(const cli_arguments *arguments, const cli_question *question,
                           const banyan_plan *plan, const cli_replan *replan, banyan_error *err)
{
    const char *path = cli_get(arguments, "output");
    int only_schedule = (cli_has(arguments, "format") && !path) || (path && !strcmp(path, "-"));
    result made = {arguments, question, plan, {.size = sizeof made.figures}, {.size = sizeof made.schedule}};
    banyan_status status = banyan_plan_get_info(plan, &made.figures, err);

    if (!status)
        status = banyan_schedule_get_info(banyan_plan_schedule(plan), &made.schedule, err);
    if (!status && !only_schedule)
        status = print_figures(&made, replan, err);
    if (!status)
        status = write_schedule(&made, err);
    if (!status && path && cli_has(arguments, "format") && !strcmp(cli_get(arguments, "format"), "chakra") &&
        !cli_has(arguments, "quiet") && !cli_has(arguments, "json"))
        printf("written to %s.0.et .. %s.%d.et\n", path, path, made.schedule.active_count - 1);
    else if (!status)
        cli_say_written(arguments, path);
    return status;
}

/* --format says who is going to run it. */
static const char *find_executor(const char *format)
{
    if (format && !strcmp(format, "msccl"))
        return "msccl";
    if (format && (!strcmp(format, "tables") || !strcmp(format, "mscclpp") || !strcmp(format, "chakra")))
        return "interface"; /* transfers are sent whole */
    return "banyan";
}

/* auto counts the algorithms that it tries; others show the seconds. */
static banyan_status make(const cli_arguments *arguments, cli_question *question, banyan_plan **out,
                          banyan_error *err)
{
    const char *algorithm = cli_get(arguments, "algo");
    banyan_plan_config *config = &question->config;
    cli_waiting waiting;
    banyan_status status;

    config->algorithm = algorithm;
    config->wisdom = cli_get(arguments, "wisdom");
    config->executor = find_executor(cli_get(arguments, "format"));
    if (algorithm && strcmp(algorithm, "auto") != 0) {
        cli_waiting_begin(&waiting, arguments, "planning, seconds");
    } else {
        cli_planning_begin(&waiting, arguments);
        config->progress = cli_planning_count;
        config->begins = cli_planning_name;
        config->context = &waiting;
    }
    status = banyan_plan_create(question->topology, config, out, err);
    cli_waiting_end(&waiting);
    return status;
}

static int run(const cli_arguments *arguments)
{
    cli_question question;
    cli_replan replan = {0};
    banyan_plan *plan = NULL;
    banyan_error err;
    banyan_status status;

    if (!arguments->word_count)
        return cli_usage_error(arguments, "name a network: a file or a string such as hosts:2+3");
    if (cli_has(arguments, "format") && !strcmp(cli_get(arguments, "format"), "chakra") &&
        !cli_has(arguments, "output"))
        return cli_usage_error(arguments,
                               "a Chakra trace is a file for each rank: -o NAME writes NAME.RANK.et");
    if (cli_has(arguments, "json") && cli_has(arguments, "format") && !cli_has(arguments, "output"))
        return cli_usage_error(
            arguments, "--json and --format both print to standard output: name a file for one with -o");
    status = cli_question_load(arguments, arguments->words[0], &question, &err);
    if (status)
        return cli_fail(arguments, status, &err);
    status = cli_replan_load(arguments, &question, &replan, &err);
    if (!status)
        status = make(arguments, &question, &plan, &err);
    if (!status)
        status = print(arguments, &question, plan, &replan, &err);
    banyan_plan_destroy(plan);
    cli_replan_fini(&replan);
    cli_question_fini(&question);
    return status ? cli_fail(arguments, status, &err) : CLI_OK;
}

const cli_verb cli_verb_plan = {.name = "plan",
                                .usage = "SPEC [--algo NAME] [--effort EFFORT] [--wisdom FILE] [--from FILE] "
                                         "[--without LINKS] [--slow LINKS] [--bytes SIZE] [-o FILE] "
                                         "[--format json|msccl|mscclpp|chakra|dot|trace|tables|text]",
                                .summary =
                                    "build a schedule, prove it, predict its time, write it in any form",
                                .word_limit = 1,
                                .takes_parameters = 1,
                                .options = options,
                                .run = run};
