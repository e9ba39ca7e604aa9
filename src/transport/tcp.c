/* SPDX-License-Identifier: Apache-2.0 */
/* transport/tcp.c: members on any hosts, over TCP. The endpoint: one epoll set, driven by whoever waits.
 *
 *     offer ──> frames of the link ──> socket ~~~> socket ──> ring of the stream ──> peek, consume
 *                       ^                                                                │
 *                       └────────────────────────────── credit <──────────────────────────┘
 *
 * sent() counts what the kernel has taken, so a send is done when its bytes have left for the kernel, and the
 * memory is the user's again. A link that takes nothing more waits until its socket is writable; meanwhile
 * the other links go on. A connection that ends without a word makes its peer suspect: those who watch the
 * group may know better why, so they have SUSPICION_NS to say so before we call it lost. */
#include "transport/tcp.h"

#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/clock.h"
#include "transport/tcp_internal.h"

#define SUSPICION_NS 300000000
#define FAREWELL_NS 2000000000 /* closing waits so long for the peer's kernel to have everything */
#define SHORT_BYTES 64         /* a label: not worth a packet of its own */
#define LOOKS 3                /* before sleeping */

struct banyan_tcp_guest {
    banyan_tcp_guest *next;
    banyan_hello hello;
    int fd;
};

static banyan_tcp_endpoint *own(banyan_endpoint *base)
{
    return (banyan_tcp_endpoint *)base;
}

static void wake(banyan_tcp_endpoint *e)
{
    uint64_t one = 1;

    /* A full counter wakes as well. */
    if (write(e->wake, &one, sizeof one) < 0)
        return;
}

static const char *name_of(const banyan_tcp_endpoint *e, int member, char *buffer, size_t size)
{
    return e->meeting->name(e->meeting->context, member, buffer, size);
}

void banyan_tcp_fail(banyan_endpoint *base, banyan_status status, const char *sentence)
{
    banyan_tcp_endpoint *e = own(base);

    pthread_mutex_lock(&e->lock);
    if (!e->status) {
        e->status = status;
        snprintf(e->reason.text, sizeof e->reason.text, "%s", sentence);
        atomic_store_explicit(&e->has_failed, 1, memory_order_release);
    }
    pthread_mutex_unlock(&e->lock);
    wake(e);
}

static void abort_group(banyan_endpoint *base, banyan_status status, const char *sentence)
{
    banyan_tcp_endpoint *e = own(base);
    int is_first;

    pthread_mutex_lock(&e->lock);
    is_first = !e->status;
    pthread_mutex_unlock(&e->lock);
    banyan_tcp_fail(base, status, sentence);
    if (is_first)
        e->meeting->spread(e->meeting->context, status, sentence);
}

static banyan_status failure(banyan_endpoint *base, banyan_error *err)
{
    banyan_tcp_endpoint *e = own(base);
    banyan_status status;

    if (!atomic_load_explicit(&e->has_failed, memory_order_acquire))
        return BANYAN_SUCCESS;
    pthread_mutex_lock(&e->lock);
    status = banyan_fail(err, e->status, "%s", e->reason.text);
    pthread_mutex_unlock(&e->lock);
    return status;
}

static banyan_status fail_watch(banyan_error *err)
{
    return banyan_fail(err, BANYAN_SYSTEM_ERROR, "cannot watch a socket: %s", strerror(errno));
}

static banyan_status open_endpoint(const banyan_opening *opening, banyan_endpoint **out, banyan_error *err)
{
    banyan_tcp_endpoint *e = banyan_alloc(1, sizeof *e);
    struct epoll_event event = {.events = EPOLLIN};
    banyan_status status = BANYAN_SUCCESS;

    *out = NULL;
    if (!e)
        return banyan_fail_memory(err);
    e->base = (banyan_endpoint){&banyan_transport_tcp, opening->member, opening->member_count};
    e->meeting = opening->meeting;
    e->suspect = -1;
    pthread_mutex_init(&e->lock, NULL);
    e->epoll = epoll_create1(EPOLL_CLOEXEC);
    e->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    e->peers = banyan_alloc((size_t)opening->member_count, sizeof *e->peers);
    if (!e->peers)
        status = banyan_fail_memory(err);
    else if (e->epoll < 0 || e->wake < 0 || epoll_ctl(e->epoll, EPOLL_CTL_ADD, e->wake, &event) != 0)
        status = fail_watch(err);
    if (status)
        banyan_transport_tcp.close(&e->base);
    else
        *out = &e->base;
    return status;
}

