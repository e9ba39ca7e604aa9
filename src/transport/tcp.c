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
#include "transport/yields.h"

#define SUSPICION_NS 300000000
#define FAREWELL_NS 2000000000 /* closing waits so long for the peer's kernel to have everything */
#define SHORT_BYTES 64         /* a label: not worth a packet of its own */
#define AWAY_NS 300000000      /* without a wait: longer than those sleep who wait for other things, too */

static banyan_tcp_endpoint *own(banyan_endpoint *base)
{
    return (banyan_tcp_endpoint *)base;
}

/* The endpoint is its caller's, and while that one is away for long, the one's who tends it. Where no
 * connection can be lost without harm there is nothing to tend. */
static void enter(banyan_tcp_endpoint *e)
{
    if (e->is_tended)
        pthread_mutex_lock(&e->inside);
}

static void leave(banyan_tcp_endpoint *e)
{
    if (e->is_tended)
        pthread_mutex_unlock(&e->inside);
}

static banyan_status failure(banyan_endpoint *base, banyan_error *err)
{
    return banyan_first_failure_get(&own(base)->failure, err);
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
    e->yields = banyan_transport_yields();
    banyan_first_failure_init(&e->failure);
    pthread_mutex_init(&e->lock, NULL);
    pthread_mutex_init(&e->inside, NULL);
    e->is_tended = banyan_tcp_may_have_several(e);
    e->epoll = epoll_create1(EPOLL_CLOEXEC);
    e->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    e->peers = banyan_alloc((size_t)opening->member_count, sizeof *e->peers);
    if (!e->peers)
        status = banyan_fail_memory(err);
    else if (e->epoll < 0 || e->wake < 0 || epoll_ctl(e->epoll, EPOLL_CTL_ADD, e->wake, &event) != 0)
        status = banyan_tcp_fail_watch(err);
    if (status)
        banyan_transport_tcp.close(&e->base);
    else
        *out = &e->base;
    return status;
}

static banyan_status widen_peer(banyan_tcp_endpoint *e, int member, int to_peer, int from_peer,
                                banyan_error *err)
{
    banyan_tcp_peer *peer = banyan_tcp_make_peer(e, member);
    banyan_status status;

    if (!peer)
        return banyan_fail_memory(err);
    status = banyan_tcp_widen_out(peer, to_peer, err);
    if (!status)
        status = banyan_tcp_widen_in(peer, from_peer, e->meeting->window_bytes, err);
    if (!status && peer->is_active && !peer->is_begun) {
        peer->is_begun = 1;
        status = banyan_tcp_begin_links(e, peer, err);
    }
    if (!status)
        banyan_tcp_flush_peer(e, peer);
    return status;
}

static banyan_status connect_peer(banyan_endpoint *base, int member, int to_peer, int from_peer,
                                  int64_t deadline_ns, banyan_error *err)
{
    banyan_status status;

    (void)deadline_ns; /* connections are made while the first bytes wait */
    if (member < 0 || member >= base->member_count || member == base->member)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "member %d has no peer %d", base->member, member);
    if (to_peer > BANYAN_TRANSPORT_MAX_STREAMS || from_peer > BANYAN_TRANSPORT_MAX_STREAMS)
        return banyan_fail(err, BANYAN_UNSUPPORTED, "more than %d streams between members %d and %d",
                           BANYAN_TRANSPORT_MAX_STREAMS, base->member, member);
    enter(own(base));
    status = widen_peer(own(base), member, to_peer, from_peer, err);
    leave(own(base));
    return status;
}

/* One look at all sockets. */
static void look(banyan_tcp_endpoint *e, int timeout_ms)
{
    struct epoll_event events[32];
    int count = epoll_wait(e->epoll, events, 32, timeout_ms);

    for (int i = 0; i < count; i++) {
        banyan_tcp_link *link = events[i].data.ptr;

        if (!link)
            banyan_tcp_install_accepted(e);
        else if (link->state != BANYAN_LINK_NONE && link->state != BANYAN_LINK_ENDED)
            banyan_tcp_serve_link(e, link, events[i].events);
    }
}

