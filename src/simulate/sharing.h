/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/sharing.h: how fast transfers move that share links: max-min fair, by path.
 *
 * Transfers on the same path always get the same rate, so a path counts as one thing with a weight, the
 * number of transfers that are moving on it. Weights change in any number, then one call computes the rates
 * of those paths that feel the change. Rates are max-min fair when every path has a bottleneck: a full link
 * on which nobody is faster. That is what this call restores, and it looks no further than it has to. */
#ifndef BANYAN_SIMULATE_SHARING_H
#define BANYAN_SIMULATE_SHARING_H

#include "simulate/paths.h"

typedef struct banyan_sharing banyan_sharing;

banyan_status banyan_sharing_create(const banyan_topology *topology, const banyan_paths *paths,
                                    banyan_sharing **out, banyan_error *err);
void banyan_sharing_destroy(banyan_sharing *sharing); /* accepts NULL */

/* change: +1 or -1. Paths without links have no rate and are not to be named here. */
void banyan_sharing_change(banyan_sharing *sharing, int path, int change);

/* Makes the rates fair again. Gives the paths whose rate may have changed; borrowed until the next call, and
 * not given where there is none. */
int banyan_sharing_solve(banyan_sharing *sharing, const int **changed);

/* Bytes per second of each transfer on the path. */
double banyan_sharing_rate(const banyan_sharing *sharing, int path);

/* The bandwidth of a path whose links are on no other path, else 0. Such a path need not be named in changes:
 * it is enough to say once that it is used. */
double banyan_sharing_alone(const banyan_sharing *sharing, int path);
void banyan_sharing_use_alone(banyan_sharing *sharing, int path);

/* The largest share of the link's bandwidth that was in use at any moment. */
double banyan_sharing_peak(const banyan_sharing *sharing, int link);

/* Places looked at so far: what the work grows with. */
size_t banyan_sharing_work(const banyan_sharing *sharing);

#endif
