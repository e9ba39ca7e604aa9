/* SPDX-License-Identifier: Apache-2.0 */
/* transport/dial.c: tries, and what they saw.
 *
 * A silent connection may be slow or may be dead: a firewall has forgotten it, or its packets are lost. So
 * the first try ends when nothing has come for an eighth of the time, a further one after twice as long, and
 * the last one has all that is left:
 *
 *     |  1/8  |     2/8      |                5/8                 |
 *
 * Two dead connections are survived, and a step of the handshake may take up to five eighths of the time. */
#include "transport/dial.h"

#include <poll.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"

#define RETRY_NS                                                                                             \
    20000000 /* between two tries: short beside the start of a process, long beside a connection */
#define FIRST_SILENCE_SHARE 8 /* the first try may be silent for one of that many parts of the time */
#define ANSWERS_TO_BELIEVE 2  /* TCP's checksum lets damage through now and then, but not twice in a row */

typedef struct {
    const banyan_address *to;
    const banyan_secret *secret;
    const banyan_hello *hello;
    const char *other;
    int64_t begun_ns, deadline_ns;
    int64_t silence_ns; /* that ends a try */
    int tries;
    int is_again; /* somebody listened there: where nobody does now, nobody will */
    banyan_handshake_reach furthest;
    int64_t furthest_ns;  /* how long that try took */
    banyan_status answer; /* the last one that rules the connection out, */
    int answer_count;     /* and how often it came in a row */
} dialing;

/* Until when a connection may be silent from now on: the deadline, where none as long would fit behind this
 * one. */
static int64_t end_of_silence(const dialing *d)
{
    int64_t now_ns = banyan_clock_ns();

    return d->deadline_ns - now_ns < 2 * d->silence_ns ? d->deadline_ns : now_ns + d->silence_ns;
}

static banyan_status shake(const dialing *d, int fd, banyan_handshake_reach *reached, banyan_error *err)
{
    banyan_handshake handshake;
    int64_t until_ns = end_of_silence(d);
    banyan_status status = BANYAN_TIMEOUT;

    *reached = BANYAN_REACHED_NOTHING;
    if (banyan_socket_wait(fd, POLLOUT, until_ns))
        status = banyan_socket_connected(fd, d->to, err);
    if (!status)
        status = banyan_handshake_connect(&handshake, d->secret, d->hello, err);
    if (status)
        return status;
    banyan_socket_tune(fd, 0);
    *reached = BANYAN_REACHED_PORT;
    while ((status = banyan_handshake_step(&handshake, fd, d->other, err)) == BANYAN_IN_PROGRESS) {
        if (banyan_handshake_reached(&handshake) != *reached)
            until_ns = end_of_silence(d);
        *reached = banyan_handshake_reached(&handshake);
        if (!banyan_socket_wait(fd, banyan_handshake_wants_write(&handshake) ? POLLOUT : POLLIN, until_ns)) {
            status = BANYAN_TIMEOUT;
            break;
        }
    }
    banyan_auth_forget(&handshake, sizeof handshake);
    return status;
}

static banyan_status try_once(const dialing *d, banyan_handshake_reach *reached, int *out, banyan_error *err)
{
    banyan_status status;
    int fd;

    *out = -1;
    *reached = BANYAN_REACHED_NOTHING;
    status = banyan_socket_connect(d->to, NULL, &fd, err);
    if (status)
        return status;
    status = shake(d, fd, reached, err);
    if (status)
        close(fd);
    else
        *out = fd;
    return status == BANYAN_TIMEOUT ? banyan_fail(err, BANYAN_TIMEOUT, "%s does not answer", d->other)
                                    : status;
}

