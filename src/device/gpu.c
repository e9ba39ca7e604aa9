/* SPDX-License-Identifier: Apache-2.0 */
/* device/gpu.c: GPUs by their vendor's driver (device/driver.h), in the primary context, which is the one
 * that PyTorch and every program of the runtime library use. HIP has what a staged call needs; streams
 * that hand over to one another, and the kernel, are CUDA's alone. */
#include "device/gpu.h"

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/alloc.h"
#include "device/gpu_internal.h"
#include "device/ptx.h"

enum {
    MAX_DEVICES = 64,
    MAX_WORDS = 4 * BANYAN_DEVICE_MAX_RANKS,
    BLOCK = 256,
    BLOCKS_PER_SM = 8,
    FEW_BLOCKS = 4,     /* may each read the host's memory */
    NOT_BLOCKING = 1,   /* flag of streams: not in order with the default stream */
    NO_TIMES = 2,       /* flag of events */
    LAZY_PEER = 1,      /* flag of mapping */
    REGISTER_FLAGS = 3, /* for all contexts, and with an address on the device */
    COPY_DEFAULT = 4    /* HIP: finds out by itself what the two memories are */
};

/* Numbers of CUDA's attributes. */
enum {
    SM_COUNT = 16,
    MEMORY_KHZ = 36,
    BUS_BITS = 37,
    BUFFER_ID = 7,
    IS_IPC = 10,
    RANGE_BEGIN = 11,
    RANGE_BYTES = 12
};

/* Smaller allocations share a block of the device's memory, and another process can map a block only once. */
#define OWN_BLOCK ((size_t)2 << 20)

static pthread_mutex_t devices_lock = PTHREAD_MUTEX_INITIALIZER;
static gpu *cuda_devices[MAX_DEVICES], *hip_devices[MAX_DEVICES];

#define CALL(g, what, call)                                                                                  \
    do {                                                                                                     \
        banyan_status entered = banyan_gpu_enter(g, err);                                                    \
        int error;                                                                                           \
                                                                                                             \
        if (entered)                                                                                         \
            return entered;                                                                                  \
        error = (call);                                                                                      \
        banyan_gpu_leave(g);                                                                                 \
        return error ? banyan_gpu_fail(g, error, what, err) : BANYAN_SUCCESS;                                \
    } while (0)

/* ---- Opening. */

static int count_of(const banyan_driver *driver)
{
    int count = 0;

    if (!driver->library || driver->init(0) ||
        driver->device_count(&count)) /* also in a fork of one that used it */
        return 0;
    return count < MAX_DEVICES ? count : MAX_DEVICES;
}

static int count_cuda(void)
{
    return count_of(banyan_driver_cuda());
}

static int count_hip(void)
{
    return count_of(banyan_driver_hip());
}

static int attribute(const gpu *g, int number)
{
    int value = 0;

    if (!g->driver->attribute || g->driver->attribute(&value, number, g->device))
        return 0;
    return value;
}

/* Two bits for each line of the bus and tick of the clock. */
static double memory_rate(const gpu *g)
{
    return 2.0 * 1e3 * attribute(g, MEMORY_KHZ) * attribute(g, BUS_BITS) / 8;
}

static banyan_status set_up(gpu *g, banyan_error *err)
{
    const banyan_driver *driver = g->driver;
    banyan_driver_uuid uuid;
    int error = driver->device_get(&g->device, g->head.ordinal);

    if (!error)
        error = driver->device_name(g->head.name, (int)sizeof g->head.name, g->device);
    if (!error)
        error = driver->device_uuid(&uuid, g->device);
    if (!error)
        error = driver->context_retain(&g->context, g->device);
    if (error)
        return banyan_gpu_fail(g, error, "opening it", err);
    memcpy(g->head.uuid, uuid.bytes, sizeof g->head.uuid);
    g->sm_count = attribute(g, SM_COUNT);
    g->head.memory_bytes_per_s = memory_rate(g);
    return BANYAN_SUCCESS;
}

