/* SPDX-License-Identifier: Apache-2.0 */
/* transport/first_failure.h: why a group is over. The first reason counts, whoever brings it and from
 * whichever thread; to ask whether it is the first and to note it is one step. */
#ifndef BANYAN_TRANSPORT_FIRST_FAILURE_H
#define BANYAN_TRANSPORT_FIRST_FAILURE_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/status.h"

typedef struct {
    _Atomic int is_there;
    pthread_mutex_t lock;
    /* guarded by lock: */
    banyan_status status;
    banyan_error reason;
} banyan_first_failure;

void banyan_first_failure_init(banyan_first_failure *first);
void banyan_first_failure_fini(banyan_first_failure *first);

/* Returns whether this was the first. */
int banyan_first_failure_note(banyan_first_failure *first, banyan_status status, const char *sentence);

/* SUCCESS, or the status and sentence of the first. Without one it takes no lock. */
banyan_status banyan_first_failure_get(banyan_first_failure *first, banyan_error *err);
int banyan_first_failure_is_there(const banyan_first_failure *first);

#endif
