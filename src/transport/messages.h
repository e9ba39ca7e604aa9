/* SPDX-License-Identifier: Apache-2.0 */
/* transport/messages.h: how members of a group meet whose bytes a message engine carries (MPI, UCX). */
#ifndef BANYAN_TRANSPORT_MESSAGES_H
#define BANYAN_TRANSPORT_MESSAGES_H

#include "transport/engine.h"
#include "transport/transport.h"

extern const banyan_transport banyan_transport_mpi;
extern const banyan_transport banyan_transport_ucx;

/* Give it to each member's opening. What exchange, plugin and folder point to is needed by open only, the
 * rest must outlive the endpoint. */
typedef struct {
    banyan_exchange exchange;
    int64_t deadline_ns;  /* for the exchanges */
    const char *folder;   /* BANYAN_PLUGIN_FOLDER */
    const char *mpi;      /* BANYAN_MPI */
    size_t message_bytes; /* the longest message; the same everywhere */
    void *context;
    /* 'rank 3'; into the buffer or elsewhere. */
    const char *(*name)(void *context, int member, char *buffer, size_t size);
    /* Tells the other members that the group is over; from any thread. */
    void (*spread)(void *context, banyan_status status, const char *sentence);
} banyan_messages_meeting;

/* Open returns PEER_LOST when a member's engine cannot be used any more since a rank was lost in an earlier
 * group: all members get it, and can take another transport. */

/* What abort does, but the others know already; from any thread. */
void banyan_messages_fail(banyan_endpoint *endpoint, banyan_status status, const char *sentence);

#endif
