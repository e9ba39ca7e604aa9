/* SPDX-License-Identifier: Apache-2.0 */
/* schedule/load.c: schedules from files and to files. */
#include <string.h>

#include "core/alloc.h"
#include "core/file.h"
#include "schedule/import.h"
#include "schedule/schedule.h"

static banyan_status import_msccl(const char *text, size_t length, banyan_schedule **out, banyan_error *err)
{
    banyan_msccl_program *program;
    banyan_status status = banyan_msccl_parse(text, length, &program, err);

    if (status)
        return status;
    status = banyan_schedule_import_msccl(program, out, err);
    banyan_msccl_destroy(program);
    return status;
}

static banyan_status import_teccl(const char *text, size_t length, banyan_schedule **out, banyan_error *err)
{
    banyan_teccl_program *program;
    banyan_status status = banyan_teccl_parse(text, length, &program, err);

    if (status)
        return status;
    status = banyan_schedule_import_teccl(program, NULL, out, err);
    banyan_teccl_destroy(program);
    return status;
}

banyan_status banyan_schedule_import(const char *text, size_t length, banyan_schedule **out,
                                     banyan_error *err)
{
    size_t blank = 0;

    while (blank < length && text[blank] && strchr(" \t\r\n", text[blank]))
        blank++;
    /* XML begins with '<', JSON never does. */
    if (blank < length && text[blank] == '<')
        return import_msccl(text, length, out, err);
    return banyan_teccl_looks_like(text, length) ? import_teccl(text, length, out, err)
                                                 : banyan_schedule_parse(text, length, out, err);
}

banyan_status banyan_schedule_load(const char *path, banyan_schedule **out, banyan_error *err)
{
    banyan_status status;
    size_t length;
    char *text;

    if (!out)
        return banyan_fail_null("out", err);
    *out = NULL;
    if (!path)
        return banyan_fail_null("path", err);
    status = banyan_file_load(path, &text, &length, err);
    if (status)
        return status;
    status = banyan_schedule_import(text, length, out, err);
    if (status)
        banyan_error_prefix(err, path);
    banyan_free(text);
    return status;
}

banyan_status banyan_schedule_save(const banyan_schedule *schedule, const char *path, banyan_error *err)
{
    banyan_status status;
    char *text;

    if (!schedule || !path)
        return banyan_fail_null(schedule ? "path" : "schedule", err);
    status = banyan_schedule_format(schedule, &text, err);
    if (status)
        return status;
    status = banyan_file_save(path, text, strlen(text), err);
    banyan_free(text);
    return status;
}
