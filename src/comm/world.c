/* SPDX-License-Identifier: Apache-2.0 */
/* comm/world.c: joining: the card, the comparison, the control star and the data endpoint. */
#include "comm/world.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "comm/status.h"
#include "comm/store.h"
#include "comm/world_internal.h"
#include "core/alloc.h"
#include "core/clock.h"
#include "core/digest.h"
#include "core/file.h"
#include "core/settings.h"
#include "topology/routes.h"
#include "transport/messages.h"
#include "transport/several.h"
#include "transport/shm.h"

#define WINDOW_S 0.002
#define LEAST_WINDOW 131072.0
#define MOST_WINDOW 4194304.0
#define UNKNOWN_WINDOW ((size_t)1 << 20)

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

static void spread(void *context, banyan_status status, const char *sentence)
{
    banyan_control_abort(((banyan_world *)context)->control, status, sentence);
}

static const char *name_member(void *context, int member, char *buffer, size_t size)
{
    banyan_world *world = context;
    int rank = member >= 0 && member < world->node_count ? world->rank_of[member] : -1;

    if (rank < 0)
        snprintf(buffer, size, "node %d", member);
    else if (rank >= world->setup->size)
        snprintf(buffer, size, "relay %d (on %.40s)", rank - world->setup->size, world->cards[rank].host);
    else
        snprintf(buffer, size, "rank %d (on %.40s)", rank, world->cards[rank].host);
    return buffer;
}

/* «50000-50100», or nothing. */
banyan_status banyan_ports_of(const banyan_settings *settings, int *low, int *high, banyan_error *err)
{
    const char *text = banyan_settings_string(settings, BANYAN_SETTING_PORT_RANGE);
    char rest;

    *low = *high = 0;
    if (!*text)
        return BANYAN_SUCCESS;
    if (sscanf(text, "%d-%d%c", low, high, &rest) != 2 || *low < 1 || *high < *low || *high > 65535)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "BANYAN_PORT_RANGE=%.60s is not like 50000-50100",
                           text);
    return BANYAN_SUCCESS;
}

int banyan_family_of(const banyan_settings *settings)
{
    int64_t choice = banyan_settings_integer(settings, BANYAN_SETTING_SOCKET_FAMILY);

    return choice == 1 ? AF_INET : choice == 2 ? AF_INET6 : 0;
}

/* Where no interface is asked for, the one that leads to the others is enough. */
static banyan_status choose_interfaces(banyan_world *world, const banyan_address *local, banyan_error *err)
{
    const char *wish = banyan_settings_string(world->settings, BANYAN_SETTING_SOCKET_IFNAME);

    if (*wish || !local || !local->family)
        return banyan_interface_choose(wish, banyan_family_of(world->settings), BANYAN_INTERFACES,
                                       world->interfaces, &world->interface_count, err);
    world->interfaces[0] = (banyan_interface){.address = *local};
    world->interfaces[0].address.port = 0;
    world->interface_count = 1;
    return BANYAN_SUCCESS;
}

banyan_status banyan_world_ready(banyan_world *world, const banyan_address *local, banyan_card *mine,
                                 banyan_error *err)
{
    int low, high;
    banyan_status status = choose_interfaces(world, local, err);

    if (!status)
        status = banyan_ports_of(world->settings, &low, &high, err);
    if (!status)
        status =
            banyan_control_create(mine->size, &world->interfaces[0].address, low, high, &world->control, err);
    if (!status)
        mine->address = *banyan_control_address(world->control);
    for (int i = 1; i < world->interface_count && !status; i++)
        status = banyan_control_listen_also(world->control, &world->interfaces[i].address, low, high,
                                            &mine->others[i - 1], err);
    return status;
}

/* Machines that were started from one image have one name, but each has its own boot; and processes of one
 * machine may have networks of their own. */
static void find_place(char out[BANYAN_CARD_TEXT])
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

