/* SPDX-License-Identifier: Apache-2.0 */
/* bootstrap/setup.c: the program's config goes before the settings (core/settings.h), and those have
 * defaults. */
#include "bootstrap/setup.h"

#include <stdint.h>
#include <string.h>

#include "bootstrap/quorum.h"
#include "bootstrap/rank_record.h"
#include "core/alloc.h"
#include "core/near.h"
#include "core/settings.h"
#include "core/value.h"
#include "topology/build.h"
#include "transport/transport.h"

/* A struct from an older header is shorter: what it lacks is undefined, which is 0. */
static banyan_status read_config(const banyan_config *given, banyan_config *out, banyan_error *err)
{
    *out = (banyan_config)BANYAN_CONFIG_INITIALIZER;
    if (!given)
        return BANYAN_SUCCESS;
    if (given->size < offsetof(banyan_config, topology) || given->magic != BANYAN_CONFIG_MAGIC)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "the config does not begin with BANYAN_CONFIG_INITIALIZER");
    if (given->size > sizeof *out)
        return banyan_fail(err, BANYAN_VERSION_MISMATCH,
                           "the config has %zu bytes as of version %u, this library (version %d) knows %zu",
                           given->size, given->version, BANYAN_VERSION_CODE, sizeof *out);
    memcpy(out, given, given->size);
    if (out->timeout_ms < 0)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "a time-out of %d ms is negative", out->timeout_ms);
    return BANYAN_SUCCESS;
}

/* All ranks on one switch: what one can say without knowing anything. */
static banyan_status make_star(int size, banyan_topology **out, banyan_error *err)
{
    banyan_topology_builder builder;
    int center;

    banyan_topology_builder_init(&builder, "one switch");
    for (int i = 0; i < size; i++)
        banyan_topology_add_worker_f(&builder, -1, "g%d", i);
    center = banyan_topology_add_switch(&builder, "s0");
    for (int i = 0; i < size; i++)
        banyan_topology_add_cable(&builder, i, center, 1e10, 1e-6);
    return banyan_topology_builder_finish(&builder, out, err);
}

enum { LOCAL_GBPS = 100, NETWORK_GBPS = 10 }; /* as hosts:... has them */

/* The first rank of each host names it. */
static banyan_status make_hosts(const char *const *names, int size, banyan_topology **out, banyan_error *err)
{
    banyan_topology_builder builder;
    int *host_of = banyan_alloc((size_t)size, sizeof *host_of), count = 0, net;

    if (!host_of)
        return banyan_fail_memory(err);
    banyan_topology_builder_init(&builder, "hosts");
    for (int i = 0; i < size; i++) {
        int first = 0;

        while (strcmp(names[first], names[i]) != 0)
            first++;
        host_of[i] = first == i ? banyan_topology_add_host(&builder, names[i]) : host_of[first];
        count = host_of[i] >= count ? host_of[i] + 1 : count;
        banyan_topology_add_worker_f(&builder, host_of[i], "g%d", i);
    }
    for (int i = 0; i < count; i++)
        banyan_topology_add_switch_f(&builder, "h%d", i);
    net = banyan_topology_add_switch(&builder, "net");
    for (int i = 0; i < size; i++)
        banyan_topology_add_cable(&builder, i, size + host_of[i], LOCAL_GBPS * 1.25e8, 1e-6);
    for (int i = 0; i < count; i++)
        banyan_topology_add_cable(&builder, size + i, net, NETWORK_GBPS * 1.25e8, 1e-5);
    banyan_free(host_of);
    return banyan_topology_builder_finish(&builder, out, err);
}

banyan_status banyan_setup_use_hosts(banyan_setup *setup, const char *const *names, banyan_error *err)
{
    banyan_topology *topology;
    banyan_status status;
    int is_one = 1;

    for (int i = 1; i < setup->size; i++)
        is_one = is_one && !strcmp(names[0], names[i]);
    if (!setup->is_default_topology || is_one)
        return BANYAN_SUCCESS;
    status = make_hosts(names, setup->size, &topology, err);
    if (status)
        return status;
    banyan_topology_destroy(setup->topology);
    setup->topology = topology; /* worker r is rank r, as on one switch: active stays */
    return BANYAN_SUCCESS;
}

static banyan_status find_topology(banyan_setup *setup, const char *spec, banyan_error *err)
{
    int is_probe = spec && !strcmp(spec, BANYAN_TOPO_PROBE), is_given = spec && *spec && !is_probe;
    banyan_status status = is_given ? banyan_topology_load(spec, &setup->topology, err)
                                    : make_star(setup->size, &setup->topology, err);

    if (status)
        return status;
    setup->is_default_topology = !is_given;
    setup->wants_probe = is_probe;
    if (setup->topology->node_count > BANYAN_TRANSPORT_MAX_MEMBERS)
        return banyan_fail(err, BANYAN_UNSUPPORTED, "the topology has %d nodes; a group has at most %d",
                           setup->topology->node_count, BANYAN_TRANSPORT_MAX_MEMBERS);
    if (setup->topology->worker_count < setup->size)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "%d ranks do not fit on a topology with %d workers",
                           setup->size, setup->topology->worker_count);
    return BANYAN_SUCCESS;
}

