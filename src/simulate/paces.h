/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/paces.h: how fast each node has to send to each other one, so that a schedule takes no longer than
 * its fullest link demands.
 *
 * Connections that meet on a full link share it equally, whereas a plan that is the best for a network mostly
 * wants unequal shares. A connection that is paced to its own share leaves the others theirs, and none of
 * them fills the queue in front of the link. */
#ifndef BANYAN_SIMULATE_PACES_H
#define BANYAN_SIMULATE_PACES_H

#include "simulate/paths.h"

/* Of the share, headers included: what a connection may send, so that one that was held up for a moment can
 * catch up. With more, connections that meet fill queues and push each other aside; with less than 1.02, BBR
 * does not reach its share (measured with 0.97 to 1.4 on five networks). */
#define BANYAN_PACE_HEADROOM 1.05

/* By path: bytes a second at which all its transfers are sent in the time that the fullest link takes. Where
 * a barrier divides the schedule, the faster of the two. The caller frees. */
banyan_status banyan_paces_of_paths(const banyan_schedule *schedule, const banyan_topology *topology,
                                    const banyan_paths *paths, double **out, banyan_error *err);

/* By destination, for one source; 0 where it sends nothing. The caller frees. */
banyan_status banyan_paces_find(const banyan_schedule *schedule, const banyan_topology *topology, int src,
                                double **out, banyan_error *err);

/* Whether some path is to get less than its narrowest link carries: where none is, pacing changes nothing. */
banyan_status banyan_paces_matter(const banyan_schedule *schedule, const banyan_topology *topology, int *out,
                                  banyan_error *err);

/* The same network where each path ends with a link of its own, as fast as its pace with headroom: what fair
 * sharing makes of paced connections. *topology shares all but its links with the original. */
typedef struct {
    banyan_topology topology;
    banyan_paths paths;
} banyan_paced_network;

banyan_status banyan_paced_network_init(banyan_paced_network *out, const banyan_schedule *schedule,
                                        const banyan_topology *topology, const banyan_paths *paths,
                                        banyan_error *err);
void banyan_paced_network_fini(banyan_paced_network *network);

#endif
