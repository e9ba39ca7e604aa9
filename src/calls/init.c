/* SPDX-License-Identifier: Apache-2.0 */
/* calls/init.c: the ways into a group of processes: a unique id, a launcher, the caller's own exchange. Each
 * is a way to exchange records (bootstrap/rank_record.h); the rest is the same (group/world.h). */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "bootstrap/launch.h"
#include "bootstrap/listen.h"
#include "bootstrap/meeting_file.h"
#include "bootstrap/pmi.h"
#include "bootstrap/pmix.h"
#include "bootstrap/store.h"
#include "calls/comm.h"
#include "core/alloc.h"
#include "core/settings.h"
#include "transport/bytes.h"
#include "transport/mpi_job.h"
#include "transport/plugin.h"

#define PATIENCE_MS 600000 /* an id that nobody uses is given up after so long */

/* id: magic 0, family 8, port 12, scope 16, address 20, secret 36. */
static const char id_magic[8] = "banyan1";
enum { ID_DIGITS = 2 * sizeof(banyan_unique_id) };

typedef struct {
    banyan_store_visit visit;
    banyan_world *world;
} store_meeting;

static banyan_status prepare(void *context, const banyan_address *local, banyan_rank_record *record,
                             banyan_error *err)
{
    return banyan_world_ready(((store_meeting *)context)->world, local, record, err);
}

static banyan_status meet_at_store(void *context, banyan_world *world, banyan_rank_record *mine,
                                   banyan_rank_record *records, banyan_error *err)
{
    store_meeting *meeting = context;

    meeting->world = world;
    meeting->visit.context = meeting;
    meeting->visit.prepare = prepare;
    return banyan_store_exchange(&meeting->visit, mine, records, err);
}

static banyan_status check_rank(int rank, int size, banyan_error *err)
{
    if (rank < 0 || rank >= size)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "rank %d is not from 0 to %d", rank, size - 1);
    return BANYAN_SUCCESS;
}

/* Relays come through the id alone. */
static banyan_status refuse_relays(const banyan_setup *setup, banyan_error *err)
{
    return setup->relay_count ? banyan_fail(err, BANYAN_UNSUPPORTED,
                                            "a group with relay processes begins with banyan_comm_init_rank")
                              : BANYAN_SUCCESS;
}

static banyan_status join(int rank, int size, const banyan_secret *secret, banyan_meeting meeting,
                          banyan_setup *setup, banyan_comm **out, banyan_error *err)
{
    banyan_world_options options = {.rank = rank,
                                    .size = size + setup->relay_count,
                                    .old_rank = -1,
                                    .secret = secret,
                                    .meeting = meeting};
    banyan_world *world = NULL;
    banyan_status status = banyan_world_create(&options, setup, &world, err);

    if (status) {
        banyan_setup_fini(setup);
        return status;
    }
    return banyan_comm_wrap(setup, world, out, err);
}

static banyan_status read_ports(banyan_store_visit *visit, banyan_error *err)
{
    banyan_settings *settings = NULL;
    banyan_status status = banyan_settings_load(&settings, err);

    if (!status)
        status = banyan_listen_ports(settings, &visit->low_port, &visit->high_port, err);
    banyan_settings_destroy(settings);
    return status;
}

static banyan_status join_at(const banyan_address *address, const banyan_secret *secret, int rank, int size,
                             const banyan_config *config, int may_relay, banyan_comm **out, banyan_error *err)
{
    banyan_secret group_secret;
    store_meeting meeting = {.visit = {.address = *address, .secret = secret}};
    banyan_setup setup = {0};
    banyan_status status = banyan_setup_init(&setup, config, size, err);

    if (!status)
        status = check_rank(rank, size, err);
    if (!status && !may_relay)
        status = refuse_relays(&setup, err);
    if (!status)
        status = read_ports(&meeting.visit, err);
    if (status) {
        banyan_setup_fini(&setup);
        return status;
    }
    meeting.visit.timeout_ms = setup.timeout_ms;
    banyan_auth_secret_derive(secret, "group", 0, &group_secret);
    status = join(rank, size, &group_secret, (banyan_meeting){&meeting, meet_at_store}, &setup, out, err);
    if (!status && rank == 0 && *meeting.visit.strangers)
        BANYAN_INFO((*out)->group->setup.log, INIT, "at the meeting place: %s", meeting.visit.strangers + 2);
    banyan_auth_forget(&group_secret, sizeof group_secret);
    return status;
}

