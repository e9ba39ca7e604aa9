/* SPDX-License-Identifier: Apache-2.0 */
/* cli/compare.c: banyan compare SPEC: all algorithms side by side. */
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "crossovers.h"
#include "plan_json.h"
#include "problem.h"
#include "waiting.h"
#include "wrap.h"

static const cli_option options[] = {
    CLI_PROBLEM_OPTIONS,
    {"sizes", 0, "FROM-TO", "instead: the best algorithm for each size, such as 1KiB-1GiB"},
    {"effort", 0, "EFFORT",
     "estimate, measure or patient (default: patient for short vectors, else measure)"},
    {NULL, 0, NULL, NULL}};

static void print_row(const banyan_plan *plan, size_t bytes, double bound, double best_s, int is_chosen)
{
    char rate[32], time[32], share[16] = "-";

    if (bound > 0 && plan->predicted_s > 0)
        snprintf(share, sizeof share, "%.1f %%", 100 * (double)bytes / bound / plan->predicted_s);
    printf("%c %-18s %6d %9zu %5d %10s %9s %8s %6.3g\n", is_chosen ? '*' : ' ', plan->algorithm->name,
           plan->schedule->round_count, plan->schedule->transfer_count, plan->limits.depth,
           banyan_show_rate(plan->limits.bytes_per_s, rate, sizeof rate),
           banyan_show_seconds(plan->predicted_s, time, sizeof time), share,
           best_s > 0 ? plan->predicted_s / best_s : 1);
}

static int is_same(const banyan_plan *a, const banyan_plan *b)
{
    char left[17], right[17];

    banyan_schedule_digest(a->schedule, left);
    banyan_schedule_digest(b->schedule, right);
    return !strcmp(left, right);
}

/* Algorithms for levels that find none fall back to a ring: those who compare should know. Each set of equal
 * plans is named once, at its first member. */
static void print_same(const banyan_plan *plans, int count)
{
    for (int i = 0; i < count; i++) {
        int before = 0, printed = 0;

        while (before < i && !is_same(&plans[before], &plans[i]))
            before++;
        for (int j = i + 1; before == i && j < count; j++)
            if (is_same(&plans[i], &plans[j])) {
                printf("%s%s", printed ? ", " : "the same plan: ", printed ? "" : plans[i].algorithm->name);
                printf("%s%s", printed ? "" : ", ", plans[j].algorithm->name);
                printed = 1;
            }
        if (printed)
            printf("\n");
    }
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
    printf("\n\n  %-18s %6s %9s %5s %10s %9s %8s %6s\n", "algorithm", "rounds", "transfers", "depth",
           "peak rate", "predicted", "of bound", "x best");
    for (; i < count && plans[i].schedule; i++)
        print_row(&plans[i], problem->problem.bytes, bound, plans[0].predicted_s, i == best);
    printf("\npeak rate: for large vectors; of bound: of the best possible rate, at this size\n"
           "*: the choice of auto: of the plans within 8 %% of the fastest, those whose\n"
           "   connections do not meet on full links or are paced there, and of these the one\n"
           "   that loads links and ranks least\n");
    print_same(plans, i);
    if (i < count)
        printf("\ndo not apply to this network:\n");
    for (; i < count; i++) {
        int column = printf("  %s: ", plans[i].algorithm->name);

        cli_wrap(plans[i].why_not.text, column, 4);
    }
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
                                   .usage = "SPEC [--bytes SIZE|--sizes FROM-TO] [--active RANKS] "
                                            "[--collective NAME] [--effort EFFORT]",
                                   .summary = "all algorithms on a network side by side",
                                   .word_limit = 1,
                                   .takes_parameters = 1,
                                   .options = options,
                                   .run = run};
