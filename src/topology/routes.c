/* SPDX-License-Identifier: Apache-2.0 */
/* topology/routes.c: default routes. For a destination we find the distance of every node to it. A route is a
 * walk from link to link, each of which leads closer: where several do, the destination's number picks one of
 * them (D-mod-k). What was picked at a node is kept for further walks.
 *
 * For up-down routes there are two distances: 'down', using only links away from the core, and 'any',
 * which may first climb. A walk that has begun to descend never climbs again, so a node has two ways on:
 * one for each state.
 *
 * A large network (topology/scale.h) would take too many such tables: there each route is searched for by
 * itself (topology/route_search.h), and is the same. */
#include "topology/routes.h"

#include <limits.h>

#include "core/alloc.h"
#include "topology/route_search.h"
#include "topology/scale.h"

enum { FAR = INT_MAX, NOT_PICKED = -2 };

/* The ways to a destination, found when first asked for. Both arrays have node_count numbers for each state
 * that a walk can be in: 0 may climb, 1 has descended; plain shortest paths have one state. */
typedef struct {
    int *distance;
    int *next; /* the link to take at a node; -1: none */
} ways;

struct banyan_routes {
    const banyan_topology *topology;
    int *level;                  /* updown: distance from the nearest worker */
    int *from_core;              /* updown: nodes such that up links lead from later to earlier ones */
    ways *updown;                /* by destination */
    ways *plain;                 /* the same by shortest distances, where the policy has no route */
    banyan_route_search *search; /* of a large network */
    int *queue;                  /* scratch: node_count */
    int *path;                   /* scratch: node_count links */
};

static int is_up(const banyan_routes *routes, const banyan_link *link)
{
    return banyan_route_is_up(routes->level, link);
}

/* Distances by breadth-first search against the links, from a first frontier that is in distance[]
 * already. */
static void spread(const banyan_routes *routes, int *distance, int tail, int only_down)
{
    const banyan_topology *topology = routes->topology;
    int *queue = routes->queue;

    for (int head = 0; head < tail; head++) {
        int v = queue[head];

        for (int i = topology->in_first[v]; i < topology->in_first[v + 1]; i++) {
            const banyan_link *link = &topology->links[topology->in_link[i]];

            if (only_down && is_up(routes, link))
                continue;
            /* An up-down path may begin and end at workers but not pass through one. */
            if (only_down && v != queue[0] && topology->nodes[v].kind == BANYAN_NODE_WORKER)
                continue;
            if (distance[link->src] == FAR) {
                distance[link->src] = distance[v] + 1;
                queue[tail++] = link->src;
            }
        }
    }
}

static int *new_distances(const banyan_routes *routes, int planes)
{
    size_t count = (size_t)planes * (size_t)routes->topology->node_count;
    int *distance = banyan_alloc(count, sizeof *distance);

    for (size_t i = 0; distance && i < count; i++)
        distance[i] = FAR;
    return distance;
}

static int *shortest_to(const banyan_routes *routes, int dst)
{
    int *distance = new_distances(routes, 1);

    if (!distance)
        return NULL;
    distance[dst] = 0;
    routes->queue[0] = dst;
    spread(routes, distance, 1, 0);
    return distance;
}

/* The best way from a node that begins with an up link, given those of the nodes above it. */
static int climb_from(const banyan_routes *routes, const int *any, int v)
{
    const banyan_topology *topology = routes->topology;
    int best = FAR;

    for (int i = topology->out_first[v]; i < topology->out_first[v + 1]; i++) {
        const banyan_link *link = &topology->links[topology->out_link[i]];

        if (!is_up(routes, link) || any[link->dst] == FAR || any[link->dst] + 1 >= best)
            continue;
        if (any[link->dst] == 0 || topology->nodes[link->dst].kind != BANYAN_NODE_WORKER)
            best = any[link->dst] + 1;
    }
    return best;
}

/* 'any'(v) = least of 'down'(v) and 1 + 'any'(u) over up links v->u, from the core outwards. */
static int *updown_to(const banyan_routes *routes, int dst)
{
    const banyan_topology *topology = routes->topology;
    int *any = new_distances(routes, 2), *down;

    if (!any)
        return NULL;
    down = any + topology->node_count;
    down[dst] = 0;
    routes->queue[0] = dst;
    spread(routes, down, 1, 1);
    for (int i = 0; i < topology->node_count; i++) {
        int v = routes->from_core[i], climbed = climb_from(routes, any, v);

        any[v] = down[v] < climbed ? down[v] : climbed;
    }
    return any;
}

