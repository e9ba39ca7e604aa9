/* SPDX-License-Identifier: Apache-2.0 */
/* solve/cut/split.c: out-trees with root weights r fit into capacities x just when into every set S of nodes
 * as much can enter as is summed outside (Edmonds 1973, Frank 1978); in-trees too, with what can leave S:
 *
 *     maximise    sum of r
 *     subject to  r(outside S) <= x(into S)  and  r(outside S) <= (c - x)(out of S)  for all S
 *
 * Where some nodes only forward, a tree's branches cannot meet there. Trees fit just when, besides, no more
 * of x leaves such a node than enters it, and of the reduce's part no more enters than leaves: then its arcs
 * can be joined in pairs, past the node, without making any cut too small (Bang-Jensen, Frank, Jackson 1995).
 * The parts are then two unknowns an arc, for some capacity may be of no use to either.
 *
 * Idle nodes that add or copy need not be served, only to be of use. Then trees may not fill the division,
 * but whatever they do is one, so the bound holds. Behind forwarders one thing more has to be said: such a
 * node has at most n - 1 below it in a tree of n active nodes (n if it is the root), so no more leaves it
 * than n - 1 times what enters; else what it makes up would let a forwarder send on more than it gets.
 *
 * What is summed outside S is the sum of r less what is summed inside: the sum is an unknown of its own, so
 * that a cut names the roots on its smaller side only.
 *
 * We solve the dual program, in which cuts are columns: prices of its rows are r and x, a maximum flow to
 * (from) every node tells whether they serve it, and a minimum cut that is too small becomes a column. Cuts
 * are looked for between the best division known to work and the program's (Ben-Ameur, Neto 2007): the
 * program's own answers jump about, and cuts found nearer to good ones are better. Prices of the arcs are the
 * weights of the cuts that they leave; they prove the bound, trees or no trees. Cost: two maximum flows a
 * node in each round, some ten to sixty rounds. */
#include "solve/cut/split.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "solve/cut/split_parts.h"
#include "solve/net/effort.h"
#include "solve/net/tolerance.h"
#include "solve/net/work.h"
#include "solve/pack/pair_columns.h"

#define SCALE 1099511627776.0 /* 2^40: of capacities in flows, which are whole numbers */
#define CHECK_TOLERANCE 1e-11 /* share by which a check, or what a cut carries, may fall short */
#define PREMIUM 4             /* factor on prices that are not given */
#define PATIENCE 20       /* rounds without a lower bound after which the bound is most likely the least */
#define CHECK_PATIENCE 30 /* the same where prices are checked */
#define MAX_ROUNDS 2000   /* rounds at most */

static void divider_fini(banyan_divider *d)
{
    banyan_lp_destroy(d->lp);
    banyan_flow_destroy(d->flow);
    banyan_scratch_free(&d->memory);
    banyan_free(d->cuts);
}

static double capacity_of(const banyan_divider *d, int arc)
{
    return (double)d->graph->arcs[arc].capacity / d->unit;
}

/* Which row of the program is the arc's part for the reduce. */
static int row_in(const banyan_divider *d, int arc)
{
    return d->graph->node_count + arc + (d->has_parts ? d->graph->arc_count : 0);
}

/* And the row of the sum of all roots. */
static int row_of_sum(const banyan_divider *d)
{
    return d->graph->node_count + d->x_count;
}

/* What limits a node that is not active, each part by itself. */
static void add_limits(banyan_divider *d, int v)
{
    const banyan_graph *graph = d->graph;

    for (int reduce = 0; reduce < 2; reduce++) {
        int count = 0, copies = banyan_split_find_most_copies(graph, v, reduce);

        for (int i = 0; copies && i < graph->arc_count; i++) {
            int leaves = graph->arcs[i].src == v;

            if (!leaves && graph->arcs[i].dst != v)
                continue;
            d->row[count] = reduce ? row_in(d, i) : graph->node_count + i;
            d->value[count++] = leaves == reduce ? -copies : 1;
        }
        for (int i = 0; copies && !banyan_split_find_forwards(graph, v, reduce) && i < d->root_count; i++)
            if (!(graph->role[d->root_node[i]] & BANYAN_NODE_ACTIVE)) {
                d->row[count] = d->root_node[i];
                d->value[count++] = d->root_node[i] == v ? -graph->active_count : -1;
            }
        d->potential[reduce * graph->node_count + v] = count ? d->first_cut++ : -1;
        if (count)
            banyan_lp_add_column(d->lp, 0, count, d->row, d->value);
    }
}

