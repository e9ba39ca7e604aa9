/* SPDX-License-Identifier: Apache-2.0 */
/* topology/draw_text.c: a network on a terminal: a grid as a grid, whatever hangs together like a tree as a
 * tree, and anything else as a list of neighbours. Things that are the same are drawn together. */
#include "topology/draw_text.h"

#include <string.h>

#include "core/alloc.h"
#include "topology/draw.h"

/* Enough to see the pattern; a network of thousands of different nodes has a text form for the rest. */
static const int most_lines = 96;

static void add_ids(banyan_text *text, const banyan_topology *topology, const int *ids, int count)
{
    banyan_cables_add_names(text, topology, ids, count, 12);
}

/* The peers of v that have this cable, leaving out v's own group. */
static void add_peers(const banyan_cables *cables, int v, const banyan_cable *like, int *ids,
                      banyan_text *text)
{
    int count = 0;

    for (int i = cables->first[v]; i < cables->first[v + 1]; i++)
        if (cables->group_of[cables->cables[i].peer] != cables->group_of[v] &&
            banyan_cables_alike(&cables->cables[i], like))
            ids[count++] = cables->cables[i].peer;
    add_ids(text, cables->topology, ids, count);
}

static int is_first_of_its_kind(const banyan_cables *cables, int v, int cable)
{
    const banyan_cable *wanted = &cables->cables[cable];

    for (int i = cables->first[v]; i < cable; i++)
        if (cables->group_of[cables->cables[i].peer] != cables->group_of[v] &&
            banyan_cables_alike(&cables->cables[i], wanted))
            return 0;
    return cables->group_of[wanted->peer] != cables->group_of[v];
}

static void add_neighbours(const banyan_cables *cables, int group, int *ids, banyan_text *text)
{
    int v = cables->start[group], parts = 0;
    const banyan_cable *inside =
        cables->start[group + 1] > v + 1 ? banyan_cables_between(cables, v, v + 1) : NULL;

    if (inside) {
        banyan_text_add(text, "each with each ");
        banyan_cables_add_label(text, inside);
        parts++;
    }
    for (int i = cables->first[v]; i < cables->first[v + 1]; i++) {
        if (!is_first_of_its_kind(cables, v, i))
            continue;
        banyan_text_add(text, "%s", parts++ ? "; " : "");
        banyan_cables_add_label(text, &cables->cables[i]);
        banyan_text_add(text, " ── ");
        add_peers(cables, v, &cables->cables[i], ids, text);
    }
    if (!parts)
        banyan_text_add(text, "no links");
}

void banyan_draw_text_list(const banyan_cables *cables, banyan_text *text)
{
    int *ids = banyan_alloc((size_t)cables->topology->node_count, sizeof *ids);
    int lines = cables->group_count <= most_lines ? cables->group_count : most_lines - 1;
    int width = 0;

    if (!ids) {
        text->failed = 1;
        return;
    }
    for (int pass = 0; pass < 2; pass++)
        for (int group = 0; group < lines && !text->failed; group++) {
            banyan_text label = BANYAN_TEXT_EMPTY;

            banyan_cables_add_group(cables, group, NULL, &label);
            if (label.failed)
                text->failed = 1;
            else if (pass == 0)
                width = (int)label.length > width ? (int)label.length : width;
            else
                banyan_text_add(text, "  %-*s  ", width, label.bytes);
            banyan_text_fini(&label);
            if (pass == 0)
                continue;
            add_neighbours(cables, group, ids, text);
            banyan_text_add(text, "\n");
        }
    if (lines < cables->group_count)
        banyan_text_add(text, "  … and %d more\n", cables->group_count - lines);
    banyan_free(ids);
}

static void add_able(const banyan_topology *topology, int can_multicast, int can_reduce, banyan_text *text)
{
    int *ids = banyan_alloc((size_t)topology->node_count, sizeof *ids), count = 0;

    if (!ids) {
        text->failed = 1;
        return;
    }
    for (int v = 0; v < topology->node_count; v++)
        if (topology->nodes[v].kind == BANYAN_NODE_SWITCH &&
            !topology->nodes[v].can_multicast == !can_multicast &&
            !topology->nodes[v].can_reduce == !can_reduce)
            ids[count++] = v;
    if (count) {
        banyan_text_add(text, "switches that %s%s%s: ", can_multicast ? "copy" : "",
                        can_multicast && can_reduce ? " and " : "", can_reduce ? "add" : "");
        add_ids(text, topology, ids, count);
        banyan_text_add(text, "\n");
    }
    banyan_free(ids);
}

banyan_status banyan_topology_draw_text(const banyan_topology *topology, char **out, banyan_error *err)
{
    banyan_text text = BANYAN_TEXT_EMPTY;
    banyan_cables cables;
    banyan_status status;

    *out = NULL;
    status = banyan_cables_find(topology, &cables, err);
    if (status)
        return status;
    banyan_cables_add_title(&text, topology);
    banyan_text_add(&text, "\n");
    if (!banyan_draw_text_grid(&cables, &text) && !text.failed && !banyan_draw_text_tree(&cables, &text) &&
        !text.failed)
        banyan_draw_text_list(&cables, &text);
    add_able(topology, 1, 0, &text);
    add_able(topology, 0, 1, &text);
    add_able(topology, 1, 1, &text);
    banyan_cables_fini(&cables);
    return banyan_text_take(&text, out, err);
}
