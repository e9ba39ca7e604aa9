/* SPDX-License-Identifier: Apache-2.0 */
/* solve/start/unit_placement.c: rip up and grow anew, with a memory for what was too full.
 *
 * Trees are found as wires on a board are (PathFinder, McMurchie and Ebeling 1995): each is taken out and
 * grown anew under prices made of the bound's, of what the others leave of each cable, and of how often a
 * cable was too full before; after some rounds chains of exchanges (solve/round/exchange_chains.h) bring
 * single edges to where there is room. Where a chain cannot be found, the cables that were met get more
 * expensive too. Cost: all trees a round. */
#include "solve/start/unit_placement.h"

#include <math.h>

#include "core/alloc.h"
#include "solve/round/exchange_chains.h"

#define PRICE_PART 2.0     /* of a cable's cost is what it costs by the bound's prices, */
#define FLOOR 0.01         /* with this much of the mean where these are 0, */
#define MEMORY_FLOOR 0.2   /* and this much where it is more expensive for what was before: */
#define MEMORY_STEP 1.5    /* for each unit too many, */
#define STUCK_STEP 0.5     /* and for each search that failed there; */
#define HALF_STEP_AFTER 10 /* rounds the steps are half as long */
#define GENTLE 0.1         /* exponent of e for each unit that is left, */
#define STEEPEST 20.0      /* at most, where it is 1 for each that is missing */
#define FIRST_CHAINS 2     /* rounds before it */
#define CHAINS_EVERY 2     /* rounds */
#define TRIES_PER_UNIT 100 /* of a chain search */
#define COST_SCALE 1.0e9   /* of all cables together, at mean capacity */
#define MOST_COST 1.0e12

typedef struct {
    const banyan_graph *graph;
    const banyan_unit_placement_problem *problem;
    int round;
    double units;
    banyan_trees kept; /* all, when they were the nearest to fit */
    double kept_over;
    banyan_trees *tree;            /* one each */
    double *load;                  /* per arc, in units */
    double *memory, *stuck, *cost; /* per arc */
    int64_t *asked;                /* per arc: the costs as the oracle sees them */
    double worth, capacities;      /* sums of capacity times price, and of capacity */
} placer;

static void placer_fini(placer *p)
{
    for (int t = 0; p->tree && t < p->problem->tree_count; t++)
        banyan_trees_fini(&p->tree[t]);
    banyan_free(p->tree);
    banyan_trees_fini(&p->kept);
    banyan_free(p->load);
    banyan_free(p->memory);
    banyan_free(p->stuck);
    banyan_free(p->cost);
    banyan_free(p->asked);
}

static double capacity(const placer *p, int arc)
{
    return (double)p->graph->arcs[arc].capacity;
}

static banyan_status placer_init(placer *p, banyan_error *err)
{
    size_t arcs = (size_t)p->graph->arc_count;

    p->tree = banyan_alloc((size_t)p->problem->tree_count, sizeof *p->tree);
    p->load = banyan_alloc(arcs, sizeof *p->load);
    p->memory = banyan_alloc(arcs, sizeof *p->memory);
    p->stuck = banyan_alloc(arcs, sizeof *p->stuck);
    p->cost = banyan_alloc(arcs, sizeof *p->cost);
    p->asked = banyan_alloc(arcs, sizeof *p->asked);
    if (!p->tree || !p->load || !p->memory || !p->stuck || !p->cost || !p->asked)
        return banyan_fail_memory(err);
    for (size_t i = 0; i < arcs; i++) {
        p->worth += capacity(p, (int)i) * (double)p->problem->price[i];
        p->capacities += capacity(p, (int)i);
    }
    for (int t = 0; t < p->problem->tree_count; t++) {
        banyan_trees_init(&p->tree[t]);
        p->units += p->problem->weight[t];
    }
    return BANYAN_SUCCESS;
}

static void count_tree(placer *p, int t, int sign)
{
    for (size_t a = 0; a < p->tree[t].arc_count; a++) {
        int arc = p->tree[t].arcs[a];

        p->load[arc] += sign * p->problem->weight[t];
        p->load[p->graph->arcs[arc].twin] += sign * p->problem->weight[t];
    }
}

/* Costs for a tree of that many units, that are missing in the loads; due: the part of all units that they
 * make then. */
