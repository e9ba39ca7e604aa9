/* SPDX-License-Identifier: Apache-2.0 */
/* transport/bell.c: a counter and a futex. */
#include "transport/bell.h"

#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/relax.h"

#define SPINS 200 /* a few microseconds: about what a sleep and a wake-up cost */

/* Whoever is to ring may need this core. */
#define SPINS_BEFORE_YIELD 64

static void sleep_while(banyan_bell *bell, uint32_t rings, int64_t nanoseconds)
{
    struct timespec limit = {.tv_sec = nanoseconds / 1000000000, .tv_nsec = nanoseconds % 1000000000};

    syscall(SYS_futex, &bell->rings, FUTEX_WAIT, rings, &limit, NULL, 0);
}

/* Either the ringer sees the sleeper, or the sleeper sees the ring: both are sequentially consistent. */
void banyan_bell_ring(banyan_bell *bell)
{
    atomic_fetch_add(&bell->rings, 1);
    if (atomic_load(&bell->sleepers))
        syscall(SYS_futex, &bell->rings, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

int banyan_bell_wait(banyan_bell *bell, uint32_t *heard, int64_t deadline_ns)
{
    return banyan_bell_wait_spinning(bell, heard, deadline_ns, SPINS);
}

int banyan_bell_wait_spinning(banyan_bell *bell, uint32_t *heard, int64_t deadline_ns, int spins)
{
    uint32_t rings = atomic_load(&bell->rings);

    if (deadline_ns <= 0) /* who only asks does not wait */
        spins = 0;
    for (int i = 1; i <= spins && rings == *heard; i++) {
        if (i % SPINS_BEFORE_YIELD)
            banyan_relax();
        else
            sched_yield();
        rings = atomic_load(&bell->rings);
    }
    while (rings == *heard) {
        int64_t left_ns = deadline_ns - banyan_clock_ns();

        if (left_ns <= 0)
            return 0;
        atomic_fetch_add(&bell->sleepers, 1);
        sleep_while(bell, rings, left_ns);
        atomic_fetch_sub(&bell->sleepers, 1);
        rings = atomic_load(&bell->rings);
    }
    *heard = rings;
    return 1;
}
