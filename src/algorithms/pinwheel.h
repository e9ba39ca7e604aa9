/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/pinwheel.h: one broadcast tree per rank on a square torus, all of one shape. */
#ifndef BANYAN_ALGORITHMS_PINWHEEL_H
#define BANYAN_ALGORITHMS_PINWHEEL_H

#include "algorithms/grow.h"

/* BANYAN_UNSUPPORTED and a sentence unless the network is a square torus of equal cables, all workers
 * active. */
banyan_status banyan_pinwheel_trees(const banyan_problem *problem, banyan_grown_trees *out,
                                    banyan_error *err);

#endif
