/* SPDX-License-Identifier: Apache-2.0 */
/* solve/lp.c: the only file that knows COIN-OR Clp, by its C interface. Clp minimises, so costs change sign
 * here.
 *
 * Clp factorises the dense rest of a basis with LAPACK. Where that is OpenBLAS on OpenMP, matrices of a hundred
 * rows are shared out to all cores, which then spin for each other: ten times the CPU time, and roundings that
 * depend on the number of cores. So the calling thread asks OpenMP for one thread while it solves. */
#include "solve/lp.h"

#include <coin/Clp_C_Interface.h>

#include "core/alloc.h"
#include "solve/work.h"

/* OpenMP's own functions, where something in the process brings them. They set a value of the calling thread. */
int omp_get_max_threads(void);
void omp_set_num_threads(int count);
#pragma weak omp_get_max_threads
#pragma weak omp_set_num_threads

struct banyan_lp {
    Clp_Simplex *clp;
    int column_count;
    int solved_before;
    int is_narrower; /* since the last solve bounds of columns have changed, and nothing else: its prices still hold; */
    int is_same; /* not even these */
    int waiting; /* columns that Clp has not been given yet: it copies all that it has for each lot */
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
    static const int no_columns[1] = {0};
    static const double no_values[1] = {0};

    *out = NULL;
    if (!lp || !starts) {
        banyan_free(lp);
        banyan_free(starts);
        return banyan_fail_memory(err);
    }
    lp->clp = Clp_newModel();
    if (!lp->clp) {
        banyan_free(lp);
        banyan_free(starts);
        return banyan_fail_memory(err);
    }
    Clp_setLogLevel(lp->clp, 0);
    Clp_setPerturbation(lp->clp, 100); /* off: answers must be the same on every run and exact at vertices */
    Clp_scaling(lp->clp, 0); /* entries are small whole numbers; else all of them are scaled anew each time */
    Clp_addRows(lp->clp, row_count, lower, upper, starts, no_columns, no_values);
    banyan_free(starts);
    *out = lp;
    return BANYAN_SUCCESS;
}

void banyan_lp_destroy(banyan_lp *lp)
{
    if (!lp)
        return;
    Clp_deleteModel(lp->clp);
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
    lp->is_narrower = lp->is_same = 0;
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
        Clp_addColumns(lp->clp, lp->waiting, NULL, NULL, lp->cost, lp->start, lp->row, lp->value);
    lp->waiting = 0;
}

banyan_status banyan_lp_add_columns(banyan_lp *lp, int count, double cost, const int *start, const int *row,
                                    const double *value, banyan_error *err)
{
    double *each = banyan_alloc(3 * (size_t)count, sizeof *each);

    if (!each)
        return banyan_fail_memory(err);
    hand_over(lp);
    for (int i = 0; i < count; i++) {
        each[count + i] = 1e300;
        each[2 * count + i] = -cost;
    }
    Clp_addColumns(lp->clp, count, each, each + count, each + 2 * count, start, row, value);
    lp->column_count += count;
    lp->is_narrower = lp->is_same = 0;
    banyan_free(each);
    return BANYAN_SUCCESS;
}

int banyan_lp_column_count(const banyan_lp *lp)
{
    return lp->column_count;
}

void banyan_lp_bound_column(banyan_lp *lp, int column, double lower, double upper)
{
    if (lp->failed) /* the column may not be there; the next solve tells */
        return;
    hand_over(lp);
    Clp_columnLower(lp->clp)[column] = lower;
    Clp_columnUpper(lp->clp)[column] = upper;
    lp->is_same = 0;
}

void banyan_lp_set_cost(banyan_lp *lp, int column, double cost)
{
    if (lp->failed)
        return;
    hand_over(lp);
    Clp_objective(lp->clp)[column] = -cost;
    lp->is_narrower = lp->is_same = 0;
}

void banyan_lp_begin_like(banyan_lp *lp, const banyan_lp *like)
{
    if (lp->failed)
        return;
    hand_over(lp);
    if (like->solved_before && like->column_count == lp->column_count &&
        Clp_numberRows(like->clp) == Clp_numberRows(lp->clp))
        Clp_copyinStatus(lp->clp, Clp_statusArray(like->clp));
}

static int use_one_thread(void)
{
    int before = omp_get_max_threads && omp_set_num_threads ? omp_get_max_threads() : 1;

    if (before > 1)
        omp_set_num_threads(1);
    return before;
}

static void use_threads_again(int count)
{
    if (count > 1)
        omp_set_num_threads(count);
}

banyan_status banyan_lp_solve(banyan_lp *lp, banyan_error *err)
{
    int threads, status;

    if (lp->failed)
        return banyan_fail_memory(err);
    if (lp->is_same)
        return BANYAN_SUCCESS;
    hand_over(lp);
    threads = use_one_thread();
    status = lp->is_narrower ? Clp_dual(lp->clp, 0) : 1;
    if (status != 0)
        status = Clp_primal(lp->clp, 0);
    if (status != 0)
        status = Clp_dual(lp->clp, 0);
    use_threads_again(threads);
    banyan_work_add(BANYAN_WORK_LP, (int64_t)(Clp_numberIterations(lp->clp) + 1) * Clp_numberRows(lp->clp));
    lp->is_narrower = lp->is_same = status == 0;
    lp->solved_before = 1;
    if (status != 0)
        return banyan_fail(err, BANYAN_INTERNAL_ERROR,
                           "the linear program of %d rows and %d columns ended with status %d",
                           Clp_numberRows(lp->clp), lp->column_count, status);
    return BANYAN_SUCCESS;
}

double banyan_lp_objective(const banyan_lp *lp)
{
    return -Clp_objectiveValue(lp->clp);
}

const double *banyan_lp_values(const banyan_lp *lp)
{
    return Clp_primalColumnSolution(lp->clp);
}

double banyan_lp_price(const banyan_lp *lp, int row)
{
    return -Clp_dualRowSolution(lp->clp)[row];
}
