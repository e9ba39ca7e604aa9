/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce/reproduce.h: the evaluations of papers, reproduced in our system.
 *
 * A paper is one file that defines one const banyan_paper, and one line in reproduce/list.h. Its run() opens
 * figures and fills them with points (ours, the paper's, a bound) and with comparisons (the paper's number,
 * ours, and the reason where they differ). Text, JSON, CSV, SVG and the page come from the frame, and so does
 * the check against the results that are committed in data/reproduce/.
 *
 *     static banyan_status run(banyan_reproduction *r, banyan_error *err)
 *     {
 *         banyan_figure *f = banyan_figure_open(r, &(banyan_figure_head){
 *             .name = "fig4", .title = "...", .setting = "fluid simulator, ...", .kind = BANYAN_FIGURE_LINES,
 *             .x = "size", .y = "ms", .is_log_x = 1, .is_log_y = 1, .tolerance = 0.01});
 *
 *         banyan_figure_add(f, BANYAN_OURS, "ring", 1 << 20, "1 MiB", milliseconds);
 *         banyan_figure_compare(f, "ring at 1 MiB, ms", BANYAN_PAPERS, 1.5, milliseconds, NULL);
 *         return BANYAN_SUCCESS;
 *     }
 *
 * Failed allocations are remembered, as in core/text.h: add freely, the frame asks at the end. All texts are
 * copied. */
#ifndef BANYAN_REPRODUCE_H
#define BANYAN_REPRODUCE_H

#include <stddef.h>

#include "core/status.h"

typedef struct banyan_reproduction banyan_reproduction;
typedef struct banyan_figure banyan_figure;

typedef struct {
    const char *name;  /* 'multitree' */
    const char *title; /* of the paper, with authors and year */
    const char *about; /* what is rerun, in a sentence or two */
    banyan_status (*run)(banyan_reproduction *reproduction, banyan_error *err);
} banyan_paper;

int banyan_paper_count(void);
const banyan_paper *banyan_paper_at(int i);
const banyan_paper *banyan_paper_find(const char *name); /* NULL: none */

/* ---- For papers: figures. */

typedef enum {
    BANYAN_FIGURE_LINES,  /* a line a series over x */
    BANYAN_FIGURE_BARS,   /* groups of bars: a group an x, a bar a series */
    BANYAN_FIGURE_STACKS, /* the same, and a bar is a pile of parts: series 'ring/exposed' */
    BANYAN_FIGURE_TABLE   /* no picture: a row an x, a column a series */
} banyan_figure_kind;

typedef enum {
    BANYAN_OURS,   /* what we computed: compared with the committed results */
    BANYAN_PAPERS, /* the paper's own number */
    BANYAN_OTHERS, /* another source: the authors' program, a bound */
} banyan_origin;

typedef struct {
    const char *name;    /* 'fig9a': a-z, 0-9 and dashes; files are named for it */
    const char *title;   /* one line */
    const char *setting; /* how it was run: engine, network, sizes, and what one should know */
    banyan_figure_kind kind;
    const char *x, *y; /* what the axes show, with the unit: 'size', 'GB/s' */
    int is_log_x, is_log_y;
    double tolerance; /* the share by which ours may differ from the committed ones; negative: not held */
} banyan_figure_head;

banyan_figure *banyan_figure_open(banyan_reproduction *reproduction, const banyan_figure_head *head);

/* A value of a series at x. label: how x reads ('1 MiB'); NULL: the number. Bars and tables go by the label,
 * in the order of first mention. */
void banyan_figure_add(banyan_figure *figure, banyan_origin origin, const char *series, double x,
                       const char *label, double value);

/* A word instead of a number, for tables. */
void banyan_figure_add_word(banyan_figure *figure, banyan_origin origin, const char *series,
                            const char *label, const char *word);

/* Somebody's number beside ours. reason: why they differ, with the evidence; NULL where there is nothing to
 * explain. */
void banyan_figure_compare(banyan_figure *figure, const char *what, banyan_origin whose, double theirs,
                           double ours, const char *reason);

/* A statement of the paper, and whether it holds here. */
void banyan_figure_state(banyan_figure *figure, const char *what, int holds, const char *reason);

/* The same for a claim of our own. */
void banyan_figure_claim(banyan_figure *figure, const char *what, int holds, const char *reason);

/* A statement of the paper that cannot be tested here; the reason says why. */
void banyan_figure_cannot_test(banyan_figure *figure, const char *what, const char *reason);

/* Runs job(context, i) for i from 0 to count-1 on as many threads as there are processors (8 at the most);
 * each must keep to its own part of context. The bar moves with each. The first failure by number wins. */
banyan_status banyan_reproduce_jobs(banyan_reproduction *reproduction, int count,
                                    banyan_status (*job)(void *context, int i, banyan_error *err),
                                    void *context, banyan_error *err);

/* ---- For the command line. */

typedef void banyan_reproduce_progress(void *context, const banyan_paper *paper, size_t done, size_t total);

banyan_status banyan_reproduction_create(banyan_reproduce_progress *progress, void *context,
                                         banyan_reproduction **out, banyan_error *err);
void banyan_reproduction_destroy(banyan_reproduction *reproduction); /* accepts NULL */

/* Runs the paper; several may follow one another. */
banyan_status banyan_reproduction_run(banyan_reproduction *reproduction, const banyan_paper *paper,
                                      banyan_error *err);

/* Into the folder, which is made: index.html; for each paper NAME.json and NAME.txt; for each figure
 * NAME-FIGURE.csv and .svg. */
banyan_status banyan_reproduction_write(const banyan_reproduction *reproduction, const char *folder,
                                        banyan_error *err);

/* The command that the page shows; it must outlive the reproduction. */
void banyan_reproduction_set_command(banyan_reproduction *reproduction, const char *command);

typedef struct {
    int held;   /* values of ours that were compared with committed ones */
    int missed; /* of those, outside the tolerance or not there any more */
    char *text; /* a line a miss, and a line a paper without committed results; the caller frees it */
} banyan_reproduce_verdict;

/* Against data/reproduce/NAME.json, as that came with Banyan, or in the folder where one is given. */
banyan_status banyan_reproduction_check(const banyan_reproduction *reproduction, const char *folder,
                                        banyan_reproduce_verdict *out, banyan_error *err);

/* What there is: figures, and comparisons with others' numbers. */
int banyan_reproduction_figure_count(const banyan_reproduction *reproduction);
int banyan_reproduction_comparison_count(const banyan_reproduction *reproduction);

/* How many claims of papers hold, in one sentence; as snprintf. */
int banyan_reproduction_format_claims(const banyan_reproduction *reproduction, char *buffer, size_t size);

/* The text of NAME.txt for all papers that were run. The caller frees *out. */
banyan_status banyan_reproduction_format_text(const banyan_reproduction *reproduction, char **out,
                                              banyan_error *err);
banyan_status banyan_reproduction_format_json(const banyan_reproduction *reproduction, char **out,
                                              banyan_error *err);

#endif
