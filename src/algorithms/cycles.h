/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/cycles.h: a torus of d dimensions as d Hamiltonian cycles that share no cable. */
#ifndef BANYAN_ALGORITHMS_CYCLES_H
#define BANYAN_ALGORITHMS_CYCLES_H

#include "topology/topology.h"

/* Dimensions of extent 1 do not count; all others must wrap and have an extent of at least 3.
 * On success *out is the caller's: *cycle_count cycles of worker numbers, one after the other. */
banyan_status banyan_cycles_find(const banyan_grid *grid, int **out, int *cycle_count, banyan_error *err);

#endif
