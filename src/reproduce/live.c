/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce/live.c: reading a file of measurements. */
#include "reproduce/live.h"

#include <stdio.h>

#include "core/alloc.h"
#include "core/data.h"
#include "core/file.h"
#include "reproduce/internal.h"

banyan_status live_load(const char *name, banyan_json **out, char about[LIVE_ABOUT], banyan_error *err)
{
    char path[BANYAN_DATA_PATH_SIZE], *text = NULL;
    banyan_status status;
    size_t length;

    *out = NULL;
    *about = 0;
    if (!banyan_data_find("reproduce", name, path))
        return BANYAN_SUCCESS;
    status = banyan_file_load(path, &text, &length, err);
    if (!status)
        status = banyan_json_parse(text, length, out, err);
    if (!status)
        snprintf(about, LIVE_ABOUT, "%s, %s, %s", banyan_reproduce_string_of(*out, "command"),
                 banyan_reproduce_string_of(*out, "when"), banyan_reproduce_string_of(*out, "machine"));
    else
        banyan_error_prefix(err, path);
    banyan_free(text);
    return status;
}
