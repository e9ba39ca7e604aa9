/* SPDX-License-Identifier: Apache-2.0 */
/* tests/multi/nccl_host.h: plays NCCL's part towards libnccl-net-banyan.so: loads it, takes the tables of one
 * version, and calls them as NCCL does, with host memory. */
#ifndef BANYAN_TESTS_NCCL_HOST_H
#define BANYAN_TESTS_NCCL_HOST_H

#include <dlfcn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nccl/interface.h"

typedef nccl_collnet_v9 nccl_collnet_v10;

enum { NCCL_FIRST_VERSION = 6, NCCL_LAST_VERSION = 12, NCCL_FIRST_WITH_GATHER = 8 };

typedef struct {
    int version;
    const void *net, *coll;
    void *net_context, *coll_context;
    void (*get_counts)(uint64_t counts[6]);
} nccl_plugin;

/* What the plugin has said, the newest last. */
static char nccl_said[16384];
static _Atomic int nccl_said_lock;

static inline void nccl_hear(int level, unsigned long subjects, const char *file, int line,
                             const char *format, ...)
{
    char text[2000];
    va_list values;
    size_t used;

    (void)subjects;
    (void)file;
    (void)line;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    while (atomic_exchange(&nccl_said_lock, 1))
        ;
    used = strlen(nccl_said);
    snprintf(nccl_said + used, sizeof nccl_said - used, "%s%s\n", level == NCCL_LOG_WARN ? "WARN " : "",
             text);
    atomic_store(&nccl_said_lock, 0);
    if (level == NCCL_LOG_WARN && getenv("NCCL_HOST_SHOWS"))
        fprintf(stderr, "%s\n", text);
}

/* 0: there is no such library or table; says why. */
static inline int nccl_load(const char *path, int version, nccl_plugin *out)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    char symbol[64];

    *out = (nccl_plugin){.version = version};
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 0;
    }
    snprintf(symbol, sizeof symbol, "ncclNetPlugin_v%d", version);
    out->net = dlsym(library, symbol);
    snprintf(symbol, sizeof symbol, "ncclCollNetPlugin_v%d", version);
    out->coll = dlsym(library, symbol);
    *(void **)&out->get_counts = dlsym(library, "banyan_nccl_get_counts");
    if (!out->net || !out->coll || !out->get_counts)
        fprintf(stderr, "%s has no tables of version %d\n", path, version);
    return out->net && out->coll && out->get_counts;
}

#define NCCL_NET(v) ((const nccl_net_v##v *)p->net)
#define NCCL_COLL(v) ((const nccl_collnet_v##v *)p->coll)

/* A call that looks the same in versions before 11, and begins with the context from then on. */
#define NCCL_DISPATCH(table, old, new)                                                                       \
    switch (p->version) {                                                                                    \
    case 6:                                                                                                  \
        return table(6)->old;                                                                                \
    case 7:                                                                                                  \
        return table(7)->old;                                                                                \
    case 8:                                                                                                  \
        return table(8)->old;                                                                                \
    case 9:                                                                                                  \
        return table(9)->old;                                                                                \
    case 10:                                                                                                 \
        return table(10)->old;                                                                               \
    case 11:                                                                                                 \
        return table(11)->new;                                                                               \
    default:                                                                                                 \
        return table(12)->new;                                                                               \
    }

static inline nccl_result nccl_coll_init(nccl_plugin *p)
{
    NCCL_DISPATCH(NCCL_COLL, init(nccl_hear), init(&p->coll_context, 1, nccl_hear))
}

static inline nccl_result nccl_net_init(nccl_plugin *p)
{
    if (p->version == 10)
        return NCCL_NET(10)->init(nccl_hear, NULL);
    if (p->version == 11)
        return NCCL_NET(11)->init(&p->net_context, 1, NULL, nccl_hear, NULL);
    if (p->version == 12)
        return NCCL_NET(12)->init(&p->net_context, 1, NULL, nccl_hear, NULL);
    return NCCL_NET(9)->init(nccl_hear); /* the same place and form in 6 to 9 */
}

