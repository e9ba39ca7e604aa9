/* SPDX-License-Identifier: Apache-2.0 */
/* nccl/properties.h: the device's properties as each version lays them out. */
#ifndef BANYAN_NCCL_PROPERTIES_H
#define BANYAN_NCCL_PROPERTIES_H

#include "nccl/device.h"

/* Each version has a part of the newest one's members, under the same names. */
#define BANYAN_NCCL_COPY_COMMON(from, to)                                                                    \
    ((to)->name = (from)->name, (to)->pci_path = (from)->pci_path, (to)->guid = (from)->guid,                \
     (to)->memory_kinds = (from)->memory_kinds, (to)->speed_mbps = (from)->speed_mbps,                       \
     (to)->port = (from)->port, (to)->latency_us = (from)->latency_us,                                       \
     (to)->most_comms = (from)->most_comms, (to)->most_receives = (from)->most_receives)

#define BANYAN_NCCL_COPY_OFFLOAD(from, to)                                                                   \
    ((to)->offload = (from)->offload, (to)->offload_version = (from)->offload_version)

#define BANYAN_NCCL_COPY_SIZES(from, to)                                                                     \
    ((to)->registers_globally = (from)->registers_globally, (to)->needs_flush = (from)->needs_flush,         \
     (to)->part_count = (from)->part_count, (to)->parts[0] = (from)->parts[0],                               \
     (to)->most_send_bytes = (from)->most_send_bytes,                                                        \
     (to)->most_collective_bytes = (from)->most_collective_bytes)

static inline nccl_result banyan_nccl_properties_v6(int device, nccl_properties_v6 *out)
{
    nccl_properties_v12 all;
    nccl_result result = banyan_nccl_device_describe(device, &all);

    if (!result)
        BANYAN_NCCL_COPY_COMMON(&all, out);
    return result;
}

static inline nccl_result banyan_nccl_properties_v7(int device, nccl_properties_v7 *out)
{
    nccl_properties_v12 all;
    nccl_result result = banyan_nccl_device_describe(device, &all);

    if (!result)
        BANYAN_NCCL_COPY_COMMON(&all, out), BANYAN_NCCL_COPY_OFFLOAD(&all, out);
    return result;
}

static inline nccl_result banyan_nccl_properties_v8(int device, nccl_properties_v8 *out)
{
    nccl_properties_v12 all;
    nccl_result result = banyan_nccl_device_describe(device, &all);

    if (result)
        return result;
    BANYAN_NCCL_COPY_COMMON(&all, out);
    BANYAN_NCCL_COPY_OFFLOAD(&all, out);
    out->registers_globally = all.registers_globally;
    return NCCL_SUCCESS;
}

static inline nccl_result banyan_nccl_properties_v9(int device, nccl_properties_v9 *out)
{
    nccl_properties_v12 all;
    nccl_result result = banyan_nccl_device_describe(device, &all);

    if (result)
        return result;
    BANYAN_NCCL_COPY_COMMON(&all, out);
    BANYAN_NCCL_COPY_OFFLOAD(&all, out);
    BANYAN_NCCL_COPY_SIZES(&all, out);
    return NCCL_SUCCESS;
}

static inline nccl_result banyan_nccl_properties_v11(int device, nccl_properties_v11 *out)
{
    nccl_properties_v12 all;
    nccl_result result = banyan_nccl_device_describe(device, &all);

    if (result)
        return result;
    BANYAN_NCCL_COPY_COMMON(&all, out);
    BANYAN_NCCL_COPY_OFFLOAD(&all, out);
    BANYAN_NCCL_COPY_SIZES(&all, out);
    out->most_requests_at_once = all.most_requests_at_once;
    return NCCL_SUCCESS;
}

#endif
