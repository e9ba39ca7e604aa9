/* SPDX-License-Identifier: Apache-2.0 */
/* schedule/slice.c: cuts pieces, and lays the slices of each round one round apart.
 *
 *     round     0        1        2                 round   0        1        2          3
 *     whole     a->b     b->c                       sliced  a->b 0   a->b 1
 *                                                                    b->c 0   b->c 1
 *
 * Slices share no bytes, so what must wait for what holds for each slice by itself. */
#include "schedule/slice.h"

#include "core/alloc.h"
#include "schedule/build.h"

#define MAX_TRANSFERS ((size_t)1 << 26)

static banyan_status check(const banyan_schedule *s, int slices, banyan_error *err)
{
    size_t transfers = 0;

    for (size_t i = 0; i < s->transfer_count; i++)
        transfers += (size_t)s->transfers[i].piece_count;
    if (slices < 1)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "a piece is cut into at least one slice, not %d",
                           slices);
    if (s->whole > INT64_MAX / slices || s->piece_count > INT32_MAX / slices ||
        s->round_count > INT32_MAX - slices || transfers > MAX_TRANSFERS / (size_t)slices)
        return banyan_fail(err, BANYAN_UNSUPPORTED,
                           "%zu transfers in %d slices each are too many (%zu are not)", transfers, slices,
                           MAX_TRANSFERS);
    return BANYAN_SUCCESS;
}

static void add_transfer(banyan_builder *builder, const banyan_transfer *t, int slices)
{
    for (int p = 0; p < t->piece_count; p++)
        for (int k = 0; k < slices; k++) {
            banyan_transfer part = *t;

            part.round = t->round + k;
            part.first_piece = (t->first_piece + p) * slices + k;
            part.piece_count = 1;
            banyan_builder_add(builder, part);
        }
}

static banyan_status cut(const banyan_schedule *s, int slices, int64_t *points, int *owner,
                         banyan_builder *builder, banyan_error *err)
{
    if (!points || !owner)
        return banyan_fail_memory(err);
    for (int p = 0; p < s->piece_count; p++)
        for (int k = 0; k < slices; k++) {
            points[p * slices + k] = s->cut[p] * slices + (s->cut[p + 1] - s->cut[p]) * k;
            owner[p * slices + k] = s->owner ? s->owner[p] : 0;
        }
    points[s->piece_count * slices] = s->whole * slices;
    banyan_builder_cut(builder, s->whole * slices, points, s->piece_count * slices);
    if (s->owner)
        banyan_builder_set_owners(builder, owner);
    return BANYAN_SUCCESS;
}

static banyan_status copy_label(const char *from, char **to, banyan_error *err)
{
    if (!from)
        return BANYAN_SUCCESS;
    banyan_free(*to);
    *to = banyan_strdup(from);
    return *to ? BANYAN_SUCCESS : banyan_fail_memory(err);
}

static banyan_status fill(const banyan_schedule *s, int slices, banyan_builder *builder, banyan_error *err)
{
    size_t pieces = (size_t)s->piece_count * (size_t)slices;
    int64_t *points = banyan_alloc(pieces + 1, sizeof *points);
    int *owner = banyan_alloc(pieces, sizeof *owner);
    banyan_status status = cut(s, slices, points, owner, builder, err);

    for (int i = 0; !status && i < s->route_count; i++)
        banyan_builder_add_route(builder, s->route_link + s->route_first[i],
                                 s->route_first[i + 1] - s->route_first[i]);
    for (size_t i = 0; !status && !builder->status && i < s->transfer_count; i++)
        add_transfer(builder, &s->transfers[i], slices);
    banyan_free(points);
    banyan_free(owner);
    return status;
}

banyan_status banyan_schedule_slice(const banyan_schedule *schedule, int slices, banyan_schedule **out,
                                    banyan_error *err)
{
    banyan_status status = check(schedule, slices, err);
    banyan_schedule *made = NULL;
    banyan_builder builder;

    *out = NULL;
    if (status)
        return status;
    banyan_builder_init(&builder, schedule->collective, schedule->root, schedule->node_count,
                        schedule->active, schedule->active_count);
    status = fill(schedule, slices, &builder, err);
    if (status)
        banyan_builder_fail(&builder, status, "%s", err ? err->text : "");
    status = banyan_builder_finish(&builder, &made, err);
    if (!status)
        status = copy_label(schedule->topology, &made->topology, err);
    if (!status)
        status = copy_label(schedule->algorithm, &made->algorithm, err);
    if (status)
        banyan_schedule_destroy(made);
    else
        *out = made;
    return status;
}

int banyan_schedule_slice_count(const banyan_schedule *schedule, size_t bytes, size_t slice_bytes)
{
    double largest = 0, smallest = (double)bytes;

    for (int p = 0; p < schedule->piece_count; p++) {
        double piece = banyan_schedule_share(schedule, p, 1) * (double)bytes;

        largest = piece > largest ? piece : largest;
        smallest = piece < smallest ? piece : smallest;
    }
    largest = slice_bytes ? largest / (double)slice_bytes : 1;
    if (largest > smallest / 2)
        largest = smallest / 2; /* every slice has a byte or more */
    return largest <= 1 ? 1 : largest > 1 << 20 ? 1 << 20 : (int)largest + ((double)(int)largest < largest);
}