static banyan_status open_in(gpu **devices, const banyan_driver *driver, const banyan_device_table *table,
                             int ordinal, banyan_device **out, banyan_error *err)
{
    int count = count_of(driver);
    banyan_status status = BANYAN_SUCCESS;

    *out = NULL;
    if (ordinal < 0 || ordinal >= count)
        return banyan_fail(err, BANYAN_UNSUPPORTED, "there is no %s device %d: %s", table->name, ordinal,
                           driver->problem[0] ? driver->problem
                           : count
                               ? "there are fewer"
                               : "the driver finds none (a fork of a process that has used it never does)");
    pthread_mutex_lock(&devices_lock);
    if (!devices[ordinal]) {
        gpu *g = banyan_alloc(1, sizeof *g);

        if (!g) {
            status = banyan_fail_memory(err);
        } else {
            g->head.table = table;
            g->head.ordinal = ordinal;
            g->driver = driver;
            pthread_mutex_init(&g->lock, NULL);
            status = set_up(g, err);
            if (status)
                banyan_free(g);
            else
                devices[ordinal] = g;
        }
    }
    if (!status)
        *out = &devices[ordinal]->head;
    pthread_mutex_unlock(&devices_lock);
    return status;
}

static banyan_status open_cuda(int ordinal, banyan_device **out, banyan_error *err)
{
    return open_in(cuda_devices, banyan_driver_cuda(), &banyan_device_table_cuda, ordinal, out, err);
}

static banyan_status open_hip(int ordinal, banyan_device **out, banyan_error *err)
{
    return open_in(hip_devices, banyan_driver_hip(), &banyan_device_table_hip, ordinal, out, err);
}

/* ---- Memory. */

static banyan_status alloc_memory(banyan_device *device, size_t bytes, void **out, banyan_error *err)
{
    gpu *g = banyan_gpu_of(device);
    uint64_t address = 0;
    banyan_status status = banyan_gpu_enter(g, err);
    int error, mode;

    *out = NULL;
    if (status)
        return status;
    mode = banyan_gpu_relax(g);
    error = g->driver->alloc(&address, (bytes / OWN_BLOCK + 1) * OWN_BLOCK);
    banyan_gpu_restore(g, mode);
    banyan_gpu_leave(g);
    if (error) {
        banyan_gpu_fail(g, error, "allocating", err);
        return banyan_fail(err, BANYAN_SYSTEM_ERROR, "%s device %d has no memory for %zu bytes",
                           device->table->name, device->ordinal, bytes);
    }
    *out = (void *)(uintptr_t)address;
    return BANYAN_SUCCESS;
}

static void free_memory(banyan_device *device, void *memory)
{
    gpu *g = banyan_gpu_of(device);

    if (!memory || banyan_gpu_enter(g, NULL))
        return;
    g->driver->free((uint64_t)(uintptr_t)memory);
    banyan_gpu_leave(g);
}

static banyan_status register_memory(banyan_device *device, void *memory, size_t bytes, uint64_t *address,
                                     banyan_error *err)
{
    gpu *g = banyan_gpu_of(device);
    banyan_status status = banyan_gpu_enter(g, err);
    int error, mode;

    if (status)
        return status;
    mode = banyan_gpu_relax(g);
    error = g->driver->host_register(memory, bytes, REGISTER_FLAGS);
    if (!error)
        error = g->driver->host_address(address, memory, 0);
    banyan_gpu_restore(g, mode);
    banyan_gpu_leave(g);
    return error ? banyan_gpu_fail(g, error, "page-locking the host's memory", err) : BANYAN_SUCCESS;
}

static void unregister_memory(banyan_device *device, void *memory)
{
    gpu *g = banyan_gpu_of(device);

    if (banyan_gpu_enter(g, NULL))
        return;
    g->driver->host_unregister(memory);
    banyan_gpu_leave(g);
}

/* ---- Streams. */

static banyan_status stream_create(banyan_device *device, void **out, banyan_error *err)
{
    gpu *g = banyan_gpu_of(device);
    banyan_status status = banyan_gpu_enter(g, err);
    int error, mode, lowest = 0, highest = 0;

    *out = NULL;
    if (status)
        return status;
    mode = banyan_gpu_relax(g);
    g->driver->priorities(&lowest, &highest);
    error = g->driver->stream_create(out, NOT_BLOCKING, highest);
    banyan_gpu_restore(g, mode);
    banyan_gpu_leave(g);
    return error ? banyan_gpu_fail(g, error, "creating a stream", err) : BANYAN_SUCCESS;
}

