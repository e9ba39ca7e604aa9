/* SPDX-License-Identifier: Apache-2.0 */
/* cli/verify.c: banyan verify FILE: check any schedule, Banyan's or MSCCL XML, and any bound. */
#include <stdio.h>

#include "cli.h"
#include "core/file.h"
#include "style.h"
#include "waiting.h"

static const cli_option options[] = {
    {"topo", 't', "SPEC", "also hold routes and abilities against this network"}, {NULL, 0, NULL, NULL}};

static void add_json(banyan_text *text, const banyan_verdict *verdict, const banyan_verdict_info *info)
{
    banyan_text_add(text, "{\"ok\":%s,\"problem_count\":%zu,\"problems\":[",
                    info->problem_count ? "false" : "true", info->problem_count);
    for (size_t i = 0; i < info->shown_count; i++) {
        banyan_text_add(text, "%s", i ? "," : "");
        banyan_text_add_json_string(text, banyan_verdict_problem(verdict, i));
    }
    banyan_text_add(text, "],\"same_bits\":%s,\"note\":", info->is_same_bits ? "true" : "false");
    if (info->note)
        banyan_text_add_json_string(text, info->note);
    else
        banyan_text_add(text, "null");
    banyan_text_add(text, "}\n");
}

static void add_text(banyan_text *text, const char *path, int is_quiet, const banyan_verdict *verdict,
                     const banyan_verdict_info *info)
{
    if (!info->problem_count && !is_quiet)
        banyan_text_add(text, "%s: %sproven%s\n", path, cli_style_on(CLI_GREEN), cli_style_off());
    if (!info->problem_count && info->note && !is_quiet)
        banyan_text_add(text, "%s: note: %s\n", path, info->note);
    for (size_t i = 0; i < info->shown_count; i++)
        banyan_text_add(text, "%s: %s%s%s\n", path, cli_style_on(CLI_RED), banyan_verdict_problem(verdict, i),
                        cli_style_off());
    if (info->problem_count > info->shown_count)
        banyan_text_add(text, "%s: and %zu problems more\n", path, info->problem_count - info->shown_count);
}

/* *problems gets how many there are. */
static banyan_status print(const cli_arguments *arguments, const char *path, const banyan_verdict *verdict,
                           size_t *problems, banyan_error *err)
{
    banyan_verdict_info info = {.size = sizeof info};
    banyan_text text = BANYAN_TEXT_EMPTY;
    banyan_status status = banyan_verdict_get_info(verdict, &info, err);

    if (status)
        return status;
    *problems = info.problem_count;
    if (cli_has(arguments, "json"))
        add_json(&text, verdict, &info);
    else
        add_text(&text, path, cli_has(arguments, "quiet"), verdict, &info);
    return cli_print(&text, err);
}

static banyan_status judge(const cli_arguments *arguments, const char *path, const banyan_topology *topology,
                           banyan_verdict **out, banyan_error *err)
{
    cli_waiting waiting;
    banyan_status status;
    size_t length;
    char *text;

    *out = NULL;
    status = banyan_file_load(path, &text, &length, err);
    if (status)
        return status;
    cli_waiting_begin(&waiting, arguments, "proving, seconds");
    status = banyan_verify_text(text, length, topology, out, err);
    cli_waiting_end(&waiting);
    if (status)
        banyan_error_prefix(err, path);
    banyan_free(text);
    return status;
}

static int run(const cli_arguments *arguments)
{
    const char *spec = cli_get(arguments, "topo");
    banyan_topology *topology = NULL;
    banyan_verdict *verdict = NULL;
    banyan_error err;
    banyan_status status = BANYAN_SUCCESS;
    size_t problems = 0;

    if (!arguments->word_count)
        return cli_usage_error(arguments, "name a file with a schedule");
    if (spec)
        status = banyan_topology_load(spec, &topology, &err);
    if (!status)
        status = judge(arguments, arguments->words[0], topology, &verdict, &err);
    if (!status)
        status = print(arguments, arguments->words[0], verdict, &problems, &err);
    banyan_verdict_destroy(verdict);
    banyan_topology_destroy(topology);
    if (status)
        return cli_fail(arguments, status, &err);
    return problems ? CLI_FAILED : CLI_OK;
}

const cli_verb cli_verb_verify = {.name = "verify",
                                  .usage = "FILE [--topo SPEC]",
                                  .summary = "check any schedule, Banyan's or MSCCL XML, and any bound",
                                  .word_limit = 1,
                                  .options = options,
                                  .run = run};
