/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/slices.c: cutting transfers into messages.
 *
 * Left to ourselves we cut only where it helps. Take the rounds one after the other, each as long as its
 * fullest link is busy, and compare with the link that is busiest over all rounds: if both take the same
 * time, as in a ring, the fullest link never waits, and messages travel whole, as the closed forms have it.
 * If rounds take longer, as in a tree, links wait for one another, and transfers travel in slices of 128 KiB
 * (larger ones where there would be millions). */
#include "simulate/slices.h"

#include <limits.h>
#include <math.h>

#include "core/alloc.h"

#define SLICE_BYTES ((double)BANYAN_SLICE_BYTES)
#define GAIN 1.01        /* rounds must take this much longer before we cut */
#define MAX_MESSAGES 4e6 /* beyond the transfers themselves, when we choose */

typedef struct {
    double in_round_s, total_s;
    int round;
} busy;

/* Of all rounds, for a vector of one byte: the seconds that the fullest link of each is busy, added up, those
 * of the busiest link, and the longest latency of each round, added up. */
typedef struct {
    double rounds_s, busiest_s, latency_s;
} round_times;

static double latency_of(const banyan_topology *topology, const banyan_paths *paths, int path)
{
    double latency_s = 0;

    for (int j = paths->first[path]; j < paths->first[path + 1]; j++)
        latency_s += topology->links[paths->link[j]].latency_s;
    return latency_s;
}

static banyan_status compare_rounds(const banyan_schedule *schedule, const banyan_topology *topology,
                                    const banyan_paths *paths, round_times *out, banyan_error *err)
{
    busy *links = banyan_alloc((size_t)topology->link_count, sizeof *links);
    double fullest_s = 0, longest_s = 0;
    int round = -1;

    *out = (round_times){0, 0, 0};

    if (!links)
        return banyan_fail_memory(err);
    for (size_t i = 0; i < schedule->transfer_count; i++) {
        const banyan_transfer *t = &schedule->transfers[i];
        double share = banyan_schedule_share(schedule, t->first_piece, t->piece_count);
        int path = paths->path_of[i];

        if (t->round != round) {
            out->rounds_s += fullest_s;
            out->latency_s += longest_s;
            fullest_s = longest_s = 0;
            round = t->round;
        }
        longest_s = fmax(longest_s, latency_of(topology, paths, path));
        for (int j = paths->first[path]; j < paths->first[path + 1]; j++) {
            busy *link = &links[paths->link[j]];

            if (link->round != round + 1)
                *link = (busy){0, link->total_s, round + 1};
            link->in_round_s += share / topology->links[paths->link[j]].bytes_per_s;
            link->total_s += share / topology->links[paths->link[j]].bytes_per_s;
            fullest_s = fmax(fullest_s, link->in_round_s);
            out->busiest_s = fmax(out->busiest_s, link->total_s);
        }
    }
    out->rounds_s += fullest_s;
    out->latency_s += longest_s;
    banyan_free(links);
    return BANYAN_SUCCESS;
}

static double bytes_of(const banyan_schedule *schedule, size_t transfer, double bytes)
{
    const banyan_transfer *t = &schedule->transfers[transfer];

    return bytes * banyan_schedule_share(schedule, t->first_piece, t->piece_count);
}

static double count_for(double bytes, double slice_bytes)
{
    return fmax(1, ceil(bytes / slice_bytes - 1e-9));
}

static double count_messages(const banyan_schedule *schedule, double bytes, double slice_bytes)
{
    double count = 0;

    for (size_t i = 0; i < schedule->transfer_count; i++)
        count += count_for(bytes_of(schedule, i, bytes), slice_bytes);
    return count;
}

static banyan_status choose(const banyan_schedule *schedule, const banyan_topology *topology,
                            const banyan_paths *paths, double bytes, double *out, banyan_error *err)
{
    round_times times;
    banyan_status status = compare_rounds(schedule, topology, paths, &times, err);

    if (status)
        return status;
    *out = SLICE_BYTES;
    if (times.rounds_s <= GAIN * times.busiest_s)
        *out = fmax(bytes, SLICE_BYTES);
    while (*out < bytes &&
           count_messages(schedule, bytes, *out) > MAX_MESSAGES + (double)schedule->transfer_count)
        *out *= 2;
    return BANYAN_SUCCESS;
}

