/* SPDX-License-Identifier: Apache-2.0 */
/* bootstrap/pmix.c: PMIx_Init, Put, Commit, Fence, Get, Finalize, as the PMIx standard (version 4) has them.
 *
 * Fence and Get are asked for with a callback, since the blocking ones know no time-out. A callback may come
 * after we have given up, so what it writes to is never freed then. PMIx is initialized once and finalized
 * when the process exits: a rank that has finalized is missing in the others' fences, and one that ends
 * without having done so is an error to its launcher. */
#include "bootstrap/pmix.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/alloc.h"
#include "core/clock.h"

/* As pmix_common.h has them. */
enum { NAMESPACE_BYTES = 256, STRING = 3, UINT32 = 14, GLOBAL = 3 };
#define ALL_RANKS (UINT32_MAX - 1)
#define KEY "banyan-id"
#define JOB_SIZE "pmix.job.size"

typedef struct {
    char space[NAMESPACE_BYTES];
    uint32_t rank;
} process;

typedef struct {
    uint16_t type;
    union {
        char *text;
        uint32_t number;
        char room[64]; /* at least as large as the standard's */
    } data;
} value;

typedef void (*fence_done)(int status, void *context);
typedef void (*get_done)(int status, value *found, void *context);

typedef struct {
    int (*init)(process *self, void *infos, size_t info_count);
    int (*finalize)(const void *infos, size_t info_count);
    int (*put)(uint8_t scope, const char *key, value *given);
    int (*commit)(void);
    int (*fence)(const process *processes, size_t count, const void *infos, size_t info_count,
                 fence_done done, void *context);
    int (*get)(const process *of, const char *key, const void *infos, size_t info_count, get_done done,
               void *context);
    const char *(*describe)(int status);
} library;

/* What a callback fills. */
typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int is_done, status;
    uint32_t number;
    char text[1024];
} answer;

/* Of this process. */
static struct {
    pthread_mutex_t lock;
    int is_initialized;
    library library;
    process self;
} shared = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void finalize_at_exit(void)
{
    shared.library.finalize(NULL, 0);
}

static banyan_status open_library(library *out, banyan_error *err)
{
    void *opened = dlopen("libpmix.so.2", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    const char *missing = NULL;
    const struct {
        const char *name;
        void *into;
    } symbols[] = {{"PMIx_Init", &out->init},
                   {"PMIx_Finalize", &out->finalize},
                   {"PMIx_Put", &out->put},
                   {"PMIx_Commit", &out->commit},
                   {"PMIx_Fence_nb", &out->fence},
                   {"PMIx_Get_nb", &out->get},
                   {"PMIx_Error_string", &out->describe}};

    if (!opened)
        return banyan_fail(err, BANYAN_SYSTEM_ERROR,
                           "PMIx cannot be opened: %s; or set BANYAN_ROOT=HOST:PORT", dlerror());
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *found = dlsym(opened, symbols[i].name);

        memcpy(symbols[i].into, &found, sizeof found); /* C has no cast from data to functions */
        missing = found ? missing : symbols[i].name;
    }
    return missing ? banyan_fail(err, BANYAN_VERSION_MISMATCH, "libpmix.so.2 has no %s", missing)
                   : BANYAN_SUCCESS;
}

static banyan_status check(const library *pmix, int status, const char *what, banyan_error *err)
{
    return status ? banyan_fail(err, BANYAN_REMOTE_ERROR, "PMIx: %s: %s", what, pmix->describe(status))
                  : BANYAN_SUCCESS;
}

static void finish(answer *a, int status)
{
    a->status = status;
    a->is_done = 1;
    pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&a->lock);
}

static void hear_fence(int status, void *context)
{
    answer *a = context;

    pthread_mutex_lock(&a->lock);
    finish(a, status);
}

static void hear_value(int status, value *found, void *context)
{
    answer *a = context;

    pthread_mutex_lock(&a->lock);
    if (!status && found && found->type == STRING && found->data.text)
        snprintf(a->text, sizeof a->text, "%s", found->data.text);
    else if (!status && found && found->type == UINT32)
        a->number = found->data.number;
    finish(a, status);
}

static answer *create_answer(void)
{
    answer *a = banyan_alloc(1, sizeof *a);
    pthread_condattr_t attributes;

    if (!a)
        return NULL;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    return a;
}

static void destroy_answer(answer *a)
{
    pthread_cond_destroy(&a->changed);
    pthread_mutex_destroy(&a->lock);
    banyan_free(a);
}

