/* SPDX-License-Identifier: Apache-2.0 */
/* engine/run.c: the threads of a training engine, one per stream.
 *
 * Each waits until the next group in the plan's order is its own, has all its gradients, and few enough
 * others are in flight; runs it; and says what is reduced. Stream 0 also makes plans, between two iterations:
 * after the last group of one, and before the first of the next, whose gradients may well become ready
 * meanwhile. */
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/alloc.h"
#include "core/clock.h"
#include "engine/engine.h"

enum { MAX_PATIENCE = 1000 };

/* The group that is next, if it is this stream's and can start but for its release. */
static const banyan_gradient_group *next_of(const banyan_train *train, int stream)
{
    const banyan_grouping *grouping = train->plan->grouping;
    const banyan_gradient_group *group;

    if (!train->is_open || !train->is_bound || train->is_finished || train->is_planning || train->failure ||
        train->next_group == grouping->group_count)
        return NULL;
    group = &grouping->groups[train->next_group];
    return group->stream == stream && !train->missing[train->next_group] && train->in_flight <= group->level
               ? group
               : NULL;
}

static void sleep_until(banyan_train *train, int64_t until_ns)
{
    struct timespec until = {.tv_sec = until_ns / 1000000000, .tv_nsec = until_ns % 1000000000};

    pthread_cond_timedwait(&train->changed, &train->lock, &until);
}

/* ---- The end of an iteration, with the lock held. */

static void note_figures(banyan_train *train, double now_s)
{
    banyan_engine_figures *figures = &train->figures;
    double last_s = 0;

    if (train->is_disturbed || train->iterations < 2) /* the first makes plans and connections */
        return;
    for (int i = 0; i < train->tensor_count; i++)
        last_s = fmax(last_s, train->tensors[i].ready_s);
    figures->step_s[figures->next] = now_s;
    figures->exposed_s[figures->next] = fmax(0, now_s - last_s);
    figures->comm_s[figures->next] = train->busy_s;
    figures->next = (figures->next + 1) % BANYAN_ENGINE_RECENT;
    figures->count += figures->count < BANYAN_ENGINE_RECENT;
}

static void observe(banyan_train *train)
{
    int is_warm = train->iterations > 1;

    if (!is_warm || (train->is_disturbed && train->observed.count))
        return;
    for (int i = 0; i < train->tensor_count; i++)
        train->row_s[i] = train->tensors[i].ready_s;
    train->row_s[train->tensor_count] = (double)(train->begin_ns - train->ended_ns) / 1e9;
    banyan_observations_add(&train->observed, train->row_s);
    banyan_observations_add(&train->plan->flights, train->plan->flight_s);
    if (train->patience > 0)
        train->patience--;
}

/* The first plan is made by what was seen under other groups than its own, and what communicates slows down
 * what computes: so there is always a second one, by what was seen under the first; and a third where the
 * second was a trial of other groups (engine/plan.c). */
static int is_next_due(const banyan_train *train)
{
    return train->plan_number >= 1 && train->plan_number <= (banyan_engine_tries_both(train) ? 2 : 1) &&
           train->config.drift >= 0 && !*train->cost_text &&
           train->iterations > train->planned_at + (uint64_t)train->observed.window;
}

/* All ranks decide the same: they count the same iterations, and the votes came to the same. */
static void end_iteration(banyan_train *train)
{
    int is_due = train->plan_number ? is_next_due(train)
                                    : train->iterations > (uint64_t)train->config.profile_iterations;
    int64_t now_ns = banyan_clock_ns();

    train->is_finished = 1;
    note_figures(train, (double)(now_ns - train->begin_ns) / 1e9);
    observe(train);
    train->ended_ns = now_ns;
    if (is_due)
        train->planned_at = train->iterations;
    if (is_due || (train->plan_number && train->votes))
        train->is_planning = 1;
    train->votes = 0;
}

