/* SPDX-License-Identifier: Apache-2.0 */
/* topology/generate_direct.c: networks without switches: every node is a worker.
 *
 *   ring:4    g0-g1-g2-g3-g0     line:4  g0-g1-g2-g3     full:4  each with each
 *
 *   torus:2x3   g0-g1-g2-g0      mesh:2x3   g0-g1-g2     worker i stands at the row-major coordinates of i:
 *               |  |  |                     |  |  |      the last dimension runs fastest
 *               g3-g4-g5-g3                 g3-g4-g5
 *
 * A dimension of a torus closes on itself. With two places the way round would be a second cable between the
 * same two workers; there is a single one. With one place there is none. */
#include "topology/generator.h"

#define DIRECT_DEFAULTS                                                                                      \
    {                                                                                                        \
        .bytes_per_s = BANYAN_GBPS(100), .latency_s = BANYAN_DEFAULT_LATENCY_S                               \
    }

static void add_cable(const banyan_generator_request *request, banyan_topology_builder *builder, int a, int b)
{
    banyan_topology_add_cable(builder, a, b, request->settings.bytes_per_s, request->settings.latency_s);
}

static void set_shape(const banyan_shape *shape, int wraps, banyan_grid *grid)
{
    grid->dimension_count = shape->part_count;
    for (int d = 0; d < shape->part_count; d++) {
        grid->extent[d] = banyan_shape_value(shape, d, 0);
        grid->wraps[d] = wraps;
    }
}

static double count_workers(const banyan_grid *grid)
{
    double workers = 1;

    for (int d = 0; d < grid->dimension_count; d++)
        workers *= grid->extent[d];
    return workers;
}

/* How many cables one line of workers has along dimension d. */
static int cables_in_line(const banyan_grid *grid, int d)
{
    int extent = grid->extent[d];

    return grid->wraps[d] && extent > 2 ? extent : extent - 1;
}

static double count_links(const banyan_grid *grid)
{
    double workers = count_workers(grid), links = 0;

    for (int d = 0; d < grid->dimension_count; d++)
        links += 2 * workers / grid->extent[d] * cables_in_line(grid, d);
    return links;
}

/* The cables that run upwards from worker i, dimension by dimension. */
static void add_cables_of(const banyan_generator_request *request, banyan_topology_builder *builder,
                          const banyan_grid *grid, int i, int workers)
{
    int stride = workers;

    for (int d = 0; d < grid->dimension_count; d++) {
        int place;

        stride /= grid->extent[d];
        place = i / stride % grid->extent[d];
        if (place + 1 < grid->extent[d])
            add_cable(request, builder, i, i + stride);
        else if (place + 1 == cables_in_line(grid, d))
            add_cable(request, builder, i, i - place * stride);
    }
}

static void build_grid(const banyan_generator_request *request, banyan_topology_builder *builder, int wraps,
                       banyan_route_policy policy)
{
    banyan_grid grid = {0};
    int workers;

    set_shape(&request->shape, wraps, &grid);
    if (!banyan_generator_fits(request, builder, count_workers(&grid), count_links(&grid)))
        return;
    workers = (int)count_workers(&grid);
    banyan_generator_add_workers(builder, workers);
    for (int i = 0; i < workers; i++)
        add_cables_of(request, builder, &grid, i, workers);
    banyan_topology_set_grid(builder, &grid);
    banyan_topology_set_policy(builder, policy);
}

static void build_torus(const banyan_generator_request *request, banyan_topology_builder *builder)
{
    build_grid(request, builder, 1, BANYAN_ROUTES_GRID);
}

static void build_mesh(const banyan_generator_request *request, banyan_topology_builder *builder)
{
    build_grid(request, builder, 0, BANYAN_ROUTES_GRID);
}

static void build_ring(const banyan_generator_request *request, banyan_topology_builder *builder)
{
    build_grid(request, builder, 1, BANYAN_ROUTES_SHORTEST);
}

static void build_line(const banyan_generator_request *request, banyan_topology_builder *builder)
{
    build_grid(request, builder, 0, BANYAN_ROUTES_SHORTEST);
}

static void build_full(const banyan_generator_request *request, banyan_topology_builder *builder)
{
    int workers = banyan_shape_value(&request->shape, 0, 0);

    if (!banyan_generator_fits(request, builder, workers, (double)workers * (workers - 1)))
        return;
    banyan_generator_add_workers(builder, workers);
    for (int a = 0; a < workers; a++)
        for (int b = a + 1; b < workers; b++)
            add_cable(request, builder, a, b);
}

const banyan_generator banyan_generator_ring = {
    .info = {"ring", "ring:N", "N workers in a circle; 100 Gb/s and 1 us a cable"},
    .least_parts = 1,
    .most_parts = 1,
    .defaults = DIRECT_DEFAULTS,
    .build = build_ring,
};

const banyan_generator banyan_generator_line = {
    .info = {"line", "line:N", "N workers in a row; 100 Gb/s and 1 us a cable"},
    .least_parts = 1,
    .most_parts = 1,
    .defaults = DIRECT_DEFAULTS,
    .build = build_line,
};

const banyan_generator banyan_generator_full = {
    .info = {"full", "full:N", "N workers, each joined to each; 100 Gb/s and 1 us a cable"},
    .least_parts = 1,
    .most_parts = 1,
    .defaults = DIRECT_DEFAULTS,
    .build = build_full,
};

const banyan_generator banyan_generator_torus = {
    .info = {"torus", "torus:AxB[xC...]",
             "a grid of up to 8 dimensions, each closed on itself; 100 Gb/s and 1 us a cable"},
    .least_parts = 1,
    .most_parts = BANYAN_MAX_DIMENSIONS,
    .defaults = DIRECT_DEFAULTS,
    .build = build_torus,
};

const banyan_generator banyan_generator_mesh = {
    .info = {"mesh", "mesh:AxB[xC...]",
             "a grid of up to 8 dimensions with open ends; 100 Gb/s and 1 us a cable"},
    .least_parts = 1,
    .most_parts = BANYAN_MAX_DIMENSIONS,
    .defaults = DIRECT_DEFAULTS,
    .build = build_mesh,
};
