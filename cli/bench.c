/* SPDX-License-Identifier: Apache-2.0 */
/* cli/bench.c: banyan bench: a real collective on real buffers, checked and timed, with nccl-tests' flags and
 * columns, through the public interface. Ranks are threads of this process, processes that it forks, or what
 * a launcher has started. */
#include "bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench_bound.h"
#include "bench_processes.h"
#include "core/settings.h"
#include "core/value.h"
#include "schedule/schedule.h"

static banyan_status run_sizes(bench_table *t, banyan_comm **comms, banyan_error *err)
{
    const bench_settings *set = t->set;
    size_t unit = banyan_datatype_bytes(set->task.type) * (size_t)set->task.ranks;
    banyan_status status = BANYAN_SUCCESS;

    for (size_t bytes = set->smallest; !status && bytes <= set->largest;) {
        int has_parts = set->task.collective == BANYAN_COLLECTIVE_REDUCE_SCATTER ||
                        set->task.collective == BANYAN_COLLECTIVE_ALLGATHER;
        size_t rounded =
            has_parts ? bytes / unit * unit
                      : bytes / banyan_datatype_bytes(set->task.type) * banyan_datatype_bytes(set->task.type);
        bench_measurement sides[2];

        for (int in_place = 0; in_place < 2 && !status; in_place++)
            status = bench_measure(set, comms, rounded, in_place, &sides[in_place], err);
        if (!status)
            bench_table_add(t, rounded, &sides[0], &sides[1]);
        if (!bytes && !set->step)
            bytes = 1;
        else if (bytes > SIZE_MAX / 2 / set->factor)
            break;
        else
            bytes = set->step ? bytes + set->step : bytes * set->factor;
    }
    return status;
}

static banyan_status count_workers(const char *spec, int *out, banyan_error *err)
{
    banyan_topology_info info = {.size = sizeof info};
    banyan_topology *topology;
    banyan_status status;

    *out = 0;
    if (!spec || !strcmp(spec, "probe"))
        return BANYAN_SUCCESS;
    status = banyan_topology_load(spec, &topology, err);
    if (status)
        return status;
    status = banyan_topology_get_info(topology, &info, err);
    *out = info.worker_count;
    banyan_topology_destroy(topology);
    return status;
}

/* Where ranks live. */
static banyan_status choose_transport(const cli_arguments *arguments, bench_settings *set, banyan_error *err)
{
    const char *name = cli_get(arguments, "transport");
    int choice;

    set->transport = name ? name : "auto";
    if (strcmp(set->transport, "memory") &&
        banyan_value_choice(set->transport, banyan_setting_at(BANYAN_SETTING_TRANSPORT)->form, &choice, NULL))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "--transport %.40s is not memory, %s", name,
                           "shm, tcp, ucx, mpi, shm+ucx, shm+mpi or auto");
    return BANYAN_SUCCESS;
}

/* Whether and where vectors lie on devices; what the environment says of them is the library's to read. */
static banyan_status choose_device(const cli_arguments *arguments, bench_settings *set, banyan_error *err)
{
    const char *path = banyan_environment("BANYAN_GPU_PATH");

    set->gpu = cli_get(arguments, "device");
    set->device = BANYAN_HOST;
    set->is_staged = path && !strcmp(path, "staged");
    if (!set->gpu)
        return BANYAN_SUCCESS;
    if (strcmp(set->gpu, "cuda") && strcmp(set->gpu, "hip") && strcmp(set->gpu, "emulated"))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "--device %.40s is not cuda, hip or emulated",
                           set->gpu);
    if (set->task.collective != BANYAN_COLLECTIVE_ALLREDUCE || !strcmp(set->transport, "memory"))
        return banyan_fail(
            err, BANYAN_INVALID_ARGUMENT,
            "--device is for all-reduce between processes, not for other collectives or threads");
    setenv("BANYAN_GPU", set->gpu, 1);
    return BANYAN_SUCCESS;
}

