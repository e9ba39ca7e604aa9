/* SPDX-License-Identifier: Apache-2.0 */
/* bootstrap/store_internal.h: the messages of a meeting, between the store (store.c) and the ranks that visit
 * it (store_visit.c), and between a rank and its children in the join tree. Numbers have 32 bits. */
#ifndef BANYAN_BOOTSTRAP_STORE_INTERNAL_H
#define BANYAN_BOOTSTRAP_STORE_INTERNAL_H

#include "bootstrap/store.h"

enum {
    RECORD =
        1,  /* to the store: time-out, what is left of it, port for children, number of this visit; record */
    PARENT, /* from it: where to wait: the parent's port, the number of its visit; its record */
    ATTACH, /* to the parent: the number of its visit, and of the own one */
    LOST,   /* to the parent, up to the store: a rank whose connection has ended, and its visit */
    /* to the children, down to all: all records; per rank a byte, its number of children; strangers */
    RECORDS,
    FAILED, /* to the children, down to all: a status and a sentence */
    GOT     /* to the parent: this rank and all below it have the records */
};
enum {
    RECORD_HEAD = 16,
    RECORD_MESSAGE = RECORD_HEAD + BANYAN_RANK_RECORD_BYTES,
    PARENT_HEAD = 8,
    PARENT_MESSAGE = PARENT_HEAD + BANYAN_RANK_RECORD_BYTES,
    PAIR_MESSAGE = 8, /* ATTACH and LOST */
    RECORDS_PER_RANK = BANYAN_RANK_RECORD_BYTES + 1,
    FAILED_HEAD = 4,
    MAX_MESSAGE = BANYAN_MAX_RANKS * RECORDS_PER_RANK + BANYAN_STRANGERS_TEXT
};

#endif