/* The sum is that of all roots. */
static void add_sum(banyan_divider *d)
{
    for (int i = 0; i < d->root_count; i++) {
        d->row[i] = d->root_node[i];
        d->value[i] = -1;
    }
    d->row[d->root_count] = row_of_sum(d);
    d->value[d->root_count] = 1;
    banyan_lp_add_free_column(d->lp, 0, d->root_count + 1, d->row, d->value);
}

/* One price an arc. Where prices are given, all of them in one column more, and the others at a premium: so
 * there is an answer before the cuts that need none of them are found. */
static void add_prices(banyan_divider *d)
{
    int nodes = d->graph->node_count, arcs = d->graph->arc_count;
    double worth = 0, largest = 1;

    for (int i = 0; i < arcs; i++) {
        int row[2] = {nodes + i, row_in(d, i)};
        double ones[2] = {1, 1};

        banyan_lp_add_column(d->lp, -(d->fixed ? PREMIUM : 1) * capacity_of(d, i), d->has_parts ? 2 : 1, row,
                             ones);
        largest = d->fixed ? fmax(largest, (double)d->fixed[i]) : 1;
    }
    add_sum(d);
    d->first_limit = d->first_cut = arcs + 1 + (d->fixed != NULL);
    if (!d->fixed)
        return;
    for (int i = 0; i < 2 * arcs; i++) {
        d->row[i] = nodes + i;
        d->value[i] = (double)d->fixed[i % arcs] / largest;
        worth += d->value[i] / 2 * capacity_of(d, i % arcs);
    }
    banyan_lp_add_column(d->lp, -worth, 2 * arcs, d->row, d->value);
}

/* Rows: what is summed at nodes, then the arcs, then the sum. The first columns are prices of the arcs
 * (without forwarders: beyond those of cuts). */
static banyan_status make_program(banyan_divider *d, banyan_error *err)
{
    int nodes = d->graph->node_count;
    size_t rows = (size_t)row_of_sum(d) + 1;
    double *lower = banyan_alloc(rows, sizeof *lower);
    banyan_status status = lower ? BANYAN_SUCCESS : banyan_fail_memory(err);

    if (!status) {
        lower[row_of_sum(d)] = 1;
        status = banyan_lp_create((int)rows, lower, NULL, &d->lp, err);
    }
    if (!status)
        add_prices(d);
    for (int v = 0; v < 2 * nodes; v++)
        d->potential[v] = -1;
    for (int v = 0; !status && v < nodes && d->has_parts; v++)
        add_limits(d, v);
    banyan_free(lower);
    return status;
}

/* Where a sum can be made. Under even prices a tree costs the same from any of its nodes: one active node is
 * enough. */
static void list_roots(banyan_divider *d)
{
    const unsigned both = BANYAN_NODE_ADDS | BANYAN_NODE_COPIES;
    const banyan_graph *graph = d->graph;
    int is_even = d->fixed && banyan_graph_has_even_prices(graph, d->fixed);

    for (int v = 0; v < graph->node_count; v++)
        if (is_even ? v == graph->active[0]
                    : (graph->role[v] & both) == both && graph->out_first[v] < graph->out_first[v + 1])
            d->root_node[d->root_count++] = v;
}

