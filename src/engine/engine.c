/* SPDX-License-Identifier: Apache-2.0 */
/* engine/engine.c: the life of a training engine, and its figures. */
#include "engine/engine.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/alloc.h"
#include "core/value.h"

banyan_status banyan_engine_refuse(banyan_train *train, banyan_status status, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(train->err.text, sizeof train->err.text, format, arguments);
    va_end(arguments);
    return status;
}

/* ---- Config. */

static banyan_status read_config(const banyan_train_config *given, banyan_train_config *out,
                                 banyan_error *err)
{
    *out = (banyan_train_config)BANYAN_TRAIN_CONFIG_INITIALIZER;
    if (!given)
        return BANYAN_SUCCESS;
    if (given->size < offsetof(banyan_train_config, op) || given->magic != BANYAN_TRAIN_CONFIG_MAGIC)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "the config does not begin with BANYAN_TRAIN_CONFIG_INITIALIZER");
    if (given->size > sizeof *out)
        return banyan_fail(err, BANYAN_VERSION_MISMATCH,
                           "the config has %zu bytes as of version %u, this library (version %d) knows %zu",
                           given->size, given->version, BANYAN_VERSION_CODE, sizeof *out);
    memcpy(out, given, given->size);
    return BANYAN_SUCCESS;
}

static banyan_status check_config(banyan_train_config *config, banyan_error *err)
{
    if (config->op != BANYAN_AVG && config->op != BANYAN_SUM)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "gradients are added up or averaged: op %d is neither", (int)config->op);
    if (config->streams < 0 || config->streams > BANYAN_MAX_STREAMS)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "%d streams are not from 1 to %d", config->streams,
                           BANYAN_MAX_STREAMS);
    if (config->profile_iterations < 0 || config->profile_iterations > 1000)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "%d iterations to profile are not from 1 to 1000",
                           config->profile_iterations);
    if (config->measure_ms < 0)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "%d ms to measure", config->measure_ms);
    if (config->drift != config->drift)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "the drift is not a number");
    if ((unsigned)config->unused > BANYAN_TRAIN_UNUSED_ZEROS)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "unused is %d", (int)config->unused);
    config->streams = config->streams ? config->streams : BANYAN_ENGINE_STREAMS;
    config->profile_iterations =
        config->profile_iterations ? config->profile_iterations : BANYAN_ENGINE_PROFILE;
    config->measure_ms = config->measure_ms ? config->measure_ms : BANYAN_ENGINE_MEASURE_MS;
    config->drift = config->drift > 0 || config->drift < 0 ? config->drift : 0.1;
    return BANYAN_SUCCESS;
}

/* NAME or NAME:STREAMS. */
static banyan_status find_policy(banyan_train *train, banyan_error *err)
{
    char name[64];
    char *colon;
    int64_t streams;
    banyan_status status;

    snprintf(name, sizeof name, "%s", train->policy_text);
    colon = strchr(name, ':');
    if (colon) {
        status = banyan_value_integer(colon + 1, 1, BANYAN_MAX_STREAMS, &streams, err);
        if (status) {
            banyan_error_prefix(err, train->policy_text);
            return status;
        }
        train->policy_streams = (int)streams;
        *colon = '\0';
    }
    train->policy = banyan_policy_find(name);
    if (!train->policy)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "no policy is named %.60s", name);
    if (!colon)
        train->policy_streams = train->policy->streams;
    return BANYAN_SUCCESS;
}

static void init_lock(banyan_train *train)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&train->lock, NULL);
    pthread_cond_init(&train->changed, &attributes);
    pthread_condattr_destroy(&attributes);
}

static banyan_status fill(banyan_train *train, banyan_comm *comm, const banyan_train_config *config,
                          banyan_error *err)
{
    banyan_status status = read_config(config, &train->config, err);

    if (!status)
        status = check_config(&train->config, err);
    if (status)
        return status;
    train->comm = comm;
    train->rank = comm->rank;
    train->size = comm->group->setup.size;
    train->timeout_ms = comm->group->setup.timeout_ms;
    train->policy_text = banyan_strdup(train->config.policy ? train->config.policy : "optimal");
    train->cost_text = banyan_strdup(train->config.cost ? train->config.cost : "");
    if (!train->policy_text || !train->cost_text)
        return banyan_fail_memory(err);
    status = find_policy(train, err);
    if (!status && *train->cost_text)
        status = banyan_cost_parse(train->cost_text, &train->cost, err);
    return status;
}

