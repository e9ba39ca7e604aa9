/* SPDX-License-Identifier: Apache-2.0 */
/* verify/judge.h: what the parts of the proof share. */
#ifndef BANYAN_VERIFY_JUDGE_H
#define BANYAN_VERIFY_JUDGE_H

#include "verify/verify.h"

/* Collects problems and keeps the first few in the order of transfers. */
typedef struct {
    const banyan_schedule *schedule;
    const banyan_topology *topology; /* or NULL */
    banyan_verdict *verdict;
    size_t position[BANYAN_VERDICT_SHOWN]; /* the transfer that each kept problem belongs to */
} banyan_judge;

/* transfer: the array index that the problem belongs to, or transfer_count for the end of the schedule. */
void banyan_judge_report(banyan_judge *judge, size_t transfer, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* 'transfer 17 (round 2, g1->g3)' */
const char *banyan_judge_transfer_name(const banyan_judge *judge, size_t transfer, char *buffer, size_t size);

/* 'rank 3 (g3)', or 'node 9 (s0)' for one that is not active. */
const char *banyan_judge_node_name(const banyan_judge *judge, int node, char *buffer, size_t size);

/* The two halves of the proof. */
banyan_status banyan_judge_values(banyan_judge *judge, banyan_error *err);
banyan_status banyan_judge_network(banyan_judge *judge, banyan_error *err);

#endif
