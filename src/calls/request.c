/* SPDX-License-Identifier: Apache-2.0 */
/* calls/request.c: calls that go on while the caller does something else.
 *
 * A communicator gets one thread with its first asynchronous call. It takes requests off a queue, one after
 * the other, so every rank does them in the same order and none can wait for another that comes later. A
 * blocking call takes its place in the queue while there is something in it; otherwise it runs in its own
 * thread. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "calls/comm.h"
#include "core/alloc.h"
#include "core/clock.h"

struct banyan_request {
    banyan_request *next;
    banyan_worker *worker;
    banyan_collective_function function;
    banyan_buffers buffers;
    banyan_call call;
    int is_done;
    int is_detached; /* nobody asks about it: it is freed when it is done */
    banyan_status status;
};

struct banyan_worker {
    banyan_comm *comm;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* guarded by lock: */
    banyan_request *first, **end;
    int pending; /* in the queue or being done */
    int is_ending;
    int users; /* requests that are not freed, and the communicator */
};

static banyan_request *take_next(banyan_worker *worker)
{
    banyan_request *request;

    pthread_mutex_lock(&worker->lock);
    while (!worker->first && !worker->is_ending)
        pthread_cond_wait(&worker->changed, &worker->lock);
    request = worker->first;
    if (request) {
        worker->first = request->next;
        if (!worker->first)
            worker->end = &worker->first;
    }
    pthread_mutex_unlock(&worker->lock);
    return request;
}

static void release(banyan_worker *worker);

static void *work(void *argument)
{
    banyan_worker *worker = argument;
    banyan_request *request;

    while ((request = take_next(worker))) {
        banyan_status status;
        int is_detached = request->is_detached; /* a request of somebody may be gone once it is done */

        pthread_mutex_lock(&worker->comm->lock);
        status = request->function(&request->buffers, &request->call, worker->comm);
        pthread_mutex_unlock(&worker->comm->lock);
        pthread_mutex_lock(&worker->lock);
        request->status = status;
        request->is_done = 1;
        worker->pending--;
        pthread_cond_broadcast(&worker->changed);
        pthread_mutex_unlock(&worker->lock);
        if (is_detached) {
            banyan_free(request);
            release(worker);
        }
    }
    return NULL;
}

static void release(banyan_worker *worker)
{
    int is_last;

    pthread_mutex_lock(&worker->lock);
    is_last = --worker->users == 0;
    pthread_mutex_unlock(&worker->lock);
    if (!is_last)
        return;
    pthread_cond_destroy(&worker->changed);
    pthread_mutex_destroy(&worker->lock);
    banyan_free(worker);
}

static void init_worker(banyan_worker *worker, banyan_comm *comm)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&worker->lock, NULL);
    pthread_cond_init(&worker->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    worker->comm = comm;
    worker->end = &worker->first;
    worker->users = 1;
}

static banyan_status start_worker(banyan_comm *comm, banyan_error *err)
{
    banyan_worker *worker = banyan_alloc(1, sizeof *worker);
    int error;

    if (!worker)
        return banyan_fail_memory(err);
    init_worker(worker, comm);
    error = pthread_create(&worker->thread, NULL, work, worker);
    if (error) {
        release(worker);
        return banyan_fail(err, BANYAN_SYSTEM_ERROR, "cannot start a thread for asynchronous calls: %s",
                           strerror(error));
    }
    atomic_store(&comm->worker, worker);
    return BANYAN_SUCCESS;
}

/* The communicator's thread, started when first asked for. The communicator's own lock is not waited for:
 * whoever calls holds it for as long as the call takes. */
static banyan_status get_worker(banyan_comm *comm, banyan_worker **out)
{
    static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
    banyan_status status = BANYAN_SUCCESS;
    banyan_error why = {""};

    *out = atomic_load(&comm->worker);
    if (*out)
        return BANYAN_SUCCESS;
    pthread_mutex_lock(&starting);
    if (!atomic_load(&comm->worker))
        status = start_worker(comm, &why);
    pthread_mutex_unlock(&starting);
    *out = atomic_load(&comm->worker);
    if (status) {
        pthread_mutex_lock(&comm->lock);
        comm->err = why;
        pthread_mutex_unlock(&comm->lock);
    }
    return status;
}

static void enqueue(banyan_worker *worker, banyan_request *request)
{
    request->worker = worker;
    request->next = NULL;
    *worker->end = request;
    worker->end = &request->next;
    worker->pending++;
    pthread_cond_broadcast(&worker->changed);
}

int banyan_worker_run(banyan_comm *comm, banyan_collective_function function, const banyan_buffers *buffers,
                      const banyan_call *call, banyan_status *status)
{
    banyan_worker *worker = atomic_load(&comm->worker);
    banyan_request request = {.function = function, .buffers = *buffers, .call = *call};

    if (!worker)
        return 0;
    pthread_mutex_lock(&worker->lock);
    if (!worker->pending) {
        pthread_mutex_unlock(&worker->lock);
        return 0;
    }
    enqueue(worker, &request);
    while (!request.is_done)
        pthread_cond_wait(&worker->changed, &worker->lock);
    pthread_mutex_unlock(&worker->lock);
    *status = request.status;
    return 1;
}

