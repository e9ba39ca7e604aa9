/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a schedule that a rank has sent: what is accepted can be sent on, and arrives as the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "schedule/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    banyan_schedule *schedule, *again;
    banyan_text text = BANYAN_TEXT_EMPTY;
    banyan_error err;
    char first[17], second[17];

    if (banyan_schedule_unpack(data, size, &schedule, &err))
        return 0;
    banyan_schedule_pack(schedule, &text);
    if (text.failed || banyan_schedule_unpack(text.bytes, text.length, &again, &err))
        abort();
    banyan_schedule_digest(schedule, first);
    banyan_schedule_digest(again, second);
    if (strcmp(first, second) != 0)
        abort();
    banyan_text_fini(&text);
    banyan_schedule_destroy(schedule);
    banyan_schedule_destroy(again);
    return 0;
}
