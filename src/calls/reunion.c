/* SPDX-License-Identifier: Apache-2.0 */
/* calls/reunion.c: one loop that listens to the parent, to the children and to the listener; then messages
 * that go down and up the tree once. */
#include "calls/reunion.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "bootstrap/roster.h"
#include "core/alloc.h"
#include "core/clock.h"
#include "transport/bytes.h"

enum { WELCOME = 1, CHANGES, MEMBERS, RECORDS, LOST, TABLE };
#define SLICE_NS 20000000 /* how often a leader looks who is lost, */
#define LOOK_NS 200000000 /* and another whether its parent is */
#define LIMIT ((size_t)BANYAN_MAX_RANKS * BANYAN_ROSTER_RECORD_BYTES)

banyan_status banyan_reunion_init(banyan_reunion *r, banyan_control *control, int rank, int size,
                                  banyan_error *err)
{
    *r = (banyan_reunion){.control = control, .rank = rank, .size = size, .parent = -1, .event = -1};
    r->is_out = banyan_alloc((size_t)size, 1);
    r->is_told = banyan_alloc((size_t)size, 1);
    r->members = banyan_alloc((size_t)size, sizeof *r->members);
    r->via = banyan_alloc((size_t)size, sizeof *r->via);
    r->polled = banyan_alloc((size_t)size + 1, sizeof *r->polled);
    r->channels = banyan_alloc((size_t)size, sizeof *r->channels);
    for (int i = 0; r->channels && i < size; i++)
        r->channels[i].fd = -1;
    for (int i = 0; r->via && i < size; i++)
        r->via[i] = -1;
    if (!r->is_out || !r->is_told || !r->members || !r->via || !r->polled || !r->channels)
        return banyan_fail_memory(err);
    r->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (r->event < 0)
        return banyan_fail(err, BANYAN_SYSTEM_ERROR, "rank %d cannot shrink: %s%s", rank, strerror(errno),
                           banyan_socket_advice(errno));
    banyan_control_announce_joiners(control, r->event);
    return BANYAN_SUCCESS;
}

void banyan_reunion_fini(banyan_reunion *r)
{
    if (r->event >= 0) {
        banyan_control_announce_joiners(r->control, -1);
        close(r->event);
    }
    if (r->channels)
        banyan_reunion_part(r);
    banyan_free(r->channels);
    banyan_free(r->polled);
    banyan_free(r->via);
    banyan_free(r->members);
    banyan_free(r->is_told);
    banyan_free(r->is_out);
}

int banyan_reunion_is_gone(const banyan_reunion *r, int rank)
{
    return r->is_out[rank] || banyan_control_is_lost(r->control, rank);
}

int64_t banyan_reunion_patience_ns(const banyan_reunion *r, int rank, double part)
{
    int64_t whole_ns = r->deadline_ns - r->begun_ns,
            until_ns = r->begun_ns + (int64_t)(part * (double)whole_ns);
    int64_t since_ns = banyan_control_silent_since_ns(r->control, rank);

    return since_ns && since_ns + whole_ns < until_ns ? since_ns + whole_ns : until_ns;
}

static int is_child(const banyan_reunion *r, int rank)
{
    return rank != r->parent && r->channels[rank].fd >= 0;
}

/* ---- Who comes and goes. */

/* A list of members without the one that gets it. */
static void turn_away(const banyan_reunion *r, banyan_channel *channel)
{
    unsigned char body[12];

    if (!banyan_channel_put(channel, MEMBERS, body, banyan_roster_write(body, 0, &r->rank, 1), NULL))
        banyan_channel_send_all(channel, banyan_clock_ns() + SLICE_NS, NULL);
    banyan_channel_fini(channel);
}

static void turn_away_stranger(const banyan_reunion *r, int fd)
{
    banyan_channel channel;

    banyan_channel_init(&channel, fd, LIMIT);
    turn_away(r, &channel);
}

static void forget_child(banyan_reunion *r, int child)
{
    banyan_channel_fini(&r->channels[child]);
    for (int i = 0; r->via[child] >= 0 && i < r->size; i++)
        if (r->via[i] == child)
            r->via[i] = -1;
}

