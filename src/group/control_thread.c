/* SPDX-License-Identifier: Apache-2.0 */
/* group/control_thread.c: the thread that watches: what it hears from other ranks and passes on, whom it
 * misses, whom it lets in. The connections are its own; what callers ask about is under the lock. */
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/clock.h"
#include "group/control_internal.h"
#include "transport/bytes.h"

#define MAX_EVENTS 32 /* at a time */

/* A heartbeat tells what the rank is doing: calls begun 0, done 8, milliseconds since 16, its control
 * connections 20 and what they have carried, in 24 and out 32, and the call as text. */
enum { BEAT_HEAD = 40, MAX_BEAT = BEAT_HEAD + BANYAN_CALL_TEXT };

static size_t write_beat(banyan_control *control, unsigned char out[MAX_BEAT])
{
    banyan_rank_state state = {0};
    size_t length;

    if (control->handler.state)
        control->handler.state(control->handler.context, &state);
    banyan_control_count_bytes(control, &state.control_bytes_in, &state.control_bytes_out);
    length = strlen(state.call);
    banyan_put64(out, state.begun);
    banyan_put64(out + 8, state.done);
    banyan_put32(out + 16, state.since_s < 4e6 ? (uint32_t)(state.since_s * 1e3) : UINT32_MAX);
    banyan_put32(out + 20, (uint32_t)control->link_count);
    banyan_put64(out + 24, state.control_bytes_in);
    banyan_put64(out + 32, state.control_bytes_out);
    memcpy(out + BEAT_HEAD, state.call, length);
    return BEAT_HEAD + length;
}

/* At the root. What is shown to people later must be plain text. */
static void note_beat(banyan_control *control, int rank, const unsigned char *body, size_t bytes)
{
    banyan_rank_state *state = &control->members[rank].state;

    control->members[rank].told_ns = banyan_clock_ns();
    pthread_mutex_lock(&control->lock);
    control->is_heard[rank] = 1;
    pthread_mutex_unlock(&control->lock);
    if (!banyan_control_is_linked(control, rank)) {
        control->members[rank].heard_ns = control->members[rank].told_ns;
        banyan_control_set_silent(control, rank, 0);
    }
    state->begun = banyan_get64(body);
    state->done = banyan_get64(body + 8);
    state->since_s = banyan_get32(body + 16) * 1e-3;
    state->control_connections = (int)(banyan_get32(body + 20) & INT32_MAX);
    state->control_bytes_in = banyan_get64(body + 24);
    state->control_bytes_out = banyan_get64(body + 32);
    for (size_t i = BEAT_HEAD; i < bytes; i++)
        state->call[i - BEAT_HEAD] = (char)(body[i] < 0x20 || body[i] >= 0x7f ? '?' : body[i]);
    state->call[bytes - BEAT_HEAD] = 0;
}

/* Where the connection is full, heartbeats do not pile up: the next one tells more. */
static void put_beat(banyan_control *control, int to, int about, const unsigned char *body, size_t bytes)
{
    if (banyan_control_is_linked(control, to) && !banyan_control_is_full(control, to))
        banyan_control_put(control, to, BEAT, about, body, bytes);
}

static void hear_beat(banyan_control *control, int from, int about, const unsigned char *body, size_t bytes)
{
    if (from < control->rank || bytes < BEAT_HEAD || bytes >= MAX_BEAT)
        return;
    if (control->rank == 0) {
        note_beat(control, about, body, bytes);
        return;
    }
    put_beat(control, control->parent, about, body, bytes);
    put_beat(control, control->refuge, about, body, bytes);
}

static void beat(banyan_control *control)
{
    unsigned char body[MAX_BEAT];
    size_t bytes = write_beat(control, body);

    for (int i = 0; i < control->link_count; i++)
        if (control->linked[i] > control->rank)
            put_beat(control, control->linked[i], 0, NULL, 0);
    put_beat(control, control->parent, control->rank, body, bytes);
    put_beat(control, control->refuge, control->rank, body, bytes);
}

/* To the relay, or on to the child that leads to it. */
static void pass_call(banyan_control *control, int to, const void *body, size_t bytes)
{
    if (to == control->rank)
        control->handler.call(control->handler.context, body, bytes);
    else
        banyan_control_put(control, banyan_tree_child_toward(control->fanout, control->rank, to), CALL, to,
                           body, bytes);
}

/* From our parent. */
static int hear_order(banyan_control *control, int type, int about, const unsigned char *body, size_t bytes)
{
    if (type == READY || type == PLAN || type == GATHERED)
        banyan_control_put_children(control, type, about, body, bytes);
    if (type == READY)
        banyan_control_become_ready(control);
    else if (type == PLAN)
        control->handler.plan(control->handler.context, body, bytes);
    else if (type == GATHERED)
        banyan_control_finish_gather(control, body, bytes);
    else if (type == CALL)
        pass_call(control, about, body, bytes);
    else
        return 0;
    return 1;
}

