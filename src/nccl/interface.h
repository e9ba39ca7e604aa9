/* SPDX-License-Identifier: Apache-2.0 */
/* nccl/interface.h: the tables of functions that NCCL looks for in a network plugin, versions 6 to 12, and in
 * a tuner, versions 2 to 6, in declarations of our own: what counts for the binary interface is the order of
 * members and the types of arguments, which docs/nccl-interface.md lists. NCCL takes the newest table that it
 * knows.
 *
 * NCCL 2.28 looks for versions 6 to 11 of ncclNet and ncclCollNet, NCCL 2.30 for 12 as well. */
#ifndef BANYAN_NCCL_INTERFACE_H
#define BANYAN_NCCL_INTERFACE_H

#include <stddef.h>
#include <stdint.h>

/* ncclResult_t; the numbers are those of banyan_status up to 8. */
typedef int nccl_result;

enum {
    NCCL_SUCCESS = 0,
    NCCL_SYSTEM_ERROR = 2,
    NCCL_INTERNAL_ERROR = 3,
    NCCL_INVALID_ARGUMENT = 4,
    NCCL_INVALID_USAGE = 5,
    NCCL_REMOTE_ERROR = 6
};

enum { NCCL_HANDLE_BYTES = 128 }; /* what listen may write for the others to connect to */
enum { NCCL_MEMORY_HOST = 1 };    /* kinds of memory: the bits of ptrSupport and the type of regMr */

/* Levels and subjects of NCCL's log. */
enum { NCCL_LOG_WARN = 2, NCCL_LOG_INFO = 3 };
enum { NCCL_LOG_INIT = 1, NCCL_LOG_COLL = 2, NCCL_LOG_NET = 16, NCCL_LOG_TUNING = 64 };

typedef void (*nccl_logger)(int level, unsigned long subjects, const char *file, int line, const char *format,
                            ...);

/* Where NCCL passes a profiler, a device handle, a configuration or attributes, this plugin takes none. */

/* ---- What a device is. */

typedef struct {
    char *name;
    char *pci_path;
    uint64_t guid;
    int memory_kinds;
    int speed_mbps;
    int port;
    float latency_us;
    int most_comms;
    int most_receives;
} nccl_properties_v6;

typedef struct {
    char *name;
    char *pci_path;
    uint64_t guid;
    int memory_kinds;
    int speed_mbps;
    int port;
    float latency_us;
    int most_comms;
    int most_receives;
    int offload;
    int offload_version;
} nccl_properties_v7;

typedef struct {
    char *name;
    char *pci_path;
    uint64_t guid;
    int memory_kinds;
    int registers_globally;
    int speed_mbps;
    int port;
    float latency_us;
    int most_comms;
    int most_receives;
    int offload;
    int offload_version;
} nccl_properties_v8;

/* Versions 9 and 10. */
typedef struct {
    char *name;
    char *pci_path;
    uint64_t guid;
    int memory_kinds;
    int registers_globally;
    int needs_flush;
    int speed_mbps;
    int port;
    float latency_us;
    int most_comms;
    int most_receives;
    int offload;
    int offload_version;
    int part_count; /* physical devices behind a virtual one */
    int parts[4];
    size_t most_send_bytes;
    size_t most_collective_bytes;
} nccl_properties_v9;

typedef struct {
    char *name;
    char *pci_path;
    uint64_t guid;
    int memory_kinds;
    int registers_globally;
    int needs_flush;
    int speed_mbps;
    int port;
    float latency_us;
    int most_comms;
    int most_receives;
    int offload;
    int offload_version;
    int part_count;
    int parts[4];
    size_t most_send_bytes;
    size_t most_collective_bytes;
    int most_requests_at_once;
} nccl_properties_v11;

typedef struct {
    char *name;
    char *pci_path;
    uint64_t guid;
    int memory_kinds;
    int registers_globally;
    int needs_flush;
    int speed_mbps;
    int port;
    float latency_us;
    int most_comms;
    int most_receives;
    int offload;
    int offload_version;
    int part_count;
    int parts[8];
    size_t most_send_bytes;
    size_t most_collective_bytes;
    int most_requests_at_once;
    int16_t rail;
    int16_t plane;
} nccl_properties_v12;

