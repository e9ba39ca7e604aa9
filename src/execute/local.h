/* SPDX-License-Identifier: Apache-2.0 */
/* execute/local.h: runs a whole schedule inside this process: one thread per node, the memory transport
 * between. For demonstrations, tests and benchmarks; whoever calls it has had the schedule judged
 * (verify/verify.h). */
#ifndef BANYAN_EXECUTE_LOCAL_H
#define BANYAN_EXECUTE_LOCAL_H

#include "execute/vector.h"
#include "schedule/schedule.h"
#include "schedule/timeline.h"

#define BANYAN_DEFAULT_TIMEOUT_MS 30000

typedef struct {
    size_t slice_bytes; /* 0: the default */
    int timeout_ms;     /* 0: the default */
    /* Instead of the buffers, by rank: vectors in parts (execute/vector.h), which may lie apart from the
     * inputs. */
    const banyan_part *const *parts;
    const size_t *part_counts;
} banyan_local_options;

/* buffers[rank] holds count elements and ends as the collective says, in place (NULL with options->parts);
 * pieces that are not part of a rank's result end as anything. Relays get threads and memory of their own.
 * options may be NULL. With timeline given, *timeline ends as the measured one, the caller's. On failure
 * buffers hold anything. */
banyan_status banyan_execute_local(const banyan_schedule *schedule, size_t count, banyan_datatype type,
                                   banyan_op op, void *const *buffers, const banyan_local_options *options,
                                   banyan_timeline **timeline, banyan_error *err);

#endif
