/* SPDX-License-Identifier: Apache-2.0 */
/* solve/disjoint.h: spanning trees that share no more of a cable than there is. */
#ifndef BANYAN_SOLVE_DISJOINT_H
#define BANYAN_SOLVE_DISJOINT_H

#include "solve/trees.h"

/* Appends count spanning trees of all nodes of a symmetric graph; the cable of arc i is in at most room[i] of
 * them. *found is 0, and nothing is appended, where there are none such. */
banyan_status banyan_disjoint_trees(const banyan_graph *graph, const int64_t *room, int count,
                                    banyan_trees *trees, int *found, banyan_error *err);

#endif
