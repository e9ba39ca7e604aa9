/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/fluid.c: checks, runs the engine and says what the links did. */
#include "simulate/fluid.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "simulate/engine.h"
#include "simulate/paces.h"

#define MAX_SLICES 512   /* of the vector, in such a trial */
#define OUT_OF_STEP 1.01 /* times what rounds take, and slices are tried */
#define MAX_TRIED 262144 /* transfers that are tried both whole and in slices */

static banyan_status check_options(const banyan_fluid_options *options, banyan_error *err)
{
    if (!(options->overhead_s >= 0) || isinf(options->overhead_s))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "an overhead of %g seconds per message makes no sense", options->overhead_s);
    if (!(options->reduce_bytes_per_s >= 0))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "a reduce speed of %g bytes/s makes no sense",
                           options->reduce_bytes_per_s);
    return BANYAN_SUCCESS;
}

static banyan_status check_nodes(const banyan_schedule *schedule, const banyan_topology *topology,
                                 banyan_error *err)
{
    if (schedule->node_count != topology->node_count)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "the schedule is for %d nodes, but %.60s has %d",
                           schedule->node_count, topology->name, topology->node_count);
    for (int r = 0; r < schedule->active_count; r++)
        if (topology->nodes[schedule->active[r]].kind != BANYAN_NODE_WORKER)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                               "the schedule is for another network: its rank %d is node %d, but that is the "
                               "switch %.60s in %.60s",
                               r, schedule->active[r],
                               banyan_topology_node_name(topology, schedule->active[r]), topology->name);
    return BANYAN_SUCCESS;
}

/* A route must lead from the transfer's source to its destination. */
static banyan_status check_route(const banyan_schedule *schedule, const banyan_topology *topology, size_t i,
                                 banyan_error *err)
{
    const banyan_transfer *t = &schedule->transfers[i];
    int node = t->src;

    if (t->route < 0)
        return BANYAN_SUCCESS;
    for (int j = schedule->route_first[t->route]; j < schedule->route_first[t->route + 1]; j++) {
        const banyan_link *link = &topology->links[schedule->route_link[j]];

        if (link->src != node)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                               "transfer %zu: route %d goes on from %.60s, but is at %.60s then", i, t->route,
                               banyan_topology_node_name(topology, link->src),
                               banyan_topology_node_name(topology, node));
        node = link->dst;
    }
    if (node != t->dst)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "transfer %zu: route %d ends at %.60s, not at %.60s",
                           i, t->route, banyan_topology_node_name(topology, node),
                           banyan_topology_node_name(topology, t->dst));
    return BANYAN_SUCCESS;
}

static banyan_status check_routes(const banyan_schedule *schedule, const banyan_topology *topology,
                                  banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    for (size_t i = 0; !status && i < schedule->transfer_count; i++)
        status = check_route(schedule, topology, i, err);
    return status;
}

/* What each link carried, the bottleneck, and how much of the whole network was used. */
static banyan_status sum_up(banyan_fluid_engine *engine, banyan_fluid_result *out, banyan_error *err)
{
    const banyan_topology *topology = engine->topology;
    const banyan_paths *paths = engine->paths;
    size_t links = (size_t)topology->link_count;
    double total_s = engine->timeline->total_s, bytes = 0, bandwidth = 0;

    out->link_bytes = banyan_alloc(links, sizeof *out->link_bytes);
    out->link_peak = banyan_alloc(links, sizeof *out->link_peak);
    if (!out->link_bytes || !out->link_peak)
        return banyan_fail_memory(err);
    for (int p = 0; p < paths->path_count; p++)
        for (int i = paths->first[p]; i < paths->first[p + 1]; i++)
            out->link_bytes[paths->link[i]] += engine->path[p].bytes;
    out->link_count = topology->link_count;
    out->bottleneck = -1;
    for (int i = 0; i < topology->link_count; i++) {
        double busy_s = out->link_bytes[i] / topology->links[i].bytes_per_s;

        out->link_peak[i] = banyan_sharing_peak(banyan_fluid_flows_sharing(engine->flows), i);
        bytes += out->link_bytes[i];
        bandwidth += topology->links[i].bytes_per_s;
        if (busy_s > out->busiest * total_s * (1 + 1e-12)) {
            out->busiest = busy_s / total_s;
            out->bottleneck = i;
        }
    }
    if (bytes > 0)
        out->utilization = bytes / (bandwidth * total_s);
    return BANYAN_SUCCESS;
}

static banyan_status simulate(banyan_fluid_engine *engine, banyan_fluid_result *out, banyan_error *err)
{
    banyan_status status = banyan_fluid_engine_init(engine, err);

    if (!status)
        status = banyan_fluid_engine_run(engine, err);
    if (!status)
        status = sum_up(engine, out, err);
    if (!status) {
        out->timeline = engine->timeline;
        out->message_count = engine->message_count;
        out->work = engine->applied_count + banyan_sharing_work(banyan_fluid_flows_sharing(engine->flows));
        engine->timeline = NULL;
    } else {
        banyan_fluid_fini(out);
    }
    banyan_fluid_engine_fini(engine);
    return status;
}

/* What does not depend on how transfers travel. */
typedef struct {
    const banyan_schedule *schedule;
    const banyan_topology *topology;
    size_t bytes;
    banyan_paths *paths;
    banyan_dependencies *dependencies;
} setting;

