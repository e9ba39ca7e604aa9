/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce/claims.c: what papers claim, and how much of it holds here: statements, and numbers that count as
 * held where ours is within a tenth of them. Claims of our own and numbers of others are not counted. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/alloc.h"
#include "reproduce/internal.h"

claim_verdict comparison_verdict(const figure_comparison *c)
{
    if (c->whose != BANYAN_PAPERS)
        return CLAIM_NONE;
    if (c->is_statement && isnan(c->ours))
        return CLAIM_NOT_TESTABLE;
    if (c->is_statement)
        return c->ours != 0 ? CLAIM_HOLDS : CLAIM_FAILS;
    return fabs(c->ours - c->theirs) <= CLAIM_TOLERANCE * fabs(c->theirs) ? CLAIM_HOLDS : CLAIM_FAILS;
}

const char *claim_verdict_words(claim_verdict verdict)
{
    static const char *const words[] = {"", "holds here", "does not hold here", "not testable here"};

    return words[verdict];
}

const char *statement_words(const figure_comparison *statement)
{
    figure_comparison papers = *statement;

    papers.whose = BANYAN_PAPERS;
    return claim_verdict_words(comparison_verdict(&papers));
}

claim_tally tally_claims(const banyan_reproduction *r, const banyan_paper *paper)
{
    claim_tally tally = {{{0}}};

    for (size_t i = 0; i < r->figure_count; i++)
        for (size_t k = 0; k < r->figures[i]->comparison_count; k++) {
            const figure_comparison *c = &r->figures[i]->comparisons[k];

            if (!paper || r->figures[i]->paper == paper)
                tally.count[!c->is_statement][comparison_verdict(c)]++;
        }
    return tally;
}

