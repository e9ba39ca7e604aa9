/* SPDX-License-Identifier: Apache-2.0 */
/* group/world_transports.c: what carries the bytes of a world: TCP always, a message engine in its place
 * where one is asked for, and shared memory in front where ranks share a host. Whatever fails first, all of
 * them hear of it. */
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/clock.h"
#include "group/status.h"
#include "group/world_internal.h"
#include "transport/messages.h"
#include "transport/several.h"
#include "transport/shm.h"

static void fail(void *context, banyan_status status, const char *sentence)
{
    banyan_world *world = context;

    BANYAN_WARN(world->log, "the group is over: %s: %s", banyan_status_string(status), sentence);
    banyan_tcp_fail(world->tcp, status, sentence);
    pthread_mutex_lock(&world->lock);
    if (world->messages)
        banyan_messages_fail(world->messages, status, sentence);
    if (world->shm)
        world->shm->transport->abort(world->shm, status, sentence);
    pthread_cond_broadcast(&world->changed);
    pthread_mutex_unlock(&world->lock);
}

static void take_data(void *context, const banyan_hello *hello, int socket)
{
    banyan_tcp_hand_over(((banyan_world *)context)->tcp, hello, socket);
}

static void tend(void *context)
{
    banyan_tcp_tend(((banyan_world *)context)->tcp);
}

void banyan_world_spread(void *context, banyan_status status, const char *sentence)
{
    banyan_control_abort(((banyan_world *)context)->control, status, sentence);
}

void banyan_world_note_loss(void *context, const char *sentence)
{
    banyan_world *world = context;

    BANYAN_WARN(world->log, "%s", sentence);
    pthread_mutex_lock(&world->lock);
    snprintf(world->loss, sizeof world->loss, "%s", sentence);
    pthread_mutex_unlock(&world->lock);
}

const char *banyan_world_name_member(void *context, int member, char *buffer, size_t size)
{
    banyan_world *world = context;
    int rank = member >= 0 && member < world->node_count ? world->rank_of[member] : -1;

    if (rank < 0)
        snprintf(buffer, size, "node %d", member);
    else if (rank >= world->setup->size)
        snprintf(buffer, size, "relay %d (on %.40s)", rank - world->setup->size, world->records[rank].host);
    else
        snprintf(buffer, size, "rank %d (on %.40s)", rank, world->records[rank].host);
    return buffer;
}

/* Relays come after the ranks. */
int banyan_world_node_of(const banyan_setup *setup, int process)
{
    return process < setup->size ? setup->active[process] : setup->relays[process - setup->size];
}

/* Members are nodes; those that are not ranks leave zeros. */
static banyan_status gather_by_node(void *context, const void *mine, size_t bytes, void *all,
                                    int64_t deadline_ns, banyan_error *err)
{
    banyan_world *world = context;
    unsigned char *by_rank = banyan_alloc((size_t)world->size, bytes);
    banyan_status status = by_rank
                               ? banyan_control_gather(world->control, mine, bytes, by_rank, deadline_ns, err)
                               : banyan_fail_memory(err);

    if (!status)
        memset(all, 0, (size_t)world->node_count * bytes);
    for (int i = 0; i < world->node_count && !status; i++)
        if (world->rank_of[i] >= 0)
            memcpy((char *)all + (size_t)i * bytes, by_rank + (size_t)world->rank_of[i] * bytes, bytes);
    banyan_free(by_rank);
    return status;
}

/* The same answer on every rank: all take part in the exchange, or none. */
static int wants_shm(const banyan_world *world)
{
    const char *wish = world->records[0].transport;

    if (strcmp(wish, "auto") != 0 && strncmp(wish, "shm", 3) != 0)
        return 0;
    for (int i = 0; i < world->size; i++)
        for (int k = 0; k < i; k++)
            if (!strcmp(world->records[i].place, world->records[k].place))
                return 1;
    return 0;
}

