/* SPDX-License-Identifier: Apache-2.0 */
/* transport/tcp_watch.c: finds links of several on which packets vanish: the peer's system does not answer
 * retransmissions, though it answers on another link.
 *
 * Each retransmission waits twice as long as the one before; the first for about a round trip, but at least
 * 0.2 s. So a cable that is cut shows after some 1.4 s, on long ways after some seven round trips. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>

#include "core/clock.h"
#include "transport/tcp_internal.h"

#define WATCH_NS 100000000 /* between two looks: short beside three retransmissions */
#define UNANSWERED 3       /* retransmissions; one or two are lost where queues are full */
#define PAUSE_NS 1000000   /* at the end, between two looks whether everything has arrived */

/* A stopped process's system answers, and a full one's, too. */
static int count_unanswered(const banyan_tcp_link *link)
{
    struct tcp_info info = {0};
    socklen_t bytes = sizeof info;

    return getsockopt(link->fd, IPPROTO_TCP, TCP_INFO, &info, &bytes)
               ? 0
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
        if (e->peers[i] && e->peers[i]->is_kept)
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
        while (e->peers[i] && e->peers[i]->is_kept && !is_delivered(e->peers[i])) {
            int64_t now_ns = banyan_clock_ns();

            if (now_ns >= deadline_ns || banyan_first_failure_is_there(&e->failure) || e->is_withdrawn)
                return;
            e->base.transport->wait(&e->base, now_ns + PAUSE_NS, NULL);
        }
}