/* 0: the callback did not come in time, and may still come. */
static int await(answer *a, int64_t deadline_ns)
{
    struct timespec until = {.tv_sec = deadline_ns / 1000000000, .tv_nsec = deadline_ns % 1000000000};
    int is_done;

    pthread_mutex_lock(&a->lock);
    while (!a->is_done && pthread_cond_timedwait(&a->changed, &a->lock, &until) != ETIMEDOUT)
        continue;
    is_done = a->is_done;
    pthread_mutex_unlock(&a->lock);
    return is_done;
}

/* Waits for a question that was asked with this status; frees the answer unless a callback may come. */
static banyan_status wait_for(const library *pmix, answer *a, int asked, const char *what,
                              int64_t deadline_ns, answer *out, banyan_error *err)
{
    banyan_status status = check(pmix, asked, what, err);

    if (!status && !await(a, deadline_ns))
        return banyan_fail(err, BANYAN_TIMEOUT, "PMIx: %s: no answer came in time; a rank may not have come",
                           what);
    if (!status)
        status = check(pmix, a->status, what, err);
    if (!status && out)
        *out = *a;
    destroy_answer(a);
    return status;
}

static banyan_status get(const library *pmix, const process *of, const char *key, int64_t deadline_ns,
                         answer *out, banyan_error *err)
{
    answer *a = create_answer();

    if (!a)
        return banyan_fail_memory(err);
    return wait_for(pmix, a, pmix->get(of, key, NULL, 0, hear_value, a), "PMIx_Get", deadline_ns, out, err);
}

static banyan_status fence(const library *pmix, int64_t deadline_ns, banyan_error *err)
{
    answer *a = create_answer();

    if (!a)
        return banyan_fail_memory(err);
    return wait_for(pmix, a, pmix->fence(NULL, 0, NULL, 0, hear_fence, a), "PMIx_Fence", deadline_ns, NULL,
                    err);
}

static banyan_status begin(library *pmix, process *self, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    pthread_mutex_lock(&shared.lock);
    if (!shared.is_initialized) {
        status = open_library(&shared.library, err);
        if (!status)
            status = check(&shared.library, shared.library.init(&shared.self, NULL, 0), "PMIx_Init", err);
        shared.is_initialized = !status;
        if (!status)
            atexit(finalize_at_exit);
    }
    *pmix = shared.library;
    *self = shared.self;
    pthread_mutex_unlock(&shared.lock);
    return status;
}

banyan_status banyan_pmix_count(int *size, int timeout_ms, banyan_error *err)
{
    int64_t deadline_ns = banyan_clock_ns() + (int64_t)timeout_ms * 1000000;
    answer found;
    process self;
    library pmix;
    banyan_status status = begin(&pmix, &self, err);

    if (status)
        return status;
    self.rank = ALL_RANKS;
    status = get(&pmix, &self, JOB_SIZE, deadline_ns, &found, err);
    if (!status && (found.number < 1 || found.number > INT32_MAX))
        status = banyan_fail(err, BANYAN_REMOTE_ERROR, "PMIx says that the job has %u ranks", found.number);
    if (!status)
        *size = (int)found.number;
    return status;
}

static banyan_status publish(const library *pmix, char *text, banyan_error *err)
{
    value given = {.type = STRING, .data = {.text = text}};
    banyan_status status = check(pmix, pmix->put(GLOBAL, KEY, &given), "PMIx_Put", err);

    return status ? status : check(pmix, pmix->commit(), "PMIx_Commit", err);
}

banyan_status banyan_pmix_share(char *text, size_t bytes, int timeout_ms, banyan_error *err)
{
    int64_t deadline_ns = banyan_clock_ns() + (int64_t)timeout_ms * 1000000;
    answer found = {.is_done = 0};
    process self;
    library pmix;
    banyan_status status = begin(&pmix, &self, err);

    if (status)
        return status;
    if (self.rank == 0)
        status = publish(&pmix, text, err);
    if (!status)
        status = fence(&pmix, deadline_ns, err);
    if (!status && self.rank != 0) {
        self.rank = 0;
        status = get(&pmix, &self, KEY, deadline_ns, &found, err);
        if (!status && (!*found.text || strlen(found.text) >= bytes))
            status = banyan_fail(err, BANYAN_REMOTE_ERROR, "PMIx has lost what rank 0 has put");
        if (!status)
            memcpy(text, found.text, strlen(found.text) + 1);
    }
    return status;
}
