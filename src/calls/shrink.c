/* SPDX-License-Identifier: Apache-2.0 */
/* calls/shrink.c: the survivors of a group make a new one.
 *
 * The lowest rank that lives leads. Everybody else connects to its door, which its control thread still
 * keeps:
 *
 *     rank r ── hello (JOIN) ──> leader       when all that are not lost have come, or have been silent for
 *     leader ── MEMBERS ──> all               a whole time-out, or seven tenths of the time have passed
 *     rank r ── CARD ──> leader ── CARDS ──> all
 *
 * Everybody then starts the new control tree, whose root is the leader. It is ready when all members have
 * connected, and nobody returns SUCCESS before.
 *
 * At most one group. From the moment in which a rank may be counted in, just before it starts the tree, it is
 * bound: it takes part in no other group of this communicator, even if this one fails. Until then nothing is
 * lost when a leader or a member falls out, and all go round again. A group that begins has bound all of its
 * members, and two groups that both meet an exclusive rule (bootstrap/quorum.h) share a rank; so there cannot
 * be two, whatever the network does meanwhile. The price: a leader that is lost in that moment leaves ranks
 * that cannot know whether the group has begun, and that have to end.
 *
 * Ranks may differ in whom they know to be lost. One that dials a dead leader finds it dead and takes the
 * next; one that is dialled although it follows another leader lets the caller wait, and the caller comes to
 * the right one when that connection closes.
 *
 * A rank that is slow is not dead: on a crowded machine a living one is now and then silent for long, and a
 * group that took it for dead would fall into two. So a leader that does not answer is given four tenths of
 * the time, unless it has been silent for a whole time-out before; who is given up all the same, and comes in
 * the end, is told that it was left out. Behind a cut there may be many that do not answer: after the first,
 * the next ones are asked all at once whether their hosts take a connection, which kernels do for processes
 * that are slow or stopped, too. */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bootstrap/quorum.h"
#include "bootstrap/store.h"
#include "calls/comm.h"
#include "core/alloc.h"
#include "core/clock.h"
#include "transport/bytes.h"
#include "transport/channel.h"
#include "transport/transport.h"

enum { MEMBERS = 1, CARD, CARDS };
#define SLICE_NS 20000000
#define LEAVE_TO_LEADER 0.4   /* of the time: for a leader to answer, */
#define LEAVE_TO_OTHERS 0.7   /* and for the others to come; the rest is for what follows */
#define LEAVE_TO_REACHED 0.55 /* for another to answer after that, if its host takes connections, */
#define LEAVE_TO_HOSTS 0.05   /* for which there is so much, */
#define FIRST_HOSTS 16        /* of so many ranks at first, then of twice as many */
#define LIMIT ((size_t)BANYAN_TRANSPORT_MAX_MEMBERS * BANYAN_CARD_BYTES)

typedef struct {
    banyan_comm *comm;
    banyan_world *world;
    banyan_control *control;
    int rank, size; /* in the old group */
    int64_t begun_ns, deadline_ns;
    char *is_out;             /* by old rank: excluded or found dead here */
    banyan_channel *channels; /* the leader's, by old rank; a follower's only one is channels[leader] */
    int leader;
    int *members; /* old ranks */
    int count, own;
    uint64_t number; /* the leader's, for the new secret */
    int rule;        /* bootstrap/quorum.h */
    int reached;     /* below it only those are left whose hosts take connections; 0: nobody was asked */
    int is_bound;    /* in this call */
} reunion;

static int is_gone(const reunion *r, int rank)
{
    return r->is_out[rank] || banyan_control_is_lost(r->control, rank);
}

/* Until when this rank may stay away: for that part of our time, or until it has been silent for as long as a
 * call may last. */
static int64_t patience_ns(const reunion *r, int rank, double part)
{
    int64_t whole_ns = r->deadline_ns - r->begun_ns,
            until_ns = r->begun_ns + (int64_t)(part * (double)whole_ns);
    int64_t since_ns = banyan_control_silent_since_ns(r->control, rank);

    return since_ns && since_ns + whole_ns < until_ns ? since_ns + whole_ns : until_ns;
}

