/* SPDX-License-Identifier: Apache-2.0 */
/* solve/start/geometric_pairs.c: one pair after the other, from the heaviest on, each tree the cheapest under
 * costs that say what of its arcs would be left over in the end (solve/start/geometric_weights.h). Besides,
 * every pair to come has to leave each active node at least once, and to enter it: where arcs have little
 * more left than that together, they are more expensive. Cost: two cheapest trees a pair. */
#include "solve/start/geometric_pairs.h"

#include <math.h>

#include "core/alloc.h"
#include "core/random.h"
#include "core/scratch.h"
#include "solve/cut/near_minimum_cuts.h"
#include "solve/net/effort.h"
#include "solve/oracle/pair_oracle.h"
#include "solve/start/geometric_weights.h"
#include "solve/start/pair_tools.h"

#define AIM 0.9999             /* share of the bound that the weights add up to, where they can */
#define TARGET_SHARE 0.991     /* share of the bound from which on no other weights are tried */
#define MANY_TREES_SHARE 0.999 /* the same share where more than BANYAN_FEW_TREES pairs are allowed */
#define PROMISING_SHARE 0.95   /* share of the bound that attempts must reach for others to follow */
#define HELPED_SHARE 0.5       /* the same where idle nodes help, whose attempts differ more */
/* width left at a node, in times of what is to come, from which on its arcs cost nothing more */
#define PLENTY 1.95
/* width that a node may lack, in the same measure, compared with the beginning before its arcs cost more */
#define BEHIND 0.02
#define FLOOR 0.01 /* cost of arcs without a price, as a part of the mean price */
/* random cost at most, as a part of the mean price: trees differ where arcs do not */
#define RANDOM_COST 0.05
#define COST_SCALE 1e6    /* what the mean price is as a whole number */
#define NO_ROOM 1e12      /* cost of an arc without room, and up to twice that the less room there is */
#define MAX_COST 1e15     /* so that the costs of trees are within 63 bits */
#define MAX_LOSS 5e-4     /* share of the bound: pairs that lose more get a lower weight */
#define LOWER_FACTOR 0.93 /* that weight as a part of the one before */
#define MAX_LOWERED 12    /* times that weights are lowered */

/* Where idle nodes help it is not clear beforehand what is best: roots as they are given, or where most is
 * left; nodes that keep to what they have in the beginning, of which these have far less than plenty, each as
 * much as it needs; and which weights. */
static const struct {
    int way, has_roots, keeps;
} helped[] = {{2, 1, 0}, {0, 0, 1}, {2, 0, 0}};

typedef struct {
    const banyan_graph *graph;
    double chance; /* times what is above */
    banyan_pair_oracle oracle;
    banyan_geometric_weights *fit;
    const double *part; /* per node: what should be summed there; NULL: no matter */
    double *summed;     /* and what is */
    double parts;       /* all together */
    double mean_price;
    banyan_near_minimum_cuts *near; /* NULL: no idle node helps */
    double *left, *mixed;           /* per arc: for these; and prices, */
    double bound;                   /* which prove this */
    double *uses;                   /* per arc */
    double *plenty;                 /* per node that sends, then that gets: as above */
    double *sends,
        /* per node: what its arcs have left, over what is to come; then what they are more expensive by */
        *gets;
    int64_t *cost;
    banyan_random random;
    banyan_trees trees; /* in, out, in, out, ... */
    int *root;          /* per tree */
    double *weight;     /* per pair */
    double total;
    banyan_scratch memory;
} fitter;

static void fitter_fini(fitter *f)
{
    banyan_pair_oracle_fini(&f->oracle);
    banyan_geometric_weights_destroy(f->fit);
    banyan_trees_fini(&f->trees);
    banyan_near_minimum_cuts_destroy(f->near);
    banyan_scratch_free(&f->memory);
    banyan_free(f->root);
}

