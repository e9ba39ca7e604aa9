/* SPDX-License-Identifier: Apache-2.0 */
/* comm/control.c: the thread that watches. Other threads put messages into an outbox and wake it; everything
 * else of the connections is its own. What callers ask about (failure, lost, silent) is under the lock. */
#include "comm/control.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "comm/store.h"
#include "core/alloc.h"
#include "core/clock.h"
#include "transport/bytes.h"
#include "transport/channel.h"
#include "transport/transport.h"

enum { READY = 1, BEAT, ABORT, LEFT, SILENT, PLAN, WANT, GATHER, GATHERED };

#define TO_ALL (-1)
#define KEY_WAKE UINT64_MAX
#define KEY_DOOR (UINT64_MAX - 1)
#define FAREWELL_NS 2000000000

typedef struct letter letter;
struct letter {
    letter *next;
    int to, type;
    size_t bytes;
    unsigned char body[];
};

typedef struct {
    banyan_channel channel; /* fd -1: none */
    int64_t heard_ns;
    uint32_t events;
} member;

typedef struct joiner joiner;
struct joiner {
    joiner *next;
    int fd, rank;
};

struct banyan_control {
    int rank, size, timeout_ms;
    int64_t beat_ns;
    banyan_secret secret;
    const banyan_card *cards;
    banyan_control_handler handler;
    banyan_listener *listener;
    int epoll, wake;
    int has_thread, has_lock;
    pthread_t thread;
    member *members; /* by rank; elsewhere than at the hub only member 0 has a connection */
    int connected;
    unsigned char *gathering; /* at the hub */
    char *has_given;
    int given;
    size_t gathering_bytes;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* guarded by lock: */
    letter *outbox, **outbox_end;
    int is_stopping, is_ready;
    banyan_status status;
    banyan_error reason;
    char *lost, *left, *silent, *joined; /* by rank */
    int64_t *silent_since_ns;
    joiner *joiners;
    int gather_is_done;
    unsigned char *gathered;
    size_t gathered_bytes;
};

static void wake(banyan_control *control)
{
    uint64_t one = 1;

    if (write(control->wake, &one, sizeof one) < 0)
        return; /* the counter is full: awake already */
}

/* With the lock held. */
static int post(banyan_control *control, int to, int type, const void *body, size_t bytes)
{
    letter *l = banyan_alloc(1, sizeof *l + bytes);

    if (!l)
        return 0;
    *l = (letter){.to = to, .type = type, .bytes = bytes};
    if (bytes)
        memcpy(l->body, body, bytes);
    *control->outbox_end = l;
    control->outbox_end = &l->next;
    wake(control);
    return 1;
}

static size_t write_abort(unsigned char *out, banyan_status status, int lost, const char *sentence)
{
    size_t length = strlen(sentence);

    banyan_put32(out, (uint32_t)status);
    banyan_put32(out + 4, (uint32_t)lost);
    memcpy(out + 8, sentence, length);
    return 8 + length;
}

/* Notes the first failure. Returns whether this was it. With the lock held. */
static int note_failure(banyan_control *control, banyan_status status, const char *sentence)
{
    if (control->status)
        return 0;
    control->status = status;
    snprintf(control->reason.text, sizeof control->reason.text, "%s", sentence);
    pthread_cond_broadcast(&control->changed);
    return 1;
}

static void describe_silent(banyan_control *control, char *buffer, size_t bytes)
{
    char ranks[120];
    int64_t now_ns = banyan_clock_ns();
    double longest_s = 0;
    int count = 0;

    buffer[0] = '\0';
    for (int i = 0; i < control->size; i++)
        if (control->silent[i]) {
            double s = (double)(now_ns - control->silent_since_ns[i]) * 1e-9;

            longest_s = s > longest_s ? s : longest_s;
            count++;
        }
    if (count)
        snprintf(buffer, bytes, "; rank%s %s %s been silent for %.1f s", count > 1 ? "s" : "",
                 banyan_ranks_format(control->silent, control->size, ranks, sizeof ranks),
                 count > 1 ? "have" : "has", longest_s);
}

