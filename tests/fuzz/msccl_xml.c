/* SPDX-License-Identifier: Apache-2.0 */
/* tests/fuzz/msccl_xml.c: any bytes as MSCCL XML: parsed, judged, imported, and written again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "schedule/export.h"
#include "schedule/import.h"
#include "verify/msccl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What we write must be judged as what we read. */
static void check_formatted(const banyan_msccl_program *program, const banyan_verdict *verdict)
{
    banyan_msccl_program *again;
    banyan_verdict second;
    char *text;

    if (banyan_msccl_format(program, &text, NULL))
        abort();
    if (banyan_msccl_parse(text, strlen(text), &again, NULL))
        abort();
    if (banyan_verify_msccl(again, BANYAN_MSCCL_SLOTS, &second, NULL) ||
        second.problem_count != verdict->problem_count)
        abort();
    banyan_msccl_destroy(again);
    banyan_free(text);
}

/* A program in place that is right is a schedule that is right, where it is one at all; and that one can be
 * written as a program that is right, where it fits. */
static void check_imported(const banyan_msccl_program *program, const banyan_verdict *verdict)
{
    banyan_schedule *schedule;
    banyan_msccl_program *again;
    banyan_verdict second;
    char *text;

    if (banyan_schedule_import_msccl(program, &schedule, NULL))
        return;
    if (!verdict->problem_count) {
        if (banyan_verify(schedule, NULL, &second, NULL) || second.problem_count)
            abort();
        if (!banyan_schedule_export_msccl(schedule, NULL, &text, NULL)) {
            if (banyan_msccl_parse(text, strlen(text), &again, NULL))
                abort();
            if (banyan_verify_msccl(again, BANYAN_MSCCL_SLOTS, &second, NULL) || second.problem_count)
                abort();
            banyan_msccl_destroy(again);
            banyan_free(text);
        }
    }
    banyan_schedule_destroy(schedule);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    banyan_msccl_program *program;
    banyan_verdict verdict;

    if (banyan_msccl_parse((const char *)data, size, &program, NULL))
        return 0;
    if (banyan_verify_msccl(program, BANYAN_MSCCL_SLOTS, &verdict, NULL))
        abort();
    check_formatted(program, &verdict);
    check_imported(program, &verdict);
    banyan_msccl_destroy(program);
    return 0;
}
