/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/parameter_server.c: everybody sends to one root, which adds up and sends back.
 *
 *     1  2  3  4            1  2  3  4
 *      \ |  | /      then    ^ ^  ^ ^
 *        v  v                 \|  |/
 *         0                     0
 *
 * Two rounds whatever p is, but all traffic passes the root's link.
 * Cost: 2 a + 2 (p-1) n b. */
#include "algorithms/algorithms.h"

/* Everybody but the root sends the pieces; for an all-gather only its own. */
static void send_to(const banyan_problem *problem, banyan_builder *builder, int root, int piece_count)
{
    for (int rank = 0; rank < problem->active_count; rank++) {
        if (rank == root)
            continue;
        if (problem->collective == BANYAN_COLLECTIVE_ALLGATHER)
            banyan_builder_copy(builder, 0, problem->active[rank], problem->active[root], rank, 1, 0);
        else
            banyan_builder_reduce(builder, 0, problem->active[rank], problem->active[root], 0, piece_count,
                                  0);
    }
}

static void copy_pieces(const banyan_problem *problem, banyan_builder *builder, int round, int root, int rank,
                        int first, int count)
{
    if (count > 0)
        banyan_builder_copy(builder, round, problem->active[root], problem->active[rank], first, count, 0);
}

/* The root answers: all pieces, only the rank's own, or all but its own. */
static void send_back(const banyan_problem *problem, banyan_builder *builder, int root, int piece_count)
{
    int round = problem->collective != BANYAN_COLLECTIVE_BROADCAST;

    for (int rank = 0; rank < problem->active_count; rank++) {
        if (rank == root)
            continue;
        switch (problem->collective) {
        case BANYAN_COLLECTIVE_REDUCE_SCATTER:
            copy_pieces(problem, builder, round, root, rank, rank, 1);
            break;
        case BANYAN_COLLECTIVE_ALLGATHER:
            copy_pieces(problem, builder, round, root, rank, 0, rank);
            copy_pieces(problem, builder, round, root, rank, rank + 1, piece_count - rank - 1);
            break;
        default:
            copy_pieces(problem, builder, round, root, rank, 0, piece_count);
        }
    }
}

static banyan_status build(const banyan_problem *problem, banyan_schedule **out, banyan_error *err)
{
    int has_root =
        problem->collective == BANYAN_COLLECTIVE_BROADCAST || problem->collective == BANYAN_COLLECTIVE_REDUCE;
    int is_cut = problem->collective == BANYAN_COLLECTIVE_REDUCE_SCATTER ||
                 problem->collective == BANYAN_COLLECTIVE_ALLGATHER;
    int piece_count = is_cut ? problem->active_count : 1, root = problem->root;
    banyan_builder builder;
    banyan_status status = BANYAN_SUCCESS;

    if (!has_root)
        status = banyan_problem_integer(problem, "root-rank", 0, 0, problem->active_count - 1, &root, err);
    if (status)
        return status;
    banyan_problem_begin(problem, &builder);
    banyan_builder_cut_evenly(&builder, piece_count);
    if (problem->collective != BANYAN_COLLECTIVE_BROADCAST)
        send_to(problem, &builder, root, piece_count);
    if (problem->collective != BANYAN_COLLECTIVE_REDUCE)
        send_back(problem, &builder, root, piece_count);
    return banyan_builder_finish(&builder, out, err);
}

static const banyan_algorithm_option options[] = {
    {"root-rank", "RANK", "the server, where the collective names no root (default 0)"},
    {NULL, NULL, NULL},
};

const banyan_algorithm banyan_algorithm_parameter_server = {
    .name = "parameter-server",
    .summary = "everybody sends to one root and gets the sum back: two rounds, all through one link",
    .paper = NULL,
    .cost = "2 a + 2 (p-1) n b",
    .collectives = BANYAN_CAN(ALLREDUCE) | BANYAN_CAN(REDUCE_SCATTER) | BANYAN_CAN(ALLGATHER) |
                   BANYAN_CAN(BROADCAST) | BANYAN_CAN(REDUCE),
    .options = options,
    .build = build,
};