/* ---- Functions that stayed the same. */

typedef nccl_result (*nccl_devices)(int *count);
typedef nccl_result (*nccl_accept)(void *listening, void **receiving, void **device);
typedef nccl_result (*nccl_register)(void *comm, void *data, size_t bytes, int kind, void **handle);
typedef nccl_result (*nccl_register_int)(void *comm, void *data, int bytes, int kind, void **handle);
typedef nccl_result (*nccl_register_dmabuf)(void *comm, void *data, size_t bytes, int kind, uint64_t offset,
                                            int fd, void **handle);
typedef nccl_result (*nccl_deregister)(void *comm, void *handle);
typedef nccl_result (*nccl_flush)(void *receiving, int count, void **data, int *bytes, void **handles,
                                  void **request);
typedef nccl_result (*nccl_test)(void *request, int *is_done, int *bytes);
typedef nccl_result (*nccl_close)(void *comm);
typedef nccl_result (*nccl_device_memory)(void *comm, void *handle, void **device_handle);
typedef nccl_result (*nccl_consumed)(void *receiving, int count, void *request);
typedef nccl_result (*nccl_make_device)(int *device, void *properties);

/* ---- ncclNet. */

typedef struct {
    const char *name;
    nccl_result (*init)(nccl_logger logger);
    nccl_devices devices;
    nccl_result (*properties)(int device, nccl_properties_v6 *out);
    nccl_result (*listen)(int device, void *handle, void **listening);
    nccl_result (*connect)(int device, void *handle, void **sending);
    nccl_result (*accept)(void *listening, void **receiving);
    nccl_register_int register_memory;
    nccl_register_dmabuf register_dmabuf;
    nccl_deregister deregister_memory;
    nccl_result (*send)(void *sending, void *data, int bytes, int tag, void *memory, void **request);
    nccl_result (*receive)(void *receiving, int count, void **data, int *bytes, int *tags, void **memory,
                           void **request);
    nccl_flush flush;
    nccl_test test;
    nccl_close close_send, close_receive, close_listen;
} nccl_net_v6;

typedef struct {
    const char *name;
    nccl_result (*init)(nccl_logger logger);
    nccl_devices devices;
    nccl_result (*properties)(int device, nccl_properties_v7 *out);
    nccl_result (*listen)(int device, void *handle, void **listening);
    nccl_result (*connect)(int device, void *handle, void **sending, void **offload);
    nccl_accept accept;
    nccl_register_int register_memory;
    nccl_register_dmabuf register_dmabuf;
    nccl_deregister deregister_memory;
    nccl_result (*send)(void *sending, void *data, int bytes, int tag, void *memory, void **request);
    nccl_result (*receive)(void *receiving, int count, void **data, int *bytes, int *tags, void **memory,
                           void **request);
    nccl_flush flush;
    nccl_test test;
    nccl_close close_send, close_receive, close_listen;
    nccl_device_memory device_memory;
    nccl_consumed consumed;
} nccl_net_v7;

typedef struct {
    const char *name;
    nccl_result (*init)(nccl_logger logger);
    nccl_devices devices;
    nccl_result (*properties)(int device, nccl_properties_v8 *out);
    nccl_result (*listen)(int device, void *handle, void **listening);
    nccl_result (*connect)(int device, void *handle, void **sending, void **offload);
    nccl_accept accept;
    nccl_register register_memory;
    nccl_register_dmabuf register_dmabuf;
    nccl_deregister deregister_memory;
    nccl_result (*send)(void *sending, void *data, int bytes, int tag, void *memory, void **request);
    nccl_result (*receive)(void *receiving, int count, void **data, int *bytes, int *tags, void **memory,
                           void **request);
    nccl_flush flush;
    nccl_test test;
    nccl_close close_send, close_receive, close_listen;
    nccl_device_memory device_memory;
    nccl_consumed consumed;
} nccl_net_v8;

