/* SPDX-License-Identifier: Apache-2.0 */
/* calls/device.c: calls on vectors that lie on GPUs, in the order of a stream.
 *
 * The first such call of a communicator agrees with all ranks on the way: all-reduces from GPU to GPU
 * (device/direct.h) where all have one and reach each other's memory, everything else through the host
 * (device/staging.h), by the thread of asynchronous calls and those of further lanes, each of which has a
 * clone of the communicator. A rank whose vectors are the host's takes part as well. */
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "calls/call.h"
#include "core/alloc.h"
#include "core/settings.h"
#include "device/direct.h"
#include "device/staging.h"
#include "transport/shm_segment.h"

struct banyan_comm_device {
    int ordinal;
    banyan_device *device;  /* NULL: this rank's vectors are the host's */
    banyan_direct *direct;  /* NULL: all calls are staged */
    banyan_staging *staged; /* made when first needed */
    size_t chunk_bytes;
    int lane_count;
    banyan_comm *clones[BANYAN_STAGING_MAX_LANES]; /* by lane; the first lane has the communicator itself */
    pthread_mutex_t lock; /* one call after the other gets its ticket and its place in the queue */
};

/* ---- How the ranks come together. */

static banyan_status gather(void *context, const void *mine, size_t bytes, void *all, banyan_error *err)
{
    banyan_comm *comm = context;
    banyan_call call = {.collective = BANYAN_COLLECTIVE_ALLGATHER, .count = bytes, .type = BANYAN_UINT8};
    banyan_status status = banyan_comm_all_gather(&(banyan_buffers){.send = mine, .recv = all}, &call, comm);

    if (status && err != &comm->err)
        return banyan_fail(err, status, "%s", comm->err.text);
    return status;
}

static banyan_status failure(void *context)
{
    banyan_status status = BANYAN_SUCCESS;

    banyan_comm_get_async_error(context, &status);
    return status;
}

static void abort_group(void *context, banyan_status status, const char *sentence)
{
    banyan_comm_end(context, status, sentence);
}

/* What each rank says first. */
typedef struct {
    uint64_t chunk_bytes, host;
    uint32_t wants_staged, cores, lanes; /* 0 lanes: as the cores and GPUs allow */
    unsigned char gpu[16];               /* all 0: none */
} wish;

static banyan_status read_wish(const banyan_device *device, wish *out, banyan_error *err)
{
    banyan_settings *settings = NULL;
    banyan_status status = banyan_settings_load(&settings, err);
    cpu_set_t cores;

    if (status)
        return status;
    out->chunk_bytes = (uint64_t)banyan_settings_integer(settings, BANYAN_SETTING_GPU_CHUNK) / 64 * 64;
    out->wants_staged = !strcmp(banyan_settings_string(settings, BANYAN_SETTING_GPU_PATH), "staged");
    out->lanes = (uint32_t)banyan_settings_integer(settings, BANYAN_SETTING_GPU_LANES);
    out->host = banyan_shm_host();
    if (device)
        memcpy(out->gpu, device->uuid, sizeof out->gpu);
    out->cores = sched_getaffinity(0, sizeof cores, &cores) ? 1 : (uint32_t)CPU_COUNT(&cores);
    banyan_settings_destroy(settings);
    return BANYAN_SUCCESS;
}

/* How many lanes have enough to do: all ranks that use a GPU share its PCIe link. */
static uint32_t count_useful(const wish *all, int size, const wish *own)
{
    static const unsigned char none[sizeof own->gpu];
    uint32_t sharers = 0;

    if (!memcmp(own->gpu, none, sizeof none))
        return BANYAN_STAGING_MAX_LANES;
    for (int i = 0; i < size; i++)
        sharers += all[i].host == own->host && !memcmp(all[i].gpu, own->gpu, sizeof own->gpu);
    return (BANYAN_STAGING_MAX_LANES + sharers - 1) / sharers;
}

/* Two, so that one adds up while the other waits for other ranks, where every rank has a core for each
 * besides the caller's; or what the rank that wants fewest has set. On one host nobody waits for a network:
 * there, one where two would not have enough to do. */
