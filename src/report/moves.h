/* SPDX-License-Identifier: Apache-2.0 */
/* report/moves.h: a schedule cut down to what a page can hold and a person can step through.
 *
 * Piece by piece a schedule is one tree towards a root and one away from it, so a piece is what one picks to
 * see a tree. A large schedule keeps the transfers of some pieces, evenly spread, and each of their trees
 * whole; rounds that follow one another then form a step. What all transfers together load on each link in
 * each step is kept always. */
#ifndef BANYAN_REPORT_MOVES_H
#define BANYAN_REPORT_MOVES_H

#include "report/report.h"

typedef struct {
    int rounds_per_step, step_count;
    double *load;            /* by step, then link: vectors that cross it, over all transfers */
    double *begin_s, *end_s; /* by step */
    size_t count;
    size_t *transfers; /* kept, ascending */
    int piece_count;
    int *pieces; /* whose trees are whole, ascending */
} banyan_report_moves;

banyan_status banyan_report_moves_find(const banyan_report *report, banyan_report_moves *out,
                                       banyan_error *err);
void banyan_report_moves_fini(banyan_report_moves *moves);

#endif