static void check_suspect(banyan_tcp_endpoint *e, int64_t now_ns)
{
    char name[64], sentence[sizeof e->failure.reason.text];

    if (e->suspect < 0 || now_ns < e->suspect_since_ns + SUSPICION_NS)
        return;
    snprintf(sentence, sizeof sentence, "the connection to %s was lost: %.300s",
             banyan_tcp_name(e, e->suspect, name, sizeof name),
             e->why_suspect ? e->why_suspect : "it was closed");
    e->suspect = -1;
    banyan_tcp_abort(&e->base, BANYAN_PEER_LOST, sentence);
}

/* Milliseconds that one may sleep, rounded up. */
static int sleep_ms(const banyan_tcp_endpoint *e, int64_t now_ns, int64_t deadline_ns)
{
    int64_t until_ns = deadline_ns, retry_ns = banyan_tcp_next_retry_ns(e);
    int64_t watch_ns = banyan_tcp_next_watch_ns(e);

    until_ns = retry_ns < until_ns ? retry_ns : until_ns;
    until_ns = watch_ns < until_ns ? watch_ns : until_ns;
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
            banyan_tcp_flush_peer(e, e->peers[i]);
        }
    e->has_deferred = 0;
}

static banyan_status wait_inside(banyan_tcp_endpoint *e, int64_t deadline_ns, banyan_error *err)
{
    banyan_status status = failure(&e->base, err);
    int most_looks = deadline_ns > 0 ? e->yields + 1 : 1; /* who only asks does not wait */

    if (e->has_deferred)
        flush_deferred(e);
    if (e->has_several)
        banyan_tcp_watch_links(e, banyan_clock_ns());
    for (int looks = 0; !status && !e->has_changed; looks++) {
        int64_t now_ns;

        if (looks < most_looks) {
            if (looks)
                sched_yield();
            look(e, 0);
        } else {
            now_ns = banyan_clock_ns();
            check_suspect(e, now_ns);
            banyan_tcp_retry_links(e, now_ns);
            banyan_tcp_watch_links(e, now_ns);
            if (now_ns >= deadline_ns && !banyan_first_failure_is_there(&e->failure))
                return BANYAN_TIMEOUT;
            look(e, sleep_ms(e, now_ns, deadline_ns));
        }
        status = failure(&e->base, err);
    }
    e->has_changed = 0;
    return status;
}

static banyan_status wait_for_news(banyan_endpoint *base, int64_t deadline_ns, banyan_error *err)
{
    banyan_tcp_endpoint *e = own(base);
    banyan_status status;

    enter(e);
    status = wait_inside(e, deadline_ns, err);
    if (e->is_tended)
        e->left_ns = banyan_clock_ns();
    leave(e);
    return status;
}

/* What has come meanwhile is news for the caller's next wait. */
void banyan_tcp_tend(banyan_endpoint *base)
{
    banyan_tcp_endpoint *e = own(base);
    int64_t now_ns = banyan_clock_ns();

    if (!e->is_tended || pthread_mutex_trylock(&e->inside))
        return;
    if (e->has_several && now_ns > e->left_ns + AWAY_NS && !e->is_withdrawn &&
        !banyan_first_failure_is_there(&e->failure)) {
        look(e, 0);
        banyan_tcp_watch_links(e, now_ns);
    }
    leave(e);
}

static int sleep_fd(banyan_endpoint *base)
{
    banyan_tcp_endpoint *e = own(base);
    int is_news;

    enter(e);
    is_news = e->has_changed || banyan_first_failure_is_there(&e->failure);
    leave(e);
    return is_news ? -1 : e->epoll;
}

static size_t offer_inside(banyan_tcp_endpoint *e, int member, int stream, const void *memory, size_t bytes)
{
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
        banyan_tcp_flush_peer(e, peer);
    }
    return bytes;
}

static size_t offer(banyan_endpoint *base, int member, int stream, const void *memory, size_t bytes)
{
    size_t taken;

    enter(own(base));
    taken = offer_inside(own(base), member, stream, memory, bytes);
    leave(own(base));
    return taken;
}

static uint64_t sent(banyan_endpoint *base, int member, int stream)
{
    const banyan_tcp_peer *peer;
    uint64_t written;

    enter(own(base));
    peer = own(base)->peers[member];
    written = banyan_tcp_written(peer->out[stream], peer->link_count);
    leave(own(base));
    return written;
}

