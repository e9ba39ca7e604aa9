/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/engine.c: the life of a message.
 *
 *     wait for its elements -> overhead -> flow over the links -> latency -> wait for its turn -> add -> done
 *          (want to send)      (leaves)    (simulate/flows)      (arrives)    (want to apply)   (added)
 *
 * Whoever has to wait hangs itself into a list of the transfer it waits for, one at a time, and is looked at
 * again when that one has moved on. Events that are as good as simultaneous are handled together, each at its
 * own time, before rates are computed once: symmetric schedules stay symmetric in spite of rounding. There
 * are counters for messages, never objects. Cost: O(log) a message, and what sharing takes. */
#include "simulate/engine.h"

#include <math.h>

#include "core/alloc.h"

_Static_assert(sizeof(banyan_transfer_state) == 64, "a line of the cache");

#define SIMULTANEOUS 1e-12 /* relative to the time since the beginning */

/* The window, in times of the shortest message, and the steps a message that open and close it. */
#define NARROWEST 0.01
#define WIDEST 1.0
#define COSTLY_UPDATES 100
#define CHEAP 25
#define CROWD_SAMPLE 4096

enum { SEND, APPLY };                     /* what one waits to do */
enum { LEAVES, IS_SENT, ARRIVES, ADDED }; /* what happens at a time */

static void at(banyan_fluid_engine *e, double time_s, int transfer, int kind)
{
    if (!banyan_events_push(&e->events, (banyan_event){time_s, transfer, kind}))
        e->is_out_of_memory = 1;
}

static int *next_of(banyan_fluid_engine *e, int waiter)
{
    return &e->transfers[waiter / 2].next[waiter % 2];
}

static void look_again(banyan_fluid_engine *e, int waiter)
{
    *next_of(e, waiter) = -1;
    if (e->ready_last >= 0)
        *next_of(e, e->ready_last) = waiter;
    else
        e->ready_first = waiter;
    e->ready_last = waiter;
}

static void wake(banyan_fluid_engine *e, int *list)
{
    int waiter = *list;

    *list = -1;
    while (waiter >= 0) {
        int next = *next_of(e, waiter);

        look_again(e, waiter);
        waiter = next;
    }
}

static void wait_in(banyan_fluid_engine *e, int *list, int waiter)
{
    *next_of(e, waiter) = *list;
    *list = waiter;
}

/* Whether a transfer must wait for an earlier one, for its message k: most often both are cut at the same
 * places. */
static inline int is_short(const banyan_fluid_engine *e, int transfer, int k, int before, int have)
{
    if (e->transfers[transfer].is_aligned)
        return have <= k;
    return have < e->transfers[before].count &&
           have < banyan_slices_needed(e->schedule, e->slices, transfer, k, before);
}

/* Hangs the waiter up if one of these transfers has not yet applied (or sent) what message k needs. */
static inline int must_wait(banyan_fluid_engine *e, banyan_before part, int waiter, int k)
{
    int transfer = waiter / 2, until_sent = part == BANYAN_SENT_BEFORE_APPLY;
    const int *end = e->before + e->transfers[transfer].before[part + 1];

    for (const int *before = e->before + e->transfers[transfer].before[part]; before < end; before++) {
        banyan_transfer_state *u = &e->transfers[*before];

        if (is_short(e, transfer, k, *before, until_sent ? u->sent : u->applied)) {
            wait_in(e, until_sent ? &u->waits_for_sent : &u->waits_for_applied, waiter);
            return 1;
        }
    }
    return 0;
}

/* The part of its flow that will have been sent over the path after the transfer's next message. */
static double turn_of(const banyan_fluid_engine *e, int transfer)
{
    const banyan_turn *turn = &e->turns[transfer];

    return turn->before + turn->part * (e->transfers[transfer].sent + 1) / e->transfers[transfer].count;
}

/* The next message goes to its path. */
static void leave(banyan_fluid_engine *e, int transfer)
{
    const banyan_transfer_state *t = &e->transfers[transfer];

    if (t->sent == 0)
        e->timeline->begin_s[transfer] = e->now_s;
    if (t->is_carried)
        banyan_fluid_flows_start(e->flows, transfer, t->bytes, e->turns ? turn_of(e, transfer) : 0, e->now_s);
    else
        at(e, e->now_s, transfer, IS_SENT);
}

