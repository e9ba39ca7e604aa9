/* SPDX-License-Identifier: Apache-2.0 */
/* solve/oracle/key_vertex.h: what a tree would gain if one idle node joined or left it, without building it
 * anew. */
#ifndef BANYAN_SOLVE_ORACLE_KEY_VERTEX_H
#define BANYAN_SOLVE_ORACLE_KEY_VERTEX_H

#include "solve/net/graph.h"

typedef struct banyan_key_vertex banyan_key_vertex;

/* The graph is symmetric and must live on. */
banyan_status banyan_key_vertex_create(const banyan_graph *graph, banyan_key_vertex **out, banyan_error *err);
void banyan_key_vertex_destroy(banyan_key_vertex *flips); /* accepts NULL */

/* The tree whose flips are asked for: arcs that connect all active nodes, no idle leaves. The costs must live
 * on. */
void banyan_key_vertex_take_tree(banyan_key_vertex *flips, const int64_t *cost, const int *arc, int count);

/* What is saved at least if v, idle and outside, joins; not above 0: nothing. If something is, the nodes that
 * should leave the tree are cleared in member. */
int64_t banyan_key_vertex_joining(banyan_key_vertex *flips, int v, unsigned char *member);

/* What is saved at most if v, idle and inside, leaves. */
int64_t banyan_key_vertex_leaving(banyan_key_vertex *flips, int v);

#endif
