/* SPDX-License-Identifier: Apache-2.0 */
/* bootstrap/roster.h: the messages of survivors that make a group of their own: who has come, who is in it,
 * and the records of some of its members. Readers take foreign bytes; all of them refuse what names a rank
 * that is not there. */
#ifndef BANYAN_BOOTSTRAP_ROSTER_H
#define BANYAN_BOOTSTRAP_ROSTER_H

#include "bootstrap/rank_record.h"

/* One change: a rank of the old group can be reached through the sender, or no longer. */
#define BANYAN_ROSTER_CHANGE_BYTES 4
void banyan_roster_write_change(unsigned char out[BANYAN_ROSTER_CHANGE_BYTES], int rank, int is_there);
/* 0: there is no such rank among size. */
int banyan_roster_read_change(const unsigned char in[BANYAN_ROSTER_CHANGE_BYTES], int size, int *rank,
                              int *is_there);

/* A number that the new group's secret follows from, and the members' old ranks, which ascend. Returns the
 * number of bytes, which is banyan_roster_bytes(count). */
size_t banyan_roster_bytes(int count);
size_t banyan_roster_write(unsigned char *out, uint64_t number, const int *members, int count);
/* members has room for size. 0: the bytes are no list of at least one of size ranks. */
int banyan_roster_read(const unsigned char *in, size_t bytes, int size, uint64_t *number, int *members,
                       int *count);

/* A member's record with its new rank. */
#define BANYAN_ROSTER_RECORD_BYTES (4 + BANYAN_RANK_RECORD_BYTES)
void banyan_roster_write_record(unsigned char out[BANYAN_ROSTER_RECORD_BYTES], int rank,
                                const unsigned char record[BANYAN_RANK_RECORD_BYTES]);
/* The new rank, below count, or -1; its record is behind the first four bytes. */
int banyan_roster_read_record(const unsigned char in[BANYAN_ROSTER_RECORD_BYTES], int count);

#endif
