/* SPDX-License-Identifier: Apache-2.0 */
/* calls/shrink.c: the survivors of a group make a new one.
 *
 * The lowest rank that lives leads. Everybody else connects to its parent in a tree of survivors, at the
 * listener that the parent's control thread still keeps, and is welcome there when the parent shrinks, too.
 * When all that are not lost have come, or have been silent for a whole time-out, or seven tenths of the time
 * have passed, the leader says who is in the group, and records are exchanged along the same tree
 * (calls/reunion.h).
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
 * Ranks may differ in whom they know to be lost, and so in who their parent is. Parents have lower ranks than
 * their children, so there is no cycle. One that dials a dead parent finds it dead and takes the next; one
 * that is dialled passes on who has come to it, whoever its own parent is.
 *
 * A rank that is slow is not dead: on a crowded machine a living one is now and then silent for long, and a
 * group that took it for dead would fall into two. So a leader that does not answer is given four tenths of
 * the time, unless it has been silent for a whole time-out before; who is given up all the same, and comes in
 * the end, is told that it was left out. A parent that does not lead gets half of that, then its children go
 * to the leader themselves. Behind a cut there may be many that do not answer: after the first, the lowest
 * ones are asked all at once whether their hosts take a connection, which kernels do for processes that are
 * slow or stopped, too. */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bootstrap/quorum.h"
#include "bootstrap/store.h"
#include "bootstrap/tree.h"
#include "calls/comm.h"
#include "calls/reunion.h"
#include "core/alloc.h"
#include "core/clock.h"

#define SLICE_NS 20000000
#define LEAVE_TO_LEADER 0.4   /* of the time: for a leader to answer, */
#define LEAVE_TO_PARENT 0.2   /* for another parent, */
#define LEAVE_TO_OTHERS 0.7   /* and for the others to come; the rest is for what follows */
#define LEAVE_TO_REACHED 0.55 /* for another to answer after that, if its host takes connections, */
#define LEAVE_TO_HOSTS 0.05   /* for which there is that much, */
#define FIRST_HOSTS 16        /* of that many ranks at first, then of twice as many */

typedef struct {
    banyan_comm *comm;
    banyan_world *world;
    banyan_reunion tree;
    int rule;      /* bootstrap/quorum.h */
    int reached;   /* below it only those are left whose hosts take connections; -1: nobody was asked */
    int is_direct; /* a parent does not shrink: we go to the leader */
    int is_bound;  /* in this call */
} shrinking;

/* Whether the members may go on without the others. */
static banyan_status check_quorum(const shrinking *s, banyan_error *err)
{
    const banyan_reunion *t = &s->tree;
    char ranks[120], why[360];
    char *is_member;

    if (banyan_quorum_is_met(s->rule, t->count, t->size, t->members[0] == 0))
        return BANYAN_SUCCESS;
    is_member = banyan_alloc((size_t)t->size, 1);
    if (!is_member)
        return banyan_fail_memory(err);
    for (int i = 0; i < t->count; i++)
        is_member[t->members[i]] = 1;
    banyan_fail(err, BANYAN_TOO_FEW_RANKS, "rank%s %s cannot go on: %s", t->count > 1 ? "s" : "",
                banyan_ranks_format(is_member, t->size, ranks, sizeof ranks),
                banyan_quorum_explain(s->rule, t->count, t->size, why, sizeof why));
    banyan_free(is_member);
    return BANYAN_TOO_FEW_RANKS;
}

/* It listened before the group began, so a connection that is refused (SYSTEM_ERROR) means that it has
 * gone. One that ends in between may have taken us too long, and is tried again. */