/* How far steps are from what the plan promised, where costs are ours to correct. */
static double step_error(const banyan_train *train)
{
    double predicted_s = train->plan->step_s;
    double steps_s[BANYAN_ENGINE_RECENT];

    if (*train->cost_text || train->figures.count < BANYAN_ENGINE_WINDOW || !(predicted_s > 0))
        return 0;
    memcpy(steps_s, train->figures.step_s, sizeof steps_s);
    return fabs(banyan_median(steps_s, train->figures.count) / predicted_s - 1);
}

/* What this rank says with its last group: whether ready times have moved, or steps take another time than
 * planned. */
static int own_vote(banyan_train *train)
{
    if (!train->plan_number)
        return 0;
    if (train->wants_replan)
        return 1;
    if (train->config.drift < 0 || train->patience || train->observed.count < BANYAN_ENGINE_WINDOW)
        return 0;
    banyan_observations_median(&train->observed, train->row_s);
    train->drift = banyan_engine_plan_drift(train->plan, train->row_s);
    return train->drift > train->config.drift || step_error(train) > train->config.drift;
}

/* ---- A group. */

static double since_begin(const banyan_train *train)
{
    return (double)(banyan_clock_ns() - train->begin_ns) / 1e9;
}

/* Marks the gradients that are whole now, and leaves in told how many; with the lock held. */
static int mark_reduced(banyan_train *train, const banyan_gradient_group *group, int *told)
{
    int count = 0;

    for (int i = 0; i < group->part_count && !train->failure; i++) {
        int tensor = train->plan->tensor_of[train->plan->grouping->parts[group->first_part + i].tensor];

        if (--train->tensors[tensor].parts_left == 0) {
            train->tensors[tensor].is_done = 1;
            banyan_engine_give_back(train, tensor);
            told[count++] = tensor;
        }
    }
    return count;
}

static void land(banyan_train *train, int number, int vote)
{
    const banyan_gradient_group *group = &train->plan->grouping->groups[number];
    int *told = banyan_alloc((size_t)group->part_count, sizeof *told), count;

    if (!told) {
        banyan_engine_fail(train, BANYAN_SYSTEM_ERROR, "out of memory");
        return;
    }
    pthread_mutex_lock(&train->lock);
    if (--train->in_flight == 0)
        train->busy_s += (double)(banyan_clock_ns() - train->busy_from_ns) / 1e9;
    train->plan->flight_s[2 * number + 1] = since_begin(train);
    train->votes |= vote;
    train->events++;
    count = mark_reduced(train, group, told);
    pthread_cond_broadcast(&train->changed);
    if (train->config.done) { /* before wait_all can return */
        pthread_mutex_unlock(&train->lock);
        for (int i = 0; i < count; i++)
            train->config.done(train->config.context, told[i], BANYAN_SUCCESS);
        pthread_mutex_lock(&train->lock);
    }
    if (++train->groups_done == train->plan->grouping->group_count)
        end_iteration(train);
    pthread_cond_broadcast(&train->changed);
    pthread_mutex_unlock(&train->lock);
    banyan_free(told);
}

/* With the lock held, which is given back meanwhile. */
static void launch(banyan_engine_stream *stream)
{
    banyan_train *train = stream->train;
    int number = train->next_group++;
    int is_last = train->next_group == train->plan->grouping->group_count;
    int vote = is_last ? own_vote(train) : 0;
    banyan_error err = {""};
    banyan_status status;

    if (train->in_flight++ == 0)
        train->busy_from_ns = banyan_clock_ns();
    train->plan->flight_s[2 * number] = since_begin(train);
    train->events++;
    pthread_cond_broadcast(&train->changed);
    pthread_mutex_unlock(&train->lock);
    status = banyan_engine_reduce(stream, train->plan, number, is_last ? &vote : NULL, &err);
    if (status)
        banyan_engine_fail(train, status, err.text);
    else
        land(train, number, vote);
    pthread_mutex_lock(&train->lock);
}

