/* SPDX-License-Identifier: Apache-2.0 */
/* group/control_links.c: the connections of a rank in the control tree: to its parent, to its children, to
 * the rank that has taken it in and to those that it has taken in. The thread's own. */
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/clock.h"
#include "group/control_internal.h"
#include "transport/bytes.h"

int banyan_control_is_linked(const banyan_control *control, int rank)
{
    return rank >= 0 && control->members[rank].channel.fd >= 0;
}

int banyan_control_is_child(const banyan_control *control, int rank)
{
    return banyan_tree_parent(control->fanout, rank) == control->rank;
}

/* Whether what we say gets to the root, as far as we know. */
int banyan_control_is_rooted(banyan_control *control)
{
    int is_rooted;

    if (control->rank == 0)
        return 1;
    pthread_mutex_lock(&control->lock);
    is_rooted = banyan_control_is_linked(control, control->parent) && !control->silent[control->parent] &&
                !control->left[control->parent] && !control->doubts_root;
    is_rooted |= control->refuge >= 0 && !control->silent[control->refuge];
    pthread_mutex_unlock(&control->lock);
    return is_rooted;
}

void banyan_control_put(banyan_control *control, int rank, int type, int about, const void *body,
                        size_t bytes)
{
    int word = (about << WORD_TYPE_BITS) | type;
    member *m;

    if (!banyan_control_is_linked(control, rank)) /* nor if there is no such rank */
        return;
    m = &control->members[rank];
    if (!m->spare) {
        /* A full channel is found by its silence. */
        m->put_count += banyan_channel_put(&m->channel, word, body, bytes, NULL) == BANYAN_SUCCESS;
        return;
    }
    /* Where one of two misses a message it is of no use any more; its end shows when it is read. */
    if (banyan_channel_put(&m->spare->channel, word, body, bytes, NULL))
        shutdown(m->spare->channel.fd, SHUT_RDWR);
    if (banyan_channel_put(&m->channel, word, body, bytes, NULL))
        shutdown(m->channel.fd, SHUT_RDWR);
    m->put_count++;
}

/* The system does not take what was put. */
int banyan_control_is_full(const banyan_control *control, int rank)
{
    const member *m = &control->members[rank];

    return m->events & EPOLLOUT && (!m->spare || m->spare->events & EPOLLOUT);
}

void banyan_control_put_children(banyan_control *control, int type, int about, const void *body, size_t bytes)
{
    for (int i = 0; i < control->link_count; i++)
        if (banyan_control_is_child(control, control->linked[i]))
            banyan_control_put(control, control->linked[i], type, about, body, bytes);
}

void banyan_control_put_above(banyan_control *control, int type, int about, const void *body, size_t bytes)
{
    banyan_control_put(control, control->parent, type, about, body, bytes);
    banyan_control_put(control, control->refuge, type, about, body, bytes);
}

void banyan_control_put_below(banyan_control *control, int but, int type, int about, const void *body,
                              size_t bytes)
{
    for (int i = 0; i < control->link_count; i++)
        if (control->linked[i] > control->rank && control->linked[i] != but)
            banyan_control_put(control, control->linked[i], type, about, body, bytes);
}

static void watch(banyan_control *control, int rank, const banyan_channel *channel, uint32_t *watched,
                  int operation)
{
    uint32_t events = banyan_channel_has_unsent(channel) ? EPOLLIN | EPOLLOUT : EPOLLIN;
    struct epoll_event event = {.events = events, .data = {.u64 = (uint64_t)rank}};

    if (operation == EPOLL_CTL_ADD || events != *watched)
        epoll_ctl(control->epoll, operation, channel->fd, &event);
    *watched = events;
}

static void close_channel(banyan_control *control, banyan_channel *channel)
{
    if (channel->fd < 0)
        return;
    epoll_ctl(control->epoll, EPOLL_CTL_DEL, channel->fd, NULL);
    control->bytes_in += channel->in_total;
    control->bytes_out += channel->out_total;
    banyan_channel_fini(channel);
}

void banyan_control_drop_spare(banyan_control *control, int rank)
{
    member *m = &control->members[rank];

    if (!m->spare)
        return;
    close_channel(control, &m->spare->channel);
    banyan_free(m->spare);
    m->spare = NULL;
}

