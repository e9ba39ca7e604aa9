/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/order_switches.c: the order of a ring's blocks, so that its steps do not meet on a cable.
 *
 *     u0 .. u3 -> l0 .. l3: steps between switches of one layer pass through the other one and meet there
 *     u0, l0, u1, l1, ..:   every step between switches has a cable of its own
 *
 * A block is a run of ranks of one host or one switch. A ring is as slow as its fullest link, so the cost
 * of an order is the time on that link, and then the sum of squares of the time on all links. Two orders
 * are made better, the one given and that which always goes on to the nearest block, by turning a stretch
 * round (2-opt) and by moving a block elsewhere; the better one wins. Cost: n^2 orders of n steps a pass,
 * n blocks. */
#include "algorithms/order_switches.h"

#include <string.h>

#include "core/alloc.h"
#include "topology/routes.h"

#define MAX_BLOCKS 128
#define MAX_PASSES 50
#define GAIN 1e-9 /* the share by which an order has to be better */

typedef struct {
    int first, last; /* places in the order of ranks */
} block;

typedef struct {
    const banyan_topology *topology;
    int count;
    block *blocks;
    int *link, *route; /* route a -> b: link[route[a n + b] .. route[a n + b + 1]) */
    double *busy_s;    /* by link, for one byte per step */
    double inside_max_s, inside_squares;
    int *now, *best, *trial;
} tour;

typedef struct {
    double max_s, squares;
} tour_cost;

int banyan_order_home(const banyan_topology *topology, int node)
{
    int first = topology->out_first[node];

    if (topology->nodes[node].host >= 0)
        return topology->node_count + topology->nodes[node].host;
    if (topology->out_first[node + 1] - first == 1 &&
        topology->nodes[topology->links[topology->out_link[first]].dst].kind == BANYAN_NODE_SWITCH)
        return topology->links[topology->out_link[first]].dst;
    return node;
}

static int is_better(tour_cost a, tour_cost b)
{
    if (a.max_s < b.max_s * (1 - GAIN))
        return 1;
    return a.max_s <= b.max_s * (1 + GAIN) && a.squares < b.squares * (1 - GAIN);
}

static void add_step(const tour *t, int link, double sign, tour_cost *cost)
{
    double s = sign / t->topology->links[link].bytes_per_s;

    cost->squares += s * (2 * t->busy_s[link] + s);
    t->busy_s[link] += s;
    if (t->busy_s[link] > cost->max_s)
        cost->max_s = t->busy_s[link];
}

static void add_steps(const tour *t, const int *order, double sign, tour_cost *cost)
{
    for (int i = 0; i < t->count; i++) {
        int step = order[i] * t->count + order[(i + 1) % t->count];

        for (int j = t->route[step]; j < t->route[step + 1]; j++)
            add_step(t, t->link[j], sign, cost);
    }
}

static tour_cost cost_of(const tour *t, const int *order)
{
    tour_cost cost = {t->inside_max_s, t->inside_squares}, undone = cost;

    add_steps(t, order, 1, &cost);
    add_steps(t, order, -1, &undone);
    return cost;
}

/* The stretch from i to j turned round; or, if moved, the block at i taken out and put in at j. */
static void change(const tour *t, int i, int j, int is_move)
{
    memcpy(t->trial, t->now, (size_t)t->count * sizeof *t->now);
    if (is_move) {
        int step = i < j ? 1 : -1;

        for (int k = i; k != j; k += step)
            t->trial[k] = t->now[k + step];
        t->trial[j] = t->now[i];
        return;
    }
    for (int k = i; k <= j; k++)
        t->trial[k] = t->now[i + j - k];
}

static int pass(const tour *t, tour_cost *cost)
{
    int has_changed = 0;

    for (int i = 0; i < t->count; i++)
        for (int j = 0; j < t->count; j++)
            for (int is_move = j > i ? 0 : 1; i != j && is_move < 2; is_move++) {
                tour_cost tried;

                change(t, i, j, is_move);
                tried = cost_of(t, t->trial);
                if (!is_better(tried, *cost))
                    continue;
                *cost = tried;
                memcpy(t->now, t->trial, (size_t)t->count * sizeof *t->now);
                has_changed = 1;
            }
    return has_changed;
}

static tour_cost improve(const tour *t)
{
    tour_cost cost = cost_of(t, t->now);

    for (int i = 0; i < MAX_PASSES && pass(t, &cost); i++)
        continue;
    return cost;
}

/* From the first block always on to the nearest that is left, by links; of several the lowest number. */
static void walk_to_nearest(const tour *t)
{
    for (int i = 0; i < t->count; i++)
        t->now[i] = i;
    for (int i = 0; i + 2 < t->count; i++) {
        int nearest = i + 1, fewest = -1, found;

        for (int j = i + 1; j < t->count; j++) {
            int step = t->now[i] * t->count + t->now[j], hops = t->route[step + 1] - t->route[step];

            if (fewest < 0 || hops < fewest || (hops == fewest && t->now[j] < t->now[nearest])) {
                nearest = j;
                fewest = hops;
            }
        }
        found = t->now[nearest];
        t->now[nearest] = t->now[i + 1];
        t->now[i + 1] = found;
    }
}

