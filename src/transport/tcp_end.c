/* SPDX-License-Identifier: Apache-2.0 */
/* transport/tcp_end.c: how a connection ends: meant, without harm since the pair has others, or with its
 * peer.
 *
 * One that is given up is shut before it is read to its end, so that from then on nothing is acknowledged
 * that is not read. A connection that ends without a word, and without others, makes its peer suspect; what
 * becomes of that is tcp.c's. */
#include <errno.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/clock.h"
#include "transport/tcp_internal.h"

const char *banyan_tcp_name(const banyan_tcp_endpoint *e, int member, char *buffer, size_t size)
{
    return e->meeting->name(e->meeting->context, member, buffer, size);
}

void banyan_tcp_close_socket(banyan_tcp_endpoint *e, banyan_tcp_link *link)
{
    if (link->fd < 0)
        return;
    epoll_ctl(e->epoll, EPOLL_CTL_DEL, link->fd, NULL);
    close(link->fd);
    link->fd = -1;
}

void banyan_tcp_end_link(banyan_tcp_endpoint *e, banyan_tcp_link *link)
{
    banyan_tcp_close_socket(e, link);
    e->retrying -= link->state == BANYAN_LINK_RETRYING;
    if (link->handshake)
        banyan_auth_forget(link->handshake, sizeof *link->handshake);
    banyan_free(link->handshake);
    link->handshake = NULL;
    link->state = BANYAN_LINK_ENDED;
    link->frame_count = 0;
}

/* What was made ready for it is made ready anew, and what need not come in order is said again. */
void banyan_tcp_forget_frames(banyan_tcp_link *link)
{
    banyan_tcp_peer *peer = link->peer;

    link->frame_count = link->is_blocked = link->patience = 0;
    for (int lane = 0; lane < peer->link_count; lane++)
        for (int i = 0; i < peer->out_count && (lane == link->index || peer->heir == link->index); i++)
            if (lane == link->index || peer->links[lane].is_inherited)
                peer->out[i]->placed[lane] = peer->out[i]->written[lane];
    for (int i = 0; i < peer->in_count; i++) {
        peer->credits_due += !peer->in[i]->is_credit_due;
        peer->in[i]->is_credit_due = 1;
    }
    for (int i = 0; i < peer->link_count; i++)
        peer->links[i].is_lost_due = peer->links[i].is_lost;
}

/* One that is still being made may do without others that are. Over one interface, connections live and die
 * together. */
int banyan_tcp_can_do_without(const banyan_tcp_link *link)
{
    int is_being_made = link->state != BANYAN_LINK_OPEN && !link->has_carried;

    for (int i = 0; i < link->peer->link_count && link->peer->is_kept; i++) {
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

/* 'from 10.0.0.1:4000 to 10.0.0.2:4000 was lost: the connection was closed'; NULL: no memory. */
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

static void abort_for(banyan_tcp_endpoint *e, const banyan_tcp_link *link, banyan_status status,
                      const char *why)
{
    char name[64], sentence[sizeof e->failure.reason.text];

    snprintf(sentence, sizeof sentence, "%s %s: %.300s",
             banyan_tcp_name(e, link->peer->member, name, sizeof name),
             status == BANYAN_REMOTE_ERROR ? "sent what is not ours" : "cannot be reached", why);
    banyan_tcp_abort(&e->base, status, sentence);
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
        abort_for(e, link, status, err.text);
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

/* The connection is of no use any more. Who said goodbye is not lost. */
void banyan_tcp_lose_link(banyan_tcp_endpoint *e, banyan_tcp_link *link, banyan_status status,
                          const char *why)
{
    int is_meant = link->heard_bye;

    if (!is_meant && (status == BANYAN_PEER_LOST || status == BANYAN_SYSTEM_ERROR) &&
        banyan_tcp_can_do_without(link)) {
        banyan_tcp_give_up_link(e, link, why);
        return;
    }
    banyan_tcp_end_link(e, link);
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
    abort_for(e, link, status, why);
}