static void stream_destroy(banyan_device *device, void *stream)
{
    gpu *g = banyan_gpu_of(device);

    if (!stream || banyan_gpu_enter(g, NULL))
        return;
    g->driver->stream_destroy(stream);
    banyan_gpu_leave(g);
}

static banyan_status synchronize(banyan_device *device, void *stream, banyan_error *err)
{
    gpu *g = banyan_gpu_of(device);

    CALL(g, "synchronizing a stream", g->driver->stream_synchronize(stream));
}

static banyan_status copy(banyan_device *device, void *stream, void *into, const void *from, size_t bytes,
                          banyan_error *err)
{
    gpu *g = banyan_gpu_of(device);
    uint64_t to = (uint64_t)(uintptr_t)into, source = (uint64_t)(uintptr_t)from;

    CALL(g, "a copy",
         g->driver->copy ? g->driver->copy(to, source, bytes, stream)
                         : g->driver->copy_kind(to, source, bytes, COPY_DEFAULT, stream));
}

static banyan_status event_create(banyan_device *device, banyan_device_event **out, banyan_error *err)
{
    gpu *g = banyan_gpu_of(device);

    *out = NULL;
    CALL(g, "creating an event", g->driver->event_create((void **)out, NO_TIMES));
}

static void event_destroy(banyan_device *device, banyan_device_event *event)
{
    gpu *g = banyan_gpu_of(device);

    if (!event || banyan_gpu_enter(g, NULL))
        return;
    g->driver->event_destroy(event);
    banyan_gpu_leave(g);
}

static banyan_status record(banyan_device *device, void *stream, banyan_device_event *event,
                            banyan_error *err)
{
    gpu *g = banyan_gpu_of(device);

    CALL(g, "recording an event", g->driver->event_record(event, stream));
}

static banyan_status wait_event(banyan_device *device, void *stream, banyan_device_event *event,
                                banyan_error *err)
{
    gpu *g = banyan_gpu_of(device);

    CALL(g, "waiting for an event", g->driver->stream_wait(stream, event, 0));
}

static banyan_status is_ready(banyan_device *device, banyan_device_event *event, banyan_error *err)
{
    gpu *g = banyan_gpu_of(device);
    banyan_status status = banyan_gpu_enter(g, err);
    int error;

    if (status)
        return status;
    error = g->driver->event_query(event);
    banyan_gpu_leave(g);
    if (error == BANYAN_DRIVER_NOT_READY)
        return BANYAN_IN_PROGRESS;
    return error ? banyan_gpu_fail(g, error, "what a stream was doing", err) : BANYAN_SUCCESS;
}

static banyan_status words(banyan_device *device, void *stream, const banyan_device_word *list, int count,
                           banyan_error *err)
{
    gpu *g = banyan_gpu_of(device);
    banyan_driver_word steps[MAX_WORDS] = {{0}};

    if (!g->driver->words)
        return banyan_fail(err, BANYAN_UNSUPPORTED, "the driver has no cuStreamBatchMemOp of CUDA 11.7");
    if (count > MAX_WORDS)
        return banyan_fail(err, BANYAN_INTERNAL_ERROR, "%d words at once", count);
    for (int i = 0; i < count; i++)
        steps[i] =
            (banyan_driver_word){.operation = list[i].is_wait ? BANYAN_DRIVER_WAIT : BANYAN_DRIVER_WRITE,
                                 .address = list[i].address,
                                 .value = list[i].value,
                                 .flags = list[i].is_wait ? BANYAN_DRIVER_WAIT_EQUAL : 0};
    CALL(g, "a hand-over in a stream", g->driver->words(stream, (unsigned)count, steps, 0));
}

static int is_capturing(banyan_device *device, void *stream)
{
    gpu *g = banyan_gpu_of(device);
    int capturing = 0;

    if (!g->driver->is_capturing || banyan_gpu_enter(g, NULL))
        return 0;
    if (g->driver->is_capturing(stream, &capturing))
        capturing = 0;
    banyan_gpu_leave(g);
    return capturing != 0;
}

/* ---- Sharing with other processes. */

