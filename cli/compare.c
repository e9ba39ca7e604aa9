/* SPDX-License-Identifier: Apache-2.0 */
/* cli/compare.c: banyan compare SPEC: all algorithms side by side. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "crossovers.h"
#include "plan_json.h"
#include "style.h"
#include "waiting.h"
#include "wrap.h"

static const cli_option options[] = {
    CLI_PROBLEM_OPTIONS,
    {"sizes", 0, "FROM-TO", "instead: the best algorithm for each size, such as 1KiB-1GiB"},
    {"effort", 0, "EFFORT",
     "estimate, measure or patient (default: patient for short vectors, else measure)"},
    {NULL, 0, NULL, NULL}};

/* One plan: its figures, and those of its schedule where it has one. */
typedef struct {
    const banyan_plan *plan;
    banyan_plan_info figures;
    banyan_schedule_info schedule;
} row;

/* What is to be printed. */
typedef struct {
    const cli_question *question;
    banyan_comparison_info info;
    row *rows; /* own */
    double bound;
} table;

static int is_same(const row *a, const row *b)
{
    return !strcmp(a->schedule.digest, b->schedule.digest);
}

/* Whether a row above is the same plan of the same algorithm, as that of another setting may be. */
static int is_repeated(const row *rows, int i)
{
    int before = 0;

    while (before < i && (strcmp(rows[before].figures.algorithm, rows[i].figures.algorithm) != 0 ||
                          !is_same(&rows[before], &rows[i])))
        before++;
    return before < i;
}

static int is_chosen(const table *made, int i)
{
    const row *chosen = made->info.chosen < 0 ? NULL : &made->rows[made->info.chosen];

    return chosen && !strcmp(made->rows[i].figures.algorithm, chosen->figures.algorithm) &&
           is_same(&made->rows[i], chosen);
}

static void print_row(const table *made, int i)
{
    const banyan_plan_info *figures = &made->rows[i].figures;
    const banyan_schedule_info *schedule = &made->rows[i].schedule;
    double best_s = made->rows[0].figures.predicted_s;
    int stands_out = is_chosen(made, i);
    char rate[32], time[32], share[16] = "-";

    if (made->bound > 0 && figures->predicted_s > 0)
        snprintf(share, sizeof share, "%.1f %%",
                 100 * (double)figures->bytes / made->bound / figures->predicted_s);
    printf("%s%c %-18s %6d %9zu %5d %10s %9s %8s %6.3g%s\n", stands_out ? cli_style_on(CLI_BOLD) : "",
           stands_out ? '*' : ' ', figures->algorithm, schedule->round_count, schedule->transfer_count,
           figures->depth, banyan_show_rate(figures->bytes_per_s, rate, sizeof rate),
           banyan_show_seconds(figures->predicted_s, time, sizeof time), share,
           best_s > 0 ? figures->predicted_s / best_s : 1, stands_out ? cli_style_off() : "");
    if (figures->variant_key)
        printf("    with --%s %s\n", figures->variant_key, figures->variant_value);
}

/* Algorithms for levels that find none fall back to a ring: those who compare should know. Each set of equal
 * plans is named once, at its first member. */
static void print_same(const row *rows, int count)
{
    for (int i = 0; i < count; i++) {
        int before = 0, printed = 0;

        while (before < i && !is_same(&rows[before], &rows[i]))
            before++;
        for (int j = i + 1; before == i && j < count; j++)
            if (is_same(&rows[i], &rows[j]) && !is_repeated(rows, j)) {
                printf("%s%s", printed ? ", " : "the same plan: ", printed ? "" : rows[i].figures.algorithm);
                printf("%s%s", printed ? "" : ", ", rows[j].figures.algorithm);
                printed = 1;
            }
        if (printed)
            printf("\n");
    }
}

static void print_head(const table *made)
{
    const row *first = &made->rows[0];
    char size[32], rate[32];

    printf("%s", made->question->network.name);
    if (made->info.applicable_count)
        printf(": %s of %s over %d workers", first->schedule.collective,
               banyan_show_bytes((double)first->figures.bytes, size, sizeof size),
               first->schedule.active_count);
    if (made->bound > 0)
        printf("; the bound is %s", banyan_show_rate(made->bound, rate, sizeof rate));
    printf("\n\n  %-18s %6s %9s %5s %10s %9s %8s %6s\n", "algorithm", "rounds", "transfers", "depth",
           "peak rate", "predicted", "of bound", "x best");
}

