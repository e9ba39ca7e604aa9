/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/order_links.c: a good round trip over direct links, as on machines whose GPUs are joined in
 * pairs.
 *
 *     a - b ... c - d           a - c ... b - d        if the two new steps together are better than the two
 *         order[i+1 .. j]           the same backwards  old ones, keep it; until no such change helps
 *
 * From where that ends two stretches are swapped at random, by a fixed seed, and it starts again; the best is
 * kept.
 *
 * A step costs the square of its slowness, so that one slow step weighs more than several fair ones: a ring
 * is as slow as its slowest step. A step without a direct link is ten times as slow as the slowest link,
 * between hosts a hundred times, which keeps hosts together. On a DGX-1 this finds the ring of double
 * NVLinks. */
#include "algorithms/order_links.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/random.h"

#define MAX_RANKS 256
#define MAX_PASSES 1000
#define KICKS 64

typedef struct {
    int count;
    int *order, *best;
    double *cost; /* of the step between two ranks, either way: the worse one */
} round_trip;

static double *cost_of(const round_trip *trip, int a, int b)
{
    return &trip->cost[(size_t)a * (size_t)trip->count + (size_t)b];
}

static double slowest_of(const banyan_topology *topology)
{
    double slowest = HUGE_VAL;

    for (int i = 0; i < topology->link_count; i++)
        slowest = fmin(slowest, topology->links[i].bytes_per_s);
    return slowest;
}

/* Seconds a byte from one rank to the other. */
static double step_s(const banyan_problem *problem, int a, int b, double slowest)
{
    const banyan_topology *topology = problem->topology;
    int from = problem->active[a], to = problem->active[b];
    int link = banyan_topology_find_link(topology, from, to);

    if (link >= 0)
        return 1 / topology->links[link].bytes_per_s;
    return (topology->nodes[from].host == topology->nodes[to].host ? 10 : 100) / slowest;
}

/* Returns whether any two ranks are joined. */
static int find_costs(const banyan_problem *problem, round_trip *trip)
{
    double slowest = slowest_of(problem->topology);
    int is_joined = 0;

    for (int a = 0; a < trip->count; a++)
        for (int b = 0; b < trip->count; b++) {
            double slow = fmax(step_s(problem, a, b, slowest), step_s(problem, b, a, slowest)) * slowest;

            is_joined |= a != b && slow < 10;
            *cost_of(trip, a, b) = slow * slow;
        }
    return is_joined;
}

static void reverse(int *order, int first, int last)
{
    for (; first < last; first++, last--) {
        int rank = order[first];

        order[first] = order[last];
        order[last] = rank;
    }
}

/* Tries every pair of steps once; returns whether something became better. */
static int improve(round_trip *trip)
{
    int *order = trip->order, changed = 0;

    for (int i = 0; i < trip->count - 1; i++)
        for (int j = i + 1; j < trip->count; j++) {
            int a = order[i], b = order[i + 1], c = order[j], d = order[(j + 1) % trip->count];
            double before = *cost_of(trip, a, b) + *cost_of(trip, c, d);
            double after = *cost_of(trip, a, c) + *cost_of(trip, b, d);

            if (after < before * (1 - 1e-9)) {
                reverse(order, i + 1, j);
                changed = 1;
            }
        }
    return changed;
}

static double total(const round_trip *trip)
{
    double sum = 0;

    for (int i = 0; i < trip->count; i++)
        sum += *cost_of(trip, trip->order[i], trip->order[(i + 1) % trip->count]);
    return sum;
}

/* Swaps two stretches side by side, which no change of two steps undoes: 0 [a b] c d becomes 0 c [a b] d. */
static void kick(round_trip *trip, banyan_random *random)
{
    int first = 1 + banyan_random_below(random, trip->count - 2);
    int last = first + 1 + banyan_random_below(random, trip->count - 1 - first);
    int middle = first + banyan_random_below(random, last - first);

    reverse(trip->order, first, middle);
    reverse(trip->order, middle + 1, last);
    reverse(trip->order, first, last);
}

static void descend(round_trip *trip)
{
    for (int pass = 0; pass < MAX_PASSES && improve(trip); pass++)
        continue;
}

static void search(round_trip *trip)
{
    size_t bytes = (size_t)trip->count * sizeof *trip->order;
    banyan_random random = {1};
    double best;

    descend(trip);
    best = total(trip);
    memcpy(trip->best, trip->order, bytes);
    for (int i = 0; i < KICKS; i++) {
        double found;

        kick(trip, &random);
        descend(trip);
        found = total(trip);
        if (found < best * (1 - 1e-9)) {
            best = found;
            memcpy(trip->best, trip->order, bytes);
        } else {
            memcpy(trip->order, trip->best, bytes);
        }
    }
}

banyan_status banyan_order_by_links(const banyan_problem *problem, int *order, banyan_error *err)
{
    size_t count = (size_t)problem->active_count;
    round_trip trip = {problem->active_count, order, NULL, NULL};
    banyan_status status = BANYAN_SUCCESS;

    if (problem->active_count < 4 || problem->active_count > MAX_RANKS)
        return BANYAN_SUCCESS;
    trip.best = banyan_alloc(count, sizeof *trip.best);
    trip.cost = banyan_alloc(count * count, sizeof *trip.cost);
    if (!trip.best || !trip.cost)
        status = banyan_fail_memory(err);
    else if (find_costs(problem, &trip))
        search(&trip);
    banyan_free(trip.best);
    banyan_free(trip.cost);
    return status;
}