static void welcome(banyan_reunion *r, int rank, int fd)
{
    if (rank == r->rank || rank == r->parent || r->is_out[rank]) {
        turn_away_stranger(r, fd);
        return;
    }
    forget_child(r, rank); /* an older connection of its own */
    banyan_channel_init(&r->channels[rank], fd, LIMIT);
    r->via[rank] = rank;
    if (banyan_channel_put(&r->channels[rank], WELCOME, NULL, 0, NULL) ||
        banyan_channel_flush(&r->channels[rank], NULL))
        forget_child(r, rank);
}

static int hear_changes(banyan_reunion *r, int child, const unsigned char *body, size_t bytes)
{
    int rank, is_there;

    for (size_t i = 0; i + BANYAN_ROSTER_CHANGE_BYTES <= bytes; i += BANYAN_ROSTER_CHANGE_BYTES) {
        if (!banyan_roster_read_change(body + i, r->size, &rank, &is_there))
            return 0;
        if (rank == r->rank || rank == child)
            continue;
        if (is_there)
            r->via[rank] = child;
        else if (r->via[rank] == child)
            r->via[rank] = -1;
    }
    return 1;
}

static void hear_child(banyan_reunion *r, int child)
{
    banyan_channel *channel = &r->channels[child];
    banyan_status status = banyan_channel_fill(channel, NULL);
    const unsigned char *body;
    size_t bytes;
    int type;

    while (banyan_channel_next(channel, &type, &body, &bytes))
        if (type != CHANGES || !hear_changes(r, child, body, bytes))
            status = BANYAN_REMOTE_ERROR;
    if (status)
        forget_child(r, child);
}

/* Our parent hears of what has changed since we last told it. */
static banyan_status send_changes(banyan_reunion *r, banyan_error *err)
{
    banyan_channel *up = &r->channels[r->parent];
    unsigned char *body = banyan_alloc((size_t)r->size, BANYAN_ROSTER_CHANGE_BYTES);
    banyan_status status = body ? BANYAN_SUCCESS : banyan_fail_memory(err);
    size_t bytes = 0;

    for (int i = 0; i < r->size && body; i++) {
        int is_there = r->via[i] >= 0;

        if (i == r->parent || is_there == r->is_told[i])
            continue;
        banyan_roster_write_change(body + bytes, i, is_there);
        bytes += BANYAN_ROSTER_CHANGE_BYTES;
        r->is_told[i] = (char)is_there;
    }
    if (bytes)
        status = banyan_channel_put(up, CHANGES, body, bytes, err);
    if (!status)
        status = banyan_channel_flush(up, err);
    banyan_free(body);
    return status;
}

/* Waits for whatever comes first. The parent is left to the caller; returns whether it has spoken. */
static int attend(banyan_reunion *r, int64_t until_ns)
{
    int64_t left_ns = until_ns - banyan_clock_ns();
    int count = 1, rank, fd, has_spoken = 0;
    uint64_t rings;

    r->polled[0] = (struct pollfd){.fd = r->event, .events = POLLIN};
    for (int i = 0; i < r->size; i++)
        if (r->channels[i].fd >= 0)
            r->polled[count++] = (struct pollfd){
                .fd = r->channels[i].fd,
                .events = banyan_channel_has_unsent(&r->channels[i]) ? POLLIN | POLLOUT : POLLIN};
    if (poll(r->polled, (nfds_t)count, left_ns > 0 ? (int)(left_ns / 1000000 + 1) : 0) <= 0)
        return 0;
    if (r->polled[0].revents && read(r->event, &rings, sizeof rings) < 0)
        rings = 0; /* heard already */
    for (int i = 0, at = 1; i < r->size && at < count; i++) {
        if (r->channels[i].fd < 0 || r->channels[i].fd != r->polled[at].fd)
            continue;
        if (r->polled[at++].revents) {
            has_spoken |= i == r->parent;
            if (i != r->parent)
                hear_child(r, i);
        }
    }
    while ((fd = banyan_control_next_joiner(r->control, 0, &rank)) >= 0)
        welcome(r, rank, fd);
    return has_spoken;
}

