/* SPDX-License-Identifier: Apache-2.0 */
/* core/sort.h: numbers in ascending order. */
#ifndef BANYAN_SORT_H
#define BANYAN_SORT_H

#include <stddef.h>

void banyan_sort_doubles(double *values, size_t count);
void banyan_sort_ints(int *values, size_t count);

#endif