/* Prices of many cuts in the place of the problem's, where idle nodes help. */
static banyan_status mix_first(fitter *f, const int64_t *proof, banyan_geometric_weights_problem *problem,
                               banyan_error *err)
{
    banyan_status status = banyan_near_minimum_cuts_create(f->graph, proof, problem->bound, &f->near, err);

    if (status)
        return status;
    f->bound = banyan_near_minimum_cuts_mix(f->near, problem->width, problem->bound, f->mixed);
    problem->enough *= problem->bound / f->bound;
    problem->bound = f->bound;
    problem->price = f->mixed;
    return BANYAN_SUCCESS;
}

static banyan_status fitter_init(fitter *f, const banyan_graph *graph, const int64_t *proof,
                                 banyan_geometric_weights_problem problem, banyan_error *err)
{
    size_t arcs = (size_t)graph->arc_count, nodes = (size_t)graph->node_count,
           trees = 2 * (size_t)problem.tree_limit;
    double priced = 0;
    banyan_status status;

    banyan_trees_init(&f->trees);
    f->graph = graph;
    f->left = banyan_scratch_take(&f->memory, arcs, sizeof(double));
    f->mixed = banyan_scratch_take(&f->memory, arcs, sizeof(double));
    f->summed = banyan_scratch_take(&f->memory, nodes, sizeof(double));
    f->plenty = banyan_scratch_take(&f->memory, 2 * nodes, sizeof(double));
    f->sends = banyan_scratch_take(&f->memory, nodes, sizeof(double));
    f->gets = banyan_scratch_take(&f->memory, nodes, sizeof(double));
    f->uses = banyan_scratch_take(&f->memory, arcs, sizeof(double));
    f->cost = banyan_scratch_take(&f->memory, arcs, sizeof *f->cost);
    f->root = banyan_alloc(trees, sizeof *f->root);
    f->weight = banyan_scratch_take(&f->memory, trees / 2, sizeof *f->weight);
    if (f->memory.failed || !f->root)
        return banyan_fail_memory(err);
    if (banyan_graph_has_helpers(graph)) {
        status = mix_first(f, proof, &problem, err);
        if (status)
            return status;
    }
    for (int i = 0; i < graph->arc_count; i++) {
        priced += problem.price[i] > 0;
        f->mean_price += problem.price[i];
    }
    f->mean_price /= fmax(1, priced);
    for (int v = 0; v < graph->node_count && f->part; v++)
        f->parts += f->part[v];
    status = banyan_pair_oracle_init(&f->oracle, graph, err);
    f->oracle.quick = 1;
    f->oracle.careful = banyan_graph_has_helpers(graph);
    return status ? status : banyan_geometric_weights_create(&problem, &f->fit, err);
}

/* What the arcs of nodes have left, as times of what is to come. */
static void measure_nodes(fitter *f)
{
    double rest = banyan_geometric_weights_rest(f->fit);

    for (int v = 0; v < f->graph->node_count; v++)
        f->sends[v] = f->gets[v] = 0;
    for (int i = 0; i < f->graph->arc_count; i++) {
        f->sends[f->graph->arcs[i].src] += banyan_geometric_weights_left(f->fit, i) / rest;
        f->gets[f->graph->arcs[i].dst] += banyan_geometric_weights_left(f->fit, i) / rest;
    }
}

/* What nodes keep to. */
static void set_plenty(fitter *f, int as_begun)
{
    int nodes = f->graph->node_count;

    measure_nodes(f);
    for (int v = 0; v < nodes; v++) {
        f->plenty[v] = as_begun ? f->sends[v] - BEHIND : PLENTY;
        f->plenty[nodes + v] = as_begun ? f->gets[v] - BEHIND : PLENTY;
    }
}

/* Where most is missing of what should be summed there, or else most is left. */
static int choose_root(const fitter *f)
{
    double most = -HUGE_VAL, done = f->total + banyan_geometric_weights_weight(f->fit);
    int best = f->oracle.root[0];

    for (int i = 0; i < f->oracle.root_count; i++) {
        int v = f->oracle.root[i];
        double lag = f->part ? f->part[v] / f->parts * done - f->summed[v] : fmin(f->sends[v], f->gets[v]);

        if (lag > most) {
            most = lag;
            best = v;
        }
    }
    return best;
}

