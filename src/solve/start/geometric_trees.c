/* SPDX-License-Identifier: Apache-2.0 */
/* solve/start/geometric_trees.c: one tree after the other, from the heaviest on, each the cheapest under
 * costs that say what of its cables would be left over in the end (solve/start/geometric_weights.h). Besides,
 * each tree to come needs a cable of every worker: where these have little more left than that together, they
 * are more expensive, so that trees have few branches there. Where idle nodes help, prices follow all cuts
 * that are nearly the narrowest (solve/cut/near_minimum_cuts.h), and trees that would cost much more than the
 * least are lighter. Cost: a cheapest tree each. */
#include "solve/start/geometric_trees.h"

#include <math.h>

#include "core/alloc.h"
#include "core/random.h"
#include "solve/cut/near_minimum_cuts.h"
#include "solve/start/geometric_weights.h"

#define PLENTY 1.95     /* times of what is to come are left at a worker: its cables get no more expensive, */
#define BEHIND 0.02     /* nor, where it keeps to what it has, with that much less than in the beginning; */
#define SCARCE 1.0      /* else by this, times the square of what is missing */
#define FLOOR 0.01      /* of the mean price: cables without one */
#define COST_SCALE 1e6  /* of the mean price */
#define CHANCE 0.05     /* of it at most at random: so trees are not all the same where cables are */
#define USUAL_TREES 64. /* of more, as much less */
#define WELL 0.991      /* of the bound: no other weights are tried, */
#define NEAR 0.95       /* nor below this part of the bound, */
#define TRIED 2         /* before that many attempts where idle nodes help */
#define NO_ROOM 1e12    /* and more, the less there is, */
#define MAX_COST 1e15   /* but no more: trees' costs are to fit */
#define LOST 1e-3       /* of the bound: if a tree loses more, those to come weigh */
#define LOWER 0.93      /* as much, at most, */
#define MOST_LOWERED 12

typedef struct {
    const banyan_graph *graph;
    double chance; /* times what is above */
    const banyan_unit_weights_problem *problem;
    banyan_geometric_weights *fit;
    int *cable; /* per arc: its number */
    int *arc;   /* per cable: its first arc */
    int cable_count;
    double mean_price;
    /* NULL: every node is active, and each tree is the best for all cuts at once */
    banyan_near_minimum_cuts *near;
    double *left, *mixed; /* per arc: for these; and prices, */
    double bound;         /* which prove this */
    banyan_random random;
    double *plenty, *scarcity;    /* per node: as above */
    double *width, *price, *uses; /* per cable */
    int64_t *cost;                /* per arc */
} fitter;

static void fitter_fini(fitter *f)
{
    banyan_near_minimum_cuts_destroy(f->near);
    banyan_free(f->left);
    banyan_free(f->mixed);
    banyan_free(f->cable);
    banyan_free(f->arc);
    banyan_free(f->plenty);
    banyan_free(f->scarcity);
    banyan_free(f->width);
    banyan_free(f->price);
    banyan_free(f->uses);
    banyan_free(f->cost);
}

/* Of many cuts, by what is left for trees of this weight; a cable costs what its two arcs do. Returns what
 * that proves. */
static double mix_prices(fitter *f, double rest)
{
    double proven = banyan_near_minimum_cuts_mix(f->near, f->left, rest, f->mixed);

    for (int i = 0; i < f->graph->arc_count; i++)
        if (f->graph->arcs[i].twin > i)
            f->mixed[i] = f->mixed[f->graph->arcs[i].twin] = f->mixed[i] + f->mixed[f->graph->arcs[i].twin];
    return proven;
}

/* Those of the proof; where idle nodes help, mixed with those of other cuts. */
static banyan_status first_prices(fitter *f, banyan_error *err)
{
    const banyan_graph *graph = f->graph;
    banyan_status status = BANYAN_SUCCESS;

    f->bound = f->problem->bound;
    for (int i = 0; i < graph->arc_count; i++) {
        f->left[i] = (double)graph->arcs[i].capacity;
        f->mixed[i] = (double)f->problem->price[i];
    }
    if (!banyan_graph_has_idle_adders(graph))
        return status;
    status = banyan_near_minimum_cuts_create(graph, f->problem->price, f->bound, &f->near, err);
    if (!status)
        f->bound = mix_prices(f, f->bound);
    return status;
}

