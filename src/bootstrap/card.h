/* SPDX-License-Identifier: Apache-2.0 */
/* bootstrap/card.h: what each rank tells all others before the group begins, and what must be the same on
 * all.
 *
 * A card has a fixed size, so any all-gather can exchange them: our own store, MPI, PyTorch's store, a file.
 * Every rank compares all cards in the same order and so finds the same disagreement, with the same words. */
#ifndef BANYAN_BOOTSTRAP_CARD_H
#define BANYAN_BOOTSTRAP_CARD_H

#include "core/auth.h"
#include "transport/socket.h"

#define BANYAN_CARD_BYTES 512
#define BANYAN_CARD_TEXT 64
#define BANYAN_MAX_RANKS 4096 /* in a group, relays included */

typedef struct {
    int protocol, version;
    uint32_t byte_order; /* 1 as this machine writes it */
    int size, rank;
    int process;                  /* its id, for people */
    char host[BANYAN_CARD_TEXT];  /* name of the machine */
    char place[BANYAN_CARD_TEXT]; /* the same for ranks of one machine and one network stack */
    banyan_address address;       /* where it listens, */
    banyan_address others[BANYAN_INTERFACES - 1]; /* for data also on other interfaces; family 0: none */
    /* What decides about plans and how they run. */
    char topology[BANYAN_CARD_TEXT]; /* digest; empty: by hosts */
    char algorithm[BANYAN_CARD_TEXT];
    char transport[BANYAN_CARD_TEXT];
    uint64_t slice_bytes, window_bytes;
    int connections;
    int quorum;           /* who goes on after a loss (bootstrap/quorum.h) */
    int fanout;           /* of the control tree */
    int learn;            /* whether the network is learnt (bootstrap/setup.h) */
    banyan_secret secret; /* rank 0's, where the exchange itself is trusted; else zeros */
    int old_rank;         /* of a group that this one comes from; else -1 */
    int color, key;       /* of a split */
} banyan_card;

void banyan_card_write(const banyan_card *card, unsigned char out[BANYAN_CARD_BYTES]);

/* Foreign bytes in, a card with sane fields out, or a sentence. */
banyan_status banyan_card_read(const unsigned char in[BANYAN_CARD_BYTES], banyan_card *out,
                               banyan_error *err);

/* Whether the cards of all ranks, in order of rank, make up a group: MISMATCH or VERSION_MISMATCH with the
 * two ranks and values that differ. */
banyan_status banyan_cards_compare(const banyan_card *cards, int size, banyan_error *err);

#endif
