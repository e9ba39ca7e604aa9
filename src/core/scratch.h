/* SPDX-License-Identifier: Apache-2.0 */
/* core/scratch.h: arrays that are needed together and go together, as a solver's are. What is taken is
 * checked once, after the last, and freed at once. */
#ifndef BANYAN_CORE_SCRATCH_H
#define BANYAN_CORE_SCRATCH_H

#include <stddef.h>

#include "core/status.h"

typedef struct {
    void **block;
    size_t count, capacity;
    int failed;   /* memory ran out: some of what was taken is NULL */
} banyan_scratch; /* all zero: nothing was taken */

/* Zeroed memory for count things of size bytes, until banyan_scratch_free. NULL and failed when memory runs
 * out. */
void *banyan_scratch_take(banyan_scratch *scratch, size_t count, size_t size);

/* Whether all that was wanted was taken, as a status. */
banyan_status banyan_scratch_check(const banyan_scratch *scratch, banyan_error *err);

/* Frees all that was taken; then it is as at the beginning. */
void banyan_scratch_free(banyan_scratch *scratch);

#endif