static banyan_status dial(shrinking *s, int rank, int64_t until_ns, int *fd, banyan_error *err)
{
    const banyan_rank_record *record = &banyan_world_records(s->world)[rank];
    banyan_hello hello = {
        BANYAN_PROTOCOL, BANYAN_HELLO_JOIN, s->tree.rank, banyan_world_size(s->world), 0, 1};
    struct timespec pause = {.tv_nsec = SLICE_NS};
    banyan_secret secret;
    banyan_status status;
    char name[40];

    snprintf(name, sizeof name, "rank %d", rank);
    banyan_world_copy_secret(s->world, &secret);
    for (;;) {
        status = banyan_dial_once(&record->address, &secret, &hello, name, until_ns, fd, err);
        if ((status != BANYAN_PEER_LOST && status != BANYAN_MISMATCH) ||
            banyan_reunion_is_gone(&s->tree, rank) || banyan_clock_ns() + SLICE_NS >= until_ns)
            break;
        nanosleep(&pause, NULL);
    }
    banyan_auth_forget(&secret, sizeof secret);
    return status == BANYAN_SYSTEM_ERROR ? BANYAN_PEER_LOST : status;
}

/* PEER_LOST and TIMEOUT mean that this is not our parent. Who would lead may shrink as late as it likes. */
static banyan_status follow(shrinking *s, int parent, int leads, banyan_error *err)
{
    banyan_reunion *t = &s->tree;
    int64_t now_ns = banyan_clock_ns(), least_ns = now_ns + (t->deadline_ns - now_ns) / 8;
    int64_t until_ns = banyan_reunion_patience_ns(t, parent,
                                                  !leads            ? LEAVE_TO_PARENT
                                                  : s->reached >= 0 ? LEAVE_TO_REACHED
                                                                    : LEAVE_TO_LEADER);
    int fd;
    banyan_status status;

    until_ns = until_ns > least_ns ? until_ns : least_ns;
    status = dial(s, parent, until_ns, &fd, err);
    if (status == BANYAN_TIMEOUT && s->reached < 0)
        s->reached = 0;
    if (status)
        return status;
    status = banyan_reunion_follow(t, parent, fd, leads ? t->deadline_ns : until_ns, err);
    s->is_direct |= status == BANYAN_TIMEOUT;
    return status;
}

/* Marks who of the ranks in looks[] cannot be connected to until the deadline; returns how many can. */
static int await_hosts(shrinking *s, struct pollfd *looks, const int *ranks, int count, int64_t deadline_ns)
{
    int open = count, reachable = 0;

    while (open > 0) {
        int64_t left_ns = deadline_ns - banyan_clock_ns();

        if (left_ns <= 0 || poll(looks, (nfds_t)count, (int)(left_ns / 1000000 + 1)) <= 0)
            break;
        for (int i = 0; i < count; i++)
            if (looks[i].fd >= 0 && looks[i].revents) {
                int is_there = !banyan_socket_connected(
                    looks[i].fd, &banyan_world_records(s->world)[ranks[i]].address, NULL);

                s->tree.is_out[ranks[i]] = !is_there;
                reachable += is_there;
                close(looks[i].fd);
                looks[i].fd = -1;
                open--;
            }
    }
    for (int i = 0; i < count; i++)
        if (looks[i].fd >= 0) {
            s->tree.is_out[ranks[i]] = 1;
            close(looks[i].fd);
        }
    return reachable;
}

/* Goes on behind those that were asked already, until one can be reached or none is left below us. */
static banyan_status reach_hosts(shrinking *s, banyan_error *err)
{
    int64_t part_ns = (int64_t)(LEAVE_TO_HOSTS * (double)(s->tree.deadline_ns - s->tree.begun_ns));
    struct pollfd *looks = banyan_alloc((size_t)s->tree.size, sizeof *looks);
    int *ranks = banyan_alloc((size_t)s->tree.size, sizeof *ranks), found = 0;
    banyan_status status = looks && ranks ? BANYAN_SUCCESS : banyan_fail_memory(err);

    for (int most = FIRST_HOSTS; !status && !found && s->reached < s->tree.rank; most *= 2) {
        int count = 0;

        for (; s->reached < s->tree.rank && count < most; s->reached++) {
            int fd, rank = s->reached;

            if (banyan_reunion_is_gone(&s->tree, rank))
                continue;
            if (banyan_socket_connect(&banyan_world_records(s->world)[rank].address, NULL, &fd, NULL)) {
                s->tree.is_out[rank] = 1;
                continue;
            }
            looks[count] = (struct pollfd){.fd = fd, .events = POLLOUT};
            ranks[count++] = rank;
        }
        found = await_hosts(s, looks, ranks, count, banyan_clock_ns() + part_ns);
    }
    banyan_free(looks);
    banyan_free(ranks);
    return status;
}