void banyan_control_describe_silent(banyan_control *control, char *buffer, size_t bytes)
{
    pthread_mutex_lock(&control->lock);
    describe_silent(control, buffer, bytes);
    pthread_mutex_unlock(&control->lock);
}

void banyan_control_abort(banyan_control *control, banyan_status status, const char *sentence)
{
    char silent[200] = "", whole[sizeof control->reason.text];
    unsigned char body[8 + sizeof whole];
    int is_first;

    pthread_mutex_lock(&control->lock);
    if (status == BANYAN_TIMEOUT)
        describe_silent(control, silent, sizeof silent);
    snprintf(whole, sizeof whole, "%.300s%s", sentence, silent);
    is_first = note_failure(control, status, whole);
    if (is_first)
        post(control, TO_ALL, ABORT, body, write_abort(body, status, -1, whole));
    pthread_mutex_unlock(&control->lock);
    if (is_first && control->handler.fail)
        control->handler.fail(control->handler.context, status, whole);
}

banyan_status banyan_control_failure(banyan_control *control, banyan_error *err)
{
    banyan_status status;

    pthread_mutex_lock(&control->lock);
    status = control->status ? banyan_fail(err, control->status, "%s", control->reason.text) : BANYAN_SUCCESS;
    pthread_mutex_unlock(&control->lock);
    return status;
}

static int ask_flag(banyan_control *control, const char *flags, int rank)
{
    int answer;

    pthread_mutex_lock(&control->lock);
    answer = flags[rank];
    pthread_mutex_unlock(&control->lock);
    return answer;
}

int banyan_control_is_lost(banyan_control *control, int rank)
{
    return ask_flag(control, control->lost, rank);
}

int banyan_control_is_silent(banyan_control *control, int rank)
{
    return ask_flag(control, control->silent, rank);
}

void banyan_control_mark_lost(banyan_control *control, int rank)
{
    pthread_mutex_lock(&control->lock);
    control->lost[rank] = 1;
    pthread_mutex_unlock(&control->lock);
}

/* From here on: the control thread, or nobody else yet. */

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

/* The group is over because of what happened here; lost -1: nobody is. */
static void end_group(banyan_control *control, banyan_status status, int lost, const char *sentence)
{
    unsigned char body[8 + sizeof control->reason.text];
    int is_first;

    pthread_mutex_lock(&control->lock);
    if (lost >= 0)
        control->lost[lost] = 1;
    is_first = note_failure(control, status, sentence);
    pthread_cond_broadcast(&control->changed);
    pthread_mutex_unlock(&control->lock);
    put_all(control, lost, ABORT, body, write_abort(body, status, lost, sentence));
    if (is_first && control->handler.fail)
        control->handler.fail(control->handler.context, status, sentence);
}

static void lose_member(banyan_control *control, int rank, banyan_status status, const char *why)
{
    member *m = &control->members[rank];
    const banyan_card *card = &control->cards[rank];
    char sentence[400];
    int has_left;

    epoll_ctl(control->epoll, EPOLL_CTL_DEL, m->channel.fd, NULL);
    banyan_channel_fini(&m->channel);
    pthread_mutex_lock(&control->lock);
    has_left = control->left[rank];
    control->silent[rank] = 0;
    pthread_mutex_unlock(&control->lock);
    if (has_left)
        return;
    if (control->rank == 0)
        snprintf(sentence, sizeof sentence, "rank %d (process %d on %.64s) %s: %.200s", rank, card->process,
                 card->host, status == BANYAN_REMOTE_ERROR ? "sent what is not ours" : "was lost", why);
    else /* who is cut off itself sees no more than this */
        snprintf(sentence, sizeof sentence,
                 "rank %d lost its connection to rank 0 (process %d on %.64s): %.200s", control->rank,
                 card->process, card->host, why);
    end_group(control, status, rank, sentence);
}