static void report(const banyan_train_config *config, const banyan_error *err)
{
    if (config && config->magic == BANYAN_TRAIN_CONFIG_MAGIC && config->size >= sizeof *config &&
        config->error && config->error_bytes)
        snprintf(config->error, config->error_bytes, "%s", err->text);
}

/* ---- The functions of banyan.h, in its order. */

banyan_status banyan_train_create(banyan_train **out, banyan_comm *comm, const banyan_train_config *config)
{
    banyan_error err = {""};
    banyan_train *train;
    banyan_status status;

    if (!out || !comm)
        return BANYAN_INVALID_ARGUMENT;
    *out = NULL;
    train = banyan_alloc(1, sizeof *train);
    if (train)
        init_lock(train);
    status = train ? fill(train, comm, config, &err) : banyan_fail_memory(&err);
    if (!status) {
        *out = train;
        return BANYAN_SUCCESS;
    }
    report(config, &err);
    banyan_train_destroy(train);
    return status;
}

static banyan_status add_tensor(banyan_train *train, const char *name, void *data, size_t count,
                                banyan_datatype type)
{
    void *tensors = train->tensors;
    char number[32];
    char *copy;

    snprintf(number, sizeof number, "tensor %d", train->tensor_count);
    if (!banyan_grow(&tensors, (size_t)train->tensor_count, &train->tensor_capacity, sizeof *train->tensors))
        return banyan_fail_memory(&train->err);
    train->tensors = tensors;
    copy = banyan_strdup(name ? name : number);
    if (!copy)
        return banyan_fail_memory(&train->err);
    train->tensors[train->tensor_count++] =
        (banyan_engine_tensor){.name = copy, .data = data, .count = count, .type = type};
    return BANYAN_SUCCESS;
}

banyan_status banyan_train_register(banyan_train *train, const char *name, void *data, size_t count,
                                    banyan_datatype type, int *tensor)
{
    size_t bytes = banyan_datatype_bytes(type);
    banyan_status status;

    if (!train)
        return BANYAN_INVALID_ARGUMENT;
    pthread_mutex_lock(&train->lock);
    if (train->is_committed || train->failure)
        status = banyan_engine_refuse(train, BANYAN_INVALID_USAGE, "gradients are registered before commit");
    else if (train->tensor_count == BANYAN_MAX_TENSORS)
        status = banyan_engine_refuse(train, BANYAN_INVALID_ARGUMENT, "more than %d gradients",
                                      BANYAN_MAX_TENSORS);
    else if (!bytes || count > (size_t)1 << 50)
        status = banyan_engine_refuse(train, BANYAN_INVALID_ARGUMENT, "%zu elements of datatype %d", count,
                                      (int)type);
    else if (name && (!*name || strlen(name) >= BANYAN_ENGINE_NAME || strchr(name, '\n')))
        status = banyan_engine_refuse(train, BANYAN_INVALID_ARGUMENT,
                                      "a gradient's name has 1 to %d bytes, all in one line",
                                      BANYAN_ENGINE_NAME - 1);
    else
        status = add_tensor(train, name, data, count, type);
    if (!status && tensor)
        *tensor = train->tensor_count - 1;
    pthread_mutex_unlock(&train->lock);
    return status;
}

static banyan_status commit(banyan_train *train, banyan_error *err)
{
    banyan_engine_stream *first = &train->streams[0];
    banyan_status status = banyan_comm_clone(train->comm, &first->comm, err);

    if (status)
        return status;
    pthread_mutex_lock(&train->lock);
    first->train = train;
    train->stream_count = 1;
    pthread_mutex_unlock(&train->lock);
    status = banyan_engine_agree(train, err);
    if (!status)
        status = banyan_engine_measure(train, err);
    if (!status)
        status = banyan_observations_init(&train->observed, train->tensor_count + 1,
                                          train->config.profile_iterations > BANYAN_ENGINE_WINDOW
                                              ? train->config.profile_iterations
                                              : BANYAN_ENGINE_WINDOW,
                                          err);
    if (!status) {
        train->row_s = banyan_alloc((size_t)train->tensor_count + 1, sizeof *train->row_s);
        train->missing = banyan_alloc((size_t)BANYAN_MAX_TENSORS, sizeof *train->missing);
        train->unreduced = banyan_alloc((size_t)train->tensor_count, sizeof *train->unreduced);
        if (!train->row_s || !train->missing || !train->unreduced)
            status = banyan_fail_memory(err);
    }
    if (!status)
        status = banyan_engine_plan_first(train, &train->plan, err);
    return status ? status : banyan_engine_start(train, err);
}

