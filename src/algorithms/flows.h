/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/flows.h: weighted trees become a schedule. A flow is a share of the vector, the tree on which it
 * is summed towards a root, and the tree on which the sum goes out again. */
#ifndef BANYAN_ALGORITHMS_FLOWS_H
#define BANYAN_ALGORITHMS_FLOWS_H

#include "algorithms/algorithms.h"
#include "solve/net/trees.h"

/* What executor and simulator cut messages into when nobody says how large they are. */
#define BANYAN_FLOW_SLICE_BYTES 131072.0

/* One hop between nodes that hold data, over these links in order. */
typedef struct {
    int src, dst;
    size_t first_link;
    int link_count;
} banyan_hop;

typedef struct {
    int root;
    double weight;
    int depth;        /* hops of the longer of the two trees */
    size_t first_hop; /* hops[first_hop ..]: in_count towards the root, farthest first, */
    int in_count;     /* then out_count away from it, nearest first */
    int out_count;
    int is_later; /* its sums go out only when everything has been summed: plans in stages */
} banyan_flow_tree;

typedef struct {
    banyan_flow_tree *flows;
    size_t flow_count, flow_capacity;
    banyan_hop *hops;
    size_t hop_count, hop_capacity;
    int *links;
    size_t link_count, link_capacity;
    int failed;
} banyan_flows;

void banyan_flows_init(banyan_flows *flows);
void banyan_flows_fini(banyan_flows *flows);

/* An undirected tree of a symmetric graph, rooted at its centre (root -1) or at the given node. */
void banyan_flows_add_tree(banyan_flows *flows, const banyan_graph *graph, const banyan_trees *trees,
                           size_t tree, int root, double weight);

/* An in-tree and an out-tree with the same root. is_later: the out-tree belongs to a second stage. */
void banyan_flows_add_pair(banyan_flows *flows, const banyan_graph *graph, const banyan_trees *trees,
                           size_t in_tree, size_t out_tree, int root, int is_later, double weight);

/* An out-tree alone, or (towards) an in-tree: for all-gather and reduce-scatter. */
void banyan_flows_add_one_way(banyan_flows *flows, const banyan_graph *graph, const banyan_trees *trees,
                              size_t tree, int root, int towards, double weight);

/* Every flow becomes two of half its weight. */
void banyan_flows_halve(banyan_flows *flows);

/* Heaviest first, at most limit; weightless ones go. */
void banyan_flows_keep_heaviest(banyan_flows *flows, size_t limit);

/* At most limit flows, weighed anew so that little is lost. */
banyan_status banyan_flows_limit(banyan_flows *flows, const banyan_topology *topology, size_t limit,
                                 banyan_error *err);

/* Keeps as many of the flows as serve a vector of this many bytes best: every flow over a link costs its
 * latency once more, deep ones cost more hops, and small vectors do not need the bandwidth of them all. */
banyan_status banyan_flows_fit(banyan_flows *flows, const banyan_topology *topology, size_t bytes,
                               banyan_error *err);

/* The rate of the flows on the topology, in vectors of total weight 1: least over links of bandwidth /
 * load. */
banyan_status banyan_flows_rate(const banyan_flows *flows, const banyan_topology *topology,
                                double *bytes_per_s, banyan_error *err);

/* The heaviest flow's part of the vector. */
double banyan_flows_heaviest_share(const banyan_flows *flows);

int banyan_flows_depth(const banyan_flows *flows);

/* Cuts the vector by weights (all-gather and reduce-scatter: the part of each rank by the weights of its
 * flows, which are whole numbers and come in the order of ranks), and gives every transfer the first round in
 * which its data is there and its links are free. */
banyan_status banyan_flows_build(const banyan_flows *flows, const banyan_problem *problem,
                                 banyan_schedule **out, banyan_error *err);

#endif
