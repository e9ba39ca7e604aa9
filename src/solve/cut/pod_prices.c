/* SPDX-License-Identifier: Apache-2.0 */
/* solve/cut/pod_prices.c: the best prices of links, by what trees cost then at the least (solve/cut/pods.c),
 * as one linear program. Its unknowns are prices of links and costs that are no more than some sums of them:
 *
 *      W, X     what it costs from a switch to whoever takes it most cheaply: an active worker; anyone
 *      T, Y     the same from a cell to another one
 *      l, m, k  here or there: to active workers; with an idle one elsewhere; with one here
 *      u, v     a cell's share if there is an idle worker in the tree; the root's, which is active
 *      e        what having one costs more, at the least
 *      F, U     all cells' shares: without idle workers, with one
 *      Z, C     what it costs more that somebody sends into the root's cell
 *      P, Q     the same to the root itself, active or idle
 *      A, I     trees with an active root in the cell; with an idle one
 *
 * We solve the dual: a row for each unknown, a column for each of these sums; prices are what its rows are
 * worth. */
#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/scratch.h"
#include "solve/cut/pods.h"
#include "solve/net/lp.h"

#define FINE 4294967296.0 /* steps up to the highest price */
#define MOST_ENTRIES 16

enum {
    CELL_T,
    CELL_Y,
    CELL_L,
    CELL_M,
    CELL_K,
    CELL_U,
    CELL_V,
    CELL_Z,
    CELL_C,
    CELL_P,
    CELL_Q,
    CELL_A,
    CELL_I,
    CELL_ROWS
};
enum { ALL_F, ALL_U, ALL_E, ALL_ROWS };

typedef struct {
    const banyan_graph *graph;
    const banyan_pods *cells;
    int *arc_row;  /* per arc between switches, after those of the cells' links; -1: another */
    int *node_row; /* per switch: its place among them */
    int price_rows, switch_count, side_rows;
    double *width; /* per price */
    banyan_lp *lp;
    int row[MOST_ENTRIES], *sum_row;
    double value[MOST_ENTRIES], *sum_value;
    int count;
    banyan_scratch memory;
} program;

static int price_row(int cell, int idle, int enters)
{
    return 4 * cell + 2 * idle + enters;
}

/* What sends (takes) in trees of kind d: out-trees are in-trees backwards. */
static int send_row(int d, int cell, int idle)
{
    return price_row(cell, idle, d);
}

static int take_row(int d, int cell, int idle)
{
    return price_row(cell, idle, !d);
}

static int switch_row(const program *p, int d, int node, int anyone)
{
    return p->price_rows + d * p->side_rows + 2 * p->node_row[node] + anyone;
}

static int cell_row(const program *p, int d, int cell, int which)
{
    return p->price_rows + d * p->side_rows + 2 * p->switch_count + CELL_ROWS * cell + which;
}

static int all_row(const program *p, int d, int which)
{
    return p->price_rows + d * p->side_rows + 2 * p->switch_count + CELL_ROWS * p->cells->count + which;
}

static void put(program *p, int row, double value)
{
    for (int i = 0; i < p->count; i++)
        if (p->row[i] == row) {
            p->value[i] += value;
            return;
        }
    p->row[p->count] = row;
    p->value[p->count++] = value;
}

/* What was put is at least this in all. */
static void close_sum(program *p, double least)
{
    banyan_lp_add_column(p->lp, least, p->count, p->row, p->value);
    p->count = 0;
}

/* One is no more than the other. */
static void limit(program *p, int row, int by)
{
    put(p, row, -1);
    put(p, by, 1);
    close_sum(p, 0);
}

