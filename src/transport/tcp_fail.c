/* SPDX-License-Identifier: Apache-2.0 */
/* transport/tcp_fail.c: the end of a group, from any thread, and what wakes the one that sleeps. */
#include <unistd.h>

#include "transport/tcp_internal.h"

void banyan_tcp_wake(banyan_tcp_endpoint *e)
{
    uint64_t one = 1;

    /* A full counter wakes as well. */
    if (write(e->wake, &one, sizeof one) < 0)
        return;
}

void banyan_tcp_fail(banyan_endpoint *base, banyan_status status, const char *sentence)
{
    banyan_tcp_endpoint *e = (banyan_tcp_endpoint *)base;

    banyan_first_failure_note(&e->failure, status, sentence);
    banyan_tcp_wake(e);
}

void banyan_tcp_abort(banyan_endpoint *base, banyan_status status, const char *sentence)
{
    banyan_tcp_endpoint *e = (banyan_tcp_endpoint *)base;
    int is_first = banyan_first_failure_note(&e->failure, status, sentence);

    banyan_tcp_wake(e);
    if (is_first)
        e->meeting->spread(e->meeting->context, status, sentence);
}
