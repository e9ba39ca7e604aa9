/* SPDX-License-Identifier: Apache-2.0 */
/* solve/cut/strength.c: Newton steps on the worst partition.
 *
 * For a guess p/q we look for the partition with the least  q borders / 2 - p (parts - 1)
 * (solve/cut/worst_partition.h). If that is negative, the partition's own quotient is the next guess: it
 * falls each time, and seldom more than thrice. Then a minimum cut for each part tells which nodes that only
 * forward are on its side. */
#include "solve/cut/strength.h"

#include <string.h>

#include "core/alloc.h"
#include "solve/cut/worst_partition.h"
#include "solve/net/flow.h"

static int is_active(const banyan_graph *graph, int v)
{
    return (graph->role[v] & BANYAN_NODE_ACTIVE) && graph->out_first[v] < graph->out_first[v + 1];
}

static int count_parts(const banyan_graph *graph, const int *part)
{
    int count = 0;

    for (int v = 0; v < graph->node_count; v++)
        count += part[v] == v;
    return count;
}

/* Parts are named by nodes; gives them numbers 0.. in the order of their first node. */
static int renumber(const banyan_graph *graph, const int *kept, int *number, int *part)
{
    int count = 0;

    for (int v = 0; v < graph->node_count; v++)
        number[v] = -1;
    for (int v = 0; v < graph->node_count; v++) {
        if (kept[v] >= 0 && number[kept[v]] < 0)
            number[kept[v]] = count++;
        part[v] = kept[v] < 0 ? -1 : number[kept[v]];
    }
    return count;
}

/* Each active node a part of its own: what is around all of them. */
static int64_t part_all(const banyan_graph *graph, int *part)
{
    int64_t borders = 0;

    for (int v = 0; v < graph->node_count; v++)
        part[v] = is_active(graph, v) ? v : -1;
    for (int i = 0; i < graph->arc_count; i++)
        borders += part[graph->arcs[i].src] < 0 ? 0 : graph->arcs[i].capacity;
    return borders;
}

static banyan_status find(const banyan_graph *graph, banyan_worst_partition *loads, banyan_fraction *out,
                          int *part, int *kept, banyan_error *err)
{
    int64_t borders = part_all(graph, kept), least;

    *out = banyan_fraction_make(borders, 2 * ((int64_t)count_parts(graph, kept) - 1));
    while ((least = banyan_worst_partition_worst(loads, NULL, *out, part)) + 2 * out->num < 0) {
        int64_t parts = count_parts(graph, part);
        banyan_fraction next =
            banyan_fraction_make((least + 2 * out->num * parts) / out->den, 2 * (parts - 1));

        if (next.den == 0 || banyan_fraction_compare(next, *out) >= 0)
            return banyan_fail(err, BANYAN_INTERNAL_ERROR, "the partition search stopped falling");
        *out = next;
        memcpy(kept, part, (size_t)graph->node_count * sizeof *part);
    }
    return BANYAN_SUCCESS;
}

/* Edges are the arcs, then one from the source to each node, then one from each node to the sink. */
static banyan_status make_flow(const banyan_graph *graph, banyan_flow **out, banyan_error *err)
{
    int nodes = graph->node_count;
    banyan_status status = banyan_flow_create(nodes + 2, graph->arc_count + 2 * nodes, out, err);

    for (int i = 0; !status && i < graph->arc_count; i++)
        banyan_flow_join(*out, graph->arcs[i].src, graph->arcs[i].dst);
    for (int v = 0; !status && v < nodes; v++)
        banyan_flow_join(*out, nodes, v);
    for (int v = 0; !status && v < nodes; v++)
        banyan_flow_join(*out, v, nodes + 1);
    return status;
}

/* The smallest of the minimum cuts around different parts do not meet. */
static banyan_status place_forwarders(const banyan_graph *graph, int part_count, int *part, banyan_error *err)
{
    int nodes = graph->node_count, arcs = graph->arc_count;
    banyan_flow *flow = NULL;
    banyan_status status = make_flow(graph, &flow, err);

    for (int k = 0; !status && k < part_count; k++) {
        for (int i = 0; i < arcs; i++)
            banyan_flow_set(flow, i, graph->arcs[i].capacity, 0);
        for (int v = 0; v < nodes; v++) {
            banyan_flow_set(flow, arcs + v, is_active(graph, v) && part[v] == k ? INT64_MAX / 4 : 0, 0);
            banyan_flow_set(flow, arcs + nodes + v, is_active(graph, v) && part[v] != k ? INT64_MAX / 4 : 0,
                            0);
        }
        banyan_flow_run(flow, nodes, nodes + 1, INT64_MAX / 2);
        for (int v = 0; v < nodes; v++)
            if (!is_active(graph, v) && banyan_flow_reaches(flow, v))
                part[v] = k;
    }
    for (int v = 0; !status && part_count == 2 && v < nodes; v++) /* one cut is around both parts */
        part[v] = part[v] < 0 ? 0 : part[v];
    banyan_flow_destroy(flow);
    return status;
}

banyan_status banyan_strength(const banyan_graph *graph, banyan_fraction *out, int *part, int *part_count,
                              banyan_error *err)
{
    banyan_worst_partition *loads = NULL;
    int *kept = banyan_alloc((size_t)graph->node_count, sizeof *kept),
        *number = banyan_alloc((size_t)graph->node_count, sizeof *number);
    banyan_status status =
        kept && number ? banyan_worst_partition_create(graph, &loads, err) : banyan_fail_memory(err);

    if (!status)
        status = find(graph, loads, out, part, kept, err);
    if (!status)
        *part_count = renumber(graph, kept, number, part);
    if (!status && !banyan_graph_all_active(graph))
        status = place_forwarders(graph, *part_count, part, err);
    banyan_worst_partition_destroy(loads);
    banyan_free(kept);
    banyan_free(number);
    return status;
}

static void set_prices(const banyan_graph *graph, const int *part, int part_count, int64_t *price,
                       banyan_wide *cost)
{
    int is_odd = 0;

    for (int i = 0; i < graph->arc_count; i++) {
        int from = part[graph->arcs[i].src], to = part[graph->arcs[i].dst];

        price[i] = from == to ? 0 : (from >= 0) + (to >= 0);
        is_odd |= price[i] == 1;
    }
    for (int i = 0; !is_odd && i < graph->arc_count; i++)
        price[i] /= 2;
    *cost = (banyan_wide)(part_count - 1) * (is_odd ? 2 : 1);
}

banyan_status banyan_strength_prices(const banyan_graph *graph, banyan_fraction *out, int64_t *price,
                                     banyan_wide *cost, banyan_error *err)
{
    int *part = banyan_alloc((size_t)graph->node_count, sizeof *part), part_count = 0;
    banyan_status status =
        part ? banyan_strength(graph, out, part, &part_count, err) : banyan_fail_memory(err);

    if (!status)
        set_prices(graph, part, part_count, price, cost);
    banyan_free(part);
    return status;
}