static void search(const tour *t)
{
    size_t bytes = (size_t)t->count * sizeof *t->now;
    tour_cost given, nearest;

    for (int i = 0; i < t->count; i++)
        t->now[i] = i;
    given = improve(t);
    memcpy(t->best, t->now, bytes);
    walk_to_nearest(t);
    nearest = improve(t);
    if (is_better(nearest, given))
        memcpy(t->best, t->now, bytes);
}

/* Steps inside blocks, which no order of blocks changes. */
static banyan_status add_inside(tour *t, const banyan_problem *problem, const int *order,
                                banyan_routes *routes, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;
    tour_cost cost = {0, 0};

    for (int b = 0; b < t->count; b++)
        for (int i = t->blocks[b].first; !status && i < t->blocks[b].last; i++) {
            const int *links;
            int count;

            status = banyan_routes_find(routes, problem->active[order[i]], problem->active[order[i + 1]],
                                        &links, &count, err);
            for (int j = 0; !status && j < count; j++)
                add_step(t, links[j], 1, &cost);
        }
    t->inside_max_s = cost.max_s;
    t->inside_squares = cost.squares;
    return status;
}

/* From the last rank of each block to the first one of every other. */
static banyan_status find_routes(tour *t, const banyan_problem *problem, const int *order,
                                 banyan_routes *routes, banyan_error *err)
{
    size_t capacity = 0, length = 0;

    for (int step = 0; step < t->count * t->count; step++) {
        int from = order[t->blocks[step / t->count].last], to = order[t->blocks[step % t->count].first];
        const int *links;
        int count;
        banyan_status status =
            banyan_routes_find(routes, problem->active[from], problem->active[to], &links, &count, err);

        if (status)
            return status;
        for (int j = 0; j < count; j++) {
            void *array = t->link;

            if (!banyan_grow(&array, length, &capacity, sizeof *t->link))
                return banyan_fail_memory(err);
            t->link = array;
            t->link[length++] = links[j];
        }
        t->route[step + 1] = (int)length;
    }
    return BANYAN_SUCCESS;
}

/* Whether the fullest link carries more than one step of the order as it is. */
static int is_crowded(const tour *t)
{
    tour_cost cost = cost_of(t, t->now);

    for (int step = 0; step < t->count; step++) {
        int route = t->now[step] * t->count + t->now[(step + 1) % t->count];

        for (int j = t->route[route]; j < t->route[route + 1]; j++)
            if (cost.max_s <= (1 + GAIN) / t->topology->links[t->link[j]].bytes_per_s)
                return 0;
    }
    return cost.max_s > t->inside_max_s * (1 + GAIN);
}

static int find_blocks(const banyan_problem *problem, const int *order, block *blocks)
{
    int count = 0, home = -1;

    for (int i = 0; i < problem->active_count; i++) {
        int next = banyan_order_home(problem->topology, problem->active[order[i]]);

        if (i == 0 || next != home) {
            if (count == MAX_BLOCKS)
                return 0;
            blocks[count++].first = i;
        }
        blocks[count - 1].last = i;
        home = next;
    }
    return count;
}

static banyan_status write_order(const tour *t, const banyan_problem *problem, int *order, banyan_error *err)
{
    int *old = banyan_alloc((size_t)problem->active_count, sizeof *old), place = 0;

    if (!old)
        return banyan_fail_memory(err);
    memcpy(old, order, (size_t)problem->active_count * sizeof *old);
    for (int i = 0; i < t->count; i++)
        for (int j = t->blocks[t->best[i]].first; j <= t->blocks[t->best[i]].last; j++)
            order[place++] = old[j];
    banyan_free(old);
    return BANYAN_SUCCESS;
}

static banyan_status reorder(tour *t, const banyan_problem *problem, int *order, banyan_error *err)
{
    banyan_routes *routes;
    banyan_status status = banyan_routes_create(problem->topology, &routes, err);

    if (!status)
        status = add_inside(t, problem, order, routes, err);
    if (!status)
        status = find_routes(t, problem, order, routes, err);
    banyan_routes_destroy(routes);
    if (status)
        return status;
    for (int i = 0; i < t->count; i++)
        t->now[i] = i;
    if (!is_crowded(t))
        return BANYAN_SUCCESS;
    search(t);
    return write_order(t, problem, order, err);
}

banyan_status banyan_order_by_switches(const banyan_problem *problem, int *order, banyan_error *err)
{
    block blocks[MAX_BLOCKS];
    tour t = {.topology = problem->topology, .blocks = blocks, .count = find_blocks(problem, order, blocks)};
    size_t count = (size_t)t.count;
    banyan_status status;

    if (t.count < 4)
        return BANYAN_SUCCESS;
    t.route = banyan_alloc(count * count + 1, sizeof *t.route);
    t.busy_s = banyan_alloc((size_t)problem->topology->link_count, sizeof *t.busy_s);
    t.now = banyan_alloc(count, sizeof *t.now);
    t.best = banyan_alloc(count, sizeof *t.best);
    t.trial = banyan_alloc(count, sizeof *t.trial);
    status = t.route && t.busy_s && t.now && t.best && t.trial ? reorder(&t, problem, order, err)
                                                               : banyan_fail_memory(err);
    banyan_free(t.link);
    banyan_free(t.route);
    banyan_free(t.busy_s);
    banyan_free(t.now);
    banyan_free(t.best);
    banyan_free(t.trial);
    return status;
}
