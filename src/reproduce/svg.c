/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce/svg.c: a figure as a picture: lines over an axis, groups of bars, or piles of parts.
 *
 * Ours are full lines and bars, a paper's own points are hollow diamonds, what comes from elsewhere (a bound,
 * the authors' program) is dashed. Colours are Okabe and Ito's, and markers differ in shape, so that nothing
 * rests on colour alone. The picture needs no other file and follows the reader's dark mode. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "reproduce/svg.h"

enum { COLOURS = 10 };

static const char *const colours[COLOURS] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00",
                                             "#56b4e9", "#7f6a00", "#777777", "#9a60d6", "#b3003c"};

const char *picture_colour(int i)
{
    return colours[i % COLOURS];
}

double picture_inner_width(const picture *p)
{
    return p->frame.width - p->frame.left - p->frame.right;
}

double picture_axis(const picture *p)
{
    return p->frame.height - p->frame.bottom;
}

static double inner_height(const picture *p)
{
    return picture_axis(p) - p->frame.top;
}

/* How wide the longest name of the legend may be; wider ones are written in smaller letters. */
static int legend_room(const picture *p)
{
    static const int least = 153, most = 303; /* the picture still fits a window of 820 */
    double widest = 0;

    for (int i = 0; i < p->series.count; i++) {
        const figure_point *q = &p->figure->points[p->series.first[i]];
        size_t letters = strlen(q->series) + (q->origin == BANYAN_PAPERS ? strlen(" (paper)") : 0);

        widest = fmax(widest, SVG_LETTER * (double)letters);
    }
    return widest > most ? most : widest > least ? (int)widest : least;
}

/* The legend stands on the right, or below where the window is narrow. */
static picture_frame frame_of(const picture *p, int legend_rows)
{
    int top = p->shape == FIGURE_ALONE ? 44 : 14, axis = 326, below = 74, left = 76, inner = 488;
    int right = 18 + 25 + legend_room(p);

    if (p->shape == FIGURE_NARROW)
        return (picture_frame){.width = 390,
                               .height = axis + below + legend_rows * SVG_LEGEND,
                               .left = 60,
                               .right = 12,
                               .top = top,
                               .bottom = below + legend_rows * SVG_LEGEND,
                               .legend_x = 12,
                               .legend_y = axis + below + 8};
    return (picture_frame){.width = left + inner + right,
                           .height = top + 294 + below,
                           .left = left,
                           .right = right,
                           .top = top,
                           .bottom = below,
                           .legend_x = left + inner + 18,
                           .legend_y = top + 10};
}

static double scaled_x(const picture *p, double x)
{
    return p->figure->head.is_log_x ? log10(x) : x;
}

static double scaled_y(const picture *p, double y)
{
    return p->figure->head.is_log_y ? log10(y) : y;
}

static double place_x(const picture *p, double x)
{
    double span = p->high_x - p->low_x;

    return p->frame.left + (span > 0 ? (scaled_x(p, x) - p->low_x) / span : 0.5) * picture_inner_width(p);
}

double picture_y(const picture *p, double y)
{
    return p->frame.top + (1 - (scaled_y(p, y) - p->low_y) / (p->high_y - p->low_y)) * inner_height(p);
}

int picture_can_draw(const picture *p, const figure_point *q)
{
    return isfinite(q->value) && !*q->word && (!p->figure->head.is_log_y || q->value > 0) &&
           (!p->figure->head.is_log_x || q->x > 0);
}

int picture_pile_length(const char *series)
{
    const char *slash = strrchr(series, '/');

    return slash ? (int)(slash - series) : (int)strlen(series);
}

static double pile_height(const picture *p, const char *label, const char *pile)
{
    int length = picture_pile_length(pile);
    double sum = 0;

    for (size_t i = 0; i < p->figure->point_count; i++) {
        const figure_point *q = &p->figure->points[i];

        if (!strcmp(q->label, label) && picture_pile_length(q->series) == length &&
            !strncmp(q->series, pile, (size_t)length) && isfinite(q->value))
            sum += q->value;
    }
    return sum;
}

