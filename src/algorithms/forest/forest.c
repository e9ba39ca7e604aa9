/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/forest/forest.c: trees packed so that the narrowest part of the network is never idle.
 *
 *     share 5/8      share 3/8       every byte is summed up its tree, and the sum comes down the same tree
 *         2              0           at once: links work both ways all the time. Together the trees fill just
 *       / | \           / \          the links that limit any all-reduce whatever, so no schedule can be
 *      0  1  3         1   2         faster.
 *                          |
 *                          3
 *
 * How the trees are found is in starts.c; here the choice for the current size, between packed trees, which
 * pass slices on, and one tree per rank, grown in turns as multitree grows them, where a message has its
 * links for itself in each round. Both are weighed as stages.h says: grown trees by rounds, packed ones by
 * levels. Where a slow hop limits them, one tree alone may be as fast. Where every hop is a cable, packed
 * trees are cut into slices here; behind switches whoever sends does that.
 *
 * Paper: Z. Zhang et al., Near-Optimal Topology-adaptive Parameter Synchronization in Distributed DNN
 * Training, INFOCOM 2021; gone past by packing both stages into one. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/flows.h"
#include "algorithms/forest/pack.h"
#include "algorithms/message_walk.h"
#include "algorithms/stages.h"
#include "core/alloc.h"
#include "core/value.h"
#include "schedule/slice.h"

extern const banyan_algorithm banyan_algorithm_multitree;

static const banyan_algorithm_option options[] = {
    {"method", "grow|ellipsoid", "how trees are found: grown, or the paper's way, for small networks (grow)"},
    {"relays", "add|forward|none", "what idle workers do (add)"},
    {"max-trees", "N", "at most this many trees (64)"},
    {"max-depth", "N", "trees of at most this many hops (0: shallow at no loss)"},
    {"stages", "pipelined|sequential|overlap",
     "reduce and broadcast at once, or one after the other (pipelined)"},
    {"trees", "auto|packed|grown",
     "the heaviest packing, one tree per rank as multitree grows them, or what suits the size (auto)"},
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
    for (int i = 0; i < problem->parameter_count && problem->collective != BANYAN_COLLECTIVE_ALLREDUCE; i++)
        if (strcmp(problem->parameters[i].key, "relays"))
            return banyan_fail(err, BANYAN_UNSUPPORTED, "forest has the option '%s' for all-reduce only",
                               problem->parameters[i].key);
    return problem->collective == BANYAN_COLLECTIVE_ALLREDUCE ? BANYAN_SUCCESS
                                                              : banyan_forest_check_parts(problem, err);
}

#define OPEN_BYTES ((size_t)256 << 20) /* beyond it the size is left open */
#define LEAST_SLICE_BYTES 2048.0       /* what we cut them to on cables, at most: some packets */
#define LEAST_LATENCY_S 1e-9           /* of a hop, where none is known */
#define CLOSE 0.01                     /* closer than that, the number of messages decides */
#define LEAST_GAIN 0.003               /* of grown trees over others that are tried before */
#define FILLING_SLICES 64              /* of a tree, by which filling is judged */
enum { MOST_GROWN = 256, MOST_SLICES = 128, MOST_TRANSFERS = 65536 };

typedef enum { TREES_AUTO, TREES_PACKED, TREES_GROWN } tree_choice;

static banyan_status read_trees(const banyan_problem *problem, tree_choice *out, banyan_error *err)
{
    const char *text = banyan_problem_parameter(problem, "trees", "auto");
    int choice = 0;
    banyan_status status = banyan_value_choice(text, "auto|packed|grown", &choice, err);

    if (status)
        banyan_error_prefix(err, "trees");
    *out = (tree_choice)choice;
    for (int i = 0; i < problem->parameter_count && !status && *out == TREES_GROWN; i++)
        if (strcmp(problem->parameters[i].key, "trees"))
            status = banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                                 "trees 'grown' are one per rank, as multitree grows them, which leaves "
                                 "nothing to choose for the option '%s'",
                                 problem->parameters[i].key);
    return status;
}

static int is_on_cables(const banyan_flows *flows)
{
    for (size_t i = 0; i < flows->hop_count; i++)
        if (flows->hops[i].link_count != 1)
            return 0;
    return 1;
}

/* The rate of the narrowest link of some hops. */
static double find_narrowest(const banyan_flows *flows, const banyan_topology *topology, size_t first,
                             size_t end)
{
    double narrowest = HUGE_VAL;

    for (size_t h = first; h < end; h++)
        for (int k = 0; k < flows->hops[h].link_count; k++)
            narrowest = fmin(
                narrowest, topology->links[flows->links[flows->hops[h].first_link + (size_t)k]].bytes_per_s);
    return narrowest;
}

