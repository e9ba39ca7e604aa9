/* SPDX-License-Identifier: Apache-2.0 */
/* cli/report.c: banyan report SPEC: a network, its best plan and all others on one page for a browser. */
#include "report/report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "core/alloc.h"
#include "core/file.h"
#include "report_gather.h"

static const cli_option options[] = {
    {"algo", 'a', "NAMES", "algorithms to compare, such as ring,forest; the fastest is shown (default: all)"},
    {"active", 0, "RANKS", "workers that hold data, such as 0,1,4-7 (default: all)"},
    {"bytes", 'b', "SIZE", "size of the vector, such as 64MiB (default: 64MiB)"},
    {"trace", 0, "FILE", "a measured timeline of the plan, to be shown beside the predicted one"},
    {"output", 'o', "FILE", "where the page goes (default: report.html; '-': standard output)"},
    {NULL, 0, NULL, NULL}};

static void print_summary(const report_gathering *g, const char *path, size_t length)
{
    const banyan_report_result *best = &g->results[0];
    char size[32], time[32], file[32];
    int served = 0;

    while (served < g->count && g->plans[served].schedule)
        served++;
    printf("%s on %s: %s in %s", best->algorithm, g->problem.topology->name,
           banyan_show_bytes((double)g->report.bytes, size, sizeof size),
           banyan_show_seconds(best->predicted_s, time, sizeof time));
    if (isfinite(best->bytes_per_s / g->report.bound.bytes_per_s))
        printf(", %.1f %% of the bound", 100 * best->bytes_per_s / g->report.bound.bytes_per_s);
    printf("; best of %d algorithms\n", served);
    printf("written to %s (%s): open it in any browser\n", path,
           banyan_show_bytes((double)length, file, sizeof file));
}

static banyan_status make_page(const report_gathering *g, const char *data, char **out, banyan_error *err)
{
    char title[256], size[32];

    snprintf(title, sizeof title, "Banyan: all-reduce of %s on %.200s",
             banyan_show_bytes((double)g->report.bytes, size, sizeof size), g->problem.topology->name);
    return banyan_report_page(title, data, out, err);
}

static banyan_status write_report(const cli_arguments *arguments, const report_gathering *g,
                                  banyan_error *err)
{
    const char *path = cli_get(arguments, "output");
    int is_json = cli_has(arguments, "json");
    char *data = NULL, *page = NULL;
    banyan_status status = banyan_report_format(&g->report, &data, err);

    if (!path)
        path = is_json ? "-" : "report.html";
    if (!status && !is_json)
        status = make_page(g, data, &page, err);
    if (!status)
        status = banyan_file_save(path, is_json ? data : page, strlen(is_json ? data : page), err);
    if (!status && !is_json && strcmp(path, "-") != 0 && !cli_has(arguments, "quiet"))
        print_summary(g, path, strlen(page));
    banyan_free(data);
    banyan_free(page);
    return status;
}

static int run(const cli_arguments *arguments)
{
    report_gathering gathering;
    banyan_error err;
    banyan_status status;

    if (!arguments->word_count)
        return cli_usage_error(arguments, "name a network: a file or a string such as hosts:2+3");
    status = report_gather(arguments, &gathering, &err);
    if (!status) {
        status = write_report(arguments, &gathering, &err);
        report_gathering_fini(&gathering);
    }
    return status ? cli_fail(arguments, status, &err) : CLI_OK;
}

const cli_verb cli_verb_report = {
    .name = "report",
    .usage = "SPEC [--bytes SIZE] [--algo NAMES] [--active RANKS] [--trace FILE] [-o report.html]",
    .summary = "network, plan, timeline and proof on one page for a browser",
    .word_limit = 1,
    .takes_parameters = 1,
    .options = options,
    .run = run};