/* The name and the kinds of memory are in the same places in all versions. */
static inline nccl_result nccl_net_properties(nccl_plugin *p, nccl_properties_v12 *out)
{
    NCCL_DISPATCH(NCCL_NET, properties(0, (void *)out), properties(0, (void *)out))
}

static inline nccl_result nccl_coll_properties(nccl_plugin *p, nccl_properties_v12 *out)
{
    NCCL_DISPATCH(NCCL_COLL, properties(0, (void *)out), properties(0, (void *)out))
}

static inline nccl_result nccl_net_devices(nccl_plugin *p, int *count)
{
    NCCL_DISPATCH(NCCL_NET, devices(count), devices(count))
}

static inline nccl_result nccl_coll_devices(nccl_plugin *p, int *count)
{
    NCCL_DISPATCH(NCCL_COLL, devices(count), devices(count))
}

static inline nccl_result nccl_net_listen(nccl_plugin *p, void *handle, void **out)
{
    NCCL_DISPATCH(NCCL_NET, listen(0, handle, out), listen(p->net_context, 0, handle, out))
}

static inline nccl_result nccl_net_connect(nccl_plugin *p, void *handle, void **out)
{
    void *offload = NULL;

    if (p->version == 6)
        return NCCL_NET(6)->connect(0, handle, out);
    if (p->version == 10)
        return NCCL_NET(10)->connect(0, NULL, handle, out, &offload);
    if (p->version == 11)
        return NCCL_NET(11)->connect(p->net_context, 0, handle, out, &offload);
    if (p->version == 12)
        return NCCL_NET(12)->connect(p->net_context, 0, handle, out, &offload);
    return NCCL_NET(9)->connect(0, handle, out, &offload);
}

static inline nccl_result nccl_net_accept(nccl_plugin *p, void *listening, void **out)
{
    void *offload = NULL;

    if (p->version == 6)
        return NCCL_NET(6)->accept(listening, out);
    return NCCL_NET(9)->accept(listening, out, &offload);
}

static inline nccl_result nccl_net_register(nccl_plugin *p, void *comm, void *data, size_t bytes, void **out)
{
    if (p->version < 8)
        return NCCL_NET(6)->register_memory(comm, data, (int)bytes, NCCL_MEMORY_HOST, out);
    return NCCL_NET(9)->register_memory(comm, data, bytes, NCCL_MEMORY_HOST, out);
}

static inline nccl_result nccl_net_send(nccl_plugin *p, void *comm, void *data, size_t bytes, void **request)
{
    if (p->version < 9)
        return NCCL_NET(6)->send(comm, data, (int)bytes, 0, NULL, request);
    if (p->version == 9)
        return NCCL_NET(9)->send(comm, data, bytes, 0, NULL, request);
    return NCCL_NET(10)->send(comm, data, bytes, 0, NULL, NULL, request);
}

static inline nccl_result nccl_net_receive(nccl_plugin *p, void *comm, void *data, size_t bytes,
                                           void **request)
{
    int tag = 0, narrow = (int)bytes;
    void *memory = NULL, *profile = NULL;

    if (p->version < 9)
        return NCCL_NET(6)->receive(comm, 1, &data, &narrow, &tag, &memory, request);
    if (p->version == 9)
        return NCCL_NET(9)->receive(comm, 1, &data, &bytes, &tag, &memory, request);
    return NCCL_NET(10)->receive(comm, 1, &data, &bytes, &tag, &memory, &profile, request);
}

static inline nccl_result nccl_net_test(nccl_plugin *p, void *request, int *is_done, int *bytes)
{
    NCCL_DISPATCH(NCCL_NET, test(request, is_done, bytes), test(request, is_done, bytes))
}

static inline nccl_result nccl_net_close(nccl_plugin *p, void *comm, int is_sender)
{
    return is_sender ? NCCL_NET(6)->close_send(comm) : NCCL_NET(6)->close_receive(comm);
}

