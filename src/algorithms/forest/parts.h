/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/forest/parts.h: what the files that pack a network share. */
#ifndef BANYAN_ALGORITHMS_FOREST_PARTS_H
#define BANYAN_ALGORITHMS_FOREST_PARTS_H

#include "algorithms/forest/pack.h"
#include "bound/allreduce.h"
#include "solve/pack/pair_columns.h"
#include "solve/pack/tree_columns.h"
#include "solve/presolve/contraction.h"

/* The packing's trees as flows, each rooted at its centre. */
void banyan_forest_take(banyan_flows *flows, const banyan_graph *graph, const banyan_tree_packing *packing);

/* At each root, the in-trees' weights laid end to end against the out-trees': every overlap is a flow. */
void banyan_forest_take_pairs(banyan_flows *flows, const banyan_graph *graph,
                              const banyan_pair_packing *packing);

/* Column generation, from the seed's trees where there are some, until enough is packed (0: the optimum). */
banyan_status banyan_forest_columns(const banyan_graph *graph, const banyan_trees *seed, double enough,
                                    banyan_flows *flows, banyan_error *err);

/* With switches or idle workers: the optimum; where only workers add, by shallow trees of equal weight if
 * these reach it. With max_depth trees are no deeper, even at a loss. */
banyan_status banyan_forest_switched(const banyan_topology *topology, const banyan_graph *graph,
                                     const banyan_forest_options *options, banyan_flows *flows,
                                     banyan_error *err);

/* Flows of a network of its own, whose links are the graph's arcs, at most as many as are allowed, and what
 * they reach. */
banyan_status banyan_forest_small(const banyan_graph *graph, const banyan_forest_options *options,
                                  banyan_flows *flows, double *bytes_per_s, banyan_error *err);

/* Pairs of the network in which nodes that wide cables join are one, laid into this one; together: also
 * cables that are wide only together. *good, and they are there: nothing is lost by it, or they come near to
 * the smaller network's bound. */
banyan_status banyan_forest_contract(const banyan_topology *topology, const banyan_graph *graph, int together,
                                     const banyan_forest_options *options, banyan_flows *flows, int *good,
                                     banyan_error *err);

/* The smaller network's flows, which reach this rate in the graph's units, as pairs of this one, each flow in
 * at most that many pieces (1: whole); perhaps none. *total is what they reach, in the graph's units. full,
 * per arc, or NULL: which inner cables turned out to be too narrow. */
banyan_status banyan_forest_lift(const banyan_graph *graph, const banyan_contraction *joined,
                                 const banyan_flows *small, double rate, int most_pieces, unsigned char *full,
                                 banyan_flows *flows, double *total, banyan_error *err);

/* Most pairs are cabled, and some workers only forward: trees of the network in which what these carry is
 * cables between the others. *good, and they are there: they reach 99 % of what all edges together allow, or
 * much of it where all else would take long. */
banyan_status banyan_forest_bypass(const banyan_graph *graph, const banyan_forest_options *options,
                                   banyan_flows *flows, int *good, banyan_error *err);

/* Idle workers behind switches: trees of the network in which nodes that free cables join are one, laid into
 * this one. Perhaps none. */
banyan_status banyan_forest_join(const banyan_graph *graph, const banyan_forest_options *options,
                                 const banyan_allreduce_bound *bound, banyan_flows *flows, banyan_error *err);

/* Pairs with hubs, what they reach, and the bound that they were made for, in the graph's units. */
typedef struct {
    banyan_flows flows;
    double rate, bound;
} banyan_forest_hub_flows;

/* More than a few workers behind switches, some idle: pairs of trees with hubs, for a bound that is easily
 * had. *good: they come near to it, and nothing else need be tried. Where many links between switches are
 * narrow that bound is seldom tight: then none, unless other ways have been tried (is_late), or there are
 * many workers. */
banyan_status banyan_forest_hubs_easily(const banyan_graph *graph, const banyan_forest_options *options,
                                        int is_late, banyan_forest_hub_flows *easy, int *good,
                                        banyan_error *err);

/* The same for the true bound where that is lower, in their place if they reach more. */
banyan_status banyan_forest_hubs(const banyan_graph *graph, const banyan_forest_options *options,
                                 const banyan_allreduce_bound *bound, banyan_forest_hub_flows *easy,
                                 banyan_error *err);

/* Workers behind switches, some idle. easy: pairs with hubs that there are already, or none; if these are
 * enough there are no flows. */
banyan_status banyan_forest_behind_switches(const banyan_topology *topology, const banyan_graph *graph,
                                            const banyan_forest_options *options,
                                            banyan_forest_hub_flows *easy, banyan_flows *flows,
                                            banyan_error *err);

/* Symmetric links, idle nodes only forward. */
banyan_status banyan_forest_plain(const banyan_topology *topology, const banyan_graph *graph,
                                  const banyan_forest_options *options, banyan_flows *flows,
                                  banyan_error *err);