/* Where shared memory cannot be had, TCP has to do, unless it was asked for by name. */
static banyan_status open_shm(banyan_world *world, const banyan_setup *setup, banyan_error *err)
{
    banyan_shm_meeting meeting = {.exchange = {gather_by_node, world},
                                  .deadline_ns = banyan_clock_ns() + (int64_t)setup->timeout_ms * 1000000,
                                  .ranks = world->rank_of};
    banyan_opening opening = {banyan_world_node_of(setup, world->rank), setup->topology->node_count,
                              &meeting};
    banyan_endpoint *shm = NULL, *both = NULL;
    banyan_status status = banyan_transport_shm.open(&opening, &shm, err);

    if (status)
        return strcmp(world->records[0].transport, "auto") != 0 ? status
                                                                : banyan_control_failure(world->control, err);
    status = banyan_several_create(shm, world->endpoint, &both, err);
    if (status) {
        shm->transport->close(shm);
        return status;
    }
    world->endpoint = both;
    pthread_mutex_lock(&world->lock);
    world->shm = shm;
    pthread_mutex_unlock(&world->lock);
    return BANYAN_SUCCESS;
}

/* The last part of 'shm+ucx', where it is a message engine. */
static const banyan_transport *wanted_engine(const banyan_world *world)
{
    const char *wish = world->records[0].transport, *plus = strchr(wish, '+');
    const banyan_transport *found = banyan_transport_find(plus ? plus + 1 : wish);

    return found == &banyan_transport_mpi || found == &banyan_transport_ucx ? found : NULL;
}

/* An engine that has lost a rank before may not be used again: then TCP has to do. */
static banyan_status open_messages(banyan_world *world, const banyan_setup *setup, banyan_error *err)
{
    banyan_messages_meeting meeting = {
        .exchange = {gather_by_node, world},
        .deadline_ns = banyan_clock_ns() + (int64_t)setup->timeout_ms * 1000000,
        .folder = banyan_settings_string(world->settings, BANYAN_SETTING_PLUGIN_FOLDER),
        .mpi = banyan_settings_string(world->settings, BANYAN_SETTING_MPI),
        .message_bytes = (size_t)banyan_settings_integer(world->settings, BANYAN_SETTING_MESSAGE_BYTES),
        .context = world,
        .name = banyan_world_name_member,
        .spread = banyan_world_spread};
    banyan_opening opening = {banyan_world_node_of(setup, world->rank), setup->topology->node_count,
                              &meeting};
    banyan_endpoint *messages = NULL;
    banyan_status status = wanted_engine(world)->open(&opening, &messages, err);

    if (status == BANYAN_PEER_LOST)
        return banyan_control_failure(world->control, err);
    if (status)
        return status;
    world->endpoint = messages;
    pthread_mutex_lock(&world->lock);
    world->messages = messages;
    pthread_mutex_unlock(&world->lock);
    return BANYAN_SUCCESS;
}

banyan_status banyan_world_begin(banyan_world *world, const banyan_setup *setup, banyan_error *err)
{
    banyan_opening opening = {banyan_world_node_of(setup, world->rank), setup->topology->node_count,
                              &world->meeting};
    banyan_control_handler handler = {world,
                                      fail,
                                      take_data,
                                      banyan_world_hear_left,
                                      banyan_world_hear_want,
                                      banyan_world_hear_plan,
                                      banyan_world_hear_call,
                                      banyan_world_tell_state,
                                      banyan_world_tell_network,
                                      tend};
    char folder[BANYAN_STATUS_FOLDER_TEXT];
    long spare = BANYAN_LISTENER_UNPROVEN;
    banyan_status status =
        banyan_world_reserve_descriptors(world, setup, world->rank, world->size, &spare, err);

    world->meeting.timeout_ms = setup->timeout_ms;
    banyan_control_set_unproven(world->control, spare / 2); /* the other half is for data */
    if (!status)
        status = banyan_transport_tcp.open(&opening, &world->tcp, err);
    world->endpoint = world->tcp;
    banyan_status_folder(banyan_settings_string(world->settings, BANYAN_SETTING_STATUS_FOLDER), folder);
    banyan_control_set_status_folder(world->control, folder);
    banyan_control_name_relays(world->control, setup->size);
    banyan_control_set_fanout(world->control, world->records[0].fanout);
    if (!status)
        status = banyan_control_start(world->control, world->rank, world->size, world->records,
                                      &world->secret, setup->timeout_ms, &handler, err);
    if (!status && wanted_engine(world))
        status = open_messages(world, setup, err);
    if (!status && wants_shm(world))
        status = open_shm(world, setup, err);
    return status;
}
