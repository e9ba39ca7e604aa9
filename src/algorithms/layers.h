/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/layers.h: shapes '4x8x4' of nested rings: reading them, and finding the best for a network. */
#ifndef BANYAN_ALGORITHMS_LAYERS_H
#define BANYAN_ALGORITHMS_LAYERS_H

#include "algorithms/algorithms.h"
#include "algorithms/nested.h"

/* Reads '4x8x4'; option is the name for error sentences. */
banyan_status banyan_layers_parse(const char *text, const char *option, banyan_layers *out,
                                  banyan_error *err);
void banyan_layers_format(const banyan_layers *shape, char *buffer, size_t size);

/* Transfers in this shape, with rings that run one way. */
double banyan_layers_transfers(const banyan_layers *shape, banyan_collective collective);

/* Seconds for that many bytes when all rings of a layer run in step, one or both ways round, and share links
 * fairly. Routes are the topology's default ones. */
banyan_status banyan_layers_time(const banyan_topology *topology, const int *nodes,
                                 const banyan_layers *shape, int ways, double bytes, double *seconds,
                                 banyan_error *err);

/* The shape of the nodes, in this order, that takes the least such time. */
banyan_status banyan_layers_search(const banyan_topology *topology, const int *nodes, int count, int ways,
                                   double bytes, banyan_layers *out, banyan_error *err);

#endif
