/* SPDX-License-Identifier: Apache-2.0 */
/* schedule/teccl.h: an all-gather as TE-CCL's solver writes it (docs/formats/teccl.md), as flat data: which
 * chunk of which GPU leaves whom for whom in which epoch, and through which switches.
 *
 * A program is parsed as it stands; schedule/import.h makes a schedule of it, and banyan_verify says whether
 * that one is right. */
#ifndef BANYAN_SCHEDULE_TECCL_H
#define BANYAN_SCHEDULE_TECCL_H

#include <stddef.h>

#include "core/status.h"

/* Ours, so that a hostile file cannot ask for all memory. */
#define BANYAN_TECCL_NODES 4096       /* GPUs and switches are numbered below this */
#define BANYAN_TECCL_CHUNKS (1 << 18) /* of all GPUs */
#define BANYAN_TECCL_VIA 16           /* switches on the way from one GPU to the next */

typedef struct {
    int owner, chunk; /* the chunk of that GPU */
    int src, dst;     /* GPUs, as the file numbers them */
    int epoch;        /* in which it leaves src */
    int first_via, via_count;
} banyan_teccl_flow;

typedef struct {
    int gpu_count, switch_count;
    int *gpus, *switches; /* their numbers in the file, ascending */
    int chunk_count;      /* of each GPU */
    size_t flow_count;
    banyan_teccl_flow *flows; /* ascending by epoch; within an epoch in the order of the file */
    int *via;                 /* switches of all flows */
    double finish_s;          /* what the file says; 0: nothing */
} banyan_teccl_program;

/* By its first bytes. */
int banyan_teccl_looks_like(const char *text, size_t length);

/* On failure the sentence names the flow. */
banyan_status banyan_teccl_parse(const char *text, size_t length, banyan_teccl_program **out,
                                 banyan_error *err);
void banyan_teccl_destroy(banyan_teccl_program *program); /* accepts NULL */

#endif
