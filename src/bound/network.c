/* SPDX-License-Identifier: Apache-2.0 */
/* bound/network.c: roles of nodes by what they can do and by the choice for idle workers; dead ends are left
 * out. */
#include "bound/network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/scratch.h"
#include "solve/oracle/steiner.h"

#define LEAST_RATE 1e-290 /* bytes/s: below this doubles lose digits */
#define MOST_RATE 1e290
#define WIDEST 4294967296.0 /* 2^32 */
#define MUCH_WIDER 256.0

typedef struct {
    unsigned char *role, *gone;
    int *neighbour; /* 2 per node: the different nodes at its links, as far as two; -1 none */
    int *src, *dst, *link;
    double *capacity;
    int arc_count;
    banyan_scratch memory;
} sketch;

banyan_status banyan_relays_parse(const char *text, banyan_relays *out, banyan_error *err)
{
    static const char *const names[] = {"add", "forward", "none"};

    for (int i = 0; i < 3; i++)
        if (strcmp(text, names[i]) == 0) {
            *out = (banyan_relays)i;
            return BANYAN_SUCCESS;
        }
    return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "relays is '%s'; it can be add, forward or none", text);
}

static void give_roles(sketch *s, const banyan_topology *topology, const int *active, int active_count,
                       banyan_relays relays)
{
    for (int v = 0; v < topology->node_count; v++) {
        const banyan_node *node = &topology->nodes[v];

        if (node->kind == BANYAN_NODE_WORKER) {
            s->role[v] = relays == BANYAN_RELAYS_ADD ? BANYAN_NODE_ADDS | BANYAN_NODE_COPIES : 0;
            s->gone[v] = relays == BANYAN_RELAYS_NONE;
        } else {
            s->role[v] = (unsigned char)((node->can_reduce ? BANYAN_NODE_ADDS : 0) |
                                         (node->can_multicast ? BANYAN_NODE_COPIES : 0));
        }
    }
    for (int i = 0; i < active_count; i++) {
        s->role[active[i]] = BANYAN_NODE_ACTIVE;
        s->gone[active[i]] = 0;
    }
}

static void note_neighbour(sketch *s, int v, int other)
{
    int *pair = s->neighbour + 2 * (size_t)v;

    if (pair[0] < 0)
        pair[0] = other;
    else if (pair[0] != other && pair[1] < 0)
        pair[1] = other;
}

/* A node that is not active, with at most one neighbour, leads nowhere; and what it can do is of use only if
 * that neighbour cannot: an idle worker behind a switch that just forwards can be where streams meet. */
static int is_dead_end(const sketch *s, int v)
{
    int only = s->neighbour[2 * v], all = BANYAN_NODE_ADDS | BANYAN_NODE_COPIES;

    if (s->gone[v] || (s->role[v] & BANYAN_NODE_ACTIVE) || s->neighbour[2 * v + 1] >= 0)
        return 0;
    return only < 0 || !(s->role[v] & all & ~(s->role[only] & BANYAN_NODE_ACTIVE ? all : s->role[only]));
}

/* Taking one away may make others dead ends. */
static void remove_dead_ends(sketch *s, const banyan_topology *topology)
{
    for (int again = 1; again;) {
        again = 0;
        for (int v = 0; v < 2 * topology->node_count; v++)
            s->neighbour[v] = -1;
        for (int i = 0; i < topology->link_count; i++) {
            const banyan_link *link = &topology->links[i];

            if (s->gone[link->src] || s->gone[link->dst] || link->src == link->dst)
                continue;
            note_neighbour(s, link->src, link->dst);
            note_neighbour(s, link->dst, link->src);
        }
        for (int v = 0; v < topology->node_count; v++)
            if (is_dead_end(s, v))
                s->gone[v] = 1, again = 1;
    }
}

static void take_links(sketch *s, const banyan_topology *topology)
{
    for (int i = 0; i < topology->link_count; i++) {
        const banyan_link *link = &topology->links[i];

        if (s->gone[link->src] || s->gone[link->dst] || link->src == link->dst)
            continue;
        s->src[s->arc_count] = link->src;
        s->dst[s->arc_count] = link->dst;
        s->link[s->arc_count] = i;
        s->capacity[s->arc_count++] = link->bytes_per_s;
    }
    for (int v = 0; v < topology->node_count; v++)
        if (s->gone[v])
            s->role[v] = 0;
}

