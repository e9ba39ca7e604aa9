/* SPDX-License-Identifier: Apache-2.0 */
/* transport/eventcount.h: how one thread tells another that something has happened: an eventcount (Reed and
 * Kanodia, Synchronization with eventcounts and sequencers, CACM 22(2), 1979).
 *
 * It counts signals. The waiter remembers the count up to which it has looked; waiting returns at once when
 * the count has moved on, so a signal between a look and the wait is never lost. A waiter spins briefly, for
 * a partner that is just about to signal, and then sleeps in the kernel: more threads than cores do not
 * thrash. It works in memory that processes share, too. */
#ifndef BANYAN_TRANSPORT_EVENTCOUNT_H
#define BANYAN_TRANSPORT_EVENTCOUNT_H

#include <stdatomic.h>
#include <stdint.h>

typedef struct {
    _Atomic uint32_t count; /* of signals */
    _Atomic uint32_t sleepers;
} banyan_eventcount;

void banyan_eventcount_signal(banyan_eventcount *event);

/* Waits until there was a signal since *seen, and notes the count. Returns 0 when the deadline passed; with a
 * deadline of 0 it only looks. */
int banyan_eventcount_wait(banyan_eventcount *event, uint32_t *seen, int64_t deadline_ns);

/* The same with that many looks before the sleep, more where every member has a core of its own; and after
 * those with that many more, before each of which the core is given away. */
int banyan_eventcount_wait_looking(banyan_eventcount *event, uint32_t *seen, int64_t deadline_ns, int spins,
                                   int yields);

#endif
