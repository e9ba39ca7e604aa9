/* SPDX-License-Identifier: Apache-2.0 */
/* transport/eventcount.c: a counter and a futex. */
#include "transport/eventcount.h"

#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/relax.h"

#define SPINS 200 /* a few microseconds: about what a sleep and a wake-up cost */

/* The signalling thread may need this core. */
#define SPINS_BEFORE_YIELD 64

static void sleep_while(banyan_eventcount *event, uint32_t count, int64_t nanoseconds)
{
    struct timespec limit = {.tv_sec = nanoseconds / 1000000000, .tv_nsec = nanoseconds % 1000000000};

    syscall(SYS_futex, &event->count, FUTEX_WAIT, count, &limit, NULL, 0);
}

/* Either the signaller sees the sleeper, or the sleeper sees the signal: both accesses are sequentially
 * consistent. */
void banyan_eventcount_signal(banyan_eventcount *event)
{
    atomic_fetch_add(&event->count, 1);
    if (atomic_load(&event->sleepers))
        syscall(SYS_futex, &event->count, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

int banyan_eventcount_wait(banyan_eventcount *event, uint32_t *seen, int64_t deadline_ns)
{
    return banyan_eventcount_wait_looking(event, seen, deadline_ns, SPINS, 0);
}

int banyan_eventcount_wait_looking(banyan_eventcount *event, uint32_t *seen, int64_t deadline_ns, int spins,
                                   int yields)
{
    uint32_t count = atomic_load(&event->count);

    if (deadline_ns <= 0) /* a caller that only asks does not wait */
        spins = yields = 0;
    for (int i = 1; i <= spins && count == *seen; i++) {
        if (i % SPINS_BEFORE_YIELD)
            banyan_relax();
        else
            sched_yield();
        count = atomic_load(&event->count);
    }
    for (int i = 0; i < yields && count == *seen; i++) {
        sched_yield();
        count = atomic_load(&event->count);
    }
    while (count == *seen) {
        int64_t left_ns = deadline_ns - banyan_clock_ns();

        if (left_ns <= 0)
            return 0;
        atomic_fetch_add(&event->sleepers, 1);
        sleep_while(event, count, left_ns);
        atomic_fetch_sub(&event->sleepers, 1);
        count = atomic_load(&event->count);
    }
    *seen = count;
    return 1;
}
