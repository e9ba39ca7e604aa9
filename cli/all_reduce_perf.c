/* SPDX-License-Identifier: Apache-2.0 */
/* cli/all_reduce_perf.c: banyan bench under nccl-tests' name and with all of nccl-tests' letters, so that
 * scripts written for it run unchanged. `make install` makes the link.
 *
 * A GPU there is a rank here: -t threads of -g GPUs each. What is about GPUs alone is taken at the value that
 * asks for nothing, and refused at any other. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "bench_processes.h"
#include "core/value.h"

extern const cli_verb cli_verb_bench;

/* Names that are not bench's stand first. */
static const cli_option options[] = {
    {"nthreads", 't', "N", "with -g: how many ranks, N times as many as -g says (default: 1)"},
    {"ngpus", 'g', "N", "how many ranks; under a launcher 1 (default: as banyan bench)"},
    {"agg_iters", 'm', "1", "only 1: each call is by itself"},
    {"run_cycles", 'N', "1", "only 1"},
    {"average", 'a', "3", "only 3: times are those of the slowest rank"},
    {"parallel_init", 'p', "0", "only 0"},
    {"blocking", 'z', "0", "only 0"},
    {"stream_null", 'y', "0", "only 0"},
    {"cudagraph", 'G', "0", "only 0"},
    {"report_cputime", 'C', "0", "only 0"},
    {"local_register", 'R', "0|1",
     "1: buffers of banyan_mem_alloc, which ranks of a host reach in place; 0: private ones (default: 1)"},
    {"minbytes", 'b', "SIZE", "smallest size (default: 1MiB)"},
    {"maxbytes", 'e', "SIZE", "largest size (default: 16MiB)"},
    {"stepbytes", 'i', "SIZE", "step from size to size"},
    {"stepfactor", 'f', "N", "factor from size to size (default: 4)"},
    {"iters", 'n', "N", "calls that are timed (default: 20)"},
    {"warmup_iters", 'w', "N", "calls before (default: 2)"},
    {"check", 'c', "0|1", "check the results (default: 1)"},
    {"op", 'o', "OP", "sum, prod, max, min or avg (default: sum)"},
    {"datatype", 'd', "TYPE", "float, half, double, int8, bfloat16, ... (default: float)"},
    {"root", 'r', "RANK", "without meaning here"},
    {"timeout", 'T', "SECONDS", "time limit of each call (default: 30)"},
    {"topo", 0, "SPEC", "plan for this network (default: BANYAN_TOPO)"},
    {"algo", 0, "NAME", "algorithm, or auto (default: auto)"},
    {"transport", 0, "NAME", "memory, shm, tcp, ucx, mpi or auto, as in banyan bench"},
    {NULL, 0, NULL, NULL}};

enum { FIRST_FIXED = 2, END_FIXED = 10 }; /* options of one value */

static banyan_status check_fixed(const cli_arguments *arguments, banyan_error *err)
{
    for (int i = FIRST_FIXED; i < END_FIXED; i++) {
        const char *value = cli_get(arguments, options[i].name);

        if (value && strcmp(value, options[i].argument) != 0)
            return banyan_fail(err, BANYAN_UNSUPPORTED, "--%s %.40s: %s", options[i].name, value,
                               options[i].summary);
    }
    return BANYAN_SUCCESS;
}

static banyan_status read_count(const cli_arguments *arguments, const char *option, int64_t *out,
                                banyan_error *err)
{
    const char *text = cli_get(arguments, option);
    banyan_status status = BANYAN_SUCCESS;

    *out = 1;
    if (text)
        status = banyan_value_integer(text, 1, BENCH_MAX_RANKS, out, err);
    if (status)
        cli_blame(option, err);
    return status;
}

static int run(const cli_arguments *arguments)
{
    cli_arguments own = *arguments;
    int rank, size, is_counted = cli_has(arguments, "nthreads") || cli_has(arguments, "ngpus");
    int64_t threads, each;
    char ranks[24];
    banyan_error err = {""};
    banyan_status status = check_fixed(arguments, &err);

    if (!status)
        status = read_count(arguments, "nthreads", &threads, &err);
    if (!status)
        status = read_count(arguments, "ngpus", &each, &err);
    if (status)
        return cli_fail(arguments, status, &err);
    if (is_counted && (!bench_is_launched(&rank, &size) || threads * each > 1) &&
        own.option_count < CLI_MAX_WORDS) {
        snprintf(ranks, sizeof ranks, "%lld", (long long)(threads * each));
        own.names[own.option_count] = "ranks";
        own.values[own.option_count++] = ranks;
    }
    return cli_verb_bench.run(&own);
}

const cli_verb cli_program_all_reduce_perf = {
    .name = "all_reduce_perf",
    .is_program = 1,
    .usage = "[-b SIZE] [-e SIZE] [-f FACTOR] [-n ITERS] [-w ITERS] [-g RANKS] [-d TYPE] [-o OP]",
    .summary = "banyan bench with nccl-tests' letters",
    .options = options,
    .run = run};
