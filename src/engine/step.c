/* SPDX-License-Identifier: Apache-2.0 */
/* engine/step.c: an iteration as the program sees it: begin, ready, wait. */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/alloc.h"
#include "core/clock.h"
#include "engine/engine.h"

/* With the lock held: the plan's parts of this gradient no longer miss it. Returns whether a group has all
 * now. */
static int count_ready(banyan_train *train, int tensor)
{
    const banyan_engine_plan *plan = train->plan;
    int place = plan->place_of[tensor], completes = 0;

    for (int i = plan->first_part[place]; i < plan->first_part[place + 1]; i++)
        completes |= --train->missing[plan->group_of[i]] == 0;
    if (completes)
        pthread_cond_broadcast(&train->changed);
    return completes;
}

void banyan_engine_bind(banyan_train *train)
{
    const banyan_engine_plan *plan = train->plan;

    train->is_bound = 1;
    train->next_group = train->groups_done = 0;
    for (int g = 0; g < plan->grouping->group_count; g++)
        train->missing[g] = plan->grouping->groups[g].part_count;
    for (int i = 0; i < train->tensor_count; i++) {
        int place = plan->place_of[i];

        if (place < 0)
            continue;
        train->tensors[i].parts_left = plan->first_part[place + 1] - plan->first_part[place];
        if (train->tensors[i].is_ready)
            count_ready(train, i);
    }
}

/* ---- With the lock held. */

static banyan_status fail_as_before(banyan_train *train)
{
    train->err = train->failure_text;
    return train->failure;
}

static void open_iteration(banyan_train *train)
{
    train->begin_ns = banyan_clock_ns();
    if (train->idle_from_ns)
        train->other_s[train->other_count++ % BANYAN_ENGINE_RECENT] =
            (double)(train->begin_ns - train->idle_from_ns) / 1e9;
    train->iterations++;
    train->is_open = 1;
    train->is_bound = train->is_finished = 0;
    train->is_disturbed = train->is_planning;
    train->ready_count = 0;
    train->unreduced_count = 0;
    train->busy_s = 0;
    train->events++;
    for (int i = 0; i < train->tensor_count; i++)
        train->tensors[i].is_ready = train->tensors[i].is_done = 0;
    if (!train->is_planning)
        banyan_engine_bind(train);
}

/* Whether the engine can take calls about this gradient. */
static banyan_status check(banyan_train *train, int tensor)
{
    if (train->failure)
        return fail_as_before(train);
    if (!train->is_committed)
        return banyan_engine_refuse(train, BANYAN_INVALID_USAGE, "commit comes first");
    if (tensor < 0 || tensor >= train->tensor_count)
        return banyan_engine_refuse(train, BANYAN_INVALID_ARGUMENT, "there is no gradient %d of %d", tensor,
                                    train->tensor_count);
    return BANYAN_SUCCESS;
}

static banyan_status make_ready(banyan_train *train, int tensor, void *data, int *completes)
{
    banyan_engine_tensor *t = &train->tensors[tensor];
    void *before = t->data;
    int other;

    if (t->is_ready)
        return banyan_engine_refuse(train, BANYAN_INVALID_USAGE,
                                    "gradient '%.150s' is ready for the second time in an iteration",
                                    t->name);
    if (t->count && !data && !t->data)
        return banyan_engine_refuse(train, BANYAN_INVALID_ARGUMENT, "gradient '%.150s' has no memory",
                                    t->name);
    if (data)
        t->data = data;
    other = banyan_engine_add_unreduced(train, tensor);
    if (other >= 0) {
        t->data = before;
        return banyan_engine_refuse(
            train, BANYAN_INVALID_ARGUMENT,
            "gradient '%.120s' shares memory with '%.120s', which is not reduced yet; "
            "gradients may share none while they are under way",
            t->name, train->tensors[other].name);
    }
    t->is_ready = 1;
    t->ready_s = (double)(banyan_clock_ns() - train->begin_ns) / 1e9;
    train->ready_count++;
    train->events++;
    if (!t->count)
        t->is_done = 1;
    else if (train->is_bound)
        *completes = count_ready(train, tensor);
    return BANYAN_SUCCESS;
}

/* ---- The functions of banyan.h. */

banyan_status banyan_train_begin(banyan_train *train)
{
    banyan_status status;

    if (!train)
        return BANYAN_INVALID_ARGUMENT;
    pthread_mutex_lock(&train->lock);
    status = check(train, 0);
    if (!status && train->is_open)
        status = banyan_engine_refuse(train, BANYAN_INVALID_USAGE,
                                      "an iteration has begun already, and has not been waited for");
    if (!status)
        open_iteration(train);
    pthread_mutex_unlock(&train->lock);
    return status;
}

