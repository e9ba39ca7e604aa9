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
 * What nobody has changed yet is read from the caller's input, which may be the buffer itself or lie apart
 * (execute/program_inputs.c); apart, nobody waits for such reads.
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
#include "core/alloc.h"
#include "core/clock.h"
#include "execute/average.h"
#include "execute/run_internal.h"
#include "execute/team.h"

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

/* Ranks that share memory work side by side where the program allows that. */
static banyan_status join_team(banyan_runner *runner, banyan_error *err)
{
    const banyan_schedule *schedule = runner->program->schedule;
    banyan_status status;

    if (!runner->transport->workspaces || runner->program->rank < 0)
        return BANYAN_SUCCESS;
    status = runner->transport->workspaces(runner->endpoint, schedule->active, schedule->active_count,
                                           &runner->workspaces, err);
    return status ? status : banyan_team_create(runner->program, runner->workspaces, &runner->team, err);
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
    if (!status)
        status = join_team(runner, err);
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
    banyan_team_destroy(runner->team);
    banyan_free(runner->flows);
    banyan_free(runner->progress);
    banyan_free(runner);
}

void banyan_run_skip_finished(const banyan_runner *runner, int *operation, int last)
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
        run_progress *p = &runner->progress[i];

        if (!runner->is_bound || runner->bound_count != count)
            banyan_schedule_elements(program->schedule, count, o->first_piece, o->piece_count, &p->begin,
                                     &p->end);
        p->position = p->begin;
    }
    runner->bound_count = count;
    runner->is_bound = 1;
    for (int i = 0; i < program->stream_count; i++) {
        const banyan_stream *s = &program->streams[i];
        run_flow *f = &runner->flows[i];

        *f = (run_flow){.head = s->first, .last = s->first + s->count, .staging = f->staging};
        banyan_run_skip_finished(runner, &f->head, f->last);
        f->unsent = f->head;
        if (f->head < f->last)
            f->label_left = runner->request->label_bytes;
        if (s->is_send) /* every run ends with all of its sends taken, so this is where the next begins */
            f->credited = runner->transport->sent(runner->endpoint, s->peer, s->number) + f->label_left;
    }
}

/* What it reads is not what anybody changes. */
static int is_send_of_input(const banyan_program *program, int operation)
{
    const banyan_operation *o = &program->operations[operation];

    return o->is_fresh && program->schedule->transfers[o->transfer].src == program->node;
}

size_t banyan_run_allowed(const banyan_runner *runner, int operation, size_t from)
{
    const banyan_operation *o = &runner->program->operations[operation];
    size_t limit = runner->progress[operation].end;

    for (size_t i = o[0].first_predecessor; i < o[1].first_predecessor; i++) {
        int predecessor = runner->program->predecessors[i];
        const run_progress *before = &runner->progress[predecessor];

        if (runner->is_apart && is_send_of_input(runner->program, predecessor))
            continue;
        if (before->position < before->end && before->end > from && before->position < limit)
            limit = before->position;
    }
    return limit > from ? limit : from;
}

double banyan_run_now_s(const banyan_runner *runner)
{
    return banyan_clock_s() - runner->request->origin_s;
}

/* The first stream that moves after a wait is what was waited for: data of its peer, or that one's room. */
static void charge_wait(banyan_runner *runner, const banyan_stream *s)
{
    if (runner->idle_s > 0 && !s->is_send)
        runner->request->waited_s[s->peer] += runner->idle_s;
    runner->idle_s = 0;
}

static banyan_status wait_for_peers(banyan_runner *runner, int64_t deadline_ns, banyan_error *err)
{
    double begun_s = runner->request->waited_s ? banyan_clock_s() : 0;
    banyan_status status = runner->transport->wait(runner->endpoint, deadline_ns, err);

    if (runner->request->waited_s)
        runner->idle_s += banyan_clock_s() - begun_s;
    return status;
}

/* One look at every stream. Returns how many are not done; *moved says whether anything happened. */
static int advance_all(banyan_runner *runner, int *moved)
{
    int left = 0;

    *moved = 0;
    for (int i = 0; i < runner->program->stream_count; i++) {
        const banyan_stream *s = &runner->program->streams[i];
        run_flow *f = &runner->flows[i];

        if (banyan_run_is_done(f, s->is_send))
            continue;
        if (s->is_send ? banyan_run_advance_send(runner, s, f) : banyan_run_advance_receive(runner, s, f)) {
            *moved = 1;
            charge_wait(runner, s);
        }
        left += !banyan_run_is_done(f, s->is_send);
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
        run_flow *f = &runner->flows[i];

        if (!s->is_send && f->head < f->last && f->staged_end < room)
            moved |= banyan_run_stage(runner, s, f, room);
    }
    return moved;
}

