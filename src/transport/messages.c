/* SPDX-License-Identifier: Apache-2.0 */
/* transport/messages.c: members whose bytes an engine carries: MPI or UCX (transport/engine.h). The endpoint:
 * who waits drives the engine.
 *
 * An engine that has a descriptor is slept on; one that has none is asked again and again, with pauses that
 * grow up to PAUSE_MAX_NS: a timer that stands for the descriptor. A peer that the engine calls lost is
 * suspect: those who watch the group may know better why, so they have SUSPICION_NS to say so. */
#include "transport/messages.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "core/clock.h"
#include "transport/messages_internal.h"

#define SUSPICION_NS 300000000
#define LOOKS 3 /* before sleeping on a descriptor */
#define ASKS 64 /* before pausing, where there is none */
#define PAUSE_MAX_NS 1000000
#define SLEEP_MAX_MS 100

typedef banyan_messages_endpoint endpoint;

static endpoint *own(banyan_endpoint *base)
{
    return (endpoint *)base;
}

static void wake(endpoint *e)
{
    uint64_t one = 1;

    if (write(e->wake, &one, sizeof one) < 0)
        return; /* a full counter wakes as well */
}

static const char *name_of(const endpoint *e, int member, char *buffer, size_t size)
{
    return e->name(e->context, member, buffer, size);
}

static int note_failure(endpoint *e, banyan_status status, const char *sentence)
{
    int is_first = banyan_first_failure_note(&e->failure, status, sentence);

    if ((status == BANYAN_PEER_LOST || status == BANYAN_TIMEOUT) && e->engine->distrust)
        e->engine->distrust();
    wake(e);
    return is_first;
}

void banyan_messages_fail(banyan_endpoint *base, banyan_status status, const char *sentence)
{
    note_failure(own(base), status, sentence);
}

static void abort_group(banyan_endpoint *base, banyan_status status, const char *sentence)
{
    endpoint *e = own(base);

    if (note_failure(e, status, sentence))
        e->spread(e->context, status, sentence);
}

static banyan_status failure(banyan_endpoint *base, banyan_error *err)
{
    return banyan_first_failure_get(&own(base)->failure, err);
}

static void suspect(endpoint *e, int member, const char *why)
{
    if (e->suspect >= 0 || (e->peers[member] && e->peers[member]->heard_bye))
        return;
    e->suspect = member;
    e->suspect_since_ns = banyan_clock_ns();
    snprintf(e->why_suspect, sizeof e->why_suspect, "%s", why);
}

static void check_suspect(endpoint *e, int64_t now_ns)
{
    char name[64], sentence[sizeof e->failure.reason.text];

    if (e->suspect < 0 || now_ns < e->suspect_since_ns + SUSPICION_NS)
        return;
    if (e->peers[e->suspect] && e->peers[e->suspect]->heard_bye) { /* its goodbye came with the news */
        e->suspect = -1;
        return;
    }
    snprintf(sentence, sizeof sentence, "%s: the connection to %s was lost: %s", e->base.transport->name,
             name_of(e, e->suspect, name, sizeof name), e->why_suspect);
    e->suspect = -1;
    abort_group(&e->base, BANYAN_PEER_LOST, sentence);
}

/* What went wrong with one peer; a lost one may have a better reason. */
static void blame(endpoint *e, int member, banyan_status status, const char *why)
{
    char name[64], sentence[sizeof e->failure.reason.text];

    if (status == BANYAN_PEER_LOST) {
        suspect(e, member, why);
        return;
    }
    name_of(e, member, name, sizeof name);
    if (status == BANYAN_REMOTE_ERROR)
        snprintf(sentence, sizeof sentence, "%s sent what is not ours: %s", name, why);
    else
        snprintf(sentence, sizeof sentence, "%s to %s: %s", e->base.transport->name, name, why);
    abort_group(&e->base, status, sentence);
}

void banyan_messages_flush_all(endpoint *e)
{
    char why[BANYAN_MESSAGE_ENGINE_SENTENCE] = "";

    e->has_open = 0;
    for (int i = 0; i < e->connected_count; i++) {
        int member = e->connected[i];
        banyan_status status = banyan_messages_flush(e, e->peers[member], why);

        if (status)
            blame(e, member, status, why);
    }
}

