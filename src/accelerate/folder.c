/* SPDX-License-Identifier: Apache-2.0 */
/* accelerate/folder.c: where the layer tables are that came with Banyan.
 *
 *     PREFIX/bin/banyan, PREFIX/lib/libbanyan.so     ->  PREFIX/share/banyan/networks
 *     SOURCE/build/PRESET/banyan, .../tests/test_x   ->  SOURCE/data/networks
 *
 * Found from the place of the program, then of the library, so a moved or staged tree works. */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "accelerate/accelerate.h"
#include "core/alloc.h"
#include "core/file.h"

static int try_folder(const char *base, const char *relative, char *buffer, size_t size)
{
    char probe[PATH_MAX + 32];
    int length = snprintf(buffer, size, "%s/%s", base, relative);

    if (length < 0 || (size_t)length >= size)
        return 0;
    length = snprintf(probe, sizeof probe, "%s/resnet50.csv", buffer);
    return length > 0 && (size_t)length < sizeof probe && banyan_file_exists(probe);
}

/* From the folder of a program or library upwards. */
static int try_near(char *path, char *buffer, size_t size)
{
    static const char *const places[] = {"../share/banyan/networks", "../../share/banyan/networks",
                                         "../../data/networks", "../../../data/networks"};
    char *slash = strrchr(path, '/');

    if (!slash)
        return 0;
    *slash = '\0';
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (try_folder(path, places[i], buffer, size))
            return 1;
    return 0;
}

int banyan_dnn_folder(char *buffer, size_t size)
{
    static const char anchor = 0;
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    Dl_info info;

    if (length > 0) {
        path[length] = '\0';
        if (try_near(path, buffer, size))
            return 1;
    }
    if (dladdr(&anchor, &info) && info.dli_fname && strlen(info.dli_fname) < sizeof path) {
        strcpy(path, info.dli_fname);
        if (try_near(path, buffer, size))
            return 1;
    }
    return 0;
}

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

static int is_plain_name(const char *text)
{
    return text[0] && text[0] != '.' && !strchr(text, '/');
}

banyan_status banyan_dnn_load(const char *path_or_name, banyan_dnn **out, banyan_error *err)
{
    char path[PATH_MAX + 64], folder[PATH_MAX], name[128];
    char *text = NULL;
    banyan_status status;

    *out = NULL;
    snprintf(path, sizeof path, "%s", path_or_name);
    if (!banyan_file_exists(path_or_name) && is_plain_name(path_or_name)) {
        if (!banyan_dnn_folder(folder, sizeof folder))
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                               "there is no file '%.100s', and the folder of networks was not found",
                               path_or_name);
        snprintf(path, sizeof path, "%s/%.50s.csv", folder, path_or_name);
        if (!banyan_file_exists(path))
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                               "there is no file and no network '%.100s' (networks: %.200s)", path_or_name,
                               folder);
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
