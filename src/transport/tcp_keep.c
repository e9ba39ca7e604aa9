/* SPDX-License-Identifier: Apache-2.0 */
/* transport/tcp_keep.c: copies of what has left over one of several links, as long as that link's loss could
 * lose it. What the other kernel has acknowledged, the peer reads even if the link is lost then: it reads a
 * lost link to its end. The user's memory is free as soon as the kernel has taken it, as without copies.
 *
 *     what the link carries   | head | body | head | body | head | bo
 *                                    ^ begin                ^      ^ sent_bytes
 *                                              acknowledged
 *
 * Cost: one copy of each byte, while it is on its way into the cache for the kernel's own copy. */
#include <string.h>

#include "core/alloc.h"
#include "transport/tcp_internal.h"

/* What is as long as a stripe lies in blocks that are used again, the last one first: it is in the cache. */
static banyan_tcp_kept *find_room(banyan_tcp_peer *peer, size_t bytes)
{
    int is_block = bytes > BANYAN_TCP_STRIPE_BYTES / 2;
    banyan_tcp_kept *kept = is_block ? peer->blocks : NULL;

    if (kept)
        peer->blocks = kept->next;
    else
        kept = banyan_realloc(NULL, sizeof *kept + (is_block ? (size_t)BANYAN_TCP_STRIPE_BYTES : bytes), 1);
    if (kept)
        *kept = (banyan_tcp_kept){.data = kept->memory, .bytes = bytes, .is_block = is_block};
    return kept;
}

static void release(banyan_tcp_peer *peer, banyan_tcp_kept *kept)
{
    if (!kept->is_block) {
        banyan_free(kept);
        return;
    }
    kept->next = peer->blocks;
    peer->blocks = kept;
}

banyan_tcp_kept *banyan_tcp_keep(banyan_tcp_link *link, int stream, uint64_t at, const char *memory,
                                 size_t bytes)
{
    banyan_tcp_kept *kept = find_room(link->peer, bytes);

    if (!kept)
        return NULL;
    kept->stream = stream;
    kept->at = at;
    memcpy(kept->memory, memory, bytes);
    banyan_tcp_append_kept(link, kept);
    return kept;
}

void banyan_tcp_append_kept(banyan_tcp_link *link, banyan_tcp_kept *kept)
{
    kept->next = NULL;
    kept->begin = link->framed_bytes + BANYAN_TCP_HEADER;
    if (link->kept)
        link->last_kept->next = kept;
    else
        link->kept = kept;
    link->last_kept = kept;
}

void banyan_tcp_forget_acknowledged(banyan_tcp_link *link, uint64_t acknowledged)
{
    while (link->kept && link->kept->begin + link->kept->bytes <= acknowledged) {
        banyan_tcp_kept *next = link->kept->next;

        link->forgotten_bytes = link->kept->begin + link->kept->bytes;
        release(link->peer, link->kept);
        link->kept = next;
    }
}

/* Cuts it down to what has left, but not come. Of new data the rest is still the stream's; of what is sent
 * again there is nothing else. */
static void cut(banyan_tcp_kept *kept, uint64_t come, uint64_t sent)
{
    uint64_t end = kept->begin + kept->bytes, from = come > kept->begin ? come : kept->begin;

    if (!kept->is_again && sent < end)
        end = sent;
    if (from > end)
        from = end;
    kept->at += from - kept->begin;
    kept->data += from - kept->begin;
    kept->bytes = (size_t)(end - from);
}

/* What came first goes first: a stripe's bytes come in order, and some that wait already may belong behind
 * these. */
uint64_t banyan_tcp_take_back(banyan_tcp_link *link, uint64_t come)
{
    banyan_tcp_kept **place = &link->peer->again, *kept = link->kept, *next;
    uint64_t total = 0;

    for (; kept; kept = next) {
        next = kept->next;
        cut(kept, come, link->sent_bytes);
        if (!kept->bytes) {
            release(link->peer, kept);
            continue;
        }
        total += kept->bytes;
        kept->is_again = 1;
        kept->next = *place;
        *place = kept;
        place = &kept->next;
    }
    link->kept = NULL;
    return total;
}

static void drop_list(banyan_tcp_kept **list)
{
    while (*list) {
        banyan_tcp_kept *next = (*list)->next;

        banyan_free(*list);
        *list = next;
    }
}

void banyan_tcp_drop_kept(banyan_tcp_peer *peer)
{
    for (int i = 0; i < peer->link_count; i++)
        drop_list(&peer->links[i].kept);
    drop_list(&peer->again);
    drop_list(&peer->blocks);
}
