/* SPDX-License-Identifier: Apache-2.0 */
/* topology/draw_svg.c: a network as a picture that needs nothing else: no fonts, no scripts, no files.
 *
 * Cables are as wide as their bandwidth suggests, and have a colour each where there are several bandwidths;
 * a legend names them. The colours are Okabe and Ito's, which people with any common colour vision can tell
 * apart. The page is light or dark as the reader's screen is. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "topology/draw.h"
#include "topology/layout.h"

enum { MAX_NODES = 4096, MAX_LINES = 20000, MAX_CLASSES = 6, MAX_LABELS = 40, MAX_SINGLE_LABELS = 12 };

/* All cables with the same bandwidths between two boxes. */
typedef struct {
    int a, b; /* boxes, a <= b */
    double high, low;
    int count;
} line;

typedef struct {
    double high, low; /* bytes_per_s of the faster and of the slower direction */
} class;

typedef struct {
    banyan_layout layout;
    const banyan_cables *cables;
    line *lines;
    int line_count;
    class classes[MAX_CLASSES];
    int class_count;
    int has_more_classes;
    double bows_above, bows_below; /* room for cables between boxes of one row */
    banyan_text text;
} picture;

static const char *const class_colours[MAX_CLASSES] = {"#009e73", "#cc79a7", "#d55e00",
                                                       "#56b4e9", "#e69f00", "#0072b2"};

static int by_ends(const void *a, const void *b)
{
    const line *x = a, *y = b;

    if (x->a != y->a)
        return x->a < y->a ? -1 : 1;
    if (x->b != y->b)
        return x->b < y->b ? -1 : 1;
    if (x->high != y->high)
        return x->high > y->high ? -1 : 1;
    return (x->low < y->low) - (x->low > y->low);
}

static int by_bandwidth(const void *a, const void *b)
{
    const line *x = a, *y = b;

    if (x->high != y->high)
        return x->high > y->high ? -1 : 1;
    return (x->low < y->low) - (x->low > y->low);
}

static void merge_lines(picture *p)
{
    int kept = 0;

    qsort(p->lines, (size_t)p->line_count, sizeof *p->lines, by_ends);
    for (int i = 0; i < p->line_count; i++) {
        if (kept && !by_ends(&p->lines[kept - 1], &p->lines[i]))
            p->lines[kept - 1].count++;
        else
            p->lines[kept++] = p->lines[i];
    }
    p->line_count = kept;
}

static void find_lines(picture *p)
{
    const banyan_cables *cables = p->cables;

    for (int v = 0; v < cables->topology->node_count; v++)
        for (int i = cables->first[v]; i < cables->first[v + 1]; i++) {
            const banyan_cable *cable = &cables->cables[i];
            int a = p->layout.box_of[v], b = p->layout.box_of[cable->peer];

            if (v < cable->peer)
                p->lines[p->line_count++] =
                    (line){a < b ? a : b, a < b ? b : a, fmax(cable->out_bytes_per_s, cable->in_bytes_per_s),
                           fmin(cable->out_bytes_per_s, cable->in_bytes_per_s), 1};
        }
    qsort(p->lines, (size_t)p->line_count, sizeof *p->lines, by_bandwidth);
    for (int i = 0; i < p->line_count; i++) {
        if (i && !by_bandwidth(&p->lines[i], &p->lines[i - 1]))
            continue;
        if (p->class_count < MAX_CLASSES)
            p->classes[p->class_count++] = (class){p->lines[i].high, p->lines[i].low};
        else
            p->has_more_classes = 1;
    }
    merge_lines(p);
}

static int class_of(const picture *p, const line *l)
{
    for (int i = 0; i < p->class_count; i++)
        if (p->classes[i].high == l->high && p->classes[i].low == l->low)
            return i;
    return p->class_count - 1;
}

