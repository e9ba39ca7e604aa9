/* SPDX-License-Identifier: Apache-2.0 */
/* nccl/tuner.c: ncclTuner: has NCCL take CollNet's chain for an all-reduce where Banyan's plan is predicted
 * to be faster on the network that BANYAN_TOPO names than NCCL's ring and trees would be there, and leaves
 * everything else to NCCL.
 *
 * NCCL's ring follows the order of the nodes and its tree is a double binary tree; both are predicted as
 * schedules of the same names, with the same model. Where BANYAN_TOPO names no network or asks to measure
 * one, nothing is known to predict with, and NCCL decides. Predictions are made once per power of four. */
#include <banyan/plan.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/settings.h"
#include "nccl/log.h"
#include "nccl/tables.h"

enum { CLASSES = 32 }; /* sizes of up to 4^class bytes */
enum { UNKNOWN = 0, OURS, THEIRS };

typedef struct {
    banyan_topology *topology; /* NULL: NCCL decides */
    size_t nodes;
    pthread_mutex_t lock;
    char choice[CLASSES]; /* guarded by lock */
} tuner;

static banyan_status load_network(tuner *t, banyan_error *err)
{
    banyan_settings *settings = NULL;
    banyan_topology_info info = {.size = sizeof info};
    const char *name;
    banyan_status status = banyan_settings_load(&settings, err);

    if (status)
        return status;
    name = banyan_settings_string(settings, BANYAN_SETTING_TOPO);
    if (*name && strcmp(name, "probe") != 0)
        status = banyan_topology_load(name, &t->topology, err);
    banyan_settings_destroy(settings);
    if (status || !t->topology)
        return status;
    status = banyan_topology_get_info(t->topology, &info, err);
    if (!status && (size_t)info.worker_count < t->nodes)
        status = banyan_fail(err, BANYAN_MISMATCH, "BANYAN_TOPO has %d workers, NCCL %zu nodes",
                             info.worker_count, t->nodes);
    return status;
}

static nccl_result init(size_t nodes, nccl_logger logger, void **context)
{
    tuner *t = banyan_alloc(1, sizeof *t);
    banyan_error err = {""};

    *context = NULL;
    if (logger)
        banyan_nccl_log_use(logger);
    if (!t)
        return NCCL_SYSTEM_ERROR;
    pthread_mutex_init(&t->lock, NULL);
    t->nodes = nodes;
    if (nodes > 1 && load_network(t, &err)) {
        banyan_nccl_warn("the tuner leaves everything to NCCL: %s", err.text);
        banyan_topology_destroy(t->topology);
        t->topology = NULL;
    }
    *context = t;
    return NCCL_SUCCESS;
}

/* Seconds, or -1 where there is no such plan. */
static double predict(const tuner *t, const char *algorithm, size_t bytes)
{
    banyan_plan_config config = BANYAN_PLAN_CONFIG_INITIALIZER;
    banyan_plan_info info = {.size = sizeof info};
    banyan_plan *plan = NULL;
    char active[32];
    double seconds = -1;

    snprintf(active, sizeof active, "0-%zu", t->nodes - 1);
    config.active = active;
    config.algorithm = algorithm;
    config.bytes = bytes;
    if (!banyan_plan_create(t->topology, &config, &plan, NULL) && !banyan_plan_get_info(plan, &info, NULL))
        seconds = info.predicted_s;
    banyan_plan_destroy(plan);
    return seconds;
}

static int decide(const tuner *t, size_t bytes)
{
    double ours = predict(t, "auto", bytes), ring = predict(t, "ring", bytes),
           tree = predict(t, "double-tree", bytes);
    double theirs = ring < 0 || (tree >= 0 && tree < ring) ? tree : ring;
    int is_ours = ours >= 0 && (theirs < 0 || ours < theirs);

    banyan_nccl_info(NCCL_LOG_TUNING,
                     "all-reduces of up to %zu bytes: Banyan %.3g s, ring %.3g s, tree %.3g s: %s", bytes,
                     ours, ring, tree, is_ours ? "Banyan" : "NCCL decides");
    return is_ours ? OURS : THEIRS;
}

static int is_ours(tuner *t, int function, size_t bytes)
{
    size_t most = 1;
    int class = 0, choice;

    if (!t || !t->topology || function != NCCL_FUNCTION_ALLREDUCE)
        return 0;
    for (; most < bytes && class < CLASSES - 1; class ++)
        most *= 4;
    pthread_mutex_lock(&t->lock);
    if (t->choice[class] == UNKNOWN)
        t->choice[class] = (char)decide(t, most);
    choice = t->choice[class];
    pthread_mutex_unlock(&t->lock);
    return choice == OURS;
}

static nccl_result destroy(void *context)
{
    tuner *t = context;

    if (!t)
        return NCCL_SUCCESS;
    banyan_topology_destroy(t->topology);
    pthread_mutex_destroy(&t->lock);
    banyan_free(t);
    return NCCL_SUCCESS;
}

/* ---- The versions. */

static nccl_result init_v2(size_t ranks, size_t nodes, nccl_logger logger, void **context)
{
    (void)ranks;
    return init(nodes, logger, context);
}

static nccl_result init_v5(void **context, uint64_t id, size_t ranks, size_t nodes, nccl_logger logger,
                           void *domains, void *constants)
{
    (void)id;
    (void)ranks;
    (void)domains;
    (void)constants;
    return init(nodes, logger, context);
}

static nccl_result choose_v2(void *context, int function, size_t bytes, int has_collnet, int has_nvls,
                             int operation_count, int *algorithm, int *protocol, int *channels)
{
    (void)has_nvls;
    (void)operation_count;
    (void)channels;
    if (has_collnet && is_ours(context, function, bytes)) {
        *algorithm = NCCL_ALGORITHM_COLLNET_CHAIN;
        *protocol = NCCL_PROTOCOL_SIMPLE;
    }
    return NCCL_SUCCESS;
}

static nccl_result choose_v4(void *context, int function, size_t bytes, int operation_count, void *costs,
                             int algorithm_count, int protocol_count, int has_registered_buffers,
                             int *channels)
{
    float *chain =
        (float *)costs + (ptrdiff_t)NCCL_ALGORITHM_COLLNET_CHAIN * protocol_count + NCCL_PROTOCOL_SIMPLE;

    (void)operation_count;
    (void)has_registered_buffers;
    (void)channels;
    if (algorithm_count > NCCL_ALGORITHM_COLLNET_CHAIN && protocol_count > NCCL_PROTOCOL_SIMPLE &&
        *chain >= 0 && is_ours(context, function, bytes))
        *chain = 0; /* less than any prediction */
    return NCCL_SUCCESS;
}

static nccl_result choose_v3(void *context, int function, size_t bytes, int operation_count, void *costs,
                             int algorithm_count, int protocol_count, int *channels)
{
    return choose_v4(context, function, bytes, operation_count, costs, algorithm_count, protocol_count, 0,
                     channels);
}

static const char name[] = "Banyan";

const nccl_tuner_v2 ncclTunerPlugin_v2 = {name, init_v2, choose_v2, destroy};
const nccl_tuner_v3 ncclTunerPlugin_v3 = {name, init_v2, choose_v3, destroy};
const nccl_tuner_v4 ncclTunerPlugin_v4 = {name, init_v2, choose_v4, destroy};
const nccl_tuner_v5 ncclTunerPlugin_v5 = {name, init_v5, choose_v4, destroy};
const nccl_tuner_v6 ncclTunerPlugin_v6 = {name, init_v5, choose_v4, destroy, NULL};
