/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/flit_reduce.c: what an interface does with a message that has come.
 *
 *     tail ejected   +1: message known   Gather: dependencies cleared, the table looks again in the next
 * cycle Reduce: +1: adder begins (one message at a time) ... done: cleared
 *
 * The adder takes adder_cycles for every adder_cycles * adder_bytes begun: all processing elements of the
 * accelerator share a message and work in turns. */
#include "simulate/flit_interface.h"

static int64_t adder_time(const flit_job *job, int transfer)
{
    int64_t turn = (int64_t)job->settings.adder_bytes * job->settings.adder_cycles;

    return (job->bytes[transfer] + turn - 1) / turn * job->settings.adder_cycles;
}

static void release_barrier(flit_interface *i, int64_t now)
{
    flit_job *job = i->job;

    while (job->barrier < job->schedule->round_count && !job->round_left[job->barrier])
        job->barrier++;
    for (int v = 0; v < i->fabric->router_count; v++) {
        flit_interface *other = i->fabric->routers[v].interface;

        if (!other)
            continue;
        other->issue_at = flit_earlier(other->issue_at, now + 1);
        flit_interface_wake(other, now + 1);
        i->fabric->wake[v] = flit_earlier(i->fabric->wake[v], now + 1);
    }
}

static void arrive(flit_interface *i, int transfer, int64_t now);

static void clear_applies(flit_interface *i, const flit_waiters *waiters, int transfer, int64_t now)
{
    flit_job *job = i->job;

    for (size_t k = waiters->first[transfer]; k < waiters->first[transfer + 1]; k++) {
        int other = waiters->item[k];

        if (--job->apply_wait[other] == 0 && job->has_arrived[other])
            arrive(i, other, now);
    }
}

static void apply(flit_interface *i, int transfer, int64_t now)
{
    flit_job *job = i->job;
    int round = job->schedule->transfers[transfer].round;

    job->end[transfer] = now;
    job->applied_at = now > job->applied_at ? now : job->applied_at;
    job->left--;
    for (size_t k = job->send_on_apply.first[transfer]; k < job->send_on_apply.first[transfer + 1]; k++)
        job->send_wait[job->send_on_apply.item[k]]--;
    i->issue_at = flit_earlier(i->issue_at, now + 1);
    if (--job->round_left[round] == 0 && round == job->barrier &&
        job->settings.lockstep == BANYAN_LOCKSTEP_IDEAL)
        release_barrier(i, now);
    clear_applies(i, &job->apply_on_apply, transfer, now);
}

static void start_adder(flit_interface *i, int64_t at)
{
    if (i->adding.count && i->adding_until == FLIT_NEVER)
        i->adding_until = at + adder_time(i->job, flit_queue_front(&i->adding)->transfer);
}

/* All of it is here and nothing before it is missing. */
static void arrive(flit_interface *i, int transfer, int64_t now)
{
    const flit_job *job = i->job;

    if (job->schedule->transfers[transfer].action == BANYAN_ACTION_COPY || !job->settings.adder_bytes) {
        apply(i, transfer, now);
        return;
    }
    if (!flit_queue_push(&i->adding, (flit_message){.transfer = transfer}))
        i->fabric->has_failed = 1;
    else
        start_adder(i, now + 1);
}

void flit_reduce_step(flit_interface *i, int64_t now)
{
    while (i->adding_until <= now) {
        int transfer = flit_queue_front(&i->adding)->transfer;

        flit_queue_pop(&i->adding);
        i->adding_until = FLIT_NEVER;
        apply(i, transfer, now);
        start_adder(i, now + 1);
    }
    while (i->arrivals.count && flit_queue_front(&i->arrivals)->from <= now) {
        int transfer = flit_queue_front(&i->arrivals)->transfer;

        flit_queue_pop(&i->arrivals);
        i->job->has_arrived[transfer] = 1;
        if (!i->job->apply_wait[transfer])
            arrive(i, transfer, now);
    }
}

void flit_issue_handed(flit_interface *i, flit_port *port, int64_t now)
{
    int transfer = port->handing;

    port->handing = -1;
    i->busy_ports--;
    i->issue_at = flit_earlier(i->issue_at, now + 1);
    clear_applies(i, &i->job->apply_on_send, transfer, now);
}
