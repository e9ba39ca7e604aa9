/* SPDX-License-Identifier: Apache-2.0 */
/* cli/train.c: banyan train: what each gradient policy makes of a model on a network. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/file.h"
#include "core/near.h"
#include "core/value.h"
#include "train_cost.h"

static const cli_option options[] = {
    {"model", 'm', "NAME", "a model that comes with Banyan, such as resnet152, or a CSV file"},
    {"policy", 'p', "LIST", "policies with commas between, optimal:2 for two streams, or all (default: all)"},
    {"cost", 0, "COST",
     "linear:A,B[,GAMMA[,LINK]]: start-up in s, s per byte, contention, link's s per byte"},
    {"topo", 0, "SPEC", "take the cost from the planner, on this network"},
    {"algo", 'a', "NAME", "with --topo: algorithm, or auto for the best at each size (default: auto)"},
    {"active", 0, "RANKS", "with --topo: workers that hold data, such as 0,1,4-7 (default: all)"},
    {"forward", 0, "TIME", "time of forward, such as 91ms (default: half of backward)"},
    {"element-bytes", 0, "N", "bytes of an element (default: 4)"},
    {"svg", 0, "FILE", "draw the timelines"},
    {"trace", 0, "FILE", "write the timelines as Chrome trace JSON"},
    {NULL, 0, NULL, NULL}};

enum { MOST_RESULTS = 64 };

typedef struct {
    banyan_model *model;
    cli_cost cost;
    int count;
    char names[MOST_RESULTS][48];
    banyan_training trainings[MOST_RESULTS];
    banyan_grouping *groupings[MOST_RESULTS];
} results;

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
static banyan_status add_policy(results *r, const char *text, banyan_error *err)
{
    banyan_train_problem problem = {.model = r->model, .cost = &r->cost.cost};
    char name[48];
    char *colon;
    const banyan_policy *policy;
    banyan_status status;
    int64_t streams;

    if (r->count == MOST_RESULTS)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "more than %d policies", MOST_RESULTS);
    snprintf(name, sizeof name, "%s", text);
    colon = strchr(name, ':');
    if (colon) {
        status = banyan_value_integer(colon + 1, 1, BANYAN_MOST_STREAMS, &streams, err);
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
static banyan_status add_all(results *r, banyan_error *err)
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

static banyan_status add_list(results *r, const char *list, banyan_error *err)
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

static double total_bytes(const banyan_model *model)
{
    double bytes = 0;

    for (int i = 0; i < model->tensor_count; i++)
        bytes += (double)model->tensors[i].bytes;
    return bytes;
}

static double gap(const banyan_grouping *g)
{
    return g->iteration_s > g->bound_s ? g->iteration_s / g->bound_s - 1 : 0; /* but for rounding */
}

static double best_of(const results *r)
{
    double best_s = r->groupings[0]->iteration_s;

    for (int i = 1; i < r->count; i++)
        if (r->groupings[i]->iteration_s < best_s)
            best_s = r->groupings[i]->iteration_s;
    return best_s;
}

static void print_table(const results *r)
{
    char bytes[32], forward[32], backward[32], start[32], rate[32];
    const banyan_cost *cost = &r->cost.cost;

    printf("%s: %d tensors, %s; forward %s, backward %s\n", r->model->name, r->model->tensor_count,
           cli_format_bytes(total_bytes(r->model), bytes, sizeof bytes),
           cli_format_seconds(r->model->forward_s, forward, sizeof forward),
           cli_format_seconds(r->model->backward_s, backward, sizeof backward));
    printf("an all-reduce (%s): %s and %s; two at a time each at %.3g of that\n", r->cost.source,
           cli_format_seconds(cost->start_s, start, sizeof start),
           cli_format_rate(1 / cost->s_per_byte, rate, sizeof rate), cost->speed[2]);
    if (r->cost.worst_error > 0.005)
        printf("the line through the planner's predictions errs by at most %.0f %%\n",
               100 * r->cost.worst_error);
    printf("\n%-18s %7s %7s %12s %12s %8s %9s %7s\n", "policy", "streams", "groups", "iteration", "exposed",
           "hidden", "to bound", "x best");
    for (int i = 0; i < r->count; i++) {
        const banyan_grouping *g = r->groupings[i];
        double sent_s = 0;

        for (int k = 0; k < g->group_count; k++)
            sent_s += banyan_cost_seconds(cost, (double)g->groups[k].bytes);
        printf("%-18s %7d %7d %12s %12s %6.1f %% %7.2f %% %7.3f\n", r->names[i], g->streams, g->group_count,
               cli_format_seconds(g->iteration_s, forward, sizeof forward),
               cli_format_seconds(g->exposed_comm_s, backward, sizeof backward),
               g->exposed_comm_s < sent_s ? 100 * (1 - g->exposed_comm_s / sent_s) : 0, 100 * gap(g),
               g->iteration_s / best_of(r));
    }
    printf(
        "\nexposed: what neither forward nor backward hides; to bound: above what no grouping with as many "
        "streams beats\n");
}

