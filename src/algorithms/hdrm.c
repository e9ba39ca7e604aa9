/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/hdrm.c: halving-doubling with rank mapping, so that its swaps never collide on a BiGraph.
 *
 *     positions with an even number of ones sit on upper switches, the others on lower ones: every swap,
 *     which flips one bit, crosses from one layer to the other
 *
 *         u0     u1                  and the positions of one switch find their partners on as many different
 *         |  \ /  |                  switches opposite, whichever bit is flipped
 *         l0     l1
 *
 * For the second part, write a position's bits as sums d0, d1, ... of neighbouring bits. An upper switch
 * holds positions that differ only in the first few of them, a lower one positions that differ only in the
 * next few. Two positions of one upper switch then have partners that differ in the first few, hence sit on
 * different lower switches: where switches have no more workers than there are switches opposite, every cable
 * between switches is used at most once in a round. Cost: as halving-doubling, 2 log2(p) a + 2 (p-1)/p n b,
 * without contention.
 *
 * Paper: J. Dong et al., EFLOPS: Algorithm and System Co-design for a High Performance Distributed Training
 * Platform, 2020. */
#include "algorithms/algorithms.h"
#include "algorithms/halving.h"
#include "core/alloc.h"

typedef struct {
    int *home;  /* switch of each rank */
    int *layer; /* node -> 0 not seen, 1 upper, 2 lower */
    int *index; /* of a switch in its layer */
    int switches_each, workers_each;
} bigraph;

static void bigraph_fini(bigraph *b)
{
    banyan_free(b->home);
    banyan_free(b->layer);
    banyan_free(b->index);
}

static banyan_status no_bigraph(const banyan_problem *problem, const char *why, banyan_error *err)
{
    return banyan_fail(err, BANYAN_UNSUPPORTED, "hdrm needs a BiGraph with all workers active, but on %s %s",
                       problem->topology->name, why);
}

/* Every rank is attached to one switch, by which switches get their turn; the first one is an upper one. */
static banyan_status find_homes(const banyan_problem *problem, bigraph *b, banyan_error *err)
{
    const banyan_topology *topology = problem->topology;

    for (int rank = 0; rank < problem->active_count; rank++) {
        int node = problem->active[rank], first = topology->out_first[node];

        if (topology->out_first[node + 1] - first != 1)
            return no_bigraph(problem, "a worker has more than one link", err);
        b->home[rank] = topology->links[topology->out_link[first]].dst;
        if (topology->nodes[b->home[rank]].kind != BANYAN_NODE_SWITCH)
            return no_bigraph(problem, "workers are joined to workers", err);
    }
    b->layer[b->home[0]] = 1;
    return BANYAN_SUCCESS;
}

/* Neighbours of an upper switch are lower ones and the other way round, until all have their layer. */
static banyan_status find_layers(const banyan_problem *problem, bigraph *b, banyan_error *err)
{
    const banyan_topology *topology = problem->topology;
    int changed = 1;

    while (changed) {
        changed = 0;
        for (int i = 0; i < topology->link_count; i++) {
            int src = topology->links[i].src, dst = topology->links[i].dst;

            if (topology->nodes[dst].kind == BANYAN_NODE_WORKER || !b->layer[src] ||
                topology->nodes[src].kind == BANYAN_NODE_WORKER)
                continue;
            if (b->layer[dst] == b->layer[src])
                return no_bigraph(problem, "switches are not in two layers", err);
            changed |= !b->layer[dst];
            b->layer[dst] = 3 - b->layer[src];
        }
    }
    return BANYAN_SUCCESS;
}

static int is_power_of_two(int n)
{
    return n > 0 && (n & (n - 1)) == 0;
}

/* Both layers equal, each switch with the same workers and joined to all opposite, numbers powers of two. */
static banyan_status check_shape(const banyan_problem *problem, bigraph *b, banyan_error *err)
{
    const banyan_topology *topology = problem->topology;
    int count[3] = {0, 0, 0};

    for (int node = 0; node < topology->node_count; node++)
        if (topology->nodes[node].kind == BANYAN_NODE_SWITCH)
            b->index[node] = count[b->layer[node]]++;
    if (count[0] || count[1] != count[2])
        return no_bigraph(problem, "there are not two layers of as many switches each", err);
    b->switches_each = count[1];
    b->workers_each = problem->active_count / (2 * count[1]);
    if (!is_power_of_two(b->switches_each) || !is_power_of_two(b->workers_each) ||
        2 * b->switches_each * b->workers_each != problem->active_count)
        return no_bigraph(problem, "switches or workers on each are no power of two", err);
    for (int upper = 0; upper < topology->node_count; upper++) {
        int workers = 0;

        for (int rank = 0; rank < problem->active_count; rank++)
            workers += b->home[rank] == upper;
        if (topology->nodes[upper].kind == BANYAN_NODE_WORKER)
            continue;
        if (workers != b->workers_each)
            return no_bigraph(problem, "switches have different numbers of workers", err);
        for (int lower = 0; lower < topology->node_count; lower++)
            if (topology->nodes[lower].kind == BANYAN_NODE_SWITCH && b->layer[lower] != b->layer[upper] &&
                banyan_topology_find_link(topology, upper, lower) < 0)
                return no_bigraph(problem, "a switch is not joined to all opposite", err);
    }
    return BANYAN_SUCCESS;
}