static banyan_tcp_peer *make_peer(banyan_tcp_endpoint *e, int member)
{
    banyan_tcp_peer *peer = e->peers[member];

    if (peer)
        return peer;
    peer = banyan_alloc(1, sizeof *peer);
    if (!peer)
        return NULL;
    peer->member = member;
    peer->is_active = e->base.member < member;
    peer->link_count = e->meeting->connections;
    peer->links = banyan_alloc((size_t)peer->link_count, sizeof *peer->links);
    if (!peer->links) {
        banyan_free(peer);
        return NULL;
    }
    for (int i = 0; i < peer->link_count; i++) {
        peer->links[i].peer = peer;
        peer->links[i].index = i;
        peer->links[i].fd = -1;
    }
    e->peers[member] = peer;
    return peer;
}

static int watch_link(banyan_tcp_endpoint *e, banyan_tcp_link *link, int operation, uint32_t events)
{
    struct epoll_event event = {.events = events, .data = {.ptr = link}};

    return epoll_ctl(e->epoll, operation, link->fd, &event) == 0;
}

static void end_link(banyan_tcp_endpoint *e, banyan_tcp_link *link)
{
    if (link->fd >= 0) {
        epoll_ctl(e->epoll, EPOLL_CTL_DEL, link->fd, NULL);
        close(link->fd);
    }
    if (link->handshake)
        banyan_auth_forget(link->handshake, sizeof *link->handshake);
    banyan_free(link->handshake);
    link->handshake = NULL;
    link->fd = -1;
    link->state = BANYAN_LINK_ENDED;
    link->frame_count = 0;
}

/* The connection is of no use any more. Who said goodbye is not lost. */
static void lose_link(banyan_tcp_endpoint *e, banyan_tcp_link *link, banyan_status status, const char *why)
{
    char name[64], sentence[sizeof e->reason.text];
    int is_meant = link->heard_bye;

    name_of(e, link->peer->member, name, sizeof name);
    end_link(e, link);
    if (is_meant)
        return;
    if (status == BANYAN_PEER_LOST) {
        if (e->suspect >= 0)
            return;
        e->suspect = link->peer->member;
        e->suspect_since_ns = banyan_clock_ns();
        banyan_free(e->why_suspect);
        e->why_suspect = banyan_strdup(why);
        return;
    }
    snprintf(sentence, sizeof sentence, "%s %s: %.300s", name,
             status == BANYAN_REMOTE_ERROR ? "sent what is not ours" : "cannot be reached", why);
    abort_group(&e->base, status, sentence);
}

