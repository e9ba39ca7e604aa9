/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce/page.c: all figures on one HTML page, with an index; it needs no other file and no network. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <banyan/banyan.h>

#include "reproduce/internal.h"

#define DARK                                                                                                 \
    "{--page:#101317;--card:#191d23;--ink:#e6e9ee;--soft:#a3acb8;--line:#333a44;--link:#56b4e9;"             \
    "--good:#3ecf9c;--bad:#ee8844}"

static const char style[] =
    ":root{color-scheme:light dark;--page:#f4f5f7;--card:#fff;--ink:#1d2129;--soft:#59626f;--line:#d4d9e0;"
    "--link:#0072b2;--good:#00754f;--bad:#b34700}"
    "@media (prefers-color-scheme:dark){:root:not([data-theme=\"light\"])" DARK "}"
    ":root[data-theme=\"dark\"]" DARK ":root[data-theme=\"dark\"]{color-scheme:dark}"
    ":root[data-theme=\"light\"]{color-scheme:light}"
    /* Pictures follow the page, not the system as they do in files of their own. */
    "section svg .page,section svg .hollow{fill:var(--card)}section svg .ink{fill:var(--ink)}"
    "section svg .soft{fill:var(--soft)}section svg .grid{stroke:var(--line)}"
    ".head{display:flex;gap:16px;justify-content:space-between;align-items:center}"
    "button{font:inherit;font-size:.88rem;color:inherit;background:var(--card);border:1px solid var(--line);"
    "border-radius:6px;padding:3px 10px;min-height:30px;cursor:pointer;white-space:nowrap}"
    "code{overflow-wrap:anywhere}.sum{font-size:1.05rem;font-weight:600}summary{cursor:pointer;color:var(--"
    "link)}"
    "body{margin:0 auto;max-width:1100px;padding:0 20px 40px;background:var(--page);color:var(--ink);"
    "font:15px/1.5 system-ui,sans-serif}"
    "section{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:14px 18px;"
    "margin:16px 0}h1{font-size:1.5rem}h2{font-size:1.3rem;margin-top:32px}h3{margin:0 0 "
    "6px;font-size:1.05rem}"
    "a{color:var(--link)}p.soft,figcaption{color:var(--soft);font-size:.9rem}"
    "svg{max-width:100%;height:auto}.wide{overflow-x:auto}.phone{display:none}"
    "@media (max-width:700px){body{padding:0 10px 30px}section{padding:12px}.desk{display:none}"
    ".phone{display:block}.phone svg{width:100%}"
    /* Rows of claims become paragraphs. */
    ".claims tr{display:flex;flex-wrap:wrap;gap:0 14px;padding:4px 0;border-bottom:1px solid var(--line)}"
    ".claims td{border:0;padding:0}.claims th{display:none}.claims td:empty{display:none}"
    ".claims td.words{flex:1 0 75%}.claims td.words:first-child{flex:0 0 auto}.claims td.reason{flex:1 0 "
    "100%}"
    ".claims td[data-is]::before{content:attr(data-is) \" \";color:var(--soft)}"
    ".claims tr td:first-child:not(.words){flex:1 0 100%;font-weight:600}}"
    /* A shadow where a table goes on. */
    ".wide{background:linear-gradient(to right,var(--card) 30%,transparent),"
    "linear-gradient(to left,var(--card) 30%,transparent) right,"
    "linear-gradient(to right,rgba(128,128,128,.4),transparent),"
    "linear-gradient(to left,rgba(128,128,128,.4),transparent) right;background-repeat:no-repeat;"
    "background-size:40px 100%,40px 100%,12px 100%,12px 100%;background-attachment:local,local,scroll,scroll}"
    "table{border-collapse:collapse;font-size:.88rem;font-variant-numeric:tabular-nums;margin:8px 0}"
    "th,td{padding:2px 10px;border-bottom:1px solid var(--line);text-align:right;vertical-align:top}"
    "th:first-child,td:first-child,td.words,th.words{text-align:left}td.reason{text-align:left;max-width:"
    "34em;"
    "color:var(--soft)}.good{color:var(--good)}.bad{color:var(--bad)}nav li{margin:2px 0}";

static const char script[] =
    "'use strict';const names=['auto','light','dark'],signs=['\u25d0','\u2600','\u263e'];let at=0;"
    "const button=document.getElementById('theme');button.hidden=false;"
    "button.onclick=()=>{at=(at+1)%3;if(at)document.documentElement.dataset.theme=names[at];"
    "else delete document.documentElement.dataset.theme;button.textContent=`${signs[at]} ${names[at]}`;"
    "button.setAttribute('aria-label',`Colours: ${at?names[at]:'as the system has them'}`)};";

