/* SPDX-License-Identifier: Apache-2.0 */
/* solve/net/work.c: counters per thread: a plan is made by one thread from beginning to end. */
#include "solve/net/work.h"

static _Thread_local banyan_work work;

void banyan_work_add(banyan_work_kind kind, int64_t visits)
{
    work.calls[kind]++;
    work.visits += visits;
}

banyan_work banyan_work_now(void)
{
    return work;
}

banyan_work banyan_work_since(const banyan_work *then)
{
    banyan_work since = work;

    for (int i = 0; i < BANYAN_WORK_KINDS; i++)
        since.calls[i] -= then->calls[i];
    since.visits -= then->visits;
    return since;
}