static void find_ranges(picture *p)
{
    const banyan_figure *f = p->figure;

    p->low_x = p->low_y = INFINITY;
    p->high_x = p->high_y = -INFINITY;
    for (size_t i = 0; i < f->point_count; i++) {
        const figure_point *q = &f->points[i];
        double y = f->head.kind == BANYAN_FIGURE_STACKS ? pile_height(p, q->label, q->series) : q->value;

        if (!picture_can_draw(p, q))
            continue;
        p->low_x = fmin(p->low_x, scaled_x(p, q->x));
        p->high_x = fmax(p->high_x, scaled_x(p, q->x));
        p->low_y = fmin(p->low_y, scaled_y(p, y));
        p->high_y = fmax(p->high_y, scaled_y(p, y));
    }
    if (!isfinite(p->low_y)) {
        p->low_x = p->low_y = 0;
        p->high_x = p->high_y = 1;
    }
    if (f->head.is_log_y) {
        p->low_y = floor(p->low_y * 4) / 4;
        p->high_y = ceil(p->high_y * 4 + (f->head.kind == BANYAN_FIGURE_LINES ? 0 : 0.5)) / 4;
    } else {
        p->low_y = fmin(0, p->low_y);
        p->high_y *= f->head.kind == BANYAN_FIGURE_LINES ? 1.05 : 1.12; /* bars have their numbers on top */
    }
    if (p->high_y <= p->low_y)
        p->high_y = p->low_y + 1;
}

void picture_add_text(picture *p, const char *class, const char *anchor, double x, double y,
                      const char *words)
{
    banyan_text_add(p->text, "<text class=\"%s\" text-anchor=\"%s\" x=\"%.1f\" y=\"%.1f\">", class, anchor, x,
                    y);
    banyan_text_add_xml(p->text, words);
    banyan_text_add(p->text, "</text>\n");
}

static void add_rule(picture *p, double value)
{
    char number[32];

    snprintf(number, sizeof number, "%.6g", value);
    banyan_text_add(p->text, "<path class=\"grid\" d=\"M%d %.1f H%d\"/>\n", p->frame.left,
                    picture_y(p, value), p->frame.width - p->frame.right);
    picture_add_text(p, "soft", "end", p->frame.left - 7, picture_y(p, value) + 4, number);
}

static void add_rules(picture *p)
{
    double span = p->high_y - p->low_y, step;

    if (p->figure->head.is_log_y) {
        static const double within[] = {1, 2, 5};

        for (double e = floor(p->low_y); e <= p->high_y; e++)
            for (int i = 0; i < (span < 3 ? 3 : 1); i++)
                if (e + log10(within[i]) >= p->low_y - 1e-9 && e + log10(within[i]) <= p->high_y + 1e-9)
                    add_rule(p, within[i] * pow(10, e));
        return;
    }
    step = pow(10, floor(log10(span)));
    step = span / step < 2 ? step / 5 : span / step < 5 ? step / 2 : step;
    for (double y = ceil(p->low_y / step - 1e-9) * step; y <= p->high_y; y += step)
        add_rule(p, fabs(y) < step / 1e6 ? 0 : y);
}

