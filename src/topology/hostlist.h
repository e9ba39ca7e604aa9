/* SPDX-License-Identifier: Apache-2.0 */
/* topology/hostlist.h: Slurm's short form of many names: 'tux[0-3,12]' is tux0, tux1, tux2, tux3 and
 * tux12. */
#ifndef BANYAN_TOPOLOGY_HOSTLIST_H
#define BANYAN_TOPOLOGY_HOSTLIST_H

#include "topology/scan.h"

/* Calls keep for each name in order and stops at its first failure. The line number is for the sentences.
 * Expressions may hold several brackets; numbers keep their leading zeros. */
banyan_status banyan_hostlist_expand(banyan_word list, int line,
                                     banyan_status (*keep)(void *context, banyan_word name, int line,
                                                           banyan_error *err),
                                     void *context, banyan_error *err);

#endif