static double width_of(const picture *p, double bytes_per_s)
{
    double crowd = fmax(0.12, fmin(1, sqrt(30.0 / (p->line_count + 1))));

    return 0.6 + (0.4 + 2.6 * sqrt(bytes_per_s / p->classes[0].high)) * crowd;
}

static void add_style(picture *p, double width, double height)
{
    banyan_text *text = &p->text;

    banyan_text_add(text,
                    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" "
                    "height=\"%.0f\" font-family=\"system-ui, sans-serif\" font-size=\"%.0f\">\n<title>",
                    width, height, width, height, p->layout.font);
    banyan_text_add_xml(text, p->cables->topology->name);
    banyan_text_add(text, "</title>\n<style>\n"
                          ".page{fill:#ffffff}.ink{fill:#333333}.soft{fill:#666666}\n"
                          ".worker{fill:#0072b2}.switch{fill:#e69f00}.alone{fill:#888888}\n"
                          ".name{fill:#ffffff;text-anchor:middle}.dark{fill:#000000}\n"
                          ".host{fill:none;stroke:#999999;stroke-dasharray:4 3}\n"
                          ".cable{fill:none;stroke-linecap:round}.c{stroke:#8a8a8a}\n"
                          ".label{text-anchor:middle;paint-order:stroke;stroke:#ffffff;stroke-width:4px;"
                          "stroke-linejoin:round;fill:#333333}\n");
    for (int i = 0; i < p->class_count; i++)
        banyan_text_add(text, ".c%d{stroke:%s;stroke-width:%.1f}", i,
                        p->class_count > 1 ? class_colours[i] : "#8a8a8a", width_of(p, p->classes[i].high));
    banyan_text_add(text,
                    "\n@media (prefers-color-scheme: dark){.page{fill:#15181c}.ink{fill:#dddddd}"
                    ".soft{fill:#aaaaaa}.label{stroke:#15181c;fill:#dddddd}}\n</style>\n"
                    "<rect class=\"page\" width=\"%.0f\" height=\"%.0f\" rx=\"6\"/>\n",
                    width, height);
}

static void add_line(picture *p, const line *l, double x1, double y1, double x2, double y2)
{
    banyan_text_add(&p->text, "<path class=\"cable c%d\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n", class_of(p, l), x1,
                    y1, x2, y2);
}

/* A bow between two boxes of one row: below workers, above switches. */
static void add_bow(picture *p, const line *l, const banyan_layout_box *a, const banyan_layout_box *b)
{
    double side = a->row ? -1 : 1, y1 = a->y + side * a->height / 2, y2 = b->y + side * b->height / 2;
    double reach = fmin(fabs(a->x - b->x) * 0.28 + p->layout.font, 3.2 * p->layout.font);

    banyan_text_add(&p->text, "<path class=\"cable c%d\" d=\"M%.1f %.1fQ%.1f %.1f %.1f %.1f\"/>\n",
                    class_of(p, l), a->x, y1, (a->x + b->x) / 2, (y1 + y2) / 2 + side * 2 * reach, b->x, y2);
}

/* On a grid a cable leads to a neighbour, round the end, to another slice (told below), or anywhere. */
static void add_grid_line(picture *p, const line *l, const banyan_layout_box *a, const banyan_layout_box *b)
{
    const banyan_layout *layout = &p->layout;
    int per_slice = layout->box_count / layout->slice_count;
    double dx = b->x - a->x, dy = b->y - a->y;
    double across = layout->cell_width + layout->gap, down = layout->cell_height + layout->gap;
    double stub_x = layout->cell_width / 2 + layout->gap * 0.55;
    double stub_y = layout->cell_height / 2 + layout->gap * 0.5;

    if (l->a / per_slice != l->b / per_slice)
        return;
    if (fabs(dy) < 1 && dx > 1.5 * across) {
        add_line(p, l, a->x, a->y, a->x - stub_x, a->y);
        add_line(p, l, b->x, b->y, b->x + stub_x, b->y);
    } else if (fabs(dx) < 1 && dy > 1.5 * down) {
        add_line(p, l, a->x, a->y, a->x, a->y - stub_y);
        add_line(p, l, b->x, b->y, b->x, b->y + stub_y);
    } else {
        add_line(p, l, a->x, a->y, b->x, b->y);
    }
}