static void flush_link(banyan_tcp_endpoint *e, banyan_tcp_link *link)
{
    banyan_error why;
    banyan_status status;

    if (link->state != BANYAN_LINK_OPEN || link->is_blocked || e->is_withdrawn)
        return;
    status = banyan_tcp_write(link, &e->has_changed, &why);
    if (status)
        lose_link(e, link, status, why.text);
    else if (link->is_blocked)
        watch_link(e, link, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
}

static void flush_peer(banyan_tcp_endpoint *e, banyan_tcp_peer *peer)
{
    for (int i = 0; i < peer->link_count; i++)
        flush_link(e, &peer->links[i]);
}

static void open_link(banyan_tcp_endpoint *e, banyan_tcp_link *link)
{
    link->state = BANYAN_LINK_OPEN;
    e->has_changed = 1;
    watch_link(e, link, EPOLL_CTL_MOD, EPOLLIN);
    flush_link(e, link);
}

static banyan_status begin_link(banyan_tcp_endpoint *e, banyan_tcp_link *link, banyan_error *err)
{
    const banyan_address *to = &e->meeting->addresses[link->peer->member];
    banyan_hello hello = {BANYAN_PROTOCOL,      BANYAN_HELLO_DATA, e->base.member,
                          e->base.member_count, link->index,       link->peer->link_count};
    char name[64];
    banyan_status status;

    if (!to->family)
        return banyan_fail(err, BANYAN_PEER_LOST, "%s has no address",
                           name_of(e, link->peer->member, name, sizeof name));
    link->handshake = banyan_alloc(1, sizeof *link->handshake);
    if (!link->handshake)
        return banyan_fail_memory(err);
    status = banyan_handshake_connect(link->handshake, e->meeting->secret, &hello, err);
    if (!status)
        status = banyan_socket_connect(to, &link->fd, err);
    if (status)
        return status;
    link->state = BANYAN_LINK_CONNECTING;
    return watch_link(e, link, EPOLL_CTL_ADD, EPOLLOUT) ? BANYAN_SUCCESS : fail_watch(err);
}

static banyan_status connect_peer(banyan_endpoint *base, int member, int to_peer, int from_peer,
                                  int64_t deadline_ns, banyan_error *err)
{
    banyan_tcp_endpoint *e = own(base);
    banyan_tcp_peer *peer;
    banyan_status status;

    (void)deadline_ns; /* connections are made while the first bytes wait */
    if (member < 0 || member >= base->member_count || member == base->member)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "member %d has no peer %d", base->member, member);
    if (to_peer > BANYAN_TRANSPORT_MAX_STREAMS || from_peer > BANYAN_TRANSPORT_MAX_STREAMS)
        return banyan_fail(err, BANYAN_UNSUPPORTED, "more than %d streams between members %d and %d",
                           BANYAN_TRANSPORT_MAX_STREAMS, base->member, member);
    peer = make_peer(e, member);
    if (!peer)
        return banyan_fail_memory(err);
    status = banyan_tcp_widen_out(peer, to_peer, err);
    if (!status)
        status = banyan_tcp_widen_in(peer, from_peer, e->meeting->window_bytes, err);
    if (!status && peer->is_active && !peer->is_begun) {
        peer->is_begun = 1;
        for (int i = 0; i < peer->link_count && !status; i++)
            status = begin_link(e, &peer->links[i], err);
    }
    if (!status)
        flush_peer(e, peer);
    return status;
}

void banyan_tcp_hand_over(banyan_endpoint *base, const banyan_hello *hello, int socket)
{
    banyan_tcp_endpoint *e = own(base);
    banyan_tcp_guest *guest = banyan_alloc(1, sizeof *guest), **end = &e->guests;

    if (!guest) {
        close(socket); /* the peer will say that we are lost, and so we are */
        return;
    }
    *guest = (banyan_tcp_guest){.hello = *hello, .fd = socket};
    pthread_mutex_lock(&e->lock);
    while (*end)
        end = &(*end)->next;
    *end = guest;
    pthread_mutex_unlock(&e->lock);
    wake(e);
}

static int is_welcome(const banyan_tcp_endpoint *e, const banyan_hello *hello)
{
    return hello->purpose == BANYAN_HELLO_DATA && hello->from >= 0 && hello->from < e->base.member &&
           hello->size == e->base.member_count && hello->count == e->meeting->connections &&
           hello->index >= 0 && hello->index < hello->count;
}

static void seat_guest(banyan_tcp_endpoint *e, const banyan_tcp_guest *guest)
{
    banyan_tcp_peer *peer = is_welcome(e, &guest->hello) ? make_peer(e, guest->hello.from) : NULL;
    banyan_tcp_link *link = peer ? &peer->links[guest->hello.index] : NULL;

    if (!link || link->state != BANYAN_LINK_NONE) {
        close(guest->fd);
        return;
    }
    banyan_socket_tune(guest->fd, e->meeting->buffer_bytes);
    link->fd = guest->fd;
    if (watch_link(e, link, EPOLL_CTL_ADD, EPOLLIN))
        open_link(e, link);
    else
        end_link(e, link);
}

