/* SPDX-License-Identifier: Apache-2.0 */
/* solve/oracle/steiner_parts.h: what the files that choose helpers share. */
#ifndef BANYAN_SOLVE_ORACLE_STEINER_PARTS_H
#define BANYAN_SOLVE_ORACLE_STEINER_PARTS_H

#include "core/scratch.h"
#include "solve/oracle/arborescence.h"
#include "solve/oracle/steiner.h"

struct banyan_steiner {
    const banyan_closure *closure;
    banyan_arborescence *arborescence;
    int transposed;
    int64_t *key; /* per node: what joining the growing tree costs */
    int terminal_count, helper_count;
    int *terminal, *helper; /* indices of the closure */
    unsigned char *member, *kept;
    int *parent, *kept_parent;
    int by_table;
    int64_t *short_way; /* [v * count + u]: through other chosen nodes too */
    int *step;          /* first index after v on it */
    int64_t *best;      /* [mask * count + v] */
    int *choice;        /* u >= 0: runs to u; -1 - part: splits; */
    banyan_scratch memory;
};

/* The best tree on the members from (transposed: to) the root, into parent. Returns its cost, or -1. */
int64_t banyan_steiner_try_members(banyan_steiner *steiner, int root);

/* Members and tree are the best so far. */
void banyan_steiner_keep(banyan_steiner *steiner);

/* Helpers without children bring nothing: they leave the tree that was kept. */
void banyan_steiner_prune(banyan_steiner *steiner, int root);

/* A cheap tree with a direction, kept, by growth and local search. Returns its cost, or -1. */
int64_t banyan_steiner_search_near(banyan_steiner *steiner, int root, int careful);

#endif
