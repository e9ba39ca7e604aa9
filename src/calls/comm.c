/* SPDX-License-Identifier: Apache-2.0 */
/* calls/comm.c: the life of a communicator. */
#include <stdatomic.h>
#include <stdio.h>

#include "calls/comm.h"
#include "calls/learning.h"
#include "calls/stragglers.h"
#include "core/alloc.h"

static void free_handle(banyan_comm *comm)
{
    if (!comm)
        return;
    if (comm->endpoint && !comm->group->world)
        comm->endpoint->transport->close(comm->endpoint);
    banyan_learning_destroy(comm->learning);
    banyan_stragglers_destroy(comm->stragglers);
    banyan_free(comm->scratch);
    banyan_free(comm->parts);
    pthread_mutex_destroy(&comm->lock);
    pthread_mutex_destroy(&comm->device_lock);
    banyan_free(comm);
}

static banyan_status make_handle(banyan_group *group, int rank, banyan_comm **out, banyan_error *err)
{
    banyan_opening opening = {group->setup.active[rank], group->setup.topology->node_count, group->hub};
    banyan_comm *comm = banyan_alloc(1, sizeof *comm);
    banyan_status status;

    if (!comm)
        return banyan_fail_memory(err);
    pthread_mutex_init(&comm->lock, NULL);
    pthread_mutex_init(&comm->device_lock, NULL);
    comm->group = group;
    comm->rank = rank;
    status = banyan_transport_memory.open(&opening, &comm->endpoint, err);
    if (status)
        free_handle(comm);
    else
        *out = comm;
    return status;
}

void banyan_comm_report(const banyan_config *config, const banyan_error *err)
{
    if (config && config->magic == BANYAN_CONFIG_MAGIC &&
        config->size >= offsetof(banyan_config, error_bytes) + sizeof config->error_bytes && config->error &&
        config->error_bytes)
        snprintf(config->error, config->error_bytes, "%s", err->text);
}

banyan_status banyan_comm_wrap(banyan_setup *setup, banyan_world *world, banyan_comm **out, banyan_error *err)
{
    banyan_comm *comm = banyan_alloc(1, sizeof *comm);
    banyan_group *group = NULL;
    banyan_status status = comm ? banyan_group_create(setup, world, &group, err) : banyan_fail_memory(err);

    *out = NULL;
    if (status) {
        banyan_world_destroy(world);
        banyan_setup_fini(setup);
        banyan_free(comm);
        return status;
    }
    banyan_world_bind(world, &group->setup);
    pthread_mutex_init(&comm->lock, NULL);
    pthread_mutex_init(&comm->device_lock, NULL);
    comm->group = group;
    comm->rank = banyan_world_rank(world);
    comm->endpoint = banyan_world_endpoint(world);
    *out = comm;
    banyan_world_show_network(world,
                              &(banyan_picture){.origin = group->setup.is_default_topology
                                                              ? BANYAN_PICTURE_GUESSED
                                                              : BANYAN_PICTURE_TOLD},
                              group->setup.topology);
    if (group->setup.wants_probe)
        return banyan_comm_plan_from_probe(out, err);
    status = banyan_learning_create(comm, &comm->learning, err);
    if (!status)
        status = banyan_stragglers_create(comm, &comm->stragglers, err);
    if (status) {
        banyan_comm_destroy(comm);
        *out = NULL;
    }
    return status;
}

banyan_status banyan_comm_open_all(banyan_setup *setup, banyan_comm **comms, banyan_error *err)
{
    banyan_group *group = NULL;
    int size = setup->size;
    banyan_status status;

    for (int i = 0; i < size; i++)
        comms[i] = NULL;
    status = banyan_setup_open_log(setup, 0, err);
    if (!status)
        status = banyan_group_create(setup, NULL, &group, err);
    for (int i = 0; i < size && !status; i++)
        status = make_handle(group, i, &comms[i], err);
    for (int i = 0; i < size && status; i++) {
        free_handle(comms[i]);
        comms[i] = NULL;
    }
    if (status)
        banyan_group_destroy(group);
    return status;
}

static banyan_status init_all(banyan_comm **comms, int size, const banyan_config *config, banyan_error *err)
{
    banyan_setup setup;
    banyan_status status = banyan_setup_init(&setup, config, size, err);

    if (status)
        return status;
    status = banyan_comm_open_all(&setup, comms, err);
    banyan_setup_fini(&setup); /* empty when the group has it */
    return status;
}

banyan_status banyan_comm_init_all(banyan_comm **comms, int size, const banyan_config *config)
{
    banyan_error err = {""};
    banyan_status status;

    if (!comms)
        return BANYAN_INVALID_ARGUMENT;
    status = init_all(comms, size, config, &err);
    if (status)
        banyan_comm_report(config, &err);
    return status;
}

banyan_status banyan_comm_destroy(banyan_comm *comm)
{
    banyan_group *group;

    if (!comm)
        return BANYAN_SUCCESS;
    group = comm->group;
    banyan_worker_stop(comm);
    banyan_comm_device_destroy(comm);
    banyan_group_part(group, comm->rank, comm->endpoint);
    free_handle(comm);
    if (banyan_group_release(group)) {
        banyan_clones_destroy(group);
        banyan_group_destroy(group);
    }
    return BANYAN_SUCCESS;
}

void banyan_comm_end(banyan_comm *comm, banyan_status status, const char *sentence)
{
    if (comm->group->world)
        banyan_control_abort(banyan_world_control(comm->group->world), status, sentence);
    else
        comm->endpoint->transport->abort(comm->endpoint, status, sentence);
}

banyan_status banyan_comm_abort(banyan_comm *comm)
{
    char sentence[64];

    if (!comm)
        return BANYAN_INVALID_ARGUMENT;
    snprintf(sentence, sizeof sentence, "rank %d aborted the communicator", comm->rank);
    banyan_comm_end(comm, BANYAN_REMOTE_ERROR, sentence);
    return BANYAN_SUCCESS;
}

banyan_status banyan_comm_set_timeout(banyan_comm *comm, int timeout_ms)
{
    if (!comm || timeout_ms <= 0)
        return BANYAN_INVALID_ARGUMENT;
    atomic_store(&comm->group->setup.timeout_ms, timeout_ms);
    return BANYAN_SUCCESS;
}

banyan_status banyan_comm_get_async_error(banyan_comm *comm, banyan_status *async_error)
{
    if (!comm || !async_error)
        return BANYAN_INVALID_ARGUMENT;
    if (comm->group->world)
        *async_error = banyan_control_failure(banyan_world_control(comm->group->world), NULL);
    else
        *async_error = comm->endpoint->transport->failure(comm->endpoint, NULL);
    return BANYAN_SUCCESS;
}

banyan_status banyan_comm_rank(const banyan_comm *comm, int *rank)
{
    if (!comm || !rank)
        return BANYAN_INVALID_ARGUMENT;
    *rank = comm->rank;
    return BANYAN_SUCCESS;
}

banyan_status banyan_comm_size(const banyan_comm *comm, int *size)
{
    if (!comm || !size)
        return BANYAN_INVALID_ARGUMENT;
    *size = comm->group->setup.size;
    return BANYAN_SUCCESS;
}

const char *banyan_last_error(const banyan_comm *comm)
{
    return comm ? comm->err.text : "";
}
