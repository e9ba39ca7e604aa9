/* SPDX-License-Identifier: Apache-2.0 */
/* cli/probe.c: banyan probe: measures the network between ranks and writes it down as a topology. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench_processes.h"
#include "cli.h"
#include "core/progress.h"
#include "core/value.h"

enum { DEFAULT_RANKS = 4, MAX_RANKS = 1024 };

static const cli_option options[] = {
    {"ranks", 'n', "N", "how many ranks to start here (default: 4; none under a launcher)"},
    {"output", 'o', "FILE", "write the topology there, as JSON"},
    {"transport", 0, "NAME", "shm, tcp or auto (default: auto)"},
    {"timeout", 'T', "TIME", "of each measurement (default: BANYAN_TIMEOUT_MS)"},
    {NULL, 0, NULL, NULL}};

static void show_progress(void *context, int done, int total)
{
    banyan_progress *bar = context;

    bar->total = (size_t)total;
    banyan_progress_set(bar, (size_t)done);
}

static banyan_status write_json(const cli_arguments *arguments, const banyan_topology *topology,
                                banyan_error *err)
{
    const char *path = cli_get(arguments, "output");
    char *text = NULL;
    banyan_status status = path ? banyan_topology_save(topology, path, err) : BANYAN_SUCCESS;

    if (status || !cli_has(arguments, "json"))
        return status;
    status = banyan_topology_export(topology, "json", &text, err);
    if (!status)
        printf("%s\n", text);
    banyan_free(text);
    return status;
}

static banyan_status print(const cli_arguments *arguments, const banyan_topology *topology, int ranks,
                           const banyan_probe_info *info, banyan_error *err)
{
    char bytes[32], seconds[32], *drawing = NULL;
    banyan_status status;

    if (cli_has(arguments, "json") || cli_has(arguments, "quiet"))
        return BANYAN_SUCCESS;
    status = banyan_topology_export(topology, "text", &drawing, err);
    if (status)
        return status;
    printf("%s\n%d rank%s on %d host%s%s: %d measurements, %s sent in %s\n", drawing, ranks,
           ranks == 1 ? "" : "s", info->host_count, info->host_count == 1 ? "" : "s",
           info->rack_count ? ", some behind trunks" : "", info->measurement_count,
           banyan_show_bytes((double)info->bytes, bytes, sizeof bytes),
           banyan_show_seconds(info->seconds, seconds, sizeof seconds));
    cli_say_written(arguments, cli_get(arguments, "output"));
    banyan_free(drawing);
    return BANYAN_SUCCESS;
}

static int finish(const cli_arguments *arguments, banyan_status status, const banyan_error *err, int rank)
{
    if (!status)
        return CLI_OK;
    return rank ? CLI_FAILED : cli_fail(arguments, status, err); /* rank 0 speaks for all */
}

static int probe(const cli_arguments *arguments, banyan_comm *comm, int rank)
{
    banyan_topology *topology = NULL;
    banyan_probe_info info = {.size = sizeof info};
    banyan_progress bar;
    banyan_error err = {""};
    banyan_status status;
    int size = 0;

    banyan_progress_begin(&bar, STDERR_FILENO, rank || cli_has(arguments, "quiet"), "probing", 0);
    status = banyan_comm_probe(comm, show_progress, &bar, &topology, &info);
    banyan_progress_end(&bar);
    if (status)
        banyan_fail(&err, status, "%s", banyan_last_error(comm));
    banyan_comm_size(comm, &size);
    if (!status && !rank)
        status = write_json(arguments, topology, &err);
    if (!status && !rank)
        status = print(arguments, topology, size, &info, &err);
    banyan_topology_destroy(topology);
    banyan_comm_destroy(comm);
    return finish(arguments, status, &err, rank);
}

static banyan_status read_options(const cli_arguments *arguments, int *ranks, banyan_config *config,
                                  const char **transport, banyan_error *err)
{
    const char *count = cli_get(arguments, "ranks"), *timeout = cli_get(arguments, "timeout");
    int64_t number = DEFAULT_RANKS;
    double timeout_s = 0;
    banyan_status status = BANYAN_SUCCESS;
    int choice;

    *transport = cli_get(arguments, "transport");
    if (count) {
        status = banyan_value_integer(count, 1, MAX_RANKS, &number, err);
        if (status)
            banyan_error_prefix(err, "--ranks");
    }
    if (!status && timeout) {
        status = banyan_value_seconds(timeout, 1, &timeout_s, err);
        if (status)
            banyan_error_prefix(err, "--timeout");
    }
    if (!status && *transport) {
        status = banyan_value_choice(*transport, "auto|shm|tcp", &choice, err);
        if (status)
            banyan_error_prefix(err, "--transport");
    }
    *ranks = (int)number;
    config->timeout_ms = timeout ? (int)(timeout_s * 1e3) + 1 : 0;
    return status;
}

static int run(const cli_arguments *arguments)
{
    banyan_config config = BANYAN_CONFIG_INITIALIZER;
    banyan_unique_id id;
    banyan_comm *comm = NULL;
    banyan_error err = {""};
    const char *transport;
    int ranks, rank = 0, size = 0, is_launched = bench_is_launched(&rank, &size), code = -1;
    banyan_status status = read_options(arguments, &ranks, &config, &transport, &err);

    if (!status && is_launched && cli_get(arguments, "ranks") && ranks != size)
        status = banyan_fail(&err, BANYAN_INVALID_ARGUMENT, "--ranks %d, but the launcher started %d", ranks,
                             size);
    if (status)
        return cli_fail(arguments, status, &err);
    config.topology = ""; /* whatever the environment says: this is what we are to find out */
    config.transport = transport;
    config.error = err.text;
    config.error_bytes = sizeof err.text;
    if (is_launched) {
        status = banyan_comm_init_env(&comm, &config);
    } else {
        code = bench_fork(ranks, transport ? transport : "auto", &rank, &id);
        if (code >= 0)
            return code;
        status = banyan_comm_init_rank(&comm, ranks, id, rank, &config);
    }
    return status ? finish(arguments, status, &err, rank) : probe(arguments, comm, rank);
}

const cli_verb cli_verb_probe = {
    .name = "probe",
    .usage = "[-n RANKS] [-o FILE] [--transport NAME] [--timeout TIME]",
    .summary = "measures the network between ranks: a topology with the speeds that were found",
    .options = options,
    .run = run};