/* Makes the communicators, runs all sizes and prints the table. */
static int run_table(const cli_arguments *arguments, bench_settings *set, banyan_config *config,
                     int is_launched, const banyan_unique_id *id)
{
    const char *topology = config->topology ? config->topology : "one switch";
    const char *algorithm = config->algorithm ? config->algorithm : "auto";
    bench_table t = {.set = set, .topology = topology, .algorithm = algorithm, .json = BANYAN_TEXT_EMPTY};
    banyan_comm *comms[BENCH_MAX_RANKS];
    bench_roofs roofs;
    banyan_error err = {""};
    banyan_status status;
    time_t now = time(NULL);
    char began[40] = "";

    strftime(began, sizeof began, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
    config->error = err.text;
    config->error_bytes = sizeof err.text;
    if (is_launched)
        status = banyan_comm_init_env(&set->own, config);
    else if (id)
        status = banyan_comm_init_rank(&set->own, set->task.ranks, *id, set->rank, config);
    else
        status = banyan_comm_init_all(comms, set->task.ranks, config);
    if (!status) {
        /* Ranks that are started here do not go through the network that they are planned for. */
        t.bound_bytes_per_s =
            is_launched && set->rank == 0
                ? bench_bound(config->topology, set->task.ranks,
                              banyan_collective_name((banyan_collective)set->task.collective))
                : NAN;
        if (set->gpu) {
            status = bench_open_device(set, &err);
            if (!status)
                status = bench_measure_roofs(set, &roofs, &err);
            t.roofs = &roofs;
            t.bound_bytes_per_s = roofs.roof_bytes_per_s;
        } else if (set->own && set->task.collective == BANYAN_COLLECTIVE_ALLREDUCE && set->largest) {
            status = bench_measure_memory(set, &t.memory, &err);
        }
        if (!status)
            bench_table_begin(&t);
        if (!status)
            status = run_sizes(&t, comms, &err);
        for (int r = 0; r < set->task.ranks && !set->own; r++)
            banyan_comm_destroy(comms[r]);
        banyan_comm_destroy(set->own);
    }
    if (!status && set->rank == 0)
        status = bench_table_end(&t, began, &err);
    banyan_text_fini(&t.json);
    /* Of ranks that were started here rank 0 tells it in the same words. A launcher may end the others when
     * the first has failed, so there each tells it. */
    if (status && set->rank > 0 && id)
        return CLI_FAILED;
    if (status)
        return cli_fail(arguments, status, &err);
    return t.wrong ? CLI_FAILED : CLI_OK;
}

static const char *option_or_variable(const cli_arguments *arguments, const char *option,
                                      const char *variable)
{
    const char *value = cli_get(arguments, option), *fallback = banyan_environment(variable);

    return value || !fallback || !*fallback ? value : fallback;
}

/* Said here once, not by every rank. */
static banyan_status check_settings(banyan_error *err)
{
    banyan_settings *settings = NULL;
    banyan_status status = banyan_settings_load(&settings, err);

    banyan_settings_destroy(settings);
    return status;
}

static int run(const cli_arguments *arguments)
{
    banyan_config config = BANYAN_CONFIG_INITIALIZER;
    banyan_unique_id id;
    banyan_error err = {""};
    bench_settings set = {.transport = "auto"};
    banyan_status status;
    int workers = 0, rank = 0, size = 0, is_launched = bench_is_launched(&rank, &size), code;

    config.topology = option_or_variable(arguments, "topo", "BANYAN_TOPO");
    config.algorithm = option_or_variable(arguments, "algo", "BANYAN_ALGO");
    status = check_settings(&err);
    if (!status)
        status = choose_transport(arguments, &set, &err);
    is_launched = is_launched && strcmp(set.transport, "memory") != 0;
    if (!status)
        status = count_workers(config.topology, &workers, &err);
    if (!status)
        status = bench_read_settings(arguments, is_launched ? size : workers, &set, &err);
    if (!status)
        status = choose_device(arguments, &set, &err);
    if (!status && is_launched && set.task.ranks != size)
        status = banyan_fail(&err, BANYAN_INVALID_ARGUMENT, "--ranks %d, but the launcher started %d",
                             set.task.ranks, size);
    if (status)
        return cli_fail(arguments, status, &err);
    if (cli_get(arguments, "timeout")) /* else it is the setting */
        config.timeout_ms = (int)(set.timeout_s * 1e3) > 0 ? (int)(set.timeout_s * 1e3) : 1;
    set.rank = is_launched ? rank : 0;
    if (is_launched && cli_get(arguments, "transport"))
        setenv("BANYAN_TRANSPORT", set.transport, 1);
    if (is_launched || !strcmp(set.transport, "memory"))
        return run_table(arguments, &set, &config, is_launched, NULL);
    code = bench_fork(set.task.ranks, set.transport, &set.rank, &id);
    return code >= 0 ? code : run_table(arguments, &set, &config, 0, &id);
}

const cli_verb cli_verb_bench = {
    .name = "bench",
    .usage = "[-n RANKS] [--topo SPEC] [--algo NAME] [-b SIZE] [-e SIZE] [-f FACTOR] [-d TYPE] [-o OP]",
    .summary = "a real collective between processes or threads, checked and timed",
    .options = bench_options,
    .run = run};
