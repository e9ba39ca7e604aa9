/* SPDX-License-Identifier: Apache-2.0 */
/* calls/learning.h: a group that was told no network finds out what it runs on, between its calls, and plans
 * anew when that pays (docs/learning.md).
 *
 *     waiting ──> surveying ──> a new plan on trial, or none ──> watching ──┐
 *                     ^                                                     │ calls take another time than
 *                     └─────────────────────────────────────────────────────┘ they did
 *
 * All happens at the end of all-reduces that have succeeded: every rank then knows that all have made the
 * same calls, so they agree on when it is time for what. */
#ifndef BANYAN_CALLS_LEARNING_H
#define BANYAN_CALLS_LEARNING_H

#include "calls/comm.h"

/* *out is NULL where there is nothing to learn: one host, a network that was given, a setting. */
banyan_status banyan_learning_create(banyan_comm *comm, banyan_learning **out, banyan_error *err);
void banyan_learning_destroy(banyan_learning *learning); /* accepts NULL */

/* Whether the group still surveys the network after calls of that many bytes, or has a plan on trial, so that
 * later calls will take another time. The same on all ranks between calls. */
int banyan_learning_goes_on(const banyan_comm *comm, size_t bytes);

/* A call of that many bytes has ended well. The plan may be gone afterwards. */
banyan_status banyan_learning_note(banyan_comm *comm, const banyan_call *call, const banyan_group_plan *plan,
                                   size_t bytes, double seconds);

#endif
