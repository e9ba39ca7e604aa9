/* SPDX-License-Identifier: Apache-2.0 */
/* transport/shm_news.c: how members of the shm transport wake each other, learn of the end, and find the
 * dead.
 *
 * Everybody has mapped everybody's header. To signal is to count up the waiter's event and, only when it
 * sleeps, to wake it: by futex, or through a pipe when it sleeps in poll. An abort is written into the own
 * header and then made known by one compare-and-swap in the first member's, so a process that dies half way
 * leaves nothing half done. The dead are found by those who wait for them: every 100 ms of waiting a member
 * asks the kernel, through pidfds, who of its plans' peers has ended, and tells all; nobody sends
 * heartbeats. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/clock.h"
#include "transport/shm_endpoint.h"
#include "transport/socket.h"

#define CHECK_NS INT64_C(100000000)

static shm_endpoint *own(banyan_endpoint *base)
{
    return (shm_endpoint *)base;
}

const char *banyan_shm_member_name(const shm_endpoint *endpoint, int member, char *buffer, size_t size)
{
    const shm_peer *peer = &endpoint->peers[member];

    if (peer->rank >= 0)
        snprintf(buffer, size, "rank %d (process %d)", peer->rank, (int)peer->segment.pid);
    else
        snprintf(buffer, size, "relay node %d (process %d)", member, (int)peer->segment.pid);
    return buffer;
}

static shm_header *header_of(const shm_endpoint *endpoint, int member)
{
    return member == endpoint->base.member ? endpoint->own.header : endpoint->peers[member].segment.header;
}

/* Any thread may come here, so the descriptor is opened twice rather than under a lock. */
static void knock(shm_endpoint *endpoint, int member)
{
    shm_peer *peer = &endpoint->peers[member];
    shm_header *header = header_of(endpoint, member);
    int fd = atomic_load(&peer->knock_fd) - 1, none = 0;

    if (fd < 0) {
        pid_t pid = member == endpoint->base.member ? getpid() : peer->segment.pid;

        /* Also for reading: where we are the last to have it, a write must not raise SIGPIPE. */
        fd = banyan_shm_open_descriptor(pid, header->knock_fd, O_RDWR | O_NONBLOCK);
        if (fd < 0)
            return; /* it has ended; it looks by itself every 100 ms if it has not */
        if (!atomic_compare_exchange_strong(&peer->knock_fd, &none, fd + 1)) {
            close(fd);
            fd = none - 1;
        }
    }
    if (write(fd, "", 1) < 0)
        return; /* full: it is awake already */
}

static void ring_member(shm_endpoint *endpoint, int member)
{
    shm_header *header = header_of(endpoint, member);

    if (!header)
        return;
    banyan_eventcount_signal(&header->event);
    if (atomic_load(&header->polls) && atomic_exchange(&header->polls, 0)) /* one knock is enough */
        knock(endpoint, member);
}

void banyan_shm_wake(shm_endpoint *endpoint, int peer)
{
    ring_member(endpoint, peer);
}

void banyan_shm_abort(banyan_endpoint *base, banyan_status status, const char *sentence)
{
    shm_endpoint *e = own(base);
    uint32_t nobody = 0;

    if (atomic_exchange(&e->has_aborted, 1))
        return;
    e->own.header->failure_status = (int32_t)status;
    snprintf(e->own.header->failure_text, sizeof e->own.header->failure_text, "%s", sentence);
    if (!atomic_compare_exchange_strong(&header_of(e, e->first_member)->first_failure, &nobody,
                                        (uint32_t)base->member + 1))
        return;
    for (int i = 0; i < base->member_count; i++)
        ring_member(e, i);
}

banyan_status banyan_shm_failure(banyan_endpoint *base, banyan_error *err)
{
    shm_endpoint *e = own(base);
    uint32_t who = atomic_load_explicit(&header_of(e, e->first_member)->first_failure, memory_order_acquire);
    const shm_header *header;

    if (!who || who > (uint32_t)base->member_count)
        return BANYAN_SUCCESS;
    header = header_of(e, (int)who - 1);
    if (!header)
        return BANYAN_SUCCESS;
    return banyan_fail(err, (banyan_status)header->failure_status, "%.*s",
                       (int)sizeof header->failure_text - 1, header->failure_text);
}

