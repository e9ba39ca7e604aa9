/* SPDX-License-Identifier: Apache-2.0 */
/* execute/run.c: the executor. Nobody waits for rounds; elements flow as soon as they may.
 *
 * An operation is a send or a receive of an interval of the buffer. It works from its first element to its
 * last, and its position says how far it has come: for a send, up to where the transport no longer needs the
 * memory; for a receive, up to where the elements are applied. An operation may go on up to the least
 * position among its unfinished predecessors, so slices follow one another through a tree, and reduce and
 * broadcast overlap. On each stream only the first unfinished operation is at work.
 *
 *        receive  [=========>......]      position 9
 *        send             [====>...]      may be offered up to element 9 while the receive goes on
 *
 * A receive that must not be applied yet, because its own cell is still to be sent (two nodes that exchange a
 * piece), may copy at most one slice into its stream's staging memory, so that the peer's send completes.
 * It does so only when nothing else moves.
 *
 * Why no run of a verified schedule stands still, with any slice size and any queue length of at least one:
 * look at single elements. C(t,e) means that element e of transfer t is consumed by its receiver (applied
 * directly or staged), A(t,e) that it is applied. Order all of them by (round of t, e, C before A, position
 * of t in the schedule). Whatever an event waits for comes before it in that order:
 *   - C(t,e) waits until e is offered, thus for A(u,e) with u in an earlier round (what changed it at the
 *     sender); for what travels before it on the stream, which is of an earlier round, or of the same round
 *     with smaller elements, because streams are sorted so and their lanes do not overlap
 *     (execute/program.h); and for a free staging element, thus for A of one of those.
 *   - A(t,e) waits for C(t,e); for A(t,e') with e' < e; for A(u,e) with u earlier in the schedule; and for
 *     C(u,e) of sends u of an earlier round or the same round (everything is read before anything changes).
 * So the least event that has not happened waits for nothing: it can happen, and the number of events is
 * finite. Calls that follow one another on the same streams only put the call's number in front, and labels
 * are an element before all others. Every wait has a deadline all the same: peers can die. */
#include "execute/run.h"

#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/clock.h"
#include "execute/average.h"
#include "execute/kernels.h"

/* How far one operation has come, in elements of the buffer. */
typedef struct {
    size_t begin, end, position;
} progress;

typedef struct {
    int head;          /* the operation that is offered or received now */
    int last;          /* one past the stream's operations */
    int unsent;        /* sends: the first operation whose memory the transport still needs */
    size_t offered;    /* sends: bytes of head that the transport has taken */
    uint64_t credited; /* sends: bytes of the stream's life that are accounted for */
    char *staging;     /* receives: made when first needed */
    size_t staged_begin, staged_end;
    size_t label_left;                  /* bytes of the label that are still to be offered or received */
    char label[BANYAN_RUN_LABEL_BYTES]; /* receives: the peer's */
} flowing;

struct banyan_runner {
    const banyan_program *program;
    banyan_endpoint *endpoint;
    const banyan_transport *transport;
    size_t slice_bytes;
    int kernel_set;
    progress *progress; /* by operation */
    flowing *flows;     /* by stream of the program */
    size_t bound_count; /* the count that progress is laid out for */
    int is_bound;
    /* of the run at hand */
    const banyan_run_request *request;
    banyan_kernel kernel;
    size_t element_bytes, slice_elements;
    int out_of_memory;
    const banyan_stream *strange; /* whose label differs from ours */
};

static banyan_status connect_peers(banyan_runner *runner, int timeout_ms, banyan_error *err)
{
    const banyan_program *program = runner->program;
    int64_t deadline_ns = banyan_clock_ns() + (int64_t)timeout_ms * 1000000;
    banyan_status status = BANYAN_SUCCESS;

    for (int i = 0; i < program->stream_count && !status; i++) {
        const banyan_stream *s = &program->streams[i];

        status = runner->transport->connect(runner->endpoint, s->peer, s->is_send ? s->number + 1 : 0,
                                            s->is_send ? 0 : s->number + 1, deadline_ns, err);
    }
    return status;
}

