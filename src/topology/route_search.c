/* SPDX-License-Identifier: Apache-2.0 */
/* topology/route_search.c: bidirectional breadth-first search for one route.
 *
 *     src --> . --> turn --> . --> dst       forward from src, backward from dst, until they meet
 *
 * Every shortest path passes a node, its turn, up to which its links were found forward and after which
 * they were found backward. For plain routes the turns are the last layer that was found forward. For up-
 * down routes the forward search climbs and the backward one follows only links that descend, so a path
 * turns where it begins to descend, and workers are at its ends alone. All links on shortest paths are
 * kept, so that the walk from src has the same choice as with a table of distances, and the same rule
 * decides: the fastest links, and of these the one that the destination's number picks (D-mod-k).
 *
 * Cost: the links of the nodes that are searched. The links of a switch with thousands of ports are looked
 * at only where the route leads past it, since the side whose next layer has fewer links goes on, and up
 * links and down links are listed apart. */
#include "topology/route_search.h"

#include <limits.h>

#include "core/alloc.h"
#include "core/sort.h"

enum { FAR = INT_MAX, NONE = -1 };

/* Links by node, those of v being link[first[v] .. first[v + 1]). */
typedef struct {
    int *first, *link;
} adjacency;

/* The search from one end. */
typedef struct {
    int *distance;     /* by node, FAR: not found */
    int *queue;        /* the nodes that were found */
    int begin, end;    /* of the queue: those of the last layer */
    int depth;         /* of that layer */
    int *chain, *next; /* by node: the first link by which it was found, or NONE; by link: the next one */
    const int *first, *link; /* the links that it follows */
} search_side;

struct banyan_route_search {
    const banyan_topology *topology;
    const int *level;
    adjacency up, down; /* up links by source, down links by destination */
    search_side forward, backward;
    int *ahead;    /* by node: links found forward that lead on to a turn, or NONE; chained as forward.next */
    int *unmarked; /* nodes whose links found forward are to be listed by their sources */
    int *candidate; /* links from one node */
    int is_sorted;  /* every node's links are listed by destination: one of them is soon found */
    int is_updown, shortest, src, dst;
};

static void fill(int *array, size_t count, int value)
{
    for (size_t i = 0; array && i < count; i++)
        array[i] = value;
}

int *banyan_route_levels(const banyan_topology *topology)
{
    size_t nodes = (size_t)topology->node_count;
    int *level = banyan_alloc(nodes, sizeof *level), *queue = banyan_alloc(nodes, sizeof *queue), tail = 0;

    if (!level || !queue) {
        banyan_free(level);
        banyan_free(queue);
        return NULL;
    }
    fill(level, nodes, FAR);
    for (int i = 0; i < topology->worker_count; i++)
        level[queue[tail++] = topology->workers[i]] = 0;
    for (int head = 0; head < tail; head++)
        for (int i = topology->in_first[queue[head]]; i < topology->in_first[queue[head] + 1]; i++) {
            int v = topology->links[topology->in_link[i]].src;

            if (level[v] == FAR)
                level[queue[tail++] = v] = level[queue[head]] + 1;
        }
    banyan_free(queue);
    return level;
}

int banyan_route_is_up(const int *level, const banyan_link *link)
{
    int from = level[link->src], to = level[link->dst];

    return to > from || (to == from && link->dst < link->src);
}

/* The up links by source, or the down links by destination. */
static int list_links(const banyan_route_search *s, adjacency *out, int up)
{
    const banyan_topology *topology = s->topology;
    const int *first = up ? topology->out_first : topology->in_first;
    const int *link = up ? topology->out_link : topology->in_link;
    int count = 0;

    out->first = banyan_alloc((size_t)topology->node_count + 1, sizeof *out->first);
    out->link = banyan_alloc((size_t)topology->link_count + 1, sizeof *out->link);
    if (!out->first || !out->link)
        return 0;
    for (int v = 0; v < topology->node_count; v++) {
        for (int i = first[v]; i < first[v + 1]; i++)
            if (banyan_route_is_up(s->level, &topology->links[link[i]]) == up)
                out->link[count++] = link[i];
        out->first[v + 1] = count;
    }
    return 1;
}

static int side_init(search_side *side, size_t nodes, size_t links)
{
    side->distance = banyan_alloc(nodes, sizeof(int));
    side->queue = banyan_alloc(nodes, sizeof(int));
    side->chain = banyan_alloc(nodes, sizeof(int));
    side->next = banyan_alloc(links, sizeof(int));
    fill(side->distance, nodes, FAR);
    fill(side->chain, nodes, NONE);
    return side->distance && side->queue && side->chain && side->next;
}

