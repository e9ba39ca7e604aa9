/* SPDX-License-Identifier: Apache-2.0 */
/* topology/generate_tpu.c: a three-dimensional torus that is put together from cubes of 4x4x4 chips. Inside a
 * cube links are copper; links between cubes, and those that close the torus, pass an optical circuit switch,
 * and may be of another width and latency (global_gbps, global_latency).
 *
 *   one line of tpuv4:8x4x4, = copper, ~ optical:    g0=g16=g32=g48~g64=g80=g96=g112~(g0)
 *
 * TPU v4: six links of 50 GB/s a chip (Jouppi et al., "TPU v4: An Optically Reconfigurable Supercomputer for
 * Machine Learning with Hardware Support for Embeddings", ISCA 2023), up to 64 cubes. The optical switch is a
 * circuit: it joins two links and shares nothing, so it is not a node. */
#include "topology/generator.h"

#define CUBE_EDGE 4
#define DIMENSIONS 3

/* The cables that run upwards from a chip, dimension by dimension. */
static void add_cables_of(const banyan_generator_request *request, banyan_topology_builder *builder,
                          const banyan_grid *grid, int chip, int chips)
{
    const banyan_generator_settings *settings = &request->settings;
    int stride = chips;

    for (int d = 0; d < DIMENSIONS; d++) {
        int place, next;

        stride /= grid->extent[d];
        place = chip / stride % grid->extent[d];
        next = chip + ((place + 1) % grid->extent[d] - place) * stride;
        if ((place + 1) % CUBE_EDGE)
            banyan_topology_add_cable(builder, chip, next, settings->bytes_per_s, settings->latency_s);
        else
            banyan_topology_add_cable(builder, chip, next, settings->global_bytes_per_s,
                                      settings->global_latency_s);
    }
}

static void build_tpuv4(const banyan_generator_request *request, banyan_topology_builder *builder)
{
    banyan_grid grid = {.dimension_count = DIMENSIONS};
    double workers = 1;

    for (int d = 0; d < DIMENSIONS; d++) {
        grid.extent[d] = banyan_shape_value(&request->shape, d, 0);
        grid.wraps[d] = 1;
        workers *= grid.extent[d];
        if (grid.extent[d] % CUBE_EDGE) {
            banyan_topology_builder_fail(builder, BANYAN_INVALID_ARGUMENT,
                                         "%s: %d is not a multiple of %d, the edge of a cube", request->spec,
                                         grid.extent[d], CUBE_EDGE);
            return;
        }
    }
    if (!banyan_generator_fits(request, builder, workers, 2 * DIMENSIONS * workers))
        return;
    banyan_generator_add_workers(builder, (int)workers);
    for (int chip = 0; chip < (int)workers; chip++)
        add_cables_of(request, builder, &grid, chip, (int)workers);
    banyan_topology_set_grid(builder, &grid);
    banyan_topology_set_policy(builder, BANYAN_ROUTES_GRID);
}

const banyan_generator banyan_generator_tpuv4 = {
    .info = {"tpuv4", "tpuv4:AxBxC",
             "a torus of cubes of 4x4x4 chips, 50 GB/s a cable (gbps), those between cubes and round the "
             "torus optical (global_gbps, global_latency); 1 us"},
    .least_parts = DIMENSIONS,
    .most_parts = DIMENSIONS,
    .options = BANYAN_GENERATOR_GLOBAL,
    .defaults = {.bytes_per_s = BANYAN_GBYTES(50), .latency_s = BANYAN_DEFAULT_LATENCY_S},
    .build = build_tpuv4,
};