/* ---- Members. */

static int is_awaited(const banyan_reunion *r, int rank, double part)
{
    return rank != r->rank && r->via[rank] < 0 && !banyan_reunion_is_gone(r, rank) &&
           banyan_clock_ns() < banyan_reunion_patience_ns(r, rank, part);
}

static int is_complete(const banyan_reunion *r, double part)
{
    for (int i = 0; i < r->size; i++)
        if (is_awaited(r, i, part))
            return 0;
    return 1;
}

static void list_members(banyan_reunion *r)
{
    r->count = 0;
    for (int i = 0; i < r->size; i++)
        if (i == r->rank || (r->via[i] >= 0 && !r->is_out[i])) {
            r->own = i == r->rank ? r->count : r->own;
            r->members[r->count++] = i;
        }
}

static int has_member(const banyan_reunion *r, int child)
{
    for (int i = 0; i < r->count; i++)
        if (r->via[r->members[i]] == child)
            return 1;
    return 0;
}

/* Puts a message to one neighbour and waits until it is sent. */
static banyan_status send_to(banyan_reunion *r, int rank, int type, const void *body, size_t bytes,
                             banyan_error *err)
{
    banyan_status status = banyan_channel_put(&r->channels[rank], type, body, bytes, err);

    if (!status)
        status = banyan_channel_send_all(&r->channels[rank], r->deadline_ns, err);
    r->out_bytes += bytes;
    return status;
}

/* A child that is lost now is found when its records do not come. */
static void hand_on_members(banyan_reunion *r, const unsigned char *body, size_t bytes)
{
    for (int i = 0; i < r->size; i++)
        if (is_child(r, i) && has_member(r, i))
            send_to(r, i, MEMBERS, body, bytes, NULL);
}

banyan_status banyan_reunion_lead(banyan_reunion *r, double part, banyan_error *err)
{
    unsigned char *body = banyan_alloc(banyan_roster_bytes(r->size), 1);
    banyan_status status =
        body ? banyan_auth_random(&r->number, sizeof r->number, err) : banyan_fail_memory(err);

    r->parent = -1;
    while (!status && !is_complete(r, part))
        attend(r, banyan_clock_ns() + SLICE_NS);
    if (!status) {
        list_members(r);
        hand_on_members(r, body, banyan_roster_write(body, r->number, r->members, r->count));
    }
    banyan_free(body);
    return status;
}

static banyan_status read_members(banyan_reunion *r, const unsigned char *body, size_t bytes,
                                  banyan_error *err)
{
    r->own = -1;
    if (!banyan_roster_read(body, bytes, r->size, &r->number, r->members, &r->count))
        return banyan_fail(err, BANYAN_REMOTE_ERROR, "rank %d sent a list of members that is none",
                           r->parent);
    for (int i = 0; i < r->count; i++)
        r->own = r->members[i] == r->rank ? i : r->own;
    hand_on_members(r, body, bytes);
    return r->own < 0 ? banyan_fail(err, BANYAN_INVALID_USAGE, "rank %d was left out by the others", r->rank)
                      : BANYAN_SUCCESS;
}

/* Nothing follows the members before we have sent our record. */
static banyan_status hear_parent(banyan_reunion *r, int *is_welcome, int *has_members, banyan_error *err)
{
    banyan_channel *up = &r->channels[r->parent];
    banyan_status status = banyan_channel_fill(up, err);
    const unsigned char *body;
    size_t bytes;
    int type;

    while (!*has_members && banyan_channel_next(up, &type, &body, &bytes)) {
        *is_welcome = 1;
        *has_members = type == MEMBERS;
        if (type == MEMBERS)
            return read_members(r, body, bytes, err);
        if (type != WELCOME)
            return banyan_fail(err, BANYAN_REMOTE_ERROR, "rank %d sent rubbish", r->parent);
    }
    return status;
}

static void leave_parent(banyan_reunion *r)
{
    if (r->parent >= 0)
        banyan_channel_fini(&r->channels[r->parent]);
    r->parent = -1;
    memset(r->is_told, 0, (size_t)r->size);
}