static banyan_status program_init(program *p, banyan_error *err)
{
    const banyan_graph *graph = p->graph;

    p->arc_row = banyan_scratch_take(&p->memory, (size_t)graph->arc_count, sizeof(int));
    p->node_row = banyan_scratch_take(&p->memory, (size_t)graph->node_count, sizeof(int));
    p->width = banyan_scratch_take(&p->memory, 4 * (size_t)p->cells->count + (size_t)graph->arc_count,
                                   sizeof(double));
    p->sum_row = banyan_scratch_take(&p->memory, 4 * (size_t)p->cells->count + 1, sizeof(int));
    p->sum_value = banyan_scratch_take(&p->memory, 4 * (size_t)p->cells->count + 1, sizeof(double));
    if (p->memory.failed)
        return banyan_fail_memory(err);
    p->price_rows = 4 * p->cells->count;
    for (int v = 0; v < graph->node_count; v++)
        p->node_row[v] = graph->role[v] ? -1 : p->switch_count++;
    for (int i = 0; i < graph->arc_count; i++) {
        const banyan_arc *arc = &graph->arcs[i];
        int leaves = graph->role[arc->src] != 0, v = leaves ? arc->src : arc->dst, row;

        p->arc_row[i] = -1;
        if (graph->role[v])
            row = price_row(p->cells->cell[v], !(graph->role[v] & BANYAN_NODE_ACTIVE), !leaves);
        else
            row = p->arc_row[i] = p->price_rows++;
        p->width[row] += (double)arc->capacity;
    }
    p->side_rows = 2 * p->switch_count + CELL_ROWS * p->cells->count + ALL_ROWS;
    return BANYAN_SUCCESS;
}

static void program_fini(program *p)
{
    banyan_scratch_free(&p->memory);
    banyan_lp_destroy(p->lp);
}

static banyan_status make_rows(program *p, double scale, banyan_error *err)
{
    int rows = p->price_rows + 2 * p->side_rows;
    double *upper = banyan_alloc((size_t)rows, sizeof *upper);
    banyan_status status = upper ? BANYAN_SUCCESS : banyan_fail_memory(err);

    for (int r = 0; !status && r < p->price_rows; r++)
        upper[r] = p->width[r] / scale;
    if (!status)
        status = banyan_lp_create(rows, NULL, upper, &p->lp, err);
    banyan_free(upper);
    return status;
}

/* Ways through switches. */
static void add_ways(program *p, int d)
{
    for (int i = 0; i < p->graph->arc_count; i++) {
        int from = d ? p->graph->arcs[i].dst : p->graph->arcs[i].src,
            to = d ? p->graph->arcs[i].src : p->graph->arcs[i].dst;

        for (int k = 0; k < 2 && p->arc_row[i] >= 0; k++) {
            put(p, switch_row(p, d, from, k), -1);
            put(p, switch_row(p, d, to, k), 1);
            put(p, p->arc_row[i], 1);
            close_sum(p, 0);
            if (p->cells->cell[from] < 0)
                continue;
            put(p, cell_row(p, d, p->cells->cell[from], k ? CELL_Y : CELL_T), -1);
            put(p, switch_row(p, d, to, k), 1);
            put(p, p->arc_row[i], 1);
            close_sum(p, 0);
        }
    }
    for (int c = 0; c < p->cells->count; c++) {
        if (p->cells->active[c]) {
            limit(p, switch_row(p, d, p->cells->home[c], 0), take_row(d, c, 0));
            limit(p, switch_row(p, d, p->cells->home[c], 1), take_row(d, c, 0));
        }
        if (p->cells->idle[c])
            limit(p, switch_row(p, d, p->cells->home[c], 1), take_row(d, c, 1));
    }
}

/* One is no more than what the way over an arc into the cell costs, less what the sender would else pay. */
static void limit_by_arc(program *p, int which, int d, int c, int idle, int arc, int from)
{
    int helped = which != CELL_Z, sender = p->cells->cell[from];

    for (int starts = 0; starts < (sender < 0 ? 1 : 2); starts++) {
        put(p, cell_row(p, d, c, which), -1);
        put(p, p->arc_row[arc], 1);
        put(p, take_row(d, c, idle), 1);
        put(p, starts ? cell_row(p, d, sender, helped ? CELL_Y : CELL_T) : switch_row(p, d, from, helped),
            -1);
        close_sum(p, 0);
    }
}

static void add_entries(program *p, int d, int c)
{
    for (int i = 0; i < p->graph->arc_count; i++) {
        int from = d ? p->graph->arcs[i].dst : p->graph->arcs[i].src,
            to = d ? p->graph->arcs[i].src : p->graph->arcs[i].dst;

        if (p->arc_row[i] < 0 || to != p->cells->home[c])
            continue;
        if (p->cells->active[c]) {
            limit_by_arc(p, CELL_Z, d, c, 0, i, from);
            limit_by_arc(p, CELL_C, d, c, 0, i, from);
            limit_by_arc(p, CELL_P, d, c, 0, i, from);
        }
        if (p->cells->idle[c]) {
            limit_by_arc(p, CELL_C, d, c, 1, i, from);
            limit_by_arc(p, CELL_Q, d, c, 1, i, from);
        }
    }
}