static banyan_status divider_init(banyan_divider *d, const banyan_graph *graph, const int64_t *fixed,
                                  banyan_error *err)
{
    size_t arcs = (size_t)graph->arc_count, nodes = (size_t)graph->node_count, parts;
    banyan_status status;

    *d = (banyan_divider){.graph = graph, .fixed = fixed, .has_parts = fixed != NULL};
    for (int v = 0; v < graph->node_count; v++)
        d->has_parts |= banyan_split_find_forwards(graph, v, 0) || banyan_split_find_forwards(graph, v, 1);
    d->x_count = graph->arc_count * (d->has_parts ? 2 : 1);
    parts = (size_t)d->x_count;
    d->root_node = banyan_scratch_take(&d->memory, nodes, sizeof *d->root_node);
    d->x = banyan_scratch_take(&d->memory, parts, sizeof *d->x);
    d->good_x = banyan_scratch_take(&d->memory, parts, sizeof *d->x);
    d->mid_x = banyan_scratch_take(&d->memory, parts, sizeof *d->x);
    d->root = banyan_scratch_take(&d->memory, nodes, sizeof *d->root);
    d->good_root = banyan_scratch_take(&d->memory, nodes, sizeof *d->root);
    d->mid_root = banyan_scratch_take(&d->memory, nodes, sizeof *d->root);
    d->potential = banyan_scratch_take(&d->memory, 2 * nodes, sizeof *d->potential);
    d->row = banyan_scratch_take(&d->memory, 2 * arcs + nodes + 1, sizeof *d->row);
    d->value = banyan_scratch_take(&d->memory, 2 * arcs + nodes + 1, sizeof *d->value);
    if (d->memory.failed)
        return banyan_fail_memory(err);
    for (int i = 0; i < graph->arc_count; i++)
        d->unit = fmax(d->unit, (double)graph->arcs[i].capacity);
    for (int i = 0; i < d->x_count && !d->has_parts; i++)
        d->good_x[i] = capacity_of(d, i) / 2;
    list_roots(d);
    status = banyan_graph_make_flow(d->graph, &d->flow, err);
    return status ? status : make_program(d, err);
}

static int is_new(const banyan_divider *d, const unsigned char *cut)
{
    for (size_t i = 0; i < d->cut_count; i++)
        if (memcmp(d->cuts + i * banyan_split_find_cut_bytes(d), cut, banyan_split_find_cut_bytes(d)) == 0)
            return 0;
    return 1;
}

/* The latest of d->cuts becomes a column. */
static void add_column(banyan_divider *d)
{
    const unsigned char *cut = d->cuts + d->cut_count * banyan_split_find_cut_bytes(d), *inside = cut + 1;
    const banyan_graph *graph = d->graph;
    double leaves = 0;
    int count = 0, within = 0;

    for (int i = 0; i < d->root_count; i++)
        within += inside[d->root_node[i]];
    for (int i = 0, are_fewer = 2 * within < d->root_count; i < d->root_count; i++)
        if (inside[d->root_node[i]] == are_fewer) {
            d->row[count] = d->root_node[i];
            d->value[count++] = are_fewer ? -1 : 1;
        }
    if (2 * within < d->root_count) {
        d->row[count] = row_of_sum(d);
        d->value[count++] = 1;
    }
    for (int i = 0; i < graph->arc_count; i++) {
        int from = *cut ? graph->arcs[i].src : graph->arcs[i].dst,
            to = *cut ? graph->arcs[i].dst : graph->arcs[i].src;

        if (!inside[from] || inside[to])
            continue;
        d->row[count] = *cut ? row_in(d, i) : graph->node_count + i;
        d->value[count++] = *cut && !d->has_parts ? 1 : -1;
        leaves += *cut && !d->has_parts ? capacity_of(d, i) : 0;
    }
    banyan_lp_add_column(d->lp, -leaves, count, d->row, d->value);
    d->cut_count++;
}

/* Room for one more cut, or NULL. */
static unsigned char *next_cut(banyan_divider *d)
{
    size_t bytes = banyan_split_find_cut_bytes(d);

    while (d->cut_capacity < (d->cut_count + 1) * bytes)
        if (!banyan_grow((void **)&d->cuts, d->cut_capacity, &d->cut_capacity, 1))
            return NULL;
    memset(d->cuts + d->cut_count * bytes, 0, bytes);
    return d->cuts + d->cut_count * bytes;
}

/* Every node alone, and all but it: mostly these decide. */
static banyan_status first_cuts(banyan_divider *d, banyan_error *err)
{
    for (int i = 0; i < d->graph->active_count; i++)
        for (unsigned char kind = 0; kind < 4; kind++) {
            unsigned char *cut = next_cut(d);

            if (!cut)
                return banyan_fail_memory(err);
            cut[0] = kind & 1;
            for (int v = 0; v < d->graph->node_count; v++)
                cut[1 + v] = (v == d->graph->active[i]) != (kind >> 1);
            if (is_new(d, cut))
                add_column(d);
        }
    return BANYAN_SUCCESS;
}

