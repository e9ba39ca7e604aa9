/* SPDX-License-Identifier: Apache-2.0 */
/* topology/generate_rails.c: a rail-optimised fat-tree: GPU r of every box of a unit hangs on the unit's leaf
 * of rail r, so that GPUs of one place in their boxes are two hops apart, and others meet at a spine or, more
 * shortly, inside a box.
 *
 *   rails:1x2x2     s0    s1        boxes of 2 GPUs on NVSwitches nvsw0, nvsw1;
 *                   | \  / |        l0 is rail 0: g0 and g2,
 *                   l0    l1        l1 is rail 1: g1 and g3
 *                   / \   / \
 *                 g0  g2 g1  g3
 *
 * A unit of B boxes of G GPUs has G leaves with B cables down and B/F cables' worth of speed up, in ceil(B/F)
 * equal cables, one to each spine. NVIDIA's "DGX SuperPOD Reference Architecture" (DGX H100, RA-11333) has
 * units of 32 boxes of 8 GPUs, rails:4x32x8; its spines have two cables from each leaf, where ours are more
 * and have one. Speeds are those of dgxh100. */
#include <math.h>

#include "topology/generator.h"

typedef struct {
    int units, boxes, gpus, spines; /* units, boxes in a unit, GPUs in a box */
    double upwards;                 /* of a leaf, in cables of a GPU's adapter */
} rails;

static rails read_rails(const banyan_shape *shape)
{
    rails size = {.units = banyan_shape_value(shape, 0, 0),
                  .boxes = banyan_shape_value(shape, 1, 0),
                  .gpus = banyan_shape_value(shape, 2, 0)};

    size.upwards = size.boxes / (shape->has_tail ? shape->tail : 1);
    return size;
}

static void join_leaf(const banyan_generator_request *request, banyan_topology_builder *builder,
                      const rails *size, int leaf, int first_leaf)
{
    const banyan_generator_settings *settings = &request->settings;
    int unit = leaf / size->gpus, rail = leaf % size->gpus;
    int first_spine = first_leaf + size->units * size->gpus;

    for (int box = unit * size->boxes; box < (unit + 1) * size->boxes; box++)
        banyan_topology_add_cable(builder, box * size->gpus + rail, first_leaf + leaf, settings->bytes_per_s,
                                  settings->latency_s);
    for (int spine = 0; spine < size->spines; spine++)
        banyan_topology_add_cable(builder, first_leaf + leaf, first_spine + spine,
                                  settings->bytes_per_s * size->upwards / size->spines, settings->latency_s);
}

static void build_rails(const banyan_generator_request *request, banyan_topology_builder *builder)
{
    rails size = read_rails(&request->shape);
    double spines = ceil(size.upwards * (1 - 1e-12));
    double workers = (double)size.units * size.boxes * size.gpus;
    int boxes, leaves;

    if (!banyan_generator_fits(request, builder, workers,
                               4 * workers + 2.0 * size.units * size.gpus * spines))
        return;
    size.spines = (int)spines;
    boxes = size.units * size.boxes;
    leaves = size.units * size.gpus;
    for (int box = 0; box < boxes; box++)
        banyan_generator_add_box(builder, "dgx", box, box * size.gpus, size.gpus);
    for (int box = 0; box < boxes; box++)
        banyan_generator_add_switch(request, builder, "nvsw", box);
    for (int leaf = 0; leaf < leaves; leaf++)
        banyan_generator_add_switch(request, builder, "l", leaf);
    for (int spine = 0; spine < size.spines; spine++)
        banyan_generator_add_switch(request, builder, "s", spine);
    for (int i = 0; i < (int)workers; i++)
        banyan_topology_add_cable(builder, i, (int)workers + i / size.gpus,
                                  request->settings.local_bytes_per_s, request->settings.local_latency_s);
    for (int leaf = 0; leaf < leaves; leaf++)
        join_leaf(request, builder, &size, leaf, (int)workers + boxes);
}

const banyan_generator banyan_generator_rails = {
    .info = {"rails", "rails:UxBxG[:F]",
             "rail-optimised fat-tree: U units of B boxes of G GPUs; 450 GB/s a GPU on the box's NVSwitch "
             "nvsw0.. (local_gbps), 50 GB/s a GPU on its rail's leaf l0.. (gbps), spines s0.., F:1 "
             "oversubscribed (1:1); 1 us"},
    .least_parts = 3,
    .most_parts = 3,
    .has_tail = 1,
    .options = BANYAN_GENERATOR_LOCAL | BANYAN_GENERATOR_SWITCH,
    .defaults = {.bytes_per_s = BANYAN_GBYTES(50),
                 .latency_s = BANYAN_DEFAULT_LATENCY_S,
                 .local_bytes_per_s = BANYAN_GBYTES(450),
                 .local_latency_s = BANYAN_DEFAULT_LATENCY_S},
    .build = build_rails,
};