static void add_lines(picture *p)
{
    for (int i = 0; i < p->line_count; i++) {
        const line *l = &p->lines[i];
        const banyan_layout_box *a = &p->layout.boxes[l->a], *b = &p->layout.boxes[l->b];

        if (l->a == l->b)
            continue;
        if (p->layout.kind == BANYAN_LAYOUT_GRID)
            add_grid_line(p, l, a, b);
        else if (p->layout.kind == BANYAN_LAYOUT_LAYERS && a->row == b->row)
            add_bow(p, l, a, b);
        else if (p->layout.kind == BANYAN_LAYOUT_LAYERS && a->row < b->row)
            add_line(p, l, a->x, a->y - a->height / 2, b->x, b->y);
        else
            add_line(p, l, a->x, a->y, b->x, b->y);
    }
}

/* Labels sit where the cable leaves the lower box: there cables are furthest apart. */
static void add_labels(picture *p)
{
    double font = p->layout.font;

    if (p->layout.kind != BANYAN_LAYOUT_LAYERS || p->line_count > MAX_LABELS)
        return;
    for (int i = 0; i < p->line_count; i++) {
        const line *l = &p->lines[i];
        const banyan_layout_box *a = &p->layout.boxes[l->a], *b = &p->layout.boxes[l->b];
        double top = a->y - a->height / 2, share = 0.42;

        /* '16 × 100 Gb/s' would run into its neighbour. */
        if (!a->row && l->count > 1 && a->width < 5 * font)
            continue;
        /* A cable past other switches has no place of its own for one. */
        if (b->row > a->row + 1)
            continue;
        if (a->row >= b->row || (l->count == 1 && (!a->row || p->line_count > MAX_SINGLE_LABELS)))
            continue;
        banyan_text_add(&p->text, "<text class=\"label\" x=\"%.1f\" y=\"%.1f\" font-size=\"%.0f\">",
                        a->x + share * (b->x - a->x), top + share * (b->y - top) + font * 0.35, font * 0.85);
        if (l->count > 1)
            banyan_text_add(&p->text, "%d × ", l->count);
        banyan_cables_add_bandwidth(&p->text, l->high);
        banyan_text_add(&p->text, "</text>\n");
    }
}

static void add_name(picture *p, int v, double x, double y)
{
    const banyan_topology *topology = p->cables->topology;

    banyan_text_add(&p->text, "<text class=\"name%s\" x=\"%.1f\" y=\"%.1f\">",
                    topology->nodes[v].kind == BANYAN_NODE_SWITCH ? " dark" : "", x,
                    y + p->layout.font * 0.35);
    banyan_text_add_xml(&p->text, banyan_topology_node_name(topology, v));
    banyan_text_add(&p->text, "</text>\n");
}

static void add_node(picture *p, int v, double x, double y, double width, double height)
{
    const banyan_cables *cables = p->cables;
    int is_switch = cables->topology->nodes[v].kind == BANYAN_NODE_SWITCH;
    int is_alone = cables->first[v] == cables->first[v + 1];

    banyan_text_add(&p->text,
                    "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"%.1f\"/>\n",
                    is_alone    ? "alone"
                    : is_switch ? "switch"
                                : "worker",
                    x - width / 2, y - height / 2, width, height, is_switch ? height / 2 : 3.0);
    add_name(p, v, x, y);
}

static void add_boxes(picture *p)
{
    const banyan_layout *layout = &p->layout;

    for (int b = 0; b < layout->box_count; b++) {
        const banyan_layout_box *box = &layout->boxes[b];
        double inset = box->count > 1 ? 2 : 0, x, y;

        for (int i = 0; i < box->count; i++) {
            banyan_layout_place_member(layout, box, i, &x, &y);
            add_node(p, layout->members[box->first + i], x, y, layout->cell_width - inset,
                     layout->cell_height - inset);
        }
    }
}

