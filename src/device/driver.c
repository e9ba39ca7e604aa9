/* SPDX-License-Identifier: Apache-2.0 */
/* device/driver.c: loads libcuda.so.1 or libamdhip64.so and looks the calls up.
 *
 * CUDA's calls have forms: the same name with other arguments since some version. cuGetProcAddress gives the
 * form of the version that is asked for; drivers before 11.3 have no such call, and there the form is part of
 * the symbol's name. */
#include "device/driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

typedef struct {
    const char *cuda, *old, *hip;
    int needed, cuda_version;
    size_t offset; /* of the field */
} call_name;

static const call_name calls[] = {
#define ENTRY(field, needed, arguments, cuda, cuda_version, old, hip)                                        \
    {cuda, old, hip, needed, cuda_version, offsetof(banyan_driver, field)},
    BANYAN_DRIVER_MAP(ENTRY)
#undef ENTRY
};

typedef int (*get_address)(const char *name, void **address, int version, uint64_t flags);
typedef int (*get_address_and_why)(const char *name, void **address, int version, uint64_t flags, int *why);

typedef struct {
    void *library;
    get_address find;
    get_address_and_why find_and_say;
} source;

/* ISO C has no way from void * to a function: the bytes are copied. */
static void keep(void *field, void *address)
{
    *(void **)field = address;
}

static void *find_cuda(const source *s, const call_name *call)
{
    void *address = NULL;
    int why = 0;

    if (!call->cuda)
        return NULL;
    if (s->find_and_say) {
        if (s->find_and_say(call->cuda, &address, call->cuda_version, 0, &why))
            address = NULL;
    } else if (s->find) {
        if (s->find(call->cuda, &address, call->cuda_version, 0))
            address = NULL;
    } else if (call->old) {
        address = dlsym(s->library, call->old);
    }
    return address;
}

static void fill(banyan_driver *driver, const source *s, int is_hip)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        const char *name = is_hip ? calls[i].hip : calls[i].cuda;
        void *address = is_hip ? (name ? dlsym(s->library, name) : NULL) : find_cuda(s, &calls[i]);

        keep((char *)driver + calls[i].offset, address);
        if (!address && calls[i].needed && name && !driver->problem[0])
            snprintf(driver->problem, sizeof driver->problem, "the driver has no %s", name);
    }
    if (!driver->problem[0])
        driver->library = s->library;
}

static banyan_driver cuda, hip;

static void load_cuda(void)
{
    source s = {.library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)};

    if (!s.library) {
        snprintf(cuda.problem, sizeof cuda.problem, "libcuda.so.1 is not there");
        return;
    }
    keep(&s.find_and_say, dlsym(s.library, "cuGetProcAddress_v2"));
    keep(&s.find, dlsym(s.library, "cuGetProcAddress"));
    fill(&cuda, &s, 0);
}

static void load_hip(void)
{
    static const char *const names[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                                        "libamdhip64.so"};
    source s = {.library = NULL};

    for (size_t i = 0; i < sizeof names / sizeof *names && !s.library; i++)
        s.library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (s.library)
        fill(&hip, &s, 1);
    else
        snprintf(hip.problem, sizeof hip.problem, "libamdhip64.so is not there");
}

const banyan_driver *banyan_driver_cuda(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, load_cuda);
    return &cuda;
}

const banyan_driver *banyan_driver_hip(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, load_hip);
    return &hip;
}
