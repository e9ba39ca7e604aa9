/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/layers_abci.h: the supercomputer ABCI, as a cluster to rank shapes of nested rings for. */
#ifndef BANYAN_ALGORITHMS_LAYERS_ABCI_H
#define BANYAN_ALGORITHMS_LAYERS_ABCI_H

#include "algorithms/layers_model.h"

#define BANYAN_ABCI_RACK_RANKS 128 /* 32 of its 34 nodes */

extern const banyan_layers_model banyan_abci_plain;      /* section IV of the paper */
extern const banyan_layers_model banyan_abci_calibrated; /* with what was measured there */

#endif