/* One look at the engine. Returns whether there was news. */
int banyan_messages_look(endpoint *e)
{
    char why[BANYAN_MESSAGE_ENGINE_SENTENCE] = "";
    int lost = -1, count = e->engine->progress(e->port, &lost, why);

    if (count < 0) {
        abort_group(&e->base, BANYAN_SYSTEM_ERROR, why);
        return 1;
    }
    if (lost >= 0)
        suspect(e, lost, why);
    for (int i = 0; i < e->connected_count && count; i++) {
        int member = e->connected[i];
        banyan_status status = banyan_messages_serve_control(e, e->peers[member], why);

        if (status)
            blame(e, member, status, why);
    }
    if (count) {
        e->has_changed = 1;
        e->pause_ns = BANYAN_MESSAGES_PAUSE_NS;
    }
    return count > 0;
}

static void calm_down(const endpoint *e)
{
    uint64_t rings;

    if (read(e->wake, &rings, sizeof rings) < 0 && errno != EAGAIN)
        return;
    if (e->timer >= 0 && read(e->timer, &rings, sizeof rings) < 0)
        return;
}

/* Whether one may sleep on the epoll set now. */
static int prepare_sleep(endpoint *e)
{
    struct itimerspec pause = {.it_value = {.tv_nsec = e->pause_ns}};

    if (e->engine->is_calm)
        return e->engine->is_calm(e->port);
    timerfd_settime(e->timer, 0, &pause, NULL);
    e->pause_ns = e->pause_ns < PAUSE_MAX_NS / 2 ? 2 * e->pause_ns : PAUSE_MAX_NS;
    return 1;
}

void banyan_messages_doze(endpoint *e, int64_t now_ns, int64_t deadline_ns)
{
    struct epoll_event events[2];
    int64_t left_ms = (deadline_ns - now_ns) / 1000000 + 1;

    if (prepare_sleep(e) &&
        epoll_wait(e->epoll, events, 2, left_ms < SLEEP_MAX_MS ? (int)left_ms : SLEEP_MAX_MS) > 0)
        calm_down(e);
}

static banyan_status wait_for_news(banyan_endpoint *base, int64_t deadline_ns, banyan_error *err)
{
    endpoint *e = own(base);
    int most_looks = deadline_ns <= 0 ? 1 : e->engine->descriptor ? LOOKS : ASKS;
    banyan_status status = failure(base, err);

    if (e->has_open && !status)
        banyan_messages_flush_all(e);
    if (deadline_ns <= 0)
        calm_down(e);
    for (int looks = 0; !status && !e->has_changed; looks++) {
        int64_t now_ns;

        if (!banyan_messages_look(e) && looks >= most_looks - 1) {
            now_ns = banyan_clock_ns();
            check_suspect(e, now_ns);
            status = failure(base, err);
            if (status)
                break;
            if (now_ns >= deadline_ns)
                return BANYAN_TIMEOUT;
            banyan_messages_doze(e, now_ns, deadline_ns);
        } else if (!e->has_changed) {
            sched_yield();
        }
        status = failure(base, err);
    }
    e->has_changed = 0;
    return status;
}

/* Empty control messages push out what was sent before them. Returns how many are not done. */
static int push(endpoint *e)
{
    char why[BANYAN_MESSAGE_ENGINE_SENTENCE] = "";
    int left = 0;

    for (int i = 0; i < e->connected_count; i++) {
        int member = e->connected[i];
        banyan_status status = banyan_messages_push(e, e->peers[member], why);

        left += status == BANYAN_IN_PROGRESS;
        if (status && status != BANYAN_IN_PROGRESS)
            blame(e, member, status, why);
    }
    return left;
}

static banyan_status flush(banyan_endpoint *base, int64_t deadline_ns, banyan_error *err)
{
    endpoint *e = own(base);
    banyan_status status = failure(base, err);

    if (status || !e->engine->holds_sends || !e->engine->holds_sends(e->port))
        return status;
    while (!status && push(e)) {
        int64_t now_ns = banyan_clock_ns();

        if (now_ns >= deadline_ns)
            return BANYAN_TIMEOUT;
        if (!banyan_messages_look(e))
            banyan_messages_doze(e, now_ns, deadline_ns);
        check_suspect(e, now_ns);
        status = failure(base, err);
    }
    return status;
}

static int sleep_fd(banyan_endpoint *base)
{
    endpoint *e = own(base);

    if (e->has_changed || banyan_first_failure_is_there(&e->failure) || !prepare_sleep(e))
        return -1;
    return e->epoll;
}

