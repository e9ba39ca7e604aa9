/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/parameter_servers.c: several ranks are servers at once, each for its share of the vector.
 *
 *     server s for share s:   1 -s-> s <-s- 2      then      1 <-s- s -s-> 2
 *
 * All workers send all shares in one round and get all sums in the next, so the network must bear p-1
 * flows into each server at a time; `direct` is the same in turns. By default every rank serves, and cost
 * is 2 a + 2 (p-1)/p n b where each rank has a port to the full network; with k servers 2 a + 2 (p-1)/k n
 * b. Two ranks without a link between them that are two links apart go by the worker between them that
 * leaves the fuller of its two links least to do: default routes would meet on some links while others are
 * idle.
 *
 * Paper: M. Li et al., Scaling Distributed Machine Learning with the Parameter Server, 2014. */
#include <math.h>
#include <string.h>

#include "algorithms/algorithms.h"
#include "core/alloc.h"

typedef struct {
    const banyan_problem *problem;
    banyan_builder *builder;
    int server_count;
    double *busy_s;  /* by link, in this round, for one byte a share */
    int *first_link; /* by rank and turn: of the way by another worker, plus one; 0: none */
} service;

#define PASSES 3 /* in which every pair chooses its way, knowing those of all others from the second on */

/* Servers are spread evenly over the ranks; all of them where there is one per rank. */
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

static void use(const service *s, int link, int times)
{
    s->busy_s[link] += times / s->problem->topology->links[link].bytes_per_s;
}

static int second_link(const service *s, int first, int dst)
{
    return banyan_topology_find_link(s->problem->topology, s->problem->topology->links[first].dst, dst);
}

/* The first link of the way by the worker between that is least busy, plus one; 0: there is none. */
static int find_way(const service *s, int src, int dst)
{
    const banyan_topology *topology = s->problem->topology;
    double least = HUGE_VAL;
    int best = 0;

    for (int i = topology->out_first[src]; i < topology->out_first[src + 1]; i++) {
        int first = topology->out_link[i], second = -1;
        double busy;

        if (topology->nodes[topology->links[first].dst].kind == BANYAN_NODE_WORKER) /* switches have many */
            second = second_link(s, first, dst);
        if (second < 0)
            continue;
        busy = fmax(s->busy_s[first] + 1 / topology->links[first].bytes_per_s,
                    s->busy_s[second] + 1 / topology->links[second].bytes_per_s);
        if (busy < least) {
            least = busy;
            best = first + 1;
        }
    }
    return best;
}

static void choose_way(const service *s, int *way, int src, int dst, int pass)
{
    int direct = banyan_topology_find_link(s->problem->topology, src, dst);

    if (direct >= 0 && pass == 0)
        use(s, direct, 1);
    if (direct >= 0 || pass == 0)
        return;
    if (*way) {
        use(s, *way - 1, -1);
        use(s, second_link(s, *way - 1, dst), -1);
    }
    *way = find_way(s, src, dst);
    if (*way) {
        use(s, *way - 1, 1);
        use(s, second_link(s, *way - 1, dst), 1);
    }
}

static void send(const service *s, int way, int round, int src, int dst, int share, banyan_action action)
{
    int links[2] = {way - 1, way ? second_link(s, way - 1, dst) : -1};

    banyan_builder_add(s->builder,
                       (banyan_transfer){.round = round,
                                         .src = src,
                                         .dst = dst,
                                         .first_piece = share,
                                         .piece_count = 1,
                                         .action = action,
                                         .flow = share,
                                         .route = way ? banyan_builder_add_route(s->builder, links, 2) : -1});
}

/* All shares to their servers, or back. Direct links count first, then ways are chosen, then all is sent. */
static void exchange(const service *s, int round, banyan_action action)
{
    const int *active = s->problem->active, ranks = s->problem->active_count;

    memset(s->busy_s, 0, (size_t)s->problem->topology->link_count * sizeof *s->busy_s);
    memset(s->first_link, 0, (size_t)ranks * (size_t)s->server_count * sizeof *s->first_link);
    for (int pass = 0; pass <= PASSES + 1; pass++)
        for (int turn = 0; turn < s->server_count; turn++)
            for (int rank = 0; rank < ranks; rank++) {
                int share = share_in_turn(s, rank, turn), server = server_rank(s, share);
                int is_back = action == BANYAN_ACTION_COPY;
                int src = active[is_back ? server : rank], dst = active[is_back ? rank : server];
                int *way = &s->first_link[(size_t)turn * (size_t)ranks + (size_t)rank];

                if (rank == server)
                    continue;
                if (pass <= PASSES)
                    choose_way(s, way, src, dst, pass);
                else
                    send(s, *way, round, src, dst, share, action);
            }
}

static banyan_status build(const banyan_problem *problem, banyan_schedule **out, banyan_error *err)
{
    banyan_builder builder;
    service s = {problem, &builder, 0, NULL, NULL};
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
    s.busy_s = banyan_alloc((size_t)problem->topology->link_count, sizeof *s.busy_s);
    s.first_link = banyan_alloc((size_t)s.server_count * (size_t)problem->active_count, sizeof *s.first_link);
    if (!s.busy_s || !s.first_link) {
        banyan_free(s.busy_s);
        banyan_free(s.first_link);
        return banyan_fail_memory(err);
    }
    banyan_problem_begin(problem, &builder);
    banyan_builder_cut_evenly(&builder, s.server_count);
    if (problem->collective != BANYAN_COLLECTIVE_ALLGATHER)
        exchange(&s, 0, BANYAN_ACTION_REDUCE);
    if (problem->collective != BANYAN_COLLECTIVE_REDUCE_SCATTER)
        exchange(&s, problem->collective != BANYAN_COLLECTIVE_ALLGATHER, BANYAN_ACTION_COPY);
    banyan_free(s.busy_s);
    banyan_free(s.first_link);
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
