/* SPDX-License-Identifier: Apache-2.0 */
/* schedule/wire.c: varints (core/protobuf.h). Ascending values are written as differences, so that most take
 * one byte.
 *
 *   collective root nodes barrier | labels: length bytes, twice
 *   active: count, differences | cut: pieces, differences | owners: 0, or 1 and one per piece
 *   routes: count, then length and links of each
 *   transfers: count, then difference of rounds, src, dst, first, count, action + 2 flow, route + 1 */
#include "schedule/wire.h"

#include <limits.h>
#include <string.h>

#include "core/alloc.h"
#include "core/protobuf.h"
#include "schedule/build.h"

enum { MAX_NODES = 1 << 20 };

static void put(banyan_text *out, uint64_t value)
{
    banyan_protobuf_add_varint(out, value);
}

static void put_label(banyan_text *out, const char *label)
{
    size_t length = label ? strlen(label) : 0;

    put(out, length);
    banyan_text_add_bytes(out, label ? label : "", length);
}

static void put_routes(const banyan_schedule *s, banyan_text *out)
{
    put(out, (uint64_t)s->route_count);
    for (int i = 0; i < s->route_count; i++) {
        put(out, (uint64_t)(s->route_first[i + 1] - s->route_first[i]));
        for (int j = s->route_first[i]; j < s->route_first[i + 1]; j++)
            put(out, (uint64_t)s->route_link[j]);
    }
}

static void put_transfers(const banyan_schedule *s, banyan_text *out)
{
    int round = 0;

    put(out, s->transfer_count);
    for (size_t i = 0; i < s->transfer_count; i++) {
        const banyan_transfer *t = &s->transfers[i];

        put(out, (uint64_t)(t->round - round));
        put(out, (uint64_t)t->src);
        put(out, (uint64_t)t->dst);
        put(out, (uint64_t)t->first_piece);
        put(out, (uint64_t)t->piece_count);
        put(out, (uint64_t)t->flow * 2 + (t->action == BANYAN_ACTION_COPY));
        put(out, (uint64_t)(t->route + 1));
        round = t->round;
    }
}

void banyan_schedule_pack(const banyan_schedule *s, banyan_text *out)
{
    put(out, (uint64_t)s->collective);
    put(out, (uint64_t)s->root);
    put(out, (uint64_t)s->node_count);
    put(out, (uint64_t)s->barrier);
    put_label(out, s->topology);
    put_label(out, s->algorithm);
    put(out, (uint64_t)s->active_count);
    for (int i = 0; i < s->active_count; i++)
        put(out, (uint64_t)(s->active[i] - (i ? s->active[i - 1] : 0)));
    put(out, (uint64_t)s->piece_count);
    for (int i = 0; i < s->piece_count; i++)
        put(out, (uint64_t)(s->cut[i + 1] - s->cut[i]));
    put(out, s->owner != NULL);
    for (int i = 0; s->owner && i < s->piece_count; i++)
        put(out, (uint64_t)s->owner[i]);
    put_routes(s, out);
    put_transfers(s, out);
}

typedef struct {
    banyan_protobuf left;
    int failed; /* from then on every number is 0 */
} reader;

static uint64_t get(reader *r, uint64_t most)
{
    uint64_t value;

    r->failed = r->failed || banyan_protobuf_next_varint(&r->left, &value) != 1 || value > most;
    return r->failed ? 0 : value;
}

static int get_int(reader *r)
{
    return (int)get(r, INT_MAX - 1);
}

/* How many follow that take a byte each at least: none is allocated for that is not there. */
static int get_count(reader *r)
{
    uint64_t left = (uint64_t)(r->left.end - r->left.at);

    return (int)get(r, left < INT_MAX - 1 ? left : INT_MAX - 1);
}

static char *get_label(reader *r)
{
    size_t length = (size_t)get_count(r);
    char *label;

    if (length > (size_t)(r->left.end - r->left.at)) {
        r->failed = 1;
        length = 0;
    }
    label = banyan_alloc(length + 1, 1);
    if (label)
        memcpy(label, r->left.at, length);
    r->left.at += length;
    return label;
}

/* Values, or differences of ascending ones. */
static int *get_ints(reader *r, int count, int are_differences)
{
    int *values = banyan_alloc((size_t)count, sizeof *values), sum = 0;

    for (int i = 0; values && i < count; i++)
        values[i] = sum =
            (int)get(r, (uint64_t)(INT_MAX - 1 - (are_differences ? sum : 0))) + (are_differences ? sum : 0);
    return values;
}

