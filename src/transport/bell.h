/* SPDX-License-Identifier: Apache-2.0 */
/* transport/bell.h: how one thread tells another that something has happened.
 *
 * A bell counts its rings. The listener remembers the count up to which it has looked; waiting returns at
 * once when the count has moved on, so a ring between a look and the wait is never lost. A waiter spins
 * briefly, for a partner that is just about to ring, and then sleeps in the kernel: more threads than cores
 * do not thrash. It works in memory that processes share, too. */
#ifndef BANYAN_TRANSPORT_BELL_H
#define BANYAN_TRANSPORT_BELL_H

#include <stdatomic.h>
#include <stdint.h>

typedef struct {
    _Atomic uint32_t rings;
    _Atomic uint32_t sleepers;
} banyan_bell;

void banyan_bell_ring(banyan_bell *bell);

/* Waits until the bell has rung since *heard, and notes how far it has. Returns 0 when the deadline passed;
 * with a deadline of 0 it only looks. */
int banyan_bell_wait(banyan_bell *bell, uint32_t *heard, int64_t deadline_ns);

/* The same with that many looks before the sleep: more where every member has a core of its own, none where
 * they crowd. */
int banyan_bell_wait_spinning(banyan_bell *bell, uint32_t *heard, int64_t deadline_ns, int spins);

#endif
