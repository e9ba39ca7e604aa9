/* SPDX-License-Identifier: Apache-2.0 */
/* solve/start/unit_placement.h: trees of given weights, placed so that no cable bears more than it has room
 * for. */
#ifndef BANYAN_SOLVE_START_UNIT_PLACEMENT_H
#define BANYAN_SOLVE_START_UNIT_PLACEMENT_H

#include "solve/pack/tree_columns.h"

typedef struct {
    const int64_t *price; /* per arc: those that prove the bound, equal on twins */
    const double *room;   /* per arc, equal on twins: whole units that its cable can bear */
    const double *weight; /* per tree: whole units, above 0 */
    int tree_count;
    int round_limit;           /* times that all trees are grown anew, at most */
    banyan_tree_oracle oracle; /* cheap trees on the symmetric graph */
    void *context;
} banyan_unit_placement_problem;

/* Appends the trees to trees, which is empty. *over: what cables bear too much, all together; 0: everything
 * fits, else these are the trees that came nearest to it. */
banyan_status banyan_unit_placement(const banyan_graph *graph, const banyan_unit_placement_problem *problem,
                                    banyan_trees *trees, double *over, banyan_error *err);

#endif