static banyan_status run(const setting *on, const banyan_fluid_options *options, banyan_fluid_result *out,
                         banyan_error *err)
{
    banyan_fluid_engine engine = {.schedule = on->schedule,
                                  .topology = on->topology,
                                  .options = options,
                                  .paths = on->paths,
                                  .dependencies = on->dependencies};
    banyan_slices *slices = NULL;
    banyan_status status = banyan_slices_cut(on->schedule, on->topology, on->paths, on->bytes,
                                             options->slice_bytes, &slices, &engine.message_count, err);

    engine.slices = slices;
    memset(out, 0, sizeof *out);
    if (!status)
        status = simulate(&engine, out, err);
    banyan_free(slices);
    return status;
}

/* Rounds said that slices cannot help. But nobody waits for rounds: messages that meet may do better in
 * slices. Whoever sends would choose what is faster, so both are tried. A second run that takes too long
 * is no run. */
static banyan_status try_slices(const setting *on, const banyan_fluid_options *options,
                                banyan_fluid_result *out, banyan_error *err)
{
    banyan_fluid_options sliced = *options;
    banyan_fluid_result other;
    banyan_status status;

    sliced.slice_bytes =
        on->bytes / MAX_SLICES > BANYAN_SLICE_BYTES ? on->bytes / MAX_SLICES : BANYAN_SLICE_BYTES;
    status = run(on, &sliced, &other, err);
    if (status)
        return status == BANYAN_UNSUPPORTED ? BANYAN_SUCCESS : status;
    if (other.timeline->total_s < out->timeline->total_s * (1 - 1e-9)) {
        banyan_fluid_result slower = *out;

        *out = other;
        other = slower;
    }
    banyan_fluid_fini(&other);
    return BANYAN_SUCCESS;
}

/* Where the choice is ours, all travel whole, and a few messages more do not matter. */
static int may_try(const setting *on, const banyan_fluid_options *options, const banyan_fluid_result *result)
{
    return !options->slice_bytes && !options->lockstep && options->service == BANYAN_SERVICE_TURNS &&
           result->message_count == on->schedule->transfer_count && result->message_count <= MAX_TRIED;
}

/* Slices may help where flows meet on a route of their own, and where the schedule took longer than its
 * rounds would take one after the other: then whole messages on links that routes share have got out of
 * step. */
static banyan_status may_gain(const setting *on, const banyan_fluid_result *result, int *out,
                              banyan_error *err)
{
    double rounds_s = 0;
    banyan_status status = banyan_slices_find_meeting(on->schedule, on->topology, on->paths, out, err);

    if (status || *out)
        return status;
    status = banyan_slices_time_rounds(on->schedule, on->topology, on->paths, on->bytes, &rounds_s, err);
    *out = !status && result->timeline->total_s > OUT_OF_STEP * rounds_s;
    return status;
}

static banyan_status run_as_chosen(const setting *on, const banyan_fluid_options *options,
                                   banyan_fluid_result *out, banyan_error *err)
{
    banyan_status status = run(on, options, out, err);
    int is_worth_trying = 0;

    if (!status && may_try(on, options, out))
        status = may_gain(on, out, &is_worth_trying, err);
    if (!status && is_worth_trying)
        status = try_slices(on, options, out, err);
    if (status)
        banyan_fluid_fini(out);
    return status;
}

/* What the links of the paces did is nobody's concern. */
static banyan_status run_paced(const setting *on, const banyan_fluid_options *options,
                               banyan_fluid_result *out, banyan_error *err)
{
    banyan_paced_network network;
    setting paced = *on;
    banyan_status status = banyan_paced_network_init(&network, on->schedule, on->topology, on->paths, err);

    if (status)
        return status;
    paced.topology = &network.topology;
    paced.paths = &network.paths;
    status = run_as_chosen(&paced, options, out, err);
    out->link_count = status ? 0 : on->topology->link_count;
    if (out->bottleneck >= out->link_count)
        out->bottleneck = -1;
    banyan_paced_network_fini(&network);
    return status;
}

banyan_status banyan_fluid(const banyan_schedule *schedule, const banyan_topology *topology, size_t bytes,
                           const banyan_fluid_options *options, banyan_fluid_result *out, banyan_error *err)
{
    static const banyan_fluid_options defaults = {0};
    setting on = {schedule, topology, bytes, NULL, NULL};
    banyan_status status;

    memset(out, 0, sizeof *out);
    options = options ? options : &defaults;
    status = check_options(options, err);
    if (!status)
        status = check_nodes(schedule, topology, err);
    if (!status)
        status = banyan_paths_find(schedule, topology, &on.paths, err);
    if (!status)
        status = check_routes(schedule, topology, err);
    if (!status)
        status = banyan_dependencies_derive(schedule, &on.dependencies, err);
    if (!status)
        status =
            options->is_paced ? run_paced(&on, options, out, err) : run_as_chosen(&on, options, out, err);
    banyan_dependencies_destroy(on.dependencies);
    banyan_paths_destroy(on.paths);
    return status;
}

void banyan_fluid_fini(banyan_fluid_result *result)
{
    banyan_timeline_destroy(result->timeline);
    banyan_free(result->link_bytes);
    banyan_free(result->link_peak);
    memset(result, 0, sizeof *result);
}
