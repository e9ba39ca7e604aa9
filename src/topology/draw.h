/* SPDX-License-Identifier: Apache-2.0 */
/* topology/draw.h: a topology for human eyes. Each gives a text that the caller frees. */
#ifndef BANYAN_TOPOLOGY_DRAW_H
#define BANYAN_TOPOLOGY_DRAW_H

#include "topology/topology.h"

banyan_status banyan_topology_draw_text(const banyan_topology *topology, char **out, banyan_error *err);
banyan_status banyan_topology_draw_dot(const banyan_topology *topology, char **out, banyan_error *err);
banyan_status banyan_topology_draw_svg(const banyan_topology *topology, char **out, banyan_error *err);

#endif
