/* SPDX-License-Identifier: Apache-2.0 */
/* networks.h: small networks for tests of algorithms, built by hand so that tests need no generator. */
#ifndef BANYAN_TESTS_NETWORKS_H
#define BANYAN_TESTS_NETWORKS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "algorithms/algorithms.h"
#include "topology/build.h"

#define MOST_WORKERS 1100

typedef struct {
    banyan_topology *topology;
    int active[MOST_WORKERS], active_count;
} network;

/* Workers around one switch; every idle_every-th of them is idle (0: none). */
static inline network make_star(int worker_count, int idle_every)
{
    banyan_topology_builder builder;
    network net = {0};

    banyan_topology_builder_init(&builder, "star");
    banyan_topology_add_switch(&builder, "s");
    for (int i = 0; i < worker_count; i++) {
        int node = banyan_topology_add_worker_f(&builder, -1, "g%d", i);

        banyan_topology_add_cable(&builder, 0, node, 1e9, 1e-6);
        if (!idle_every || i % idle_every)
            net.active[net.active_count++] = node;
    }
    assert_int_equal(banyan_topology_builder_finish(&builder, &net.topology, NULL), BANYAN_SUCCESS);
    return net;
}

/* Cables along every dimension, and round where it wraps. */
static inline network make_grid(banyan_grid grid)
{
    banyan_topology_builder builder;
    network net = {0};
    int size = 1;

    for (int d = 0; d < grid.dimension_count; d++)
        size *= grid.extent[d];
    banyan_topology_builder_init(&builder, "grid");
    for (int i = 0; i < size; i++)
        net.active[net.active_count++] = banyan_topology_add_worker_f(&builder, -1, "g%d", i);
    for (int i = 0; i < size; i++)
        for (int d = grid.dimension_count - 1, step = 1; d >= 0; step *= grid.extent[d--]) {
            int at = i / step % grid.extent[d];

            if (at + 1 < grid.extent[d])
                banyan_topology_add_cable(&builder, i, i + step, 1e9, 1e-6);
            else if (grid.wraps[d] && grid.extent[d] > 2)
                banyan_topology_add_cable(&builder, i, i - at * step, 1e9, 1e-6);
        }
    banyan_topology_set_grid(&builder, &grid);
    banyan_topology_set_policy(&builder, BANYAN_ROUTES_GRID);
    assert_int_equal(banyan_topology_builder_finish(&builder, &net.topology, NULL), BANYAN_SUCCESS);
    return net;
}

/* Leaf switches with workers each, every leaf joined to every spine. */
static inline network make_fattree(int leaves, int workers_each, int spines)
{
    banyan_topology_builder builder;
    network net = {0};

    banyan_topology_builder_init(&builder, "fat-tree");
    for (int i = 0; i < leaves * workers_each; i++)
        net.active[net.active_count++] = banyan_topology_add_worker_f(&builder, -1, "g%d", i);
    for (int leaf = 0; leaf < leaves; leaf++) {
        int id = banyan_topology_add_switch_f(&builder, "leaf%d", leaf);

        for (int i = 0; i < workers_each; i++)
            banyan_topology_add_cable(&builder, leaf * workers_each + i, id, 1e9, 1e-6);
    }
    for (int spine = 0; spine < spines; spine++) {
        int id = banyan_topology_add_switch_f(&builder, "spine%d", spine);

        for (int leaf = 0; leaf < leaves; leaf++)
            banyan_topology_add_cable(&builder, leaves * workers_each + leaf, id, 1e9, 1e-6);
    }
    assert_int_equal(banyan_topology_builder_finish(&builder, &net.topology, NULL), BANYAN_SUCCESS);
    return net;
}

/* Two layers of switches with workers each; every upper one has cables to every lower one. */
static inline network make_bigraph(int switches_each, int workers_each, int cables)
{
    banyan_topology_builder builder;
    network net = {0};
    int workers = 2 * switches_each * workers_each;

    banyan_topology_builder_init(&builder, "bigraph");
    for (int i = 0; i < workers; i++)
        net.active[net.active_count++] = banyan_topology_add_worker_f(&builder, -1, "g%d", i);
    for (int i = 0; i < 2 * switches_each; i++) {
        int id = banyan_topology_add_switch_f(&builder, "s%d", i);

        for (int j = 0; j < workers_each; j++)
            banyan_topology_add_cable(&builder, i * workers_each + j, id, 1e9, 1e-6);
    }
    for (int upper = 0; upper < switches_each; upper++)
        for (int lower = 0; lower < switches_each; lower++)
            for (int i = 0; i < cables; i++)
                banyan_topology_add_cable(&builder, workers + upper, workers + switches_each + lower, 1e9,
                                          1e-6);
    assert_int_equal(banyan_topology_builder_finish(&builder, &net.topology, NULL), BANYAN_SUCCESS);
    return net;
}

static inline banyan_problem make_problem(const network *net, banyan_collective collective)
{
    return (banyan_problem){
        .topology = net->topology,
        .active = net->active,
        .active_count = net->active_count,
        .collective = collective,
    };
}

static inline banyan_schedule *build(const char *name, const banyan_problem *problem)
{
    const banyan_algorithm *algorithm = banyan_algorithm_find(name);
    banyan_schedule *schedule;
    banyan_error err;

    assert_non_null(algorithm);
    if (banyan_algorithm_build(algorithm, problem, &schedule, &err))
        fail_msg("%s of %d: %s", name, problem->active_count, err.text);
    return schedule;
}

#endif
