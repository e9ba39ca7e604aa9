/* SPDX-License-Identifier: Apache-2.0 */
/* device/roofs.c: copies and empty kernels by the clock. */
#include "device/roofs.h"

#include <string.h>
#include <sys/mman.h>

#include "core/clock.h"

enum { COPIES = 10, PAGE = 4096 };

typedef struct {
    banyan_device *device;
    const banyan_device_table *table;
    size_t bytes;
    void *memory[2], *streams[2]; /* on the device */
    char *host;                   /* twice as many bytes */
    uint64_t address;
    int is_registered;
} workshop;

static banyan_status set_up(workshop *w, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    w->host = mmap(NULL, 2 * w->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (w->host == MAP_FAILED) {
        w->host = NULL;
        return banyan_fail_memory(err);
    }
    memset(w->host, 0, 2 * w->bytes);
    for (int i = 0; i < 2 && !status; i++) {
        status = w->table->alloc(w->device, w->bytes, &w->memory[i], err);
        if (!status)
            status = w->table->stream_create(w->device, &w->streams[i], err);
    }
    if (!status)
        status = w->table->register_memory(w->device, w->host, 2 * w->bytes, &w->address, err);
    w->is_registered = !status;
    return status;
}

static void tear_down(workshop *w)
{
    for (int i = 0; i < 2; i++) {
        w->table->stream_destroy(w->device, w->streams[i]);
        w->table->free(w->device, w->memory[i]);
    }
    if (w->is_registered)
        w->table->unregister_memory(w->device, w->host);
    if (w->host)
        munmap(w->host, 2 * w->bytes);
}

static banyan_status wait_for_both(const workshop *w, banyan_error *err)
{
    banyan_status status = w->table->synchronize(w->device, w->streams[0], err);

    return status ? status : w->table->synchronize(w->device, w->streams[1], err);
}

/* The second run counts: the first one makes everything ready. */
static banyan_status time_copies(const workshop *w, double *bytes_per_s, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    for (int run = 0; run < 2 && !status; run++) {
        double begin_s = banyan_clock_s();

        for (int i = 0; i < COPIES && !status; i++)
            status = w->table->copy(w->device, w->streams[0], w->memory[1], w->memory[0], w->bytes, err);
        if (!status)
            status = wait_for_both(w, err);
        *bytes_per_s = 2.0 * COPIES * (double)w->bytes / (banyan_clock_s() - begin_s);
    }
    return status;
}

static banyan_status time_both_ways(const workshop *w, double *bytes_per_s, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    for (int run = 0; run < 2 && !status; run++) {
        double begin_s = banyan_clock_s();

        for (int i = 0; i < COPIES && !status; i++) {
            status = w->table->copy(w->device, w->streams[0], w->host, w->memory[0], w->bytes, err);
            if (!status)
                status =
                    w->table->copy(w->device, w->streams[1], w->memory[1], w->host + w->bytes, w->bytes, err);
        }
        if (!status)
            status = wait_for_both(w, err);
        *bytes_per_s = COPIES * (double)w->bytes / (banyan_clock_s() - begin_s);
    }
    return status;
}

banyan_status banyan_device_measure_roofs(banyan_device *device, size_t bytes, banyan_device_roofs *out,
                                          banyan_error *err)
{
    workshop w = {.device = device, .table = device->table, .bytes = (bytes + PAGE - 1) / PAGE * PAGE};
    banyan_status status = set_up(&w, err);

    *out = (banyan_device_roofs){0};
    if (!status)
        status = time_copies(&w, &out->copy_bytes_per_s, err);
    if (!status)
        status = time_both_ways(&w, &out->host_bytes_per_s, err);
    tear_down(&w);
    return status;
}

banyan_status banyan_device_measure_launch(banyan_device *device, int times, double *seconds,
                                           banyan_error *err)
{
    workshop w = {.device = device, .table = device->table, .bytes = PAGE};
    banyan_status status;
    banyan_device_task task = {.type = BANYAN_FLOAT32, .rank_count = 2, .most_pieces = 1, .elements = 1};
    double begin_s = 0;

    *seconds = 0;
    if (!device->table->reduce)
        return BANYAN_SUCCESS;
    status = set_up(&w, err); /* all zeros: a reduction of no pieces */
    if (!status)
        status = device->table->prepare(device, BANYAN_FLOAT32, err);
    task.reduction = w.address;
    task.scratch = w.memory[0];
    for (int i = -times / 10; i < times && !status; i++) {
        if (i == 0)
            begin_s = banyan_clock_s();
        status = device->table->reduce(device, w.streams[0], &task, err);
        if (!status)
            status = device->table->synchronize(device, w.streams[0], err);
    }
    if (!status)
        *seconds = (banyan_clock_s() - begin_s) / times;
    tear_down(&w);
    return status;
}
