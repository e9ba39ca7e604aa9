/* SPDX-License-Identifier: Apache-2.0 */
/* cli/train.c: banyan train: what each gradient policy makes of a model on a network. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/file.h"
#include "core/near.h"
#include "core/value.h"
#include "train_accelerator.h"
#include "train_measure.h"
#include "train_print.h"
#include "train_replay.h"

static const cli_option options[] = {
    {"model", 'm', "NAME", "a model that comes with Banyan, such as resnet152, or a CSV file"},
    {"policy", 'p', "LIST", "policies with commas between, optimal:2 for two streams, or all (default: all)"},
    {"cost", 0, "COST",
     "linear:A,B[,GAMMA[,LINK]]: start-up in s, s per byte, contention, link's s per byte; or a file of "
     "nccl-tests"},
    {"topo", 0, "SPEC", "take the cost from the planner, on this network"},
    {"algo", 'a', "NAME", "with --topo: algorithm, or auto for the best at each size (default: auto)"},
    {"active", 0, "RANKS", "with --topo: workers that hold data, such as 0,1,4-7 (default: all)"},
    {"forward", 0, "TIME", "time of forward, such as 91ms (default: half of backward)"},
    {"element-bytes", 0, "N", "bytes of an element (default: 4)"},
    {"grouping", 0, "FILE", "judge this grouping, too"},
    {"output", 'o', "FILE", "write the grouping of the last policy"},
    {"svg", 0, "FILE", "draw the timelines"},
    {"trace", 0, "FILE", "write the timelines as Chrome trace JSON"},
    CLI_MEASURE_OPTIONS,
    {"accelerator", 0, "ARRAY",
     "layers on systolic arrays: default, or RxC[xN][,clock=HZ][,bytes=N]; needs --topo"},
    {"replay", 0, "FILE", "replay the Chakra trace of one rank with our plans; needs --topo"},
    {"groups", 0, "FILE", "with --replay: the ranks of process groups, as JSON {NAME: [RANK, ...]}"},
    {"samples", 0, "N", "with --accelerator: of the mini-batch, on each worker (default: 16)"},
    {"overlap", 0, "HOW", "with --accelerator: none, layers or both (default: both)"},
    {"simulator", 0, "NAME", "with --accelerator: fluid, walk or flit (default: fluid)"},
    {"largest", 0, "SIZE", "with --accelerator: simulate no larger all-reduce (default with flit: 4MiB)"},
    {"flow", 0, "KIND", "with --simulator flit: packet or message (default: packet)"},
    {"flit", 0, "SETTINGS", "with --simulator flit: as banyan-sim(1) lists them"},
    {NULL, 0, NULL, NULL}};

static banyan_status unknown_policy(const char *name, banyan_error *err)
{
    const char *names[64];
    int count = 0, near;

    while (count < banyan_policy_count() && count < 64) {
        names[count] = banyan_policy_at(count)->name;
        count++;
    }
    near = banyan_near_find(name, names, count);
    if (near >= 0)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "no policy is named %.40s (did you mean %s?)", name,
                           names[near]);
    return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "no policy is named %.40s; try --policy all", name);
}

/* NAME or NAME:STREAMS. */
static banyan_status add_policy(cli_trainings *r, const char *text, banyan_error *err)
{
    banyan_train_problem problem = {.model = r->model, .cost = &r->cost.cost};
    char name[48];
    char *colon;
    const banyan_policy *policy;
    banyan_status status;
    int64_t streams;

    if (r->count == CLI_MAX_TRAININGS)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "more than %d policies", CLI_MAX_TRAININGS);
    snprintf(name, sizeof name, "%s", text);
    colon = strchr(name, ':');
    if (colon) {
        status = banyan_value_integer(colon + 1, 1, BANYAN_MAX_STREAMS, &streams, err);
        if (status) {
            banyan_error_prefix(err, name);
            return status;
        }
        problem.streams = (int)streams;
        *colon = '\0';
    }
    policy = banyan_policy_find(name);
    if (!policy)
        return unknown_policy(name, err);
    status = banyan_policy_plan(policy, &problem, &r->groupings[r->count], err);
    if (status)
        return status;
    snprintf(r->names[r->count], sizeof r->names[0], "%s", text);
    r->trainings[r->count] = (banyan_training){r->names[r->count], r->groupings[r->count]};
    r->count++;
    return BANYAN_SUCCESS;
}