/* ---- Plans. */

static void install(banyan_train *train, banyan_engine_plan *plan)
{
    banyan_engine_plan_destroy(train->plan);
    train->plan = plan;
    train->plan_number++;
    /* After each plan it takes twice as long until a drift counts, so that noise does not plan all day. */
    train->patience = BANYAN_ENGINE_WINDOW;
    for (int i = 1; i < train->plan_number && train->patience < MAX_PATIENCE; i++)
        train->patience *= 2;
    train->wants_replan = 0;
    train->drift = 0;
    train->figures.count = train->figures.next = 0;
    train->is_planning = 0;
    train->is_disturbed = 1;
    banyan_observations_forget(&train->observed);
    train->events++;
    if (train->is_open && !train->is_finished)
        banyan_engine_bind(train);
}

/* With the lock held, which is given back meanwhile: nobody else touches the plan, or what was seen of it,
 * while is_planning. */
static void make_plan(banyan_train *train)
{
    banyan_engine_plan *plan = NULL;
    banyan_error err = {""};
    banyan_status status;

    pthread_mutex_unlock(&train->lock);
    status = banyan_engine_plan_again(train, &plan, &err);
    if (status)
        banyan_engine_fail(train, status, err.text);
    pthread_mutex_lock(&train->lock);
    if (status)
        train->is_planning = 0;
    else
        install(train, plan);
    pthread_cond_broadcast(&train->changed);
}

/* ---- The thread. */

/* Before the program's own threads of a real-time class: a turn there lasts 100 ms, and what waits so long
 * for a processor leaves the network idle. We wait for the network nearly always, so nobody is kept from
 * computing. In the usual class, whoever wakes up soon gets his turn anyway. Where it is not allowed, things
 * stay as they are. */
static void go_first(void)
{
    struct sched_param parameter;
    int class;

    if (pthread_getschedparam(pthread_self(), &class, &parameter) ||
        (class != SCHED_RR && class != SCHED_FIFO))
        return;
    if (parameter.sched_priority < sched_get_priority_max(class))
        parameter.sched_priority++;
    (void)pthread_setschedparam(pthread_self(), class, &parameter);
}

static void *serve(void *argument)
{
    banyan_engine_stream *stream = argument;
    banyan_train *train = stream->train;

    go_first();
    pthread_mutex_lock(&train->lock);
    for (;;) {
        const banyan_gradient_group *group = next_of(train, stream->number);
        int64_t release_ns = group ? train->begin_ns + (int64_t)(group->release_s * 1e9) : 0;

        if (train->is_planning && stream->number == 0 && !train->failure)
            make_plan(train);
        else if (train->is_ending)
            break;
        else if (group && release_ns > banyan_clock_ns())
            sleep_until(train, release_ns);
        else if (group)
            launch(stream);
        else
            pthread_cond_wait(&train->changed, &train->lock);
    }
    pthread_mutex_unlock(&train->lock);
    return NULL;
}

banyan_status banyan_engine_start(banyan_train *train, banyan_error *err)
{
    for (int s = 0; s < train->stream_count; s++) {
        banyan_engine_stream *stream = &train->streams[s];
        int error = pthread_create(&stream->thread, NULL, serve, stream);

        if (error)
            return banyan_fail(err, BANYAN_SYSTEM_ERROR, "cannot start a thread for gradients: %s",
                               strerror(error));
        stream->has_thread = 1;
    }
    return BANYAN_SUCCESS;
}

void banyan_engine_stop(banyan_train *train)
{
    pthread_mutex_lock(&train->lock);
    train->is_ending = 1;
    pthread_cond_broadcast(&train->changed);
    pthread_mutex_unlock(&train->lock);
    for (int s = 0; s < train->stream_count; s++)
        if (train->streams[s].has_thread)
            pthread_join(train->streams[s].thread, NULL);
}
