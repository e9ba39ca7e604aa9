/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a schedule: what is accepted is judged without harm, and writes and reads back as the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "schedule/dependencies.h"
#include "schedule/schedule.h"
#include "verify/verify.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    banyan_schedule *schedule, *again;
    banyan_dependencies *dependencies;
    banyan_verdict verdict;
    banyan_error err;
    char *text, first[17], second[17];

    if (banyan_schedule_parse((const char *)data, size, &schedule, &err))
        return 0;
    if (banyan_schedule_format(schedule, &text, &err) ||
        banyan_schedule_parse(text, strlen(text), &again, &err))
        abort();
    banyan_schedule_digest(schedule, first);
    banyan_schedule_digest(again, second);
    if (strcmp(first, second) != 0)
        abort();
    /* A file may claim millions of nodes: only judge what a fuzzer's memory allows. */
    if ((size_t)schedule->node_count * (size_t)schedule->piece_count < 1 << 20) {
        if (banyan_verify(schedule, NULL, &verdict, &err) ||
            banyan_dependencies_derive(schedule, &dependencies, &err))
            abort();
        banyan_dependencies_destroy(dependencies);
    }
    banyan_free(text);
    banyan_schedule_destroy(schedule);
    banyan_schedule_destroy(again);
    return 0;
}
