/* SPDX-License-Identifier: Apache-2.0 */
/* device/driver.h: the calls of a vendor's driver that Banyan makes, found at run time: no toolkit is needed
 * to build, and none to run. The types are our own words for what the vendors' manuals describe; CUDA's and
 * HIP's calls agree in all that is listed here, so one structure serves both. */
#ifndef BANYAN_DEVICE_DRIVER_H
#define BANYAN_DEVICE_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#include "core/status.h"

typedef struct {
    char bytes[16];
} banyan_driver_uuid;

typedef struct {
    char bytes[64];
} banyan_driver_handle; /* of shared memory */

typedef struct {
    int type, id;
} banyan_driver_place;

/* What cuMemCreate is told: 32 bytes. */
typedef struct {
    int type, handle_types;
    banyan_driver_place place;
    void *unused;
    unsigned char flags[8];
} banyan_driver_block;

/* What cuMemSetAccess is told. */
typedef struct {
    banyan_driver_place place;
    int flags;
} banyan_driver_access;

/* A step of cuStreamBatchMemOp: 48 bytes. */
typedef struct {
    uint32_t operation;
    uint32_t unused;
    uint64_t address;
    uint64_t value;
    uint32_t flags;
    uint32_t unused_too;
    uint64_t alias;
    uint64_t more;
} banyan_driver_word;

enum {
    BANYAN_DRIVER_NOT_READY = 600, /* the same in both */
    BANYAN_DRIVER_WAIT = 1,
    BANYAN_DRIVER_WRITE = 2,
    BANYAN_DRIVER_WAIT_EQUAL = 1,
    BANYAN_DRIVER_FILE_DESCRIPTOR = 1, /* how a block of memory is shared, also as a bit */
    BANYAN_DRIVER_PINNED = 1,
    BANYAN_DRIVER_ON_DEVICE = 1,
    BANYAN_DRIVER_READ_WRITE = 3
};

/* X(field, needed, arguments, CUDA's name, CUDA version of this form, name before cuGetProcAddress, HIP's
 * name). HIP's is NULL where it has no such call, or one that differs. */
