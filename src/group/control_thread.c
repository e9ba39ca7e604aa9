/* SPDX-License-Identifier: Apache-2.0 */
/* group/control_thread.c: the thread that watches: what it hears from other ranks, whom it misses, whom it
 * lets in. The connections are its own; what callers ask about is under the lock. */
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/clock.h"
#include "group/control_internal.h"
#include "transport/bytes.h"

#define MOST_EVENTS 32 /* at a time */

static void put(banyan_control *control, int rank, int type, const void *body, size_t bytes)
{
    member *m = &control->members[rank];

    if (m->channel.fd >= 0)
        banyan_channel_put(&m->channel, type, body, bytes, NULL); /* a full channel is found by its silence */
}

static void put_all(banyan_control *control, int but, int type, const void *body, size_t bytes)
{
    for (int i = 0; i < control->size; i++)
        if (i != but && i != control->rank)
            put(control, i, type, body, bytes);
}

/* The group is over; lost -1: nobody is. The hub tells all, in the words of what it heard of first; without
 * it, all say the same of its loss. spread is what our transports hear, and through them the ranks of this
 * host. */
static void end_group(banyan_control *control, banyan_status status, int lost, const char *sentence,
                      const char *spread)
{
    unsigned char body[8 + sizeof control->reason.text];
    size_t bytes;
    int is_first, is_news;

    pthread_mutex_lock(&control->lock);
    is_first = banyan_control_settle_failure(control, status, sentence);
    is_news = is_first || (lost >= 0 && !control->lost[lost]);
    if (lost >= 0)
        control->lost[lost] = 1;
    bytes = banyan_control_write_abort(body, control->status, lost, control->reason.text);
    pthread_cond_broadcast(&control->changed);
    pthread_mutex_unlock(&control->lock);
    if (is_news && control->rank == 0)
        put_all(control, lost, ABORT, body, bytes);
    if (is_first && control->handler.fail)
        control->handler.fail(control->handler.context, status, spread);
}

/* Where rank 0 has gone, all lose it and say the same. But it may be we who are cut off: others must not take
 * our word for it that it has gone. Who was away itself has more to say. */
void banyan_control_lose_hub(banyan_control *control)
{
    const banyan_card *card = &control->cards[0];
    char sentence[300], spread[300];
    int was_away;

    pthread_mutex_lock(&control->lock);
    was_away = banyan_control_was_away(control, sentence, sizeof sentence);
    pthread_mutex_unlock(&control->lock);
    if (!was_away)
        snprintf(sentence, sizeof sentence,
                 "rank 0 (process %d on %.64s) was lost: the connection to it ended", card->process,
                 card->host);
    snprintf(spread, sizeof spread, "rank %d lost its connection to rank 0 (process %d on %.64s)",
             control->rank, card->process, card->host);
    end_group(control, BANYAN_PEER_LOST, 0, sentence, was_away ? sentence : spread);
}

/* Until all have joined, nothing is lost with a connection that ends: who lives makes it again. */
static int may_return(banyan_control *control, int rank, banyan_status status)
{
    int may_return;

    pthread_mutex_lock(&control->lock);
    may_return =
        status == BANYAN_PEER_LOST && !control->is_ready && !control->status && !control->is_stopping;
    if (may_return) {
        control->joined[rank] = 0;
        control->is_hub_away = rank == 0;
        pthread_cond_broadcast(&control->changed);
    }
    pthread_mutex_unlock(&control->lock);
    if (may_return && control->rank == 0) {
        control->connected--;
        control->members[rank].away_ns = banyan_clock_ns();
    }
    return may_return;
}

static void name_lost(banyan_control *control, int rank, banyan_status status, const char *why)
{
    const banyan_card *card = &control->cards[rank];
    char sentence[400];

    if (control->rank != 0 && status == BANYAN_PEER_LOST) {
        banyan_control_lose_hub(control);
        return;
    }
    snprintf(sentence, sizeof sentence, "%s %d (process %d on %.64s) %s: %.200s",
             rank < control->rank_count ? "rank" : "relay",
             rank < control->rank_count ? rank : rank - control->rank_count, card->process, card->host,
             status == BANYAN_REMOTE_ERROR ? "sent what is not ours" : "was lost", why);
    end_group(control, status, rank, sentence, sentence);
}

