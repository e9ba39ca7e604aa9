/* SPDX-License-Identifier: Apache-2.0 */
/* bound/balance.c: a node that only forwards sends out as much as comes in, so widths that differ are
 * never used in full.
 *
 * All-gather: choose capacities f <= c, in = out at nodes that only forward, in <= out at idle nodes that
 * copy, so that a source that gives x to every active node can send all of it to each of them (each flow
 * by itself). No packing of trees does better. Where no idle node copies, trees do as well: arcs at
 * balanced nodes can be split off one after another, which leaves all those flows as they are
 * (Bang-Jensen, Frank and Jackson 1995), and then Edmonds' branchings fill what is left. As a linear
 * program, with x = 1 and a cut S for every set that misses an active node (the dual of it, which is the
 * certificate of bound/check.h):
 *
 *     maximise    sum of l(S) active(S)
 *     subject to  m(u) - m(v) + sum of l(S) over cuts that u -> v leaves <= y(u,v)
 *                 sum of c y <= worth of all links
 *
 * The prices of its rows are the capacities f. An active node that is not reached by all of it brings its
 * minimum cut as a new column. When all are reached, the family is the best; whatever it is before, what
 * it proves holds. Reduce-scatter is the same with all arcs turned. Cost: a maximum flow for each active
 * node in each round. */
#include "bound/balance.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/scratch.h"
#include "solve/net/effort.h"
#include "solve/net/lp.h"
#include "solve/net/tolerance.h"
#include "solve/net/work.h"

/* What each active node gives in flows, which are whole numbers: the sum of a million of them is within 63
 * bits. */
#define FLOW_UNIT ((int64_t)1 << 40)
#define NEW_SHARE 0.5          /* of the current round's capacities in their mean */
#define SMALL_DENOMINATOR 5000 /* of weights in proportion, which are short fractions as a rule */
#define LARGEST_WEIGHT                                                                                       \
    1099511627776.0 /* 2^40, of weights that are not short fractions: below BANYAN_CHECK_LIMIT */

typedef struct {
    const banyan_graph *graph;
    int towards, source;
    banyan_lp *lp;
    banyan_flow *flow; /* arcs, then source -> each node */
    double share;      /* the unit of rates in the program: of one active node, by the first cut */

    /* Of all links. A cut around each active node has a weight of about 1, which suits the solver's
     * tolerances. */
    double worth;
    int *node; /* the nodes of the columns of potentials, */
    int *sign; /* and whether they count or are subtracted */
    int potential_count;
    unsigned char *cuts;                          /* by cut and node */
    size_t cut_count, cut_capacity, solved_count; /* solved: in the program's last answer */
    int *row;
    double *entry;
    double *point; /* by arc: capacities, a mean of the program's in all rounds */
    double served; /* the least share of all that reaches an active node in the current round */
    banyan_scratch memory;
} program;

static int from(const program *p, int arc)
{
    return p->towards ? p->graph->arcs[arc].dst : p->graph->arcs[arc].src;
}

static int to(const program *p, int arc)
{
    return p->towards ? p->graph->arcs[arc].src : p->graph->arcs[arc].dst;
}

static int is_idle(const banyan_graph *graph, int v)
{
    return !(graph->role[v] & BANYAN_NODE_ACTIVE) && banyan_graph_is_joined(graph, v);
}

static int may_branch(const banyan_graph *graph, int towards, int v)
{
    return graph->role[v] & (towards ? BANYAN_NODE_ADDS : BANYAN_NODE_COPIES);
}

int banyan_balance_branches(const banyan_graph *graph, int towards)
{
    for (int v = 0; v < graph->node_count; v++)
        if (is_idle(graph, v) && may_branch(graph, towards, v))
            return 1;
    return 0;
}

int banyan_balance_is_needed(const banyan_graph *graph)
{
    for (int v = 0; v < graph->node_count; v++)
        if (is_idle(graph, v) && banyan_graph_width(graph, v, 0) != banyan_graph_width(graph, v, 1))
            return 1;
    return 0;
}

