/* SPDX-License-Identifier: Apache-2.0 */
/* bound/network.h: a topology with active workers as the graph that solvers see. */
#ifndef BANYAN_BOUND_NETWORK_H
#define BANYAN_BOUND_NETWORK_H

#include "solve/net/graph.h"
#include "topology/topology.h"

/* What idle workers do: add and copy like active ones, only forward, or nothing. */
typedef enum { BANYAN_RELAYS_ADD, BANYAN_RELAYS_FORWARD, BANYAN_RELAYS_NONE } banyan_relays;

/* Reads 'add', 'forward' or 'none'; INVALID_ARGUMENT otherwise. */
banyan_status banyan_relays_parse(const char *text, banyan_relays *out, banyan_error *err);

/* Nodes keep their numbers; arcs carry the number of their link. Idle workers and switches that cannot lie on
 * the way between two active workers, nor be of use beside it, lose their links, so they do not burden the
 * solvers. INVALID_ARGUMENT where the active workers do not all reach each other in it. */
banyan_status banyan_network_graph(const banyan_topology *topology, const int *active, int active_count,
                                   banyan_relays relays, banyan_graph **out, banyan_error *err);

/* Idle nodes that add are chosen from by search; beyond these many planners let them forward only. */
enum {
    BANYAN_MANY_HELPERS = 56,         /* symmetric links */
    BANYAN_MANY_HELPERS_OF_FEW = 260, /* and few active workers */
    BANYAN_MANY_HELPERS_UNLIKE = 20,
    BANYAN_MANY_PAIRS = 1600, /* helpers times active workers, symmetric links */
    BANYAN_MANY_NODES = 40,   /* cuts and trees of whole units take less time, where they are good; */
    BANYAN_MANY_ARCS = 400,   /* the same, as a program over trees would be a large one */
    BANYAN_MANY_SETS = 450000 /* sets of helpers times nodes squared: a tree for each takes long */
};

int banyan_network_helpers(const banyan_graph *graph); /* how many there are */
int banyan_network_has_many_helpers(const banyan_graph *graph);

/* The cheapest trees through idle nodes that add can be found in good time: few of these, or few active
 * workers. */
int banyan_network_is_searched(const banyan_graph *graph);

/* The same for the trees of one set of prices, as a proof needs them: in larger networks, too. */
int banyan_network_has_few_sets(const banyan_graph *graph);

#endif
