/* SPDX-License-Identifier: Apache-2.0 */
/* core/sort.c: the one comparison of numbers that qsort gets. */
#include "core/sort.h"

#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

void banyan_sort_doubles(double *values, size_t count)
{
    qsort(values, count, sizeof *values, by_value);
}
