/* SPDX-License-Identifier: Apache-2.0 */
/* cli/waiting.c: a thread that redraws the bar while another works. */
#include "waiting.h"

#include <time.h>
#include <unistd.h>

#include "core/clock.h"

static const int64_t tick_ns = 200000000;

static void *tick(void *argument)
{
    cli_waiting *waiting = argument;
    const int64_t began_ns = banyan_clock_ns();

    pthread_mutex_lock(&waiting->lock);
    while (!waiting->is_over) {
        int64_t next_ns = banyan_clock_ns() + tick_ns;
        struct timespec until = {.tv_sec = next_ns / 1000000000, .tv_nsec = next_ns % 1000000000};

        pthread_cond_timedwait(&waiting->changed, &waiting->lock, &until);
        if (!waiting->is_over)
            banyan_progress_set(&waiting->bar, waiting->is_counted
                                                   ? waiting->bar.done
                                                   : (size_t)((banyan_clock_ns() - began_ns) / 1000000000));
    }
    pthread_mutex_unlock(&waiting->lock);
    return NULL;
}

static void init(cli_waiting *waiting)
{
    pthread_condattr_t attributes;

    pthread_mutex_init(&waiting->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&waiting->changed, &attributes);
    pthread_condattr_destroy(&attributes);
}

static void begin(cli_waiting *waiting, const cli_arguments *arguments, const char *label, int total)
{
    *waiting = (cli_waiting){.is_counted = total > 0};
    banyan_progress_begin(&waiting->bar, STDERR_FILENO, cli_has(arguments, "quiet"), label, (size_t)total);
    if (waiting->bar.descriptor < 0)
        return;
    init(waiting);
    waiting->is_shown = pthread_create(&waiting->thread, NULL, tick, waiting) == 0;
}

void cli_waiting_begin(cli_waiting *waiting, const cli_arguments *arguments, const char *label)
{
    begin(waiting, arguments, label, 0);
}

void cli_waiting_end(cli_waiting *waiting)
{
    if (waiting->is_shown) {
        pthread_mutex_lock(&waiting->lock);
        waiting->is_over = 1;
        pthread_cond_signal(&waiting->changed);
        pthread_mutex_unlock(&waiting->lock);
        pthread_join(waiting->thread, NULL);
        waiting->is_shown = 0;
    }
    banyan_progress_end(&waiting->bar);
}

void cli_planning_begin(cli_waiting *waiting, const cli_arguments *arguments)
{
    int algorithms = 0;

    while (banyan_algorithm_name(algorithms))
        algorithms++;
    begin(waiting, arguments, "planning", algorithms);
}

void cli_planning_count(void *context, int done, int all)
{
    cli_waiting *waiting = context;

    if (!waiting->is_shown)
        return;
    pthread_mutex_lock(&waiting->lock);
    if ((size_t)done < waiting->bar.done) /* other steps begin */
        waiting->bar.begun_ns = banyan_clock_ns();
    waiting->bar.total = (size_t)all;
    banyan_progress_set(&waiting->bar, (size_t)done);
    pthread_mutex_unlock(&waiting->lock);
}

void cli_planning_name(void *context, const char *algorithm)
{
    cli_waiting *waiting = context;

    if (!waiting->is_shown)
        return;
    pthread_mutex_lock(&waiting->lock);
    banyan_progress_name(&waiting->bar, algorithm);
    pthread_mutex_unlock(&waiting->lock);
}
