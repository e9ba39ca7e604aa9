/* SPDX-License-Identifier: Apache-2.0 */
/* execute/run_receive.c: applies what has arrived, slice by slice, straight out of what the transport shows.
 *
 * What is added to elements that nobody has changed yet takes them from where the caller gave them: that is
 * how the input of a call that is not in place comes into the result. */
#include <string.h>

#include "core/alloc.h"
#include "execute/run_internal.h"

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* A label that is not ours ends the run. */
static int take_label(banyan_runner *runner, const banyan_stream *s, run_flow *f)
{
    size_t whole = runner->request->label_bytes, there;
    const void *memory;

    there = runner->transport->peek(runner->endpoint, s->peer, s->number, &memory);
    if (!there)
        return 0;
    there = least(there, f->label_left);
    memcpy(f->label + whole - f->label_left, memory, there);
    runner->transport->consume(runner->endpoint, s->peer, s->number, there);
    f->label_left -= there;
    if (!f->label_left && memcmp(f->label, runner->request->label, whole) != 0)
        runner->strange = s;
    return 1;
}

/* Where the next elements of the first operation belong: the place, and how many of them fit there. */
static char *place_of(const banyan_runner *runner, const run_flow *f, size_t *elements)
{
    return banyan_vector_into(&runner->vector, runner->progress[f->head].position, elements);
}

static void note_applied(banyan_runner *runner, run_flow *f, size_t elements)
{
    run_progress *p = &runner->progress[f->head];

    p->position += elements;
    if (p->position == p->end && runner->request->timeline)
        runner->request->timeline->end_s[runner->program->operations[f->head].transfer] =
            banyan_run_now_s(runner);
    banyan_run_skip_finished(runner, &f->head, f->last);
}

/* Applies up to `elements`, as far as they belong to one place; returns how many. */
static size_t apply(banyan_runner *runner, run_flow *f, const void *from, size_t elements)
{
    const banyan_operation *o = &runner->program->operations[f->head];
    char *into = place_of(runner, f, &elements);
    const char *other = into;

    if (runner->reads_input && o->is_fresh)
        other = banyan_vector_from(&runner->vector, runner->progress[f->head].position, &elements);
    if (o->action == BANYAN_ACTION_REDUCE)
        runner->kernel(into, other, from, elements);
    else
        memcpy(into, from, elements * runner->element_bytes);
    if (o->completes && runner->divides_early)
        banyan_kernel_divide(runner->request->type, into, elements, runner->program->schedule->active_count);
    note_applied(runner, f, elements);
    return elements;
}

/* What only overwrites can be read straight to where it belongs, by transports that know how. */
static size_t read_in_place(banyan_runner *runner, const banyan_stream *s, run_flow *f, size_t elements)
{
    size_t bytes = 0;
    char *into;

    if (!runner->transport->read || runner->program->operations[f->head].action != BANYAN_ACTION_COPY)
        return 0;
    into = place_of(runner, f, &elements);
    bytes = runner->transport->read(runner->endpoint, s->peer, s->number, into,
                                    elements * runner->element_bytes, runner->element_bytes);
    if (bytes)
        note_applied(runner, f, bytes / runner->element_bytes);
    return bytes;
}

int banyan_run_stage(banyan_runner *runner, const banyan_stream *s, run_flow *f, size_t room)
{
    const run_progress *p = &runner->progress[f->head];
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
static int advance_staged(banyan_runner *runner, const banyan_stream *s, run_flow *f, size_t ready)
{
    size_t whole = (f->staged_end - f->staged_begin) / runner->element_bytes;

    if (!whole)
        return banyan_run_stage(runner, s, f, f->staged_begin + runner->element_bytes);
    if (!ready)
        return 0;
    ready = apply(runner, f, f->staging + f->staged_begin, least(ready, whole));
    f->staged_begin += ready * runner->element_bytes;
    if (f->staged_begin == f->staged_end)
        f->staged_begin = f->staged_end = 0;
    return 1;
}

int banyan_run_advance_receive(banyan_runner *runner, const banyan_stream *s, run_flow *f)
{
    const run_progress *p;
    const void *memory;
    size_t ready, there;

    if (f->head == f->last)
        return 0;
    if (f->label_left)
        return take_label(runner, s, f);
    p = &runner->progress[f->head];
    ready = banyan_run_allowed(runner, f->head, p->position) - p->position;
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
        return banyan_run_stage(runner, s, f, runner->element_bytes);
    }
    ready = apply(runner, f, memory, least(ready, there / runner->element_bytes));
    runner->transport->consume(runner->endpoint, s->peer, s->number, ready * runner->element_bytes);
    return 1;
}