static int count_lanes(const wish *all, int size)
{
    uint32_t lanes = BANYAN_STAGING_MAX_LANES;

    for (int i = 0; i < size; i++) {
        uint32_t own = all[i].lanes, sharers = 0;

        for (int other = 0; other < size; other++)
            sharers += all[other].host == all[i].host;
        if (!own) {
            own = all[i].cores / sharers > 2 ? 2 : 1;
            if ((int)sharers == size && count_useful(all, size, &all[i]) < own)
                own = 1;
        }
        lanes = own < lanes ? own : lanes;
    }
    return (int)lanes;
}

static banyan_status agree(banyan_comm *comm, banyan_comm_device *on)
{
    int size = comm->group->setup.size, wants_staged = !comm->group->world;
    banyan_direct_options options = {.rank = comm->rank,
                                     .size = size,
                                     .device = on->device,
                                     .timeout_ms = &comm->group->setup.timeout_ms,
                                     .context = comm,
                                     .gather = gather,
                                     .failure = failure,
                                     .abort = abort_group};
    wish mine = {0}, *all = banyan_alloc((size_t)size, sizeof *all);
    banyan_status status = all ? read_wish(on->device, &mine, &comm->err) : banyan_fail_memory(&comm->err);

    if (!status)
        status = gather(comm, &mine, sizeof mine, all, &comm->err);
    for (int i = 0; i < size && !status; i++)
        wants_staged = wants_staged || all[i].wants_staged;
    if (!status) {
        on->chunk_bytes = (size_t)all[0].chunk_bytes;
        on->lane_count = count_lanes(all, size);
        if (!wants_staged)
            status = banyan_direct_create(&options, &on->direct, &comm->err);
    }
    banyan_free(all);
    return status;
}

static void destroy(banyan_comm_device *on)
{
    if (!on)
        return;
    banyan_direct_destroy(on->direct);
    banyan_staging_destroy(on->staged);
    for (int i = 1; i < on->lane_count; i++)
        banyan_comm_destroy(on->clones[i]);
    pthread_mutex_destroy(&on->lock);
    banyan_free(on);
}

void banyan_comm_device_destroy(banyan_comm *comm)
{
    comm->direct = NULL;
    destroy(comm->device);
    comm->device = NULL;
}

/* With the handle's lock held. */
static banyan_status create(banyan_comm *comm, int ordinal)
{
    banyan_comm_device *on = banyan_alloc(1, sizeof *on);
    banyan_status status = on ? BANYAN_SUCCESS : banyan_fail_memory(&comm->err);

    if (status)
        return status;
    pthread_mutex_init(&on->lock, NULL);
    on->ordinal = ordinal;
    if (ordinal != BANYAN_HOST)
        status = banyan_device_open(ordinal, &on->device, &comm->err);
    if (!status)
        status = agree(comm, on);
    if (status) {
        destroy(on);
    } else {
        comm->device = on;
        comm->direct = on->direct;
    }
    return status;
}

static banyan_status get(banyan_comm *comm, int ordinal, banyan_comm_device **out)
{
    banyan_status status = BANYAN_SUCCESS;

    pthread_mutex_lock(&comm->device_lock);
    if (!comm->device) {
        banyan_comm_lock_in_turn(comm);
        status = create(comm, ordinal);
        pthread_mutex_unlock(&comm->lock);
    } else if (comm->device->ordinal != ordinal) {
        status = banyan_fail(
            &comm->err, BANYAN_INVALID_ARGUMENT,
            "rank %d: the vector is on device %d, but this communicator's were on %d (-1: the host)",
            comm->rank, ordinal, comm->device->ordinal);
    }
    *out = comm->device;
    pthread_mutex_unlock(&comm->device_lock);
    return status;
}

/* ---- Calls. */

