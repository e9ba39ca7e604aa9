/* SPDX-License-Identifier: Apache-2.0 */
/* solve/flips.h: what a tree would gain if one idle node joined or left it, without building it anew. */
#ifndef BANYAN_SOLVE_FLIPS_H
#define BANYAN_SOLVE_FLIPS_H

#include "solve/graph.h"

typedef struct banyan_flips banyan_flips;

/* The graph is symmetric and must live on. */
banyan_status banyan_flips_create(const banyan_graph *graph, banyan_flips **out, banyan_error *err);
void banyan_flips_destroy(banyan_flips *flips); /* accepts NULL */

/* The tree whose flips are asked for: arcs that connect all active nodes, no idle leaves. The costs must live on. */
void banyan_flips_take_tree(banyan_flips *flips, const int64_t *cost, const int *arc, int count);

/* What is saved at least if v, idle and outside, joins; not above 0: nothing. If something is, the nodes that
 * should leave the tree are cleared in member. */
int64_t banyan_flips_joining(banyan_flips *flips, int v, unsigned char *member);

/* What is saved at most if v, idle and inside, leaves. */
int64_t banyan_flips_leaving(banyan_flips *flips, int v);

#endif
