/* SPDX-License-Identifier: Apache-2.0 */
/* comm/setup.c: the program's config goes before the settings (core/settings.h), and those have defaults. */
#include "comm/setup.h"

#include <stdint.h>
#include <string.h>

#include "algorithms/algorithms.h"
#include "core/alloc.h"
#include "core/near.h"
#include "core/settings.h"
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

static banyan_status find_topology(banyan_setup *setup, const char *spec, banyan_error *err)
{
    banyan_status status = spec && *spec ? banyan_topology_load(spec, &setup->topology, err)
                                         : make_star(setup->size, &setup->topology, err);

    if (status)
        return status;
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

static banyan_status find_algorithm(banyan_setup *setup, const char *name, banyan_error *err)
{
    if (strcmp(name, "auto") != 0 && !banyan_algorithm_find(name)) {
        for (int i = 0; i < banyan_algorithm_count(); i++) {
            const char *candidate = banyan_algorithm_at(i)->name;

            if (banyan_near_find(name, &candidate, 1) == 0)
                return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                                   "there is no algorithm «%.80s»; is «%s» meant?", name, candidate);
        }
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "there is no algorithm «%.80s»", name);
    }
    setup->algorithm = banyan_strdup(name);
    return setup->algorithm ? BANYAN_SUCCESS : banyan_fail_memory(err);
}

static banyan_status merge(banyan_setup *setup, const banyan_config *config, const banyan_settings *settings,
                           banyan_error *err)
{
    const char *spec =
        config->topology ? config->topology : banyan_settings_string(settings, BANYAN_SETTING_TOPO);
    const char *algorithm =
        config->algorithm ? config->algorithm : banyan_settings_string(settings, BANYAN_SETTING_ALGO);
    banyan_status status = find_topology(setup, spec, err);

    if (!status)
        status = find_active(setup, config->active, err);
    if (!status)
        status = find_algorithm(setup, algorithm, err);
    setup->timeout_ms = config->timeout_ms
                            ? config->timeout_ms
                            : (int)banyan_settings_integer(settings, BANYAN_SETTING_TIMEOUT_MS);
    setup->slice_bytes = config->slice_bytes
                             ? config->slice_bytes
                             : (size_t)banyan_settings_integer(settings, BANYAN_SETTING_SLICE_BYTES);
    return status;
}

banyan_status banyan_setup_init(banyan_setup *out, const banyan_config *config, int size, banyan_error *err)
{
    banyan_settings *settings = NULL;
    banyan_setup setup = {.size = size};
    banyan_config known;
    banyan_status status = read_config(config, &known, err);

    *out = (banyan_setup){0};
    if (!status && (size < 1 || size > BANYAN_TRANSPORT_MAX_MEMBERS))
        status = banyan_fail(err, BANYAN_INVALID_ARGUMENT, "a group has 1 to %d ranks, not %d",
                             BANYAN_TRANSPORT_MAX_MEMBERS, size);
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

void banyan_setup_fini(banyan_setup *setup)
{
    banyan_topology_destroy(setup->topology);
    banyan_free(setup->active);
    banyan_free(setup->algorithm);
    *setup = (banyan_setup){0};
}