typedef struct {
    const char *name;
    nccl_result (*init)(nccl_logger logger);
    nccl_devices devices;
    nccl_result (*properties)(int device, nccl_properties_v9 *out);
    nccl_result (*listen)(int device, void *handle, void **listening);
    nccl_result (*connect)(int device, void *handle, void **sending, void **offload);
    nccl_accept accept;
    nccl_register register_memory;
    nccl_register_dmabuf register_dmabuf;
    nccl_deregister deregister_memory;
    nccl_result (*send)(void *sending, void *data, size_t bytes, int tag, void *memory, void **request);
    nccl_result (*receive)(void *receiving, int count, void **data, size_t *bytes, int *tags, void **memory,
                           void **request);
    nccl_flush flush;
    nccl_test test;
    nccl_close close_send, close_receive, close_listen;
    nccl_device_memory device_memory;
    nccl_consumed consumed;
    nccl_make_device make_device;
} nccl_net_v9;

typedef nccl_result (*nccl_send)(void *sending, void *data, size_t bytes, int tag, void *memory,
                                 void *profile, void **request);
typedef nccl_result (*nccl_receive)(void *receiving, int count, void **data, size_t *bytes, int *tags,
                                    void **memory, void **profiles, void **request);

typedef struct {
    const char *name;
    nccl_result (*init)(nccl_logger logger, void *profiler);
    nccl_devices devices;
    nccl_result (*properties)(int device, nccl_properties_v9 *out);
    nccl_result (*listen)(int device, void *handle, void **listening);
    nccl_result (*connect)(int device, void *config, void *handle, void **sending, void **offload);
    nccl_accept accept;
    nccl_register register_memory;
    nccl_register_dmabuf register_dmabuf;
    nccl_deregister deregister_memory;
    nccl_send send;
    nccl_receive receive;
    nccl_flush flush;
    nccl_test test;
    nccl_close close_send, close_receive, close_listen;
    nccl_device_memory device_memory;
    nccl_consumed consumed;
    nccl_make_device make_device;
} nccl_net_v10;

/* Versions 11 and 12 differ in the properties alone. */
#define NCCL_NET_WITH_CONTEXT(name_of_type, properties_type)                                                 \
    typedef struct {                                                                                         \
        const char *name;                                                                                    \
        nccl_result (*init)(void **context, uint64_t id, void *config, nccl_logger logger, void *profiler);  \
        nccl_devices devices;                                                                                \
        nccl_result (*properties)(int device, properties_type *out);                                         \
        nccl_result (*listen)(void *context, int device, void *handle, void **listening);                    \
        nccl_result (*connect)(void *context, int device, void *handle, void **sending, void **offload);     \
        nccl_accept accept;                                                                                  \
        nccl_register register_memory;                                                                       \
        nccl_register_dmabuf register_dmabuf;                                                                \
        nccl_deregister deregister_memory;                                                                   \
        nccl_send send;                                                                                      \
        nccl_receive receive;                                                                                \
        nccl_flush flush;                                                                                    \
        nccl_test test;                                                                                      \
        nccl_close close_send, close_receive, close_listen;                                                  \
        nccl_device_memory device_memory;                                                                    \
        nccl_consumed consumed;                                                                              \
        nccl_make_device make_device;                                                                        \
        nccl_result (*finalize)(void *context);                                                              \
        nccl_result (*set_attributes)(void *context, void *attributes);                                      \
    } name_of_type

NCCL_NET_WITH_CONTEXT(nccl_net_v11, nccl_properties_v11);
NCCL_NET_WITH_CONTEXT(nccl_net_v12, nccl_properties_v12);

/* ---- ncclCollNet. */

typedef nccl_result (*nccl_connect_all)(void **handles, int count, int rank, void *listening, void **out);
typedef nccl_result (*nccl_supports)(int type, int op, int *is_supported);
typedef nccl_result (*nccl_flush_one)(void *comm, void *data, int bytes, void *memory, void **request);
typedef nccl_result (*nccl_allreduce)(void *comm, void *send, void *recv, size_t count, int type, int op,
                                      void *send_memory, void *recv_memory, void **request);