static void program_fini(program *p)
{
    banyan_lp_destroy(p->lp);
    banyan_flow_destroy(p->flow);
    banyan_scratch_free(&p->memory);
    banyan_free(p->cuts);
}

/* What an arc can be of use for: a tree has fewer edges than there are nodes, each a path through nodes
 * that forward, and there are as many trees as active nodes. Twice that is never used up, so that its
 * price is 0. */
static double room(const program *p, int arc)
{
    double most = 2.0 * p->graph->active_count * p->graph->node_count;

    return fmin((double)p->graph->arcs[arc].capacity / p->share, most);
}

/* The first columns are the arcs' prices. */
static void add_prices(program *p)
{
    for (int i = 0; i < p->graph->arc_count; i++) {
        int row[2] = {i, p->graph->arc_count};
        double entry[2] = {-1, room(p, i)};

        banyan_lp_add_column(p->lp, 0, 2, row, entry);
    }
}

/* Arcs that leave and enter v count with opposite signs; parallel ones are rows of their own. */
static void add_potential(program *p, int v, int sign)
{
    const banyan_graph *graph = p->graph;
    int count = 0;

    for (int i = graph->out_first[v]; i < graph->out_first[v + 1]; i++) {
        p->row[count] = graph->out_arc[i];
        p->entry[count++] = p->towards ? -sign : sign;
    }
    for (int i = graph->in_first[v]; i < graph->in_first[v + 1]; i++) {
        p->row[count] = graph->in_arc[i];
        p->entry[count++] = p->towards ? sign : -sign;
    }
    banyan_lp_add_column(p->lp, 0, count, p->row, p->entry);
    p->node[p->potential_count] = v;
    p->sign[p->potential_count++] = sign;
}

static void add_potentials(program *p)
{
    for (int v = 0; v < p->graph->node_count; v++) {
        if (!is_idle(p->graph, v))
            continue;
        add_potential(p, v, 1);
        if (!may_branch(p->graph, p->towards, v))
            add_potential(p, v, -1);
    }
}

static banyan_status add_cut(program *p, const unsigned char *inside, banyan_error *err)
{
    size_t nodes = (size_t)p->graph->node_count;
    int count = 0, held = 0;

    if (!banyan_grow((void **)&p->cuts, p->cut_count, &p->cut_capacity, nodes))
        return banyan_fail_memory(err);
    memcpy(p->cuts + p->cut_count++ * nodes, inside, nodes);
    for (int i = 0; i < p->graph->active_count; i++)
        held += inside[p->graph->active[i]];
    for (int i = 0; i < p->graph->arc_count; i++)
        if (inside[from(p, i)] && !inside[to(p, i)]) {
            p->row[count] = i;
            p->entry[count++] = 1;
        }
    banyan_lp_add_column(p->lp, held, count, p->row, p->entry);
    return BANYAN_SUCCESS;
}

static banyan_status program_init(program *p, double cut, banyan_error *err)
{
    size_t arcs = (size_t)p->graph->arc_count, nodes = (size_t)p->graph->node_count;
    double *upper = banyan_scratch_take(&p->memory, arcs + 1, sizeof *upper);
    banyan_status status;

    p->share = cut / p->graph->active_count;
    p->worth = (double)p->graph->active_count * p->graph->active_count;
    p->node = banyan_scratch_take(&p->memory, 2 * nodes, sizeof *p->node);
    p->sign = banyan_scratch_take(&p->memory, 2 * nodes, sizeof *p->sign);
    p->row = banyan_scratch_take(&p->memory, arcs, sizeof *p->row);
    p->entry = banyan_scratch_take(&p->memory, arcs, sizeof *p->entry);
    p->point = banyan_scratch_take(&p->memory, arcs, sizeof *p->point);
    status = banyan_scratch_check(&p->memory, err);
    if (!status)
        status = banyan_graph_make_flow(p->graph, &p->flow, err);
    if (!status) {
        upper[arcs] = p->worth;
        status = banyan_lp_create(p->graph->arc_count + 1, NULL, upper, &p->lp, err);
    }
    if (!status) {
        add_prices(p);
        add_potentials(p);
    }
    return status;
}

/* What one active node is reached by; a minimum cut is left in the flow. Flows run backwards where arcs
 * are turned. */