static void try_to_send(banyan_fluid_engine *e, int transfer)
{
    int k = e->transfers[transfer].sent;

    if (k == e->transfers[transfer].count || must_wait(e, BANYAN_BEFORE_SEND, 2 * transfer + SEND, k))
        return;
    if (e->options->overhead_s > 0)
        at(e, e->now_s + e->options->overhead_s, transfer, LEAVES);
    else
        leave(e, transfer);
}

static void is_sent(banyan_fluid_engine *e, int transfer)
{
    banyan_transfer_state *t = &e->transfers[transfer];
    banyan_path_state *path = &e->path[t->path];

    if (t->sent++ == 0 && t->is_carried)
        e->timeline->begin_s[transfer] = banyan_fluid_flows_began_s(e->flows, transfer);
    path->bytes += t->bytes;
    at(e, e->now_s + path->latency_s, transfer, ARRIVES);
    wake(e, &t->waits_for_sent);
    try_to_send(e, transfer);
}

/* Whether the transfer has to wait for all before it: at every round in lockstep, else at the barrier. */
static int begins_anew(const banyan_fluid_engine *e, size_t transfer)
{
    const banyan_transfer *t = &e->schedule->transfers[transfer];
    int is_new = t->round != t[-1].round;

    return is_new &&
           (e->options->lockstep || (t->round >= e->schedule->barrier && t[-1].round < e->schedule->barrier));
}

static void release_round(banyan_fluid_engine *e)
{
    const banyan_schedule *schedule = e->schedule;
    size_t begin = e->round_end, end = begin;

    while (end < schedule->transfer_count && (end == begin || !begins_anew(e, end)))
        end++;
    e->round_end = end;
    e->round_left = end - begin;
    for (size_t i = begin; i < end; i++)
        look_again(e, 2 * (int)i + SEND);
}

static void added(banyan_fluid_engine *e, int transfer)
{
    banyan_transfer_state *t = &e->transfers[transfer];

    t->is_applying = 0;
    t->applied++;
    e->applied_count++;
    if (e->options->progress && e->applied_count % 65536 == 0)
        e->options->progress(e->options->context, e->applied_count, e->message_count);
    wake(e, &t->waits_for_applied);
    if (t->applied < t->arrived) {
        t->is_applying = 1;
        look_again(e, 2 * transfer + APPLY);
    }
    if (t->applied < t->count)
        return;
    e->timeline->end_s[transfer] = e->now_s;
    e->timeline->total_s = fmax(e->timeline->total_s, e->now_s);
    if (--e->round_left == 0)
        release_round(e);
}

static int takes_time_to_add(const banyan_fluid_engine *e, const banyan_transfer *t)
{
    return t->action == BANYAN_ACTION_REDUCE && e->options->reduce_bytes_per_s > 0 &&
           e->topology->nodes[t->dst].kind == BANYAN_NODE_WORKER;
}

static void try_to_apply(banyan_fluid_engine *e, int transfer)
{
    int k = e->transfers[transfer].applied;

    if (must_wait(e, BANYAN_BEFORE_APPLY, 2 * transfer + APPLY, k) ||
        must_wait(e, BANYAN_SENT_BEFORE_APPLY, 2 * transfer + APPLY, k))
        return;
    if (e->transfers[transfer].is_added) {
        double *free_s = &e->adder_free_s[e->schedule->transfers[transfer].dst];

        *free_s = fmax(*free_s, e->now_s) + e->transfers[transfer].bytes / e->options->reduce_bytes_per_s;
        at(e, *free_s, transfer, ADDED);
    } else {
        added(e, transfer);
    }
}

static void arrive(banyan_fluid_engine *e, int transfer)
{
    e->transfers[transfer].arrived++;
    if (!e->transfers[transfer].is_applying) {
        e->transfers[transfer].is_applying = 1;
        try_to_apply(e, transfer);
    }
}

static void serve_ready(banyan_fluid_engine *e)
{
    while (e->ready_first >= 0) {
        int waiter = e->ready_first;

        e->ready_first = *next_of(e, waiter);
        if (e->ready_first < 0)
            e->ready_last = -1;
        if (waiter % 2 == SEND)
            try_to_send(e, waiter / 2);
        else
            try_to_apply(e, waiter / 2);
    }
}

static void happen(banyan_fluid_engine *e, banyan_event event)
{
    switch (event.kind) {
    case LEAVES:
        leave(e, event.transfer);
        break;
    case IS_SENT:
        is_sent(e, event.transfer);
        break;
    case ARRIVES:
        arrive(e, event.transfer);
        break;
    default:
        added(e, event.transfer);
        break;
    }
}

