/* SPDX-License-Identifier: Apache-2.0 */
/* topology/generate_dragonfly.c: groups of routers, each pair of groups joined by global cables.
 *
 *   dragonfly:3x2x1              g0 g1               dragonfly+:2x2x2x1    s0~~~~~s2
 *                                |  |                 (two groups)        |\ /|   ...
 *             group 0:           r0-r1                                    | X |
 *                               ~     ~                                   l0  l1
 *             groups 1, 2:   r2-r3 ~~ r4-r5                               |   |
 *                            |  |     |  |                                g0  g1
 *                           g2  g3   g4  g5
 *
 * dragonfly (Kim, Dally, Scott and Abts, "Technology-Driven, Highly-Scalable Dragonfly Topology", ISCA 2008):
 * the routers of a group are joined each with each. dragonfly+ (Shpiner et al., "Dragonfly+: Low Cost
 * Topology for Scaling Datacenters", HiPINEB 2017): workers hang on leaves, each leaf is joined to each spine
 * of its group, and the spines have the global cables.
 *
 * With H global cables a router, A routers a group and G groups, each pair of groups has floor(A H / (G - 1))
 * cables. Group i numbers the others by their distance i+1, i+2, ... (modulo G) and deals their cables to its
 * routers in that order, H to each. H is the least that reaches all groups, unless given. */
#include "topology/generator.h"

typedef struct {
    int groups, routers; /* routers with global cables, in one group */
    int each;            /* global cables of a router */
    long per_pair;       /* of groups */
} globals;

static int plan_globals(const banyan_generator_request *request, banyan_topology_builder *builder, int groups,
                        int routers, globals *out)
{
    int others = groups - 1;
    long ends;

    out->groups = groups;
    out->routers = routers;
    out->each = banyan_generator_whole_tail(request, builder, (others + routers - 1) / routers);
    out->per_pair = 0;
    if (!others || (request->shape.has_tail && !out->each))
        return !others;
    ends = (long)routers * out->each;
    if (ends < others) {
        banyan_topology_builder_fail(builder, BANYAN_INVALID_ARGUMENT,
                                     "%s: %d routers with %d global cables each do not reach %d other groups",
                                     request->spec, routers, out->each, others);
        return 0;
    }
    out->per_pair = ends / others;
    return 1;
}

static double count_links(const globals *plan)
{
    return (double)plan->groups * (plan->groups - 1) * (double)plan->per_pair;
}

/* Routers of group i are first_router + i * stride, and so on. */
static void join_groups(const banyan_generator_request *request, banyan_topology_builder *builder,
                        const globals *plan, int first_router, int stride)
{
    for (int i = 0; i < plan->groups; i++)
        for (int j = i + 1; j < plan->groups; j++)
            for (long k = 0; k < plan->per_pair; k++) {
                long there = (j - i - 1) * plan->per_pair + k;
                long back = (plan->groups - (j - i) - 1) * plan->per_pair + k;

                banyan_topology_add_cable(builder, first_router + i * stride + (int)(there / plan->each),
                                          first_router + j * stride + (int)(back / plan->each),
                                          request->settings.global_bytes_per_s,
                                          request->settings.global_latency_s);
            }
}

static void join(const banyan_generator_request *request, banyan_topology_builder *builder, int a, int b)
{
    banyan_topology_add_cable(builder, a, b, request->settings.bytes_per_s, request->settings.latency_s);
}

