/* SPDX-License-Identifier: Apache-2.0 */
/* cli/crossovers.c: the best algorithm for each size, and where the choice changes. */
#include "crossovers.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/progress.h"
#include "core/value.h"

static banyan_status read_range(const char *text, size_t *low, size_t *high, banyan_error *err)
{
    const char *dash = strchr(text, '-');
    char first[32];
    int64_t a = 0, b = 0;
    banyan_status status = BANYAN_SUCCESS;

    *low = *high = 0;
    if (!dash || (size_t)(dash - text) >= sizeof first)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "--sizes %.40s is not FROM-TO, such as 1KiB-1GiB",
                           text);
    snprintf(first, sizeof first, "%.*s", (int)(dash - text), text);
    status = banyan_value_bytes(first, &a, err);
    if (!status)
        status = banyan_value_bytes(dash + 1, &b, err);
    if (status)
        banyan_error_prefix(err, "--sizes");
    else if (a < 1 || b < a)
        status = banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                             "--sizes %.40s is not FROM-TO with 1 <= FROM <= TO", text);
    *low = (size_t)a;
    *high = (size_t)b;
    return status;
}

static void add_row(banyan_text *text, const banyan_problem *problem, const banyan_plan *plans, int count,
                    int as_json, int is_first)
{
    const banyan_plan *best = &plans[banyan_plan_best(problem, plans, count, NULL, NULL)], *next = NULL;
    char size[32], time[32], other[32];

    for (int i = 0; i < count && !next && plans[i].schedule; i++)
        if (plans[i].algorithm != best->algorithm)
            next = &plans[i];
    if (as_json) {
        banyan_text_add(text, "%s\n{\"bytes\":%zu,\"algorithm\":\"%s\",", is_first ? "" : ",", problem->bytes,
                        best->algorithm->name);
        cli_json_number(text, "predicted_s", best->predicted_s);
        banyan_text_add(text, "}");
        return;
    }
    banyan_text_add(text, "%10s  %-20s %10s", banyan_show_bytes((double)problem->bytes, size, sizeof size),
                    best->algorithm->name, banyan_show_seconds(best->predicted_s, time, sizeof time));
    if (next)
        banyan_text_add(text, "   then %s %s", next->algorithm->name,
                        banyan_show_seconds(next->predicted_s, other, sizeof other));
    banyan_text_add(text, "\n");
}

static banyan_status add_sizes(const cli_problem *problem, banyan_effort effort, size_t low, size_t high,
                               int as_json, banyan_progress *bar, banyan_text *text, banyan_error *err)
{
    banyan_problem own = problem->problem;
    size_t done = 0;

    for (size_t bytes = low; bytes <= high; bytes *= 4) {
        banyan_plan *plans;
        banyan_status status;
        int count;

        own.bytes = bytes;
        status = banyan_plan_candidates(&own, effort, &plans, &count, err);
        if (status)
            return status;
        if (plans[0].schedule)
            add_row(text, &own, plans, count, as_json, !done);
        banyan_plans_destroy(plans, count);
        banyan_progress_set(bar, ++done);
        if (bytes > high / 4)
            break;
    }
    return BANYAN_SUCCESS;
}

banyan_status cli_crossovers(const cli_arguments *arguments, const cli_problem *problem, banyan_effort effort,
                             banyan_error *err)
{
    int as_json = cli_has(arguments, "json");
    banyan_text text = BANYAN_TEXT_EMPTY;
    banyan_progress bar;
    size_t low, high, total = 1;
    banyan_status status = read_range(cli_get(arguments, "sizes"), &low, &high, err);

    if (status)
        return status;
    for (size_t bytes = low; bytes <= high / 4; bytes *= 4)
        total++;
    if (as_json)
        banyan_text_add(&text, "{\"crossovers\":[");
    else
        banyan_text_add(&text, "%s: %s, the best by size\n\n", problem->topology->name,
                        banyan_collective_name(problem->problem.collective));
    banyan_progress_begin(&bar, STDERR_FILENO, cli_has(arguments, "quiet"), "planning", total);
    status = add_sizes(problem, effort, low, high, as_json, &bar, &text, err);
    banyan_progress_end(&bar);
    if (as_json)
        banyan_text_add(&text, "]}\n");
    if (status) {
        banyan_text_fini(&text);
        return status;
    }
    return cli_print(&text, err);
}
