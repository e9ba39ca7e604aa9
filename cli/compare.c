/* SPDX-License-Identifier: Apache-2.0 */
/* cli/compare.c: banyan compare SPEC: all algorithms side by side. */
#include <stdio.h>

#include "core/alloc.h"
#include "crossovers.h"
#include "plan_json.h"
#include "problem.h"
#include "waiting.h"

static const cli_option options[] = {
    CLI_PROBLEM_OPTIONS,
    {"sizes", 0, "FROM-TO", "instead: the best algorithm for each size, such as 1KiB-1GiB"},
    {"effort", 0, "EFFORT",
     "estimate, measure or patient (default: patient for short vectors, else measure)"},
    {NULL, 0, NULL, NULL}};

static void print_row(const banyan_plan *plan, double bound, double best_s, int is_chosen)
{
    char rate[32], time[32], share[16] = "-";

    if (bound > 0)
        snprintf(share, sizeof share, "%.1f %%", 100 * plan->limits.bytes_per_s / bound);
    printf("%-20s %7d %10zu %8.4g %6d %12s %9s %12s %7.3g%s\n", plan->algorithm->name,
           plan->schedule->round_count, plan->schedule->transfer_count, plan->limits.volume,
           plan->limits.depth, banyan_show_rate(plan->limits.bytes_per_s, rate, sizeof rate), share,
           banyan_show_seconds(plan->predicted_s, time, sizeof time),
           best_s > 0 ? plan->predicted_s / best_s : 1, is_chosen ? "  auto" : "");
}

static void print_table(const cli_problem *problem, const banyan_plan *plans, int count, double bound)
{
    int best = banyan_plan_best(&problem->problem, plans, count, NULL, NULL), i = 0;
    char size[32], rate[32];

    printf("%s: %s of %s over %d workers", problem->topology->name,
           banyan_collective_name(problem->problem.collective),
           banyan_show_bytes((double)problem->problem.bytes, size, sizeof size),
           problem->problem.active_count);
    if (bound > 0)
        printf("; the bound is %s", banyan_show_rate(bound, rate, sizeof rate));
    printf("\n\n%-20s %7s %10s %8s %6s %12s %9s %12s %7s\n", "algorithm", "rounds", "transfers", "volume",
           "depth", "at most", "of bound", "predicted", "x best");
    for (; i < count && plans[i].schedule; i++)
        print_row(&plans[i], bound, plans[0].predicted_s, i == best);
    if (i < count)
        printf("\nnot here:\n");
    for (; i < count; i++)
        printf("  %s: %s\n", plans[i].algorithm->name, plans[i].why_not.text);
    printf("\nvolume: the most that one worker sends, in vectors; at most: rate as size grows, latency 0;\n"
           "auto: what a job takes, of those predicted to be within 8 %% of the fastest the one that loads "
           "links "
           "and ranks least\n");
}

static void add_why_not(banyan_text *text, const banyan_plan *plan)
{
    banyan_text_add(text, "{\"algorithm\":\"%s\",\"applies\":false,\"why_not\":", plan->algorithm->name);
    banyan_text_add_json_string(text, plan->why_not.text);
    banyan_text_add(text, "}");
}

static banyan_status print_json(const cli_problem *problem, const banyan_plan *plans, int count, double bound,
                                banyan_error *err)
{
    int best = banyan_plan_best(&problem->problem, plans, count, NULL, NULL);
    banyan_text text = BANYAN_TEXT_EMPTY;
    banyan_status status = BANYAN_SUCCESS;

    banyan_text_add(&text, "{\"topology\":");
    banyan_text_add_json_string(&text, problem->topology->name);
    banyan_text_add(&text, ",\"bytes\":%zu,\"chosen\":", problem->problem.bytes);
    if (best < count)
        banyan_text_add(&text, "%d", best);
    else
        banyan_text_add(&text, "null");
    banyan_text_add(&text, ",\"results\":[");
    for (int i = 0; !status && i < count; i++) {
        banyan_text_add(&text, "%s\n", i ? "," : "");
        if (plans[i].schedule)
            status = cli_plan_json(&text, &plans[i], problem->topology, bound, "", err);
        else
            add_why_not(&text, &plans[i]);
    }
    banyan_text_add(&text, "]}");
    if (!status)
        status = cli_print(&text, err);
    banyan_text_fini(&text);
    return status;
}

static int run(const cli_arguments *arguments)
{
    cli_problem problem;
    banyan_plan *plans;
    banyan_error err;
    banyan_status status;
    cli_waiting waiting;
    double bound;
    int count;

    if (!arguments->word_count)
        return cli_usage_error(arguments, "name a network: a file or a string such as hosts:2+3");
    status = cli_problem_load(arguments, arguments->words[0], &problem, &err);
    if (status)
        return cli_fail(arguments, status, &err);
    if (cli_has(arguments, "sizes")) {
        status = cli_crossovers(arguments, &problem, problem.effort, &err);
        cli_problem_fini(&problem);
        return status ? cli_fail(arguments, status, &err) : CLI_OK;
    }
    cli_planning_begin(&waiting, arguments);
    problem.problem.watch = cli_planning_count;
    problem.problem.watch_context = &waiting;
    status = banyan_plan_candidates(&problem.problem, problem.effort, &plans, &count, &err);
    cli_waiting_end(&waiting);
    problem.problem.watch = NULL;
    if (!status) {
        status = cli_problem_bound(&problem, &bound, &err);
        if (!status && cli_has(arguments, "json"))
            status = print_json(&problem, plans, count, bound, &err);
        else if (!status)
            print_table(&problem, plans, count, bound);
        banyan_plans_destroy(plans, count);
    }
    cli_problem_fini(&problem);
    return status ? cli_fail(arguments, status, &err) : CLI_OK;
}

const cli_verb cli_verb_compare = {.name = "compare",
                                   .usage = "SPEC [--bytes SIZE] [--active RANKS] [--collective NAME]",
                                   .summary = "all algorithms on a network side by side",
                                   .word_limit = 1,
                                   .takes_parameters = 1,
                                   .options = options,
                                   .run = run};
