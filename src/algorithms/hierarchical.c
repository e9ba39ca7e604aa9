/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/hierarchical.c: rings within rings, for any ordered factorisation of the ranks.
 *
 *     4x8x4, 128 ranks:   rings of 4 GPUs, one in each node
 *                     ->  rings of 8 nodes, one for each quarter of the vector
 *                     ->  rings of 4 such groups, one for each of 32 parts  ->  and back, gathering
 *
 * One layer of p is the ring, layers of 2 are Rabenseifner's algorithm, and all between is open: longer rings
 * use the fast links, more layers save rounds. Cost: 2 (sum pi - h) a + 2 n sum bi (pi - 1) / (p1 ... pi), bi
 * the layer's seconds per byte. Without the option `shape` the best of all shapes is searched with the
 * network's own links (layers.c).
 *
 * Rings may run both ways round with half of the vector each, which pays where workers have several links.
 *
 * A shape may have fewer places than ranks, though not less than half: ranks too many then lean on a
 * neighbour (fold.h). That serves numbers that factor badly, such as primes. Reduce-scatter and all-gather,
 * the two halves, have a place for each rank.
 *
 * Paper: Y. Ueno, R. Yokota, Exhaustive Study of Hierarchical AllReduce Patterns for Large Messages Between
 * GPUs, 2019. */
#include <math.h>

#include "algorithms/fold.h"
#include "algorithms/layers.h"
#include "algorithms/order.h"
#include "core/alloc.h"

#define LARGE_BYTES 67108864.0

static banyan_status check_size(const banyan_problem *problem, const char *text, const banyan_layers *shape,
                                banyan_error *err)
{
    int size = banyan_layers_size(shape);

    if (problem->collective != BANYAN_COLLECTIVE_ALLREDUCE && size != problem->active_count)
        return banyan_fail(
            err, BANYAN_INVALID_ARGUMENT, "shape %s has %d places, but a %s of %d ranks needs %d", text, size,
            banyan_collective_name(problem->collective), problem->active_count, problem->active_count);
    if (size > problem->active_count || size < problem->active_count - problem->active_count / 2)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "shape %s has %d places, but %d ranks need from %d to %d of them", text, size,
                           problem->active_count, problem->active_count - problem->active_count / 2,
                           problem->active_count);
    return BANYAN_SUCCESS;
}

/* Half of the ranks are the fewest places: each of their pieces moves to all other places and back, and to
 * the ranks that lean. A search among shapes takes long where none of them may be used. */
static banyan_status check_moves(const banyan_problem *problem, banyan_error *err)
{
    double ranks = problem->active_count, places = problem->active_count - problem->active_count / 2;
    double pieces = problem->collective == BANYAN_COLLECTIVE_ALLREDUCE ? places : ranks;

    return banyan_problem_check_moves(problem, "hierarchical", pieces * (ranks - 1), err);
}

typedef struct {
    banyan_layers shape;
    int ways; /* in which every ring runs */
} choice;

static banyan_status find_shape(const banyan_problem *problem, const int *nodes, double bytes, choice *found,
                                banyan_error *err)
{
    const char *text = banyan_problem_parameter(problem, "shape", NULL);
    banyan_status status;

    if (!text)
        return banyan_layers_search(problem->topology, nodes, problem->active_count, found->ways, bytes,
                                    &found->shape, err);
    status = banyan_layers_parse(text, "shape", &found->shape, err);
    return status ? status : check_size(problem, text, &found->shape, err);
}

/* The best shape for one way and for both ways, and which of the two is faster. */
static banyan_status choose(const banyan_problem *problem, const int *nodes, choice *out, banyan_error *err)
{
    double bytes = problem->bytes ? (double)problem->bytes : LARGE_BYTES, best_s = HUGE_VAL;
    int wanted = 0;
    banyan_status status = banyan_problem_integer(problem, "ways", 0, 1, 2, &wanted, err);

    for (int ways = 1; !status && ways <= 2; ways++) {
        choice found = {.ways = ways};
        double seconds = 0;

        if (wanted && wanted != ways)
            continue;
        status = find_shape(problem, nodes, bytes, &found, err);
        if (!status)
            status = banyan_layers_time(problem->topology, nodes, &found.shape, ways, bytes, &seconds, err);
        if (!status && seconds < best_s * (1 - 1e-9)) {
            best_s = seconds;
            *out = found;
        }
    }
    return status;
}