/* The frame around workers of one host that stand side by side, with its name below. */
static void add_frame(picture *p, int first, int last)
{
    const banyan_layout *layout = &p->layout;
    const banyan_topology *topology = p->cables->topology;
    const banyan_layout_box *a = &layout->boxes[first], *b = &layout->boxes[last];
    double left = a->x - a->width / 2, right = b->x + b->width / 2, edge = layout->font * 0.45;
    double top = a->y - a->height / 2, height = a->height > b->height ? a->height : b->height;

    banyan_text_add(&p->text,
                    "<rect class=\"host\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"5\"/>\n",
                    left - edge, top - edge, right - left + 2 * edge, height + 2 * edge);
    banyan_text_add(&p->text, "<text class=\"soft\" text-anchor=\"middle\" x=\"%.1f\" y=\"%.1f\">",
                    (left + right) / 2, top + height + edge + layout->font * 1.1 + p->bows_below);
    banyan_text_add_xml(&p->text,
                        banyan_topology_host_name(topology, topology->nodes[layout->members[a->first]].host));
    banyan_text_add(&p->text, "</text>\n");
}

static int host_of(const picture *p, int b)
{
    const banyan_layout_box *box = &p->layout.boxes[b];
    const banyan_topology *topology = p->cables->topology;
    int host = topology->nodes[p->layout.members[box->first]].host;

    for (int i = 1; i < box->count; i++)
        if (topology->nodes[p->layout.members[box->first + i]].host != host)
            return -1;
    return box->row ? -1 : host;
}

static void add_frames(picture *p)
{
    if (p->layout.kind != BANYAN_LAYOUT_LAYERS)
        return;
    for (int b = 0; b < p->layout.box_count;) {
        int last = b, host = host_of(p, b);

        while (last + 1 < p->layout.box_count && host >= 0 && host_of(p, last + 1) == host)
            last++;
        if (host >= 0)
            add_frame(p, b, last);
        b = last + 1;
    }
}

static void add_slice_titles(picture *p)
{
    const banyan_layout *layout = &p->layout;

    for (int slice = 0; slice < layout->slice_count && layout->slice_count > 1; slice++)
        banyan_text_add(&p->text, "<text class=\"soft\" x=\"%.1f\" y=\"%.1f\">slice %d</text>\n",
                        slice % layout->slice_columns * layout->slice_width + 1.5 * layout->gap,
                        slice / layout->slice_columns * layout->slice_height + 1.4 * layout->font, slice);
}

static void add_class_label(picture *p, const class *c)
{
    banyan_cable cable = {0, c->high, c->low};

    banyan_cables_add_label(&p->text, &cable);
}

/* Bows rise above the highest row and hang below the lowest. */
static void make_room_for_bows(picture *p)
{
    for (int i = 0; i < p->line_count && p->layout.kind == BANYAN_LAYOUT_LAYERS; i++) {
        const banyan_layout_box *a = &p->layout.boxes[p->lines[i].a], *b = &p->layout.boxes[p->lines[i].b];

        if (a != b && a->row == b->row && a->row)
            p->bows_above = 2.2 * p->layout.font;
        if (a != b && a->row == b->row && !a->row)
            p->bows_below = 3.4 * p->layout.font;
    }
}

static int legend_rows(const picture *p)
{
    int insides = 0;

    for (int i = 0; i < p->line_count; i++)
        insides |= p->lines[i].a == p->lines[i].b;
    return p->class_count + p->has_more_classes + insides + (p->layout.slice_count > 1);
}

static void add_note(picture *p, double y, const char *note)
{
    banyan_text_add(&p->text, "<text class=\"ink\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", 1.5 * p->layout.font,
                    y, note);
}

