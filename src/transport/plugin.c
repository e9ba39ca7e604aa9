/* SPDX-License-Identifier: Apache-2.0 */
/* transport/plugin.c: an engine is the shared object banyan-transport-NAME.so (core/shared_object.h). */
#include "transport/plugin.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "core/settings.h"
#include "core/shared_object.h"

enum { NAME_SIZE = 64 };

static const char *object_name(const char *name, char out[NAME_SIZE])
{
    snprintf(out, NAME_SIZE, "transport-%s", name);
    return out;
}

int banyan_plugin_find(const char *name, const char *folder, char *path, size_t size)
{
    char object[NAME_SIZE];

    return banyan_shared_object_find(object_name(name, object), folder, path, size);
}

/* MPI loads parts of its own that look for its symbols among the global ones. */
banyan_status banyan_plugin_load(const char *name, const char *folder, const banyan_message_engine **out,
                                 banyan_error *err)
{
    const char *needs = !strcmp(name, "ucx") ? "libucx-dev" : "that MPI with its compiler wrapper";
    const banyan_message_engine *engine;
    char object_of[NAME_SIZE];
    void *object;
    banyan_status status =
        banyan_shared_object_open(object_name(name, object_of), folder, needs, RTLD_GLOBAL, &object, err);

    *out = NULL;
    if (status)
        return status;
    engine = dlsym(object, BANYAN_ENGINE_SYMBOL);
    if (!engine || engine->abi != BANYAN_MESSAGE_ENGINE_ABI)
        return banyan_fail(err, BANYAN_VERSION_MISMATCH, "banyan-%s.so is not of this version of Banyan",
                           object_of);
    *out = engine;
    return BANYAN_SUCCESS;
}

static int is_set(const char *name)
{
    return banyan_environment(name) != NULL;
}

const char *banyan_plugin_which_mpi(const char *wish, const char *folder)
{
    char path[BANYAN_SHARED_OBJECT_PATH_SIZE];

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
