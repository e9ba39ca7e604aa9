/* SPDX-License-Identifier: Apache-2.0 */
/* core/shared_object.c: shared objects lie beside the library or the program, or where they were installed.
 *
 *     PREFIX/lib/libbanyan.so, PREFIX/bin/banyan      ->  PREFIX/lib/banyan/banyan-NAME.so
 *     build/PRESET/banyan, build/PRESET/tests/test_x  ->  build/PRESET/banyan-NAME.so
 *
 * lib is what the distribution calls it: lib64, lib/x86_64-linux-gnu. */
#include "core/shared_object.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/file.h"

#ifndef BANYAN_PLUGIN_PLACE
#define BANYAN_PLUGIN_PLACE "/usr/local/lib/banyan"
#define BANYAN_PLUGIN_DIR "lib/banyan" /* under the prefix, wherever that was moved to */
#endif

static int try_file(const char *folder, const char *relative, const char *file, char *path, size_t size)
{
    int length = snprintf(path, size, "%s%s/%s", folder, relative, file);

    return length > 0 && (size_t)length < size && banyan_file_exists(path);
}

static int try_near(char *place, const char *file, char *path, size_t size)
{
    static const char *const relatives[] = {"/banyan", "", "/..", "/../..", ("/../" BANYAN_PLUGIN_DIR)};
    char *slash = strrchr(place, '/');

    if (!slash)
        return 0;
    *slash = '\0';
    for (size_t i = 0; i < sizeof relatives / sizeof *relatives; i++)
        if (try_file(place, relatives[i], file, path, size))
            return 1;
    return 0;
}

int banyan_shared_object_find_file(const char *file, char *path, size_t size)
{
    static const char anchor = 0;
    char place[PATH_MAX];
    Dl_info info;
    ssize_t length;

    if (dladdr(&anchor, &info) && info.dli_fname && strlen(info.dli_fname) < sizeof place) {
        strcpy(place, info.dli_fname);
        if (try_near(place, file, path, size))
            return 1;
    }
    length = readlink("/proc/self/exe", place, sizeof place - 1);
    if (length > 0) {
        place[length] = '\0';
        if (try_near(place, file, path, size))
            return 1;
    }
    return try_file(BANYAN_PLUGIN_PLACE, "", file, path, size);
}

int banyan_shared_object_find(const char *name, const char *folder, char *path, size_t size)
{
    char file[64];

    snprintf(file, sizeof file, "banyan-%s.so", name);
    if (*folder)
        return try_file(folder, "", file, path, size);
    return banyan_shared_object_find_file(file, path, size);
}

banyan_status banyan_shared_object_open(const char *name, const char *folder, const char *needs, int flags,
                                        void **out, banyan_error *err)
{
    char path[BANYAN_SHARED_OBJECT_PATH_SIZE];

    *out = NULL;
    if (!banyan_shared_object_find(name, folder, path, sizeof path))
        return banyan_fail(err, BANYAN_UNSUPPORTED,
                           "banyan-%s.so is not there: it is built where %s is installed%s%.200s", name,
                           needs, *folder ? "; BANYAN_PLUGIN_FOLDER=" : "", folder);
    *out = dlopen(path, RTLD_NOW | RTLD_NODELETE | flags);
    if (!*out)
        return banyan_fail(err, BANYAN_UNSUPPORTED, "cannot load banyan-%s.so, which needs %s: %.300s", name,
                           needs, dlerror());
    return BANYAN_SUCCESS;
}
