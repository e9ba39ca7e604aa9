/* SPDX-License-Identifier: Apache-2.0 */
/* nccl/lane.c: a queue between two threads, and what each kind of call is made of: gathering a window is a
 * broadcast from each rank that has a part in it, scattering a reduction to each. */
#include "nccl/lane.h"

#include <pthread.h>

#include "calls/comm.h"
#include "core/alloc.h"

enum { MAX_CALLS = 64 };

struct banyan_nccl_lane {
    banyan_comm *comm;
    int rank, size;
    banyan_nccl_failure failure;
    void *context;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* guarded by lock: */
    banyan_nccl_call *calls[MAX_CALLS];
    unsigned first, next;
    int is_ending;
};

/* One rank's part of the window: its place in the window and in the rank's own buffer. */
static banyan_status do_part(banyan_nccl_lane *lane, const banyan_nccl_call *call, int root, size_t begin,
                             size_t end)
{
    size_t at = begin - call->window_offset;

    if (call->kind == BANYAN_NCCL_GATHER) {
        char *recv = (char *)call->recv + at;

        return banyan_broadcast(root == lane->rank ? call->send : recv, recv, end - begin, BANYAN_UINT8, root,
                                lane->comm);
    }
    return banyan_reduce((const char *)call->send + at, call->recv,
                         (end - begin) / banyan_datatype_bytes(call->type), call->type, call->op, root,
                         lane->comm);
}

static banyan_status do_window(banyan_nccl_lane *lane, const banyan_nccl_call *call)
{
    size_t end = call->window_offset + call->window_bytes;
    banyan_status status = BANYAN_SUCCESS;

    for (int r = 0; r < lane->size && !status; r++) {
        size_t part_begin = (size_t)r * call->bytes_per_rank, part_end = part_begin + call->bytes_per_rank;

        part_begin = part_begin > call->window_offset ? part_begin : call->window_offset;
        part_end = part_end < end ? part_end : end;
        if (part_begin < part_end)
            status = do_part(lane, call, r, part_begin, part_end);
    }
    return status;
}

static banyan_nccl_call *take_call(banyan_nccl_lane *lane)
{
    banyan_nccl_call *call = NULL;

    pthread_mutex_lock(&lane->lock);
    while (lane->first == lane->next && !lane->is_ending)
        pthread_cond_wait(&lane->changed, &lane->lock);
    if (lane->first != lane->next)
        call = lane->calls[lane->first++ % MAX_CALLS];
    pthread_mutex_unlock(&lane->lock);
    return call;
}

static void *work(void *argument)
{
    banyan_nccl_lane *lane = argument;
    banyan_nccl_call *call;

    while ((call = take_call(lane))) {
        call->status =
            call->kind == BANYAN_NCCL_ALLREDUCE
                ? banyan_allreduce(call->send, call->recv, call->count, call->type, call->op, lane->comm)
                : do_window(lane, call);
        if (call->status)
            lane->failure(lane->context, call->status, banyan_last_error(lane->comm));
        atomic_store_explicit(&call->is_done, 1, memory_order_release);
    }
    return NULL;
}

banyan_status banyan_nccl_lane_create(banyan_comm *comm, banyan_nccl_failure failure, void *context,
                                      banyan_nccl_lane **out)
{
    banyan_nccl_lane *lane = banyan_alloc(1, sizeof *lane);

    *out = NULL;
    if (!lane) {
        banyan_comm_destroy(comm);
        return BANYAN_SYSTEM_ERROR;
    }
    lane->comm = comm;
    lane->failure = failure;
    lane->context = context;
    banyan_comm_rank(comm, &lane->rank);
    banyan_comm_size(comm, &lane->size);
    pthread_mutex_init(&lane->lock, NULL);
    pthread_cond_init(&lane->changed, NULL);
    if (pthread_create(&lane->thread, NULL, work, lane) != 0) {
        pthread_cond_destroy(&lane->changed);
        pthread_mutex_destroy(&lane->lock);
        banyan_comm_destroy(comm);
        banyan_free(lane);
        return BANYAN_SYSTEM_ERROR;
    }
    *out = lane;
    return BANYAN_SUCCESS;
}

int banyan_nccl_lane_put(banyan_nccl_lane *lane, banyan_nccl_call *call)
{
    int has_room;

    pthread_mutex_lock(&lane->lock);
    has_room = lane->next - lane->first < MAX_CALLS;
    if (has_room) {
        lane->calls[lane->next++ % MAX_CALLS] = call;
        pthread_cond_signal(&lane->changed);
    }
    pthread_mutex_unlock(&lane->lock);
    return has_room;
}

void banyan_nccl_lane_end(banyan_nccl_lane *lane, banyan_status status, const char *sentence)
{
    banyan_comm_end(lane->comm, status, sentence);
}

void banyan_nccl_lane_stop(banyan_nccl_lane *lane)
{
    pthread_mutex_lock(&lane->lock);
    lane->is_ending = 1;
    pthread_cond_signal(&lane->changed);
    pthread_mutex_unlock(&lane->lock);
    pthread_join(lane->thread, NULL);
}

void banyan_nccl_lane_destroy(banyan_nccl_lane *lane)
{
    pthread_cond_destroy(&lane->changed);
    pthread_mutex_destroy(&lane->lock);
    banyan_comm_destroy(lane->comm);
    banyan_free(lane);
}
