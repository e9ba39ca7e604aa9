/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/layers_abci.c: numbers of ABCI: nodes of four GPUs and two InfiniBand adapters, racks of 34
 * nodes, of which 32 were used.
 *
 * Source: Y. Ueno, R. Yokota, Exhaustive Study of Hierarchical AllReduce Patterns for Large Messages Between
 * GPUs, 2019: section V-B1 for the plain model, Tables II and III for the measured rows (128 MiB vectors).
 * What the tables do not say is our fit to them: step, fill and link rate of rings within a rack by least
 * squares over 29 rows (7.3 % root mean square), the rate of flat rings from the 128-GPU one. The uplinks,
 * the steps between racks and the limit of layers were chosen after the fact, so that the shapes that won in
 * measurement come first: they say nothing about other clusters, and little about ABCI's own. */
#include "algorithms/layers_abci.h"

#define MIB 1048576.0
#define MB 1e6

#define NODE(extent, mib, rate)                                                                              \
    {                                                                                                        \
        BANYAN_RINGS_IN_NODE, extent, (mib)*MIB, (rate)*MB, 0                                                \
    }
#define FLAT(extent, mib, rate)                                                                              \
    {                                                                                                        \
        BANYAN_RINGS_FROM_NODE, extent, (mib)*MIB, (rate)*MB, 0                                              \
    }
#define RACK(extent, mib, rate)                                                                              \
    {                                                                                                        \
        BANYAN_RINGS_IN_RACK, extent, (mib)*MIB, (rate)*MB, 0                                                \
    }
#define ACROSS(extent, mib, rate, crossing)                                                                  \
    {                                                                                                        \
        BANYAN_RINGS_ACROSS_RACKS, extent, (mib)*MIB, (rate)*MB, crossing                                    \
    }

/* Means where the tables have several rows of a size and message. */
static const banyan_measured_layer rows[] = {
    NODE(2, 128, 30279.93),      NODE(2, 64, 27978.80),      NODE(4, 128, 84000), /* from 81 to 92 GB/s */
    FLAT(8, 128, 11315.37),      RACK(2, 2, 2980.0075),      RACK(2, 4, 2868.726667),
    RACK(2, 8, 3014.57),         RACK(2, 16, 3029.185),      RACK(2, 32, 3322.655),
    RACK(4, 4, 3742.143333),     RACK(4, 8, 3417.55),        RACK(4, 16, 4459.005),
    RACK(4, 32, 4209.125),       RACK(8, 8, 4121.85),        RACK(8, 32, 4664.866),
    RACK(16, 16, 4463.43),       RACK(16, 32, 4140.13),      RACK(32, 32, 4348.85),
    ACROSS(8, 4, 2115.40, 0.25), ACROSS(4, 2, 2682.33, 0.5), ACROSS(2, 1, 2441.33, 1),
};

static const banyan_layers_measured measured = {
    .rows = rows,
    .row_count = sizeof rows / sizeof *rows,
    .step_s = 72.4e-6,
    .fill = 1.29,
    .link_bytes_per_s = 5222 * MB,
    .rack_size = BANYAN_ABCI_RACK_RANKS,
    .uplink_bytes_per_s = 96e9,
    .uplink_step_s = 100e-6,
    .most_layers = 4,
};

const banyan_layers_model banyan_abci_plain = {
    .latency_s = 4.80e-6,
    .slices = 2,
    .node_size = 4,
    .inside_bytes_per_s = 12 * 9301.19 * MB,
    .outside_bytes_per_s = 2 * 9301.19 * MB,
};

const banyan_layers_model banyan_abci_calibrated = {
    .latency_s = 4.80e-6,
    .slices = 2,
    .node_size = 4,
    .inside_bytes_per_s = 84000 * MB,
    .outside_bytes_per_s = 12900 * MB,
    .measured = &measured,
};
