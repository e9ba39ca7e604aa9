/* SPDX-License-Identifier: Apache-2.0 */
/* group/plausible.c: hosts on switches and racks, as they are built most often. */
#include "group/plausible.h"

#include "topology/build.h"

#define HOST_BYTES_PER_S 1.25e8
#define LOCAL_BYTES_PER_S 1.25e10
#define LOCAL_LATENCY_S 1e-6
#define HOST_LATENCY_S 1e-5
#define OVERSUBSCRIBED 2.0

static int rack_size(const banyan_topology *hosts, int number)
{
    return number == 0 ? hosts->host_count : number == 1 ? 2 : (hosts->host_count + 1) / 2;
}

banyan_status banyan_plausible_create(const banyan_topology *hosts, int number, banyan_topology **out,
                                      banyan_error *err)
{
    int size = rack_size(hosts, number), racks = (hosts->host_count + size - 1) / size, first_host, net;
    banyan_topology_builder builder;

    *out = NULL;
    if (number && (racks < 2 || size < 2 || (number == 2 && size == 2)))
        return BANYAN_SUCCESS;
    banyan_topology_builder_init(&builder, "plausible");
    for (int i = 0; i < hosts->host_count; i++)
        banyan_topology_add_host(&builder, banyan_topology_host_name(hosts, i));
    for (int i = 0; i < hosts->worker_count; i++)
        banyan_topology_add_worker_f(&builder, hosts->nodes[i].host, "g%d", i);
    first_host = hosts->worker_count;
    for (int i = 0; i < hosts->host_count; i++)
        banyan_topology_add_switch_f(&builder, "h%d", i);
    net = banyan_topology_add_switch(&builder, "net");
    for (int i = 0; i < hosts->worker_count; i++)
        banyan_topology_add_cable(&builder, i, first_host + hosts->nodes[i].host, LOCAL_BYTES_PER_S,
                                  LOCAL_LATENCY_S);
    for (int r = 0; r < racks; r++) {
        int last = (r + 1) * size < hosts->host_count ? (r + 1) * size : hosts->host_count,
            members = last - r * size;
        int rack = racks > 1 && members > 1 ? banyan_topology_add_switch_f(&builder, "r%d", r) : net;

        for (int i = r * size; i < last; i++)
            banyan_topology_add_cable(&builder, first_host + i, rack, HOST_BYTES_PER_S, HOST_LATENCY_S);
        if (rack != net)
            banyan_topology_add_cable(&builder, rack, net, HOST_BYTES_PER_S * members / OVERSUBSCRIBED,
                                      HOST_LATENCY_S);
    }
    return banyan_topology_builder_finish(&builder, out, err);
}
