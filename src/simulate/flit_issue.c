/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/flit_issue.c: works off a worker's schedule table.
 *
 * The step counter stands at the head of the table. Entries of that step go to free ports as soon as their
 * dependencies are clear, in any order. Where there is a port for every cable, each has its own (unless
 * any_port is set): otherwise what a port still buffers for a busy cable would hold up messages for others
 * behind it, while ports whose cables are idle have nothing to send. A new step begins when every port has
 * handed its message over (all but what the port's buffer holds is in the network); where the table has NOPs
 * in between, the lockstep counter then counts down the estimated time of the steps that the worker sits out:
 * the flits of the step's largest message, less the port's buffer where the message does not fit it. */
#include "simulate/flit_interface.h"

#include "core/alloc.h"

enum { ISSUE_CYCLES = 2 }; /* from the table to the first flit; nothing where lockstep is to cost nothing */

/* The sends of the next step in the table, and the NOPs before it. */
static void begin_step(flit_interface *i)
{
    const flit_job *job = i->job;
    const banyan_transfer *transfers = job->schedule->transfers;

    i->step_begin = i->step_end;
    while (i->step_end < i->send_end &&
           transfers[job->send[i->step_end]].round == transfers[job->send[i->step_begin]].round)
        i->step_end++;
    i->step_left = i->step_end - i->step_begin;
    i->is_new_step = 1;
}

void flit_issue_start(flit_interface *i)
{
    const flit_job *job = i->job;

    i->step_end = job->send_first[i->router->node];
    i->send_end = job->send_first[i->router->node + 1];
    i->nop_from = 0;
    i->issue_at = 1;
    begin_step(i);
}

static int64_t step_estimate(const flit_job *job, int round)
{
    int64_t flits = job->round_flits[round];
    int64_t buffer =
        (int64_t)job->settings.interface_packets * job->settings.packet_bytes / job->settings.flit_bytes;

    return flits > buffer ? flits - buffer : flits;
}

/* Counts down the steps before this one in which the worker has nothing to send. */
static int is_held_by_nops(flit_interface *i, int64_t now)
{
    const flit_job *job = i->job;
    int round = job->schedule->transfers[job->send[i->step_begin]].round;

    for (; i->nop_from < round; i->nop_from++)
        i->not_before = (i->not_before > now ? i->not_before : now) + step_estimate(job, i->nop_from);
    if (i->not_before <= now)
        return 0;
    i->issue_at = flit_earlier(i->issue_at, i->not_before);
    return 1;
}

static int may_begin(flit_interface *i, int64_t now)
{
    const flit_job *job = i->job;

    if (job->settings.lockstep == BANYAN_LOCKSTEP_IDEAL)
        return job->schedule->transfers[job->send[i->step_begin]].round <= job->barrier;
    if (job->settings.lockstep == BANYAN_LOCKSTEP_NONE || !i->is_new_step)
        return 1;
    return !i->busy_ports && !is_held_by_nops(i, now);
}

/* Does the transfer leave through this port? */
static int is_for_port(const flit_interface *i, int transfer, int port)
{
    const flit_fabric *f = i->fabric;
    int first_hop = f->path_first[i->job->paths->path_of[transfer]];

    return i->job->settings.any_port || i->job->settings.interface_kind == BANYAN_INTERFACE_AUTHORS ||
           i->port_count < i->router->link_outputs || f->hops[first_hop].output == port;
}

/* Ready sends move to the front of the step's list, so that what is issued leaves the list. */
static int take_ready(flit_interface *i, int port)
{
    flit_job *job = i->job;

    for (size_t k = i->step_begin; k < i->step_end; k++) {
        int transfer = job->send[k];

        if (job->send_wait[transfer] > 0 || !is_for_port(i, transfer, port))
            continue;
        for (; k > i->step_begin; k--)
            job->send[k] = job->send[k - 1];
        job->send[i->step_begin++] = transfer;
        i->step_left--;
        return transfer;
    }
    return -1;
}

static void give(flit_interface *i, flit_port *port, int transfer, int64_t now)
{
    const flit_job *job = i->job;
    int64_t units = (job->bytes[transfer] + job->settings.packet_bytes - 1) / job->settings.packet_bytes;
    int64_t wait = job->settings.lockstep == BANYAN_LOCKSTEP_IDEAL ? 0 : ISSUE_CYCLES;

    if (!flit_queue_push(
            &port->messages,
            (flit_message){.transfer = transfer, .bytes_left = job->bytes[transfer], .from = now + wait}))
        i->fabric->has_failed = 1;
    port->queued += flit_job_flits(job, transfer);
    port->handing = transfer;
    i->live |= UINT64_C(1) << (port - i->ports);
    port->next = now;
    port->hand_from = now + units;
    i->busy_ports++;
    job->begin[transfer] = -1;
}

void flit_issue(flit_interface *i, int64_t now)
{
    i->issue_at = FLIT_NEVER;
    if (i->step_begin == i->send_end || !may_begin(i, now))
        return;
    i->is_new_step = 0;
    for (int p = 0; p < i->port_count; p++) {
        int transfer;

        if (i->ports[p].handing >= 0)
            continue;
        transfer = take_ready(i, p);
        if (transfer < 0)
            continue;
        give(i, &i->ports[p], transfer, now);
        if (i->step_left == 0) {
            i->nop_from = i->job->schedule->transfers[transfer].round + 1;
            begin_step(i);
            if (i->job->settings.lockstep != BANYAN_LOCKSTEP_ESTIMATE)
                i->issue_at = flit_earlier(i->issue_at, now + 1);
            return;
        }
    }
}