static banyan_status fitter_init(fitter *f, banyan_error *err)
{
    const banyan_graph *graph = f->graph;
    size_t arcs = (size_t)graph->arc_count;
    double priced = 0;
    banyan_status status;

    f->left = banyan_alloc(arcs, sizeof(double));
    f->mixed = banyan_alloc(arcs, sizeof(double));
    f->cable = banyan_alloc(arcs, sizeof *f->cable);
    f->arc = banyan_alloc(arcs, sizeof *f->arc);
    f->plenty = banyan_alloc((size_t)graph->node_count, sizeof *f->plenty);
    f->scarcity = banyan_alloc((size_t)graph->node_count, sizeof *f->scarcity);
    f->width = banyan_alloc(arcs, sizeof(double));
    f->price = banyan_alloc(arcs, sizeof(double));
    f->uses = banyan_alloc(arcs, sizeof(double));
    f->cost = banyan_alloc(arcs, sizeof *f->cost);
    if (!f->cable || !f->arc || !f->plenty || !f->scarcity || !f->width || !f->price || !f->uses ||
        !f->cost || !f->left || !f->mixed)
        return banyan_fail_memory(err);
    status = first_prices(f, err);
    if (status)
        return status;
    for (int i = 0; i < graph->arc_count; i++) {
        if (banyan_graph_cable(graph, i) != i) {
            f->cable[i] = f->cable[graph->arcs[i].twin];
            continue;
        }
        f->cable[i] = f->cable_count;
        f->arc[f->cable_count] = i;
        f->width[f->cable_count] = (double)graph->arcs[i].capacity;
        f->price[f->cable_count] = f->mixed[i];
        priced += f->mixed[i] > 0;
        f->mean_price += f->price[f->cable_count++];
    }
    f->mean_price /= fmax(1, priced);
    return BANYAN_SUCCESS;
}

/* What the cables of a node have left, as times of what is to come. */
static double left_at(const fitter *f, int v)
{
    const banyan_graph *graph = f->graph;
    double left = 0;

    for (int j = graph->out_first[v]; j < graph->out_first[v + 1]; j++)
        left += banyan_geometric_weights_left(f->fit, f->cable[graph->out_arc[j]]);
    return left / banyan_geometric_weights_rest(f->fit);
}

/* Where idle nodes help, workers have far less than plenty: that makes cables between two of them more
 * expensive than those to idle nodes, by twice as much, and trees may use the latter up and leave the others.
 * So in all attempts but the first each keeps to what it has. */
static void set_plenty(fitter *f, int as_begun)
{
    for (int v = 0; v < f->graph->node_count; v++)
        f->plenty[v] = as_begun ? left_at(f, v) - BEHIND : PLENTY;
}

/* Where the cables of a worker have little more left than all trees to come need. */
static void find_scarce(fitter *f)
{
    for (int i = 0; i < f->graph->active_count; i++) {
        int v = f->graph->active[i];
        double missing = fmax(0, f->plenty[v] - left_at(f, v));

        f->scarcity[v] = SCARCE * f->mean_price * missing * missing;
    }
}

/* By what cables have left. */
static void price_anew(fitter *f)
{
    for (int i = 0; i < f->graph->arc_count; i++)
        f->left[i] = banyan_geometric_weights_left(f->fit, f->cable[i]);
    mix_prices(f, banyan_geometric_weights_rest(f->fit));
    for (int i = 0; i < f->cable_count; i++)
        banyan_geometric_weights_reprice(f->fit, i, f->mixed[f->arc[i]]);
}

static void set_costs(fitter *f)
{
    find_scarce(f);
    if (f->near)
        price_anew(f);
    for (int i = 0; i < f->cable_count; i++) {
        const banyan_arc *arc = &f->graph->arcs[f->arc[i]];
        double cost = banyan_geometric_weights_cost(f->fit, i);

        cost =
            cost < 0
                ? NO_ROOM *
                      (2 - banyan_geometric_weights_left(f->fit, i) / banyan_geometric_weights_weight(f->fit))
                : COST_SCALE / f->mean_price *
                      (cost + f->chance * (FLOOR + CHANCE * banyan_random_unit(&f->random)) * f->mean_price +
                       f->scarcity[arc->src] + f->scarcity[arc->dst]);
        f->cost[f->arc[i]] = f->cost[arc->twin] = 1 + (int64_t)(cost < MAX_COST ? cost : MAX_COST);
    }
}

/* The latest tree gets as much of its weight as its cables have room for, and they have less then. */
static double take(fitter *f, const banyan_trees *trees)
{
    size_t begin = banyan_trees_arcs_begin(trees, trees->tree_count - 1);
    double weight = banyan_geometric_weights_weight(f->fit);

    for (size_t a = begin; a < trees->arc_count; a++)
        f->uses[f->cable[trees->arcs[a]]]++;
    for (size_t a = begin; a < trees->arc_count; a++) {
        int cable = f->cable[trees->arcs[a]];

        weight = fmin(weight, banyan_geometric_weights_left(f->fit, cable) / f->uses[cable]);
    }
    for (size_t a = begin; a < trees->arc_count; a++) {
        banyan_geometric_weights_take(f->fit, f->cable[trees->arcs[a]], weight);
        f->uses[f->cable[trees->arcs[a]]] = 0;
    }
    return weight;
}