static void add_frame(picture *p)
{
    const banyan_figure *f = p->figure;

    banyan_text_add(
        p->text,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
        "height=\"%d\" role=\"img\" font-family=\"system-ui, sans-serif\" font-size=\"12\">\n<title>",
        p->frame.width, p->frame.height, p->frame.width, p->frame.height);
    banyan_text_add_xml(p->text, f->head.title);
    banyan_text_add(p->text,
                    "</title>\n<style>.page{fill:#ffffff}.ink{fill:#222222}.soft{fill:#666666}"
                    ".grid{stroke:#dddddd;stroke-width:0.7;fill:none}.line{fill:none;stroke-width:2}"
                    ".dashed{stroke-dasharray:6 4;stroke-width:1.6}.hollow{fill:#ffffff;stroke-width:2}"
                    "@media (prefers-color-scheme: dark){.page,.hollow{fill:#15181c}.ink{fill:#dddddd}"
                    ".soft{fill:#aaaaaa}.grid{stroke:#3a3f45}}</style>\n"
                    "<defs><pattern id=\"hatch%d\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\" "
                    "patternTransform=\"rotate(45)\"><rect class=\"page\" width=\"1.4\" height=\"5\" "
                    "fill-opacity=\"0.75\"/></pattern></defs>\n",
                    (int)p->shape);
    banyan_text_add(p->text, "<rect class=\"page\" width=\"%d\" height=\"%d\"/>\n", p->frame.width,
                    p->frame.height);
    if (p->shape == FIGURE_ALONE) {
        banyan_text_add(p->text, "<g font-size=\"14\">");
        picture_add_text(p, "ink", "start", 12, 22, f->head.title);
        banyan_text_add(p->text, "</g>");
    }
    add_rules(p);
    picture_add_text(p, "soft", "middle", p->frame.left + picture_inner_width(p) / 2, picture_axis(p) + 64,
                     f->head.x);
    banyan_text_add(p->text, "<g transform=\"translate(16 %.1f) rotate(-90)\">",
                    p->frame.top + inner_height(p) / 2);
    picture_add_text(p, "soft", "middle", 0, 0, f->head.y);
    banyan_text_add(p->text, "</g>\n");
}

void picture_add_title(picture *p, const figure_point *point)
{
    banyan_text_add(p->text, "<title>");
    banyan_text_add_xml(p->text, point->series);
    banyan_text_add(p->text, ", ");
    banyan_text_add_xml(p->text, point->label);
    banyan_text_add(p->text, ": ");
    add_short_number(p->text, point->value);
    banyan_text_add(p->text, "</title>");
}

/* The marker's shape goes with the series, the diamond is the paper's. */
static void add_shape(picture *p, banyan_origin origin, int series, double x, double y)
{
    const char *colour = picture_colour(series);

    if (origin == BANYAN_PAPERS)
        banyan_text_add(p->text,
                        "<path class=\"hollow\" stroke=\"%s\" d=\"M%.1f %.1f l6 6 l-6 6 l-6 -6 z\"/>", colour,
                        x, y - 6);
    else if (origin == BANYAN_OTHERS)
        banyan_text_add(p->text, "<circle r=\"2\" fill=\"%s\" cx=\"%.1f\" cy=\"%.1f\"/>", colour, x, y);
    else if (series % 3 == 0)
        banyan_text_add(p->text, "<circle r=\"3.6\" fill=\"%s\" cx=\"%.1f\" cy=\"%.1f\"/>", colour, x, y);
    else if (series % 3 == 1)
        banyan_text_add(p->text, "<rect width=\"6.6\" height=\"6.6\" fill=\"%s\" x=\"%.1f\" y=\"%.1f\"/>",
                        colour, x - 3.3, y - 3.3);
    else
        banyan_text_add(p->text, "<path fill=\"%s\" d=\"M%.1f %.1f l4.4 7.6 h-8.8 z\"/>", colour, x, y - 4.6);
}

static void add_marker(picture *p, const figure_point *q, int series)
{
    banyan_text_add(p->text, "<g>");
    picture_add_title(p, q);
    add_shape(p, q->origin, series, place_x(p, q->x), picture_y(p, q->value));
    banyan_text_add(p->text, "</g>\n");
}

static void add_line(picture *p, int series)
{
    const figure_point *head = &p->figure->points[p->series.first[series]];
    int count = 0;

    banyan_text_add(p->text, "<path class=\"line%s\" stroke=\"%s\" d=\"",
                    head->origin == BANYAN_OTHERS ? " dashed" : "", picture_colour(series));
    for (int k = 0; k < p->labels.count; k++) {
        const figure_point *q =
            figure_find(p->figure, head->series, p->figure->points[p->labels.first[k]].label);

        if (q && picture_can_draw(p, q) && head->origin != BANYAN_PAPERS)
            banyan_text_add(p->text, "%c%.1f %.1f", count++ ? 'L' : 'M', place_x(p, q->x),
                            picture_y(p, q->value));
    }
    banyan_text_add(p->text, "\"/>\n");
    for (int k = 0; k < p->labels.count; k++) {
        const figure_point *q =
            figure_find(p->figure, head->series, p->figure->points[p->labels.first[k]].label);

        if (q && picture_can_draw(p, q))
            add_marker(p, q, series);
    }
}

