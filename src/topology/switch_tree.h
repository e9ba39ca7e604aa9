/* SPDX-License-Identifier: Apache-2.0 */
/* topology/switch_tree.h: a tree of switches and nodes that a scheduler's file describes switch by switch. A
 * node is a worker and a host of its own, every child hangs on one cable, routes go up and down. */
#ifndef BANYAN_TOPOLOGY_SWITCH_TREE_H
#define BANYAN_TOPOLOGY_SWITCH_TREE_H

#include "topology/build.h"
#include "topology/scan.h"

/* Of cables whose speed the file does not tell. */
#define BANYAN_SWITCH_TREE_GBPS 100.0

typedef struct banyan_switch_tree banyan_switch_tree;

banyan_switch_tree *banyan_switch_tree_create(void);       /* NULL when memory ran out */
void banyan_switch_tree_destroy(banyan_switch_tree *tree); /* accepts NULL */

/* The switch whose children are added next; gbps is that of each cable to them. A switch is begun once. */
banyan_status banyan_switch_tree_begin(banyan_switch_tree *tree, banyan_word name, int line, double gbps,
                                       banyan_error *err);

/* Hostlists (topology/hostlist.h) of its children. A child may hang on several switches. */
banyan_status banyan_switch_tree_add_switches(banyan_switch_tree *tree, banyan_word hostlist, int line,
                                              banyan_error *err);
banyan_status banyan_switch_tree_add_nodes(banyan_switch_tree *tree, banyan_word hostlist, int line,
                                           banyan_error *err);

/* There is a switch, every one was begun, and none is above itself. */
banyan_status banyan_switch_tree_check(banyan_switch_tree *tree, banyan_error *err);

/* After a successful check. */
void banyan_switch_tree_build(banyan_switch_tree *tree, banyan_topology_builder *builder);

#endif
