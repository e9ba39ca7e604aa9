/* SPDX-License-Identifier: Apache-2.0 */
/* cli/bound.c: banyan bound SPEC: the best possible rates, with a proof in words and as data. */
#include "bound/bound.h"

#include <stdio.h>

#include "bound/json.h"
#include "bound/staged_json.h"
#include "cli.h"
#include "core/alloc.h"
#include "waiting.h"

static const cli_option options[] = {
    {"active", 0, "RANKS", "workers that hold data, such as 0,1,4-7 (default: all)"},
    {"relays", 0, "WHAT", "what idle workers do: add, forward or none (default: add)"},
    {"stages", 0, "HOW", "reduce and broadcast: pipelined, sequential or overlap (default: pipelined)"},
    {"effort", 0, "EFFORT", "patient searches for a lower bound where idle workers help (default: measure)"},
    {"bytes", 'b', "SIZE", "also say the least time for this size (default: 64MiB)"},
    {"output", 'o', "FILE", "write the bound with its certificates there, for «banyan verify»"},
    {NULL, 0, NULL, NULL}};

static void print_rate(const char *name, const banyan_rate *rate, size_t bytes)
{
    char speed[32], size[32], time[32];

    if (rate->certificate.kind == BANYAN_CERTIFICATE_NONE) {
        printf("  %-16s no limit: a lone worker has nothing to send\n", name);
        return;
    }
    printf("  %-16s %-12s %s in at least %s; tight: %s\n", name,
           banyan_show_rate(rate->bytes_per_s, speed, sizeof speed),
           banyan_show_bytes((double)bytes, size, sizeof size),
           banyan_show_seconds((double)bytes / rate->bytes_per_s, time, sizeof time),
           banyan_rate_tightness(rate));
}

static banyan_status print(const cli_arguments *arguments, const cli_problem *problem,
                           const banyan_bound *bound, banyan_error *err)
{
    const banyan_problem *p = &problem->problem;
    char *words, *text;
    banyan_status status = banyan_bound_format(p->topology, p->active, p->active_count, bound, &text, err);

    if (status)
        return status;
    if (cli_has(arguments, "json") || cli_has(arguments, "output"))
        status = cli_write(arguments, text, err);
    banyan_free(text);
    if (status || cli_has(arguments, "json"))
        return status;
    status = banyan_bound_explain(p->topology, p->active, p->active_count, bound, &words, err);
    if (status)
        return status;
    printf("%s, %d active workers: no algorithm can do better than\n", p->topology->name, p->active_count);
    print_rate("all-reduce", &bound->allreduce, p->bytes);
    print_rate("all-gather", &bound->allgather, p->bytes);
    print_rate("reduce-scatter", &bound->reducescatter, p->bytes);
    printf("  %s\n", words);
    cli_say_written(arguments, cli_get(arguments, "output"));
    banyan_free(words);
    return BANYAN_SUCCESS;
}

static banyan_status print_staged(const cli_arguments *arguments, const banyan_staged_question *question,
                                  const char *name, const banyan_graph *graph, const banyan_staged *found,
                                  banyan_error *err)
{
    double sum = banyan_staged_sum(graph, question->stages, found),
           rate = question->stages == BANYAN_STAGES_PIPELINED ? sum : sum / 2;
    char chi[32], speed[32], size[32], time[32], *words;
    banyan_status status = banyan_staged_explain(question, graph, found, &words, err);

    if (status)
        return status;
    printf("%s, %d active workers, %s: the roots' shares sum to %s%s\n", question->topology->name,
           question->active_count, name, found->proven ? "at most " : "about ",
           banyan_show_rate(sum, chi, sizeof chi));
    printf("  %-16s %-12s %s in %s%s\n", "all-reduce", banyan_show_rate(rate, speed, sizeof speed),
           banyan_show_bytes(question->bytes, size, sizeof size), found->proven ? "at least " : "about ",
           banyan_show_seconds(question->bytes / rate, time, sizeof time));
    printf("  %s\n",
           question->stages == BANYAN_STAGES_PIPELINED
               ? "every byte takes one tree up and one down, and both share the links"
           : question->stages == BANYAN_STAGES_SEQUENTIAL
               ? "every byte goes up a tree in the first stage and down one in the second, which is as long"
               : "sums may go out in the first stage too, beside what is still being added");
    printf("  %s\n", words);
    if (!found->proven)
        printf("  not proven: the cheapest trees could not be searched fully; trees were found for %.4g %%\n",
               100 * found->reached / found->chi);
    banyan_free(words);
    cli_say_written(arguments, cli_get(arguments, "output"));
    return BANYAN_SUCCESS;
}