static void close_member(banyan_control *control, int rank)
{
    member *m = &control->members[rank];

    epoll_ctl(control->epoll, EPOLL_CTL_DEL, m->channel.fd, NULL);
    banyan_channel_fini(&m->channel);
}

static void lose_member(banyan_control *control, int rank, banyan_status status, const char *why)
{
    int has_left;

    close_member(control, rank);
    pthread_mutex_lock(&control->lock);
    has_left = control->left[rank];
    control->silent[rank] = 0;
    pthread_mutex_unlock(&control->lock);
    if (!has_left && !may_return(control, rank, status))
        name_lost(control, rank, status, why);
}

static void hear_abort(banyan_control *control, const unsigned char *body, size_t bytes)
{
    char sentence[sizeof control->reason.text];
    banyan_status status;
    int lost;

    if (bytes < 8 || bytes - 8 >= sizeof sentence)
        return;
    status = (banyan_status)(banyan_get32(body) & 0xff);
    lost = (int)banyan_get32(body + 4);
    memcpy(sentence, body + 8, bytes - 8);
    sentence[bytes - 8] = '\0';
    end_group(control, status, lost < control->size ? lost : -1, sentence, sentence);
}

static void hear_left(banyan_control *control, int from, const unsigned char *body, size_t bytes)
{
    int rank = bytes == 12 ? (int)banyan_get32(body) : -1;

    if (rank < 0 || rank >= control->size)
        return;
    pthread_mutex_lock(&control->lock);
    control->left[rank] = 1;
    pthread_mutex_unlock(&control->lock);
    if (control->rank == 0)
        put_all(control, from, LEFT, body, bytes);
    control->handler.left(control->handler.context, rank, banyan_get64(body + 4));
}

static void hear_silent(banyan_control *control, const unsigned char *body, size_t bytes)
{
    int rank = bytes == 8 ? (int)banyan_get32(body) : -1;

    if (rank < 0 || rank >= control->size)
        return;
    pthread_mutex_lock(&control->lock);
    control->silent[rank] = body[4] != 0;
    control->silent_since_ns[rank] = banyan_clock_ns() - 3 * control->beat_ns;
    pthread_mutex_unlock(&control->lock);
}

static void finish_gather(banyan_control *control, const unsigned char *all, size_t bytes)
{
    unsigned char *copy = banyan_alloc(bytes, 1);

    if (copy)
        memcpy(copy, all, bytes);
    pthread_mutex_lock(&control->lock);
    banyan_free(control->gathered);
    control->gathered = copy;
    control->gathered_bytes = copy ? bytes : 0;
    control->gather_is_done = 1;
    pthread_cond_broadcast(&control->changed);
    pthread_mutex_unlock(&control->lock);
}

/* At the hub: one rank's part. */
static void collect(banyan_control *control, int from, const unsigned char *body, size_t bytes)
{
    char sentence[160];

    if (!control->given) {
        banyan_free(control->gathering);
        control->gathering = banyan_alloc((size_t)control->size, bytes ? bytes : 1);
        control->gathering_bytes = bytes;
        memset(control->has_given, 0, (size_t)control->size);
    }
    if (!control->gathering || control->has_given[from] || bytes != control->gathering_bytes) {
        snprintf(sentence, sizeof sentence, "rank %d exchanges %zu bytes, another rank %zu", from, bytes,
                 control->gathering_bytes);
        end_group(control, BANYAN_MISMATCH, -1, sentence, sentence);
        return;
    }
    memcpy(control->gathering + (size_t)from * bytes, body, bytes);
    control->has_given[from] = 1;
    if (++control->given < control->size)
        return;
    control->given = 0;
    put_all(control, -1, GATHERED, control->gathering, (size_t)control->size * bytes);
    finish_gather(control, control->gathering, (size_t)control->size * bytes);
}

void banyan_control_become_ready(banyan_control *control)
{
    pthread_mutex_lock(&control->lock);
    control->is_ready = 1;
    pthread_cond_broadcast(&control->changed);
    pthread_mutex_unlock(&control->lock);
}

