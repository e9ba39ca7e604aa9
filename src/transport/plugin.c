/* SPDX-License-Identifier: Apache-2.0 */
/* transport/plugin.c: engines lie beside the library or the program, or where they were installed.
 *
 *     PREFIX/lib/libbanyan.so, PREFIX/bin/banyan      ->  PREFIX/lib/banyan/banyan-transport-NAME.so
 *     build/PRESET/banyan, build/PRESET/tests/test_x  ->  build/PRESET/banyan-transport-NAME.so */
#include "transport/plugin.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/file.h"
#include "core/settings.h"

#ifndef BANYAN_PLUGIN_PLACE
#define BANYAN_PLUGIN_PLACE "/usr/local/lib/banyan"
#endif

static int try_file(const char *folder, const char *relative, const char *name, char *path, size_t size)
{
    int length = snprintf(path, size, "%s%s/banyan-transport-%s.so", folder, relative, name);

    return length > 0 && (size_t)length < size && banyan_file_exists(path);
}

static int try_near(char *place, const char *name, char *path, size_t size)
{
    static const char *const relatives[] = {"/banyan", "", "/..", "/../lib/banyan"};
    char *slash = strrchr(place, '/');

    if (!slash)
        return 0;
    *slash = '\0';
    for (size_t i = 0; i < sizeof relatives / sizeof *relatives; i++)
        if (try_file(place, relatives[i], name, path, size))
            return 1;
    return 0;
}

int banyan_plugin_find(const char *name, const char *folder, char *path, size_t size)
{
    static const char anchor = 0;
    char place[PATH_MAX];
    Dl_info info;
    ssize_t length;

    if (*folder)
        return try_file(folder, "", name, path, size);
    if (dladdr(&anchor, &info) && info.dli_fname && strlen(info.dli_fname) < sizeof place) {
        strcpy(place, info.dli_fname);
        if (try_near(place, name, path, size))
            return 1;
    }
    length = readlink("/proc/self/exe", place, sizeof place - 1);
    if (length > 0) {
        place[length] = '\0';
        if (try_near(place, name, path, size))
            return 1;
    }
    return try_file(BANYAN_PLUGIN_PLACE, "", name, path, size);
}

/* MPI loads parts of its own that look for its symbols among the global ones. */
banyan_status banyan_plugin_load(const char *name, const char *folder, const banyan_engine **out,
                                 banyan_error *err)
{
    char path[PATH_MAX + 64];
    const banyan_engine *engine;
    void *object;

    *out = NULL;
    if (!banyan_plugin_find(name, folder, path, sizeof path))
        return banyan_fail(err, BANYAN_UNSUPPORTED,
                           "banyan-transport-%s.so is not there: it is built where %s is installed%s%.200s",
                           name, !strcmp(name, "ucx") ? "libucx-dev" : "that MPI with its compiler wrapper",
                           *folder ? "; BANYAN_PLUGIN_FOLDER=" : "", folder);
    object = dlopen(path, RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
    if (!object)
        return banyan_fail(err, BANYAN_UNSUPPORTED, "cannot load an engine: %.400s", dlerror());
    engine = dlsym(object, BANYAN_ENGINE_SYMBOL);
    if (!engine || engine->abi != BANYAN_ENGINE_ABI)
        return banyan_fail(err, BANYAN_VERSION_MISMATCH, "%.300s is not of this version of Banyan", path);
    *out = engine;
    return BANYAN_SUCCESS;
}

static int is_set(const char *name)
{
    return banyan_environment(name) != NULL;
}

const char *banyan_plugin_which_mpi(const char *wish, const char *folder)
{
    char path[PATH_MAX + 64];

    if (!strcmp(wish, "openmpi"))
        return "mpi-openmpi";
    if (!strcmp(wish, "mpich"))
        return "mpi-mpich";
    if (dlsym(RTLD_DEFAULT, "MPI_Init")) /* a symbol of Open MPI's that its mpi.h refers to */
        return dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world") ? "mpi-openmpi" : "mpi-mpich";
    if (is_set("OMPI_COMM_WORLD_RANK"))
        return "mpi-openmpi";
    if (is_set("PMI_RANK") || is_set("MPI_LOCALRANKID"))
        return "mpi-mpich";
    return banyan_plugin_find("mpi-openmpi", folder, path, sizeof path) ||
                   !banyan_plugin_find("mpi-mpich", folder, path, sizeof path)
               ? "mpi-openmpi"
               : "mpi-mpich";
}
