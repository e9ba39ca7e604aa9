/* SPDX-License-Identifier: Apache-2.0 */
/* solve/start/hub_choice.h: which workers behind switches are hubs of a tree, and of how many children. */
#ifndef BANYAN_SOLVE_START_HUB_CHOICE_H
#define BANYAN_SOLVE_START_HUB_CHOICE_H

#include "core/scratch.h"
#include "core/status.h"
#include "solve/net/graph.h"

typedef struct {
    const banyan_graph *graph;
    double rate, weight; /* of all pairs, and of each, in the graph's units */
    int group_count;
    int *worker, worker_count, *home; /* nodes that add; per node: its switch */
    int *group;                       /* per node; the last one is behind all switches that do not block */
    double *service;                  /* [2 * v + d]: what is left; d is 0 for in-trees, 1 for out-trees */
    double *idle[2], *all[2];         /* per group: service of idle workers, of all, at first */
    double *lag[2]; /* per group: children that idle hubs should have had so far and have not, */
    double *due[2]; /* and all hubs */
    double *given;  /* per switch: children of its workers so far */
    double lump[2]; /* children that an idle hub should have in a tree */
    int *need;      /* per group: children of the current tree without a place */
    int *slots;     /* per node: places that it has in the current tree */
    unsigned char *is_hub;
    int *hubs, hub_count;
    banyan_scratch memory;
} banyan_hub_choice;

/* Of a network where hubs apply (solve/start/hub_pairs.h); graph, rate and weight are there already. */
banyan_status banyan_hub_choice_init(banyan_hub_choice *choice, banyan_error *err);
void banyan_hub_choice_fini(banyan_hub_choice *choice);

/* For each pair in turn: one more begins; its root, who has the most of both kinds of service, idle if it is
 * the turn of those; and for each of its trees the hubs, with their slots. */
void banyan_hub_choice_next(banyan_hub_choice *choice);
int banyan_hub_choice_root(const banyan_hub_choice *choice);
void banyan_hub_choice_make(banyan_hub_choice *choice, int root, int d);

#endif
