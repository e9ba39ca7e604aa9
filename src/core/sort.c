/* SPDX-License-Identifier: Apache-2.0 */
/* core/sort.c: the comparisons of numbers that qsort gets. */
#include "core/sort.h"

#include <stdlib.h>

static int compare_doubles(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

void banyan_sort_doubles(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare_doubles);
}

static int compare_ints(const void *a, const void *b)
{
    const int *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

void banyan_sort_ints(int *values, size_t count)
{
    qsort(values, count, sizeof *values, compare_ints);
}
