/* SPDX-License-Identifier: Apache-2.0 */
/* group/control.c: the callers' side. They put messages into an outbox and wake the thread
 * (control_thread.c); what they ask about (failure, lost, silent) is under the lock. */
#include "group/control.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "bootstrap/store.h"
#include "core/alloc.h"
#include "core/clock.h"
#include "group/control_internal.h"
#include "transport/bytes.h"
#include "transport/transport.h"

#define SILENT_WORDS "been silent for"

/* Connections per child that a rank may hold: its own, and those of three of its children's families whose
 * parents are lost. */
#define ROOM_FACTOR 4

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

/* With the lock held. 0: the deadline has passed. */
static int wait_for_change(banyan_control *control, int64_t deadline_ns)
{
    struct timespec until = {.tv_sec = deadline_ns / 1000000000, .tv_nsec = deadline_ns % 1000000000};

    return pthread_cond_timedwait(&control->changed, &control->lock, &until) != ETIMEDOUT;
}

size_t banyan_control_write_abort(unsigned char *out, banyan_status status, int lost, const char *sentence)
{
    size_t length = strlen(sentence);

    banyan_put32(out, (uint32_t)status);
    banyan_put32(out + 4, (uint32_t)lost);
    memcpy(out + 8, sentence, length);
    return 8 + length;
}

/* Notes the first failure. Returns whether this was it. With the lock held. */
int banyan_control_note_failure(banyan_control *control, banyan_status status, const char *sentence)
{
    if (control->status)
        return 0;
    control->status = status;
    snprintf(control->reason.text, sizeof control->reason.text, "%s", sentence);
    pthread_cond_broadcast(&control->changed);
    return 1;
}

int banyan_control_settle_failure(banyan_control *control, banyan_status status, const char *sentence)
{
    int is_first = !control->status;

    if (!control->is_final) {
        control->status = BANYAN_SUCCESS;
        banyan_control_note_failure(control, status, sentence);
        control->is_final = 1;
    }
    return is_first;
}

/* The others give up who is silent for a whole time-out; who was so before the last one has been heard of
 * since. */
int banyan_control_was_away(banyan_control *control, char *sentence, size_t bytes)
{
    int64_t timeout_ns = (int64_t)control->timeout_ms * 1000000, now_ns = banyan_clock_ns();
    int64_t away_ns = now_ns - control->awake_ns;

    if (!control->awake_ns) /* not begun */
        return 0;
    if (away_ns < timeout_ns && now_ns - control->pause_ended_ns < timeout_ns)
        away_ns = control->paused_ns;
    if (away_ns < timeout_ns)
        return 0;
    snprintf(sentence, bytes,
             "rank %d was itself stopped, or got no processor time, for %.1f s, so that the others may have "
             "given it up",
             control->rank, (double)away_ns * 1e-9);
    return 1;
}

/* Whose sign of life is missing: '; rank 3 has been silent for 2.1 s', or "". With the lock held. */
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
        snprintf(buffer, bytes, "; rank%s %s %s " SILENT_WORDS " %.1f s", count > 1 ? "s" : "",
                 banyan_ranks_format(control->silent, control->size, ranks, sizeof ranks),
                 count > 1 ? "have" : "has", longest_s);
}

