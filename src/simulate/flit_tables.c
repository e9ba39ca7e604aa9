/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/flit_tables.c: what the table of a worker's network interface holds, one line an entry.
 *
 *     Op      Flow  Parent  Children   Step  Start   Size
 *     Reduce     3       1  nil           1  49152  16384     send what flow 3 has here to its parent
 *     Reduce     2       2  1             2  32768  16384     ... once child 1 has sent its part
 *     NOP                                 3                   sit out a step: the lockstep counter counts
 * down Gather     0     nil  1 2           4      0  16384     send flow 0 to the children
 *
 * A Reduce goes to one parent and waits for the children that reduce into the same bytes before; a Gather
 * goes to children (as many as there are ports) and waits for the parent that it came from, if it came from
 * one. Steps count from 1. An entry's bits: operation 2, flow, parent and children, step as wide as their
 * largest number needs, start and size 64 each. */
#include "simulate/flit_tables.h"

#include "core/alloc.h"
#include "core/text.h"
#include "simulate/flit_fabric.h"

typedef struct {
    const flit_job *job;
    banyan_flit_settings settings;
    int node_count;
} tables;

static int bits_for(int64_t count)
{
    int bits = 1;

    while (bits < 62 && INT64_C(1) << bits < count)
        bits++;
    return bits;
}

static int64_t entry_bits(const tables *t)
{
    const banyan_schedule *s = t->job->schedule;
    int node = bits_for((int64_t)t->node_count + 1);

    return 2 + bits_for(s->flow_count) + node + (int64_t)t->settings.ports * node + bits_for(s->round_count) +
           128;
}

/* Gathers of one flow, step and interval share an entry, up to the number of ports. */
static size_t entry_end(const tables *t, size_t at, size_t end)
{
    const banyan_transfer *all = t->job->schedule->transfers, *first = &all[t->job->send[at]];
    size_t next = at + 1;

    if (first->action == BANYAN_ACTION_REDUCE)
        return next;
    while (next < end && next - at < (size_t)t->settings.ports) {
        const banyan_transfer *other = &all[t->job->send[next]];

        if (other->action != first->action || other->flow != first->flow || other->round != first->round ||
            other->first_piece != first->first_piece || other->piece_count != first->piece_count)
            break;
        next++;
    }
    return next;
}

static int count_entries(const tables *t, int node)
{
    size_t at = t->job->send_first[node], end = t->job->send_first[node + 1];
    int count = 0, round = 0;

    while (at < end) {
        int now = t->job->schedule->transfers[t->job->send[at]].round;

        if (t->settings.lockstep == BANYAN_LOCKSTEP_ESTIMATE && now > round)
            count += now - round;
        round = now + 1;
        while (at < end && t->job->schedule->transfers[t->job->send[at]].round == now) {
            at = entry_end(t, at, end);
            count++;
        }
    }
    return count;
}

void flit_tables_measure(const flit_job *job, const banyan_flit_settings *settings, int node_count,
                         int *entries, int64_t *bits)
{
    tables t = {job, *settings, node_count};

    *entries = 0;
    for (int v = 0; v < node_count; v++) {
        int count = count_entries(&t, v);

        *entries = count > *entries ? count : *entries;
    }
    *bits = *entries * entry_bits(&t);
}

/* The nodes that a transfer's bytes come from by transfers of this kind, or nil. */
static void format_sources(const tables *t, int transfer, banyan_action action, banyan_text *text)
{
    const banyan_dependency_list *list = &t->job->dependencies->send_after_apply;
    int any = 0;

    for (size_t i = list->first[transfer]; i < list->first[transfer + 1]; i++) {
        const banyan_transfer *other = &t->job->schedule->transfers[list->item[i]];

        if (other->action == action)
            banyan_text_add(text, "%s%d", any++ ? "," : "", other->src);
    }
    if (!any)
        banyan_text_add(text, "nil");
}

static void format_entry(const tables *t, size_t at, size_t end, banyan_text *text)
{
    const flit_job *job = t->job;
    int transfer = job->send[at];
    const banyan_transfer *first = &job->schedule->transfers[transfer];
    int is_reduce = first->action == BANYAN_ACTION_REDUCE;
    banyan_text parent = BANYAN_TEXT_EMPTY, children = BANYAN_TEXT_EMPTY;

    if (is_reduce) {
        banyan_text_add(&parent, "%d", first->dst);
        format_sources(t, transfer, BANYAN_ACTION_REDUCE, &children);
    } else {
        format_sources(t, transfer, BANYAN_ACTION_COPY, &parent);
        for (size_t i = at; i < end; i++)
            banyan_text_add(&children, "%s%d", i > at ? "," : "", job->schedule->transfers[job->send[i]].dst);
    }
    banyan_text_add(text, "  %-6s %6d %7s  %-16s %5d %12lld %12lld\n", is_reduce ? "Reduce" : "Gather",
                    first->flow, parent.bytes ? parent.bytes : "", children.bytes ? children.bytes : "",
                    first->round + 1, (long long)job->start[transfer], (long long)job->bytes[transfer]);
    text->failed |= parent.failed | children.failed;
    banyan_text_fini(&parent);
    banyan_text_fini(&children);
}

static void format_table(const tables *t, const banyan_topology *topology, int node, banyan_text *text)
{
    const flit_job *job = t->job;
    size_t at = job->send_first[node], end = job->send_first[node + 1];
    int round = 0, count = count_entries(t, node);

    banyan_text_add(text, "node %d (%s): %d entries, %lld bits\n", node,
                    banyan_topology_node_name(topology, node), count, (long long)(count * entry_bits(t)));
    banyan_text_add(text, "  %-6s %6s %7s  %-16s %5s %12s %12s\n", "Op", "Flow", "Parent", "Children", "Step",
                    "Start", "Size");
    while (at < end) {
        size_t next = entry_end(t, at, end);
        int now = job->schedule->transfers[job->send[at]].round;

        for (; t->settings.lockstep == BANYAN_LOCKSTEP_ESTIMATE && round < now; round++)
            banyan_text_add(text, "  %-6s %6s %7s  %-16s %5d\n", "NOP", "", "", "", round + 1);
        round = now + 1 > round ? now + 1 : round;
        format_entry(t, at, next, text);
        at = next;
    }
}

banyan_status banyan_flit_format_tables(const banyan_schedule *schedule, const banyan_topology *topology,
                                        size_t bytes, const banyan_flit_settings *settings, char **out,
                                        banyan_error *err)
{
    banyan_text text = BANYAN_TEXT_EMPTY;
    banyan_flit_settings resolved;
    flit_job *job = NULL;
    banyan_status status = flit_settings_resolve(settings, topology, &resolved, err);

    *out = NULL;
    if (!status)
        status = flit_job_create(schedule, topology, bytes, &resolved, &job, err);
    if (status)
        return status;
    tables t = {job, resolved, topology->node_count};

    banyan_text_add(&text, "schedule tables: %d nodes, %lld bits an entry\n", topology->node_count,
                    (long long)entry_bits(&t));
    for (int v = 0; v < topology->node_count; v++)
        if (job->send_first[v] < job->send_first[v + 1])
            format_table(&t, topology, v, &text);
    flit_job_destroy(job);
    return banyan_text_take(&text, out, err);
}
