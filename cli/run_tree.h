/* SPDX-License-Identifier: Apache-2.0 */
/* cli/run_tree.h: a topology as a tree of hosts and switches, which is what a test network can be. */
#ifndef BANYAN_CLI_RUN_TREE_H
#define BANYAN_CLI_RUN_TREE_H

#include "topology/topology.h"

enum { RUN_MAX_HOSTS = 250 };

/* A cable between two vertices. Vertices 0..host_count-1 are hosts, the rest are switches. */
typedef struct {
    int ends[2];
    double bytes_per_s[2]; /* what each end may send; 0: there is no link that way */
} run_cable;

typedef struct {
    int host_count, switch_count, cable_count, rank_count;
    char (*names)[64]; /* by vertex */
    int *rank_hosts;   /* by rank: ranks are the workers, in order */
    run_cable *cables;
} run_tree;

/* UNSUPPORTED with a sentence that names the node when it is not a tree in which every host is a leaf. */
banyan_status run_tree_create(const banyan_topology *topology, run_tree **out, banyan_error *err);
void run_tree_destroy(run_tree *tree); /* accepts NULL */

#endif
