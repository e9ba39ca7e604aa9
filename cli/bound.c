/* SPDX-License-Identifier: Apache-2.0 */
/* cli/bound.c: banyan bound SPEC: the best possible rates, with a proof in words and as data. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "question.h"
#include "waiting.h"

static const cli_option options[] = {
    {"active", 0, "RANKS", "workers that hold data, such as 0,1,4-7 (default: all)"},
    {"relays", 0, "WHAT", "what idle workers do: add, forward or none (default: add)"},
    {"stages", 0, "HOW", "reduce and broadcast: pipelined, sequential or overlap (default: pipelined)"},
    {"effort", 0, "EFFORT", "patient searches for a lower bound where idle workers help (default: measure)"},
    {"bytes", 'b', "SIZE", "also say the least time for this size (default: 64MiB)"},
    {"output", 'o', "FILE", "write the bound with its certificates there, for 'banyan verify'"},
    {NULL, 0, NULL, NULL}};

static void print_rate(const char *name, double bytes_per_s, int is_tight, size_t bytes)
{
    char speed[32], size[32], time[32];

    if (isinf(bytes_per_s)) {
        printf("  %-16s no limit: a lone worker has nothing to send\n", name);
        return;
    }
    printf("  %-16s %-12s %s in at least %s; tight: %s\n", name,
           banyan_show_rate(bytes_per_s, speed, sizeof speed),
           banyan_show_bytes((double)bytes, size, sizeof size),
           banyan_show_seconds((double)bytes / bytes_per_s, time, sizeof time),
           is_tight ? "proven" : "unknown");
}

static void print(const cli_question *question, const banyan_bounds_info *bound)
{
    printf("%s, %d active workers: no algorithm can do better than\n", question->network.name,
           bound->active_count);
    print_rate("all-reduce", bound->allreduce_bytes_per_s, bound->allreduce_is_tight, bound->bytes);
    print_rate("all-gather", bound->allgather_bytes_per_s, bound->allgather_is_tight, bound->bytes);
    print_rate("reduce-scatter", bound->reducescatter_bytes_per_s, bound->reducescatter_is_tight,
               bound->bytes);
    printf("  %s\n", bound->explanation);
    printf(
        "  This holds for all algorithms that send partial sums whole, neither coded nor compressed; latency "
        "counts 0.\n");
}

/* The rate of plans in stages, problems 4 and 8 of the tree packing paper (Zhang et al., 2021): a
 * restriction, so no bound on other plans. */
static void print_stages(const cli_question *question, const char *stages, const banyan_bounds_info *bound)
{
    char sum[32], speed[32], size[32], time[32];
    double rate = bound->allreduce_bytes_per_s;

    printf("%s, %d active workers, %s: the roots' shares sum to %s%s\n", question->network.name,
           bound->active_count, stages, bound->is_proven ? "at most " : "about ",
           banyan_show_rate(bound->stages_bytes_per_s, sum, sizeof sum));
    printf("  %-16s %-12s %s in %s%s\n", "all-reduce", banyan_show_rate(rate, speed, sizeof speed),
           banyan_show_bytes((double)bound->bytes, size, sizeof size),
           bound->is_proven ? "at least " : "about ",
           banyan_show_seconds((double)bound->bytes / rate, time, sizeof time));
    printf("  %s\n",
           !strcmp(stages, "pipelined")
               ? "every byte takes one tree up and one down, and both share the links"
           : !strcmp(stages, "sequential")
               ? "every byte goes up a tree in the first stage and down one in the second, which is as long"
               : "sums may go out in the first stage too, beside what is still being added");
    printf("  %s\n", bound->explanation);
    if (!bound->is_proven)
        printf("  not proven: the cheapest trees could not be searched fully; trees were found for %.4g %%\n",
               100 * bound->reached_share);
}

static banyan_status show(const cli_arguments *arguments, const cli_question *question,
                          const banyan_bounds *bounds, banyan_error *err)
{
    const char *stages = cli_get(arguments, "stages");
    banyan_bounds_info info = {.size = sizeof info};
    banyan_status status = banyan_bounds_get_info(bounds, &info, err);

    if (!status && (cli_has(arguments, "json") || cli_has(arguments, "output")))
        status = cli_write(arguments, info.json, err);
    if (status || cli_has(arguments, "json"))
        return status;
    if (stages)
        print_stages(question, stages, &info);
    else
        print(question, &info);
    cli_say_written(arguments, cli_get(arguments, "output"));
    return BANYAN_SUCCESS;
}

static banyan_status find(const cli_arguments *arguments, const cli_question *question, banyan_bounds **out,
                          banyan_error *err)
{
    banyan_bounds_config config = BANYAN_BOUNDS_CONFIG_INITIALIZER;
    cli_waiting waiting;
    banyan_status status;

    config.active = question->config.active;
    config.effort = question->config.effort;
    config.bytes = question->config.bytes;
    config.relays = cli_get(arguments, "relays");
    config.stages = cli_get(arguments, "stages");
    cli_waiting_begin(&waiting, arguments, "bounding, seconds");
    status = banyan_bounds_create(question->topology, &config, out, err);
    cli_waiting_end(&waiting);
    return status;
}

static int run(const cli_arguments *arguments)
{
    cli_question question;
    banyan_bounds *bounds;
    banyan_error err;
    banyan_status status;

    if (!arguments->word_count)
        return cli_usage_error(arguments, "name a network: a file or a string such as hosts:2+3");
    status = cli_question_load(arguments, arguments->words[0], &question, &err);
    if (status)
        return cli_fail(arguments, status, &err);
    status = find(arguments, &question, &bounds, &err);
    if (!status) {
        status = show(arguments, &question, bounds, &err);
        banyan_bounds_destroy(bounds);
    }
    cli_question_fini(&question);
    return status ? cli_fail(arguments, status, &err) : CLI_OK;
}

const cli_verb cli_verb_bound = {
    .name = "bound",
    .usage = "SPEC [--active RANKS] [--relays add|forward|none] [--effort EFFORT] [--stages HOW] [-o FILE]",
    .summary = "the best possible rates on a network, with proof",
    .word_limit = 1,
    .options = options,
    .run = run};