/* From a child, about itself or a rank below it. */
static int hear_request(banyan_control *control, int from, int type, int about, const unsigned char *body,
                        size_t bytes)
{
    if (banyan_tree_child_toward(control->fanout, control->rank, about) != from)
        return 0;
    if (type == JOINED)
        banyan_control_join(control, about);
    else if (type == AWAY)
        banyan_control_note_away(control, about);
    else if (type != WANT && type != GATHER)
        return 0;
    else if (control->rank != 0)
        banyan_control_put(control, control->parent, type, about, body, bytes);
    else if (type == WANT)
        control->handler.want(control->handler.context, about, body, bytes);
    else
        banyan_control_collect(control, about, body, bytes);
    return 1;
}

int banyan_control_hear(banyan_control *control, int from, uint32_t word, const unsigned char *body,
                        size_t bytes)
{
    int type = (int)(word & ((1u << WORD_TYPE_BITS) - 1)), about = (int)(word >> WORD_TYPE_BITS);

    if (about >= control->size)
        return 0;
    if (type == BEAT)
        hear_beat(control, from, about, body, bytes);
    else if (type == ABORT)
        banyan_control_hear_abort(control, from, body, bytes);
    else if (type == LEFT)
        banyan_control_hear_left(control, from, about, body, bytes);
    else if (type == SILENT)
        banyan_control_hear_silent(control, from, about, body, bytes);
    else if (type == MOVED && from > control->rank)
        banyan_control_unlink(control, from);
    else if (from == control->parent)
        return hear_order(control, type, about, body, bytes);
    else if (banyan_control_is_child(control, from))
        return hear_request(control, from, type, about, body, bytes);
    else
        return 0;
    return 1;
}

static void serve_member(banyan_control *control, int rank)
{
    member *m = &control->members[rank];
    const unsigned char *body;
    size_t bytes;
    int word;
    banyan_error why = {""};
    banyan_status status = banyan_control_fill(control, rank, &why);

    m->heard_ns = banyan_clock_ns();
    banyan_control_set_silent(control, rank, 0);
    while (banyan_control_next(control, rank, &word, &body, &bytes))
        if (!banyan_control_hear(control, rank, (uint32_t)word, body, bytes) && !status)
            status = banyan_fail(&why, BANYAN_REMOTE_ERROR, "a message of type %d",
                                 word & ((1 << WORD_TYPE_BITS) - 1));
    if (status == BANYAN_PEER_LOST && banyan_control_go_on_with_spare(control, rank))
        status = BANYAN_SUCCESS;
    if (m->is_spare_over)
        banyan_control_drop_spare(control, rank);
    if (rank == control->refuge && !status)
        banyan_control_trust_refuge(control);
    if (status && banyan_control_is_linked(control, rank))
        banyan_control_lose_member(control, rank, status, why.text);
}

static void deliver(banyan_control *control, const letter *l)
{
    if (l->type == ABORT && control->rank != 0) {
        banyan_control_put_above(control, ABORT, 0, l->body, l->bytes);
    } else if (l->type == ABORT) {
        control->has_verdict = 1;
        banyan_control_put_below(control, -1, ABORT, 0, l->body, l->bytes);
    } else if (l->type == LEFT) {
        control->left_after[control->rank] = banyan_get64(l->body);
        banyan_control_put_above(control, LEFT, control->rank, l->body, l->bytes);
    } else if (l->type == PLAN) {
        banyan_control_put_children(control, PLAN, 0, l->body, l->bytes);
    } else if (l->type == CALL) {
        pass_call(control, l->to, l->body, l->bytes);
    } else if (control->rank == 0) {
        banyan_control_collect(control, 0, l->body, l->bytes);
    } else {
        banyan_control_put(control, control->parent, l->type, control->rank, l->body, l->bytes);
    }
}

/* Before all have joined, callers connect to the parent; what came of it. */
static void take_parent(banyan_control *control, int fd, int is_gone)
{
    if (fd >= 0)
        banyan_control_take_member(control, control->parent, fd);
    else if (is_gone && control->parent == 0 && !control->has_verdict)
        banyan_control_lose_root(control);
}

/* Returns whether this rank leaves. */
static int empty_outbox(banyan_control *control)
{
    letter *l, *next;
    uint64_t rings;
    int is_stopping, parent_fd, is_parent_gone;

    if (read(control->wake, &rings, sizeof rings) < 0)
        rings = 0;
    pthread_mutex_lock(&control->lock);
    l = control->outbox;
    control->outbox = NULL;
    control->outbox_end = &control->outbox;
    is_stopping = control->is_stopping;
    parent_fd = control->new_parent_fd;
    control->new_parent_fd = -1;
    is_parent_gone = control->is_parent_gone;
    pthread_mutex_unlock(&control->lock);
    take_parent(control, parent_fd, is_parent_gone);
    for (; l; l = next) {
        next = l->next;
        deliver(control, l);
        banyan_free(l);
    }
    return is_stopping;
}