banyan_status banyan_slices_cut(const banyan_schedule *schedule, const banyan_topology *topology,
                                const banyan_paths *paths, size_t bytes, size_t slice_bytes,
                                banyan_slices **out, size_t *total, banyan_error *err)
{
    double size = (double)slice_bytes, messages;
    banyan_status status = BANYAN_SUCCESS;
    banyan_slices *slices;

    *out = NULL;
    if (!slice_bytes)
        status = choose(schedule, topology, paths, (double)bytes, &size, err);
    if (status)
        return status;
    messages = count_messages(schedule, (double)bytes, size);
    if (messages > INT_MAX)
        return banyan_fail(err, BANYAN_UNSUPPORTED,
                           "slices of %zu bytes make %.3g messages, more than the 2^31 we can follow",
                           slice_bytes, messages);
    slices = banyan_alloc(schedule->transfer_count, sizeof *slices);
    if (!slices)
        return banyan_fail_memory(err);
    for (size_t i = 0; i < schedule->transfer_count; i++) {
        double all = bytes_of(schedule, i, (double)bytes), count = count_for(all, size);

        slices[i] = (banyan_slices){all / count, (int)count};
    }
    *out = slices;
    *total = (size_t)messages;
    return BANYAN_SUCCESS;
}

banyan_status banyan_slices_time_rounds(const banyan_schedule *schedule, const banyan_topology *topology,
                                        const banyan_paths *paths, size_t bytes, double *out_s,
                                        banyan_error *err)
{
    round_times times;
    banyan_status status = compare_rounds(schedule, topology, paths, &times, err);

    if (!status)
        *out_s = times.rounds_s * (double)bytes + times.latency_s;
    return status;
}

banyan_status banyan_slices_find_meeting(const banyan_schedule *schedule, const banyan_topology *topology,
                                         const banyan_paths *paths, int *flows_meet, banyan_error *err)
{
    int *flow = banyan_alloc((size_t)paths->path_count, sizeof *flow); /* plus one; 0: none yet */
    int *users = banyan_alloc((size_t)topology->link_count, sizeof *users);

    *flows_meet = 0;
    for (int i = 0; users && i < paths->first[paths->path_count]; i++)
        users[paths->link[i]]++;
    for (size_t i = 0; flow && users && i < schedule->transfer_count && !*flows_meet; i++) {
        int path = paths->path_of[i], mine = schedule->transfers[i].flow + 1, is_alone = 1;

        for (int j = paths->first[path]; j < paths->first[path + 1]; j++)
            is_alone &= users[paths->link[j]] == 1;
        *flows_meet = is_alone && flow[path] && flow[path] != mine;
        flow[path] = mine;
    }
    banyan_free(users);
    banyan_free(flow);
    return flow && users ? BANYAN_SUCCESS : banyan_fail_memory(err);
}

int banyan_slices_needed(const banyan_schedule *schedule, const banyan_slices *slices, int transfer, int k,
                         int before)
{
    const banyan_transfer *t = &schedule->transfers[transfer], *u = &schedule->transfers[before];
    const int64_t *cut = schedule->cut;
    double begin, end, needed;

    if (t->first_piece == u->first_piece && t->piece_count == u->piece_count)
        return k + 1;
    begin = (double)cut[u->first_piece];
    end = (double)cut[t->first_piece] + (double)(cut[t->first_piece + t->piece_count] - cut[t->first_piece]) *
                                            (k + 1) / slices[transfer].count;
    needed = (end - begin) * slices[before].count / ((double)cut[u->first_piece + u->piece_count] - begin);
    needed = ceil(needed - 1e-6); /* a boundary that falls on another is not beyond it */
    return needed < 0 ? 0 : needed > slices[before].count ? slices[before].count : (int)needed;
}
