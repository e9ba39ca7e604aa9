/* SPDX-License-Identifier: Apache-2.0 */
/* execute/average.c: sums become averages once, at the end, where the result lies; every rank divides the
 * same sum by the same number, so all get the same bits. */
#include "execute/average.h"

#include "execute/kernels.h"

static int is_result(const banyan_schedule *schedule, int rank, int piece)
{
    switch (schedule->collective) {
    case BANYAN_COLLECTIVE_ALLREDUCE:
        return 1;
    case BANYAN_COLLECTIVE_REDUCE:
        return rank == schedule->root;
    case BANYAN_COLLECTIVE_REDUCE_SCATTER:
        return rank == schedule->owner[piece];
    case BANYAN_COLLECTIVE_ALLGATHER:
    case BANYAN_COLLECTIVE_BROADCAST:
    case BANYAN_COLLECTIVE_COUNT:
        break;
    }
    return 0;
}

void banyan_average(const banyan_schedule *schedule, int rank, void *buffer, size_t count,
                    banyan_datatype type)
{
    size_t bytes = banyan_datatype_bytes(type), begin, end;

    for (int piece = 0; piece < schedule->piece_count; piece++)
        if (is_result(schedule, rank, piece)) {
            banyan_schedule_elements(schedule, count, piece, 1, &begin, &end);
            banyan_kernel_divide(type, (char *)buffer + begin * bytes, end - begin, schedule->active_count);
        }
}