static size_t work_of(const banyan_fluid_engine *e)
{
    return e->applied_count + banyan_sharing_work(banyan_fluid_flows_sharing(e->flows));
}

/* Where every message disturbs a crowd of others, rates are computed for many ends of messages at once: the
 * window in which events count as simultaneous opens as long as messages cost too much, and closes again. A
 * message in a crowd takes many times the shortest message's time, so little is lost. */
static void adjust_window(banyan_fluid_engine *e)
{
    size_t messages = e->applied_count - e->seen_count, work;

    if (messages < CROWD_SAMPLE)
        return;
    work = work_of(e) - e->seen_work;
    if (work > COSTLY_UPDATES * messages)
        e->window_s = fmin(fmax(2 * e->window_s, NARROWEST * e->shortest_s), WIDEST * e->shortest_s);
    else if (work < CHEAP * messages)
        e->window_s = e->window_s > NARROWEST * e->shortest_s ? e->window_s / 2 : 0;
    e->seen_count = e->applied_count;
    e->seen_work = work_of(e);
}

/* Everything that happens at the next moment; 0: nothing is left to happen. */
static int advance(banyan_fluid_engine *e)
{
    double last_s = -1;

    for (;;) {
        double flow_s = banyan_fluid_flows_next_s(e->flows);
        const banyan_event *event = banyan_events_next(&e->events);
        int is_flow = !event || flow_s <= event->time_s;
        double now_s = is_flow ? flow_s : event->time_s, near_s = SIMULTANEOUS * now_s;

        if (now_s == HUGE_VAL && last_s < 0)
            return 0;
        if (last_s < 0)
            last_s = now_s + (near_s > e->window_s ? near_s : e->window_s);
        if (now_s > last_s || e->is_out_of_memory)
            break;
        e->now_s = now_s;
        if (is_flow)
            is_sent(e, banyan_fluid_flows_finish(e->flows));
        else
            happen(e, banyan_events_pop(&e->events, event));
        serve_ready(e);
    }
    banyan_fluid_flows_solve(e->flows, e->now_s);
    adjust_window(e);
    return 1;
}

/* Seconds that the quickest message takes if it has its links for itself. */
static double shortest_message(const banyan_fluid_engine *e)
{
    double shortest_s = HUGE_VAL;

    for (size_t i = 0; i < e->schedule->transfer_count; i++) {
        int path = e->paths->path_of[i];
        double s_per_byte = 0;

        for (int j = e->paths->first[path]; j < e->paths->first[path + 1]; j++)
            s_per_byte = fmax(s_per_byte, 1 / e->topology->links[e->paths->link[j]].bytes_per_s);
        shortest_s = fmin(shortest_s, s_per_byte * e->slices[i].bytes);
    }
    return e->schedule->transfer_count ? shortest_s : 0;
}

static int is_in_turn(const banyan_fluid_engine *e)
{
    return e->options->service != BANYAN_SERVICE_SHARED;
}

static int is_cut_alike(const banyan_fluid_engine *e, const banyan_dependency_list *on, size_t transfer)
{
    const banyan_transfer *t = &e->schedule->transfers[transfer];

    for (size_t i = on->first[transfer]; i < on->first[transfer + 1]; i++) {
        const banyan_transfer *u = &e->schedule->transfers[on->item[i]];

        if (t->first_piece != u->first_piece || t->piece_count != u->piece_count)
            return 0;
    }
    return 1;
}

static const banyan_dependency_list *list_of(const banyan_fluid_engine *e, int part)
{
    const banyan_dependency_list *lists[] = {[BANYAN_BEFORE_SEND] = &e->dependencies->send_after_apply,
                                             [BANYAN_BEFORE_APPLY] = &e->dependencies->apply_after_apply,
                                             [BANYAN_SENT_BEFORE_APPLY] = &e->dependencies->apply_after_send};

    return lists[part];
}

/* Copies what a transfer waits for, from a place of the engine's list on; returns the place behind it. */
static size_t init_before(const banyan_fluid_engine *e, size_t transfer, size_t place)
{
    banyan_transfer_state *t = &e->transfers[transfer];

    for (int part = 0; part < BANYAN_BEFORE_ALL; part++) {
        const banyan_dependency_list *on = list_of(e, part);

        t->before[part] = (uint32_t)place;
        for (size_t i = on->first[transfer]; i < on->first[transfer + 1]; i++)
            e->before[place++] = on->item[i];
    }
    t->before[BANYAN_BEFORE_ALL] = (uint32_t)place;
    return place;
}