static banyan_status await_members(banyan_reunion *r, int64_t welcome_ns, banyan_error *err)
{
    int is_welcome = 0, has_members = 0;
    banyan_status status = BANYAN_SUCCESS;

    while (!status && !has_members) {
        int64_t now_ns = banyan_clock_ns(), until_ns = is_welcome ? r->deadline_ns : welcome_ns;

        if (now_ns >= until_ns)
            return banyan_fail(err, BANYAN_TIMEOUT, "rank %d has not answered in time", r->parent);
        if (banyan_reunion_is_gone(r, r->parent))
            return banyan_fail(err, BANYAN_PEER_LOST, "rank %d is lost", r->parent);
        status = send_changes(r, err);
        if (!status && attend(r, until_ns < now_ns + LOOK_NS ? until_ns : now_ns + LOOK_NS))
            status = hear_parent(r, &is_welcome, &has_members, err);
    }
    return status;
}

banyan_status banyan_reunion_follow(banyan_reunion *r, int parent, int fd, int64_t welcome_ns,
                                    banyan_error *err)
{
    banyan_status status;

    leave_parent(r);
    forget_child(r, parent);
    r->parent = parent;
    banyan_channel_init(&r->channels[parent], fd, LIMIT);
    status = await_members(r, welcome_ns, err);
    if (status)
        leave_parent(r);
    return status;
}

/* ---- Records. */

/* A member has fallen out: the leader goes on without it, and hears of it from the others. */
static banyan_status lose(banyan_reunion *r, int rank, banyan_error *err)
{
    unsigned char body[4];
    char name[60];

    snprintf(name, sizeof name, "while the group shrank, rank %d", rank);
    banyan_error_prefix(err, name);
    if (r->parent < 0) {
        r->is_out[rank] = 1;
    } else {
        banyan_put32(body, (uint32_t)rank);
        send_to(r, r->parent, LOST, body, sizeof body, NULL);
    }
    return BANYAN_PEER_LOST;
}

static banyan_status read_bundle(banyan_reunion *r, const unsigned char *body, size_t bytes,
                                 unsigned char *all, char *has_record, banyan_error *err)
{
    for (size_t i = 0; i < bytes; i += BANYAN_ROSTER_RECORD_BYTES) {
        int member =
            i + BANYAN_ROSTER_RECORD_BYTES <= bytes ? banyan_roster_read_record(body + i, r->count) : -1;

        if (member < 0)
            return banyan_fail(err, BANYAN_REMOTE_ERROR, "it sent rubbish");
        memcpy(all + (size_t)member * BANYAN_RANK_RECORD_BYTES, body + i + 4, BANYAN_RANK_RECORD_BYTES);
        has_record[member] = 1;
    }
    return BANYAN_SUCCESS;
}

static banyan_status take_bundle(banyan_reunion *r, int child, unsigned char *all, char *has_record,
                                 banyan_error *err)
{
    const unsigned char *body = NULL;
    size_t bytes = 0;
    int type = CHANGES; /* that were on their way when we told it who the members are */
    banyan_status status = BANYAN_SUCCESS;

    while (!status && type == CHANGES)
        status = banyan_channel_wait_message(&r->channels[child], r->deadline_ns, &type, &body, &bytes, err);
    if (!status && type == LOST && bytes == 4 && banyan_get32(body) < (uint32_t)r->size) {
        banyan_fail(err, BANYAN_PEER_LOST, "the connection was lost");
        return lose(r, (int)banyan_get32(body), err);
    }
    if (!status)
        status = type == RECORDS ? read_bundle(r, body, bytes, all, has_record, err)
                                 : banyan_fail(err, BANYAN_REMOTE_ERROR, "it sent rubbish");
    if (status == BANYAN_PEER_LOST)
        return lose(r, child, err);
    if (status) {
        char name[60];

        snprintf(name, sizeof name, "while the group shrank, rank %d", child);
        banyan_error_prefix(err, name);
    }
    return status;
}

