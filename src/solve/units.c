/* SPDX-License-Identifier: Apache-2.0 */
/* solve/units.c: rip up and grow anew, with a memory for what was too full.
 *
 * An optimal packing may need as many trees as there are cables; with 64, each cable's share must come out of whole
 * trees. If all trees together weigh U units and reach the rate X, a cable of capacity c can be in floor(U c / X) of
 * them. So we first choose a U for which these roundings leave the most room, for a rate that is good enough: at 4.54
 * trees a cable, 63 units on 14 a cable are 99.1 %, and 54 on 12 as well, but 60 on 13 more than there is. The bound's
 * prices tell: all room is worth so much, and no tree costs less than so much.
 *
 * Then the U trees are found as wires on a board are (PathFinder, McMurchie and Ebeling 1995): each is taken out and
 * grown anew under prices made of the bound's, of what the others leave of each cable, and of how often a cable was too
 * full before; after some rounds chains of exchanges (solve/chains.h) bring single edges to where there is room.
 * Where a chain cannot be found, the cables that were met get dearer too. Cost: U trees a round. */
#include "solve/units.h"

#include <math.h>

#include "core/alloc.h"
#include "solve/chains.h"

#define FEWEST_UNITS 44    /* fewer are harder to place */
#define MOST_WEIGHT 2      /* units of a tree, where those of one unit leave too little room: */
#define LITTLE_ROOM 2e-3   /* so much of all */
#define AS_MUCH_ROOM 3e-4  /* the same: then rather more units */
#define PRICE_PART 2.0     /* of a cable's cost is what it costs by the bound's prices, */
#define FLOOR 0.01         /* with this much of the mean where these are 0, */
#define MEMORY_FLOOR 0.2   /* and this much where it is dearer for what was before: */
#define MEMORY_STEP 2.0    /* for each unit too many, */
#define STUCK_STEP 1.0     /* and for each search that failed there; */
#define HALF_STEP_AFTER 8  /* rounds the steps are half as long */
#define GENTLE 0.1         /* exponent of e for each unit that is left, */
#define STEEPEST 20.0      /* at most, where it is 1 for each that is missing */
#define ATTEMPTS 2         /* with different numbers of units */
#define FIRST_CHAINS 2     /* rounds before it */
#define CHAINS_EVERY 2     /* rounds */
#define TRIES_PER_UNIT 100 /* of a chain search */
#define COST_SCALE 1.0e9   /* of all cables together, at mean capacity */
#define MOST_COST 1.0e12

typedef struct {
    const banyan_graph *graph;
    const banyan_units_problem *problem;
    int count, units, round;
    banyan_trees kept; /* all, when they were the nearest to fit */
    double kept_over;
    banyan_trees *tree; /* one each */
    double *weight;
    double *room, *load;           /* per arc, in units */
    double *memory, *stuck, *cost; /* per arc */
    int64_t *asked;                /* per arc: the costs as the oracle sees them */
    double worth, capacities;      /* sums of capacity times price, and of capacity */
} packer;

static void packer_fini(packer *p)
{
    for (int t = 0; p->tree && t < p->count; t++)
        banyan_trees_fini(&p->tree[t]);
    banyan_free(p->tree);
    banyan_trees_fini(&p->kept);
    banyan_free(p->weight);
    banyan_free(p->room);
    banyan_free(p->load);
    banyan_free(p->memory);
    banyan_free(p->stuck);
    banyan_free(p->cost);
    banyan_free(p->asked);
}

static double capacity(const packer *p, int arc)
{
    return (double)p->graph->arcs[arc].capacity;
}

/* Whole units of so many that the arc can bear when enough is reached. */
static double room_for(const packer *p, int arc, int units)
{
    return floor(units * capacity(p, arc) / (p->problem->bound * p->problem->enough) * (1 + 1e-12));
}

/* What is left of the room for so many units, in worth and as a part of all; below 0: they cannot fit. */
static double room_left(const packer *p, int units)
{
    double cost = units * p->worth / p->problem->bound, room = 0;

    for (int i = 0; i < p->graph->arc_count; i++)
        room += (double)p->problem->price[i] * room_for(p, i, units);
    return room / cost - 1;
}

/* Among first..last the number of units with the most room, if that is more than there was. */
static void choose_among(const packer *p, int first, int last, int before, int *best, double *most_room)
{
    for (int units = first; units <= last; units++) {
        double room = units == before ? -1 : room_left(p, units);

        if (room < 0 || room < *most_room - AS_MUCH_ROOM)
            continue;
        *most_room = room > *most_room ? room : *most_room;
        *best = units;
    }
}

