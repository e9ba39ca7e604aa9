/* SPDX-License-Identifier: Apache-2.0 */
/* cli/verify.c: banyan verify FILE: judge any schedule, ours or MSCCL XML, and any bound. */
#include <stdio.h>
#include <string.h>

#include "bound/json.h"
#include "cli.h"
#include "core/alloc.h"
#include "core/file.h"
#include "schedule/import.h"
#include "schedule/msccl.h"
#include "schedule/schedule.h"
#include "verify/msccl.h"
#include "verify/verify.h"
#include "waiting.h"

static const cli_option options[] = {
    {"topo", 't', "SPEC", "also hold routes and abilities against this network"}, {NULL, 0, NULL, NULL}};

static banyan_status judge_schedule(const char *text, size_t length, const banyan_topology *topology,
                                    banyan_verdict *verdict, banyan_error *err)
{
    banyan_schedule *schedule;
    banyan_status status = banyan_schedule_parse(text, length, &schedule, err);

    if (status)
        return status;
    status = banyan_verify(schedule, topology, verdict, err);
    banyan_schedule_destroy(schedule);
    return status;
}

static banyan_status judge_program(const char *text, size_t length, const banyan_topology *topology,
                                   banyan_verdict *verdict, banyan_error *err)
{
    banyan_msccl_program *program;
    banyan_schedule *schedule;
    banyan_status status = banyan_msccl_parse(text, length, &program, err);

    if (status)
        return status;
    status = banyan_verify_msccl(program, BANYAN_MSCCL_SLOTS, verdict, err);
    if (!status && !verdict->problem_count && topology) {
        status = banyan_schedule_import_msccl(program, &schedule, err);
        if (!status)
            status = banyan_verify(schedule, topology, verdict, err);
        if (!status)
            banyan_schedule_destroy(schedule);
    }
    banyan_msccl_destroy(program);
    return status;
}

/* A bound is claims with certificates: the verdict says which claim is not what these prove. */
static banyan_status judge_bound(const char *text, size_t length, const banyan_topology *topology,
                                 banyan_verdict *verdict, banyan_error *err)
{
    banyan_error why;
    banyan_status status;

    if (!topology)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "a bound is judged against its network: add --topo SPEC");
    status = banyan_bound_check(text, length, topology, &why);
    if (status == BANYAN_PLAN_INVALID) {
        verdict->problem_count = 1;
        snprintf(verdict->problems[0], sizeof verdict->problems[0], "%.300s", why.text);
        status = BANYAN_SUCCESS;
    } else if (status) {
        *err = why;
    }
    return status;
}

/* Whether the text says that it is a bound, before anybody parses it. */
static int is_bound(const char *text)
{
    const char *format = strstr(text, "\"format\"");

    return format && format - text < 200 && strstr(format, "banyan-bound") &&
           strstr(format, "banyan-bound") - format < 40;
}

/* XML begins with «<», JSON never does. */
static banyan_status judge(const char *text, size_t length, const banyan_topology *topology,
                           banyan_verdict *verdict, banyan_error *err)
{
    size_t blank = strspn(text, " \t\r\n");

    if (text[blank] == '<')
        return judge_program(text, length, topology, verdict, err);
    return is_bound(text) ? judge_bound(text, length, topology, verdict, err)
                          : judge_schedule(text, length, topology, verdict, err);
}

static banyan_status print_verdict(const cli_arguments *arguments, const char *path,
                                   const banyan_verdict *verdict, banyan_error *err)
{
    long shown =
        verdict->problem_count < BANYAN_VERDICT_SHOWN ? verdict->problem_count : BANYAN_VERDICT_SHOWN;
    banyan_text text = BANYAN_TEXT_EMPTY;

    if (cli_has(arguments, "json")) {
        banyan_text_add(&text, "{\"ok\":%s,\"problem_count\":%ld,\"problems\":[",
                        verdict->problem_count ? "false" : "true", verdict->problem_count);
        for (long i = 0; i < shown; i++) {
            banyan_text_add(&text, "%s", i ? "," : "");
            banyan_text_add_json_string(&text, verdict->problems[i]);
        }
        banyan_text_add(&text, "],\"same_bits\":%s}\n", verdict->orders_differ ? "false" : "true");
    } else if (!verdict->problem_count) {
        if (!cli_has(arguments, "quiet"))
            banyan_text_add(&text, "%s: proven\n", path);
        if (verdict->orders_differ && !cli_has(arguments, "quiet"))
            banyan_text_add(&text, "%s: note: %s\n", path, verdict->note);
    } else {
        for (long i = 0; i < shown; i++)
            banyan_text_add(&text, "%s: %s\n", path, verdict->problems[i]);
        if (verdict->problem_count > shown)
            banyan_text_add(&text, "%s: and %ld problems more\n", path, verdict->problem_count - shown);
    }
    return cli_print(&text, err);
}

static int run(const cli_arguments *arguments)
{
    banyan_topology *topology = NULL;
    banyan_verdict verdict = {0};
    const char *path, *spec = cli_get(arguments, "topo");
    banyan_error err;
    banyan_status status;
    cli_waiting waiting;
    size_t length;
    char *text = NULL;

    if (!arguments->word_count)
        return cli_usage_error(arguments, "name a file with a schedule");
    path = arguments->words[0];
    status = banyan_file_load(path, &text, &length, &err);
    if (!status && spec)
        status = banyan_topology_load(spec, &topology, &err);
    if (!status) {
        cli_waiting_begin(&waiting, arguments, "proving, seconds");
        status = judge(text, length, topology, &verdict, &err);
        cli_waiting_end(&waiting);
        if (status)
            banyan_error_prefix(&err, path);
    }
    if (!status)
        status = print_verdict(arguments, path, &verdict, &err);
    banyan_topology_destroy(topology);
    banyan_free(text);
    if (status)
        return cli_fail(arguments, status, &err);
    return verdict.problem_count ? CLI_FAILED : CLI_OK;
}

const cli_verb cli_verb_verify = {.name = "verify",
                                  .usage = "FILE [--topo SPEC]",
                                  .summary = "judge any schedule, ours or MSCCL XML, and any bound",
                                  .word_limit = 1,
                                  .options = options,
                                  .run = run};
