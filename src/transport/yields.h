/* SPDX-License-Identifier: Apache-2.0 */
/* transport/yields.h: how often a wait gives its core away, and looks again, before it sleeps.
 *
 * Where ranks share cores, what one of them waits for mostly comes from another one of the same core, and a
 * wake-up by the kernel costs more than all these looks. This holds for the real-time policies, under which
 * sched_yield() lets those run that are ready. Under the others it may give whole time slices away
 * (sched_yield(2)): there waits sleep at once. */
#ifndef BANYAN_TRANSPORT_YIELDS_H
#define BANYAN_TRANSPORT_YIELDS_H

#include <sched.h>

#define BANYAN_TRANSPORT_YIELDS 8

/* Of the calling thread. */
static inline int banyan_transport_yields(void)
{
    int policy = sched_getscheduler(0);

    return policy == SCHED_FIFO || policy == SCHED_RR ? BANYAN_TRANSPORT_YIELDS : 0;
}

#endif