typedef nccl_result (*nccl_allreduce_int)(void *comm, void *send, void *recv, int count, int type, int op,
                                          void *send_memory, void *recv_memory, void **request);

/* A part of a buffer; version 8 has a 32-bit size in the same place, with nothing of use behind it. */
typedef struct {
    void *memory;
    void *address;
    size_t bytes;
} nccl_part;

typedef struct {
    void *memory;
    void *address;
    uint32_t bytes;
} nccl_part_v8;

/* What is gathered or scattered is a vector of bytes_per_rank bytes per rank; a call does a window of it. */
typedef nccl_result (*nccl_gather)(void *comm, void *send, int part_count, nccl_part *recv_parts,
                                   size_t bytes_per_rank, size_t window_offset, size_t window_bytes,
                                   void *send_memory, void **request);
typedef nccl_result (*nccl_scatter)(void *comm, int part_count, nccl_part *send_parts, void *recv,
                                    size_t bytes_per_rank, size_t window_offset, size_t window_bytes,
                                    int type, int op, void *recv_memory, void **request);
typedef nccl_result (*nccl_gather_v8)(void *comm, void *send, int part_count, nccl_part_v8 *recv_parts,
                                      size_t bytes_per_rank, size_t window_offset, size_t window_bytes,
                                      void *send_memory, void **request);
typedef nccl_result (*nccl_scatter_v8)(void *comm, int part_count, nccl_part_v8 *send_parts, void *recv,
                                       size_t bytes_per_rank, size_t window_offset, size_t window_bytes,
                                       int type, int op, void *recv_memory, void **request);

/* Versions 6 and 7 differ in the properties alone. */
#define NCCL_COLLNET_REDUCE_ONLY(name_of_type, properties_type)                                              \
    typedef struct {                                                                                         \
        const char *name;                                                                                    \
        nccl_result (*init)(nccl_logger logger);                                                             \
        nccl_devices devices;                                                                                \
        nccl_result (*properties)(int device, properties_type *out);                                         \
        nccl_result (*listen)(int device, void *handle, void **listening);                                   \
        nccl_connect_all connect;                                                                            \
        nccl_supports supports;                                                                              \
        nccl_register_int register_memory;                                                                   \
        nccl_register_dmabuf register_dmabuf;                                                                \
        nccl_deregister deregister_memory;                                                                   \
        nccl_allreduce_int allreduce;                                                                        \
        nccl_flush_one flush;                                                                                \
        nccl_test test;                                                                                      \
        nccl_close close_comm, close_listen;                                                                 \
    } name_of_type

NCCL_COLLNET_REDUCE_ONLY(nccl_collnet_v6, nccl_properties_v6);
NCCL_COLLNET_REDUCE_ONLY(nccl_collnet_v7, nccl_properties_v7);

typedef struct {
    const char *name;
    nccl_result (*init)(nccl_logger logger);
    nccl_devices devices;
    nccl_result (*properties)(int device, nccl_properties_v8 *out);
    nccl_result (*listen)(int device, void *handle, void **listening);
    nccl_connect_all connect;
    nccl_supports supports;
    nccl_register register_memory;
    nccl_register_dmabuf register_dmabuf;
    nccl_deregister deregister_memory;
    nccl_allreduce_int allreduce;
    nccl_gather_v8 gather;
    nccl_scatter_v8 scatter;
    nccl_flush_one flush;
    nccl_test test;
    nccl_close close_comm, close_listen;
} nccl_collnet_v8;

/* Versions 9 and 10. */
typedef struct {
    const char *name;
    nccl_result (*init)(nccl_logger logger);
    nccl_devices devices;
    nccl_result (*properties)(int device, nccl_properties_v9 *out);
    nccl_result (*listen)(int device, void *handle, void **listening);
    nccl_connect_all connect;
    nccl_supports supports;
    nccl_register register_memory;
    nccl_register_dmabuf register_dmabuf;
    nccl_deregister deregister_memory;
    nccl_allreduce allreduce;
    nccl_gather gather;
    nccl_scatter scatter;
    nccl_flush_one flush;
    nccl_test test;
    nccl_close close_comm, close_listen;
    nccl_make_device make_device;
} nccl_collnet_v9;

