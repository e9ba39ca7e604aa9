/* SPDX-License-Identifier: Apache-2.0 */
/* transport/tcp_lost.c: going on without one of several links of a pair.
 *
 *     we give link 1 up ── LOST {1, what came} over link 0 ──> the peer gives it up
 *         its LOST for link 1 has come  <── LOST {1, what came} ──┘
 *         link 0 is the heir: it sends what had not come, then what link 1 still had to send
 *
 * A link is given up where its connection has ended, or where the peer's system has not answered several
 * retransmissions in a row though it answers on another link. It is shut before it is read to its end, so
 * that from then on nothing is acknowledged that is not read. Nothing is sent again before the peer has
 * closed its end: else bytes of one stripe might come over both. A link that is given up is not made again.
 *
 * Each retransmission waits twice as long as the one before; the first for about a round trip, but at least
 * 0.2 s. So a cable that is cut shows after some 1.4 s, on long ways after some seven round trips. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "core/alloc.h"
#include "core/clock.h"
#include "transport/tcp_internal.h"

#define WATCH_NS 100000000 /* between two looks: short beside three retransmissions */
#define UNANSWERED 3       /* retransmissions; one or two are lost where queues are full */
#define PAUSE_NS 1000000   /* at the end, between two looks whether everything has arrived */

/* One that is still being made may do without others that are. */
int banyan_tcp_can_do_without(const banyan_tcp_link *link)
{
    int is_being_made = link->state != BANYAN_LINK_OPEN && !link->has_carried;

    for (int i = 0; i < link->peer->link_count; i++) {
        const banyan_tcp_link *other = &link->peer->links[i];

        if (other != link && ((other->state == BANYAN_LINK_OPEN && !other->heard_bye) ||
                              (is_being_made && other->state != BANYAN_LINK_ENDED)))
            return 1;
    }
    return 0;
}

