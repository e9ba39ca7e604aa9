/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/multitree.c: one tree per rank, all grown together so that no link is used twice in a round.
 *
 *     2x2 mesh, tree 3       3            all-gather: rank 3 sends its piece to 1 and 2 in the first round,
 *     (nodes 0 1            / \                       1 sends it on to 0 in the second
 *            2 3)          1   2          reduce-scatter: the same tree the other way, last round first
 *                          |
 *                          0
 *
 * The trees come from grow.c, on any network: edges are paths of links, so switches and idle workers may lie
 * on them. Cost: 2 S (a + n b/p) for S steps a phase, S at least (p-1) / (links out of a rank).
 *
 * The order in which neighbours are tried matters: 4x4 and 8x8 tori take 5 and 17 steps with the paper's
 * (yx), 4 and 16 with ours (split), which is the least possible. Square tori have trees that take the least
 * possible number of steps at any size (pinwheel.h).
 *
 * Paper: J. Huang et al., Communication Algorithm-Architecture Co-Design for Distributed Deep Learning,
 * 2021. */
#include "algorithms/grow.h"

#include <string.h>

#include "algorithms/pinwheel.h"
#include "core/alloc.h"

typedef struct {
    const banyan_topology *topology;
    banyan_builder *builder;
    int *back;     /* the link the other way of each link, or -1 */
    int *route_of; /* the route of one link alone + 1; 0: none yet */
} routing;

static int count_parallel(const banyan_topology *topology, int link)
{
    const banyan_link *l = &topology->links[link];
    int before = 0;

    for (int i = topology->out_first[l->src]; topology->out_link[i] != link; i++)
        before += topology->links[topology->out_link[i]].dst == l->dst;
    return before;
}

/* The n-th link from a to b goes back as the n-th from b to a. */
static int find_back(const banyan_topology *topology, int link)
{
    const banyan_link *l = &topology->links[link];
    int skip = count_parallel(topology, link);

    for (int i = topology->out_first[l->dst]; i < topology->out_first[l->dst + 1]; i++)
        if (topology->links[topology->out_link[i]].dst == l->src && skip-- == 0)
            return topology->out_link[i];
    return -1;
}

static int route_down(routing *r, const int *path, int count)
{
    if (count > 1)
        return banyan_builder_add_route(r->builder, path, count);
    if (!r->route_of[path[0]])
        r->route_of[path[0]] = 1 + banyan_builder_add_route(r->builder, path, 1);
    return r->route_of[path[0]] - 1;
}

/* The same links the other way, or the default route where one of them is missing. */
static int route_up(routing *r, const int *path, int count)
{
    int *reversed, route;

    for (int i = 0; i < count; i++)
        if (r->back[path[i]] < 0)
            return -1;
    if (count == 1)
        return route_down(r, &r->back[path[0]], 1);
    reversed = banyan_alloc((size_t)count, sizeof *reversed);
    if (!reversed) {
        r->builder->status = banyan_fail_memory(&r->builder->err);
        return -1;
    }
    for (int i = 0; i < count; i++)
        reversed[i] = r->back[path[count - 1 - i]];
    route = banyan_builder_add_route(r->builder, reversed, count);
    banyan_free(reversed);
    return route;
}

/* Reduce-scatter is the all-gather backwards: what is gathered in the last step is reduced in the first. */
static void append(const banyan_problem *problem, const banyan_grown_trees *trees, routing *r)
{
    int has_reduce = problem->collective != BANYAN_COLLECTIVE_ALLGATHER;
    int has_gather = problem->collective != BANYAN_COLLECTIVE_REDUCE_SCATTER;

    for (size_t i = 0; i < trees->edge_count && !r->builder->status; i++) {
        const banyan_grow_edge *edge = &trees->edges[i];
        const int *path = trees->path_link + edge->path_first;
        int parent = problem->active[edge->parent], child = problem->active[edge->child];
        int after = has_reduce ? trees->step_count : 0;

        if (has_reduce)
            banyan_builder_add(r->builder, (banyan_transfer){trees->step_count - edge->step, child, parent,
                                                             edge->root, 1, BANYAN_ACTION_REDUCE, edge->root,
                                                             route_up(r, path, edge->path_count)});
        if (has_gather)
            banyan_builder_add(r->builder, (banyan_transfer){after + edge->step - 1, parent, child,
                                                             edge->root, 1, BANYAN_ACTION_COPY, edge->root,
                                                             route_down(r, path, edge->path_count)});
    }
}

