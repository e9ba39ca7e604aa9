/* SPDX-License-Identifier: Apache-2.0 */
/* device/gpu.h: the tables of real devices (device/gpu.c) and of the one that is not (device/emulated.c). */
#ifndef BANYAN_DEVICE_GPU_H
#define BANYAN_DEVICE_GPU_H

#include "device/device.h"

extern const banyan_device_table banyan_device_table_cuda, banyan_device_table_hip,
    banyan_device_table_emulated;

#endif