/* All-reduce. Positions of the shape are the ranks that do not lean. Returns 0 when memory ran out. */
static int append(const banyan_problem *problem, banyan_builder *builder, const int *nodes,
                  const choice *chosen)
{
    int size = banyan_layers_size(&chosen->shape), pieces = size * chosen->ways, round;
    banyan_fold fold = {nodes, problem->active_count, size, problem->active_count - size};
    int *positions = banyan_alloc((size_t)size, sizeof *positions);

    if (!positions)
        return 0;
    for (int position = 0; position < size; position++)
        positions[position] = banyan_fold_node(&fold, position);
    round = banyan_fold_reduce_in(&fold, builder, 0, pieces);
    round = banyan_nested_all_reduce(builder, round, positions, &chosen->shape, chosen->ways);
    if (round >= 0)
        banyan_fold_copy_out(&fold, builder, round, pieces);
    banyan_free(positions);
    return round >= 0;
}

/* The schedule in this order of ranks, nodes[i] being that of order[i]. */
static banyan_status build_in_order(const banyan_problem *problem, const int *order, const int *nodes,
                                    banyan_schedule **out, banyan_error *err)
{
    banyan_builder builder;
    choice chosen = {.ways = 1};
    banyan_status status = choose(problem, nodes, &chosen, err);

    if (!status)
        status = banyan_problem_check_transfers(
            problem, "hierarchical",
            chosen.ways * banyan_layers_transfers(&chosen.shape, problem->collective), err);
    if (status)
        return status;
    banyan_problem_begin(problem, &builder);
    banyan_builder_cut_evenly(&builder, chosen.ways * banyan_layers_size(&chosen.shape));
    if (problem->collective != BANYAN_COLLECTIVE_ALLREDUCE)
        banyan_nested_append(&builder, 0, nodes, order, &chosen.shape, chosen.ways, problem->collective);
    else if (!append(problem, &builder, nodes, &chosen))
        builder.status = banyan_fail_memory(&builder.err);
    return banyan_builder_finish(&builder, out, err);
}

static banyan_status build(const banyan_problem *problem, banyan_schedule **out, banyan_error *err)
{
    int *order = NULL, *nodes;
    banyan_status status = check_moves(problem, err);

    if (!status)
        status = banyan_problem_order(problem, &order, err);
    if (status)
        return status;
    nodes = banyan_alloc((size_t)problem->active_count, sizeof *nodes);
    for (int i = 0; nodes && i < problem->active_count; i++)
        nodes[i] = problem->active[order[i]];
    status = nodes ? build_in_order(problem, order, nodes, out, err) : banyan_fail_memory(err);
    banyan_free(nodes);
    banyan_free(order);
    return status;
}

static const banyan_algorithm_option options[] = {
    {"shape", "AxBxC", "ring sizes from the nearest ranks outwards (default: the best of all)"},
    {"ways", "1|2", "rings run one way, or both with half of the vector each (default: what is faster)"},
    BANYAN_ORDER_OPTION,
    {NULL, NULL, NULL},
};

const banyan_algorithm banyan_algorithm_hierarchical = {
    .name = "hierarchical",
    .summary = "rings within rings in any shape such as 4x8x4, from one ring to halving-doubling",
    .paper =
        "Ueno, Yokota: Exhaustive Study of Hierarchical AllReduce Patterns for Large Messages Between GPUs, "
        "2019",
    .cost = "2 (sum pi - h) a + 2 n sum bi (pi-1)/(p1...pi)",
    .collectives = BANYAN_CAN(ALLREDUCE) | BANYAN_CAN(REDUCE_SCATTER) | BANYAN_CAN(ALLGATHER),
    .options = options,
    .build = build,
};