static double serve(program *p, int target)
{
    const banyan_graph *graph = p->graph;
    int64_t all = graph->active_count * FLOW_UNIT;

    for (int i = 0; i < graph->arc_count; i++) {
        int64_t capacity = (int64_t)nearbyint(fmin(p->point[i], graph->active_count) * (double)FLOW_UNIT);

        banyan_flow_set(p->flow, i, p->towards ? 0 : capacity, p->towards ? capacity : 0);
    }
    for (int v = 0; v < graph->node_count; v++)
        banyan_flow_set(p->flow, graph->arc_count + v, graph->role[v] & BANYAN_NODE_ACTIVE ? FLOW_UNIT : 0,
                        0);
    return (double)banyan_flow_run(p->flow, p->source, target, all) / (double)all;
}

/* The program's capacities are a vertex of many that would do, and leave most arcs unused; their mean over
 * the rounds lies between them (in-out separation, Ben-Ameur and Neto 2007). It is balanced, as they are,
 * and no wider than those of the last round. */
static void move_point(program *p, double share)
{
    for (int i = 0; i < p->graph->arc_count; i++) {
        double width = fmax(0, banyan_lp_price(p->lp, i));

        p->point[i] += share * (width - p->point[i]);
    }
}

/* Whether the program's own capacities do not carry over the cut what it holds. */
static int is_short(const program *p, const unsigned char *inside)
{
    double carried = 0;
    int held = 0;

    for (int i = 0; i < p->graph->active_count; i++)
        held += inside[p->graph->active[i]];
    for (int i = 0; i < p->graph->arc_count; i++)
        if (inside[from(p, i)] && !inside[to(p, i)])
            carried += banyan_lp_price(p->lp, i);
    return carried < held * (1 - BANYAN_SAME);
}

static banyan_status add_missing_cuts(program *p, unsigned char *inside, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    p->served = 1;
    for (int i = 0; !status && i < p->graph->active_count; i++) {
        double share = serve(p, p->graph->active[i]);

        p->served = fmin(p->served, share);
        if (share >= 1 - BANYAN_SAME)
            continue;
        for (int v = 0; v < p->graph->node_count; v++)
            inside[v] = (unsigned char)banyan_flow_reaches(p->flow, v);
        if (is_short(p, inside))
            status = add_cut(p, inside, err);
    }
    return status;
}

/* Each active node by itself, and all nodes but one. */
static banyan_status add_first_cuts(program *p, unsigned char *inside, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    for (int i = 0; !status && i < 2 * p->graph->active_count; i++) {
        memset(inside, i % 2, (size_t)p->graph->node_count);
        inside[p->graph->active[i / 2]] = !(i % 2);
        status = add_cut(p, inside, err);
    }
    return status;
}

static banyan_status run(program *p, const unsigned char *first, banyan_error *err)
{
    unsigned char *inside = banyan_alloc((size_t)p->graph->node_count, 1);
    banyan_status status = inside ? add_cut(p, first, err) : banyan_fail_memory(err);
    banyan_work begin = banyan_work_now();
    double share = 1;

    if (!status)
        status = add_first_cuts(p, inside, err);
    while (!status && p->served < 1 - BANYAN_SAME && banyan_work_since(&begin).visits < BANYAN_CUT_VISITS) {
        status = banyan_lp_solve(p->lp, err);
        if (status)
            break;
        move_point(p, share);
        p->solved_count = p->cut_count;
        status = add_missing_cuts(p, inside, err);
        if (share == 1 && p->cut_count == p->solved_count) /* nothing is left to be added */
            break;
        share = p->cut_count > p->solved_count ? NEW_SHARE : 1;
    }
    banyan_free(inside);
    return status;
}

/* Weights and potentials of the program, none negative: those of cuts, then those of potentials. */
static void take_values(const program *p, double *value)
{
    const double *x = banyan_lp_values(p->lp) + p->graph->arc_count;

    for (size_t k = 0; k < p->solved_count; k++)
        value[k] = fmax(0, x[(size_t)p->potential_count + k]);
    for (int i = 0; i < p->potential_count; i++)
        value[p->solved_count + (size_t)i] = fmax(0, x[i]);
}