/* A heartbeat tells what the rank is doing: calls begun 0, done 8, milliseconds since 16, and the call as
 * text. */
enum { BEAT_HEAD = 20 };

static size_t write_beat(banyan_control *control, unsigned char out[BEAT_HEAD + BANYAN_CALL_TEXT])
{
    banyan_rank_state state = {0};
    size_t length;

    if (!control->handler.state)
        return 0;
    control->handler.state(control->handler.context, &state);
    length = strlen(state.call);
    banyan_put64(out, state.begun);
    banyan_put64(out + 8, state.done);
    banyan_put32(out + 16, state.since_s < 4e6 ? (uint32_t)(state.since_s * 1e3) : UINT32_MAX);
    memcpy(out + BEAT_HEAD, state.call, length);
    return BEAT_HEAD + length;
}

/* What is shown to people later must be plain text. */
static void hear_beat(banyan_control *control, int from, const unsigned char *body, size_t bytes)
{
    banyan_rank_state *state = &control->members[from].state;

    if (bytes < BEAT_HEAD || bytes >= BEAT_HEAD + BANYAN_CALL_TEXT)
        return;
    state->begun = banyan_get64(body);
    state->done = banyan_get64(body + 8);
    state->since_s = banyan_get32(body + 16) * 1e-3;
    for (size_t i = BEAT_HEAD; i < bytes; i++)
        state->call[i - BEAT_HEAD] = (char)(body[i] < 0x20 || body[i] >= 0x7f ? '?' : body[i]);
    state->call[bytes - BEAT_HEAD] = 0;
    control->members[from].told_ns = banyan_clock_ns();
}

/* 0: not a message that may come from there. */
static int hear(banyan_control *control, int from, int type, const unsigned char *body, size_t bytes)
{
    int is_hub = control->rank == 0;

    if (type == BEAT)
        hear_beat(control, from, body, bytes);
    else if (type == ABORT)
        hear_abort(control, body, bytes);
    else if (type == LEFT)
        hear_left(control, from, body, bytes);
    else if (type == READY && !is_hub)
        banyan_control_become_ready(control);
    else if (type == SILENT && !is_hub)
        hear_silent(control, body, bytes);
    else if (type == PLAN && !is_hub)
        control->handler.plan(control->handler.context, body, bytes);
    else if (type == CALL && !is_hub)
        control->handler.call(control->handler.context, body, bytes);
    else if (type == GATHERED && !is_hub)
        finish_gather(control, body, bytes);
    else if (type == WANT && is_hub)
        control->handler.want(control->handler.context, from, body, bytes);
    else if (type == GATHER && is_hub)
        collect(control, from, body, bytes);
    else
        return 0;
    return 1;
}

static void set_silent(banyan_control *control, int rank, int is_silent, int64_t now_ns)
{
    unsigned char body[8] = {0};
    int was_silent;

    pthread_mutex_lock(&control->lock);
    was_silent = control->silent[rank];
    control->silent[rank] = (char)is_silent;
    control->silent_since_ns[rank] = control->members[rank].heard_ns;
    pthread_mutex_unlock(&control->lock);
    (void)now_ns;
    if (control->rank != 0 || was_silent == is_silent)
        return;
    banyan_put32(body, (uint32_t)rank);
    body[4] = (unsigned char)is_silent;
    put_all(control, rank, SILENT, body, sizeof body);
}

static void serve_member(banyan_control *control, int rank)
{
    member *m = &control->members[rank];
    const unsigned char *body;
    size_t bytes;
    int type;
    banyan_error why = {""};
    banyan_status status = banyan_channel_fill(&m->channel, &why);

    m->heard_ns = banyan_clock_ns();
    set_silent(control, rank, 0, m->heard_ns);
    while (banyan_channel_next(&m->channel, &type, &body, &bytes))
        if (!hear(control, rank, type, body, bytes) && !status)
            status = banyan_fail(&why, BANYAN_REMOTE_ERROR, "a message of type %d", type);
    if (status)
        lose_member(control, rank, status, why.text);
}