/* Levels descending, within a level nodes ascending; those that reach no worker are first. */
static int *sort_from_core(const banyan_topology *topology, const int *level)
{
    int nodes = topology->node_count;
    int *order = banyan_alloc((size_t)nodes, sizeof *order),
        *end = banyan_alloc((size_t)nodes + 1, sizeof *end);

    for (int v = 0; order && end && v < nodes; v++)
        end[level[v] < nodes ? level[v] : nodes]++;
    for (int i = nodes - 1; order && end && i >= 0; i--)
        end[i] += end[i + 1];
    for (int v = nodes - 1; order && end && v >= 0; v--)
        order[--end[level[v] < nodes ? level[v] : nodes]] = v;
    if (!end) {
        banyan_free(order);
        order = NULL;
    }
    banyan_free(end);
    return order;
}

/* Those of the policy 'updown'; 0: no memory. */
static int find_levels(banyan_routes *routes)
{
    if (routes->topology->policy != BANYAN_ROUTES_UPDOWN)
        return 1;
    routes->level = banyan_route_levels(routes->topology);
    routes->from_core = routes->level ? sort_from_core(routes->topology, routes->level) : NULL;
    return routes->from_core != NULL;
}

banyan_status banyan_routes_create(const banyan_topology *topology, banyan_routes **out, banyan_error *err)
{
    banyan_routes *routes = banyan_alloc(1, sizeof *routes);
    size_t nodes = (size_t)topology->node_count;

    *out = NULL;
    if (!routes)
        return banyan_fail_memory(err);
    routes->topology = topology;
    routes->updown = banyan_alloc(nodes, sizeof *routes->updown);
    routes->plain = banyan_alloc(nodes, sizeof *routes->plain);
    routes->queue = banyan_alloc(nodes, sizeof *routes->queue);
    routes->path = banyan_alloc(nodes + 2, sizeof *routes->path);
    if (!routes->updown || !routes->plain || !routes->queue || !routes->path || !find_levels(routes) ||
        (banyan_scale_is_large(topology) &&
         banyan_route_search_create(topology, routes->level, &routes->search, err))) {
        banyan_routes_destroy(routes);
        return banyan_fail_memory(err);
    }
    *out = routes;
    return BANYAN_SUCCESS;
}

static void ways_destroy(ways *all, int count)
{
    for (int i = 0; all && i < count; i++) {
        banyan_free(all[i].distance);
        banyan_free(all[i].next);
    }
    banyan_free(all);
}

void banyan_routes_destroy(banyan_routes *routes)
{
    if (!routes)
        return;
    ways_destroy(routes->updown, routes->topology->node_count);
    ways_destroy(routes->plain, routes->topology->node_count);
    banyan_free(routes->level);
    banyan_free(routes->from_core);
    banyan_free(routes->queue);
    banyan_free(routes->path);
    banyan_route_search_destroy(routes->search);
    banyan_free(routes);
}

/* Whether the link leads one step closer; descended says that the walk may no longer climb. */
static int goes_closer(const banyan_routes *routes, const int *any, const banyan_link *link, int descended)
{
    const int *down = any + routes->topology->node_count;

    if (any[link->dst] > 0 && routes->topology->nodes[link->dst].kind == BANYAN_NODE_WORKER)
        return 0;
    if (!is_up(routes, link))
        return down[link->dst] != FAR &&
               down[link->dst] == (descended ? down[link->src] : any[link->src]) - 1;
    return !descended && any[link->dst] != FAR && any[link->dst] == any[link->src] - 1;
}

static int is_shorter(const int *distance, const banyan_link *link)
{
    return distance[link->dst] != FAR && distance[link->dst] == distance[link->src] - 1;
}

/* Among the links that go closer the fastest ones, and of these the one that the destination's number picks.
 * state: 0 may climb, 1 has descended, -1 plain shortest paths. */
static int pick_link(const banyan_routes *routes, const int *distance, int v, int dst, int state)
{
    const banyan_topology *topology = routes->topology;
    int candidates = 0, wanted = 0;
    double fastest = 0;

    for (int pass = 0; pass < 2; pass++) {
        for (int i = topology->out_first[v]; i < topology->out_first[v + 1]; i++) {
            const banyan_link *link = &topology->links[topology->out_link[i]];

            if (link->bytes_per_s < fastest ||
                !(state < 0 ? is_shorter(distance, link) : goes_closer(routes, distance, link, state)))
                continue;
            if (pass && wanted-- == 0)
                return topology->out_link[i];
            if (!pass) {
                candidates = link->bytes_per_s > fastest ? 1 : candidates + 1;
                fastest = link->bytes_per_s;
            }
        }
        wanted = candidates ? dst % candidates : -1;
    }
    return -1;
}

