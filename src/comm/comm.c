/* SPDX-License-Identifier: Apache-2.0 */
/* comm/comm.c: the life of a communicator. */
#include <stdio.h>

#include "comm/internal.h"
#include "core/alloc.h"

static void free_handle(banyan_comm *comm)
{
    if (!comm)
        return;
    if (comm->endpoint)
        comm->endpoint->transport->close(comm->endpoint);
    banyan_free(comm->scratch);
    pthread_mutex_destroy(&comm->lock);
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
    comm->group = group;
    comm->rank = rank;
    status = banyan_transport_memory.open(&opening, &comm->endpoint, err);
    if (status)
        free_handle(comm);
    else
        *out = comm;
    return status;
}

static banyan_status init_all(banyan_comm **comms, int size, const banyan_config *config, banyan_error *err)
{
    banyan_setup setup;
    banyan_group *group = NULL;
    banyan_status status = banyan_setup_init(&setup, config, size, err);

    if (status)
        return status;
    for (int i = 0; i < size; i++)
        comms[i] = NULL;
    status = banyan_group_create(&setup, &group, err);
    for (int i = 0; i < size && !status; i++)
        status = make_handle(group, i, &comms[i], err);
    for (int i = 0; i < size && status; i++) {
        free_handle(comms[i]);
        comms[i] = NULL;
    }
    if (status)
        banyan_group_destroy(group);
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
    if (status && config && config->magic == BANYAN_CONFIG_MAGIC && config->size >= sizeof *config &&
        config->error && config->error_bytes)
        snprintf(config->error, config->error_bytes, "%s", err.text);
    return status;
}

banyan_status banyan_comm_destroy(banyan_comm *comm)
{
    banyan_group *group;
    int is_last;

    if (!comm)
        return BANYAN_SUCCESS;
    group = comm->group;
    is_last = banyan_group_part(group, comm->rank, comm->endpoint);
    free_handle(comm);
    if (is_last)
        banyan_group_destroy(group);
    return BANYAN_SUCCESS;
}

banyan_status banyan_comm_abort(banyan_comm *comm)
{
    char sentence[64];

    if (!comm)
        return BANYAN_INVALID_ARGUMENT;
    snprintf(sentence, sizeof sentence, "rank %d aborted the communicator", comm->rank);
    comm->endpoint->transport->abort(comm->endpoint, BANYAN_REMOTE_ERROR, sentence);
    return BANYAN_SUCCESS;
}

banyan_status banyan_comm_get_async_error(banyan_comm *comm, banyan_status *async_error)
{
    if (!comm || !async_error)
        return BANYAN_INVALID_ARGUMENT;
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
