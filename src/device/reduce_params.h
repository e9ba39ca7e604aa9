/* SPDX-License-Identifier: Apache-2.0 */
/* device/reduce_params.h: what the reduce kernel is told: the same bytes for device/reduce.cu and for C.
 *
 * Every output gets the same result: element i of all inputs, combined in the order that the schedule gives.
 * The order is a postfix expression: inputs are pushed on a stack one after the other, and after each push
 * some pairs at the top are combined.
 *
 *     ((0 + 1) + 2) + 3     push 0, push 1 +, push 2 +, push 3 +     combines 0 1 1 1
 *     (0 + 1) + (2 + 3)     push 0, push 1 +, push 2, push 3 + +     combines 0 1 0 2 */
#ifndef BANYAN_DEVICE_REDUCE_PARAMS_H
#define BANYAN_DEVICE_REDUCE_PARAMS_H

#ifdef __CUDACC_RTC__
typedef unsigned char uint8_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
#else
#include <stdint.h>
#endif

/* Both structures are multiples of 16 bytes. */
#define BANYAN_DEVICE_MAX_RANKS 16  /* inputs, and outputs, of one call */
#define BANYAN_DEVICE_MAX_PIECES 64 /* intervals with an order of their own */
#define BANYAN_DEVICE_STACK 5       /* any order of MAX_RANKS inputs fits: its larger side goes first */

typedef struct {
    uint64_t begin, end;                    /* elements */
    uint64_t combines;                      /* four bits for each push, the first push in the lowest */
    uint8_t order[BANYAN_DEVICE_MAX_RANKS]; /* which input each push takes */
    uint64_t unused;
} banyan_device_piece;

typedef struct {
    uint32_t rank_count;  /* inputs, and as many outputs */
    uint32_t piece_count; /* ascending, without gaps; 0: there is nothing to do */
    uint32_t op;          /* banyan_op without AVG, which is a sum with a divisor */
    uint32_t divisor;     /* the result is divided by it; 1: it is not */
    uint64_t inputs[BANYAN_DEVICE_MAX_RANKS], outputs[BANYAN_DEVICE_MAX_RANKS]; /* addresses */
    banyan_device_piece pieces[BANYAN_DEVICE_MAX_PIECES];
} banyan_device_reduction;

#endif