static banyan_status make_schedule(const banyan_problem *problem, const banyan_grown_trees *trees,
                                   banyan_schedule **out, banyan_error *err)
{
    const banyan_topology *topology = problem->topology;
    banyan_builder builder;
    routing r = {topology, &builder, banyan_alloc((size_t)topology->link_count, sizeof(int)),
                 banyan_alloc((size_t)topology->link_count, sizeof(int))};

    if (!r.back || !r.route_of) {
        banyan_free(r.back);
        banyan_free(r.route_of);
        return banyan_fail_memory(err);
    }
    for (int link = 0; link < topology->link_count; link++)
        r.back[link] = find_back(topology, link);
    banyan_problem_begin(problem, &builder);
    banyan_builder_cut_evenly(&builder, problem->active_count);
    append(problem, trees, &r);
    banyan_free(r.back);
    banyan_free(r.route_of);
    return banyan_builder_finish(&builder, out, err);
}

static banyan_status read_order(const char *text, banyan_grow_order *order, banyan_error *err)
{
    if (!strcmp(text, "split"))
        *order = BANYAN_GROW_SPLIT;
    else if (!strcmp(text, "yx"))
        *order = BANYAN_GROW_YX;
    else if (!strcmp(text, "xy"))
        *order = BANYAN_GROW_XY;
    else
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "option 'order' must be split, yx, xy or pinwheel, not '%s'", text);
    return BANYAN_SUCCESS;
}

/* An option with two values: *is_second says which one is given. */
static banyan_status read_choice(const banyan_problem *problem, const char *key, const char *first,
                                 const char *second, int *is_second, banyan_error *err)
{
    const char *text = banyan_problem_parameter(problem, key, first);

    *is_second = !strcmp(text, second);
    if (!*is_second && strcmp(text, first))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "option '%s' must be %s or %s, not '%s'", key, first,
                           second, text);
    return BANYAN_SUCCESS;
}

static banyan_status find_trees(const banyan_problem *problem, banyan_grown_trees *out, banyan_error *err)
{
    const char *text = banyan_problem_parameter(problem, "order", "split");
    banyan_grow_options options = {BANYAN_GROW_SPLIT, 0, 0};
    banyan_status status = read_choice(problem, "turns", "number", "deep", &options.is_deep_first, err);

    if (!status)
        status = read_choice(problem, "steps", "printed", "released", &options.ends_with_last_tree, err);
    if (!status && !strcmp(text, "pinwheel"))
        return banyan_pinwheel_trees(problem, out, err);
    if (!status)
        status = read_order(text, &options.order, err);
    return status ? status : banyan_grow_trees(problem, options, out, err);
}

/* Each rank has a tree, to which all others are attached. */
static banyan_status applies(const banyan_problem *problem, banyan_error *err)
{
    double ranks = problem->active_count;

    return banyan_problem_check_transfers(problem, "multitree", 2 * ranks * (ranks - 1), err);
}

static banyan_status build(const banyan_problem *problem, banyan_schedule **out, banyan_error *err)
{
    banyan_grown_trees trees;
    banyan_status status = find_trees(problem, &trees, err);

    if (status)
        return status;
    status = make_schedule(problem, &trees, out, err);
    banyan_grown_trees_fini(&trees);
    return status;
}

static const banyan_algorithm_option options[] = {
    {"order", "split|yx|xy|pinwheel",
     "which neighbours on a grid are tried first (default split; the paper's is yx); pinwheel: trees of one "
     "shape, "
     "for square tori"},
    {"turns", "number|deep", "trees have their turn by number (default), or those with far ranks first"},
    {"steps", "printed|released",
     "a step ends when no tree can grow, as Algorithm 1 has it (default), or when the last tree does not, as "
     "in the authors' program"},
    {NULL, NULL, NULL},
};

const banyan_algorithm banyan_algorithm_multitree = {
    .name = "multitree",
    .summary = "one tree per rank, grown together on free links, so that no link is used twice in a round",
    .paper =
        "Huang et al.: Communication Algorithm-Architecture Co-Design for Distributed Deep Learning, 2021",
    .cost = "2 S (a + n b/p), S steps a phase; on a torus of d dimensions about (p-1)/2d",
    .collectives = BANYAN_CAN(ALLREDUCE) | BANYAN_CAN(REDUCE_SCATTER) | BANYAN_CAN(ALLGATHER),
    .options = options,
    .applies = applies,
    .build = build,
};