/* From GPU to GPU; *is_done is 0 where the plan cannot be run so, on all ranks. */
static banyan_status post(banyan_comm *comm, banyan_comm_device *on, const banyan_buffers *buffers,
                          const banyan_call *call, void *stream, int *is_done)
{
    banyan_call_entry *entry;
    banyan_direct_call direct = {.send = buffers->send,
                                 .recv = buffers->recv,
                                 .count = call->count,
                                 .type = call->type,
                                 .op = call->op};
    banyan_status status =
        banyan_calls_open(comm, call, buffers, BANYAN_NEEDS_SEND | BANYAN_NEEDS_RECV, &entry);

    *is_done = !call->count;
    if (status)
        return status;
    if (call->count) {
        direct.number = entry->number;
        direct.digest = entry->plan->digest;
        direct.schedule = entry->plan->schedule;
        status = banyan_direct_can_run(on->direct, direct.schedule, is_done, &comm->err);
        if (!status && *is_done)
            status = banyan_direct_post(on->direct, &direct, stream, &comm->err);
    }
    if (status)
        return banyan_calls_give_up(comm, entry, status);
    banyan_group_leave(comm->group, entry);
    return BANYAN_SUCCESS;
}

/* ---- By way of the host. */

static banyan_status run_lane(void *lane, const banyan_staging_call *staged, const void *send, void *recv,
                              size_t count, banyan_error *err)
{
    banyan_comm *comm = lane;
    banyan_call call = *(const banyan_call *)staged->what;
    banyan_status status;

    call.count = count;
    status = banyan_comm_run(&(banyan_buffers){.send = send, .recv = recv}, &call, comm);
    if (status && err != &comm->err)
        return banyan_fail(err, status, "%s", comm->err.text);
    return status;
}

static void end_lanes(void *context, banyan_status status, const char *sentence)
{
    banyan_comm *comm = context;

    banyan_comm_end(comm, status, sentence);
    for (int i = 1; i < comm->device->lane_count; i++)
        if (comm->device->clones[i])
            banyan_comm_end(comm->device->clones[i], status, sentence);
}

/* What a rank sends and receives, in parts of count elements. */
typedef enum { ONE, ONE_AT_ROOT, ALL, ALL_AT_ROOT } extent;

static const struct {
    extent send, recv;
} extents[BANYAN_COLLECTIVE_COUNT] = {
    [BANYAN_COLLECTIVE_ALLREDUCE] = {ONE, ONE},      [BANYAN_COLLECTIVE_BROADCAST] = {ONE_AT_ROOT, ONE},
    [BANYAN_COLLECTIVE_REDUCE] = {ONE, ONE_AT_ROOT}, [BANYAN_COLLECTIVE_ALLGATHER] = {ONE, ALL},
    [BANYAN_COLLECTIVE_GATHER] = {ONE, ALL_AT_ROOT}, [BANYAN_COLLECTIVE_REDUCE_SCATTER] = {ALL, ONE},
    [BANYAN_COLLECTIVE_ALLTOALL] = {ALL, ALL},       [BANYAN_COLLECTIVE_SCATTER] = {ALL_AT_ROOT, ONE},
};

/* The parts of a rank that is the root, or is not. */
static int count_parts(extent e, int size, int is_root)
{
    if (!is_root && (e == ONE_AT_ROOT || e == ALL_AT_ROOT))
        return 0;
    return e == ALL || e == ALL_AT_ROOT ? size : 1;
}

static banyan_staging_call describe(const banyan_comm *comm, const banyan_buffers *buffers,
                                    const banyan_call *call)
{
    extent send = extents[call->collective].send, recv = extents[call->collective].recv;
    int size = comm->group->setup.size, is_root = comm->rank == call->root;
    int most = count_parts(send, size, 1) + count_parts(recv, size, 1);

    return (banyan_staging_call){.send = buffers->send,
                                 .recv = buffers->recv,
                                 .count = call->count,
                                 .type = call->type,
                                 .send_parts = count_parts(send, size, is_root),
                                 .recv_parts = count_parts(recv, size, is_root),
                                 .slot_parts = most == 2 ? 1 : most,
                                 .what = call,
                                 .ticket = buffers->ticket};
}

/* The worker's part of a staged call. */
static banyan_status run_staged(const banyan_buffers *buffers, const banyan_call *call, banyan_comm *comm)
{
    banyan_staging_call staged = describe(comm, buffers, call);

    for (int i = 1; i < comm->device->lane_count; i++) /* banyan_comm_set_timeout may have changed it */
        atomic_store(&comm->device->clones[i]->group->setup.timeout_ms, comm->group->setup.timeout_ms);
    return banyan_staging_run(comm->device->staged, &staged, &comm->err);
}

