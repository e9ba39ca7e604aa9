/* SPDX-License-Identifier: Apache-2.0 */
/* solve/net/lp.c: linear programs by an outside solver (solve/net/simplex.h), which minimises, so costs
 * change sign here. */
#include "solve/net/lp.h"

#include <float.h>
#include <limits.h>

#include "core/alloc.h"
#include "solve/net/simplex.h"
#include "solve/net/work.h"

struct banyan_lp {
    const banyan_simplex *simplex;
    banyan_simplex_model *model;
    int column_count;
    int solved_before;
    int is_same; /* nothing has changed since the last solve */
    int waiting; /* columns that the solver has not been given yet: it copies all that it has for each lot */
    int64_t entry_count; /* of all columns, those waiting, too */
    int64_t visit_limit; /* of a solve; 0: none */
    double *cost, *value;
    int *start, *row;
    size_t cost_capacity, value_capacity, start_capacity, row_capacity;
    int failed; /* memory ran out */
};

banyan_status banyan_lp_create(int row_count, const double *lower, const double *upper, banyan_lp **out,
                               banyan_error *err)
{
    banyan_lp *lp = banyan_alloc(1, sizeof *lp);
    int *starts = banyan_alloc((size_t)row_count + 1, sizeof *starts);
    banyan_status status = lp && starts ? BANYAN_SUCCESS : banyan_fail_memory(err);

    *out = NULL;
    if (!status)
        status = banyan_simplex_load(&lp->simplex, err);
    if (!status) {
        lp->model = lp->simplex->create(row_count, lower, upper, starts);
        status = lp->model ? BANYAN_SUCCESS : banyan_fail_memory(err);
    }
    banyan_free(starts);
    if (status)
        banyan_free(lp);
    else
        *out = lp;
    return status;
}

void banyan_lp_destroy(banyan_lp *lp)
{
    if (!lp)
        return;
    lp->simplex->destroy(lp->model);
    banyan_free(lp->cost);
    banyan_free(lp->value);
    banyan_free(lp->start);
    banyan_free(lp->row);
    banyan_free(lp);
}

static int make_room(banyan_lp *lp, size_t entries)
{
    while (lp->row_capacity < entries)
        if (!banyan_grow((void **)&lp->row, lp->row_capacity, &lp->row_capacity, sizeof *lp->row))
            return 0;
    while (lp->value_capacity < entries)
        if (!banyan_grow((void **)&lp->value, lp->value_capacity, &lp->value_capacity, sizeof *lp->value))
            return 0;
    return banyan_grow((void **)&lp->start, (size_t)lp->waiting + 1, &lp->start_capacity,
                       sizeof *lp->start) &&
           banyan_grow((void **)&lp->cost, (size_t)lp->waiting, &lp->cost_capacity, sizeof *lp->cost);
}

void banyan_lp_add_column(banyan_lp *lp, double cost, int count, const int *row, const double *value)
{
    int first = lp->waiting ? lp->start[lp->waiting] : 0;

    lp->column_count++;
    lp->entry_count += count;
    lp->is_same = 0;
    if (lp->failed || !make_room(lp, (size_t)(first + count))) {
        lp->failed = 1;
        return;
    }
    for (int i = 0; i < count; i++) {
        lp->row[first + i] = row[i];
        lp->value[first + i] = value[i];
    }
    lp->cost[lp->waiting] = -cost;
    lp->start[lp->waiting] = first;
    lp->start[++lp->waiting] = first + count;
}

static void hand_over(banyan_lp *lp)
{
    if (lp->waiting)
        lp->simplex->add_columns(lp->model, lp->waiting, NULL, NULL, lp->cost, lp->start, lp->row, lp->value);
    lp->waiting = 0;
}

void banyan_lp_add_free_column(banyan_lp *lp, double cost, int count, const int *row, const double *value)
{
    const double lowest = -DBL_MAX, negated = -cost;
    int ends[2] = {0, count};

    hand_over(lp);
    lp->column_count++;
    lp->entry_count += count;
    lp->is_same = 0;
    lp->simplex->add_columns(lp->model, 1, &lowest, NULL, &negated, ends, row, value);
}

void banyan_lp_begin_like(banyan_lp *lp, const banyan_lp *like)
{
    if (lp->failed)
        return;
    hand_over(lp);
    if (like->solved_before && like->column_count == lp->column_count)
        lp->simplex->begin_like(lp->model, like->model);
}

void banyan_lp_limit(banyan_lp *lp, int64_t visits)
{
    lp->visit_limit = visits;
}

banyan_status banyan_lp_solve(banyan_lp *lp, banyan_error *err)
{
    int64_t most_steps = lp->visit_limit && lp->entry_count ? 1 + lp->visit_limit / lp->entry_count : INT_MAX;
    int status;

    if (lp->failed)
        return banyan_fail_memory(err);
    if (lp->is_same)
        return BANYAN_SUCCESS;
    hand_over(lp);
    status = lp->simplex->solve(lp->model, most_steps < INT_MAX ? (int)most_steps : INT_MAX);
    banyan_work_add(BANYAN_WORK_LP, (lp->simplex->step_count(lp->model) + 1) * lp->entry_count);
    lp->is_same = status == 0;
    lp->solved_before = 1;
    if (status != 0 && status != BANYAN_SIMPLEX_STOPPED)
        return banyan_fail(err, BANYAN_INTERNAL_ERROR,
                           "the linear program of %d rows and %d columns ended with status %d",
                           lp->simplex->row_count(lp->model), lp->column_count, status);
    return BANYAN_SUCCESS;
}

double banyan_lp_objective(const banyan_lp *lp)
{
    return -lp->simplex->objective(lp->model);
}

const double *banyan_lp_values(const banyan_lp *lp)
{
    return lp->simplex->values(lp->model);
}

double banyan_lp_price(const banyan_lp *lp, int row)
{
    return -lp->simplex->price(lp->model, row);
}
