/* SPDX-License-Identifier: Apache-2.0 */
/* schedule/info.c: a schedule's figures, and its transfers as plain arrays, for users of the library. */
#include <string.h>

#include "core/sized.h"
#include "schedule/schedule.h"

banyan_status banyan_schedule_get_info(const banyan_schedule *schedule, banyan_schedule_info *info,
                                       banyan_error *err)
{
    banyan_schedule_info own = {0};

    if (!schedule)
        return banyan_fail_null("schedule", err);
    own.collective = banyan_collective_name(schedule->collective);
    own.algorithm = schedule->algorithm ? schedule->algorithm : "";
    own.topology = schedule->topology ? schedule->topology : "";
    own.node_count = schedule->node_count;
    own.active_count = schedule->active_count;
    own.root = schedule->root;
    own.transfer_count = schedule->transfer_count;
    own.round_count = schedule->round_count;
    own.flow_count = schedule->flow_count;
    own.piece_count = schedule->piece_count;
    own.route_count = schedule->route_count;
    own.route_link_count = schedule->route_count ? schedule->route_first[schedule->route_count] : 0;
    banyan_schedule_digest(schedule, own.digest);
    return banyan_sized_write(&own, sizeof own, info, "banyan_schedule_info", err);
}

static void set(int *array, size_t i, int value)
{
    if (array)
        array[i] = value;
}

static void write_transfers(const banyan_schedule *schedule, const banyan_schedule_arrays *out)
{
    for (size_t i = 0; i < schedule->transfer_count; i++) {
        const banyan_transfer *transfer = &schedule->transfers[i];

        set(out->round, i, transfer->round);
        set(out->src, i, transfer->src);
        set(out->dst, i, transfer->dst);
        set(out->first_piece, i, transfer->first_piece);
        set(out->piece_count, i, transfer->piece_count);
        set(out->is_copy, i, transfer->action == BANYAN_ACTION_COPY);
        set(out->flow, i, transfer->flow);
        set(out->route, i, transfer->route);
    }
}

static void write_pieces(const banyan_schedule *schedule, const banyan_schedule_arrays *out)
{
    if (out->cut)
        memcpy(out->cut, schedule->cut, ((size_t)schedule->piece_count + 1) * sizeof *out->cut);
    for (int i = 0; i < schedule->piece_count; i++)
        set(out->owner, (size_t)i, schedule->owner ? schedule->owner[i] : -1);
    for (int i = 0; i < schedule->active_count; i++)
        set(out->active, (size_t)i, schedule->active[i]);
}

static void write_routes(const banyan_schedule *schedule, const banyan_schedule_arrays *out)
{
    const int links = schedule->route_count ? schedule->route_first[schedule->route_count] : 0;

    for (int i = 0; i <= schedule->route_count; i++)
        set(out->route_first, (size_t)i, schedule->route_count ? schedule->route_first[i] : 0);
    for (int i = 0; i < links; i++)
        set(out->route_link, (size_t)i, schedule->route_link[i]);
}

banyan_status banyan_schedule_get_arrays(const banyan_schedule *schedule,
                                         const banyan_schedule_arrays *arrays, banyan_error *err)
{
    banyan_schedule_arrays own = {0};
    banyan_status status;

    if (!schedule)
        return banyan_fail_null("schedule", err);
    status = banyan_sized_take(arrays, &own, sizeof own, "banyan_schedule_arrays", err);
    if (status)
        return status;
    write_transfers(schedule, &own);
    write_pieces(schedule, &own);
    write_routes(schedule, &own);
    return BANYAN_SUCCESS;
}
