/* SPDX-License-Identifier: Apache-2.0 */
/* transport/tcp_link.c: the life of a connection: begun by the member with the smaller number or handed over
 * by the listener, shaken hands on, open, ended.
 *
 * A connection that ends without a word makes its peer suspect; what becomes of that is tcp.c's. But as long
 * as nothing has come on it, and nothing but credit has left, nothing is lost with it: it is made again, and
 * the credit is sent again. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/clock.h"
#include "transport/tcp_internal.h"

#define RETRY_NS 20000000 /* between two tries: long beside a handshake, short beside a call's time-out */

struct banyan_tcp_accepted {
    banyan_tcp_accepted *next;
    banyan_hello hello;
    int fd;
};

banyan_status banyan_tcp_fail_watch(banyan_error *err)
{
    return banyan_fail(err, BANYAN_SYSTEM_ERROR, "cannot watch a socket: %s%s", strerror(errno),
                       banyan_socket_advice(errno));
}

static const banyan_address *address_of(const banyan_tcp_endpoint *e, int member, int i)
{
    const banyan_tcp_meeting *meeting = e->meeting;

    return i ? &meeting->others[member * (BANYAN_INTERFACES - 1) + i - 1] : &meeting->addresses[member];
}

static int count_addresses(const banyan_tcp_endpoint *e, int member)
{
    int count = 1;

    while (e->meeting->others && count < BANYAN_INTERFACES && address_of(e, member, count)->family)
        count++;
    return count;
}

static int is_near(const banyan_tcp_endpoint *e, const banyan_address *to)
{
    for (int i = 0; i < e->meeting->interface_count; i++)
        if (banyan_interface_leads_to(&e->meeting->interfaces[i], to))
            return 1;
    return 0;
}

/* The member's addresses that are reached without a router, or all if none is: where hosts are cabled
 * directly, the others are at the ends of cables to third ones. */
static int list_addresses(const banyan_tcp_endpoint *e, int member,
                          const banyan_address *out[BANYAN_INTERFACES])
{
    int all = count_addresses(e, member), count = 0;

    for (int i = 0; i < all; i++)
        if (is_near(e, address_of(e, member, i)))
            out[count++] = address_of(e, member, i);
    for (int i = 0; i < all && !count; i++)
        out[i] = address_of(e, member, i);
    return count ? count : all;
}

/* Our own that lead to one of the member's addresses, or all if none does. */
static int count_interfaces(const banyan_tcp_endpoint *e, int member)
{
    int count = 0;

    for (int i = 0; i < e->meeting->interface_count; i++)
        for (int k = 0; k < count_addresses(e, member); k++)
            if (banyan_interface_leads_to(&e->meeting->interfaces[i], address_of(e, member, k))) {
                count++;
                break;
            }
    return count ? count : count_addresses(e, e->base.member);
}

/* The same at both ends: whoever of the two has more interfaces in common networks decides. */
static int count_links(const banyan_tcp_endpoint *e, int member)
{
    const banyan_address *addresses[BANYAN_INTERFACES];
    int ours = count_interfaces(e, member), theirs = list_addresses(e, member, addresses);
    int links = e->meeting->connections * (ours > theirs ? ours : theirs);

    return links < BANYAN_TCP_MAX_CONNECTIONS ? links : BANYAN_TCP_MAX_CONNECTIONS;
}

int banyan_tcp_may_have_several(const banyan_tcp_endpoint *e)
{
    int is_any = 0;

    for (int i = 0; i < e->base.member_count && e->meeting->others && !is_any; i++)
        is_any = address_of(e, i, 1)->family != 0;
    return is_any;
}

/* The kernel's routes choose, unless several of our interfaces are in the network of the peer's address: then
 * the connections take turns. What is our own does not leave at all. */
static const banyan_interface *way_out(const banyan_tcp_endpoint *e, const banyan_address *to, int link)
{
    const banyan_interface *fits[BANYAN_INTERFACES];
    int count = 0;

    for (int i = 0; i < e->meeting->interface_count; i++) {
        const banyan_interface *interface = &e->meeting->interfaces[i];

        if (!memcmp(interface->address.bytes, to->bytes, sizeof to->bytes))
            return NULL;
        if (banyan_interface_leads_to(interface, to))
            fits[count++] = interface;
    }
    return count > 1 ? fits[link % count] : NULL;
}