static void watch_member(banyan_control *control, int rank, int operation)
{
    member *m = &control->members[rank];
    uint32_t events = banyan_channel_has_unsent(&m->channel) ? EPOLLIN | EPOLLOUT : EPOLLIN;
    struct epoll_event event = {.events = events, .data = {.u64 = (uint64_t)rank}};

    if (operation == EPOLL_CTL_ADD || events != m->events)
        epoll_ctl(control->epoll, operation, m->channel.fd, &event);
    m->events = events;
}

static void flush_all(banyan_control *control)
{
    for (int i = 0; i < control->size; i++) {
        member *m = &control->members[i];

        if (m->channel.fd < 0)
            continue;
        /* A connection that is gone shows when it is read. */
        banyan_channel_flush(&m->channel, NULL);
        watch_member(control, i, EPOLL_CTL_MOD);
    }
}

static void deliver(banyan_control *control, const letter *l)
{
    if (l->type == GATHER && control->rank == 0)
        collect(control, 0, l->body, l->bytes);
    else if (l->to == TO_ALL)
        put_all(control, -1, l->type, l->body, l->bytes);
    else
        put(control, l->to, l->type, l->body, l->bytes);
}

/* Returns whether the thread is to end. */
static int empty_outbox(banyan_control *control)
{
    letter *l, *next;
    uint64_t rings;
    int is_stopping, hub_fd;

    if (read(control->wake, &rings, sizeof rings) < 0)
        rings = 0;
    pthread_mutex_lock(&control->lock);
    l = control->outbox;
    control->outbox = NULL;
    control->outbox_end = &control->outbox;
    is_stopping = control->is_stopping;
    hub_fd = control->new_hub_fd;
    control->new_hub_fd = -1;
    pthread_mutex_unlock(&control->lock);
    if (hub_fd >= 0)
        banyan_control_take_member(control, 0, hub_fd);
    for (; l; l = next) {
        next = l->next;
        deliver(control, l);
        banyan_free(l);
    }
    return is_stopping;
}

static void beat(banyan_control *control)
{
    unsigned char body[BEAT_HEAD + BANYAN_CALL_TEXT];
    size_t bytes = control->rank ? write_beat(control, body) : 0; /* the hub has nobody to tell */

    for (int i = 0; i < control->size; i++)
        if (control->members[i].channel.fd >= 0 && !banyan_channel_has_unsent(&control->members[i].channel))
            put(control, i, BEAT, body, bytes);
}

static void miss_silent(banyan_control *control, int64_t now_ns)
{
    for (int i = 0; i < control->size; i++) {
        const member *m = &control->members[i];

        if (m->channel.fd >= 0 && now_ns - m->heard_ns > 3 * control->beat_ns)
            set_silent(control, i, 1, now_ns);
    }
}

/* At the hub: who has not made its connection again for as long as a rank may be silent. */
static void give_up_away(banyan_control *control, int64_t now_ns)
{
    for (int i = 0; i < control->size; i++)
        if (control->members[i].away_ns && now_ns - control->members[i].away_ns > 3 * control->beat_ns) {
            control->members[i].away_ns = 0;
            name_lost(control, i, BANYAN_PEER_LOST, "the connection to it ended before all had joined");
        }
}

static int wait_ms(const banyan_control *control, int64_t now_ns, int64_t next_beat_ns)
{
    int64_t until_ns = next_beat_ns, door_ns = banyan_listener_deadline_ns(control->listener);

    until_ns = door_ns < until_ns ? door_ns : until_ns;
    return until_ns <= now_ns ? 0 : (int)((until_ns - now_ns) / 1000000 + 1);
}

/* How long this thread could not look: its process was stopped, or the machine is crowded. */
static void note_pause(banyan_control *control, int64_t now_ns)
{
    pthread_mutex_lock(&control->lock);
    if (now_ns - control->awake_ns > 3 * control->beat_ns) {
        control->paused_ns = now_ns - control->awake_ns;
        control->pause_ended_ns = now_ns;
    }
    control->awake_ns = now_ns;
    pthread_mutex_unlock(&control->lock);
}

