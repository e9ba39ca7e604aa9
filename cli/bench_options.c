/* SPDX-License-Identifier: Apache-2.0 */
/* cli/bench_options.c: nccl-tests' flags, and a few of our own. */
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "core/value.h"
#include "schedule/schedule.h"

const cli_option bench_options[] = {
    {"ranks", 'n', "N", "how many ranks (default: the workers of --topo, else 4)"},
    {"topo", 't', "SPEC",
     "plan for this network, or probe to measure it (default: BANYAN_TOPO, else all on one switch)"},
    {"algo", 'a', "NAME", "algorithm, or auto (default: auto)"},
    {"collective", 0, "NAME",
     "allreduce, reducescatter, allgather, broadcast or reduce (default: allreduce)"},
    {"minbytes", 'b', "SIZE", "smallest size (default: 1MiB)"},
    {"maxbytes", 'e', "SIZE", "largest size (default: 16MiB)"},
    {"stepbytes", 'i', "SIZE", "step from size to size"},
    {"stepfactor", 'f', "N", "factor from size to size (default: 4)"},
    {"iters", 0, "N", "calls that are timed (default: 20)"},
    {"warmup_iters", 'w', "N", "calls before (default: 2)"},
    {"check", 'c', "0|1", "check the results (default: 1)"},
    {"datatype", 'd', "TYPE", "float32, int8, bfloat16, ... (default: float32)"},
    {"op", 'o', "OP", "sum, prod, max, min or avg (default: sum)"},
    {"root", 'r', "RANK", "root of broadcast and reduce (default: 0)"},
    {"transport", 0, "NAME",
     "shm, tcp, ucx, mpi or auto: ranks are processes; memory: they are threads of this one (default: auto)"},
    {"local_register", 'R', "0|1",
     "1: buffers of banyan_mem_alloc, which ranks of a host reach in place; 0: private ones (default: 1)"},
    {"device", 0, "NAME",
     "cuda, hip or emulated: vectors lie on such devices, shared by the ranks of a host"},
    {"timeout", 'T', "TIME", "time limit of each call (default: BANYAN_TIMEOUT_MS, 30s)"},
    {"format", 0, "NAME", "nccl or osu: whose table to print (default: nccl)"},
    {NULL, 0, NULL, NULL}};

static banyan_status read_size(const cli_arguments *arguments, const char *name, size_t fallback, size_t *out,
                               banyan_error *err)
{
    const char *text = cli_get(arguments, name);
    int64_t value = (int64_t)fallback;
    banyan_status status = text ? banyan_value_bytes(text, &value, err) : BANYAN_SUCCESS;

    if (status)
        cli_blame(name, err);
    *out = (size_t)value;
    return status;
}

static banyan_status read_int(const cli_arguments *arguments, const char *name, int low, int high,
                              int fallback, int *out, banyan_error *err)
{
    const char *text = cli_get(arguments, name);
    int64_t value = fallback;
    banyan_status status = text ? banyan_value_integer(text, low, high, &value, err) : BANYAN_SUCCESS;

    if (status)
        cli_blame(name, err);
    *out = (int)value;
    return status;
}

/* nccl-tests says 'float', 'half', 'double'; so may you. */
static int find_datatype(const char *name)
{
    static const struct {
        const char *name;
        int type;
    } known[] = {{"float", BANYAN_FLOAT32},
                 {"half", BANYAN_FLOAT16},
                 {"double", BANYAN_FLOAT64},
#define ENTRY(id, number, text, bytes) {text, number},
                 BANYAN_DATATYPE_MAP(ENTRY)
#undef ENTRY
    };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(known[i].name, name))
            return known[i].type;
    return -1;
}

static int find_op(const char *name)
{
    for (int i = BANYAN_SUM; i <= BANYAN_AVG; i++)
        if (!strcmp(banyan_op_string((banyan_op)i), name))
            return i;
    return -1;
}