static void write_id(const banyan_address *address, const banyan_secret *secret, banyan_unique_id *out)
{
    unsigned char *bytes = (unsigned char *)out->bytes;

    memset(out, 0, sizeof *out);
    memcpy(bytes, id_magic, sizeof id_magic);
    banyan_put32(bytes + 8, address->family == AF_INET ? 4 : 6);
    banyan_put32(bytes + 12, address->port);
    banyan_put32(bytes + 16, address->scope);
    memcpy(bytes + 20, address->bytes, 16);
    memcpy(bytes + 36, secret->bytes, sizeof secret->bytes);
}

static banyan_status parse_id(const banyan_unique_id *id, banyan_address *address, banyan_error *err)
{
    const unsigned char *bytes = (const unsigned char *)id->bytes;

    if (memcmp(bytes, id_magic, sizeof id_magic) != 0)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "the id was not made by banyan_get_unique_id");
    *address = (banyan_address){.family = banyan_get32(bytes + 8) == 4 ? AF_INET : AF_INET6,
                                .port = (uint16_t)banyan_get32(bytes + 12),
                                .scope = banyan_get32(bytes + 16)};
    memcpy(address->bytes, bytes + 20, 16);
    return BANYAN_SUCCESS;
}

static banyan_status read_id(const banyan_unique_id *id, banyan_address *address, banyan_secret *secret,
                             banyan_error *err)
{
    banyan_status status = parse_id(id, address, err);

    memcpy(secret->bytes, (const unsigned char *)id->bytes + 36, sizeof secret->bytes);
    return status ? status : banyan_launch_bind_secret(secret, err);
}

banyan_status banyan_get_unique_id(banyan_unique_id *id)
{
    banyan_settings *settings = NULL;
    banyan_interface interface;
    banyan_secret secret = {{0}}, bound;
    banyan_store *store = NULL;
    banyan_status status;
    int low, high, count;

    if (!id)
        return BANYAN_INVALID_ARGUMENT;
    status = banyan_settings_load(&settings, NULL);
    if (status)
        return status;
    status = banyan_listen_ports(settings, &low, &high, NULL);
    if (!status)
        status = banyan_interface_choose(banyan_settings_string(settings, BANYAN_SETTING_SOCKET_IFNAME),
                                         banyan_listen_family(settings), 1, &interface, &count, NULL);
    if (!status)
        status = banyan_auth_random(secret.bytes, sizeof secret.bytes, NULL);
    bound = secret;
    if (!status)
        status = banyan_launch_bind_secret(&bound, NULL);
    if (!status)
        status = banyan_store_start(&interface.address, low, high, &bound, PATIENCE_MS,
                                    (int)banyan_settings_integer(settings, BANYAN_SETTING_TIMEOUT_MS), &store,
                                    NULL);
    if (!status) {
        write_id(banyan_store_address(store), &secret, id);
        banyan_store_leave(store);
    }
    banyan_settings_destroy(settings);
    banyan_auth_forget(&secret, sizeof secret);
    banyan_auth_forget(&bound, sizeof bound);
    return status;
}

banyan_status banyan_release_unique_id(const banyan_unique_id *id)
{
    banyan_address address;
    banyan_status status = id ? parse_id(id, &address, NULL) : BANYAN_INVALID_ARGUMENT;

    if (!status)
        banyan_store_dismiss(&address);
    return status;
}

banyan_status banyan_comm_init_rank(banyan_comm **comm, int size, banyan_unique_id id, int rank,
                                    const banyan_config *config)
{
    banyan_error err = {""};
    banyan_address address;
    banyan_secret secret;
    banyan_status status;

    if (!comm)
        return BANYAN_INVALID_ARGUMENT;
    *comm = NULL;
    status = read_id(&id, &address, &secret, &err);
    if (!status)
        status = join_at(&address, &secret, rank, size, config, 1, comm, &err);
    banyan_auth_forget(&secret, sizeof secret);
    if (status)
        banyan_comm_report(config, &err);
    return status;
}