void banyan_control_abort(banyan_control *control, banyan_status status, const char *sentence)
{
    char silent[200] = "", away[200], whole[sizeof control->reason.text];
    unsigned char body[8 + sizeof whole];
    int is_first;

    pthread_mutex_lock(&control->lock);
    if (status == BANYAN_TIMEOUT && banyan_control_was_away(control, away, sizeof away))
        sentence = away;
    else if (status == BANYAN_TIMEOUT &&
             !strstr(sentence, SILENT_WORDS)) /* else a rank of this host has told us */
        describe_silent(control, silent, sizeof silent);
    snprintf(whole, sizeof whole, "%.300s%s", sentence, silent);
    is_first = banyan_control_note_failure(control, status, whole);
    if (is_first && control->rank == 0)
        control->is_final = 1;
    if (is_first)
        post(control, NEWS, ABORT, body, banyan_control_write_abort(body, status, -1, whole));
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

int64_t banyan_control_verdict_ns(const banyan_control *control)
{
    int64_t silence_ns = SILENT_BEATS * control->beat_ns;

    return silence_ns > VERDICT_NS ? silence_ns : VERDICT_NS;
}

/* Longer while the thread looks for somebody who has heard them. */
banyan_status banyan_control_verdict(banyan_control *control, banyan_error *err)
{
    int64_t patience_ns = control->beat_ns > VERDICT_NS ? control->beat_ns : VERDICT_NS;
    int64_t begun_ns = banyan_clock_ns();

    pthread_mutex_lock(&control->lock);
    while (control->status && !control->is_final && !control->left[0]) {
        int64_t deadline_ns =
            begun_ns + (control->is_seeking ? banyan_control_verdict_ns(control) : patience_ns);

        if (!wait_for_change(control, deadline_ns) && banyan_clock_ns() >= deadline_ns)
            control->is_final = 1; /* nobody has other words for it */
    }
    pthread_mutex_unlock(&control->lock);
    return banyan_control_failure(control, err);
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

/* What others than the root know of each other they have heard from it. */
int64_t banyan_control_silent_since_ns(banyan_control *control, int rank)
{
    int64_t since_ns = 0;

    pthread_mutex_lock(&control->lock);
    if (control->silent[rank] && (control->rank == 0 || rank == 0 || !control->lost[0]))
        since_ns = control->silent_since_ns[rank];
    pthread_mutex_unlock(&control->lock);
    return since_ns;
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
    control->left_after = banyan_alloc(size, sizeof *control->left_after);
    control->linked = banyan_alloc(size, sizeof *control->linked);
    control->is_heard = banyan_alloc(size, 1);
    if (!control->is_heard || !control->members || !control->has_given || !control->lost || !control->left ||
        !control->silent || !control->joined || !control->silent_since_ns || !control->left_after ||
        !control->linked)
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
        return banyan_fail(err, BANYAN_SYSTEM_ERROR, "cannot watch a socket: %s%s", strerror(errno),
                           banyan_socket_advice(errno));
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

banyan_status banyan_control_create(int most_ranks, int timeout_ms, const banyan_address *address,
                                    int low_port, int high_port, banyan_control **out, banyan_error *err)
{
    banyan_control *control = banyan_alloc(1, sizeof *control);
    banyan_door_handler door = {control, banyan_control_ask_at_door, banyan_control_take_at_door};
    banyan_status status;

    *out = NULL;
    if (!control)
        return banyan_fail_memory(err);
    control->size = control->rank_count = most_ranks;
    control->epoll = control->wake = -1;
    control->status_door.fd = control->new_parent_fd = -1;
    control->approach.fd = control->approach.target = control->refuge = -1;
    for (int i = 0; i < MOST_ORPHANS; i++)
        control->orphans[i].fd = -1;
    banyan_control_set_fanout(control, BANYAN_CONTROL_FANOUT);
    control->outbox_end = &control->outbox;
    control->joiners_end = &control->joiners;
    control->joiner_event = -1;
    init_lock(control);
    status = fill_arrays(control, err);
    if (!status)
        status = banyan_listener_create(address, low_port, high_port, &control->secret, timeout_ms, &door,
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

banyan_status banyan_control_listen_also(banyan_control *control, const banyan_address *address, int low_port,
                                         int high_port, banyan_address *bound, banyan_error *err)
{
    banyan_status status = banyan_listener_add(control->listener, address, low_port, high_port, err);

    for (int i = 0; !status && banyan_listener_door(control->listener, i); i++)
        *bound = *banyan_listener_door(control->listener, i);
    return status;
}

void banyan_control_set_unproven(banyan_control *control, long most)
{
    banyan_listener_set_unproven(control->listener,
                                 most < BANYAN_LISTENER_UNPROVEN ? (int)most : BANYAN_LISTENER_UNPROVEN);
}

const char *banyan_control_describe_strangers(const banyan_control *control,
                                              char buffer[BANYAN_STRANGERS_TEXT])
{
    return banyan_listener_describe_strangers(control->listener, buffer);
}

void banyan_control_set_status_folder(banyan_control *control, const char *folder)
{
    snprintf(control->status_folder, sizeof control->status_folder, "%s", folder ? folder : "");
}

/* A group works without: where no door can be made, nobody can ask. */
static void open_status(banyan_control *control)
{
    if (*control->status_folder && !banyan_status_open(&control->status_door, control->status_folder,
                                                       &control->secret, control->rank, NULL))
        banyan_control_watch_status(control, 1);
}

void banyan_control_name_relays(banyan_control *control, int rank_count)
{
    control->rank_count = rank_count;
}

void banyan_control_set_fanout(banyan_control *control, int fanout)
{
    control->fanout = fanout;
    control->most_connections = ROOM_FACTOR * fanout < BANYAN_CONTROL_MOST_CONNECTIONS
                                    ? ROOM_FACTOR * fanout
                                    : BANYAN_CONTROL_MOST_CONNECTIONS;
}

static banyan_status dial_parent(banyan_control *control, int is_again, int64_t deadline_ns, int *fd,
                                 banyan_error *err)
{
    banyan_hello hello = {BANYAN_PROTOCOL, BANYAN_HELLO_CONTROL, control->rank, control->size, 0, 1};
    const banyan_card *card = &control->cards[control->parent];
    char other[160], text[BANYAN_ADDRESS_TEXT];

    snprintf(other, sizeof other, "rank %d on %.64s at %s", control->parent, card->host,
             banyan_address_format(&card->address, text));
    return is_again ? banyan_dial_again(&card->address, &control->secret, &hello, other, deadline_ns, fd, err)
                    : banyan_dial(&card->address, &control->secret, &hello, other, deadline_ns, fd, err);
}

/* The connection ended before all had joined, or was not made yet. With the lock held, which is open while we
 * dial. */
static void return_to_parent(banyan_control *control, int64_t deadline_ns)
{
    banyan_status status;
    int fd = -1;

    control->is_parent_away = 0;
    pthread_mutex_unlock(&control->lock);
    status = dial_parent(control, 1, deadline_ns, &fd, NULL);
    pthread_mutex_lock(&control->lock);
    control->is_parent_gone = status != BANYAN_SUCCESS;
    control->new_parent_fd = fd;
    wake(control);
}

/* Who has not come: at the root whoever was not heard of, elsewhere whom we wait for. With the lock held. */
static void find_missing(const banyan_control *control, char *is_missing)
{
    for (int i = 1; i < control->size && control->rank == 0; i++)
        is_missing[i] = !control->joined[i] && !control->is_heard[i];
    if (control->rank != 0)
        is_missing[control->is_parent_gone ? control->parent : 0] = 1;
}

static banyan_status wait_until_ready(banyan_control *control, int64_t deadline_ns, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;
    char *is_missing = banyan_alloc((size_t)control->size, 1), ranks[160], strangers[BANYAN_STRANGERS_TEXT];
    int is_late = 0;

    if (!is_missing)
        return banyan_fail_memory(err);
    pthread_mutex_lock(&control->lock);
    while (!control->is_ready && !control->status && !is_late)
        if (control->is_parent_away)
            return_to_parent(control, deadline_ns);
        else
            is_late = !wait_for_change(control, deadline_ns);
    /* All were there: what has happened since is for the first call to say. */
    if (control->status && !control->is_ready)
        status = banyan_fail(err, control->status, "%s", control->reason.text);
    find_missing(control, is_missing);
    if (!status && !control->is_ready) {
        status = banyan_fail(err, BANYAN_TIMEOUT, "rank %d waited %d ms for rank %s to join%s", control->rank,
                             control->timeout_ms,
                             banyan_ranks_format(is_missing, control->size, ranks, sizeof ranks),
                             banyan_listener_describe_strangers(control->listener, strangers));
    }
    pthread_mutex_unlock(&control->lock);
    banyan_free(is_missing);
    if (is_late && status == BANYAN_TIMEOUT && control->rank == 0)
        banyan_control_abort(control, status, err ? err->text : "a rank did not join");
    return status;
}

static void begin(banyan_control *control, int rank, int size, const banyan_card *cards,
                  const banyan_secret *secret, int timeout_ms, const banyan_control_handler *handler)
{
    control->rank = rank;
    control->size = size;
    control->parent = banyan_tree_parent(control->fanout, rank);
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
    control->parent_ended_ns = control->awake_ns = banyan_clock_ns();
}

/* The root's children find it before they start; all others start at once, since ranks below them and, where
 * their parent does not come, the root's words need their thread. */
banyan_status banyan_control_start(banyan_control *control, int rank, int size, const banyan_card *cards,
                                   const banyan_secret *secret, int timeout_ms,
                                   const banyan_control_handler *handler, banyan_error *err)
{
    int64_t deadline_ns = banyan_clock_ns() + (int64_t)timeout_ms * 1000000;
    banyan_status status = BANYAN_SUCCESS;
    int fd = -1, error;

    begin(control, rank, size, cards, secret, timeout_ms, handler);
    open_status(control);
    control->is_parent_away = control->parent > 0;
    if (control->parent == 0)
        status = dial_parent(control, 0, deadline_ns, &fd, err);
    if (fd >= 0)
        banyan_control_take_member(control, 0, fd);
    else if (control->size == 1)
        banyan_control_become_ready(control);
    error = status ? 0 : pthread_create(&control->thread, NULL, banyan_control_watch_over, control);
    if (error)
        status = banyan_fail(err, BANYAN_SYSTEM_ERROR,
                             "rank %d cannot start the thread that watches over the group: %s", rank,
                             strerror(error));
    if (status)
        return status;
    control->has_thread = 1;
    /* Rank 0 alone knows who is missing: it must have told the others before their time is over. */
    return wait_until_ready(control, deadline_ns - (rank ? 0 : (int64_t)timeout_ms * 125000), err);
}

/* Whatever was put must leave before the sockets close. */
static void say_goodbye(banyan_control *control)
{
    int64_t deadline_ns = banyan_clock_ns() + FAREWELL_NS;

    for (int i = 0; i < control->link_count; i++)
        banyan_channel_send_all(&control->members[control->linked[i]].channel,
                                banyan_clock_ns() < deadline_ns ? deadline_ns : 0, NULL);
}

void banyan_control_stop(banyan_control *control, uint64_t calls)
{
    unsigned char body[8];

    if (!control || !control->has_thread)
        return;
    banyan_put64(body, calls);
    pthread_mutex_lock(&control->lock);
    post(control, NEWS, LEFT, body, sizeof body);
    control->is_stopping = 1;
    pthread_mutex_unlock(&control->lock);
    wake(control);
    pthread_join(control->thread, NULL);
    control->has_thread = 0;
    banyan_status_close(&control->status_door);
    banyan_control_stop_climbing(control);
    banyan_control_drop_orphans(control);
    say_goodbye(control);
}

void banyan_control_destroy(banyan_control *control)
{
    if (!control)
        return;
    banyan_control_stop(control, 0);
    banyan_status_close(&control->status_door);
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
    if (control->new_parent_fd >= 0)
        close(control->new_parent_fd);
    banyan_listener_destroy(control->listener);
    banyan_control_drop_answers(control);
    if (control->epoll >= 0)
        close(control->epoll);
    if (control->wake >= 0)
        close(control->wake);
    banyan_free(control->members);
    banyan_free(control->linked);
    banyan_free(control->left_after);
    banyan_free(control->is_heard);
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
    return post_locked(control, NEWS, PLAN, body, bytes, err);
}

banyan_status banyan_control_tell(banyan_control *control, int relay, const void *body, size_t bytes,
                                  banyan_error *err)
{
    return post_locked(control, relay, CALL, body, bytes, err);
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

void banyan_control_announce_joiners(banyan_control *control, int event)
{
    uint64_t one = 1;

    pthread_mutex_lock(&control->lock);
    control->joiner_event = event;
    if (event >= 0 && control->joiners && write(event, &one, sizeof one) < 0)
        one = 0; /* the counter is full */
    pthread_mutex_unlock(&control->lock);
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
        if (!j->next)
            control->joiners_end = &control->joiners;
        fd = j->fd;
        *rank = j->rank;
        banyan_free(j);
    }
    pthread_mutex_unlock(&control->lock);
    return fd;
}