/* The cuts that have a weight, as a family: the nodes outside are those that it serves. */
static banyan_status make_family(const program *p, const int64_t *whole, banyan_cut_family *out,
                                 banyan_error *err)
{
    int nodes = p->graph->node_count, count = 0;
    size_t members = 0;
    banyan_status status;

    for (size_t k = 0; k < p->solved_count; k++) {
        count += whole[k] > 0;
        for (int v = 0; whole[k] > 0 && v < nodes; v++)
            members += !p->cuts[k * (size_t)nodes + (size_t)v];
    }
    status = banyan_cut_family_init(out, count, members, nodes, err);
    if (status)
        return status;
    count = 0;
    members = 0;
    for (size_t k = 0; k < p->solved_count; k++) {
        if (whole[k] <= 0)
            continue;
        out->weight[count++] = whole[k];
        for (int v = 0; v < nodes; v++)
            if (!p->cuts[k * (size_t)nodes + (size_t)v])
                out->node[members++] = v;
        out->first[count] = (int)members;
    }
    for (int i = 0; i < p->potential_count; i++)
        out->potential[p->node[i]] += p->sign[i] * whole[p->solved_count + (size_t)i];
    return BANYAN_SUCCESS;
}

/* Takes the family if it proves less than what is known. */
static banyan_status offer(const program *p, const int64_t *whole, banyan_balance *out, banyan_error *err)
{
    int64_t *price = banyan_alloc((size_t)p->graph->arc_count, sizeof *price);
    banyan_cut_family family = {0};
    banyan_fraction fraction;
    double value = HUGE_VAL;
    banyan_status status = price ? make_family(p, whole, &family, err) : banyan_fail_memory(err);

    if (!status && family.count) {
        status =
            banyan_check_gather(p->graph, p->towards, &family, "the program", price, &fraction, &value, err);
        if (status == BANYAN_PLAN_INVALID) /* potentials too large for whole numbers */
            status = BANYAN_SUCCESS;
    }
    if (!status && value < out->value) {
        banyan_cut_family_fini(&out->family);
        out->family = family;
        out->value = value;
        family = (banyan_cut_family){0};
    }
    banyan_cut_family_fini(&family);
    banyan_free(price);
    return status;
}

/* Small whole numbers in proportion, where there are some, and large ones. */
static banyan_status offer_values(const program *p, banyan_balance *out, banyan_error *err)
{
    size_t count = p->solved_count + (size_t)p->potential_count;
    double *value = banyan_alloc(count, sizeof *value), total = 0;
    int64_t *whole = banyan_alloc(count, sizeof *whole);
    banyan_status status = value && whole ? BANYAN_SUCCESS : banyan_fail_memory(err);

    if (!status) {
        take_values(p, value);
        if (banyan_fraction_small_integers(value, (int)count, SMALL_DENOMINATOR, BANYAN_SAME, whole))
            status = offer(p, whole, out, err);
    }
    for (size_t k = 0; !status && k < p->solved_count; k++)
        total += value[k];
    for (size_t k = 0; !status && k < count; k++)
        whole[k] = (int64_t)nearbyint(fmin(value[k] / total, 8) * LARGEST_WEIGHT);
    if (!status && total > 0)
        status = offer(p, whole, out, err);
    banyan_free(value);
    banyan_free(whole);
    return status;
}

banyan_status banyan_balance_solve(const banyan_graph *graph, int towards, double cut,
                                   const unsigned char *inside, banyan_balance *out, banyan_error *err)
{
    program p = {.graph = graph, .towards = towards, .source = graph->node_count};
    banyan_status status = program_init(&p, cut, err);

    *out = (banyan_balance){.value = HUGE_VAL};
    if (!status)
        status = run(&p, inside, err);
    if (!status)
        status = offer_values(&p, out, err);
    if (!status && !banyan_balance_branches(graph, towards))
        out->reached = p.served * cut * p.worth / banyan_lp_objective(p.lp);
    if (status)
        banyan_cut_family_fini(&out->family);
    program_fini(&p);
    return status;
}
