/* SPDX-License-Identifier: Apache-2.0 */
/* engine/times.c: what all ranks saw in the last iterations, on one clock.
 *
 *     rank 0  |end of the iteration before|---forward---|begin  1    2     3
 *     rank 1  |          the same moment  |--forward--|begin 1     2     3
 *                                                     '- earliest
 *
 * Ranks do not begin backward together: where several share a processor, one computes while another waits. A
 * group starts when the last rank has its gradients, so what counts is when each of them was ready on the
 * last rank. Ranks share no clock, but all see the last group of an iteration end at the same moment, but for
 * a latency: that is where we count from. Of each iteration the largest of all ranks' times is taken, then
 * the median of iterations; the other way round, ranks that take turns in being last would look as if none
 * were. */
#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "engine/engine.h"

/* What a row of the shared table has: gradients by rank 0's numbers, the begin, then two times a group. */
typedef struct {
    int rows, tensors, groups, columns;
    double *seconds;
} table;

static double *row_of(const table *t, int row)
{
    return t->seconds + (size_t)row * (size_t)t->columns;
}

static banyan_status agree_on_most(banyan_train *train, double *values, size_t count, banyan_error *err)
{
    banyan_comm *comm = train->streams[0].comm;
    banyan_status status = banyan_allreduce(values, values, count, BANYAN_FLOAT64, BANYAN_MAX, comm);

    return status ? banyan_fail(err, status, "%s", banyan_last_error(comm)) : BANYAN_SUCCESS;
}

/* This rank's times since the iteration before ended; the begin's sign is turned, for of that the least
 * counts. */
static void write_row(const banyan_train *train, const table *t, int row)
{
    const double *seen = banyan_observations_row(&train->observed, t->rows - 1 - row);
    const double *flights = banyan_observations_row(&train->plan->flights, t->rows - 1 - row);
    double *out = row_of(t, row), begin_s = seen[t->tensors];

    for (int i = 0; i < t->tensors; i++)
        out[i] = begin_s + seen[train->local_of[i]];
    out[t->tensors] = -begin_s;
    for (int i = 0; i < 2 * t->groups; i++)
        out[t->tensors + 1 + i] = begin_s + flights[i];
}

/* The rows that every rank has: those after a plan may have been left out on some. */
static banyan_status share(banyan_train *train, table *t, banyan_error *err)
{
    double fewest = -fmin(train->observed.count, train->plan->flights.count);
    banyan_status status = agree_on_most(train, &fewest, 1, err);

    if (status)
        return status;
    t->rows = (int)-fewest;
    t->tensors = train->tensor_count;
    t->groups = train->plan->grouping->group_count;
    t->columns = t->tensors + 1 + 2 * t->groups;
    if (t->rows < 1)
        return banyan_fail(err, BANYAN_INTERNAL_ERROR, "a plan is made before any iteration was seen");
    t->seconds = banyan_alloc((size_t)t->rows * (size_t)t->columns, sizeof *t->seconds);
    if (!t->seconds)
        return banyan_fail_memory(err);
    for (int row = 0; row < t->rows; row++)
        write_row(train, t, row);
    return agree_on_most(train, t->seconds, (size_t)t->rows * (size_t)t->columns, err);
}

/* How long something was in flight on all ranks: from when the last one launched it. */
static double busy_of(const double *flights, int groups)
{
    double busy_s = 0, until_s = 0;

    for (int g = 0; g < groups; g++) {
        double from_s = fmax(flights[2 * g], until_s);

        until_s = fmax(flights[2 * g + 1], until_s);
        busy_s += until_s - from_s;
    }
    return busy_s;
}

static double end_of(const double *flights, int groups)
{
    double end_s = 0;

    for (int g = 0; g < groups; g++)
        end_s = fmax(end_s, flights[2 * g + 1]);
    return end_s;
}

static double latest_of(const double *ready_s, int count)
{
    double latest_s = 0;

    for (int i = 0; i < count; i++)
        latest_s = fmax(latest_s, ready_s[i]);
    return latest_s;
}

/* Medians over rows; column is room for one value of each. */
static void find_medians(const table *t, double *column, banyan_engine_times *out)
{
    for (int row = 0; row < t->rows; row++)
        column[row] = -row_of(t, row)[t->tensors];
    out->begin_s = banyan_median(column, t->rows);
    for (int row = 0; row < t->rows; row++)
        column[row] = busy_of(row_of(t, row) + t->tensors + 1, t->groups);
    out->busy_s = banyan_median(column, t->rows);
    for (int row = 0; row < t->rows; row++)
        column[row] = end_of(row_of(t, row) + t->tensors + 1, t->groups);
    out->iteration_s = banyan_median(column, t->rows);
    for (int i = 0; i < t->tensors; i++) {
        for (int row = 0; row < t->rows; row++)
            column[row] = out->row_ready_s[(size_t)row * (size_t)t->tensors + (size_t)i];
        out->ready_s[i] = banyan_median(column, t->rows);
    }
}

/* Iteration by iteration, since the first rank began. */
static void find_rows(const banyan_train *train, const table *t, banyan_engine_times *out)
{
    out->rows = t->rows;
    for (int row = 0; row < t->rows; row++) {
        const double *seen = banyan_observations_row(&train->observed, t->rows - 1 - row);
        const double *all = row_of(t, row);

        out->row_last_s[row] = seen[t->tensors] + all[t->tensors] + latest_of(seen, t->tensors);
        out->row_late_s[row] = seen[t->tensors] + all[t->tensors];
        for (int i = 0; i < t->tensors; i++)
            out->row_ready_s[(size_t)row * (size_t)t->tensors + (size_t)i] = all[i] + all[t->tensors];
    }
}

static banyan_status make_room(const table *t, banyan_engine_times *out, banyan_error *err)
{
    out->ready_s = banyan_alloc((size_t)t->tensors, sizeof *out->ready_s);
    out->local_ready_s = banyan_alloc((size_t)t->tensors + 1, sizeof *out->local_ready_s);
    out->row_ready_s = banyan_alloc((size_t)t->rows * (size_t)t->tensors, sizeof *out->row_ready_s);
    out->row_late_s = banyan_alloc((size_t)t->rows, sizeof *out->row_late_s);
    out->row_last_s = banyan_alloc((size_t)t->rows, sizeof *out->row_last_s);
    return out->ready_s && out->local_ready_s && out->row_ready_s && out->row_late_s && out->row_last_s
               ? BANYAN_SUCCESS
               : banyan_fail_memory(err);
}

banyan_status banyan_engine_times_share(banyan_train *train, banyan_engine_times *out, banyan_error *err)
{
    table t = {0};
    double *column = NULL;
    banyan_status status = share(train, &t, err);

    memset(out, 0, sizeof *out);
    if (!status) {
        column = banyan_alloc((size_t)t.rows, sizeof *column);
        status = column ? make_room(&t, out, err) : banyan_fail_memory(err);
    }
    if (!status) {
        find_rows(train, &t, out);
        find_medians(&t, column, out);
        banyan_observations_median(&train->observed, out->local_ready_s);
    }
    banyan_free(column);
    banyan_free(t.seconds);
    if (status)
        banyan_engine_times_fini(out);
    return status;
}

void banyan_engine_times_fini(banyan_engine_times *times)
{
    banyan_free(times->ready_s);
    banyan_free(times->local_ready_s);
    banyan_free(times->row_ready_s);
    banyan_free(times->row_late_s);
    banyan_free(times->row_last_s);
    memset(times, 0, sizeof *times);
}
