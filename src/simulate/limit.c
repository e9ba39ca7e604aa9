/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/limit.c: what a schedule reaches as the vector grows. With everything pipelined, the fullest link
 * sets the pace: a link that carries a share x of the vector and moves b bytes a second allows b / x. Before
 * and after a schedule's barrier these times add up. */
#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "schedule/dependencies.h"
#include "simulate/paths.h"
#include "simulate/simulate.h"

#define FULL_SLACK 1.03

/* Transfers begin .. end-1. */
static void load_links(const banyan_schedule *schedule, const banyan_paths *paths, size_t begin, size_t end,
                       double *load, double *sent)
{
    for (size_t i = begin; i < end; i++) {
        const banyan_transfer *t = &schedule->transfers[i];
        double share = banyan_schedule_share(schedule, t->first_piece, t->piece_count);
        int path = paths->path_of[i];

        for (int j = paths->first[path]; j < paths->first[path + 1]; j++)
            load[paths->link[j]] += share;
        sent[t->src] += share;
    }
}

/* Seconds a byte of the fullest link in one stage, and which it is. */
static double fullest_link(const banyan_topology *topology, const double *load, int *fullest)
{
    double most = 0;

    for (int i = 0; i < topology->link_count; i++)
        if (load[i] / topology->links[i].bytes_per_s > most) {
            most = load[i] / topology->links[i].bytes_per_s;
            *fullest = i;
        }
    return most;
}

static void count_full_links(const banyan_topology *topology, const banyan_paths *paths, const double *load,
                             double stage, banyan_limits *limits)
{
    limits->full_links = limits->crowd = 0;
    for (int i = 0; i < topology->link_count; i++)
        limits->full_links += load[i] / topology->links[i].bytes_per_s * FULL_SLACK > stage;
    for (int i = 0; i < paths->first[paths->path_count]; i++) {
        int link = paths->link[i];

        limits->crowd += load[link] / topology->links[link].bytes_per_s * FULL_SLACK > stage;
    }
}

/* Stages follow one another, so their times add up; most schedules have one. The bottleneck is that of the
 * longest. */
static void add_up_stages(const banyan_schedule *schedule, const banyan_topology *topology,
                          const banyan_paths *paths, double *load, double *sent, banyan_limits *limits)
{
    double s_per_byte = 0, longest = 0;
    size_t count = schedule->transfer_count;

    for (size_t begin = 0, end; begin < count; begin = end) {
        int fullest = -1, is_before = schedule->transfers[begin].round < schedule->barrier;
        double stage;

        for (end = begin; end < count && (schedule->transfers[end].round < schedule->barrier) == is_before;)
            end++;
        memset(load, 0, (size_t)topology->link_count * sizeof *load);
        load_links(schedule, paths, begin, end, load, sent);
        stage = fullest_link(topology, load, &fullest);
        if (stage > longest) {
            limits->bottleneck = fullest;
            count_full_links(topology, paths, load, stage, limits);
        }
        longest = fmax(longest, stage);
        s_per_byte += stage;
    }
    if (s_per_byte > 0)
        limits->bytes_per_s = 1 / s_per_byte;
}

/* Transfers of one kind that follow one another: a reduce chain or a copy chain, whichever is longer. */
static banyan_status find_depth(const banyan_schedule *schedule, int *out, banyan_error *err)
{
    banyan_dependencies *dependencies;
    int *depth = banyan_alloc(schedule->transfer_count, sizeof *depth), deepest = 0;
    banyan_status status = depth ? BANYAN_SUCCESS : banyan_fail_memory(err);

    if (!status)
        status = banyan_dependencies_derive(schedule, &dependencies, err);
    for (size_t i = 0; !status && i < schedule->transfer_count; i++) {
        const banyan_dependency_list *list = &dependencies->send_after_apply;

        for (size_t j = list->first[i]; j < list->first[i + 1]; j++) {
            int before = list->item[j];

            if (schedule->transfers[before].action == schedule->transfers[i].action &&
                depth[before] > depth[i])
                depth[i] = depth[before];
        }
        depth[i]++;
        if (depth[i] > deepest)
            deepest = depth[i];
    }
    if (!status)
        banyan_dependencies_destroy(dependencies);
    banyan_free(depth);
    *out = deepest;
    return status;
}

banyan_status banyan_bandwidth_limit(const banyan_schedule *schedule, const banyan_topology *topology,
                                     banyan_limits *out, banyan_error *err)
{
    double *load = banyan_alloc((size_t)topology->link_count, sizeof *load);
    double *sent = banyan_alloc((size_t)topology->node_count, sizeof *sent);
    banyan_limits limits = {.bytes_per_s = HUGE_VAL, .bottleneck = -1};
    banyan_paths *paths = NULL;
    banyan_status status = load && sent ? BANYAN_SUCCESS : banyan_fail_memory(err);

    if (!status)
        status = banyan_paths_find(schedule, topology, &paths, err);
    if (!status)
        status = find_depth(schedule, &limits.depth, err);
    if (!status) {
        add_up_stages(schedule, topology, paths, load, sent, &limits);
        for (int i = 0; i < topology->node_count; i++)
            if (sent[i] > limits.volume)
                limits.volume = sent[i];
        *out = limits;
    }
    banyan_paths_destroy(paths);
    banyan_free(load);
    banyan_free(sent);
    return status;
}