static banyan_status read_format(const cli_arguments *arguments, bench_settings *out, banyan_error *err)
{
    const char *name = cli_get(arguments, "format");
    int is_osu = name && !strcmp(name, "osu");

    if (name && !is_osu && strcmp(name, "nccl") != 0)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "--format %.40s is not nccl or osu", name);
    out->format = cli_has(arguments, "json") ? BENCH_JSON : is_osu ? BENCH_OSU : BENCH_NCCL;
    return BANYAN_SUCCESS;
}

/* float32 where nobody says. */
banyan_status bench_read_datatype(const cli_arguments *arguments, banyan_datatype *out, banyan_error *err)
{
    const char *type = cli_get(arguments, "datatype");
    int found = type ? find_datatype(type) : BANYAN_FLOAT32;

    if (found < 0)
        return banyan_fail(
            err, BANYAN_INVALID_ARGUMENT,
            "--datatype %.40s is not float32, float64, float16, bfloat16, int8, uint8, int32, uint32, "
            "int64 or uint64",
            type);
    *out = (banyan_datatype)found;
    return BANYAN_SUCCESS;
}

static banyan_status read_names(const cli_arguments *arguments, bench_settings *out, banyan_error *err)
{
    const char *op = cli_get(arguments, "op"), *collective = cli_get(arguments, "collective");
    int found_op = op ? find_op(op) : BANYAN_SUM;
    banyan_status status = bench_read_datatype(arguments, &out->task.type, err);

    out->task.collective = collective ? banyan_collective_find(collective) : BANYAN_COLLECTIVE_ALLREDUCE;
    if (status)
        return status;
    if (found_op < 0)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "--op %.40s is not sum, prod, max, min or avg", op);
    if (out->task.collective > BANYAN_COLLECTIVE_REDUCE)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "bench does not measure %s", collective);
    if (out->task.collective < 0)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "--collective %.40s is not a collective",
                           collective);
    out->task.op = (banyan_op)found_op;
    return BANYAN_SUCCESS;
}

banyan_status bench_read_settings(const cli_arguments *arguments, int workers, bench_settings *out,
                                  banyan_error *err)
{
    const char *timeout = cli_get(arguments, "timeout");
    banyan_status status = read_names(arguments, out, err);
    int factor = 4;

    if (!status)
        status = read_format(arguments, out, err);
    if (!status)
        status =
            read_int(arguments, "ranks", 1, BENCH_MAX_RANKS, workers ? workers : 4, &out->task.ranks, err);
    if (!status)
        status = read_int(arguments, "iters", 1, 1000000, 20, &out->iterations, err);
    if (!status)
        status = read_int(arguments, "warmup_iters", 0, 1000000, 2, &out->warmups, err);
    if (!status)
        status = read_int(arguments, "check", 0, 1, 1, &out->is_checked, err);
    if (!status)
        status = read_int(arguments, "local_register", 0, 1, 1, &out->is_shared, err);
    if (!status)
        status = read_int(arguments, "root", 0, out->task.ranks - 1, 0, &out->task.root, err);
    if (!status)
        status = read_int(arguments, "stepfactor", 2, 1 << 20, 4, &factor, err);
    if (!status)
        status = read_size(arguments, "minbytes", 1 << 20, &out->smallest, err);
    if (!status)
        status = read_size(arguments, "maxbytes", out->smallest > 16 << 20 ? out->smallest : 16 << 20,
                           &out->largest, err);
    if (!status)
        status = read_size(arguments, "stepbytes", 0, &out->step, err);
    if (!status && timeout)
        status = banyan_value_seconds(timeout, 1, &out->timeout_s, err);
    out->factor = (size_t)factor;
    if (!status && out->smallest > out->largest)
        status = banyan_fail(err, BANYAN_INVALID_ARGUMENT, "--minbytes is above --maxbytes");
    return status;
}