static void init_transfer(const banyan_fluid_engine *e, size_t transfer)
{
    const banyan_slices *slices = &e->slices[transfer];
    int path = e->paths->path_of[transfer];

    e->transfers[transfer] = (banyan_transfer_state){
        .bytes = slices->bytes,
        .count = slices->count,
        .path = path,
        .waits_for_sent = -1,
        .waits_for_applied = -1,
        .is_added = takes_time_to_add(e, &e->schedule->transfers[transfer]) != 0,
        .is_carried = slices->bytes > 0 && e->paths->first[path] < e->paths->first[path + 1],
        .is_aligned = is_cut_alike(e, &e->dependencies->send_after_apply, transfer) &&
                      is_cut_alike(e, &e->dependencies->apply_after_apply, transfer) &&
                      is_cut_alike(e, &e->dependencies->apply_after_send, transfer)};
}

/* Where the first line of the cache begins in memory that has room for one more transfer than is needed. */
static banyan_transfer_state *align(void *memory)
{
    size_t line = sizeof(banyan_transfer_state), offset = (uintptr_t)memory % line;

    return (banyan_transfer_state *)(void *)((char *)memory + (offset ? line - offset : 0));
}

banyan_status banyan_fluid_engine_init(banyan_fluid_engine *e, banyan_error *err)
{
    const banyan_schedule *schedule = e->schedule;
    const banyan_paths *paths = e->paths;
    size_t befores = 0;
    banyan_status status;

    e->ready_first = e->ready_last = -1;
    for (int part = 0; part < BANYAN_BEFORE_ALL; part++)
        befores += list_of(e, part)->first[schedule->transfer_count];
    if (befores > UINT32_MAX)
        return banyan_fail(err, BANYAN_UNSUPPORTED,
                           "transfers wait for %zu others, more than the 2^32 we can follow", befores);
    e->before = banyan_alloc(befores, sizeof *e->before);
    e->transfer_memory = banyan_alloc(schedule->transfer_count + 1, sizeof *e->transfers);
    e->path = banyan_alloc((size_t)paths->path_count, sizeof *e->path);
    e->adder_free_s = banyan_alloc((size_t)e->topology->node_count, sizeof *e->adder_free_s);
    if (!e->before || !e->transfer_memory || !e->path || !e->adder_free_s)
        return banyan_fail_memory(err);
    e->transfers = align(e->transfer_memory);
    for (size_t i = 0, place = 0; i < schedule->transfer_count; i++) {
        init_transfer(e, i);
        place = init_before(e, i, place);
    }
    for (int p = 0; p < paths->path_count; p++)
        for (int i = paths->first[p]; i < paths->first[p + 1]; i++)
            e->path[p].latency_s += e->topology->links[paths->link[i]].latency_s;
    e->shortest_s = shortest_message(e);
    status = banyan_timeline_create(schedule->transfer_count, &e->timeline, err);
    if (!status && is_in_turn(e))
        status = banyan_turns_find(schedule, paths, &e->turns, err);
    if (!status)
        status = banyan_fluid_flows_create(e->topology, paths, schedule->transfer_count, e->turns != NULL,
                                           &e->flows, err);
    return status;
}

banyan_status banyan_fluid_engine_run(banyan_fluid_engine *e, banyan_error *err)
{
    release_round(e);
    serve_ready(e);
    banyan_fluid_flows_solve(e->flows, 0);
    while (!e->is_out_of_memory && advance(e))
        if (e->options->work_limit && work_of(e) > e->options->work_limit)
            return banyan_fail(err, BANYAN_UNSUPPORTED,
                               "the fluid simulation takes more than the %zu steps that were allowed",
                               e->options->work_limit);
    if (e->is_out_of_memory)
        return banyan_fail_memory(err);
    if (e->applied_count != e->message_count)
        return banyan_fail(err, BANYAN_INTERNAL_ERROR, "%zu of %zu messages wait for one another for ever",
                           e->message_count - e->applied_count, e->message_count);
    return BANYAN_SUCCESS;
}

void banyan_fluid_engine_fini(banyan_fluid_engine *e)
{
    banyan_fluid_flows_destroy(e->flows);
    banyan_events_fini(&e->events);
    banyan_timeline_destroy(e->timeline);
    banyan_free(e->transfer_memory);
    banyan_free(e->before);
    banyan_free(e->turns);
    banyan_free(e->path);
    banyan_free(e->adder_free_s);
}
