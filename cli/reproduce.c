/* SPDX-License-Identifier: Apache-2.0 */
/* cli/reproduce.c: banyan reproduce: the papers' evaluations, reproduced, beside what the papers say. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "core/alloc.h"
#include "core/clock.h"
#include "core/near.h"
#include "core/progress.h"
#include "reproduce/reproduce.h"

static const cli_option options[] = {
    {"output", 'o', "DIR", "write tables, figures and one page into this folder (default: banyan-reproduce)"},
    {"list", 0, NULL, "only say which papers there are"},
    {"against", 0, "DIR",
     "hold the results against NAME.json in this folder (default: those that came along)"},
    {NULL, 0, NULL, NULL}};

typedef struct {
    const cli_arguments *arguments;
    banyan_progress bar;
    const banyan_paper *shown; /* whose bar it is */
} job;

static void show_progress(void *context, const banyan_paper *paper, size_t done, size_t total)
{
    job *j = context;

    if (j->shown != paper) {
        if (j->shown)
            banyan_progress_end(&j->bar);
        banyan_progress_begin(&j->bar, STDERR_FILENO, cli_has(j->arguments, "quiet"), paper->name, total);
        j->shown = paper;
    }
    j->bar.total = total;
    banyan_progress_set(&j->bar, done);
}

static int list(const cli_arguments *arguments)
{
    banyan_text text = BANYAN_TEXT_EMPTY;
    int is_json = cli_has(arguments, "json");

    for (int i = 0; i < banyan_paper_count(); i++) {
        const banyan_paper *paper = banyan_paper_at(i);

        if (!is_json) {
            printf("%s\n  %s\n  %s\n", paper->name, paper->title, paper->about);
            continue;
        }
        banyan_text_add(&text, "%s\n{\"name\":", i ? "," : "");
        banyan_text_add_json_string(&text, paper->name);
        banyan_text_add(&text, ",\"title\":");
        banyan_text_add_json_string(&text, paper->title);
        banyan_text_add(&text, ",\"about\":");
        banyan_text_add_json_string(&text, paper->about);
        banyan_text_add(&text, "}");
    }
    if (is_json)
        printf("{\"papers\":[%s]}\n", text.bytes ? text.bytes : "");
    banyan_text_fini(&text);
    return CLI_OK;
}

static banyan_status find_paper(const char *name, const banyan_paper **out, banyan_error *err)
{
    const char *names[64];
    int near, count = banyan_paper_count();

    *out = banyan_paper_find(name);
    if (*out)
        return BANYAN_SUCCESS;
    for (int i = 0; i < count && i < 64; i++)
        names[i] = banyan_paper_at(i)->name;
    near = banyan_near_find(name, names, count);
    if (near >= 0)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "no paper is named %.40s (did you mean %s?)", name,
                           names[near]);
    return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "no paper is named %.40s; --list shows them", name);
}

/* What was named, or all; each once, in the order of the list. */
static banyan_status run_papers(job *j, banyan_reproduction *r, banyan_error *err)
{
    const cli_arguments *arguments = j->arguments;
    banyan_status status = BANYAN_SUCCESS;
    const banyan_paper *paper;

    for (int w = 0; !status && w < arguments->word_count; w++)
        if (strcmp(arguments->words[w], "all"))
            status = find_paper(arguments->words[w], &paper, err);
    for (int i = 0; !status && i < banyan_paper_count(); i++) {
        int is_wanted = 0;

        paper = banyan_paper_at(i);
        for (int w = 0; w < arguments->word_count; w++)
            is_wanted |= !strcmp(arguments->words[w], "all") || !strcmp(arguments->words[w], paper->name);
        if (is_wanted)
            status = banyan_reproduction_run(r, paper, err);
    }
    if (j->shown)
        banyan_progress_end(&j->bar);
    return status;
}

static banyan_status print(const cli_arguments *arguments, const banyan_reproduction *r, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;
    char *text = NULL;

    if (cli_has(arguments, "json"))
        status = banyan_reproduction_format_json(r, &text, err);
    else if (!cli_has(arguments, "quiet"))
        status = banyan_reproduction_format_text(r, &text, err);
    if (!status && text)
        printf("%s\n", text);
    banyan_free(text);
    return status;
}

/* The last line, on standard error where standard output is JSON. */
static void print_end(const cli_arguments *arguments, const banyan_reproduction *r,
                      const banyan_reproduce_verdict *verdict, const char *folder, double seconds)
{
    FILE *to = cli_has(arguments, "json") ? stderr : stdout;
    char claims[256];

    fprintf(to, "%s", verdict->text ? verdict->text : "");
    banyan_reproduction_format_claims(r, claims, sizeof claims);
    fprintf(to, "%s\n", claims);
    fprintf(to,
            "%d figures and tables, %d comparisons in %.0f s; %d of %d recorded values reproduced; "
            "results are in %s/index.html\n",
            banyan_reproduction_figure_count(r), banyan_reproduction_comparison_count(r), seconds,
            verdict->held - verdict->missed, verdict->held, folder);
}

static int run(const cli_arguments *arguments)
{
    const char *folder = cli_get(arguments, "output");
    job j = {.arguments = arguments};
    banyan_reproduce_verdict verdict = {0, 0, NULL};
    banyan_text command = BANYAN_TEXT_EMPTY;
    banyan_reproduction *r = NULL;
    int64_t start_ns = banyan_clock_ns();
    banyan_status status;
    banyan_error err;

    if (cli_has(arguments, "list"))
        return list(arguments);
    if (!arguments->word_count)
        return cli_usage_error(arguments, "name a paper, or all; --list shows what there is");
    folder = folder ? folder : "banyan-reproduce";
    status = banyan_reproduction_create(show_progress, &j, &r, &err);
    cli_add_command(arguments, &command);
    if (!status)
        banyan_reproduction_set_command(r, command.failed ? NULL : command.bytes);
    if (!status)
        status = run_papers(&j, r, &err);
    if (!status)
        status = banyan_reproduction_write(r, folder, &err);
    if (!status)
        status = banyan_reproduction_check(r, cli_get(arguments, "against"), &verdict, &err);
    if (!status)
        status = print(arguments, r, &err);
    if (!status)
        print_end(arguments, r, &verdict, folder, (double)(banyan_clock_ns() - start_ns) / 1e9);
    banyan_reproduction_destroy(r);
    banyan_text_fini(&command);
    banyan_free(verdict.text);
    if (status)
        return cli_fail(arguments, status, &err);
    return verdict.missed ? CLI_FAILED : CLI_OK;
}

const cli_verb cli_verb_reproduce = {.name = "reproduce",
                                     .usage = "NAME...|all [-o DIR] [--against DIR]\n--list",
                                     .summary =
                                         "reproduce the papers' evaluations and show theirs beside ours",
                                     .words = "all"
#define X(name) "|" #name
#include "reproduce/list.h"
#undef X
                                     ,
                                     .word_limit = 16,
                                     .options = options,
                                     .run = run};