void banyan_control_link(banyan_control *control, int rank, int fd)
{
    member *m = &control->members[rank];

    banyan_channel_init(&m->channel, fd, BANYAN_CHANNEL_LIMIT);
    m->heard_ns = banyan_clock_ns();
    m->put_count = m->heard_count = m->heard_over = 0;
    m->has_had_spare = 0;
    control->linked[control->link_count++] = rank;
    watch(control, rank, &m->channel, &m->events, EPOLL_CTL_ADD);
}

void banyan_control_unlink(banyan_control *control, int rank)
{
    member *m = &control->members[rank];

    close_channel(control, &m->channel);
    banyan_control_drop_spare(control, rank);
    for (int i = 0; i < control->link_count; i++)
        if (control->linked[i] == rank) {
            control->linked[i] = control->linked[--control->link_count];
            break;
        }
    if (control->refuge == rank)
        control->refuge = -1;
    if (control->parent == rank)
        control->parent_ended_ns = banyan_clock_ns();
}

void banyan_control_flush_links(banyan_control *control)
{
    for (int i = 0; i < control->link_count; i++) {
        /* A connection that is gone shows when it is read. */
        member *m = &control->members[control->linked[i]];

        banyan_channel_flush(&m->channel, NULL);
        watch(control, control->linked[i], &m->channel, &m->events, EPOLL_CTL_MOD);
        if (!m->spare)
            continue;
        banyan_channel_flush(&m->spare->channel, NULL);
        watch(control, control->linked[i], &m->spare->channel, &m->spare->events, EPOLL_CTL_MOD);
    }
}

void banyan_control_count_bytes(const banyan_control *control, uint64_t *in, uint64_t *out)
{
    *in = control->bytes_in;
    *out = control->bytes_out;
    for (int i = 0; i < control->link_count; i++) {
        const member *m = &control->members[control->linked[i]];

        *in += m->channel.in_total + (m->spare ? m->spare->channel.in_total : 0);
        *out += m->channel.out_total + (m->spare ? m->spare->channel.out_total : 0);
    }
}

/* Beside the connection that there is; its first message says how many went before (control_spare.c). */
void banyan_control_take_spare(banyan_control *control, int rank, int fd)
{
    member *m = &control->members[rank];
    unsigned char count[8];

    banyan_control_drop_spare(control, rank); /* its end has not been noticed here yet */
    m->has_had_spare = 1;
    m->spare = banyan_alloc(1, sizeof *m->spare);
    if (!m->spare) { /* the first one is all there is */
        close(fd);
        return;
    }
    m->spare->heard = BANYAN_SPARE_UNKNOWN;
    banyan_channel_init(&m->spare->channel, fd, BANYAN_CHANNEL_LIMIT);
    banyan_put64(count, m->put_count);
    if (banyan_channel_put(&m->spare->channel, START, count, sizeof count, NULL))
        banyan_control_drop_spare(control, rank);
    else
        watch(control, rank, &m->spare->channel, &m->spare->events, EPOLL_CTL_ADD);
}

/* Notes whether a rank below us has come, and returns whether that is new. */
static int note_joined(banyan_control *control, int rank, int is_here)
{
    int is_new;

    pthread_mutex_lock(&control->lock);
    is_new = control->joined[rank] != is_here;
    control->joined[rank] = (char)is_here;
    control->is_heard[rank] = (char)is_here;
    pthread_mutex_unlock(&control->lock);
    return is_new;
}

void banyan_control_join(banyan_control *control, int rank)
{
    if (!note_joined(control, rank, 1))
        return;
    if (control->rank != 0) {
        banyan_control_put(control, control->parent, JOINED, rank, NULL, 0);
        return;
    }
    if (++control->joined_count == control->size - 1) {
        banyan_control_put_children(control, READY, 0, NULL, 0);
        banyan_control_become_ready(control);
    }
}

void banyan_control_note_away(banyan_control *control, int rank)
{
    if (!note_joined(control, rank, 0))
        return;
    if (control->rank != 0)
        banyan_control_put(control, control->parent, AWAY, rank, NULL, 0);
    else
        control->joined_count--;
}

