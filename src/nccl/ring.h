/* SPDX-License-Identifier: Apache-2.0 */
/* nccl/ring.h: bytes from one process of a host to another, through memory that both have mapped. One end
 * writes, the other one reads; neither ever waits. */
#ifndef BANYAN_NCCL_RING_H
#define BANYAN_NCCL_RING_H

#include <stddef.h>

enum { BANYAN_NCCL_OFFER_BYTES = 40 };

typedef struct banyan_nccl_ring banyan_nccl_ring;

/* The writer's end, and where the reader finds it. NULL: the system gives no memory. */
banyan_nccl_ring *banyan_nccl_ring_create(unsigned char offer[BANYAN_NCCL_OFFER_BYTES]);

/* The reader's end. NULL: the offer is of another host or container, or is empty (zeros). */
banyan_nccl_ring *banyan_nccl_ring_join(const unsigned char offer[BANYAN_NCCL_OFFER_BYTES]);

void banyan_nccl_ring_destroy(banyan_nccl_ring *ring); /* accepts NULL; what was written can still be read */

/* As many bytes as there is room for, or as have come. */
size_t banyan_nccl_ring_write(banyan_nccl_ring *ring, const void *from, size_t bytes);
size_t banyan_nccl_ring_read(banyan_nccl_ring *ring, void *into, size_t bytes);

#endif
