/* SPDX-License-Identifier: Apache-2.0 */
/* solve/cut/endpoint_service.c: whoever is in an in-tree or out-tree sends and receives there, by links of
 * its own, so prices on all links at workers bound what trees can weigh; idle workers' links cost less, for
 * an idle worker is one more to send to. Four prices: of what leaves (enters) an active node, A of them, and
 * what leaves (enters) an idle one. A pair of trees with one root is then one of five, at the least; one idle
 * node is enough, for it may have any number of neighbours:
 *
 *   in-tree   all edges end at active nodes, or all but one at one idle node, which sends on to the root
 *   out-tree  the same, backwards; all four with an active root
 *   both      with an idle root, to which all are attached
 *
 * Or each switch and the workers behind it are one node, active if one of these is: then links between
 * switches have prices.
 *
 * So the best prices are those of a linear program with four unknowns and five rows, solved by looking at its
 * corners. It is tight where nothing else is narrow. */
#include "solve/cut/endpoint_service.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "solve/net/tolerance.h"
#include "solve/presolve/contraction.h"

enum { ACTIVE_OUT, ACTIVE_IN, IDLE_OUT, IDLE_IN, KINDS };
enum { PAIRS = 5, ROWS = PAIRS + KINDS + 2 };

/* What the cheapest pairs take of each kind. */
static void list_pairs(int64_t active, int64_t row[PAIRS][KINDS])
{
    for (int i = 0; i < 4; i++) {
        int idle_in = i & 1, idle_out = i / 2;

        row[i][ACTIVE_OUT] = active - 1 + (idle_out ? 1 : active - 1);
        row[i][ACTIVE_IN] = active - 1 + (idle_in ? 1 : active - 1);
        row[i][IDLE_OUT] = idle_in + (idle_out ? active - 1 : 0);
        row[i][IDLE_IN] = idle_out + (idle_in ? active - 1 : 0);
    }
    for (int k = 0; k < KINDS; k++)
        row[4][k] = active;
}

/* The kind of an arc's end, -1: at a node that only forwards. */
static int kind_at(const banyan_graph *graph, int v, int enters)
{
    if (!graph->role[v])
        return -1;
    return graph->role[v] & BANYAN_NODE_ACTIVE ? ACTIVE_OUT + enters : IDLE_OUT + enters;
}

static banyan_wide determinant(int64_t m[KINDS][KINDS], int size, int row, unsigned columns)
{
    banyan_wide sum = 0;
    int sign = 1;

    if (row == size)
        return 1;
    for (int c = 0; c < KINDS; c++) {
        if (!(columns & 1u << c))
            continue;
        if (m[row][c])
            sum += (banyan_wide)(sign * m[row][c]) * determinant(m, size, row + 1, columns & ~(1u << c));
        sign = -sign;
    }
    return sum;
}

/* The corner where four rows hold: prices in whole numbers, each pair at least *cost. 0: there is none. */
static int find_corner(int64_t rows[ROWS][KINDS], const int *chosen, banyan_wide *price, banyan_wide *cost)
{
    int64_t m[KINDS][KINDS];
    int is_flipped;

    for (int r = 0; r < KINDS; r++)
        memcpy(m[r], rows[chosen[r]], sizeof m[r]);
    *cost = determinant(m, KINDS, 0, 15);
    is_flipped = *cost < 0;
    *cost = is_flipped ? -*cost : *cost;
    for (int k = 0; k < KINDS && *cost; k++) {
        int64_t with[KINDS][KINDS];

        memcpy(with, m, sizeof with);
        for (int r = 0; r < KINDS; r++)
            with[r][k] = chosen[r] < PAIRS;
        price[k] = determinant(with, KINDS, 0, 15) * (is_flipped ? -1 : 1);
    }
    return *cost > 0;
}

static int is_allowed(int64_t rows[ROWS][KINDS], const banyan_wide *price, banyan_wide cost)
{
    for (int r = 0; r < ROWS; r++) {
        banyan_wide sum = 0;

        for (int k = 0; k < KINDS; k++)
            sum += rows[r][k] * price[k];
        if (sum < (r < PAIRS ? cost : 0))
            return 0;
    }
    return 1;
}

/* The least that is collected for a pair at least at 1. */
static double best_corner(int64_t rows[ROWS][KINDS], const double *width, banyan_wide *best)
{
    double least = HUGE_VAL;

    for (int set = 0; set < 1 << ROWS; set++) {
        banyan_wide price[KINDS], cost;
        double worth = 0;
        int chosen[KINDS], count = 0;

        for (int r = 0; r < ROWS; r++)
            if (set & 1 << r) {
                if (count < KINDS)
                    chosen[count] = r;
                count++;
            }
        if (count != KINDS || !find_corner(rows, chosen, price, &cost) || !is_allowed(rows, price, cost))
            continue;
        for (int k = 0; k < KINDS; k++)
            worth += (double)price[k] / (double)cost * width[k];
        if (worth < least * (1 - 1e-12)) {
            least = worth;
            memcpy(best, price, sizeof price);
        }
    }
    return least;
}

