/* SPDX-License-Identifier: Apache-2.0 */
/* topology/info.c: a network's figures, and its nodes and links as plain arrays, for users of the library. */
#include <math.h>

#include "core/alloc.h"
#include "core/sized.h"
#include "topology/topology.h"

/* 0 without links. */
static void find_extremes(const banyan_topology *topology, double *slowest, double *fastest)
{
    *slowest = *fastest = topology->link_count ? topology->links[0].bytes_per_s : 0;
    for (int i = 1; i < topology->link_count; i++) {
        *slowest = fmin(*slowest, topology->links[i].bytes_per_s);
        *fastest = fmax(*fastest, topology->links[i].bytes_per_s);
    }
}

banyan_status banyan_topology_get_info(const banyan_topology *topology, banyan_topology_info *info,
                                       banyan_error *err)
{
    banyan_topology_info own = {0};

    if (!topology)
        return banyan_fail_null("topology", err);
    own.name = topology->name;
    own.node_count = topology->node_count;
    own.worker_count = topology->worker_count;
    own.host_count = topology->host_count;
    own.link_count = topology->link_count;
    find_extremes(topology, &own.slowest_bytes_per_s, &own.fastest_bytes_per_s);
    banyan_topology_digest(topology, own.digest);
    return banyan_sized_write(&own, sizeof own, info, "banyan_topology_info", err);
}

static void write_nodes(const banyan_topology *topology, const banyan_topology_arrays *out)
{
    for (int i = 0; i < topology->node_count; i++) {
        if (out->node_is_switch)
            out->node_is_switch[i] = topology->nodes[i].kind == BANYAN_NODE_SWITCH;
        if (out->node_host)
            out->node_host[i] = topology->nodes[i].host;
    }
}

static void write_links(const banyan_topology *topology, const banyan_topology_arrays *out)
{
    for (int i = 0; i < topology->link_count; i++) {
        if (out->link_src)
            out->link_src[i] = topology->links[i].src;
        if (out->link_dst)
            out->link_dst[i] = topology->links[i].dst;
        if (out->link_bytes_per_s)
            out->link_bytes_per_s[i] = topology->links[i].bytes_per_s;
        if (out->link_latency_s)
            out->link_latency_s[i] = topology->links[i].latency_s;
    }
}

banyan_status banyan_topology_get_arrays(const banyan_topology *topology,
                                         const banyan_topology_arrays *arrays, banyan_error *err)
{
    banyan_topology_arrays own = {0};
    banyan_status status;

    if (!topology)
        return banyan_fail_null("topology", err);
    status = banyan_sized_take(arrays, &own, sizeof own, "banyan_topology_arrays", err);
    if (status)
        return status;
    write_nodes(topology, &own);
    write_links(topology, &own);
    return BANYAN_SUCCESS;
}

banyan_status banyan_topology_check(const banyan_topology *topology, const char *active, int *count,
                                    banyan_error *err)
{
    int *nodes, node_count;
    banyan_status status;

    if (!topology)
        return banyan_fail_null("topology", err);
    status = banyan_topology_parse_active(topology, active, &nodes, &node_count, err);
    if (status)
        return status;
    status = banyan_topology_check_connected(topology, nodes, node_count, err);
    banyan_free(nodes);
    if (!status && count)
        *count = node_count;
    return status;
}
