/* SPDX-License-Identifier: Apache-2.0 */
/* schedule/msccl.h: an MSCCL program (docs/formats/msccl.md) as flat data: what every thread block of every
 * rank does, step by step. RCCL, the Azure executor and microsoft/msccl read such files.
 *
 * A program is parsed as it stands: only what cannot be held is refused here. Whether it works is judged by
 * verify/msccl.h, and what it means as a schedule is told by schedule/import.h. */
#ifndef BANYAN_SCHEDULE_MSCCL_H
#define BANYAN_SCHEDULE_MSCCL_H

#include <stddef.h>
#include <stdint.h>

#include "schedule/schedule.h"

/* The limits of the runtimes. */
#define BANYAN_MSCCL_AZURE_STEPS 64 /* a thread block, in the Azure build */
#define BANYAN_MSCCL_STEPS 256      /* a thread block, in microsoft/msccl */
#define BANYAN_MSCCL_CHANNELS 32    /* a program */
#define BANYAN_MSCCL_NODES 4096     /* XML elements that one rank reads: algo, gpus, its blocks and steps */
#define BANYAN_MSCCL_CHILDREN 1024  /* of one XML element */
#define BANYAN_MSCCL_COUNT 71       /* chunks of one step */
#define BANYAN_MSCCL_AWAITED_BLOCK 127 /* the highest block that a step can wait for */
/* Ours, so that a hostile file cannot ask for all memory. */
#define BANYAN_MSCCL_CHUNKS 65536 /* of one buffer */

/* X(NAME, text, sends, receives, reads src, writes dst). */
#define BANYAN_MSCCL_TYPE_MAP(X)                                                                             \
    X(SEND, "s", 1, 0, 1, 0)                                                                                 \
    X(RECEIVE, "r", 0, 1, 0, 1)                                                                              \
    X(RECEIVE_SEND, "rcs", 1, 1, 0, 1)                                                                       \
    X(REDUCE, "rrc", 0, 1, 1, 1)                                                                             \
    X(REDUCE_SEND, "rrs", 1, 1, 1, 0)                                                                        \
    X(REDUCE_STORE_SEND, "rrcs", 1, 1, 1, 1)                                                                 \
    X(LOCAL_COPY, "cpy", 0, 0, 1, 1)                                                                         \
    X(LOCAL_REDUCE, "re", 0, 0, 1, 1)                                                                        \
    X(NOP, "nop", 0, 0, 0, 0)

typedef enum {
#define BANYAN_MSCCL_TYPE_ENTRY(name, text, sends, receives, reads, writes) BANYAN_MSCCL_##name,
    BANYAN_MSCCL_TYPE_MAP(BANYAN_MSCCL_TYPE_ENTRY)
#undef BANYAN_MSCCL_TYPE_ENTRY
        BANYAN_MSCCL_TYPE_COUNT
} banyan_msccl_type;

typedef struct {
    const char *text;
    int sends, receives, reads, writes;
} banyan_msccl_ability;

const banyan_msccl_ability *banyan_msccl_can(banyan_msccl_type type);

typedef struct {
    banyan_msccl_type type;
    char srcbuf, dstbuf; /* 'i', 'o' or 's' */
    int srcoff, dstoff, cnt;
    int depid, deps; /* waits for step deps of block depid of the same rank; depid -1: for nothing */
    int hasdep;      /* publishes that it is done */
    int block;       /* index in blocks */
    int line;
} banyan_msccl_step;

typedef struct {
    int rank, id;
    int send, recv; /* peers, -1: none */
    int chan;
    int first_step, step_count; /* in steps */
    int line;
} banyan_msccl_block;

typedef struct {
    int i_chunks, o_chunks, s_chunks;
    int first_block, block_count; /* in blocks, in the order of their ids */
    int line;
} banyan_msccl_rank;

typedef struct {
    char *name;
    char proto[8]; /* Simple, LL or LL128 */
    banyan_collective collective;
    int root; /* broadcast and reduce: our own optional attribute, -1 where the file does not say */
    int channel_count, chunk_count, rank_count;
    int in_place, out_of_place; /* which calls it may serve */
    int lacks_out_of_place;     /* the file does not say, and the Azure parser will refuse it */
    int lacks_bytes;            /* likewise minBytes, maxBytes */
    int64_t min_bytes, max_bytes;
    int block_count, step_count;
    banyan_msccl_rank *ranks;
    banyan_msccl_block *blocks;
    banyan_msccl_step *steps;
} banyan_msccl_program;

/* On failure the sentence names the line. */
banyan_status banyan_msccl_parse(const char *text, size_t length, banyan_msccl_program **out,
                                 banyan_error *err);
banyan_status banyan_msccl_format(const banyan_msccl_program *program, char **out, banyan_error *err);
void banyan_msccl_destroy(banyan_msccl_program *program); /* accepts NULL */

/* Chunks of the caller's buffers: of the input and of the output of one rank. */
int banyan_msccl_input_chunks(const banyan_msccl_program *program);
int banyan_msccl_output_chunks(const banyan_msccl_program *program);

/* Where in the whole vector a chunk of the rank's input or output lies: in place, chunks with the same
 * position are the same memory. */
int banyan_msccl_position(const banyan_msccl_program *program, int rank, char buffer, int offset);

/* XML elements that this rank's parser has to hold. */
int banyan_msccl_node_count(const banyan_msccl_program *program, int rank);

/* The number of a step within its block. */
int banyan_msccl_step_number(const banyan_msccl_program *program, int step);

/* 'rank 1, tb 0, step 2 (line 14)'; without the line when it has none. The buffer is the caller's. */
const char *banyan_msccl_step_name(const banyan_msccl_program *program, int step, char *buffer, size_t size);

#endif