/* Prices per arc and the bound that they prove, in bytes per second; 0: none is known. And how much is best
 * summed at each node. */
typedef struct {
    int64_t *price;
    double *root;
    double bound;
} banyan_forest_known;

/* Trees of a symmetric graph that may branch at any node: the best packing will have more than are allowed,
 * so there is no need to find it. */
int banyan_forest_is_tight(const banyan_graph *graph, const banyan_forest_options *options);

/* The bound of a symmetric graph, or, where the best packing is not looked for, one that is soon found and
 * holds. */
banyan_status banyan_forest_bound(const banyan_graph *graph, const banyan_forest_options *options,
                                  banyan_allreduce_bound *out, banyan_error *err);

/* Asymmetric links, many workers: where the narrower directions alone come near to an easy bound, the trees
 * of a symmetric network will do (*good), and are found much faster. With idle workers that help the easy
 * bound is in known, whose arrays are the caller's. */
banyan_status banyan_forest_symmetrise(const banyan_topology *topology, const banyan_graph *graph,
                                       const banyan_forest_options *options, banyan_flows *flows,
                                       banyan_forest_known *known, int *good, banyan_error *err);

/* The same in place of flows that are far from the bound (bytes per second), if they reach more. */
banyan_status banyan_forest_try_narrow(const banyan_topology *topology, const banyan_graph *graph,
                                       const banyan_forest_options *options, banyan_flows *flows,
                                       double bound, banyan_error *err);

/* Both down to the trees that are allowed; the better ones are then in flows, the others are gone. *rate is
 * theirs. */
banyan_status banyan_forest_keep_better(const banyan_topology *topology, const banyan_forest_options *options,
                                        banyan_flows *flows, banyan_flows *other, double *rate,
                                        banyan_error *err);

/* Every node active: the optimum is the strength, and few trees reach it. */
banyan_status banyan_forest_all_active(const banyan_topology *topology, const banyan_graph *graph,
                                       const banyan_forest_options *options, banyan_flows *flows,
                                       banyan_error *err);

/* Many workers, some nodes idle: trees of equal weight, improved by exchanges. */
banyan_status banyan_forest_equal_weights(const banyan_graph *graph, const banyan_forest_options *options,
                                          banyan_flows *flows, banyan_error *err);

/* The same where the bound is known, and idle nodes may be hubs. */
banyan_status banyan_forest_equal(const banyan_graph *graph, const banyan_forest_options *options,
                                  const banyan_allreduce_bound *bound, banyan_flows *flows,
                                  banyan_error *err);

/* Idle nodes that add, and too many for cheapest trees: very many good trees, weighed by a linear program.
 * bound: what is known of it already, or NULL. */
banyan_status banyan_forest_steiner(const banyan_graph *graph, const banyan_forest_options *options,
                                    const banyan_allreduce_bound *bound, banyan_flows *flows,
                                    banyan_error *err);

/* Idle workers that add and have cables to most active ones: stars there, and spanning trees beside them.
 * *good, and the flows are there: they reach 99 % of the bound, or of what so few trees can; or that much, in
 * bytes per second, if least is not 0. */
banyan_status banyan_forest_stars(const banyan_topology *topology, const banyan_graph *graph,
                                  const banyan_forest_options *options, double least, banyan_flows *flows,
                                  int *good, banyan_error *err);

/* Trees with their weights, in the graph's units. */
typedef struct {
    banyan_trees trees;
    double *weight;
    double total;
} banyan_forest_trees;

void banyan_forest_trees_fini(banyan_forest_trees *few);

/* At most max_trees trees, found for that number by the oracle under prices that prove the bound. Perhaps
 * none. */
banyan_status banyan_forest_few(const banyan_graph *graph, const int64_t *price, double bound,
                                const banyan_forest_options *options, banyan_tree_oracle oracle,
                                void *context, banyan_forest_trees *out, banyan_error *err);

/* The same as flows. *good, and they are there: they reach 99 % of the bound. */
banyan_status banyan_forest_few_flows(const banyan_graph *graph, const int64_t *price, double bound,
                                      const banyan_forest_options *options, banyan_tree_oracle oracle,
                                      void *context, banyan_flows *flows, int *good, banyan_error *err);

/* Behind switches that only forward, under prices that prove the bound: at most max_trees pairs of trees, one
 * up and one down with a common root, in the place of the flows if they reach more than *rate, in the graph's
 * units, which is then what they reach. */
banyan_status banyan_forest_pairs(const banyan_graph *graph, const int64_t *price, double bound,
                                  const banyan_forest_options *options, banyan_flows *flows, double *rate,
                                  banyan_error *err);

/* Any network: starts and rebalancing, until what they pack comes near to the bound. */
banyan_status banyan_forest_starts(const banyan_graph *graph, const banyan_forest_options *options,
                                   banyan_flows *flows, banyan_error *err);

/* Hops to the farthest node from where that is least. */
banyan_status banyan_forest_radius(const banyan_graph *graph, int *out, banyan_error *err);

#endif
