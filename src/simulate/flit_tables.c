/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/flit_tables.c: what the table of a worker's network interface holds, one line per entry.
 *
 *     Op      Flow  Parent  Children   Step  Start   Size
 *     Reduce     3       1  nil           1  49152  16384     send what flow 3 has here to its parent
 *     Reduce     2       2  1             2  32768  16384     ... once child 1 has sent its part
 *     NOP                                 3                   sit out a step of the lockstep counter
 *     Gather     0     nil  1 2           4      0  16384     send flow 0 to the children
 *
 *     Reduce     0     nil  1,2           2      0  16384     the sum of flow 0 ends here
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
    int *root_of; /* by flow: the node whose final sum was listed last, + 1 */
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

/* A Gather that begins at a node which has summed the flow up: the sum is an entry of its own, once. */
static int ends_sum(const tables *t, int transfer, int node)
{
    const banyan_dependency_list *list = &t->job->dependencies->send_after_apply;
    const banyan_transfer *all = t->job->schedule->transfers;

    if (all[transfer].action == BANYAN_ACTION_REDUCE || t->root_of[all[transfer].flow] == node + 1)
        return 0;
    for (size_t i = list->first[transfer]; i < list->first[transfer + 1]; i++)
        if (all[list->item[i]].action == BANYAN_ACTION_REDUCE) {
            t->root_of[all[transfer].flow] = node + 1;
            return 1;
        }
    return 0;
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
            count += 1 + ends_sum(t, t->job->send[at], node);
            at = entry_end(t, at, end);
        }
    }
    return count;
}

banyan_status flit_tables_measure(const flit_job *job, const banyan_flit_settings *settings, int node_count,
                                  int *entries, int64_t *bits, banyan_error *err)
{
    tables t = {job, *settings, node_count, banyan_alloc((size_t)job->schedule->flow_count + 1, sizeof(int))};

    if (!t.root_of)
        return banyan_fail_memory(err);
    *entries = 0;
    for (int v = 0; v < node_count; v++) {
        int count = count_entries(&t, v);

        *entries = count > *entries ? count : *entries;
    }
    *bits = *entries * entry_bits(&t);
    banyan_free(t.root_of);
    return BANYAN_SUCCESS;
}

typedef struct {
    int transfers[64], count;
} sources;

/* Transfers of this kind that the transfer waits for. Additions to the same bytes have an order, so that each
 * waits for the one before: we go back along them. */
static void find_sources(const tables *t, const banyan_dependency_list *list, int transfer,
                         banyan_action action, sources *found)
{
    for (size_t i = list->first[transfer]; i < list->first[transfer + 1]; i++) {
        int other = list->item[i], is_known = found->count == 64;

        for (int k = 0; k < found->count; k++)
            is_known |= found->transfers[k] == other;
        if (is_known || t->job->schedule->transfers[other].action != action)
            continue;
        if (action == BANYAN_ACTION_REDUCE)
            find_sources(t, &t->job->dependencies->apply_after_apply, other, action, found);
        if (found->count < 64)
            found->transfers[found->count++] = other;
    }
}

/* Their nodes (at most 64 of them), or nil. */
static void format_sources(const tables *t, int transfer, banyan_action action, banyan_text *text)
{
    sources found = {{0}, 0};

    find_sources(t, &t->job->dependencies->send_after_apply, transfer, action, &found);
    for (int i = 0; i < found.count; i++)
        banyan_text_add(text, "%s%d", i ? "," : "", t->job->schedule->transfers[found.transfers[i]].src);
    if (!found.count)
        banyan_text_add(text, "nil");
}

static void format_line(const tables *t, const char *op, const char *parent, const char *children, int step,
                        int transfer, banyan_text *text)
{
    banyan_text_add(text, "  %-6s %6d %7s  %-16s %5d %12lld %12lld\n", op,
                    t->job->schedule->transfers[transfer].flow, parent, children, step,
                    (long long)t->job->start[transfer], (long long)t->job->bytes[transfer]);
}

/* The sum that ends here, in the step of its last part. */
static void format_sum(const tables *t, int transfer, banyan_text *text)
{
    const banyan_dependency_list *list = &t->job->dependencies->send_after_apply;
    banyan_text children = BANYAN_TEXT_EMPTY;
    int step = 0;

    format_sources(t, transfer, BANYAN_ACTION_REDUCE, &children);
    for (size_t i = list->first[transfer]; i < list->first[transfer + 1]; i++) {
        const banyan_transfer *part = &t->job->schedule->transfers[list->item[i]];

        if (part->action == BANYAN_ACTION_REDUCE && part->round + 1 > step)
            step = part->round + 1;
    }
    if (children.failed)
        text->failed = 1;
    else
        format_line(t, "Reduce", "nil", children.bytes, step, transfer, text);
    banyan_text_fini(&children);
}

static void format_entry(const tables *t, size_t at, size_t end, banyan_text *text)
{
    const flit_job *job = t->job;
    int transfer = job->send[at];
    const banyan_transfer *first = &job->schedule->transfers[transfer];
    banyan_text from = BANYAN_TEXT_EMPTY, other = BANYAN_TEXT_EMPTY;
    int is_reduce = first->action == BANYAN_ACTION_REDUCE;

    format_sources(t, transfer, first->action, &from);
    if (is_reduce) {
        banyan_text_add(&other, "%d", first->dst);
    } else {
        for (size_t i = at; i < end; i++)
            banyan_text_add(&other, "%s%d", i > at ? "," : "", job->schedule->transfers[job->send[i]].dst);
    }
    if (from.failed || other.failed)
        text->failed = 1;
    else if (is_reduce)
        format_line(t, "Reduce", other.bytes, from.bytes, first->round + 1, transfer, text);
    else
        format_line(t, "Gather", from.bytes, other.bytes, first->round + 1, transfer, text);
    banyan_text_fini(&from);
    banyan_text_fini(&other);
}

static void format_table(const tables *t, const banyan_topology *topology, int node, banyan_text *text)
{
    const flit_job *job = t->job;
    size_t at = job->send_first[node], end = job->send_first[node + 1];
    int round = 0, count = count_entries(t, node);

    /* Counting has listed the sums of this node; they are listed anew. */
    for (int f = 0; f < job->schedule->flow_count; f++)
        t->root_of[f] = 0;
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
        if (ends_sum(t, job->send[at], node))
            format_sum(t, job->send[at], text);
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
    tables t = {job, resolved, topology->node_count,
                banyan_alloc((size_t)schedule->flow_count + 1, sizeof *t.root_of)};

    if (!t.root_of) {
        flit_job_destroy(job);
        return banyan_fail_memory(err);
    }
    banyan_text_add(&text, "schedule tables: %d nodes, %lld bits per entry\n", topology->node_count,
                    (long long)entry_bits(&t));
    for (int v = 0; v < topology->node_count; v++)
        if (job->send_first[v] < job->send_first[v + 1])
            format_table(&t, topology, v, &text);
    banyan_free(t.root_of);
    flit_job_destroy(job);
    return banyan_text_take(&text, out, err);
}
