/* SPDX-License-Identifier: Apache-2.0 */
/* group/control_spare.c: a second connection to the parent, where it has a second address, so that a cable
 * may be cut.
 *
 *     child  ── message 4 ── message 5 ──> eth0  parent       Each message goes over both, and the parent
 *            ── message 4 ── message 5 ──> eth1               takes whichever copy comes first.
 *
 * Messages are counted, not numbered: each connection carries them in order, and the spare one begins by
 * saying how many went before it (START). It is made once all have joined, since from then on the first one
 * is not made again. When either ends, the other one is all there is. Control messages are few and short, so
 * twice as many cost next to nothing. */
#include <sys/epoll.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/clock.h"
#include "group/control_internal.h"
#include "transport/bytes.h"

static const banyan_address *other_address(const banyan_control *control)
{
    return &control->records[control->parent].others[0];
}

static void drop_approach(banyan_control *control)
{
    approach *a = &control->spare_approach;

    if (a->fd >= 0)
        close(a->fd); /* and out of the epoll set */
    banyan_auth_forget(&a->handshake, sizeof a->handshake);
    a->fd = -1;
}

void banyan_control_stop_sparing(banyan_control *control)
{
    drop_approach(control);
}

static banyan_status shake_hands(banyan_control *control)
{
    approach *a = &control->spare_approach;
    banyan_hello hello = {BANYAN_PROTOCOL, BANYAN_HELLO_CONTROL, control->rank, control->size, 1, 2};
    banyan_status status = BANYAN_SUCCESS;

    if (!a->is_connected) {
        status = banyan_socket_connected(a->fd, other_address(control), NULL);
        if (status)
            return status;
        a->is_connected = 1;
        banyan_socket_tune(a->fd, 0);
        status = banyan_handshake_connect(&a->handshake, &control->secret, &hello, NULL);
    }
    return status ? status : banyan_handshake_step(&a->handshake, a->fd, "the parent", NULL);
}

static void watch_approach(banyan_control *control, int operation, uint32_t events)
{
    struct epoll_event event = {.events = events, .data = {.u64 = KEY_SPARE}};

    epoll_ctl(control->epoll, operation, control->spare_approach.fd, &event);
}

void banyan_control_go_on_sparing(banyan_control *control)
{
    approach *a = &control->spare_approach;
    banyan_status status;
    int fd = a->fd;

    if (fd < 0)
        return;
    status = banyan_control_is_linked(control, control->parent) ? shake_hands(control) : BANYAN_PEER_LOST;
    if (status == BANYAN_IN_PROGRESS) {
        watch_approach(control, EPOLL_CTL_MOD,
                       banyan_handshake_wants_write(&a->handshake) ? EPOLLIN | EPOLLOUT : EPOLLIN);
        return;
    }
    if (!status) {
        epoll_ctl(control->epoll, EPOLL_CTL_DEL, fd, NULL);
        a->fd = -1;
        banyan_control_take_spare(control, control->parent, fd);
    }
    drop_approach(control);
}

/* As soon as all have joined, then once per heartbeat, until it has been made once. */
void banyan_control_seek_spare(banyan_control *control, int64_t now_ns)
{
    approach *a = &control->spare_approach;

    if (a->fd >= 0 && now_ns >= a->deadline_ns)
        drop_approach(control);
    if (a->fd >= 0 || now_ns < control->next_spare_ns || !control->ready_ns || control->rank == 0 ||
        !other_address(control)->family || !banyan_control_is_linked(control, control->parent) ||
        control->members[control->parent].has_had_spare)
        return;
    a->is_connected = 0;
    control->next_spare_ns = now_ns + control->beat_ns;
    a->deadline_ns = now_ns + SILENT_BEATS * control->beat_ns;
    if (banyan_socket_connect(other_address(control), NULL, &a->fd, NULL))
        a->fd = -1;
    else
        watch_approach(control, EPOLL_CTL_ADD, EPOLLOUT);
}

/* The next message that has not come over the other connection before; 0: there is none. */
static int next_of(member *m, banyan_channel *channel, uint64_t *heard, int *word, const unsigned char **body,
                   size_t *bytes)
{
    while (*heard <= m->heard_count && banyan_channel_next(channel, word, body, bytes))
        if ((*heard)++ == m->heard_count) {
            m->heard_count++;
            return 1;
        }
    return 0;
}

static void begin_spare(banyan_control *control, int rank)
{
    member *m = &control->members[rank];
    const unsigned char *body;
    size_t bytes;
    int word;

    if (!m->spare || m->spare->heard != BANYAN_SPARE_UNKNOWN ||
        !banyan_channel_next(&m->spare->channel, &word, &body, &bytes))
        return;
    if (word == START && bytes == 8)
        m->spare->heard = banyan_get64(body);
    if (m->spare->heard == BANYAN_SPARE_UNKNOWN)
        banyan_control_drop_spare(control, rank);
}

int banyan_control_next(banyan_control *control, int rank, int *word, const unsigned char **body,
                        size_t *bytes)
{
    member *m = &control->members[rank];

    begin_spare(control, rank);
    return (m->channel.fd >= 0 && next_of(m, &m->channel, &m->heard_over, word, body, bytes)) ||
           (m->spare && next_of(m, &m->spare->channel, &m->spare->heard, word, body, bytes));
}

banyan_status banyan_control_fill(banyan_control *control, int rank, banyan_error *err)
{
    member *m = &control->members[rank];

    m->is_spare_over = m->spare && banyan_channel_fill(&m->spare->channel, NULL) != BANYAN_SUCCESS;
    return banyan_channel_fill(&m->channel, err);
}

/* What was said before the spare one began, and has not come, would never come. */
int banyan_control_go_on_with_spare(banyan_control *control, int rank)
{
    member *m = &control->members[rank];

    if (!m->spare || m->is_spare_over || m->spare->heard > m->heard_count)
        return 0;
    control->bytes_in += m->channel.in_total;
    control->bytes_out += m->channel.out_total;
    banyan_channel_fini(&m->channel); /* and out of the epoll set */
    m->channel = m->spare->channel;
    m->heard_over = m->spare->heard;
    m->events = m->spare->events;
    banyan_free(m->spare);
    m->spare = NULL;
    return 1;
}