banyan_tcp_peer *banyan_tcp_make_peer(banyan_tcp_endpoint *e, int member)
{
    const banyan_address *addresses[BANYAN_INTERFACES];
    int address_count = list_addresses(e, member, addresses);
    banyan_tcp_peer *peer = e->peers[member];

    if (peer)
        return peer;
    peer = banyan_alloc(1, sizeof *peer);
    if (!peer)
        return NULL;
    peer->heir = -1;
    peer->member = member;
    peer->is_active = e->base.member < member;
    peer->link_count = count_links(e, member);
    peer->is_kept = peer->link_count > e->meeting->connections;
    peer->links = banyan_alloc((size_t)peer->link_count, sizeof *peer->links);
    if (!peer->links) {
        banyan_free(peer);
        return NULL;
    }
    for (int i = 0; i < peer->link_count; i++) {
        peer->links[i].to = addresses[i % address_count];
        peer->links[i].peer = peer;
        peer->links[i].index = i;
        peer->links[i].fd = -1;
        peer->links[i].weight = 1;
    }
    e->peers[member] = peer;
    e->has_several |= peer->is_kept;
    return peer;
}

static int watch_link(banyan_tcp_endpoint *e, banyan_tcp_link *link, int operation, uint32_t events)
{
    struct epoll_event event = {.events = events, .data = {.ptr = link}};

    return epoll_ctl(e->epoll, operation, link->fd, &event) == 0;
}

static void fail_connecting(banyan_tcp_endpoint *e, banyan_tcp_link *link, banyan_status status,
                            const banyan_error *why);

/* Ends a connection that has carried nothing: who made it makes the next one. */
static void renew_link(banyan_tcp_endpoint *e, banyan_tcp_link *link, const banyan_error *why)
{
    banyan_tcp_forget_frames(link);
    banyan_tcp_take_back(link, 0);
    link->sent_bytes = link->framed_bytes = link->waiting = link->seen_through = 0;
    banyan_tcp_close_socket(e, link);
    link->state = BANYAN_LINK_NONE;
    if (link->peer->heir == link->index) {
        link->peer->heir = -1;
        link->peer->has_news = 1; /* another one is chosen */
    }
    if (link->peer->is_active)
        fail_connecting(e, link, BANYAN_PEER_LOST, why);
}

static void drop_link(banyan_tcp_endpoint *e, banyan_tcp_link *link, banyan_status status,
                      const banyan_error *why)
{
    if (status == BANYAN_PEER_LOST && !link->has_carried && !e->is_withdrawn)
        renew_link(e, link, why);
    else
        banyan_tcp_lose_link(e, link, status, why->text);
}

