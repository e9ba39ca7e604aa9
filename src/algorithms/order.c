/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/order.c: the order of a ring, so that neighbours in it are neighbours in the network.
 *
 * Hosts, and leaf switches where there are none: one after the other, so that each is entered once and
 * left once; where workers are joined to one another directly, along the fastest such links
 * (order_links.c); where steps meet on a cable between switches, in an order that avoids it
 * (order_switches.c). Grids: one dimension is the rows, all others together are the columns, walked as a
 * snake (each step changes one coordinate by one). Row 0 is the way back; the other rows are filled column
 * by column:
 *
 *     0 <- 15 <- 14 <- 13       The last column ends in row 1 if columns are even, else in the last row,
 *     1    6  -> 7     12       which row 0 meets where the dimension wraps. So a cycle is found when the
 *     2    5     8     11       number of columns is even, or the rows wrap, or there are two rows: that is,
 *     3 -> 4     9  -> 10       whenever the grid has one (a mesh of odd extents has none).
 *
 * Where only some workers are active they keep that order. */
#include "algorithms/order.h"

#include <ctype.h>
#include <stdlib.h>

#include "algorithms/order_links.h"
#include "algorithms/order_switches.h"
#include "core/alloc.h"

/* Row-major position -> place along the snake is not needed, only its inverse: the k-th place of a snake over
 * all dimensions but one, as coordinates. Every second pass through a dimension runs backwards. */
static void snake(const banyan_grid *grid, int without, int k, int *coordinate)
{
    for (int d = grid->dimension_count - 1; d >= 0; d--) {
        int extent = grid->extent[d];

        if (d == without)
            continue;
        coordinate[d] = (k / extent) % 2 ? extent - 1 - k % extent : k % extent;
        k /= extent;
    }
}

static int row_major(const banyan_grid *grid, const int *coordinate)
{
    int index = 0;

    for (int d = 0; d < grid->dimension_count; d++)
        index = index * grid->extent[d] + coordinate[d];
    return index;
}

static int grid_size(const banyan_grid *grid)
{
    int size = 1;

    for (int d = 0; d < grid->dimension_count; d++)
        size *= grid->extent[d];
    return size;
}

/* The dimension that serves as rows of the drawing, or -1 if none makes a cycle. */
static int find_rows(const banyan_grid *grid)
{
    int size = grid_size(grid);

    for (int d = 0; d < grid->dimension_count; d++) {
        int rows = grid->extent[d], columns = size / rows;

        if (rows > 1 && columns > 1 && (columns % 2 == 0 || rows == 2 || grid->wraps[d]))
            return d;
    }
    return -1;
}

static void walk_cycle(const banyan_grid *grid, int rows_dimension, int *place)
{
    int coordinate[BANYAN_MAX_DIMENSIONS] = {0};
    int rows = grid->extent[rows_dimension], columns = grid_size(grid) / rows, count = 0;

    for (int column = 0; column < columns; column++) {
        snake(grid, rows_dimension, column, coordinate);
        for (int i = 1; i < rows; i++) {
            coordinate[rows_dimension] = column % 2 ? rows - i : i;
            place[count++] = row_major(grid, coordinate);
        }
    }
    coordinate[rows_dimension] = 0;
    for (int column = columns - 1; column >= 0; column--) {
        snake(grid, rows_dimension, column, coordinate);
        place[count++] = row_major(grid, coordinate);
    }
}

/* Worker numbers in the order in which a ring should visit the grid. */
static void walk_grid(const banyan_grid *grid, int *place)
{
    int coordinate[BANYAN_MAX_DIMENSIONS] = {0};
    int rows = find_rows(grid), size = grid_size(grid);

    if (rows >= 0) {
        walk_cycle(grid, rows, place);
        return;
    }
    for (int k = 0; k < size; k++) {
        snake(grid, -1, k, coordinate);
        place[k] = row_major(grid, coordinate);
    }
}

static banyan_status order_by_grid(const banyan_problem *problem, int *order, banyan_error *err)
{
    const banyan_topology *topology = problem->topology;
    int *place = banyan_alloc((size_t)topology->worker_count, sizeof *place);
    int *rank_of = banyan_alloc((size_t)topology->node_count, sizeof *rank_of);
    int count = 0;

    if (!place || !rank_of) {
        banyan_free(place);
        banyan_free(rank_of);
        return banyan_fail_memory(err);
    }
    for (int rank = 0; rank < problem->active_count; rank++)
        rank_of[problem->active[rank]] = rank + 1;
    walk_grid(&topology->grid, place);
    for (int i = 0; i < topology->worker_count; i++) {
        int rank = rank_of[topology->workers[place[i]]] - 1;

        if (rank >= 0)
            order[count++] = rank;
    }
    banyan_free(place);
    banyan_free(rank_of);
    return BANYAN_SUCCESS;
}

