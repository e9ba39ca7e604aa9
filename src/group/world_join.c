/* SPDX-License-Identifier: Apache-2.0 */
/* group/world_join.c: what a rank brings to a new world: its settings, the interfaces it listens on, its
 * record; and the records of all, compared. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bootstrap/listen.h"
#include "core/alloc.h"
#include "core/digest.h"
#include "core/file.h"
#include "group/world_internal.h"
#include "topology/routes.h"

#define WINDOW_S 0.002
#define MIN_WINDOW 131072.0
#define MAX_WINDOW 4194304.0
#define UNKNOWN_WINDOW ((size_t)1 << 20)

/* Where no interface is asked for, the one that leads to the others is enough. */
static banyan_status choose_interfaces(banyan_world *world, const banyan_address *local, banyan_error *err)
{
    const char *wish = banyan_settings_string(world->settings, BANYAN_SETTING_SOCKET_IFNAME);

    if (*wish || !local || !local->family)
        return banyan_interface_choose(wish, banyan_listen_family(world->settings), BANYAN_INTERFACES,
                                       world->interfaces, &world->interface_count, err);
    world->interfaces[0] = (banyan_interface){.address = *local};
    world->interfaces[0].address.port = 0;
    banyan_interface_complete(&world->interfaces[0]);
    world->interface_count = 1;
    return BANYAN_SUCCESS;
}

banyan_status banyan_world_ready(banyan_world *world, const banyan_address *local, banyan_rank_record *mine,
                                 banyan_error *err)
{
    int low, high;
    banyan_status status = choose_interfaces(world, local, err);

    if (!status)
        status = banyan_listen_ports(world->settings, &low, &high, err);
    if (!status)
        status = banyan_control_create(mine->size, world->setup->timeout_ms, &world->interfaces[0].address,
                                       low, high, &world->control, err);
    if (!status)
        mine->address = *banyan_control_address(world->control);
    for (int i = 1; i < world->interface_count && !status; i++)
        status = banyan_control_listen_also(world->control, &world->interfaces[i].address, low, high,
                                            &mine->others[i - 1], err);
    return status;
}

/* Machines that were started from one image have one name, but each has its own boot; and processes of one
 * machine may have networks of their own. */
static void find_place(char out[BANYAN_RANK_RECORD_TEXT])
{
    banyan_digest digest;
    struct stat network = {0};
    char *boot = NULL;

    banyan_digest_init(&digest);
    if (!banyan_file_load("/proc/sys/kernel/random/boot_id", &boot, NULL, NULL))
        banyan_digest_add_string(&digest, boot);
    banyan_free(boot);
    if (stat("/proc/self/ns/net", &network) == 0)
        banyan_digest_add_integer(&digest, (int64_t)network.st_ino);
    banyan_digest_format(&digest, out);
}

/* A text that is longer than a record has room for ends with a digest of the whole. */
static void describe_algorithms(const char *text, banyan_rank_record *record)
{
    banyan_digest digest;
    char name[17];

    if (strlen(text) < sizeof record->algorithm) {
        snprintf(record->algorithm, sizeof record->algorithm, "%s", text);
        return;
    }
    banyan_digest_init(&digest);
    banyan_digest_add_string(&digest, text);
    banyan_digest_format(&digest, name);
    snprintf(record->algorithm, sizeof record->algorithm, "%.40s... (%s)", text, name);
}

static void write_record(const banyan_world *world, const banyan_world_options *options,
                         const banyan_setup *setup, banyan_rank_record *record)
{
    *record = (banyan_rank_record){
        .protocol = BANYAN_PROTOCOL,
        .version = BANYAN_VERSION_CODE,
        .byte_order = 1,
        .size = options->size,
        .rank = options->rank,
        .process = (int)getpid(),
        .slice_bytes = setup->slice_bytes,
        .window_bytes = world->meeting.window_bytes,
        .connections = world->meeting.connections,
        .quorum = setup->quorum,
        .learn = setup->learn,
        .fanout = (int)banyan_settings_integer(world->settings, BANYAN_SETTING_CONTROL_FANOUT),
        .old_rank = options->old_rank,
        .color = options->color,
        .key = options->key};
    if (gethostname(record->host, sizeof record->host - 1) != 0)
        snprintf(record->host, sizeof record->host, "host");
    find_place(record->place);
    if (!setup->is_default_topology) {
        char digest[17];

        banyan_topology_digest(setup->topology, digest);
        snprintf(record->topology, sizeof record->topology, "%s", digest);
    }
    describe_algorithms(setup->algorithm, record);
    snprintf(record->transport, sizeof record->transport, "%s", setup->transport);
}

