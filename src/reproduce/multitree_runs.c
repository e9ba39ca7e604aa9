/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce/multitree_runs.c: all-reduces of the MultiTree paper in the flit engine, with its Table III.
 *
 * A simulation costs time in proportion to the flits that it moves, so the largest are begun first and two
 * processors end at about the same time. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "reproduce/multitree.h"
#include "schedule/slice.h"
#include "simulate/fluid.h"

#define ADDER_BYTES_PER_S 128e9 /* 32 adders of 4 bytes at 1 GHz */

/* The trees that the authors' program grows. */
#define AUTHORS_TREES                                                                                        \
    {                                                                                                        \
        {"order", "yx"},                                                                                     \
        {                                                                                                    \
            "steps", "released"                                                                              \
        }                                                                                                    \
    }

const multitree_rival multitree_rivals[RIVAL_COUNT] = {
    [RIVAL_RING] = {"ring", "ring", {{NULL, NULL}}, BANYAN_FLOW_PACKET, BANYAN_INTERFACE_AUTHORS, 0},
    [RIVAL_RING_2D] = {"2d-ring", "ring2d", {{NULL, NULL}}, BANYAN_FLOW_PACKET, BANYAN_INTERFACE_AUTHORS, 0},
    [RIVAL_DOUBLE_TREE] =
        {"double-tree", "double-tree", {{NULL, NULL}}, BANYAN_FLOW_PACKET, BANYAN_INTERFACE_AUTHORS, 1},
    [RIVAL_HDRM] = {"hdrm", "hdrm", {{NULL, NULL}}, BANYAN_FLOW_PACKET, BANYAN_INTERFACE_AUTHORS, 0},
    [RIVAL_MULTITREE] = {"multitree", "multitree", AUTHORS_TREES, BANYAN_FLOW_PACKET,
                         BANYAN_INTERFACE_AUTHORS, 0},
    [RIVAL_MULTITREE_MSG] = {"multitree-msg", "multitree", AUTHORS_TREES, BANYAN_FLOW_MESSAGE,
                             BANYAN_INTERFACE_AUTHORS, 0},
    [RIVAL_MULTITREE_CABLE] = {"multitree-msg, port a cable",
                               "multitree",
                               {{"order", "yx"}},
                               BANYAN_FLOW_MESSAGE,
                               BANYAN_INTERFACE_CABLE,
                               0},
    [RIVAL_MULTITREE_SPLIT] = {"multitree-msg, split",
                               "multitree",
                               {{"order", "split"}},
                               BANYAN_FLOW_MESSAGE,
                               BANYAN_INTERFACE_CABLE,
                               0},
    [RIVAL_BIDIRECTIONAL] = {"bidirectional-ring, msg",
                             "bidirectional-ring",
                             {{NULL, NULL}},
                             BANYAN_FLOW_MESSAGE,
                             BANYAN_INTERFACE_CABLE,
                             0},
    [RIVAL_MULTI_RING] =
        {"multi-ring, msg", "multi-ring", {{NULL, NULL}}, BANYAN_FLOW_MESSAGE, BANYAN_INTERFACE_CABLE, 0},
    [RIVAL_FOREST] = {
        "forest, msg", "forest", {{NULL, NULL}}, BANYAN_FLOW_MESSAGE, BANYAN_INTERFACE_CABLE, 0}};

const size_t multitree_sizes[MULTITREE_SIZES] = {(size_t)32 << 10, (size_t)128 << 10, (size_t)512 << 10,
                                                 (size_t)1 << 20,  (size_t)4 << 20,   (size_t)16 << 20,
                                                 (size_t)64 << 20};

int multitree_parameter_count(int rival)
{
    int count = 0;

    while (count < MULTITREE_PARAMETERS && multitree_rivals[rival].parameters[count].key)
        count++;
    return count;
}

void multitree_name_size(size_t bytes, char *out, size_t size)
{
    if (bytes >= (size_t)1 << 20)
        snprintf(out, size, "%.4g MiB", (double)bytes / 1048576);
    else
        snprintf(out, size, "%.4g KiB", (double)bytes / 1024);
}

banyan_status multitree_network_init(const char *name, paper_network *out, banyan_error *err)
{
    char spec[96];

    snprintf(spec, sizeof spec, "%s,GBps=16,latency=150ns", name);
    return paper_network_init(out, spec, NULL, err);
}

banyan_status multitree_bound(const char *network, double *bytes_per_s, banyan_error *err)
{
    paper_network loaded;
    banyan_status status = multitree_network_init(network, &loaded, err);

    if (!status)
        status = paper_network_bound(&loaded, bytes_per_s, err);
    paper_network_fini(&loaded);
    return status;
}

