/* SPDX-License-Identifier: Apache-2.0 */
/* nccl/device.h: the one device that the plugin shows to NCCL: this host's way to the others, as the settings
 * choose it. */
#ifndef BANYAN_NCCL_DEVICE_H
#define BANYAN_NCCL_DEVICE_H

#include "nccl/interface.h"
#include "transport/engine.h"
#include "transport/socket.h"

typedef struct {
    banyan_interface interface;
    int low_port, high_port; /* BANYAN_PORT_RANGE; 0 and 0: any */
    int timeout_ms;
    int is_timeout_set;                  /* somebody has set BANYAN_TIMEOUT_MS */
    int lanes;                           /* BANYAN_NCCL_LANES */
    int uses_memory;                     /* BANYAN_TRANSPORT lets ranks of a host exchange through memory */
    const banyan_message_engine *engine; /* BANYAN_TRANSPORT has ranks of two hosts exchange by it; or NULL */
    char name[32];
    char pci_path[4096]; /* in /sys; "": not known */
    int speed_mbps;
} banyan_nccl_device;

/* Reads the settings when it is first asked for, and keeps what it found; NULL: a setting is wrong or no
 * interface fits, and err has the sentence. */
const banyan_nccl_device *banyan_nccl_device_get(banyan_error *err);

/* In the newest version's form. */
nccl_result banyan_nccl_device_describe(int device, nccl_properties_v12 *out);
nccl_result banyan_nccl_device_count(int *count);

#endif