/* Against the stream, from the node that is served: most of what it gets comes from near by, so the search
 * stays short. */
static void set_flow(banyan_divider *d, int leaving)
{
    const banyan_graph *graph = d->graph;

    for (int i = 0; i < graph->arc_count; i++) {
        double part = !leaving       ? d->mid_x[i]
                      : d->has_parts ? d->mid_x[graph->arc_count + i]
                                     : capacity_of(d, i) - d->mid_x[i];
        int64_t room = (int64_t)nearbyint(SCALE * fmax(0, part));

        banyan_flow_set(d->flow, i, leaving ? room : 0, leaving ? 0 : room);
    }
    for (int v = 0; v < graph->node_count; v++)
        banyan_flow_set(d->flow, graph->arc_count + v, 0, (int64_t)nearbyint(SCALE * d->mid_root[v]));
}

/* Columns from nodes that the current division does not serve. */
static banyan_status find_cuts(banyan_divider *d, int *lacking, banyan_error *err)
{
    int64_t total = 0;

    for (int v = 0; v < d->graph->node_count; v++)
        total += (int64_t)nearbyint(SCALE * d->mid_root[v]);
    for (int leaving = 0; leaving < 2; leaving++)
        for (int i = 0; i < d->graph->active_count; i++) {
            unsigned char *cut;

            set_flow(d, leaving);
            if ((double)banyan_flow_run(d->flow, d->graph->active[i], d->graph->node_count, total) >=
                (1 - CHECK_TOLERANCE) * (double)total)
                continue;
            cut = next_cut(d);
            if (!cut)
                return banyan_fail_memory(err);
            cut[0] = (unsigned char)leaving;
            for (int v = 0; v < d->graph->node_count; v++)
                cut[1 + v] = (unsigned char)banyan_flow_reaches(d->flow, v);
            ++*lacking;
            if (is_new(d, cut))
                add_column(d);
        }
    return BANYAN_SUCCESS;
}

static banyan_status solve_program(banyan_divider *d, banyan_split *out, banyan_error *err)
{
    banyan_status status = banyan_lp_solve(d->lp, err);

    if (status)
        return status;
    out->bound_value = -banyan_lp_objective(d->lp);
    for (int v = 0; v < d->graph->node_count; v++)
        d->root[v] = fabs(banyan_lp_price(d->lp, v));
    for (int i = 0; i < d->x_count; i++)
        d->x[i] = fabs(banyan_lp_price(d->lp, d->graph->node_count + i));
    out->rounds++;
    return BANYAN_SUCCESS;
}

static void mix(banyan_divider *d, double share)
{
    for (int v = 0; v < d->graph->node_count; v++)
        d->mid_root[v] = share * d->root[v] + (1 - share) * d->good_root[v];
    for (int i = 0; i < d->x_count; i++)
        d->mid_x[i] = share * d->x[i] + (1 - share) * d->good_x[i];
}

static void keep(banyan_divider *d)
{
    d->good = 0;
    for (int v = 0; v < d->graph->node_count; v++)
        d->good += d->good_root[v] = d->mid_root[v];
    memcpy(d->good_x, d->mid_x, (size_t)d->x_count * sizeof(double));
}

/* Between the best division that works and the program's answer, and nearer to the answer the longer that
 * works. Not beyond that many rounds (patience) in which the bound has not fallen; nor once it
 * is as low as enough. */
