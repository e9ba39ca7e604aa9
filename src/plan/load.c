/* SPDX-License-Identifier: Apache-2.0 */
/* plan/load.c: schedules that others have written, on the network that they are for. TE-CCL numbers GPUs and
 * switches together, in an order of its own: its GPUs are the network's workers in ascending order, and its
 * switches are the network's. */
#include "plan/load.h"

#include "core/alloc.h"
#include "core/file.h"
#include "schedule/import.h"

static int find_link(const void *topology, int src, int dst)
{
    return banyan_topology_find_link(topology, src, dst);
}

static int copies(const void *topology, int node)
{
    return ((const banyan_topology *)topology)->nodes[node].can_multicast;
}

static banyan_status check_counts(const banyan_teccl_program *program, const banyan_topology *topology,
                                  banyan_error *err)
{
    int switches = topology->node_count - topology->worker_count;

    if (program->gpu_count != topology->worker_count)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "the schedule has %d GPUs, the network %d workers",
                           program->gpu_count, topology->worker_count);
    if (program->switch_count && program->switch_count != switches)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "the schedule has %d switches, the network %d",
                           program->switch_count, switches);
    return BANYAN_SUCCESS;
}

static banyan_status import_on(const banyan_teccl_program *program, const banyan_topology *topology,
                               banyan_schedule **out, banyan_error *err)
{
    int *switches, count = 0;
    banyan_teccl_network network = {.topology = topology,
                                    .node_count = topology->node_count,
                                    .gpus = topology->workers,
                                    .find_link = find_link,
                                    .copies = copies};
    banyan_status status = check_counts(program, topology, err);

    if (status)
        return status;
    switches = banyan_alloc((size_t)topology->node_count, sizeof *switches);
    if (!switches)
        return banyan_fail_memory(err);
    for (int node = 0; node < topology->node_count; node++)
        if (topology->nodes[node].kind == BANYAN_NODE_SWITCH)
            switches[count++] = node;
    network.switches = switches;
    status = banyan_schedule_import_teccl(program, &network, out, err);
    banyan_free(switches);
    return status;
}

static banyan_status read_teccl(const char *text, size_t length, const banyan_topology *topology,
                                banyan_schedule **out, banyan_error *err)
{
    banyan_teccl_program *program;
    banyan_status status = banyan_teccl_parse(text, length, &program, err);

    if (status)
        return status;
    status = import_on(program, topology, out, err);
    banyan_teccl_destroy(program);
    return status;
}

banyan_status banyan_read_schedule(const char *text, size_t length, const banyan_topology *topology,
                                   banyan_schedule **out, banyan_error *err)
{
    *out = NULL;
    return topology && banyan_teccl_looks_like(text, length) ? read_teccl(text, length, topology, out, err)
                                                             : banyan_schedule_import(text, length, out, err);
}

banyan_status banyan_schedule_load_on(const char *path, const banyan_topology *topology,
                                      banyan_schedule **out, banyan_error *err)
{
    banyan_status status;
    size_t length;
    char *text;

    if (!out)
        return banyan_fail_null("out", err);
    *out = NULL;
    if (!path || !topology)
        return banyan_fail_null(path ? "topology" : "path", err);
    status = banyan_file_load(path, &text, &length, err);
    if (status)
        return status;
    status = banyan_read_schedule(text, length, topology, out, err);
    if (status)
        banyan_error_prefix(err, path);
    banyan_free(text);
    return status;
}
