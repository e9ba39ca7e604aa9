/* SPDX-License-Identifier: Apache-2.0 */
/* schedule/import.h: other people's forms as a schedule. */
#ifndef BANYAN_SCHEDULE_IMPORT_H
#define BANYAN_SCHEDULE_IMPORT_H

#include "schedule/msccl.h"
#include "schedule/schedule.h"

/* The messages of an MSCCL program as transfers between ranks (node r is rank r); rounds are as few as what
 * reads and changes the chunks allows, flows are channels. PLAN_INVALID where messages do not match or it
 * deadlocks, UNSUPPORTED with line and reason for what a schedule cannot say: it has one buffer a node and no
 * scratch. Whether it is right is for banyan_verify to say. */
banyan_status banyan_schedule_import_msccl(const banyan_msccl_program *program, banyan_schedule **out,
                                           banyan_error *err);

#endif
