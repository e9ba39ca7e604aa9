/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/flit_job.c: binds a schedule to bytes and turns its dependencies round, so that what happens can
 * clear what waits for it. All dependencies of a transfer are on things at one node, so a node clears its
 * own. */
#include "simulate/flit_job.h"

#include "core/alloc.h"
#include "simulate/flit_authors.h"

static int64_t divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

int64_t flit_job_packets(const flit_job *job, int transfer)
{
    if (job->settings.flow == BANYAN_FLOW_MESSAGE)
        return 1;
    return divide_up(job->bytes[transfer], job->settings.packet_bytes);
}

int64_t flit_job_flits(const flit_job *job, int transfer)
{
    return divide_up(job->bytes[transfer], job->settings.flit_bytes) + flit_job_packets(job, transfer);
}

/* Counting sort of (waits for, waiter) pairs by what is waited for. */
static int turn_round(const banyan_dependency_list *list, size_t count, flit_waiters *out)
{
    size_t *at;

    out->first = banyan_alloc(count + 2, sizeof *out->first);
    out->item = banyan_alloc(list->first[count], sizeof *out->item);
    if (!out->first || !out->item)
        return 0;
    at = out->first + 1;
    for (size_t i = 0; i < list->first[count]; i++)
        at[list->item[i] + 1]++;
    for (size_t i = 1; i <= count; i++)
        at[i] += at[i - 1];
    for (size_t t = 0; t < count; t++)
        for (size_t i = list->first[t]; i < list->first[t + 1]; i++)
            out->item[at[list->item[i]]++] = (int)t;
    return 1;
}

static banyan_status weigh(flit_job *job, size_t bytes, banyan_error *err)
{
    const banyan_schedule *s = job->schedule;

    for (size_t i = 0; i < s->transfer_count; i++) {
        const banyan_transfer *t = &s->transfers[i];
        size_t begin, end;
        int64_t flits;

        banyan_schedule_elements(s, bytes, t->first_piece, t->piece_count, &begin, &end);
        if (end == begin)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                               "transfer %zu carries nothing: %zu bytes are too few for %d pieces", i, bytes,
                               s->piece_count);
        job->start[i] = (int64_t)begin;
        job->bytes[i] = (int64_t)(end - begin);
        flits = flit_job_flits(job, (int)i);
        if (flits > INT32_MAX)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "transfer %zu has %lld flits, more than 2^31", i,
                               (long long)flits);
        job->packets_left[i] = (int32_t)flit_job_packets(job, (int)i);
        job->packets += (size_t)job->packets_left[i];
        job->round_left[t->round]++;
        if (flits > job->round_flits[t->round])
            job->round_flits[t->round] = flits;
    }
    return BANYAN_SUCCESS;
}

static void count_waits(flit_job *job)
{
    const banyan_dependencies *d = job->dependencies;

    for (size_t t = 0; t < job->schedule->transfer_count; t++) {
        job->send_wait[t] = (int32_t)(d->send_after_apply.first[t + 1] - d->send_after_apply.first[t]);
        job->apply_wait[t] = (int32_t)(d->apply_after_apply.first[t + 1] - d->apply_after_apply.first[t] +
                                       d->apply_after_send.first[t + 1] - d->apply_after_send.first[t]);
    }
}

/* The transfers are in the order of rounds, so a node's are too. */
static void list_sends(flit_job *job, int node_count)
{
    const banyan_schedule *s = job->schedule;
    size_t *at = job->send_first + 1;

    for (size_t i = 0; i < s->transfer_count; i++)
        at[s->transfers[i].src + 1]++;
    for (int v = 1; v <= node_count; v++)
        at[v] += at[v - 1];
    for (size_t i = 0; i < s->transfer_count; i++)
        job->send[at[s->transfers[i].src]++] = (int)i;
}

