/* SPDX-License-Identifier: Apache-2.0 */
/* bootstrap/tree.h: who is whose parent in the trees of a job: that along which descriptors travel and the
 * control tree.
 *
 *              0                 Ranks are numbered level by level, as in a heap: the children of rank r are
 *          /       \             fanout r + 1 to fanout r + fanout. Nobody keeps a table of the tree, and a
 *         1         2            rank's ancestors have lower numbers than it has.
 *       /   \     /   \
 *      3     4   5     6
 *
 * A rank that loses its parent looks for a refuge: another rank of a higher level. Links only ever lead to a
 * higher level, so they cannot form a cycle. */
#ifndef BANYAN_BOOTSTRAP_TREE_H
#define BANYAN_BOOTSTRAP_TREE_H

int banyan_tree_parent(int fanout, int rank); /* -1: the root has none */
int banyan_tree_level(int fanout, int rank);  /* the root's is 0 */

/* The children of a rank are first to first + count - 1. */
int banyan_tree_first_child(int fanout, int rank);
int banyan_tree_child_count(int fanout, int size, int rank);

/* The child of rank whose subtree holds the other; -1: it is not below rank. */
int banyan_tree_child_toward(int fanout, int rank, int other);

/* The ranks that may take in one whose parent is lost, nearest first: its grandparent and the grandparent's
 * other children, the great-grandparent and its other children, and so on up to the root. Where each rank of
 * a family begins among the other children depends on its number, so that they spread. */
typedef struct {
    int rank;
    int below; /* the ancestor whose parent comes next, */
    int index; /* or, from 1 on, one of whose siblings does */
} banyan_tree_climb;

void banyan_tree_climb_init(banyan_tree_climb *climb, int fanout, int rank);

/* -1: there are no more. Without others, only ancestors follow. */
int banyan_tree_climb_next(banyan_tree_climb *climb, int fanout, int size, int with_others);

#endif
