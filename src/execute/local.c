/* SPDX-License-Identifier: Apache-2.0 */
/* execute/local.c: everything is made before the first thread starts, so that what can fail fails here; a
 * gate then lets all threads go at once. */
#include "execute/local.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "core/alloc.h"
#include "core/clock.h"
#include "execute/run.h"
#include "transport/memory.h"

typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int is_open, is_cancelled;
} gate;

/* One node at work. */
typedef struct {
    int takes_part;
    banyan_program *program;
    banyan_endpoint *endpoint;
    banyan_runner *runner;
    void *relay_memory; /* NULL for ranks: they have the caller's */
    banyan_run_request request;
    gate *gate;
    pthread_t thread;
    banyan_status status;
    banyan_error err;
} worker;

typedef struct {
    const banyan_schedule *schedule;
    banyan_dependencies *dependencies;
    banyan_memory_hub *hub;
    worker *workers; /* by node */
    gate gate;
    banyan_local_options options;
} local_run;

static void *work(void *argument)
{
    worker *w = argument;
    int is_cancelled;

    pthread_mutex_lock(&w->gate->lock);
    while (!w->gate->is_open)
        pthread_cond_wait(&w->gate->changed, &w->gate->lock);
    is_cancelled = w->gate->is_cancelled;
    pthread_mutex_unlock(&w->gate->lock);
    if (!is_cancelled)
        w->status = banyan_runner_run(w->runner, &w->request, &w->err);
    return NULL;
}

static banyan_status prepare_worker(local_run *run, int node, banyan_run_request request,
                                    void *const *buffers, banyan_error *err)
{
    worker *w = &run->workers[node];
    banyan_opening opening = {node, run->schedule->node_count, run->hub};
    banyan_status status = banyan_program_compile(run->schedule, run->dependencies, node, &w->program, err);

    if (status)
        return status;
    w->takes_part = w->program->rank >= 0 || w->program->operation_count > 0;
    if (!w->takes_part)
        return BANYAN_SUCCESS;
    w->gate = &run->gate;
    w->request = request;
    if (w->program->rank >= 0 && run->options.parts) {
        w->request.parts = run->options.parts[w->program->rank];
        w->request.part_count = run->options.part_counts[w->program->rank];
    } else if (w->program->rank >= 0) {
        w->request.buffer = buffers[w->program->rank];
    } else {
        w->relay_memory = banyan_alloc(request.count, banyan_datatype_bytes(request.type));
        w->request.buffer = w->relay_memory;
        if (!w->relay_memory)
            return banyan_fail_memory(err);
    }
    status = banyan_transport_memory.open(&opening, &w->endpoint, err);
    if (!status)
        status = banyan_runner_create(w->program, w->endpoint, run->options.slice_bytes,
                                      run->options.timeout_ms, &w->runner, err);
    return status;
}

static void open_gate(gate *g, int is_cancelled)
{
    pthread_mutex_lock(&g->lock);
    g->is_open = 1;
    g->is_cancelled = is_cancelled;
    pthread_cond_broadcast(&g->changed);
    pthread_mutex_unlock(&g->lock);
}

static banyan_status run_threads(local_run *run, banyan_timeline *timeline, banyan_error *err)
{
    int nodes = run->schedule->node_count, started = 0, failed = 0;
    double origin_s;

    for (; started < nodes && !failed; started++)
        if (run->workers[started].takes_part)
            failed = pthread_create(&run->workers[started].thread, NULL, work, &run->workers[started]);
    started -= failed != 0;
    origin_s = banyan_clock_s();
    for (int i = 0; i < nodes; i++)
        run->workers[i].request.origin_s = origin_s;
    open_gate(&run->gate, failed);
    for (int i = 0; i < started; i++)
        if (run->workers[i].takes_part)
            pthread_join(run->workers[i].thread, NULL);
    if (timeline)
        timeline->total_s = banyan_clock_s() - origin_s;
    if (failed)
        return banyan_fail(err, BANYAN_SYSTEM_ERROR, "cannot start a thread for node %d: %s", started,
                           strerror(failed));
    return BANYAN_SUCCESS;
}

/* Who failed on its own says more than those whom it pulled along. */
static banyan_status collect(const local_run *run, banyan_error *err)
{
    const worker *worst = NULL;

    for (int i = 0; i < run->schedule->node_count; i++) {
        const worker *w = &run->workers[i];

        if (w->status &&
            (!worst || (worst->status == BANYAN_REMOTE_ERROR && w->status != BANYAN_REMOTE_ERROR)))
            worst = w;
    }
    return worst ? banyan_fail(err, worst->status, "%s", worst->err.text) : BANYAN_SUCCESS;
}

static banyan_status check_arguments(size_t count, banyan_datatype type, banyan_op op, banyan_error *err)
{
    size_t bytes = banyan_datatype_bytes(type);

    if (!bytes || (unsigned)op > BANYAN_AVG)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "datatype %d and op %d are not both known",
                           (int)type, (int)op);
    if (count > PTRDIFF_MAX / bytes)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "%zu elements of %zu bytes do not fit in memory",
                           count, bytes);
    return BANYAN_SUCCESS;
}

static banyan_status prepare_all(local_run *run, const banyan_run_request *request, void *const *buffers,
                                 banyan_error *err)
{
    banyan_status status = banyan_dependencies_derive(run->schedule, &run->dependencies, err);

    if (!status)
        status = banyan_memory_hub_create(run->schedule->node_count, &run->hub, err);
    if (status)
        return status;
    run->workers = banyan_alloc((size_t)run->schedule->node_count, sizeof *run->workers);
    if (!run->workers)
        return banyan_fail_memory(err);
    for (int i = 0; i < run->schedule->node_count && !status; i++)
        status = prepare_worker(run, i, *request, buffers, err);
    return status;
}

static void release(local_run *run)
{
    for (int i = 0; run->workers && i < run->schedule->node_count; i++) {
        worker *w = &run->workers[i];

        banyan_runner_destroy(w->runner);
        banyan_transport_memory.close(w->endpoint);
        banyan_program_destroy(w->program);
        banyan_free(w->relay_memory);
    }
    banyan_free(run->workers);
    banyan_memory_hub_destroy(run->hub);
    banyan_dependencies_destroy(run->dependencies);
}

banyan_status banyan_execute_local(const banyan_schedule *schedule, size_t count, banyan_datatype type,
                                   banyan_op op, void *const *buffers, const banyan_local_options *options,
                                   banyan_timeline **timeline, banyan_error *err)
{
    local_run run = {.schedule = schedule,
                     .gate = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER}};
    banyan_run_request request = {.count = count, .type = type, .op = op};
    banyan_timeline *measured = NULL;
    banyan_status status = check_arguments(count, type, op, err);

    if (timeline)
        *timeline = NULL;
    if (options)
        run.options = *options;
    if (run.options.timeout_ms <= 0)
        run.options.timeout_ms = BANYAN_DEFAULT_TIMEOUT_MS;
    request.timeout_ms = run.options.timeout_ms;
    if (!status && timeline)
        status = banyan_timeline_create(schedule->transfer_count, &measured, err);
    request.timeline = measured;
    if (!status && count)
        status = prepare_all(&run, &request, buffers, err);
    if (!status && count)
        status = run_threads(&run, measured, err);
    if (!status && count)
        status = collect(&run, err);
    release(&run);
    if (status)
        banyan_timeline_destroy(measured);
    else if (timeline)
        *timeline = measured;
    return status;
}
