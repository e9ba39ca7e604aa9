/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce/svg_bars.c: groups of bars, and bars that are piles of parts. A group is a label, a bar a pile;
 * in a plain bar chart every series is a pile of one part. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "reproduce/svg.h"

enum { LEVELS = 3 };

typedef enum { VALUES_HIDDEN, VALUES_UPWARDS, VALUES_ACROSS } values_direction;

typedef struct {
    int *pile, *part; /* by series */
    int pile_count;
    double *height; /* by pile: how far it is drawn */
    values_direction values;
    double name_end[LEVELS]; /* of groups' names: how far each level is written */
} piles;

static int same_pile(const char *a, const char *b)
{
    int length = picture_pile_length(a);

    return length == picture_pile_length(b) && !strncmp(a, b, (size_t)length);
}

static int same_part(const char *a, const char *b)
{
    return !strcmp(a + picture_pile_length(a), b + picture_pile_length(b));
}

static int never(const char *a, const char *b)
{
    (void)a;
    (void)b;
    return 0;
}

static const char *series_name(const picture *p, int i)
{
    return p->figure->points[p->series.first[i]].series;
}

/* Equal names get equal numbers, in the order of first mention. */
static int number_equal(const picture *p, int (*is_equal)(const char *a, const char *b), int *out)
{
    int count = 0;

    for (int i = 0; i < p->series.count; i++) {
        out[i] = -1;
        for (int k = 0; k < i && out[i] < 0; k++)
            if (is_equal(series_name(p, i), series_name(p, k)))
                out[i] = out[k];
        if (out[i] < 0)
            out[i] = count++;
    }
    return count;
}

static void add_bar(picture *p, double x, double width, double from, int colour, const figure_point *q)
{
    double top = picture_y(p, from + q->value), bottom = picture_y(p, from);

    if (p->figure->head.is_log_y) {
        top = picture_y(p, q->value);
        bottom = picture_axis(p);
    }
    banyan_text_add(p->text, "<g>");
    picture_add_title(p, q);
    picture_add_box(p, colour, q->origin, x, fmin(top, bottom), width, fmax(0.2, fabs(bottom - top)));
    banyan_text_add(p->text, "</g>\n");
}

/* Above the bar: across it where all of them have that room, otherwise upwards. */
static void add_value(picture *p, const piles *s, double x, double height)
{
    char number[16];

    snprintf(number, sizeof number, "%.3g", height);
    if (s->values == VALUES_ACROSS) {
        banyan_text_add(p->text, "<g font-size=\"10.5\">");
        picture_add_text(p, "ink", "middle", x, picture_y(p, height) - 3, number);
    } else {
        banyan_text_add(p->text, "<g font-size=\"10.5\" transform=\"translate(%.1f %.1f) rotate(-90)\">",
                        x + 3.5, picture_y(p, height) - 3);
        picture_add_text(p, "ink", "start", 0, 0, number);
    }
    banyan_text_add(p->text, "</g>\n");
}

static void add_pile_name(picture *p, double x, const char *series)
{
    banyan_text_add(p->text, "<g transform=\"translate(%.1f %.1f) rotate(-90)\" font-size=\"10.5\">", x,
                    picture_axis(p));
    banyan_text_add(p->text, "<text fill=\"#ffffff\" x=\"4\">%.*s</text></g>\n", picture_pile_length(series),
                    series);
}

/* On the first level that has room; what fits on none is left to the table and to the mouse. */
static void add_group_name(picture *p, piles *s, double x, const char *label)
{
    double half = SVG_LETTER * (double)strlen(label) / 2;
    int level = 0;

    x = fmin(x, p->frame.width - half - 2);
    while (level < LEVELS && x - half < s->name_end[level] + 4)
        level++;
    if (level == LEVELS)
        return;
    s->name_end[level] = x + half;
    picture_add_text(p, "soft", "middle", x, picture_axis(p) + 17 + 14 * level, label);
}

static void add_group(picture *p, piles *s, int k)
{
    const banyan_figure *f = p->figure;
    const char *label = f->points[p->labels.first[k]].label;
    double group = picture_inner_width(p) / p->labels.count, gap = group * 0.16;
    double width = (group - gap) / s->pile_count, left = p->frame.left + k * group + gap / 2;
    int is_stacked = f->head.kind == BANYAN_FIGURE_STACKS;

    memset(s->height, 0, (size_t)s->pile_count * sizeof *s->height);
    for (int i = 0; i < p->series.count; i++) {
        const figure_point *q = figure_find(f, series_name(p, i), label);
        double x = left + s->pile[i] * width;

        if (!q || !picture_can_draw(p, q))
            continue;
        add_bar(p, x, width * 0.9, s->height[s->pile[i]], is_stacked ? s->part[i] : i, q);
        if (is_stacked && s->height[s->pile[i]] == 0 && width >= 12)
            add_pile_name(p, x + width * 0.45 + 3, q->series);
        s->height[s->pile[i]] += q->value;
    }
    for (int i = 0; i < s->pile_count; i++)
        if (s->values != VALUES_HIDDEN && s->height[i] > 0)
            add_value(p, s, left + (i + 0.45) * width, s->height[i]);
    add_group_name(p, s, p->frame.left + (k + 0.5) * group, label);
}

/* Logarithmic piles end nowhere that a number could name. */
static values_direction choose_values(const picture *p, int pile_count)
{
    double width = picture_inner_width(p) / p->labels.count * 0.84 / pile_count;

    if (p->figure->head.is_log_y && p->figure->head.kind == BANYAN_FIGURE_STACKS)
        return VALUES_HIDDEN;
    return width >= 34 ? VALUES_ACROSS : width >= 12.5 ? VALUES_UPWARDS : VALUES_HIDDEN;
}

static void add_legend(picture *p, const piles *s)
{
    int is_stacked = p->figure->head.kind == BANYAN_FIGURE_STACKS;

    for (int i = 0, rows = 0; i < p->series.count; i++) {
        const figure_point *q = &p->figure->points[p->series.first[i]];
        int number = is_stacked ? s->part[i] : i;
        const char *slash = strrchr(q->series, '/');

        if (number == rows) {
            picture_add_legend(p, rows, number, q->origin, is_stacked && slash ? slash + 1 : q->series);
            rows++;
        }
    }
}

int picture_count_parts(const picture *p)
{
    int is_stacked = p->figure->head.kind == BANYAN_FIGURE_STACKS, count = 0;

    for (int i = 0; i < p->series.count; i++) {
        int is_new = 1;

        for (int k = 0; is_stacked && k < i; k++)
            is_new &= !same_part(series_name(p, i), series_name(p, k));
        count += is_new;
    }
    return count;
}

banyan_status picture_add_bars(picture *p, banyan_error *err)
{
    size_t count = (size_t)p->series.count;
    piles s = {.pile = banyan_alloc(count, sizeof(int)), .part = banyan_alloc(count, sizeof(int))};
    banyan_status status = BANYAN_SUCCESS;

    s.height = banyan_alloc(count, sizeof *s.height);
    if (s.pile && s.part && s.height) {
        int is_stacked = p->figure->head.kind == BANYAN_FIGURE_STACKS;

        s.pile_count = number_equal(p, is_stacked ? same_pile : never, s.pile);
        number_equal(p, same_part, s.part);
        s.values = choose_values(p, s.pile_count);
        for (int k = 0; k < p->labels.count; k++)
            add_group(p, &s, k);
        add_legend(p, &s);
    } else {
        status = banyan_fail_memory(err);
    }
    banyan_free(s.pile);
    banyan_free(s.part);
    banyan_free(s.height);
    return status;
}
