/* SPDX-License-Identifier: Apache-2.0 */
/* solve/net/lp.h: linear programs that grow by columns: maximise cost·x subject to rows, x >= 0.
 * The outside solver sits behind this header in one file. A second solve starts from the first one's
 * basis. */
#ifndef BANYAN_SOLVE_NET_LP_H
#define BANYAN_SOLVE_NET_LP_H

#include "core/status.h"

typedef struct banyan_lp banyan_lp;

/* Rows without entries: lower[i] <= (row i)·x <= upper[i]; without lower (upper) ones NULL. */
banyan_status banyan_lp_create(int row_count, const double *lower, const double *upper, banyan_lp **out,
                               banyan_error *err);
void banyan_lp_destroy(banyan_lp *lp); /* accepts NULL */

/* Columns are numbered in the order of their coming. The next solve tells if there was no memory for one. */
void banyan_lp_add_column(banyan_lp *lp, double cost, int count, const int *row, const double *value);

/* The same for one that may be negative. */
void banyan_lp_add_free_column(banyan_lp *lp, double cost, int count, const int *row, const double *value);

/* The first solve starts from the basis of another program, if that has as many rows and columns: where most
 * of what they say is the same, few steps are left. */
void banyan_lp_begin_like(banyan_lp *lp, const banyan_lp *like);

/* Each further solve ends after about that many visits (solve/net/work.h) with what it has by then, which
 * keeps to the rows if the beginning did: columns at 0, or the last solve's values. 0: at the optimum. */
void banyan_lp_limit(banyan_lp *lp, int64_t visits);

/* INTERNAL_ERROR with a sentence unless there is such an answer. */
banyan_status banyan_lp_solve(banyan_lp *lp, banyan_error *err);

double banyan_lp_objective(const banyan_lp *lp);
const double *banyan_lp_values(const banyan_lp *lp); /* borrowed until the next call */

/* What one more unit of a row's limit is worth; not negative at an upper limit. */
double banyan_lp_price(const banyan_lp *lp, int row);

#endif
