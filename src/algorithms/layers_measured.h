/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/layers_measured.h: what the plain model of nested rings leaves out, from measurements: rings
 * take a while to fill, some ring sizes run better than others, short messages use links badly, and racks
 * share uplinks. */
#ifndef BANYAN_ALGORITHMS_LAYERS_MEASURED_H
#define BANYAN_ALGORITHMS_LAYERS_MEASURED_H

/* Where the rings of a layer run. */
typedef enum {
    BANYAN_RINGS_IN_NODE,      /* links of the node alone */
    BANYAN_RINGS_FROM_NODE,    /* they begin with neighbours in a node and go on to other nodes */
    BANYAN_RINGS_IN_RACK,      /* one worker of a node each, within a rack */
    BANYAN_RINGS_ACROSS_RACKS, /* some or all of their hops lead from rack to rack */
} banyan_rings_place;

/* A measured layer: bus bandwidth, 2 (p - 1) / p of the message over the time, latency included. */
typedef struct {
    banyan_rings_place place;
    int extent;
    double bytes; /* what the layer reduces: the vector over the product of the layers before */
    double bytes_per_s;
    double crossing; /* between racks: the part of the hops that leave one */
} banyan_measured_layer;

typedef struct {
    const banyan_measured_layer *rows;
    int row_count;
    double step_s;             /* latency of each of the p - 1 steps, there and back, between nodes */
    double fill;               /* steps that filling the ring costs on top of 2 (p - 1) */
    double link_bytes_per_s;   /* of a ring between nodes, for sizes that no row has */
    int rack_size;             /* workers of a rack */
    double uplink_bytes_per_s; /* of all uplinks of a rack together, when more than two racks talk */
    double uplink_step_s;      /* as step_s, between racks */
    int most_layers;           /* deeper shapes are not believed */
} banyan_layers_measured;

/* A ring's time here as the plain model has it: 2 (extent - 1) steps of so long with that many bytes a
 * second. / */
typedef struct {
    double step_s, bytes_per_s;
} banyan_plain_ring;

/* Seconds of a layer that reduces that many bytes in rings of extent ranks, stride apart, of ranks in all. */
double banyan_measured_layer_s(const banyan_layers_measured *measured, int node_size,
                               const banyan_plain_ring *plain, int stride, int extent, int ranks,
                               double bytes);

#endif
