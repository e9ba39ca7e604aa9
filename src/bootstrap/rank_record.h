/* SPDX-License-Identifier: Apache-2.0 */
/* bootstrap/rank_record.h: what each rank tells all others before the group begins, and what must be the same
 * on all.
 *
 * A record has a fixed size, so any all-gather can exchange them: our own store, MPI, PyTorch's store, a
 * file. Every rank compares all records in the same order and so finds the same disagreement, with the same
 * words. */
#ifndef BANYAN_BOOTSTRAP_RANK_RECORD_H
#define BANYAN_BOOTSTRAP_RANK_RECORD_H

#include "core/auth.h"
#include "transport/socket.h"

#define BANYAN_RANK_RECORD_BYTES 512
#define BANYAN_RANK_RECORD_TEXT 64
#define BANYAN_MAX_RANKS 4096 /* in a group, relays included */

typedef struct {
    int protocol, version;
    uint32_t byte_order; /* 1 as this machine writes it */
    int size, rank;
    int process;                         /* its id, for people */
    char host[BANYAN_RANK_RECORD_TEXT];  /* name of the machine */
    char place[BANYAN_RANK_RECORD_TEXT]; /* the same for ranks of one machine and one network stack */
    banyan_address address;              /* where it listens, */
    banyan_address others[BANYAN_INTERFACES - 1]; /* for data also on other interfaces; family 0: none */
    /* What decides about plans and how they run. */
    char topology[BANYAN_RANK_RECORD_TEXT]; /* digest; empty: by hosts */
    char algorithm[BANYAN_RANK_RECORD_TEXT];
    char transport[BANYAN_RANK_RECORD_TEXT];
    uint64_t slice_bytes, window_bytes;
    int connections;
    int quorum;           /* who goes on after a loss (bootstrap/quorum.h) */
    int fanout;           /* of the control tree */
    int learn;            /* whether the network is learnt (bootstrap/setup.h) */
    banyan_secret secret; /* rank 0's, where the exchange itself is trusted; else zeros */
    int old_rank;         /* of a group that this one comes from; else -1 */
    int color, key;       /* of a split */
} banyan_rank_record;

void banyan_rank_record_write(const banyan_rank_record *record, unsigned char out[BANYAN_RANK_RECORD_BYTES]);

/* Foreign bytes in, a record with sane fields out, or a sentence. */
banyan_status banyan_rank_record_read(const unsigned char in[BANYAN_RANK_RECORD_BYTES],
                                      banyan_rank_record *out, banyan_error *err);

/* Whether the records of all ranks, in order of rank, make up a group: MISMATCH or VERSION_MISMATCH with the
 * two ranks and values that differ. */
banyan_status banyan_rank_records_compare(const banyan_rank_record *records, int size, banyan_error *err);

#endif