void picture_add_legend(picture *p, int row, int colour, banyan_origin origin, const char *words)
{
    double x = p->frame.legend_x, y = p->frame.legend_y + row * SVG_LEGEND;
    double room = p->frame.width - x - 25, width;
    char name[96];

    snprintf(name, sizeof name, "%s%s", words, origin == BANYAN_PAPERS ? " (paper)" : "");
    width = SVG_LETTER * (double)strlen(name);
    if (p->figure->head.kind == BANYAN_FIGURE_LINES) {
        if (origin != BANYAN_PAPERS)
            banyan_text_add(p->text, "<path class=\"line%s\" stroke=\"%s\" d=\"M%.1f %.1f h18\"/>",
                            origin == BANYAN_OTHERS ? " dashed" : "", picture_colour(colour), x, y - 4);
        add_shape(p, origin, colour, x + 9, y - 4);
    } else {
        picture_add_box(p, colour, origin, x, y - 10, 14, 11);
    }
    /* A long name in smaller letters. */
    banyan_text_add(p->text, "<g font-size=\"%.3g\">", width > room ? 12 * room / width : 12.0);
    picture_add_text(p, "ink", "start", x + 25, y, name);
    banyan_text_add(p->text, "</g>");
}

void picture_add_box(picture *p, int series, banyan_origin origin, double x, double y, double width,
                     double height)
{
    banyan_text_add(p->text,
                    "<rect fill=\"%s\" fill-opacity=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
                    "height=\"%.1f\"/>",
                    picture_colour(series), origin == BANYAN_OURS ? "1" : "0.5", x, y, width, height);
    if (series % 2) /* neighbours differ without colour, too */
        banyan_text_add(p->text,
                        "<rect fill=\"url(#hatch%d)\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>",
                        (int)p->shape, x, y, width, height);
}

static void add_lines(picture *p)
{
    const banyan_figure *f = p->figure;
    double last = -1e9;

    for (int k = 0; k < p->labels.count; k++) {
        const figure_point *q = &f->points[p->labels.first[k]];

        if (!isfinite(q->x) || place_x(p, q->x) < last + 52)
            continue;
        last = place_x(p, q->x);
        picture_add_text(p, "soft", "middle",
                         fmin(last, p->frame.width - SVG_LETTER * (double)strlen(q->label) / 2 - 2),
                         picture_axis(p) + 20, q->label);
    }
    for (int i = 0; i < p->series.count; i++) {
        add_line(p, i);
        picture_add_legend(p, i, i, f->points[p->series.first[i]].origin,
                           f->points[p->series.first[i]].series);
    }
}

banyan_status figure_add_svg(const banyan_figure *figure, figure_shape shape, banyan_text *text,
                             banyan_error *err)
{
    picture p = {.figure = figure, .shape = shape, .text = text};
    banyan_status status = figure_find_series(figure, &p.series, err);

    if (!status)
        status = figure_find_labels(figure, &p.labels, err);
    if (!status) {
        p.frame =
            frame_of(&p, figure->head.kind == BANYAN_FIGURE_LINES ? p.series.count : picture_count_parts(&p));
        find_ranges(&p);
        add_frame(&p);
        if (figure->head.kind == BANYAN_FIGURE_LINES)
            add_lines(&p);
        else
            status = picture_add_bars(&p, err);
        banyan_text_add(text, "</svg>\n");
    }
    figure_names_fini(&p.series);
    figure_names_fini(&p.labels);
    return status;
}
