/* SPDX-License-Identifier: Apache-2.0 */
/* cli/train_measure.c: a model trained without computing: each rank sleeps as long as forward and backward
 * take and tells the engine (banyan_train_*) of each gradient when it would be ready, so that what is
 * measured is the network, the engine, and how well the prediction was. All gradients are ones, and so are
 * their averages. */
#include "train_measure.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "bench_processes.h"
#include "core/alloc.h"
#include "core/clock.h"
#include "core/value.h"
#include "engine/engine.h"

enum { MAX_RANKS = 256, PROFILED = 3, MEASURE_MS = 3000, MEASURE_AGAIN_MS = 1000 };

/* ---- The job. */

static banyan_status read_number(const cli_arguments *arguments, const char *option, int most, int fallback,
                                 int *out, banyan_error *err)
{
    const char *text = cli_get(arguments, option);
    int64_t value = fallback;
    banyan_status status = text ? banyan_value_integer(text, 1, most, &value, err) : BANYAN_SUCCESS;

    if (status)
        cli_blame(option, err);
    *out = (int)value;
    return status;
}

static banyan_status check_options(const cli_arguments *arguments, banyan_error *err)
{
    const char *transport = cli_get(arguments, "transport");

    if (cli_has(arguments, "cost"))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "--cost and --measure exclude one another");
    if (transport && strcmp(transport, "auto") && strcmp(transport, "shm") && strcmp(transport, "tcp"))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "--transport %.40s is not auto, shm or tcp",
                           transport);
    return BANYAN_SUCCESS;
}

static int join(const cli_arguments *arguments, cli_job *job, const banyan_unique_id *id)
{
    banyan_config config = BANYAN_CONFIG_INITIALIZER;
    banyan_error err = {""};
    banyan_status status;

    config.topology = cli_get(arguments, "topo");
    config.algorithm = cli_get(arguments, "algo");
    config.transport = cli_get(arguments, "transport");
    config.error = err.text;
    config.error_bytes = sizeof err.text;
    status = id ? banyan_comm_init_rank(&job->comm, job->size, *id, job->rank, &config)
                : banyan_comm_init_env(&job->comm, &config);
    return status ? cli_fail(arguments, status, &err) : -1;
}

int cli_job_join(const cli_arguments *arguments, cli_job *out)
{
    const char *transport = cli_get(arguments, "transport");
    int is_launched = bench_is_launched(&out->rank, &out->size), ranks, code;
    banyan_unique_id id;
    banyan_error err;
    banyan_status status = check_options(arguments, &err);

    if (!status)
        status = read_number(arguments, "ranks", MAX_RANKS, is_launched ? out->size : 2, &ranks, &err);
    if (!status)
        status = read_number(arguments, "iterations", 1000, 5, &out->iterations, &err);
    if (!status && is_launched && ranks != out->size)
        status = banyan_fail(&err, BANYAN_INVALID_ARGUMENT, "--ranks %d, but the launcher started %d", ranks,
                             out->size);
    if (status)
        return cli_fail(arguments, status, &err);
    if (is_launched)
        return join(arguments, out, NULL);
    out->size = ranks;
    code = bench_fork(ranks, transport ? transport : "auto", &out->rank, &id);
    return code >= 0 ? code : join(arguments, out, &id);
}

/* ---- A model without computing. */

static banyan_status told(const banyan_train *train, banyan_status status, banyan_error *err)
{
    return status ? banyan_fail(err, status, "%s", banyan_train_last_error(train)) : BANYAN_SUCCESS;
}

/* memory may be NULL where nothing is going to be reduced. */
static banyan_status open_engine(cli_job *job, const banyan_model *model, const banyan_train_config *config,
                                 char *memory, banyan_train **out, banyan_error *err)
{
    banyan_train_config known = *config;
    banyan_train *train = NULL;
    banyan_status status;

    known.error = err->text;
    known.error_bytes = sizeof err->text;
    status = banyan_train_create(&train, job->comm, &known);
    if (status)
        return status;
    for (int i = 0; i < model->tensor_count && !status; i++) {
        size_t bytes = model->tensors[i].bytes;
        int is_float = bytes % 4 == 0;

        status = told(train,
                      banyan_train_register(train, NULL, memory, is_float ? bytes / 4 : bytes,
                                            is_float ? BANYAN_FLOAT32 : BANYAN_UINT8, NULL),
                      err);
        memory = memory ? memory + (bytes + 7) / 8 * 8 : NULL;
    }
    if (!status)
        status = told(train, banyan_train_commit(train), err);
    if (status)
        banyan_train_destroy(train);
    else
        *out = train;
    return status;
}

banyan_status cli_job_measure(cli_job *job, const banyan_model *model, cli_cost *out, banyan_error *err)
{
    banyan_train_config config = BANYAN_TRAIN_CONFIG_INITIALIZER;
    banyan_train *train = NULL;
    banyan_status status;

    config.measure_ms = MEASURE_MS;
    status = open_engine(job, model, &config, NULL, &train, err);
    if (status)
        return status;
    out->cost = train->cost;
    out->worst_error = 0;
    for (int i = 0; i < train->cost.point_count; i++) {
        const banyan_cost_point *point = &train->cost.points[i];
        double line_s = train->cost.start_s + point->bytes * train->cost.s_per_byte;

        out->worst_error = fmax(out->worst_error, fabs(line_s / (train->cost.start_s + point->work_s) - 1));
    }
    snprintf(out->source, sizeof out->source, "measured between %d ranks", job->size);
    banyan_train_destroy(train);
    return BANYAN_SUCCESS;
}