/* -1: nobody is left below us that we know of. Those that were not asked yet, after others were, do not
 * count. */
static int find_parent(const shrinking *s, int *leads)
{
    int fanout = banyan_world_records(s->world)[s->tree.rank].fanout;
    int limit = s->reached < 0 ? s->tree.rank : s->reached, count = 0, place, rank = -1;

    for (int i = 0; i < limit; i++)
        count += !banyan_reunion_is_gone(&s->tree, i);
    place = count && !s->is_direct ? banyan_tree_parent(fanout, count) : 0;
    *leads = place == 0;
    for (int i = 0; i < limit && count && place >= 0; i++)
        if (!banyan_reunion_is_gone(&s->tree, i) && place-- == 0)
            rank = i;
    return rank;
}

static banyan_status find_group(shrinking *s, banyan_error *err)
{
    banyan_reunion *t = &s->tree;
    banyan_status status = BANYAN_TIMEOUT;

    while (banyan_clock_ns() < t->deadline_ns) {
        int leads, parent = find_parent(s, &leads);

        if (parent < 0 && s->reached >= 0 && s->reached < t->rank) {
            status = reach_hosts(s, err);
            if (status)
                return status;
            parent = find_parent(s, &leads);
        }
        if (parent < 0)
            return banyan_reunion_lead(t, LEAVE_TO_OTHERS, err);
        status = follow(s, parent, leads, err);
        if (status != BANYAN_PEER_LOST && status != BANYAN_TIMEOUT && status != BANYAN_MISMATCH)
            return status;
        t->is_out[parent] = 1;
    }
    /* No time is left: we are as good as alone. */
    t->members[0] = t->rank;
    t->count = 1;
    return check_quorum(s, err) ? BANYAN_TOO_FEW_RANKS : status;
}

static banyan_status meet(void *context, banyan_world *world, banyan_rank_record *mine,
                          banyan_rank_record *records, banyan_error *err)
{
    shrinking *s = context;
    banyan_reunion *t = &s->tree;
    unsigned char *all = banyan_alloc((size_t)t->count, BANYAN_RANK_RECORD_BYTES),
                  record[BANYAN_RANK_RECORD_BYTES];
    banyan_status status =
        all ? banyan_world_ready(world, &banyan_world_records(s->world)[t->rank].address, mine, err)
            : banyan_fail_memory(err);

    if (!status) {
        banyan_rank_record_write(mine, record);
        status = banyan_reunion_exchange(t, record, all, err);
    }
    for (int i = 0; i < t->count && !status; i++)
        status = banyan_rank_record_read(all + (size_t)i * BANYAN_RANK_RECORD_BYTES, &records[i], err);
    banyan_free(all);
    return status;
}

static banyan_status create_child(shrinking *s, const banyan_config *config, banyan_comm **out)
{
    banyan_comm *comm = s->comm;
    banyan_world_options options = {.rank = s->tree.own,
                                    .size = s->tree.count,
                                    .old_rank = s->tree.rank,
                                    .meeting = {s, meet},
                                    .is_bound = &s->is_bound};
    banyan_secret secret;
    banyan_setup setup = {0};
    banyan_world *world = NULL;
    banyan_status status =
        banyan_setup_inherit(&setup, &comm->group->setup, config, s->tree.members, s->tree.count, &comm->err);

    if (status)
        return status;
    banyan_world_derive_secret(s->world, "shrink", s->tree.number, &secret);
    options.secret = &secret;
    status = banyan_world_create(&options, &setup, &world, &comm->err);
    banyan_auth_forget(&secret, sizeof secret);
    if (!status)
        return banyan_comm_wrap(&setup, world, out, &comm->err);
    banyan_setup_fini(&setup);
    return status;
}

