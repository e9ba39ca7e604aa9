/* SPDX-License-Identifier: Apache-2.0 */
/* nccl/collnet_tables.c: ncclCollNet in all its versions, over the one implementation of collnet.h. */
#include "nccl/collnet.h"
#include "nccl/properties.h"
#include "nccl/tables.h"

static const char name[] = "Banyan";

static nccl_result init_v11(void **context, uint64_t id, nccl_logger logger)
{
    (void)id;
    *context = NULL;
    return banyan_nccl_collnet_init(logger);
}

static nccl_result listen_v11(void *context, int device, void *handle, void **listening)
{
    (void)context;
    return banyan_nccl_collnet_listen(device, handle, listening);
}

static nccl_result register_v6(void *comm, void *data, int bytes, int kind, void **handle)
{
    return banyan_nccl_collnet_register(comm, data, (size_t)bytes, kind, handle);
}

static nccl_result allreduce_v6(void *comm, void *send, void *recv, int count, int type, int op,
                                void *send_memory, void *recv_memory, void **request)
{
    (void)send_memory;
    (void)recv_memory;
    return banyan_nccl_collnet_allreduce(comm, send, recv, (size_t)count, type, op, request);
}

static nccl_result allreduce_v9(void *comm, void *send, void *recv, size_t count, int type, int op,
                                void *send_memory, void *recv_memory, void **request)
{
    (void)send_memory;
    (void)recv_memory;
    return banyan_nccl_collnet_allreduce(comm, send, recv, count, type, op, request);
}

/* NCCL passes one part; with more, the window would be in pieces. */

static nccl_result gather_v8(void *comm, void *send, int part_count, nccl_part_v8 *recv_parts,
                             size_t bytes_per_rank, size_t window_offset, size_t window_bytes,
                             void *send_memory, void **request)
{
    (void)send_memory;
    if (part_count != 1)
        return NCCL_INTERNAL_ERROR;
    return banyan_nccl_collnet_gather(comm, send, recv_parts->address, bytes_per_rank, window_offset,
                                      window_bytes, request);
}

static nccl_result gather_v9(void *comm, void *send, int part_count, nccl_part *recv_parts,
                             size_t bytes_per_rank, size_t window_offset, size_t window_bytes,
                             void *send_memory, void **request)
{
    (void)send_memory;
    if (part_count != 1)
        return NCCL_INTERNAL_ERROR;
    return banyan_nccl_collnet_gather(comm, send, recv_parts->address, bytes_per_rank, window_offset,
                                      window_bytes, request);
}

static nccl_result scatter_v8(void *comm, int part_count, nccl_part_v8 *send_parts, void *recv,
                              size_t bytes_per_rank, size_t window_offset, size_t window_bytes, int type,
                              int op, void *recv_memory, void **request)
{
    (void)recv_memory;
    if (part_count != 1)
        return NCCL_INTERNAL_ERROR;
    return banyan_nccl_collnet_scatter(comm, send_parts->address, recv, bytes_per_rank, window_offset,
                                       window_bytes, type, op, request);
}

static nccl_result scatter_v9(void *comm, int part_count, nccl_part *send_parts, void *recv,
                              size_t bytes_per_rank, size_t window_offset, size_t window_bytes, int type,
                              int op, void *recv_memory, void **request)
{
    (void)recv_memory;
    if (part_count != 1)
        return NCCL_INTERNAL_ERROR;
    return banyan_nccl_collnet_scatter(comm, send_parts->address, recv, bytes_per_rank, window_offset,
                                       window_bytes, type, op, request);
}

static nccl_result finalize(void *context)
{
    (void)context;
    return NCCL_SUCCESS;
}

/* What every version has in the same form. */
#define SAME_IN_ALL                                                                                          \
    .name = name, .devices = banyan_nccl_device_count, .connect = banyan_nccl_collnet_connect,               \
    .supports = banyan_nccl_collnet_supports, .deregister_memory = banyan_nccl_collnet_deregister,           \
    .flush = banyan_nccl_collnet_flush, .test = banyan_nccl_collnet_test,                                    \
    .close_comm = banyan_nccl_collnet_close, .close_listen = banyan_nccl_collnet_close_listen

#define SAME_BEFORE_11 SAME_IN_ALL, .init = banyan_nccl_collnet_init, .listen = banyan_nccl_collnet_listen

#define SAME_SINCE_9                                                                                         \
    .register_memory = banyan_nccl_collnet_register, .allreduce = allreduce_v9, .gather = gather_v9,         \
    .scatter = scatter_v9

const nccl_collnet_v6 ncclCollNetPlugin_v6 = {SAME_BEFORE_11, .properties = banyan_nccl_properties_v6,
                                              .register_memory = register_v6, .allreduce = allreduce_v6};

const nccl_collnet_v7 ncclCollNetPlugin_v7 = {SAME_BEFORE_11, .properties = banyan_nccl_properties_v7,
                                              .register_memory = register_v6, .allreduce = allreduce_v6};

const nccl_collnet_v8 ncclCollNetPlugin_v8 = {SAME_BEFORE_11,
                                              .properties = banyan_nccl_properties_v8,
                                              .register_memory = banyan_nccl_collnet_register,
                                              .allreduce = allreduce_v6,
                                              .gather = gather_v8,
                                              .scatter = scatter_v8};

const nccl_collnet_v9 ncclCollNetPlugin_v9 = {SAME_BEFORE_11, SAME_SINCE_9,
                                              .properties = banyan_nccl_properties_v9};

const nccl_collnet_v9 ncclCollNetPlugin_v10 = {SAME_BEFORE_11, SAME_SINCE_9,
                                               .properties = banyan_nccl_properties_v9};

const nccl_collnet_v11 ncclCollNetPlugin_v11 = {SAME_IN_ALL,
                                                SAME_SINCE_9,
                                                .init = init_v11,
                                                .listen = listen_v11,
                                                .properties = banyan_nccl_properties_v11,
                                                .finalize = finalize};

const nccl_collnet_v12 ncclCollNetPlugin_v12 = {SAME_IN_ALL,
                                                SAME_SINCE_9,
                                                .init = init_v11,
                                                .listen = listen_v11,
                                                .properties = banyan_nccl_device_describe,
                                                .finalize = finalize};
