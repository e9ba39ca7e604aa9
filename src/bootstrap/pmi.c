/* SPDX-License-Identifier: Apache-2.0 */
/* bootstrap/pmi.c: init, put, barrier, get, finalize: five questions, each answered before the next. */
#include "bootstrap/pmi.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/clock.h"
#include "transport/socket.h"

#define KEY "banyan-id"
enum { LINE = 2048, NAME = 256 };

typedef struct {
    int fd;
    int64_t deadline_ns;
    char line[LINE];
    banyan_error *err;
} conversation;

int banyan_pmi_field(const char *line, const char *name, char *out, size_t bytes)
{
    size_t length = strlen(name);

    for (const char *at = line; *at; at += strcspn(at, " "), at += strspn(at, " ")) {
        size_t whole = strcspn(at, " \n");

        if (whole <= length || strncmp(at, name, length) != 0 || at[length] != '=')
            continue;
        if (whole - length - 1 >= bytes)
            return 0;
        memcpy(out, at + length + 1, whole - length - 1);
        out[whole - length - 1] = '\0';
        return 1;
    }
    return 0;
}

static banyan_status fail_system(const conversation *c, ssize_t count)
{
    return banyan_fail(c->err, BANYAN_SYSTEM_ERROR, "the launcher's PMI (PMI_FD=%d) cannot be used: %s",
                       c->fd, count == 0 ? "it has closed the socket" : strerror(errno));
}

/* The socket may block: nothing is read or written before it is ready. */
static banyan_status send_line(conversation *c)
{
    size_t bytes = strlen(c->line), sent = 0;

    while (sent < bytes) {
        ssize_t count;

        if (!banyan_socket_wait(c->fd, POLLOUT, c->deadline_ns))
            return banyan_fail(c->err, BANYAN_TIMEOUT, "the launcher's PMI (PMI_FD=%d) takes no words",
                               c->fd);
        count = send(c->fd, c->line + sent, bytes - sent, MSG_NOSIGNAL);
        if (count <= 0 && errno != EINTR && errno != EAGAIN)
            return fail_system(c, -1);
        sent += count > 0 ? (size_t)count : 0;
    }
    return BANYAN_SUCCESS;
}

static banyan_status receive_line(conversation *c, const char *what)
{
    size_t bytes = 0;

    do {
        ssize_t count;

        if (!banyan_socket_wait(c->fd, POLLIN, c->deadline_ns))
            return banyan_fail(c->err, BANYAN_TIMEOUT,
                               "the launcher's PMI does not answer '%s': a rank may not have come", what);
        count = read(c->fd, c->line + bytes, 1); /* what follows the line is for whoever asks next */
        if (count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN))
            return fail_system(c, count);
        bytes += count > 0 ? (size_t)count : 0;
    } while (bytes + 1 < LINE && (!bytes || c->line[bytes - 1] != '\n'));
    c->line[bytes] = '\0';
    return BANYAN_SUCCESS;
}

/* Sends a line and waits for the answer, which must be the command that is expected, with rc=0 if any. */
__attribute__((format(printf, 3, 4))) static banyan_status ask(conversation *c, const char *answer,
                                                               const char *format, ...)
{
    char command[NAME] = "", code[16] = "0", what[40];
    banyan_status status;
    va_list values;

    va_start(values, format);
    vsnprintf(c->line, sizeof c->line, format, values);
    va_end(values);
    snprintf(what, sizeof what, "%.*s", (int)strcspn(c->line, " \n"), c->line);
    status = send_line(c);
    if (!status)
        status = receive_line(c, what);
    if (status)
        return status;
    banyan_pmi_field(c->line, "rc", code, sizeof code);
    if (!banyan_pmi_field(c->line, "cmd", command, sizeof command) || strcmp(command, answer) != 0 ||
        strcmp(code, "0") != 0)
        return banyan_fail(c->err, BANYAN_REMOTE_ERROR, "the launcher's PMI answers '%s' with '%.*s'", what,
                           (int)strcspn(c->line, "\n"), c->line);
    return BANYAN_SUCCESS;
}

banyan_status banyan_pmi_share(int fd, int rank, char *text, size_t bytes, int timeout_ms, banyan_error *err)
{
    conversation c = {.fd = fd, .deadline_ns = banyan_clock_ns() + (int64_t)timeout_ms * 1000000, .err = err};
    char space[NAME];
    banyan_status status = ask(&c, "response_to_init", "cmd=init pmi_version=1 pmi_subversion=1\n");

    if (!status)
        status = ask(&c, "my_kvsname", "cmd=get_my_kvsname\n");
    if (!status && !banyan_pmi_field(c.line, "kvsname", space, sizeof space))
        status = banyan_fail(err, BANYAN_REMOTE_ERROR, "the launcher's PMI names no space for keys");
    if (!status && rank == 0)
        status = ask(&c, "put_result", "cmd=put kvsname=%s key=" KEY " value=%s\n", space, text);
    if (!status)
        status = ask(&c, "barrier_out", "cmd=barrier_in\n");
    if (!status)
        status = ask(&c, "get_result", "cmd=get kvsname=%s key=" KEY "\n", space);
    if (!status && !banyan_pmi_field(c.line, "value", text, bytes))
        status = banyan_fail(err, BANYAN_REMOTE_ERROR, "the launcher's PMI has lost what rank 0 has put");
    if (!status)
        status = ask(&c, "finalize_ack", "cmd=finalize\n");
    return status;
}