static banyan_status send_bundle(banyan_reunion *r, const unsigned char *all, const char *has_record,
                                 banyan_error *err)
{
    unsigned char *body = banyan_alloc((size_t)r->count, BANYAN_ROSTER_RECORD_BYTES);
    banyan_status status;
    size_t bytes = 0;

    if (!body)
        return banyan_fail_memory(err);
    for (int i = 0; i < r->count; i++)
        if (has_record[i]) {
            banyan_roster_write_record(body + bytes, i, all + (size_t)i * BANYAN_RANK_RECORD_BYTES);
            bytes += BANYAN_ROSTER_RECORD_BYTES;
        }
    status = send_to(r, r->parent, RECORDS, body, bytes, err);
    banyan_free(body);
    return status;
}

static banyan_status receive_table(banyan_reunion *r, unsigned char *all, banyan_error *err)
{
    const unsigned char *body = NULL;
    size_t bytes = 0;
    int type = 0;
    banyan_status status =
        banyan_channel_wait_message(&r->channels[r->parent], r->deadline_ns, &type, &body, &bytes, err);

    if (!status && (type != TABLE || bytes != (size_t)r->count * BANYAN_RANK_RECORD_BYTES))
        status = banyan_fail(err, BANYAN_REMOTE_ERROR, "rank %d sent rubbish", r->parent);
    if (!status)
        memcpy(all, body, bytes);
    return status;
}

/* A member may have moved from one parent to another while the list was on its way: all go round again. */
static banyan_status check_table(const banyan_reunion *r, const char *has_record, banyan_error *err)
{
    for (int i = 0; i < r->count; i++)
        if (!has_record[i])
            return banyan_fail(err, BANYAN_PEER_LOST, "while the group shrank, rank %d went away",
                               r->members[i]);
    return BANYAN_SUCCESS;
}

/* Where a child is lost now, the new group's control tree misses it; the leader alone may still turn back. */
static banyan_status hand_on_table(banyan_reunion *r, const unsigned char *all, banyan_error *err)
{
    for (int i = 0; i < r->size; i++) {
        banyan_status status = BANYAN_SUCCESS;

        if (is_child(r, i) && has_member(r, i))
            status = send_to(r, i, TABLE, all, (size_t)r->count * BANYAN_RANK_RECORD_BYTES, err);
        if (status && r->parent < 0)
            return status;
    }
    return BANYAN_SUCCESS;
}

banyan_status banyan_reunion_exchange(banyan_reunion *r, const unsigned char mine[BANYAN_RANK_RECORD_BYTES],
                                      unsigned char *all, banyan_error *err)
{
    char *has_record = banyan_alloc((size_t)r->count, 1);
    banyan_status status = has_record ? BANYAN_SUCCESS : banyan_fail_memory(err);

    if (!status) {
        memcpy(all + (size_t)r->own * BANYAN_RANK_RECORD_BYTES, mine, BANYAN_RANK_RECORD_BYTES);
        has_record[r->own] = 1;
    }
    for (int i = 0; i < r->size && !status; i++)
        if (is_child(r, i) && has_member(r, i))
            status = take_bundle(r, i, all, has_record, err);
    if (!status && r->parent < 0)
        status = check_table(r, has_record, err);
    if (!status && r->parent >= 0) {
        status = send_bundle(r, all, has_record, err);
        if (!status)
            status = receive_table(r, all, err);
    }
    if (!status)
        status = hand_on_table(r, all, err);
    banyan_free(has_record);
    return status;
}

/* ---- The end of a round. */

void banyan_reunion_part(banyan_reunion *r)
{
    leave_parent(r);
    for (int i = 0; i < r->size; i++) {
        banyan_channel_fini(&r->channels[i]);
        r->via[i] = -1;
    }
}

void banyan_reunion_send_away(banyan_reunion *r, int has_begun)
{
    int rank, fd;

    for (int i = 0; i < r->size && has_begun; i++)
        if (is_child(r, i) && !has_member(r, i))
            turn_away(r, &r->channels[i]);
    while ((fd = banyan_control_next_joiner(r->control, 0, &rank)) >= 0)
        if (has_begun)
            turn_away_stranger(r, fd);
        else
            close(fd);
}