static void add_result(banyan_text *text, const char *name, const banyan_grouping *g)
{
    char digest[17];

    banyan_grouping_digest(g, digest);
    banyan_text_add(text, "{\"policy\":");
    banyan_text_add_json_string(text, name);
    banyan_text_add(text, ",\"streams\":%d,\"groups\":%d,\"parts\":%d,", g->streams, g->group_count,
                    g->part_count);
    cli_json_number(text, "iteration_s", g->iteration_s);
    banyan_text_add(text, ",");
    cli_json_number(text, "forward_s", g->forward_s);
    banyan_text_add(text, ",");
    cli_json_number(text, "backward_s", g->backward_s);
    banyan_text_add(text, ",");
    cli_json_number(text, "exposed_comm_s", g->exposed_comm_s);
    banyan_text_add(text, ",");
    cli_json_number(text, "bound_s", g->bound_s);
    banyan_text_add(text, ",");
    cli_json_number(text, "gap", gap(g));
    banyan_text_add(text, ",");
    cli_json_number(text, "planning_s", g->planning_s);
    banyan_text_add(text, ",\"digest\":\"%s\"}", digest);
}

static banyan_status print_json(const results *r, banyan_error *err)
{
    const banyan_cost *cost = &r->cost.cost;
    banyan_text text = BANYAN_TEXT_EMPTY;
    double bound_s = r->groupings[0]->bound_s;
    banyan_status status;
    char *out;

    for (int i = 1; i < r->count; i++)
        if (r->groupings[i]->bound_s < bound_s)
            bound_s = r->groupings[i]->bound_s;
    banyan_text_add(&text, "{\"model\":");
    banyan_text_add_json_string(&text, r->model->name);
    banyan_text_add(&text, ",\"tensors\":%d,", r->model->tensor_count);
    cli_json_number(&text, "bytes", total_bytes(r->model));
    banyan_text_add(&text, ",\"cost\":{\"source\":");
    banyan_text_add_json_string(&text, r->cost.source);
    banyan_text_add(&text, ",");
    cli_json_number(&text, "start_s", cost->start_s);
    banyan_text_add(&text, ",");
    cli_json_number(&text, "s_per_byte", cost->s_per_byte);
    banyan_text_add(&text, ",");
    cli_json_number(&text, "fit_error", r->cost.worst_error);
    banyan_text_add(&text, ",\"speed\":[");
    for (int c = 1; c <= BANYAN_MOST_STREAMS; c++) {
        banyan_text_add(&text, "%s", c > 1 ? "," : "");
        banyan_text_add_number(&text, cost->speed[c]);
    }
    banyan_text_add(&text, "]},");
    cli_json_number(&text, "bound_s", bound_s);
    banyan_text_add(&text, ",\"results\":[");
    for (int i = 0; i < r->count; i++) {
        banyan_text_add(&text, "%s\n", i ? "," : "");
        add_result(&text, r->names[i], r->groupings[i]);
    }
    banyan_text_add(&text, "]}");
    status = banyan_text_take(&text, &out, err);
    if (!status)
        printf("%s\n", out);
    banyan_free(out);
    return status;
}

typedef banyan_status exporter(const banyan_model *model, const banyan_training *trainings, int count,
                               char **out, banyan_error *err);

static banyan_status write_picture(const results *r, const char *path, exporter *export, banyan_error *err)
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

static banyan_status work(const cli_arguments *arguments, results *r, banyan_error *err)
{
    const char *list = cli_get(arguments, "policy");
    banyan_status status = load_model(arguments, &r->model, err);

    if (!status)
        status = cli_cost_load(arguments, r->model, &r->cost, err);
    if (!status)
        status = add_list(r, list ? list : "all", err);
    if (!status)
        status = write_picture(r, cli_get(arguments, "svg"), banyan_training_draw_svg, err);
    if (!status)
        status = write_picture(r, cli_get(arguments, "trace"), banyan_training_export_trace, err);
    if (!status && cli_has(arguments, "json"))
        return print_json(r, err);
    if (!status)
        print_table(r);
    return status;
}

static int run(const cli_arguments *arguments)
{
    results *r;
    banyan_error err;
    banyan_status status;

    if (!cli_has(arguments, "model"))
        return cli_usage_error(arguments, "name a model: --model resnet152, or a CSV file");
    r = banyan_alloc(1, sizeof *r);
    status = r ? work(arguments, r, &err) : banyan_fail_memory(&err);
    for (int i = 0; r && i < r->count; i++)
        banyan_grouping_destroy(r->groupings[i]);
    if (r)
        banyan_model_destroy(r->model);
    banyan_free(r);
    return status ? cli_fail(arguments, status, &err) : CLI_OK;
}

const cli_verb cli_verb_train = {
    .name = "train",
    .usage =
        "--model NAME|FILE [--policy LIST] --cost linear:A,B[,GAMMA[,LINK]] [--svg FILE] [--trace FILE]\n"
        "--model NAME|FILE [--policy LIST] --topo SPEC [--algo NAME] [--active RANKS]",
    .summary = "iteration time of a model under each gradient policy, and how good it can get",
    .takes_parameters = 1,
    .options = options,
    .run = run};
