/* SPDX-License-Identifier: Apache-2.0 */
/* tests/gpu/cuda_without_handles.c: a libcuda.so.1 in front of the driver's own, whose calls it hands out,
 * but for the handles of memory (cuIpcGetMemHandle, cuIpcOpenMemHandle), which some systems do not have:
 * there Banyan's windows are physical blocks with file descriptors. scripts/gpu-suite.sh puts it before the
 * driver by LD_LIBRARY_PATH; it says on stderr when a process maps its first block of another one.
 *
 *     DRIVER_BEHIND      the path of the driver's own library
 *     DRIVER_HANDLES     missing: there are no such calls; refused: none is given; closed: none is opened */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NOT_FOUND = 500, NOT_SUPPORTED = 801 };

typedef struct {
    char bytes[64];
} handle;

typedef int (*find_call)(const char *name, void **address, int version, uint64_t flags, int *why);
typedef int (*import_call)(uint64_t *block, void *shared, int type);

static import_call import_block;

static int refuse_get(handle *out, uint64_t address)
{
    (void)out, (void)address;
    return NOT_SUPPORTED;
}

static int refuse_open(uint64_t *address, handle given, unsigned flags)
{
    (void)address, (void)given, (void)flags;
    return NOT_SUPPORTED;
}

static int import_and_say(uint64_t *block, void *shared, int type)
{
    static atomic_int is_said;
    int error = import_block(block, shared, type);

    if (!error && !atomic_exchange(&is_said, 1))
        fprintf(stderr, "process %d maps blocks\n", (int)getpid());
    return error;
}

static find_call find_behind(void)
{
    static find_call found;
    const char *path = getenv("DRIVER_BEHIND");
    void *library = found || !path ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL), *address;

    if (library) {
        address = dlsym(library, "cuGetProcAddress_v2");
        memcpy(&found, &address, sizeof found);
    }
    return found;
}

static int give(void **out, void (*call)(void))
{
    memcpy(out, &call, sizeof call);
    return call ? 0 : NOT_FOUND;
}

int cuGetProcAddress_v2(const char *name, void **address, int version, uint64_t flags, int *why)
{
    const char *handles = getenv("DRIVER_HANDLES");
    find_call find = find_behind();
    int error = find ? find(name, address, version, flags, why) : NOT_FOUND;

    if (error)
        return give(address, NULL);
    if (!strcmp(name, "cuMemImportFromShareableHandle")) {
        memcpy(&import_block, address, sizeof import_block);
        return give(address, (void (*)(void))import_and_say);
    }
    if (!handles || strncmp(name, "cuIpc", 5))
        return 0;
    if (!strcmp(handles, "missing"))
        return give(address, NULL);
    if (!strcmp(handles, "refused") && !strcmp(name, "cuIpcGetMemHandle"))
        return give(address, (void (*)(void))refuse_get);
    if (!strcmp(handles, "closed") && !strcmp(name, "cuIpcOpenMemHandle"))
        return give(address, (void (*)(void))refuse_open);
    return 0;
}
