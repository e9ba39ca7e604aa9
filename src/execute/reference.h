/* SPDX-License-Identifier: Apache-2.0 */
/* execute/reference.h: the meaning of a schedule, done one step after the other.
 * Every executor must leave the very same bits: this is what they are compared with. */
#ifndef BANYAN_EXECUTE_REFERENCE_H
#define BANYAN_EXECUTE_REFERENCE_H

#include "schedule/schedule.h"

/* buffers[rank] holds count elements, in place. Relays get memory of their own. */
banyan_status banyan_reference_run(const banyan_schedule *schedule, size_t count, banyan_datatype type,
                                   banyan_op op, void *const *buffers, banyan_error *err);

#endif
