/* SPDX-License-Identifier: Apache-2.0 */
/* solve/net/graph.c: building the solvers' graph: integer capacities, twins, and the arcs of each node. */
#include "solve/net/graph.h"

#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "solve/net/fraction.h"

/* Where two bandwidths differ by less, they are the same cable's two directions. */
static int pair_order(const banyan_arc *a, const banyan_arc *b)
{
    int a_low = a->src < a->dst ? a->src : a->dst, a_high = a->src < a->dst ? a->dst : a->src;
    int b_low = b->src < b->dst ? b->src : b->dst, b_high = b->src < b->dst ? b->dst : b->src;

    if (a_low != b_low)
        return a_low < b_low ? -1 : 1;
    if (a_high != b_high)
        return a_high < b_high ? -1 : 1;
    if (a->capacity != b->capacity)
        return a->capacity < b->capacity ? -1 : 1;
    return 0;
}

static int compare_pairs(const void *left, const void *right)
{
    const banyan_arc *const *a = left, *const *b = right;
    int order = pair_order(*a, *b);

    return order ? order : (*a < *b ? -1 : *a > *b);
}

/* Among the arcs between two nodes, of one capacity, the i-th forward and the i-th back are twins. */
static void pair_group(banyan_graph *graph, banyan_arc **group, int count)
{
    int back = 0;

    for (int i = 0; i < count; i++) {
        if (group[i]->src > group[i]->dst)
            continue;
        while (back < count && group[back]->src < group[back]->dst)
            back++;
        if (back == count)
            return;
        group[i]->twin = (int)(group[back] - graph->arcs);
        group[back]->twin = (int)(group[i] - graph->arcs);
        back++;
    }
}

static banyan_status find_twins(banyan_graph *graph, banyan_error *err)
{
    banyan_arc **order = banyan_alloc((size_t)graph->arc_count, sizeof *order);

    if (!order)
        return banyan_fail_memory(err);
    for (int i = 0; i < graph->arc_count; i++) {
        order[i] = &graph->arcs[i];
        graph->arcs[i].twin = -1;
    }
    qsort(order, (size_t)graph->arc_count, sizeof *order, compare_pairs);
    for (int begin = 0, end; begin < graph->arc_count; begin = end) {
        for (end = begin; end < graph->arc_count && pair_order(order[begin], order[end]) == 0; end++)
            ;
        pair_group(graph, order + begin, end - begin);
    }
    banyan_free(order);
    return BANYAN_SUCCESS;
}

static void index_arcs(banyan_graph *graph)
{
    for (int i = 0; i < graph->arc_count; i++) {
        graph->out_first[graph->arcs[i].src + 1]++;
        graph->in_first[graph->arcs[i].dst + 1]++;
    }
    for (int v = 0; v < graph->node_count; v++) {
        graph->out_first[v + 1] += graph->out_first[v];
        graph->in_first[v + 1] += graph->in_first[v];
    }
    for (int i = graph->arc_count - 1; i >= 0; i--) {
        graph->out_arc[--graph->out_first[graph->arcs[i].src + 1]] = i;
        graph->in_arc[--graph->in_first[graph->arcs[i].dst + 1]] = i;
    }
    /* Filling from the back left entry v+1 at v's beginning: shift by one. */
    for (int v = 0; v < graph->node_count; v++) {
        graph->out_first[v] = graph->out_first[v + 1];
        graph->in_first[v] = graph->in_first[v + 1];
    }
    graph->out_first[graph->node_count] = graph->in_first[graph->node_count] = graph->arc_count;
}

static int is_symmetric(const banyan_graph *graph)
{
    for (int v = 0; v < graph->node_count; v++)
        if (!(graph->role[v] & BANYAN_NODE_ADDS) != !(graph->role[v] & BANYAN_NODE_COPIES))
            return 0;
    for (int i = 0; i < graph->arc_count; i++)
        if (graph->arcs[i].twin < 0)
            return 0;
    return 1;
}

static void take_roles(banyan_graph *graph, const unsigned char *role)
{
    for (int v = 0; v < graph->node_count; v++) {
        graph->role[v] = role[v];
        if (role[v] & BANYAN_NODE_ACTIVE) {
            graph->role[v] |= BANYAN_NODE_ADDS | BANYAN_NODE_COPIES;
            graph->active[graph->active_count++] = v;
        }
    }
}

