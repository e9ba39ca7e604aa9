/* SPDX-License-Identifier: Apache-2.0 */
/* cli/report.c: banyan report SPEC: a network, its best plan and all others on one page for a browser. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/file.h"
#include "question.h"
#include "waiting.h"

static const cli_option options[] = {
    {"algo", 'a', "NAMES", "algorithms to compare, such as ring,forest; the fastest is shown (default: all)"},
    {"active", 0, "RANKS", "workers that hold data, such as 0,1,4-7 (default: all)"},
    {"bytes", 'b', "SIZE", "size of the vector, such as 64MiB (default: 64MiB)"},
    {"trace", 0, "FILE", "a measured timeline of the plan, to be shown beside the predicted one"},
    {"output", 'o', "FILE", "where the page goes (default: report.html; '-': standard output)"},
    {NULL, 0, NULL, NULL}};

static void print_summary(const cli_question *question, const banyan_report_info *info, const char *path,
                          size_t length)
{
    char size[32], time[32], file[32];

    printf("%s on %s: %s in %s", info->algorithm, question->network.name,
           banyan_show_bytes((double)info->bytes, size, sizeof size),
           banyan_show_seconds(info->predicted_s, time, sizeof time));
    if (info->predicted_s > 0 && isfinite(info->bound_bytes_per_s))
        printf(", %.1f %% of the bound at this size",
               100 * (double)info->bytes / info->predicted_s / info->bound_bytes_per_s);
    printf("; best of %d algorithms\n", info->applicable_count);
    printf("written to %s (%s): open it in any browser\n", path,
           banyan_show_bytes((double)length, file, sizeof file));
}

static banyan_status make(const cli_arguments *arguments, cli_question *question, char **out,
                          banyan_report_info *info, banyan_error *err)
{
    banyan_report_config config = BANYAN_REPORT_CONFIG_INITIALIZER;
    banyan_text command = BANYAN_TEXT_EMPTY;
    cli_waiting waiting;
    banyan_status status;

    cli_add_command(arguments, &command);
    config.command = command.failed ? NULL : command.bytes;
    cli_planning_begin(&waiting, arguments);
    question->config.algorithm = cli_get(arguments, "algo");
    question->config.begins = cli_planning_name;
    question->config.progress = config.progress = cli_planning_count;
    question->config.context = config.context = &waiting;
    config.format = cli_has(arguments, "json") ? "json" : "html";
    config.trace = cli_get(arguments, "trace");
    status = banyan_report_create(question->topology, &question->config, &config, out, info, err);
    cli_waiting_end(&waiting);
    banyan_text_fini(&command);
    return status;
}

static banyan_status write_report(const cli_arguments *arguments, cli_question *question, banyan_error *err)
{
    const char *path = cli_get(arguments, "output");
    banyan_report_info info = {.size = sizeof info};
    int is_json = cli_has(arguments, "json");
    char *page;
    banyan_status status = make(arguments, question, &page, &info, err);

    if (status)
        return status;
    if (!path)
        path = is_json ? "-" : "report.html";
    status = banyan_file_save(path, page, strlen(page), err);
    if (!status && !is_json && strcmp(path, "-") != 0 && !cli_has(arguments, "quiet"))
        print_summary(question, &info, path, strlen(page));
    banyan_free(page);
    return status;
}

/* A file is what its ending says: no picture.png holds a page, no page.html data. */
static int has_ending(const char *path, const char *ending)
{
    size_t length = strlen(path), tail = strlen(ending);

    return length > tail && !strcmp(path + length - tail, ending);
}

static int is_page_name(const char *path)
{
    const char *name = strrchr(path, '/');

    return !strchr(name ? name : path, '.') || has_ending(path, ".html") || has_ending(path, ".htm");
}

static int run(const cli_arguments *arguments)
{
    const char *path = cli_get(arguments, "output");
    cli_question question;
    banyan_error err;
    banyan_status status;

    if (!arguments->word_count)
        return cli_usage_error(arguments, "name a network: a file or a string such as hosts:2+3");
    if (path && cli_has(arguments, "json") && (has_ending(path, ".html") || has_ending(path, ".htm")))
        return cli_usage_error(arguments, "%s: --json writes the data, not the page; name the file .json",
                               path);
    if (path && !cli_has(arguments, "json") && !is_page_name(path))
        return cli_usage_error(arguments, "%s: a report is a page: name it .html", path);
    status = cli_question_load(arguments, arguments->words[0], &question, &err);
    if (status)
        return cli_fail(arguments, status, &err);
    status = write_report(arguments, &question, &err);
    cli_question_fini(&question);
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