/* Who is missed is found after all that has come was heard: a thread that comes late itself has not listened
 * meanwhile. */
void *banyan_control_watch_over(void *argument)
{
    banyan_control *control = argument;
    int64_t next_beat_ns = banyan_clock_ns() + control->beat_ns;
    struct epoll_event events[MOST_EVENTS];
    int is_due = 0;

    for (;;) {
        int64_t now_ns = banyan_clock_ns();
        int count;

        if (now_ns >= next_beat_ns) {
            beat(control);
            if (control->is_status_paused)
                banyan_control_watch_status(control, 1);
            next_beat_ns = now_ns + control->beat_ns;
            is_due = 1;
        }
        flush_all(control);
        count = epoll_wait(control->epoll, events, MOST_EVENTS,
                           is_due ? 0 : wait_ms(control, now_ns, next_beat_ns));
        note_pause(control, banyan_clock_ns());
        for (int i = 0; i < count; i++)
            if (events[i].data.u64 < (uint64_t)control->size &&
                control->members[events[i].data.u64].channel.fd >= 0)
                serve_member(control, (int)events[i].data.u64);
        for (int i = 0; i < count; i++)
            if (events[i].data.u64 == KEY_STATUS)
                banyan_control_answer_status(control);
            else if (events[i].data.u64 == KEY_ANSWER)
                banyan_control_go_on_answering(control);
        if (is_due && count < MOST_EVENTS) {
            miss_silent(control, now_ns);
            give_up_away(control, now_ns);
            is_due = 0;
        }
        banyan_listener_progress(control->listener);
        if (empty_outbox(control))
            return NULL;
    }
}

banyan_status banyan_control_ask_at_door(void *context, const banyan_hello *hello)
{
    banyan_control *control = context;

    switch (hello->purpose) {
    case BANYAN_HELLO_CONTROL:
        if (control->rank != 0 || hello->size != control->size || hello->from < 1 ||
            hello->from >= control->size || control->connected == control->size - 1)
            return BANYAN_INVALID_ARGUMENT;
        return BANYAN_SUCCESS;
    case BANYAN_HELLO_DATA:
        return BANYAN_SUCCESS;
    case BANYAN_HELLO_JOIN:
        return hello->size == control->size && hello->from >= 0 && hello->from < control->size
                   ? BANYAN_SUCCESS
                   : BANYAN_INVALID_ARGUMENT;
    default:
        return BANYAN_INVALID_ARGUMENT;
    }
}

void banyan_control_take_member(banyan_control *control, int rank, int fd)
{
    member *m = &control->members[rank];

    if (m->channel.fd >= 0) { /* the end of that one has not been noticed here yet */
        close_member(control, rank);
        control->connected--;
    }
    banyan_channel_init(&m->channel, fd, BANYAN_CHANNEL_LIMIT);
    m->away_ns = 0;
    pthread_mutex_lock(&control->lock);
    control->joined[rank] = 1;
    pthread_mutex_unlock(&control->lock);
    m->heard_ns = banyan_clock_ns();
    watch_member(control, rank, EPOLL_CTL_ADD);
    if (control->rank == 0 && ++control->connected == control->size - 1) {
        put_all(control, -1, READY, NULL, 0);
        banyan_control_become_ready(control);
    }
}

static void take_joiner(banyan_control *control, int rank, int fd)
{
    joiner *j = banyan_alloc(1, sizeof *j);

    if (!j) {
        close(fd);
        return;
    }
    pthread_mutex_lock(&control->lock);
    *j = (joiner){control->joiners, fd, rank};
    control->joiners = j;
    pthread_cond_broadcast(&control->changed);
    pthread_mutex_unlock(&control->lock);
}

void banyan_control_take_at_door(void *context, const banyan_hello *hello, int fd)
{
    banyan_control *control = context;

    if (hello->purpose == BANYAN_HELLO_CONTROL)
        banyan_control_take_member(control, hello->from, fd);
    else if (hello->purpose == BANYAN_HELLO_JOIN)
        take_joiner(control, hello->from, fd);
    else
        control->handler.data(control->handler.context, hello, fd);
}
