/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/machine_rings.h: rings through machines whose workers have several ways out. */
#ifndef BANYAN_ALGORITHMS_MACHINE_RINGS_H
#define BANYAN_ALGORITHMS_MACHINE_RINGS_H

#include "algorithms/algorithms.h"

/* UNSUPPORTED where there are no machines with several workers each, or all workers of one leave it over the
 * same link. On success *out is the caller's: *ring_count rings of ranks, one after the other. */
banyan_status banyan_machine_rings_find(const banyan_problem *problem, int **out, int *ring_count,
                                        banyan_error *err);

#endif
