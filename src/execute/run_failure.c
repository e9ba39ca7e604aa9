/* SPDX-License-Identifier: Apache-2.0 */
/* execute/run_failure.c: the ways in which a run ends badly, each with a sentence that names who and what. */
#include <stdio.h>

#include "execute/run_internal.h"

/* Whether it is the peer that we wait for: to take what is offered or could be, or to send what we could
 * apply. */
static int waits_for_peer(const banyan_runner *runner, const banyan_stream *s, const run_flow *f)
{
    const run_progress *p = &runner->progress[f->head];
    size_t from;

    if (s->is_send && f->head > f->unsent)
        return 1;
    from = s->is_send ? p->begin + f->offered / runner->element_bytes : p->position;
    return banyan_run_allowed(runner, f->head, from) > from;
}

/* The stream to name when time has run out: a receive that nothing holds up, else any that is not done. */
static const banyan_stream *find_blocked(const banyan_runner *runner, int *operation)
{
    const banyan_stream *blocked = NULL;

    for (int i = 0; i < runner->program->stream_count; i++) {
        const banyan_stream *s = &runner->program->streams[i];
        const run_flow *f = &runner->flows[i];

        if (banyan_run_is_done(f, s->is_send) || (s->is_send && blocked) || !waits_for_peer(runner, s, f))
            continue;
        blocked = s;
        *operation = s->is_send ? f->unsent : f->head;
        if (!s->is_send)
            break;
    }
    return blocked;
}

banyan_status banyan_run_time_out(const banyan_runner *runner, banyan_error *err)
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

banyan_status banyan_run_out_of_memory(const banyan_runner *runner, banyan_error *err)
{
    char self[40], sentence[80];

    banyan_program_node_name(runner->program->schedule, runner->program->node, self, sizeof self);
    snprintf(sentence, sizeof sentence, "%s ran out of memory", self);
    runner->transport->abort(runner->endpoint, BANYAN_REMOTE_ERROR, sentence);
    return banyan_fail_memory(err);
}

banyan_status banyan_run_meet_stranger(const banyan_runner *runner, banyan_error *err)
{
    const run_flow *f = &runner->flows[runner->strange - runner->program->streams];
    banyan_error sentence = {""};

    runner->request->explain(runner->request->context, runner->strange->peer, f->label, &sentence);
    runner->transport->abort(runner->endpoint, BANYAN_MISMATCH, sentence.text);
    return banyan_fail(err, BANYAN_MISMATCH, "%s", sentence.text);
}
