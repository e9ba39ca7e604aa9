/* SPDX-License-Identifier: Apache-2.0 */
/* solve/engines/clp.c: the only file that knows COIN-OR Clp, by its C interface; banyan-lp.so is made of it
 * alone.
 *
 * Clp factorises the dense rest of a basis with LAPACK. Where that is OpenBLAS on OpenMP, matrices of a
 * hundred rows are shared out to all cores, which then spin for each other: ten times the CPU time, and
 * roundings that depend on the number of cores. So the calling thread asks OpenMP for one thread while it
 * solves. */
#include "solve/net/simplex.h"
#include "solve/net/tolerance.h"

#include <coin/Clp_C_Interface.h>
#include <stdint.h>

/* The smallest that simplex steps in doubles keep to: at Clp's own, 1e-7, programs of a thousand columns end
 * 1e-5 short of their optimum. */

/* OpenMP's own functions, where something in the process brings them. They set a value of the calling
 * thread. */
int omp_get_max_threads(void);
void omp_set_num_threads(int count);
#pragma weak omp_get_max_threads
#pragma weak omp_set_num_threads

/* What is handed out is Clp's model under our name: the struct has no other definition. */
static Clp_Simplex *clp_of(const banyan_simplex_model *model)
{
    return (Clp_Simplex *)(void *)(uintptr_t)model;
}

static banyan_simplex_model *create(int row_count, const double *lower, const double *upper,
                                    const int *starts)
{
    static const int no_columns[1] = {0};
    static const double no_values[1] = {0};
    Clp_Simplex *clp = Clp_newModel();

    if (!clp)
        return NULL;
    Clp_setLogLevel(clp, 0);
    Clp_setPerturbation(clp, 100); /* off: answers must be the same on every run and exact at vertices */
    Clp_setPrimalTolerance(clp, BANYAN_SAME);
    Clp_setDualTolerance(clp, BANYAN_SAME);
    Clp_scaling(clp, 0); /* entries are small whole numbers; else all of them are scaled anew each time */
    Clp_addRows(clp, row_count, lower, upper, starts, no_columns, no_values);
    return (banyan_simplex_model *)(void *)clp;
}

static void destroy(banyan_simplex_model *model)
{
    Clp_deleteModel(clp_of(model));
}

static void add_columns(banyan_simplex_model *model, int count, const double *lower, const double *upper,
                        const double *cost, const int *start, const int *row, const double *value)
{
    Clp_addColumns(clp_of(model), count, lower, upper, cost, start, row, value);
}

static void begin_like(banyan_simplex_model *model, const banyan_simplex_model *like)
{
    Clp_Simplex *to = clp_of(model), *from = clp_of(like);

    if (Clp_numberRows(to) == Clp_numberRows(from) && Clp_numberColumns(to) == Clp_numberColumns(from))
        Clp_copyinStatus(to, Clp_statusArray(from));
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

static int solve(banyan_simplex_model *model, int most_steps)
{
    Clp_Simplex *clp = clp_of(model);
    int threads = use_one_thread(), status;

    Clp_setMaximumIterations(clp, most_steps);
    status = Clp_primal(clp, 0);
    if (status != 0 && status != BANYAN_SIMPLEX_STOPPED)
        status = Clp_dual(clp, 0);
    use_threads_again(threads);
    return status;
}

static int step_count(const banyan_simplex_model *model)
{
    return Clp_numberIterations(clp_of(model));
}

static int row_count(const banyan_simplex_model *model)
{
    return Clp_numberRows(clp_of(model));
}

static double objective(const banyan_simplex_model *model)
{
    return Clp_objectiveValue(clp_of(model));
}

static const double *values(const banyan_simplex_model *model)
{
    return Clp_primalColumnSolution(clp_of(model));
}

static double price(const banyan_simplex_model *model, int row)
{
    return Clp_dualRowSolution(clp_of(model))[row];
}

__attribute__((visibility("default"))) const banyan_simplex banyan_simplex_plugin = {
    .abi = BANYAN_SIMPLEX_ABI,
    .create = create,
    .destroy = destroy,
    .add_columns = add_columns,
    .begin_like = begin_like,
    .solve = solve,
    .step_count = step_count,
    .row_count = row_count,
    .objective = objective,
    .values = values,
    .price = price,
};
