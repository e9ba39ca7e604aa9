/* SPDX-License-Identifier: Apache-2.0 */
/* solve/net/effort.h: what bounds and branchings may take, whatever the effort of a plan (core/effort.h): a
 * yardstick does not depend on what is measured. */
#ifndef BANYAN_SOLVE_NET_EFFORT_H
#define BANYAN_SOLVE_NET_EFFORT_H

/* Visits (solve/net/work.h) of one search for a bound: some seconds. What it has found by then is taken. */
#define BANYAN_CUT_VISITS 500000000

/* And of packing a tree for each rank: about a minute, as long as people wait for what nothing else finds. */
#define BANYAN_BRANCHING_VISITS (10LL * BANYAN_CUT_VISITS)

enum {
    /* up to that many trees are looked for as that many; more come of a linear program as they will */
    BANYAN_FEW_TREES = 256
};

#endif
