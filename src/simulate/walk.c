/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/walk.c: the simple judge: one walk over the transfers in the order of rounds.
 *
 * Every cell (a node's copy of a piece) has two moments: when its first slice is complete and when its last
 * one is. A transfer starts when its first slice is there and its links are free, takes latency + bytes /
 * bandwidth of its slowest link, and cannot end before the last slice has come and gone through:
 *
 *     src   first ..........last
 *     wire        |=============|          begin = max(first, links free)
 *     dst              first .....last     first = begin + latency + slice; last = end + latency
 *
 * With one slice a piece this is store and forward: a ring takes exactly 2(p-1)(latency + n/p / bandwidth).
 * Links serve in the order of rounds and are never shared, so the walk is an upper estimate under contention.
 * Cost: the number of pieces moved. */
#include "schedule/walk.h"
#include "core/alloc.h"
#include "simulate/paths.h"
#include "simulate/simulate.h"

typedef struct {
    double first_s, last_s;
} moment;

typedef struct {
    const banyan_schedule *schedule;
    const banyan_topology *topology;
    const banyan_paths *paths;
    double bytes, slice_bytes;
    moment *cells;       /* by node, then piece */
    double *link_free_s; /* by link */
    banyan_timeline *timeline;
    moment *arrived; /* this round's arrivals, piece by piece in the order of transfers */
    size_t arrived_count, applied_count, arrived_capacity;
} walker;

static moment *cell_of(const walker *w, int node, int piece)
{
    return &w->cells[(size_t)node * (size_t)w->schedule->piece_count + (size_t)piece];
}

static double later(double a, double b)
{
    return a > b ? a : b;
}

/* What the transfer's path costs: seconds per byte of its slowest link, all its latencies, and when it is
 * free. */
static void look_at_path(const walker *w, int path, double *s_per_byte, double *latency_s, double *free_s)
{
    *s_per_byte = *latency_s = *free_s = 0;
    for (int i = w->paths->first[path]; i < w->paths->first[path + 1]; i++) {
        const banyan_link *link = &w->topology->links[w->paths->link[i]];

        *s_per_byte = later(*s_per_byte, 1 / link->bytes_per_s);
        *latency_s += link->latency_s;
        *free_s = later(*free_s, w->link_free_s[w->paths->link[i]]);
    }
}

static void occupy_path(walker *w, int path, double begin_s, double bytes)
{
    for (int i = w->paths->first[path]; i < w->paths->first[path + 1]; i++) {
        int link = w->paths->link[i];

        w->link_free_s[link] =
            later(w->link_free_s[link], begin_s) + bytes / w->topology->links[link].bytes_per_s;
    }
}

static banyan_status make_room(walker *w, size_t pieces, banyan_error *err)
{
    size_t capacity = 2 * (w->arrived_count + pieces);
    moment *bigger;

    if (w->arrived_count + pieces <= w->arrived_capacity)
        return BANYAN_SUCCESS;
    bigger = banyan_realloc(w->arrived, capacity, sizeof *bigger);
    if (!bigger)
        return banyan_fail_memory(err);
    w->arrived = bigger;
    w->arrived_capacity = capacity;
    return BANYAN_SUCCESS;
}

/* Sends one transfer; its pieces' arrivals go behind those of the round so far. */
static banyan_status send(void *context, size_t transfer, banyan_error *err)
{
    walker *w = context;
    const banyan_transfer *t = &w->schedule->transfers[transfer];
    int path = w->paths->path_of[transfer];
    double s_per_byte, latency_s, now_s, bytes = 0, begin_s = 0;
    banyan_status status = make_room(w, (size_t)t->piece_count, err);

    if (status)
        return status;
    look_at_path(w, path, &s_per_byte, &latency_s, &now_s);
    for (int i = 0; i < t->piece_count; i++) {
        const moment *from = cell_of(w, t->src, t->first_piece + i);
        moment *arrived = &w->arrived[w->arrived_count++];
        double piece_bytes = w->bytes * banyan_schedule_share(w->schedule, t->first_piece + i, 1);
        double slice = (piece_bytes < w->slice_bytes ? piece_bytes : w->slice_bytes) * s_per_byte;

        now_s = later(now_s, from->first_s);
        if (i == 0)
            begin_s = now_s;
        arrived->first_s = now_s + latency_s + slice;
        now_s = later(now_s + piece_bytes * s_per_byte, from->last_s + slice);
        arrived->last_s = now_s + latency_s;
        bytes += piece_bytes;
    }
    occupy_path(w, path, begin_s, bytes);
    w->timeline->begin_s[transfer] = begin_s;
    return BANYAN_SUCCESS;
}

static void apply(void *context, size_t transfer)
{
    walker *w = context;
    const banyan_transfer *t = &w->schedule->transfers[transfer];
    double *end_s = &w->timeline->end_s[transfer];

    for (int i = 0; i < t->piece_count; i++) {
        const moment *arrived = &w->arrived[w->applied_count++];
        moment *cell = cell_of(w, t->dst, t->first_piece + i);

        cell->first_s = later(cell->first_s, arrived->first_s);
        cell->last_s = later(cell->last_s, arrived->last_s);
        *end_s = later(*end_s, cell->last_s);
    }
    w->timeline->total_s = later(w->timeline->total_s, *end_s);
    if (w->applied_count == w->arrived_count)
        w->applied_count = w->arrived_count = 0; /* the round is over */
}

static banyan_status walk(walker *w, banyan_error *err)
{
    static const banyan_walk_steps steps = {send, apply};
    size_t cells = (size_t)w->schedule->node_count * (size_t)w->schedule->piece_count;

    w->cells = banyan_alloc(cells, sizeof *w->cells);
    w->link_free_s = banyan_alloc((size_t)w->topology->link_count, sizeof *w->link_free_s);
    if (!w->cells || !w->link_free_s)
        return banyan_fail_memory(err);
    return banyan_schedule_walk(w->schedule, &steps, w, err);
}

banyan_status banyan_walk(const banyan_schedule *schedule, const banyan_topology *topology, size_t bytes,
                          size_t slice_bytes, banyan_timeline **out, banyan_error *err)
{
    walker w = {.schedule = schedule,
                .topology = topology,
                .bytes = (double)bytes,
                .slice_bytes = slice_bytes ? (double)slice_bytes : 131072};
    banyan_paths *paths = NULL;
    banyan_status status;

    *out = NULL;
    status = banyan_paths_find(schedule, topology, &paths, err);
    w.paths = paths;
    if (!status)
        status = banyan_timeline_create(schedule->transfer_count, &w.timeline, err);
    if (!status)
        status = walk(&w, err);
    if (!status) {
        *out = w.timeline;
        w.timeline = NULL;
    }
    banyan_timeline_destroy(w.timeline);
    banyan_paths_destroy(paths);
    banyan_free(w.cells);
    banyan_free(w.link_free_s);
    banyan_free(w.arrived);
    return status;
}
