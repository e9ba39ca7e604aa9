/* SPDX-License-Identifier: Apache-2.0 */
/* execute/copy_wide.h: copies of a few lines of the cache with the widest registers that the processor has: a
 * whole line is written by one store, so that it need not be fetched to be overwritten, nor is it waited for
 * in parts. */
#ifndef BANYAN_EXECUTE_COPY_WIDE_H
#define BANYAN_EXECUTE_COPY_WIDE_H

#include <stddef.h>

typedef void (*banyan_copy)(char *into, const char *from, size_t bytes);

typedef struct {
    banyan_copy plainly;
    banyan_copy past_cache; /* as banyan_copy_past_cache (execute/copy.h) */
} banyan_copies;

banyan_copies banyan_copies_best(void);

#endif
