/* SPDX-License-Identifier: Apache-2.0 */
/* solve/oracle/arborescence.h: the cheapest tree that leads from a root to chosen nodes of a dense directed
 * graph. / */
#ifndef BANYAN_SOLVE_ORACLE_ARBORESCENCE_H
#define BANYAN_SOLVE_ORACLE_ARBORESCENCE_H

#include <stdint.h>

#include "core/status.h"

typedef struct banyan_arborescence banyan_arborescence;

banyan_status banyan_arborescence_create(int count, banyan_arborescence **out, banyan_error *err);
void banyan_arborescence_destroy(banyan_arborescence *work); /* accepts NULL */

/* cost[i * count + j]: from i to j (BANYAN_FAR: none); transposed != 0 reads it as from j to i, so that the
 * tree leads towards the root. Spans the indices with member[i] != 0 (NULL: all) and the root. parent[i] is
 * the root's -1, a member's predecessor (successor if transposed), or -2 for others. Returns the cost, or
 * -1. */
int64_t banyan_arborescence_find(banyan_arborescence *work, const int64_t *cost, int transposed,
                                 const unsigned char *member, int root, int *parent);

#endif