/* Trees of one unit, not too few, are easiest to place; then fewer; then some of more units. 0: none have room. Not
 * those of before. */
static int choose_units(const packer *p, int before)
{
    int limit = p->problem->tree_limit, fewest = limit < FEWEST_UNITS ? 1 + limit / 2 : FEWEST_UNITS,
        best = 0;
    double most_room = 0;

    choose_among(p, fewest, limit, before, &best, &most_room);
    if (!best || most_room < LITTLE_ROOM)
        choose_among(p, 1 + fewest / 4, fewest - 1, before, &best, &most_room);
    if (!best || most_room < LITTLE_ROOM)
        choose_among(p, limit + 1, MOST_WEIGHT * limit, before, &best, &most_room);
    return best;
}

static banyan_status packer_init(packer *p, int units_before, banyan_error *err)
{
    size_t arcs = (size_t)p->graph->arc_count, count;

    for (size_t i = 0; i < arcs; i++) {
        p->worth += capacity(p, (int)i) * (double)p->problem->price[i];
        p->capacities += capacity(p, (int)i);
    }
    p->units = choose_units(p, units_before);
    p->count = p->units < p->problem->tree_limit ? p->units : p->problem->tree_limit;
    count = (size_t)p->count;
    p->tree = banyan_alloc(count + 1, sizeof *p->tree);
    p->weight = banyan_alloc(count + 1, sizeof *p->weight);
    p->room = banyan_alloc(arcs, sizeof *p->room);
    p->load = banyan_alloc(arcs, sizeof *p->load);
    p->memory = banyan_alloc(arcs, sizeof *p->memory);
    p->stuck = banyan_alloc(arcs, sizeof *p->stuck);
    p->cost = banyan_alloc(arcs, sizeof *p->cost);
    p->asked = banyan_alloc(arcs, sizeof *p->asked);
    if (!p->tree || !p->weight || !p->room || !p->load || !p->memory || !p->stuck || !p->cost || !p->asked)
        return banyan_fail_memory(err);
    for (int t = 0; t < p->count; t++) {
        banyan_trees_init(&p->tree[t]);
        p->weight[t] = p->units / p->count + (t < p->units % p->count);
    }
    for (size_t i = 0; i < arcs; i++)
        p->room[i] = room_for(p, (int)i, p->units);
    return BANYAN_SUCCESS;
}

static void count_tree(packer *p, int t, int sign)
{
    for (size_t a = 0; a < p->tree[t].arc_count; a++) {
        int arc = p->tree[t].arcs[a];

        p->load[arc] += sign * p->weight[t];
        p->load[p->graph->arcs[arc].twin] += sign * p->weight[t];
    }
}

/* Costs for a tree of so many units, that are missing in the loads; due: the part of all units that they make then. */
static void set_costs(packer *p, double weight, double due)
{
    double sum = 0, mean = p->capacities / p->graph->arc_count;

    for (int i = 0; i < p->graph->arc_count; i++) {
        double missing, price;

        if (banyan_graph_cable(p->graph, i) != i) {
            p->cost[i] = p->cost[p->graph->arcs[i].twin];
        } else {
            missing = p->load[i] + weight -
                      (due < 1 ? due * p->units * capacity(p, i) / p->problem->bound + 0.5 : p->room[i]);
            price = (double)p->problem->price[i] / p->worth + FLOOR / p->capacities;
            p->cost[i] = PRICE_PART * price + (price + MEMORY_FLOOR / p->capacities) * p->memory[i] +
                         exp(missing <= 0 ? GENTLE * missing : fmin(STEEPEST, missing)) / p->capacities;
        }
        sum += p->cost[i] * capacity(p, i);
    }
    for (int i = 0; i < p->graph->arc_count; i++)
        p->asked[i] = 1 + (int64_t)fmin(MOST_COST, COST_SCALE * mean * p->cost[i] / sum);
}

static banyan_status grow_all(packer *p, int is_first, banyan_error *err)
{
    double grown = 0;

    for (int t = 0; t < p->count; t++) {
        count_tree(p, t, -1);
        banyan_trees_fini(&p->tree[t]);
        grown += p->weight[t];
        set_costs(p, p->weight[t], is_first ? grown / p->units * (1 - 1e-9) : 1);
        if (p->problem->oracle(p->problem->context, p->asked, &p->tree[t]) < 0)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "the active workers are not all connected");
        if (p->tree[t].failed)
            return banyan_fail_memory(err);
        count_tree(p, t, 1);
    }
    return BANYAN_SUCCESS;
}

