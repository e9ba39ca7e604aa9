/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/machines.h: the active workers by machine, and trees inside one. */
#ifndef BANYAN_ALGORITHMS_MACHINES_H
#define BANYAN_ALGORITHMS_MACHINES_H

#include "algorithms/algorithms.h"

typedef struct {
    int count;  /* machines with active workers */
    int *first; /* members of machine m: member[first[m] .. first[m+1]), node ids ascending */
    int *member;
    int smallest; /* members of the smallest */
    /* Filled by banyan_machines_tree: by node; and the machine's members, the nearer to the leader first,
     * equally near ones ascending. */
    int *parent, *depth;
    int *order;
    int *level_first; /* its own: where each level of the order begins */
} banyan_machines;

/* UNSUPPORTED where the topology does not say which machine a worker is in. */
banyan_status banyan_machines_find(const banyan_problem *problem, banyan_machines *out, banyan_error *err);
void banyan_machines_fini(banyan_machines *machines);

/* Whether they can be found: the `applies` of algorithms that need machines. */
banyan_status banyan_machines_apply(const banyan_problem *problem, banyan_error *err);

/* A breadth-first tree over the machine's own links from its leader-th member; one without any belongs to
 * the leader. Fills parent (-1 at the leader), depth and order of the members. Returns the greatest depth.
 * Cost: the members and their links, and sorting each level. */
int banyan_machines_tree(const banyan_machines *machines, const banyan_topology *topology, int machine,
                         int leader);

/* The leader-th member, counted round. */
static inline int banyan_machines_leader(const banyan_machines *machines, int machine, int leader)
{
    int size = machines->first[machine + 1] - machines->first[machine];

    return machines->member[machines->first[machine] + leader % size];
}

#endif
