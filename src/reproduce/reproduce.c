/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce/reproduce.c: the list of papers, and what they gather while they run. */
#include "reproduce/reproduce.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "reproduce/internal.h"

#define X(name) extern const banyan_paper banyan_paper_##name;
#include "reproduce/list.h"
#undef X

static const banyan_paper *const papers[] = {
#define X(name) &banyan_paper_##name,
#include "reproduce/list.h"
#undef X
};

int banyan_paper_count(void)
{
    return (int)(sizeof papers / sizeof *papers);
}

const banyan_paper *banyan_paper_at(int i)
{
    return papers[i];
}

const banyan_paper *banyan_paper_find(const char *name)
{
    for (int i = 0; i < banyan_paper_count(); i++)
        if (!strcmp(papers[i]->name, name))
            return papers[i];
    return NULL;
}

static char *copy(banyan_reproduction *r, const char *text)
{
    char *mine = text ? banyan_strdup(text) : NULL;

    r->failed |= text && !mine;
    return mine;
}

static void destroy_figure(banyan_figure *f)
{
    banyan_free((void *)f->head.name);
    banyan_free((void *)f->head.title);
    banyan_free((void *)f->head.setting);
    banyan_free((void *)f->head.x);
    banyan_free((void *)f->head.y);
    for (size_t i = 0; i < f->comparison_count; i++) {
        banyan_free(f->comparisons[i].what);
        banyan_free(f->comparisons[i].reason);
    }
    banyan_free(f->comparisons);
    banyan_free(f->points);
    banyan_free(f);
}

banyan_figure *banyan_figure_open(banyan_reproduction *r, const banyan_figure_head *head)
{
    banyan_figure *f = banyan_alloc(1, sizeof *f);

    if (!f || !banyan_grow((void **)&r->figures, r->figure_count, &r->figure_capacity, sizeof *r->figures)) {
        banyan_free(f);
        r->failed = 1;
        return NULL;
    }
    r->figures[r->figure_count++] = f;
    f->owner = r;
    f->paper = r->paper;
    f->head = *head;
    f->head.name = copy(r, head->name);
    f->head.title = copy(r, head->title ? head->title : head->name);
    f->head.setting = copy(r, head->setting ? head->setting : "");
    f->head.x = copy(r, head->x ? head->x : "");
    f->head.y = copy(r, head->y ? head->y : "");
    return f;
}

static figure_point *new_point(banyan_figure *f)
{
    figure_point *point;

    if (!f)
        return NULL;
    if (!banyan_grow((void **)&f->points, f->point_count, &f->point_capacity, sizeof *f->points)) {
        f->owner->failed = 1;
        return NULL;
    }
    point = &f->points[f->point_count++];
    memset(point, 0, sizeof *point);
    return point;
}

void banyan_figure_add(banyan_figure *figure, banyan_origin origin, const char *series, double x,
                       const char *label, double value)
{
    figure_point *p = new_point(figure);

    if (!p)
        return;
    p->origin = origin;
    p->x = x;
    p->value = value;
    snprintf(p->series, sizeof p->series, "%s", series);
    if (label)
        snprintf(p->label, sizeof p->label, "%s", label);
    else
        snprintf(p->label, sizeof p->label, "%.6g", x);
}

void banyan_figure_add_word(banyan_figure *figure, banyan_origin origin, const char *series,
                            const char *label, const char *word)
{
    figure_point *p = new_point(figure);

    if (!p)
        return;
    p->origin = origin;
    p->value = NAN;
    snprintf(p->series, sizeof p->series, "%s", series);
    snprintf(p->label, sizeof p->label, "%s", label);
    snprintf(p->word, sizeof p->word, "%s", word);
}

static void add_comparison(banyan_figure *f, figure_comparison c, const char *what, const char *reason)
{
    if (!f)
        return;
    if (!banyan_grow((void **)&f->comparisons, f->comparison_count, &f->comparison_capacity,
                     sizeof *f->comparisons)) {
        f->owner->failed = 1;
        return;
    }
    c.what = copy(f->owner, what);
    c.reason = copy(f->owner, reason);
    f->comparisons[f->comparison_count++] = c;
}

void banyan_figure_compare(banyan_figure *figure, const char *what, banyan_origin whose, double theirs,
                           double ours, const char *reason)
{
    add_comparison(figure, (figure_comparison){.whose = whose, .theirs = theirs, .ours = ours}, what, reason);
}

static void add_statement(banyan_figure *f, banyan_origin whose, const char *what, double holds,
                          const char *reason)
{
    add_comparison(f, (figure_comparison){.whose = whose, .is_statement = 1, .theirs = 1, .ours = holds},
                   what, reason);
}