/* What of the bound is lost if the latest tree has its weight: it costs more than the least, or some cable
 * has no room for it. */
static double lost_by(const fitter *f, const banyan_trees *trees)
{
    double weight = banyan_geometric_weights_weight(f->fit), cost = -1;

    for (size_t a = banyan_trees_arcs_begin(trees, trees->tree_count - 1); a < trees->arc_count; a++) {
        int arc = trees->arcs[a];

        cost += f->mixed[arc] + (banyan_geometric_weights_left(f->fit, f->cable[arc]) < weight * (1 - 1e-9));
    }
    return cost * weight / f->bound;
}

static banyan_status grow(fitter *f, banyan_trees *trees, banyan_error *err)
{
    set_costs(f);
    if (f->problem->oracle(f->problem->context, f->cost, trees) < 0)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "the active workers are not all connected");
    return trees->failed ? banyan_fail_memory(err) : BANYAN_SUCCESS;
}

/* The cheapest tree. Where idle nodes help, that may be a expensive one if it is to be heavy: then all to
 * come are lighter. */
static banyan_status grow_good(fitter *f, banyan_trees *trees, int *lowered, banyan_error *err)
{
    banyan_status status = grow(f, trees, err);

    for (; !status && f->near && *lowered < MOST_LOWERED && lost_by(f, trees) > LOST; ++*lowered) {
        banyan_trees_drop_last(trees);
        banyan_geometric_weights_lower(f->fit, LOWER * banyan_geometric_weights_weight(f->fit));
        status = grow(f, trees, err);
    }
    return status;
}

static banyan_status pack(fitter *f, banyan_trees *trees, double *weight, double *total, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;
    int lowered = 0;

    for (; !status && banyan_geometric_weights_weight(f->fit) > 0; banyan_geometric_weights_next(f->fit)) {
        double got;

        status = grow_good(f, trees, &lowered, err);
        if (status)
            break;
        got = take(f, trees);
        if (got > 0)
            *total += weight[trees->tree_count - 1] = got;
        else
            banyan_trees_drop_last(trees);
    }
    return status;
}

/* In the place of what is there, if they reach more. */
static banyan_status attempt(fitter *f, int number, banyan_trees *trees, double **weight, double *total,
                             banyan_error *err)
{
    banyan_geometric_weights_problem problem = {f->cable_count,
                                                f->width,
                                                f->price,
                                                f->bound,
                                                f->problem->enough * f->problem->bound / f->bound,
                                                f->problem->tree_limit,
                                                number};
    double *each = banyan_alloc((size_t)problem.tree_limit, sizeof *each), sum = 0;
    banyan_trees found;
    banyan_status status =
        each ? banyan_geometric_weights_create(&problem, &f->fit, err) : banyan_fail_memory(err);

    banyan_trees_init(&found);
    if (!status) {
        set_plenty(f, f->near && number > 0);
        status = pack(f, &found, each, &sum, err);
    }
    if (!status && sum > *total) {
        banyan_trees before = *trees;
        double *weight_before = *weight;

        *trees = found;
        *weight = each;
        *total = sum;
        found = before;
        each = weight_before;
    }
    banyan_trees_fini(&found);
    banyan_free(each);
    banyan_geometric_weights_destroy(f->fit);
    f->fit = NULL;
    return status;
}

banyan_status banyan_geometric_trees_pack(const banyan_graph *graph,
                                          const banyan_unit_weights_problem *problem, banyan_trees *trees,
                                          double **weight, double *total, banyan_error *err)
{
    fitter f = {.graph = graph, .chance = fmin(1, USUAL_TREES / problem->tree_limit), .problem = problem};
    banyan_status status = fitter_init(&f, err);

    *weight = NULL;
    *total = 0;
    for (int i = 0; !status && i < BANYAN_GEOMETRIC_ATTEMPTS && *total < WELL * problem->bound &&
                    (i == 0 || (f.near && i < TRIED) || *total > NEAR * problem->bound);
         i++)
        status = attempt(&f, i, trees, weight, total, err);
    if (status) {
        banyan_trees_fini(trees);
        banyan_free(*weight);
        *weight = NULL;
    }
    fitter_fini(&f);
    return status;
}