/* What the driver says about an address; memory that was freed and taken again has another number. */
static banyan_status look_up(const gpu *g, const void *memory, banyan_device_share *out, int *has_handle,
                             banyan_error *err)
{
    int numbers[] = {IS_IPC, RANGE_BEGIN, RANGE_BYTES, BUFFER_ID}, error;
    int is_ipc = 0;
    uint64_t begin = 0, id = 0;
    size_t bytes = 0;
    void *values[] = {&is_ipc, &begin, &bytes, &id};
    banyan_status status;

    if (!g->driver->pointer_attributes)
        return banyan_fail(err, BANYAN_UNSUPPORTED, "the driver cannot share memory");
    status = banyan_gpu_enter(g, err);
    if (status)
        return status;
    error = g->driver->pointer_attributes(4, numbers, values, (uint64_t)(uintptr_t)memory);
    banyan_gpu_leave(g);
    if (error)
        return banyan_gpu_fail(g, error, "asking what memory that is", err);
    if (!begin)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "address %p is not memory of %s device %d", memory,
                           g->head.table->name, g->head.ordinal);
    *out =
        (banyan_device_share){.base = begin, .allocation = id, .bytes = bytes, .process = (uint64_t)getpid()};
    *has_handle = g->driver->share && is_ipc && bytes >= OWN_BLOCK;
    return BANYAN_SUCCESS;
}

static const banyan_device_share *find_known(const gpu *g, const banyan_device_share *wanted)
{
    for (int i = 0; i < g->known_count; i++)
        if (g->known[i].base == wanted->base && g->known[i].allocation == wanted->allocation)
            return &g->known[i];
    return NULL;
}

static banyan_status share(banyan_device *device, const void *memory, size_t bytes, banyan_device_share *out,
                           banyan_error *err)
{
    gpu *g = banyan_gpu_of(device);
    const banyan_device_share *known;
    banyan_driver_handle handle;
    int error = 0, has_handle = 0;
    banyan_status status = look_up(g, memory, out, &has_handle, err);

    if (status)
        return status;
    if (!has_handle)
        return banyan_gpu_share_blocks(g, memory, bytes, out, err);
    if ((uint64_t)(uintptr_t)memory - out->base + bytes > out->bytes)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "%zu bytes at %p reach beyond their allocation",
                           bytes, memory);
    pthread_mutex_lock(&g->lock);
    known = find_known(g, out);
    if (known) {
        *out = *known;
    } else {
        status = banyan_gpu_enter(g, err);
        if (!status) {
            int mode = banyan_gpu_relax(g);

            error = g->driver->share(&handle, out->base);
            banyan_gpu_restore(g, mode);
            banyan_gpu_leave(g);
        }
        if (!status && !error) {
            memcpy(out->handle, handle.bytes, sizeof out->handle);
            g->known[g->next_known] = *out;
            g->next_known = (g->next_known + 1) % BANYAN_GPU_KNOWN;
            g->known_count += g->known_count < BANYAN_GPU_KNOWN;
        }
    }
    pthread_mutex_unlock(&g->lock);
    /* Some systems have the call, and say only here that it does not work. */
    return error ? banyan_gpu_share_blocks(g, memory, bytes, out, err) : status;
}

static banyan_status map(banyan_device *device, const banyan_device_share *shared, void **out,
                         banyan_error *err)
{
    gpu *g = banyan_gpu_of(device);
    banyan_driver_handle handle;
    uint64_t address = 0;
    banyan_status status;
    int error;

    *out = NULL;
    if (!g->driver->map)
        return banyan_fail(err, BANYAN_UNSUPPORTED, "the driver cannot map another process's memory");
    memcpy(handle.bytes, shared->handle, sizeof handle.bytes);
    status = banyan_gpu_enter(g, err);
    if (status)
        return status;
    error = g->driver->map(&address, handle, LAZY_PEER);
    banyan_gpu_leave(g);
    if (error)
        return banyan_gpu_fail(g, error, "mapping another process's memory", err);
    *out = (void *)(uintptr_t)address;
    return BANYAN_SUCCESS;
}

static void unmap(banyan_device *device, void *mapped)
{
    gpu *g = banyan_gpu_of(device);

    if (!mapped || banyan_gpu_enter(g, NULL))
        return;
    g->driver->unmap((uint64_t)(uintptr_t)mapped);
    banyan_gpu_leave(g);
}

/* ---- The kernel. */

