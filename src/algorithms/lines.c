/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/lines.c: see lines.h for the drawing. */
#include "algorithms/lines.h"

#include "core/alloc.h"

banyan_status banyan_lines_check(const banyan_problem *problem, const char *name, banyan_error *err)
{
    const banyan_topology *topology = problem->topology;
    double steps = 0, flows = 0;

    if (topology->grid.dimension_count == 0)
        return banyan_fail(err, BANYAN_UNSUPPORTED, "%s needs a torus or mesh; %s is neither", name,
                           topology->name);
    if (problem->active_count != topology->worker_count)
        return banyan_fail(err, BANYAN_UNSUPPORTED,
                           "%s needs every worker of the grid, but only %d of %d are active", name,
                           problem->active_count, topology->worker_count);
    for (int d = 0; d < topology->grid.dimension_count; d++) {
        steps += 2.0 * (topology->grid.extent[d] - 1);
        flows += topology->grid.extent[d] > 1 ? 2 : 0;
    }
    return banyan_problem_check_transfers(problem, name, steps * flows * problem->active_count, err);
}

banyan_status banyan_lines_init(banyan_lines *lines, const banyan_problem *problem, banyan_builder *builder,
                                banyan_error *err)
{
    const banyan_grid *grid = &problem->topology->grid;

    *lines = (banyan_lines){.topology = problem->topology, .builder = builder, .share = 1};
    for (int d = 0; d < grid->dimension_count; d++)
        if (grid->extent[d] > 1)
            lines->dimension[lines->dimension_count++] = d;
    lines->stops = banyan_alloc((size_t)problem->active_count, sizeof *lines->stops);
    return lines->stops ? BANYAN_SUCCESS : banyan_fail_memory(err);
}

int banyan_lines_flow_count(const banyan_lines *lines)
{
    return 2 * lines->dimension_count;
}

static int dimension_of(const banyan_lines *lines, int d)
{
    return lines->dimension[d % lines->dimension_count];
}

int banyan_lines_extent(const banyan_lines *lines, int d)
{
    return lines->topology->grid.extent[dimension_of(lines, d)];
}

/* Distance of neighbours along a dimension in the workers' numbering. */
static int stride_of(const banyan_lines *lines, int d)
{
    const banyan_grid *grid = &lines->topology->grid;
    int stride = 1;

    for (int i = grid->dimension_count - 1; i > dimension_of(lines, d); i--)
        stride *= grid->extent[i];
    return stride;
}

static int coordinate(const banyan_lines *lines, int worker, int d)
{
    return worker / stride_of(lines, d) % banyan_lines_extent(lines, d);
}

/* The pieces of its flow that a worker holds sums of after that many dimensions. */
static void find_interval(const banyan_lines *lines, int worker, int begin, int nested, int *first,
                          int *count)
{
    *first = 0;
    *count = lines->share;
    for (int d = begin; d < begin + nested; d++) {
        *count /= banyan_lines_extent(lines, d);
        *first += *count * coordinate(lines, worker, d);
    }
}

/* Where the i-th worker of a line comes in its ring. */
static int place_of(const banyan_lines *lines, int d, int i, int is_backwards)
{
    int length = banyan_lines_extent(lines, d), place = i;

    if (lines->is_folded && !lines->topology->grid.wraps[dimension_of(lines, d)])
        place = i % 2 ? length - 1 - i / 2 : i / 2;
    return is_backwards ? length - 1 - place : place;
}

int banyan_lines_run(banyan_lines *lines, banyan_circle_phase phase, int round, int flow, int turn,
                     int nested)
{
    int begin = flow / 2, d = begin + turn, length = banyan_lines_extent(lines, d), after = round;

    for (int worker = 0; worker < lines->topology->worker_count; worker++) {
        int first, count;

        if (coordinate(lines, worker, d) != 0)
            continue;
        find_interval(lines, worker, begin, nested, &first, &count);
        first += flow * lines->share;
        for (int i = 0; i < length; i++)
            lines->stops[place_of(lines, d, i, flow % 2)] =
                (banyan_stop){lines->topology->workers[worker + i * stride_of(lines, d)],
                              first + i * (count / length), count / length};
        after = phase(lines->builder, round, lines->stops, length, flow);
    }
    return after;
}

banyan_status banyan_lines_finish(banyan_lines *lines, const banyan_problem *problem,
                                  void (*append_flow)(banyan_lines *lines, int flow), banyan_schedule **out,
                                  banyan_error *err)
{
    int flow_count = banyan_lines_flow_count(lines);

    banyan_problem_begin(problem, lines->builder);
    banyan_builder_cut_evenly(lines->builder, flow_count * lines->share);
    for (int flow = 0; flow < flow_count; flow++)
        append_flow(lines, flow);
    banyan_free(lines->stops);
    return banyan_builder_finish(lines->builder, out, err);
}
