/* SPDX-License-Identifier: Apache-2.0 */
/* solve/one-part.h: most pairs of nodes are cabled, and idle ones help: the bound that mostly holds there, and a division of the arcs
 * between reduce and broadcast that reaches it. */
#ifndef BANYAN_SOLVE_ONE_PART_H
#define BANYAN_SOLVE_ONE_PART_H

#include "solve/divide.h"

/* *found: a division is known that reaches the bound, and out is the caller's; else nothing is said, and it is empty. Where some node
 * only forwards, or only adds or copies, nothing is looked for. */
banyan_status banyan_one_part_divide(const banyan_graph *graph, banyan_division *out, int *found,
                                     banyan_error *err);

#endif