static int is_awaited(const reunion *r, int rank)
{
    return rank != r->rank && !is_gone(r, rank) && r->channels[rank].fd < 0 &&
           banyan_clock_ns() < patience_ns(r, rank, LEAVE_TO_OTHERS);
}

static int is_complete(const reunion *r)
{
    for (int i = 0; i < r->size; i++)
        if (is_awaited(r, i))
            return 0;
    return 1;
}

/* A list without the one that gets it. */
static void turn_away(const reunion *r, int fd)
{
    unsigned char body[12];
    banyan_channel channel;

    banyan_channel_init(&channel, fd, LIMIT);
    banyan_put64(body, 0);
    banyan_put32(body + 8, (uint32_t)r->rank);
    if (!banyan_channel_put(&channel, MEMBERS, body, sizeof body, NULL))
        banyan_channel_send_all(&channel, banyan_clock_ns() + SLICE_NS, NULL);
    banyan_channel_fini(&channel);
}

/* Who came to us when we were on our way without it is told so; if we are not, it may find another leader. */
static void send_away_late(const reunion *r, int has_begun)
{
    int rank, fd;

    while ((fd = banyan_control_next_joiner(r->control, 0, &rank)) >= 0)
        if (has_begun)
            turn_away(r, fd);
        else
            close(fd);
}

/* Whether the members may go on without the others. */
static banyan_status check_quorum(const reunion *r, banyan_error *err)
{
    char ranks[120], why[360];
    char *is_member;

    if (banyan_quorum_is_met(r->rule, r->count, r->size, r->members[0] == 0))
        return BANYAN_SUCCESS;
    is_member = banyan_alloc((size_t)r->size, 1);
    if (!is_member)
        return banyan_fail_memory(err);
    for (int i = 0; i < r->count; i++)
        is_member[r->members[i]] = 1;
    banyan_fail(err, BANYAN_TOO_FEW_RANKS, "rank%s %s cannot go on: %s", r->count > 1 ? "s" : "",
                banyan_ranks_format(is_member, r->size, ranks, sizeof ranks),
                banyan_quorum_explain(r->rule, r->count, r->size, why, sizeof why));
    banyan_free(is_member);
    return BANYAN_TOO_FEW_RANKS;
}

static void welcome(reunion *r, int rank, int fd)
{
    if (rank < 0 || rank >= r->size || rank == r->rank || r->is_out[rank]) {
        turn_away(r, fd);
        return;
    }
    banyan_channel_fini(&r->channels[rank]);
    banyan_channel_init(&r->channels[rank], fd, LIMIT);
}

static void list_members(reunion *r)
{
    r->count = 0;
    for (int i = 0; i < r->size; i++)
        if (i == r->rank || r->channels[i].fd >= 0) {
            r->own = i == r->rank ? r->count : r->own;
            r->members[r->count++] = i;
        }
}

/* Leading: waits for the others, and tells them who they are. */
static banyan_status lead(reunion *r, banyan_error *err)
{
    unsigned char *body = banyan_alloc((size_t)r->size + 3, 4);
    banyan_status status =
        body ? banyan_auth_random(&r->number, sizeof r->number, err) : banyan_fail_memory(err);

    while (!status && !is_complete(r)) {
        int rank, fd = banyan_control_next_joiner(r->control, banyan_clock_ns() + SLICE_NS, &rank);

        if (fd >= 0)
            welcome(r, rank, fd);
    }
    if (!status) {
        list_members(r);
        banyan_put64(body, r->number);
        for (int i = 0; i < r->count; i++)
            banyan_put32(body + 8 + 4 * i, (uint32_t)r->members[i]);
    }
    for (int i = 0; i < r->count && !status; i++)
        if (i != r->own) {
            banyan_channel *channel = &r->channels[r->members[i]];

            status = banyan_channel_put(channel, MEMBERS, body, 8 + 4 * (size_t)r->count, err);
            if (!status)
                status = banyan_channel_send_all(channel, r->deadline_ns, err);
        }
    banyan_free(body);
    return status;
}

