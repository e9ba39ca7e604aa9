/* SPDX-License-Identifier: Apache-2.0 */
/* execute/average.c: sums become averages once, at the end, where the result lies; every rank divides the
 * same sum by the same number, so all get the same bits. */
#include "execute/average.h"

#include "execute/kernels.h"

static void divide(const banyan_vector *vector, size_t begin, size_t end, banyan_datatype type, int divisor)
{
    while (begin < end) {
        size_t elements = end - begin;
        char *memory = banyan_vector_into(vector, begin, &elements);

        banyan_kernel_divide(type, memory, elements, divisor);
        begin += elements;
    }
}

void banyan_average(const banyan_schedule *schedule, int rank, const banyan_vector *vector,
                    banyan_datatype type)
{
    size_t begin, end;

    for (int piece = 0; piece < schedule->piece_count; piece++)
        if (banyan_collective_reduces(schedule->collective) &&
            banyan_schedule_is_result(schedule, rank, piece)) {
            banyan_schedule_elements(schedule, vector->count, piece, 1, &begin, &end);
            divide(vector, begin, end, type, schedule->active_count);
        }
}
