/* SPDX-License-Identifier: Apache-2.0 */
/* plan/bounds.c: bounds for users of the library, as figures, a sentence and a text that anybody can
 * check. All of it is made at once, so that the handle needs neither the topology nor the certificates
 * afterwards. */
#include <math.h>
#include <string.h>

#include "bound/bound.h"
#include "bound/json.h"
#include "bound/staged_json.h"
#include "core/alloc.h"
#include "core/file.h"
#include "core/sized.h"
#include "plan/problem.h"

struct banyan_bounds {
    banyan_bounds_info info; /* its texts are those below */
    char *explanation, *json;
};

/* What was asked, with the config's texts read. */
typedef struct {
    const banyan_topology *topology;
    int *active, active_count; /* own */
    banyan_relays relays;
    int is_patient;
    int is_single; /* only the all-reduce is asked for */
    size_t bytes;
} question;

/* A bound is what plans are compared with, so it does not depend on the size of a vector. */
static banyan_status read_effort(const char *text, question *out, banyan_error *err)
{
    const banyan_problem problem = {.bytes = out->bytes, .active_count = out->active_count};
    banyan_effort effort;
    banyan_status status = banyan_plan_read_effort(text ? text : banyan_effort_name(BANYAN_EFFORT_MEASURE),
                                                   &problem, &effort, err);

    out->is_patient = effort == BANYAN_EFFORT_PATIENT;
    return status;
}

static banyan_status read_question(const banyan_topology *topology, const banyan_bounds_config *config,
                                   question *out, banyan_error *err)
{
    banyan_status status = banyan_check_vector_bytes(config->bytes, err);

    *out = (question){.topology = topology,
                      .relays = BANYAN_RELAYS_ADD,
                      .bytes = config->bytes ? config->bytes : BANYAN_PLAN_DEFAULT_BYTES};
    if (!status && config->collective && strcmp(config->collective, "allreduce") != 0)
        status = banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                             "collective is '%.40s'; it can be allreduce or NULL", config->collective);
    out->is_single = config->collective != NULL;
    if (!status && config->relays)
        status = banyan_relays_parse(config->relays, &out->relays, err);
    if (!status)
        status =
            banyan_topology_parse_active(topology, config->active, &out->active, &out->active_count, err);
    return status ? status : read_effort(config->effort, out, err);
}

static banyan_status describe(const question *asked, const banyan_bound *bound, banyan_bounds *out,
                              banyan_error *err)
{
    banyan_status status = asked->is_single
                               ? BANYAN_SUCCESS
                               : banyan_bound_format(asked->topology, asked->active, asked->active_count,
                                                     bound, &out->json, err);

    if (!status)
        status = banyan_bound_explain(asked->topology, asked->active, asked->active_count, bound,
                                      &out->explanation, err);
    if (status)
        return status;
    out->info.allreduce_bytes_per_s = bound->allreduce.bytes_per_s;
    out->info.allreduce_is_tight = bound->allreduce.is_tight;
    out->info.is_proven = 1;
    if (asked->is_single)
        return BANYAN_SUCCESS;
    out->info.allgather_bytes_per_s = bound->allgather.bytes_per_s;
    out->info.reducescatter_bytes_per_s = bound->reducescatter.bytes_per_s;
    out->info.allgather_is_tight = bound->allgather.is_tight;
    out->info.reducescatter_is_tight = bound->reducescatter.is_tight;
    return BANYAN_SUCCESS;
}

static banyan_status find_allreduce(const question *asked, banyan_bounds *out, banyan_error *err)
{
    banyan_bound found = {.relays = asked->relays};
    banyan_status status =
        banyan_bound_allreduce(asked->topology, asked->active, asked->active_count, asked->relays,
                               &found.allreduce, &found.reached_bytes_per_s, err);

    if (!status)
        status = describe(asked, &found, out, err);
    banyan_bound_fini(&found);
    return status;
}

/* A bound that its own certificates do not prove is never given out. */
static banyan_status find(const question *asked, banyan_bounds *out, banyan_error *err)
{
    banyan_bound found, proven;
    banyan_status status = asked->is_patient
                               ? banyan_bound_search(asked->topology, asked->active, asked->active_count,
                                                     asked->relays, &found, err)
                               : banyan_bound_find(asked->topology, asked->active, asked->active_count,
                                                   asked->relays, &found, err);

    if (status)
        return status;
    status = banyan_bound_derive(asked->topology, asked->active, asked->active_count, &found, &proven, err);
    if (!status) {
        status = describe(asked, &proven, out, err);
        banyan_bound_fini(&proven);
    }
    banyan_bound_fini(&found);
    return status;
}

