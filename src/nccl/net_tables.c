/* SPDX-License-Identifier: Apache-2.0 */
/* nccl/net_tables.c: ncclNet in all its versions, over the one implementation of net.h: what differs is which
 * arguments are passed, and whether a size is an int. */
#include "nccl/net.h"
#include "nccl/properties.h"
#include "nccl/tables.h"

static const char name[] = "Banyan";

static nccl_result init_v10(nccl_logger logger, void *profiler)
{
    (void)profiler;
    return banyan_nccl_net_init(logger);
}

static nccl_result init_v11(void **context, uint64_t id, void *config, nccl_logger logger, void *profiler)
{
    (void)id;
    (void)config;
    (void)profiler;
    *context = NULL;
    return banyan_nccl_net_init(logger);
}

static nccl_result listen_v11(void *context, int device, void *handle, void **listening)
{
    (void)context;
    return banyan_nccl_net_listen(device, handle, listening);
}

static nccl_result connect_v7(int device, void *handle, void **sending, void **offload)
{
    (void)offload;
    return banyan_nccl_net_connect(device, handle, sending);
}

static nccl_result connect_v10(int device, void *config, void *handle, void **sending, void **offload)
{
    (void)config;
    (void)offload;
    return banyan_nccl_net_connect(device, handle, sending);
}

static nccl_result connect_v11(void *context, int device, void *handle, void **sending, void **offload)
{
    (void)context;
    (void)offload;
    return banyan_nccl_net_connect(device, handle, sending);
}

static nccl_result accept_v7(void *listening, void **receiving, void **offload)
{
    (void)offload;
    return banyan_nccl_net_accept(listening, receiving);
}

static nccl_result register_v6(void *comm, void *data, int bytes, int kind, void **handle)
{
    return banyan_nccl_net_register(comm, data, (size_t)bytes, kind, handle);
}

static nccl_result send_v6(void *sending, void *data, int bytes, int tag, void *memory, void **request)
{
    (void)tag; /* there is one receive at a time: messages come in order */
    (void)memory;
    return banyan_nccl_net_send(sending, data, (size_t)bytes, request);
}

static nccl_result send_v9(void *sending, void *data, size_t bytes, int tag, void *memory, void **request)
{
    (void)tag;
    (void)memory;
    return banyan_nccl_net_send(sending, data, bytes, request);
}

static nccl_result send_v10(void *sending, void *data, size_t bytes, int tag, void *memory, void *profile,
                            void **request)
{
    (void)profile;
    return send_v9(sending, data, bytes, tag, memory, request);
}

static nccl_result receive_v6(void *receiving, int count, void **data, int *bytes, int *tags, void **memory,
                              void **request)
{
    (void)tags;
    (void)memory;
    return banyan_nccl_net_receive(receiving, count, data[0], (size_t)bytes[0], request);
}

static nccl_result receive_v9(void *receiving, int count, void **data, size_t *bytes, int *tags,
                              void **memory, void **request)
{
    (void)tags;
    (void)memory;
    return banyan_nccl_net_receive(receiving, count, data[0], bytes[0], request);
}

static nccl_result receive_v10(void *receiving, int count, void **data, size_t *bytes, int *tags,
                               void **memory, void **profiles, void **request)
{
    (void)profiles;
    return receive_v9(receiving, count, data, bytes, tags, memory, request);
}

/* Host memory needs no flush. */
static nccl_result flush(void *receiving, int count, void **data, int *bytes, void **handles, void **request)
{
    (void)receiving;
    (void)count;
    (void)data;
    (void)bytes;
    (void)handles;
    *request = NULL;
    return NCCL_SUCCESS;
}

static nccl_result finalize(void *context)
{
    (void)context;
    return NCCL_SUCCESS;
}

static nccl_result set_attributes(void *context, void *attributes)
{
    (void)context;
    (void)attributes;
    return NCCL_SUCCESS;
}

/* What every version has in the same form. */
#define SAME_IN_ALL                                                                                          \
    .name = name, .devices = banyan_nccl_device_count, .deregister_memory = banyan_nccl_net_deregister,      \
    .flush = flush, .test = banyan_nccl_net_test, .close_send = banyan_nccl_net_close,                       \
    .close_receive = banyan_nccl_net_close, .close_listen = banyan_nccl_net_close_listen

const nccl_net_v6 ncclNetPlugin_v6 = {SAME_IN_ALL,
                                      .init = banyan_nccl_net_init,
                                      .properties = banyan_nccl_properties_v6,
                                      .listen = banyan_nccl_net_listen,
                                      .connect = banyan_nccl_net_connect,
                                      .accept = banyan_nccl_net_accept,
                                      .register_memory = register_v6,
                                      .send = send_v6,
                                      .receive = receive_v6};

const nccl_net_v7 ncclNetPlugin_v7 = {SAME_IN_ALL,
                                      .init = banyan_nccl_net_init,
                                      .properties = banyan_nccl_properties_v7,
                                      .listen = banyan_nccl_net_listen,
                                      .connect = connect_v7,
                                      .accept = accept_v7,
                                      .register_memory = register_v6,
                                      .send = send_v6,
                                      .receive = receive_v6};

const nccl_net_v8 ncclNetPlugin_v8 = {SAME_IN_ALL,
                                      .init = banyan_nccl_net_init,
                                      .properties = banyan_nccl_properties_v8,
                                      .listen = banyan_nccl_net_listen,
                                      .connect = connect_v7,
                                      .accept = accept_v7,
                                      .register_memory = banyan_nccl_net_register,
                                      .send = send_v6,
                                      .receive = receive_v6};

const nccl_net_v9 ncclNetPlugin_v9 = {SAME_IN_ALL,
                                      .init = banyan_nccl_net_init,
                                      .properties = banyan_nccl_properties_v9,
                                      .listen = banyan_nccl_net_listen,
                                      .connect = connect_v7,
                                      .accept = accept_v7,
                                      .register_memory = banyan_nccl_net_register,
                                      .send = send_v9,
                                      .receive = receive_v9};

const nccl_net_v10 ncclNetPlugin_v10 = {SAME_IN_ALL,
                                        .init = init_v10,
                                        .properties = banyan_nccl_properties_v9,
                                        .listen = banyan_nccl_net_listen,
                                        .connect = connect_v10,
                                        .accept = accept_v7,
                                        .register_memory = banyan_nccl_net_register,
                                        .send = send_v10,
                                        .receive = receive_v10};

const nccl_net_v11 ncclNetPlugin_v11 = {SAME_IN_ALL,
                                        .init = init_v11,
                                        .properties = banyan_nccl_properties_v11,
                                        .listen = listen_v11,
                                        .connect = connect_v11,
                                        .accept = accept_v7,
                                        .register_memory = banyan_nccl_net_register,
                                        .send = send_v10,
                                        .receive = receive_v10,
                                        .finalize = finalize,
                                        .set_attributes = set_attributes};

const nccl_net_v12 ncclNetPlugin_v12 = {SAME_IN_ALL,
                                        .init = init_v11,
                                        .properties = banyan_nccl_device_describe,
                                        .listen = listen_v11,
                                        .connect = connect_v11,
                                        .accept = accept_v7,
                                        .register_memory = banyan_nccl_net_register,
                                        .send = send_v10,
                                        .receive = receive_v10,
                                        .finalize = finalize,
                                        .set_attributes = set_attributes};