/* A staged call finds out late that the group is over; those who make another one hear of it at once. */
static banyan_status check_alive(banyan_comm *comm)
{
    if (comm->group->world)
        return banyan_control_failure(banyan_world_control(comm->group->world), &comm->err);
    return comm->endpoint->transport->failure(comm->endpoint, &comm->err);
}

/* Every rank comes here with its first staged call. */
static banyan_status prepare_staging(banyan_comm *comm, banyan_comm_device *on)
{
    banyan_staging_options options = {.rank = comm->rank,
                                      .device = on->device,
                                      .chunk_bytes = on->chunk_bytes,
                                      .timeout_ms = &comm->group->setup.timeout_ms,
                                      .lane_count = on->lane_count,
                                      .lanes = {comm},
                                      .run = run_lane,
                                      .context = comm,
                                      .failure = failure,
                                      .end = end_lanes};

    for (int i = 1; i < on->lane_count; i++) {
        banyan_error err = {""};
        banyan_status status = on->clones[i] ? BANYAN_SUCCESS : banyan_comm_clone(comm, &on->clones[i], &err);

        if (status)
            return banyan_fail(&comm->err, status, "%s", err.text);
        options.lanes[i] = on->clones[i];
    }
    return banyan_staging_create(&options, &on->staged, &comm->err);
}

/* The thread of the call writes its own sentence into the handle meanwhile. */
static banyan_status put(banyan_comm *comm, banyan_comm_device *on, const banyan_staging_call *staged,
                         void *stream)
{
    banyan_error err = {""};
    banyan_status status = banyan_staging_put(on->staged, staged, stream, &err);

    if (status)
        end_lanes(comm, status, err.text);
    return status;
}

static banyan_status stage(banyan_comm *comm, banyan_comm_device *on, const banyan_buffers *buffers,
                           const banyan_call *call, void *stream)
{
    banyan_buffers given = *buffers;
    banyan_staging_call staged = describe(comm, buffers, call);
    int is_waited_for = !on->device || !on->device->table->words;
    banyan_status status = banyan_calls_check(comm, call, buffers,
                                              (staged.send_parts ? BANYAN_NEEDS_SEND : 0) |
                                                  (staged.recv_parts ? BANYAN_NEEDS_RECV : 0));

    if (!status)
        status = check_alive(comm);
    if (!status && !on->staged)
        status = prepare_staging(comm, on);
    if (status || !call->count)
        return status;
    status = banyan_staging_begin(on->staged, &staged, stream, &given.ticket, &comm->err);
    if (status)
        return status;
    status = banyan_worker_submit(comm, run_staged, &given, call, is_waited_for);
    if (is_waited_for)
        return status;
    if (status) {
        banyan_staging_give_back(on->staged);
        return status;
    }
    staged.ticket = given.ticket;
    return put(comm, on, &staged, stream);
}

static banyan_status call_on(banyan_comm *comm, banyan_comm_device *on, const banyan_buffers *buffers,
                             const banyan_call *call, void *stream)
{
    int is_done = 0;
    banyan_status status = BANYAN_SUCCESS;

    if (comm->group->setup.size == 1 && on->device && buffers->send != buffers->recv && call->count)
        return on->device->table->copy(on->device, stream, buffers->recv, buffers->send,
                                       call->count * banyan_datatype_bytes(call->type), &comm->err);
    if (on->direct && call->collective == BANYAN_COLLECTIVE_ALLREDUCE) {
        banyan_comm_lock_in_turn(comm);
        status = post(comm, on, buffers, call, stream, &is_done);
        pthread_mutex_unlock(&comm->lock);
    }
    return status || is_done ? status : stage(comm, on, buffers, call, stream);
}

static banyan_status call_in_turn(const void *send, void *recv, const banyan_call *call, banyan_comm *comm,
                                  int device, void *stream)
{
    banyan_buffers buffers = {.send = send, .recv = recv};
    banyan_comm_device *on;
    banyan_status status;

    if (!comm)
        return BANYAN_INVALID_ARGUMENT;
    status = get(comm, device, &on);
    if (status)
        return status;
    pthread_mutex_lock(&on->lock);
    status = call_on(comm, on, &buffers, call, stream);
    pthread_mutex_unlock(&on->lock);
    return status;
}