static banyan_status get_cuts(reader *r, banyan_builder *builder, banyan_error *err)
{
    int count = get_count(r);
    int64_t *cut = banyan_alloc((size_t)count + 1, sizeof *cut);

    if (!cut)
        return banyan_fail_memory(err);
    for (int i = 0; i < count; i++)
        cut[i + 1] = cut[i] + (int64_t)get(r, (uint64_t)(INT64_MAX - cut[i]));
    if (!r->failed && count)
        banyan_builder_cut(builder, cut[count], cut, count);
    else
        r->failed = 1;
    banyan_free(cut);
    return BANYAN_SUCCESS;
}

static banyan_status get_owners(reader *r, banyan_builder *builder, banyan_error *err)
{
    int *owner = NULL;

    if (!get(r, 1) || builder->status)
        return BANYAN_SUCCESS;
    owner = get_ints(r, builder->schedule->piece_count, 0);
    if (!owner)
        return banyan_fail_memory(err);
    if (!r->failed)
        banyan_builder_set_owners(builder, owner);
    banyan_free(owner);
    return BANYAN_SUCCESS;
}

static banyan_status get_routes(reader *r, banyan_builder *builder, banyan_error *err)
{
    int count = get_count(r);

    for (int i = 0; i < count && !r->failed; i++) {
        int length = get_count(r), *links = get_ints(r, length, 0);

        if (!links)
            return banyan_fail_memory(err);
        if (!r->failed)
            banyan_builder_add_route(builder, links, length);
        banyan_free(links);
    }
    return BANYAN_SUCCESS;
}

static void get_transfers(reader *r, banyan_builder *builder)
{
    int count = get_count(r), round = 0;

    for (int i = 0; i < count && !r->failed; i++) {
        banyan_transfer t = {.round = round + (int)get(r, (uint64_t)(INT_MAX - 1 - round))};
        uint64_t action;

        round = t.round;
        t.src = get_int(r);
        t.dst = get_int(r);
        t.first_piece = get_int(r);
        t.piece_count = get_int(r);
        action = get(r, 2 * (uint64_t)(INT_MAX - 1) + 1);
        t.action = action & 1 ? BANYAN_ACTION_COPY : BANYAN_ACTION_REDUCE;
        t.flow = (int)(action / 2);
        t.route = get_int(r) - 1;
        if (!r->failed)
            banyan_builder_add(builder, t);
    }
}

/* What comes before the pieces; the labels are the schedule's from here on. */
static banyan_status begin(reader *r, banyan_builder *builder, banyan_error *err)
{
    int collective = (int)get(r, BANYAN_COLLECTIVE_COUNT - 1), root = get_int(r);
    int nodes = (int)get(r, MAX_NODES), barrier = get_int(r);
    char *topology = get_label(r), *algorithm = get_label(r);
    int count = get_count(r), *active = get_ints(r, count, 1);
    int has_memory = topology && algorithm && active;

    if (has_memory && !r->failed) {
        banyan_builder_init(builder, (banyan_collective)collective, root, nodes, active, count);
        banyan_builder_set_barrier(builder, barrier);
        has_memory = builder->schedule != NULL;
    }
    banyan_free(active);
    if (builder->schedule) {
        builder->schedule->topology = topology;
        builder->schedule->algorithm = algorithm;
    } else {
        banyan_free(topology);
        banyan_free(algorithm);
    }
    return has_memory ? BANYAN_SUCCESS : banyan_fail_memory(err);
}

banyan_status banyan_schedule_unpack(const void *bytes, size_t length, banyan_schedule **out,
                                     banyan_error *err)
{
    reader r = {.left = {bytes, (const unsigned char *)bytes + length}};
    banyan_builder builder = {0};
    banyan_status status = begin(&r, &builder, err);

    *out = NULL;
    if (!status && builder.schedule)
        status = get_cuts(&r, &builder, err);
    if (!status && builder.schedule)
        status = get_owners(&r, &builder, err);
    if (!status && builder.schedule)
        status = get_routes(&r, &builder, err);
    if (!status && builder.schedule)
        get_transfers(&r, &builder);
    if (!status && !builder.status && (r.failed || r.left.at != r.left.end))
        status = banyan_fail(err, BANYAN_INVALID_ARGUMENT, "these %zu bytes are not a schedule", length);
    if (status) {
        banyan_schedule_destroy(builder.schedule);
        return status;
    }
    return banyan_builder_finish(&builder, out, err);
}