/* With the lock held, in the context. */
static int load(gpu *g, banyan_datatype type, void *functions[3])
{
    static const char *const names[] = {"2", "4", "fetch"};
    void *module;
    char name[64];
    int mode = banyan_gpu_relax(g), error = g->driver->module_load(&module, banyan_device_ptx(type));

    for (int i = 0; i < 3 && !error; i++) {
        snprintf(name, sizeof name, "banyan_reduce_%s_%s", banyan_datatype_string(type), names[i]);
        error = g->driver->function(&functions[i], module, name);
    }
    banyan_gpu_restore(g, mode);
    return error;
}

static banyan_status prepare(banyan_device *device, banyan_datatype type, banyan_error *err)
{
    gpu *g = banyan_gpu_of(device);
    banyan_status status = BANYAN_SUCCESS;
    int error = 0;

    if (!g->driver->module_load || !g->driver->function || !g->driver->launch)
        return banyan_fail(err, BANYAN_UNSUPPORTED, "the driver runs no PTX");
    pthread_mutex_lock(&g->lock);
    if (!g->functions[type][2]) {
        status = banyan_gpu_enter(g, err);
        if (!status) {
            error = load(g, type, g->functions[type]);
            banyan_gpu_leave(g);
        }
    }
    pthread_mutex_unlock(&g->lock);
    return error ? banyan_gpu_fail(g, error, "compiling the reduce kernel", err) : status;
}

static int launch(const gpu *g, void *function, size_t blocks, void *stream, void **arguments)
{
    return g->driver->launch(function, (unsigned)blocks, 1, 1, BLOCK, 1, 1, 0, stream, arguments, NULL);
}

static int start(gpu *g, void *stream, const banyan_device_task *task)
{
    size_t units = task->elements * banyan_datatype_bytes(task->type) / 16 + 2,
           blocks = (units + BLOCK - 1) / BLOCK,
           most = (size_t)(g->sm_count > 0 ? g->sm_count : 64) * BLOCKS_PER_SM;
    uint64_t from = task->reduction, scratch = (uint64_t)(uintptr_t)task->scratch;
    uint32_t used = (uint32_t)((offsetof(banyan_device_reduction, pieces) +
                                (size_t)task->most_pieces * sizeof(banyan_device_piece)) /
                               16);
    int error = 0;

    if (blocks > FEW_BLOCKS) {
        error = launch(g, g->functions[task->type][2], 1, stream, (void *[]){&scratch, &from, &used});
        from = scratch;
    }
    return error ? error
                 : launch(g, g->functions[task->type][task->rank_count > 2], blocks < most ? blocks : most,
                          stream, (void *[]){&from, &used});
}

static banyan_status reduce(banyan_device *device, void *stream, const banyan_device_task *task,
                            banyan_error *err)
{
    gpu *g = banyan_gpu_of(device);

    CALL(g, "starting the reduce kernel", start(g, stream, task));
}

#define COMMON                                                                                               \
    .alloc = alloc_memory, .free = free_memory, .register_memory = register_memory,                          \
    .unregister_memory = unregister_memory, .stream_create = stream_create,                                  \
    .stream_destroy = stream_destroy, .synchronize = synchronize, .copy = copy,                              \
    .event_create = event_create, .event_destroy = event_destroy, .record = record,                          \
    .wait_event = wait_event, .is_ready = is_ready, .is_capturing = is_capturing

const banyan_device_table banyan_device_table_cuda = {.name = "cuda",
                                                      .summary = "GPUs of NVIDIA, by libcuda.so.1",
                                                      .count = count_cuda,
                                                      .open = open_cuda,
                                                      COMMON,
                                                      .words = words,
                                                      .share = share,
                                                      .map = map,
                                                      .unmap = unmap,
                                                      .alloc_block = banyan_gpu_alloc_block,
                                                      .free_block = banyan_gpu_free_block,
                                                      .map_blocks = banyan_gpu_map_blocks,
                                                      .unmap_blocks = banyan_gpu_unmap_blocks,
                                                      .prepare = prepare,
                                                      .reduce = reduce};

const banyan_device_table banyan_device_table_hip = {.name = "hip",
                                                     .summary = "GPUs of AMD, by libamdhip64.so; staged only",
                                                     .count = count_hip,
                                                     .open = open_hip,
                                                     COMMON};
