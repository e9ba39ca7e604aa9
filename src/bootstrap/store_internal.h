/* SPDX-License-Identifier: Apache-2.0 */
/* bootstrap/store_internal.h: the messages between the meeting place (store.c) and a rank that visits it
 * (store_visit.c), and the store that hands cards on to a rank's children. */
#ifndef BANYAN_BOOTSTRAP_STORE_INTERNAL_H
#define BANYAN_BOOTSTRAP_STORE_INTERNAL_H

#include "bootstrap/store.h"

enum { CARD = 1, CARDS, FAILED, GOT, PARENT, FETCH };
enum { CARD_HEAD = 12, CARD_MESSAGE = CARD_HEAD + BANYAN_CARD_BYTES, PARENT_MESSAGE = 4 + BANYAN_CARD_BYTES };
enum { MOST_MESSAGE = BANYAN_MAX_RANKS * BANYAN_CARD_BYTES + BANYAN_STRANGERS_TEXT };

/* store.c: a store for that many children of a rank in a group of size ranks, which waits until it is filled
 * with what is to be handed on. */
banyan_status banyan_store_start_parent(const banyan_address *address, int low_port, int high_port,
                                        const banyan_secret *secret, int children, int size, int timeout_ms,
                                        banyan_store **out, banyan_error *err);
void banyan_store_fill(banyan_store *store, const unsigned char *cards, size_t bytes);

#endif