static banyan_status close_in(banyan_divider *d, double tolerance, int patience, double enough,
                              banyan_split *out, banyan_error *err)
{
    banyan_status status = solve_program(d, out, err);
    double share = 0.5, lowest = out->bound_value;
    banyan_work begin = banyan_work_now();
    int idle = 0;

    if (d->has_parts) /* with nothing summed anywhere, any answer works */
        memcpy(d->good_x, d->x, (size_t)d->x_count * sizeof(double));

    while (!status && out->bound_value > enough &&
           out->bound_value - d->good > tolerance * out->bound_value && out->rounds < MAX_ROUNDS &&
           idle < patience && banyan_work_since(&begin).visits < BANYAN_CUT_VISITS) {
        int lacking = 0;
        size_t before = d->cut_count;

        mix(d, share);
        status = find_cuts(d, &lacking, err);
        if (!status && d->cut_count > before) {
            share = 0.5;
            status = solve_program(d, out, err);
            idle = out->bound_value < lowest * (1 - BANYAN_SAME) ? 0 : idle + 1;
            lowest = idle ? lowest : out->bound_value;
        } else if (!status) { /* it works, or lacks no more than the program's prices are rounded by */
            keep(d);
            if (lacking && share == 1)
                break;
            share = share < 0.7 ? 0.9 : 1;
            idle = 0;
        }
    }
    out->is_settled = !status && out->bound_value - d->good <= tolerance * out->bound_value;
    return status;
}

/* The arcs' prices: what they have themselves, and that of the cuts which they leave. */
static void price_arcs(const banyan_divider *d, double *price)
{
    const double *value = banyan_lp_values(d->lp);
    const banyan_graph *graph = d->graph;

    for (int i = 0; i < graph->arc_count; i++)
        price[i] = fmax(0, value[i]);
    for (size_t k = 0; k < d->cut_count && !d->has_parts; k++) {
        const unsigned char *cut = d->cuts + k * banyan_split_find_cut_bytes(d), *inside = cut + 1;
        double weight = value[(size_t)d->first_cut + k];

        for (int i = 0; *cut && weight > 0 && i < graph->arc_count; i++)
            if (inside[graph->arcs[i].src] && !inside[graph->arcs[i].dst])
                price[i] += weight;
    }
}

/* What the prices prove, as whole numbers. Where the cheapest trees are not to be had, the cuts prove it by
 * themselves. */
static banyan_status prove(const banyan_divider *d, banyan_split *out, banyan_error *err)
{
    const banyan_graph *graph = d->graph;
    double *price = d->value;
    banyan_wide num, den;
    banyan_status status;
    int proven;

    if (banyan_graph_has_helpers(graph) || !banyan_graph_suits_trees_of_roots(graph, d->root_count)) {
        status = banyan_split_find_prove_by_cuts(d, out->price, &num, &den, err);
        goto out;
    }
    price_arcs(d, price);
    banyan_fraction_whole_prices(price, graph->arc_count, out->price);
    status = banyan_pair_prices_check(graph, out->price, &num, &den, &proven, err);
    if (!status && den <= 0)
        status =
            banyan_fail(err, BANYAN_INTERNAL_ERROR, "the prices of %d cuts prove nothing", (int)d->cut_count);
out:
    if (status)
        return status;
    out->cost = den;
    out->bound_value = (double)num / (double)den;
    return BANYAN_SUCCESS;
}

static void hand_over(banyan_divider *d, banyan_split *out)
{
    if (!out->is_settled) { /* the program's answer is nearer */
        mix(d, 1);
        keep(d);
    }
    for (int v = 0; v < d->graph->node_count; v++)
        out->root[v] = d->unit * d->good_root[v];
    out->total = d->good * d->unit;
}

banyan_status banyan_split_find(const banyan_graph *graph, double tolerance, banyan_split *out,
                                banyan_error *err)
{
    banyan_divider d;
    banyan_status status = divider_init(&d, graph, NULL, err);

    memset(out, 0, sizeof *out);
    out->price = banyan_alloc((size_t)graph->arc_count, sizeof *out->price);
    out->root = banyan_alloc((size_t)graph->node_count, sizeof *out->root);
    if (!status && (!out->price || !out->root))
        status = banyan_fail_memory(err);
    if (!status)
        status = first_cuts(&d, err);
    if (!status)
        status = close_in(&d, tolerance, PATIENCE, 0, out, err);
    if (!status)
        status = prove(&d, out, err);
    if (!status)
        hand_over(&d, out);
    divider_fini(&d);
    if (status)
        banyan_split_fini(out);
    return status;
}

/* Every pair of trees costs least where arcs cost what the cuts need. No tree takes an arc more often than
 * there are active nodes; without what arcs of no price may take of it in this way, the others have to pay
 * the rest, and these cost at most that many times as much as by their prices. And as prices are whole
 * numbers, so is what a pair costs. */