static banyan_status read_members(reunion *r, const unsigned char *body, size_t bytes, banyan_error *err)
{
    size_t count = bytes >= 12 ? (bytes - 8) / 4 : 0;

    r->own = -1;
    if (!count || count > (size_t)r->size)
        return banyan_fail(err, BANYAN_REMOTE_ERROR, "rank %d sent a list of members that is none",
                           r->leader);
    r->number = banyan_get64(body);
    r->count = (int)count;
    for (int i = 0; i < r->count; i++) {
        r->members[i] = (int)banyan_get32(body + 8 + 4 * i);
        if (r->members[i] < 0 || r->members[i] >= r->size || (i && r->members[i] <= r->members[i - 1]))
            return banyan_fail(err, BANYAN_REMOTE_ERROR, "rank %d sent a list of members that is none",
                               r->leader);
        r->own = r->members[i] == r->rank ? i : r->own;
    }
    return r->own < 0 ? banyan_fail(err, BANYAN_INVALID_USAGE, "rank %d was left out by the others", r->rank)
                      : BANYAN_SUCCESS;
}

/* Its door was open before the group began, so a connection that is refused (SYSTEM_ERROR) means that it has
 * gone. One that ends in between may have taken us too long, and is tried again. */
static banyan_status dial_leader(reunion *r, int leader, int *fd, banyan_error *err)
{
    const banyan_card *card = &banyan_world_cards(r->world)[leader];
    banyan_hello hello = {BANYAN_PROTOCOL, BANYAN_HELLO_JOIN, r->rank, banyan_world_size(r->world), 0, 1};
    int64_t now_ns = banyan_clock_ns(), least_ns = now_ns + (r->deadline_ns - now_ns) / 8;
    int64_t until_ns = patience_ns(r, leader, r->reached ? LEAVE_TO_REACHED : LEAVE_TO_LEADER);
    struct timespec pause = {.tv_nsec = SLICE_NS};
    banyan_secret secret;
    banyan_status status;
    char name[40];

    until_ns = until_ns > least_ns ? until_ns : least_ns;
    snprintf(name, sizeof name, "rank %d", leader);
    banyan_world_copy_secret(r->world, &secret);
    for (;;) {
        status = banyan_dial_once(&card->address, &secret, &hello, name, until_ns, fd, err);
        if ((status != BANYAN_PEER_LOST && status != BANYAN_MISMATCH) || is_gone(r, leader) ||
            banyan_clock_ns() + SLICE_NS >= until_ns)
            break;
        nanosleep(&pause, NULL);
    }
    banyan_auth_forget(&secret, sizeof secret);
    return status == BANYAN_SYSTEM_ERROR ? BANYAN_PEER_LOST : status;
}

/* Following: PEER_LOST and TIMEOUT mean that this is not the leader. */
static banyan_status follow(reunion *r, int leader, banyan_error *err)
{
    const unsigned char *body = NULL;
    size_t bytes = 0;
    int fd, type = 0;
    banyan_status status = dial_leader(r, leader, &fd, err);

    if (status)
        return status;
    r->leader = leader;
    banyan_channel_init(&r->channels[leader], fd, LIMIT);
    status = banyan_channel_wait_message(&r->channels[leader], r->deadline_ns, &type, &body, &bytes, err);
    if (!status && type != MEMBERS)
        status = banyan_fail(err, BANYAN_REMOTE_ERROR, "rank %d sent rubbish", leader);
    if (!status)
        status = read_members(r, body, bytes, err);
    if (status)
        banyan_channel_fini(&r->channels[leader]);
    return status;
}