static void write_card(const banyan_world *world, const banyan_world_options *options,
                       const banyan_setup *setup, banyan_card *card)
{
    *card = (banyan_card){.protocol = BANYAN_PROTOCOL,
                          .version = BANYAN_VERSION_CODE,
                          .byte_order = 1,
                          .size = options->size,
                          .rank = options->rank,
                          .process = (int)getpid(),
                          .slice_bytes = setup->slice_bytes,
                          .window_bytes = world->meeting.window_bytes,
                          .connections = world->meeting.connections,
                          .old_rank = options->old_rank,
                          .color = options->color,
                          .key = options->key};
    if (gethostname(card->host, sizeof card->host - 1) != 0)
        snprintf(card->host, sizeof card->host, "host");
    find_place(card->place);
    if (!setup->is_default_topology) {
        char digest[17];

        banyan_topology_digest(setup->topology, digest);
        snprintf(card->topology, sizeof card->topology, "%s", digest);
    }
    snprintf(card->algorithm, sizeof card->algorithm, "%s", setup->algorithm);
    snprintf(card->transport, sizeof card->transport, "%s", setup->transport);
}

static banyan_status read_settings(banyan_world *world, banyan_error *err)
{
    banyan_status status = banyan_settings_load(&world->settings, err);

    if (status)
        return status;
    world->meeting = (banyan_tcp_meeting){
        .secret = &world->secret,
        .connections = (int)banyan_settings_integer(world->settings, BANYAN_SETTING_TCP_CONNECTIONS),
        .window_bytes = (size_t)banyan_settings_integer(world->settings, BANYAN_SETTING_TCP_WINDOW),
        .buffer_bytes = (size_t)banyan_settings_integer(world->settings, BANYAN_SETTING_TCP_BUFFER),
        .context = world,
        .name = name_member,
        .spread = spread};
    if (world->meeting.window_bytes && world->meeting.window_bytes < 4096)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "BANYAN_TCP_WINDOW=%zu is neither 0 nor at least 4096",
                           world->meeting.window_bytes);
    return BANYAN_SUCCESS;
}

/* What is under way waits in the queues of the network, and whatever comes next waits behind it: two milliseconds of
 * the fastest way from the first rank to another host are enough to fill it, and little to wait for. */
static banyan_status choose_window(banyan_world *world, const banyan_setup *setup, banyan_error *err)
{
    const banyan_topology *topology = setup->topology;
    banyan_routes *routes = NULL;
    double fastest = 0;
    banyan_status status = BANYAN_SUCCESS;

    world->meeting.window_bytes = UNKNOWN_WINDOW;
    if (setup->is_default_topology)
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
        world->meeting.window_bytes = (size_t)fmin(fmax(fastest * WINDOW_S, LEAST_WINDOW), MOST_WINDOW);
    return status;
}

static banyan_status use_hosts(const banyan_world *world, banyan_setup *setup, banyan_error *err)
{
    const char **names = banyan_alloc((size_t)world->size, sizeof *names);
    banyan_status status;

    if (!names)
        return banyan_fail_memory(err);
    for (int i = 0; i < setup->size; i++)
        names[i] = world->cards[i].place;
    status = banyan_setup_use_hosts(setup, names, err);
    banyan_free(names);
    return status;
}

/* Relays come after the ranks. */
static int node_of(const banyan_setup *setup, int process)
{
    return process < setup->size ? setup->active[process] : setup->relays[process - setup->size];
}

