/* SPDX-License-Identifier: Apache-2.0 */
/* nccl/net.h: ncclNet: sends and receives between two ranks, for all that is no all-reduce. NCCL calls these
 * from one thread per connection, and none of them waits. */
#ifndef BANYAN_NCCL_NET_H
#define BANYAN_NCCL_NET_H

#include "nccl/interface.h"

nccl_result banyan_nccl_net_init(nccl_logger logger);
nccl_result banyan_nccl_net_listen(int device, void *handle, void **listening);

/* *sending stays NULL while the connection is not made: NCCL calls again with the same handle, in whose
 * memory the state of the attempt is kept. */
nccl_result banyan_nccl_net_connect(int device, void *handle, void **sending);
nccl_result banyan_nccl_net_accept(void *listening, void **receiving);
nccl_result banyan_nccl_net_register(void *comm, void *data, size_t bytes, int kind, void **handle);
nccl_result banyan_nccl_net_deregister(void *comm, void *handle);

/* *request is NULL where too many are under way already. */
nccl_result banyan_nccl_net_send(void *sending, void *data, size_t bytes, void **request);
nccl_result banyan_nccl_net_receive(void *receiving, int count, void *data, size_t bytes, void **request);
nccl_result banyan_nccl_net_test(void *request, int *is_done, int *bytes);
nccl_result banyan_nccl_net_close(void *comm);
nccl_result banyan_nccl_net_close_listen(void *listening);

#endif
