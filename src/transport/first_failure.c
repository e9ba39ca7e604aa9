/* SPDX-License-Identifier: Apache-2.0 */
/* transport/first_failure.c: a lock around a status and its sentence, and a flag that is read without it. */
#include "transport/first_failure.h"

#include <stdio.h>

void banyan_first_failure_init(banyan_first_failure *first)
{
    pthread_mutex_init(&first->lock, NULL);
    atomic_init(&first->is_there, 0);
    first->status = BANYAN_SUCCESS;
}

void banyan_first_failure_fini(banyan_first_failure *first)
{
    pthread_mutex_destroy(&first->lock);
}

int banyan_first_failure_note(banyan_first_failure *first, banyan_status status, const char *sentence)
{
    int is_first;

    pthread_mutex_lock(&first->lock);
    is_first = !first->status;
    if (is_first) {
        first->status = status;
        snprintf(first->reason.text, sizeof first->reason.text, "%s", sentence);
        atomic_store_explicit(&first->is_there, 1, memory_order_release);
    }
    pthread_mutex_unlock(&first->lock);
    return is_first;
}

banyan_status banyan_first_failure_get(banyan_first_failure *first, banyan_error *err)
{
    banyan_status status;

    if (!banyan_first_failure_is_there(first))
        return BANYAN_SUCCESS;
    pthread_mutex_lock(&first->lock);
    status = banyan_fail(err, first->status, "%s", first->reason.text);
    pthread_mutex_unlock(&first->lock);
    return status;
}

int banyan_first_failure_is_there(const banyan_first_failure *first)
{
    return atomic_load_explicit(&first->is_there, memory_order_acquire);
}
