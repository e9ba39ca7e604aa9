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
 * A shape may have fewer places than ranks, though not less than half: ranks too many then lean on a
 * neighbour (fold.h). That serves numbers that factor badly, such as primes.
 *
 * Paper: Y. Ueno, R. Yokota, Exhaustive Study of Hierarchical AllReduce Patterns for Large Messages Between
 * GPUs, 2019. */
#include "algorithms/fold.h"
#include "algorithms/layers.h"
#include "algorithms/order.h"
#include "core/alloc.h"

#define LARGE_BYTES 67108864.0

static banyan_status check_size(const banyan_problem *problem, const char *text, const banyan_layers *shape,
                                banyan_error *err)
{
    int size = banyan_layers_size(shape);

    if (size > problem->active_count || size < problem->active_count - problem->active_count / 2)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "shape %s has %d places, but %d ranks need from %d to %d of them", text, size,
                           problem->active_count, problem->active_count - problem->active_count / 2,
                           problem->active_count);
    return BANYAN_SUCCESS;
}

static banyan_status find_shape(const banyan_problem *problem, const int *nodes, banyan_layers *shape,
                                banyan_error *err)
{
    const char *text = banyan_problem_parameter(problem, "shape", NULL);
    banyan_status status;

    if (!text)
        return banyan_layers_search(problem->topology, nodes, problem->active_count,
                                    problem->bytes ? (double)problem->bytes : LARGE_BYTES, shape, err);
    status = banyan_layers_parse(text, "shape", shape, err);
    return status ? status : check_size(problem, text, shape, err);
}

/* Seats of the shape are the ranks that do not lean. Returns 0 when memory ran out. */
static int append(const banyan_problem *problem, banyan_builder *builder, const int *nodes,
                  const banyan_layers *shape)
{
    int size = banyan_layers_size(shape), round;
    banyan_fold fold = {nodes, problem->active_count, size, problem->active_count - size};
    int *seats = banyan_alloc((size_t)size, sizeof *seats);

    if (!seats)
        return 0;
    for (int seat = 0; seat < size; seat++)
        seats[seat] = banyan_fold_node(&fold, seat);
    round = banyan_fold_reduce_in(&fold, builder, 0, size);
    round = banyan_nested_all_reduce(builder, round, seats, shape);
    if (round >= 0)
        banyan_fold_copy_out(&fold, builder, round, size);
    banyan_free(seats);
    return round >= 0;
}

static banyan_status build(const banyan_problem *problem, banyan_schedule **out, banyan_error *err)
{
    banyan_builder builder;
    banyan_layers shape;
    int *nodes = NULL;
    banyan_status status = banyan_problem_order(problem, &nodes, err);

    if (status)
        return status;
    for (int i = 0; i < problem->active_count; i++)
        nodes[i] = problem->active[nodes[i]];
    status = find_shape(problem, nodes, &shape, err);
    if (!status)
        status =
            banyan_problem_check_transfers(problem, "hierarchical", banyan_layers_transfers(&shape), err);
    if (!status) {
        banyan_problem_begin(problem, &builder);
        banyan_builder_cut_evenly(&builder, banyan_layers_size(&shape));
        if (!append(problem, &builder, nodes, &shape))
            builder.status = banyan_fail_memory(&builder.err);
        status = banyan_builder_finish(&builder, out, err);
    }
    banyan_free(nodes);
    return status;
}

static const banyan_algorithm_option options[] = {
    {"shape", "AxBxC", "ring sizes from the nearest ranks outwards (default: the best of all)"},
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
    .collectives = BANYAN_CAN(ALLREDUCE),
    .options = options,
    .build = build,
};
