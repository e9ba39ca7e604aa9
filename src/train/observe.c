/* SPDX-License-Identifier: Apache-2.0 */
/* train/observe.c: a ring of rows, one per iteration. */
#include "train/observe.h"

#include <string.h>

#include "core/alloc.h"
#include "core/sort.h"

banyan_status banyan_observations_init(banyan_observations *observations, int columns, int window,
                                       banyan_error *err)
{
    memset(observations, 0, sizeof *observations);
    observations->rows_s = banyan_alloc((size_t)window * (size_t)columns, sizeof *observations->rows_s);
    observations->sorted_s = banyan_alloc((size_t)window, sizeof *observations->sorted_s);
    if (!observations->rows_s || !observations->sorted_s) {
        banyan_observations_fini(observations);
        return banyan_fail_memory(err);
    }
    observations->columns = columns;
    observations->window = window;
    return BANYAN_SUCCESS;
}

void banyan_observations_fini(banyan_observations *observations)
{
    banyan_free(observations->rows_s);
    banyan_free(observations->sorted_s);
    memset(observations, 0, sizeof *observations);
}

void banyan_observations_add(banyan_observations *observations, const double *row_s)
{
    memcpy(observations->rows_s + (size_t)observations->next * (size_t)observations->columns, row_s,
           (size_t)observations->columns * sizeof *row_s);
    observations->next = (observations->next + 1) % observations->window;
    if (observations->count < observations->window)
        observations->count++;
}

const double *banyan_observations_row(const banyan_observations *observations, int age)
{
    int row = (observations->next - 1 - age + 2 * observations->window) % observations->window;

    return observations->rows_s + (size_t)row * (size_t)observations->columns;
}

void banyan_observations_forget(banyan_observations *observations)
{
    observations->count = observations->next = 0;
}

double banyan_median(double *values, int count)
{
    if (count < 1)
        return 0;
    banyan_sort_doubles(values, (size_t)count);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

double banyan_mean(const double *values, int count)
{
    double sum = 0;

    for (int i = 0; i < count; i++)
        sum += values[i];
    return count > 0 ? sum / count : 0;
}

void banyan_observations_median(banyan_observations *observations, double *out_s)
{
    for (int t = 0; t < observations->columns; t++) {
        for (int i = 0; i < observations->count; i++)
            observations->sorted_s[i] =
                observations->rows_s[(size_t)i * (size_t)observations->columns + (size_t)t];
        out_s[t] = banyan_median(observations->sorted_s, observations->count);
    }
}
