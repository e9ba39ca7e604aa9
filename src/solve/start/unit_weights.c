/* SPDX-License-Identifier: Apache-2.0 */
/* solve/start/unit_weights.c: how many trees of a unit each.
 *
 * An optimal packing may need as many trees as there are cables; with 64, each cable's share must come out of
 * whole trees. If all trees together weigh U units and reach the rate X, a cable of capacity c can be in
 * floor(U c / X) of them. So we first choose a U for which these roundings leave the most room, for a rate
 * that is good enough: at 4.54 trees a cable, 63 units on 14 a cable are 99.1 %, and 54 on 12 as well, but 60
 * on 13 more than there is. The bound's prices tell: all room is worth that much, and no tree costs less than
 * that much. Then they are placed (solve/start/unit_placement.h). */
#include "solve/start/unit_weights.h"

#include <math.h>

#include "core/alloc.h"
#include "solve/start/unit_placement.h"

#define FEWEST_UNITS 44   /* fewer are harder to place */
#define MOST_WEIGHT 2     /* units of a tree, where those of one unit leave too little room: */
#define LITTLE_ROOM 2e-3  /* that much of all */
#define AS_MUCH_ROOM 3e-4 /* the same: then rather more units */
#define ATTEMPTS 2        /* with different numbers of units */

typedef struct {
    const banyan_graph *graph;
    const banyan_unit_weights_problem *problem;
    double worth; /* sum of capacity times price */
} chooser;

/* Whole units of that many that the arc can bear when enough is reached. */
static double room_for(const chooser *c, int arc, int units)
{
    return floor(units * (double)c->graph->arcs[arc].capacity / (c->problem->bound * c->problem->enough) *
                 (1 + 1e-12));
}

/* What is left of the room for that many units, in worth and as a part of all; below 0: they cannot fit. */
static double room_left(const chooser *c, int units)
{
    double cost = units * c->worth / c->problem->bound, room = 0;

    for (int i = 0; i < c->graph->arc_count; i++)
        room += (double)c->problem->price[i] * room_for(c, i, units);
    return room / cost - 1;
}

/* Among first..last the number of units with the most room, if that is more than there was. */
static void choose_among(const chooser *c, int first, int last, int before, int *best, double *most_room)
{
    for (int units = first; units <= last; units++) {
        double room = units == before ? -1 : room_left(c, units);

        if (room < 0 || room < *most_room - AS_MUCH_ROOM)
            continue;
        *most_room = room > *most_room ? room : *most_room;
        *best = units;
    }
}

/* Trees of one unit, not too few, are easiest to place; then fewer, but not after a failure; then some of two
 * units. 0: none have room. Not those of before. */
static int choose_units(const chooser *c, int before)
{
    int limit = c->problem->tree_limit, fewest = limit < FEWEST_UNITS ? 1 + limit / 2 : FEWEST_UNITS,
        best = 0;
    double most_room = 0;

    choose_among(c, fewest, limit, before, &best, &most_room);
    if (most_room < LITTLE_ROOM && !before)
        choose_among(c, 1 + fewest / 2, fewest - 1, before, &best, &most_room);
    if (most_room < LITTLE_ROOM)
        choose_among(c, limit + 1, MOST_WEIGHT * limit, before, &best, &most_room);
    return best;
}

/* Places that many units, and hands over what fits, or, where nothing is there yet, what came near to it. */
static banyan_status attempt(const chooser *c, int units, banyan_trees *trees, double **weight, int *fits,
                             banyan_error *err)
{
    size_t arcs = (size_t)c->graph->arc_count;
    int count = units < c->problem->tree_limit ? units : c->problem->tree_limit;
    double *room = banyan_alloc(arcs, sizeof *room), over;
    double *each = banyan_alloc((size_t)count, sizeof *each);
    banyan_unit_placement_problem problem = {.price = c->problem->price,
                                             .room = room,
                                             .weight = each,
                                             .tree_count = count,
                                             .round_limit = c->problem->round_limit,
                                             .oracle = c->problem->oracle,
                                             .context = c->problem->context};
    banyan_trees placed;
    banyan_status status = room && each ? BANYAN_SUCCESS : banyan_fail_memory(err);

    banyan_trees_init(&placed);
    for (size_t i = 0; !status && i < arcs; i++)
        room[i] = room_for(c, (int)i, units);
    for (int t = 0; !status && t < count; t++)
        each[t] = units / count + (t < units % count);
    if (!status)
        status = banyan_unit_placement(c->graph, &problem, &placed, &over, err);
    *fits = !status && over <= 0;
    if (!status && (*fits || trees->tree_count == 0)) {
        banyan_trees before = *trees;
        double *weight_before = *weight;

        *trees = placed;
        *weight = each;
        placed = before;
        each = weight_before;
    }
    banyan_trees_fini(&placed);
    banyan_free(room);
    banyan_free(each);
    return status;
}

banyan_status banyan_unit_weights_pack(const banyan_graph *graph, const banyan_unit_weights_problem *problem,
                                       banyan_trees *trees, double **weight, int *fits, banyan_error *err)
{
    chooser c = {.graph = graph, .problem = problem};
    banyan_status status = BANYAN_SUCCESS;
    int units = 0;

    *fits = 0;
    *weight = NULL;
    for (int i = 0; i < graph->arc_count; i++)
        c.worth += (double)graph->arcs[i].capacity * (double)problem->price[i];
    for (int i = 0; !status && !*fits && i < ATTEMPTS; i++) {
        units = choose_units(&c, units);
        if (units == 0)
            break;
        status = attempt(&c, units, trees, weight, fits, err);
    }
    if (status) {
        banyan_trees_fini(trees);
        banyan_free(*weight);
        *weight = NULL;
    }
    return status;
}