banyan_status banyan_world_read_settings(banyan_world *world, banyan_error *err)
{
    banyan_status status = banyan_settings_load(&world->settings, err);

    if (status)
        return status;
    world->meeting = (banyan_tcp_meeting){
        .secret = &world->secret,
        .connections = (int)banyan_settings_integer(world->settings, BANYAN_SETTING_TCP_CONNECTIONS),
        .window_bytes = (size_t)banyan_settings_integer(world->settings, BANYAN_SETTING_TCP_WINDOW),
        .buffer_bytes = (size_t)banyan_settings_integer(world->settings, BANYAN_SETTING_TCP_BUFFER),
        .is_paced = (int)banyan_settings_integer(world->settings, BANYAN_SETTING_TCP_PACING),
        .context = world,
        .name = banyan_world_name_member,
        .spread = banyan_world_spread,
        .note = banyan_world_note_loss};
    if (world->meeting.window_bytes && world->meeting.window_bytes < 4096)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "BANYAN_TCP_WINDOW=%zu is neither 0 nor at least 4096",
                           world->meeting.window_bytes);
    return BANYAN_SUCCESS;
}

/* What is under way waits in the queues of the network, and whatever comes next waits behind it: two
 * milliseconds of the fastest way from the first rank to another host are enough to fill it, and little to
 * wait for. */
banyan_status banyan_world_choose_window(banyan_world *world, const banyan_setup *setup, int is_learnt,
                                         banyan_error *err)
{
    const banyan_topology *topology = setup->topology;
    banyan_routes *routes = NULL;
    double fastest = 0;
    banyan_status status = BANYAN_SUCCESS;

    world->meeting.window_bytes = UNKNOWN_WINDOW;
    if (setup->is_default_topology && !is_learnt)
        return BANYAN_SUCCESS;
    status = banyan_routes_create(topology, &routes, err);
    for (int i = 1; i < setup->size && !status; i++) {
        double slowest = HUGE_VAL;
        const int *links;
        int count = 0, host = topology->nodes[setup->active[i]].host;

        if (host >= 0 && host == topology->nodes[setup->active[0]].host)
            continue;
        status = banyan_routes_find(routes, setup->active[0], setup->active[i], &links, &count, err);
        for (int k = 0; k < count && !status; k++)
            slowest = fmin(slowest, topology->links[links[k]].bytes_per_s);
        if (count)
            fastest = fmax(fastest, slowest);
    }
    banyan_routes_destroy(routes);
    if (!status && fastest > 0)
        world->meeting.window_bytes = (size_t)fmin(fmax(fastest * WINDOW_S, MIN_WINDOW), MAX_WINDOW);
    return status;
}

static int is_near(const banyan_world *world, const banyan_address *address)
{
    for (int i = 0; i < world->interface_count; i++)
        if (address->family && banyan_interface_leads_to(&world->interfaces[i], address))
            return 1;
    return 0;
}

/* Hosts that are cabled directly have an address per cable, and others reach them at one of these only: that
 * one comes first on their records. */
static void put_near_addresses_first(const banyan_world *world)
{
    for (int r = 0; r < world->size; r++) {
        banyan_rank_record *record = &world->records[r];
        banyan_address first = record->address;

        for (int i = 0; i < BANYAN_INTERFACES - 1 && !is_near(world, &record->address); i++)
            if (is_near(world, &record->others[i])) {
                record->address = record->others[i];
                record->others[i] = first;
            }
    }
}

banyan_status banyan_world_meet(banyan_world *world, const banyan_world_options *options,
                                const banyan_setup *setup, banyan_error *err)
{
    banyan_rank_record mine;
    banyan_status status;

    write_record(world, options, setup, &mine);
    if (!options->secret && options->rank == 0) {
        status = banyan_auth_random(mine.secret.bytes, sizeof mine.secret.bytes, err);
        if (status)
            return status;
    }
    world->records = banyan_alloc((size_t)options->size, sizeof *world->records);
    if (!world->records)
        return banyan_fail_memory(err);
    status = options->meeting.exchange(options->meeting.context, world, &mine, world->records, err);
    if (status)
        return status;
    world->rank = mine.rank;
    world->size = mine.size;
    world->secret = options->secret ? *options->secret : world->records[0].secret;
    put_near_addresses_first(world);
    return banyan_rank_records_compare(world->records, world->size, err);
}