/* Finds them when first asked for; 0: no memory. */
static int find_ways(const banyan_routes *routes, ways *to, int dst, int updown)
{
    size_t count = (size_t)(updown ? 2 : 1) * (size_t)routes->topology->node_count;

    if (to->next)
        return 1;
    if (!to->distance)
        to->distance = updown ? updown_to(routes, dst) : shortest_to(routes, dst);
    to->next = to->distance ? banyan_alloc(count, sizeof *to->next) : NULL;
    for (size_t i = 0; to->next && i < count; i++)
        to->next[i] = NOT_PICKED;
    return to->next != NULL;
}

/* Walks from src to dst; -1 where there is no way. */
static int walk(banyan_routes *routes, const ways *to, int src, int dst, int updown)
{
    const banyan_topology *topology = routes->topology;
    int count = 0, descended = 0;

    for (int v = src; v != dst;) {
        int *link = &to->next[descended * topology->node_count + v];

        if (*link == NOT_PICKED)
            *link = pick_link(routes, to->distance, v, dst, updown ? descended : -1);
        if (*link < 0 || count > topology->node_count)
            return -1;
        if (updown && !is_up(routes, &topology->links[*link]))
            descended = 1;
        routes->path[count++] = *link;
        v = topology->links[*link].dst;
    }
    return count;
}

/* One dimension after the other; -1 where a link is missing or an end is not on the grid. */
static int walk_grid(banyan_routes *routes, int src, int dst)
{
    const banyan_topology *topology = routes->topology;
    const banyan_grid *grid = &topology->grid;
    int here = banyan_topology_worker_number(topology, src),
        there = banyan_topology_worker_number(topology, dst), stride = topology->worker_count, count = 0;

    if (here < 0 || there < 0 || !grid->dimension_count)
        return -1;
    for (int d = 0; d < grid->dimension_count; d++) {
        int extent = grid->extent[d], ahead, step;

        stride /= extent;
        ahead = there / stride % extent - here / stride % extent;
        if (grid->wraps[d] && 2 * ahead > extent)
            ahead -= extent;
        else if (grid->wraps[d] && 2 * ahead <= -extent)
            ahead += extent;
        step = ahead > 0 ? 1 : -1;
        for (; ahead; ahead -= step) {
            int now = here / stride % extent, then = (now + step + extent) % extent;
            int next = here + (then - now) * stride;
            int link = banyan_topology_find_link(topology, topology->workers[here], topology->workers[next]);

            if (link < 0 || count == topology->node_count)
                return -1;
            routes->path[count++] = link;
            here = next;
        }
    }
    return count;
}

static int find_in_large(banyan_routes *routes, int src, int dst)
{
    int count = -1;

    if (routes->level)
        count = banyan_route_search_find(routes->search, src, dst, 1, routes->path);
    return count < 0 ? banyan_route_search_find(routes->search, src, dst, 0, routes->path) : count;
}

static int find(banyan_routes *routes, int src, int dst)
{
    int count = -1;

    if (routes->topology->policy == BANYAN_ROUTES_GRID)
        count = walk_grid(routes, src, dst);
    if (count < 0 && banyan_scale_is_large(routes->topology))
        return find_in_large(routes, src, dst);
    if (routes->topology->policy == BANYAN_ROUTES_UPDOWN) {
        if (!find_ways(routes, &routes->updown[dst], dst, 1))
            return -2;
        count = walk(routes, &routes->updown[dst], src, dst, 1);
    }
    if (count >= 0)
        return count;
    return find_ways(routes, &routes->plain[dst], dst, 0) ? walk(routes, &routes->plain[dst], src, dst, 0)
                                                          : -2;
}

banyan_status banyan_routes_find(banyan_routes *routes, int src, int dst, const int **links, int *count,
                                 banyan_error *err)
{
    int found = find(routes, src, dst);

    if (found == -2)
        return banyan_fail_memory(err);
    if (found < 0)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "no route leads from %s to %s",
                           banyan_topology_node_name(routes->topology, src),
                           banyan_topology_node_name(routes->topology, dst));
    *links = routes->path;
    *count = found;
    return BANYAN_SUCCESS;
}
