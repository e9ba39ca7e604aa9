/* SPDX-License-Identifier: Apache-2.0 */
/* topology/scale.h: how large a network may be for what is planned and bounded; docs/scale.md says what that
 * means to users. Limits are counts, not times, so that every machine answers the same. */
#ifndef BANYAN_TOPOLOGY_SCALE_H
#define BANYAN_TOPOLOGY_SCALE_H

#include "topology/topology.h"

enum {
    /* Up to here bounds are searched for and every algorithm may have as many transfers as it likes: all of
     * it takes about a minute. A larger network has bounds from cuts that need no search, and schedules whose
     * size grows with the workers, not with their square. */
    BANYAN_SCALE_SEARCHED_WORKERS = 1024,

    /* Nothing is planned or bounded beyond: a minute and 4 GiB would not do. Switches count as nodes, so that
     * each worker can have a host, a bridge and an adapter of its own. */
    BANYAN_SCALE_MAX_WORKERS = 16384,
    BANYAN_SCALE_MAX_NODES = 4 * BANYAN_SCALE_MAX_WORKERS,

    /* Pieces that the transfers of a schedule for a large network may move, each counted every time: as many
     * as a ring of the most searched workers moves. At the most workers that is 64 trees up and down. */
    BANYAN_SCALE_MAX_MOVES = 2 * BANYAN_SCALE_SEARCHED_WORKERS * BANYAN_SCALE_SEARCHED_WORKERS,

    /* Links on the paths of such a schedule, counted once for every pair of nodes: 16 for each move. A
     * simulation keeps them in 16 bytes each, 512 MiB. Only networks of very many hops, such as rings,
     * have more. */
    BANYAN_SCALE_MAX_HOPS = 16 * BANYAN_SCALE_MAX_MOVES
};

/* More workers than are searched. */
int banyan_scale_is_large(const banyan_topology *topology);

/* UNSUPPORTED with a sentence beyond the most. */
banyan_status banyan_scale_check(const banyan_topology *topology, banyan_error *err);

#endif
