/* SPDX-License-Identifier: Apache-2.0 */
/* topology/deal.c: deal=rr: the workers in another order, one of each host in turn, as some launchers
 * number ranks. Names stay with their workers; only who is worker 0, 1, 2... changes.
 *
 *     hosts:2+3           g0 g1 | g2 g3 g4          worker 0, 1, 2, 3, 4
 *     hosts:2+3,deal=rr   g0 g2 g1 g3 g4            of hosts 0 1 0 1 1 */
#include "core/alloc.h"
#include "topology/generator.h"

/* order[k]: the node that is worker k. A worker without a host is a host of its own. */
static void deal(const banyan_topology *t, int *order, char *is_dealt)
{
    int count = 0;

    while (count < t->worker_count) {
        int round = count;

        for (int i = 0; i < t->worker_count; i++) {
            int host = t->nodes[t->workers[i]].host, has_one = is_dealt[i];

            for (int k = round; k < count && !has_one; k++)
                has_one = host >= 0 && t->nodes[order[k]].host == host;
            if (has_one)
                continue;
            is_dealt[i] = 1;
            order[count++] = t->workers[i];
        }
    }
}

static banyan_status rebuild(const banyan_topology *t, const int *order, int *place, banyan_topology **out,
                             banyan_error *err)
{
    banyan_topology_builder builder;
    int worker = 0;

    banyan_topology_builder_init(&builder, t->name);
    for (int i = 0; i < t->host_count; i++)
        banyan_topology_add_host(&builder, banyan_topology_host_name(t, i));
    for (int i = 0; i < t->node_count; i++) {
        int is_worker = t->nodes[i].kind == BANYAN_NODE_WORKER, node = is_worker ? order[worker++] : i;

        place[node] = i;
        if (is_worker)
            banyan_topology_add_worker(&builder, banyan_topology_node_name(t, node), t->nodes[node].host);
        else
            banyan_topology_add_switch(&builder, banyan_topology_node_name(t, node));
        if (!is_worker)
            banyan_topology_set_abilities(&builder, i, t->nodes[i].can_multicast, t->nodes[i].can_reduce);
    }
    for (int i = 0; i < t->link_count; i++)
        banyan_topology_add_link(&builder, place[t->links[i].src], place[t->links[i].dst],
                                 t->links[i].bytes_per_s, t->links[i].latency_s);
    for (int i = 0; i < t->damaged_count; i++)
        banyan_topology_add_damaged(
            &builder, &(banyan_damaged_link){place[t->damaged[i].src], place[t->damaged[i].dst],
                                             t->damaged[i].whole_bytes_per_s, t->damaged[i].left});
    banyan_topology_set_policy(&builder, t->policy);
    return banyan_topology_builder_finish(&builder, out, err);
}

banyan_status banyan_topology_deal(const banyan_topology *topology, banyan_topology **out, banyan_error *err)
{
    int *order = banyan_alloc((size_t)topology->worker_count, sizeof *order);
    int *place = banyan_alloc((size_t)topology->node_count, sizeof *place);
    char *is_dealt = banyan_alloc((size_t)topology->worker_count, 1);
    banyan_status status = BANYAN_SUCCESS;

    *out = NULL;
    if (!order || !place || !is_dealt)
        status = banyan_fail_memory(err);
    else if (topology->grid.dimension_count)
        status = banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                             "deal=rr: %s is a grid, in which workers have their places", topology->name);
    if (!status) {
        deal(topology, order, is_dealt);
        status = rebuild(topology, order, place, out, err);
    }
    banyan_free(order);
    banyan_free(place);
    banyan_free(is_dealt);
    return status;
}
