/* SPDX-License-Identifier: Apache-2.0 */
/* bootstrap/join_tree.h: the tree in which ranks wait for each other while a group meets, in order of
 * arrival.
 *
 * The store where they meet is the root. A rank that arrives becomes a child of the root or of the first rank
 * in order of arrival that has fewer than BANYAN_JOIN_CHILDREN. So whoever is sent to a parent finds it
 * there, the tree has log16 n levels, and nobody holds more connections than one to its parent and those of
 * its children. A rank that leaves takes all below it along: each of them arrives again. */
#ifndef BANYAN_BOOTSTRAP_JOIN_TREE_H
#define BANYAN_BOOTSTRAP_JOIN_TREE_H

#include "core/status.h"

/* More mean fewer levels, and more to send for each parent: with 16, a thousand ranks have everything after
 * three messages, and nobody sends more than 8 MB. */
#define BANYAN_JOIN_CHILDREN 16

/* A rank that could not stay with its parent is taken by the root itself, up to this many children. */
#define BANYAN_JOIN_ROOT_CHILDREN (2 * BANYAN_JOIN_CHILDREN)

#define BANYAN_JOIN_ROOT (-1) /* as a parent */

typedef struct {
    int visit; /* how often the rank has arrived; 0: it is not there */
    int parent;
    int child_count;
    int is_leaf; /* takes no children */
} banyan_join_node;

typedef struct {
    int size;  /* ranks of the group */
    int count; /* ranks that are there */
    int root_child_count;
    int first_open;          /* nobody before it in order of arrival takes children */
    banyan_join_node *nodes; /* by rank */
    int *order;              /* ranks that are there, by arrival: parents come before their children */
} banyan_join_tree;

banyan_status banyan_join_tree_init(banyan_join_tree *tree, int size, banyan_error *err);
void banyan_join_tree_fini(banyan_join_tree *tree);

/* A rank that is not there arrives; visit is 1 or more. Returns its parent: where no rank takes another, the
 * root does. */
int banyan_join_tree_add(banyan_join_tree *tree, int rank, int visit, int is_leaf);

/* A rank that is there leaves, and with it all below it. */
void banyan_join_tree_remove(banyan_join_tree *tree, int rank);

#endif
