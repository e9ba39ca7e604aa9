/* SPDX-License-Identifier: Apache-2.0 */
/* train/chakra.h: Chakra execution traces (MLCommons): what one rank of a training run computed and sent, as
 * a graph of nodes that wait for one another. */
#ifndef BANYAN_TRAIN_CHAKRA_H
#define BANYAN_TRAIN_CHAKRA_H

#include <stddef.h>
#include <stdint.h>

#include "core/status.h"
#include "schedule/schedule.h"

typedef enum {
    BANYAN_CHAKRA_OTHER,  /* metadata, memory, storage: takes its recorded time beside all others */
    BANYAN_CHAKRA_HOST,   /* computes on the CPU */
    BANYAN_CHAKRA_DEVICE, /* computes on the accelerator */
    BANYAN_CHAKRA_SEND,
    BANYAN_CHAKRA_RECEIVE,
    BANYAN_CHAKRA_COLLECTIVE
} banyan_chakra_kind;

typedef struct {
    uint64_t id;
    banyan_chakra_kind kind;
    int collective; /* banyan_collective, of a collective; a barrier is an all-reduce of no bytes */
    uint64_t bytes; /* of this rank's input */
    int self, peer; /* of a message: this rank, and the one that it is sent to or comes from; -1: not told */
    int group;      /* index of the process group's name; -1: all ranks */
    double recorded_s;          /* how long it took; 0: not told */
    int first_wait, wait_count; /* what it waits for: waits[first_wait ..], indices of nodes */
} banyan_chakra_node;

typedef struct {
    char version[32];
    int node_count, wait_count, group_count;
    banyan_chakra_node *nodes; /* in the order of the file */
    int *waits;
    char **groups; /* names */
} banyan_chakra;

/* The bytes of an .et file, packed by gzip or not. A sentence names the byte or the node that is wrong. */
banyan_status banyan_chakra_parse(const char *bytes, size_t length, banyan_chakra **out, banyan_error *err);
banyan_status banyan_chakra_load(const char *path, banyan_chakra **out, banyan_error *err);
void banyan_chakra_destroy(banyan_chakra *trace); /* accepts NULL */

/* ---- Replay: every node takes the seconds that the caller says. */

typedef struct {
    double end_s;           /* when the last node ended */
    double compute_s;       /* of end_s, while the accelerator or the CPU computed */
    double communication_s; /* of end_s, while anything was sent */
    double exposed_s;       /* of that, while nothing computed */
} banyan_replay;

/* A node starts when all that it waits for has ended and its resource is free; of those that wait for a
 * resource the one that was ready first, or stands first in the file, goes on. The CPU, the accelerator,
 * collectives, sends and receives are one resource each. Fails where nodes wait in a circle. */
banyan_status banyan_chakra_replay(const banyan_chakra *trace, const double *seconds, banyan_replay *out,
                                   banyan_error *err);

#endif
