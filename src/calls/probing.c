/* SPDX-License-Identifier: Apache-2.0 */
/* calls/probing.c: BANYAN_TOPO=probe: a communicator that knows nothing of the network measures it, and gives
 * way to one that plans for what was found.
 *
 *     hosts as their names say ──> probe ──> topology ──> a group of the same ranks, on that network
 *
 * The second group is a split of the first, so its records carry the topology's digest: ranks that found
 * different networks say so. */
#include <string.h>

#include "calls/comm.h"
#include "core/alloc.h"
#include "core/sized.h"
#include "topology/topology.h"

static banyan_status gather(void *context, const void *mine, size_t bytes, void *all, int64_t deadline_ns,
                            banyan_error *err)
{
    return banyan_control_gather(banyan_world_control(context), mine, bytes, all, deadline_ns, err);
}

static banyan_status probe(banyan_comm *comm, banyan_probe_options *options, const char **words,
                           banyan_topology **out, banyan_probe_report *report)
{
    banyan_world *world = comm->group->world;
    const banyan_rank_record *records = banyan_world_records(world);

    for (int i = 0; i < options->size; i++) {
        words[i] = records[i].place;
        words[options->size + i] = records[i].host;
    }
    options->hosts = words;
    options->names = words + options->size;
    return banyan_probe_run(options, out, report, &comm->err);
}

/* On success the caller owns *out; after a failure nobody must wait for us. */
static banyan_status measure(banyan_comm *comm, void (*progress)(void *context, int done, int total),
                             void *context, banyan_topology **out, banyan_probe_report *report)
{
    banyan_world *world = comm->group->world;
    int size = comm->group->setup.size;
    banyan_probe_options options = {.endpoint = comm->endpoint,
                                    .exchange = {gather, world},
                                    .rank = comm->rank,
                                    .size = size,
                                    .timeout_ms = comm->group->setup.timeout_ms,
                                    .context = context,
                                    .progress = progress};
    const char **words = banyan_alloc(2 * (size_t)size, sizeof *words);
    banyan_status status;

    *out = NULL;
    if (!world || !comm->group->setup.is_default_topology)
        status = banyan_fail(&comm->err, BANYAN_UNSUPPORTED,
                             "only ranks that are processes, and have not been told of a network, can probe");
    else if (!words)
        status = banyan_fail_memory(&comm->err);
    else {
        banyan_comm_lock_in_turn(comm);
        status = probe(comm, &options, words, out, report);
        pthread_mutex_unlock(&comm->lock);
    }
    banyan_free(words);
    if (status && world) {
        banyan_control_abort(banyan_world_control(world), status, comm->err.text);
        banyan_control_failure(banyan_world_control(world), &comm->err);
    }
    return status;
}

banyan_status banyan_comm_probe(banyan_comm *comm, void (*progress)(void *context, int done, int total),
                                void *context, banyan_topology **out, banyan_probe_info *info)
{
    banyan_probe_report report;
    banyan_probe_info own;
    banyan_status status;

    if (!comm)
        return BANYAN_INVALID_ARGUMENT;
    if (!out)
        return banyan_fail_null("out", &comm->err);
    status = measure(comm, progress, context, out, &report);
    if (status || !info)
        return status;
    own = (banyan_probe_info){.seconds = report.seconds,
                              .bytes = report.bytes,
                              .measurement_count = report.measurement_count,
                              .host_count = report.host_count,
                              .rack_count = report.rack_count};
    status = banyan_sized_write(&own, sizeof own, info, "banyan_probe_info", &comm->err);
    if (status) {
        banyan_topology_destroy(*out);
        *out = NULL;
    }
    return status;
}

banyan_status banyan_comm_plan_from_probe(banyan_comm **comm, banyan_error *err)
{
    banyan_comm *first = *comm;
    banyan_setup *setup = &first->group->setup;
    banyan_topology *topology = NULL;
    banyan_probe_report report;
    banyan_status status = measure(first, NULL, NULL, &topology, &report);

    *comm = NULL;
    if (!status) {
        BANYAN_INFO(setup->log, GRAPH, "probed %d hosts, %d racks: %d measurements, %llu bytes in %.2f s",
                    report.host_count, report.rack_count, report.measurement_count,
                    (unsigned long long)report.bytes, report.seconds);
        banyan_topology_destroy(setup->topology);
        setup->topology = topology; /* worker r is rank r, as before */
        setup->is_default_topology = 0;
        status = banyan_comm_split(first, 0, 0, comm, NULL);
    }
    if (status)
        banyan_fail(err, status, "%s", first->err.text);
    banyan_comm_destroy(first);
    return status;
}
