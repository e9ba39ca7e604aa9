/* SPDX-License-Identifier: Apache-2.0 */
/* tests/fuzz/wire_frames.c: what a member that holds the secret may send: data frames, and a rank's card. */
#include <string.h>

#include "comm/card.h"
#include "transport/tcp_internal.h"

enum { STREAMS = 3, WINDOW = 256, LINKS = 2 };

static void read_frames(const uint8_t *data, size_t size, int links)
{
    banyan_tcp_peer peer = {.member = 1, .link_count = links};
    banyan_tcp_link link = {.peer = &peer, .fd = -1};
    banyan_status status = banyan_tcp_widen_in(&peer, STREAMS, WINDOW, NULL);

    peer.links = &link;
    for (int i = 0; i < STREAMS && !status; i++)
        peer.in[i]->granted = WINDOW;
    while (size && !status) {
        size_t count = sizeof link.in - link.in_end;
        int has_changed = 0;

        count = count < size ? count : size;
        memcpy(link.in + link.in_end, data, count);
        link.in_end += count;
        data += count;
        size -= count;
        status = banyan_tcp_parse(&link, &has_changed, NULL);
        for (int i = 0; i < STREAMS; i++) { /* as a receiver that takes everything at once */
            banyan_tcp_in *in = peer.in[i];

            in->consumed = in->arrived;
            in->granted = in->consumed + WINDOW;
        }
    }
    banyan_tcp_free_streams(&peer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned char bytes[BANYAN_CARD_BYTES] = {0};
    banyan_card card;
    banyan_error err;

    memcpy(bytes, data, size < sizeof bytes ? size : sizeof bytes);
    if (!banyan_card_read(bytes, &card, &err))
        banyan_cards_compare(&card, 1, &err);
    read_frames(data, size, 1);
    read_frames(data, size, LINKS);
    return 0;
}
