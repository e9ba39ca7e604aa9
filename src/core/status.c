/* SPDX-License-Identifier: Apache-2.0 */
/* core/status.c: texts of codes, and the error sentence. */
#include "core/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <banyan/banyan.h>

const char *banyan_status_string(banyan_status status)
{
    switch (status) {
#define ENTRY(name, number, text)                                                                            \
    case BANYAN_##name:                                                                                      \
        return text;
        BANYAN_STATUS_MAP(ENTRY)
#undef ENTRY
    }
    return "unknown";
}

const char *banyan_datatype_string(banyan_datatype type)
{
    switch (type) {
#define ENTRY(name, number, text, bytes)                                                                     \
    case BANYAN_##name:                                                                                      \
        return text;
        BANYAN_DATATYPE_MAP(ENTRY)
#undef ENTRY
    }
    return "unknown";
}

const char *banyan_op_string(banyan_op op)
{
    switch (op) {
#define ENTRY(name, number, text)                                                                            \
    case BANYAN_##name:                                                                                      \
        return text;
        BANYAN_OP_MAP(ENTRY)
#undef ENTRY
    }
    return "unknown";
}

size_t banyan_datatype_bytes(banyan_datatype type)
{
    switch (type) {
#define ENTRY(name, number, text, bytes)                                                                     \
    case BANYAN_##name:                                                                                      \
        return bytes;
        BANYAN_DATATYPE_MAP(ENTRY)
#undef ENTRY
    }
    return 0;
}

int banyan_version(void)
{
    return BANYAN_VERSION_CODE;
}

banyan_status banyan_fail(banyan_error *err, banyan_status status, const char *format, ...)
{
    if (err) {
        va_list arguments;

        va_start(arguments, format);
        vsnprintf(err->text, sizeof err->text, format, arguments);
        va_end(arguments);
    }
    return status;
}

void banyan_error_prefix(banyan_error *err, const char *prefix)
{
    banyan_error old;

    if (!err)
        return;
    old = *err;
    snprintf(err->text, sizeof err->text, "%.200s: %.300s", prefix, old.text);
}

banyan_status banyan_fail_memory(banyan_error *err)
{
    return banyan_fail(err, BANYAN_SYSTEM_ERROR, "out of memory");
}

banyan_status banyan_fail_null(const char *argument, banyan_error *err)
{
    return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "the argument '%s' is NULL", argument);
}
