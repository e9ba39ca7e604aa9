/* SPDX-License-Identifier: Apache-2.0 */
/* topology/generate_hyperx.c: a grid of switches in which every line is joined each with each.
 *
 *   hyperx:2x3:1    s0-s1-s2 (s0-s2, too)     worker gi on switch si; the last dimension runs fastest
 *                   |  |  |
 *                   s3-s4-s5 (s3-s5, too)
 *
 * Ahn, Binkert, Davis, McLaren and Schreiber, "HyperX: Topology, Routing, and Packaging of Efficient
 * Large-Scale Networks", SC 2009. One dimension is a fully joined network of switches, extents of 2 make a
 * hypercube, and two dimensions are a flattened butterfly. */
#include "topology/generator.h"

static void join(const banyan_generator_request *request, banyan_topology_builder *builder, int a, int b)
{
    banyan_topology_add_cable(builder, a, b, request->settings.bytes_per_s, request->settings.latency_s);
}

/* The cables from switch s to those above it in its lines. */
static void join_lines(const banyan_generator_request *request, banyan_topology_builder *builder, int s,
                       int switches, int first)
{
    int stride = switches;

    for (int d = 0; d < request->shape.part_count; d++) {
        int extent = banyan_shape_value(&request->shape, d, 0);

        stride /= extent;
        for (int above = 1; s / stride % extent + above < extent; above++)
            join(request, builder, first + s, first + s + above * stride);
    }
}

static void build_hyperx(const banyan_generator_request *request, banyan_topology_builder *builder)
{
    int each = banyan_generator_whole_tail(request, builder, 1), first;
    double switches = 1, ports = 0;

    for (int d = 0; d < request->shape.part_count; d++) {
        switches *= banyan_shape_value(&request->shape, d, 0);
        ports += banyan_shape_value(&request->shape, d, 0) - 1;
    }
    if (!each || !banyan_generator_fits(request, builder, switches * each, switches * (ports + 2.0 * each)))
        return;
    first = (int)switches * each;
    banyan_generator_add_workers(builder, first);
    for (int s = 0; s < (int)switches; s++) {
        banyan_generator_add_switch(request, builder, "s", s);
        for (int i = 0; i < each; i++)
            join(request, builder, s * each + i, first + s);
    }
    for (int s = 0; s < (int)switches; s++)
        join_lines(request, builder, s, (int)switches, first);
}

const banyan_generator banyan_generator_hyperx = {
    .info = {"hyperx", "hyperx:A[xB...][:T]",
             "switches s0.. in a grid of up to 8 dimensions, every line joined each with each, T workers a "
             "switch (1); 100 Gb/s and 1 us a cable"},
    .least_parts = 1,
    .most_parts = BANYAN_MAX_DIMENSIONS,
    .has_tail = 1,
    .options = BANYAN_GENERATOR_SWITCH,
    .defaults = {.bytes_per_s = BANYAN_GBPS(100), .latency_s = BANYAN_DEFAULT_LATENCY_S},
    .build = build_hyperx,
};
