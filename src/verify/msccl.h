/* SPDX-License-Identifier: Apache-2.0 */
/* verify/msccl.h: judges an MSCCL program without running it.
 *
 * Proven: every message meets its receive; nothing waits for ever, even if a connection holds only a few
 * messages; no two accesses to a chunk race in any interleaving; and every rank ends with what the collective
 * promises, each contribution exactly once. A step counts as one event: what is said of a chunk holds for
 * every slice of it. */
#ifndef BANYAN_VERIFY_MSCCL_H
#define BANYAN_VERIFY_MSCCL_H

#include "schedule/msccl.h"
#include "verify/verify.h"

#define BANYAN_MSCCL_SLOTS 2 /* what we promise to every runtime: it holds at least two messages */

/* slots: messages that a connection holds at least; 0: any number. Fewer mean more waiting, so deadlock is
 * judged with just these; more mean less order, so races are judged with any number. A program that may serve
 * calls in place and out of place is judged for both. Fails only if memory runs out. */
banyan_status banyan_verify_msccl(const banyan_msccl_program *program, int slots, banyan_verdict *verdict,
                                  banyan_error *err);

#endif
