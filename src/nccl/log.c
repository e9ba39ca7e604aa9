/* SPDX-License-Identifier: Apache-2.0 */
/* nccl/log.c: keeps NCCL's logger; any thread may write. */
#include "nccl/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

enum { LONGEST = 1000 };

static _Atomic(nccl_logger) current;

void banyan_nccl_log_use(nccl_logger logger)
{
    atomic_store(&current, logger);
}

static void write_line(int level, unsigned long subjects, const char *format, va_list values)
{
    nccl_logger logger = atomic_load(&current);
    char text[LONGEST];

    if (!logger)
        return;
    vsnprintf(text, sizeof text, format, values);
    logger(level, subjects, "banyan", 0, "NET/Banyan: %s", text);
}

void banyan_nccl_warn(const char *format, ...)
{
    va_list values;

    va_start(values, format);
    write_line(NCCL_LOG_WARN, NCCL_LOG_NET, format, values);
    va_end(values);
}

void banyan_nccl_info(unsigned long subjects, const char *format, ...)
{
    va_list values;

    va_start(values, format);
    write_line(NCCL_LOG_INFO, subjects, format, values);
    va_end(values);
}