/* Leaves in told which gradients are not done; with the lock held. */
static void mark_undone(const banyan_train *train, char *told)
{
    for (int i = 0; i < train->tensor_count; i++)
        told[i] = train->is_open && !train->tensors[i].is_done;
}

/* Others read it, too: what went wrong in our system has our name. */
static void write_failure(banyan_train *train, banyan_status status, const char *sentence)
{
    int is_nameless = status == BANYAN_SYSTEM_ERROR && strncmp(sentence, "rank ", 5) != 0;
    char name[32] = "";

    if (is_nameless)
        snprintf(name, sizeof name, "rank %d: ", train->rank);
    snprintf(train->failure_text.text, sizeof train->failure_text.text, "%s%s", name, sentence);
    train->failure = status;
    train->err = train->failure_text;
}

/* Once there is a failure, its words do not change. */
static void end_streams(banyan_train *train)
{
    int count;

    pthread_mutex_lock(&train->lock);
    count = train->stream_count;
    pthread_mutex_unlock(&train->lock);
    for (int s = 0; s < count; s++)
        banyan_comm_end(train->streams[s].comm, train->failure, train->failure_text.text);
}

void banyan_engine_fail(banyan_train *train, banyan_status status, const char *sentence)
{
    char *told = train->config.done ? banyan_alloc((size_t)train->tensor_count + 1, 1) : NULL;
    int is_first;

    pthread_mutex_lock(&train->lock);
    is_first = !train->failure;
    if (is_first) {
        write_failure(train, status, sentence);
        if (told)
            mark_undone(train, told);
    }
    train->events++;
    pthread_cond_broadcast(&train->changed);
    pthread_mutex_unlock(&train->lock);
    if (is_first)
        end_streams(train);
    for (int i = 0; is_first && told && i < train->tensor_count; i++)
        if (told[i])
            train->config.done(train->config.context, i, status);
    banyan_free(told);
    if (!is_first)
        return;
    pthread_mutex_lock(&train->lock);
    train->is_failure_told = 1;
    pthread_cond_broadcast(&train->changed);
    pthread_mutex_unlock(&train->lock);
}

banyan_status banyan_train_commit(banyan_train *train)
{
    banyan_error err = {""};
    banyan_status status;

    if (!train)
        return BANYAN_INVALID_ARGUMENT;
    pthread_mutex_lock(&train->lock);
    status = train->failure;
    if (status)
        train->err = train->failure_text;
    else if (train->is_committed)
        status = banyan_engine_refuse(train, BANYAN_INVALID_USAGE, "commit is called once");
    pthread_mutex_unlock(&train->lock);
    if (status)
        return status;
    status = commit(train, &err);
    if (status)
        banyan_engine_fail(train, status, err.text);
    pthread_mutex_lock(&train->lock);
    train->comm = NULL;
    train->patience = BANYAN_ENGINE_WINDOW;
    train->scale = 1;
    status = train->failure; /* or it was aborted meanwhile */
    train->is_committed = !status;
    if (status)
        train->err = train->failure_text;
    pthread_mutex_unlock(&train->lock);
    if (status)
        end_streams(train);
    return status;
}

banyan_status banyan_train_abort(banyan_train *train)
{
    char sentence[64];

    if (!train)
        return BANYAN_INVALID_ARGUMENT;
    snprintf(sentence, sizeof sentence, "rank %d aborted the training", train->rank);
    banyan_engine_fail(train, BANYAN_REMOTE_ERROR, sentence);
    return BANYAN_SUCCESS;
}

static double median_of(const double *values, int count)
{
    double copy[BANYAN_ENGINE_RECENT];

    memcpy(copy, values, (size_t)count * sizeof *values);
    return banyan_median(copy, count);
}

static void write_stats(banyan_train *train, banyan_train_stats *out)
{
    const banyan_engine_figures *figures = &train->figures;
    const banyan_grouping *grouping = train->plan ? train->plan->grouping : NULL;

    out->tensors = train->tensor_count;
    out->plan = train->plan_number;
    out->iterations = train->iterations;
    out->streams = grouping ? grouping->streams : 0;
    out->groups = grouping ? grouping->group_count : 0;
    out->other_s =
        median_of(train->other_s,
                  train->other_count < BANYAN_ENGINE_RECENT ? train->other_count : BANYAN_ENGINE_RECENT);
    out->measured_step_s = median_of(figures->step_s, figures->count);
    out->measured_exposed_s = banyan_mean(figures->exposed_s, figures->count);
    out->measured_comm_s = banyan_mean(figures->comm_s, figures->count);
    if (out->measured_comm_s > out->measured_exposed_s)
        out->hidden_share = 1 - out->measured_exposed_s / out->measured_comm_s;
    out->drift = train->drift;
    out->start_s = train->cost.start_s;
    out->s_per_byte = train->cost.s_per_byte;
    memcpy(out->speed, train->cost.speed, sizeof out->speed);
    if (!train->plan_number || !grouping)
        return;
    out->predicted_step_s = train->plan->step_s;
    out->predicted_exposed_s = train->plan->exposed_s;
    out->bound_s = train->plan->bound_s;
    out->planning_s = grouping->planning_s;
    out->digest = train->plan->digest;
}

