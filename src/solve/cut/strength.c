/* SPDX-License-Identifier: Apache-2.0 */
/* solve/cut/strength.c: Newton steps on the worst partition.
 *
 * For a guess p/q we look for the partition with the least  q·cross - p·(parts - 1)
 * (solve/cut/worst_partition.h). If that is negative, the partition's own quotient is the next guess: it
 * falls each time, and seldom more than thrice. */
#include "solve/cut/strength.h"

#include <string.h>

#include "core/alloc.h"
#include "solve/cut/worst_partition.h"

/* Of cables between parts; without parts, of all. */
static int64_t crossing_capacity(const banyan_graph *graph, const int *part)
{
    int64_t sum = 0;

    for (int i = 0; i < graph->arc_count; i++) {
        const banyan_arc *arc = &graph->arcs[i];

        if (banyan_graph_cable(graph, i) == i && (!part || part[arc->src] != part[arc->dst]))
            sum += arc->capacity;
    }
    return sum;
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

/* Each node a part of its own. */
static int part_all(const banyan_graph *graph, int *part)
{
    int count = 0;

    for (int v = 0; v < graph->node_count; v++) {
        int has_cables = graph->out_first[v] < graph->out_first[v + 1];

        part[v] = has_cables ? v : -1;
        count += has_cables;
    }
    return count;
}

static banyan_status find(const banyan_graph *graph, banyan_worst_partition *loads, banyan_fraction *out,
                          int *part, int *kept, banyan_error *err)
{
    *out = banyan_fraction_make(crossing_capacity(graph, NULL), part_all(graph, kept) - 1);
    while (banyan_worst_partition_worst(loads, NULL, *out, part) + out->num < 0) {
        banyan_fraction next =
            banyan_fraction_make(crossing_capacity(graph, part), count_parts(graph, part) - 1);

        if (next.den == 0 || banyan_fraction_compare(next, *out) >= 0)
            return banyan_fail(err, BANYAN_INTERNAL_ERROR, "the partition search stopped falling");
        *out = next;
        memcpy(kept, part, (size_t)graph->node_count * sizeof *part);
    }
    return BANYAN_SUCCESS;
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
    banyan_worst_partition_destroy(loads);
    banyan_free(kept);
    banyan_free(number);
    return status;
}
