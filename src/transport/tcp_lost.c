/* SPDX-License-Identifier: Apache-2.0 */
/* transport/tcp_lost.c: going on without one of several links of a pair.
 *
 *     we give link 1 up ── LOST {1, what came} over link 0 ──> the peer gives it up
 *         its LOST for link 1 has come  <── LOST {1, what came} ──┘
 *         link 0 is the heir: it sends what had not come, then what link 1 still had to send
 *
 * Nothing is sent again before the peer has closed its end: else bytes of one stripe might come over both. A
 * link that is given up is not made again. */
#include <stdio.h>

#include "transport/tcp_internal.h"

static void tell(const banyan_tcp_endpoint *e, const banyan_tcp_link *link, uint64_t bytes)
{
    char name[64], sentence[600];
    int left = 0;

    for (int i = 0; i < link->peer->link_count; i++)
        left += link->peer->links[i].state == BANYAN_LINK_OPEN;
    snprintf(
        sentence, sizeof sentence,
        "a connection to %s %s; %llu bytes that had not arrived, and all that follows, go over the other "
        "%d",
        banyan_tcp_name(e, link->peer->member, name, sizeof name),
        link->why_lost ? link->why_lost : "was lost", (unsigned long long)bytes, left);
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
