/* SPDX-License-Identifier: Apache-2.0 */
/* cli/bench_bound.h: what no algorithm can beat, to hold a measurement against. */
#ifndef BANYAN_CLI_BENCH_BOUND_H
#define BANYAN_CLI_BENCH_BOUND_H

#include "schedule/schedule.h"

/* The best possible rate of the collective among the first ranks of a network, bytes of vector a second. NaN
 * where it is not known: no network is named, it is to be probed, or the collective has no bound here. */
double bench_bound(const char *spec, int ranks, banyan_collective collective);

#endif