static banyan_status run_fluid(const banyan_schedule *schedule, const banyan_topology *topology,
                               multitree_run *run, banyan_error *err)
{
    banyan_fluid_options options = {
        .slice_bytes = (size_t)1 << 62, .reduce_bytes_per_s = ADDER_BYTES_PER_S, .lockstep = 1};
    banyan_fluid_result result;
    banyan_status status = banyan_fluid(schedule, topology, run->bytes, &options, &result, err);

    if (status)
        return status;
    run->seconds = result.timeline->total_s;
    banyan_fluid_fini(&result);
    return BANYAN_SUCCESS;
}

static banyan_status run_flit(const banyan_schedule *schedule, const banyan_topology *topology,
                              multitree_run *run, banyan_error *err)
{
    banyan_flit_settings settings = banyan_flit_defaults();
    banyan_flit_report *report;
    banyan_status status;

    settings.flow = run->flow < 0 ? multitree_rivals[run->rival].flow : (banyan_flow_control)run->flow;
    settings.interface_kind = run->interface_kind < 0 ? multitree_rivals[run->rival].interface_kind
                                                      : (banyan_interface_kind)run->interface_kind;
    status = banyan_flit_run(schedule, topology, run->bytes, &settings, NULL, &report, err);
    if (status)
        return status;
    run->seconds = (double)report->cycles / report->clock_hz;
    banyan_flit_report_destroy(report);
    return BANYAN_SUCCESS;
}

/* Trees pass slices on, as in NCCL: as many as the authors' program has, one per worker over all pieces. */
static banyan_status slice(const banyan_problem *problem, banyan_schedule **schedule, banyan_error *err)
{
    banyan_schedule *sliced;
    banyan_status status =
        banyan_schedule_slice(*schedule, problem->active_count / (*schedule)->piece_count, &sliced, err);

    if (status)
        return status;
    banyan_schedule_destroy(*schedule);
    *schedule = sliced;
    return BANYAN_SUCCESS;
}

static banyan_status simulate(multitree_run *run, const banyan_problem *problem, banyan_error *err)
{
    const banyan_algorithm *algorithm = banyan_algorithm_find(multitree_rivals[run->rival].algorithm);
    banyan_schedule *schedule = NULL;
    banyan_status status = banyan_algorithm_applies(algorithm, problem, err);

    run->seconds = NAN;
    if (status == BANYAN_UNSUPPORTED)
        return BANYAN_SUCCESS;
    if (!status)
        status = banyan_algorithm_build(algorithm, problem, &schedule, err);
    if (!status && multitree_rivals[run->rival].is_sliced)
        status = slice(problem, &schedule, err);
    if (!status)
        status = run->by_fluid ? run_fluid(schedule, problem->topology, run, err)
                               : run_flit(schedule, problem->topology, run, err);
    banyan_schedule_destroy(schedule);
    return status;
}

static banyan_status run_one(void *context, int i, banyan_error *err)
{
    multitree_run *run = ((multitree_run **)context)[i];
    banyan_parameter order = {"order", run->order};
    paper_network network;
    banyan_status status = multitree_network_init(run->network, &network, err);

    network.problem.bytes = run->bytes;
    network.problem.parameters = run->order ? &order : multitree_rivals[run->rival].parameters;
    network.problem.parameter_count = run->order ? 1 : multitree_parameter_count(run->rival);
    if (!status)
        status = simulate(run, &network.problem, err);
    if (status) {
        banyan_error_prefix(err, multitree_rivals[run->rival].name);
        banyan_error_prefix(err, run->network);
    }
    paper_network_fini(&network);
    return status;
}

/* Packets cost some ten times as much to simulate as whole messages. */
static double work_of(const multitree_run *run)
{
    int flow = run->flow < 0 ? (int)multitree_rivals[run->rival].flow : run->flow;

    return (double)run->bytes * (flow == BANYAN_FLOW_PACKET ? 10 : 1);
}

static int by_work(const void *a, const void *b)
{
    const multitree_run *first = *(multitree_run *const *)a, *second = *(multitree_run *const *)b;
    double more = work_of(second) - work_of(first);

    return more > 0 ? 1 : more < 0 ? -1 : (first > second) - (first < second);
}

banyan_status multitree_simulate(banyan_reproduction *reproduction, multitree_run *runs, int count,
                                 banyan_error *err)
{
    multitree_run **order = banyan_alloc((size_t)count, sizeof *order);
    banyan_status status;

    if (!order)
        return banyan_fail_memory(err);
    for (int i = 0; i < count; i++)
        order[i] = &runs[i];
    qsort(order, (size_t)count, sizeof *order, by_work);
    status = banyan_reproduce_jobs(reproduction, count, run_one, order, err);
    banyan_free(order);
    return status;
}