static banyan_status relay(int size, const banyan_unique_id *id, int number, const banyan_config *config,
                           banyan_error *err)
{
    banyan_world_options options = {.rank = size + number, .old_rank = -1};
    store_meeting meeting = {.world = NULL};
    banyan_secret secret, group_secret;
    banyan_setup setup = {0};
    banyan_world *world = NULL;
    banyan_status status = read_id(id, &meeting.visit.address, &secret, err);

    if (!status)
        status = banyan_setup_init(&setup, config, size, err);
    if (status)
        return status;
    if (number < 0 || number >= setup.relay_count)
        status =
            banyan_fail(err, BANYAN_INVALID_ARGUMENT, "relay %d is not from 0 to %d: config->relays has %d",
                        number, setup.relay_count - 1, setup.relay_count);
    meeting.visit.secret = &secret;
    meeting.visit.timeout_ms = setup.timeout_ms;
    banyan_auth_secret_derive(&secret, "group", 0, &group_secret);
    options.size = size + setup.relay_count;
    options.secret = &group_secret;
    options.meeting = (banyan_meeting){&meeting, meet_at_store};
    if (!status)
        status = banyan_world_create(&options, &setup, &world, err);
    if (!status)
        status = banyan_relay_serve(world, &setup, err);
    banyan_world_destroy(world);
    banyan_setup_fini(&setup);
    banyan_auth_forget(&secret, sizeof secret);
    banyan_auth_forget(&group_secret, sizeof group_secret);
    return status;
}

banyan_status banyan_comm_relay(int size, banyan_unique_id id, int number, const banyan_config *config)
{
    banyan_error err = {""};
    banyan_status status = relay(size, &id, number, config, &err);

    if (status)
        banyan_comm_report(config, &err);
    return status;
}

static const char *look_up(void *context, const char *name)
{
    (void)context;
    return banyan_environment(name);
}

/* Rank 0 serves the meeting itself, for as long as it lasts. */
static banyan_status join_launched(const banyan_launch *launch, const banyan_secret *secret, int family,
                                   int timeout_ms, const banyan_config *config, banyan_comm **out,
                                   banyan_error *err)
{
    banyan_address address = {.family = AF_INET, .bytes = {127, 0, 0, 1}};
    banyan_store *store = NULL;
    banyan_status status =
        launch->root[0] ? banyan_address_parse(launch->root, family, &address, err) : BANYAN_SUCCESS;

    if (!status && launch->rank == 0)
        status = banyan_store_start(&address, 0, 0, secret, PATIENCE_MS, timeout_ms, &store, err);
    if (!status && store)
        address = *banyan_store_address(store);
    if (!status)
        status = join_at(&address, secret, launch->rank, launch->size, config, 0, out, err);
    if (status && store)
        banyan_store_leave(store); /* it still tells those who come late why */
    else
        banyan_store_stop(store);
    return status;
}

/* An id in hexadecimal digits, which any launcher carries. */
static void write_digits(const banyan_unique_id *id, char out[ID_DIGITS + 1])
{
    for (size_t i = 0; i < sizeof id->bytes; i++)
        snprintf(out + 2 * i, 3, "%02x", (unsigned)(unsigned char)id->bytes[i]);
}

static banyan_status read_digits(const char *text, banyan_unique_id *out, banyan_error *err)
{
    unsigned byte;

    for (size_t i = 0; i < sizeof out->bytes; i++) {
        if (strspn(text + 2 * i, "0123456789abcdef") < 2 || sscanf(text + 2 * i, "%2x", &byte) != 1)
            return banyan_fail(err, BANYAN_REMOTE_ERROR, "what rank 0 has told was changed on its way");
        out->bytes[i] = (char)(unsigned char)byte;
    }
    return BANYAN_SUCCESS;
}