/* The longest latency of a hop, over all its links. */
static double hop_latency(const banyan_flows *flows, const banyan_topology *topology)
{
    double longest_s = 0;

    for (size_t i = 0; i < flows->hop_count; i++) {
        const int *links = flows->links + flows->hops[i].first_link;
        double latency_s = 0;

        for (int k = 0; k < flows->hops[i].link_count; k++)
            latency_s += topology->links[links[k]].latency_s;
        longest_s = fmax(longest_s, latency_s);
    }
    return longest_s;
}

/* K slices and R rounds take (K + R - 1) (n / X K + a), least where K^2 = (R - 1) n / X a. */
static banyan_status count_slices(const banyan_flows *flows, const banyan_topology *topology, int rounds,
                                  double bytes, int *out, banyan_error *err)
{
    double most = fmin(MOST_SLICES, floor(MOST_TRANSFERS / (double)flows->hop_count));
    double latency_s = fmax(hop_latency(flows, topology), LEAST_LATENCY_S), bytes_per_s, best;
    banyan_status status = banyan_flows_rate(flows, topology, &bytes_per_s, err);

    if (status)
        return status;
    best = sqrt((rounds - 1) * bytes / bytes_per_s / latency_s);
    *out = (int)fmax(
        1, fmin(fmin(most, best), floor(bytes * banyan_flows_heaviest_share(flows) / LEAST_SLICE_BYTES)));
    return BANYAN_SUCCESS;
}

/* Replaces *schedule by the same one in slices. */
static banyan_status cut(banyan_schedule **schedule, int slices, banyan_error *err)
{
    banyan_schedule *sliced;
    banyan_status status =
        slices > 1 ? banyan_schedule_slice(*schedule, slices, &sliced, err) : BANYAN_SUCCESS;

    if (status || slices <= 1)
        return status;
    banyan_schedule_destroy(*schedule);
    *schedule = sliced;
    return BANYAN_SUCCESS;
}

/* One tree per rank, grown in turns: fewer hops and no two messages on a link at a time, at little or no loss
 * where the network is even. */
typedef struct {
    banyan_schedule *schedule;
    double rounds_s; /* by rounds, and the latency of the deepest tree */
    double walk_s;   /* with messages that leave as soon as they can */
} growth;

static banyan_status grow(const banyan_problem *problem, const char *order, growth *out, banyan_error *err)
{
    const banyan_parameter parameter = {"order", order};
    banyan_problem plain = *problem;
    growth grown = {NULL, 0, 0};
    banyan_status status;

    plain.parameters = &parameter;
    plain.parameter_count = 1;
    status = banyan_algorithm_multitree.build(&plain, &grown.schedule, err);
    if (!status)
        status = banyan_stages_seconds(grown.schedule, problem->topology, BANYAN_STAGE_IS_ROUND,
                                       (double)problem->bytes, 1, &grown.rounds_s, err);
    if (!status)
        status =
            banyan_stages_walk(grown.schedule, problem->topology, (double)problem->bytes, &grown.walk_s, err);
    if (status)
        banyan_schedule_destroy(grown.schedule);
    else
        *out = grown;
    return status;
}

/* The latency that rounds do not hide decides; where that is the same, fewer rounds, or a hop less. */
static int is_better(const growth *a, const growth *b)
{
    if (fabs(a->walk_s - b->walk_s) > LEAST_GAIN * b->walk_s)
        return a->walk_s < b->walk_s;
    return a->rounds_s < b->rounds_s * (1 - LEAST_GAIN);
}

/* On square tori trees of one shape take the fewest rounds and hide the most latency, but for short vectors.
 * Which order of neighbours is best elsewhere depends on the grid and on the size. Off grids all are the
 * same. */
static banyan_status grow_best(const banyan_problem *problem, growth *out, banyan_error *err)
{
    static const char *const orders[] = {"pinwheel", "split", "yx", "xy"};
    int first = problem->topology->grid.dimension_count > 0 ? 0 : 1;
    int count = problem->topology->grid.dimension_count > 0 ? 4 : 2;
    growth best = {NULL, 0, 0};
    banyan_status status = BANYAN_SUCCESS;

    for (int i = first; i < count && (!status || status == BANYAN_UNSUPPORTED); i++) {
        growth other;

        status = grow(problem, orders[i], &other, err);
        if (status)
            continue; /* no pinwheel here, at the most */
        if (!best.schedule || is_better(&other, &best)) {
            banyan_schedule_destroy(best.schedule);
            best = other;
        } else {
            banyan_schedule_destroy(other.schedule);
        }
    }
    if (status == BANYAN_UNSUPPORTED && best.schedule)
        status = BANYAN_SUCCESS;
    if (status) {
        banyan_schedule_destroy(best.schedule);
        return status;
    }
    *out = best;
    return BANYAN_SUCCESS;
}

