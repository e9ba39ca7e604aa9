/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/swing.c: halving-doubling on tori whose partners swing to and fro instead of leaping ever
 * farther.
 *
 *     ring of 8, rank 0 swaps with    +1, then -1, then +3       (odd ranks the other way)
 *     where halving-doubling has      +1, then +2, then +4
 *
 * In step s the partner is |1 - (-2)^(s+1)| / 3 away: 1, 1, 3, 5, 11, ..., to alternate sides, a third less
 * far than 2^s in the long run; so swaps share links less. On d dimensions steps take turns among them. There
 * are 2d flows with 1/2d of the vector each, which begin with different dimensions and to different sides, so
 * that all links of a worker are used in every step. Cost: 2 log2(p) a + (p-1)/(d p) n b times the
 * congestion, 1.2 on two dimensions and less on more.
 *
 * What a rank sends in a step is all that its partner can still pass on. Pieces are numbered along the same
 * recursion, so that this is one interval of them in nearly all cases.
 *
 * Paper: D. De Sensi, T. Bonato, D. Saam, T. Hoefler, Swing: Short-cutting Rings for Higher Bandwidth
 * Allreduce, 2024. */

#include "algorithms/algorithms.h"
#include "core/alloc.h"
#include "core/sort.h"

#define MAX_STEPS 30

typedef struct {
    const banyan_problem *problem;
    banyan_builder *builder;
    int extent[BANYAN_MAX_DIMENSIONS], stride[BANYAN_MAX_DIMENSIONS];
    int dimension_count, step_count;
    int step_dimension[MAX_STEPS], step_distance[MAX_STEPS]; /* of the current flow */
    int *label;                                              /* worker -> piece within the flow */
    int *reach;                                              /* what a send is made of */
} swing;

static int log2_of(int n)
{
    int bits = 0;

    while (1 << bits < n)
        bits++;
    return bits;
}

/* 1, -1, 3, -5, 11, ...: the sum of the first powers of -2. */
static int swing_distance(int step)
{
    int power = 1, sum = 0;

    for (int i = 0; i <= step; i++, power *= -2)
        sum += power;
    return sum;
}

/* Dimensions in turn from the flow's own; those that are done stand back. */
static void find_steps(swing *w, int flow)
{
    int done[BANYAN_MAX_DIMENSIONS] = {0}, d = flow / 2, side = flow % 2 ? -1 : 1;

    for (int step = 0; step < w->step_count; d = (d + 1) % w->dimension_count)
        if (done[d] < log2_of(w->extent[d])) {
            w->step_dimension[step] = d;
            w->step_distance[step++] = side * swing_distance(done[d]++);
        }
}

/* Even coordinates go forward, odd ones back, so that partners choose one another. */
static int partner(const swing *w, int worker, int step)
{
    int d = w->step_dimension[step], at = worker / w->stride[d] % w->extent[d];
    int to = at + (at % 2 ? -1 : 1) * w->step_distance[step];

    to = (to % w->extent[d] + w->extent[d]) % w->extent[d];
    return worker + (to - at) * w->stride[d];
}

/* Labels of all workers that a worker's data still reaches from a step on. */
static int find_reach(const swing *w, int worker, int step, int *reach)
{
    int count;

    if (step == w->step_count) {
        reach[0] = w->label[worker];
        return 1;
    }
    count = find_reach(w, worker, step + 1, reach);
    return count + find_reach(w, partner(w, worker, step), step + 1, reach + count);
}

static int number_pieces(swing *w, int worker, int step, int next)
{
    if (step == w->step_count) {
        w->label[worker] = next;
        return next + 1;
    }
    next = number_pieces(w, worker, step + 1, next);
    return number_pieces(w, partner(w, worker, step), step + 1, next);
}

