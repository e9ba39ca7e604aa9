/* SPDX-License-Identifier: Apache-2.0 */
/* accelerate/load.c: a layer table from a file, or one of those that came with Banyan. */
#include <stdio.h>
#include <string.h>

#include "accelerate/accelerate.h"
#include "core/alloc.h"
#include "core/data.h"
#include "core/file.h"

/* The network's name: the file's, without folder and ending. */
static void name_of(const char *path, char *buffer, size_t size)
{
    const char *slash = strrchr(path, '/');
    char *dot;

    snprintf(buffer, size, "%.100s", slash ? slash + 1 : path);
    dot = strrchr(buffer, '.');
    if (dot && dot != buffer)
        *dot = '\0';
}

banyan_status banyan_dnn_load(const char *path_or_name, banyan_dnn **out, banyan_error *err)
{
    char found[BANYAN_DATA_PATH_SIZE], file[128], name[128];
    const char *path = path_or_name;
    char *text = NULL;
    banyan_status status;

    *out = NULL;
    if (banyan_data_is_word(path_or_name) && !banyan_file_exists(path_or_name)) {
        snprintf(file, sizeof file, "%.100s.csv", path_or_name);
        if (!banyan_data_find("networks", file, found))
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                               "there is no file and no network '%.100s' (networks: alexnet alphagozero "
                               "fasterrcnn googlenet ncf resnet50 transformer)",
                               path_or_name);
        path = found;
    }
    status = banyan_file_load(path, &text, NULL, err);
    if (status)
        return status;
    name_of(path, name, sizeof name);
    status = banyan_dnn_parse(name, text, out, err);
    if (status)
        banyan_error_prefix(err, path);
    banyan_free(text);
    return status;
}
