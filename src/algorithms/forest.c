/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/forest.c: trees packed so that the narrowest part of the network is never idle.
 *
 *          share 5/8                share 3/8            every byte is summed up its tree and the sum comes
 * down 2                        0                 the same tree at once: links work both ways all the time.
 *           / | \                     / \                Together the trees fill just the links that limit
 * any 0  1  3                   1   2               all-reduce whatever, so no schedule can be faster.
 *                                        |
 *                                        3
 *
 * How the trees are found is in packed.h; here the choice of how many, how deep, and the making of the
 * schedule. Where one tree a rank, grown in turns as multitree grows them, is faster at the size at hand (even
 * networks, vectors that are not huge), these are the forest. Cost in the limit: n / X, X the bound; for small vectors (sqrt(n/X) + sqrt((D-1) a))^2 with D
 * hops up and down.
 *
 * Paper: Z. Zhang et al., Near-Optimal Topology-adaptive Parameter Synchronization in Distributed DNN Training,
 * INFOCOM 2021; gone past by packing both stages into one. */
#include <math.h>
#include <string.h>

#include "algorithms/flows.h"
#include "algorithms/packed.h"
#include "core/alloc.h"
#include "core/value.h"

extern const banyan_algorithm banyan_algorithm_multitree;

static const banyan_algorithm_option options[] = {
    {"method", "columns|ellipsoid",
     "how trees are found; ellipsoid is the paper's way, for small networks (columns)"},
    {"relays", "add|forward|none", "what idle workers do (add)"},
    {"max-trees", "N", "at most this many trees (64)"},
    {"max-depth", "N", "trees of at most this many hops, where that is possible (0: shallow at no loss)"},
    {"stages", "pipelined|sequential|overlap",
     "reduce and broadcast at once, or one after the other (pipelined)"},
    {"trees", "auto|packed|grown",
     "the heaviest packing, one tree a rank as multitree grows them, or what suits the size (auto)"},
    {NULL, NULL, NULL},
};

/* Fewer trees lose some rate and save latency and messages; grown ones take turns on links. */
static const banyan_parameter variants[] = {
    {"max-trees", "1"}, {"max-trees", "4"}, {"max-trees", "16"}, {"trees", "grown"}, {NULL, NULL}};

static banyan_status applies(const banyan_problem *problem, banyan_error *err)
{
    if (problem->active_count > 4096)
        return banyan_fail(err, BANYAN_UNSUPPORTED, "forest plans up to 4096 workers, here are %d",
                           problem->active_count);
    return BANYAN_SUCCESS;
}

#define LARGE_BYTES ((size_t)64 << 20)
enum { MOST_GROWN = 256 };

typedef enum { TREES_AUTO, TREES_PACKED, TREES_GROWN } tree_choice;

static banyan_status read_trees(const banyan_problem *problem, tree_choice *out, banyan_error *err)
{
    const char *text = banyan_problem_parameter(problem, "trees", "auto");
    int choice = 0;
    banyan_status status = banyan_value_choice(text, "auto|packed|grown", &choice, err);

    if (status)
        banyan_error_prefix(err, "trees");
    *out = (tree_choice)choice;
    return status;
}

/* The latency of the slowest hop: its links' one after the other. */
static double hop_seconds(const banyan_topology *topology, const int *links, int count)
{
    double latency_s = 0;

    for (int k = 0; k < count; k++)
        latency_s += topology->links[links[k]].latency_s;
    return latency_s;
}

/* The seconds of the fullest link. INFINITY where a hop has no route of its own: that is the packing's. */
static banyan_status fullest_link(const banyan_schedule *s, const banyan_topology *topology, double bytes,
                                  double *out, banyan_error *err)
{
    double *load_s = banyan_alloc((size_t)topology->link_count, sizeof *load_s);

    if (!load_s)
        return banyan_fail_memory(err);
    *out = 0;
    for (size_t i = 0; i < s->transfer_count; i++) {
        const banyan_transfer *t = &s->transfers[i];
        double part = bytes * banyan_schedule_share(s, t->first_piece, t->piece_count);

        if (t->route < 0)
            *out = INFINITY;
        for (int k = t->route < 0 ? 0 : s->route_first[t->route];
             k < (t->route < 0 ? 0 : s->route_first[t->route + 1]); k++) {
            int link = s->route_link[k];

            load_s[link] += part / topology->links[link].bytes_per_s;
            *out = fmax(*out, load_s[link]);
        }
    }
    banyan_free(load_s);
    return BANYAN_SUCCESS;
}