static banyan_wide least_whole_cost(const banyan_graph *graph, const int64_t *price, const int64_t *needed,
                                    banyan_wide least)
{
    long double most = 0, rest = (long double)least;

    for (int i = 0; i < graph->arc_count; i++)
        if (price[i] > 0)
            most = fmaxl(most, (long double)needed[i] / (long double)price[i]);
        else
            rest -= 2.0L * graph->active_count * (long double)needed[i];
    return most > 0 && rest > 0 ? (banyan_wide)ceill(rest / most * (1 - 1e-15L)) : 0;
}

/* Cuts that prove as much of the prices as is hoped for, or all that they can. */
static banyan_status find_cuts_of_prices(const banyan_graph *graph, const int64_t *price, banyan_wide hoped,
                                         banyan_divider *d, banyan_error *err)
{
    banyan_wide value = banyan_graph_worth(graph, price);
    banyan_split division = {0};
    banyan_status status = divider_init(d, graph, price, err);

    if (!status)
        status = first_cuts(d, err);
    if (!status)
        status = close_in(d, CHECK_TOLERANCE, CHECK_PATIENCE,
                          hoped > 0 ? (double)value / (double)hoped / d->unit * (1 + BANYAN_EXACTLY_SAME) : 0,
                          &division, err);
    return status;
}

banyan_status banyan_split_find_check(const banyan_graph *graph, const int64_t *price, banyan_wide hoped,
                                      banyan_wide *out, banyan_error *err)
{
    int64_t *needed = banyan_alloc((size_t)graph->arc_count, sizeof *needed);
    banyan_wide worth = 0, least = 0, value = banyan_graph_worth(graph, price);
    banyan_divider d = {0};
    banyan_status status =
        needed ? find_cuts_of_prices(graph, price, hoped, &d, err) : banyan_fail_memory(err);

    if (!status)
        status = banyan_split_find_prove_by_cuts(&d, needed, &worth, &least, err);
    if (!status) { /* the cuts prove a bound by themselves; the prices are worth as much as that */
        banyan_wide whole = least_whole_cost(graph, price, needed, least);

        *out = (banyan_wide)((long double)value / (long double)worth * (long double)least);
        *out = whole > *out ? whole : *out;
    }
    banyan_free(needed);
    divider_fini(&d);
    return status;
}

/* Columns of limits stand before those of cuts. */
static banyan_status take_proof(banyan_divider *d, banyan_split_proof *out, banyan_error *err)
{
    size_t nodes = (size_t)d->graph->node_count, limits = (size_t)(d->first_cut - d->first_limit);
    banyan_status status = banyan_split_find_whole(d, &out->weight, err);

    out->limit = banyan_alloc(2 * nodes, sizeof *out->limit);
    if (!status && !out->limit)
        status = banyan_fail_memory(err);
    if (status)
        return status;
    for (size_t i = 0; i < 2 * nodes; i++)
        out->limit[i] = d->potential[i] < 0 ? 0 : out->weight[d->potential[i] - d->first_limit];
    memmove(out->weight, out->weight + limits, d->cut_count * sizeof *out->weight);
    out->count = d->cut_count;
    out->node_count = d->graph->node_count;
    out->cuts = d->cuts;
    d->cuts = NULL;
    return BANYAN_SUCCESS;
}

banyan_status banyan_split_find_proof(const banyan_graph *graph, const int64_t *price, banyan_wide hoped,
                                      banyan_split_proof *out, banyan_error *err)
{
    banyan_divider d = {0};
    banyan_status status;

    *out = (banyan_split_proof){0};
    status = find_cuts_of_prices(graph, price, hoped, &d, err);
    if (!status)
        status = take_proof(&d, out, err);
    if (status)
        banyan_split_proof_fini(out);
    divider_fini(&d);
    return status;
}

void banyan_split_proof_fini(banyan_split_proof *proof)
{
    banyan_free(proof->cuts);
    banyan_free(proof->weight);
    banyan_free(proof->limit);
    *proof = (banyan_split_proof){0};
}

void banyan_split_fini(banyan_split *division)
{
    banyan_free(division->root);
    banyan_free(division->price);
    memset(division, 0, sizeof *division);
}
