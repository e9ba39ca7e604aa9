/* SPDX-License-Identifier: Apache-2.0 */
/* probe/findings.h: what has been measured between hosts so far, and what follows from it. The one picture of
 * the network that probing, learning and status share.
 *
 * Measurements are rounds: some hosts send to some others at the same time, and the rate of each of these
 * flows is kept. All that is inferred is a pure function of the rounds, the same on every rank. */
#ifndef BANYAN_PROBE_FINDINGS_H
#define BANYAN_PROBE_FINDINGS_H

#include <stddef.h>
#include <stdint.h>

#include "core/status.h"

typedef struct {
    int src, dst; /* hosts */
    double bytes_per_s;
} banyan_probe_load;

/* What a round was made for. */
typedef enum {
    BANYAN_ROUND_EXPLORE, /* to see something at all */
    BANYAN_ROUND_AGAIN,   /* one of these that nothing explains, again */
    BANYAN_ROUND_ACROSS,  /* all hosts that can send to another rack, */
    BANYAN_ROUND_WITHIN,  /* and all to their own: the same hosts without the trunk */
    BANYAN_ROUND_LONG     /* hosts in pairs, each in one flow, or one trunk, and nobody else, for longer */
} banyan_round_kind;

typedef struct {
    banyan_round_kind kind;
    uint64_t
        grouping; /* digest of the racks that it tests, one trunk's number, or the round that it repeats */
    int end;      /* its loads end here, and begin where the round before it ends */
} banyan_probe_round;

typedef struct {
    int rank_count, host_count;
    int *host_of;            /* by rank */
    const char **names;      /* by host */
    double *local;           /* by host: what one of its ranks sends to its neighbour; 0: it has one rank */
    double *latency_s;       /* [src * host_count + dst]; 0: not measured */
    double *local_latency_s; /* by host */
    banyan_probe_load *loads;
    int load_count;
    size_t load_capacity;
    banyan_probe_round *rounds;
    int round_count;
    size_t round_capacity;
    /* Inferred (racks.c). */
    int rack_count;
    int *rack_of;               /* by host */
    double *rack_out, *rack_in; /* by rack: its trunk; 0: none shows */
    int odd_round;    /* one to explore that they do not explain, and that was not repeated; -1: none */
    double lacking;   /* mean square of the speed that flows lacked, of what their hosts can do; */
    double explained; /* and the share of it that the trunks explain: 0..1 */
} banyan_probe_findings;

banyan_status banyan_probe_findings_init(banyan_probe_findings *out, int rank_count, int host_count,
                                         banyan_error *err);
void banyan_probe_findings_fini(banyan_probe_findings *findings);

/* Forgets all rounds and what they led to; names, latencies and the insides of hosts stay. */
void banyan_probe_findings_restart(banyan_probe_findings *findings);

/* pairs[2i] sent to pairs[2i + 1], at rates[i]. */
banyan_status banyan_probe_add_round(banyan_probe_findings *findings, banyan_round_kind kind,
                                     uint64_t grouping, const int *pairs, const double *rates, int count,
                                     banyan_error *err);

/* The first load of a round. */
int banyan_probe_round_begin(const banyan_probe_findings *findings, int round);

/* Whether hosts were measured in pairs, for longer. */
int banyan_probe_is_long(const banyan_probe_findings *findings, int round);

/* By host: the most that it has sent, and received, at one time, twice. Long flows count where short ones do
 * not show clearly more; several flows of a host only where they show clearly more than one does. */
void banyan_probe_host_speeds(const banyan_probe_findings *findings, double *out, double *in);

/* A host whose several flows showed more than one does, but only once; -1: none. */
int banyan_probe_find_doubtful(const banyan_probe_findings *findings, int is_out);

int banyan_probe_rack_size(const banyan_probe_findings *findings, int rack);

/* racks.c: the racks that explain best why flows were slower than their hosts; rack_of and rack_count. Hosts
 * in one rack all: nothing is to be explained. */
banyan_status banyan_probe_group_hosts(banyan_probe_findings *findings, banyan_error *err);
uint64_t banyan_probe_grouping(const banyan_probe_findings *findings);

/* What rounds are called that measure one way of a rack's trunk alone. */
uint64_t banyan_probe_trunk_number(const banyan_probe_findings *findings, int rack, int is_out);

/* racks.c: after the rounds that test these racks: trunks that show, in rack_out and rack_in. Racks without
 * one become one again. */
banyan_status banyan_probe_judge_racks(banyan_probe_findings *findings, banyan_error *err);

/* racks.c: whether flows lacked little, or the trunks explain most of it. Else something else was at work,
 * and the next survey may find another network. */
int banyan_probe_is_plausible(const banyan_probe_findings *findings);

/* rounds.c: which hosts should send to which in the next round; 0 flows: all is known. pairs has room for
 * 4 * host_count numbers. */
banyan_status banyan_probe_next_round(banyan_probe_findings *findings, banyan_round_kind *kind,
                                      uint64_t *grouping, int *pairs, int *count, banyan_error *err);

/* About how many rounds there will be. */
int banyan_probe_round_guess(int host_count);

#endif
