/* SPDX-License-Identifier: Apache-2.0 */
/* execute/run_send.c: offers elements as soon as they may leave, and learns which of them have.
 *
 * What nobody has changed yet is offered from where the caller gave it, so a call that is not in place needs
 * no copy before. */
#include "execute/run_internal.h"

/* Moves the positions of sends up to what the transport no longer needs. */
static int credit_sends(banyan_runner *runner, const banyan_stream *s, run_flow *f)
{
    uint64_t total = runner->transport->sent(runner->endpoint, s->peer, s->number);
    uint64_t elements = total > f->credited ? (total - f->credited) / runner->element_bytes : 0;

    if (!elements)
        return 0;
    f->credited += elements * runner->element_bytes;
    while (elements) {
        run_progress *p = &runner->progress[f->unsent];
        size_t left = p->end - p->position;
        size_t part = elements < left ? (size_t)elements : left;

        p->position += part;
        elements -= part;
        banyan_run_skip_finished(runner, &f->unsent, f->last);
    }
    return 1;
}

static int offer_label(banyan_runner *runner, const banyan_stream *s, run_flow *f)
{
    const char *end = (const char *)runner->request->label + runner->request->label_bytes;
    size_t taken =
        runner->transport->offer(runner->endpoint, s->peer, s->number, end - f->label_left, f->label_left);

    f->label_left -= taken;
    return taken > 0;
}

/* Where the next bytes of the first operation lie; *bytes is how many may leave and lie there together. */
static const char *find_memory(const banyan_runner *runner, const run_flow *f, size_t *bytes)
{
    const run_progress *p = &runner->progress[f->head];
    size_t done = f->offered / runner->element_bytes, split = f->offered % runner->element_bytes;
    size_t limit = banyan_run_allowed(runner, f->head, p->begin + done);
    size_t elements = limit - p->begin - done;
    const char *memory;

    *bytes = 0;
    if (!elements)
        return NULL;
    if (runner->reads_input && runner->program->operations[f->head].is_fresh)
        memory = banyan_vector_from(&runner->vector, p->begin + done, &elements);
    else
        memory = banyan_vector_into(&runner->vector, p->begin + done, &elements);
    *bytes = elements * runner->element_bytes - split;
    return memory + split;
}

/* Offers what may leave of the first operation. Returns whether the next one has its turn. */
static int offer_operation(banyan_runner *runner, const banyan_stream *s, run_flow *f, int *moved)
{
    const run_progress *p = &runner->progress[f->head];
    size_t ready, taken, whole = (p->end - p->begin) * runner->element_bytes;

    do {
        const char *memory = find_memory(runner, f, &ready);

        if (!ready)
            return 0;
        if (!f->offered && runner->request->timeline)
            runner->request->timeline->begin_s[runner->program->operations[f->head].transfer] =
                banyan_run_now_s(runner);
        taken = runner->transport->offer(runner->endpoint, s->peer, s->number, memory, ready);
        *moved |= taken > 0;
        f->offered += taken;
    } while (taken == ready && f->offered < whole); /* else there is no room now */
    return f->offered == whole;
}

int banyan_run_advance_send(banyan_runner *runner, const banyan_stream *s, run_flow *f)
{
    int moved = credit_sends(runner, s, f);

    /* The label leaves together with the first element. */
    if (f->label_left && banyan_run_allowed(runner, f->head, runner->progress[f->head].begin) >
                             runner->progress[f->head].begin)
        moved |= offer_label(runner, s, f);
    while (f->head < f->last && !f->label_left && offer_operation(runner, s, f, &moved)) {
        f->offered = 0;
        /* Not by position: the operation is offered, not yet sent. */
        for (f->head++; f->head < f->last; f->head++)
            if (runner->progress[f->head].begin < runner->progress[f->head].end)
                break;
    }
    return moved;
}
