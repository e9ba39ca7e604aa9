/* SPDX-License-Identifier: Apache-2.0 */
/* schedule/export_dot.c: a schedule as a DOT graph for Graphviz: one cluster a flow, one edge a transfer,
 * labelled with its round and pieces; additions are solid, copies dashed. */
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/text.h"
#include "schedule/export.h"

typedef struct {
    const banyan_schedule *schedule;
    banyan_node_namer node_name;
    const void *context;
    banyan_text text;
    int *seen; /* by node: the last flow that named it, plus one */
} artist;

/* DOT's quotes: only the quote and the backslash are special. */
static void add_quoted(banyan_text *text, const char *string)
{
    banyan_text_add_bytes(text, "\"", 1);
    for (; *string; string++) {
        if (*string == '"' || *string == '\\')
            banyan_text_add_bytes(text, "\\", 1);
        banyan_text_add_bytes(text, string, 1);
    }
    banyan_text_add_bytes(text, "\"", 1);
}

static void add_node(artist *in, int node, int flow)
{
    char number[16];

    if (in->seen[node] == flow + 1)
        return;
    in->seen[node] = flow + 1;
    snprintf(number, sizeof number, "%d", node);
    banyan_text_add(&in->text, "    f%d_n%d [label=", flow, node);
    add_quoted(&in->text, in->node_name ? in->node_name(in->context, node) : number);
    banyan_text_add(&in->text, "];\n");
}

static void add_edge(artist *in, const banyan_transfer *t)
{
    banyan_text_add(&in->text, "    f%d_n%d -> f%d_n%d [label=\"%d: %d", t->flow, t->src, t->flow, t->dst,
                    t->round, t->first_piece);
    if (t->piece_count > 1)
        banyan_text_add(&in->text, "-%d", t->first_piece + t->piece_count - 1);
    banyan_text_add(&in->text, "\"%s];\n", t->action == BANYAN_ACTION_COPY ? ", style=dashed" : "");
}

/* order: transfers by flow, otherwise as they are. */
static void add_flows(artist *in, const size_t *order)
{
    const banyan_transfer *transfers = in->schedule->transfers;

    for (size_t i = 0; i < in->schedule->transfer_count; i++) {
        const banyan_transfer *t = &transfers[order[i]];

        if (!i || transfers[order[i - 1]].flow != t->flow)
            banyan_text_add(&in->text, "%s  subgraph cluster_%d {\n    label=\"flow %d\";\n",
                            i ? "  }\n" : "", t->flow, t->flow);
        add_node(in, t->src, t->flow);
        add_node(in, t->dst, t->flow);
        add_edge(in, t);
    }
    if (in->schedule->transfer_count)
        banyan_text_add(&in->text, "  }\n");
}

/* Merge sort by flow, from one array to the other and back; returns the one that holds the result. */
static size_t *sort_by_flow(const banyan_transfer *transfers, size_t *order, size_t *spare, size_t count)
{
    for (size_t i = 0; i < count; i++)
        order[i] = i;
    for (size_t width = 1; width < count; width *= 2) {
        size_t *swap = order;

        for (size_t low = 0; low < count; low += 2 * width) {
            size_t middle = low + width < count ? low + width : count;
            size_t high = low + 2 * width < count ? low + 2 * width : count;
            size_t a = low, b = middle;

            for (size_t k = low; k < high; k++) {
                int takes_a =
                    b >= high || (a < middle && transfers[order[a]].flow <= transfers[order[b]].flow);

                spare[k] = takes_a ? order[a++] : order[b++];
            }
        }
        order = spare;
        spare = swap;
    }
    return order;
}

banyan_status banyan_schedule_export_dot(const banyan_schedule *schedule, banyan_node_namer node_name,
                                         const void *context, char **out, banyan_error *err)
{
    artist in = {.schedule = schedule, .node_name = node_name, .context = context};
    size_t count = schedule->transfer_count, *order = banyan_alloc(2 * count, sizeof *order);
    banyan_status status;

    *out = NULL;
    in.seen = banyan_alloc((size_t)schedule->node_count, sizeof *in.seen);
    if (!order || !in.seen) {
        banyan_free(order);
        banyan_free(in.seen);
        return banyan_fail_memory(err);
    }
    banyan_text_add(&in.text,
                    "digraph schedule {\n  label=\"%s, %d ranks: round: pieces; dashed is a copy\";\n",
                    banyan_collective_name(schedule->collective), schedule->active_count);
    add_flows(&in, sort_by_flow(schedule->transfers, order, order + count, count));
    banyan_text_add(&in.text, "}\n");
    status = banyan_text_take(&in.text, out, err);
    banyan_free(order);
    banyan_free(in.seen);
    return status;
}