static banyan_status bigraph_init(bigraph *b, const banyan_problem *problem, banyan_error *err)
{
    size_t nodes = (size_t)problem->topology->node_count;
    banyan_status status;

    b->home = banyan_alloc((size_t)problem->active_count, sizeof *b->home);
    b->layer = banyan_alloc(nodes, sizeof *b->layer);
    b->index = banyan_alloc(nodes, sizeof *b->index);
    if (!b->home || !b->layer || !b->index)
        return banyan_fail_memory(err);
    if (problem->active_count != problem->topology->worker_count)
        return no_bigraph(problem, "some are idle", err);
    status = find_homes(problem, b, err);
    if (!status)
        status = find_layers(problem, b, err);
    return status ? status : check_shape(problem, b, err);
}

static int log2_of(int n)
{
    int bits = 0;

    while (1 << bits < n)
        bits++;
    return bits;
}

/* Bits low .. low + count - 1 of a number. */
static int bits_of(int number, int low, int count)
{
    return number >> low & ((1 << count) - 1);
}

/* Where a position sits: layer, switch of the layer, place at the switch. */
static void find_position(const bigraph *b, int position, int bits, int *layer, int *index, int *place)
{
    int slots = log2_of(b->workers_each), sums = 0, ones = 0, low;

    for (int i = 0; i < bits; i++)
        ones ^= position >> i & 1;
    position ^= ones; /* an even number of ones, so the last sum is 0 */
    for (int i = 0, sum = 0; i < bits - 1; i++) {
        sum ^= position >> i & 1;
        sums |= sum << i;
    }
    low = ones == 0 ? 0 : slots;
    if (low + slots > bits - 1)
        low = bits - 1 - slots; /* more workers on a switch than switches opposite: some partners share one */
    *layer = 1 + ones;
    *place = bits_of(sums, low, slots);
    *index = bits_of(sums, 0, low) | bits_of(sums, low + slots, bits - 1 - slots - low) << low;
}

/* The rank at a place of a switch: ranks of a switch in their order. */
static int rank_at(const banyan_problem *problem, const bigraph *b, int layer, int index, int place)
{
    int rank = 0;

    for (;; rank++)
        if (b->layer[b->home[rank]] == layer && b->index[b->home[rank]] == index && place-- == 0)
            break;
    return problem->active[rank];
}

static banyan_status applies(const banyan_problem *problem, banyan_error *err)
{
    bigraph b = {0};
    banyan_status status = bigraph_init(&b, problem, err);

    bigraph_fini(&b);
    return status;
}

static banyan_status build(const banyan_problem *problem, banyan_schedule **out, banyan_error *err)
{
    int count = problem->active_count, bits = log2_of(count), layer, index, place;
    int *node = banyan_alloc((size_t)count, sizeof *node);
    int *begin = banyan_alloc((size_t)count + 1, sizeof *begin);
    banyan_builder builder;
    bigraph b = {0};
    banyan_status status = node && begin ? bigraph_init(&b, problem, err) : banyan_fail_memory(err);

    if (!status) {
        banyan_halving halving = {&builder, node, begin, bits, 1};

        for (int position = 0; position <= count; position++) {
            begin[position] = position;
            if (position < count) {
                find_position(&b, position, bits, &layer, &index, &place);
                node[position] = rank_at(problem, &b, layer, index, place);
            }
        }
        banyan_problem_begin(problem, &builder);
        banyan_builder_cut_evenly(&builder, count);
        banyan_halving_all_gather(&halving, banyan_halving_reduce_scatter(&halving, 0));
        status = banyan_builder_finish(&builder, out, err);
    }
    bigraph_fini(&b);
    banyan_free(node);
    banyan_free(begin);
    return status;
}

const banyan_algorithm banyan_algorithm_hdrm = {
    .name = "hdrm",
    .summary = "halving-doubling on a BiGraph, with ranks placed so that swaps never share a cable",
    .paper =
        "Dong et al.: EFLOPS: Algorithm and System Co-design for a High Performance Distributed Training "
        "Platform, 2020",
    .cost = "2 log2(p) a + 2 (p-1)/p n b",
    .collectives = BANYAN_CAN(ALLREDUCE),
    .applies = applies,
    .build = build,
};
