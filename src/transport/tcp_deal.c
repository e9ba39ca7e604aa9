/* SPDX-License-Identifier: Apache-2.0 */
/* transport/tcp_deal.c: which of a pair's connections carries the next stripe of a stream.
 *
 *     cable 0, 1 Gbit/s, weight 1        | 0 | 2 | 3 | 4 | 5 | 7 | 8 | 9 |
 *     cable 1, 250 Mbit/s, weight 1/4    |       1       |       6       |
 *
 * Each link gets stripes as its weight says, in turn (stride scheduling), so that they are through in about
 * the order in which they are wanted. A weight is the link's rate, of the fastest one's: what was
 * acknowledged in a few milliseconds, where something was waiting all the time. A link that ran dry while
 * another did not can do more than it was seen to, so its rate is raised until it does not. Rates that are
 * nearly the same are taken for the same. So equal cables are dealt equal shares whatever their
 * acknowledgements' humours, unequal ones come to carry what they can, and so do equal ones of which one is
 * used by others, too. */
#include <linux/sockios.h>
#include <sys/ioctl.h>

#include "core/clock.h"
#include "transport/tcp_internal.h"

#define LOOK_NS 4000000    /* a rate is found over so long at least, */
#define PAUSE_NS 100000000 /* and so long at the most: nobody was sending */
#define LITTLE_BYTES 8192  /* may be there already: acknowledgements wait for company */
#define SMOOTH 0.15        /* a rate's part in the mean */
#define RAISE 1.05         /* the rate of a link that ran dry */
#define AS_FAST 0.7        /* of the fastest: as fast */
#define LEAST (1.0 / 64)   /* of it: every link must be tried now and then */

uint64_t banyan_tcp_waiting_bytes(const banyan_tcp_link *link)
{
    int bytes = 0;

    if (ioctl(link->fd, SIOCOUTQ, &bytes) != 0)
        return link->sent_bytes;
    return (uint64_t)bytes < link->sent_bytes ? (uint64_t)bytes : link->sent_bytes;
}

static void begin_interval(banyan_tcp_peer *peer, int64_t now_ns)
{
    peer->seen_ns = now_ns;
    for (int i = 0; i < peer->link_count; i++) {
        banyan_tcp_link *link = &peer->links[i];

        link->seen_through = link->sent_bytes - link->waiting;
        link->is_busy = link->waiting > LITTLE_BYTES;
    }
}

static void find_rates(banyan_tcp_peer *peer, double seconds)
{
    double fastest = 0;
    int is_any_busy = 0;

    for (int i = 0; i < peer->link_count; i++)
        is_any_busy |= peer->links[i].is_busy;
    for (int i = 0; i < peer->link_count && is_any_busy; i++) {
        banyan_tcp_link *link = &peer->links[i];
        double found = (double)(link->sent_bytes - link->waiting - link->seen_through) / seconds;

        if (!link->is_busy)
            link->rate = RAISE * (found > link->rate ? found : link->rate);
        else
            link->rate = link->rate > 0 ? link->rate + SMOOTH * (found - link->rate) : found;
    }
    for (int i = 0; i < peer->link_count; i++)
        fastest = peer->links[i].rate > fastest ? peer->links[i].rate : fastest;
    for (int i = 0; i < peer->link_count && fastest > 0; i++) {
        double share = peer->links[i].rate / fastest;

        peer->links[i].weight = share > AS_FAST ? 1 : share > LEAST ? share : LEAST;
    }
}

static void look(banyan_tcp_peer *peer)
{
    int64_t now_ns = banyan_clock_ns(), past_ns = now_ns - peer->seen_ns;

    for (int i = 0; i < peer->link_count; i++) {
        banyan_tcp_link *link = &peer->links[i];

        if (link->state == BANYAN_LINK_OPEN) {
            link->waiting = banyan_tcp_waiting_bytes(link);
            banyan_tcp_forget_acknowledged(link, link->sent_bytes - link->waiting);
        }
        link->is_busy &= link->waiting > LITTLE_BYTES;
    }
    if (past_ns < LOOK_NS)
        return;
    if (past_ns < PAUSE_NS)
        find_rates(peer, (double)past_ns * 1e-9);
    begin_interval(peer, now_ns);
}

/* The one whose turn it is, or NULL while none is open. */
static banyan_tcp_link *next_link(const banyan_tcp_peer *peer)
{
    banyan_tcp_link *next = NULL;

    for (int i = 0; i < peer->link_count; i++)
        if (peer->links[i].state == BANYAN_LINK_OPEN && (!next || peer->links[i].turn < next->turn))
            next = &peer->links[i];
    return next;
}

/* A stripe that has begun, and room to remember whose it is. */
static int has_undealt(const banyan_tcp_peer *peer, const banyan_tcp_out *out)
{
    uint64_t until = out->end < out->limit ? out->end : out->limit;
    uint64_t kept = banyan_tcp_written(out, peer->link_count) / BANYAN_TCP_STRIPE_BYTES;

    return out->dealt * BANYAN_TCP_STRIPE_BYTES < until && out->dealt - kept < BANYAN_TCP_DEALT;
}

void banyan_tcp_deal(banyan_tcp_peer *peer)
{
    int has_looked = 0;

    for (int i = 0; i < peer->out_count; i++)
        while (has_undealt(peer, peer->out[i])) {
            banyan_tcp_link *link;

            if (!has_looked)
                look(peer);
            has_looked = 1;
            link = next_link(peer);
            if (!link)
                return;
            banyan_tcp_give(peer->out[i], link->index);
            peer->turn = link->turn;
            link->turn += 1 / link->weight;
        }
}