static banyan_status init(shrinking *s, banyan_comm *comm, const int *exclude, int exclude_count)
{
    banyan_reunion *t = &s->tree;
    banyan_status status;

    *s = (shrinking){.comm = comm, .world = comm->group->world, .reached = -1};
    status = banyan_reunion_init(t, banyan_world_control(s->world), comm->rank, comm->group->setup.size,
                                 &comm->err);
    if (status)
        return status;
    t->begun_ns = banyan_clock_ns();
    t->deadline_ns = t->begun_ns + (int64_t)comm->group->setup.timeout_ms * 1000000;
    for (int i = 0; i < exclude_count; i++) {
        if (exclude[i] < 0 || exclude[i] >= t->size || exclude[i] == t->rank)
            return banyan_fail(&comm->err, BANYAN_INVALID_ARGUMENT, "rank %d of %d cannot exclude rank %d",
                               t->rank, t->size, exclude[i]);
        t->is_out[exclude[i]] = 1;
    }
    return BANYAN_SUCCESS;
}

/* A leader or a member that falls out before we are bound only costs time. */
static int is_worth_another(const shrinking *s, banyan_status status)
{
    return status == BANYAN_PEER_LOST && !s->is_bound &&
           banyan_clock_ns() < s->tree.begun_ns + (int64_t)(LEAVE_TO_OTHERS *
                                                            (double)(s->tree.deadline_ns - s->tree.begun_ns));
}

static banyan_status reunite(shrinking *s, const banyan_config *config, banyan_comm **out)
{
    banyan_error *err = &s->comm->err;
    banyan_status status;

    do {
        banyan_reunion_part(&s->tree);
        status = find_group(s, err);
        if (!status)
            status = check_quorum(s, err);
        if (!status)
            status = create_child(s, config, out);
    } while (is_worth_another(s, status));
    s->comm->is_bound |= s->is_bound;
    if (status && s->is_bound)
        banyan_error_prefix(
            err, "the ranks have agreed on a new group, which did not begin here; restart the job");
    banyan_reunion_send_away(&s->tree, !status);
    return status;
}

/* Who may be in one group already must not be in another. */
static banyan_status check_unbound(const shrinking *s, banyan_error *err)
{
    char name[BANYAN_QUORUM_TEXT];

    if (!s->comm->is_bound || !banyan_quorum_is_exclusive(s->rule, s->tree.size))
        return BANYAN_SUCCESS;
    return banyan_fail(
        err, BANYAN_INVALID_USAGE,
        "rank %d has agreed to a group that this communicator shrank to, and with BANYAN_SHRINK=%s it "
        "takes part in one at most; shrink that group, or restart the job",
        s->tree.rank, banyan_quorum_format(s->rule, name));
}

static banyan_status shrink(banyan_comm *comm, const int *exclude, int exclude_count,
                            const banyan_config *config, banyan_comm **out)
{
    shrinking s;
    banyan_status status;

    if (!comm->group->world)
        return banyan_fail(
            &comm->err, BANYAN_UNSUPPORTED,
            "ranks that are threads of one process make a new group with banyan_comm_init_all");
    status = init(&s, comm, exclude, exclude_count);
    if (!status)
        status = banyan_setup_quorum(&comm->group->setup, config, &s.rule, &comm->err);
    if (!status)
        status = check_unbound(&s, &comm->err);
    if (!status)
        status = reunite(&s, config, out);
    banyan_reunion_fini(&s.tree);
    return status;
}

banyan_status banyan_comm_shrink(banyan_comm *comm, const int *exclude, int exclude_count, banyan_comm **out,
                                 const banyan_config *config)
{
    banyan_status status;

    if (!comm || !out || exclude_count < 0 || (exclude_count && !exclude))
        return BANYAN_INVALID_ARGUMENT;
    *out = NULL;
    banyan_comm_lock_in_turn(comm);
    status = shrink(comm, exclude, exclude_count, config, out);
    if (status)
        banyan_comm_report(config, &comm->err);
    pthread_mutex_unlock(&comm->lock);
    return status;
}