/* The square of what the node is short of, in mean prices. */
static double scarcity_cost(const fitter *f, double times, double plenty, int node)
{
    double missing = fmax(0, plenty - times);

    return f->graph->role[node] & BANYAN_NODE_ACTIVE ? missing * missing : 0;
}

/* By what arcs have left. */
static void price_anew(fitter *f)
{
    for (int i = 0; i < f->graph->arc_count; i++)
        f->left[i] = fmax(0, banyan_geometric_weights_left(f->fit, i));
    banyan_near_minimum_cuts_mix(f->near, f->left, banyan_geometric_weights_rest(f->fit), f->mixed);
    for (int i = 0; i < f->graph->arc_count; i++)
        banyan_geometric_weights_reprice(f->fit, i, f->mixed[i]);
}

static void set_costs(fitter *f)
{
    measure_nodes(f);
    for (int i = 0; i < f->graph->arc_count; i++) {
        const banyan_arc *arc = &f->graph->arcs[i];
        double cost = banyan_geometric_weights_cost(f->fit, i);

        cost = cost < 0 ? NO_ROOM * (2 - banyan_geometric_weights_left(f->fit, i) /
                                             banyan_geometric_weights_weight(f->fit))
                        : COST_SCALE * (cost / f->mean_price +
                                        f->chance * (FLOOR + RANDOM_COST * banyan_random_unit(&f->random)) +
                                        scarcity_cost(f, f->sends[arc->src], f->plenty[arc->src], arc->src) +
                                        scarcity_cost(f, f->gets[arc->dst],
                                                      f->plenty[f->graph->node_count + arc->dst], arc->dst));
        f->cost[i] = 1 + (int64_t)(cost < MAX_COST ? cost : MAX_COST);
    }
}

/* Takes that much of what the tree uses, or gives it back. */
static void take(fitter *f, size_t tree, double weight)
{
    for (size_t a = banyan_trees_arcs_begin(&f->trees, tree); a < banyan_trees_arcs_close(&f->trees, tree);
         a++)
        banyan_geometric_weights_take(f->fit, f->trees.arcs[a], weight);
}

static banyan_status grow(fitter *f, int towards, int root, banyan_error *err)
{
    set_costs(f);
    if (towards)
        banyan_pair_packing_measure_in(&f->oracle, f->cost);
    else
        banyan_pair_packing_measure_out(&f->oracle, f->cost);
    return banyan_pair_tools_grow(&f->oracle, !towards, root, &f->trees, err);
}

/* What the latest pair can weigh: its arcs have that much left for each use. */
static double weight_of_pair(fitter *f, size_t first_tree)
{
    size_t begin = banyan_trees_arcs_begin(&f->trees, first_tree);
    double weight = banyan_geometric_weights_weight(f->fit);

    for (size_t a = begin; a < f->trees.arc_count; a++)
        f->uses[f->trees.arcs[a]]++;
    for (size_t a = begin; a < f->trees.arc_count; a++)
        weight =
            fmin(weight, banyan_geometric_weights_left(f->fit, f->trees.arcs[a]) / f->uses[f->trees.arcs[a]]);
    for (size_t a = begin; a < f->trees.arc_count; a++)
        f->uses[f->trees.arcs[a]] = 0;
    return weight;
}

/* Both trees of a pair at the root, which take what they weigh for the while. */
static banyan_status grow_pair(fitter *f, int root, banyan_error *err)
{
    size_t first = f->trees.tree_count;
    double weight = banyan_geometric_weights_weight(f->fit);
    banyan_status status;

    if (f->near)
        price_anew(f);
    status = grow(f, 1, root, err);
    if (status)
        return status;
    take(f, first, weight);
    status = grow(f, 0, root, err);
    take(f, first, -weight);
    return status;
}

