/* SPDX-License-Identifier: Apache-2.0 */
/* schedule/import.h: other people's forms as a schedule. */
#ifndef BANYAN_SCHEDULE_IMPORT_H
#define BANYAN_SCHEDULE_IMPORT_H

#include "schedule/msccl.h"
#include "schedule/schedule.h"
#include "schedule/teccl.h"

/* The messages of an MSCCL program as transfers between ranks (node r is rank r); rounds are as few as what
 * reads and changes the chunks allows, flows are channels. PLAN_INVALID where messages do not match or it
 * deadlocks, UNSUPPORTED with line and reason for what a schedule cannot say: it has one buffer a node and no
 * scratch. Whether it is right is for banyan_verify to say. */
banyan_status banyan_schedule_import_msccl(const banyan_msccl_program *program, banyan_schedule **out,
                                           banyan_error *err);

/* The network that a TE-CCL program is for, as far as an importer asks. */
typedef struct {
    const void *topology;
    int node_count;
    const int *gpus, *switches; /* nodes: of the program's gpus[i] and switches[i] */
    int (*find_link)(const void *topology, int src, int dst); /* -1: there is none */
    int (*copies)(const void *topology, int node);            /* whether the switch can multicast */
} banyan_teccl_network;

/* The flows of a TE-CCL program as transfers, whose rounds are its epochs. On a network (NULL: none) each
 * follows the links from node to node that it names, and what reaches a switch that copies in one epoch goes
 * there once, whoever it is for. Without a network nodes keep the file's numbers, and transfers take default
 * routes. */
banyan_status banyan_schedule_import_teccl(const banyan_teccl_program *program,
                                           const banyan_teccl_network *network, banyan_schedule **out,
                                           banyan_error *err);

/* From a text of any of these forms, or of our own; without a network. */
banyan_status banyan_schedule_import(const char *text, size_t length, banyan_schedule **out,
                                     banyan_error *err);

#endif