banyan_status banyan_runner_create(const banyan_program *program, banyan_endpoint *endpoint,
                                   size_t slice_bytes, int timeout_ms, banyan_runner **out, banyan_error *err)
{
    banyan_runner *runner = banyan_alloc(1, sizeof *runner);
    banyan_status status;

    *out = NULL;
    if (!runner)
        return banyan_fail_memory(err);
    runner->program = program;
    runner->endpoint = endpoint;
    runner->transport = endpoint->transport;
    runner->kernel_set = banyan_kernel_best_set();
    runner->slice_bytes = slice_bytes ? slice_bytes : BANYAN_DEFAULT_SLICE_BYTES;
    runner->progress = banyan_alloc((size_t)program->operation_count, sizeof *runner->progress);
    runner->flows = banyan_alloc((size_t)program->stream_count, sizeof *runner->flows);
    if (!runner->progress || !runner->flows)
        status = banyan_fail_memory(err);
    else
        status = connect_peers(runner, timeout_ms, err);
    if (status)
        banyan_runner_destroy(runner);
    else
        *out = runner;
    return status;
}

void banyan_runner_destroy(banyan_runner *runner)
{
    if (!runner)
        return;
    for (int i = 0; runner->flows && i < runner->program->stream_count; i++)
        banyan_free(runner->flows[i].staging);
    banyan_free(runner->flows);
    banyan_free(runner->progress);
    banyan_free(runner);
}

static void skip_finished(const banyan_runner *runner, int *operation, int last)
{
    while (*operation < last && runner->progress[*operation].position == runner->progress[*operation].end)
        ++*operation;
}

/* Lays the program out over count elements and puts every stream at its beginning. */
static void bind(banyan_runner *runner, size_t count)
{
    const banyan_program *program = runner->program;

    for (int i = 0; i < program->operation_count; i++) {
        const banyan_operation *o = &program->operations[i];
        progress *p = &runner->progress[i];

        if (!runner->is_bound || runner->bound_count != count)
            banyan_schedule_elements(program->schedule, count, o->first_piece, o->piece_count, &p->begin,
                                     &p->end);
        p->position = p->begin;
    }
    runner->bound_count = count;
    runner->is_bound = 1;
    for (int i = 0; i < program->stream_count; i++) {
        const banyan_stream *s = &program->streams[i];
        flowing *f = &runner->flows[i];

        *f = (flowing){.head = s->first, .last = s->first + s->count, .staging = f->staging};
        skip_finished(runner, &f->head, f->last);
        f->unsent = f->head;
        if (f->head < f->last)
            f->label_left = runner->request->label_bytes;
        if (s->is_send) /* every run ends with all of its sends taken, so this is where the next begins */
            f->credited = runner->transport->sent(runner->endpoint, s->peer, s->number) + f->label_left;
    }
}

/* Up to where the operation may work, having come to element `from`: at least from. */
static size_t allowed(const banyan_runner *runner, int operation, size_t from)
{
    const banyan_operation *o = &runner->program->operations[operation];
    size_t limit = runner->progress[operation].end;

    for (size_t i = o[0].first_predecessor; i < o[1].first_predecessor; i++) {
        const progress *before = &runner->progress[runner->program->predecessors[i]];

        if (before->position < before->end && before->end > from && before->position < limit)
            limit = before->position;
    }
    return limit > from ? limit : from;
}

static double now_s(const banyan_runner *runner)
{
    return banyan_clock_s() - runner->request->origin_s;
}

/* Moves the positions of sends up to what the transport no longer needs. */
static int credit_sends(banyan_runner *runner, const banyan_stream *s, flowing *f)
{
    uint64_t total = runner->transport->sent(runner->endpoint, s->peer, s->number);
    uint64_t elements = total > f->credited ? (total - f->credited) / runner->element_bytes : 0;

    if (!elements)
        return 0;
    f->credited += elements * runner->element_bytes;
    while (elements) {
        progress *p = &runner->progress[f->unsent];
        size_t left = p->end - p->position;
        size_t part = elements < left ? (size_t)elements : left;

        p->position += part;
        elements -= part;
        skip_finished(runner, &f->unsent, f->last);
    }
    return 1;
}

static int offer_label(banyan_runner *runner, const banyan_stream *s, flowing *f)
{
    const char *end = (const char *)runner->request->label + runner->request->label_bytes;
    size_t taken =
        runner->transport->offer(runner->endpoint, s->peer, s->number, end - f->label_left, f->label_left);

    f->label_left -= taken;
    return taken > 0;
}