static banyan_status find_active(banyan_setup *setup, const char *text, banyan_error *err)
{
    const banyan_topology *topology = setup->topology;
    banyan_status status;
    int count = setup->size;

    if (text && *text) {
        status = banyan_topology_parse_active(topology, text, &setup->active, &count, err);
        if (status)
            return status;
        if (count != setup->size)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "%d workers are active, but there are %d ranks",
                               count, setup->size);
    } else {
        setup->active = banyan_alloc((size_t)count, sizeof *setup->active);
        if (!setup->active)
            return banyan_fail_memory(err);
        memcpy(setup->active, topology->workers, (size_t)count * sizeof *setup->active);
    }
    return banyan_topology_check_connected(topology, setup->active, count, err);
}

/* Workers that are not ranks, each served by a process of its own. */
static banyan_status find_relays(banyan_setup *setup, const char *text, banyan_error *err)
{
    banyan_status status;

    if (!text || !*text)
        return BANYAN_SUCCESS;
    if (setup->is_default_topology)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "relays \"%.80s\" are workers of no topology", text);
    status = banyan_topology_parse_active(setup->topology, text, &setup->relays, &setup->relay_count, err);
    if (status) {
        banyan_error_prefix(err, "relays");
        return status;
    }
    for (int i = 0; i < setup->relay_count; i++)
        for (int r = 0; r < setup->size; r++)
            if (setup->relays[i] == setup->active[r])
                return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "worker %s is rank %d and cannot be a relay",
                                   banyan_topology_node_name(setup->topology, setup->relays[i]), r);
    return BANYAN_SUCCESS;
}

static banyan_status find_algorithms(banyan_setup *setup, const char *text, banyan_error *err)
{
    banyan_status status = banyan_choices_parse(text, setup->choices, err);

    if (status)
        return status;
    setup->algorithm = banyan_strdup(text);
    return setup->algorithm ? BANYAN_SUCCESS : banyan_fail_memory(err);
}

static banyan_status find_transport(banyan_setup *setup, const char *name, banyan_error *err)
{
    int choice;
    banyan_status status =
        banyan_value_choice(name, banyan_setting_at(BANYAN_SETTING_TRANSPORT)->form, &choice, err);

    if (status) {
        banyan_error_prefix(err, "transport");
        return status;
    }
    setup->transport = banyan_strdup(name);
    return setup->transport ? BANYAN_SUCCESS : banyan_fail_memory(err);
}

static banyan_status parse_quorum(const char *text, int *rule, banyan_error *err)
{
    banyan_status status = banyan_quorum_parse(text, rule, err);

    if (status)
        banyan_error_prefix(err, "BANYAN_SHRINK");
    return status;
}

static banyan_status find_quorum(banyan_setup *setup, const char *text, banyan_error *err)
{
    banyan_status status = parse_quorum(text, &setup->quorum, err);

    if (status)
        return status;
    setup->shrink = banyan_strdup(text);
    return setup->shrink ? BANYAN_SUCCESS : banyan_fail_memory(err);
}

static banyan_status find_learn(banyan_setup *setup, const char *text, int is_deterministic,
                                banyan_error *err)
{
    banyan_status status =
        banyan_value_choice(text, banyan_setting_at(BANYAN_SETTING_LEARN)->form, &setup->learn, err);

    if (status)
        banyan_error_prefix(err, "learn");
    if (is_deterministic)
        setup->learn = BANYAN_LEARN_NEVER;
    return status;
}

static banyan_status merge(banyan_setup *setup, const banyan_config *config, const banyan_settings *settings,
                           banyan_error *err)
{
    const char *spec =
        config->topology ? config->topology : banyan_settings_string(settings, BANYAN_SETTING_TOPO);
    const char *algorithm =
        config->algorithm ? config->algorithm : banyan_settings_string(settings, BANYAN_SETTING_ALGO);
    const char *transport =
        config->transport ? config->transport : banyan_settings_string(settings, BANYAN_SETTING_TRANSPORT);
    const char *shrink =
        config->shrink ? config->shrink : banyan_settings_string(settings, BANYAN_SETTING_SHRINK);
    banyan_status status = BANYAN_SUCCESS;

    if (!setup->topology) { /* not inherited */
        status = find_topology(setup, spec, err);
        if (!status)
            status = find_active(setup, config->active, err);
        if (!status)
            status = find_relays(setup, config->relays, err);
    }
    if (!status)
        status = find_algorithms(setup, algorithm, err);
    if (!status)
        status = find_transport(setup, transport, err);
    if (!status)
        status = find_quorum(setup, shrink, err);
    if (!status)
        status = find_learn(
            setup, config->learn ? config->learn : banyan_settings_string(settings, BANYAN_SETTING_LEARN),
            banyan_settings_integer(settings, BANYAN_SETTING_DETERMINISTIC) != 0, err);
    setup->timeout_ms = config->timeout_ms
                            ? config->timeout_ms
                            : (int)banyan_settings_integer(settings, BANYAN_SETTING_TIMEOUT_MS);
    setup->wisdom_file = banyan_strdup(banyan_settings_string(settings, BANYAN_SETTING_WISDOM_FILE));
    if (!status && !setup->wisdom_file)
        status = banyan_fail_memory(err);
    setup->slice_bytes = config->slice_bytes
                             ? config->slice_bytes
                             : (size_t)banyan_settings_integer(settings, BANYAN_SETTING_SLICE_BYTES);
    return status;
}