static void side_fini(search_side *side)
{
    banyan_free(side->distance);
    banyan_free(side->queue);
    banyan_free(side->chain);
    banyan_free(side->next);
}

static int destination(const banyan_topology *topology, int place)
{
    return topology->links[topology->out_link[place]].dst;
}

static int are_sorted(const banyan_topology *topology)
{
    for (int v = 0; v < topology->node_count; v++)
        for (int i = topology->out_first[v] + 1; i < topology->out_first[v + 1]; i++)
            if (destination(topology, i - 1) > destination(topology, i))
                return 0;
    return 1;
}

banyan_status banyan_route_search_create(const banyan_topology *topology, const int *level,
                                         banyan_route_search **out, banyan_error *err)
{
    banyan_route_search *s = banyan_alloc(1, sizeof *s);
    size_t nodes = (size_t)topology->node_count, links = (size_t)topology->link_count + 1;

    *out = NULL;
    if (!s)
        return banyan_fail_memory(err);
    s->topology = topology;
    s->level = level;
    s->is_sorted = are_sorted(topology);
    s->ahead = banyan_alloc(nodes, sizeof *s->ahead);
    s->unmarked = banyan_alloc(2 * nodes, sizeof *s->unmarked);
    s->candidate = banyan_alloc(links, sizeof *s->candidate);
    fill(s->ahead, nodes, NONE);
    if (!s->ahead || !s->unmarked || !s->candidate || !side_init(&s->forward, nodes, links) ||
        !side_init(&s->backward, nodes, links) ||
        (level && (!list_links(s, &s->up, 1) || !list_links(s, &s->down, 0)))) {
        banyan_route_search_destroy(s);
        return banyan_fail_memory(err);
    }
    *out = s;
    return BANYAN_SUCCESS;
}

void banyan_route_search_destroy(banyan_route_search *search)
{
    if (!search)
        return;
    side_fini(&search->forward);
    side_fini(&search->backward);
    banyan_free(search->up.first);
    banyan_free(search->up.link);
    banyan_free(search->down.first);
    banyan_free(search->down.link);
    banyan_free(search->ahead);
    banyan_free(search->unmarked);
    banyan_free(search->candidate);
    banyan_free(search);
}

static void begin(search_side *side, int origin, const int *first, const int *link)
{
    side->first = first;
    side->link = link;
    side->distance[origin] = 0;
    side->queue[0] = origin;
    side->begin = side->depth = 0;
    side->end = 1;
}

/* An up-down route does not pass through a worker. */
static int may_visit(const banyan_route_search *s, int v)
{
    return !s->is_updown || v == s->src || v == s->dst || s->topology->nodes[v].kind != BANYAN_NODE_WORKER;
}

/* One layer more. */
static void expand(banyan_route_search *s, search_side *side)
{
    const int *seen = side == &s->forward ? s->backward.distance : s->forward.distance;
    int tail = side->end, depth = ++side->depth;

    for (int head = side->begin; head < side->end; head++) {
        int v = side->queue[head];

        for (int i = side->first[v]; i < side->first[v + 1]; i++) {
            int id = side->link[i];
            const banyan_link *link = &s->topology->links[id];
            int w = side == &s->forward ? link->dst : link->src;

            if (side->distance[w] < depth || !may_visit(s, w))
                continue;
            if (side->distance[w] == FAR) {
                side->distance[w] = depth;
                side->queue[tail++] = w;
                if (seen[w] != FAR && seen[w] + depth < s->shortest)
                    s->shortest = seen[w] + depth;
            }
            side->next[id] = side->chain[w];
            side->chain[w] = id;
        }
    }
    side->begin = side->end;
    side->end = tail;
}

static long count_next(const search_side *side)
{
    long count = 0;

    for (int i = side->begin; i < side->end; i++)
        count += side->first[side->queue[i] + 1] - side->first[side->queue[i]];
    return count;
}

/* Every path of up to the sum of both depths is known. */
static void search_plain(banyan_route_search *s)
{
    search_side *forward = &s->forward, *backward = &s->backward;

    while (forward->depth + backward->depth < s->shortest) {
        if (forward->begin == forward->end || backward->begin == backward->end)
            return;
        expand(s, count_next(forward) <= count_next(backward) ? forward : backward);
    }
}

/* A path may climb or descend all the way. */
static void search_updown(banyan_route_search *s)
{
    search_side *sides[] = {&s->forward, &s->backward};

    for (int moved = 1; moved;) {
        moved = 0;
        for (int i = 0; i < 2; i++)
            if (sides[i]->begin < sides[i]->end && sides[i]->depth < s->shortest) {
                expand(s, sides[i]);
                moved = 1;
            }
    }
}

