/* SPDX-License-Identifier: Apache-2.0 */
/* nccl/collnet.c: NCCL makes one group per device and deals calls of 32 KiB to 4 MiB to it, up to eight in
 * flight, in the same order on all ranks. They are dealt in turn to lanes, each a communicator with a thread
 * of its own:
 *
 *     call   0  1  2  3  4  5  6  7        lane = call mod lanes: all ranks agree without a word, and a
 *     lane   0  1  2  3  0  1  2  3        call's bits are those of its plan, whatever goes on beside it
 *
 * The ranks meet as with banyan_get_unique_id, whose ids are as long as NCCL's handles: every rank makes one
 * when NCCL says listen, since it does not know its rank yet, and all come to that of rank 0.
 *
 * A failure in one lane ends all of them: test returns an error, NCCL aborts, and the sentence stands in its
 * log. */
#include "nccl/collnet.h"

#include <banyan/banyan.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/clock.h"
#include "core/status.h"
#include "nccl/device.h"
#include "nccl/lane.h"
#include "nccl/log.h"

enum { PROTOCOL = 1 }; /* how calls are dealt; ranks compare it */
enum { REQUESTS = 64, MAX_LANES = 16 };

/* A rank may come to a call as late as its computation makes it; who is lost is found out without this. Where
 * BANYAN_TIMEOUT_MS is set, it holds instead. */
enum { CALL_TIMEOUT_MS = 30 * 60 * 1000 };

typedef struct group group;

typedef struct {
    banyan_nccl_call call; /* first, so that a call leads to its request */
    group *owner;
    size_t bytes;
    _Atomic int is_used;
} request;

struct group {
    int rank, size, lane_count;
    banyan_nccl_lane *lanes[MAX_LANES];
    uint64_t calls; /* begun */
    uint64_t done, bytes;
    int64_t since_ns;
    int is_told; /* the failure stands in the log */
    request requests[REQUESTS];
    pthread_mutex_t lock;
    /* guarded by lock: */
    banyan_status status; /* what ended the group */
    char sentence[600];
};

typedef struct {
    banyan_unique_id id;
} listening_end;

_Static_assert(sizeof(banyan_unique_id) == NCCL_HANDLE_BYTES, "an id is a handle");

static struct {
    _Atomic uint64_t allreduces, gathers, scatters, bytes, failures, groups;
} counts;

void banyan_nccl_get_counts(banyan_nccl_counts *out)
{
    *out = (banyan_nccl_counts){.allreduces = atomic_load(&counts.allreduces),
                                .gathers = atomic_load(&counts.gathers),
                                .scatters = atomic_load(&counts.scatters),
                                .bytes = atomic_load(&counts.bytes),
                                .failures = atomic_load(&counts.failures),
                                .groups = atomic_load(&counts.groups)};
}

nccl_result banyan_nccl_collnet_init(nccl_logger logger)
{
    banyan_error err = {""};

    banyan_nccl_log_use(logger);
    if (banyan_nccl_device_get(&err))
        return NCCL_SUCCESS;
    banyan_nccl_warn("collectives are left to NCCL: %s", err.text);
    return NCCL_INVALID_USAGE;
}

/* ---- Meeting. */

nccl_result banyan_nccl_collnet_listen(int device, void *handle, void **listening)
{
    listening_end *end = device == 0 ? banyan_alloc(1, sizeof *end) : NULL;
    banyan_status status = end ? banyan_get_unique_id(&end->id) : BANYAN_SYSTEM_ERROR;

    *listening = NULL;
    if (status) {
        banyan_nccl_warn("cannot listen for the other ranks: %s", banyan_status_string(status));
        banyan_free(end);
        return NCCL_SYSTEM_ERROR;
    }
    memcpy(handle, &end->id, sizeof end->id);
    *listening = end;
    return NCCL_SUCCESS;
}

nccl_result banyan_nccl_collnet_close_listen(void *listening)
{
    listening_end *end = listening;

    if (end)
        banyan_release_unique_id(&end->id);
    banyan_free(end);
    return NCCL_SUCCESS;
}

static void end_group(void *context, banyan_status status, const char *sentence)
{
    group *g = context;
    int is_first;

    atomic_fetch_add(&counts.failures, 1);
    pthread_mutex_lock(&g->lock);
    is_first = !g->status;
    if (is_first) {
        g->status = status;
        snprintf(g->sentence, sizeof g->sentence, "%s", *sentence ? sentence : banyan_status_string(status));
    }
    pthread_mutex_unlock(&g->lock);
    for (int i = 0; i < g->lane_count && is_first; i++)
        banyan_nccl_lane_end(g->lanes[i], status, g->sentence);
}

