/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce/field_networks.h: the networks of other planners' evaluations, for reproduce/field.c only. */
#ifndef BANYAN_REPRODUCE_FIELD_NETWORKS_H
#define BANYAN_REPRODUCE_FIELD_NETWORKS_H

#include "reproduce/reproduce.h"
#include "topology/topology.h"

/* A grid of workers with a speed for each dimension, in bytes a second; a ring of two is one cable. */
typedef struct {
    int dimensions, extent[3], wraps;
    double bytes_per_s[3], latency_s;
} field_grid;
banyan_status field_grid_build(const field_grid *grid, banyan_topology **out, banyan_error *err);

/* Workers in a circle, each cabled to those `jump` and `jump` + 1 after it, 12.5 GB/s. Its diameter is
 * `jump`, the least for four cables each, where the workers are at most 2 jump (jump + 1) + 1 (Boesch and
 * Wang, 1985). */
typedef struct {
    int workers, jump;
    double latency_s;
} field_circulant;
banyan_status field_circulant_build(const field_circulant *circulant, banyan_topology **out,
                                    banyan_error *err);

/* TE-CCL's two or four NDv2 machines, whose switch copies or only forwards, and its two DGX-2. */
banyan_status field_ndv2_build(int machines, int copies, banyan_topology **out, banyan_error *err);
banyan_status field_dgx2_build(banyan_topology **out, banyan_error *err);

/* Machines of eight A100, and of 16 dies of MI250, as ForestColl has them. */
banyan_status field_a100_build(int machines, banyan_topology **out, banyan_error *err);
banyan_status field_mi250_build(int machines, banyan_topology **out, banyan_error *err);

/* Schedules that TE-CCL published, beside ours. */
banyan_status field_show_teccl(banyan_reproduction *r, banyan_error *err);

/* Bine's evaluation: bytes between groups, over many allocations. */
banyan_status field_show_allocations(banyan_reproduction *r, banyan_error *err);

#endif