/* With what messages cost ranks, as predictions have it (planner/planner.c); where these are not streamed,
 * rounds tell. */
static double with_messages(const banyan_problem *problem, const banyan_schedule *schedule, double network_s)
{
    banyan_message_walk walk;

    if (!problem->is_streamed)
        return network_s;
    walk = banyan_message_walk_of(schedule, problem->topology);
    return banyan_message_walk_time(&walk, network_s);
}

/* The time of packed trees. Slices of all trees share a link as they come, which levels tell; whole messages
 * wait for each other: they are walked. */
static banyan_status time_packed(const banyan_problem *problem, const banyan_schedule *schedule, int slices,
                                 double *seconds, banyan_error *err)
{
    double bytes = (double)problem->bytes;
    banyan_status status = slices > 1
                               ? banyan_stages_seconds(schedule, problem->topology, BANYAN_STAGE_IS_LEVEL,
                                                       bytes, slices, seconds, err)
                               : banyan_stages_walk(schedule, problem->topology, bytes, seconds, err);

    if (!status)
        *seconds = with_messages(problem, schedule, *seconds);
    return status;
}

static int count_sent_slices(const banyan_problem *problem, const banyan_flows *flows)
{
    return (int)fmin(
        INT_MAX, ceil((double)problem->bytes * banyan_flows_heaviest_share(flows) / BANYAN_FLOW_SLICE_BYTES));
}

/* Whether the flows reach what the narrowest of their hops lets through: behind a slow cable one tree may do
 * what they do together. */
static int is_held_by_a_hop(const banyan_flows *flows, const banyan_topology *topology, double bytes_per_s)
{
    double narrowest = find_narrowest(flows, topology, 0, flows->hop_count);

    return fabs(bytes_per_s - narrowest) <= LEAST_GAIN * narrowest;
}

/* Replaces trees by a single one where that is as fast: it needs no shares of links that have to be kept, and
 * the fewest messages. */
static banyan_status try_one_tree(const banyan_problem *problem, const banyan_forest_options *choice,
                                  banyan_flows *flows, banyan_schedule **schedule, banyan_error *err)
{
    banyan_forest_options one = *choice;
    banyan_flows tree;
    banyan_schedule *alone = NULL;
    double bytes_per_s, many_s = 0, one_s = 0;
    banyan_status status = banyan_flows_rate(flows, problem->topology, &bytes_per_s, err);

    if (status || flows->flow_count < 2 || !is_held_by_a_hop(flows, problem->topology, bytes_per_s))
        return status;
    one.max_trees = 1;
    banyan_flows_init(&tree);
    status = banyan_forest_pack(problem, &one, &tree, err);
    if (!status)
        status = banyan_flows_build(&tree, problem, &alone, err);
    if (!status)
        status = time_packed(problem, *schedule, count_sent_slices(problem, flows), &many_s, err);
    if (!status)
        status = time_packed(problem, alone, count_sent_slices(problem, &tree), &one_s, err);
    if (!status && one_s < (1 + CLOSE) * many_s) {
        banyan_flows other = *flows;
        banyan_schedule *kept = *schedule;

        *flows = tree;
        *schedule = alone;
        tree = other;
        alone = kept;
    }
    banyan_flows_fini(&tree);
    banyan_schedule_destroy(alone);
    return status;
}

/* Replaces *schedule by grown trees where these are faster at the problem's size, else by slices. */
static banyan_status suit_size(const banyan_problem *problem, const banyan_flows *flows,
                               banyan_schedule **schedule, banyan_error *err)
{
    const banyan_topology *topology = problem->topology;
    double packed_s = 0, grown_s = 0, bytes = (double)problem->bytes;
    int slices = count_sent_slices(problem, flows);
    int is_cut = !problem->is_streamed && flows->flow_count > 1 && is_on_cables(flows);
    growth grown = {NULL, 0, 0};
    banyan_status status = BANYAN_SUCCESS;

    if (is_cut)
        status = count_slices(flows, topology, (*schedule)->round_count, bytes, &slices, err);
    if (!status)
        status = time_packed(problem, *schedule, slices, &packed_s, err);
    if (!status)
        status = grow_best(problem, &grown, err);
    if (!status)
        grown_s = with_messages(problem, grown.schedule, slices > 1 ? grown.rounds_s : grown.walk_s);
    if (!status && (fabs(grown_s - packed_s) > CLOSE * packed_s
                        ? grown_s < packed_s
                        : grown.schedule->transfer_count <= (*schedule)->transfer_count * (size_t)slices)) {
        banyan_schedule_destroy(*schedule);
        *schedule = grown.schedule;
        return BANYAN_SUCCESS;
    }
    banyan_schedule_destroy(grown.schedule);
    return status || !is_cut ? status : cut(schedule, slices, err);
}