/* What was said over an earlier connection may not have arrived. */
static void tell_who_is_here(banyan_control *control)
{
    for (int i = control->rank + 1; i < control->size; i++)
        if (control->joined[i]) /* only this thread writes it */
            banyan_control_put(control, control->parent, JOINED, i, NULL, 0);
}

void banyan_control_take_member(banyan_control *control, int rank, int fd)
{
    if (banyan_control_is_linked(control, rank)) /* the end of that one has not been noticed here yet */
        banyan_control_unlink(control, rank);
    banyan_control_link(control, rank, fd);
    if (rank == control->parent) {
        tell_who_is_here(control);
    } else if (banyan_control_is_child(control, rank)) {
        control->members[rank].away_ns = 0;
        banyan_control_join(control, rank);
        if (control->ready_ns)
            banyan_control_put(control, rank, READY, 0, NULL, 0);
    } else {
        banyan_control_tell_all_news(control, rank);
    }
}

/* A child joins once; before all have joined, and after a connection that ended then, it may come again. */
static int may_join(const banyan_control *control, int rank)
{
    return !control->ready_ns || control->members[rank].away_ns;
}

/* Who has lost its parent is taken in by whoever has a connection to spare and a way to the root. */
static int may_take_in(banyan_control *control, int rank)
{
    return banyan_tree_level(control->fanout, control->rank) < banyan_tree_level(control->fanout, rank) &&
           !control->farewell_ns && control->link_count < control->most_connections &&
           banyan_control_is_rooted(control);
}

static int may_have_spare(const banyan_control *control, int rank)
{
    return control->ready_ns && banyan_control_is_child(control, rank) &&
           banyan_control_is_linked(control, rank) && !control->members[rank].has_had_spare;
}

banyan_status banyan_control_ask_at_listener(void *context, const banyan_hello *hello)
{
    banyan_control *control = context;
    int from = hello->from, is_welcome;

    switch (hello->purpose) {
    case BANYAN_HELLO_CONTROL:
        is_welcome = hello->size == control->size && from > control->rank && from < control->size &&
                     (hello->index                             ? may_have_spare(control, from)
                      : banyan_control_is_child(control, from) ? may_join(control, from)
                                                               : may_take_in(control, from));
        return is_welcome ? BANYAN_SUCCESS : BANYAN_INVALID_ARGUMENT;
    case BANYAN_HELLO_DATA:
        return BANYAN_SUCCESS;
    case BANYAN_HELLO_JOIN:
        return hello->size == control->size && from >= 0 && from < control->size ? BANYAN_SUCCESS
                                                                                 : BANYAN_INVALID_ARGUMENT;
    default:
        return BANYAN_INVALID_ARGUMENT;
    }
}

static void take_joiner(banyan_control *control, int rank, int fd)
{
    joiner *j = banyan_alloc(1, sizeof *j);
    uint64_t one = 1;

    if (!j) {
        close(fd);
        return;
    }
    pthread_mutex_lock(&control->lock);
    *j = (joiner){NULL, fd, rank};
    *control->joiners_end = j;
    control->joiners_end = &j->next;
    if (control->joiner_event >= 0 && write(control->joiner_event, &one, sizeof one) < 0)
        one = 0; /* the counter is full: awake already */
    pthread_cond_broadcast(&control->changed);
    pthread_mutex_unlock(&control->lock);
}

void banyan_control_take_at_listener(void *context, const banyan_hello *hello, int fd)
{
    banyan_control *control = context;

    if (hello->purpose == BANYAN_HELLO_CONTROL && hello->index && may_have_spare(control, hello->from))
        banyan_control_take_spare(control, hello->from, fd);
    else if (hello->purpose == BANYAN_HELLO_CONTROL && hello->index)
        close(fd); /* its first connection has ended meanwhile */
    else if (hello->purpose == BANYAN_HELLO_CONTROL)
        banyan_control_take_member(control, hello->from, fd);
    else if (hello->purpose == BANYAN_HELLO_JOIN)
        take_joiner(control, hello->from, fd);
    else
        control->handler.data(control->handler.context, hello, fd);
}
