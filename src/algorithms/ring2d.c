/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/ring2d.c: rings along the dimensions of a torus or mesh, all dimensions and both ways at once.
 *
 *     flow 0: rows -->, then columns        flow 2: columns down, then rows       each flow carries a quarter
 *     flow 1: rows <--, then columns        flow 3: columns up, then rows         (1/2d in d dimensions)
 *
 * So every link of a torus is busy all the time. Two ways to go through the dimensions:
 *     whole   a ring all-reduce in each dimension, as in the paper: 2 (N-1) rounds a dimension, but the data
 *             travels once a dimension. Cost on N x N: 4(N-1) a + (N-1)/N n b (links of both ways and
 * dimensions) nested  reduce-scatter dimension by dimension, each with what is left, and all-gather back:
 *             same rounds, cost 4(N-1) a + 1/2 (p-1)/p n b
 * On a mesh the step from the last to the first of a line crosses the whole line.
 *
 * Paper: C. Ying et al., Image Classification at Supercomputer Scale, 2018. */
#include <string.h>

#include "algorithms/algorithms.h"
#include "algorithms/circle.h"
#include "core/alloc.h"

typedef struct {
    const banyan_topology *topology;
    banyan_builder *builder;
    int dimension[BANYAN_MAX_DIMENSIONS]; /* those of extent above 1 */
    int dimension_count;
    int share;          /* pieces of one flow */
    banyan_stop *stops; /* of one line */
} rings;

static int extent(const rings *r, int d)
{
    return r->topology->grid.extent[r->dimension[d % r->dimension_count]];
}

/* Distance of neighbours along a dimension in the workers' numbering. */
static int stride(const rings *r, int d)
{
    const banyan_grid *grid = &r->topology->grid;
    int step = 1;

    for (int i = grid->dimension_count - 1; i > r->dimension[d % r->dimension_count]; i--)
        step *= grid->extent[i];
    return step;
}

static int coordinate(const rings *r, int worker, int d)
{
    return worker / stride(r, d) % extent(r, d);
}

