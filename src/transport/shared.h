/* SPDX-License-Identifier: Apache-2.0 */
/* transport/shared.h: memory of this process that other processes of the host can map.
 *
 * It is the process's, as what malloc gives is: no group and no endpoint owns it, so that any communicator
 * can use it, and use it again after a shrink. Who gets an address finds out here whether it lies in such
 * memory, and where. */
#ifndef BANYAN_TRANSPORT_SHARED_H
#define BANYAN_TRANSPORT_SHARED_H

#include <stddef.h>
#include <stdint.h>

#include "core/status.h"

typedef struct {
    uint64_t serial; /* never used again in this process */
    char *begin;
    size_t bytes; /* whole pages */
    int fd;       /* a memfd */
    uint64_t device, inode;
} banyan_shared_memory;

/* Zeroed, and begins with a page. SYSTEM_ERROR: the machine has not that much, or no descriptor. */
banyan_status banyan_shared_memory_alloc(size_t bytes, void **out, banyan_error *err);

/* INVALID_ARGUMENT: it is not what alloc gave. NULL is fine. What others have mapped of it stays mapped, but
 * is empty. */
banyan_status banyan_shared_memory_free(void *memory, banyan_error *err);

/* Whether all these bytes lie in one piece of such memory. */
int banyan_shared_memory_find(const void *memory, size_t bytes, banyan_shared_memory *out);
int banyan_shared_memory_is_alive(uint64_t serial);

/* Others have this mapped and must not change it any more, though they may still try: puts pages of our own
 * with the same contents in their place. Nothing of that piece of memory is shared from now on. */
void banyan_shared_memory_cut_off(void *memory, size_t bytes);

#endif
