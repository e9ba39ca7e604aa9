/* SPDX-License-Identifier: Apache-2.0 */
/* calls/split.c: groups out of a group that works. Colors, keys and records go through the group's control
 * tree. */
#include <stdlib.h>
#include <string.h>

#include "calls/comm.h"
#include "core/alloc.h"
#include "core/clock.h"
#include "transport/bytes.h"

typedef struct {
    int key, rank;
} candidate;

typedef struct {
    banyan_world *parent;
    const int *ranks; /* old ranks of the members, in the new order */
    int count, own;   /* own: our new rank */
    int64_t deadline_ns;
} split_meeting;

static int by_key(const void *a, const void *b)
{
    const candidate *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static banyan_status exchange_records(banyan_world *parent, const banyan_rank_record *mine,
                                      unsigned char **all, int64_t deadline_ns, banyan_error *err)
{
    unsigned char record[BANYAN_RANK_RECORD_BYTES] = {0};
    banyan_status status;

    *all = banyan_alloc((size_t)banyan_world_size(parent), BANYAN_RANK_RECORD_BYTES);
    if (!*all)
        return banyan_fail_memory(err);
    if (mine)
        banyan_rank_record_write(mine, record);
    status =
        banyan_control_gather(banyan_world_control(parent), record, sizeof record, *all, deadline_ns, err);
    if (status) {
        banyan_free(*all);
        *all = NULL;
    }
    return status;
}

static banyan_status meet(void *context, banyan_world *world, banyan_rank_record *mine,
                          banyan_rank_record *records, banyan_error *err)
{
    const split_meeting *m = context;
    const banyan_address *local = &banyan_world_records(m->parent)[banyan_world_rank(m->parent)].address;
    unsigned char *all = NULL;
    banyan_status status = banyan_world_ready(world, local, mine, err);

    if (!status)
        status = exchange_records(m->parent, mine, &all, m->deadline_ns, err);
    for (int i = 0; i < m->count && !status; i++)
        status =
            banyan_rank_record_read(all + (size_t)m->ranks[i] * BANYAN_RANK_RECORD_BYTES, &records[i], err);
    banyan_free(all);
    return status;
}

/* Who has our color, in the new order; the caller frees. */
static banyan_status find_members(banyan_world *parent, int color, int key, int64_t deadline_ns, int **ranks,
                                  int *count, int *own, banyan_error *err)
{
    int size = banyan_world_size(parent);
    unsigned char mine[8], *all = banyan_alloc((size_t)size, 8);
    candidate *found = banyan_alloc((size_t)size, sizeof *found);
    banyan_status status = BANYAN_SUCCESS;

    *count = 0;
    *ranks = banyan_alloc((size_t)size, sizeof **ranks);
    banyan_put32(mine, (uint32_t)color);
    banyan_put32(mine + 4, (uint32_t)key);
    if (!all || !found || !*ranks)
        status = banyan_fail_memory(err);
    else
        status =
            banyan_control_gather(banyan_world_control(parent), mine, sizeof mine, all, deadline_ns, err);
    for (int i = 0; i < size && !status; i++)
        if ((int)banyan_get32(all + 8 * i) == color)
            found[(*count)++] = (candidate){(int)banyan_get32(all + 8 * i + 4), i};
    if (!status)
        qsort(found, (size_t)*count, sizeof *found, by_key);
    for (int i = 0; i < *count && !status; i++) {
        (*ranks)[i] = found[i].rank;
        *own = found[i].rank == banyan_world_rank(parent) ? i : *own;
    }
    banyan_free(all);
    banyan_free(found);
    return status;
}

static banyan_status create_child(banyan_comm *comm, const split_meeting *meeting, int color,
                                  const banyan_config *config, banyan_comm **out)
{
    banyan_world_options options = {.rank = meeting->own,
                                    .size = meeting->count,
                                    .old_rank = comm->rank,
                                    .color = color,
                                    .meeting = {(void *)(uintptr_t)meeting, meet}};
    banyan_secret secret;
    banyan_setup setup = {0};
    banyan_world *world = NULL;
    unsigned char *all = NULL;
    banyan_status status =
        banyan_setup_inherit(&setup, &comm->group->setup, config, meeting->ranks, meeting->count, &comm->err);

    if (status) { /* the others must not wait for our record: an empty one tells them */
        exchange_records(meeting->parent, NULL, &all, meeting->deadline_ns, NULL);
        banyan_free(all);
        return status;
    }
    banyan_world_derive_secret(meeting->parent, "split", comm->child_count << 32 | (uint32_t)color, &secret);
    options.secret = &secret;
    status = banyan_world_create(&options, &setup, &world, &comm->err);
    banyan_auth_forget(&secret, sizeof secret);
    if (!status)
        return banyan_comm_wrap(&setup, world, out, &comm->err);
    banyan_setup_fini(&setup);
    return status;
}

static banyan_status split(banyan_comm *comm, int color, int key, const banyan_config *config,
                           banyan_comm **out)
{
    banyan_world *parent = comm->group->world;
    split_meeting meeting = {.parent = parent};
    unsigned char *all = NULL;
    int *ranks = NULL;
    banyan_status status;

    if (!parent)
        return banyan_fail(
            &comm->err, BANYAN_UNSUPPORTED,
            "ranks that are threads of one process make a new group with banyan_comm_init_all");
    if (comm->group->setup.relay_count)
        return banyan_fail(&comm->err, BANYAN_UNSUPPORTED, "a group with relay processes cannot be split");
    meeting.deadline_ns = banyan_clock_ns() + (int64_t)comm->group->setup.timeout_ms * 1000000;
    comm->child_count++;
    status = find_members(parent, color < 0 ? -1 : color, key, meeting.deadline_ns, &ranks, &meeting.count,
                          &meeting.own, &comm->err);
    meeting.ranks = ranks;
    if (!status && color < 0)
        status = exchange_records(parent, NULL, &all, meeting.deadline_ns, &comm->err);
    else if (!status)
        status = create_child(comm, &meeting, color, config, out);
    banyan_free(all);
    banyan_free(ranks);
    return status;
}

banyan_status banyan_comm_split(banyan_comm *comm, int color, int key, banyan_comm **out,
                                const banyan_config *config)
{
    banyan_status status;

    if (!comm || !out)
        return BANYAN_INVALID_ARGUMENT;
    *out = NULL;
    banyan_comm_lock_in_turn(comm);
    status = split(comm, color, key, config, out);
    if (status)
        banyan_comm_report(config, &comm->err);
    pthread_mutex_unlock(&comm->lock);
    return status;
}
