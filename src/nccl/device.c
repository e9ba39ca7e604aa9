/* SPDX-License-Identifier: Apache-2.0 */
/* nccl/device.c: where the device lies and how fast it is comes from /sys, as NCCL does it for its own
 * sockets: NCCL places GPUs and channels by it. */
#include "nccl/device.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bootstrap/listen.h"
#include "core/settings.h"
#include "nccl/log.h"
#include "transport/plugin.h"

enum { UNKNOWN_SPEED_MBPS = 10000 };
enum { MAX_COMMS = 65536 };
#define MAX_BYTES ((size_t)1 << 30) /* of a send or a collective */

static struct {
    pthread_mutex_t lock;
    int is_known;
    banyan_nccl_device device;
} the = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void look_up_speed(banyan_nccl_device *device)
{
    char path[96];
    FILE *file;

    snprintf(path, sizeof path, "/sys/class/net/%s/speed", device->interface.name);
    file = fopen(path, "re");
    if (!file || fscanf(file, "%d", &device->speed_mbps) != 1 || device->speed_mbps <= 0)
        device->speed_mbps = UNKNOWN_SPEED_MBPS;
    if (file)
        fclose(file);
}

static void look_up_path(banyan_nccl_device *device)
{
    char path[96];

    snprintf(path, sizeof path, "/sys/class/net/%s/device", device->interface.name);
    if (!realpath(path, device->pci_path))
        device->pci_path[0] = '\0';
}

static banyan_status load(banyan_nccl_device *device, banyan_error *err)
{
    banyan_settings *settings = NULL;
    banyan_status status = banyan_settings_load(&settings, err);
    const char *transport;
    int count;

    if (status)
        return status;
    device->timeout_ms = (int)banyan_settings_integer(settings, BANYAN_SETTING_TIMEOUT_MS);
    device->is_timeout_set = !banyan_settings_is_default(settings, BANYAN_SETTING_TIMEOUT_MS);
    device->lanes = (int)banyan_settings_integer(settings, BANYAN_SETTING_NCCL_LANES);
    transport = banyan_settings_string(settings, BANYAN_SETTING_TRANSPORT);
    device->uses_memory = !strcmp(transport, "auto") || strstr(transport, "shm") != NULL;
    if (strstr(transport, "ucx"))
        status = banyan_plugin_load("ucx", banyan_settings_string(settings, BANYAN_SETTING_PLUGIN_FOLDER),
                                    &device->engine, err);
    if (!status)
        status = banyan_listen_ports(settings, &device->low_port, &device->high_port, err);
    if (!status)
        status = banyan_interface_choose(banyan_settings_string(settings, BANYAN_SETTING_SOCKET_IFNAME),
                                         banyan_listen_family(settings), 1, &device->interface, &count, err);
    banyan_settings_destroy(settings);
    if (status)
        return status;
    snprintf(device->name, sizeof device->name, "banyan:%s", device->interface.name);
    look_up_speed(device);
    look_up_path(device);
    return BANYAN_SUCCESS;
}

const banyan_nccl_device *banyan_nccl_device_get(banyan_error *err)
{
    pthread_mutex_lock(&the.lock);
    if (!the.is_known)
        the.is_known = load(&the.device, err) == BANYAN_SUCCESS;
    pthread_mutex_unlock(&the.lock);
    return the.is_known ? &the.device : NULL;
}

nccl_result banyan_nccl_device_count(int *count)
{
    *count = 1;
    return NCCL_SUCCESS;
}

nccl_result banyan_nccl_device_describe(int number, nccl_properties_v12 *out)
{
    banyan_error err = {""};
    const banyan_nccl_device *device = number == 0 ? banyan_nccl_device_get(&err) : NULL;

    if (!device) {
        banyan_nccl_warn("device %d: %s", number, number ? "there is only device 0" : err.text);
        return NCCL_INVALID_ARGUMENT;
    }
    *out = (nccl_properties_v12){.name = (char *)(uintptr_t)device->name,
                                 .pci_path = *device->pci_path ? (char *)(uintptr_t)device->pci_path : NULL,
                                 .memory_kinds = NCCL_MEMORY_HOST,
                                 .speed_mbps = device->speed_mbps,
                                 .most_comms = MAX_COMMS,
                                 .most_receives = 1,
                                 .part_count = 1,
                                 .most_send_bytes = MAX_BYTES,
                                 .most_collective_bytes = MAX_BYTES,
                                 .most_requests_at_once = 1,
                                 .rail = -1,
                                 .plane = -1};
    return NCCL_SUCCESS;
}
