/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/lines.h: the lines of a grid as rings, for algorithms that go dimension by dimension.
 *
 *     flow 0: columns down, then rows       flow 2: rows -->, then columns        each flow carries a quarter
 *     flow 1: columns up, then rows         flow 3: rows <--, then columns        (1/2d in d dimensions)
 *
 * Flow f begins with dimension f / 2 and goes round its rings forwards if f is even, else backwards. */
#ifndef BANYAN_ALGORITHMS_LINES_H
#define BANYAN_ALGORITHMS_LINES_H

#include "algorithms/algorithms.h"
#include "algorithms/circle.h"

typedef struct {
    const banyan_topology *topology;
    banyan_builder *builder;
    int dimension[BANYAN_MAX_DIMENSIONS]; /* those of extent above 1 */
    int dimension_count;
    int share;          /* pieces of one flow, set by the algorithm */
    int is_folded;      /* lines that do not wrap go 0 2 4 .. 5 3 1, so that no step is longer than two */
    banyan_stop *stops; /* of one line */
} banyan_lines;

/* UNSUPPORTED unless the topology is a grid with all workers active; name is the algorithm's. */
banyan_status banyan_lines_check(const banyan_problem *problem, const char *name, banyan_error *err);

banyan_status banyan_lines_init(banyan_lines *lines, const banyan_problem *problem, banyan_builder *builder,
                                banyan_error *err);

/* With the share set: appends every flow, finishes the schedule and the lines. */
banyan_status banyan_lines_finish(banyan_lines *lines, const banyan_problem *problem,
                                  void (*append_flow)(banyan_lines *lines, int flow), banyan_schedule **out,
                                  banyan_error *err);

int banyan_lines_flow_count(const banyan_lines *lines);
int banyan_lines_extent(const banyan_lines *lines, int d); /* d may run on past the last dimension */

typedef int (*banyan_circle_phase)(banyan_builder *builder, int round, const banyan_stop *stops, int count,
                                   int flow);

/* One phase of a flow on all lines of its dimension number `turn`; returns the round after. What a line
 * shares out is what is left to it after the first `nested` dimensions of the flow have shared out theirs. */
int banyan_lines_run(banyan_lines *lines, banyan_circle_phase phase, int round, int flow, int turn,
                     int nested);

#endif