static banyan_status compare_ranks(banyan_comm *comm, const group *g, banyan_error *err)
{
    const int mine[2] = {PROTOCOL, g->lane_count};
    int *all = banyan_alloc((size_t)g->size, sizeof mine);
    banyan_status status = all ? banyan_all_gather(mine, all, 2, BANYAN_INT32, comm) : BANYAN_SYSTEM_ERROR;

    if (status)
        banyan_fail(err, status, "%s", all ? banyan_last_error(comm) : "out of memory");
    for (int r = 0; r < g->size && !status; r++)
        if (all[2 * r] != all[0])
            status = banyan_fail(err, BANYAN_VERSION_MISMATCH,
                                 "rank %d has the plugin's protocol %d, rank 0 has %d: install one version",
                                 r, all[2 * r], all[0]);
        else if (all[2 * r + 1] != all[1])
            status = banyan_fail(err, BANYAN_MISMATCH, "rank %d has BANYAN_NCCL_LANES=%d, rank 0 has %d", r,
                                 all[2 * r + 1], all[1]);
    banyan_free(all);
    return status;
}

static banyan_status open_lanes(banyan_comm *first, group *g, const banyan_nccl_device *device,
                                banyan_error *err)
{
    banyan_config config = BANYAN_CONFIG_INITIALIZER;
    int wanted = g->lane_count;
    banyan_status status = compare_ranks(first, g, err);

    config.timeout_ms = device->is_timeout_set ? 0 : CALL_TIMEOUT_MS;
    g->lane_count = 0;
    while (g->lane_count < wanted && !status) {
        banyan_comm *comm = NULL;

        status = banyan_comm_split(first, 0, g->rank, &comm, &config);
        if (status)
            return banyan_fail(err, status, "%s", banyan_last_error(first));
        status = banyan_nccl_lane_create(comm, end_group, g, &g->lanes[g->lane_count]);
        if (status)
            return banyan_fail(err, status, "cannot start a thread for a lane");
        g->lane_count++;
    }
    return status;
}

/* A lane that fails ends all others, so none goes before all have stopped. */
static void destroy_group(group *g)
{
    for (int i = 0; i < g->lane_count; i++)
        banyan_nccl_lane_stop(g->lanes[i]);
    for (int i = 0; i < g->lane_count; i++)
        banyan_nccl_lane_destroy(g->lanes[i]);
    pthread_mutex_destroy(&g->lock);
    banyan_free(g);
}

static banyan_status join(const banyan_unique_id *id, group *g, banyan_error *err)
{
    const banyan_nccl_device *device = banyan_nccl_device_get(err);
    banyan_config config = BANYAN_CONFIG_INITIALIZER;
    banyan_comm *first = NULL;
    banyan_status status;

    if (!device)
        return BANYAN_INVALID_USAGE;
    config.error = err->text;
    config.error_bytes = sizeof err->text;
    g->lane_count = device->lanes;
    status = banyan_comm_init_rank(&first, g->size, *id, g->rank, &config);
    if (!status)
        status = open_lanes(first, g, device, err);
    else
        g->lane_count = 0;
    banyan_comm_destroy(first);
    return status;
}

nccl_result banyan_nccl_collnet_connect(void **handles, int count, int rank, void *listening, void **out)
{
    group *g = banyan_alloc(1, sizeof *g);
    banyan_error err = {""};
    banyan_unique_id id;
    banyan_status status;

    (void)listening;
    *out = NULL;
    if (!g)
        return NCCL_SYSTEM_ERROR;
    pthread_mutex_init(&g->lock, NULL);
    g->rank = rank;
    g->size = count;
    g->since_ns = banyan_clock_ns();
    memcpy(&id, handles[0], sizeof id);
    status = join(&id, g, &err);
    if (status) {
        banyan_nccl_warn("rank %d of %d is left to NCCL's own algorithms: %s", rank, count,
                         *err.text ? err.text : banyan_status_string(status));
        destroy_group(g);
        return NCCL_SYSTEM_ERROR;
    }
    atomic_fetch_add(&counts.groups, 1);
    banyan_nccl_info(NCCL_LOG_INIT, "rank %d of %d met the others in %.3f s, %d lanes", rank, count,
                     (double)(banyan_clock_ns() - g->since_ns) * 1e-9, g->lane_count);
    *out = g;
    return NCCL_SUCCESS;
}

/* ---- Calls. */

nccl_result banyan_nccl_collnet_supports(int type, int op, int *is_supported)
{
    *is_supported = banyan_datatype_bytes((banyan_datatype)type) != 0 && op >= BANYAN_SUM && op <= BANYAN_AVG;
    return NCCL_SUCCESS;
}

nccl_result banyan_nccl_collnet_register(void *comm, void *data, size_t bytes, int kind, void **handle)
{
    (void)data;
    (void)bytes;
    *handle = comm; /* NCCL takes NULL for none */
    return kind == NCCL_MEMORY_HOST ? NCCL_SUCCESS : NCCL_INVALID_USAGE;
}

nccl_result banyan_nccl_collnet_deregister(void *comm, void *handle)
{
    (void)comm;
    (void)handle;
    return NCCL_SUCCESS;
}

