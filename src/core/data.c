/* SPDX-License-Identifier: Apache-2.0 */
/* core/data.c: finds what came with Banyan, wherever the tree was moved to.
 *
 *     PREFIX/bin/banyan, PREFIX/lib/libbanyan.so  ->  PREFIX/share/banyan/FOLDER/NAME
 *     BUILD/banyan, BUILD/tests/test_x            ->  BUILD/share/banyan/FOLDER, a link to the source
 *
 * A program knows its own place, and a library its own; from there we look upwards. The prefix that was
 * configured comes last. */
#include "core/data.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/file.h"

#ifndef BANYAN_DATA_FOLDER
#define BANYAN_DATA_FOLDER "/usr/local/share/banyan"
#endif

enum { MAX_STEPS_UP = 4 };

int banyan_data_is_word(const char *name)
{
    return *name && !strpbrk(name, "/.") && strlen(name) < 100;
}

static int is_there(const char *base, const char *folder, const char *name, char *path)
{
    int length = snprintf(path, BANYAN_DATA_PATH_SIZE, "%s/%s%s%s", base, folder, *name ? "/" : "", name);

    return length > 0 && length < BANYAN_DATA_PATH_SIZE && banyan_file_exists(path);
}

static int find_above(char *place, const char *folder, const char *name, char *path)
{
    for (int step = 0; step < MAX_STEPS_UP; step++) {
        char *slash = strrchr(place, '/');

        if (!slash)
            return 0;
        strcpy(slash, "/share/banyan");
        if (is_there(place, folder, name, path))
            return 1;
        *slash = '\0';
    }
    return 0;
}

int banyan_data_find(const char *folder, const char *name, char path[BANYAN_DATA_PATH_SIZE])
{
    static const char anchor = 0;
    char place[BANYAN_DATA_PATH_SIZE + 32]; /* room for what find_above appends */
    ssize_t length = readlink("/proc/self/exe", place, BANYAN_DATA_PATH_SIZE - 1);
    Dl_info info;

    place[length > 0 ? length : 0] = '\0';
    if (find_above(place, folder, name, path))
        return 1;
    if (dladdr(&anchor, &info) && info.dli_fname && strlen(info.dli_fname) < BANYAN_DATA_PATH_SIZE) {
        strcpy(place, info.dli_fname);
        if (find_above(place, folder, name, path))
            return 1;
    }
    return is_there(BANYAN_DATA_FOLDER, folder, name, path);
}