/* The rate of plans in stages, the seed paper's problems 4 and 8: a restriction, so no bound on other plans. */
static banyan_status print_stages(const cli_arguments *arguments, const cli_problem *problem,
                                  banyan_relays relays, const char *name, banyan_error *err)
{
    const banyan_problem *p = &problem->problem;
    banyan_staged_question question = {
        p->topology, p->active, p->active_count, relays, BANYAN_STAGES_PIPELINED, (double)p->bytes};
    banyan_staged found = {0};
    banyan_graph *graph = NULL;
    char *text = NULL;
    banyan_status status = banyan_stages_parse(name, &question.stages, err);

    if (!status)
        status = banyan_topology_check_connected(p->topology, p->active, p->active_count, err);
    if (!status && p->active_count < 2)
        status = banyan_fail(err, BANYAN_INVALID_ARGUMENT, "one active worker: nothing has to move");
    if (!status)
        status = banyan_network_graph(p->topology, p->active, p->active_count, relays, &graph, err);
    if (!status)
        status = banyan_staged_solve(graph, question.stages, &found, err);
    if (!status)
        status = banyan_staged_format(&question, graph, &found, &text, err);
    if (!status && (cli_has(arguments, "json") || cli_has(arguments, "output")))
        status = cli_write(arguments, text, err);
    if (!status && !cli_has(arguments, "json"))
        status = print_staged(arguments, &question, name, graph, &found, err);
    banyan_free(text);
    banyan_staged_fini(&found);
    banyan_graph_destroy(graph);
    return status;
}

static banyan_status find(const cli_arguments *arguments, const cli_problem *problem, banyan_relays what,
                          banyan_bound *out, banyan_error *err)
{
    cli_waiting waiting;
    banyan_status status;

    cli_waiting_begin(&waiting, arguments, "bounding, seconds");
    status = cli_problem_bounds(problem, what, out, err);
    cli_waiting_end(&waiting);
    return status;
}

static int run(const cli_arguments *arguments)
{
    const char *relays = cli_get(arguments, "relays"), *stages = cli_get(arguments, "stages");
    banyan_relays what = BANYAN_RELAYS_ADD;
    cli_problem problem;
    banyan_bound bound, proven;
    banyan_error err;
    banyan_status status;

    if (!arguments->word_count)
        return cli_usage_error(arguments, "name a network: a file or a string such as hosts:2+3");
    status = cli_problem_load(arguments, arguments->words[0], &problem, &err);
    if (status)
        return cli_fail(arguments, status, &err);
    if (relays)
        status = banyan_relays_parse(relays, &what, &err);
    if (!status && stages) {
        status = print_stages(arguments, &problem, what, stages, &err);
        cli_problem_fini(&problem);
        return status ? cli_fail(arguments, status, &err) : CLI_OK;
    }
    if (!status)
        status = find(arguments, &problem, what, &bound, &err);
    if (!status) {
        /* A bound that its own certificate does not prove is never shown. */
        status = banyan_bound_derive(problem.topology, problem.active, problem.problem.active_count, &bound,
                                     &proven, &err);
        if (!status) {
            status = print(arguments, &problem, &proven, &err);
            banyan_bound_fini(&proven);
        }
        banyan_bound_fini(&bound);
    }
    cli_problem_fini(&problem);
    return status ? cli_fail(arguments, status, &err) : CLI_OK;
}

const cli_verb cli_verb_bound = {
    .name = "bound",
    .usage = "SPEC [--active RANKS] [--relays add|forward|none] [--effort EFFORT] [--stages HOW] [-o FILE]",
    .summary = "the best possible rates on a network, with proof",
    .word_limit = 1,
    .options = options,
    .run = run};
