/* SPDX-License-Identifier: Apache-2.0 */
/* solve/graft.h: the same as solve/rehang.h where no node only forwards: idle nodes are in a tree just while they are of use. */
#ifndef BANYAN_SOLVE_GRAFT_H
#define BANYAN_SOLVE_GRAFT_H

#include "solve/rehang.h"

/* Every node with an arc adds and copies, some are idle, and arcs are not so many that edges move well one by one. */
int banyan_graft_applies(const banyan_graph *graph);

/* It ends after some rounds over all trees, whatever the limit of attempts is. */
banyan_status banyan_graft(const banyan_graph *graph, const banyan_rehang_problem *problem,
                           banyan_trees *trees, double *fullest, banyan_error *err);

#endif
