/* SPDX-License-Identifier: Apache-2.0 */
/* cli/train_accelerator.c: banyan train --accelerator: one iteration of a network of layers whose gradients
 * are all-reduced on any network, by any algorithm, in any simulator.
 *
 * Every size that is needed is simulated, up to the largest that is worth it; beyond, times go on along the
 * line through the last two. */
#include "train_accelerator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "accelerate/iteration.h"
#include "core/alloc.h"
#include "core/file.h"
#include "core/progress.h"
#include "core/value.h"
#include "planner/planner.h"
#include "problem.h"
#include "train_bars.h"

enum { MAX_ALGORITHMS = 16, MIN_BYTES = 4096 };

typedef struct {
    const cli_arguments *arguments;
    banyan_accelerator accelerator;
    banyan_dnn *dnn;
    cli_problem problem;
    banyan_predict_config config;
    int64_t samples;
    int wants_whole, wants_layers;
    double largest_bytes;
    int algorithm_count;
    char algorithms[MAX_ALGORITHMS][48];
    int size_count;
    double *sizes, *seconds; /* ascending, and what the current algorithm takes */
    banyan_progress bar;
    cli_iterations results;
} training;

static banyan_status read_algorithms(training *t, banyan_error *err)
{
    const char *list = cli_get(t->arguments, "algo");
    const banyan_algorithm *found;

    for (list = list ? list : "auto"; *list;) {
        size_t length = strcspn(list, ",");
        char *name;
        banyan_status status;

        if (t->algorithm_count == MAX_ALGORITHMS)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "--algo has more than %d names", MAX_ALGORITHMS);
        name = t->algorithms[t->algorithm_count];
        snprintf(name, sizeof t->algorithms[0], "%.*s", (int)(length < 47 ? length : 47), list);
        list += length + (list[length] == ',');
        status = strcmp(name, "auto") ? banyan_plan_find(name, &found, err) : BANYAN_SUCCESS;
        if (status)
            return status;
        t->algorithm_count++;
    }
    return t->algorithm_count ? BANYAN_SUCCESS
                              : banyan_fail(err, BANYAN_INVALID_ARGUMENT, "--algo names no algorithm");
}

static banyan_status read_overlap(training *t, banyan_error *err)
{
    const char *text = cli_get(t->arguments, "overlap");
    int choice = 0;
    banyan_status status =
        text ? banyan_value_choice(text, "both|none|layers", &choice, err) : BANYAN_SUCCESS;

    if (status)
        banyan_error_prefix(err, "--overlap");
    t->wants_whole = choice != 2;
    t->wants_layers = choice != 1;
    return status;
}

static int is_flit(const training *t)
{
    return !strcmp(t->config.model, "flit");
}

static banyan_status read_numbers(training *t, banyan_error *err)
{
    const char *samples = cli_get(t->arguments, "samples"), *largest = cli_get(t->arguments, "largest");
    banyan_status status = BANYAN_SUCCESS;
    int64_t bytes = 0;

    t->samples = 16;
    if (samples && (status = banyan_value_integer(samples, 1, 1 << 30, &t->samples, err)))
        banyan_error_prefix(err, "--samples");
    t->largest_bytes = is_flit(t) ? 4 << 20 : 1e15;
    if (!status && largest && (status = banyan_value_bytes(largest, &bytes, err)))
        banyan_error_prefix(err, "--largest");
    if (!status && largest && bytes < 4 * MIN_BYTES)
        status = banyan_fail(err, BANYAN_INVALID_ARGUMENT, "--largest is at least %d bytes", 4 * MIN_BYTES);
    if (!status && largest)
        t->largest_bytes = (double)bytes;
    return status;
}

