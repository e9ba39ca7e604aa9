/* SPDX-License-Identifier: Apache-2.0 */
/* schedule/wire.h: a schedule as bytes, for ranks that send it to each other: a third of the text form
 * (docs/formats/schedule.md), and read without making a value of each number. The same on every machine. */
#ifndef BANYAN_SCHEDULE_WIRE_H
#define BANYAN_SCHEDULE_WIRE_H

#include "core/text.h"
#include "schedule/schedule.h"

/* Appends; failures of memory are remembered in the text. */
void banyan_schedule_pack(const banyan_schedule *schedule, banyan_text *out);

/* Checks what the text form's reader checks. On success the caller owns *out. */
banyan_status banyan_schedule_unpack(const void *bytes, size_t length, banyan_schedule **out,
                                     banyan_error *err);

#endif
