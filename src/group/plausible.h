/* SPDX-License-Identifier: Apache-2.0 */
/* group/plausible.h: networks that ranks may run on of which only the hosts are known. */
#ifndef BANYAN_GROUP_PLAUSIBLE_H
#define BANYAN_GROUP_PLAUSIBLE_H

#include "topology/topology.h"

enum { BANYAN_PLAUSIBLE_COUNT = 3 };

/* The hosts of a network by hosts (bootstrap/setup.h), with 1 Gbit/s each:
 *   0: on one switch
 *   1: in racks of two, in their order, behind trunks of half of what their hosts have
 *   2: in two racks, the first and the second half of them, behind such trunks
 * Workers keep their numbers. *out is NULL where the hosts are too few for racks. */
banyan_status banyan_plausible_create(const banyan_topology *hosts, int number, banyan_topology **out,
                                      banyan_error *err);

#endif