static void set_costs(placer *p, double weight, double due)
{
    double sum = 0, mean = p->capacities / p->graph->arc_count;

    for (int i = 0; i < p->graph->arc_count; i++) {
        double missing, price;

        if (banyan_graph_cable(p->graph, i) != i) {
            p->cost[i] = p->cost[p->graph->arcs[i].twin];
        } else {
            missing = p->load[i] + weight - (due < 1 ? due * p->problem->room[i] + 0.5 : p->problem->room[i]);
            price = (double)p->problem->price[i] / p->worth + FLOOR / p->capacities;
            p->cost[i] = PRICE_PART * price + (price + MEMORY_FLOOR / p->capacities) * p->memory[i] +
                         exp(missing <= 0 ? GENTLE * missing : fmin(STEEPEST, missing)) / p->capacities;
        }
        sum += p->cost[i] * capacity(p, i);
    }
    for (int i = 0; i < p->graph->arc_count; i++)
        p->asked[i] = 1 + (int64_t)fmin(MOST_COST, COST_SCALE * mean * p->cost[i] / sum);
}

static banyan_status grow_all(placer *p, int is_first, banyan_error *err)
{
    double grown = 0;

    for (int t = 0; t < p->problem->tree_count; t++) {
        double weight = p->problem->weight[t];

        count_tree(p, t, -1);
        banyan_trees_fini(&p->tree[t]);
        grown += weight;
        set_costs(p, weight, is_first ? grown / p->units * (1 - 1e-9) : 1);
        if (p->problem->oracle(p->problem->context, p->asked, &p->tree[t]) < 0)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "the active workers are not all connected");
        if (p->tree[t].failed)
            return banyan_fail_memory(err);
        count_tree(p, t, 1);
    }
    return BANYAN_SUCCESS;
}

static double step(const placer *p, double first)
{
    return first * HALF_STEP_AFTER / (HALF_STEP_AFTER + p->round);
}

/* What is too much on cables, which remember it. */
static double remember(placer *p)
{
    double over = 0;

    for (int i = 0; i < p->graph->arc_count; i++)
        if (p->load[i] > p->problem->room[i]) {
            double missing = p->load[i] - p->problem->room[i];

            p->memory[i] += step(p, MEMORY_STEP) * missing;
            over += banyan_graph_cable(p->graph, i) == i ? missing : 0;
        }
    return over;
}

static banyan_status collect(const placer *p, banyan_trees *all, banyan_error *err)
{
    for (int t = 0; t < p->problem->tree_count; t++)
        banyan_trees_copy(all, &p->tree[t], 0);
    return all->failed ? banyan_fail_memory(err) : BANYAN_SUCCESS;
}

/* All trees in the place of those at hand. */
static banyan_status take(placer *p, const banyan_trees *all, banyan_error *err)
{
    for (int t = 0; t < p->problem->tree_count; t++) {
        count_tree(p, t, -1);
        banyan_trees_fini(&p->tree[t]);
        banyan_trees_copy(&p->tree[t], all, (size_t)t);
        if (p->tree[t].failed)
            return banyan_fail_memory(err);
        count_tree(p, t, 1);
    }
    return BANYAN_SUCCESS;
}

static banyan_status exchange(placer *p, banyan_trees *all, double *over, banyan_error *err)
{
    banyan_exchange_chains_problem problem = {.weight = p->problem->weight,
                                              .room = p->problem->room,
                                              .depth_limit = p->graph->node_count,
                                              .try_limit = (long)(TRIES_PER_UNIT * p->units)};
    banyan_status status;

    for (int i = 0; i < p->graph->arc_count; i++)
        p->stuck[i] = 0;
    status = banyan_exchange_chains_relieve(p->graph, &problem, all, over, p->stuck, err);
    if (!status)
        status = take(p, all, err);
    for (int i = 0; i < p->graph->arc_count; i++)
        p->memory[i] += step(p, STUCK_STEP) * p->stuck[i];
    return status;
}

static banyan_status run(placer *p, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    p->kept_over = HUGE_VAL;
    for (p->round = 0; !status && p->kept_over > 0 && p->round < p->problem->round_limit; p->round++) {
        banyan_trees all;
        double over;

        status = grow_all(p, p->round == 0, err);
        if (status)
            return status;
        banyan_trees_init(&all);
        over = remember(p);
        status = collect(p, &all, err);
        if (!status && over > 0 && p->round >= FIRST_CHAINS && p->round % CHAINS_EVERY == 0)
            status = exchange(p, &all, &over, err);
        if (!status && over < p->kept_over) {
            banyan_trees worse = p->kept;

            p->kept = all;
            p->kept_over = over;
            all = worse;
        }
        banyan_trees_fini(&all);
    }
    return status;
}

banyan_status banyan_unit_placement(const banyan_graph *graph, const banyan_unit_placement_problem *problem,
                                    banyan_trees *trees, double *over, banyan_error *err)
{
    placer p = {.graph = graph, .problem = problem};
    banyan_status status = placer_init(&p, err);

    if (!status)
        status = run(&p, err);
    if (!status) {
        banyan_trees before = *trees;

        *trees = p.kept;
        *over = p.kept_over;
        p.kept = before;
    }
    placer_fini(&p);
    return status;
}
