/* SPDX-License-Identifier: Apache-2.0 */
/* core/progress.h: a bar for work that takes a while, on a terminal and nowhere else.
 *
 *   planning forest  [##########----------]  50 %  12/24  about 8 s left
 *
 * The time left is what the rest takes if it goes on as before, and is shown from the third second on.
 * The bar is drawn over itself at most ten times a second and wiped at the end, so that what a program
 * prints is the same with and without it. One thread at a time. */
#ifndef BANYAN_CORE_PROGRESS_H
#define BANYAN_CORE_PROGRESS_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    const char *label; /* borrowed, as is the step */
    const char *step;  /* what is being done now; NULL: the label says all */
    size_t done, total;
    int descriptor; /* -1: shows nothing */
    int is_drawn;
    int64_t begun_ns, drawn_ns;
} banyan_progress;

/* descriptor: usually STDERR_FILENO; nothing is shown unless it is a terminal, or if quiet. total 0: not
 * known, so only the count is shown. */
void banyan_progress_begin(banyan_progress *progress, int descriptor, int quiet, const char *label,
                           size_t total);
void banyan_progress_set(banyan_progress *progress, size_t done);
void banyan_progress_name(banyan_progress *progress, const char *step);

/* Wipes the bar: call it before anything else is printed there. */
void banyan_progress_end(banyan_progress *progress);

#endif
