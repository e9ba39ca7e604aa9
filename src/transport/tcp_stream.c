/* SPDX-License-Identifier: Apache-2.0 */
/* transport/tcp_stream.c: where the bytes of a stream are: dealt to links, offered, written, arrived. */
#include "core/alloc.h"
#include "transport/tcp_internal.h"

/* The first byte of the stream that the link carries. */
uint64_t banyan_tcp_first(int stream, int link, int links)
{
    return links == 1 ? 0 : (uint64_t)((link - stream % links + links) % links) * BANYAN_TCP_STRIPE_BYTES;
}

/* The link's next byte after so many, which do not lead beyond a stripe. */
uint64_t banyan_tcp_after(uint64_t offset, uint64_t bytes, int links)
{
    offset += bytes;
    if (links > 1 && offset % BANYAN_TCP_STRIPE_BYTES == 0)
        offset += (uint64_t)(links - 1) * BANYAN_TCP_STRIPE_BYTES;
    return offset;
}

uint64_t banyan_tcp_frontier(const uint64_t *positions, int links)
{
    uint64_t least = positions[0];

    for (int i = 1; i < links; i++)
        least = positions[i] < least ? positions[i] : least;
    return least;
}

banyan_status banyan_tcp_widen_out(banyan_tcp_peer *peer, int count, banyan_error *err)
{
    banyan_tcp_out **wider;

    if (count <= peer->out_count)
        return BANYAN_SUCCESS;
    wider = banyan_realloc(peer->out, (size_t)count, sizeof *wider);
    if (!wider)
        return banyan_fail_memory(err);
    peer->out = wider;
    while (peer->out_count < count) {
        banyan_tcp_out *out = banyan_alloc(1, sizeof *out);

        if (!out)
            return banyan_fail_memory(err);
        for (int i = 0; i < peer->link_count; i++)
            out->placed[i] = out->written[i] = banyan_tcp_first(peer->out_count, i, peer->link_count);
        peer->out[peer->out_count++] = out;
    }
    return BANYAN_SUCCESS;
}

banyan_status banyan_tcp_widen_in(banyan_tcp_peer *peer, int count, size_t window, banyan_error *err)
{
    banyan_tcp_in **wider;

    if (count <= peer->in_count)
        return BANYAN_SUCCESS;
    wider = banyan_realloc(peer->in, (size_t)count, sizeof *wider);
    if (!wider)
        return banyan_fail_memory(err);
    peer->in = wider;
    while (peer->in_count < count) {
        banyan_tcp_in *in = banyan_alloc(1, sizeof *in);

        if (in)
            in->ring = banyan_alloc(window, 1);
        if (!in || !in->ring) {
            banyan_free(in);
            return banyan_fail_memory(err);
        }
        in->window = window;
        for (int i = 0; i < peer->link_count; i++)
            in->arrived[i] = banyan_tcp_first(peer->in_count, i, peer->link_count);
        in->is_credit_due = 1;
        peer->credits_due++;
        peer->in[peer->in_count++] = in;
    }
    return BANYAN_SUCCESS;
}

/* Drops the offers that are all written. */
void banyan_tcp_retire(banyan_tcp_out *out, int links)
{
    uint64_t written = banyan_tcp_frontier(out->written, links);

    while (out->filled > 0 && out->base + out->slots[out->first].bytes <= written) {
        out->base += out->slots[out->first].bytes;
        out->first = (out->first + 1) % BANYAN_TCP_SLOTS;
        out->filled--;
    }
}

/* How many bytes the link may send next from one piece of memory. */
size_t banyan_tcp_ready(const banyan_tcp_out *out, int link, int links, const char **memory)
{
    uint64_t at = out->placed[link], begin = out->base;
    uint64_t until = out->end < out->limit ? out->end : out->limit;
    unsigned slot = out->first;
    uint64_t ready;

    if (at >= until)
        return 0;
    while (begin + out->slots[slot].bytes <= at) {
        begin += out->slots[slot].bytes;
        slot = (slot + 1) % BANYAN_TCP_SLOTS;
    }
    *memory = out->slots[slot].memory + (at - begin);
    ready = begin + out->slots[slot].bytes - at;
    ready = until - at < ready ? until - at : ready;
    if (links > 1 && BANYAN_TCP_STRIPE_BYTES - at % BANYAN_TCP_STRIPE_BYTES < ready)
        ready = BANYAN_TCP_STRIPE_BYTES - at % BANYAN_TCP_STRIPE_BYTES;
    return ready < BANYAN_TCP_FRAME_BYTES ? (size_t)ready : BANYAN_TCP_FRAME_BYTES;
}