static int allocate(flit_job *job, int node_count)
{
    size_t count = job->schedule->transfer_count, rounds = (size_t)job->schedule->round_count;

    job->start = banyan_alloc(count, sizeof *job->start);
    job->bytes = banyan_alloc(count, sizeof *job->bytes);
    job->packets_left = banyan_alloc(count, sizeof *job->packets_left);
    job->send_wait = banyan_alloc(count, sizeof *job->send_wait);
    job->apply_wait = banyan_alloc(count, sizeof *job->apply_wait);
    job->has_arrived = banyan_alloc(count, sizeof *job->has_arrived);
    job->begin = banyan_alloc(count, sizeof *job->begin);
    job->end = banyan_alloc(count, sizeof *job->end);
    job->send_first = banyan_alloc((size_t)node_count + 2, sizeof *job->send_first);
    job->send = banyan_alloc(count, sizeof *job->send);
    job->round_left = banyan_alloc(rounds + 1, sizeof *job->round_left);
    job->round_flits = banyan_alloc(rounds + 1, sizeof *job->round_flits);
    return job->start && job->bytes && job->packets_left && job->send_wait && job->apply_wait &&
           job->has_arrived && job->begin && job->end && job->send_first && job->send && job->round_left &&
           job->round_flits;
}

static banyan_status prepare(flit_job *job, const banyan_topology *topology, size_t bytes, banyan_error *err)
{
    size_t count = job->schedule->transfer_count;
    banyan_status status;

    if (count > INT32_MAX)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "%zu transfers are more than 2^31", count);
    status = banyan_paths_find(job->schedule, topology, &job->paths, err);
    if (status)
        return status;
    if (!allocate(job, topology->node_count))
        return banyan_fail_memory(err);
    status = weigh(job, bytes, err);
    if (!status)
        status = banyan_dependencies_derive(job->schedule, &job->dependencies, err);
    if (status)
        return status;
    if (!turn_round(&job->dependencies->send_after_apply, count, &job->send_on_apply) ||
        !turn_round(&job->dependencies->apply_after_apply, count, &job->apply_on_apply) ||
        !turn_round(&job->dependencies->apply_after_send, count, &job->apply_on_send))
        return banyan_fail_memory(err);
    count_waits(job);
    list_sends(job, topology->node_count);
    if (job->settings.interface_kind == BANYAN_INTERFACE_AUTHORS && !flit_authors_arrange(job))
        return banyan_fail_memory(err);
    job->left = count;
    while (job->barrier < job->schedule->round_count && !job->round_left[job->barrier])
        job->barrier++;
    return BANYAN_SUCCESS;
}

banyan_status flit_job_create(const banyan_schedule *schedule, const banyan_topology *topology, size_t bytes,
                              const banyan_flit_settings *settings, flit_job **out, banyan_error *err)
{
    flit_job *job = banyan_alloc(1, sizeof *job);
    banyan_status status;

    *out = NULL;
    if (!job)
        return banyan_fail_memory(err);
    job->schedule = schedule;
    job->settings = *settings;
    status = prepare(job, topology, bytes, err);
    if (status)
        flit_job_destroy(job);
    else
        *out = job;
    return status;
}

static void free_waiters(flit_waiters *waiters)
{
    banyan_free(waiters->first);
    banyan_free(waiters->item);
}

void flit_job_destroy(flit_job *job)
{
    if (!job)
        return;
    banyan_paths_destroy(job->paths);
    banyan_dependencies_destroy(job->dependencies);
    free_waiters(&job->send_on_apply);
    free_waiters(&job->apply_on_apply);
    free_waiters(&job->apply_on_send);
    banyan_free(job->start);
    banyan_free(job->bytes);
    banyan_free(job->packets_left);
    banyan_free(job->send_wait);
    banyan_free(job->apply_wait);
    banyan_free(job->has_arrived);
    banyan_free(job->begin);
    banyan_free(job->end);
    banyan_free(job->send_first);
    banyan_free(job->send);
    banyan_free(job->round_left);
    banyan_free(job->round_flits);
    banyan_free(job);
}
