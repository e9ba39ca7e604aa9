/* SPDX-License-Identifier: Apache-2.0 */
/* cli/flat_ring.h: recognises a schedule that is one ring of all its workers. */
#ifndef BANYAN_CLI_FLAT_RING_H
#define BANYAN_CLI_FLAT_RING_H

#include <banyan/plan.h>

/* Whether every active worker, three or more, sends to one worker only, and all of them form one circle. */
int cli_is_flat_ring(const banyan_schedule *schedule);

#endif
