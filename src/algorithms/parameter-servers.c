/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/parameter-servers.c: several ranks are servers at once, each for its share of the vector.
 *
 *     server s for share s:   1 -s-> s <-s- 2      then      1 <-s- s -s-> 2
 *
 * All workers send all shares in one round and get all sums in the next, so the network must bear p-1 flows
 * into each server at a time; `direct` is the same in turns. By default every rank serves, and cost is 2 a +
 * 2 (p-1)/p n b where each rank has a port to the full network; with k servers 2 a + 2 (p-1)/k n b.
 *
 * Paper: M. Li et al., Scaling Distributed Machine Learning with the Parameter Server, 2014. */
#include "algorithms/algorithms.h"

typedef struct {
    const banyan_problem *problem;
    banyan_builder *builder;
    int server_count;
} service;

/* Servers are spread evenly over the ranks; all of them where there is one a rank. */
static int server_rank(const service *s, int share)
{
    return (int)((long)share * s->problem->active_count / s->server_count);
}

/* The share that a rank deals with in its turn: everybody begins with another one, so that no server is the
 * first of all. */
static int share_in_turn(const service *s, int rank, int turn)
{
    int first = (int)((long)rank * s->server_count / s->problem->active_count);

    return (first + turn) % s->server_count;
}

static void push(const service *s)
{
    const int *active = s->problem->active;

    for (int turn = 0; turn < s->server_count; turn++)
        for (int rank = 0; rank < s->problem->active_count; rank++) {
            int share = share_in_turn(s, rank, turn), server = server_rank(s, share);

            if (rank != server)
                banyan_builder_reduce(s->builder, 0, active[rank], active[server], share, 1, share);
        }
}

static void pull(const service *s, int round)
{
    const int *active = s->problem->active;

    for (int turn = 0; turn < s->server_count; turn++)
        for (int rank = 0; rank < s->problem->active_count; rank++) {
            int share = share_in_turn(s, rank, turn), server = server_rank(s, share);

            if (rank != server)
                banyan_builder_copy(s->builder, round, active[server], active[rank], share, 1, share);
        }
}

static banyan_status build(const banyan_problem *problem, banyan_schedule **out, banyan_error *err)
{
    banyan_builder builder;
    service s = {problem, &builder, 0};
    banyan_status status = banyan_problem_integer(problem, "servers", problem->active_count, 1,
                                                  problem->active_count, &s.server_count, err);

    if (!status && problem->collective != BANYAN_COLLECTIVE_ALLREDUCE &&
        s.server_count != problem->active_count)
        status = banyan_fail(err, BANYAN_INVALID_ARGUMENT, "option 'servers' is for allreduce, not for %s",
                             banyan_collective_name(problem->collective));
    if (!status)
        status = banyan_problem_check_transfers(problem, "parameter-servers",
                                                2.0 * s.server_count * problem->active_count, err);
    if (status)
        return status;
    banyan_problem_begin(problem, &builder);
    banyan_builder_cut_evenly(&builder, s.server_count);
    if (problem->collective != BANYAN_COLLECTIVE_ALLGATHER)
        push(&s);
    if (problem->collective != BANYAN_COLLECTIVE_REDUCE_SCATTER)
        pull(&s, problem->collective != BANYAN_COLLECTIVE_ALLGATHER);
    return banyan_builder_finish(&builder, out, err);
}

static const banyan_algorithm_option options[] = {
    {"servers", "N", "how many ranks serve an all-reduce, spread evenly (default: all)"},
    {NULL, NULL, NULL},
};

const banyan_algorithm banyan_algorithm_parameter_servers = {
    .name = "parameter-servers",
    .summary = "every rank is the server of its share: two rounds, everybody to everybody at once",
    .paper = "Li et al.: Scaling Distributed Machine Learning with the Parameter Server, 2014",
    .cost = "2 a + 2 (p-1)/p n b",
    .collectives = BANYAN_CAN(ALLREDUCE) | BANYAN_CAN(REDUCE_SCATTER) | BANYAN_CAN(ALLGATHER),
    .options = options,
    .build = build,
};