static banyan_status read_all(training *t, banyan_error *err)
{
    const char *simulator = cli_get(t->arguments, "simulator"), *topo = cli_get(t->arguments, "topo");
    banyan_status status;

    if (!topo)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "--accelerator needs a network: --topo torus:8x8");
    t->config = (banyan_predict_config)BANYAN_PREDICT_CONFIG_INITIALIZER;
    t->config.model = simulator ? simulator : "fluid";
    t->config.flow = cli_get(t->arguments, "flow");
    t->config.flit = cli_get(t->arguments, "flit");
    status = banyan_accelerator_parse(cli_get(t->arguments, "accelerator"), &t->accelerator, err);
    if (status)
        banyan_error_prefix(err, "--accelerator");
    if (!status)
        status = read_overlap(t, err);
    if (!status)
        status = read_numbers(t, err);
    if (!status)
        status = banyan_dnn_load(cli_get(t->arguments, "model"), &t->dnn, err);
    if (!status)
        status = cli_problem_load(t->arguments, topo, &t->problem, err);
    if (!status && t->problem.problem.active_count < 2)
        status = banyan_fail(err, BANYAN_INVALID_ARGUMENT, "a lone worker has nothing to all-reduce");
    if (!status)
        status = read_algorithms(t, err);
    return status;
}

static int by_size(const void *a, const void *b)
{
    double first = *(const double *)a, second = *(const double *)b;

    return (first > second) - (first < second);
}

static double in_range(const training *t, double bytes)
{
    double least = 16.0 * t->problem.problem.active_count;

    least = least > MIN_BYTES ? least : MIN_BYTES;
    return bytes < least ? least : bytes;
}

/* The distinct sizes that layers and whole gradients have, none above the largest; two where times go on in a
 * line. */
static banyan_status find_sizes(training *t, banyan_error *err)
{
    size_t room = (size_t)t->dnn->layer_count + 3;
    int count = 0, has_more = 0;

    t->sizes = banyan_alloc(room, sizeof *t->sizes);
    t->seconds = banyan_alloc(room, sizeof *t->seconds);
    if (!t->sizes || !t->seconds)
        return banyan_fail_memory(err);
    for (int i = 0; i <= t->dnn->layer_count; i++) {
        int is_layer = i < t->dnn->layer_count;
        double bytes = in_range(t, (double)(is_layer ? banyan_layer_parameters(&t->dnn->layers[i])
                                                     : banyan_dnn_parameters(t->dnn)) *
                                       t->accelerator.bytes_per_value);

        if (is_layer ? !t->wants_layers : !t->wants_whole)
            continue;
        if (bytes <= t->largest_bytes)
            t->sizes[count++] = bytes;
        else
            has_more = 1;
    }
    if (has_more) {
        t->sizes[count++] = t->largest_bytes / 2;
        t->sizes[count++] = t->largest_bytes;
    }
    qsort(t->sizes, (size_t)count, sizeof *t->sizes, by_size);
    for (int i = 0; i < count; i++)
        if (!i || t->sizes[i] > t->sizes[t->size_count - 1])
            t->sizes[t->size_count++] = t->sizes[i];
    return BANYAN_SUCCESS;
}

static banyan_status build(training *t, const char *name, size_t bytes, banyan_schedule **out,
                           banyan_error *err)
{
    banyan_problem problem = t->problem.problem;
    const banyan_algorithm *algorithm = banyan_algorithm_find(name);
    banyan_status status;
    banyan_plan plan;

    problem.bytes = bytes;
    problem.is_size_open = 0;
    problem.is_streamed = !is_flit(t);
    if (algorithm) {
        if (t->algorithm_count > 1 && !banyan_plan_takes_parameters(algorithm, &problem))
            problem.parameter_count = 0;
        status = banyan_algorithm_applies(algorithm, &problem, err);
        return status ? status : banyan_algorithm_build(algorithm, &problem, out, err);
    }
    status = banyan_plan_choose(name, &problem, &plan, err);
    if (status)
        return status;
    *out = plan.schedule;
    plan.schedule = NULL;
    banyan_plan_fini(&plan);
    return BANYAN_SUCCESS;
}

