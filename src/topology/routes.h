/* SPDX-License-Identifier: Apache-2.0 */
/* topology/routes.h: the default route between two nodes, deterministic for a given topology.
 *
 *   shortest  fewest links; among equals the fastest, and of these spread by destination (D-mod-k), so
 *             that a fat-tree's spines share
 *   grid      dimension by dimension, first dimension first, the short way round (ties: upwards);
 *             falls back to shortest where a link of that path is missing
 *   updown    shortest among paths that go up from workers towards the core and then only down, never through
 *             a worker; falls back to shortest where there is none
 *
 * Trees towards a destination are found when first asked for and kept, so one object belongs to one
 * thread. */
#ifndef BANYAN_TOPOLOGY_ROUTES_H
#define BANYAN_TOPOLOGY_ROUTES_H

#include "topology/topology.h"

typedef struct banyan_routes banyan_routes;

/* The topology must outlive the routes. */
banyan_status banyan_routes_create(const banyan_topology *topology, banyan_routes **out, banyan_error *err);
void banyan_routes_destroy(banyan_routes *routes); /* accepts NULL */

/* The links from src to dst in order; 0 of them when src == dst. *links is borrowed until the next call. */
banyan_status banyan_routes_find(banyan_routes *routes, int src, int dst, const int **links, int *count,
                                 banyan_error *err);

#endif