banyan_status banyan_train_ready(banyan_train *train, int tensor, void *data)
{
    banyan_status status;
    int is_empty = 0, completes = 0;

    if (!train)
        return BANYAN_INVALID_ARGUMENT;
    pthread_mutex_lock(&train->lock);
    status = check(train, tensor);
    if (!status && !train->is_open)
        open_iteration(train);
    if (!status)
        status = make_ready(train, tensor, data, &completes);
    if (!status)
        is_empty = !train->tensors[tensor].count;
    pthread_mutex_unlock(&train->lock);
    /* A group travels when the last rank has its gradients. Where ranks share a processor, that one may wait
     * behind us for its turn, which in a real-time class comes when we sleep, or after 100 ms. */
    if (completes)
        sched_yield();
    if (is_empty && train->config.done)
        train->config.done(train->config.context, tensor, BANYAN_SUCCESS);
    return status;
}

/* The first gradient that the next group misses, with the lock held; -1: it has all. */
static int first_missing(const banyan_train *train)
{
    const banyan_grouping *grouping = train->plan->grouping;
    const banyan_gradient_group *group;

    if (!train->is_bound || train->is_finished || train->next_group == grouping->group_count)
        return -1;
    group = &grouping->groups[train->next_group];
    for (int i = 0; i < group->part_count; i++) {
        int tensor = train->plan->tensor_of[grouping->parts[group->first_part + i].tensor];

        if (!train->tensors[tensor].is_ready)
            return tensor;
    }
    return -1;
}

/* Nothing has happened for so long, and nothing is under way that would end by itself: so it is up to the
 * program. Returns the sentence, or NULL. */
static const char *is_stuck(banyan_train *train, char *sentence, size_t bytes)
{
    int missing = train->in_flight || train->is_planning ? -1 : first_missing(train);

    if (missing < 0)
        return NULL;
    snprintf(sentence, bytes, "rank %d waited %d ms for gradient '%.150s' to become ready", train->rank,
             train->timeout_ms, train->tensors[missing].name);
    return sentence;
}

typedef int condition(const banyan_train *train, int tensor);

static int is_tensor_done(const banyan_train *train, int tensor)
{
    return train->tensors[tensor].is_done || (!train->is_open && !train->tensors[tensor].is_ready);
}

static int is_all_done(const banyan_train *train, int tensor)
{
    (void)tensor;
    return train->is_finished;
}

/* Waits for the condition with the lock held. SUCCESS, IN_PROGRESS, or the failure. */
static banyan_status wait_for(banyan_train *train, condition *is_met, int tensor, int timeout_ms)
{
    int64_t now_ns = banyan_clock_ns(), patience_ns = (int64_t)train->timeout_ms * 1000000;
    int64_t deadline_ns = now_ns + (int64_t)timeout_ms * 1000000, quiet_ns = now_ns + patience_ns;
    uint64_t events = train->events;

    while (!train->is_failure_told && !is_met(train, tensor)) {
        int64_t until_ns = timeout_ms >= 0 && deadline_ns < quiet_ns ? deadline_ns : quiet_ns;
        struct timespec until = {.tv_sec = until_ns / 1000000000, .tv_nsec = until_ns % 1000000000};
        char sentence[320];

        if (timeout_ms >= 0 && banyan_clock_ns() >= deadline_ns)
            return BANYAN_IN_PROGRESS;
        pthread_cond_timedwait(&train->changed, &train->lock, &until);
        if (train->events != events) {
            events = train->events;
            quiet_ns = banyan_clock_ns() + patience_ns;
        }
        if (banyan_clock_ns() < quiet_ns)
            continue;
        quiet_ns = banyan_clock_ns() + patience_ns;
        if (!train->failure && is_stuck(train, sentence, sizeof sentence)) {
            pthread_mutex_unlock(&train->lock);
            banyan_engine_fail(train, BANYAN_TIMEOUT, sentence);
            pthread_mutex_lock(&train->lock);
        }
    }
    return is_met(train, tensor) ? BANYAN_SUCCESS : fail_as_before(train);
}

/* A failure that another thread is still telling: whoever waits returns after the last gradient was told, not
 * between two of them. With the lock held. */
static void wait_until_told(banyan_train *train)
{
    int64_t until_ns = banyan_clock_ns() + (int64_t)train->timeout_ms * 1000000;
    struct timespec until = {.tv_sec = until_ns / 1000000000, .tv_nsec = until_ns % 1000000000};

    while (train->failure && !train->is_failure_told && banyan_clock_ns() < until_ns)
        pthread_cond_timedwait(&train->changed, &train->lock, &until);
}

