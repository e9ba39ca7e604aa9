/* SPDX-License-Identifier: Apache-2.0 */
/* schedule/slice.h: the same schedule in smaller messages that follow one another. */
#ifndef BANYAN_SCHEDULE_SLICE_H
#define BANYAN_SCHEDULE_SLICE_H

#include "schedule/schedule.h"

/* Every piece is cut into that many equal slices, every transfer into one transfer a slice of a piece. Slice
 * k of what was round r is in round r + k: so slices flow through a tree one behind the other, where whole
 * pieces would be passed on one hop after the other. It computes the same, in the same order of additions.
 * UNSUPPORTED where cut points or transfers would become too many. */
banyan_status banyan_schedule_slice(const banyan_schedule *schedule, int slices, banyan_schedule **out,
                                    banyan_error *err);

/* How many slices make no message larger than slice_bytes, for a vector of that many bytes; no slice is left
 * without a byte where the pieces allow it. At least 1. */
int banyan_schedule_slice_count(const banyan_schedule *schedule, size_t bytes, size_t slice_bytes);

#endif
