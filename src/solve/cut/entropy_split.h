/* SPDX-License-Identifier: Apache-2.0 */
/* solve/cut/entropy_split.h: most pairs of nodes are cabled, and idle ones help: the bound that mostly holds
 * there, and a division of the arcs between reduce and broadcast that reaches it. */
#ifndef BANYAN_SOLVE_CUT_ENTROPY_SPLIT_H
#define BANYAN_SOLVE_CUT_ENTROPY_SPLIT_H

#include "solve/cut/split.h"

/* *found: a division is known that reaches the bound, and out is the caller's; else nothing is said, and it
 * is empty. Where some node only forwards, or only adds or copies, nothing is looked for. */
banyan_status banyan_entropy_split(const banyan_graph *graph, banyan_split *out, int *found,
                                   banyan_error *err);

#endif