#define BANYAN_DRIVER_MAP(X)                                                                                 \
    X(init, 1, (unsigned flags), "cuInit", 2000, "cuInit", "hipInit")                                        \
    X(version, 1, (int *version), "cuDriverGetVersion", 2020, "cuDriverGetVersion", "hipDriverGetVersion")   \
    X(error_text, 0, (int error, const char **text), "cuGetErrorString", 6000, "cuGetErrorString",           \
      "hipDrvGetErrorString")                                                                                \
    X(device_count, 1, (int *count), "cuDeviceGetCount", 2000, "cuDeviceGetCount", "hipGetDeviceCount")      \
    X(device_get, 1, (int *device, int ordinal), "cuDeviceGet", 2000, "cuDeviceGet", "hipDeviceGet")         \
    X(device_name, 1, (char *name, int length, int device), "cuDeviceGetName", 2000, "cuDeviceGetName",      \
      "hipDeviceGetName")                                                                                    \
    X(device_uuid, 1, (banyan_driver_uuid * uuid, int device), "cuDeviceGetUuid", 11040,                     \
      "cuDeviceGetUuid_v2", "hipDeviceGetUuid")                                                              \
    X(attribute, 1, (int *value, int attribute, int device), "cuDeviceGetAttribute", 2000,                   \
      "cuDeviceGetAttribute", NULL)                                                                          \
    X(context_retain, 1, (void **context, int device), "cuDevicePrimaryCtxRetain", 7000,                     \
      "cuDevicePrimaryCtxRetain", "hipDevicePrimaryCtxRetain")                                               \
    X(context_push, 1, (void *context), "cuCtxPushCurrent", 4000, "cuCtxPushCurrent_v2",                     \
      "hipCtxPushCurrent")                                                                                   \
    X(context_pop, 1, (void **context), "cuCtxPopCurrent", 4000, "cuCtxPopCurrent_v2", "hipCtxPopCurrent")   \
    X(alloc, 1, (uint64_t * address, size_t bytes), "cuMemAlloc", 3020, "cuMemAlloc_v2", "hipMalloc")        \
    X(free, 1, (uint64_t address), "cuMemFree", 3020, "cuMemFree_v2", "hipFree")                             \
    X(host_register, 1, (void *memory, size_t bytes, unsigned flags), "cuMemHostRegister", 6050,             \
      "cuMemHostRegister_v2", "hipHostRegister")                                                             \
    X(host_unregister, 1, (void *memory), "cuMemHostUnregister", 4000, "cuMemHostUnregister",                \
      "hipHostUnregister")                                                                                   \
    X(host_address, 1, (uint64_t * address, void *memory, unsigned flags), "cuMemHostGetDevicePointer",      \
      3020, "cuMemHostGetDevicePointer_v2", "hipHostGetDevicePointer")                                       \
    X(pointer_attributes, 0, (unsigned count, int *attributes, void **values, uint64_t address),             \
      "cuPointerGetAttributes", 7000, "cuPointerGetAttributes", NULL)                                        \
    X(stream_create, 1, (void **stream, unsigned flags, int priority), "cuStreamCreateWithPriority", 5050,   \
      "cuStreamCreateWithPriority", "hipStreamCreateWithPriority")                                           \
    X(stream_destroy, 1, (void *stream), "cuStreamDestroy", 4000, "cuStreamDestroy_v2", "hipStreamDestroy")  \
    X(stream_synchronize, 1, (void *stream), "cuStreamSynchronize", 2000, "cuStreamSynchronize",             \
      "hipStreamSynchronize")                                                                                \
    X(priorities, 1, (int *lowest, int *highest), "cuCtxGetStreamPriorityRange", 5050,                       \
      "cuCtxGetStreamPriorityRange", "hipDeviceGetStreamPriorityRange")                                      \
    X(copy, 1, (uint64_t into, uint64_t from, size_t bytes, void *stream), "cuMemcpyAsync", 4000,            \
      "cuMemcpyAsync", NULL)                                                                                 \
    X(copy_kind, 0, (uint64_t into, uint64_t from, size_t bytes, int kind, void *stream), NULL, 0, NULL,     \
      "hipMemcpyAsync")                                                                                      \
    X(event_create, 1, (void **event, unsigned flags), "cuEventCreate", 2000, "cuEventCreate",               \
      "hipEventCreateWithFlags")                                                                             \
    X(event_destroy, 1, (void *event), "cuEventDestroy", 4000, "cuEventDestroy_v2", "hipEventDestroy")       \
    X(event_record, 1, (void *event, void *stream), "cuEventRecord", 2000, "cuEventRecord",                  \
      "hipEventRecord")                                                                                      \
    X(event_query, 1, (void *event), "cuEventQuery", 2000, "cuEventQuery", "hipEventQuery")                  \
    X(stream_wait, 1, (void *stream, void *event, unsigned flags), "cuStreamWaitEvent", 3020,                \
      "cuStreamWaitEvent", "hipStreamWaitEvent")                                                             \
    X(words, 0, (void *stream, unsigned count, banyan_driver_word *words, unsigned flags),                   \
      "cuStreamBatchMemOp", 11070, NULL, NULL)                                                               \
    X(share, 0, (banyan_driver_handle * handle, uint64_t address), "cuIpcGetMemHandle", 4010,                \
      "cuIpcGetMemHandle", "hipIpcGetMemHandle")                                                             \
    X(map, 0, (uint64_t * address, banyan_driver_handle handle, unsigned flags), "cuIpcOpenMemHandle",       \
      11000, "cuIpcOpenMemHandle_v2", "hipIpcOpenMemHandle")                                                 \
    X(unmap, 0, (uint64_t address), "cuIpcCloseMemHandle", 4010, "cuIpcCloseMemHandle",                      \
      "hipIpcCloseMemHandle")                                                                                \
    X(block_create, 0,                                                                                       \
      (uint64_t * block, size_t bytes, const banyan_driver_block *properties, uint64_t flags),               \
      "cuMemCreate", 10020, "cuMemCreate", NULL)                                                             \
    X(block_release, 0, (uint64_t block), "cuMemRelease", 10020, "cuMemRelease", NULL)                       \
    X(block_retain, 0, (uint64_t * block, void *address), "cuMemRetainAllocationHandle", 11000,              \
      "cuMemRetainAllocationHandle", NULL)                                                                   \
    X(block_export, 0, (void *out, uint64_t block, int type, uint64_t flags),                                \
      "cuMemExportToShareableHandle", 10020, "cuMemExportToShareableHandle", NULL)                           \
    X(block_import, 0, (uint64_t * block, void *handle, int type), "cuMemImportFromShareableHandle", 10020,  \
      "cuMemImportFromShareableHandle", NULL)                                                                \
    X(block_map, 0, (uint64_t address, size_t bytes, size_t offset, uint64_t block, uint64_t flags),         \
      "cuMemMap", 10020, "cuMemMap", NULL)                                                                   \
    X(block_unmap, 0, (uint64_t address, size_t bytes), "cuMemUnmap", 10020, "cuMemUnmap", NULL)             \
    X(block_access, 0, (uint64_t address, size_t bytes, const banyan_driver_access *access, size_t count),   \
      "cuMemSetAccess", 10020, "cuMemSetAccess", NULL)                                                       \
    X(reserve, 0, (uint64_t * address, size_t bytes, size_t alignment, uint64_t wanted, uint64_t flags),     \
      "cuMemAddressReserve", 10020, "cuMemAddressReserve", NULL)                                             \
    X(unreserve, 0, (uint64_t address, size_t bytes), "cuMemAddressFree", 10020, "cuMemAddressFree", NULL)   \
    X(module_load, 0, (void **module, const void *image), "cuModuleLoadData", 2000, "cuModuleLoadData",      \
      NULL)                                                                                                  \
    X(function, 0, (void **function, void *module, const char *name), "cuModuleGetFunction", 2000,           \
      "cuModuleGetFunction", NULL)                                                                           \
    X(launch, 0,                                                                                             \
      (void *function, unsigned x, unsigned y, unsigned z, unsigned block_x, unsigned block_y,               \
       unsigned block_z, unsigned shared, void *stream, void **arguments, void **extra),                     \
      "cuLaunchKernel", 4000, "cuLaunchKernel", NULL)                                                        \
    X(is_capturing, 0, (void *stream, int *is_capturing), "cuStreamIsCapturing", 10000,                      \
      "cuStreamIsCapturing", "hipStreamIsCapturing")                                                         \
    X(capture_mode, 0, (int *mode), "cuThreadExchangeStreamCaptureMode", 10010,                              \
      "cuThreadExchangeStreamCaptureMode", NULL)

typedef struct {
    void *library; /* NULL: it is not there, or misses a call that is needed */
    char problem[160];
#define BANYAN_DRIVER_FIELD(field, needed, arguments, cuda, cuda_version, old, hip) int(*field) arguments;
    BANYAN_DRIVER_MAP(BANYAN_DRIVER_FIELD)
#undef BANYAN_DRIVER_FIELD
} banyan_driver;

/* Found once per process; what is missing is said in problem. */
const banyan_driver *banyan_driver_cuda(void);
const banyan_driver *banyan_driver_hip(void);

#endif