/* What that many who send here or there pay, one of them to the root, which somebody from another cell may
 * do, too. */
static void put_to_root(program *p, int d, int c, int idle, int senders, int here, int within)
{
    put(p, cell_row(p, d, c, here), senders - within);
    if (within)
        put(p, take_row(d, c, idle), 1);
    if (!within)
        put(p, cell_row(p, d, c, idle ? CELL_Q : CELL_P), 1);
    else if (p->cells->active[c] < p->graph->active_count)
        put(p, cell_row(p, d, c, CELL_C), 1);
}

static void add_shares(program *p, int d, int c)
{
    int active = p->cells->active[c];
    int t = cell_row(p, d, c, CELL_T), y = cell_row(p, d, c, CELL_Y), u = cell_row(p, d, c, CELL_U),
        v = cell_row(p, d, c, CELL_V);

    if (active) {
        limit(p, cell_row(p, d, c, CELL_L), take_row(d, c, 0));
        limit(p, cell_row(p, d, c, CELL_L), t);
        limit(p, cell_row(p, d, c, CELL_M), take_row(d, c, 0));
        limit(p, cell_row(p, d, c, CELL_M), y);
        limit(p, cell_row(p, d, c, CELL_K), take_row(d, c, 0));
        put(p, send_row(d, c, 0), active);
        put(p, cell_row(p, d, c, CELL_M), active - 1);
        put(p, y, 1);
    }
    put(p, u, -1);
    close_sum(p, 0);
    for (int within = 0; within < 2 && active > within; within++) {
        put(p, send_row(d, c, 0), active - 1);
        put_to_root(p, d, c, 0, active - 1, CELL_M, within);
        put(p, v, -1);
        close_sum(p, 0);
    }
    limit(p, cell_row(p, d, c, CELL_K), y);
}

/* The same with an idle worker among them, and what that costs more. */
static void add_idle_shares(program *p, int d, int c)
{
    int active = p->cells->active[c];

    limit(p, cell_row(p, d, c, CELL_K), take_row(d, c, 1));
    for (int excess = 0; excess < 2; excess++)
        for (int within = -1; within < (active ? 2 : 0); within++) {
            int is_root = within >= 0;

            put(p, send_row(d, c, 0), active - is_root);
            put(p, send_row(d, c, 1), 1);
            if (is_root) {
                put_to_root(p, d, c, 0, active, CELL_K, within);
            } else {
                put(p, cell_row(p, d, c, CELL_K), active);
                put(p, cell_row(p, d, c, CELL_Y), 1);
            }
            put(p, cell_row(p, d, c, is_root ? CELL_V : CELL_U), -1);
            if (excess)
                put(p, all_row(p, d, ALL_E), -1);
            close_sum(p, 0);
        }
}

/* Sums over all cells. */
static void add_sums(program *p, int d)
{
    int count = 1;

    p->sum_row[0] = all_row(p, d, ALL_F);
    p->sum_value[0] = -1;
    for (int c = 0; c < p->cells->count; c++)
        if (p->cells->active[c]) {
            p->sum_row[count] = send_row(d, c, 0);
            p->sum_value[count++] = p->cells->active[c];
            p->sum_row[count] = cell_row(p, d, c, CELL_L);
            p->sum_value[count++] = p->cells->active[c] - 1;
            p->sum_row[count] = cell_row(p, d, c, CELL_T);
            p->sum_value[count++] = 1;
        }
    banyan_lp_add_column(p->lp, 0, count, p->sum_row, p->sum_value);
    p->sum_row[0] = all_row(p, d, ALL_U);
    for (int c = 0; c < p->cells->count; c++) {
        p->sum_row[c + 1] = cell_row(p, d, c, CELL_U);
        p->sum_value[c + 1] = 1;
    }
    banyan_lp_add_column(p->lp, 0, p->cells->count + 1, p->sum_row, p->sum_value);
}

