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
 * How the trees are found is in packed.h; here the choice for the size at hand. Packed trees pass slices on:
 * with D hops up and down and slices of s bytes, n / X + (D - 1) (a + s b). One tree a rank, grown in turns as
 * multitree grows them, takes its rounds, one whole message on a link in each, and the latency of a tree, up and
 * down. On even networks that is the faster of the two for vectors that are not huge. Where every hop is a cable,
 * packed trees are cut into slices here; behind switches whoever sends does that.
 *
 * Paper: Z. Zhang et al., Near-Optimal Topology-adaptive Parameter Synchronization in Distributed DNN Training,
 * INFOCOM 2021; gone past by packing both stages into one. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/flows.h"
#include "algorithms/packed.h"
#include "core/alloc.h"
#include "core/value.h"
#include "schedule/slice.h"

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

#define LARGE_BYTES 67108864.0         /* beyond it nothing is left of the rate for fewer hops */
#define OPEN_BYTES ((size_t)256 << 20) /* beyond it the size is left open */
#define SENT_BYTES 131072.0            /* what a sender cuts messages to by itself */
#define LEAST_SLICE_BYTES 8192.0       /* what we cut them to on cables */
#define QUEUEING 1.1                   /* slices of several trees queue up for a link */
enum { MOST_GROWN = 256, MOST_SLICES = 64, MOST_TRANSFERS = 65536 };

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

typedef struct {
    double busy_s;
    int round;
} busy_link;

/* The seconds of the fullest link of each round, one round after the other. INFINITY where a hop has no route of
 * its own: that is the packing's. */