/* Homes in the order of their first rank. */
static banyan_status order_by_home(const banyan_problem *problem, int *order, banyan_error *err)
{
    int *home = banyan_alloc((size_t)problem->active_count, sizeof *home), count = 0;

    if (!home)
        return banyan_fail_memory(err);
    for (int rank = 0; rank < problem->active_count; rank++)
        home[rank] = banyan_order_home(problem->topology, problem->active[rank]);
    for (int first = 0; first < problem->active_count; first++) {
        int here = home[first];

        for (int rank = first; here >= 0 && rank < problem->active_count; rank++)
            if (home[rank] == here) {
                order[count++] = rank;
                home[rank] = -1;
            }
    }
    banyan_free(home);
    return BANYAN_SUCCESS;
}

static int is_whole_grid(const banyan_topology *topology)
{
    return topology->grid.dimension_count > 0 && grid_size(&topology->grid) == topology->worker_count;
}

static banyan_status read_rank(const char **text, int limit, int *out, banyan_error *err)
{
    char *end;
    long value;

    if (!isdigit((unsigned char)**text))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "option 'order' must be ranks such as 0,2,1 or 0-3, but goes on with '%s'", *text);
    value = strtol(*text, &end, 10);
    if (value >= limit)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "option 'order' names rank %ld, but ranks are 0 to %d", value, limit - 1);
    *text = end;
    *out = (int)value;
    return BANYAN_SUCCESS;
}

typedef struct {
    int *order;
    char *taken;
    int count;
} visit_list;

static banyan_status visit(visit_list *visits, int rank, banyan_error *err)
{
    if (visits->taken[rank])
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "option 'order' names rank %d twice", rank);
    visits->taken[rank] = 1;
    visits->order[visits->count++] = rank;
    return BANYAN_SUCCESS;
}

/* One item: a rank, or a range that may run downwards. */
static banyan_status visit_range(visit_list *visits, const char **text, int limit, banyan_error *err)
{
    int from = 0, to;
    banyan_status status = read_rank(text, limit, &from, err);

    to = from;
    if (!status && **text == '-') {
        ++*text;
        status = read_rank(text, limit, &to, err);
    }
    if (!status)
        status = visit(visits, from, err);
    while (!status && from != to) {
        from += from < to ? 1 : -1;
        status = visit(visits, from, err);
    }
    return status;
}

static banyan_status order_by_option(const char *text, int rank_count, int *order, banyan_error *err)
{
    visit_list visits = {order, banyan_alloc((size_t)rank_count, 1), 0};
    banyan_status status = BANYAN_SUCCESS;
    int more = 1;

    if (!visits.taken)
        return banyan_fail_memory(err);
    while (!status && more) {
        status = visit_range(&visits, &text, rank_count, err);
        more = *text == ',';
        text += more;
    }
    if (!status && *text)
        status =
            banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                        "option 'order' must be ranks such as 0,2,1 or 0-3, but goes on with '%s'", text);
    for (int rank = 0; !status && rank < rank_count; rank++)
        if (!visits.taken[rank])
            status = banyan_fail(err, BANYAN_INVALID_ARGUMENT, "option 'order' leaves out rank %d", rank);
    banyan_free(visits.taken);
    return status;
}

banyan_status banyan_problem_order(const banyan_problem *problem, int **out, banyan_error *err)
{
    const char *text = banyan_problem_parameter(problem, "order", NULL);
    int *order = banyan_alloc((size_t)problem->active_count, sizeof *order);
    banyan_status status;

    if (!order)
        return banyan_fail_memory(err);
    if (text) {
        status = order_by_option(text, problem->active_count, order, err);
    } else if (is_whole_grid(problem->topology)) {
        status = order_by_grid(problem, order, err);
        if (!status && problem->active_count == problem->topology->worker_count)
            status = banyan_order_by_links(problem, order, err); /* round what is down */
    } else {
        status = order_by_home(problem, order, err);
        if (!status)
            status = banyan_order_by_links(problem, order, err);
        if (!status)
            status = banyan_order_by_switches(problem, order, err);
    }
    if (status) {
        banyan_free(order);
        return status;
    }
    *out = order;
    return BANYAN_SUCCESS;
}