banyan_status banyan_train_get_stats(banyan_train *train, banyan_train_stats *stats)
{
    banyan_train_stats now = {.size = sizeof now};

    if (!train || !stats)
        return BANYAN_INVALID_ARGUMENT;
    pthread_mutex_lock(&train->lock);
    if (stats->size < sizeof stats->size || stats->size > sizeof now) {
        banyan_status status = banyan_engine_refuse(
            train, BANYAN_VERSION_MISMATCH, "the figures have %zu bytes, this library (version %d) knows %zu",
            stats->size, BANYAN_VERSION_CODE, sizeof now);

        pthread_mutex_unlock(&train->lock);
        return status;
    }
    write_stats(train, &now);
    pthread_mutex_unlock(&train->lock);
    now.size = stats->size;
    memcpy(stats, &now, stats->size);
    return BANYAN_SUCCESS;
}

banyan_status banyan_train_get_plan(banyan_train *train, char *buffer, size_t bytes, size_t *needed)
{
    banyan_status status = BANYAN_SUCCESS;
    char *text = NULL;
    size_t length;

    if (!train)
        return BANYAN_INVALID_ARGUMENT;
    pthread_mutex_lock(&train->lock);
    if (!train->is_committed)
        status = banyan_engine_refuse(train, BANYAN_INVALID_USAGE, "there is no plan before commit");
    else
        status = banyan_grouping_format(train->plan->grouping, &text, &train->err);
    length = text ? strlen(text) + 1 : 0;
    if (!status && needed)
        *needed = length;
    if (!status && (buffer ? bytes < length : !needed))
        status = banyan_engine_refuse(train, BANYAN_INVALID_ARGUMENT, "the plan needs %zu bytes, not %zu",
                                      length, bytes);
    pthread_mutex_unlock(&train->lock);
    if (!status && buffer)
        memcpy(buffer, text, length);
    banyan_free(text);
    return status;
}

const char *banyan_train_last_error(const banyan_train *train)
{
    banyan_train *mine = (banyan_train *)train;

    if (!train)
        return "";
    pthread_mutex_lock(&mine->lock);
    if (strcmp(mine->err_told.text, mine->err.text) != 0)
        mine->err_told = mine->err; /* the engine's threads do not write here */
    pthread_mutex_unlock(&mine->lock);
    return mine->err_told.text;
}

static void end_unfinished(banyan_train *train)
{
    char sentence[96];
    int is_unfinished;

    pthread_mutex_lock(&train->lock);
    is_unfinished = train->is_open && !train->is_finished;
    pthread_mutex_unlock(&train->lock);
    if (!is_unfinished)
        return;
    snprintf(sentence, sizeof sentence, "rank %d destroyed its training engine in the middle of an iteration",
             train->rank);
    banyan_engine_fail(train, BANYAN_REMOTE_ERROR, sentence);
}

banyan_status banyan_train_destroy(banyan_train *train)
{
    if (!train)
        return BANYAN_SUCCESS;
    end_unfinished(train);
    banyan_engine_stop(train);
    for (int s = 0; s < train->stream_count; s++) {
        banyan_comm_destroy(train->streams[s].comm);
        banyan_free(train->streams[s].segments);
    }
    for (int i = 0; i < train->tensor_count; i++) {
        banyan_free(train->tensors[i].name);
        banyan_free(train->tensors[i].own);
    }
    banyan_engine_plan_destroy(train->plan);
    banyan_observations_fini(&train->observed);
    banyan_free(train->tensors);
    banyan_free(train->local_of);
    banyan_free(train->row_s);
    banyan_free(train->missing);
    banyan_free(train->unreduced);
    banyan_free(train->policy_text);
    banyan_free(train->cost_text);
    pthread_cond_destroy(&train->changed);
    pthread_mutex_destroy(&train->lock);
    banyan_free(train);
    return BANYAN_SUCCESS;
}