static banyan_status take_arcs(banyan_graph *graph, const banyan_graph_input *input, banyan_error *err)
{
    int64_t *integer = banyan_alloc((size_t)input->arc_count, sizeof *integer);

    if (!integer)
        return banyan_fail_memory(err);
    graph->exact = banyan_fraction_common_unit(input->capacity, input->arc_count, integer, &graph->unit);
    for (int i = 0; i < input->arc_count; i++) {
        graph->arcs[i].src = input->src[i];
        graph->arcs[i].dst = input->dst[i];
        graph->arcs[i].capacity = integer[i];
        graph->arcs[i].width = graph->exact ? (double)integer[i] : input->capacity[i] / graph->unit;
        graph->arcs[i].link = input->link ? input->link[i] : i;
    }
    banyan_free(integer);
    return find_twins(graph, err);
}

banyan_status banyan_graph_create(const banyan_graph_input *input, banyan_graph **out, banyan_error *err)
{
    size_t nodes = (size_t)input->node_count, arcs = (size_t)input->arc_count;
    banyan_graph *graph = banyan_alloc(1, sizeof *graph);
    banyan_status status;

    *out = NULL;
    if (!graph)
        return banyan_fail_memory(err);
    graph->node_count = input->node_count;
    graph->arc_count = input->arc_count;
    graph->role = banyan_scratch_take(&graph->memory, nodes, 1);
    graph->active = banyan_scratch_take(&graph->memory, nodes, sizeof *graph->active);
    graph->arcs = banyan_scratch_take(&graph->memory, arcs, sizeof *graph->arcs);
    graph->out_first = banyan_scratch_take(&graph->memory, nodes + 1, sizeof(int));
    graph->in_first = banyan_scratch_take(&graph->memory, nodes + 1, sizeof(int));
    graph->out_arc = banyan_scratch_take(&graph->memory, arcs, sizeof(int));
    graph->in_arc = banyan_scratch_take(&graph->memory, arcs, sizeof(int));
    if (graph->memory.failed) {
        status = banyan_fail_memory(err);
        goto out;
    }
    take_roles(graph, input->role);
    status = take_arcs(graph, input, err);
    if (status)
        goto out;
    index_arcs(graph);
    graph->symmetric = is_symmetric(graph);
    *out = graph;
    graph = NULL;
out:
    banyan_graph_destroy(graph);
    return status;
}

void banyan_graph_destroy(banyan_graph *graph)
{
    if (!graph)
        return;
    banyan_scratch_free(&graph->memory);
    banyan_free(graph);
}

int banyan_graph_has_even_prices(const banyan_graph *graph, const int64_t *price)
{
    for (int i = 0; i < graph->arc_count; i++)
        if (!graph->symmetric || price[i] != price[graph->arcs[i].twin])
            return 0;
    return 1;
}

void banyan_graph_make_even_prices(const banyan_graph *graph, int64_t *price)
{
    if (!graph->symmetric || banyan_graph_has_even_prices(graph, price))
        return;
    for (int i = 0; i < graph->arc_count; i++)
        if (banyan_graph_cable(graph, i) == i)
            price[i] = price[graph->arcs[i].twin] = price[i] + price[graph->arcs[i].twin];
}

/* Some node with an arc has none of these abilities, and one of those (0: whatever it has). */
static int has_node(const banyan_graph *graph, unsigned without, unsigned with)
{
    for (int v = 0; v < graph->node_count; v++)
        if (graph->out_first[v] < graph->out_first[v + 1] && !(graph->role[v] & without) &&
            (!with || (graph->role[v] & with)))
            return 1;
    return 0;
}

int banyan_graph_all_active(const banyan_graph *graph)
{
    return !has_node(graph, BANYAN_NODE_ACTIVE, 0);
}

int banyan_graph_has_idle_adders(const banyan_graph *graph)
{
    return has_node(graph, BANYAN_NODE_ACTIVE, BANYAN_NODE_ADDS);
}

int banyan_graph_has_helpers(const banyan_graph *graph)
{
    return has_node(graph, BANYAN_NODE_ACTIVE, BANYAN_NODE_ADDS | BANYAN_NODE_COPIES);
}