static inline nccl_result nccl_net_close_listen(nccl_plugin *p, void *listening)
{
    return NCCL_NET(6)->close_listen(listening);
}

static inline nccl_result nccl_coll_listen(nccl_plugin *p, void *handle, void **out)
{
    NCCL_DISPATCH(NCCL_COLL, listen(0, handle, out), listen(p->coll_context, 0, handle, out))
}

static inline nccl_result nccl_coll_connect(nccl_plugin *p, void **handles, int count, int rank,
                                            void *listening, void **out)
{
    NCCL_DISPATCH(NCCL_COLL, connect(handles, count, rank, listening, out),
                  connect(handles, count, rank, listening, out))
}

static inline nccl_result nccl_coll_supports(nccl_plugin *p, int type, int op, int *is_supported)
{
    NCCL_DISPATCH(NCCL_COLL, supports(type, op, is_supported), supports(type, op, is_supported))
}

static inline nccl_result nccl_coll_register(nccl_plugin *p, void *comm, void *data, size_t bytes, int kind,
                                             void **out)
{
    if (p->version < 8)
        return NCCL_COLL(6)->register_memory(comm, data, (int)bytes, kind, out);
    return NCCL_COLL(9)->register_memory(comm, data, bytes, kind, out);
}

static inline nccl_result nccl_coll_deregister(nccl_plugin *p, void *comm, void *handle)
{
    return NCCL_COLL(6)->deregister_memory(comm, handle);
}

static inline nccl_result nccl_coll_allreduce(nccl_plugin *p, void *comm, void *send, void *recv,
                                              size_t count, int type, int op, void **request)
{
    if (p->version < 9)
        return NCCL_COLL(6)->allreduce(comm, send, recv, (int)count, type, op, NULL, NULL, request);
    return NCCL_COLL(9)->allreduce(comm, send, recv, count, type, op, NULL, NULL, request);
}

static inline nccl_result nccl_coll_gather(nccl_plugin *p, void *comm, void *send, void *recv,
                                           size_t per_rank, size_t offset, size_t bytes, void **request)
{
    nccl_part part = {.address = recv, .bytes = bytes};
    nccl_part_v8 part_v8 = {.address = recv, .bytes = (uint32_t)bytes};

    if (p->version == 8)
        return NCCL_COLL(8)->gather(comm, send, 1, &part_v8, per_rank, offset, bytes, NULL, request);
    return NCCL_COLL(9)->gather(comm, send, 1, &part, per_rank, offset, bytes, NULL, request);
}

static inline nccl_result nccl_coll_scatter(nccl_plugin *p, void *comm, void *send, void *recv,
                                            size_t per_rank, size_t offset, size_t bytes, int type, int op,
                                            void **request)
{
    nccl_part part = {.address = send, .bytes = bytes};
    nccl_part_v8 part_v8 = {.address = send, .bytes = (uint32_t)bytes};

    if (p->version == 8)
        return NCCL_COLL(8)->scatter(comm, 1, &part_v8, recv, per_rank, offset, bytes, type, op, NULL,
                                     request);
    return NCCL_COLL(9)->scatter(comm, 1, &part, recv, per_rank, offset, bytes, type, op, NULL, request);
}

static inline nccl_result nccl_coll_test(nccl_plugin *p, void *request, int *is_done, int *bytes)
{
    NCCL_DISPATCH(NCCL_COLL, test(request, is_done, bytes), test(request, is_done, bytes))
}

static inline nccl_result nccl_coll_close(nccl_plugin *p, void *comm)
{
    NCCL_DISPATCH(NCCL_COLL, close_comm(comm), close_comm(comm))
}

static inline nccl_result nccl_coll_close_listen(nccl_plugin *p, void *listening)
{
    NCCL_DISPATCH(NCCL_COLL, close_listen(listening), close_listen(listening))
}

#endif