banyan_status banyan_allreduce_on(const void *send, void *recv, size_t count, banyan_datatype type,
                                  banyan_op op, banyan_comm *comm, int device, void *stream)
{
    banyan_call call = {.collective = BANYAN_COLLECTIVE_ALLREDUCE, .count = count, .type = type, .op = op};

    return call_in_turn(send, recv, &call, comm, device, stream);
}

banyan_status banyan_broadcast_on(const void *send, void *recv, size_t count, banyan_datatype type, int root,
                                  banyan_comm *comm, int device, void *stream)
{
    banyan_call call = {
        .collective = BANYAN_COLLECTIVE_BROADCAST, .count = count, .type = type, .root = root};

    return call_in_turn(send, recv, &call, comm, device, stream);
}

banyan_status banyan_reduce_on(const void *send, void *recv, size_t count, banyan_datatype type, banyan_op op,
                               int root, banyan_comm *comm, int device, void *stream)
{
    banyan_call call = {
        .collective = BANYAN_COLLECTIVE_REDUCE, .count = count, .type = type, .op = op, .root = root};

    return call_in_turn(send, recv, &call, comm, device, stream);
}

banyan_status banyan_reduce_scatter_on(const void *send, void *recv, size_t recv_count, banyan_datatype type,
                                       banyan_op op, banyan_comm *comm, int device, void *stream)
{
    banyan_call call = {
        .collective = BANYAN_COLLECTIVE_REDUCE_SCATTER, .count = recv_count, .type = type, .op = op};

    return call_in_turn(send, recv, &call, comm, device, stream);
}

banyan_status banyan_all_gather_on(const void *send, void *recv, size_t send_count, banyan_datatype type,
                                   banyan_comm *comm, int device, void *stream)
{
    banyan_call call = {.collective = BANYAN_COLLECTIVE_ALLGATHER, .count = send_count, .type = type};

    return call_in_turn(send, recv, &call, comm, device, stream);
}

banyan_status banyan_gather_on(const void *send, void *recv, size_t send_count, banyan_datatype type,
                               int root, banyan_comm *comm, int device, void *stream)
{
    banyan_call call = {
        .collective = BANYAN_COLLECTIVE_GATHER, .count = send_count, .type = type, .root = root};

    return call_in_turn(send, recv, &call, comm, device, stream);
}

banyan_status banyan_scatter_on(const void *send, void *recv, size_t recv_count, banyan_datatype type,
                                int root, banyan_comm *comm, int device, void *stream)
{
    banyan_call call = {
        .collective = BANYAN_COLLECTIVE_SCATTER, .count = recv_count, .type = type, .root = root};

    return call_in_turn(send, recv, &call, comm, device, stream);
}

banyan_status banyan_all_to_all_on(const void *send, void *recv, size_t count, banyan_datatype type,
                                   banyan_comm *comm, int device, void *stream)
{
    banyan_call call = {.collective = BANYAN_COLLECTIVE_ALLTOALL, .count = count, .type = type};

    return call_in_turn(send, recv, &call, comm, device, stream);
}

/* ---- Memory. */

banyan_status banyan_mem_alloc_on(void **memory, size_t bytes, int device)
{
    banyan_device *opened;
    banyan_status status;

    if (!memory)
        return BANYAN_INVALID_ARGUMENT;
    *memory = NULL;
    if (device == BANYAN_HOST)
        return banyan_mem_alloc(memory, bytes);
    status = banyan_device_open(device, &opened, NULL);
    return status ? status : opened->table->alloc(opened, bytes, memory, NULL);
}

banyan_status banyan_mem_free_on(void *memory, int device)
{
    banyan_device *opened;
    banyan_status status;

    if (device == BANYAN_HOST)
        return banyan_mem_free(memory);
    status = banyan_device_open(device, &opened, NULL);
    if (!status)
        opened->table->free(opened, memory);
    return status;
}
