/* SPDX-License-Identifier: Apache-2.0 */
/* cli/train_cost.c: what an all-reduce costs, as the user says it, as the planner predicts it, or as
 * nccl-tests measured it.
 *
 * The planner is asked for sizes from 4 KiB up to the whole model, each four times the one before; between
 * them time is taken to grow evenly. A line through all would be wrong by up to a fifth where one algorithm
 * takes over from another. */
#include "train_cost.h"

#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/file.h"
#include "planner/planner.h"
#include "problem.h"
#include "topology/nccl_tests.h"

enum { MAX_SIZES = 16, MIN_BYTES = 4096 };

static double model_bytes(const banyan_model *model)
{
    double bytes = 0;

    for (int i = 0; i < model->tensor_count; i++)
        bytes += (double)model->tensors[i].bytes;
    return bytes;
}

static banyan_status predict(const char *algorithm, cli_problem *problem, double bytes, double *seconds,
                             banyan_error *err)
{
    banyan_status status;
    banyan_plan plan;

    problem->problem.bytes = (size_t)bytes;
    problem->problem.is_size_open = 0;
    status = banyan_plan_choose(algorithm, &problem->problem, &plan, err);
    if (status)
        return status;
    *seconds = plan.predicted_s;
    banyan_plan_fini(&plan);
    return BANYAN_SUCCESS;
}

static banyan_status fit(const char *algorithm, cli_problem *problem, double most_bytes, cli_cost *out,
                         banyan_error *err)
{
    double bytes[MAX_SIZES], seconds[MAX_SIZES];
    int count = 0, is_last = 0;

    if (problem->problem.active_count < 2)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "a lone worker has nothing to all-reduce");
    for (double size = MIN_BYTES; count < MAX_SIZES && !is_last; size *= 4) {
        banyan_status status;

        is_last = size >= most_bytes && count > 0;
        bytes[count] = is_last && most_bytes > bytes[count - 1] ? most_bytes : size;
        status = predict(algorithm, problem, bytes[count], &seconds[count], err);
        if (status)
            return status;
        count++;
    }
    return banyan_cost_table(bytes, seconds, count, &out->cost, &out->worst_error, err);
}

static banyan_status load_from_planner(const cli_arguments *arguments, const banyan_model *model,
                                       cli_cost *out, banyan_error *err)
{
    const char *spec = cli_get(arguments, "topo"), *algorithm = cli_get(arguments, "algo");
    cli_problem problem;
    banyan_status status = cli_problem_load(arguments, spec, &problem, err);

    if (status)
        return status;
    if (!algorithm)
        algorithm = "auto";
    status = fit(algorithm, &problem, model_bytes(model), out, err);
    snprintf(out->source, sizeof out->source, "%.60s on %.150s", algorithm, problem.topology->name);
    cli_problem_fini(&problem);
    return status;
}

/* A table has room for BANYAN_MAX_POINTS sizes: of more, every second one is left out, repeatedly. */
static banyan_status take_rows(const banyan_nccl_tests *results, cli_cost *out, banyan_error *err)
{
    double bytes[BANYAN_MAX_POINTS], seconds[BANYAN_MAX_POINTS];
    int step = 1, count = 0;

    while ((results->row_count + step - 1) / step > BANYAN_MAX_POINTS)
        step *= 2;
    for (int i = (results->row_count - 1) % step; i < results->row_count; i += step) {
        bytes[count] = results->rows[i].bytes;
        seconds[count++] = results->rows[i].seconds;
    }
    return banyan_cost_table(bytes, seconds, count, &out->cost, &out->worst_error, err);
}

static banyan_status load_from_nccl_tests(const char *path, cli_cost *out, banyan_error *err)
{
    banyan_nccl_tests *results = NULL;
    banyan_status status;
    size_t length;
    char *text;

    status = banyan_file_load(path, &text, &length, err);
    if (status)
        return status;
    status = banyan_nccl_tests_parse(text, length, &results, err);
    if (!status && strcmp(results->program, "all_reduce_perf") != 0)
        status = banyan_fail(err, BANYAN_INVALID_ARGUMENT, "it is of %s, not of all_reduce_perf",
                             *results->program ? results->program : "an unknown program");
    if (!status)
        status = take_rows(results, out, err);
    if (status)
        banyan_error_prefix(err, path);
    else
        snprintf(out->source, sizeof out->source, "%.150s, measured on %d ranks", path, results->rank_count);
    banyan_nccl_tests_destroy(results);
    banyan_free(text);
    return status;
}

banyan_status cli_cost_load(const cli_arguments *arguments, const banyan_model *model, cli_cost *out,
                            banyan_error *err)
{
    const char *text = cli_get(arguments, "cost");

    if (!!text == cli_has(arguments, "topo"))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           text ? "--cost and --topo exclude one another"
                                : "say what an all-reduce costs: --cost linear:A,B,GAMMA, or --topo SPEC");
    if (!text)
        return load_from_planner(arguments, model, out, err);
    if (banyan_file_exists(text))
        return load_from_nccl_tests(text, out, err);
    out->worst_error = 0;
    snprintf(out->source, sizeof out->source, "%.200s", text);
    return banyan_cost_parse(text, &out->cost, err);
}