/* Members of the data plane are nodes of the topology. */
static banyan_status map_nodes(banyan_world *world, const banyan_setup *setup, banyan_error *err)
{
    size_t count = (size_t)setup->topology->node_count;

    world->node_count = setup->topology->node_count;
    world->rank_of = banyan_alloc(count, sizeof *world->rank_of);
    world->addresses = banyan_alloc(count, sizeof *world->addresses);
    world->others = banyan_alloc(count, sizeof world->cards->others);
    if (!world->rank_of || !world->addresses || !world->others)
        return banyan_fail_memory(err);
    for (size_t i = 0; i < count; i++)
        world->rank_of[i] = -1;
    for (int r = 0; r < world->size; r++) {
        world->rank_of[node_of(setup, r)] = r;
        world->addresses[node_of(setup, r)] = world->cards[r].address;
        memcpy(&world->others[node_of(setup, r) * (BANYAN_INTERFACES - 1)], world->cards[r].others,
               sizeof world->cards[r].others);
    }
    world->meeting.addresses = world->addresses;
    world->meeting.others = world->others;
    world->meeting.interfaces = world->interfaces;
    world->meeting.interface_count = world->interface_count;
    return BANYAN_SUCCESS;
}

/* Members are nodes; those that are no ranks leave zeros. */
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
    const char *wish = world->cards[0].transport;

    if (strcmp(wish, "auto") != 0 && strncmp(wish, "shm", 3) != 0)
        return 0;
    for (int i = 0; i < world->size; i++)
        for (int k = 0; k < i; k++)
            if (!strcmp(world->cards[i].place, world->cards[k].place))
                return 1;
    return 0;
}

