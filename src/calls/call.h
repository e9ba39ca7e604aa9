/* SPDX-License-Identifier: Apache-2.0 */
/* calls/call.h: what all collectives have in common: the checks, the entry in the group's log, the run. */
#ifndef BANYAN_CALLS_CALL_H
#define BANYAN_CALLS_CALL_H

#include "calls/comm.h"
#include "execute/run.h"

enum { BANYAN_NEEDS_SEND = 1, BANYAN_NEEDS_RECV = 2 };

/* Whether the arguments make sense; a wrong one has no effect on anybody. */
banyan_status banyan_calls_check(banyan_comm *comm, const banyan_call *call, const banyan_buffers *buffers,
                                 int needs);

/* The same, and enters the group's log. */
banyan_status banyan_calls_open(banyan_comm *comm, const banyan_call *call, const banyan_buffers *buffers,
                                int needs, banyan_call_entry **entry);

/* overlap.c: whether what the call reads and what it writes are apart, or in place as the call allows it.
 * SYSTEM_ERROR: no memory to find out. */
banyan_status banyan_calls_check_overlap(banyan_comm *comm, const banyan_call *call,
                                         const banyan_buffers *buffers, int needs);

/* Runs the entry's plan on memory: its buffer, input and parts count, the rest is filled in here. Leaves the
 * entry. */
banyan_status banyan_calls_run(banyan_comm *comm, banyan_call_entry *entry, const banyan_run_request *memory);

/* When the call cannot be run: the others wait for us and must know that we will not come. Leaves the
 * entry. */
banyan_status banyan_calls_give_up(banyan_comm *comm, banyan_call_entry *entry, banyan_status status);

/* What ended the group, in the words that all ranks have for it; else the status that was given. */
banyan_status banyan_calls_hear_verdict(banyan_comm *comm, banyan_status status);

/* Memory of the handle's own for that many bytes, or parts; NULL and a sentence when there is none. */
char *banyan_calls_scratch(banyan_comm *comm, size_t bytes);
banyan_part *banyan_calls_parts(banyan_comm *comm, size_t count);

#endif