/* A label that is not ours ends the run. */
static int take_label(banyan_runner *runner, const banyan_stream *s, flowing *f)
{
    size_t whole = runner->request->label_bytes, there;
    const void *memory;

    there = runner->transport->peek(runner->endpoint, s->peer, s->number, &memory);
    if (!there)
        return 0;
    if (there > f->label_left)
        there = f->label_left;
    memcpy(f->label + whole - f->label_left, memory, there);
    runner->transport->consume(runner->endpoint, s->peer, s->number, there);
    f->label_left -= there;
    if (!f->label_left && memcmp(f->label, runner->request->label, whole) != 0)
        runner->strange = s;
    return 1;
}

static int advance_send(banyan_runner *runner, const banyan_stream *s, flowing *f)
{
    int moved = credit_sends(runner, s, f);

    /* The label leaves together with the first element. */
    if (f->label_left &&
        allowed(runner, f->head, runner->progress[f->head].begin) > runner->progress[f->head].begin)
        moved |= offer_label(runner, s, f);
    while (f->head < f->last && !f->label_left) {
        const progress *p = &runner->progress[f->head];
        size_t limit = allowed(runner, f->head, p->begin + f->offered / runner->element_bytes);
        size_t ready = (limit - p->begin) * runner->element_bytes, taken;
        const char *memory = (const char *)runner->request->buffer + p->begin * runner->element_bytes;

        if (ready <= f->offered)
            break;
        if (!f->offered && runner->request->timeline)
            runner->request->timeline->begin_s[runner->program->operations[f->head].transfer] = now_s(runner);
        taken = runner->transport->offer(runner->endpoint, s->peer, s->number, memory + f->offered,
                                         ready - f->offered);
        if (!taken)
            break;
        moved = 1;
        f->offered += taken;
        if (f->offered < (p->end - p->begin) * runner->element_bytes)
            break;
        f->offered = 0;
        /* Not by position: the operation is offered, not yet sent. */
        for (f->head++; f->head < f->last; f->head++)
            if (runner->progress[f->head].begin < runner->progress[f->head].end)
                break;
    }
    return moved;
}

/* Where the next element of the first operation belongs. */
static char *place_of(const banyan_runner *runner, const flowing *f)
{
    return (char *)runner->request->buffer + runner->progress[f->head].position * runner->element_bytes;
}

static void note_applied(banyan_runner *runner, flowing *f, size_t elements)
{
    progress *p = &runner->progress[f->head];

    p->position += elements;
    if (p->position == p->end && runner->request->timeline)
        runner->request->timeline->end_s[runner->program->operations[f->head].transfer] = now_s(runner);
    skip_finished(runner, &f->head, f->last);
}

static void apply(banyan_runner *runner, flowing *f, const void *from, size_t elements)
{
    if (runner->program->operations[f->head].action == BANYAN_ACTION_REDUCE)
        runner->kernel(place_of(runner, f), from, elements);
    else
        memcpy(place_of(runner, f), from, elements * runner->element_bytes);
    note_applied(runner, f, elements);
}