/* Marks who of the ranks in looks[] cannot be connected to until the deadline; returns how many can. */
static int await_hosts(reunion *r, struct pollfd *looks, const int *ranks, int count, int64_t deadline_ns)
{
    int open = count, reachable = 0;

    while (open > 0) {
        int64_t left_ns = deadline_ns - banyan_clock_ns();

        if (left_ns <= 0 || poll(looks, (nfds_t)count, (int)(left_ns / 1000000 + 1)) <= 0)
            break;
        for (int i = 0; i < count; i++)
            if (looks[i].fd >= 0 && looks[i].revents) {
                int is_there = !banyan_socket_connected(
                    looks[i].fd, &banyan_world_cards(r->world)[ranks[i]].address, NULL);

                r->is_out[ranks[i]] = !is_there;
                reachable += is_there;
                close(looks[i].fd);
                looks[i].fd = -1;
                open--;
            }
    }
    for (int i = 0; i < count; i++)
        if (looks[i].fd >= 0) {
            r->is_out[ranks[i]] = 1;
            close(looks[i].fd);
        }
    return reachable;
}

/* Goes on behind those that were asked already, until one can be reached or none is left below us. */
static banyan_status reach_hosts(reunion *r, banyan_error *err)
{
    int64_t part_ns = (int64_t)(LEAVE_TO_HOSTS * (double)(r->deadline_ns - r->begun_ns));
    struct pollfd *looks = banyan_alloc((size_t)r->size, sizeof *looks);
    int *ranks = banyan_alloc((size_t)r->size, sizeof *ranks), found = 0;
    banyan_status status = looks && ranks ? BANYAN_SUCCESS : banyan_fail_memory(err);

    for (int most = FIRST_HOSTS; !status && !found && r->reached < r->rank; most *= 2) {
        int count = 0;

        for (; r->reached < r->rank && count < most; r->reached++) {
            int fd, rank = r->reached;

            if (is_gone(r, rank))
                continue;
            if (banyan_socket_connect(&banyan_world_cards(r->world)[rank].address, NULL, &fd, NULL)) {
                r->is_out[rank] = 1;
                continue;
            }
            looks[count] = (struct pollfd){.fd = fd, .events = POLLOUT};
            ranks[count++] = rank;
        }
        found = await_hosts(r, looks, ranks, count, banyan_clock_ns() + part_ns);
    }
    banyan_free(looks);
    banyan_free(ranks);
    return status;
}

static int find_lowest(const reunion *r)
{
    int rank = 0;

    while (rank < r->rank && is_gone(r, rank))
        rank++;
    return rank;
}

static banyan_status find_leader(reunion *r, banyan_error *err)
{
    banyan_status status = BANYAN_TIMEOUT;

    while (banyan_clock_ns() < r->deadline_ns) {
        int candidate = find_lowest(r);

        if (r->reached && candidate >= r->reached && candidate < r->rank) {
            status = reach_hosts(r, err);
            if (status)
                return status;
            candidate = find_lowest(r);
        }
        if (candidate == r->rank) {
            r->leader = r->rank;
            return lead(r, err);
        }
        status = follow(r, candidate, err);
        if (status != BANYAN_PEER_LOST && status != BANYAN_TIMEOUT && status != BANYAN_MISMATCH)
            return status;
        r->is_out[candidate] = 1;
        if (status == BANYAN_TIMEOUT && !r->reached)
            r->reached = candidate + 1;
    }
    /* No time is left: we are as good as alone. */
    r->members[0] = r->rank;
    r->count = 1;
    return check_quorum(r, err) ? BANYAN_TOO_FEW_RANKS : status;
}

