/* SPDX-License-Identifier: Apache-2.0 */
/* device/roofs.h: what a device can do at best, measured here and now: what calls are compared with. */
#ifndef BANYAN_DEVICE_ROOFS_H
#define BANYAN_DEVICE_ROOFS_H

#include "device/device.h"

typedef struct {
    double copy_bytes_per_s; /* from its memory to its memory: bytes read plus bytes written */
    double host_bytes_per_s; /* to the host, while as many bytes come from there */
} banyan_device_roofs;

/* With buffers of that many bytes each; takes a fraction of a second. Blocks. */
banyan_status banyan_device_measure_roofs(banyan_device *device, size_t bytes, banyan_device_roofs *out,
                                          banyan_error *err);

/* An empty kernel is started and waited for: the mean time of that, where the device has kernels; else 0. */
banyan_status banyan_device_measure_launch(banyan_device *device, int times, double *seconds,
                                           banyan_error *err);

#endif
