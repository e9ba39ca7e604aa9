/* SPDX-License-Identifier: Apache-2.0 */
/* schedule/walk.c: rounds in order; in each all sends, then all that they change.
 *
 *     round      0                 1
 *     send     t0 t1 t2          t3 t4          a node that sends and receives a piece in one round
 *     apply            t0 t1 t2        t3 t4    sends what it had before
 *
 * Cost: two calls a transfer. */
#include "schedule/walk.h"

banyan_status banyan_schedule_walk(const banyan_schedule *schedule, const banyan_walk_steps *steps,
                                   void *context, banyan_error *err)
{
    for (size_t begin = 0, end; begin < schedule->transfer_count; begin = end) {
        end = banyan_schedule_round_end(schedule, begin);
        for (size_t i = begin; i < end; i++) {
            banyan_status status = steps->send(context, i, err);

            if (status)
                return status;
        }
        for (size_t i = begin; i < end; i++)
            steps->apply(context, i);
    }
    return BANYAN_SUCCESS;
}