static banyan_status collect_cards(reunion *r, const banyan_card *mine, unsigned char *all, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    banyan_card_write(mine, all + (size_t)r->own * BANYAN_CARD_BYTES);
    for (int i = 0; i < r->count && !status; i++) {
        const unsigned char *body = NULL;
        size_t bytes = 0;
        int type = 0;

        if (i == r->own)
            continue;
        status = banyan_channel_wait_message(&r->channels[r->members[i]], r->deadline_ns, &type, &body,
                                             &bytes, err);
        if (!status && (type != CARD || bytes != BANYAN_CARD_BYTES))
            status = banyan_fail(err, BANYAN_REMOTE_ERROR, "it sent rubbish");
        if (status == BANYAN_PEER_LOST)
            r->is_out[r->members[i]] = 1;
        if (status && err) {
            char name[60];

            snprintf(name, sizeof name, "while the group shrank, rank %d", r->members[i]);
            banyan_error_prefix(err, name);
        }
        if (!status)
            memcpy(all + (size_t)i * BANYAN_CARD_BYTES, body, BANYAN_CARD_BYTES);
    }
    for (int i = 0; i < r->count && !status; i++)
        if (i != r->own) {
            banyan_channel *channel = &r->channels[r->members[i]];

            status = banyan_channel_put(channel, CARDS, all, (size_t)r->count * BANYAN_CARD_BYTES, err);
            if (!status)
                status = banyan_channel_send_all(channel, r->deadline_ns, err);
        }
    return status;
}

static banyan_status send_card(reunion *r, const banyan_card *mine, unsigned char *all, banyan_error *err)
{
    banyan_channel *channel = &r->channels[r->leader];
    unsigned char card[BANYAN_CARD_BYTES];
    const unsigned char *body = NULL;
    size_t bytes = 0;
    int type = 0;
    banyan_status status;

    banyan_card_write(mine, card);
    status = banyan_channel_put(channel, CARD, card, sizeof card, err);
    if (!status)
        status = banyan_channel_send_all(channel, r->deadline_ns, err);
    if (!status)
        status = banyan_channel_wait_message(channel, r->deadline_ns, &type, &body, &bytes, err);
    if (!status && (type != CARDS || bytes != (size_t)r->count * BANYAN_CARD_BYTES))
        status = banyan_fail(err, BANYAN_REMOTE_ERROR, "rank %d sent rubbish", r->leader);
    if (!status)
        memcpy(all, body, bytes);
    return status;
}

static banyan_status meet(void *context, banyan_world *world, banyan_card *mine, banyan_card *cards,
                          banyan_error *err)
{
    reunion *r = context;
    unsigned char *all = banyan_alloc((size_t)r->count, BANYAN_CARD_BYTES);
    banyan_status status =
        all ? banyan_world_ready(world, &banyan_world_cards(r->world)[r->rank].address, mine, err)
            : banyan_fail_memory(err);

    if (!status)
        status = r->leader == r->rank ? collect_cards(r, mine, all, err) : send_card(r, mine, all, err);
    for (int i = 0; i < r->count && !status; i++)
        status = banyan_card_read(all + (size_t)i * BANYAN_CARD_BYTES, &cards[i], err);
    banyan_free(all);
    return status;
}

static banyan_status create_child(reunion *r, const banyan_config *config, banyan_comm **out)
{
    banyan_comm *comm = r->comm;
    banyan_world_options options = {.rank = r->own,
                                    .size = r->count,
                                    .old_rank = r->rank,
                                    .meeting = {r, meet},
                                    .is_bound = &r->is_bound};
    banyan_secret secret;
    banyan_setup setup = {0};
    banyan_world *world = NULL;
    banyan_status status =
        banyan_setup_inherit(&setup, &comm->group->setup, config, r->members, r->count, &comm->err);

    if (status)
        return status;
    banyan_world_derive_secret(r->world, "shrink", r->number, &secret);
    options.secret = &secret;
    status = banyan_world_create(&options, &setup, &world, &comm->err);
    banyan_auth_forget(&secret, sizeof secret);
    if (!status)
        return banyan_comm_wrap(&setup, world, out, &comm->err);
    banyan_setup_fini(&setup);
    return status;
}

