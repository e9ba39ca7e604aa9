/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/blueconnect.c: rings within rings along the levels of a symmetric tree of hosts and switches.
 *
 *     racks:2x2x4    level 0   rings of 4 in each host, a quarter of the vector each
 *                    level 1   rings of 2 hosts in a rack, four side by side
 *                    level 2   rings of 2 racks, eight side by side; then back, gathering
 *
 * Every branch of a level must have the same degree. Where the tree does not factor like that, all ranks make
 * one ring in its order, as the paper falls back to. Cost: 2 sum over levels of
 * (d-1)(a + n b / (d d' d'' ...)), d the degree of the level, d' d'' those below, b of the slowest link on
 * the way, shared by the rings side by side. Reduce-scatter and all-gather are its halves.
 *
 * Paper: M. Cho, U. Finkler, D. Kung, BlueConnect: Decomposing All-Reduce for Deep Learning on Heterogeneous
 * Network Hierarchy, 2019. */
#include "algorithms/hierarchy.h"
#include "algorithms/layers.h"
#include "core/alloc.h"

/* Degrees from the bottom up; one ring where there is no such shape. */
static void find_shape(const banyan_hierarchy *tree, int rank_count, banyan_layers *shape)
{
    int degrees[BANYAN_MAX_LAYERS], levels = banyan_hierarchy_shape(tree, degrees, BANYAN_MAX_LAYERS);

    *shape = (banyan_layers){0};
    for (int level = levels - 1; level >= 0; level--)
        if (degrees[level] > 1)
            shape->extent[shape->layer_count++] = degrees[level];
    if (levels == 0) {
        shape->layer_count = 1;
        shape->extent[0] = rank_count;
    }
}

static banyan_status build(const banyan_problem *problem, banyan_schedule **out, banyan_error *err)
{
    banyan_builder builder;
    banyan_hierarchy tree;
    banyan_layers shape;
    int *nodes, *block, count = 0;
    banyan_status status = banyan_hierarchy_find(problem, &tree, err);

    if (status)
        return status;
    find_shape(&tree, problem->active_count, &shape);
    status = banyan_problem_check_transfers(problem, "blueconnect",
                                            banyan_layers_transfers(&shape, problem->collective), err);
    if (status) {
        banyan_hierarchy_fini(&tree);
        return status;
    }
    nodes = banyan_alloc((size_t)problem->active_count, 2 * sizeof *nodes);
    block = nodes + problem->active_count;
    for (int node = 0; nodes && node < tree.node_count; node++)
        if (tree.rank[node] >= 0) {
            block[count] = tree.rank[node];
            nodes[count++] = problem->active[tree.rank[node]];
        }
    banyan_hierarchy_fini(&tree);
    if (!nodes)
        return banyan_fail_memory(err);
    banyan_problem_begin(problem, &builder);
    banyan_builder_cut_evenly(&builder, problem->active_count);
    if (banyan_nested_append(&builder, 0, nodes, block, &shape, 1, problem->collective) < 0)
        builder.status = banyan_fail_memory(&builder.err);
    banyan_free(nodes);
    return banyan_builder_finish(&builder, out, err);
}

static const banyan_algorithm_option options[] = {BANYAN_TREE_OPTION, {NULL, NULL, NULL}};

const banyan_algorithm banyan_algorithm_blueconnect = {
    .name = "blueconnect",
    .summary = "rings within rings along a symmetric tree of hosts and switches; one ring where it is uneven",
    .paper =
        "Cho, Finkler, Kung: BlueConnect: Decomposing All-Reduce for Deep Learning on Heterogeneous Network "
        "Hierarchy, 2019",
    .cost = "2 sum over levels of (d-1)(a + n b/(d d' d''...))",
    .collectives = BANYAN_CAN(ALLREDUCE) | BANYAN_CAN(REDUCE_SCATTER) | BANYAN_CAN(ALLGATHER),
    .options = options,
    .build = build,
};
