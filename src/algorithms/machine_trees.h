/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/machine_trees.h: trees inside one machine that together use its links as well as can be, every
 * worker being the root of an equal share. */
#ifndef BANYAN_ALGORITHMS_MACHINE_TREES_H
#define BANYAN_ALGORITHMS_MACHINE_TREES_H

#include "algorithms/machines.h"
#include "solve/net/trees.h"

typedef struct {
    banyan_graph *graph; /* of the machine's links; NULL: none was needed */
    banyan_trees trees;  /* out-trees; edges follow each other from the root on */
    int *root;           /* per tree: the member's place in the machine, 0.. */
    double *share;       /* per tree: of its root's share; they sum to 1 for every root */
} banyan_machine_trees;

/* Breadth-first trees, one a root, where the machine's own links are asymmetric, do not
 * connect its workers, or where it has very many of these. */
banyan_status banyan_machine_trees_find(const banyan_machines *machines, const banyan_topology *topology,
                                        int machine, banyan_machine_trees *out, banyan_error *err);
void banyan_machine_trees_fini(banyan_machine_trees *trees);

#endif
