/* SPDX-License-Identifier: Apache-2.0 */
/* solve/round/exchange_chains.h: trees of whole units, some cables too full: chains of exchanges between
 * trees relieve them. */
#ifndef BANYAN_SOLVE_ROUND_EXCHANGE_CHAINS_H
#define BANYAN_SOLVE_ROUND_EXCHANGE_CHAINS_H

#include "solve/net/trees.h"

typedef struct {
    const double *weight; /* per tree: whole units, above 0 */
    const double *room;   /* per arc, equal on twins: whole units that its cable can bear */
    int depth_limit;      /* hops from its middle that no tree goes beyond by an exchange */
    long try_limit;       /* trees cut open at most */
} banyan_exchange_chains_problem;

/* Edges of trees that span the active nodes of a symmetric graph change their cables until none bears more
 * than it can, or no chain is found. The trees are replaced, each with edges from its middle on. *over is
 * what cables bear too much in the end, all together. Where a search has failed, stuck, per arc, is raised by
 * 1 on the cables that it met: trees that need fewer of these would help. */
banyan_status banyan_exchange_chains_relieve(const banyan_graph *graph,
                                             const banyan_exchange_chains_problem *problem,
                                             banyan_trees *trees, double *over, double *stuck,
                                             banyan_error *err);

#endif