static void seat_guests(banyan_tcp_endpoint *e)
{
    banyan_tcp_guest *guest, *next;
    uint64_t rings;

    if (read(e->wake, &rings, sizeof rings) < 0)
        rings = 0;
    pthread_mutex_lock(&e->lock);
    guest = e->guests;
    e->guests = NULL;
    pthread_mutex_unlock(&e->lock);
    for (; guest; guest = next) {
        next = guest->next;
        seat_guest(e, guest);
        banyan_free(guest);
    }
    e->has_changed = 1;
}

static void go_on_connecting(banyan_tcp_endpoint *e, banyan_tcp_link *link)
{
    banyan_status status = BANYAN_SUCCESS;
    banyan_error why = {""};
    char name[64];

    name_of(e, link->peer->member, name, sizeof name);
    if (link->state == BANYAN_LINK_CONNECTING) {
        status = banyan_socket_connected(link->fd, &e->meeting->addresses[link->peer->member], &why);
        banyan_socket_tune(link->fd, e->meeting->buffer_bytes);
        link->state = BANYAN_LINK_SHAKING;
    }
    if (!status)
        status = banyan_handshake_step(link->handshake, link->fd, name, &why);
    if (status == BANYAN_IN_PROGRESS) {
        watch_link(e, link, EPOLL_CTL_MOD,
                   banyan_handshake_wants_write(link->handshake) ? EPOLLIN | EPOLLOUT : EPOLLIN);
    } else if (status) {
        /* All of the group have shown their secret before: who closes now is going. */
        lose_link(e, link, status == BANYAN_VERSION_MISMATCH ? status : BANYAN_PEER_LOST,
                  status == BANYAN_MISMATCH ? "it was closed during the handshake" : why.text);
    } else {
        banyan_auth_forget(link->handshake, sizeof *link->handshake);
        banyan_free(link->handshake);
        link->handshake = NULL;
        open_link(e, link);
    }
}

static void serve_link(banyan_tcp_endpoint *e, banyan_tcp_link *link, uint32_t events)
{
    banyan_status status = BANYAN_SUCCESS;
    banyan_error why;

    if (link->state != BANYAN_LINK_OPEN) {
        go_on_connecting(e, link);
        return;
    }
    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
        status = banyan_tcp_read(link, &e->has_changed, &why);
    if (status) {
        lose_link(e, link, status, why.text);
        e->has_changed = 1;
        return;
    }
    if (events & EPOLLOUT) {
        link->is_blocked = 0;
        flush_link(e, link);
        if (link->state == BANYAN_LINK_OPEN && !link->is_blocked)
            watch_link(e, link, EPOLL_CTL_MOD, EPOLLIN);
    } else {
        flush_peer(e, link->peer); /* credit may have come */
    }
}

/* One look at all sockets. */
static void look(banyan_tcp_endpoint *e, int timeout_ms)
{
    struct epoll_event events[32];
    int count = epoll_wait(e->epoll, events, 32, timeout_ms);

    for (int i = 0; i < count; i++) {
        banyan_tcp_link *link = events[i].data.ptr;

        if (!link)
            seat_guests(e);
        else if (link->state != BANYAN_LINK_NONE && link->state != BANYAN_LINK_ENDED)
            serve_link(e, link, events[i].events);
    }
}

static void check_suspect(banyan_tcp_endpoint *e, int64_t now_ns)
{
    char name[64], sentence[sizeof e->reason.text];

    if (e->suspect < 0 || now_ns < e->suspect_since_ns + SUSPICION_NS)
        return;
    snprintf(sentence, sizeof sentence, "the connection to %s was lost: %.300s",
             name_of(e, e->suspect, name, sizeof name), e->why_suspect ? e->why_suspect : "it was closed");
    e->suspect = -1;
    abort_group(&e->base, BANYAN_PEER_LOST, sentence);
}

