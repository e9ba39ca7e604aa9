/* SPDX-License-Identifier: Apache-2.0 */
/* transport/tcp_stream.c: where the bytes of a stream are: offered, dealt to links, written, arrived. */
#include "core/alloc.h"
#include "transport/tcp_internal.h"

/* The link's next stripe from this one on. */
static uint64_t find_stripe(const banyan_tcp_out *out, int link, uint64_t from)
{
    for (uint64_t stripe = from; stripe < out->dealt; stripe++)
        if (out->owner[stripe % BANYAN_TCP_DEALT] == link)
            return stripe * BANYAN_TCP_STRIPE_BYTES;
    return BANYAN_TCP_NOWHERE;
}

/* The link's next byte after that many, which do not lead beyond a stripe. */
uint64_t banyan_tcp_after(const banyan_tcp_out *out, int link, uint64_t offset, uint64_t bytes)
{
    offset += bytes;
    if (out->owner && offset % BANYAN_TCP_STRIPE_BYTES == 0)
        offset = find_stripe(out, link, offset / BANYAN_TCP_STRIPE_BYTES);
    return offset;
}

/* All before it has gone to the kernel. */
uint64_t banyan_tcp_written(const banyan_tcp_out *out, int links)
{
    uint64_t least = out->owner ? out->dealt * BANYAN_TCP_STRIPE_BYTES : out->written[0];

    for (int i = 0; i < links; i++)
        least = out->written[i] < least ? out->written[i] : least;
    return least < out->end ? least : out->end;
}

void banyan_tcp_give(banyan_tcp_out *out, int link)
{
    uint64_t begin = out->dealt * BANYAN_TCP_STRIPE_BYTES;

    out->owner[out->dealt++ % BANYAN_TCP_DEALT] = (unsigned char)link;
    if (out->placed[link] == BANYAN_TCP_NOWHERE)
        out->placed[link] = begin;
    if (out->written[link] == BANYAN_TCP_NOWHERE)
        out->written[link] = begin;
}

static banyan_tcp_out *make_out(int links)
{
    banyan_tcp_out *out = banyan_alloc(1, sizeof *out);

    if (!out || links == 1)
        return out;
    out->owner = banyan_alloc(BANYAN_TCP_DEALT, 1);
    if (!out->owner) {
        banyan_free(out);
        return NULL;
    }
    for (int i = 0; i < links; i++)
        out->placed[i] = out->written[i] = BANYAN_TCP_NOWHERE;
    return out;
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
        banyan_tcp_out *out = make_out(peer->link_count);

        if (!out)
            return banyan_fail_memory(err);
        peer->out[peer->out_count++] = out;
    }
    return BANYAN_SUCCESS;
}

static void free_in(banyan_tcp_in *in)
{
    if (in) {
        banyan_free(in->ring);
        banyan_free(in->stripes);
    }
    banyan_free(in);
}

/* With several links, a window touches at most two stripes more than it is long. */
static banyan_tcp_in *make_in(int links, size_t window)
{
    banyan_tcp_in *in = banyan_alloc(1, sizeof *in);

    if (!in)
        return NULL;
    in->window = in->limit = window;
    in->ring = banyan_alloc(window, 1);
    in->stripe_count = links > 1 ? window / BANYAN_TCP_STRIPE_BYTES + 2 : 0;
    if (in->stripe_count)
        in->stripes = banyan_alloc(in->stripe_count, sizeof *in->stripes);
    if (!in->ring || (in->stripe_count && !in->stripes)) {
        free_in(in);
        return NULL;
    }
    in->is_credit_due = 1;
    return in;
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
        banyan_tcp_in *in = make_in(peer->link_count, window);

        if (!in)
            return banyan_fail_memory(err);
        peer->credits_due++;
        peer->in[peer->in_count++] = in;
    }
    return BANYAN_SUCCESS;
}

void banyan_tcp_free_streams(banyan_tcp_peer *peer)
{
    for (int i = 0; i < peer->out_count; i++) {
        banyan_free(peer->out[i]->owner);
        banyan_free(peer->out[i]);
    }
    for (int i = 0; i < peer->in_count; i++)
        free_in(peer->in[i]);
    banyan_free(peer->out);
    banyan_free(peer->in);
}

/* Drops the offers that are all written. */
void banyan_tcp_retire(banyan_tcp_out *out, int links)
{
    uint64_t written = banyan_tcp_written(out, links);

    while (out->filled > 0 && out->base + out->slots[out->first].bytes <= written) {
        out->base += out->slots[out->first].bytes;
        out->first = (out->first + 1) % BANYAN_TCP_SLOTS;
        out->filled--;
    }
}

/* How many bytes the link may send next from one piece of memory. */
size_t banyan_tcp_ready(const banyan_tcp_out *out, int link, const char **memory)
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
    if (out->owner && BANYAN_TCP_STRIPE_BYTES - at % BANYAN_TCP_STRIPE_BYTES < ready)
        ready = BANYAN_TCP_STRIPE_BYTES - at % BANYAN_TCP_STRIPE_BYTES;
    return ready < BANYAN_TCP_FRAME_BYTES ? (size_t)ready : BANYAN_TCP_FRAME_BYTES;
}

static banyan_tcp_stripe *stripe_at(const banyan_tcp_in *in, uint64_t at)
{
    return &in->stripes[at / BANYAN_TCP_STRIPE_BYTES % in->stripe_count];
}

/* With one link bytes come in order. With several each stripe does, whose link has said that much of it
 * already: one that came over two would be taken for complete as far as the faster has come. */
int banyan_tcp_claim(banyan_tcp_in *in, int link, uint64_t at, uint64_t bytes)
{
    uint64_t offset = at % BANYAN_TCP_STRIPE_BYTES;
    banyan_tcp_stripe *stripe;

    if (!bytes || at < in->arrived || at > in->granted || bytes > in->granted - at)
        return 0;
    if (!in->stripes)
        return at == in->arrived;
    stripe = stripe_at(in, at);
    if (stripe->claimed != offset || offset + bytes > BANYAN_TCP_STRIPE_BYTES ||
        (offset && stripe->link >= 0 && stripe->link != link))
        return 0;
    stripe->claimed += (uint32_t)bytes;
    stripe->link = link;
    return 1;
}

void banyan_tcp_arrive(banyan_tcp_in *in, uint64_t at, uint64_t bytes)
{
    banyan_tcp_stripe *stripe;

    if (!in->stripes) {
        in->arrived += bytes;
        return;
    }
    stripe_at(in, at)->come += (uint32_t)bytes;
    for (stripe = stripe_at(in, in->arrived); stripe->come == BANYAN_TCP_STRIPE_BYTES;
         stripe = stripe_at(in, in->arrived)) {
        *stripe = (banyan_tcp_stripe){0};
        in->arrived = (in->arrived / BANYAN_TCP_STRIPE_BYTES + 1) * BANYAN_TCP_STRIPE_BYTES;
    }
    in->arrived = in->arrived / BANYAN_TCP_STRIPE_BYTES * BANYAN_TCP_STRIPE_BYTES + stripe->come;
}

void banyan_tcp_release(banyan_tcp_in *in, int link)
{
    for (uint64_t i = 0; i < in->stripe_count; i++) {
        banyan_tcp_stripe *stripe = &in->stripes[i];

        if (stripe->claimed && stripe->link == link) {
            stripe->claimed = stripe->come;
            stripe->link = -1;
        }
    }
}