/* Versions 11 and 12 differ in the properties alone. */
#define NCCL_COLLNET_WITH_CONTEXT(name_of_type, properties_type)                                             \
    typedef struct {                                                                                         \
        const char *name;                                                                                    \
        nccl_result (*init)(void **context, uint64_t id, nccl_logger logger);                                \
        nccl_devices devices;                                                                                \
        nccl_result (*properties)(int device, properties_type *out);                                         \
        nccl_result (*listen)(void *context, int device, void *handle, void **listening);                    \
        nccl_connect_all connect;                                                                            \
        nccl_supports supports;                                                                              \
        nccl_register register_memory;                                                                       \
        nccl_register_dmabuf register_dmabuf;                                                                \
        nccl_deregister deregister_memory;                                                                   \
        nccl_allreduce allreduce;                                                                            \
        nccl_gather gather;                                                                                  \
        nccl_scatter scatter;                                                                                \
        nccl_flush_one flush;                                                                                \
        nccl_test test;                                                                                      \
        nccl_close close_comm, close_listen;                                                                 \
        nccl_make_device make_device;                                                                        \
        nccl_result (*finalize)(void *context);                                                              \
    } name_of_type

NCCL_COLLNET_WITH_CONTEXT(nccl_collnet_v11, nccl_properties_v11);
NCCL_COLLNET_WITH_CONTEXT(nccl_collnet_v12, nccl_properties_v12);

/* ---- ncclTuner. costs is a table of float[algorithms][protocols]: predicted times, or -1 where NCCL rules a
 * pair out; it takes the smallest. */

enum { NCCL_FUNCTION_ALLREDUCE = 4 };
enum { NCCL_ALGORITHM_COLLNET_CHAIN = 3, NCCL_PROTOCOL_SIMPLE = 2 };

typedef nccl_result (*nccl_choose)(void *context, int function, size_t bytes, int operation_count,
                                   void *costs, int algorithm_count, int protocol_count,
                                   int has_registered_buffers, int *channels);

typedef struct {
    const char *name;
    nccl_result (*init)(size_t ranks, size_t nodes, nccl_logger logger, void **context);
    nccl_result (*choose)(void *context, int function, size_t bytes, int has_collnet, int has_nvls,
                          int operation_count, int *algorithm, int *protocol, int *channels);
    nccl_result (*destroy)(void *context);
} nccl_tuner_v2;

typedef struct {
    const char *name;
    nccl_result (*init)(size_t ranks, size_t nodes, nccl_logger logger, void **context);
    nccl_result (*choose)(void *context, int function, size_t bytes, int operation_count, void *costs,
                          int algorithm_count, int protocol_count, int *channels);
    nccl_result (*destroy)(void *context);
} nccl_tuner_v3;

typedef struct {
    const char *name;
    nccl_result (*init)(size_t ranks, size_t nodes, nccl_logger logger, void **context);
    nccl_choose choose;
    nccl_result (*destroy)(void *context);
} nccl_tuner_v4;

typedef struct {
    const char *name;
    nccl_result (*init)(void **context, uint64_t id, size_t ranks, size_t nodes, nccl_logger logger,
                        void *domains, void *constants);
    nccl_choose choose;
    nccl_result (*finalize)(void *context);
} nccl_tuner_v5;

typedef struct {
    const char *name;
    nccl_result (*init)(void **context, uint64_t id, size_t ranks, size_t nodes, nccl_logger logger,
                        void *domains, void *constants);
    nccl_choose choose;
    nccl_result (*finalize)(void *context);
    nccl_result (*chunk_bytes)(void *context, int function, size_t bytes, int algorithm, int protocol,
                               int channels, size_t *chunk);
} nccl_tuner_v6;

#endif
