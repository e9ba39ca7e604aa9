/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce/table.c: a figure as a table: for people (text) and for spreadsheets (CSV).
 *
 *     size        ring  multitree  bound
 *     32 KiB      3.52       9.27   29.6
 *
 *   against others                                  theirs     ours   ratio
 *     paper: speed-up over ring, 16 nodes                3     3.00   1.000
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "reproduce/internal.h"

enum { CELL = 80 };

static void format_cell(const figure_point *p, char cell[CELL])
{
    banyan_text text = BANYAN_TEXT_EMPTY;

    if (!p) {
        snprintf(cell, CELL, "-");
        return;
    }
    if (*p->word) {
        snprintf(cell, CELL, "%s", p->word);
        return;
    }
    add_short_number(&text, p->value);
    snprintf(cell, CELL, "%s", text.bytes ? text.bytes : "");
    banyan_text_fini(&text);
}

/* Characters, not bytes. */
static int width_of(const char *text)
{
    int width = 0;

    for (; *text; text++)
        width += ((unsigned char)*text & 0xC0) != 0x80;
    return width;
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

static void add_padded(banyan_text *text, const char *cell, int width, int to_right)
{
    int room = width - width_of(cell);

    banyan_text_add(text, "%*s%s%*s", to_right && room > 0 ? room : 0, "", cell,
                    !to_right && room > 0 ? room : 0, "");
}

/* What a column is called: others' values are marked. */
static void name_column(const figure_point *p, char cell[CELL])
{
    snprintf(cell, CELL, "%s%s", p->series, p->origin == BANYAN_PAPERS ? " (paper)" : "");
}

static int column_width(const banyan_figure *f, const figure_names *labels, const figure_point *head)
{
    char cell[CELL];
    int width;

    name_column(head, cell);
    width = width_of(cell);
    for (int k = 0; k < labels->count; k++) {
        format_cell(figure_find(f, head->series, f->points[labels->first[k]].label), cell);
        width = larger(width, width_of(cell));
    }
    return width + 2;
}

static void add_column_heads(const banyan_figure *f, const figure_names *series, const figure_names *labels,
                             int first_width, banyan_text *text)
{
    char cell[CELL];

    banyan_text_add(text, "  ");
    add_padded(text, f->head.x, first_width, 0);
    for (int i = 0; i < series->count; i++) {
        const figure_point *head = &f->points[series->first[i]];

        name_column(head, cell);
        add_padded(text, cell, column_width(f, labels, head), 1);
    }
    banyan_text_add(text, "\n");
}

banyan_status figure_add_table(const banyan_figure *f, banyan_text *text, banyan_error *err)
{
    figure_names series = {NULL, 0}, labels = {NULL, 0};
    int first_width = width_of(f->head.x);
    banyan_status status = figure_find_series(f, &series, err);
    char cell[CELL];

    if (!status)
        status = figure_find_labels(f, &labels, err);
    for (int k = 0; !status && k < labels.count; k++)
        first_width = larger(first_width, width_of(f->points[labels.first[k]].label));
    if (!status && labels.count)
        add_column_heads(f, &series, &labels, first_width, text);
    for (int k = 0; !status && k < labels.count; k++) {
        const char *label = f->points[labels.first[k]].label;

        banyan_text_add(text, "  ");
        add_padded(text, label, first_width, 0);
        for (int i = 0; i < series.count; i++) {
            const figure_point *head = &f->points[series.first[i]];

            format_cell(figure_find(f, head->series, label), cell);
            add_padded(text, cell, column_width(f, &labels, head), 1);
        }
        banyan_text_add(text, "\n");
    }
    figure_names_fini(&series);
    figure_names_fini(&labels);
    return status;
}

static void add_right(banyan_text *text, double value)
{
    banyan_text number = BANYAN_TEXT_EMPTY;

    add_short_number(&number, value);
    banyan_text_add(text, " %9s", number.bytes ? number.bytes : "");
    text->failed |= number.failed;
    banyan_text_fini(&number);
}

static void add_comparison(const figure_comparison *c, int width, banyan_text *text)
{
    banyan_text_add(text, "  %-7s", whose_name(c->whose));
    add_padded(text, c->what, width, 0);
    if (c->is_statement) {
        banyan_text_add(text, "  %s\n", statement_words(c));
    } else {
        banyan_text_add(text, "  ");
        add_right(text, c->theirs);
        add_right(text, c->ours);
        banyan_text_add(text, " %8.3f\n", c->ours / c->theirs);
    }
    if (c->reason)
        banyan_text_add(text, "         %s\n", c->reason);
}

void figure_add_comparisons(const banyan_figure *f, banyan_text *text)
{
    int width = 20, has_numbers = 0;

    if (!f->comparison_count)
        return;
    for (size_t i = 0; i < f->comparison_count; i++) {
        if (f->comparisons[i].what)
            width = larger(width, width_of(f->comparisons[i].what));
        has_numbers |= !f->comparisons[i].is_statement;
    }
    banyan_text_add(text, "\n  %-7s", "whose");
    add_padded(text, "what", width, 0);
    banyan_text_add(text, has_numbers ? "      theirs      ours    ratio\n" : "\n");
    for (size_t i = 0; i < f->comparison_count; i++)
        add_comparison(&f->comparisons[i], width, text);
}

banyan_status paper_add_text(const banyan_reproduction *r, const banyan_paper *paper, banyan_text *text,
                             banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    banyan_text_add(text, "%s: %s\n%s\n", paper->name, paper->title, paper->about);
    for (size_t i = 0; !status && i < r->figure_count; i++) {
        const banyan_figure *f = r->figures[i];

        if (f->paper != paper)
            continue;
        banyan_text_add(text, "\n%s: %s\n", f->head.name, f->head.title);
        if (*f->head.setting)
            banyan_text_add(text, "  %s\n", f->head.setting);
        if (*f->head.y)
            banyan_text_add(text, "  in %s\n", f->head.y);
        banyan_text_add(text, "\n");
        status = figure_add_table(f, text, err);
        figure_add_comparisons(f, text);
    }
    return status;
}

static void add_csv_cell(banyan_text *text, const char *cell)
{
    if (!strpbrk(cell, ",\"\n")) {
        banyan_text_add(text, "%s", cell);
        return;
    }
    banyan_text_add(text, "\"");
    for (; *cell; cell++)
        banyan_text_add(text, *cell == '"' ? "\"\"" : "%c", *cell);
    banyan_text_add(text, "\"");
}

banyan_status figure_add_csv(const banyan_figure *f, banyan_text *text, banyan_error *err)
{
    (void)err;
    banyan_text_add(text, "series,origin,label,x,value\n");
    for (size_t i = 0; i < f->point_count; i++) {
        const figure_point *p = &f->points[i];

        add_csv_cell(text, p->series);
        banyan_text_add(text, ",%s,", origin_name(p->origin));
        add_csv_cell(text, p->label);
        banyan_text_add(text, ",");
        banyan_text_add_number(text, p->x);
        banyan_text_add(text, ",");
        if (*p->word)
            add_csv_cell(text, p->word);
        else if (isfinite(p->value))
            banyan_text_add_number(text, p->value);
        banyan_text_add(text, "\n");
    }
    return BANYAN_SUCCESS;
}