static banyan_status progress_until_done(banyan_runner *runner, banyan_error *err)
{
    int64_t deadline_ns = banyan_clock_ns() + (int64_t)runner->request->timeout_ms * 1000000;
    banyan_status status = runner->transport->failure(runner->endpoint, err);
    int moved;

    runner->idle_s = 0;
    while (!status && advance_all(runner, &moved)) {
        if (!moved)
            moved = stage_all(runner);
        if (runner->out_of_memory)
            return banyan_run_out_of_memory(runner, err);
        if (runner->strange)
            return banyan_run_meet_stranger(runner, err);
        if (!moved)
            status = wait_for_peers(runner, deadline_ns, err);
        else if (banyan_clock_ns() > deadline_ns)
            status = BANYAN_TIMEOUT;
    }
    if (!status && runner->transport->flush)
        status = runner->transport->flush(runner->endpoint, deadline_ns, err);
    if (status != BANYAN_TIMEOUT)
        return status;
    /* Ours, or has the group failed already, of something else? */
    status = runner->transport->failure(runner->endpoint, err);
    return status ? status : banyan_run_time_out(runner, err);
}

/* Pieces that no receive touches here come into the result by a copy, while the first sends are on their
 * way. */
static void copy_kept(const banyan_runner *runner)
{
    const banyan_program *program = runner->program;
    size_t begin, end;

    for (int i = 0; i < program->schedule->piece_count; i++)
        if (program->is_kept[i]) {
            banyan_schedule_elements(program->schedule, runner->vector.count, i, 1, &begin, &end);
            banyan_vector_copy(&runner->vector, begin, end);
        }
}

static void lay_out(banyan_runner *runner, const banyan_run_request *request)
{
    runner->whole =
        (banyan_part){.into = request->buffer, .from = request->input ? request->input : request->buffer};
    runner->vector = (banyan_vector){.parts = request->parts ? request->parts : &runner->whole,
                                     .part_count = request->parts ? request->part_count : 1,
                                     .count = request->count,
                                     .element_bytes = runner->element_bytes};
}

/* What the program reads although it changes it must lie where the result goes. */
static void keep_inputs(banyan_runner *runner)
{
    size_t apart = banyan_vector_parts_apart(&runner->vector);

    if (apart && runner->program->mixes_inputs) {
        banyan_vector_copy(&runner->vector, 0, runner->vector.count);
        apart = 0;
    }
    runner->reads_input = apart > 0;
    runner->is_apart = apart && apart == runner->vector.part_count;
}

static banyan_status start(banyan_runner *runner, const banyan_run_request *request, banyan_error *err)
{
    runner->request = request;
    runner->kernel = banyan_kernel_find_in(runner->kernel_set, request->type, request->op);
    runner->element_bytes = banyan_datatype_bytes(request->type);
    runner->out_of_memory = 0;
    runner->strange = NULL;
    runner->divides_early = request->op == BANYAN_AVG && !runner->program->divides_at_end;
    if (!runner->kernel)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "datatype %d and op %d are not both known",
                           (int)request->type, (int)request->op);
    runner->slice_elements = runner->slice_bytes / runner->element_bytes;
    if (!runner->slice_elements)
        runner->slice_elements = 1;
    lay_out(runner, request);
    return BANYAN_SUCCESS;
}

static banyan_status run_streams(banyan_runner *runner, banyan_error *err)
{
    const banyan_run_request *request = runner->request;
    banyan_status status;
    int moved;

    if (runner->workspaces)
        banyan_team_announce(runner);
    keep_inputs(runner);
    bind(runner, request->count);
    if (runner->reads_input) {
        advance_all(runner, &moved);
        copy_kept(runner);
    }
    status = progress_until_done(runner, err);
    if (status)
        runner->transport->withdraw(runner->endpoint);
    else if (request->op == BANYAN_AVG && !runner->divides_early && runner->program->rank >= 0)
        banyan_average(runner->program->schedule, runner->program->rank, &runner->vector, request->type);
    return status;
}

banyan_status banyan_runner_run(banyan_runner *runner, const banyan_run_request *request, banyan_error *err)
{
    banyan_status status = start(runner, request, err);

    if (status)
        return status;
    status = runner->team ? banyan_team_run(runner->team, runner, err) : run_streams(runner, err);
    runner->request = NULL;
    return status;
}