static banyan_status read_to_end(banyan_tcp_endpoint *e, banyan_tcp_link *link, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;
    char byte;

    shutdown(link->fd, SHUT_RDWR);
    while (!status && recv(link->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0)
        status = banyan_tcp_read(link, &e->has_changed, err);
    return status == BANYAN_PEER_LOST ? BANYAN_SUCCESS : status;
}

/* 'from 10.0.0.1:4000 to 10.0.0.2:4000 was lost: the connection was closed'; NULL where there is no memory. */
static char *describe(const banyan_tcp_link *link, const char *why)
{
    char words[2 * BANYAN_ADDRESS_TEXT + 300], from[BANYAN_ADDRESS_TEXT], to[BANYAN_ADDRESS_TEXT];
    banyan_address local, other;

    if (link->fd >= 0 && banyan_socket_local(link->fd, &local) && banyan_socket_peer(link->fd, &other))
        snprintf(words, sizeof words, "from %s to %s was lost: %.250s", banyan_address_format(&local, from),
                 banyan_address_format(&other, to), why);
    else
        snprintf(words, sizeof words, "at %s was lost: %.250s", banyan_address_format(link->to, to), why);
    return banyan_strdup(words);
}

void banyan_tcp_give_up_link(banyan_tcp_endpoint *e, banyan_tcp_link *link, const char *why)
{
    banyan_tcp_peer *peer = link->peer;
    banyan_status status = BANYAN_SUCCESS;
    banyan_error err = {""};

    link->why_lost = describe(link, why);
    if (link->state == BANYAN_LINK_OPEN)
        status = read_to_end(e, link, &err);
    banyan_tcp_end_link(e, link);
    if (status) {
        banyan_tcp_lose_link(e, link, status, err.text);
        return;
    }
    link->is_lost = 1;
    link->waiting = 0;
    link->rate = 0;
    peer->awaited++;
    for (int i = 0; i < peer->in_count; i++)
        banyan_tcp_release(peer->in[i], link->index);
    banyan_tcp_forget_frames(link);
    e->has_changed = 1;
}

static void tell(const banyan_tcp_endpoint *e, const banyan_tcp_link *link, uint64_t bytes)
{
    char name[64], sentence[600];
    int left = 0;

    for (int i = 0; i < link->peer->link_count; i++)
        left += link->peer->links[i].state == BANYAN_LINK_OPEN;
    snprintf(sentence, sizeof sentence,
             "a connection to %s %s; %llu bytes that had not arrived, and all that follows, go over the other "
             "%d",
             banyan_tcp_name(e, link->peer->member, name, sizeof name), link->why_lost ? link->why_lost : "was lost",
             (unsigned long long)bytes, left);
    if (e->meeting->note)
        e->meeting->note(e->meeting->context, sentence);
}

/* Its peer's end is closed, too. */
static void pass_on(banyan_tcp_endpoint *e, banyan_tcp_link *link)
{
    char name[64], sentence[200];

    if (link->state != BANYAN_LINK_ENDED)
        banyan_tcp_give_up_link(e, link, "the peer has lost it");
    if (!link->is_lost)
        return;
    if (link->peer_has < link->forgotten_bytes) {
        snprintf(sentence, sizeof sentence, "%s has lost bytes that its system had acknowledged",
                 banyan_tcp_name(e, link->peer->member, name, sizeof name));
        banyan_tcp_abort(&e->base, BANYAN_PEER_LOST, sentence);
        return;
    }
    link->is_inherited = 1;
    link->peer->awaited--;
    tell(e, link, banyan_tcp_take_back(link, link->peer_has));
}

/* It stays the same as long as it lives: a stripe that it has begun is its own. */
static void choose_heir(banyan_tcp_peer *peer)
{
    if (peer->heir >= 0 && peer->links[peer->heir].state == BANYAN_LINK_OPEN)
        return;
    peer->heir = -1;
    for (int i = 0; i < peer->link_count && peer->heir < 0; i++)
        if (peer->links[i].state == BANYAN_LINK_OPEN)
            peer->heir = i;
}

void banyan_tcp_hear_lost(banyan_tcp_endpoint *e, banyan_tcp_peer *peer)
{
    while (peer->has_news) {
        peer->has_news = 0;
        for (int i = 0; i < peer->link_count; i++)
            if (peer->links[i].is_heard_lost && !peer->links[i].is_inherited)
                pass_on(e, &peer->links[i]);
    }
    if (!peer->awaited)
        choose_heir(peer);
}

/* A stopped process's system answers, and a full one's, too. */
static int count_unanswered(const banyan_tcp_link *link)
{
    struct tcp_info info = {0};
    socklen_t bytes = sizeof info;

    return getsockopt(link->fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) ? 0
                                                                      : info.tcpi_retransmits + info.tcpi_probes;
}

static void watch_peer(banyan_tcp_endpoint *e, banyan_tcp_peer *peer)
{
    int unanswered[BANYAN_TCP_MAX_CONNECTIONS] = {0}, is_any_answered = 0, is_any_lost = 0;
    char why[80];

    for (int i = 0; i < peer->link_count; i++)
        if (peer->links[i].state == BANYAN_LINK_OPEN) {
            unanswered[i] = count_unanswered(&peer->links[i]);
            is_any_answered |= !unanswered[i];
        }
    for (int i = 0; i < peer->link_count && is_any_answered; i++)
        if (unanswered[i] >= UNANSWERED && banyan_tcp_can_do_without(&peer->links[i])) {
            snprintf(why, sizeof why, "%d retransmissions were not answered", unanswered[i]);
            banyan_tcp_give_up_link(e, &peer->links[i], why);
            is_any_lost = 1;
        }
    if (is_any_lost)
        banyan_tcp_flush_peer(e, peer);
}

void banyan_tcp_watch_links(banyan_tcp_endpoint *e, int64_t now_ns)
{
    if (now_ns < banyan_tcp_next_watch_ns(e) || e->is_withdrawn)
        return;
    e->watched_ns = now_ns;
    for (int i = 0; i < e->base.member_count; i++)
        if (e->peers[i] && e->peers[i]->link_count > 1)
            watch_peer(e, e->peers[i]);
}

int64_t banyan_tcp_next_watch_ns(const banyan_tcp_endpoint *e)
{
    return e->has_several ? e->watched_ns + WATCH_NS : INT64_MAX;
}

static int is_delivered(const banyan_tcp_peer *peer)
{
    int is_open = 0;

    for (int i = 0; i < peer->link_count; i++) {
        const banyan_tcp_link *link = &peer->links[i];

        if (link->state != BANYAN_LINK_OPEN || link->heard_bye)
            continue;
        is_open = 1;
        if (link->frame_count || banyan_tcp_waiting_bytes(link))
            return 0;
    }
    return !is_open || (!peer->again && !peer->awaited);
}

void banyan_tcp_deliver_rest(banyan_tcp_endpoint *e, int64_t deadline_ns)
{
    for (int i = 0; i < e->base.member_count; i++)
        while (e->peers[i] && e->peers[i]->link_count > 1 && !is_delivered(e->peers[i])) {
            int64_t now_ns = banyan_clock_ns();

            if (now_ns >= deadline_ns || banyan_first_failure_is_there(&e->failure) || e->is_withdrawn)
                return;
            e->base.transport->wait(&e->base, now_ns + PAUSE_NS, NULL);
        }
}
