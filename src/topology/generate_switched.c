/* SPDX-License-Identifier: Apache-2.0 */
/* topology/generate_switched.c: workers that hang on switches.
 *
 *   switch:N        fattree:2x2         bigraph:2x4
 *
 *      s0            s0    s1           g0 g1   g2 g3
 *    / | \           | \  / |            \ /     \ /
 *   g0 g1 g2         |  \/  |             u0     u1
 *                    |  /\  |             |  \ /  |
 *                    l0    l1             |  / \  |
 *                   / \    / \            l0     l1
 *                  g0 g1  g2 g3          / \     / \
 *                                       g4 g5   g6 g7
 *
 * Fat-tree: every leaf has one cable to every spine. With oversubscription f a leaf of W workers has W/f
 * worth of a worker's speed upwards, in ceil(W/f) equal cables: whole cables where that divides.
 *
 * BiGraph (Dong et al., 'EFLOPS', HPCA 2020; MultiTree's 4x8 and 4x16): WORKERS x SWITCHES, half of the
 * switches in each of two layers, workers on both, every switch joined to every switch of the other layer and
 * to none of its own. The cables between switches run at a worker's speed, or faster where there are more
 * workers on a switch than switches opposite, so that a switch can always pass on what its workers send. */
#include <math.h>

#include "topology/generator.h"

#define SWITCHED_DEFAULTS                                                                                    \
    {                                                                                                        \
        .bytes_per_s = BANYAN_GBPS(100), .latency_s = BANYAN_DEFAULT_LATENCY_S                               \
    }

static void join(const banyan_generator_request *request, banyan_topology_builder *builder, int a, int b,
                 double share)
{
    banyan_topology_add_cable(builder, a, b, request->settings.bytes_per_s * share,
                              request->settings.latency_s);
}

static void build_switch(const banyan_generator_request *request, banyan_topology_builder *builder)
{
    int workers = banyan_shape_value(&request->shape, 0, 0), middle;

    if (!banyan_generator_fits(request, builder, workers, 2.0 * workers))
        return;
    banyan_generator_add_workers(builder, workers);
    middle = banyan_generator_add_switch(request, builder, "s", 0);
    for (int i = 0; i < workers; i++)
        join(request, builder, i, middle, 1);
    banyan_topology_set_policy(builder, BANYAN_ROUTES_UPDOWN);
}

static void build_fattree(const banyan_generator_request *request, banyan_topology_builder *builder)
{
    int leaves = banyan_shape_value(&request->shape, 0, 0);
    int each = banyan_shape_value(&request->shape, 1, 0);
    double upwards = each / (request->shape.has_tail ? request->shape.tail : 1);
    double spines = ceil(upwards * (1 - 1e-12));
    int first_leaf = leaves * each, first_spine = first_leaf + leaves;

    if (!banyan_generator_fits(request, builder, (double)leaves * each, 2.0 * leaves * (each + spines)))
        return;
    banyan_generator_add_workers(builder, leaves * each);
    for (int leaf = 0; leaf < leaves; leaf++)
        banyan_generator_add_switch(request, builder, "l", leaf);
    for (int spine = 0; spine < (int)spines; spine++)
        banyan_generator_add_switch(request, builder, "s", spine);
    for (int leaf = 0; leaf < leaves; leaf++) {
        for (int i = 0; i < each; i++)
            join(request, builder, leaf * each + i, first_leaf + leaf, 1);
        for (int spine = 0; spine < (int)spines; spine++)
            join(request, builder, first_leaf + leaf, first_spine + spine, upwards / spines);
    }
    banyan_topology_set_policy(builder, BANYAN_ROUTES_UPDOWN);
}

static void build_bigraph(const banyan_generator_request *request, banyan_topology_builder *builder)
{
    int each = banyan_shape_value(&request->shape, 0, 0);
    int switches = banyan_shape_value(&request->shape, 1, 0), layer = switches / 2;
    double workers = (double)each * switches;
    double share = each > layer ? (double)each / layer : 1;

    if (switches % 2) {
        banyan_topology_builder_fail(builder, BANYAN_INVALID_ARGUMENT,
                                     "%s: a BiGraph has an even number of switches, not %d", request->spec,
                                     switches);
        return;
    }
    if (!banyan_generator_fits(request, builder, workers, 2 * workers + 2.0 * layer * layer))
        return;
    banyan_generator_add_workers(builder, each * switches);
    for (int s = 0; s < switches; s++) {
        int id = banyan_generator_add_switch(request, builder, s < layer ? "u" : "l", s % layer);

        for (int i = 0; i < each; i++)
            join(request, builder, s * each + i, id, 1);
    }
    for (int upper = 0; upper < layer; upper++)
        for (int lower = 0; lower < layer; lower++)
            join(request, builder, each * switches + upper, each * switches + layer + lower, share);
}

const banyan_generator banyan_generator_switch = {
    .info = {"switch", "switch:N", "N workers on one switch s0; 100 Gb/s and 1 us a cable"},
    .least_parts = 1,
    .most_parts = 1,
    .options = BANYAN_GENERATOR_SWITCH,
    .defaults = SWITCHED_DEFAULTS,
    .build = build_switch,
};

const banyan_generator banyan_generator_fattree = {
    .info = {"fattree", "fattree:LxW[:F]",
             "L leaf switches l0.. with W workers each under spines s0..; F:1 oversubscribed (1:1); "
             "100 Gb/s and 1 us a cable"},
    .least_parts = 2,
    .most_parts = 2,
    .has_tail = 1,
    .options = BANYAN_GENERATOR_SWITCH,
    .defaults = SWITCHED_DEFAULTS,
    .build = build_fattree,
};

const banyan_generator banyan_generator_bigraph = {
    .info = {"bigraph", "bigraph:WxS",
             "EFLOPS BiGraph: S switches in two layers u0.. and l0.. with W workers on each, every upper "
             "switch joined to every lower one; 100 Gb/s and 1 us a cable"},
    .least_parts = 2,
    .most_parts = 2,
    .options = BANYAN_GENERATOR_SWITCH,
    .defaults = SWITCHED_DEFAULTS,
    .build = build_bigraph,
};