/* Every policy as it likes it; for one that chooses the number of streams also one and two. */
static banyan_status add_all(cli_trainings *r, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    for (int i = 0; !status && i < banyan_policy_count(); i++) {
        const banyan_policy *policy = banyan_policy_at(i);
        char name[48];

        for (int streams = 1; !status && !policy->streams && streams <= 2; streams++) {
            snprintf(name, sizeof name, "%.30s:%d", policy->name, streams);
            status = add_policy(r, name, err);
        }
        if (!status)
            status = add_policy(r, policy->name, err);
    }
    return status;
}

static banyan_status add_list(cli_trainings *r, const char *list, banyan_error *err)
{
    while (*list) {
        size_t length = strcspn(list, ",");
        char name[48];
        banyan_status status;

        snprintf(name, sizeof name, "%.*s", (int)(length < 47 ? length : 47), list);
        status = strcmp(name, "all") ? add_policy(r, name, err) : add_all(r, err);
        if (status)
            return status;
        list += length + (list[length] == ',');
    }
    return r->count ? BANYAN_SUCCESS : banyan_fail(err, BANYAN_INVALID_ARGUMENT, "--policy names none");
}

static banyan_status add_file(cli_trainings *r, const char *path, banyan_error *err)
{
    banyan_status status;
    size_t length;
    char *text;

    if (r->count == CLI_MAX_TRAININGS)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "more than %d policies", CLI_MAX_TRAININGS);
    status = banyan_file_load(path, &text, &length, err);
    if (status)
        return status;
    status = banyan_grouping_parse(text, length, r->model, &r->cost.cost, &r->groupings[r->count], err);
    banyan_free(text);
    if (status) {
        banyan_error_prefix(err, path);
        return status;
    }
    snprintf(r->names[r->count], sizeof r->names[0], "%s", path);
    r->trainings[r->count] = (banyan_training){r->names[r->count], r->groupings[r->count]};
    r->count++;
    return BANYAN_SUCCESS;
}

typedef banyan_status exporter(const banyan_model *model, const banyan_training *trainings, int count,
                               char **out, banyan_error *err);

static banyan_status write_picture(const cli_trainings *r, const char *path, exporter *export,
                                   banyan_error *err)
{
    banyan_status status;
    char *text;

    if (!path)
        return BANYAN_SUCCESS;
    status = export(r->model, r->trainings, r->count, &text, err);
    if (status)
        return status;
    status = banyan_file_save(path, text, strlen(text), err);
    banyan_free(text);
    return status;
}

static banyan_status write_grouping(const cli_arguments *arguments, const banyan_grouping *grouping,
                                    banyan_error *err)
{
    banyan_status status;
    char *text;

    if (!cli_has(arguments, "output"))
        return BANYAN_SUCCESS;
    status = banyan_grouping_format(grouping, &text, err);
    if (!status)
        status = cli_write(arguments, text, err);
    banyan_free(text);
    return status;
}

static banyan_status load_model(const cli_arguments *arguments, banyan_model **out, banyan_error *err)
{
    const char *forward = cli_get(arguments, "forward"), *width = cli_get(arguments, "element-bytes");
    banyan_status status = BANYAN_SUCCESS;
    int64_t element_bytes = 4;
    double forward_s = -1;

    if (width && (status = banyan_value_integer(width, 1, 16, &element_bytes, err)))
        banyan_error_prefix(err, "--element-bytes");
    else if (forward && (status = banyan_value_seconds(forward, 1, &forward_s, err)))
        banyan_error_prefix(err, "--forward");
    if (!status)
        status = banyan_model_load(cli_get(arguments, "model"), (int)element_bytes, out, err);
    if (!status && forward_s >= 0)
        (*out)->forward_s = forward_s;
    return status;
}