/* What only overwrites can be read straight to where it belongs, by transports that know how. */
static size_t read_in_place(banyan_runner *runner, const banyan_stream *s, flowing *f, size_t elements)
{
    size_t bytes = 0;

    if (runner->transport->read && runner->program->operations[f->head].action == BANYAN_ACTION_COPY)
        bytes = runner->transport->read(runner->endpoint, s->peer, s->number, place_of(runner, f),
                                        elements * runner->element_bytes, runner->element_bytes);
    if (bytes)
        note_applied(runner, f, bytes / runner->element_bytes);
    return bytes;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Copies what has arrived of the first operation behind what is staged, up to `room` bytes of staging. */
static int stage(banyan_runner *runner, const banyan_stream *s, flowing *f, size_t room)
{
    const progress *p = &runner->progress[f->head];
    size_t staged = f->staged_end - f->staged_begin;
    size_t wanted = least(room - f->staged_end, (p->end - p->position) * runner->element_bytes - staged);
    const void *memory;
    size_t there;

    if (f->label_left)
        return take_label(runner, s, f);
    if (!wanted)
        return 0;
    if (!f->staging)
        f->staging =
            banyan_alloc(runner->slice_bytes + sizeof(uint64_t), 1); /* one element of any type fits */
    if (!f->staging) {
        runner->out_of_memory = 1;
        return 0;
    }
    there = runner->transport->peek(runner->endpoint, s->peer, s->number, &memory);
    if (!there)
        return 0;
    wanted = least(wanted, there);
    memcpy(f->staging + f->staged_end, memory, wanted);
    runner->transport->consume(runner->endpoint, s->peer, s->number, wanted);
    f->staged_end += wanted;
    return 1;
}

/* What is staged came first, so it goes first. A part of an element waits there for its other part. */
static int advance_staged(banyan_runner *runner, const banyan_stream *s, flowing *f, size_t ready)
{
    size_t whole = (f->staged_end - f->staged_begin) / runner->element_bytes;

    if (!whole)
        return stage(runner, s, f, f->staged_begin + runner->element_bytes);
    if (!ready)
        return 0;
    ready = least(ready, whole);
    apply(runner, f, f->staging + f->staged_begin, ready);
    f->staged_begin += ready * runner->element_bytes;
    if (f->staged_begin == f->staged_end)
        f->staged_begin = f->staged_end = 0;
    return 1;
}

/* Applies one slice, straight out of what the transport shows. */
static int advance_receive(banyan_runner *runner, const banyan_stream *s, flowing *f)
{
    const progress *p;
    const void *memory;
    size_t ready, there;

    if (f->head == f->last)
        return 0;
    if (f->label_left)
        return take_label(runner, s, f);
    p = &runner->progress[f->head];
    ready = allowed(runner, f->head, p->position) - p->position;
    if (f->staged_begin < f->staged_end)
        return advance_staged(runner, s, f, ready);
    if (!ready)
        return 0;
    ready = least(ready, runner->slice_elements);
    if (read_in_place(runner, s, f, ready))
        return 1;
    there = runner->transport->peek(runner->endpoint, s->peer, s->number, &memory);
    if (!there)
        return 0;
    if (there < runner->element_bytes) {
        runner->transport->consume(runner->endpoint, s->peer, s->number, 0);
        return stage(runner, s, f, runner->element_bytes);
    }
    ready = least(ready, there / runner->element_bytes);
    apply(runner, f, memory, ready);
    runner->transport->consume(runner->endpoint, s->peer, s->number, ready * runner->element_bytes);
    return 1;
}

static int is_done(const flowing *f, int is_send)
{
    return (is_send ? f->unsent : f->head) == f->last;
}

/* One look at every stream. Returns how many are not done; *moved says whether anything happened. */
static int advance_all(banyan_runner *runner, int *moved)
{
    int left = 0;

    *moved = 0;
    for (int i = 0; i < runner->program->stream_count; i++) {
        const banyan_stream *s = &runner->program->streams[i];
        flowing *f = &runner->flows[i];

        if (is_done(f, s->is_send))
            continue;
        *moved |= s->is_send ? advance_send(runner, s, f) : advance_receive(runner, s, f);
        left += !is_done(f, s->is_send);
    }
    return left;
}

/* Receives that cannot be applied yet make room for their peers' sends. */
static int stage_all(banyan_runner *runner)
{
    size_t room = runner->slice_elements * runner->element_bytes;
    int moved = 0;

    for (int i = 0; i < runner->program->stream_count; i++) {
        const banyan_stream *s = &runner->program->streams[i];
        flowing *f = &runner->flows[i];

        if (!s->is_send && f->head < f->last && f->staged_end < room)
            moved |= stage(runner, s, f, room);
    }
    return moved;
}

/* Whether it is the peer that we wait for: to take what is offered or could be, or to send what we could apply. */
static int waits_for_peer(const banyan_runner *runner, const banyan_stream *s, const flowing *f)
{
    const progress *p = &runner->progress[f->head];
    size_t from;

    if (s->is_send && f->head > f->unsent)
        return 1;
    from = s->is_send ? p->begin + f->offered / runner->element_bytes : p->position;
    return allowed(runner, f->head, from) > from;
}

/* The stream to name when time has run out: a receive that nothing holds up, else any that is not done. */
static const banyan_stream *find_blocked(const banyan_runner *runner, int *operation)
{
    const banyan_stream *blocked = NULL;

    for (int i = 0; i < runner->program->stream_count; i++) {
        const banyan_stream *s = &runner->program->streams[i];
        const flowing *f = &runner->flows[i];

        if (is_done(f, s->is_send) || (s->is_send && blocked) || !waits_for_peer(runner, s, f))
            continue;
        blocked = s;
        *operation = s->is_send ? f->unsent : f->head;
        if (!s->is_send)
            break;
    }
    return blocked;
}

static banyan_status time_out(const banyan_runner *runner, banyan_error *err)
{
    const banyan_schedule *schedule = runner->program->schedule;
    int operation = 0;
    const banyan_stream *s = find_blocked(runner, &operation);
    char self[40], peer[40], sentence[sizeof err->text];

    banyan_program_node_name(schedule, runner->program->node, self, sizeof self);
    if (s) {
        const banyan_operation *o = &runner->program->operations[operation];

        snprintf(sentence, sizeof sentence, "%s waited %d ms for %s to %s transfer %d (round %d, flow %d)",
                 self, runner->request->timeout_ms,
                 banyan_program_node_name(schedule, s->peer, peer, sizeof peer), s->is_send ? "take" : "send",
                 o->transfer, schedule->transfers[o->transfer].round, schedule->transfers[o->transfer].flow);
    } else {
        snprintf(sentence, sizeof sentence, "%s did not finish within %d ms", self,
                 runner->request->timeout_ms);
    }
    runner->transport->abort(runner->endpoint, BANYAN_TIMEOUT, sentence);
    return banyan_fail(err, BANYAN_TIMEOUT, "%s", sentence);
}

static banyan_status run_out_of_memory(const banyan_runner *runner, banyan_error *err)
{
    char self[40], sentence[80];

    banyan_program_node_name(runner->program->schedule, runner->program->node, self, sizeof self);
    snprintf(sentence, sizeof sentence, "%s ran out of memory", self);
    runner->transport->abort(runner->endpoint, BANYAN_REMOTE_ERROR, sentence);
    return banyan_fail_memory(err);
}

static banyan_status meet_stranger(const banyan_runner *runner, banyan_error *err)
{
    const flowing *f = &runner->flows[runner->strange - runner->program->streams];
    banyan_error sentence = {""};

    runner->request->explain(runner->request->context, runner->strange->peer, f->label, &sentence);
    runner->transport->abort(runner->endpoint, BANYAN_MISMATCH, sentence.text);
    return banyan_fail(err, BANYAN_MISMATCH, "%s", sentence.text);
}

static banyan_status progress_until_done(banyan_runner *runner, banyan_error *err)
{
    int64_t deadline_ns = banyan_clock_ns() + (int64_t)runner->request->timeout_ms * 1000000;
    banyan_status status = runner->transport->failure(runner->endpoint, err);
    int moved;

    while (!status && advance_all(runner, &moved)) {
        if (!moved)
            moved = stage_all(runner);
        if (runner->out_of_memory)
            return run_out_of_memory(runner, err);
        if (runner->strange)
            return meet_stranger(runner, err);
        if (!moved)
            status = runner->transport->wait(runner->endpoint, deadline_ns, err);
        else if (banyan_clock_ns() > deadline_ns)
            status = BANYAN_TIMEOUT;
    }
    /* Ours, or the group's already? */
    if (status == BANYAN_TIMEOUT && !runner->transport->failure(runner->endpoint, err))
        return time_out(runner, err);
    return status;
}

banyan_status banyan_runner_run(banyan_runner *runner, const banyan_run_request *request, banyan_error *err)
{
    banyan_status status;

    runner->request = request;
    runner->kernel = banyan_kernel_find_in(runner->kernel_set, request->type, request->op);
    runner->element_bytes = banyan_datatype_bytes(request->type);
    runner->out_of_memory = 0;
    runner->strange = NULL;
    if (!runner->kernel)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "datatype %d and op %d are not both known",
                           (int)request->type, (int)request->op);
    runner->slice_elements = runner->slice_bytes / runner->element_bytes;
    if (!runner->slice_elements)
        runner->slice_elements = 1;
    bind(runner, request->count);
    status = progress_until_done(runner, err);
    if (status)
        runner->transport->withdraw(runner->endpoint);
    else if (request->op == BANYAN_AVG && runner->program->rank >= 0)
        banyan_average(runner->program->schedule, runner->program->rank, request->buffer, request->count,
                       request->type);
    runner->request = NULL;
    return status;
}
