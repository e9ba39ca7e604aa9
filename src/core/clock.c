/* SPDX-License-Identifier: Apache-2.0 */
/* core/clock.c: clock_gettime in two units. */
#include "core/clock.h"

#include <time.h>

static int64_t read_clock(clockid_t id)
{
    struct timespec now;

    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t banyan_clock_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

double banyan_clock_s(void)
{
    return 1e-9 * (double)read_clock(CLOCK_MONOTONIC);
}

double banyan_clock_cpu_s(void)
{
    return 1e-9 * (double)read_clock(CLOCK_PROCESS_CPUTIME_ID);
}