/* Milliseconds that one may sleep, rounded up. */
static int sleep_ms(const banyan_tcp_endpoint *e, int64_t now_ns, int64_t deadline_ns)
{
    int64_t until_ns = deadline_ns;

    if (e->suspect >= 0 && e->suspect_since_ns + SUSPICION_NS < until_ns)
        until_ns = e->suspect_since_ns + SUSPICION_NS;
    if (until_ns <= now_ns)
        return 0;
    return until_ns - now_ns > (int64_t)60000 * 1000000 ? 60000 : (int)((until_ns - now_ns) / 1000000 + 1);
}

static void flush_deferred(banyan_tcp_endpoint *e)
{
    for (int i = 0; i < e->base.member_count; i++)
        if (e->peers[i] && e->peers[i]->is_deferred) {
            e->peers[i]->is_deferred = 0;
            flush_peer(e, e->peers[i]);
        }
    e->has_deferred = 0;
}

static banyan_status wait_for_news(banyan_endpoint *base, int64_t deadline_ns, banyan_error *err)
{
    banyan_tcp_endpoint *e = own(base);
    banyan_status status = failure(base, err);
    int most_looks = deadline_ns > 0 ? LOOKS : 1; /* who only asks does not wait at all */

    if (e->has_deferred)
        flush_deferred(e);
    for (int looks = 0; !status && !e->has_changed; looks++) {
        int64_t now_ns;

        if (looks < most_looks) {
            if (looks)
                sched_yield();
            look(e, 0);
        } else {
            now_ns = banyan_clock_ns();
            check_suspect(e, now_ns);
            if (now_ns >= deadline_ns && !atomic_load(&e->has_failed))
                return BANYAN_TIMEOUT;
            look(e, sleep_ms(e, now_ns, deadline_ns));
        }
        status = failure(base, err);
    }
    e->has_changed = 0;
    return status;
}

static int sleep_fd(banyan_endpoint *base)
{
    banyan_tcp_endpoint *e = own(base);

    return e->has_changed || atomic_load(&e->has_failed) ? -1 : e->epoll;
}

static size_t offer(banyan_endpoint *base, int member, int stream, const void *memory, size_t bytes)
{
    banyan_tcp_endpoint *e = own(base);
    banyan_tcp_peer *peer = e->peers[member];
    banyan_tcp_out *out = peer->out[stream];

    if (!bytes || out->filled == BANYAN_TCP_SLOTS || e->is_withdrawn)
        return 0;
    out->slots[(out->first + out->filled++) % BANYAN_TCP_SLOTS] = (banyan_tcp_slot){memory, bytes};
    out->end += bytes;
    if (bytes < SHORT_BYTES) {
        peer->is_deferred = e->has_deferred = 1;
    } else {
        peer->is_deferred = 0;
        flush_peer(e, peer);
    }
    return bytes;
}

static uint64_t sent(banyan_endpoint *base, int member, int stream)
{
    const banyan_tcp_peer *peer = own(base)->peers[member];
    const banyan_tcp_out *out = peer->out[stream];
    uint64_t written = banyan_tcp_frontier(out->written, peer->link_count);

    return written < out->end ? written : out->end;
}

static size_t peek(banyan_endpoint *base, int member, int stream, const void **memory)
{
    const banyan_tcp_peer *peer = own(base)->peers[member];
    const banyan_tcp_in *in = peer->in[stream];
    uint64_t there = banyan_tcp_frontier(in->arrived, peer->link_count) - in->consumed;
    size_t at = (size_t)(in->consumed % in->window);

    *memory = in->ring + at;
    return there < in->window - at ? (size_t)there : in->window - at;
}

/* A quarter of the window is worth a message. */
static void consume(banyan_endpoint *base, int member, int stream, size_t bytes)
{
    banyan_tcp_endpoint *e = own(base);
    banyan_tcp_peer *peer = e->peers[member];
    banyan_tcp_in *in = peer->in[stream];

    in->consumed += bytes;
    if (in->is_credit_due || in->consumed + in->window < in->granted + in->window / 4)
        return;
    in->is_credit_due = 1;
    peer->credits_due++;
    flush_link(e, &peer->links[0]);
}