/* Completes what is known of the setup already; takes it over, also on failure. */
static banyan_status init(banyan_setup *out, banyan_setup setup, const banyan_config *config,
                          banyan_error *err)
{
    banyan_settings *settings = NULL;
    banyan_config known;
    banyan_status status = read_config(config, &known, err);

    *out = (banyan_setup){0};
    if (!status && (setup.size < 1 || setup.size > BANYAN_MAX_RANKS))
        status = banyan_fail(err, BANYAN_INVALID_ARGUMENT, "a group has 1 to %d ranks, not %d",
                             BANYAN_MAX_RANKS, setup.size);
    if (!status)
        status = banyan_settings_load(&settings, err);
    if (!status)
        status = merge(&setup, &known, settings, err);
    banyan_settings_destroy(settings);
    if (status)
        banyan_setup_fini(&setup);
    else
        *out = setup;
    return status;
}

banyan_status banyan_setup_init(banyan_setup *out, const banyan_config *config, int size, banyan_error *err)
{
    return init(out, (banyan_setup){.size = size}, config, err);
}

static banyan_status copy_topology(const banyan_topology *from, banyan_topology **out, banyan_error *err)
{
    char *text = NULL;
    banyan_status status = banyan_topology_format(from, &text, err);

    if (!status)
        status = banyan_topology_parse(text, strlen(text), out, err);
    banyan_free(text);
    return status;
}

/* Nodes of ranks must ascend: a schedule numbers its ranks so. */
static int keeps_order(const int *ranks, int count)
{
    for (int i = 1; i < count; i++)
        if (ranks[i] < ranks[i - 1])
            return 0;
    return 1;
}

banyan_status banyan_setup_inherit(banyan_setup *out, const banyan_setup *parent, const banyan_config *config,
                                   const int *ranks, int count, banyan_error *err)
{
    banyan_setup setup = {.size = count};
    banyan_status status = BANYAN_SUCCESS;
    banyan_config known;

    *out = (banyan_setup){0};
    status = read_config(config, &known, err);
    if (status)
        return status;
    if (!known.topology && (parent->is_default_topology || !keeps_order(ranks, count))) {
        status = make_star(count, &setup.topology, err);
        setup.is_default_topology = 1;
    } else if (!known.topology) {
        status = copy_topology(parent->topology, &setup.topology, err);
    }
    if (!status && setup.topology) {
        setup.active = banyan_alloc((size_t)count, sizeof *setup.active);
        for (int i = 0; setup.active && i < count; i++)
            setup.active[i] = setup.is_default_topology ? i : parent->active[ranks[i]];
        status = setup.active ? BANYAN_SUCCESS : banyan_fail_memory(err);
    }
    if (status) {
        banyan_setup_fini(&setup);
        return status;
    }
    known.timeout_ms = known.timeout_ms ? known.timeout_ms : parent->timeout_ms;
    known.slice_bytes = known.slice_bytes ? known.slice_bytes : parent->slice_bytes;
    known.algorithm = known.algorithm ? known.algorithm : parent->algorithm;
    known.relays = NULL; /* their processes serve the old group alone */
    known.transport = known.transport ? known.transport : parent->transport;
    known.shrink = known.shrink ? known.shrink : parent->shrink;
    if (!known.learn)
        known.learn = parent->learn == BANYAN_LEARN_NEVER  ? "0"
                      : parent->learn == BANYAN_LEARN_ONCE ? "once"
                                                           : "1";
    return init(out, setup, &known, err);
}

banyan_status banyan_setup_quorum(const banyan_setup *parent, const banyan_config *config, int *rule,
                                  banyan_error *err)
{
    banyan_config known;
    banyan_status status = read_config(config, &known, err);

    return status ? status : parse_quorum(known.shrink ? known.shrink : parent->shrink, rule, err);
}

banyan_status banyan_setup_open_log(banyan_setup *setup, int rank, banyan_error *err)
{
    banyan_settings *settings = NULL;
    banyan_status status = banyan_settings_load(&settings, err);

    if (!status && banyan_settings_integer(settings, BANYAN_SETTING_DEBUG) != BANYAN_LOG_NONE)
        status = banyan_log_create(settings, rank, &setup->log, err);
    banyan_settings_destroy(settings);
    return status;
}

void banyan_setup_fini(banyan_setup *setup)
{
    banyan_free(setup->wisdom_file);
    banyan_log_destroy(setup->log);
    banyan_topology_destroy(setup->topology);
    banyan_free(setup->active);
    banyan_free(setup->algorithm);
    banyan_free(setup->transport);
    banyan_free(setup->shrink);
    banyan_free(setup->relays);
    *setup = (banyan_setup){0};
}