static void add_cell(banyan_text *text, const figure_point *p)
{
    banyan_text_add(text, "<td>");
    if (p && *p->word)
        banyan_text_add_xml(text, p->word);
    else
        add_short_number(text, p ? p->value : NAN);
    banyan_text_add(text, "</td>");
}

static banyan_status add_table(const banyan_figure *f, banyan_text *text, banyan_error *err)
{
    figure_names series = {NULL, 0}, labels = {NULL, 0};
    banyan_status status = figure_find_series(f, &series, err);

    if (!status)
        status = figure_find_labels(f, &labels, err);
    if (!status) {
        banyan_text_add(text, "<div class=\"wide\"><table><tr><th>");
        banyan_text_add_xml(text, f->head.x);
        banyan_text_add(text, "</th>");
        for (int i = 0; i < series.count; i++) {
            const figure_point *p = &f->points[series.first[i]];

            banyan_text_add(text, "<th>");
            banyan_text_add_xml(text, p->series);
            banyan_text_add(text, "%s</th>", p->origin == BANYAN_PAPERS ? " (paper)" : "");
        }
        banyan_text_add(text, "</tr>\n");
        for (int k = 0; k < labels.count; k++) {
            const char *label = f->points[labels.first[k]].label;

            banyan_text_add(text, "<tr><td>");
            banyan_text_add_xml(text, label);
            banyan_text_add(text, "</td>");
            for (int i = 0; i < series.count; i++)
                add_cell(text, figure_find(f, f->points[series.first[i]].series, label));
            banyan_text_add(text, "</tr>\n");
        }
        banyan_text_add(text, "</table></div>\n");
    }
    figure_names_fini(&series);
    figure_names_fini(&labels);
    return status;
}

static int same_reason(const figure_comparison *a, const figure_comparison *b)
{
    return a->reason && b->reason && *a->reason && !strcmp(a->reason, b->reason);
}

/* rows: how many from this one on have its reason; 0: one before said it. */
static void add_comparison(const figure_comparison *c, int rows, banyan_text *text)
{
    banyan_text_add(text, "<tr><td class=\"words\">%s</td><td class=\"words\">", whose_name(c->whose));
    banyan_text_add_xml(text, c->what);
    if (c->is_statement) {
        banyan_text_add(text, "</td><td colspan=\"3\" class=\"%s\">%s",
                        isnan(c->ours) ? ""
                        : c->ours != 0 ? "good"
                                       : "bad",
                        statement_words(c));
    } else {
        banyan_text_add(text, "</td><td data-is=\"theirs\">");
        add_short_number(text, c->theirs);
        banyan_text_add(text, "</td><td data-is=\"ours\">");
        add_short_number(text, c->ours);
        banyan_text_add(text, "</td><td data-is=\"ratio\">%.3f", c->ours / c->theirs);
    }
    banyan_text_add(text, "</td>");
    if (rows > 0) {
        banyan_text_add(text, "<td class=\"reason\" rowspan=\"%d\">", rows);
        banyan_text_add_xml(text, c->reason ? c->reason : "");
        banyan_text_add(text, "</td>");
    }
    banyan_text_add(text, "</tr>\n");
}

static void add_comparisons(const banyan_figure *f, banyan_text *text)
{
    if (!f->comparison_count)
        return;
    banyan_text_add(
        text, "<div class=\"wide\"><table class=\"claims\"><tr><th>whose</th><th class=\"words\">what</th>"
              "<th>theirs</th><th>ours</th><th>ratio</th><th class=\"words\">why</th></tr>\n");
    for (size_t i = 0; i < f->comparison_count; i++) {
        const figure_comparison *c = &f->comparisons[i];
        int rows = 0;

        if (!i || !same_reason(c - 1, c))
            for (rows = 1; i + (size_t)rows < f->comparison_count && same_reason(c, c + rows);)
                rows++;
        add_comparison(c, rows, text);
    }
    banyan_text_add(text, "</table></div>\n");
}

