/* SPDX-License-Identifier: Apache-2.0 */
/* topology/draw_text_grid.c: grids as grids, the last two dimensions on paper and the others as slices.
 *
 *     │    │    │
 *   ─ g0 ─ g1 ─ g2 ─      the ends that stick out meet each other (torus)
 *     │    ╎    │         ╎ and ╌ are slower or faster than most cables are
 *   ─ g3 ─ g4 ╳ g5 ─      ╳ is a cable that is missing
 *     │    │    │
 */
#include <string.h>

#include "core/alloc.h"
#include "topology/draw_text.h"

enum { MAX_COLUMNS = 20, MAX_ROWS = 40, MAX_SLICES = 8, MAX_ODD = 12, TAIL = 2 };

typedef struct {
    const banyan_cables *cables;
    const banyan_grid *grid;
    banyan_cable usual; /* what most cables are */
    int rows, columns, slices;
    int width; /* of a name */
    banyan_text *text;
} sheet;

/* The cable from worker i one step up in dimension d (round the end where that wraps); *exists says whether
 * the grid has such a neighbour at all. */
static const banyan_cable *step_up(const sheet *page, int i, int d, int *neighbour)
{
    const banyan_topology *topology = page->cables->topology;
    const banyan_grid *grid = page->grid;
    int stride = 1, place;

    for (int k = d + 1; k < grid->dimension_count; k++)
        stride *= grid->extent[k];
    place = i / stride % grid->extent[d];
    *neighbour = -1;
    if (place + 1 < grid->extent[d])
        *neighbour = i + stride;
    else if (grid->wraps[d] && grid->extent[d] > 2)
        *neighbour = i - place * stride;
    if (*neighbour < 0)
        return NULL;
    return banyan_cables_between(page->cables, topology->workers[i], topology->workers[*neighbour]);
}

/* The first bandwidth that at least half of the cables have; Boyer and Moore's vote. */
static banyan_cable find_usual(const banyan_cables *cables)
{
    banyan_cable usual = {0};
    int votes = 0;

    for (int i = 0; i < cables->first[cables->topology->node_count]; i++) {
        if (!votes)
            usual = cables->cables[i];
        votes += banyan_cables_alike(&usual, &cables->cables[i]) ? 1 : -1;
    }
    return usual;
}

static const char *mark(const sheet *page, int i, int d, const char *same, const char *other)
{
    int neighbour;
    const banyan_cable *cable = step_up(page, i, d, &neighbour);

    if (neighbour < 0)
        return " ";
    if (!cable)
        return "╳";
    return banyan_cables_alike(cable, &page->usual) ? same : other;
}

static int is_shown(int i, int count, int most)
{
    return count <= most || i < most - TAIL || i >= count - TAIL;
}

static void end_line(banyan_text *text)
{
    while (text->length && text->bytes[text->length - 1] == ' ')
        text->bytes[--text->length] = 0;
    banyan_text_add(text, "\n");
}

/* One line of uprights: the cables that lead down from this row. */
static void add_uprights(const sheet *page, int base, int row, int d)
{
    int skipped = 0;

    if (d < 0)
        return;
    banyan_text_add(page->text, "   ");
    for (int c = 0; c < page->columns; c++) {
        if (!is_shown(c, page->columns, MAX_COLUMNS)) {
            banyan_text_add(page->text, "%s", skipped++ ? "" : "    ");
            continue;
        }
        banyan_text_add(page->text, " %s%*s", mark(page, base + row * page->columns + c, d, "│", "╎"),
                        page->width + 1, "");
    }
    end_line(page->text);
}

static void add_row(const sheet *page, int base, int row)
{
    const banyan_topology *topology = page->cables->topology;
    int d = page->grid->dimension_count - 1, skipped = 0;
    int last = base + (row + 1) * page->columns - 1;

    banyan_text_add(page->text, "  %s ", mark(page, last, d, "─", "╌"));
    for (int c = 0; c < page->columns; c++) {
        int i = base + row * page->columns + c;
        const char *name = banyan_topology_node_name(topology, topology->workers[i]);

        if (!is_shown(c, page->columns, MAX_COLUMNS)) {
            banyan_text_add(page->text, "%s", skipped++ ? "" : "⋯ ─ ");
            continue;
        }
        banyan_text_add(page->text, "%s ", name);
        for (int pad = (int)strlen(name); pad < page->width; pad++)
            banyan_text_add(page->text, "%s", c + 1 < page->columns ? mark(page, i, d, "─", "╌") : "");
        banyan_text_add(page->text, "%s%s", mark(page, i, d, "─", "╌"), c + 1 < page->columns ? " " : "");
    }
    end_line(page->text);
}

