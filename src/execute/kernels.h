/* SPDX-License-Identifier: Apache-2.0 */
/* execute/kernels.h: what REDUCE does to memory, for every datatype and op.
 *
 * Every kernel is commutative to the last bit, so that ranks which combine the same two values in either
 * order hold the same result: integers   sums and products wrap around, signed ones too (two's complement)
 *   float16, bfloat16   computed in float32, then rounded to nearest, ties to even, once per addition
 *   NaN        any NaN among the two values gives the type's one quiet, positive NaN without payload;
 *              max and min propagate it, as IEEE 754-2019 maximum and minimum do
 *   zeros      -0 is less than +0 for max and min */
#ifndef BANYAN_EXECUTE_KERNELS_H
#define BANYAN_EXECUTE_KERNELS_H

#include <banyan/banyan.h>

#include "core/status.h"

/* into[i] = a[i] op b[i]. into may be a; otherwise none overlap, and none needs to be aligned. */
typedef void (*banyan_kernel)(void *into, const void *a, const void *b, size_t count);

/* AVG adds (the division comes last, once); NULL for numbers outside the lists. The best set that works
 * here. */
banyan_kernel banyan_kernel_find(banyan_datatype type, banyan_op op);

/* Sets of kernels for different instructions, best last; all of them give the same bits. A set that does not
 * work on this processor must not be called. */
int banyan_kernel_set_count(void);
const char *banyan_kernel_set_name(int set);
int banyan_kernel_set_works(int set);
banyan_kernel banyan_kernel_find_in(int set, banyan_datatype type, banyan_op op);

/* Asks the processor, which can take microseconds in a virtual machine: ask once and keep the answer. */
int banyan_kernel_best_set(void);

/* The last step of AVG: divides each element by divisor > 0. Integers are cut off towards zero. */
void banyan_kernel_divide(banyan_datatype type, void *elements, size_t count, int divisor);

#endif