static banyan_status add_figure(const banyan_figure *f, banyan_text *text, banyan_error *err)
{
    const char *paper = f->paper->name, *name = f->head.name;
    int has_picture = f->head.kind != BANYAN_FIGURE_TABLE;
    banyan_status status = BANYAN_SUCCESS;

    banyan_text_add(text, "<section id=\"%s-%s\"><h3>", paper, name);
    banyan_text_add_xml(text, f->head.title);
    banyan_text_add(text, "</h3>\n<p class=\"soft\">");
    banyan_text_add_xml(text, f->head.setting);
    banyan_text_add(text, "</p>\n");
    for (int shape = FIGURE_WIDE; has_picture && !status && shape <= FIGURE_NARROW; shape++) {
        banyan_text_add(text, "<div class=\"%s\">", shape == FIGURE_WIDE ? "desk" : "phone");
        status = figure_add_svg(f, (figure_shape)shape, text, err);
        banyan_text_add(text, "</div>\n");
    }
    add_comparisons(f, text);
    if (status)
        return status;
    if (has_picture)
        banyan_text_add(text, "<details><summary>as a table</summary>\n");
    status = add_table(f, text, err);
    banyan_text_add(text, "%s<p class=\"soft\">", has_picture ? "</details>" : "");
    if (f->head.tolerance >= 0)
        banyan_text_add(text, "A rerun may differ by %.3g %%. ", 100 * f->head.tolerance);
    else
        banyan_text_add(text, "Measured: a rerun may differ. ");
    banyan_text_add(text, "<a href=\"%s-%s.csv\">CSV</a>", paper, name);
    if (has_picture)
        banyan_text_add(text, " <a href=\"%s-%s.svg\">SVG</a>", paper, name);
    banyan_text_add(text, "</p></section>\n");
    return status;
}

static banyan_status add_paper(const banyan_reproduction *r, const banyan_paper *paper, banyan_text *text,
                               banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    banyan_text_add(text, "<h2 id=\"%s\">", paper->name);
    banyan_text_add_xml(text, paper->title);
    banyan_text_add(text, "</h2>\n<p>");
    banyan_text_add_xml(text, paper->about);
    banyan_text_add(text, " <a href=\"%s.json\">JSON</a> <a href=\"%s.txt\">text</a></p>\n", paper->name,
                    paper->name);
    for (size_t i = 0; !status && i < r->figure_count; i++)
        if (r->figures[i]->paper == paper)
            status = add_figure(r->figures[i], text, err);
    return status;
}

static void add_index(const banyan_reproduction *r, banyan_text *text)
{
    banyan_text_add(text, "<nav><ul>\n");
    for (int i = 0; i < banyan_paper_count(); i++) {
        const banyan_paper *paper = banyan_paper_at(i);

        if (!paper_was_run(r, paper))
            continue;
        banyan_text_add(text, "<li><a href=\"#%s\">", paper->name);
        banyan_text_add_xml(text, paper->title);
        banyan_text_add(text, "</a><ul>\n");
        for (size_t k = 0; k < r->figure_count; k++)
            if (r->figures[k]->paper == paper) {
                banyan_text_add(text, "<li><a href=\"#%s-%s\">", paper->name, r->figures[k]->head.name);
                banyan_text_add_xml(text, r->figures[k]->head.title);
                banyan_text_add(text, "</a></li>\n");
            }
        banyan_text_add(text, "</ul></li>\n");
    }
    banyan_text_add(text, "</ul></nav>\n");
}

static void add_made(const banyan_reproduction *r, banyan_text *text)
{
    time_t now = time(NULL);
    struct tm parts;
    char date[32];

    gmtime_r(&now, &parts);
    strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", &parts);
    banyan_text_add(text, "<p class=\"soft\">");
    if (r->command) {
        banyan_text_add(text, "<code>");
        banyan_text_add_xml(text, r->command);
        banyan_text_add(text, "</code> \u00b7 ");
    }
    banyan_text_add(text, "Banyan %d.%d.%d \u00b7 %s</p>\n", BANYAN_VERSION_MAJOR, BANYAN_VERSION_MINOR,
                    BANYAN_VERSION_PATCH, date);
}

banyan_status reproduction_add_page(const banyan_reproduction *r, banyan_text *text, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    banyan_text_add(text, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                          "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
                          "<title>Paper results, reproduced</title>\n<style>");
    banyan_text_add_bytes(text, style, sizeof style - 1);
    banyan_text_add(text,
                    "</style></head><body>\n<div class=\"head\"><h1>Paper results, reproduced</h1>"
                    "<button type=\"button\" id=\"theme\" hidden aria-label=\"Colours: as the system has "
                    "them\">\u25d0 auto</button></div>\n"
                    "<p>What papers report, what we find in our system, and why they differ where they "
                    "do. Full lines are ours, dashed ones come from elsewhere, diamonds are the "
                    "paper's.</p>\n");
    add_made(r, text);
    reproduction_add_claims(r, text);
    add_index(r, text);
    for (int i = 0; !status && i < banyan_paper_count(); i++)
        if (paper_was_run(r, banyan_paper_at(i)))
            status = add_paper(r, banyan_paper_at(i), text, err);
    banyan_text_add(text, "<script>\n%s\n</script>\n</body></html>\n", script);
    return status;
}
