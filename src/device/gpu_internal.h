/* SPDX-License-Identifier: Apache-2.0 */
/* device/gpu_internal.h: a GPU as gpu*.c know it. */
#ifndef BANYAN_DEVICE_GPU_INTERNAL_H
#define BANYAN_DEVICE_GPU_INTERNAL_H

#include <pthread.h>

#include "device/device.h"
#include "device/driver.h"

enum { BANYAN_GPU_KNOWN = 64 }; /* allocations whose handles are remembered */

/* A block of this process that others have been told of. */
typedef struct {
    uint64_t base, number;
    int fd;
} banyan_gpu_exported;

typedef struct {
    banyan_device head;
    const banyan_driver *driver;
    int device, sm_count;
    void *context;
    pthread_mutex_t lock;
    /* guarded by lock: */
    void *functions[BANYAN_BFLOAT16 + 1][3]; /* loads 2 or 4 inputs at once; brings the reduction */
    banyan_device_share known[BANYAN_GPU_KNOWN];
    int known_count, next_known;
    banyan_gpu_exported *exported;
    size_t exported_count, exported_capacity;
} gpu;

static inline gpu *banyan_gpu_of(banyan_device *device)
{
    return (gpu *)device;
}

/* gpu_context.c */
banyan_status banyan_gpu_fail(const gpu *g, int error, const char *what, banyan_error *err);
banyan_status banyan_gpu_enter(const gpu *g, banyan_error *err);
void banyan_gpu_leave(const gpu *g);

/* Allocations, also of the host's memory, are allowed while another stream is being captured. */
int banyan_gpu_relax(const gpu *g);
void banyan_gpu_restore(const gpu *g, int mode);

/* gpu_blocks.c */
banyan_status banyan_gpu_share_blocks(gpu *g, const void *memory, size_t bytes, banyan_device_share *out,
                                      banyan_error *err);
banyan_status banyan_gpu_alloc_block(banyan_device *device, size_t bytes, void **out, banyan_error *err);
void banyan_gpu_free_block(banyan_device *device, void *memory);
banyan_status banyan_gpu_map_blocks(banyan_device *device, banyan_device_regions **regions,
                                    const banyan_device_share *share, void **out, banyan_error *err);
void banyan_gpu_unmap_blocks(banyan_device *device, banyan_device_regions *regions);

#endif