/* Rank 0 serves the meeting where it likes, and tells the others where through the launcher or a file. */
static banyan_status join_told(banyan_launch *launch, int timeout_ms, const banyan_config *config,
                               banyan_comm **out, banyan_error *err)
{
    char text[ID_DIGITS + 1] = "";
    banyan_address address;
    banyan_unique_id id;
    banyan_secret secret = {{0}};
    banyan_status status = BANYAN_SUCCESS;
    int has_file = 0;

    if (!launch->size)
        status = banyan_pmix_count(&launch->size, timeout_ms, err);
    if (!status && launch->rank == 0) {
        status = banyan_get_unique_id(&id);
        if (status)
            return banyan_fail(err, status, "rank 0 cannot open a place where ranks meet");
        write_digits(&id, text);
    }
    if (!status && launch->meeting == BANYAN_MEET_BY_PMIX)
        status = banyan_pmix_share(text, sizeof text, timeout_ms, err);
    else if (!status && launch->meeting == BANYAN_MEET_BY_FILE)
        has_file = !(status = banyan_meeting_file_share(launch->root, launch->rank, text, sizeof text,
                                                        timeout_ms, err));
    else if (!status)
        status = banyan_pmi_share(launch->pmi_fd, launch->rank, text, sizeof text, timeout_ms, err);
    if (!status)
        status = read_digits(text, &id, err);
    if (!status)
        status = read_id(&id, &address, &secret, err);
    if (!status)
        status = join_at(&address, &secret, launch->rank, launch->size, config, 1, out, err);
    if (has_file && launch->rank == 0)
        banyan_meeting_file_remove(launch->root);
    banyan_auth_forget(text, sizeof text);
    banyan_auth_forget(&secret, sizeof secret);
    return status;
}

typedef struct {
    banyan_mpi_job job;
    int timeout_ms;
} mpi_meeting;

static banyan_status meet_by_mpi(void *context, banyan_world *world, banyan_rank_record *mine,
                                 banyan_rank_record *records, banyan_error *err)
{
    const mpi_meeting *meeting = context;
    unsigned char record[BANYAN_RANK_RECORD_BYTES];
    unsigned char *all = banyan_alloc((size_t)mine->size, BANYAN_RANK_RECORD_BYTES);
    banyan_status status = all ? banyan_world_ready(world, NULL, mine, err) : banyan_fail_memory(err);

    if (!status) {
        banyan_rank_record_write(mine, record);
        status = banyan_mpi_job_gather(&meeting->job, record, sizeof record, all, meeting->timeout_ms, err);
    }
    for (int i = 0; i < mine->size && !status; i++)
        status = banyan_rank_record_read(all + (size_t)i * BANYAN_RANK_RECORD_BYTES, &records[i], err);
    banyan_free(all);
    return status;
}

static banyan_status join_mpi(const banyan_settings *settings, const banyan_config *config, banyan_comm **out,
                              banyan_error *err)
{
    mpi_meeting meeting = {.timeout_ms = 0};
    banyan_setup setup = {0};
    banyan_status status = banyan_mpi_job_join(banyan_settings_string(settings, BANYAN_SETTING_MPI),
                                               banyan_settings_string(settings, BANYAN_SETTING_PLUGIN_FOLDER),
                                               &meeting.job, err);

    if (!status)
        status = banyan_setup_init(&setup, config, meeting.job.size, err);
    if (!status)
        status = refuse_relays(&setup, err);
    if (status) {
        banyan_setup_fini(&setup);
        return status;
    }
    meeting.timeout_ms = setup.timeout_ms;
    return join(meeting.job.rank, meeting.job.size, NULL, (banyan_meeting){&meeting, meet_by_mpi}, &setup,
                out, err);
}

/* Whether MPI itself is where the ranks meet: it carries their bytes anyway, or its launcher does not say how
 * else. */
