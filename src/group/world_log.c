/* SPDX-License-Identifier: Apache-2.0 */
/* group/world_log.c: what the log says when a rank has joined. */
#include <stdio.h>
#include <string.h>

#include "bootstrap/store.h"
#include "core/alloc.h"
#include "group/world_internal.h"

/* How bytes come from each peer; ranks that are reached in the same way stand together. */
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
                 transport->describe ? transport->describe(world->endpoint, banyan_world_node_of(setup, i),
                                                           other, sizeof other)
                                     : transport->name);
        for (int k = i; k < world->size; k++) {
            const char *words = transport->describe
                                    ? transport->describe(world->endpoint, banyan_world_node_of(setup, k),
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

void banyan_world_log_start(const banyan_world *world, const banyan_setup *setup)
{
    char digest[17], address[BANYAN_ADDRESS_TEXT];

    if (!setup->log)
        return;
    banyan_topology_digest(setup->topology, digest);
    BANYAN_INFO(setup->log, INIT, "rank %d of %d, listening at %s, time-out %d ms", world->rank, world->size,
                banyan_address_format(&world->records[world->rank].address, address), setup->timeout_ms);
    BANYAN_INFO(setup->log, GRAPH, "network %s (%s): %d workers, %d nodes, %d links, digest %s",
                setup->topology->name ? setup->topology->name : "",
                setup->is_default_topology ? "by hosts" : "given", setup->topology->worker_count,
                setup->topology->node_count, setup->topology->link_count, digest);
    if (banyan_log_is_on(setup->log, BANYAN_LOG_INFO, BANYAN_LOG_NET))
        log_peers(world, setup);
    banyan_world_log_strangers(world);
}

void banyan_world_log_strangers(const banyan_world *world)
{
    char strangers[BANYAN_STRANGERS_TEXT];

    if (world->control && *banyan_control_describe_strangers(world->control, strangers))
        BANYAN_INFO(world->log, INIT, "at the port of rank %d: %s", world->rank, strangers + 2);
}
