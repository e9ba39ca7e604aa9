/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce/json.c: a paper's results as JSON: what is written, committed, and read back by the check. */
#include <math.h>

#include "reproduce/internal.h"

static void add_string(banyan_text *text, const char *key, const char *value)
{
    banyan_text_add(text, "\"%s\":", key);
    if (value)
        banyan_text_add_json_string(text, value);
    else
        banyan_text_add(text, "null");
}

static void add_number(banyan_text *text, const char *key, double value)
{
    banyan_text_add(text, "\"%s\":", key);
    if (isfinite(value))
        banyan_text_add_number(text, value);
    else
        banyan_text_add(text, "null");
}

static void add_point(const figure_point *p, banyan_text *text)
{
    banyan_text_add(text, "\n   {");
    add_string(text, "series", p->series);
    banyan_text_add(text, ",\"origin\":\"%s\",", origin_name(p->origin));
    add_string(text, "label", p->label);
    banyan_text_add(text, ",");
    add_number(text, "x", p->x);
    banyan_text_add(text, ",");
    if (*p->word)
        add_string(text, "word", p->word);
    else
        add_number(text, "value", p->value);
    banyan_text_add(text, "}");
}

static void add_comparison(const figure_comparison *c, banyan_text *text)
{
    banyan_text_add(text, "\n   {");
    add_string(text, "what", c->what);
    banyan_text_add(text, ",\"whose\":\"%s\",", origin_name(c->whose));
    if (c->is_statement) {
        banyan_text_add(text, "\"holds\":%s,", isnan(c->ours) ? "null" : c->ours != 0 ? "true" : "false");
    } else {
        add_number(text, "theirs", c->theirs);
        banyan_text_add(text, ",");
        add_number(text, "ours", c->ours);
        banyan_text_add(text, ",");
        add_number(text, "ratio", c->ours / c->theirs);
        banyan_text_add(text, ",");
    }
    add_string(text, "reason", c->reason);
    banyan_text_add(text, "}");
}

static void add_figure(const banyan_figure *f, banyan_text *text)
{
    banyan_text_add(text, "\n {");
    add_string(text, "name", f->head.name);
    banyan_text_add(text, ",");
    add_string(text, "title", f->head.title);
    banyan_text_add(text, ",");
    add_string(text, "setting", f->head.setting);
    banyan_text_add(text, ",");
    add_string(text, "x", f->head.x);
    banyan_text_add(text, ",");
    add_string(text, "y", f->head.y);
    banyan_text_add(text, ",");
    add_number(text, "tolerance", f->head.tolerance);
    banyan_text_add(text, ",\n  \"points\":[");
    for (size_t i = 0; i < f->point_count; i++) {
        banyan_text_add(text, "%s", i ? "," : "");
        add_point(&f->points[i], text);
    }
    banyan_text_add(text, "],\n  \"comparisons\":[");
    for (size_t i = 0; i < f->comparison_count; i++) {
        banyan_text_add(text, "%s", i ? "," : "");
        add_comparison(&f->comparisons[i], text);
    }
    banyan_text_add(text, "]}");
}

void paper_add_json(const banyan_reproduction *r, const banyan_paper *paper, banyan_text *text)
{
    int is_first = 1;

    banyan_text_add(text, "{\"format\":\"banyan-reproduction\",\"version\":1,");
    add_string(text, "paper", paper->name);
    banyan_text_add(text, ",");
    add_string(text, "title", paper->title);
    banyan_text_add(text, ",\"figures\":[");
    for (size_t i = 0; i < r->figure_count; i++)
        if (r->figures[i]->paper == paper) {
            banyan_text_add(text, "%s", is_first ? "" : ",");
            add_figure(r->figures[i], text);
            is_first = 0;
        }
    banyan_text_add(text, "]}\n");
}
