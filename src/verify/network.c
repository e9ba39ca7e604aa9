/* SPDX-License-Identifier: Apache-2.0 */
/* verify/network.c: whether the network can do what the schedule asks: routes are made of links that exist
 * and join up, data rests only at workers and at switches that can hold it, and a switch adds or multiplies
 * data only if it has that ability. */
#include "core/alloc.h"
#include "topology/routes.h"
#include "verify/judge.h"

static void judge_active(banyan_judge *judge)
{
    const banyan_schedule *schedule = judge->schedule;

    for (int i = 0; i < schedule->active_count; i++)
        if (judge->topology->nodes[schedule->active[i]].kind != BANYAN_NODE_WORKER)
            banyan_judge_report(judge, 0, "active node %d (%s) is a switch", schedule->active[i],
                                banyan_topology_node_name(judge->topology, schedule->active[i]));
}

static void judge_route(banyan_judge *judge, size_t transfer)
{
    const banyan_schedule *schedule = judge->schedule;
    const banyan_topology *topology = judge->topology;
    const banyan_transfer *t = &schedule->transfers[transfer];
    int here = t->src;
    char where[160];

    banyan_judge_transfer_name(judge, transfer, where, sizeof where);
    for (int i = schedule->route_first[t->route]; i < schedule->route_first[t->route + 1]; i++) {
        int link = schedule->route_link[i];

        if (link < 0 || link >= topology->link_count) {
            banyan_judge_report(judge, transfer, "%s: its route names link %d, but there are only %d", where,
                                link, topology->link_count);
            return;
        }
        if (topology->links[link].src != here) {
            banyan_judge_report(judge, transfer, "%s: its route is at %s, but link %d starts at %s", where,
                                banyan_topology_node_name(topology, here), link,
                                banyan_topology_node_name(topology, topology->links[link].src));
            return;
        }
        here = topology->links[link].dst;
    }
    if (here != t->dst)
        banyan_judge_report(judge, transfer, "%s: its route ends at %s", where,
                            banyan_topology_node_name(topology, here));
}

static banyan_status judge_default_route(banyan_judge *judge, size_t transfer, banyan_routes *routes,
                                         banyan_error *err)
{
    const banyan_transfer *t = &judge->schedule->transfers[transfer];
    const int *links;
    int count;
    char where[160];
    banyan_status status = banyan_routes_find(routes, t->src, t->dst, &links, &count, err);

    if (status != BANYAN_INVALID_ARGUMENT)
        return status;
    banyan_judge_report(judge, transfer, "%s: no route leads there",
                        banyan_judge_transfer_name(judge, transfer, where, sizeof where));
    return BANYAN_SUCCESS;
}

static void report_forwarder(banyan_judge *judge, size_t transfer, int node)
{
    char where[160];

    banyan_judge_report(
        judge, transfer,
        "%s: switch %s can only forward and holds no data: transfers lead through it, they do "
        "not begin or end there",
        banyan_judge_transfer_name(judge, transfer, where, sizeof where),
        banyan_topology_node_name(judge->topology, node));
}

static void judge_abilities(banyan_judge *judge, size_t transfer)
{
    const banyan_transfer *t = &judge->schedule->transfers[transfer];
    const banyan_node *src = &judge->topology->nodes[t->src], *dst = &judge->topology->nodes[t->dst];
    char where[160];

    if (src->kind == BANYAN_NODE_WORKER && dst->kind == BANYAN_NODE_WORKER)
        return;
    banyan_judge_transfer_name(judge, transfer, where, sizeof where);
    if (src->kind == BANYAN_NODE_SWITCH && !src->can_multicast && !src->can_reduce)
        report_forwarder(judge, transfer, t->src);
    if (dst->kind == BANYAN_NODE_SWITCH && !dst->can_multicast && !dst->can_reduce)
        report_forwarder(judge, transfer, t->dst);
    else if (dst->kind == BANYAN_NODE_SWITCH && !dst->can_reduce && t->action == BANYAN_ACTION_REDUCE)
        banyan_judge_report(judge, transfer, "%s: switch %s cannot add", where,
                            banyan_topology_node_name(judge->topology, t->dst));
}

/* A switch that cannot multicast sends each piece at most once. */
static banyan_status judge_multicast(banyan_judge *judge, banyan_error *err)
{
    const banyan_schedule *schedule = judge->schedule;
    size_t pieces = (size_t)schedule->piece_count;
    char *sent = NULL, where[160];

    for (size_t i = 0; i < schedule->transfer_count; i++) {
        const banyan_transfer *t = &schedule->transfers[i];
        const banyan_node *src = &judge->topology->nodes[t->src];

        if (src->kind != BANYAN_NODE_SWITCH || src->can_multicast || !src->can_reduce)
            continue;
        if (!sent)
            sent = banyan_alloc(pieces * (size_t)schedule->node_count, 1);
        if (!sent)
            return banyan_fail_memory(err);
        for (int p = t->first_piece; p < t->first_piece + t->piece_count; p++) {
            char *mark = &sent[(size_t)t->src * pieces + (size_t)p];

            if (*mark)
                banyan_judge_report(judge, i, "%s: switch %s sends piece %d again but cannot multicast",
                                    banyan_judge_transfer_name(judge, i, where, sizeof where),
                                    banyan_topology_node_name(judge->topology, t->src), p);
            *mark = 1;
        }
    }
    banyan_free(sent);
    return BANYAN_SUCCESS;
}

/* Default routes join whatever links join, so most need no search: nodes that are connected to the first
 * rank both ways are so with one another. */
banyan_status banyan_judge_network(banyan_judge *judge, banyan_error *err)
{
    const banyan_schedule *schedule = judge->schedule;
    banyan_routes *routes = NULL;
    char *joined = banyan_alloc((size_t)judge->topology->node_count, 1);
    banyan_status status =
        joined ? banyan_routes_create(judge->topology, &routes, err) : banyan_fail_memory(err);

    if (!status)
        status = banyan_topology_mark_connected(judge->topology, schedule->active[0], joined, err);
    if (!status)
        judge_active(judge);
    for (size_t i = 0; !status && i < schedule->transfer_count; i++) {
        const banyan_transfer *t = &schedule->transfers[i];

        judge_abilities(judge, i);
        if (t->route >= 0)
            judge_route(judge, i);
        else if (!joined[t->src] || !joined[t->dst])
            status = judge_default_route(judge, i, routes, err);
    }
    if (!status)
        status = judge_multicast(judge, err);
    banyan_routes_destroy(routes);
    banyan_free(joined);
    return status;
}