/* job is NULL where nothing is measured; of a job rank 0 speaks for all. */
static banyan_status work(const cli_arguments *arguments, cli_job *job, cli_trainings *r, banyan_error *err)
{
    const char *list = cli_get(arguments, "policy");
    banyan_status status = load_model(arguments, &r->model, err);

    if (!status)
        status = job ? cli_job_measure(job, r->model, &r->cost, err)
                     : cli_cost_load(arguments, r->model, &r->cost, err);
    if (!status)
        status = add_list(r, list ? list : job ? "single,ddp,asc-wfbp,optimal" : "all", err);
    if (!status && job)
        status = cli_job_run(job, r, err);
    if (!status && job && job->rank)
        return BANYAN_SUCCESS;
    if (!status)
        status = write_grouping(arguments, r->groupings[r->count - 1], err);
    if (!status && cli_has(arguments, "grouping"))
        status = add_file(r, cli_get(arguments, "grouping"), err);
    if (!status)
        status = write_picture(r, cli_get(arguments, "svg"), banyan_training_draw_svg, err);
    if (!status)
        status = write_picture(r, cli_get(arguments, "trace"), banyan_training_export_trace, err);
    if (!status && cli_has(arguments, "json"))
        return cli_trainings_print_json(r, err);
    if (status)
        return status;
    cli_trainings_print(r);
    cli_say_written(arguments, cli_get(arguments, "output"));
    cli_say_written(arguments, cli_get(arguments, "svg"));
    cli_say_written(arguments, cli_get(arguments, "trace"));
    return BANYAN_SUCCESS;
}

static int run(const cli_arguments *arguments)
{
    int is_measured = cli_has(arguments, "measure"), code;
    cli_job job = {0};
    cli_trainings *r;
    banyan_error err;
    banyan_status status;

    if (cli_has(arguments, "replay"))
        return cli_train_replay(arguments);
    if (!cli_has(arguments, "model"))
        return cli_usage_error(arguments, "name a model: --model resnet152, or a CSV file");
    if (cli_has(arguments, "accelerator"))
        return cli_train_accelerator(arguments);
    if (is_measured && (code = cli_job_join(arguments, &job)) >= 0)
        return code;
    r = banyan_alloc(1, sizeof *r);
    status = r ? work(arguments, is_measured ? &job : NULL, r, &err) : banyan_fail_memory(&err);
    for (int i = 0; r && i < r->count; i++)
        banyan_grouping_destroy(r->groupings[i]);
    if (r)
        banyan_model_destroy(r->model);
    banyan_free(r);
    banyan_comm_destroy(job.comm);
    if (status && job.rank > 0) /* rank 0 says it */
        return CLI_FAILED;
    return status ? cli_fail(arguments, status, &err) : CLI_OK;
}

const cli_verb cli_verb_train = {
    .name = "train",
    .usage =
        "--model NAME|FILE [--policy LIST] --cost linear:A,B[,GAMMA[,LINK]] [--svg FILE] [--trace FILE]\n"
        "--model NAME|FILE [--policy LIST] --topo SPEC [--algo NAME] [--active RANKS]\n"
        "--model NAME|FILE [--policy LIST] --measure [-n RANKS] [--iterations N]\n"
        "--replay FILE --topo SPEC [--algo NAMES] [--active RANKS] [--groups FILE]\n"
        "--accelerator ARRAY --model NAME|FILE --topo SPEC [--algo NAMES] [--simulator NAME] [--overlap HOW]",
    .summary = "iteration time of a model under each gradient policy, and how good it can get",
    .takes_parameters = 1,
    .options = options,
    .run = run};