static void drop_pair(fitter *f)
{
    banyan_trees_drop_last(&f->trees);
    banyan_trees_drop_last(&f->trees);
}

/* What of the bound is lost if the latest pair has its weight: it costs more than the least, or some arc has
 * no room for it. */
static double lost_by_pair(const fitter *f, size_t first)
{
    double weight = banyan_geometric_weights_weight(f->fit), cost = -1;

    for (size_t a = banyan_trees_arcs_begin(&f->trees, first); a < f->trees.arc_count; a++) {
        int arc = f->trees.arcs[a];

        cost += f->mixed[arc] + (banyan_geometric_weights_left(f->fit, arc) < weight * (1 - 1e-9));
    }
    return cost * weight / f->bound;
}

static banyan_status add_pair(fitter *f, int *lowered, banyan_error *err)
{
    size_t first = f->trees.tree_count;
    double got;
    int root;
    banyan_status status;

    measure_nodes(f);
    root = choose_root(f);
    status = grow_pair(f, root, err);
    for (; !status && f->near && *lowered < MAX_LOWERED && lost_by_pair(f, first) > MAX_LOSS; ++*lowered) {
        drop_pair(f);
        banyan_geometric_weights_lower(f->fit, LOWER_FACTOR * banyan_geometric_weights_weight(f->fit));
        status = grow_pair(f, root, err);
    }
    if (status)
        return status;
    got = weight_of_pair(f, first);
    if (got > 0) {
        take(f, first, got);
        take(f, first + 1, got);
        f->root[first] = f->root[first + 1] = root;
        f->weight[first / 2] = got;
        f->summed[root] += got;
        f->total += got;
    } else {
        drop_pair(f);
    }
    return BANYAN_SUCCESS;
}

static banyan_status attempt(const banyan_graph *graph, const double *root, int as_begun,
                             const banyan_geometric_weights_problem *problem, double *least,
                             banyan_pair_packing *packing, banyan_error *err)
{
    fitter f = {.part = root, .chance = fmin(1, BANYAN_USUAL_TREES / problem->tree_limit)};
    int lowered = 0;
    banyan_status status = fitter_init(&f, graph, packing->price, *problem, err);

    if (!status)
        set_plenty(&f, as_begun);
    for (; !status && banyan_geometric_weights_weight(f.fit) > 0; banyan_geometric_weights_next(f.fit))
        status = add_pair(&f, &lowered, err);
    if (!status && f.total > *least) {
        *least = f.total;
        status = banyan_pair_tools_hand_over(packing, &f.trees, &f.root, f.weight, err);
    }
    fitter_fini(&f);
    return status;
}

banyan_status banyan_geometric_pairs_find(const banyan_graph *graph,
                                          const banyan_geometric_pairs_problem *problem, double least,
                                          banyan_pair_packing *packing, banyan_error *err)
{
    banyan_geometric_weights_problem fit = {.count = graph->arc_count,
                                            .width = problem->width,
                                            .price = problem->price,
                                            .bound = packing->bound_value,
                                            .enough = AIM,
                                            .tree_limit = problem->pair_limit};
    int is_helped = banyan_graph_has_helpers(graph);
    double reached = least, near = is_helped ? HELPED_SHARE : PROMISING_SHARE,
           well = problem->pair_limit > BANYAN_FEW_TREES ? MANY_TREES_SHARE : TARGET_SHARE;
    banyan_status status = BANYAN_SUCCESS;

    for (int i = 0; !status && i < BANYAN_GEOMETRIC_ATTEMPTS && reached < well * packing->bound_value &&
                    (i == 0 || reached > near * packing->bound_value);
         i++) {
        fit.attempt = is_helped ? helped[i].way : i;
        status = attempt(graph, is_helped && !helped[i].has_roots ? NULL : problem->root,
                         is_helped && helped[i].keeps, &fit, &reached, packing, err);
    }
    return status;
}
