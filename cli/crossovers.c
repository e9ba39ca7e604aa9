/* SPDX-License-Identifier: Apache-2.0 */
/* cli/crossovers.c: the best algorithm for each size, and where the choice changes. */
#include "crossovers.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

/* The choice, and the fastest plan of another algorithm. */
static banyan_status find_best(const banyan_comparison *comparison, banyan_plan_info *best,
                               banyan_plan_info *next, banyan_error *err)
{
    banyan_comparison_info info = {.size = sizeof info};
    banyan_status status = banyan_comparison_get_info(comparison, &info, err);

    best->algorithm = next->algorithm = NULL;
    if (status || info.chosen < 0)
        return status;
    status = banyan_plan_get_info(banyan_comparison_plan(comparison, info.chosen), best, err);
    for (int i = 0; !status && i < info.applicable_count && !next->algorithm; i++) {
        status = banyan_plan_get_info(banyan_comparison_plan(comparison, i), next, err);
        if (!status && !strcmp(next->algorithm, best->algorithm))
            next->algorithm = NULL;
    }
    return status;
}

static void add_row(banyan_text *text, const banyan_plan_info *best, const banyan_plan_info *next,
                    int as_json, int is_first)
{
    char size[32], time[32], other[32];

    if (as_json) {
        banyan_text_add(text, "%s\n{\"bytes\":%zu,\"algorithm\":\"%s\",", is_first ? "" : ",", best->bytes,
                        best->algorithm);
        cli_json_number(text, "predicted_s", best->predicted_s);
        banyan_text_add(text, "}");
        return;
    }
    banyan_text_add(text, "%10s  %-20s %10s", banyan_show_bytes((double)best->bytes, size, sizeof size),
                    best->algorithm, banyan_show_seconds(best->predicted_s, time, sizeof time));
    if (next->algorithm)
        banyan_text_add(text, "   then %s %s", next->algorithm,
                        banyan_show_seconds(next->predicted_s, other, sizeof other));
    banyan_text_add(text, "\n");
}

static banyan_status add_size(cli_question *question, size_t bytes, int as_json, int is_first,
                              banyan_text *text, banyan_error *err)
{
    banyan_plan_info best = {.size = sizeof best}, next = {.size = sizeof next};
    banyan_comparison *comparison;
    banyan_status status;

    question->config.bytes = bytes;
    status = banyan_comparison_create(question->topology, &question->config, &comparison, err);
    if (status)
        return status;
    status = find_best(comparison, &best, &next, err);
    if (!status && best.algorithm)
        add_row(text, &best, &next, as_json, is_first);
    banyan_comparison_destroy(comparison);
    return status;
}

static banyan_status add_sizes(cli_question *question, size_t low, size_t high, int as_json,
                               banyan_progress *bar, banyan_text *text, banyan_error *err)
{
    size_t done = 0;
    char size[32];

    for (size_t bytes = low; bytes <= high; bytes *= 4) {
        banyan_status status;

        banyan_progress_name(bar, banyan_show_bytes((double)bytes, size, sizeof size));
        status = add_size(question, bytes, as_json, !done, text, err);

        if (status)
            return status;
        banyan_progress_set(bar, ++done);
        if (bytes > high / 4)
            break;
    }
    return BANYAN_SUCCESS;
}

banyan_status cli_crossovers(const cli_arguments *arguments, cli_question *question, banyan_error *err)
{
    const char *collective = question->config.collective;
    int as_json = cli_has(arguments, "json");
    banyan_text text = BANYAN_TEXT_EMPTY;
    banyan_progress bar;
    size_t low, high, total = 1;
    banyan_status status = read_range(cli_get(arguments, "sizes"), &low, &high, err);

    if (status)
        return status;
    for (size_t bytes = low; bytes <= high / 4; bytes *= 4)
        total++;
    if (!collective)
        collective = "allreduce";
    if (as_json) {
        banyan_text_add(&text, "{\"topology\":");
        banyan_text_add_json_string(&text, question->network.name);
        banyan_text_add(&text, ",\"collective\":");
        banyan_text_add_json_string(&text, collective);
        banyan_text_add(&text, ",\"crossovers\":[");
    } else {
        banyan_text_add(&text, "%s: %s, the choice of auto at each size, then the fastest other plan\n\n",
                        question->network.name, collective);
    }
    banyan_progress_begin(&bar, STDERR_FILENO, cli_has(arguments, "quiet"), "planning", total);
    status = add_sizes(question, low, high, as_json, &bar, &text, err);
    banyan_progress_end(&bar);
    if (as_json)
        banyan_text_add(&text, "]}\n");
    if (status) {
        banyan_text_fini(&text);
        return status;
    }
    return cli_print(&text, err);
}
