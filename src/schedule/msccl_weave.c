/* SPDX-License-Identifier: Apache-2.0 */
/* schedule/msccl_weave.c: puts all sends and receives in one order, which every thread block then follows.
 *
 * A part has two events: it is sent, and it is applied where it arrives. An event may happen once what it
 * depends on has happened, its connection is at its turn, and no more than two messages are on their way over
 * the connection. Of the events that may happen we take the one with the earliest (window, round), sends
 * first. Where the part is passed on, both events become one step if both may happen; if the one cannot yet,
 * we wait with the other as long as there is anything else to do.
 *
 * Every wait of the program (in a block, for a dependency, a message or a slot) points backwards in this
 * order, so the program cannot deadlock. Cost: parts x log parts. */
#include "schedule/msccl_weave.h"

#include "core/alloc.h"
#include "schedule/msccl_loom.h"

#define IN_FLIGHT 2

typedef struct {
    int64_t turn;
    int is_apply, part;
} event;

typedef struct {
    event *events;
    size_t count, capacity;
} heap;

/* The parts that wait for a part's event. */
typedef struct {
    size_t *first;
    int *item;
} followers;

typedef struct {
    banyan_msccl_lanes *lanes;
    banyan_msccl_loom loom;
    heap ready, delayed; /* delayed: applies whose forward cannot be sent yet */
    followers sends_after_apply, applies_after_apply, applies_after_send;
    int *send_waits, *apply_waits; /* by part: how much it still waits for */
    char *is_sent, *is_applied;    /* by part */
    banyan_msccl_place *sent_at, *applied_at;
    int events_left;
    banyan_status status;
    banyan_error *err;
} weaver;

static int is_before(const event *a, const event *b)
{
    if (a->turn != b->turn)
        return a->turn < b->turn;
    if (a->is_apply != b->is_apply)
        return a->is_apply < b->is_apply;
    return a->part < b->part;
}

static void push(weaver *in, heap *to, event e)
{
    void *events = to->events;
    size_t i = to->count;

    if (in->status)
        return;
    if (!banyan_grow(&events, to->count, &to->capacity, sizeof *to->events)) {
        in->status = banyan_fail_memory(in->err);
        return;
    }
    to->events = events;
    to->count++;
    for (; i > 0 && is_before(&e, &to->events[(i - 1) / 2]); i = (i - 1) / 2)
        to->events[i] = to->events[(i - 1) / 2];
    to->events[i] = e;
}

static event pop(heap *from)
{
    event top = from->events[0], last = from->events[--from->count];
    size_t i = 0;

    for (size_t child; (child = 2 * i + 1) < from->count; i = child) {
        if (child + 1 < from->count && is_before(&from->events[child + 1], &from->events[child]))
            child++;
        if (!is_before(&from->events[child], &last))
            break;
        from->events[i] = from->events[child];
    }
    from->events[i] = last;
    return top;
}

static banyan_msccl_connection *connection_of(const weaver *in, int part)
{
    return &in->lanes->connections[in->lanes->connection[part]];
}

static int may_send(const weaver *in, int part, int still_waits)
{
    const banyan_msccl_connection *c = connection_of(in, part);

    return !in->is_sent[part] && in->send_waits[part] == still_waits &&
           in->lanes->place[part] == c->first + c->sent && c->sent - c->received < IN_FLIGHT;
}

static int may_apply(const weaver *in, int part)
{
    const banyan_msccl_connection *c = connection_of(in, part);

    return in->is_sent[part] && !in->is_applied[part] && !in->apply_waits[part] &&
           in->lanes->place[part] == c->first + c->received;
}

/* A part that is passed on is sent with the apply of the part it comes from. */
static void consider_send(weaver *in, int part)
{
    int from = in->lanes->forwards[part];

    if (from >= 0 && !in->is_applied[from] && may_apply(in, from))
        push(in, &in->ready, (event){in->lanes->turn[from], 1, from});
    else if (may_send(in, part, 0))
        push(in, &in->ready, (event){in->lanes->turn[part], 0, part});
}

