/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce/check.c: holds a rerun against the results that were committed.
 *
 * Every value of ours in data/reproduce/NAME.json must come again, within the tolerance that its figure
 * states today; statements must come out the same way. What is new is not held: it has no past. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/data.h"
#include "core/file.h"
#include "core/json.h"
#include "reproduce/internal.h"

typedef struct {
    const banyan_reproduction *reproduction;
    const banyan_paper *paper;
    banyan_text text;
    int held, missed;
} checking;

static const banyan_figure *find_figure(const checking *c, const char *name)
{
    for (size_t i = 0; i < c->reproduction->figure_count; i++) {
        const banyan_figure *f = c->reproduction->figures[i];

        if (f->paper == c->paper && f->head.name && !strcmp(f->head.name, name))
            return f;
    }
    return NULL;
}

const char *banyan_reproduce_string_of(const banyan_json *object, const char *key)
{
    const banyan_json *field = banyan_json_field(object, key);
    const char *value = "";

    if (field)
        banyan_json_get_string(field, &value);
    return value;
}

double banyan_reproduce_number_of(const banyan_json *object, const char *key)
{
    const banyan_json *field = banyan_json_field(object, key);
    double value = NAN;

    if (field)
        banyan_json_get_number(field, &value);
    return value;
}

static int is_near(double committed, double found, double tolerance)
{
    if (isnan(committed) || isnan(found))
        return isnan(committed) && isnan(found);
    return fabs(found - committed) <= tolerance * fabs(committed) + 1e-12;
}

static void miss(checking *c, const banyan_figure *f, const char *what, const char *where, double committed,
                 double found)
{
    c->missed++;
    banyan_text_add(&c->text, "%s, %s: %s%s%s was ", c->paper->name, f->head.name, what, *where ? ", " : "",
                    where);
    add_short_number(&c->text, committed);
    banyan_text_add(&c->text, " and is now ");
    add_short_number(&c->text, found);
    banyan_text_add(&c->text, " (%.3g %% are allowed)\n", 100 * f->head.tolerance);
}

static void check_point(checking *c, const banyan_figure *f, const banyan_json *point)
{
    const char *series = banyan_reproduce_string_of(point, "series"),
               *label = banyan_reproduce_string_of(point, "label");
    const figure_point *found = figure_find(f, series, label);
    double committed = banyan_reproduce_number_of(point, "value");

    if (strcmp(banyan_reproduce_string_of(point, "origin"), "ours"))
        return;
    c->held++;
    if (!found) {
        c->missed++;
        banyan_text_add(&c->text, "%s, %s: %s, %s is not there any more\n", c->paper->name, f->head.name,
                        series, label);
    } else if (strcmp(found->word, banyan_reproduce_string_of(point, "word"))) {
        c->missed++;
        banyan_text_add(&c->text, "%s, %s: %s, %s was '%s' and is now '%s'\n", c->paper->name, f->head.name,
                        series, label, banyan_reproduce_string_of(point, "word"), found->word);
    } else if (!is_near(committed, found->value, f->head.tolerance)) {
        miss(c, f, series, label, committed, found->value);
    }
}

static void check_comparison(checking *c, const banyan_figure *f, const banyan_json *comparison)
{
    const char *what = banyan_reproduce_string_of(comparison, "what");
    const banyan_json *holds = banyan_json_field(comparison, "holds");
    double committed = banyan_reproduce_number_of(comparison, "ours");
    int held = 0;

    if (holds && banyan_json_get_boolean(holds, &held))
        committed = held;
    c->held++;
    for (size_t i = 0; i < f->comparison_count; i++) {
        const figure_comparison *found = &f->comparisons[i];

        if (!found->what || strcmp(found->what, what))
            continue;
        if (!is_near(committed, found->ours, found->is_statement ? 0 : f->head.tolerance))
            miss(c, f, what, "", committed, found->ours);
        return;
    }
    c->missed++;
    banyan_text_add(&c->text, "%s, %s: %s is not there any more\n", c->paper->name, f->head.name, what);
}

static void check_figure(checking *c, const banyan_json *committed)
{
    const char *name = banyan_reproduce_string_of(committed, "name");
    const banyan_figure *f = find_figure(c, name);
    const banyan_json *points = banyan_json_field(committed, "points");
    const banyan_json *comparisons = banyan_json_field(committed, "comparisons");

    if (!f) {
        c->held++;
        c->missed++;
        banyan_text_add(&c->text, "%s: the figure %s is not there any more\n", c->paper->name, name);
        return;
    }
    if (f->head.tolerance < 0)
        return;
    for (size_t i = 0; points && i < banyan_json_count(points); i++)
        check_point(c, f, banyan_json_item(points, i));
    for (size_t i = 0; comparisons && i < banyan_json_count(comparisons); i++)
        check_comparison(c, f, banyan_json_item(comparisons, i));
}

static int find_file(const char *folder, const char *paper, char path[BANYAN_DATA_PATH_SIZE])
{
    char name[128];

    snprintf(name, sizeof name, "%.100s.json", paper);
    if (!folder)
        return banyan_data_find("reproduce", name, path);
    snprintf(path, BANYAN_DATA_PATH_SIZE, "%.3900s/%s", folder, name);
    return banyan_file_exists(path);
}

static banyan_status check_paper(checking *c, const char *folder, banyan_error *err)
{
    char path[BANYAN_DATA_PATH_SIZE], *text = NULL;
    banyan_json *document = NULL;
    const banyan_json *figures;
    banyan_status status;
    size_t length;

    if (!find_file(folder, c->paper->name, path)) {
        banyan_text_add(&c->text, "%s: no results are committed yet\n", c->paper->name);
        return BANYAN_SUCCESS;
    }
    status = banyan_file_load(path, &text, &length, err);
    if (!status)
        status = banyan_json_parse(text, length, &document, err);
    if (!status) {
        figures = banyan_json_field(document, "figures");
        for (size_t i = 0; figures && i < banyan_json_count(figures); i++)
            check_figure(c, banyan_json_item(figures, i));
    } else {
        banyan_error_prefix(err, path);
    }
    banyan_json_destroy(document);
    banyan_free(text);
    return status;
}

banyan_status banyan_reproduction_check(const banyan_reproduction *reproduction, const char *folder,
                                        banyan_reproduce_verdict *out, banyan_error *err)
{
    checking c = {.reproduction = reproduction, .text = BANYAN_TEXT_EMPTY};
    banyan_status status = BANYAN_SUCCESS;

    *out = (banyan_reproduce_verdict){0, 0, NULL};
    for (int i = 0; !status && i < banyan_paper_count(); i++)
        if (paper_was_run(reproduction, banyan_paper_at(i))) {
            c.paper = banyan_paper_at(i);
            status = check_paper(&c, folder, err);
        }
    if (!status) {
        banyan_text_add(&c.text, "%s", "");
        status = banyan_text_take(&c.text, &out->text, err);
    }
    if (status) {
        banyan_text_fini(&c.text);
        return status;
    }
    out->held = c.held;
    out->missed = c.missed;
    return BANYAN_SUCCESS;
}