banyan_status banyan_dial_once(const banyan_address *to, const banyan_secret *secret,
                               const banyan_hello *hello, const char *other, int64_t deadline_ns, int *out,
                               banyan_error *err)
{
    dialing d = {.to = to,
                 .secret = secret,
                 .hello = hello,
                 .other = other,
                 .deadline_ns = deadline_ns,
                 .silence_ns = deadline_ns - banyan_clock_ns()};
    banyan_handshake_reach reached;

    return try_once(&d, &reached, out, err);
}

static void note_try(dialing *d, banyan_status status, banyan_handshake_reach reached, int64_t took_ns)
{
    int is_answer =
        status == BANYAN_MISMATCH || status == BANYAN_VERSION_MISMATCH || status == BANYAN_REMOTE_ERROR;

    d->tries++;
    if (reached >= d->furthest) {
        d->furthest = reached;
        d->furthest_ns = took_ns;
    }
    d->answer_count = !is_answer ? 0 : status == d->answer ? d->answer_count + 1 : 1;
    d->answer = is_answer ? status : BANYAN_SUCCESS;
}

static int is_worth_another_try(const dialing *d, banyan_status status)
{
    return (status == BANYAN_SYSTEM_ERROR && !d->is_again) || status == BANYAN_PEER_LOST ||
           status == BANYAN_TIMEOUT || (d->answer && d->answer_count < ANSWERS_TO_BELIEVE);
}

static banyan_status fail_late(const dialing *d, const banyan_error *last, banyan_error *err)
{
    static const char *const words[BANYAN_REACHED_COUNT] = {
        [BANYAN_REACHED_NOTHING] = "made no connection",
        [BANYAN_REACHED_PORT] = "made a connection but got no greeting",
        [BANYAN_REACHED_BANYAN] = "was greeted but got no answer to its proof of the secret",
        [BANYAN_REACHED_PEER] = "proved the secret but was not let in"};

    return banyan_fail(
        err, BANYAN_TIMEOUT,
        "%s was not reached within %.1f s: %d %s, of which the furthest %s in %.1f s; the last one: %.200s",
        d->other, (double)(d->deadline_ns - d->begun_ns) * 1e-9, d->tries, d->tries > 1 ? "tries" : "try",
        words[d->furthest], (double)d->furthest_ns * 1e-9, last->text);
}

static banyan_status dial_until(dialing *d, int *out, banyan_error *err)
{
    struct timespec pause = {.tv_nsec = RETRY_NS};
    banyan_error last = {""};

    d->begun_ns = banyan_clock_ns();
    d->silence_ns = (d->deadline_ns - d->begun_ns) / FIRST_SILENCE_SHARE;
    for (;;) {
        int64_t now_ns = banyan_clock_ns();
        banyan_handshake_reach reached;
        banyan_status status = try_once(d, &reached, out, &last);

        if (!status)
            return BANYAN_SUCCESS;
        note_try(d, status, reached, banyan_clock_ns() - now_ns);
        if (!is_worth_another_try(d, status))
            return banyan_fail(err, status, "%s", last.text);
        if (banyan_clock_ns() + RETRY_NS >= d->deadline_ns)
            return fail_late(d, &last, err);
        d->silence_ns *= status == BANYAN_TIMEOUT ? 2 : 1;
        nanosleep(&pause, NULL);
    }
}

banyan_status banyan_dial(const banyan_address *to, const banyan_secret *secret, const banyan_hello *hello,
                          const char *other, int64_t deadline_ns, int *out, banyan_error *err)
{
    dialing d = {.to = to, .secret = secret, .hello = hello, .other = other, .deadline_ns = deadline_ns};

    return dial_until(&d, out, err);
}

banyan_status banyan_dial_again(const banyan_address *to, const banyan_secret *secret,
                                const banyan_hello *hello, const char *other, int64_t deadline_ns, int *out,
                                banyan_error *err)
{
    dialing d = {.to = to,
                 .secret = secret,
                 .hello = hello,
                 .other = other,
                 .deadline_ns = deadline_ns,
                 .is_again = 1};

    return dial_until(&d, out, err);
}