static void add_slice(const sheet *page, int slice)
{
    int base = slice * page->rows * page->columns, d = page->grid->dimension_count - 2, skipped = 0;
    int closed = d >= 0 && page->grid->wraps[d] && page->rows > 2;

    if (closed)
        add_uprights(page, base, page->rows - 1, d);
    for (int row = 0; row < page->rows && !page->text->failed; row++) {
        if (!is_shown(row, page->rows, MAX_ROWS)) {
            banyan_text_add(page->text, "%s", skipped++ ? "" : "    ⋮\n");
            continue;
        }
        add_row(page, base, row);
        if (row + 1 < page->rows || closed)
            add_uprights(page, base, row, d);
    }
}

static void add_slice_title(const sheet *page, int slice)
{
    int stride = page->slices;

    banyan_text_add(page->text, "  slice ");
    for (int d = 0; d < page->grid->dimension_count - 2; d++) {
        stride /= page->grid->extent[d];
        banyan_text_add(page->text, "%s%d", d ? "," : "", slice / stride % page->grid->extent[d]);
    }
    banyan_text_add(page->text, "\n");
}

static void add_pair(const sheet *page, int a, int b)
{
    const banyan_topology *topology = page->cables->topology;

    banyan_text_add(page->text, "%s-%s", banyan_topology_node_name(topology, topology->workers[a]),
                    banyan_topology_node_name(topology, topology->workers[b]));
}

/* Names the cables that are missing or are not like most. */
static void add_odd(const sheet *page)
{
    int odd = 0;

    for (int i = 0; i < page->cables->topology->worker_count; i++)
        for (int d = 0; d < page->grid->dimension_count; d++) {
            int neighbour;
            const banyan_cable *cable = step_up(page, i, d, &neighbour);

            if (neighbour < 0 || (cable && banyan_cables_alike(cable, &page->usual)) || odd++ >= MAX_ODD)
                continue;
            banyan_text_add(page->text, "  %s ", cable ? "╌" : "╳");
            add_pair(page, i, neighbour);
            banyan_text_add(page->text, " ");
            if (cable)
                banyan_cables_add_label(page->text, cable);
            banyan_text_add(page->text, "%s\n", cable ? "" : "is missing");
        }
    if (odd > MAX_ODD)
        banyan_text_add(page->text, "  … and %d more that differ\n", odd - MAX_ODD);
}

/* Whether every cable is one between neighbours on the grid. */
static int is_only_grid(const sheet *page)
{
    int workers = page->cables->topology->worker_count, on_grid = 0;

    for (int i = 0; i < workers; i++)
        for (int d = 0; d < page->grid->dimension_count; d++) {
            int neighbour;

            on_grid += step_up(page, i, d, &neighbour) != NULL;
        }
    return page->cables->topology->node_count == workers && 2 * on_grid == page->cables->first[workers];
}

static void add_notes(const sheet *page)
{
    int wraps = 0;

    for (int d = 0; d < page->grid->dimension_count; d++)
        wraps |= page->grid->wraps[d] && page->grid->extent[d] > 2;
    if (page->cables->topology->link_count) {
        banyan_text_add(page->text, "  cables: ");
        banyan_cables_add_label(page->text, &page->usual);
        banyan_text_add(page->text, "%s%s\n", wraps ? "; ends meet" : "",
                        page->slices > 1 ? "; workers at the same place of neighbouring slices are joined"
                                         : "");
    }
    add_odd(page);
}

int banyan_draw_text_grid(const banyan_cables *cables, banyan_text *text)
{
    const banyan_grid *grid = &cables->topology->grid;
    sheet page = {.cables = cables, .grid = grid, .rows = 1, .slices = 1, .text = text};
    int dimensions = grid->dimension_count;

    if (!dimensions || !is_only_grid(&page))
        return 0;
    page.usual = find_usual(cables);
    page.columns = grid->extent[dimensions - 1];
    page.rows = dimensions > 1 ? grid->extent[dimensions - 2] : 1;
    page.slices = cables->topology->worker_count / page.rows / page.columns;
    for (int v = 0; v < cables->topology->node_count; v++) {
        int length = (int)strlen(banyan_topology_node_name(cables->topology, v));

        page.width = length > page.width ? length : page.width;
    }
    for (int slice = 0; slice < page.slices && slice < MAX_SLICES; slice++) {
        if (page.slices > 1)
            add_slice_title(&page, slice);
        add_slice(&page, slice);
    }
    if (page.slices > MAX_SLICES)
        banyan_text_add(text, "  … and %d more slices\n", page.slices - MAX_SLICES);
    add_notes(&page);
    return 1;
}