static nccl_result begin(group *g, const banyan_nccl_call *call, size_t bytes, void **out)
{
    request *r = &g->requests[g->calls % REQUESTS];

    *out = NULL;
    if (atomic_load_explicit(&r->is_used, memory_order_acquire))
        return NCCL_SUCCESS;
    r->call = *call;
    r->owner = g;
    r->bytes = bytes;
    if (!banyan_nccl_lane_put(g->lanes[g->calls % (uint64_t)g->lane_count], &r->call))
        return NCCL_SUCCESS;
    atomic_store_explicit(&r->is_used, 1, memory_order_relaxed);
    g->calls++;
    *out = r;
    return NCCL_SUCCESS;
}

nccl_result banyan_nccl_collnet_allreduce(void *comm, void *send, void *recv, size_t count, int type, int op,
                                          void **out)
{
    banyan_nccl_call call = {.kind = BANYAN_NCCL_ALLREDUCE,
                             .send = send,
                             .recv = recv,
                             .count = count,
                             .type = (banyan_datatype)type,
                             .op = (banyan_op)op};

    return begin(comm, &call, count * banyan_datatype_bytes(call.type), out);
}

nccl_result banyan_nccl_collnet_gather(void *comm, void *send, void *recv, size_t bytes_per_rank,
                                       size_t window_offset, size_t window_bytes, void **out)
{
    banyan_nccl_call call = {.kind = BANYAN_NCCL_GATHER,
                             .send = send,
                             .recv = recv,
                             .bytes_per_rank = bytes_per_rank,
                             .window_offset = window_offset,
                             .window_bytes = window_bytes};

    return begin(comm, &call, window_bytes, out);
}

nccl_result banyan_nccl_collnet_scatter(void *comm, void *send, void *recv, size_t bytes_per_rank,
                                        size_t window_offset, size_t window_bytes, int type, int op,
                                        void **out)
{
    banyan_nccl_call call = {.kind = BANYAN_NCCL_SCATTER,
                             .send = send,
                             .recv = recv,
                             .type = (banyan_datatype)type,
                             .op = (banyan_op)op,
                             .bytes_per_rank = bytes_per_rank,
                             .window_offset = window_offset,
                             .window_bytes = window_bytes};

    return begin(comm, &call, window_bytes, out);
}

/* Host memory that a thread has written is there to be read. */
nccl_result banyan_nccl_collnet_flush(void *comm, void *data, int bytes, void *memory, void **out)
{
    (void)comm;
    (void)data;
    (void)bytes;
    (void)memory;
    *out = NULL;
    return NCCL_SUCCESS;
}

static nccl_result tell_failure(group *g)
{
    banyan_status status;

    pthread_mutex_lock(&g->lock);
    status = g->status;
    pthread_mutex_unlock(&g->lock);
    if (!g->is_told++)
        banyan_nccl_warn("rank %d of %d: %s", g->rank, g->size, g->sentence); /* does not change any more */
    return status == BANYAN_PEER_LOST || status == BANYAN_REMOTE_ERROR || status == BANYAN_TIMEOUT
               ? NCCL_REMOTE_ERROR
               : NCCL_SYSTEM_ERROR;
}

static void count_call(const request *r)
{
    atomic_fetch_add(r->call.kind == BANYAN_NCCL_ALLREDUCE ? &counts.allreduces
                     : r->call.kind == BANYAN_NCCL_GATHER  ? &counts.gathers
                                                           : &counts.scatters,
                     1);
    atomic_fetch_add(&counts.bytes, r->bytes);
    r->owner->done++;
    r->owner->bytes += r->bytes;
}

nccl_result banyan_nccl_collnet_test(void *given, int *is_done, int *bytes)
{
    request *r = given;

    *is_done = 0;
    if (!atomic_load_explicit(&r->call.is_done, memory_order_acquire))
        return NCCL_SUCCESS;
    if (r->call.status)
        return tell_failure(r->owner);
    count_call(r);
    *is_done = 1;
    if (bytes)
        *bytes = (int)r->bytes;
    atomic_store_explicit(&r->is_used, 0, memory_order_release);
    return NCCL_SUCCESS;
}

/* Whether a call is still being done: NCCL gives up, so its buffers must not be touched any more. */
static int is_busy(const group *g)
{
    for (int i = 0; i < REQUESTS; i++)
        if (atomic_load(&g->requests[i].is_used) && !atomic_load(&g->requests[i].call.is_done))
            return 1;
    return 0;
}

nccl_result banyan_nccl_collnet_close(void *comm)
{
    group *g = comm;

    if (!g)
        return NCCL_SUCCESS;
    if (is_busy(g))
        end_group(g, BANYAN_REMOTE_ERROR, "NCCL has closed the group while calls were under way");
    banyan_nccl_info(NCCL_LOG_COLL, "rank %d of %d: served %llu calls, %llu bytes", g->rank, g->size,
                     (unsigned long long)g->done, (unsigned long long)g->bytes);
    destroy_group(g);
    return NCCL_SUCCESS;
}