/* Sends what one worker's data reaches after a step, in runs of consecutive pieces. */
static void send_reach(const swing *w, banyan_action action, int round, int src, int dst, int owner, int step,
                       int flow)
{
    const int *node = w->problem->topology->workers;
    int count = find_reach(w, owner, step + 1, w->reach), base = flow * w->problem->active_count;

    banyan_sort_ints(w->reach, (size_t)count);
    for (int i = 0, run; i < count; i += run) {
        for (run = 1; i + run < count && w->reach[i + run] == w->reach[i] + run;)
            run++;
        banyan_builder_add(w->builder, (banyan_transfer){round, node[src], node[dst], base + w->reach[i], run,
                                                         action, flow, -1});
    }
}

static void append_flow(swing *w, int flow)
{
    int last = 2 * w->step_count - 1;

    find_steps(w, flow);
    number_pieces(w, 0, 0, 0);
    for (int step = 0; step < w->step_count; step++)
        for (int worker = 0; worker < w->problem->active_count && !w->builder->status; worker++) {
            int other = partner(w, worker, step);

            send_reach(w, BANYAN_ACTION_REDUCE, step, worker, other, other, step, flow);
            send_reach(w, BANYAN_ACTION_COPY, last - step, worker, other, worker, step, flow);
        }
}

static banyan_status applies(const banyan_problem *problem, banyan_error *err)
{
    const banyan_topology *topology = problem->topology;
    const banyan_grid *grid = &topology->grid;

    if (grid->dimension_count == 0)
        return banyan_fail(err, BANYAN_UNSUPPORTED, "swing needs a torus; %s is not one", topology->name);
    for (int d = 0; d < grid->dimension_count; d++)
        if ((grid->extent[d] & (grid->extent[d] - 1)) || (grid->extent[d] > 2 && !grid->wraps[d]))
            return banyan_fail(
                err, BANYAN_UNSUPPORTED,
                "swing needs a torus with powers of two for extents, but dimension %d of %s has "
                "%d%s",
                d, topology->name, grid->extent[d],
                grid->extent[d] > 2 && !grid->wraps[d] ? " and does not wrap" : "");
    if (problem->active_count != topology->worker_count)
        return banyan_fail(err, BANYAN_UNSUPPORTED,
                           "swing needs every worker of the torus, but only %d of %d are active",
                           problem->active_count, topology->worker_count);
    return BANYAN_SUCCESS;
}

static void find_dimensions(swing *w)
{
    const banyan_grid *grid = &w->problem->topology->grid;

    for (int d = grid->dimension_count - 1, stride = 1; d >= 0; stride *= grid->extent[d--])
        if (grid->extent[d] > 1) {
            w->extent[w->dimension_count] = grid->extent[d];
            w->stride[w->dimension_count++] = stride;
            w->step_count += log2_of(grid->extent[d]);
        }
}

static banyan_status build(const banyan_problem *problem, banyan_schedule **out, banyan_error *err)
{
    banyan_builder builder;
    swing w = {.problem = problem, .builder = &builder};

    w.label = banyan_alloc((size_t)problem->active_count, sizeof *w.label);
    w.reach = banyan_alloc((size_t)problem->active_count, sizeof *w.reach);
    if (!w.label || !w.reach) {
        banyan_free(w.label);
        banyan_free(w.reach);
        return banyan_fail_memory(err);
    }
    find_dimensions(&w);
    banyan_problem_begin(problem, &builder);
    banyan_builder_cut_evenly(&builder, 2 * w.dimension_count * problem->active_count);
    for (int flow = 0; flow < 2 * w.dimension_count; flow++)
        append_flow(&w, flow);
    banyan_free(w.label);
    banyan_free(w.reach);
    return banyan_builder_finish(&builder, out, err);
}

const banyan_algorithm banyan_algorithm_swing = {
    .name = "swing",
    .summary = "halving-doubling on tori with partners that swing to and fro and so share links less",
    .paper = "De Sensi et al.: Swing: Short-cutting Rings for Higher Bandwidth Allreduce, 2024",
    .cost = "2 log2(p) a + c (p-1)/(d p) n b, c congestion: about 1.2 on two dimensions",
    .collectives = BANYAN_CAN(ALLREDUCE),
    .applies = applies,
    .build = build,
};