/* Who has left may have sent the last that we need, and goodbye, before we wrote what it no longer takes. */
static void hear_last_words(banyan_tcp_endpoint *e, banyan_tcp_link *link)
{
    banyan_status status = BANYAN_SUCCESS;
    banyan_error why;
    char byte;

    while (!status && recv(link->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0)
        status = banyan_tcp_read(link, &e->has_changed, &why);
}

void banyan_tcp_flush_link(banyan_tcp_endpoint *e, banyan_tcp_link *link)
{
    banyan_error why;
    banyan_status status;

    if (link->state != BANYAN_LINK_OPEN || link->is_blocked || e->is_withdrawn)
        return;
    status = banyan_tcp_write(link, &e->has_changed, &why);
    if (status == BANYAN_PEER_LOST)
        hear_last_words(e, link);
    if (status)
        drop_link(e, link, status, &why);
    else if (link->is_blocked)
        watch_link(e, link, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
}

/* What a link's loss brings is for all others, also those that had their turn before. */
void banyan_tcp_flush_peer(banyan_tcp_endpoint *e, banyan_tcp_peer *peer)
{
    int awaited;

    do {
        if (peer->has_news)
            banyan_tcp_hear_lost(e, peer);
        awaited = peer->awaited;
        if (peer->link_count > 1)
            banyan_tcp_deal(peer);
        for (int i = 0; i < peer->link_count; i++)
            banyan_tcp_flush_link(e, &peer->links[i]);
    } while (peer->awaited > awaited || peer->has_news);
}

static void open_link(banyan_tcp_endpoint *e, banyan_tcp_link *link)
{
    link->state = BANYAN_LINK_OPEN;
    link->turn = link->peer->turn;
    if (link->peer->pace > 0)
        banyan_socket_pace(link->fd, link->peer->pace);
    e->has_changed = 1;
    watch_link(e, link, EPOLL_CTL_MOD, EPOLLIN);
    banyan_tcp_flush_peer(e, link->peer);
}

static banyan_status begin_link(banyan_tcp_endpoint *e, banyan_tcp_link *link, banyan_error *err)
{
    banyan_hello hello = {BANYAN_PROTOCOL,      BANYAN_HELLO_DATA, e->base.member,
                          e->base.member_count, link->index,       link->peer->link_count};
    char name[64];
    banyan_status status;

    if (!link->to->family)
        return banyan_fail(err, BANYAN_PEER_LOST, "%s has no address",
                           banyan_tcp_name(e, link->peer->member, name, sizeof name));
    if (!link->handshake)
        link->handshake = banyan_alloc(1, sizeof *link->handshake);
    if (!link->handshake)
        return banyan_fail_memory(err);
    if (!link->tries++)
        link->begun_ns = banyan_clock_ns();
    status = banyan_handshake_connect(link->handshake, e->meeting->secret, &hello, err);
    if (!status)
        status = banyan_socket_connect(link->to, way_out(e, link->to, link->index), &link->fd, err);
    if (status)
        return status;
    link->state = BANYAN_LINK_CONNECTING;
    return watch_link(e, link, EPOLL_CTL_ADD, EPOLLOUT) ? BANYAN_SUCCESS : banyan_tcp_fail_watch(err);
}

/* Some of several interfaces may be down already. */
banyan_status banyan_tcp_begin_links(banyan_tcp_endpoint *e, banyan_tcp_peer *peer, banyan_error *err)
{
    for (int i = 0; i < peer->link_count; i++) {
        banyan_error why = {""};
        banyan_status status = begin_link(e, &peer->links[i], &why);

        if (status == BANYAN_SYSTEM_ERROR && banyan_tcp_can_do_without(&peer->links[i]))
            banyan_tcp_give_up_link(e, &peer->links[i], why.text);
        else if (status)
            return banyan_fail(err, status, "%s", why.text);
    }
    return BANYAN_SUCCESS;
}

void banyan_tcp_hand_over(banyan_endpoint *base, const banyan_hello *hello, int socket)
{
    banyan_tcp_endpoint *e = (banyan_tcp_endpoint *)base;
    banyan_tcp_accepted *accepted = banyan_alloc(1, sizeof *accepted), **end = &e->accepted;

    if (!accepted) {
        close(socket); /* the peer will say that we are lost, and so we are */
        return;
    }
    *accepted = (banyan_tcp_accepted){.hello = *hello, .fd = socket};
    pthread_mutex_lock(&e->lock);
    while (*end)
        end = &(*end)->next;
    *end = accepted;
    pthread_mutex_unlock(&e->lock);
    banyan_tcp_wake(e);
}

static int is_expected(const banyan_tcp_endpoint *e, const banyan_hello *hello)
{
    return hello->purpose == BANYAN_HELLO_DATA && hello->from >= 0 && hello->from < e->base.member &&
           hello->size == e->base.member_count && hello->count == count_links(e, hello->from) &&
           hello->index >= 0 && hello->index < hello->count;
}

static void install_accepted(banyan_tcp_endpoint *e, const banyan_tcp_accepted *accepted)
{
    banyan_tcp_peer *peer =
        is_expected(e, &accepted->hello) ? banyan_tcp_make_peer(e, accepted->hello.from) : NULL;
    banyan_tcp_link *link = peer ? &peer->links[accepted->hello.index] : NULL;

    if (link && link->state == BANYAN_LINK_OPEN && !link->has_carried)
        renew_link(e, link, NULL); /* its end has not been noticed here yet */
    if (!link || link->state != BANYAN_LINK_NONE) {
        close(accepted->fd);
        return;
    }
    banyan_socket_tune(accepted->fd, e->meeting->buffer_bytes);
    link->fd = accepted->fd;
    if (watch_link(e, link, EPOLL_CTL_ADD, EPOLLIN))
        open_link(e, link);
    else
        banyan_tcp_end_link(e, link);
}

void banyan_tcp_install_accepted(banyan_tcp_endpoint *e)
{
    banyan_tcp_accepted *accepted, *next;
    uint64_t count;

    if (read(e->wake, &count, sizeof count) < 0)
        count = 0;
    pthread_mutex_lock(&e->lock);
    accepted = e->accepted;
    e->accepted = NULL;
    pthread_mutex_unlock(&e->lock);
    for (; accepted; accepted = next) {
        next = accepted->next;
        install_accepted(e, accepted);
        banyan_free(accepted);
    }
    e->has_changed = 1;
}

/* All of the group have shown their secret before. So a handshake that is cut short means that the peer is
 * crowded by strangers or that the network is bad; where it is gone, its port refuses us (SYSTEM_ERROR), and
 * those who watch the group know. */
static int may_try_again(const banyan_tcp_endpoint *e, const banyan_tcp_link *link, banyan_status status)
{
    return (status == BANYAN_PEER_LOST || status == BANYAN_MISMATCH || status == BANYAN_REMOTE_ERROR) &&
           banyan_clock_ns() + RETRY_NS < link->begun_ns + (int64_t)e->meeting->timeout_ms * 1000000;
}

static void fail_connecting(banyan_tcp_endpoint *e, banyan_tcp_link *link, banyan_status status,
                            const banyan_error *why)
{
    char sentence[sizeof why->text];

    if (may_try_again(e, link, status)) {
        banyan_tcp_close_socket(e, link);
        link->state = BANYAN_LINK_RETRYING;
        link->retry_ns = banyan_clock_ns() + RETRY_NS;
        e->retrying++;
        return;
    }
    snprintf(sentence, sizeof sentence, "%.400s (try %d, %.1f s after the first)", why->text, link->tries,
             (double)(banyan_clock_ns() - link->begun_ns) * 1e-9);
    banyan_tcp_lose_link(e, link, status == BANYAN_VERSION_MISMATCH ? status : BANYAN_PEER_LOST,
                         link->tries > 1 ? sentence : why->text);
}

static void retry_link(banyan_tcp_endpoint *e, banyan_tcp_link *link)
{
    banyan_error why = {""};
    banyan_status status;

    e->retrying--;
    link->state = BANYAN_LINK_NONE;
    status = begin_link(e, link, &why);
    if (status)
        banyan_tcp_lose_link(e, link, status, why.text);
}

void banyan_tcp_retry_links(banyan_tcp_endpoint *e, int64_t now_ns)
{
    for (int i = 0; e->retrying && i < e->base.member_count; i++)
        for (int k = 0; e->peers[i] && k < e->peers[i]->link_count; k++) {
            banyan_tcp_link *link = &e->peers[i]->links[k];

            if (link->state == BANYAN_LINK_RETRYING && link->retry_ns <= now_ns)
                retry_link(e, link);
        }
}

int64_t banyan_tcp_next_retry_ns(const banyan_tcp_endpoint *e)
{
    int64_t next_ns = INT64_MAX;

    for (int i = 0; e->retrying && i < e->base.member_count; i++)
        for (int k = 0; e->peers[i] && k < e->peers[i]->link_count; k++) {
            const banyan_tcp_link *link = &e->peers[i]->links[k];

            if (link->state == BANYAN_LINK_RETRYING && link->retry_ns < next_ns)
                next_ns = link->retry_ns;
        }
    return next_ns;
}

static void go_on_connecting(banyan_tcp_endpoint *e, banyan_tcp_link *link)
{
    banyan_status status = BANYAN_SUCCESS;
    banyan_error why = {""};
    char name[64];

    banyan_tcp_name(e, link->peer->member, name, sizeof name);
    if (link->state == BANYAN_LINK_CONNECTING) {
        status = banyan_socket_connected(link->fd, link->to, &why);
        banyan_socket_tune(link->fd, e->meeting->buffer_bytes);
        link->state = BANYAN_LINK_SHAKING;
    }
    if (!status)
        status = banyan_handshake_step(link->handshake, link->fd, name, &why);
    if (status == BANYAN_IN_PROGRESS) {
        watch_link(e, link, EPOLL_CTL_MOD,
                   banyan_handshake_wants_write(link->handshake) ? EPOLLIN | EPOLLOUT : EPOLLIN);
    } else if (status) {
        fail_connecting(e, link, status, &why);
    } else {
        banyan_auth_forget(link->handshake, sizeof *link->handshake);
        banyan_free(link->handshake);
        link->handshake = NULL;
        open_link(e, link);
    }
}

void banyan_tcp_serve_link(banyan_tcp_endpoint *e, banyan_tcp_link *link, uint32_t events)
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
        drop_link(e, link, status, &why);
        e->has_changed = 1;
        banyan_tcp_flush_peer(e, link->peer);
        return;
    }
    if (events & EPOLLOUT)
        link->is_blocked = 0;
    banyan_tcp_flush_peer(e, link->peer); /* credit may have come */
    if (events & EPOLLOUT && link->state == BANYAN_LINK_OPEN && !link->is_blocked)
        watch_link(e, link, EPOLL_CTL_MOD, EPOLLIN);
}
