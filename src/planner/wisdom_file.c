/* SPDX-License-Identifier: Apache-2.0 */
/* planner/wisdom_file.c: wisdom from a file and back. */
#include <string.h>

#include "core/alloc.h"
#include "core/file.h"
#include "planner/wisdom.h"

banyan_status banyan_wisdom_load(const char *path, banyan_wisdom *out, banyan_error *err)
{
    banyan_status status;
    size_t length;
    char *text;

    banyan_wisdom_init(out);
    if (!banyan_file_exists(path))
        return BANYAN_SUCCESS;
    status = banyan_file_load(path, &text, &length, err);
    if (status)
        return status;
    status = banyan_wisdom_parse(text, length, out, err);
    if (status)
        banyan_error_prefix(err, path);
    banyan_free(text);
    return status;
}

banyan_status banyan_wisdom_save(const banyan_wisdom *wisdom, const char *path, banyan_error *err)
{
    banyan_status status;
    char *text;

    if (!wisdom->changed)
        return BANYAN_SUCCESS;
    status = banyan_wisdom_format(wisdom, &text, err);
    if (status)
        return status;
    status = banyan_file_save(path, text, strlen(text), err);
    banyan_free(text);
    return status;
}
