/* SPDX-License-Identifier: Apache-2.0 */
/* comm/internal.h: what a communicator is, for the files of this module. */
#ifndef BANYAN_COMM_INTERNAL_H
#define BANYAN_COMM_INTERNAL_H

#include "comm/group.h"

struct banyan_comm {
    banyan_group *group;
    int rank;
    banyan_endpoint *endpoint;
    pthread_mutex_t lock; /* one call after the other */
    char *scratch;        /* for collectives that must not change what the user gave; grows, never shrinks */
    size_t scratch_bytes;
    banyan_error err;
};

#endif