static banyan_status connect_peer(banyan_endpoint *base, int member, int to_peer, int from_peer,
                                  int64_t deadline_ns, banyan_error *err)
{
    endpoint *e = own(base);
    char why[BANYAN_MESSAGE_ENGINE_SENTENCE] = "", name[64];
    banyan_message_peer *peer;
    banyan_status status = BANYAN_SUCCESS;
    int is_new;

    (void)deadline_ns; /* connections are made while the first bytes wait */
    if (member < 0 || member >= base->member_count || member == base->member)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "member %d has no peer %d", base->member, member);
    if (to_peer > BANYAN_TRANSPORT_MAX_STREAMS || from_peer > BANYAN_TRANSPORT_MAX_STREAMS)
        return banyan_fail(err, BANYAN_UNSUPPORTED, "more than %d streams between members %d and %d",
                           BANYAN_TRANSPORT_MAX_STREAMS, base->member, member);
    is_new = !e->peers[member];
    if (is_new)
        status = e->engine->connect(e->port, member, why);
    peer = status ? NULL : banyan_messages_make_peer(e, member);
    if (!peer && !status)
        return banyan_fail_memory(err);
    if (!status && is_new)
        status = banyan_messages_begin_control(e, peer, why);
    if (!status)
        status = banyan_messages_widen(e, peer, to_peer, from_peer, why);
    if (!status)
        return BANYAN_SUCCESS;
    return banyan_fail(err, status, "%s to %s: %s", base->transport->name,
                       name_of(e, member, name, sizeof name), why);
}

static size_t offer(banyan_endpoint *base, int member, int stream, const void *memory, size_t bytes)
{
    endpoint *e = own(base);
    char why[BANYAN_MESSAGE_ENGINE_SENTENCE] = "";
    size_t taken = 0;
    banyan_status status;

    if (!bytes || e->is_withdrawn)
        return 0;
    status = banyan_messages_offer(e, e->peers[member], stream, memory, bytes, &taken, why);
    if (status)
        blame(e, member, status, why);
    return taken;
}

static uint64_t sent(banyan_endpoint *base, int member, int stream)
{
    return banyan_messages_sent(own(base)->peers[member]->out[stream]);
}

static size_t peek(banyan_endpoint *base, int member, int stream, const void **memory)
{
    const endpoint *e = own(base);
    const banyan_message_in *in = e->peers[member]->in[stream];
    size_t slot = (size_t)(in->taken % BANYAN_MESSAGES_SLOTS);

    if (!in->tickets[slot].is_done)
        return 0;
    *memory = in->memory + slot * e->message_bytes + in->used;
    return in->tickets[slot].bytes - in->used;
}

static void consume(banyan_endpoint *base, int member, int stream, size_t bytes)
{
    endpoint *e = own(base);
    char why[BANYAN_MESSAGE_ENGINE_SENTENCE] = "";
    banyan_status status = banyan_messages_consume(e, e->peers[member], stream, bytes, why);

    if (status)
        blame(e, member, status, why);
}

static void withdraw(banyan_endpoint *base)
{
    endpoint *e = own(base);

    if (!e->is_withdrawn && e->engine->withdraw)
        e->engine->withdraw(e->port);
    e->is_withdrawn = 1;
}

static banyan_status open_mpi(const banyan_opening *opening, banyan_endpoint **out, banyan_error *err)
{
    return banyan_messages_open_endpoint(opening, &banyan_transport_mpi, out, err);
}

static banyan_status open_ucx(const banyan_opening *opening, banyan_endpoint **out, banyan_error *err)
{
    return banyan_messages_open_endpoint(opening, &banyan_transport_ucx, out, err);
}

#define THE_SAME_FOR_ALL                                                                                     \
    .reach = BANYAN_REACH_NETWORK, .connect = connect_peer, .offer = offer, .sent = sent, .peek = peek,      \
    .consume = consume, .wait = wait_for_news, .abort = abort_group, .failure = failure,                     \
    .withdraw = withdraw, .close = banyan_messages_close_endpoint, .flush = flush, .sleep_fd = sleep_fd

const banyan_transport banyan_transport_mpi = {
    .name = "mpi",
    .summary = "processes that mpirun or srun started, over the site's own MPI",
    .open = open_mpi,
    THE_SAME_FOR_ALL,
};

const banyan_transport banyan_transport_ucx = {
    .name = "ucx",
    .summary = "processes of any hosts, over UCX: InfiniBand, RoCE, shared memory, TCP",
    .open = open_ucx,
    THE_SAME_FOR_ALL,
};