/* The nodes that the first active worker reaches (back: that reach it) over links wider than least; whether
 * these are all active workers. */
static int is_joined(const sketch *s, const int *active, int active_count, double least, int back,
                     unsigned char *seen, int node_count)
{
    memset(seen, 0, (size_t)node_count);
    seen[active[0]] = 1;
    for (int again = 1; again;) {
        again = 0;
        for (int i = 0; i < s->arc_count; i++) {
            int from = back ? s->dst[i] : s->src[i], to = back ? s->src[i] : s->dst[i];

            if (s->capacity[i] > least && seen[from] && !seen[to])
                seen[to] = 1, again = 1;
        }
    }
    for (int i = 0; i < active_count; i++)
        if (!seen[active[i]])
            return 0;
    return 1;
}

static int compare_widths(const void *left, const void *right)
{
    const double *a = left, *b = right;

    return *a < *b ? -1 : *a > *b;
}

/* More than this no plan can bear on a link. Without the widest links that the active workers cannot do
 * without, some of these reach only one side of the network, or are reached from it alone; what crosses there
 * bounds every rate. And on a link it can come twice for each node: to be summed, and as a sum. */
static double find_most(const sketch *s, const int *active, int active_count, int node_count,
                        unsigned char *seen, double *sorted)
{
    int low = 0, high = s->arc_count - 1, back = 0;
    double crossing = 0;

    memcpy(sorted, s->capacity, (size_t)s->arc_count * sizeof *sorted);
    qsort(sorted, (size_t)s->arc_count, sizeof *sorted, compare_widths);
    while (low < high) { /* the least width without which, and all narrower ones, they are not joined */
        int middle = (low + high) / 2;

        if (is_joined(s, active, active_count, sorted[middle], 0, seen, node_count) &&
            is_joined(s, active, active_count, sorted[middle], 1, seen, node_count))
            low = middle + 1;
        else
            high = middle;
    }
    if (is_joined(s, active, active_count, sorted[low], 0, seen, node_count)) {
        back = 1;
        is_joined(s, active, active_count, sorted[low], 1, seen, node_count);
    }
    for (int i = 0; i < s->arc_count; i++)
        if (seen[back ? s->dst[i] : s->src[i]] && !seen[back ? s->src[i] : s->dst[i]])
            crossing += s->capacity[i];
    return 2 * crossing * node_count;
}

static void find_extremes(const sketch *s, int *thinnest, int *widest)
{
    *thinnest = *widest = 0;
    for (int i = 1; i < s->arc_count; i++) {
        *thinnest = s->capacity[i] < s->capacity[*thinnest] ? i : *thinnest;
        *widest = s->capacity[i] > s->capacity[*widest] ? i : *widest;
    }
}

static banyan_status refuse(const sketch *s, const banyan_topology *topology, int thin, int wide,
                            banyan_error *err)
{
    return banyan_fail(
        err, BANYAN_INVALID_ARGUMENT,
        "links %s->%s of %.3g and %s->%s of %.3g bytes/s are too different to plan with both: leave the "
        "thin one out",
        banyan_topology_node_name(topology, s->src[thin]), banyan_topology_node_name(topology, s->dst[thin]),
        s->capacity[thin], banyan_topology_node_name(topology, s->src[wide]),
        banyan_topology_node_name(topology, s->dst[wide]), s->capacity[wide]);
}

/* Solvers count in whole numbers, and roundings should not show on thin links. So links that are wider than
 * anything can use are narrowed to that. */