static void add_legend(picture *p, double y)
{
    double font = p->layout.font, row = 1.7 * font;
    int insides = 0;

    for (int i = 0; i < p->class_count; i++, y += row) {
        banyan_text_add(&p->text, "<path class=\"cable c%d\" d=\"M%.1f %.1fh%.1f\"/>\n", i, 1.5 * font,
                        y - font * 0.35, 2.5 * font);
        banyan_text_add(&p->text, "<text class=\"ink\" x=\"%.1f\" y=\"%.1f\">", 4.8 * font, y);
        add_class_label(p, &p->classes[i]);
        banyan_text_add(&p->text, "</text>\n");
    }
    if (p->has_more_classes) {
        add_note(p, y, "there are more bandwidths, drawn like the slowest of these");
        y += row;
    }
    for (int i = 0; i < p->line_count; i++)
        insides |= p->lines[i].a == p->lines[i].b;
    if (insides) {
        add_note(p, y, "workers in one block are joined to each other as well");
        y += row;
    }
    if (p->layout.slice_count > 1)
        add_note(p, y, "workers at the same place of neighbouring slices are joined as well");
}

static void write_picture(picture *p)
{
    banyan_text title = BANYAN_TEXT_EMPTY;
    double font = p->layout.font, head, foot = (1.7 * legend_rows(p) + 1.2) * font, width;

    make_room_for_bows(p);
    head = 2.6 * font + p->bows_above;
    foot += p->bows_below;
    banyan_cables_add_title(&title, p->cables->topology);
    width = fmax(p->layout.width, 0.58 * font * (double)title.length + 3 * font);
    add_style(p, width, head + p->layout.height + foot);
    banyan_text_add(&p->text, "<text class=\"ink\" x=\"%.1f\" y=\"%.1f\">", 1.5 * font, 1.9 * font);
    if (title.failed)
        p->text.failed = 1;
    else
        banyan_text_add_xml(&p->text, title.bytes);
    banyan_text_fini(&title);
    banyan_text_add(&p->text, "</text>\n<g transform=\"translate(%.1f %.1f)\">\n",
                    (width - p->layout.width) / 2, head);
    add_frames(p);
    add_lines(p);
    add_labels(p);
    add_boxes(p);
    add_slice_titles(p);
    banyan_text_add(&p->text, "</g>\n");
    add_legend(p, head + p->layout.height + p->bows_below + 1.6 * font);
    banyan_text_add(&p->text, "</svg>\n");
}

static banyan_status draw(picture *p, banyan_error *err)
{
    const banyan_topology *topology = p->cables->topology;

    p->lines = banyan_alloc((size_t)topology->link_count, sizeof *p->lines);
    if (!p->lines)
        return banyan_fail_memory(err);
    find_lines(p);
    if (p->line_count > MAX_LINES)
        return banyan_fail(err, BANYAN_UNSUPPORTED, "%s has %d cables to draw; a picture holds at most %d",
                           topology->name, p->line_count, MAX_LINES);
    write_picture(p);
    return BANYAN_SUCCESS;
}

banyan_status banyan_topology_draw_svg(const banyan_topology *topology, char **out, banyan_error *err)
{
    banyan_cables cables;
    picture p = {.cables = &cables, .text = BANYAN_TEXT_EMPTY};
    banyan_status status;

    *out = NULL;
    if (topology->node_count > MAX_NODES)
        return banyan_fail(err, BANYAN_UNSUPPORTED, "%s has %d nodes; a picture holds at most %d",
                           topology->name, topology->node_count, MAX_NODES);
    status = banyan_cables_find(topology, &cables, err);
    if (status)
        return status;
    status = banyan_layout_find(&cables, &p.layout, err);
    if (!status)
        status = draw(&p, err);
    if (!status)
        status = banyan_text_take(&p.text, out, err);
    banyan_text_fini(&p.text);
    banyan_layout_fini(&p.layout);
    banyan_cables_fini(&cables);
    banyan_free(p.lines);
    return status;
}
