/* SPDX-License-Identifier: Apache-2.0 */
/* schedule/export_text.c: the rounds as a table for people.
 *
 *     round 0   g1 -> g0   add   pieces 0-3   (1/2)   flow 0
 *               g2 -> g3   add   pieces 4-7   (1/2)   flow 0
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/gcd.h"
#include "core/text.h"
#include "schedule/export.h"

enum { ROUND, FROM, TO, ACTION, PIECES, SHARE, FLOW, COLUMNS };

typedef struct {
    const banyan_schedule *schedule;
    banyan_node_namer node_name;
    const void *context;
    int width[COLUMNS];
} table;

static void name_node(const table *in, int node, char *out, size_t size)
{
    if (in->node_name)
        snprintf(out, size, "%s", in->node_name(in->context, node));
    else
        snprintf(out, size, "%d", node);
}

static void name_share(const banyan_schedule *schedule, const banyan_transfer *t, char *out, size_t size)
{
    int64_t part = schedule->cut[t->first_piece + t->piece_count] - schedule->cut[t->first_piece];
    int64_t common = banyan_gcd(part, schedule->whole);

    if (part == schedule->whole)
        snprintf(out, size, "(all)");
    else
        snprintf(out, size, "(%" PRId64 "/%" PRId64 ")", part / common, schedule->whole / common);
}

static void fill_row(const table *in, const banyan_transfer *t, char cells[COLUMNS][64])
{
    int last = t->first_piece + t->piece_count - 1;

    snprintf(cells[ROUND], 64, "round %d", t->round);
    name_node(in, t->src, cells[FROM], 64);
    name_node(in, t->dst, cells[TO], 64);
    snprintf(cells[ACTION], 64, "%s", t->action == BANYAN_ACTION_REDUCE ? "add" : "copy");
    if (t->piece_count == 1)
        snprintf(cells[PIECES], 64, "piece %d", last);
    else
        snprintf(cells[PIECES], 64, "pieces %d-%d", t->first_piece, last);
    name_share(in->schedule, t, cells[SHARE], 64);
    snprintf(cells[FLOW], 64, "flow %d", t->flow);
}

static void add_row(banyan_text *text, const table *in, const banyan_transfer *t, int is_first)
{
    char cells[COLUMNS][64];

    fill_row(in, t, cells);
    if (!is_first)
        cells[ROUND][0] = 0; /* said above */
    banyan_text_add(text, "%-*s   %*s -> %-*s   %-*s   %-*s   %-*s   %s\n", in->width[ROUND], cells[ROUND],
                    in->width[FROM], cells[FROM], in->width[TO], cells[TO], in->width[ACTION], cells[ACTION],
                    in->width[PIECES], cells[PIECES], in->width[SHARE], cells[SHARE], cells[FLOW]);
}

static void measure(table *in, size_t rows)
{
    char cells[COLUMNS][64];

    for (size_t i = 0; i < rows; i++) {
        fill_row(in, &in->schedule->transfers[i], cells);
        for (int c = 0; c < COLUMNS; c++)
            if ((int)strlen(cells[c]) > in->width[c])
                in->width[c] = (int)strlen(cells[c]);
    }
}

banyan_status banyan_schedule_export_text(const banyan_schedule *schedule, banyan_node_namer node_name,
                                          const void *context, size_t max_rows, char **out, banyan_error *err)
{
    size_t count = schedule->transfer_count, rows = count < max_rows ? count : max_rows;
    table in = {.schedule = schedule, .node_name = node_name, .context = context};
    banyan_text text = BANYAN_TEXT_EMPTY;

    *out = NULL;
    measure(&in, rows);
    banyan_text_add(&text, "%s of %d rank%s: %d piece%s, %zu transfer%s in %d round%s\n",
                    banyan_collective_name(schedule->collective), schedule->active_count,
                    schedule->active_count == 1 ? "" : "s", schedule->piece_count,
                    schedule->piece_count == 1 ? "" : "s", count, count == 1 ? "" : "s",
                    schedule->round_count, schedule->round_count == 1 ? "" : "s");
    for (size_t i = 0; i < rows; i++)
        add_row(&text, &in, &schedule->transfers[i],
                !i || schedule->transfers[i - 1].round != schedule->transfers[i].round);
    if (rows < count)
        banyan_text_add(&text, "... and %zu more\n", count - rows);
    return banyan_text_take(&text, out, err);
}