static banyan_status simulate_size(training *t, const char *name, int i, banyan_error *err)
{
    banyan_prediction_info info = {.size = sizeof info};
    banyan_prediction *prediction;
    banyan_schedule *schedule;
    banyan_status status = build(t, name, (size_t)t->sizes[i], &schedule, err);

    if (status)
        return status;
    status = banyan_schedule_predict(schedule, t->problem.topology, (size_t)t->sizes[i], &t->config,
                                     &prediction, err);
    if (status)
        cli_blame("simulator", err);
    if (!status)
        status = banyan_prediction_get_info(prediction, &info, err);
    t->seconds[i] = info.total_s;
    banyan_prediction_destroy(prediction);
    banyan_schedule_destroy(schedule);
    return status;
}

static void iterate(training *t, const char *name, int is_overlapped)
{
    banyan_time_by_size times = {t->size_count, t->sizes, t->seconds};
    banyan_iteration_row *row = &t->results.rows[t->results.count];

    snprintf(row->title, sizeof row->title, "%s, %s", name, is_overlapped ? "overlapped" : "not overlapped");
    snprintf(t->results.names[t->results.count], sizeof t->results.names[0], "%s", name);
    t->results.is_overlapped[t->results.count++] = is_overlapped;
    banyan_iterate(&t->accelerator, t->dnn, (int)t->samples, is_overlapped, &times, &row->iteration);
}

static banyan_status simulate_all(training *t, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    banyan_progress_begin(&t->bar, STDERR_FILENO, cli_has(t->arguments, "quiet"), t->config.model,
                          (size_t)(t->algorithm_count * t->size_count));
    for (int a = 0; !status && a < t->algorithm_count; a++) {
        banyan_progress_name(&t->bar, t->algorithms[a]);
        for (int i = 0; !status && i < t->size_count; i++) {
            status = simulate_size(t, t->algorithms[a], i, err);
            banyan_progress_set(&t->bar, (size_t)(a * t->size_count + i + 1));
        }
        if (!status && t->wants_whole)
            iterate(t, t->algorithms[a], 0);
        if (!status && t->wants_layers)
            iterate(t, t->algorithms[a], 1);
    }
    banyan_progress_end(&t->bar);
    return status;
}

static banyan_status draw(training *t, banyan_error *err)
{
    const char *path = cli_get(t->arguments, "svg");
    char title[256], *text;
    banyan_status status;

    if (!path)
        return BANYAN_SUCCESS;
    snprintf(title, sizeof title, "%.60s on %.100s, %lld samples a worker: one iteration", t->dnn->name,
             t->problem.topology->name, (long long)t->samples);
    status = banyan_iterations_draw_svg(title, t->results.rows, t->results.count, &text, err);
    if (status)
        return status;
    status = banyan_file_save(path, text, strlen(text), err);
    banyan_free(text);
    return status;
}

static banyan_status work(training *t, banyan_error *err)
{
    banyan_status status = read_all(t, err);

    if (!status)
        status = find_sizes(t, err);
    if (!status)
        status = simulate_all(t, err);
    if (!status)
        status = draw(t, err);
    if (status)
        return status;
    t->results.dnn = t->dnn;
    t->results.accelerator = t->accelerator;
    t->results.samples = (int)t->samples;
    t->results.topology = t->problem.topology->name;
    t->results.simulator = t->config.model;
    t->results.largest_bytes = t->sizes[t->size_count - 1];
    if (cli_has(t->arguments, "json"))
        return cli_iterations_print_json(&t->results, err);
    cli_iterations_print(&t->results);
    return BANYAN_SUCCESS;
}

int cli_train_accelerator(const cli_arguments *arguments)
{
    training *t = banyan_alloc(1, sizeof *t);
    banyan_error err;
    banyan_status status;

    if (!t) {
        status = banyan_fail_memory(&err);
    } else {
        t->arguments = arguments;
        status = work(t, &err);
        banyan_dnn_destroy(t->dnn);
        cli_problem_fini(&t->problem);
        banyan_free(t->sizes);
        banyan_free(t->seconds);
        banyan_free(t);
    }
    return status ? cli_fail(arguments, status, &err) : CLI_OK;
}