static void consider_apply(weaver *in, int part)
{
    if (may_apply(in, part))
        push(in, &in->ready, (event){in->lanes->turn[part], 1, part});
}

static void consider_connection(weaver *in, const banyan_msccl_connection *c)
{
    if (c->sent < c->count)
        consider_send(in, in->lanes->queue[c->first + c->sent]);
    if (c->received < c->count)
        consider_apply(in, in->lanes->queue[c->first + c->received]);
}

static void mark_sent(weaver *in, int part, banyan_msccl_place at)
{
    const followers *after = &in->applies_after_send;

    in->is_sent[part] = 1;
    in->sent_at[part] = at;
    in->events_left--;
    connection_of(in, part)->sent++;
    for (size_t i = after->first[part]; i < after->first[part + 1]; i++)
        if (--in->apply_waits[after->item[i]] == 0)
            consider_apply(in, after->item[i]);
    consider_connection(in, connection_of(in, part));
}

static void mark_applied(weaver *in, int part, banyan_msccl_place at)
{
    const followers *sends = &in->sends_after_apply, *applies = &in->applies_after_apply;

    in->is_applied[part] = 1;
    in->applied_at[part] = at;
    in->events_left--;
    connection_of(in, part)->received++;
    for (size_t i = sends->first[part]; i < sends->first[part + 1]; i++)
        if (--in->send_waits[sends->item[i]] == 0)
            consider_send(in, sends->item[i]);
    for (size_t i = applies->first[part]; i < applies->first[part + 1]; i++)
        if (--in->apply_waits[applies->item[i]] == 0)
            consider_apply(in, applies->item[i]);
    consider_connection(in, connection_of(in, part));
}

static void want_all(weaver *in, const banyan_dependency_list *list, int part, const banyan_msccl_place *at)
{
    for (size_t i = list->first[part]; i < list->first[part + 1]; i++)
        banyan_msccl_loom_want(&in->loom, at[list->item[i]]);
}

static void do_send(weaver *in, int part)
{
    banyan_msccl_place at;

    want_all(in, &in->lanes->dependencies->send_after_apply, part, in->applied_at);
    in->status = banyan_msccl_loom_write(&in->loom, BANYAN_MSCCL_SEND, connection_of(in, part)->send_block,
                                         part, -1, &at, in->err);
    if (!in->status)
        mark_sent(in, part, at);
}

/* The apply of the part, and with it the send of the part that passes it on, where that is not -1. */
static void do_apply(weaver *in, int part, int onward)
{
    const banyan_dependencies *dependencies = in->lanes->dependencies;
    int is_reduce = in->lanes->parts->transfers[part].action == BANYAN_ACTION_REDUCE;
    banyan_msccl_type type = is_reduce ? BANYAN_MSCCL_REDUCE : BANYAN_MSCCL_RECEIVE;
    banyan_msccl_place at;

    if (onward >= 0)
        type = !is_reduce                     ? BANYAN_MSCCL_RECEIVE_SEND
               : in->lanes->needs_store[part] ? BANYAN_MSCCL_REDUCE_STORE_SEND
                                              : BANYAN_MSCCL_REDUCE_SEND;
    want_all(in, &dependencies->apply_after_apply, part, in->applied_at);
    want_all(in, &dependencies->apply_after_send, part, in->sent_at);
    in->status = banyan_msccl_loom_write(&in->loom, type, connection_of(in, part)->recv_block, part,
                                         in->sent_at[part].step, &at, in->err);
    if (in->status)
        return;
    mark_applied(in, part, at);
    if (onward >= 0)
        mark_sent(in, onward, at);
}

static void handle(weaver *in, event e, int is_delayed)
{
    int onward = in->lanes->forward[e.part];

    if (!e.is_apply) {
        if (may_send(in, e.part, 0))
            do_send(in, e.part);
        return;
    }
    if (!may_apply(in, e.part))
        return;
    if (onward < 0 || may_send(in, onward, 1)) {
        do_apply(in, e.part, onward);
    } else if (is_delayed) {
        in->lanes->forward[e.part] = in->lanes->forwards[onward] = -1;
        do_apply(in, e.part, -1);
    } else {
        push(in, &in->delayed, e);
    }
}