int banyan_reproduction_format_claims(const banyan_reproduction *reproduction, char *buffer, size_t size)
{
    claim_tally tally = tally_claims(reproduction, NULL);
    const int *said = tally.count[0], *numbers = tally.count[1];

    return snprintf(
        buffer, size,
        "%d statements of papers hold, %d do not, %d are not testable here; %d of %d numbers of papers "
        "are met within %.0f %%",
        said[CLAIM_HOLDS], said[CLAIM_FAILS], said[CLAIM_NOT_TESTABLE], numbers[CLAIM_HOLDS],
        numbers[CLAIM_HOLDS] + numbers[CLAIM_FAILS], 100 * CLAIM_TOLERANCE);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Per cent, or the factor where it is more than two. */
static void add_off(banyan_text *text, const char *what, double ratio)
{
    banyan_text_add(text, "<td data-is=\"%s\">", what);
    if (ratio > 2)
        banyan_text_add(text, "factor %.3g</td>", ratio);
    else
        banyan_text_add(text, "%.1f %%</td>", 100 * (ratio - 1));
}

/* How far our numbers are from the papers', either way: the middle one, and the largest. */
static void add_distance(const banyan_reproduction *r, const banyan_paper *paper, banyan_text *text)
{
    double *off;
    size_t count = 0, most = 0;

    for (size_t i = 0; i < r->figure_count; i++)
        most += r->figures[i]->comparison_count;
    off = banyan_alloc(most, sizeof *off);
    if (!off) {
        text->failed = 1;
        return;
    }
    for (size_t i = 0; i < r->figure_count; i++)
        for (size_t k = 0; k < r->figures[i]->comparison_count; k++) {
            const figure_comparison *c = &r->figures[i]->comparisons[k];

            if ((!paper || r->figures[i]->paper == paper) && !c->is_statement &&
                comparison_verdict(c) != CLAIM_NONE && c->theirs > 0 && c->ours > 0)
                off[count++] = fmax(c->ours / c->theirs, c->theirs / c->ours);
        }
    qsort(off, count, sizeof *off, by_size);
    if (count) {
        add_off(text, "off by, median", off[count / 2]);
        add_off(text, "at most", off[count - 1]);
    } else {
        banyan_text_add(text, "<td>-</td><td>-</td>");
    }
    banyan_free(off);
}

static void add_row(const banyan_reproduction *r, const banyan_paper *paper, banyan_text *text)
{
    static const char *const names[2][CLAIM_NOT_TESTABLE + 1] = {
        {"", "statements that hold", "do not hold", "not testable here"}, {"", "numbers met", "not met", ""}};
    const claim_tally all = tally_claims(r, paper), *tally = &all;

    banyan_text_add(text, "<tr><td>%s</td>", paper ? paper->name : "all");
    for (int kind = 0; kind < 2; kind++)
        for (int verdict = CLAIM_HOLDS; verdict <= CLAIM_NOT_TESTABLE - kind; verdict++)
            banyan_text_add(text, "<td data-is=\"%s\">%d</td>", names[kind][verdict],
                            tally->count[kind][verdict]);
    add_distance(r, paper, text);
    banyan_text_add(text, "</tr>\n");
}

static void add_claim(const banyan_figure *f, const figure_comparison *c, banyan_text *text)
{
    claim_verdict verdict = comparison_verdict(c);

    banyan_text_add(text, "<tr><td class=\"words\"><a href=\"#%s-%s\">", f->paper->name, f->head.name);
    banyan_text_add_xml(text, c->what ? c->what : "");
    banyan_text_add(text, "</a></td><td class=\"words %s\">",
                    verdict == CLAIM_HOLDS   ? "good"
                    : verdict == CLAIM_FAILS ? "bad"
                                             : "");
    banyan_text_add(text, "%s", claim_verdict_words(verdict));
    if (!c->is_statement) {
        banyan_text_add(text, ": ");
        add_short_number(text, c->theirs);
        banyan_text_add(text, ", ours ");
        add_short_number(text, c->ours);
    }
    banyan_text_add(text, "</td><td class=\"reason\">");
    banyan_text_add_xml(text, c->reason ? c->reason : "");
    banyan_text_add(text, "</td></tr>\n");
}

static void add_claims_of(const banyan_reproduction *r, const banyan_paper *paper, banyan_text *text)
{
    banyan_text_add(text,
                    "<details><summary>claims of %s</summary><div class=\"wide\"><table class=\"claims\">\n",
                    paper->name);
    for (size_t i = 0; i < r->figure_count; i++)
        for (size_t k = 0; r->figures[i]->paper == paper && k < r->figures[i]->comparison_count; k++)
            if (comparison_verdict(&r->figures[i]->comparisons[k]) != CLAIM_NONE)
                add_claim(r->figures[i], &r->figures[i]->comparisons[k], text);
    banyan_text_add(text, "</table></div></details>\n");
}

void reproduction_add_claims(const banyan_reproduction *r, banyan_text *text)
{
    char words[256];
    int papers = 0;

    banyan_reproduction_format_claims(r, words, sizeof words);
    banyan_text_add(
        text,
        "<section id=\"claims\"><h3>What holds</h3>\n<p class=\"sum\">%s.</p>\n<div class=\"wide\"><table "
        "class=\"claims\">"
        "<tr><th>paper</th><th>statements that hold</th><th>do not hold</th><th>not testable here</th>"
        "<th>numbers met</th><th>not met</th><th>off by, median</th><th>at most</th></tr>\n",
        words);
    for (int i = 0; i < banyan_paper_count(); i++)
        if (paper_was_run(r, banyan_paper_at(i))) {
            add_row(r, banyan_paper_at(i), text);
            papers++;
        }
    if (papers > 1)
        add_row(r, NULL, text);
    banyan_text_add(text, "</table></div>\n");
    for (int i = 0; i < banyan_paper_count(); i++)
        if (paper_was_run(r, banyan_paper_at(i)))
            add_claims_of(r, banyan_paper_at(i), text);
    banyan_text_add(text, "</section>\n");
}