/* The longest way of a slice through its tree, of the time that everything takes, when each tree has that
 * many slices. */
static banyan_status filling_share(const banyan_flows *flows, const banyan_topology *topology, double *out,
                                   banyan_error *err)
{
    double bytes_per_s, total = 0;
    banyan_status status = banyan_flows_rate(flows, topology, &bytes_per_s, err);

    for (size_t f = 0; f < flows->flow_count; f++)
        total += flows->flows[f].weight;
    *out = 0;
    for (size_t f = 0; f < flows->flow_count && !status; f++) {
        const banyan_flow_tree *flow = &flows->flows[f];
        size_t end = flow->first_hop + (size_t)(flow->in_count + flow->out_count);
        double narrowest = find_narrowest(flows, topology, flow->first_hop, end);

        *out = fmax(*out, (2.0 * flow->depth - 1) * (flow->weight / total * bytes_per_s / narrowest) /
                              FILLING_SLICES);
    }
    return status;
}

/* Few heavy trees fill slowly: each twice, with half the weight, halves that and changes nothing else. A lone
 * tree is left as it is. */
static banyan_status fill_sooner(banyan_flows *flows, const banyan_topology *topology, int limit,
                                 banyan_error *err)
{
    double share = 0;
    banyan_status status = filling_share(flows, topology, &share, err);

    for (; !status && share > BANYAN_FOREST_FILLING && flows->flow_count > 1 &&
           flows->flow_count <= (size_t)limit / 2;
         share /= 2) {
        banyan_flows_halve(flows);
        if (flows->failed)
            status = banyan_fail_memory(err);
    }
    return status;
}

/* Whoever shapes the packing wants the packing; growing trees for very many ranks takes long; and what gives
 * no size, or a large one, is after the bandwidth. */
static int has_size(const banyan_problem *problem, tree_choice trees)
{
    int is_plain = problem->parameter_count == 0 ||
                   (problem->parameter_count == 1 && !strcmp(problem->parameters[0].key, "trees"));

    return trees == TREES_AUTO && is_plain && problem->bytes > 0 && !problem->is_size_open &&
           problem->bytes <= OPEN_BYTES && problem->active_count > 2 && problem->active_count <= MOST_GROWN;
}

/* Every rank's part of the vector has trees of its own. */
static banyan_status build_parts(const banyan_problem *problem, banyan_schedule **out, banyan_error *err)
{
    banyan_forest_options choice;
    banyan_flows flows;
    banyan_status status = banyan_forest_options_read(problem, &choice, err);

    if (status)
        return status;
    banyan_flows_init(&flows);
    status = banyan_forest_pack_parts(problem, choice.relays, &flows, err);
    if (!status)
        status = banyan_flows_build(&flows, problem, out, err);
    banyan_flows_fini(&flows);
    return status;
}

static banyan_status build(const banyan_problem *problem, banyan_schedule **out, banyan_error *err)
{
    banyan_forest_options choice;
    tree_choice trees = TREES_AUTO;
    growth grown = {NULL, 0, 0};
    banyan_flows flows;
    banyan_schedule *schedule = NULL;
    banyan_status status;

    *out = NULL;
    if (problem->collective != BANYAN_COLLECTIVE_ALLREDUCE)
        return build_parts(problem, out, err);
    status = banyan_forest_options_read(problem, &choice, err);
    if (!status)
        status = read_trees(problem, &trees, err);
    if (!status && trees == TREES_GROWN)
        status = grow_best(problem, &grown, err);
    if (status || trees == TREES_GROWN) {
        *out = grown.schedule;
        return status;
    }
    banyan_flows_init(&flows);
    status = banyan_forest_pack(problem, &choice, &flows, err);
    if (!status && !has_size(problem, trees))
        status = fill_sooner(&flows, problem->topology, choice.max_trees, err);
    if (!status)
        status = banyan_flows_build(&flows, problem, &schedule, err);
    if (!status && has_size(problem, trees) && problem->is_streamed)
        status = try_one_tree(problem, &choice, &flows, &schedule, err);
    if (!status && has_size(problem, trees))
        status = suit_size(problem, &flows, &schedule, err);
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
    .collectives = BANYAN_CAN(ALLREDUCE) | BANYAN_CAN(REDUCE_SCATTER) | BANYAN_CAN(ALLGATHER),
    .options = options,
    .variants = variants,
    .applies = applies,
    .build = build,
};
