/* SPDX-License-Identifier: Apache-2.0 */
/* group/world.c: a world from its making to its end: records, hosts, nodes, transports; and what others ask
 * of it. */
#include "group/world.h"

#include <string.h>

#include "core/alloc.h"
#include "group/world_internal.h"

static banyan_status use_hosts(const banyan_world *world, banyan_setup *setup, banyan_error *err)
{
    const char **names = banyan_alloc((size_t)world->size, sizeof *names);
    banyan_status status;

    if (!names)
        return banyan_fail_memory(err);
    for (int i = 0; i < setup->size; i++)
        names[i] = world->records[i].place;
    status = banyan_setup_use_hosts(setup, names, err);
    banyan_free(names);
    return status;
}

/* Members of the data plane are nodes of the topology. */
static banyan_status map_nodes(banyan_world *world, const banyan_setup *setup, banyan_error *err)
{
    size_t count = (size_t)setup->topology->node_count;

    world->node_count = setup->topology->node_count;
    world->rank_of = banyan_alloc(count, sizeof *world->rank_of);
    world->addresses = banyan_alloc(count, sizeof *world->addresses);
    world->others = banyan_alloc(count, sizeof world->records->others);
    if (!world->rank_of || !world->addresses || !world->others)
        return banyan_fail_memory(err);
    for (size_t i = 0; i < count; i++)
        world->rank_of[i] = -1;
    for (int r = 0; r < world->size; r++) {
        world->rank_of[banyan_world_node_of(setup, r)] = r;
        world->addresses[banyan_world_node_of(setup, r)] = world->records[r].address;
        memcpy(&world->others[banyan_world_node_of(setup, r) * (BANYAN_INTERFACES - 1)],
               world->records[r].others, sizeof world->records[r].others);
    }
    world->meeting.addresses = world->addresses;
    world->meeting.others = world->others;
    world->meeting.interfaces = world->interfaces;
    world->meeting.interface_count = world->interface_count;
    return BANYAN_SUCCESS;
}

static void init_lock(banyan_world *world)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&world->lock, NULL);
    pthread_cond_init(&world->changed, &attributes);
    pthread_condattr_destroy(&attributes);
}

banyan_status banyan_world_create(const banyan_world_options *options, banyan_setup *setup,
                                  banyan_world **out, banyan_error *err)
{
    banyan_world *world = banyan_alloc(1, sizeof *world);
    banyan_status status;

    *out = NULL;
    if (!world)
        return banyan_fail_memory(err);
    init_lock(world);
    world->setup = setup;
    setup->has_no_relays = 1;
    status = banyan_world_read_settings(world, err);
    if (!status && !world->meeting.window_bytes)
        status = banyan_world_choose_window(world, setup, 0, err);
    if (!status)
        status = banyan_world_reserve_descriptors(world, setup, options->rank, options->size, NULL, err);
    if (!status)
        status = banyan_world_meet(world, options, setup, err);
    if (!status)
        status = banyan_setup_open_log(setup, world->rank, err);
    world->log = setup->log;
    if (!status)
        status = use_hosts(world, setup, err);
    if (!status)
        status = map_nodes(world, setup, err);
    if (!status)
        status = banyan_world_open_calls(world, err);
    if (!status && options->is_bound)
        *options->is_bound = 1;
    if (!status)
        status = banyan_world_begin(world, setup, err);
    if (!status) {
        banyan_world_log_start(world, setup);
        *out = world;
        return BANYAN_SUCCESS;
    }
    BANYAN_WARN(setup->log, "joining failed: %s", err ? err->text : banyan_status_string(status));
    banyan_world_destroy(world);
    return status;
}

void banyan_world_destroy(banyan_world *world)
{
    if (!world)
        return;
    banyan_world_leave(world);
    if (world->endpoint)
        world->endpoint->transport->close(world->endpoint);
    if (world->tcp && world->messages)
        world->tcp->transport->close(world->tcp); /* it stood by */
    banyan_world_log_strangers(world);
    banyan_control_destroy(world->control);
    banyan_world_close_calls(world);
    banyan_group_plans_destroy(world->unpublished);
    banyan_picture_fini(&world->picture);
    banyan_settings_destroy(world->settings);
    banyan_free(world->records);
    banyan_free(world->rank_of);
    banyan_free(world->addresses);
    banyan_free(world->others);
    pthread_cond_destroy(&world->changed);
    pthread_mutex_destroy(&world->lock);
    banyan_auth_forget(&world->secret, sizeof world->secret);
    banyan_free(world);
}

void banyan_world_leave(banyan_world *world)
{
    banyan_control_stop(world->control, world->calls_made);
}

void banyan_world_bind(banyan_world *world, const banyan_setup *setup)
{
    world->setup = setup;
}

banyan_status banyan_world_suit_window(banyan_world *world, int is_known, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    if (!banyan_settings_integer(world->settings, BANYAN_SETTING_TCP_WINDOW))
        status = banyan_world_choose_window(world, world->setup, is_known, err);
    if (!status)
        banyan_tcp_set_window(world->tcp, world->meeting.window_bytes);
    return status;
}

void banyan_world_show_network(banyan_world *world, const banyan_picture *facts,
                               const banyan_topology *topology)
{
    pthread_mutex_lock(&world->lock);
    banyan_picture_set(&world->picture, facts, topology);
    pthread_mutex_unlock(&world->lock);
}

void banyan_world_tell_network(void *context, banyan_text *text)
{
    banyan_world *world = context;

    pthread_mutex_lock(&world->lock);
    if (world->picture.host_count)
        banyan_picture_format(&world->picture, text);
    banyan_text_add(text, ",\"loss\":");
    banyan_text_add_json_string(text, world->loss);
    pthread_mutex_unlock(&world->lock);
}

const char *banyan_world_setting(const banyan_world *world, banyan_setting setting)
{
    return banyan_settings_string(world->settings, setting);
}

double banyan_world_seconds(const banyan_world *world, banyan_setting setting)
{
    return banyan_settings_seconds(world->settings, setting);
}

int64_t banyan_world_integer(const banyan_world *world, banyan_setting setting)
{
    return banyan_settings_integer(world->settings, setting);
}

void banyan_world_keep_plan(banyan_world *world, banyan_group_plan *plan)
{
    banyan_group_plans_destroy(world->unpublished);
    world->unpublished = plan;
}

int banyan_world_is_tcp(const banyan_world *world)
{
    return world->messages == NULL;
}

banyan_endpoint *banyan_world_endpoint(banyan_world *world)
{
    return world->endpoint;
}

banyan_control *banyan_world_control(banyan_world *world)
{
    return world->control;
}

int banyan_world_rank(const banyan_world *world)
{
    return world->rank;
}

int banyan_world_size(const banyan_world *world)
{
    return world->size;
}

const banyan_rank_record *banyan_world_records(const banyan_world *world)
{
    return world->records;
}

void banyan_world_copy_secret(const banyan_world *world, banyan_secret *out)
{
    *out = world->secret;
}

void banyan_world_derive_secret(banyan_world *world, const char *purpose, uint64_t number, banyan_secret *out)
{
    banyan_auth_secret_derive(&world->secret, purpose, number, out);
}