static int largest_common_divisor(int a, int b)
{
    while (b) {
        int rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* The pieces that a worker holds sums of after so many nested dimensions of a flow that began with one. */
static void nested_interval(const rings *r, int worker, int begin, int done, int *first, int *count)
{
    *first = 0;
    *count = r->share;
    for (int d = begin; d < begin + done; d++) {
        *count /= extent(r, d);
        *first += *count * coordinate(r, worker, d);
    }
}

/* The stops of the line through a worker whose coordinate is 0: the interval in equal parts. */
static void find_line(rings *r, int worker, int d, int is_backwards, int first, int count)
{
    int length = extent(r, d), part = count / length;

    for (int i = 0; i < length; i++) {
        int place = is_backwards ? length - 1 - i : i;

        r->stops[place] =
            (banyan_stop){r->topology->workers[worker + i * stride(r, d)], first + i * part, part};
    }
}

typedef int (*circle_phase)(banyan_builder *builder, int round, const banyan_stop *stops, int count,
                            int flow);

/* One phase on all lines along a dimension; done says how many dimensions came before it in a nested flow. */
static int run_lines(rings *r, circle_phase phase, int round, int flow, int done)
{
    int begin = flow / 2, d = begin + done, after = round;

    for (int worker = 0; worker < r->topology->worker_count; worker++) {
        int first, count;

        if (coordinate(r, worker, d) != 0)
            continue;
        nested_interval(r, worker, begin, done, &first, &count);
        find_line(r, worker, d, flow % 2, flow * r->share + first, count);
        after = phase(r->builder, round, r->stops, extent(r, d), flow);
    }
    return after;
}

static void append_nested(rings *r, int flow)
{
    int round = 0;

    for (int done = 0; done < r->dimension_count; done++)
        round = run_lines(r, banyan_circle_reduce_scatter, round, flow, done);
    for (int done = r->dimension_count - 1; done >= 0; done--)
        round = run_lines(r, banyan_circle_all_gather, round, flow, done);
}

/* As run_lines, but every dimension cuts the flow's whole share. */
static int run_whole(rings *r, circle_phase phase, int round, int flow, int d)
{
    int after = round;

    for (int worker = 0; worker < r->topology->worker_count; worker++)
        if (coordinate(r, worker, d) == 0) {
            find_line(r, worker, d, flow % 2, flow * r->share, r->share);
            after = phase(r->builder, round, r->stops, extent(r, d), flow);
        }
    return after;
}

static void append_whole(rings *r, int flow)
{
    int round = 0;

    for (int d = flow / 2; d < flow / 2 + r->dimension_count; d++) {
        round = run_whole(r, banyan_circle_reduce_scatter, round, flow, d);
        round = run_whole(r, banyan_circle_all_gather, round, flow, d);
    }
}

static banyan_status applies(const banyan_problem *problem, banyan_error *err)
{
    const banyan_topology *topology = problem->topology;

    if (topology->grid.dimension_count == 0)
        return banyan_fail(err, BANYAN_UNSUPPORTED, "ring2d needs a torus or mesh, and %s is neither",
                           topology->name);
    if (problem->active_count != topology->worker_count)
        return banyan_fail(err, BANYAN_UNSUPPORTED,
                           "ring2d needs every worker of the grid, but only %d of %d are active",
                           problem->active_count, topology->worker_count);
    return BANYAN_SUCCESS;
}

static banyan_status read_phases(const banyan_problem *problem, int *is_nested, banyan_error *err)
{
    const char *text = banyan_problem_parameter(problem, "phases", "whole");

    *is_nested = !strcmp(text, "nested");
    if (!*is_nested && strcmp(text, "whole"))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "option 'phases' must be whole or nested, not '%s'",
                           text);
    return BANYAN_SUCCESS;
}

/* Pieces of a flow: whole cuts need a multiple of every extent, nested ones their product. */
static void find_dimensions(rings *r, int is_nested)
{
    const banyan_grid *grid = &r->topology->grid;

    r->share = 1;
    for (int d = 0; d < grid->dimension_count; d++) {
        if (grid->extent[d] < 2)
            continue;
        r->dimension[r->dimension_count++] = d;
        r->share *=
            is_nested ? grid->extent[d] : grid->extent[d] / largest_common_divisor(r->share, grid->extent[d]);
    }
}

static banyan_status build(const banyan_problem *problem, banyan_schedule **out, banyan_error *err)
{
    banyan_builder builder;
    rings r = {.topology = problem->topology, .builder = &builder};
    int is_nested;
    banyan_status status = read_phases(problem, &is_nested, err);

    if (status)
        return status;
    find_dimensions(&r, is_nested);
    r.stops = banyan_alloc((size_t)problem->active_count, sizeof *r.stops);
    if (!r.stops)
        return banyan_fail_memory(err);
    banyan_problem_begin(problem, &builder);
    banyan_builder_cut_evenly(&builder, 2 * r.dimension_count * r.share);
    for (int flow = 0; flow < 2 * r.dimension_count; flow++)
        if (is_nested)
            append_nested(&r, flow);
        else
            append_whole(&r, flow);
    banyan_free(r.stops);
    return banyan_builder_finish(&builder, out, err);
}

static const banyan_algorithm_option options[] = {
    {"phases", "whole|nested", "a whole all-reduce in each dimension (default, the paper's), or nested"},
    {NULL, NULL, NULL},
};

const banyan_algorithm banyan_algorithm_ring2d = {
    .name = "ring2d",
    .summary = "rings along every dimension of a torus or mesh, both ways, all at once",
    .paper = "Ying et al.: Image Classification at Supercomputer Scale, 2018",
    .cost = "4(N-1) a + (N-1)/N n b on an N x N torus; nested 4(N-1) a + (p-1)/2p n b",
    .collectives = BANYAN_CAN(ALLREDUCE),
    .options = options,
    .applies = applies,
    .build = build,
};