static void run(weaver *in)
{
    for (int p = 0; p < in->lanes->part_count; p++)
        consider_send(in, p);
    while (!in->status && (in->ready.count || in->delayed.count)) {
        int is_delayed = !in->ready.count;

        handle(in, pop(is_delayed ? &in->delayed : &in->ready), is_delayed);
    }
    if (!in->status && in->events_left) {
        in->loom.is_crowded = 1;
        in->status =
            banyan_fail(in->err, BANYAN_UNSUPPORTED,
                        "the schedule needs more than %d messages on their way over a connection", IN_FLIGHT);
    }
}

static int reverse(const banyan_dependency_list *list, int count, followers *out)
{
    size_t total = list->first[count];

    out->first = banyan_alloc((size_t)count + 2, sizeof *out->first);
    out->item = banyan_alloc(total, sizeof *out->item);
    if (!out->first || !out->item)
        return 0;
    for (size_t i = 0; i < total; i++)
        out->first[list->item[i] + 2]++;
    for (int p = 0; p < count; p++)
        out->first[p + 2] += out->first[p + 1];
    for (int p = 0; p < count; p++)
        for (size_t i = list->first[p]; i < list->first[p + 1]; i++)
            out->item[out->first[list->item[i] + 1]++] = p;
    return 1;
}

static banyan_status prepare(weaver *in)
{
    const banyan_dependencies *d = in->lanes->dependencies;
    int count = in->lanes->part_count;
    size_t n = (size_t)count;

    in->send_waits = banyan_alloc(n, sizeof *in->send_waits);
    in->apply_waits = banyan_alloc(n, sizeof *in->apply_waits);
    in->is_sent = banyan_alloc(n, 1);
    in->is_applied = banyan_alloc(n, 1);
    in->sent_at = banyan_alloc(n, sizeof *in->sent_at);
    in->applied_at = banyan_alloc(n, sizeof *in->applied_at);
    if (!in->send_waits || !in->apply_waits || !in->is_sent || !in->is_applied || !in->sent_at ||
        !in->applied_at || !reverse(&d->send_after_apply, count, &in->sends_after_apply) ||
        !reverse(&d->apply_after_apply, count, &in->applies_after_apply) ||
        !reverse(&d->apply_after_send, count, &in->applies_after_send))
        return banyan_fail_memory(in->err);
    for (int p = 0; p < count; p++) {
        in->send_waits[p] = (int)(d->send_after_apply.first[p + 1] - d->send_after_apply.first[p]);
        in->apply_waits[p] = (int)(d->apply_after_apply.first[p + 1] - d->apply_after_apply.first[p]) +
                             (int)(d->apply_after_send.first[p + 1] - d->apply_after_send.first[p]);
    }
    in->events_left = 2 * count;
    return BANYAN_SUCCESS;
}

static void finish(weaver *in)
{
    followers *lists[] = {&in->sends_after_apply, &in->applies_after_apply, &in->applies_after_send};

    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        banyan_free(lists[i]->first);
        banyan_free(lists[i]->item);
    }
    banyan_free(in->ready.events);
    banyan_free(in->delayed.events);
    banyan_free(in->send_waits);
    banyan_free(in->apply_waits);
    banyan_free(in->is_sent);
    banyan_free(in->is_applied);
    banyan_free(in->sent_at);
    banyan_free(in->applied_at);
    banyan_msccl_loom_fini(&in->loom);
}

banyan_status banyan_msccl_weave(banyan_msccl_lanes *lanes, int max_steps, banyan_msccl_program **out,
                                 int *is_crowded, banyan_error *err)
{
    weaver in = {.lanes = lanes, .err = err};

    *out = NULL;
    in.status = banyan_msccl_loom_init(&in.loom, lanes, max_steps, err);
    if (!in.status)
        in.status = prepare(&in);
    if (!in.status)
        run(&in);
    if (!in.status)
        in.status =
            banyan_msccl_assemble(lanes, in.loom.steps, in.loom.step_count, in.loom.step_counts, out, err);
    *is_crowded = in.loom.is_crowded;
    finish(&in);
    return in.status;
}