/* The latency from a root to the farthest leaf of its tree. */
static banyan_status tree_latency(const banyan_schedule *s, const banyan_topology *topology, double *out,
                                  banyan_error *err)
{
    size_t nodes = (size_t)s->node_count;
    double *reached_s = banyan_alloc((size_t)s->flow_count * nodes, sizeof *reached_s);

    if (!reached_s)
        return banyan_fail_memory(err);
    *out = 0;
    for (size_t i = 0; i < s->transfer_count; i++) { /* ascending rounds: a parent is reached before */
        const banyan_transfer *t = &s->transfers[i];
        double *tree = reached_s + (size_t)t->flow * nodes;

        if (t->action != BANYAN_ACTION_COPY || t->route < 0)
            continue;
        tree[t->dst] = tree[t->src] + hop_seconds(topology, s->route_link + s->route_first[t->route],
                                                  s->route_first[t->route + 1] - s->route_first[t->route]);
        *out = fmax(*out, tree[t->dst]);
    }
    banyan_free(reached_s);
    return BANYAN_SUCCESS;
}

/* What grown trees take when nobody waits for rounds: the fullest link, and the way up and down a tree. */
static banyan_status grown_seconds(const banyan_schedule *s, const banyan_topology *topology, double bytes,
                                   double *out, banyan_error *err)
{
    double link_s = 0, tree_s = 0;
    banyan_status status = fullest_link(s, topology, bytes, &link_s, err);

    if (!status)
        status = tree_latency(s, topology, &tree_s, err);
    *out = link_s + 2 * tree_s;
    return status;
}

/* What packed trees take when slices follow one another through them: (sqrt(n/X) + sqrt((D-1) a))^2. */
static banyan_status packed_seconds(const banyan_flows *flows, const banyan_topology *topology, double bytes,
                                    double *out, banyan_error *err)
{
    double bytes_per_s, hop_s = 0;
    banyan_status status = banyan_flows_rate(flows, topology, &bytes_per_s, err);

    if (status)
        return status;
    for (size_t i = 0; i < flows->hop_count; i++)
        hop_s = fmax(hop_s, hop_seconds(topology, flows->links + flows->hops[i].first_link,
                                        flows->hops[i].link_count));
    *out = pow(sqrt(bytes / bytes_per_s) + sqrt((2 * banyan_flows_depth(flows) - 1) * hop_s), 2);
    return BANYAN_SUCCESS;
}

/* One tree a rank, grown in turns: fewer hops and no two messages on a link at a time, at little or no loss
 * where the network is even. */
static banyan_status grow(const banyan_problem *problem, banyan_schedule **out, banyan_error *err)
{
    banyan_problem plain = *problem;

    plain.parameter_count = 0;
    return banyan_algorithm_multitree.build(&plain, out, err);
}

/* Replaces *schedule by grown trees where these are faster at the problem's size. */
static banyan_status try_grown(const banyan_problem *problem, const banyan_flows *flows,
                               banyan_schedule **schedule, banyan_error *err)
{
    banyan_schedule *grown = NULL, *other;
    double packed_s, grown_s = INFINITY, bytes = (double)problem->bytes;
    banyan_status status = packed_seconds(flows, problem->topology, bytes, &packed_s, err);

    if (!status)
        status = grow(problem, &grown, err);
    if (!status)
        status = grown_seconds(grown, problem->topology, bytes, &grown_s, err);
    other = grown;
    if (!status && grown_s <= packed_s) {
        other = *schedule;
        *schedule = grown;
    }
    banyan_schedule_destroy(other);
    return status;
}

/* Whoever shapes the packing wants the packing; growing trees for very many ranks takes long; and what gives
 * no size, or a large one, is after the bandwidth. */
static int may_grow(const banyan_problem *problem, tree_choice trees)
{
    int is_plain = problem->parameter_count == 0 ||
                   (problem->parameter_count == 1 && !strcmp(problem->parameters[0].key, "trees"));

    return trees == TREES_AUTO && is_plain && problem->bytes > 0 && problem->bytes < LARGE_BYTES &&
           problem->active_count > 2 && problem->active_count <= MOST_GROWN;
}

static banyan_status build(const banyan_problem *problem, banyan_schedule **out, banyan_error *err)
{
    banyan_packed_options choice;
    tree_choice trees = TREES_AUTO;
    banyan_flows flows;
    banyan_schedule *schedule = NULL;
    banyan_status status = banyan_packed_options_read(problem, &choice, err);

    *out = NULL;
    if (!status)
        status = read_trees(problem, &trees, err);
    if (status || trees == TREES_GROWN)
        return status ? status : grow(problem, out, err);
    banyan_flows_init(&flows);
    status = banyan_packed_find(problem, &choice, &flows, err);
    if (!status)
        status = banyan_flows_build(&flows, problem, &schedule, err);
    if (!status && may_grow(problem, trees))
        status = try_grown(problem, &flows, &schedule, err);
    banyan_flows_fini(&flows);
    if (status)
        banyan_schedule_destroy(schedule);
    else
        *out = schedule;
    return status;
}

const banyan_algorithm banyan_algorithm_forest = {
    .name = "forest",
    .summary = "the heaviest packing of trees, which reaches the network's bound",
    .paper = "Z. Zhang et al., Near-Optimal Topology-adaptive Parameter Synchronization in Distributed DNN "
             "Training, "
             "2021",
    .cost = "n / bound + 2 depth a",
    .collectives = BANYAN_CAN(ALLREDUCE),
    .options = options,
    .variants = variants,
    .applies = applies,
    .build = build,
};
