/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/flit_paths.c: paths become hops, and lanes are parted into classes so that packets cannot wait for
 * each other in a circle.
 *
 * On a grid that wraps, where all paths go dimension by dimension the short way, a packet that goes round the
 * edge of a dimension uses class 1 along that dimension, any other class 0: neither class can close a circle,
 * as nobody goes further than half round. Elsewhere we walk depth-first over the graph 'link a is followed by
 * link b on some path'. Where a path goes back to a link that was being walked, it moves up one class;
 * without circles there is one class. Should there be more classes than lanes, the last one takes the rest,
 * and the watchdog remains. Cost: the links of all paths. */
#include <stdlib.h>

#include "core/alloc.h"
#include "simulate/flit_fabric.h"

typedef struct {
    int path_count;
    const int *first, *links;
    int *class_of; /* by place in links */
    int class_count;
} classing;

/* Dimension in which a link of a grid moves; *wraps: it goes round the edge. -1: none. */
static int dimension_of(const banyan_topology *t, const int *place, int link, int *wraps)
{
    int a = place[t->links[link].src], b = place[t->links[link].dst];

    *wraps = 0;
    if (a < 0 || b < 0)
        return -1;
    for (int d = t->grid.dimension_count - 1; d >= 0; d--) {
        int extent = t->grid.extent[d], from = a % extent, to = b % extent;

        if (from != to) {
            *wraps = extent > 2 && abs(from - to) == extent - 1;
            return d;
        }
        a /= extent;
        b /= extent;
    }
    return -1;
}

/* Does every path go dimension by dimension, first dimension first, and at most half round each? */
static int are_ordered(const banyan_topology *t, const int *place, const classing *c)
{
    for (int p = 0; p < c->path_count; p++)
        for (int i = c->first[p], before = -1, steps = 0; i < c->first[p + 1]; i++) {
            int wraps, d = dimension_of(t, place, c->links[i], &wraps);

            steps = d == before ? steps + 1 : 1;
            if (d < 0 || d < before || (t->grid.wraps[d] && 2 * steps > t->grid.extent[d]))
                return 0;
            before = d;
        }
    return 1;
}

static void class_by_grid(const banyan_topology *t, const int *place, classing *c)
{
    for (int p = 0; p < c->path_count; p++)
        for (int i = c->first[p], begin = i, before = -2, ever = 0; i < c->first[p + 1]; i++) {
            int wraps, d = dimension_of(t, place, c->links[i], &wraps);

            if (d != before) {
                begin = i;
                ever = 0;
            }
            before = d;
            if (wraps && !ever)
                for (int k = begin; k <= i; k++)
                    c->class_of[k] = 1;
            ever |= wraps;
            c->class_of[i] = ever;
        }
    c->class_count = 2;
}

/* Followers of each link, as an array of pairs sorted by counting. */
typedef struct {
    size_t *first;
    int *next, *order, *stack;
    size_t *at;
    uint8_t *is_open;
} follow_graph;

static int build_graph(const classing *c, int link_count, follow_graph *g)
{
    size_t edges = (size_t)c->first[c->path_count];
    size_t *fill;

    g->first = banyan_alloc((size_t)link_count + 2, sizeof *g->first);
    g->at = banyan_alloc((size_t)link_count + 1, sizeof *g->at);
    g->next = banyan_alloc(edges, sizeof *g->next);
    g->order = banyan_alloc((size_t)link_count, sizeof *g->order);
    g->stack = banyan_alloc((size_t)link_count, sizeof *g->stack);
    if (!g->first || !g->at || !g->next || !g->order || !g->stack)
        return 0;
    fill = g->first + 1;
    for (int p = 0; p < c->path_count; p++)
        for (int i = c->first[p]; i + 1 < c->first[p + 1]; i++)
            fill[c->links[i] + 1]++;
    for (int l = 1; l <= link_count; l++)
        fill[l] += fill[l - 1];
    for (int p = 0; p < c->path_count; p++)
        for (int i = c->first[p]; i + 1 < c->first[p + 1]; i++)
            g->next[fill[c->links[i]]++] = c->links[i + 1];
    return 1;
}

/* Numbers links when the walk leaves them: without circles a link comes after all that follow it. */
static void walk_graph(follow_graph *g, int link_count)
{
    int number = 0;

    for (int l = 0; l < link_count; l++) {
        g->order[l] = 0; /* not met; -1: being walked */
        g->at[l] = g->first[l];
    }
    for (int root = 0; root < link_count; root++) {
        int depth = 0;

        if (g->order[root])
            continue;
        g->stack[depth++] = root;
        g->order[root] = -1;
        while (depth) {
            int l = g->stack[depth - 1];

            if (g->at[l] == g->first[l + 1]) {
                g->order[l] = ++number;
                depth--;
            } else if (!g->order[g->next[g->at[l]]]) {
                g->stack[depth] = g->next[g->at[l]++];
                g->order[g->stack[depth++]] = -1;
            } else {
                g->at[l]++;
            }
        }
    }
}

