/* SPDX-License-Identifier: Apache-2.0 */
/* device/order.h: the additions of a schedule (execute/sums.h) as the reduce kernel is told them. */
#ifndef BANYAN_DEVICE_ORDER_H
#define BANYAN_DEVICE_ORDER_H

#include "device/reduce_params.h"
#include "execute/sums.h"

/* What does not depend on the count: the order of each interval of the vector. Neighbours with the same order
 * are one interval. */
typedef struct {
    int rank_count, interval_count;
    int last_piece[BANYAN_DEVICE_MAX_PIECES]; /* by interval: its last piece of the schedule */
    banyan_device_piece intervals[BANYAN_DEVICE_MAX_PIECES];
} banyan_device_order;

/* Whether the kernel can do it: not too many ranks, nor too many different orders. */
int banyan_device_order_derive(const banyan_sums *sums, banyan_device_order *out);

/* The intervals of elements begin..end-1 of a vector of count elements, of which empty ones are left out. */
void banyan_device_order_bind(const banyan_device_order *order, const banyan_schedule *schedule, size_t count,
                              size_t begin, size_t end, banyan_device_reduction *out);

#endif