static banyan_status describe_stages(const banyan_staged_question *asked, const banyan_graph *graph,
                                     const banyan_staged *found, banyan_bounds *out, banyan_error *err)
{
    double sum = banyan_staged_sum(graph, asked->stages, found);
    banyan_status status = banyan_staged_format(asked, graph, found, &out->json, err);

    if (!status)
        status = banyan_staged_explain(asked, graph, found, &out->explanation, err);
    if (status)
        return status;
    out->info.stages_bytes_per_s = sum;
    out->info.allreduce_bytes_per_s = asked->stages == BANYAN_STAGES_PIPELINED ? sum : sum / 2;
    out->info.is_proven = found->proven;
    out->info.reached_share = found->reached / found->chi;
    return BANYAN_SUCCESS;
}

static banyan_status find_stages(const question *asked, const char *stages, banyan_bounds *out,
                                 banyan_error *err)
{
    banyan_staged_question staged = {.topology = asked->topology,
                                     .active = asked->active,
                                     .active_count = asked->active_count,
                                     .relays = asked->relays,
                                     .bytes = (double)asked->bytes};
    banyan_staged found = {0};
    banyan_graph *graph = NULL;
    banyan_status status = banyan_stages_parse(stages, &staged.stages, err);

    if (!status)
        status = banyan_topology_check_connected(asked->topology, asked->active, asked->active_count, err);
    if (!status && asked->active_count < 2)
        status = banyan_fail(err, BANYAN_INVALID_ARGUMENT, "one active worker: nothing has to move");
    if (!status)
        status = banyan_network_graph(asked->topology, asked->active, asked->active_count, asked->relays,
                                      &graph, err);
    if (!status)
        status = banyan_staged_solve(graph, staged.stages, &found, err);
    if (!status)
        status = describe_stages(&staged, graph, &found, out, err);
    banyan_staged_fini(&found);
    banyan_graph_destroy(graph);
    return status;
}

static banyan_status make(const banyan_topology *topology, const banyan_bounds_config *config,
                          banyan_bounds *out, banyan_error *err)
{
    question asked;
    banyan_status status = read_question(topology, config, &asked, err);

    out->info = (banyan_bounds_info){.active_count = asked.active_count,
                                     .bytes = asked.bytes,
                                     .allreduce_bytes_per_s = NAN,
                                     .allgather_bytes_per_s = NAN,
                                     .reducescatter_bytes_per_s = NAN,
                                     .stages_bytes_per_s = NAN,
                                     .reached_share = NAN};
    if (!status)
        status = config->stages                         ? find_stages(&asked, config->stages, out, err)
                 : asked.is_single && !asked.is_patient ? find_allreduce(&asked, out, err)
                                                        : find(&asked, out, err);
    banyan_free(asked.active);
    out->info.explanation = out->explanation;
    out->info.json = out->json;
    return status;
}

banyan_status banyan_bounds_create(const banyan_topology *topology, const banyan_bounds_config *config,
                                   banyan_bounds **out, banyan_error *err)
{
    banyan_bounds_config own = BANYAN_BOUNDS_CONFIG_INITIALIZER;
    banyan_bounds *bounds;
    banyan_status status;

    if (!out)
        return banyan_fail_null("out", err);
    *out = NULL;
    if (!topology)
        return banyan_fail_null("topology", err);
    status = banyan_sized_read(config, &own, "banyan_bounds_config", err);
    if (status)
        return status;
    bounds = banyan_alloc(1, sizeof *bounds);
    status = bounds ? make(topology, &own, bounds, err) : banyan_fail_memory(err);
    if (status) {
        banyan_bounds_destroy(bounds);
        return status;
    }
    *out = bounds;
    return BANYAN_SUCCESS;
}

void banyan_bounds_destroy(banyan_bounds *bounds)
{
    if (!bounds)
        return;
    banyan_free(bounds->explanation);
    banyan_free(bounds->json);
    banyan_free(bounds);
}

banyan_status banyan_bounds_get_info(const banyan_bounds *bounds, banyan_bounds_info *info, banyan_error *err)
{
    if (!bounds)
        return banyan_fail_null("bounds", err);
    return banyan_sized_write(&bounds->info, sizeof bounds->info, info, "banyan_bounds_info", err);
}

banyan_status banyan_bounds_save(const banyan_bounds *bounds, const char *path, banyan_error *err)
{
    if (!bounds || !path)
        return banyan_fail_null(bounds ? "path" : "bounds", err);
    if (!bounds->json)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "a bound of one collective alone has no file");
    return banyan_file_save(path, bounds->json, strlen(bounds->json), err);
}