static int meets_by_mpi(const banyan_settings *settings, const banyan_config *config,
                        const banyan_launch *launch)
{
    const char *wish =
        config && config->magic == BANYAN_CONFIG_MAGIC &&
                config->size >= offsetof(banyan_config, transport) + sizeof config->transport &&
                config->transport
            ? config->transport
            : banyan_settings_string(settings, BANYAN_SETTING_TRANSPORT);
    const char *folder = banyan_settings_string(settings, BANYAN_SETTING_PLUGIN_FOLDER);
    char path[4200];

    if (*banyan_settings_string(settings, BANYAN_SETTING_ROOT))
        return 0;
    if (strstr(wish, "mpi"))
        return 1;
    return launch->launcher && launch->size > 0 && !launch->root[0] && strcmp(launch->launcher, "PMI") == 0 &&
           banyan_plugin_find("mpi-mpich", folder, path, sizeof path);
}

static banyan_status init_env(banyan_comm **comm, const banyan_config *config, banyan_error *err)
{
    banyan_settings *settings = NULL;
    banyan_launch launch;
    banyan_secret secret;
    char text[4096] = "";
    banyan_status status = banyan_settings_load(&settings, err);
    int family, timeout_ms;

    if (status)
        return status;
    family = banyan_listen_family(settings);
    timeout_ms = (int)banyan_settings_integer(settings, BANYAN_SETTING_TIMEOUT_MS);
    status = banyan_launch_detect(settings, look_up, NULL, &launch, err);
    if (meets_by_mpi(settings, config, &launch)) {
        status = join_mpi(settings, config, comm, err);
        banyan_settings_destroy(settings);
        return status;
    }
    if (!status)
        status = banyan_launch_secret(settings, &launch, text, sizeof text, err);
    banyan_settings_destroy(settings);
    if (status)
        return status;
    if (launch.meeting != BANYAN_MEET_AT_ROOT)
        return join_told(&launch, timeout_ms, config, comm, err);
    banyan_auth_secret_from_text(text, &secret);
    status = join_launched(&launch, &secret, family, timeout_ms, config, comm, err);
    banyan_auth_forget(text, sizeof text);
    banyan_auth_forget(&secret, sizeof secret);
    return status;
}

banyan_status banyan_comm_init_env(banyan_comm **comm, const banyan_config *config)
{
    banyan_error err = {""};
    banyan_status status;

    if (!comm)
        return BANYAN_INVALID_ARGUMENT;
    *comm = NULL;
    status = init_env(comm, config, &err);
    if (status)
        banyan_comm_report(config, &err);
    return status;
}

typedef struct {
    banyan_allgather_function allgather;
    void *context;
} own_meeting;

static banyan_status meet_by_own_means(void *context, banyan_world *world, banyan_rank_record *mine,
                                       banyan_rank_record *records, banyan_error *err)
{
    const own_meeting *meeting = context;
    unsigned char record[BANYAN_RANK_RECORD_BYTES];
    unsigned char *all = banyan_alloc((size_t)mine->size, BANYAN_RANK_RECORD_BYTES);
    banyan_status status = all ? banyan_world_ready(world, NULL, mine, err) : banyan_fail_memory(err);

    if (!status) {
        banyan_rank_record_write(mine, record);
        status = meeting->allgather(meeting->context, record, sizeof record, all);
        if (status)
            banyan_fail(err, status, "the caller's exchange failed: %s", banyan_status_string(status));
    }
    for (int i = 0; i < mine->size && !status; i++)
        status = banyan_rank_record_read(all + (size_t)i * BANYAN_RANK_RECORD_BYTES, &records[i], err);
    banyan_free(all);
    return status;
}

banyan_status banyan_comm_init_exchange(banyan_comm **comm, int size, int rank,
                                        banyan_allgather_function allgather, void *context,
                                        const banyan_config *config)
{
    own_meeting meeting = {allgather, context};
    banyan_setup setup = {0};
    banyan_error err = {""};
    banyan_status status;

    if (!comm || !allgather)
        return BANYAN_INVALID_ARGUMENT;
    *comm = NULL;
    status = banyan_setup_init(&setup, config, size, &err);
    if (!status)
        status = check_rank(rank, size, &err);
    if (!status)
        status = refuse_relays(&setup, &err);
    if (status)
        banyan_setup_fini(&setup);
    else
        status = join(rank, size, NULL, (banyan_meeting){&meeting, meet_by_own_means}, &setup, comm, &err);
    if (status)
        banyan_comm_report(config, &err);
    return status;
}
