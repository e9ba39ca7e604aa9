/* SPDX-License-Identifier: Apache-2.0 */
/* nccl/collnet.h: ncclCollNet: NCCL's collectives between nodes, done by Banyan's communicators. */
#ifndef BANYAN_NCCL_COLLNET_H
#define BANYAN_NCCL_COLLNET_H

#include "nccl/interface.h"

nccl_result banyan_nccl_collnet_init(nccl_logger logger);
nccl_result banyan_nccl_collnet_listen(int device, void *handle, void **listening);

/* Returns when all ranks have come, or the time-out has passed: NCCL allows that here. */
nccl_result banyan_nccl_collnet_connect(void **handles, int count, int rank, void *listening, void **out);
nccl_result banyan_nccl_collnet_supports(int type, int op, int *is_supported);
nccl_result banyan_nccl_collnet_register(void *comm, void *data, size_t bytes, int kind, void **handle);
nccl_result banyan_nccl_collnet_deregister(void *comm, void *handle);

/* *request is NULL where too many are under way: NCCL asks again. */
nccl_result banyan_nccl_collnet_allreduce(void *comm, void *send, void *recv, size_t count, int type, int op,
                                          void **request);
nccl_result banyan_nccl_collnet_gather(void *comm, void *send, void *recv, size_t bytes_per_rank,
                                       size_t window_offset, size_t window_bytes, void **request);
nccl_result banyan_nccl_collnet_scatter(void *comm, void *send, void *recv, size_t bytes_per_rank,
                                        size_t window_offset, size_t window_bytes, int type, int op,
                                        void **request);
nccl_result banyan_nccl_collnet_flush(void *comm, void *data, int bytes, void *memory, void **request);
nccl_result banyan_nccl_collnet_test(void *request, int *is_done, int *bytes);
nccl_result banyan_nccl_collnet_close(void *comm);
nccl_result banyan_nccl_collnet_close_listen(void *listening);

/* What this process has done since the plugin was loaded, for tests and scripts that must not believe a right
 * sum alone. */
typedef struct {
    uint64_t allreduces, gathers, scatters; /* calls that NCCL made and that were done */
    uint64_t bytes;                         /* of their vectors */
    uint64_t failures;                      /* calls that failed */
    uint64_t groups;                        /* communicators that were made */
} banyan_nccl_counts;

__attribute__((visibility("default"))) void banyan_nccl_get_counts(banyan_nccl_counts *out);

#endif
