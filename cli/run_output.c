/* SPDX-License-Identifier: Apache-2.0 */
/* cli/run_output.c: whole lines only, so that ranks do not write into each other's; a line that is longer
 * than the buffer goes out in parts. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "run_job.h"

static void write_line(const run_pipe *pipe, size_t length, int width)
{
    char out[sizeof pipe->line + 32];
    int head = snprintf(out, 32, "[%*d] ", width, pipe->rank);
    size_t total = (size_t)head + length, done = 0;

    memcpy(out + head, pipe->line, length);
    out[total++] = '\n';
    while (done < total) {
        ssize_t written = write(pipe->to, out + done, total - done);

        if (written < 0 && errno != EINTR)
            return;
        done += written > 0 ? (size_t)written : 0;
    }
}

static void write_lines(run_pipe *pipe, int width)
{
    char *newline;

    while ((newline = memchr(pipe->line, '\n', pipe->length))) {
        size_t length = (size_t)(newline - pipe->line);

        write_line(pipe, length, width);
        pipe->length -= length + 1;
        memmove(pipe->line, newline + 1, pipe->length);
    }
    if (pipe->length == sizeof pipe->line) {
        write_line(pipe, pipe->length, width);
        pipe->length = 0;
    }
}

void run_pipe_copy(run_pipe *pipe, int width)
{
    ssize_t got = read(pipe->fd, pipe->line + pipe->length, sizeof pipe->line - pipe->length);

    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (got <= 0) {
        run_pipe_finish(pipe, width);
        return;
    }
    pipe->length += (size_t)got;
    write_lines(pipe, width);
}

void run_pipe_finish(run_pipe *pipe, int width)
{
    if (pipe->fd < 0)
        return;
    if (pipe->length)
        write_line(pipe, pipe->length, width);
    pipe->length = 0;
    close(pipe->fd);
    pipe->fd = -1;
}