static banyan_status narrow(sketch *s, const banyan_topology *topology, const int *active, int active_count,
                            banyan_error *err)
{
    int thin, wide;
    unsigned char *seen;
    double most = 0, *sorted;

    if (s->arc_count == 0 || active_count < 2)
        return BANYAN_SUCCESS;
    find_extremes(s, &thin, &wide);
    if (s->capacity[thin] >= LEAST_RATE && s->capacity[wide] <= MOST_RATE &&
        s->capacity[wide] / s->capacity[thin] <= MUCH_WIDER)
        return BANYAN_SUCCESS;
    if (s->capacity[thin] < LEAST_RATE && s->capacity[wide] < LEAST_RATE)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "link %s->%s of %.3g bytes/s is too thin to plan with: at least 1e-290 are needed",
                           banyan_topology_node_name(topology, s->src[thin]),
                           banyan_topology_node_name(topology, s->dst[thin]), s->capacity[thin]);
    if (s->capacity[thin] < LEAST_RATE || s->capacity[wide] > MOST_RATE)
        return refuse(s, topology, thin, wide, err);
    seen = banyan_alloc((size_t)topology->node_count, 1);
    sorted = banyan_alloc((size_t)s->arc_count, sizeof *sorted);
    if (seen && sorted)
        most = find_most(s, active, active_count, topology->node_count, seen, sorted);
    banyan_free(seen);
    banyan_free(sorted);
    if (!seen || !sorted)
        return banyan_fail_memory(err);
    if (fmin(most, s->capacity[wide]) / s->capacity[thin] > WIDEST)
        return refuse(s, topology, thin, wide, err);
    for (int i = 0; most > 0 && i < s->arc_count; i++)
        s->capacity[i] = s->capacity[i] < most ? s->capacity[i] : most;
    return BANYAN_SUCCESS;
}

/* Idle workers that are removed must not be what connects the active ones. */
static banyan_status check_reach(const banyan_topology *topology, const banyan_graph *graph,
                                 banyan_error *err)
{
    int *queue = banyan_alloc((size_t)graph->node_count, sizeof *queue);
    unsigned char *seen = banyan_alloc((size_t)graph->node_count, 1);
    banyan_status status = queue && seen ? BANYAN_SUCCESS : banyan_fail_memory(err);

    for (int back = 0; !status && graph->active_count && back < 2; back++) {
        banyan_graph_mark_reached(graph, NULL, back, seen, queue);
        for (int i = 0; !status && i < graph->active_count; i++)
            if (!seen[graph->active[i]])
                status = banyan_fail(err, BANYAN_INVALID_ARGUMENT, "no path between active workers %s and %s",
                                     banyan_topology_node_name(topology, graph->active[0]),
                                     banyan_topology_node_name(topology, graph->active[i]));
    }
    banyan_free(queue);
    banyan_free(seen);
    return status;
}

banyan_status banyan_network_graph(const banyan_topology *topology, const int *active, int active_count,
                                   banyan_relays relays, banyan_graph **out, banyan_error *err)
{
    size_t nodes = (size_t)topology->node_count, links = (size_t)topology->link_count;
    sketch s = {0};
    banyan_graph_input input;
    banyan_status status;

    *out = NULL;
    s.role = banyan_scratch_take(&s.memory, nodes, 1);
    s.gone = banyan_scratch_take(&s.memory, nodes, 1);
    s.neighbour = banyan_scratch_take(&s.memory, 2 * nodes, sizeof(int));
    s.src = banyan_scratch_take(&s.memory, links, sizeof(int));
    s.dst = banyan_scratch_take(&s.memory, links, sizeof(int));
    s.link = banyan_scratch_take(&s.memory, links, sizeof(int));
    s.capacity = banyan_scratch_take(&s.memory, links, sizeof(double));
    status = banyan_scratch_check(&s.memory, err);
    if (!status) {
        give_roles(&s, topology, active, active_count, relays);
        remove_dead_ends(&s, topology);
        take_links(&s, topology);
        status = narrow(&s, topology, active, active_count, err);
    }
    input = (banyan_graph_input){topology->node_count, s.role, s.arc_count, s.src, s.dst, s.capacity, s.link};
    if (!status)
        status = banyan_graph_create(&input, out, err);
    if (!status)
        status = check_reach(topology, *out, err);
    if (status) {
        banyan_graph_destroy(*out);
        *out = NULL;
    }
    banyan_scratch_free(&s.memory);
    return status;
}