void banyan_figure_state(banyan_figure *figure, const char *what, int holds, const char *reason)
{
    add_statement(figure, BANYAN_PAPERS, what, holds != 0, reason);
}

void banyan_figure_claim(banyan_figure *figure, const char *what, int holds, const char *reason)
{
    add_statement(figure, BANYAN_OURS, what, holds != 0, reason);
}

void banyan_figure_cannot_test(banyan_figure *figure, const char *what, const char *reason)
{
    add_statement(figure, BANYAN_PAPERS, what, NAN, reason);
}

banyan_status banyan_reproduction_create(banyan_reproduce_progress *progress, void *context,
                                         banyan_reproduction **out, banyan_error *err)
{
    banyan_reproduction *r = banyan_alloc(1, sizeof *r);

    *out = r;
    if (!r)
        return banyan_fail_memory(err);
    r->progress = progress;
    r->context = context;
    return BANYAN_SUCCESS;
}

void banyan_reproduction_set_command(banyan_reproduction *reproduction, const char *command)
{
    reproduction->command = command;
}

void banyan_reproduction_destroy(banyan_reproduction *reproduction)
{
    if (!reproduction)
        return;
    for (size_t i = 0; i < reproduction->figure_count; i++)
        destroy_figure(reproduction->figures[i]);
    banyan_free(reproduction->figures);
    banyan_free(reproduction);
}

banyan_status banyan_reproduction_run(banyan_reproduction *reproduction, const banyan_paper *paper,
                                      banyan_error *err)
{
    banyan_status status;

    reproduction->paper = paper;
    reproduction->done = reproduction->total = 0;
    status = paper->run(reproduction, err);
    if (status)
        banyan_error_prefix(err, paper->name);
    else if (reproduction->failed)
        status = banyan_fail_memory(err);
    return status;
}

int banyan_reproduction_figure_count(const banyan_reproduction *reproduction)
{
    return (int)reproduction->figure_count;
}

int banyan_reproduction_comparison_count(const banyan_reproduction *reproduction)
{
    size_t count = 0;

    for (size_t i = 0; i < reproduction->figure_count; i++)
        count += reproduction->figures[i]->comparison_count;
    return (int)count;
}

int paper_was_run(const banyan_reproduction *reproduction, const banyan_paper *paper)
{
    for (size_t i = 0; i < reproduction->figure_count; i++)
        if (reproduction->figures[i]->paper == paper)
            return 1;
    return 0;
}

const char *origin_name(banyan_origin origin)
{
    static const char *const names[] = {"ours", "paper", "other"};

    return names[origin];
}

const char *whose_name(banyan_origin origin)
{
    return origin == BANYAN_OTHERS ? "others" : origin_name(origin);
}

static int is_new(const banyan_figure *f, size_t i, size_t field)
{
    for (size_t k = 0; k < i; k++)
        if (!strcmp((const char *)&f->points[k] + field, (const char *)&f->points[i] + field))
            return 0;
    return 1;
}

static banyan_status find_names(const banyan_figure *f, size_t field, figure_names *out, banyan_error *err)
{
    *out = (figure_names){banyan_alloc(f->point_count, sizeof *out->first), 0};
    if (!out->first)
        return banyan_fail_memory(err);
    for (size_t i = 0; i < f->point_count; i++)
        if (is_new(f, i, field))
            out->first[out->count++] = i;
    return BANYAN_SUCCESS;
}

banyan_status figure_find_series(const banyan_figure *figure, figure_names *out, banyan_error *err)
{
    return find_names(figure, offsetof(figure_point, series), out, err);
}

/* By x where the figure has lines, else as mentioned. */
banyan_status figure_find_labels(const banyan_figure *figure, figure_names *out, banyan_error *err)
{
    banyan_status status = find_names(figure, offsetof(figure_point, label), out, err);

    if (status || figure->head.kind != BANYAN_FIGURE_LINES)
        return status;
    for (int i = 1; i < out->count; i++)
        for (int k = i; k > 0 && figure->points[out->first[k]].x < figure->points[out->first[k - 1]].x; k--) {
            size_t swap = out->first[k];

            out->first[k] = out->first[k - 1];
            out->first[k - 1] = swap;
        }
    return status;
}

void figure_names_fini(figure_names *names)
{
    banyan_free(names->first);
    names->first = NULL;
}

const figure_point *figure_find(const banyan_figure *figure, const char *series, const char *label)
{
    for (size_t i = 0; i < figure->point_count; i++)
        if (!strcmp(figure->points[i].series, series) && !strcmp(figure->points[i].label, label))
            return &figure->points[i];
    return NULL;
}
