/* SPDX-License-Identifier: Apache-2.0 */
/* core/progress.c: one line, redrawn with a carriage return. */
#include "core/progress.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "core/clock.h"

#define WIDEST 200

static const int64_t redraw_ns = 100000000;
static const int64_t guess_after_ns = 2000000000; /* before, a guess of the time left is of no use */

static int terminal_columns(int descriptor)
{
    struct winsize size;

    if (ioctl(descriptor, TIOCGWINSZ, &size) != 0 || !size.ws_col)
        return 80;
    return size.ws_col < WIDEST ? size.ws_col : WIDEST;
}

/* The terminal may have gone away; a bar is nothing to fail over. */
static void put(int descriptor, const char *bytes, size_t length)
{
    ssize_t written = write(descriptor, bytes, length);

    (void)written;
}

/* 'about 40 s left', or nothing yet. */
static void format_left(const banyan_progress *progress, double share, char *out, size_t size)
{
    int64_t spent_ns = banyan_clock_ns() - progress->begun_ns;
    double left_s = share > 0 ? (double)spent_ns * 1e-9 * (1 - share) / share : 0;

    *out = 0;
    if (spent_ns < guess_after_ns || left_s < 1)
        return;
    if (left_s < 100)
        snprintf(out, size, "  about %.0f s left", left_s);
    else if (left_s < 6000)
        snprintf(out, size, "  about %.0f min left", left_s / 60);
    else
        snprintf(out, size, "  about %.0f h left", left_s / 3600);
}

static int format_line(const banyan_progress *progress, char *line, size_t size, int columns)
{
    size_t done = progress->done < progress->total ? progress->done : progress->total;
    double share = progress->total ? (double)done / (double)progress->total : 0;
    const char *step = progress->step ? progress->step : "";
    char numbers[64], left[40];
    int width = snprintf(numbers, sizeof numbers, "] %3.0f %%  %zu/%zu", 100 * share, done, progress->total);
    int room, filled;

    if (!progress->total)
        return snprintf(line, size, "%.*s  %zu", columns > 24 ? columns - 24 : 1, progress->label,
                        progress->done);
    format_left(progress, share, left, sizeof left);
    room = columns - 4 - width - (int)(strlen(progress->label) + (*step != 0) + strlen(step) + strlen(left));
    if (room < 4) /* too narrow for a bar */
        return snprintf(line, size, "%3.0f %%", 100 * share);
    if (room > 40)
        room = 40;
    filled = (int)(share * room);
    return snprintf(line, size, "%s%s%s  [%.*s%.*s%s%s", progress->label, *step ? " " : "", step, filled,
                    "########################################", room - filled,
                    "----------------------------------------", numbers, left);
}

static void draw(banyan_progress *progress)
{
    char line[WIDEST + 32] = "\r";
    int length = 1 + format_line(progress, line + 1, sizeof line - 8, terminal_columns(progress->descriptor));

    if (length > (int)sizeof line - 8)
        length = (int)sizeof line - 8;
    memcpy(line + length, "\x1b[K", 3); /* wipe what an older, longer line left */
    put(progress->descriptor, line, (size_t)length + 3);
    progress->is_drawn = 1;
    progress->drawn_ns = banyan_clock_ns();
}

void banyan_progress_begin(banyan_progress *progress, int descriptor, int quiet, const char *label,
                           size_t total)
{
    *progress = (banyan_progress){.label = label, .total = total, .descriptor = -1};
    if (quiet || !isatty(descriptor))
        return;
    progress->descriptor = descriptor;
    progress->begun_ns = progress->drawn_ns = banyan_clock_ns(); /* what is over at once shows nothing */
}

void banyan_progress_set(banyan_progress *progress, size_t done)
{
    progress->done = done;
    if (progress->descriptor >= 0 && banyan_clock_ns() - progress->drawn_ns >= redraw_ns)
        draw(progress);
}

void banyan_progress_name(banyan_progress *progress, const char *step)
{
    progress->step = step;
    banyan_progress_set(progress, progress->done);
}

void banyan_progress_end(banyan_progress *progress)
{
    if (progress->is_drawn)
        put(progress->descriptor, "\r\x1b[K", 4);
    progress->descriptor = -1;
    progress->is_drawn = 0;
}