/* Those below us stay in touch with the root through us until they have found a refuge, or have heard from it
 * why the group is over; but not for ever. */
static int may_go(banyan_control *control, int64_t now_ns)
{
    int has_below = 0, is_over;

    if (!control->farewell_ns)
        control->farewell_ns = now_ns + FAREWELL_NS;
    for (int i = 0; i < control->link_count; i++)
        has_below |= control->linked[i] > control->rank;
    pthread_mutex_lock(&control->lock);
    is_over = control->left[0] ||
              (control->status ? control->has_verdict && control->has_goodbye_returned : !control->is_ready);
    pthread_mutex_unlock(&control->lock);
    return !has_below || is_over || control->rank == 0 || now_ns >= control->farewell_ns ||
           !banyan_control_is_rooted(control);
}

/* Who has not made its connection again for as long as a rank may be silent. */
static void give_up_away(banyan_control *control, int64_t now_ns)
{
    int first = banyan_tree_first_child(control->fanout, control->rank);
    int count = banyan_tree_child_count(control->fanout, control->size, control->rank);

    for (int i = first; i < first + count; i++)
        if (control->members[i].away_ns &&
            now_ns - control->members[i].away_ns > SILENT_BEATS * control->beat_ns) {
            control->members[i].away_ns = 0;
            banyan_control_name_lost(control, i, BANYAN_PEER_LOST,
                                     "the connection to it ended before all had joined");
        }
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int wait_ms(const banyan_control *control, int64_t now_ns, int64_t next_beat_ns)
{
    int64_t until_ns = earlier(next_beat_ns, banyan_listener_deadline_ns(control->listener));

    until_ns = earlier(until_ns, banyan_control_climb_deadline_ns(control));
    if (control->suspicion.until_ns)
        until_ns = earlier(until_ns, control->suspicion.until_ns);
    if (control->farewell_ns)
        until_ns = earlier(until_ns, control->farewell_ns);
    return until_ns <= now_ns ? 0 : (int)((until_ns - now_ns) / 1000000 + 1);
}

/* How long this thread could not look: its process was stopped, or the machine is crowded. */
static void note_pause(banyan_control *control, int64_t now_ns)
{
    pthread_mutex_lock(&control->lock);
    if (now_ns - control->awake_ns > SILENT_BEATS * control->beat_ns) {
        control->paused_ns = now_ns - control->awake_ns;
        control->pause_ended_ns = now_ns;
    }
    control->awake_ns = now_ns;
    pthread_mutex_unlock(&control->lock);
}

static void serve(banyan_control *control, const struct epoll_event *events, int count)
{
    for (int i = 0; i < count; i++)
        if (events[i].data.u64 < (uint64_t)control->size &&
            banyan_control_is_linked(control, (int)events[i].data.u64))
            serve_member(control, (int)events[i].data.u64);
    for (int i = 0; i < count; i++)
        if (events[i].data.u64 == KEY_STATUS)
            banyan_control_answer_status(control);
        else if (events[i].data.u64 == KEY_ANSWER)
            banyan_control_go_on_answering(control);
        else if (events[i].data.u64 == KEY_REFUGE)
            banyan_control_go_on_climbing(control);
        else if (events[i].data.u64 == KEY_SPARE)
            banyan_control_go_on_sparing(control);
        else if (events[i].data.u64 == KEY_ORPHAN)
            banyan_control_hear_of_orphans(control);
}

/* Who is missed is found after all that has come was heard: a thread that comes late itself has not listened
 * meanwhile. */
void *banyan_control_watch_over(void *argument)
{
    banyan_control *control = argument;
    int64_t next_beat_ns = banyan_clock_ns() + control->beat_ns;
    struct epoll_event events[MAX_EVENTS];
    int is_due = 0;

    for (;;) {
        int64_t now_ns = banyan_clock_ns();
        int count;

        if (now_ns >= next_beat_ns) {
            beat(control);
            if (control->handler.tend)
                control->handler.tend(control->handler.context);
            if (control->is_status_paused)
                banyan_control_watch_status(control, 1);
            next_beat_ns = now_ns + control->beat_ns;
            is_due = 1;
        }
        banyan_control_flush_links(control);
        count = epoll_wait(control->epoll, events, MAX_EVENTS,
                           is_due ? 0 : wait_ms(control, now_ns, next_beat_ns));
        note_pause(control, banyan_clock_ns());
        serve(control, events, count);
        if (is_due && count < MAX_EVENTS) {
            banyan_control_miss_silent(control, now_ns);
            give_up_away(control, now_ns);
            banyan_control_look_after_orphans(control, now_ns);
            is_due = 0;
        }
        now_ns = banyan_clock_ns();
        banyan_control_seek_refuge(control, now_ns);
        banyan_control_seek_spare(control, now_ns);
        banyan_control_check_suspicion(control, now_ns);
        banyan_listener_progress(control->listener);
        if (empty_outbox(control) && may_go(control, now_ns)) {
            banyan_control_leave_words(control);
            return NULL;
        }
    }
}