/* The number of a process that has ended may be another's by now: whoever holds the segment after its pidfd
 * was opened is the one. */
banyan_status banyan_shm_watch(shm_endpoint *e, int member, banyan_error *err)
{
    shm_peer *peer = &e->peers[member];
    char name[64];

    if (peer->pidfd >= 0 || peer->has_ended || !peer->segment.header)
        return BANYAN_SUCCESS;
    peer->pidfd = (int)syscall(SYS_pidfd_open, peer->segment.pid, 0);
    if (peer->pidfd < 0 && errno != ESRCH)
        return banyan_fail(err, BANYAN_SYSTEM_ERROR, "%s: pidfd_open: %s%s",
                           banyan_shm_member_name(e, member, name, sizeof name), strerror(errno),
                           banyan_socket_advice(errno));
    peer->has_ended = peer->pidfd < 0 || !banyan_shm_segment_is_held(&peer->segment);
    return BANYAN_SUCCESS;
}

/* A process that has closed its endpoint may go; one that has not was killed or fell. */
int banyan_shm_is_lost(const shm_peer *peer)
{
    struct pollfd look = {.fd = peer->pidfd, .events = POLLIN};

    return (peer->has_ended || (peer->pidfd >= 0 && poll(&look, 1, 0) > 0)) && peer->segment.header &&
           !atomic_load(&peer->segment.header->is_closed);
}

static void look_for_lost(shm_endpoint *e)
{
    char name[64], sentence[128];

    for (int i = 0; i < e->base.member_count; i++)
        if (i != e->base.member && banyan_shm_is_lost(&e->peers[i])) {
            snprintf(sentence, sizeof sentence, "%s has ended without a word",
                     banyan_shm_member_name(e, i, name, sizeof name));
            banyan_shm_abort(&e->base, BANYAN_PEER_LOST, sentence);
            return;
        }
}

/* Whoever took the flag has knocked or is about to. A knock that comes late ends the next sleep early, and is
 * taken out then: left in the pipe, it would keep us from sleeping until somebody else knocks. */
static void end_poll(shm_endpoint *e)
{
    char rubbish[64];
    ssize_t knocks;

    if (!e->is_polling)
        return;
    e->is_polling = 0;
    e->knocks_due += !atomic_exchange(&e->own.header->polls, 0);
    if (!e->knocks_due)
        return;
    knocks = read(e->knock[0], rubbish, sizeof rubbish);
    if (knocks > 0)
        e->knocks_due = knocks < e->knocks_due ? e->knocks_due - (int)knocks : 0;
}

banyan_status banyan_shm_wait(banyan_endpoint *base, int64_t deadline_ns, banyan_error *err)
{
    shm_endpoint *e = own(base);
    banyan_status status;
    int is_signalled;

    end_poll(e);
    for (;;) {
        int64_t until_ns = deadline_ns < e->next_check_ns ? deadline_ns : e->next_check_ns, now_ns;

        is_signalled = banyan_eventcount_wait_looking(&e->own.header->event, &e->heard, until_ns, e->spins,
                                                      e->wait_yields);
        status = banyan_shm_failure(base, err);
        if (status || is_signalled)
            return status;
        now_ns = banyan_clock_ns();
        if (now_ns >= e->next_check_ns) {
            e->next_check_ns = now_ns + CHECK_NS;
            look_for_lost(e);
        } else if (now_ns >= deadline_ns) {
            return BANYAN_TIMEOUT;
        }
    }
}

static int make_pipe(shm_endpoint *e)
{
    if (e->knock[0] >= 0)
        return 1;
    if (pipe2(e->knock, O_CLOEXEC | O_NONBLOCK)) {
        e->knock[0] = e->knock[1] = -1;
        return 0;
    }
    e->own.header->knock_fd = e->knock[1];
    return 1;
}

/* Either the ringer sees that we poll, or we see its ring: both are sequentially consistent. */
int banyan_shm_sleep_fd(banyan_endpoint *base)
{
    shm_endpoint *e = own(base);

    if (!make_pipe(e))
        return -1;
    e->is_polling = 1;
    atomic_store(&e->own.header->polls, 1);
    if (atomic_load(&e->own.header->event.count) != e->heard || banyan_shm_failure(base, NULL))
        return -1;
    return e->knock[0];
}
