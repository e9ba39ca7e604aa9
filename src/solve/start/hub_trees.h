/* SPDX-License-Identifier: Apache-2.0 */
/* solve/start/hub_trees.h: many workers behind switches: trees of equal weight in which workers take turns at
 * being busy. */
#ifndef BANYAN_SOLVE_START_HUB_TREES_H
#define BANYAN_SOLVE_START_HUB_TREES_H

#include "solve/net/trees.h"

/* Appends tree_count trees on the active nodes of a symmetric graph, with idle nodes that add as hubs where
 * these are behind the same switch; none where some group of workers has no way to the others but through
 * workers. */
banyan_status banyan_hub_trees_pack(const banyan_graph *graph, int tree_count, banyan_trees *trees,
                                    banyan_error *err);

#endif