static void hear_abort(banyan_control *control, int from, const unsigned char *body, size_t bytes)
{
    char sentence[sizeof control->reason.text];
    banyan_status status;
    int lost, is_first;

    if (bytes < 8 || bytes - 8 >= sizeof sentence)
        return;
    status = (banyan_status)(banyan_get32(body) & 0xff);
    lost = (int)banyan_get32(body + 4);
    memcpy(sentence, body + 8, bytes - 8);
    sentence[bytes - 8] = '\0';
    pthread_mutex_lock(&control->lock);
    if (lost >= 0 && lost < control->size)
        control->lost[lost] = 1;
    is_first = note_failure(control, status, sentence);
    pthread_cond_broadcast(&control->changed);
    pthread_mutex_unlock(&control->lock);
    if (control->rank == 0)
        put_all(control, from, ABORT, body, bytes);
    if (is_first && control->handler.fail)
        control->handler.fail(control->handler.context, status, sentence);
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
        end_group(control, BANYAN_MISMATCH, -1, sentence);
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

static void become_ready(banyan_control *control)
{
    pthread_mutex_lock(&control->lock);
    control->is_ready = 1;
    pthread_cond_broadcast(&control->changed);
    pthread_mutex_unlock(&control->lock);
}

/* 0: not a message that may come from there. */
static int hear(banyan_control *control, int from, int type, const unsigned char *body, size_t bytes)
{
    int is_hub = control->rank == 0;

    if (type == BEAT)
        return 1;
    if (type == ABORT)
        hear_abort(control, from, body, bytes);
    else if (type == LEFT)
        hear_left(control, from, body, bytes);
    else if (type == READY && !is_hub)
        become_ready(control);
    else if (type == SILENT && !is_hub)
        hear_silent(control, body, bytes);
    else if (type == PLAN && !is_hub)
        control->handler.plan(control->handler.context, body, bytes);
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
    int is_stopping;

    if (read(control->wake, &rings, sizeof rings) < 0)
        rings = 0;
    pthread_mutex_lock(&control->lock);
    l = control->outbox;
    control->outbox = NULL;
    control->outbox_end = &control->outbox;
    is_stopping = control->is_stopping;
    pthread_mutex_unlock(&control->lock);
    for (; l; l = next) {
        next = l->next;
        deliver(control, l);
        banyan_free(l);
    }
    return is_stopping;
}

static void beat(banyan_control *control, int64_t now_ns)
{
    for (int i = 0; i < control->size; i++) {
        member *m = &control->members[i];

        if (m->channel.fd < 0)
            continue;
        if (!banyan_channel_has_unsent(&m->channel))
            put(control, i, BEAT, NULL, 0);
        if (now_ns - m->heard_ns > 3 * control->beat_ns)
            set_silent(control, i, 1, now_ns);
    }
}

static int wait_ms(const banyan_control *control, int64_t now_ns, int64_t next_beat_ns)
{
    int64_t until_ns = next_beat_ns, door_ns = banyan_listener_deadline_ns(control->listener);

    until_ns = door_ns < until_ns ? door_ns : until_ns;
    return until_ns <= now_ns ? 0 : (int)((until_ns - now_ns) / 1000000 + 1);
}

static void *watch_over(void *argument)
{
    banyan_control *control = argument;
    int64_t next_beat_ns = banyan_clock_ns() + control->beat_ns;
    struct epoll_event events[32];

    for (;;) {
        int64_t now_ns = banyan_clock_ns();
        int count;

        if (now_ns >= next_beat_ns) {
            beat(control, now_ns);
            next_beat_ns = now_ns + control->beat_ns;
        }
        flush_all(control);
        count = epoll_wait(control->epoll, events, 32, wait_ms(control, now_ns, next_beat_ns));
        for (int i = 0; i < count; i++)
            if (events[i].data.u64 < (uint64_t)control->size &&
                control->members[events[i].data.u64].channel.fd >= 0)
                serve_member(control, (int)events[i].data.u64);
        banyan_listener_progress(control->listener);
        if (empty_outbox(control))
            return NULL;
    }
}

static banyan_status ask_at_door(void *context, const banyan_hello *hello)
{
    banyan_control *control = context;

    switch (hello->purpose) {
    case BANYAN_HELLO_CONTROL:
        if (control->rank != 0 || hello->size != control->size || hello->from < 1 ||
            hello->from >= control->size || control->members[hello->from].channel.fd >= 0)
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

static void take_member(banyan_control *control, int rank, int fd)
{
    member *m = &control->members[rank];

    banyan_channel_init(&m->channel, fd, BANYAN_CHANNEL_LIMIT);
    pthread_mutex_lock(&control->lock);
    control->joined[rank] = 1;
    pthread_mutex_unlock(&control->lock);
    m->heard_ns = banyan_clock_ns();
    watch_member(control, rank, EPOLL_CTL_ADD);
    if (control->rank == 0 && ++control->connected == control->size - 1) {
        put_all(control, -1, READY, NULL, 0);
        become_ready(control);
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

static void take_at_door(void *context, const banyan_hello *hello, int fd)
{
    banyan_control *control = context;

    if (hello->purpose == BANYAN_HELLO_CONTROL)
        take_member(control, hello->from, fd);
    else if (hello->purpose == BANYAN_HELLO_JOIN)
        take_joiner(control, hello->from, fd);
    else
        control->handler.data(control->handler.context, hello, fd);
}

static banyan_status fill_arrays(banyan_control *control, banyan_error *err)
{
    size_t size = (size_t)control->size;

    control->members = banyan_alloc(size, sizeof *control->members);
    control->has_given = banyan_alloc(size, 1);
    control->lost = banyan_alloc(size, 1);
    control->left = banyan_alloc(size, 1);
    control->silent = banyan_alloc(size, 1);
    control->joined = banyan_alloc(size, 1);
    control->silent_since_ns = banyan_alloc(size, sizeof *control->silent_since_ns);
    if (!control->members || !control->has_given || !control->lost || !control->left || !control->silent ||
        !control->joined || !control->silent_since_ns)
        return banyan_fail_memory(err);
    for (size_t i = 0; i < size; i++)
        control->members[i].channel.fd = -1;
    return BANYAN_SUCCESS;
}

static banyan_status open_descriptors(banyan_control *control, banyan_error *err)
{
    struct epoll_event wake_event = {.events = EPOLLIN, .data = {.u64 = KEY_WAKE}};
    struct epoll_event door_event = {.events = EPOLLIN, .data = {.u64 = KEY_DOOR}};
    int door = banyan_listener_descriptor(control->listener);

    control->epoll = epoll_create1(EPOLL_CLOEXEC);
    control->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (control->epoll < 0 || control->wake < 0 ||
        epoll_ctl(control->epoll, EPOLL_CTL_ADD, control->wake, &wake_event) != 0 ||
        epoll_ctl(control->epoll, EPOLL_CTL_ADD, door, &door_event) != 0)
        return banyan_fail(err, BANYAN_SYSTEM_ERROR, "cannot watch a socket: %s", strerror(errno));
    return BANYAN_SUCCESS;
}

static void init_lock(banyan_control *control)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&control->lock, NULL);
    pthread_cond_init(&control->changed, &attributes);
    pthread_condattr_destroy(&attributes);
}

banyan_status banyan_control_create(int most_ranks, const banyan_address *address, int low_port,
                                    int high_port, banyan_control **out, banyan_error *err)
{
    banyan_control *control = banyan_alloc(1, sizeof *control);
    banyan_door_handler door = {control, ask_at_door, take_at_door};
    banyan_status status;

    *out = NULL;
    if (!control)
        return banyan_fail_memory(err);
    control->size = most_ranks;
    control->epoll = control->wake = -1;
    control->outbox_end = &control->outbox;
    init_lock(control);
    status = fill_arrays(control, err);
    if (!status)
        status = banyan_listener_create(address, low_port, high_port, &control->secret, &door,
                                        &control->listener, err);
    if (!status)
        status = open_descriptors(control, err);
    if (status)
        banyan_control_destroy(control);
    else
        *out = control;
    return status;
}

const banyan_address *banyan_control_address(const banyan_control *control)
{
    return banyan_listener_address(control->listener);
}

/* With the lock held. 0: the deadline has passed. */
static int wait_for_change(banyan_control *control, int64_t deadline_ns)
{
    struct timespec until = {.tv_sec = deadline_ns / 1000000000, .tv_nsec = deadline_ns % 1000000000};

    return pthread_cond_timedwait(&control->changed, &control->lock, &until) != ETIMEDOUT;
}

static banyan_status dial_hub(banyan_control *control, int64_t deadline_ns, banyan_error *err)
{
    banyan_hello hello = {BANYAN_PROTOCOL, BANYAN_HELLO_CONTROL, control->rank, control->size, 0, 1};
    char other[160], text[BANYAN_ADDRESS_TEXT];
    banyan_status status;
    int fd;

    snprintf(other, sizeof other, "rank 0 on %.64s at %s", control->cards[0].host,
             banyan_address_format(&control->cards[0].address, text));
    status = banyan_dial(&control->cards[0].address, &control->secret, &hello, other, deadline_ns, &fd, err);
    if (!status)
        take_member(control, 0, fd);
    return status;
}

static banyan_status wait_until_ready(banyan_control *control, int64_t deadline_ns, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;
    char *is_missing = banyan_alloc((size_t)control->size, 1), ranks[160];
    int is_late = 0;

    if (!is_missing)
        return banyan_fail_memory(err);
    pthread_mutex_lock(&control->lock);
    while (!control->is_ready && !control->status && !is_late)
        is_late = !wait_for_change(control, deadline_ns);
    /* All were there: what has happened since is for the first call to say. */
    if (control->status && !control->is_ready)
        status = banyan_fail(err, control->status, "%s", control->reason.text);
    for (int i = 1; i < control->size && control->rank == 0; i++)
        is_missing[i] = !control->joined[i];
    is_missing[0] = control->rank != 0;
    if (!status && !control->is_ready) {
        status = banyan_fail(err, BANYAN_TIMEOUT, "rank %d waited %d ms for rank %s to join", control->rank,
                             control->timeout_ms,
                             banyan_ranks_format(is_missing, control->size, ranks, sizeof ranks));
    }
    pthread_mutex_unlock(&control->lock);
    banyan_free(is_missing);
    return status;
}

banyan_status banyan_control_start(banyan_control *control, int rank, int size, const banyan_card *cards,
                                   const banyan_secret *secret, int timeout_ms,
                                   const banyan_control_handler *handler, banyan_error *err)
{
    int64_t deadline_ns = banyan_clock_ns() + (int64_t)timeout_ms * 1000000;
    banyan_status status = BANYAN_SUCCESS;

    control->rank = rank;
    control->size = size;
    control->cards = cards;
    control->secret = *secret;
    banyan_listener_set_secret(control->listener, secret);
    control->handler = *handler;
    control->timeout_ms = timeout_ms;
    control->beat_ns = (int64_t)timeout_ms * 1000000 / 12;
    if (control->beat_ns > 1000000000)
        control->beat_ns = 1000000000;
    if (control->beat_ns < 20000000)
        control->beat_ns = 20000000;
    if (control->rank != 0)
        status = dial_hub(control, deadline_ns, err);
    else if (control->size == 1)
        become_ready(control);
    if (!status && pthread_create(&control->thread, NULL, watch_over, control) != 0)
        status = banyan_fail(err, BANYAN_SYSTEM_ERROR, "cannot start the thread that watches over the group");
    if (status)
        return status;
    control->has_thread = 1;
    return wait_until_ready(control, deadline_ns, err);
}

/* Whatever was put must leave before the sockets close. */
static void say_goodbye(banyan_control *control)
{
    int64_t deadline_ns = banyan_clock_ns() + FAREWELL_NS;

    for (int i = 0; i < control->size; i++)
        if (control->members[i].channel.fd >= 0)
            banyan_channel_send_all(&control->members[i].channel,
                                    banyan_clock_ns() < deadline_ns ? deadline_ns : 0, NULL);
}

void banyan_control_stop(banyan_control *control, uint64_t calls)
{
    unsigned char body[12];

    if (!control || !control->has_thread)
        return;
    banyan_put32(body, (uint32_t)control->rank);
    banyan_put64(body + 4, calls);
    pthread_mutex_lock(&control->lock);
    post(control, TO_ALL, LEFT, body, sizeof body);
    control->is_stopping = 1;
    pthread_mutex_unlock(&control->lock);
    wake(control);
    pthread_join(control->thread, NULL);
    control->has_thread = 0;
    say_goodbye(control);
}

void banyan_control_destroy(banyan_control *control)
{
    if (!control)
        return;
    banyan_control_stop(control, 0);
    for (int i = 0; control->members && i < control->size; i++)
        banyan_channel_fini(&control->members[i].channel);
    while (control->outbox) {
        letter *next = control->outbox->next;

        banyan_free(control->outbox);
        control->outbox = next;
    }
    while (control->joiners) {
        joiner *next = control->joiners->next;

        close(control->joiners->fd);
        banyan_free(control->joiners);
        control->joiners = next;
    }
    banyan_listener_destroy(control->listener);
    if (control->epoll >= 0)
        close(control->epoll);
    if (control->wake >= 0)
        close(control->wake);
    banyan_free(control->members);
    banyan_free(control->has_given);
    banyan_free(control->gathering);
    banyan_free(control->gathered);
    banyan_free(control->lost);
    banyan_free(control->left);
    banyan_free(control->silent);
    banyan_free(control->joined);
    banyan_free(control->silent_since_ns);
    pthread_cond_destroy(&control->changed);
    pthread_mutex_destroy(&control->lock);
    banyan_auth_forget(&control->secret, sizeof control->secret);
    banyan_free(control);
}

static banyan_status post_locked(banyan_control *control, int to, int type, const void *body, size_t bytes,
                                 banyan_error *err)
{
    int fits;

    pthread_mutex_lock(&control->lock);
    fits = post(control, to, type, body, bytes);
    pthread_mutex_unlock(&control->lock);
    return fits ? BANYAN_SUCCESS : banyan_fail_memory(err);
}

banyan_status banyan_control_publish(banyan_control *control, const void *body, size_t bytes,
                                     banyan_error *err)
{
    return post_locked(control, TO_ALL, PLAN, body, bytes, err);
}

banyan_status banyan_control_want(banyan_control *control, const void *body, size_t bytes, banyan_error *err)
{
    return post_locked(control, 0, WANT, body, bytes, err);
}

banyan_status banyan_control_gather(banyan_control *control, const void *mine, size_t bytes, void *all,
                                    int64_t deadline_ns, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    pthread_mutex_lock(&control->lock);
    control->gather_is_done = 0;
    if (!post(control, 0, GATHER, mine, bytes))
        status = banyan_fail_memory(err);
    while (!status && !control->gather_is_done) {
        if (control->status)
            status = banyan_fail(err, control->status, "%s", control->reason.text);
        else if (!wait_for_change(control, deadline_ns))
            status =
                banyan_fail(err, BANYAN_TIMEOUT, "rank %d waited in vain for all ranks to exchange %zu bytes",
                            control->rank, bytes);
    }
    if (!status && control->gathered_bytes != (size_t)control->size * bytes)
        status = banyan_fail(err, BANYAN_MISMATCH, "ranks exchanged different numbers of bytes");
    if (!status && bytes)
        memcpy(all, control->gathered, (size_t)control->size * bytes);
    pthread_mutex_unlock(&control->lock);
    return status;
}

int banyan_control_next_joiner(banyan_control *control, int64_t deadline_ns, int *rank)
{
    joiner *j;
    int fd = -1;

    pthread_mutex_lock(&control->lock);
    while (!control->joiners && wait_for_change(control, deadline_ns))
        continue;
    j = control->joiners;
    if (j) {
        control->joiners = j->next;
        fd = j->fd;
        *rank = j->rank;
        banyan_free(j);
    }
    pthread_mutex_unlock(&control->lock);
    return fd;
}