/* Where shared memory cannot be had, TCP has to do, unless it was asked for by name. */
static banyan_status open_shm(banyan_world *world, const banyan_setup *setup, banyan_error *err)
{
    banyan_shm_meeting meeting = {.exchange = {gather_by_node, world},
                                  .deadline_ns = banyan_clock_ns() + (int64_t)setup->timeout_ms * 1000000,
                                  .ranks = world->rank_of};
    banyan_opening opening = {node_of(setup, world->rank), setup->topology->node_count, &meeting};
    banyan_endpoint *shm = NULL, *both = NULL;
    banyan_status status = banyan_transport_shm.open(&opening, &shm, err);

    if (status)
        return strcmp(world->cards[0].transport, "auto") != 0 ? status
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

/* The last part of «shm+ucx», where it is a message engine. */
static const banyan_transport *wanted_engine(const banyan_world *world)
{
    const char *wish = world->cards[0].transport, *plus = strchr(wish, '+');
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
        .name = name_member,
        .spread = spread};
    banyan_opening opening = {node_of(setup, world->rank), setup->topology->node_count, &meeting};
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

static banyan_status begin(banyan_world *world, const banyan_setup *setup, banyan_error *err)
{
    banyan_opening opening = {node_of(setup, world->rank), setup->topology->node_count, &world->meeting};
    banyan_control_handler handler = {world,
                                      fail,
                                      take_data,
                                      banyan_world_hear_left,
                                      banyan_world_hear_want,
                                      banyan_world_hear_plan,
                                      banyan_world_hear_call,
                                      banyan_world_tell_state};
    char folder[BANYAN_STATUS_FOLDER_TEXT];
    banyan_status status = banyan_transport_tcp.open(&opening, &world->tcp, err);

    world->endpoint = world->tcp;
    banyan_status_folder(banyan_settings_string(world->settings, BANYAN_SETTING_STATUS_FOLDER), folder);
    banyan_control_set_status_folder(world->control, folder);
    banyan_control_name_relays(world->control, setup->size);
    if (!status)
        status = banyan_control_start(world->control, world->rank, world->size, world->cards, &world->secret,
                                      setup->timeout_ms, &handler, err);
    if (!status && wanted_engine(world))
        status = open_messages(world, setup, err);
    if (!status && wants_shm(world))
        status = open_shm(world, setup, err);
    return status;
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

static banyan_status meet(banyan_world *world, const banyan_world_options *options, const banyan_setup *setup,
                          banyan_error *err)
{
    banyan_card mine;
    banyan_status status;

    write_card(world, options, setup, &mine);
    if (!options->secret && options->rank == 0) {
        status = banyan_auth_random(mine.secret.bytes, sizeof mine.secret.bytes, err);
        if (status)
            return status;
    }
    world->cards = banyan_alloc((size_t)options->size, sizeof *world->cards);
    if (!world->cards)
        return banyan_fail_memory(err);
    status = options->meeting.exchange(options->meeting.context, world, &mine, world->cards, err);
    if (status)
        return status;
    world->rank = mine.rank;
    world->size = mine.size;
    world->secret = options->secret ? *options->secret : world->cards[0].secret;
    return banyan_cards_compare(world->cards, world->size, err);
}

/* How bytes come from each peer; ranks that are reached alike stand together. */
static void log_peers(const banyan_world *world, const banyan_setup *setup)
{
    const banyan_transport *transport = world->endpoint->transport;
    char way[120], other[120], ranks[160];
    char *is_told = banyan_alloc((size_t)world->size, 1), *is_alike = banyan_alloc((size_t)world->size, 1);

    for (int i = 0; is_told && is_alike && i < world->size; i++) {
        if (i == world->rank || is_told[i])
            continue;
        memset(is_alike, 0, (size_t)world->size);
        snprintf(way, sizeof way, "%s",
                 transport->describe
                     ? transport->describe(world->endpoint, node_of(setup, i), other, sizeof other)
                     : transport->name);
        for (int k = i; k < world->size; k++) {
            const char *words = transport->describe ? transport->describe(world->endpoint, node_of(setup, k),
                                                                          other, sizeof other)
                                                    : transport->name;

            is_told[k] = is_alike[k] = k != world->rank && (is_told[k] || !strcmp(words, way));
        }
        BANYAN_INFO(setup->log, NET, "rank %s: %s",
                    banyan_ranks_format(is_alike, world->size, ranks, sizeof ranks), way);
    }
    banyan_free(is_told);
    banyan_free(is_alike);
}

static void log_start(const banyan_world *world, const banyan_setup *setup)
{
    char digest[17], address[BANYAN_ADDRESS_TEXT];

    if (!setup->log)
        return;
    banyan_topology_digest(setup->topology, digest);
    BANYAN_INFO(setup->log, INIT, "rank %d of %d, listening at %s, time-out %d ms", world->rank, world->size,
                banyan_address_format(&world->cards[world->rank].address, address), setup->timeout_ms);
    BANYAN_INFO(setup->log, GRAPH, "network %s (%s): %d workers, %d nodes, %d links, digest %s",
                setup->topology->name ? setup->topology->name : "",
                setup->is_default_topology ? "by hosts" : "given", setup->topology->worker_count,
                setup->topology->node_count, setup->topology->link_count, digest);
    if (banyan_log_is_on(setup->log, BANYAN_LOG_INFO, BANYAN_LOG_NET))
        log_peers(world, setup);
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
    status = read_settings(world, err);
    if (!status && !world->meeting.window_bytes)
        status = choose_window(world, setup, err);
    if (!status)
        status = meet(world, options, setup, err);
    if (!status)
        status = banyan_setup_open_log(setup, world->rank, err);
    world->log = setup->log;
    if (!status)
        status = use_hosts(world, setup, err);
    if (!status)
        status = map_nodes(world, setup, err);
    if (!status)
        status = banyan_world_open_calls(world, err);
    if (!status)
        status = begin(world, setup, err);
    if (!status) {
        log_start(world, setup);
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
    banyan_control_destroy(world->control);
    banyan_world_close_calls(world);
    banyan_settings_destroy(world->settings);
    banyan_free(world->cards);
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

int banyan_world_timeout_ms(const banyan_world *world)
{
    return world->setup->timeout_ms;
}

const banyan_card *banyan_world_cards(const banyan_world *world)
{
    return world->cards;
}

void banyan_world_copy_secret(const banyan_world *world, banyan_secret *out)
{
    *out = world->secret;
}

void banyan_world_derive_secret(banyan_world *world, const char *purpose, uint64_t number, banyan_secret *out)
{
    banyan_auth_secret_derive(&world->secret, purpose, number, out);
}