banyan_status banyan_train_test(banyan_train *train, int tensor)
{
    return banyan_train_wait(train, tensor, 0);
}

banyan_status banyan_train_wait(banyan_train *train, int tensor, int timeout_ms)
{
    banyan_status status;

    if (!train)
        return BANYAN_INVALID_ARGUMENT;
    pthread_mutex_lock(&train->lock);
    status = check(train, tensor);
    if (!status)
        status = wait_for(train, is_tensor_done, tensor, timeout_ms);
    pthread_mutex_unlock(&train->lock);
    return status;
}

/* ---- What was not ready. */

/* What was not done ends the engine on all ranks: they wait for it. */
static banyan_status end_with(banyan_train *train, const char *sentence)
{
    pthread_mutex_unlock(&train->lock);
    banyan_engine_fail(train, BANYAN_REMOTE_ERROR, sentence);
    pthread_mutex_lock(&train->lock);
    return banyan_engine_refuse(train, BANYAN_INVALID_USAGE, "%s", sentence);
}

static banyan_status refuse_unused(banyan_train *train)
{
    char sentence[320], more[48] = "";
    int first = -1, count = train->tensor_count - train->ready_count;

    for (int i = train->tensor_count - 1; i >= 0; i--)
        if (!train->tensors[i].is_ready)
            first = i;
    if (count > 1)
        snprintf(more, sizeof more, ", and %d more", count - 1);
    snprintf(sentence, sizeof sentence, "gradient '%.150s' of rank %d was not ready before wait_all%s",
             train->tensors[first].name, train->rank, more);
    return end_with(train, sentence);
}

/* Zeros would go over a gradient that is under way. */
static banyan_status refuse_shared(banyan_train *train, int tensor, int other)
{
    char sentence[320];

    snprintf(sentence, sizeof sentence,
             "gradient '%.100s' of rank %d was not ready before wait_all, and shares memory with '%.100s'",
             train->tensors[tensor].name, train->rank, train->tensors[other].name);
    return end_with(train, sentence);
}

/* The others must not wait for what cannot come. */
static banyan_status run_out_of_memory(banyan_train *train)
{
    pthread_mutex_unlock(&train->lock);
    banyan_engine_fail(train, BANYAN_SYSTEM_ERROR, "out of memory");
    pthread_mutex_lock(&train->lock);
    return fail_as_before(train);
}

static banyan_status fill_unused(banyan_train *train)
{
    for (int i = 0; i < train->tensor_count; i++) {
        banyan_engine_tensor *t = &train->tensors[i];
        size_t bytes = t->count * banyan_datatype_bytes(t->type);
        int other;

        if (t->is_ready)
            continue;
        if (t->count && !t->data && !t->own) {
            t->own = banyan_alloc(bytes, 1);
            if (!t->own)
                return run_out_of_memory(train);
        }
        other = banyan_engine_add_unreduced(train, i);
        if (other >= 0)
            return refuse_shared(train, i, other);
        if (t->count)
            memset(t->data ? t->data : t->own, 0, bytes);
        t->is_ready = 1;
        t->ready_s = (double)(banyan_clock_ns() - train->begin_ns) / 1e9;
        train->ready_count++;
        train->events++;
        if (!t->count)
            t->is_done = 1;
        else if (train->is_bound)
            count_ready(train, i);
    }
    return BANYAN_SUCCESS;
}

static banyan_status close_iteration(banyan_train *train)
{
    banyan_status status = BANYAN_SUCCESS;

    if (train->ready_count < train->tensor_count)
        status =
            train->config.unused == BANYAN_TRAIN_UNUSED_ZEROS ? fill_unused(train) : refuse_unused(train);
    if (!status)
        status = wait_for(train, is_all_done, 0, -1);
    if (!status) {
        train->is_open = 0;
        train->idle_from_ns = banyan_clock_ns();
    }
    return status;
}

banyan_status banyan_train_wait_all(banyan_train *train)
{
    banyan_status status;

    if (!train)
        return BANYAN_INVALID_ARGUMENT;
    pthread_mutex_lock(&train->lock);
    wait_until_told(train);
    status = check(train, 0);
    if (!status && train->is_open)
        status = close_iteration(train);
    pthread_mutex_unlock(&train->lock);
    return status;
}

banyan_status banyan_train_replan(banyan_train *train)
{
    banyan_status status;

    if (!train)
        return BANYAN_INVALID_ARGUMENT;
    pthread_mutex_lock(&train->lock);
    status = check(train, 0);
    if (!status)
        train->wants_replan = 1;
    pthread_mutex_unlock(&train->lock);
    return status;
}