int banyan_graph_has_forwarders(const banyan_graph *graph)
{
    return has_node(graph, BANYAN_NODE_ADDS | BANYAN_NODE_COPIES, 0);
}

int banyan_graph_all_branch(const banyan_graph *graph)
{
    return !has_node(graph, BANYAN_NODE_ADDS, 0) && !has_node(graph, BANYAN_NODE_COPIES, 0);
}

int64_t banyan_graph_price_between(const banyan_graph *graph, const int64_t *price, int src, int dst)
{
    int leaving =
        graph->out_first[src + 1] - graph->out_first[src] <= graph->in_first[dst + 1] - graph->in_first[dst];
    const int *first = leaving ? graph->out_first + src : graph->in_first + dst,
              *arc = leaving ? graph->out_arc : graph->in_arc;
    int64_t least = -1;

    for (int j = first[0]; j < first[1]; j++) {
        int i = arc[j];

        if (graph->arcs[i].src == src && graph->arcs[i].dst == dst && (least < 0 || price[i] < least))
            least = price[i];
    }
    return least;
}

banyan_graph banyan_graph_even_view(const banyan_graph *graph, unsigned char *role)
{
    const unsigned both = BANYAN_NODE_ADDS | BANYAN_NODE_COPIES;
    banyan_graph view = *graph;

    for (int v = 0; v < graph->node_count; v++)
        role[v] = (graph->role[v] & both) == both ? graph->role[v] : 0;
    view.role = role;
    view.symmetric = is_symmetric(&view);
    return view;
}

banyan_status banyan_graph_make_flow(const banyan_graph *graph, banyan_flow **out, banyan_error *err)
{
    int nodes = graph->node_count;
    banyan_status status = banyan_flow_create(nodes + 1, graph->arc_count + nodes, out, err);

    for (int i = 0; !status && i < graph->arc_count; i++)
        banyan_flow_join(*out, graph->arcs[i].src, graph->arcs[i].dst);
    for (int v = 0; !status && v < nodes; v++)
        banyan_flow_join(*out, nodes, v);
    return status;
}

void banyan_graph_mark_reached(const banyan_graph *graph, const int64_t *price, int back, unsigned char *seen,
                               int *queue)
{
    const int *first = back ? graph->in_first : graph->out_first,
              *arc = back ? graph->in_arc : graph->out_arc;
    int count = 0;

    memset(seen, 0, (size_t)graph->node_count);
    seen[queue[count++] = graph->active[0]] = 1;
    for (int i = 0; i < count; i++)
        for (int j = first[queue[i]]; j < first[queue[i] + 1]; j++) {
            int w = back ? graph->arcs[arc[j]].src : graph->arcs[arc[j]].dst;

            if (!seen[w] && !(price && price[arc[j]]))
                seen[queue[count++] = w] = 1;
        }
}

double banyan_graph_rounding(const banyan_graph *graph, const int64_t *price, int rounds)
{
    double true_worth = 0, worth = 0;

    for (int i = 0; i < rounds * graph->arc_count && !graph->exact; i++) {
        const banyan_arc *arc = &graph->arcs[i % graph->arc_count];

        true_worth += arc->width * (double)price[i];
        worth += (double)arc->capacity * (double)price[i];
    }
    return worth > 0 ? true_worth / worth : 1;
}

banyan_graph banyan_graph_forwarding_view(const banyan_graph *graph, unsigned char *role)
{
    banyan_graph view = *graph;

    for (int v = 0; v < graph->node_count; v++)
        role[v] = graph->role[v] & BANYAN_NODE_ACTIVE ? graph->role[v] : 0;
    view.role = role;
    return view;
}

int64_t banyan_graph_width(const banyan_graph *graph, int v, int is_out)
{
    const int *first = is_out ? graph->out_first : graph->in_first,
              *arc = is_out ? graph->out_arc : graph->in_arc;
    int64_t sum = 0;

    for (int j = first[v]; j < first[v + 1]; j++)
        sum += graph->arcs[arc[j]].capacity;
    return sum;
}

banyan_wide banyan_graph_worth(const banyan_graph *graph, const int64_t *price)
{
    banyan_wide sum = 0;

    for (int i = 0; i < graph->arc_count; i++)
        sum += (banyan_wide)graph->arcs[i].capacity * price[i];
    return sum;
}
