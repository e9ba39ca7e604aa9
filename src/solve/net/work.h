/* SPDX-License-Identifier: Apache-2.0 */
/* solve/net/work.h: how much solving was done, counted instead of timed, so that two machines, or one on two
 * days, can be compared.
 *
 * Three engines do nearly all of it: linear programs, searches for a cheapest tree, and maximum flows. Each
 * call counts as one of its kind, and its size as visits: the arcs that a search, a flow or a move of an edge
 * looks at, and the entries of a program that are not zero once per simplex step. A visit takes 5 to 25 ns,
 * whatever its kind, so that visits add up. */
#ifndef BANYAN_SOLVE_NET_WORK_H
#define BANYAN_SOLVE_NET_WORK_H

#include <stdint.h>

typedef enum { BANYAN_WORK_LP, BANYAN_WORK_TREE, BANYAN_WORK_FLOW, BANYAN_WORK_KINDS } banyan_work_kind;

typedef struct {
    int64_t calls[BANYAN_WORK_KINDS];
    int64_t visits;
} banyan_work;

void banyan_work_add(banyan_work_kind kind, int64_t visits);

/* What the calling thread has done since it began. */
banyan_work banyan_work_now(void);

/* What it has done since then. */
banyan_work banyan_work_since(const banyan_work *then);

#endif