static void build_dragonfly(const banyan_generator_request *request, banyan_topology_builder *builder)
{
    int groups = banyan_shape_value(&request->shape, 0, 0);
    int routers = banyan_shape_value(&request->shape, 1, 0);
    int each = banyan_shape_value(&request->shape, 2, 0);
    double workers = (double)groups * routers * each;
    int first;
    globals plan;

    if (!plan_globals(request, builder, groups, routers, &plan) ||
        !banyan_generator_fits(request, builder, workers,
                               2 * workers + (double)groups * routers * (routers - 1) + count_links(&plan)))
        return;
    first = (int)workers;
    banyan_generator_add_workers(builder, first);
    for (int r = 0; r < groups * routers; r++) {
        banyan_generator_add_switch(request, builder, "r", r);
        for (int i = 0; i < each; i++)
            join(request, builder, r * each + i, first + r);
    }
    for (int r = 0; r < groups * routers; r++)
        for (int other = r + 1; other / routers == r / routers; other++)
            join(request, builder, first + r, first + other);
    join_groups(request, builder, &plan, first, routers);
}

/* One group: its workers on its leaves, and each leaf with each spine. */
static void join_leaves(const banyan_generator_request *request, banyan_topology_builder *builder, int group,
                        int first_leaf, int first_spine)
{
    int leaves = banyan_shape_value(&request->shape, 1, 0);
    int spines = banyan_shape_value(&request->shape, 2, 0);
    int each = banyan_shape_value(&request->shape, 3, 0);

    for (int leaf = group * leaves; leaf < (group + 1) * leaves; leaf++) {
        for (int i = 0; i < each; i++)
            join(request, builder, leaf * each + i, first_leaf + leaf);
        for (int spine = group * spines; spine < (group + 1) * spines; spine++)
            join(request, builder, first_leaf + leaf, first_spine + spine);
    }
}

static void build_dragonfly_plus(const banyan_generator_request *request, banyan_topology_builder *builder)
{
    int groups = banyan_shape_value(&request->shape, 0, 0);
    int leaves = banyan_shape_value(&request->shape, 1, 0);
    int spines = banyan_shape_value(&request->shape, 2, 0);
    double workers = (double)groups * leaves * banyan_shape_value(&request->shape, 3, 0);
    int first;
    globals plan;

    if (!plan_globals(request, builder, groups, spines, &plan) ||
        !banyan_generator_fits(request, builder, workers,
                               2 * workers + 2.0 * groups * leaves * spines + count_links(&plan)))
        return;
    first = (int)workers;
    banyan_generator_add_workers(builder, first);
    for (int leaf = 0; leaf < groups * leaves; leaf++)
        banyan_generator_add_switch(request, builder, "l", leaf);
    for (int spine = 0; spine < groups * spines; spine++)
        banyan_generator_add_switch(request, builder, "s", spine);
    for (int group = 0; group < groups; group++)
        join_leaves(request, builder, group, first, first + groups * leaves);
    join_groups(request, builder, &plan, first + groups * leaves, spines);
}

const banyan_generator banyan_generator_dragonfly = {
    .info = {"dragonfly", "dragonfly:GxAxP[:H]",
             "G groups of A routers r0.. joined each with each, P workers a router, H global cables a router "
             "(enough to reach all groups); 100 Gb/s and 1 us a cable (global_gbps, global_latency)"},
    .least_parts = 3,
    .most_parts = 3,
    .has_tail = 1,
    .options = BANYAN_GENERATOR_SWITCH | BANYAN_GENERATOR_GLOBAL,
    .defaults = {.bytes_per_s = BANYAN_GBPS(100), .latency_s = BANYAN_DEFAULT_LATENCY_S},
    .build = build_dragonfly,
};

const banyan_generator banyan_generator_dragonfly_plus = {
    .info = {"dragonfly+", "dragonfly+:GxLxSxP[:H]",
             "G groups of L leaves l0.. under S spines s0.., P workers a leaf, H global cables a spine "
             "(enough to reach all groups); 100 Gb/s and 1 us a cable (global_gbps, global_latency)"},
    .least_parts = 4,
    .most_parts = 4,
    .has_tail = 1,
    .options = BANYAN_GENERATOR_SWITCH | BANYAN_GENERATOR_GLOBAL,
    .defaults = {.bytes_per_s = BANYAN_GBPS(100), .latency_s = BANYAN_DEFAULT_LATENCY_S},
    .build = build_dragonfly_plus,
};
