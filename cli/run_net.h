/* SPDX-License-Identifier: Apache-2.0 */
/* cli/run_net.h: a network of hosts inside this machine, for tests: one namespace a host, cables of set
 * speed.
 *
 * Namespaces have no names here: each is held by a process, and all of it is gone when these processes and
 * those inside have ended, however they ended. Nothing outside of these namespaces is touched. */
#ifndef BANYAN_CLI_RUN_NET_H
#define BANYAN_CLI_RUN_NET_H

#include "run_host.h"

typedef struct run_net run_net;

/* What all its cables have in common. */
typedef struct {
    int64_t queue_bytes; /* in front of each; by default what a switch has for a busy port */
    int64_t mtu_bytes;   /* of a packet */
} run_cables;

#define RUN_NET_QUEUE_BYTES 1000000
#define RUN_NET_MIN_QUEUE_BYTES 30000 /* two packets of segmentation offload, and some more */
#define RUN_NET_MTU_BYTES 1500
#define RUN_NET_MIN_MTU_BYTES 576
#define RUN_NET_MAX_MTU_BYTES 9000

/* SYSTEM_ERROR with a sentence when this user or system cannot; nothing is left then. */
banyan_status run_net_create(const run_tree *tree, const run_cables *cables, run_net **out,
                             banyan_error *err);
void run_net_destroy(run_net *net); /* accepts NULL */

/* Moves the calling process into the host; root folder and working folder stay (cli/run_host.h). */
banyan_status run_net_enter(const run_net *net, int host, banyan_error *err);

/* Where ranks are told to meet: nobody else is in the namespace, so the port is free. */
#define RUN_NET_PORT 29400
#define RUN_NET_INTERFACE "eth0"

#endif
