/* SPDX-License-Identifier: Apache-2.0 */
/* tests/multi/calls.h: calls that ranks of a job make until something happens. */
#ifndef BANYAN_TESTS_CALLS_H
#define BANYAN_TESTS_CALLS_H

#include "multi/jobs.h"

static inline banyan_status sum_ranks(banyan_comm *comm, float *sum)
{
    static float data[100000];
    int rank = 0;
    banyan_status status;

    banyan_comm_rank(comm, &rank);
    for (int i = 0; i < 100000; i++)
        data[i] = (float)(rank + 1);
    status = banyan_allreduce(data, data, 100000, BANYAN_FLOAT32, BANYAN_SUM, comm);
    *sum = data[99999];
    return status;
}

/* Calls until one fails; *seconds is how long that one took. */
static inline banyan_status call_until_failure(banyan_comm *comm, double *seconds)
{
    banyan_status status = BANYAN_SUCCESS;
    float sum;

    while (!status) {
        double begin_s = banyan_clock_s();

        status = sum_ranks(comm, &sum);
        *seconds = banyan_clock_s() - begin_s;
    }
    return status;
}

#endif
