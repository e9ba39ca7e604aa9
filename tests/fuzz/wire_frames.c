/* SPDX-License-Identifier: Apache-2.0 */
/* tests/fuzz/wire_frames.c: what a member that holds the secret may send: data frames over one connection,
 * over two that share the streams in stripes, and a rank's record. */
#include <stdlib.h>
#include <string.h>

#include "bootstrap/rank_record.h"
#include "transport/tcp_internal.h"

enum { STREAMS = 3, WINDOW = 256, LINKS = 2, BEFORE_END = 64 };

/* Where streams are when the frames come; with stripes, at or shortly before the end of one. */
static void place_streams(banyan_tcp_peer *peer)
{
    for (int i = 0; i < peer->in_count; i++) {
        banyan_tcp_in *in = peer->in[i];

        if (in->stripes) {
            in->arrived = BANYAN_TCP_STRIPE_BYTES - (uint64_t)(BEFORE_END * i);
            in->stripes[in->arrived / BANYAN_TCP_STRIPE_BYTES % in->stripe_count].claimed =
                in->stripes[in->arrived / BANYAN_TCP_STRIPE_BYTES % in->stripe_count].come =
                    (uint32_t)(in->arrived % BANYAN_TCP_STRIPE_BYTES);
        }
        in->consumed = in->arrived;
        in->granted = in->consumed + WINDOW;
    }
}

/* As a receiver that takes everything at once. */
static void take_all(const banyan_tcp_peer *peer)
{
    for (int i = 0; i < peer->in_count; i++) {
        banyan_tcp_in *in = peer->in[i];

        if (in->arrived < in->consumed || in->arrived > in->granted)
            abort();
        in->consumed = in->arrived;
        in->granted = in->consumed + WINDOW;
    }
}

/* As the endpoint does when both ends have lost a connection. */
static void lose(banyan_tcp_peer *peer, banyan_tcp_link *link)
{
    for (int i = 0; i < peer->in_count; i++)
        banyan_tcp_release(peer->in[i], link->index);
    banyan_tcp_take_back(link, link->peer_has);
    link->state = BANYAN_LINK_ENDED;
}

static banyan_status read_portion(banyan_tcp_link *link, const uint8_t *data, size_t size)
{
    banyan_status status = BANYAN_SUCCESS;

    while (size && !status) {
        size_t count = sizeof link->in - link->in_end;
        int has_changed = 0;

        count = count < size ? count : size;
        memcpy(link->in + link->in_end, data, count);
        link->in_end += count;
        data += count;
        size -= count;
        status = banyan_tcp_parse(link, &has_changed, NULL);
        take_all(link->peer);
    }
    return status;
}

/* With several links, a byte says which of them the next portion comes from and how long it is. */
static void read_frames(const uint8_t *data, size_t size, int links)
{
    static banyan_tcp_link link[LINKS];
    banyan_tcp_peer peer = {.member = 1, .link_count = links, .links = link};
    banyan_status status = banyan_tcp_widen_in(&peer, STREAMS, WINDOW, NULL);

    for (int i = 0; i < links; i++)
        link[i] = (banyan_tcp_link){
            .peer = &peer, .fd = -1, .index = i, .state = BANYAN_LINK_OPEN, .sent_bytes = WINDOW};
    place_streams(&peer);
    if (links == 1 && !status)
        status = read_portion(&link[0], data, size);
    while (links > 1 && size && !status) {
        int from = data[0] % links;
        size_t portion = data[0] / (size_t)links;

        data++;
        size--;
        portion = portion < size ? portion : size;
        if (link[from].state == BANYAN_LINK_OPEN)
            status = read_portion(&link[from], data, portion);
        for (int i = 0; i < links; i++)
            if (link[i].is_heard_lost && link[i].state == BANYAN_LINK_OPEN)
                lose(&peer, &link[i]);
        data += portion;
        size -= portion;
    }
    banyan_tcp_free_streams(&peer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned char bytes[BANYAN_RANK_RECORD_BYTES] = {0};
    banyan_rank_record record;
    banyan_error err;

    memcpy(bytes, data, size < sizeof bytes ? size : sizeof bytes);
    if (!banyan_rank_record_read(bytes, &record, &err))
        banyan_rank_records_compare(&record, 1, &err);
    read_frames(data, size, 1);
    read_frames(data, size, LINKS);
    return 0;
}