static banyan_status round_seconds(const banyan_schedule *s, const banyan_topology *topology, double bytes,
                                   double *out, banyan_error *err)
{
    busy_link *links = banyan_alloc((size_t)topology->link_count, sizeof *links);
    double fullest_s = 0;

    if (!links)
        return banyan_fail_memory(err);
    *out = 0;
    for (size_t i = 0; i < s->transfer_count; i++) {
        const banyan_transfer *t = &s->transfers[i];
        double part = bytes * banyan_schedule_share(s, t->first_piece, t->piece_count);

        if (i > 0 && t->round != t[-1].round) {
            *out += fullest_s;
            fullest_s = 0;
        }
        if (t->route < 0)
            *out = INFINITY;
        for (int k = t->route < 0 ? 0 : s->route_first[t->route];
             k < (t->route < 0 ? 0 : s->route_first[t->route + 1]); k++) {
            busy_link *link = &links[s->route_link[k]];

            if (link->round != t->round + 1)
                *link = (busy_link){0, t->round + 1};
            link->busy_s += part / topology->links[s->route_link[k]].bytes_per_s;
            fullest_s = fmax(fullest_s, link->busy_s);
        }
    }
    *out += fullest_s;
    banyan_free(links);
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

/* What grown trees take: their rounds, and the way up and down a tree. */
static banyan_status grown_seconds(const banyan_schedule *s, const banyan_topology *topology, double bytes,
                                   double *out, banyan_error *err)
{
    double rounds_s = 0, tree_s = 0;
    banyan_status status = round_seconds(s, topology, bytes, &rounds_s, err);

    if (!status)
        status = tree_latency(s, topology, &tree_s, err);
    *out = rounds_s + 2 * tree_s;
    return status;
}

static int is_on_cables(const banyan_flows *flows)
{
    for (size_t i = 0; i < flows->hop_count; i++)
        if (flows->hops[i].link_count != 1)
            return 0;
    return 1;
}

/* The largest share of a tree. */
static double largest_share(const banyan_flows *flows)
{
    double largest = 0, total = 0;

    for (size_t f = 0; f < flows->flow_count; f++) {
        total += flows->flows[f].weight;
        largest = fmax(largest, flows->flows[f].weight);
    }
    return largest / total;
}

/* Into how many slices we cut. A lone tree, and trees behind switches, are left to whoever sends. */
static int slices_for(const banyan_flows *flows, double bytes)
{
    double most = fmin(MOST_SLICES, floor(MOST_TRANSFERS / (double)flows->hop_count));

    if (flows->flow_count < 2 || !is_on_cables(flows))
        return 1;
    return (int)fmax(1, fmin(most, ceil(bytes * largest_share(flows) / LEAST_SLICE_BYTES)));
}

/* What packed trees take when slices follow one another through them. */
static banyan_status packed_seconds(const banyan_flows *flows, const banyan_topology *topology, double bytes,
                                    double *out, banyan_error *err)
{
    double bytes_per_s, hop_s = 0, slice_bytes = bytes * largest_share(flows) / slices_for(flows, bytes);
    banyan_status status = banyan_flows_rate(flows, topology, &bytes_per_s, err);

    if (status)
        return status;
    slice_bytes = fmin(slice_bytes, SENT_BYTES);
    for (size_t i = 0; i < flows->hop_count; i++) {
        const banyan_hop *hop = &flows->hops[i];
        const int *links = flows->links + hop->first_link;
        double slice_s = 0;

        for (int k = 0; k < hop->link_count; k++)
            slice_s = fmax(slice_s, slice_bytes / topology->links[links[k]].bytes_per_s);
        hop_s = fmax(hop_s, slice_s + hop_seconds(topology, links, hop->link_count));
    }
    *out = (bytes <= LARGE_BYTES ? QUEUEING : 1) *
           (bytes / bytes_per_s + (2 * banyan_flows_depth(flows) - 1) * hop_s);
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

typedef struct {
    banyan_transfer transfer;
    int link; /* its first, or -1 for additions, which keep their order */
    size_t place;
} listed;

static int by_link(const void *a, const void *b)
{
    const listed *x = a, *y = b;

    if (x->transfer.round != y->transfer.round)
        return x->transfer.round - y->transfer.round;
    return x->link != y->link ? x->link - y->link : (x->place > y->place) - (x->place < y->place);
}

/* Lists a round's copies by cable. The interfaces of the flit engine hand what is ready to their ports one by
 * one: so a cable keeps its port, and does not wait behind what another port has buffered for it. */
static banyan_status list_by_cable(banyan_schedule *s, banyan_error *err)
{
    listed *list = banyan_alloc(s->transfer_count, sizeof *list);

    if (!list)
        return banyan_fail_memory(err);
    for (size_t i = 0; i < s->transfer_count; i++) {
        const banyan_transfer *t = &s->transfers[i];
        int is_free = t->action == BANYAN_ACTION_COPY && t->route >= 0;

        list[i] = (listed){*t, is_free ? s->route_link[s->route_first[t->route]] : -1, i};
    }
    qsort(list, s->transfer_count, sizeof *list, by_link);
    for (size_t i = 0; i < s->transfer_count; i++)
        s->transfers[i] = list[i].transfer;
    banyan_free(list);
    return BANYAN_SUCCESS;
}

static banyan_status grow(const banyan_problem *problem, const char *order, banyan_schedule **out,
                          double *seconds, banyan_error *err)
{
    const banyan_parameter parameter = {"order", order};
    banyan_problem plain = *problem;
    banyan_schedule *grown = NULL;
    banyan_status status;

    plain.parameters = &parameter;
    plain.parameter_count = 1;
    status = banyan_algorithm_multitree.build(&plain, &grown, err);
    if (!status)
        status = list_by_cable(grown, err);
    if (!status)
        status = grown_seconds(grown, problem->topology, (double)problem->bytes, seconds, err);
    if (status)
        banyan_schedule_destroy(grown);
    else
        *out = grown;
    return status;
}

/* One tree a rank, grown in turns: fewer hops and no two messages on a link at a time, at little or no loss
 * where the network is even. Which order of neighbours takes fewer rounds depends on the grid: split does on
 * 4x4 and 8x8 tori, the paper's on 16x16. */
static banyan_status grow_best(const banyan_problem *problem, banyan_schedule **out, double *seconds,
                               banyan_error *err)
{
    banyan_schedule *split = NULL, *yx = NULL;
    double split_s = INFINITY, yx_s = INFINITY;
    banyan_status status = grow(problem, "split", &split, &split_s, err);
    int is_yx;

    if (!status && problem->topology->grid.dimension_count > 0)
        status = grow(problem, "yx", &yx, &yx_s, err);
    is_yx = !status && yx && yx_s < split_s;
    banyan_schedule_destroy(is_yx || status ? split : yx);
    if (status)
        return status;
    *out = is_yx ? yx : split;
    *seconds = fmin(split_s, yx_s);
    return BANYAN_SUCCESS;
}

/* Replaces *schedule by grown trees where these are faster at the problem's size, else by slices. */
static banyan_status suit_size(const banyan_problem *problem, const banyan_flows *flows,
                               banyan_schedule **schedule, banyan_error *err)
{
    banyan_schedule *grown = NULL;
    double packed_s, grown_s = INFINITY, bytes = (double)problem->bytes;
    banyan_status status = packed_seconds(flows, problem->topology, bytes, &packed_s, err);

    if (!status)
        status = grow_best(problem, &grown, &grown_s, err);
    if (!status && grown_s <= packed_s) {
        banyan_schedule_destroy(*schedule);
        *schedule = grown;
        return BANYAN_SUCCESS;
    }
    banyan_schedule_destroy(grown);
    return status ? status : cut(schedule, slices_for(flows, bytes), err);
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

static banyan_status build(const banyan_problem *problem, banyan_schedule **out, banyan_error *err)
{
    banyan_packed_options choice;
    tree_choice trees = TREES_AUTO;
    double grown_s;
    banyan_flows flows;
    banyan_schedule *schedule = NULL;
    banyan_status status = banyan_packed_options_read(problem, &choice, err);

    *out = NULL;
    if (!status)
        status = read_trees(problem, &trees, err);
    if (status || trees == TREES_GROWN)
        return status ? status : grow_best(problem, out, &grown_s, err);
    banyan_flows_init(&flows);
    status = banyan_packed_find(problem, &choice, &flows, err);
    if (!status)
        status = banyan_flows_build(&flows, problem, &schedule, err);
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
    .collectives = BANYAN_CAN(ALLREDUCE),
    .options = options,
    .variants = variants,
    .applies = applies,
    .build = build,
};
