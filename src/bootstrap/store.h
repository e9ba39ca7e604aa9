/* SPDX-License-Identifier: Apache-2.0 */
/* bootstrap/store.h: where ranks meet that know nothing but an address and a secret: everybody brings a
 * record and gets everybody's. One thread serves it until all have them, or the time-out that they brought
 * has passed. Ranks wait in a tree whose root is the store (bootstrap/join_tree.h). */
#ifndef BANYAN_BOOTSTRAP_STORE_H
#define BANYAN_BOOTSTRAP_STORE_H

#include "bootstrap/rank_record.h"
#include "transport/listener.h"

typedef struct banyan_store banyan_store;

/* Listens on the address. Nobody within patience_ms ends it. timeout_ms is for handshakes, until the first
 * rank brings its own. */
banyan_status banyan_store_start(const banyan_address *address, int low_port, int high_port,
                                 const banyan_secret *secret, int patience_ms, int timeout_ms,
                                 banyan_store **out, banyan_error *err);
const banyan_address *banyan_store_address(const banyan_store *store);
size_t banyan_store_sent_bytes(const banyan_store *store); /* so far, without headers; from any thread */
size_t banyan_store_most_connections(const banyan_store *store); /* at once, so far; from any thread */
void banyan_store_stop(banyan_store *store);                     /* ends it at once, accepts NULL */
void banyan_store_leave(banyan_store *store); /* nobody waits for it: it frees itself when it is done */

/* Ends the one of this address that was left, if it still serves. */
void banyan_store_dismiss(const banyan_address *address);

/* A rank's visit. records has room for size. timeout_ms is for the whole of it. The record is written after
 * the first connection is made: prepare, which is called once, may complete it with what it learns from this
 * side's address of the connection. A connection that is lost before the records have come is made again, as
 * long as somebody listens there. strangers gets what has come to the meeting place besides the ranks, as
 * banyan_listener_describe_strangers says it. */
typedef struct {
    banyan_address address;
    const banyan_secret *secret;
    int timeout_ms;
    int low_port, high_port; /* for those who take children; 0: any */
    void *context;
    banyan_status (*prepare)(void *context, const banyan_address *local, banyan_rank_record *record,
                             banyan_error *err);
    char strangers[BANYAN_STRANGERS_TEXT];
} banyan_store_visit;

banyan_status banyan_store_exchange(banyan_store_visit *visit, banyan_rank_record *mine,
                                    banyan_rank_record *records, banyan_error *err);

/* '2, 4-6' of those ranks for which is_named is set; returns the buffer. */
const char *banyan_ranks_format(const char *is_named, int size, char *buffer, size_t bytes);

#endif