static int class_by_walk(int link_count, int lane_count, classing *c)
{
    follow_graph g = {0};
    int fits = build_graph(c, link_count, &g);

    if (fits)
        walk_graph(&g, link_count);
    c->class_count = 1;
    for (int p = 0; fits && p < c->path_count; p++)
        for (int i = c->first[p], level = 0; i < c->first[p + 1]; i++) {
            if (i > c->first[p] && g.order[c->links[i]] > g.order[c->links[i - 1]] && level + 1 < lane_count)
                level++;
            c->class_of[i] = level;
            c->class_count = level + 1 > c->class_count ? level + 1 : c->class_count;
        }
    banyan_free(g.first);
    banyan_free(g.at);
    banyan_free(g.next);
    banyan_free(g.order);
    banyan_free(g.stack);
    return fits;
}

static int find_classes(const flit_fabric *f, classing *c)
{
    const banyan_topology *t = f->topology;
    int wraps = 0, *place;

    for (int d = 0; d < t->grid.dimension_count; d++)
        wraps |= t->grid.wraps[d] && t->grid.extent[d] > 2;
    if (!wraps || f->lane_count < 2)
        return class_by_walk(t->link_count, f->lane_count, c);
    place = banyan_alloc((size_t)t->node_count, sizeof *place);
    if (!place)
        return 0;
    for (int v = 0; v < t->node_count; v++)
        place[v] = -1;
    for (int w = 0; w < t->worker_count; w++)
        place[t->workers[w]] = w;
    wraps = are_ordered(t, place, c);
    if (wraps)
        class_by_grid(t, place, c);
    banyan_free(place);
    return wraps || class_by_walk(t->link_count, f->lane_count, c);
}

/* Flits that come over one link leave by one port, so that links do not meet there. */
static int ejection_port(const flit_fabric *f, int last_link)
{
    return last_link < 0 ? 0 : f->link_input[last_link] % f->settings.ports;
}

static uint32_t lane_range(int low, int high)
{
    return UINT32_MAX >> (31 - high) & UINT32_MAX << low;
}

static void fill_hops(flit_fabric *f, const classing *c, const int *dst, const uint8_t *is_normal)
{
    int at = 0, lanes = f->lane_count;

    for (int p = 0; p < c->path_count; p++) {
        int last = -1, port;

        f->path_first[p] = at;
        for (int i = c->first[p]; i < c->first[p + 1]; i++) {
            int level = c->class_of[i];

            last = c->links[i];
            f->hops[at++] = (flit_hop){
                lane_range(level * lanes / c->class_count, (level + 1) * lanes / c->class_count - 1),
                f->link_output[last]};
        }
        if (is_normal && is_normal[p] && f->normal_port >= 0)
            port = f->normal_port;
        else if (f->settings.interface_kind == BANYAN_INTERFACE_AUTHORS)
            port = p % f->settings.ports; /* flit_authors.h */
        else
            port = ejection_port(f, last);
        f->hops[at++] = (flit_hop){lane_range(0, lanes - 1), f->routers[dst[p]].link_outputs + port};
    }
    f->path_first[c->path_count] = at;
}

/* With other traffic about, long messages leave the last lane of each class to it. */
static void leave_lanes(flit_fabric *f, const classing *c, const uint8_t *is_normal)
{
    for (int p = 0; p < c->path_count; p++)
        for (int i = f->path_first[p]; i < f->path_first[p + 1]; i++) {
            uint32_t lanes = f->hops[i].lanes;

            if (!is_normal[p] && (lanes & (lanes - 1)))
                f->hops[i].lanes = lanes & lanes >> 1;
        }
}

banyan_status flit_fabric_set_paths(flit_fabric *f, int path_count, const int *first, const int *links,
                                    const int *dst, const uint8_t *is_normal, banyan_error *err)
{
    size_t places = (size_t)first[path_count];
    classing c = {path_count, first, links, banyan_alloc(places, sizeof(int)), 1};
    int fits;

    f->path_count = path_count;
    f->path_first = banyan_alloc((size_t)path_count + 1, sizeof *f->path_first);
    f->hops = banyan_alloc(places + (size_t)path_count, sizeof *f->hops);
    fits = c.class_of && f->path_first && f->hops && find_classes(f, &c);
    if (fits)
        fill_hops(f, &c, dst, is_normal);
    if (fits && f->leaves_lane && is_normal)
        leave_lanes(f, &c, is_normal);
    banyan_free(c.class_of);
    return fits ? BANYAN_SUCCESS : banyan_fail_memory(err);
}
