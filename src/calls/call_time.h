/* SPDX-License-Identifier: Apache-2.0 */
/* calls/call_time.h: how long a call took, for all ranks together: from when the last one came until the last
 * one had its result.
 *
 *     rank 0   |------------------------------|        The least of the ranks' times, 9 here, favours
 *     rank 1   .           |---------|                 plans that let some ranks go early; the most, 31,
 *     rank 2   .    |----------------------------|     counts in how long others were waited for. The
 *              ^           <--- took 24 -------->       call took 24.
 *              a moment that is the same for all: the end of the last exchange between them */
#ifndef BANYAN_CALLS_CALL_TIME_H
#define BANYAN_CALLS_CALL_TIME_H

/* One rank's, in seconds after that moment; a negative begin: there was none yet. */
typedef struct {
    double begin_s, end_s;
} banyan_call_time;

/* Where some rank knows no such moment, the least of their times: one that comes late waits less. Clocks are
 * not compared, and the moment is the same but for the network's latency, so the answer lies between the
 * least and the most of the ranks' times. */
double banyan_call_time_of_all(const banyan_call_time *times, int count);

#endif