void banyan_worker_stop(banyan_comm *comm)
{
    banyan_worker *worker = atomic_load(&comm->worker);

    if (!worker)
        return;
    pthread_mutex_lock(&worker->lock);
    worker->is_ending = 1;
    pthread_cond_broadcast(&worker->changed);
    pthread_mutex_unlock(&worker->lock);
    pthread_join(worker->thread, NULL);
    release(worker);
}

size_t banyan_buffers_count(const banyan_buffers *buffers)
{
    size_t count = 0;

    for (size_t i = 0; i < buffers->segment_count; i++)
        if (__builtin_add_overflow(count, buffers->segments[i].count, &count))
            return SIZE_MAX; /* no check of a call lets that pass */
    return count;
}

/* Takes over the buffers as they are; the list of segments has been copied behind the request. */
static banyan_status begin(banyan_comm *comm, banyan_request *request, banyan_request **out)
{
    banyan_worker *worker;
    banyan_status status = request ? get_worker(comm, &worker) : BANYAN_SYSTEM_ERROR;

    if (status) {
        banyan_free(request);
        return status;
    }
    pthread_mutex_lock(&worker->lock);
    worker->users++;
    enqueue(worker, request);
    pthread_mutex_unlock(&worker->lock);
    *out = request;
    return BANYAN_SUCCESS;
}

banyan_status banyan_worker_submit(banyan_comm *comm, banyan_collective_function function,
                                   const banyan_buffers *buffers, const banyan_call *call, int is_waited_for)
{
    banyan_request *request = banyan_alloc(1, sizeof *request), *made;
    banyan_status status;

    if (request)
        *request = (banyan_request){
            .function = function, .buffers = *buffers, .call = *call, .is_detached = !is_waited_for};
    else
        banyan_fail_memory(&comm->err);
    status = begin(comm, request, &made);
    if (status || !is_waited_for)
        return status;
    status = banyan_request_wait(made, -1);
    banyan_request_free(made);
    return status;
}

void banyan_comm_lock_in_turn(banyan_comm *comm)
{
    banyan_worker *worker = atomic_load(&comm->worker);

    if (worker) {
        pthread_mutex_lock(&worker->lock);
        while (worker->pending)
            pthread_cond_wait(&worker->changed, &worker->lock);
        pthread_mutex_unlock(&worker->lock);
    }
    pthread_mutex_lock(&comm->lock);
}

banyan_status banyan_allreduce_async(const void *send, void *recv, size_t count, banyan_datatype type,
                                     banyan_op op, banyan_comm *comm, banyan_request **out)
{
    banyan_call call = {.collective = BANYAN_COLLECTIVE_ALLREDUCE, .count = count, .type = type, .op = op};
    banyan_request *request;

    if (!comm || !out)
        return BANYAN_INVALID_ARGUMENT;
    *out = NULL;
    request = banyan_alloc(1, sizeof *request);
    if (request)
        *request = (banyan_request){
            .function = banyan_comm_allreduce, .buffers = {.send = send, .recv = recv}, .call = call};
    return begin(comm, request, out);
}

banyan_status banyan_allreduce_segments_async(const banyan_segment *segments, size_t segment_count,
                                              banyan_datatype type, banyan_op op, banyan_comm *comm,
                                              banyan_request **out)
{
    banyan_request *request = NULL;
    banyan_segment *own;

    if (!comm || !out || (!segments && segment_count))
        return BANYAN_INVALID_ARGUMENT;
    *out = NULL;
    if (segment_count <= (SIZE_MAX - sizeof *request) / sizeof *segments)
        request = banyan_alloc(1, sizeof *request + segment_count * sizeof *segments);
    if (request) {
        own = (banyan_segment *)(request + 1);
        if (segment_count)
            memcpy(own, segments, segment_count * sizeof *segments);
        *request =
            (banyan_request){.function = banyan_comm_allreduce,
                             .buffers = {.segments = own, .segment_count = segment_count},
                             .call = {.collective = BANYAN_COLLECTIVE_ALLREDUCE, .type = type, .op = op}};
        request->call.count = banyan_buffers_count(&request->buffers);
    }
    return begin(comm, request, out);
}

banyan_status banyan_request_test(banyan_request *request)
{
    return banyan_request_wait(request, 0);
}

banyan_status banyan_request_wait(banyan_request *request, int timeout_ms)
{
    int64_t deadline_ns = banyan_clock_ns() + (int64_t)timeout_ms * 1000000;
    struct timespec until = {.tv_sec = deadline_ns / 1000000000, .tv_nsec = deadline_ns % 1000000000};
    banyan_status status;
    int is_late = timeout_ms == 0;

    if (!request)
        return BANYAN_INVALID_ARGUMENT;
    pthread_mutex_lock(&request->worker->lock);
    while (!request->is_done && !is_late)
        if (timeout_ms < 0)
            pthread_cond_wait(&request->worker->changed, &request->worker->lock);
        else
            is_late = pthread_cond_timedwait(&request->worker->changed, &request->worker->lock, &until) ==
                      ETIMEDOUT;
    status = request->is_done ? request->status : BANYAN_IN_PROGRESS;
    pthread_mutex_unlock(&request->worker->lock);
    return status;
}

void banyan_request_free(banyan_request *request)
{
    if (!request)
        return;
    banyan_request_wait(request, -1);
    release(request->worker);
    banyan_free(request);
}
