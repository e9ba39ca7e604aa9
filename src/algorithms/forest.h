/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/forest.h: planning anew when a network has changed a little. */
#ifndef BANYAN_ALGORITHMS_FOREST_H
#define BANYAN_ALGORITHMS_FOREST_H

#include "algorithms/algorithms.h"

/* How a new plan came about. */
typedef struct {
    int is_mended;  /* from the old trees; 0: from the beginning */
    int tree_count; /* of the old plan; 0: it has none that could be kept */
    int kept_count; /* those among them that run over the same links as before */
} banyan_replan;

/* A forest for the problem (on the changed topology, with the same nodes and active workers) that begins with
 * the trees of an old one: those on links that are lost or slower now move over to others, until the rate is
 * within one per cent of the best. Where nothing can be kept (switches, relays, unlike directions, plans that are
 * no trees) or too much is lost it plans from the beginning. how may be NULL. */
banyan_status banyan_forest_replan(const banyan_problem *problem, const banyan_schedule *old,
                                   banyan_replan *how, banyan_schedule **out, banyan_error *err);

#endif
