/* SPDX-License-Identifier: Apache-2.0 */
/* topology/scale.c: a network's size against the limits. */
#include "topology/scale.h"

int banyan_scale_is_large(const banyan_topology *topology)
{
    return topology->worker_count > BANYAN_SCALE_SEARCHED_WORKERS;
}

banyan_status banyan_scale_check(const banyan_topology *topology, banyan_error *err)
{
    if (topology->worker_count > BANYAN_SCALE_MAX_WORKERS)
        return banyan_fail(err, BANYAN_UNSUPPORTED,
                           "%.80s has %d workers; networks of up to %d are planned and bounded",
                           topology->name, topology->worker_count, BANYAN_SCALE_MAX_WORKERS);
    if (topology->node_count > BANYAN_SCALE_MAX_NODES)
        return banyan_fail(
            err, BANYAN_UNSUPPORTED,
            "%.80s has %d nodes, switches among them; networks of up to %d are planned and bounded",
            topology->name, topology->node_count, BANYAN_SCALE_MAX_NODES);
    return BANYAN_SUCCESS;
}
