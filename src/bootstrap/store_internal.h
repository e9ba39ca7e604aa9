/* SPDX-License-Identifier: Apache-2.0 */
/* bootstrap/store_internal.h: the messages of a meeting, between the store (store.c) and the ranks that visit
 * it (store_visit.c), and between a rank and its children in the join tree. Numbers have 32 bits. */
#ifndef BANYAN_BOOTSTRAP_STORE_INTERNAL_H
#define BANYAN_BOOTSTRAP_STORE_INTERNAL_H

#include "bootstrap/store.h"

enum {
    CARD = 1, /* to the store: time-out, what is left of it, port for children, number of this visit; card */
    PARENT,   /* from it: where to wait: the parent's port, the number of its visit; its card */
    ATTACH,   /* to the parent: the number of its visit, and of the own one */
    LOST,     /* to the parent, up to the store: a rank whose connection has ended, and its visit */
    CARDS,  /* to the children, down to all: all cards; per rank a byte, its number of children; strangers */
    FAILED, /* to the children, down to all: a status and a sentence */
    GOT     /* to the parent: this rank and all below it have the cards */
};
enum {
    CARD_HEAD = 16,
    CARD_MESSAGE = CARD_HEAD + BANYAN_CARD_BYTES,
    PARENT_HEAD = 8,
    PARENT_MESSAGE = PARENT_HEAD + BANYAN_CARD_BYTES,
    PAIR_MESSAGE = 8, /* ATTACH and LOST */
    CARDS_PER_RANK = BANYAN_CARD_BYTES + 1,
    FAILED_HEAD = 4,
    MOST_MESSAGE = BANYAN_MAX_RANKS * CARDS_PER_RANK + BANYAN_STRANGERS_TEXT
};

#endif