static void add_trees(program *p, int d, int c)
{
    int active = p->cells->active[c], has_idle = 0, alone = active == p->graph->active_count;

    for (int i = 0; i < p->cells->count; i++)
        has_idle |= p->cells->idle[i];
    if (active) {
        put(p, cell_row(p, d, c, CELL_A), -1);
        put(p, all_row(p, d, ALL_F), 1);
        put(p, send_row(d, c, 0), -1);
        put(p, cell_row(p, d, c, CELL_T), -1);
        put(p, alone ? take_row(d, c, 0) : cell_row(p, d, c, CELL_Z), 1);
        put(p, cell_row(p, d, c, CELL_L), -alone);
        close_sum(p, 0);
    }
    if (active && has_idle) {
        put(p, cell_row(p, d, c, CELL_A), -1);
        put(p, all_row(p, d, ALL_U), 1);
        put(p, cell_row(p, d, c, CELL_U), -1);
        put(p, cell_row(p, d, c, CELL_V), 1);
        put(p, all_row(p, d, ALL_E), 1);
        close_sum(p, 0);
    }
    for (int within = 0; p->cells->idle[c] && within < (active ? 2 : 1); within++) {
        put(p, cell_row(p, d, c, CELL_I), -1);
        put(p, all_row(p, d, ALL_U), 1);
        put(p, cell_row(p, d, c, CELL_U), -1);
        put(p, send_row(d, c, 0), active);
        put_to_root(p, d, c, 1, active, CELL_K, within);
        close_sum(p, 0);
    }
}

/* A pair of trees costs 1 at least, whatever its root. */
static void add_pairs(program *p)
{
    for (int c = 0; c < p->cells->count; c++)
        for (int idle = 0; idle < 2; idle++) {
            if (!(idle ? p->cells->idle : p->cells->active)[c])
                continue;
            for (int d = 0; d < 2; d++)
                put(p, cell_row(p, d, c, idle ? CELL_I : CELL_A), 1);
            close_sum(p, 1);
        }
}

static void take_prices(const program *p, int64_t *price)
{
    const banyan_graph *graph = p->graph;
    double highest = 0;

    for (int r = 0; r < p->price_rows; r++)
        highest = fmax(highest, banyan_lp_price(p->lp, r));
    for (int i = 0; i < graph->arc_count; i++) {
        int leaves = graph->role[graph->arcs[i].src] != 0,
            v = leaves ? graph->arcs[i].src : graph->arcs[i].dst,
            row = graph->role[v]
                      ? price_row(p->cells->cell[v], !(graph->role[v] & BANYAN_NODE_ACTIVE), !leaves)
                      : p->arc_row[i];

        price[i] = (int64_t)nearbyint(fmax(0, banyan_lp_price(p->lp, row)) / highest * FINE);
    }
    for (int i = 0; graph->symmetric && i < graph->arc_count; i++)
        if (graph->arcs[i].twin > i)
            price[i] = price[graph->arcs[i].twin] = price[i] + price[graph->arcs[i].twin];
}

static banyan_status solve(program *p, int64_t *price, double *value, banyan_error *err)
{
    double scale = 0;
    banyan_status status = program_init(p, err);

    for (int r = 0; !status && r < p->price_rows; r++)
        scale = fmax(scale, p->width[r]);
    if (!status)
        status = make_rows(p, scale, err);
    if (status)
        return status;
    for (int d = 0; d < 2; d++) {
        add_ways(p, d);
        for (int c = 0; c < p->cells->count; c++) {
            add_entries(p, d, c);
            add_shares(p, d, c);
            if (p->cells->idle[c])
                add_idle_shares(p, d, c);
        }
        add_sums(p, d);
        for (int c = 0; c < p->cells->count; c++)
            add_trees(p, d, c);
    }
    add_pairs(p);
    status = banyan_lp_solve(p->lp, err);
    if (status)
        return status;
    *value = banyan_lp_objective(p->lp) * scale;
    take_prices(p, price);
    return BANYAN_SUCCESS;
}

banyan_status banyan_pods_price(const banyan_graph *graph, int64_t *price, double *value, banyan_error *err)
{
    banyan_pods cells;
    program p = {.graph = graph, .cells = &cells};
    banyan_status status = banyan_pods_find(graph, &cells, err);

    *value = HUGE_VAL;
    if (!status && cells.count > 0)
        status = solve(&p, price, value, err);
    program_fini(&p);
    banyan_pods_fini(&cells);
    return status;
}