static double find_prices(const banyan_graph *graph, int64_t *price)
{
    int64_t rows[ROWS][KINDS] = {{0}};
    double width[KINDS] = {0}, value;
    banyan_wide best[KINDS] = {0}, common = 0;

    list_pairs(graph->active_count, rows);
    for (int k = 0; k < KINDS; k++) /* no price is negative, and what is idle costs no more */
        rows[PAIRS + k][k] = 1;
    for (int k = 0; k < 2; k++) {
        rows[PAIRS + KINDS + k][ACTIVE_OUT + k] = 1;
        rows[PAIRS + KINDS + k][IDLE_OUT + k] = -1;
    }
    for (int i = 0; i < graph->arc_count; i++) {
        int out = kind_at(graph, graph->arcs[i].src, 0), in = kind_at(graph, graph->arcs[i].dst, 1);

        if (out >= 0 && in >= 0)
            return HUGE_VAL;
        if (out >= 0 || in >= 0)
            width[out >= 0 ? out : in] += (double)graph->arcs[i].capacity;
    }
    value = best_corner(rows, width, best);
    for (int k = 0; k < KINDS; k += 2)
        if (graph->symmetric)
            best[k] = best[k + 1] = best[k] + best[k + 1];
    for (int k = 0; k < KINDS; k++)
        for (banyan_wide a = best[k]; a;) {
            banyan_wide rest = common % a;

            common = a;
            a = rest;
        }
    for (int i = 0; i < graph->arc_count; i++) {
        int out = kind_at(graph, graph->arcs[i].src, 0), in = kind_at(graph, graph->arcs[i].dst, 1);

        price[i] = (int64_t)((out < 0 ? 0 : best[out] / common) + (in < 0 ? 0 : best[in] / common));
    }
    return value;
}

/* The same for the network in which switches and the workers behind them are one node each. */
static banyan_status find_joined(const banyan_graph *graph, int64_t *price, double *value, banyan_error *err)
{
    banyan_contraction joined;
    int64_t *found = NULL;
    double lower;
    banyan_status status;

    for (int i = 0; i < graph->arc_count; i++)
        price[i] = !graph->role[graph->arcs[i].src] && !graph->role[graph->arcs[i].dst];
    status = banyan_contract(graph, price, 1, &joined, err);
    if (status || !joined.graph || joined.graph->active_count < 2)
        goto out;
    found = banyan_alloc((size_t)joined.graph->arc_count, sizeof *found);
    if (!found) {
        status = banyan_fail_memory(err);
        goto out;
    }
    lower = find_prices(joined.graph, found);
    if (lower < HUGE_VAL)
        *value = lower * joined.graph->unit / graph->unit;
    for (int i = 0; i < graph->arc_count; i++)
        price[i] = joined.arc[i] < 0 ? 0 : found[joined.arc[i]];
out:
    banyan_free(found);
    banyan_contraction_fini(&joined);
    return status;
}

banyan_status banyan_endpoint_service_price(const banyan_graph *graph, int64_t *price, double *value,
                                            banyan_error *err)
{
    double joined = HUGE_VAL;
    banyan_status status = find_joined(graph, price, &joined, err);

    if (status)
        return status;
    *value = find_prices(graph, price);
    return joined < *value * (1 - BANYAN_SAME) ? find_joined(graph, price, value, err) : BANYAN_SUCCESS;
}

banyan_wide banyan_endpoint_service_cost(const banyan_graph *graph, const int64_t *price)
{
    int64_t least[KINDS] = {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX}, rows[PAIRS][KINDS];
    banyan_wide cost = -1;

    for (int i = 0; i < graph->arc_count; i++) {
        int out = kind_at(graph, graph->arcs[i].src, 0), in = kind_at(graph, graph->arcs[i].dst, 1);

        if (out >= 0 && in >= 0)
            return -1;
        if (out >= 0 && price[i] < least[out])
            least[out] = price[i];
        if (in >= 0 && price[i] < least[in])
            least[in] = price[i];
    }
    for (int k = 0; k < 2; k++) {
        if (least[ACTIVE_OUT + k] == INT64_MAX)
            return -1;
        if (least[IDLE_OUT + k] > least[ACTIVE_OUT + k])
            least[IDLE_OUT + k] = least[ACTIVE_OUT + k];
    }
    list_pairs(graph->active_count, rows);
    for (int i = 0; i < PAIRS; i++) {
        banyan_wide sum = 0;

        for (int k = 0; k < KINDS; k++)
            sum += (banyan_wide)rows[i][k] * least[k];
        cost = cost < 0 || sum < cost ? sum : cost;
    }
    return cost;
}