static int is_turn(const banyan_route_search *s, int v)
{
    int from = s->forward.distance[v], to = s->backward.distance[v];

    return from != FAR && to != FAR && from + to == s->shortest && (s->is_updown || from == s->forward.depth);
}

/* Of the links that were found forward, keeps those that lead to a turn. */
static void mark_ahead(banyan_route_search *s)
{
    search_side *forward = &s->forward;
    int count = 0;

    for (int i = 0; i < forward->end; i++)
        if (is_turn(s, forward->queue[i]))
            s->unmarked[count++] = forward->queue[i];
    while (count > 0) {
        int v = s->unmarked[--count], id = forward->chain[v], next;

        forward->chain[v] = NONE;
        for (; id != NONE; id = next) {
            int u = s->topology->links[id].src;

            next = forward->next[id];
            if (s->ahead[u] == NONE)
                s->unmarked[count++] = u;
            forward->next[id] = s->ahead[u];
            s->ahead[u] = id;
        }
    }
}

/* The fastest of the links, and of these, in the order of their ids, the one that the destination's number
 * picks. */
static int pick(banyan_route_search *s, int count)
{
    double fastest = 0;
    int left = 0;

    for (int i = 0; i < count; i++)
        if (s->topology->links[s->candidate[i]].bytes_per_s > fastest)
            fastest = s->topology->links[s->candidate[i]].bytes_per_s;
    for (int i = 0; i < count; i++)
        if (s->topology->links[s->candidate[i]].bytes_per_s >= fastest)
            s->candidate[left++] = s->candidate[i];
    if (left > 1)
        banyan_sort_ints(s->candidate, (size_t)left);
    return s->candidate[s->dst % left];
}

static int walk(banyan_route_search *s, int *path)
{
    int count = 0, has_turned = 0;

    for (int v = s->src; v != s->dst; v = s->topology->links[path[count++]].dst) {
        int candidates = 0, may_turn = has_turned || is_turn(s, v);

        if (!has_turned)
            for (int id = s->ahead[v]; id != NONE; id = s->forward.next[id])
                s->candidate[candidates++] = id;
        if (may_turn)
            for (int id = s->backward.chain[v]; id != NONE; id = s->backward.next[id])
                s->candidate[candidates++] = id;
        path[count] = pick(s, candidates);
        has_turned =
            s->is_updown ? !banyan_route_is_up(s->level, &s->topology->links[path[count]]) : may_turn;
    }
    return count;
}

/* Makes the side ready for the next search. */
static void clear(banyan_route_search *s, search_side *side)
{
    for (int i = 0; i < side->end; i++) {
        int v = side->queue[i];

        side->distance[v] = FAR;
        side->chain[v] = s->ahead[v] = NONE;
    }
}

/* Neighbours need no search, which would list all their links. */
static int find_direct(banyan_route_search *s, int *path)
{
    const banyan_topology *topology = s->topology;
    int low = topology->out_first[s->src], end = topology->out_first[s->src + 1], candidates = 0;

    for (int high = end; s->is_sorted && low < high;) {
        int middle = low + (high - low) / 2;

        if (destination(topology, middle) < s->dst)
            low = middle + 1;
        else
            high = middle;
    }
    for (int i = low; i < end && !(s->is_sorted && destination(topology, i) > s->dst); i++)
        if (destination(topology, i) == s->dst)
            s->candidate[candidates++] = topology->out_link[i];
    if (candidates)
        path[0] = pick(s, candidates);
    return candidates > 0;
}

int banyan_route_search_find(banyan_route_search *search, int src, int dst, int is_updown, int *path)
{
    const banyan_topology *topology = search->topology;
    int count = -1;

    if (src == dst)
        return 0;
    search->is_updown = is_updown;
    search->shortest = FAR;
    search->src = src;
    search->dst = dst;
    if (!is_updown && find_direct(search, path))
        return 1;
    begin(&search->forward, src, is_updown ? search->up.first : topology->out_first,
          is_updown ? search->up.link : topology->out_link);
    begin(&search->backward, dst, is_updown ? search->down.first : topology->in_first,
          is_updown ? search->down.link : topology->in_link);
    if (is_updown)
        search_updown(search);
    else
        search_plain(search);
    if (search->shortest != FAR) {
        mark_ahead(search);
        count = walk(search, path);
    }
    clear(search, &search->forward);
    clear(search, &search->backward);
    return count;
}