static banyan_status init_reunion(reunion *r, banyan_comm *comm, const int *exclude, int exclude_count)
{
    *r = (reunion){.comm = comm,
                   .world = comm->group->world,
                   .control = banyan_world_control(comm->group->world),
                   .rank = comm->rank,
                   .size = comm->group->setup.size,
                   .begun_ns = banyan_clock_ns()};
    r->deadline_ns = r->begun_ns + (int64_t)comm->group->setup.timeout_ms * 1000000;
    r->is_out = banyan_alloc((size_t)r->size, 1);
    r->members = banyan_alloc((size_t)r->size, sizeof *r->members);
    r->channels = banyan_alloc((size_t)r->size, sizeof *r->channels);
    if (!r->is_out || !r->members || !r->channels)
        return banyan_fail_memory(&comm->err);
    for (int i = 0; i < r->size; i++)
        r->channels[i].fd = -1;
    for (int i = 0; i < exclude_count; i++) {
        if (exclude[i] < 0 || exclude[i] >= r->size || exclude[i] == r->rank)
            return banyan_fail(&comm->err, BANYAN_INVALID_ARGUMENT, "rank %d of %d cannot exclude rank %d",
                               r->rank, r->size, exclude[i]);
        r->is_out[exclude[i]] = 1;
    }
    return BANYAN_SUCCESS;
}

static void close_channels(reunion *r)
{
    for (int i = 0; r->channels && i < r->size; i++)
        banyan_channel_fini(&r->channels[i]);
}

static void fini_reunion(reunion *r)
{
    close_channels(r);
    banyan_free(r->channels);
    banyan_free(r->is_out);
    banyan_free(r->members);
}

/* A leader or a member that falls out before we are bound only costs time. */
static int is_worth_another(const reunion *r, banyan_status status)
{
    return status == BANYAN_PEER_LOST && !r->is_bound &&
           banyan_clock_ns() <
               r->begun_ns + (int64_t)(LEAVE_TO_OTHERS * (double)(r->deadline_ns - r->begun_ns));
}

static banyan_status reunite(reunion *r, const banyan_config *config, banyan_comm **out)
{
    banyan_error *err = &r->comm->err;
    banyan_status status;

    do {
        close_channels(r);
        status = find_leader(r, err);
        if (!status)
            status = check_quorum(r, err);
        if (!status)
            status = create_child(r, config, out);
    } while (is_worth_another(r, status));
    r->comm->is_bound |= r->is_bound;
    if (status && r->is_bound)
        banyan_error_prefix(
            err, "the ranks have agreed on a new group, which did not begin here; restart the job");
    send_away_late(r, !status);
    return status;
}

/* Who may be in one group already must not be in another. */
static banyan_status check_unbound(const reunion *r, banyan_error *err)
{
    char name[BANYAN_QUORUM_TEXT];

    if (!r->comm->is_bound || !banyan_quorum_is_exclusive(r->rule, r->size))
        return BANYAN_SUCCESS;
    return banyan_fail(
        err, BANYAN_INVALID_USAGE,
        "rank %d has agreed to a group that this communicator shrank to, and with BANYAN_SHRINK=%s it "
        "takes part in one at most; shrink that group, or restart the job",
        r->rank, banyan_quorum_format(r->rule, name));
}

static banyan_status shrink(banyan_comm *comm, const int *exclude, int exclude_count,
                            const banyan_config *config, banyan_comm **out)
{
    reunion r;
    banyan_status status;

    if (!comm->group->world)
        return banyan_fail(
            &comm->err, BANYAN_UNSUPPORTED,
            "ranks that are threads of one process make a new group with banyan_comm_init_all");
    status = init_reunion(&r, comm, exclude, exclude_count);
    if (!status)
        status = banyan_setup_quorum(&comm->group->setup, config, &r.rule, &comm->err);
    if (!status)
        status = check_unbound(&r, &comm->err);
    if (!status)
        status = reunite(&r, config, out);
    fini_reunion(&r);
    return status;
}

banyan_status banyan_comm_shrink(banyan_comm *comm, const int *exclude, int exclude_count, banyan_comm **out,
                                 const banyan_config *config)
{
    banyan_status status;

    if (!comm || !out || exclude_count < 0 || (exclude_count && !exclude))
        return BANYAN_INVALID_ARGUMENT;
    *out = NULL;
    pthread_mutex_lock(&comm->lock);
    status = shrink(comm, exclude, exclude_count, config, out);
    if (status)
        banyan_comm_report(config, &comm->err);
    pthread_mutex_unlock(&comm->lock);
    return status;
}