static double step(const packer *p, double first)
{
    return first * HALF_STEP_AFTER / (HALF_STEP_AFTER + p->round);
}

/* What is too much on cables, which remember it. */
static double remember(packer *p)
{
    double over = 0;

    for (int i = 0; i < p->graph->arc_count; i++)
        if (p->load[i] > p->room[i]) {
            p->memory[i] += step(p, MEMORY_STEP) * (p->load[i] - p->room[i]);
            over += p->load[i] - p->room[i];
        }
    return over;
}

static banyan_status collect(const packer *p, banyan_trees *all, banyan_error *err)
{
    for (int t = 0; t < p->count; t++)
        banyan_trees_copy(all, &p->tree[t], 0);
    return all->failed ? banyan_fail_memory(err) : BANYAN_SUCCESS;
}

static banyan_status exchange(packer *p, double *over, banyan_error *err)
{
    banyan_chains_problem problem = {.weight = p->weight,
                                     .room = p->room,
                                     .depth_limit = p->graph->node_count,
                                     .try_limit = (long)TRIES_PER_UNIT * p->units};
    banyan_trees all;
    banyan_status status;

    banyan_trees_init(&all);
    for (int i = 0; i < p->graph->arc_count; i++)
        p->stuck[i] = 0;
    status = collect(p, &all, err);
    if (!status)
        status = banyan_chains_relieve(p->graph, &problem, &all, over, p->stuck, err);
    for (int t = 0; !status && t < p->count; t++) {
        count_tree(p, t, -1);
        banyan_trees_fini(&p->tree[t]);
        banyan_trees_copy(&p->tree[t], &all, (size_t)t);
        if (p->tree[t].failed)
            status = banyan_fail_memory(err);
        else
            count_tree(p, t, 1);
    }
    for (int i = 0; i < p->graph->arc_count; i++)
        p->memory[i] += step(p, STUCK_STEP) * p->stuck[i];
    if (!status && (p->kept.tree_count == 0 || *over < p->kept_over)) {
        banyan_trees worse = p->kept;

        p->kept = all;
        p->kept_over = *over;
        all = worse;
    }
    banyan_trees_fini(&all);
    return status;
}

static banyan_status run(packer *p, int *fits, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    for (p->round = 0; !status && !*fits && p->round < p->problem->round_limit; p->round++) {
        double over;

        status = grow_all(p, p->round == 0, err);
        if (status)
            return status;
        over = remember(p);
        if (over > 0 && p->round >= FIRST_CHAINS && p->round % CHAINS_EVERY == 0)
            status = exchange(p, &over, err);
        *fits = !status && over <= 0;
    }
    return status;
}

/* Hands over what fits, or, where nothing is there yet, what came near to it. *units: how many were tried. */
static banyan_status attempt(const banyan_graph *graph, const banyan_units_problem *problem, int *units,
                             banyan_trees *trees, double **weight, int *fits, banyan_error *err)
{
    packer p = {.graph = graph, .problem = problem};
    banyan_status status = packer_init(&p, *units, err);

    *units = p.units;
    if (!status && p.units)
        status = run(&p, fits, err);
    if (!status && *fits) {
        banyan_trees_fini(&p.kept);
        status = collect(&p, &p.kept, err);
    }
    if (!status && (*fits || (trees->tree_count == 0 && p.kept.tree_count > 0))) {
        banyan_trees before = *trees;
        double *weight_before = *weight;

        *trees = p.kept;
        *weight = p.weight;
        p.kept = before;
        p.weight = weight_before;
    }
    packer_fini(&p);
    return status;
}

banyan_status banyan_units_pack(const banyan_graph *graph, const banyan_units_problem *problem,
                                banyan_trees *trees, double **weight, int *fits, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;
    int units = 0;

    *fits = 0;
    *weight = NULL;
    for (int i = 0; !status && !*fits && i < ATTEMPTS && (i == 0 || units > 0); i++)
        status = attempt(graph, problem, &units, trees, weight, fits, err);
    if (status) {
        banyan_trees_fini(trees);
        banyan_free(*weight);
        *weight = NULL;
    }
    return status;
}