static size_t peek(banyan_endpoint *base, int member, int stream, const void **memory)
{
    const banyan_tcp_in *in;
    uint64_t there;
    size_t at;

    enter(own(base));
    in = own(base)->peers[member]->in[stream];
    there = in->arrived - in->consumed;
    leave(own(base));
    at = (size_t)(in->consumed % in->window);
    *memory = in->ring + at;
    return there < in->window - at ? (size_t)there : in->window - at;
}

void banyan_tcp_set_window(banyan_endpoint *endpoint, size_t bytes)
{
    banyan_tcp_endpoint *e = own(endpoint);

    enter(e);
    for (int i = 0; i < e->base.member_count; i++)
        for (int k = 0; e->peers[i] && k < e->peers[i]->in_count; k++) {
            banyan_tcp_in *in = e->peers[i]->in[k];

            in->limit = bytes < in->window ? bytes : in->window;
        }
    leave(e);
}

/* A quarter of the window is worth a message. */
static void consume_inside(banyan_tcp_endpoint *e, int member, int stream, size_t bytes)
{
    banyan_tcp_peer *peer = e->peers[member];
    banyan_tcp_in *in = peer->in[stream];

    in->consumed += bytes;
    if (in->is_credit_due || in->consumed + in->limit < in->granted + in->limit / 4)
        return;
    in->is_credit_due = 1;
    peer->credits_due++;
    if (peer->is_kept)
        banyan_tcp_flush_peer(e, peer);
    else
        banyan_tcp_flush_link(e, &peer->links[0]);
}

static void consume(banyan_endpoint *base, int member, int stream, size_t bytes)
{
    enter(own(base));
    consume_inside(own(base), member, stream, bytes);
    leave(own(base));
}

/* Each of several connections gets all of it: which of them carries how much is tcp_deal.c's to say. */
static void pace(banyan_endpoint *base, int member, double bytes_per_s)
{
    banyan_tcp_endpoint *e = own(base);
    banyan_tcp_peer *peer;

    enter(e);
    peer = e->peers[member];
    if (peer && peer->pace != bytes_per_s && e->meeting->is_paced) {
        peer->pace = bytes_per_s;
        for (int i = 0; i < peer->link_count; i++)
            if (peer->links[i].state == BANYAN_LINK_OPEN)
                banyan_socket_pace(peer->links[i].fd, bytes_per_s);
    }
    leave(e);
}

static double wire_bytes(banyan_endpoint *base, int member)
{
    banyan_tcp_endpoint *e = own(base);
    banyan_tcp_peer *peer;
    double bytes = 1;

    enter(e);
    peer = e->peers[member];
    for (int i = 0; peer && i < peer->link_count; i++)
        if (peer->links[i].state == BANYAN_LINK_OPEN)
            bytes = banyan_socket_wire_bytes(peer->links[i].fd);
    leave(e);
    return bytes;
}

static void withdraw(banyan_endpoint *base)
{
    banyan_tcp_endpoint *e = own(base);

    enter(e);
    e->is_withdrawn = 1;
    for (int i = 0; i < base->member_count; i++)
        for (int k = 0; e->peers[i] && k < e->peers[i]->link_count; k++)
            e->peers[i]->links[k].frame_count = 0;
    leave(e);
}

static void destroy_peer(banyan_tcp_peer *peer)
{
    banyan_tcp_free_streams(peer);
    banyan_tcp_drop_kept(peer);
    for (int i = 0; i < peer->link_count; i++)
        banyan_free(peer->links[i].why_lost);
    banyan_free(peer->links);
    banyan_free(peer);
}

static void close_endpoint(banyan_endpoint *base)
{
    banyan_tcp_endpoint *e = own(base);

    if (!e)
        return;
    if (e->peers) {
        banyan_tcp_install_accepted(e);
        banyan_tcp_close_links(e);
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
    banyan_first_failure_fini(&e->failure);
    pthread_mutex_destroy(&e->lock);
    pthread_mutex_destroy(&e->inside);
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
    .abort = banyan_tcp_abort,
    .failure = failure,
    .withdraw = withdraw,
    .close = close_endpoint,
    .sleep_fd = sleep_fd,
    .pace = pace,
    .wire_bytes = wire_bytes,
};