static void withdraw(banyan_endpoint *base)
{
    banyan_tcp_endpoint *e = own(base);

    e->is_withdrawn = 1;
    for (int i = 0; i < base->member_count; i++)
        for (int k = 0; e->peers[i] && k < e->peers[i]->link_count; k++)
            e->peers[i]->links[k].frame_count = 0;
}

static void say_bye(banyan_tcp_link *link)
{
    unsigned char bye[BANYAN_TCP_HEADER] = {0, 0, 0, BANYAN_TCP_BYE};
    int is_between_frames = !link->frame_count || !link->frames[link->first_frame].done;

    if (is_between_frames && send(link->fd, bye, sizeof bye, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        return;
    shutdown(link->fd, SHUT_WR);
}

/* The kernel still counts what was unsent when the peer reset the connection: nobody will take it. */
static int is_reset(int fd)
{
    struct tcp_info info = {0};
    socklen_t bytes = sizeof info;

    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0 || info.tcpi_state == TCP_CLOSE;
}

/* Closing a socket that still holds unread bytes makes the kernel throw away what the peer has not got yet.
 */
static void drain(banyan_tcp_link *link, int64_t deadline_ns)
{
    struct timespec pause = {.tv_nsec = 1000000};
    char rest[4096];
    int unsent = 0;

    for (;;) {
        while (recv(link->fd, rest, sizeof rest, MSG_DONTWAIT) > 0)
            continue;
        if (ioctl(link->fd, SIOCOUTQ, &unsent) != 0 || !unsent || is_reset(link->fd) ||
            banyan_clock_ns() >= deadline_ns)
            return;
        nanosleep(&pause, NULL);
    }
}

static void destroy_peer(banyan_tcp_peer *peer)
{
    for (int i = 0; i < peer->out_count; i++)
        banyan_free(peer->out[i]);
    for (int i = 0; i < peer->in_count; i++) {
        banyan_free(peer->in[i]->ring);
        banyan_free(peer->in[i]);
    }
    banyan_free(peer->out);
    banyan_free(peer->in);
    banyan_free(peer->links);
    banyan_free(peer);
}

static void close_links(banyan_tcp_endpoint *e)
{
    int64_t deadline_ns = banyan_clock_ns() + FAREWELL_NS;

    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < e->base.member_count; i++)
            for (int k = 0; e->peers[i] && k < e->peers[i]->link_count; k++) {
                banyan_tcp_link *link = &e->peers[i]->links[k];

                if (link->state == BANYAN_LINK_OPEN && !pass)
                    say_bye(link);
                else if (link->state == BANYAN_LINK_OPEN && !atomic_load(&e->has_failed))
                    drain(link, deadline_ns);
                if (pass)
                    end_link(e, link);
            }
}

static void close_endpoint(banyan_endpoint *base)
{
    banyan_tcp_endpoint *e = own(base);

    if (!e)
        return;
    if (e->peers) {
        seat_guests(e);
        close_links(e);
        for (int i = 0; i < base->member_count; i++)
            if (e->peers[i])
                destroy_peer(e->peers[i]);
    }
    banyan_free(e->peers);
    banyan_free(e->why_suspect);
    if (e->epoll >= 0)
        close(e->epoll);
    if (e->wake >= 0)
        close(e->wake);
    pthread_mutex_destroy(&e->lock);
    banyan_free(e);
}

const banyan_transport banyan_transport_tcp = {
    .name = "tcp",
    .summary = "processes of any hosts, over TCP sockets",
    .reach = BANYAN_REACH_NETWORK,
    .open = open_endpoint,
    .connect = connect_peer,
    .offer = offer,
    .sent = sent,
    .peek = peek,
    .consume = consume,
    .wait = wait_for_news,
    .abort = abort_group,
    .failure = failure,
    .withdraw = withdraw,
    .close = close_endpoint,
    .sleep_fd = sleep_fd,
};