static void print_table(const table *made)
{
    int i = 0;

    print_head(made);
    for (; i < made->info.applicable_count; i++)
        if (!is_repeated(made->rows, i))
            print_row(made, i);
    printf("\npeak rate: for large vectors; of bound: of the best possible rate, at this size\n"
           "*: the choice of auto: of the plans within 8 %% of the fastest, those whose\n"
           "   connections do not meet on full links or are paced there, and of these the\n"
           "   one that loads links and ranks least\n");
    print_same(made->rows, i);
    if (i < made->info.plan_count)
        printf("\ndo not apply to this network:\n");
    for (; i < made->info.plan_count; i++) {
        int column = printf("  %s: ", made->rows[i].figures.algorithm);

        cli_wrap(made->rows[i].figures.why_not, column, 4);
    }
}

static void add_why_not(banyan_text *text, const banyan_plan_info *figures)
{
    banyan_text_add(text, "{\"algorithm\":\"%s\",\"applies\":false,\"why_not\":", figures->algorithm);
    banyan_text_add_json_string(text, figures->why_not);
    banyan_text_add(text, "}");
}

static banyan_status print_json(const table *made, banyan_error *err)
{
    const cli_question *question = made->question;
    banyan_text text = BANYAN_TEXT_EMPTY;
    banyan_status status = BANYAN_SUCCESS;

    banyan_text_add(&text, "{\"topology\":");
    banyan_text_add_json_string(&text, question->network.name);
    banyan_text_add(&text, ",\"bytes\":%zu,\"chosen\":", made->rows[0].figures.bytes);
    if (made->info.chosen >= 0)
        banyan_text_add(&text, "%d", made->info.chosen);
    else
        banyan_text_add(&text, "null");
    banyan_text_add(&text, ",\"results\":[");
    for (int i = 0; !status && i < made->info.plan_count; i++) {
        banyan_text_add(&text, "%s\n", i ? "," : "");
        if (i < made->info.applicable_count)
            status = cli_plan_json(&text, made->rows[i].plan, question->topology, made->bound, "", err);
        else
            add_why_not(&text, &made->rows[i].figures);
    }
    banyan_text_add(&text, "]}");
    if (!status)
        status = cli_print(&text, err);
    banyan_text_fini(&text);
    return status;
}

static banyan_status read_row(const banyan_plan *plan, row *out, banyan_error *err)
{
    banyan_status status;

    *out = (row){plan, {.size = sizeof out->figures}, {.size = sizeof out->schedule}};
    status = banyan_plan_get_info(plan, &out->figures, err);
    return status || out->figures.why_not
               ? status
               : banyan_schedule_get_info(banyan_plan_schedule(plan), &out->schedule, err);
}

static banyan_status fill_table(const banyan_comparison *comparison, table *out, banyan_error *err)
{
    banyan_status status = banyan_comparison_get_info(comparison, &out->info, err);

    if (status)
        return status;
    out->rows = banyan_alloc((size_t)out->info.plan_count, sizeof *out->rows);
    if (!out->rows)
        return banyan_fail_memory(err);
    for (int i = 0; !status && i < out->info.plan_count; i++)
        status = read_row(banyan_comparison_plan(comparison, i), &out->rows[i], err);
    if (!status && out->info.chosen >= 0)
        status = cli_question_bound(
            out->question, banyan_plan_schedule(banyan_comparison_plan(comparison, out->info.chosen)),
            &out->bound, err);
    return status;
}

static banyan_status compare(const cli_arguments *arguments, cli_question *question, banyan_error *err)
{
    table made = {.question = question, .info = {.size = sizeof made.info}, .bound = NAN};
    banyan_comparison *comparison;
    cli_waiting waiting;
    banyan_status status;

    cli_planning_begin(&waiting, arguments);
    question->config.progress = cli_planning_count;
    question->config.begins = cli_planning_name;
    question->config.context = &waiting;
    status = banyan_comparison_create(question->topology, &question->config, &comparison, err);
    cli_waiting_end(&waiting);
    if (status)
        return status;
    status = fill_table(comparison, &made, err);
    if (!status && cli_has(arguments, "json"))
        status = print_json(&made, err);
    else if (!status)
        print_table(&made);
    banyan_free(made.rows);
    banyan_comparison_destroy(comparison);
    return status;
}

static int run(const cli_arguments *arguments)
{
    cli_question question;
    banyan_error err;
    banyan_status status;

    if (!arguments->word_count)
        return cli_usage_error(arguments, "name a network: a file or a string such as hosts:2+3");
    status = cli_question_load(arguments, arguments->words[0], &question, &err);
    if (status)
        return cli_fail(arguments, status, &err);
    status = cli_has(arguments, "sizes") ? cli_crossovers(arguments, &question, &err)
                                         : compare(arguments, &question, &err);
    cli_question_fini(&question);
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