static void sleep_until(double when_s)
{
    struct timespec until = {.tv_sec = (time_t)when_s, .tv_nsec = (long)((when_s - floor(when_s)) * 1e9)};

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        ;
}

static banyan_status iterate(banyan_train *train, const banyan_model *model, banyan_error *err)
{
    banyan_status status;
    double begin_s;

    sleep_until(banyan_clock_s() + model->forward_s);
    begin_s = banyan_clock_s();
    status = told(train, banyan_train_begin(train), err);
    for (int i = 0; i < model->tensor_count && !status; i++) {
        sleep_until(begin_s + model->tensors[i].ready_s);
        status = told(train, banyan_train_ready(train, i, NULL), err);
    }
    return status ? status : told(train, banyan_train_wait_all(train), err);
}

/* Room for all tensors, each beginning at a multiple of eight. */
static size_t room_for(const banyan_model *model)
{
    size_t bytes = 8;

    for (int i = 0; i < model->tensor_count; i++)
        bytes += (model->tensors[i].bytes + 7) / 8 * 8;
    return bytes;
}

static void fill_with_ones(const banyan_model *model, char *memory)
{
    for (int i = 0; i < model->tensor_count; i++) {
        size_t bytes = model->tensors[i].bytes;

        if (bytes % 4)
            memset(memory, 1, bytes);
        else
            for (size_t k = 0; k < bytes / 4; k++)
                memcpy(memory + 4 * k, &(float){1}, 4);
        memory += (bytes + 7) / 8 * 8;
    }
}

/* Averages of ones must be ones. */
static banyan_status check_ones(const banyan_model *model, const char *memory, char *wanted,
                                const char *policy, banyan_error *err)
{
    fill_with_ones(model, wanted);
    for (int i = 0; i < model->tensor_count; i++) {
        size_t bytes = model->tensors[i].bytes;

        if (memcmp(memory, wanted, bytes) != 0)
            return banyan_fail(err, BANYAN_INTERNAL_ERROR, "%.40s: gradient %.60s is not the average of ones",
                               policy, model->tensors[i].name);
        memory += (bytes + 7) / 8 * 8;
        wanted += (bytes + 7) / 8 * 8;
    }
    return BANYAN_SUCCESS;
}

/* The slowest rank's figures. */
static banyan_status share_figures(cli_job *job, const banyan_train_stats *stats, cli_live *out,
                                   banyan_error *err)
{
    double figures[6] = {stats->predicted_step_s,   stats->predicted_exposed_s, stats->measured_step_s,
                         stats->measured_exposed_s, stats->measured_comm_s,     stats->other_s};
    banyan_status status = banyan_allreduce(figures, figures, 6, BANYAN_FLOAT64, BANYAN_MAX, job->comm);

    if (status)
        return banyan_fail(err, status, "%s", banyan_last_error(job->comm));
    *out = (cli_live){.streams = stats->streams,
                      .groups = stats->groups,
                      .predicted_s = figures[5] + figures[0],
                      .predicted_exposed_s = figures[1],
                      .measured_s = figures[5] + figures[2],
                      .measured_exposed_s = figures[3],
                      .hidden = figures[4] > figures[3] ? 1 - figures[3] / figures[4] : 0};
    return BANYAN_SUCCESS;
}

static banyan_status run_policy(cli_job *job, const banyan_model *model, const char *policy, char *memory,
                                char *wanted, cli_live *out, banyan_error *err)
{
    banyan_train_config config = BANYAN_TRAIN_CONFIG_INITIALIZER;
    banyan_train_stats stats = {.size = sizeof stats};
    banyan_train *train = NULL;
    banyan_status status;

    config.policy = policy;
    config.measure_ms = MEASURE_AGAIN_MS; /* each policy as a user would run it */
    config.profile_iterations = PROFILED;
    config.drift = -1; /* the prediction to be judged is the first */
    fill_with_ones(model, memory);
    status = open_engine(job, model, &config, memory, &train, err);
    /* One to warm up, those profiled, and one during which the plan is made. */
    for (int i = 0; i < 2 + PROFILED + job->iterations && !status; i++)
        status = iterate(train, model, err);
    if (!status)
        status = told(train, banyan_train_get_stats(train, &stats), err);
    if (!status)
        status = check_ones(model, memory, wanted, policy, err);
    banyan_train_destroy(train);
    return status ? status : share_figures(job, &stats, out, err);
}

banyan_status cli_job_run(cli_job *job, cli_trainings *r, banyan_error *err)
{
    size_t room = room_for(r->model);
    char *memory = banyan_alloc(room, 1), *wanted = banyan_alloc(room, 1);
    banyan_status status = memory && wanted ? BANYAN_SUCCESS : banyan_fail_memory(err);

    for (int i = 0; i < r->count && !status; i++) {
        status = run_policy(job, r->model, r->names[i], memory, wanted, &r->lives[i], err);
        r->live_count = i + 1;
    }
    banyan_free(memory);
    banyan_free(wanted);
    return status;
}
