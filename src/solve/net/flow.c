/* SPDX-License-Identifier: Apache-2.0 */
/* solve/net/flow.c: Dinic's algorithm (1970): while the sink can be reached, number the nodes by distance and
 * push a blocking flow along arcs that go one step further. O(V^2 E) at worst, near linear on the networks at
 * hand. The depth-first search keeps its path on a stack of its own, so deep networks cannot overrun the C
 * stack. */
#include "solve/net/flow.h"

#include <string.h>

#include "core/alloc.h"
#include "core/scratch.h"
#include "solve/net/work.h"

struct banyan_flow {
    int node_count, edge_count, joined_count;
    int *first, *half; /* half edges that leave v: half[first[v] .. first[v+1]); 2i forward, 2i+1 back */
    int *head;         /* where a half edge leads */
    int64_t *room;
    int *level, *next, *queue, *path;
    banyan_scratch memory;
};

banyan_status banyan_flow_create(int node_count, int edge_count, banyan_flow **out, banyan_error *err)
{
    size_t nodes = (size_t)node_count, halves = 2 * (size_t)edge_count;
    banyan_flow *flow = banyan_alloc(1, sizeof *flow);

    *out = NULL;
    if (!flow)
        return banyan_fail_memory(err);
    flow->node_count = node_count;
    flow->edge_count = edge_count;
    flow->first = banyan_scratch_take(&flow->memory, nodes + 2, sizeof(int));
    flow->half = banyan_scratch_take(&flow->memory, halves, sizeof(int));
    flow->head = banyan_scratch_take(&flow->memory, halves, sizeof(int));
    flow->room = banyan_scratch_take(&flow->memory, halves, sizeof(int64_t));
    flow->level = banyan_scratch_take(&flow->memory, nodes, sizeof(int));
    flow->next = banyan_scratch_take(&flow->memory, nodes, sizeof(int));
    flow->queue = banyan_scratch_take(&flow->memory, nodes, sizeof(int));
    flow->path = banyan_scratch_take(&flow->memory, nodes, sizeof(int));
    if (flow->memory.failed) {
        banyan_flow_destroy(flow);
        return banyan_fail_memory(err);
    }
    *out = flow;
    return BANYAN_SUCCESS;
}

void banyan_flow_join(banyan_flow *flow, int src, int dst)
{
    int edge = flow->joined_count++;

    flow->head[2 * edge] = dst;
    flow->head[2 * edge + 1] = src;
    flow->first[src + 2]++;
    flow->first[dst + 2]++;
    if (flow->joined_count < flow->edge_count)
        return;
    for (int v = 0; v < flow->node_count; v++)
        flow->first[v + 2] += flow->first[v + 1];
    for (int i = 0; i < 2 * flow->edge_count; i++)
        flow->half[flow->first[flow->head[i ^ 1] + 1]++] = i;
}

void banyan_flow_destroy(banyan_flow *flow)
{
    if (!flow)
        return;
    banyan_scratch_free(&flow->memory);
    banyan_free(flow);
}

void banyan_flow_set(banyan_flow *flow, int edge, int64_t capacity, int64_t back)
{
    flow->room[2 * edge] = capacity;
    flow->room[2 * edge + 1] = back;
}

/* Distances from the source over edges with room; 0 when the sink is out of reach. */
static int number_levels(banyan_flow *flow, int source, int sink)
{
    int count = 0;

    for (int v = 0; v < flow->node_count; v++)
        flow->level[v] = -1;
    flow->level[source] = 0;
    flow->queue[count++] = source;
    for (int i = 0; i < count; i++) {
        int v = flow->queue[i];

        for (int j = flow->first[v]; j < flow->first[v + 1]; j++) {
            int half = flow->half[j], w = flow->head[half];

            if (flow->room[half] > 0 && flow->level[w] < 0) {
                flow->level[w] = flow->level[v] + 1;
                flow->queue[count++] = w;
                if (w == sink) /* all that are nearer have their numbers */
                    return 1;
            }
        }
    }
    return 0;
}

/* The next half edge from v that leads one level on, or -1. */
static int advance(banyan_flow *flow, int v)
{
    for (; flow->next[v] < flow->first[v + 1]; flow->next[v]++) {
        int half = flow->half[flow->next[v]];

        if (flow->room[half] > 0 && flow->level[flow->head[half]] == flow->level[v] + 1)
            return half;
    }
    return -1;
}

/* Moves as much as the path allows and returns it; *cut becomes the first step that is full now. */
static int64_t push(banyan_flow *flow, int length, int64_t limit, int *cut)
{
    int64_t amount = limit;

    for (int i = 0; i < length; i++)
        if (flow->room[flow->path[i]] < amount)
            amount = flow->room[flow->path[i]];
    *cut = 0;
    for (int i = length - 1; i >= 0; i--) {
        flow->room[flow->path[i]] -= amount;
        flow->room[flow->path[i] ^ 1] += amount;
        if (flow->room[flow->path[i]] == 0)
            *cut = i;
    }
    return amount;
}

static int64_t blocking_flow(banyan_flow *flow, int source, int sink, int64_t limit)
{
    int64_t total = 0;
    int length = 0, v = source;

    memcpy(flow->next, flow->first, (size_t)flow->node_count * sizeof(int));
    while (total < limit) {
        int half = v == sink ? -1 : advance(flow, v);

        if (v == sink) {
            total += push(flow, length, limit - total, &length);
            v = length ? flow->head[flow->path[length - 1]] : source;
        } else if (half >= 0) {
            flow->path[length++] = half;
            v = flow->head[half];
        } else if (length == 0) {
            break;
        } else { /* a dead end: step back and never come here again */
            flow->level[v] = -1;
            v = flow->head[flow->path[--length] ^ 1];
            flow->next[v]++;
        }
    }
    return total;
}

int64_t banyan_flow_run(banyan_flow *flow, int source, int sink, int64_t limit)
{
    int64_t total = 0;
    int phases = 1;

    for (; total < limit && number_levels(flow, source, sink); phases++)
        total += blocking_flow(flow, source, sink, limit - total);
    banyan_work_add(BANYAN_WORK_FLOW, (int64_t)phases * flow->edge_count);
    return total;
}

int banyan_flow_reaches(const banyan_flow *flow, int node)
{
    return flow->level[node] >= 0;
}
