/* SPDX-License-Identifier: Apache-2.0 */
/* group/control_life.c: a control's beginning and end: the listener and the thread, who has to come before
 * the group is ready, and goodbyes. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "bootstrap/store.h"
#include "core/alloc.h"
#include "core/clock.h"
#include "group/control_internal.h"
#include "transport/bytes.h"

/* Connections per child that a rank may hold: its own, and those of three of its children's families whose
 * parents are lost. */
#define ROOM_FACTOR 4

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
    struct epoll_event listener_event = {.events = EPOLLIN, .data = {.u64 = KEY_LISTENER}};
    int listener = banyan_listener_descriptor(control->listener);

    control->epoll = epoll_create1(EPOLL_CLOEXEC);
    control->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (control->epoll < 0 || control->wake < 0 ||
        epoll_ctl(control->epoll, EPOLL_CTL_ADD, control->wake, &wake_event) != 0 ||
        epoll_ctl(control->epoll, EPOLL_CTL_ADD, listener, &listener_event) != 0)
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
    banyan_listener_handler handler = {
        .context = control, .ask = banyan_control_ask_at_listener, .take = banyan_control_take_at_listener};
    banyan_status status;

    *out = NULL;
    if (!control)
        return banyan_fail_memory(err);
    control->size = control->rank_count = most_ranks;
    control->epoll = control->wake = -1;
    control->status_socket.fd = control->new_parent_fd = -1;
    control->approach.fd = control->approach.target = control->refuge = -1;
    control->spare_approach.fd = -1;
    for (int i = 0; i < MAX_ORPHANS; i++)
        control->orphans[i].fd = -1;
    banyan_control_set_fanout(control, BANYAN_CONTROL_FANOUT);
    control->outbox_end = &control->outbox;
    control->joiners_end = &control->joiners;
    control->joiner_event = -1;
    init_lock(control);
    status = fill_arrays(control, err);
    if (!status)
        status = banyan_listener_create(address, low_port, high_port, &control->secret, timeout_ms, &handler,
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

    for (int i = 0; !status && banyan_listener_address_of(control->listener, i); i++)
        *bound = *banyan_listener_address_of(control->listener, i);
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

/* A group works without: where the socket cannot be made, nobody can ask. */
static void open_status(banyan_control *control)
{
    if (*control->status_folder && !banyan_status_open(&control->status_socket, control->status_folder,
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
    control->most_connections = ROOM_FACTOR * fanout < BANYAN_CONTROL_MAX_CONNECTIONS
                                    ? ROOM_FACTOR * fanout
                                    : BANYAN_CONTROL_MAX_CONNECTIONS;
}

static banyan_status dial_parent(banyan_control *control, int is_again, int64_t deadline_ns, int *fd,
                                 banyan_error *err)
{
    banyan_hello hello = {BANYAN_PROTOCOL, BANYAN_HELLO_CONTROL, control->rank, control->size, 0, 1};
    const banyan_rank_record *record = &control->records[control->parent];
    char other[160], text[BANYAN_ADDRESS_TEXT];

    snprintf(other, sizeof other, "rank %d on %.64s at %s", control->parent, record->host,
             banyan_address_format(&record->address, text));
    return is_again
               ? banyan_dial_again(&record->address, &control->secret, &hello, other, deadline_ns, fd, err)
               : banyan_dial(&record->address, &control->secret, &hello, other, deadline_ns, fd, err);
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
    banyan_control_wake(control);
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
            is_late = !banyan_control_wait_for_change(control, deadline_ns);
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

static void begin(banyan_control *control, int rank, int size, const banyan_rank_record *records,
                  const banyan_secret *secret, int timeout_ms, const banyan_control_handler *handler)
{
    control->rank = rank;
    control->size = size;
    control->parent = banyan_tree_parent(control->fanout, rank);
    control->records = records;
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
banyan_status banyan_control_start(banyan_control *control, int rank, int size,
                                   const banyan_rank_record *records, const banyan_secret *secret,
                                   int timeout_ms, const banyan_control_handler *handler, banyan_error *err)
{
    int64_t deadline_ns = banyan_clock_ns() + (int64_t)timeout_ms * 1000000;
    banyan_status status = BANYAN_SUCCESS;
    int fd = -1, error;

    begin(control, rank, size, records, secret, timeout_ms, handler);
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

    for (int i = 0; i < control->link_count; i++) {
        member *m = &control->members[control->linked[i]];

        if (m->spare)
            banyan_channel_send_all(&m->spare->channel, banyan_clock_ns() < deadline_ns ? deadline_ns : 0,
                                    NULL);
        banyan_channel_send_all(&m->channel, banyan_clock_ns() < deadline_ns ? deadline_ns : 0, NULL);
    }
}

void banyan_control_stop(banyan_control *control, uint64_t calls)
{
    unsigned char body[8];

    if (!control || !control->has_thread)
        return;
    banyan_put64(body, calls);
    pthread_mutex_lock(&control->lock);
    banyan_control_post(control, NEWS, LEFT, body, sizeof body);
    control->is_stopping = 1;
    pthread_mutex_unlock(&control->lock);
    banyan_control_wake(control);
    pthread_join(control->thread, NULL);
    control->has_thread = 0;
    banyan_status_close(&control->status_socket);
    banyan_control_stop_climbing(control);
    banyan_control_stop_sparing(control);
    banyan_control_drop_orphans(control);
    say_goodbye(control);
}

void banyan_control_destroy(banyan_control *control)
{
    if (!control)
        return;
    banyan_control_stop(control, 0);
    banyan_status_close(&control->status_socket);
    for (int i = 0; control->members && i < control->size; i++) {
        banyan_channel_fini(&control->members[i].channel);
        banyan_control_drop_spare(control, i);
    }
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
