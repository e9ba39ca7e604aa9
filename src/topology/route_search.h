/* SPDX-License-Identifier: Apache-2.0 */
/* topology/route_search.h: the default route between two nodes, searched for by itself: for networks that
 * are too large to keep a table for every destination. */
#ifndef BANYAN_TOPOLOGY_ROUTE_SEARCH_H
#define BANYAN_TOPOLOGY_ROUTE_SEARCH_H

#include "topology/topology.h"

typedef struct banyan_route_search banyan_route_search;

/* By node, how many links lead from it to the nearest worker; NULL: no memory. The caller frees it. */
int *banyan_route_levels(const banyan_topology *topology);

/* Whether an up-down route climbs on this link. */
int banyan_route_is_up(const int *level, const banyan_link *link);

/* level: of the nodes, where routes go up and down; else NULL. Both are borrowed. */
banyan_status banyan_route_search_create(const banyan_topology *topology, const int *level,
                                         banyan_route_search **out, banyan_error *err);
void banyan_route_search_destroy(banyan_route_search *search); /* accepts NULL */

/* Writes the links from src to dst and returns how many there are; -1: there is no such route. path has
 * room for as many links as there are nodes. Plain shortest routes, unless is_updown. */
int banyan_route_search_find(banyan_route_search *search, int src, int dst, int is_updown, int *path);

#endif
