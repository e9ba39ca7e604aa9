/* SPDX-License-Identifier: Apache-2.0 */
/* solve/net/effort.h: how much planners ask for and how long they try, in one place. Raise these for better
 * plans, lower them for quicker ones; all that decides by the size of a network which way is taken should
 * come to be here. */
#ifndef BANYAN_SOLVE_NET_EFFORT_H
#define BANYAN_SOLVE_NET_EFFORT_H

#define BANYAN_TARGET_SHARE 0.99   /* of the bound that few trees should reach: what we promise; */
#define BANYAN_NEAR_SHARE 0.999    /* and when they need not be better, */
#define BANYAN_NEARER_SHARE 0.9995 /* or where thousands of trees are allowed */

/* Visits (solve/net/work.h) of one program over cuts: one or two seconds. What it has found by then is
 * taken. */
#define BANYAN_CUT_VISITS 100000000

/* The same of column generation, as one start among others: a tenth of a second. */
#define BANYAN_COLUMN_VISITS 10000000

enum {
    BANYAN_FEW_TREES =
        256, /* up to that many are looked for as that many; more come of a linear program as they will */
    BANYAN_LP_ARCS = 2000,   /* with more arcs a linear program over trees takes long, and has */
    BANYAN_LP_ROUNDS = 8,    /* rounds at most */
    BANYAN_FEW_WORKERS = 24, /* active: up to that many, the best trees are soon found; */
    BANYAN_MANY_WORKERS = 96 /* from more on, trees of one weight are made first */
};

#endif
