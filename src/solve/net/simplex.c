/* SPDX-License-Identifier: Apache-2.0 */
/* solve/net/simplex.c: loads the solver once.
 *
 * The solver brings a BLAS along, and OpenBLAS maps a buffer of 128 MiB per core as it is loaded. Where the
 * address space is limited (ulimit -v) and that does not fit, it tries again for ever. How much is needed
 * depends on the BLAS, its settings and the machine, so no number is compared: where there is a limit, a
 * child process loads the solver first, and has only so long. */
#include "solve/net/simplex.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/settings.h"
#include "core/shared_object.h"

#define OBJECT "lp"
#define NEEDS "Clp (coinor-libclp-dev)"

/* A hundred times the CPU time that loading takes on a slow machine: what takes longer does not end. */
#define TRIAL_CPU_S 3

/* The same by the clock, where a file system or other processes hold it up. */
#define TRIAL_MS 30000

typedef struct {
    const banyan_simplex *simplex;
    int is_refused; /* by a trial, which would come to the same again */
    banyan_error why_not;
} loaded_state;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static loaded_state state;

static int is_limited(rlim_t *bytes)
{
    struct rlimit space, data;

    *bytes = RLIM_INFINITY;
    if (!getrlimit(RLIMIT_AS, &space))
        *bytes = space.rlim_cur;
    if (!getrlimit(RLIMIT_DATA, &data) && data.rlim_cur < *bytes)
        *bytes = data.rlim_cur;
    return *bytes != RLIM_INFINITY;
}

/* The child: says one byte when the solver is loaded. What libraries print meanwhile is not the user's. */
static void load_and_tell(const char *path, int told)
{
    const struct rlimit seconds = {TRIAL_CPU_S, TRIAL_CPU_S}, none = {0, 0};
    int nowhere = open("/dev/null", O_WRONLY);

    setrlimit(RLIMIT_CPU, &seconds);
    setrlimit(RLIMIT_CORE, &none);
    if (nowhere >= 0) {
        dup2(nowhere, STDOUT_FILENO);
        dup2(nowhere, STDERR_FILENO);
    }
    _exit(dlopen(path, RTLD_NOW | RTLD_LOCAL) && write(told, "1", 1) == 1 ? 0 : 1);
}

static void end_child(pid_t child)
{
    if (waitpid(child, NULL, WNOHANG) == 0) {
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }
}

static int loads_in_child(const char *path)
{
    int ends[2];
    char byte;
    pid_t child;
    struct pollfd said;
    int loads;

    if (pipe2(ends, O_CLOEXEC))
        return 0;
    child = fork();
    if (child == 0)
        load_and_tell(path, ends[1]);
    close(ends[1]);
    said = (struct pollfd){.fd = ends[0], .events = POLLIN};
    loads = child > 0 && poll(&said, 1, TRIAL_MS) == 1 && read(ends[0], &byte, 1) == 1;
    close(ends[0]);
    if (child > 0)
        end_child(child);
    return loads;
}

static banyan_status try_first(const char *folder, banyan_error *err)
{
    char path[BANYAN_SHARED_OBJECT_PATH_SIZE];
    rlim_t bytes;

    if (!is_limited(&bytes) || !banyan_shared_object_find(OBJECT, folder, path, sizeof path) ||
        loads_in_child(path))
        return BANYAN_SUCCESS;
    state.is_refused = 1;
    banyan_fail(
        &state.why_not, BANYAN_UNSUPPORTED,
        "banyan-" OBJECT ".so with " NEEDS
        " and its BLAS does not load within the %llu MiB that this process "
        "may map: raise the limit (ulimit -v), or set OMP_NUM_THREADS=1, with which OpenBLAS maps less",
        (unsigned long long)(bytes >> 20));
    return banyan_fail(err, BANYAN_UNSUPPORTED, "%s", state.why_not.text);
}

static banyan_status load_from(const char *folder, banyan_error *err)
{
    const banyan_simplex *simplex;
    void *object;
    banyan_status status = try_first(folder, err);

    if (!status)
        status = banyan_shared_object_open(OBJECT, folder, NEEDS, RTLD_LOCAL, &object, err);
    if (status)
        return status;
    simplex = dlsym(object, BANYAN_SIMPLEX_SYMBOL);
    if (!simplex || simplex->abi != BANYAN_SIMPLEX_ABI)
        return banyan_fail(err, BANYAN_VERSION_MISMATCH,
                           "banyan-" OBJECT ".so is not of this version of Banyan");
    state.simplex = simplex;
    return BANYAN_SUCCESS;
}

static banyan_status load(banyan_error *err)
{
    banyan_settings *settings = NULL;
    banyan_status status = banyan_settings_load(&settings, err);

    if (!status)
        status = load_from(banyan_settings_string(settings, BANYAN_SETTING_PLUGIN_FOLDER), err);
    banyan_settings_destroy(settings);
    return status;
}

banyan_status banyan_simplex_load(const banyan_simplex **out, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    pthread_mutex_lock(&lock);
    if (state.is_refused)
        status = banyan_fail(err, BANYAN_UNSUPPORTED, "%s", state.why_not.text);
    else if (!state.simplex)
        status = load(err);
    *out = state.simplex;
    pthread_mutex_unlock(&lock);
    return status;
}
