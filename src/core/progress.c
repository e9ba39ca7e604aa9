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

static int format_line(const banyan_progress *progress, char *line, size_t size, int columns)
{
    size_t done = progress->done < progress->total ? progress->done : progress->total;
    double share = progress->total ? (double)done / (double)progress->total : 0;
    int numbers = snprintf(NULL, 0, "] %3.0f %%  %zu/%zu", 100 * share, done, progress->total);
    int room = columns - (int)strlen(progress->label) - 3 - numbers - 1;
    int filled;

    if (!progress->total)
        return snprintf(line, size, "%.*s  %zu", columns > 24 ? columns - 24 : 1, progress->label,
                        progress->done);
    if (room < 4) /* too narrow for a bar */
        return snprintf(line, size, "%3.0f %%", 100 * share);
    if (room > 40)
        room = 40;
    filled = (int)(share * room);
    return snprintf(line, size, "%s  [%.*s%.*s] %3.0f %%  %zu/%zu", progress->label, filled,
                    "########################################", room - filled,
                    "----------------------------------------", 100 * share, done, progress->total);
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
    progress->drawn_ns = banyan_clock_ns(); /* what is over at once shows nothing */
}

void banyan_progress_set(banyan_progress *progress, size_t done)
{
    progress->done = done;
    if (progress->descriptor >= 0 && banyan_clock_ns() - progress->drawn_ns >= redraw_ns)
        draw(progress);
}

void banyan_progress_end(banyan_progress *progress)
{
    if (progress->is_drawn)
        put(progress->descriptor, "\r\x1b[K", 4);
    progress->descriptor = -1;
    progress->is_drawn = 0;
}
