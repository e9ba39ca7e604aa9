/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce/jobs.c: independent computations of a paper, side by side.
 *
 * Each job writes to its own place, so the outcome does not depend on who did it when. The thread that asked
 * works along and is the only one that moves the bar. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "core/alloc.h"
#include "reproduce/internal.h"

enum { MAX_THREADS = 8 };

typedef struct {
    banyan_reproduction *reproduction;
    banyan_status (*job)(void *context, int i, banyan_error *err);
    void *context;
    int count;
    size_t done_before;
    atomic_int next, done, has_failed;
    pthread_mutex_t lock; /* of the failure */
    int failed_at;
    banyan_status status;
    banyan_error err;
} job_pool;

static void note_failure(job_pool *c, int i, banyan_status status, const banyan_error *err)
{
    pthread_mutex_lock(&c->lock);
    if (!c->status || i < c->failed_at) {
        c->status = status;
        c->failed_at = i;
        c->err = *err;
    }
    pthread_mutex_unlock(&c->lock);
    atomic_store(&c->has_failed, 1);
}

static void show(job_pool *c)
{
    banyan_reproduction *r = c->reproduction;

    r->done = c->done_before + (size_t)atomic_load(&c->done);
    if (r->progress)
        r->progress(r->context, r->paper, r->done, r->total);
}

static void work(job_pool *c, int shows)
{
    for (;;) {
        banyan_error err = {""};
        banyan_status status;
        int i = atomic_fetch_add(&c->next, 1);

        if (i >= c->count || atomic_load(&c->has_failed))
            return;
        status = c->job(c->context, i, &err);
        if (status)
            note_failure(c, i, status, &err);
        atomic_fetch_add(&c->done, 1);
        if (shows)
            show(c);
    }
}

static void *work_along(void *pool_)
{
    work(pool_, 0);
    return NULL;
}

banyan_status banyan_reproduce_jobs(banyan_reproduction *reproduction, int count,
                                    banyan_status (*job)(void *context, int i, banyan_error *err),
                                    void *context, banyan_error *err)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    job_pool c = {.reproduction = reproduction,
                  .job = job,
                  .context = context,
                  .count = count,
                  .done_before = reproduction->done,
                  .lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_t threads[MAX_THREADS];
    int helpers = 0;

    reproduction->total += (size_t)count;
    show(&c);
    while (helpers < MAX_THREADS && helpers + 1 < processors && helpers + 1 < count &&
           !pthread_create(&threads[helpers], NULL, work_along, &c))
        helpers++;
    work(&c, 1);
    for (int i = 0; i < helpers; i++)
        pthread_join(threads[i], NULL);
    show(&c);
    pthread_mutex_destroy(&c.lock);
    if (c.status && err)
        *err = c.err;
    return c.status;
}
