/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce/internal.h: what the writers and the check of this module read. */
#ifndef BANYAN_REPRODUCE_INTERNAL_H
#define BANYAN_REPRODUCE_INTERNAL_H

#include "core/json.h"
#include "core/text.h"
#include "reproduce/reproduce.h"

typedef struct {
    banyan_origin origin;
    char series[64], label[48];
    char word[64]; /* instead of the value, or "" */
    double x, value;
} figure_point;

typedef struct {
    char *what, *reason; /* reason may be NULL */
    banyan_origin whose;
    int is_statement; /* theirs is 1, and ours 1 where it holds, 0 where not, NAN where it cannot be tested */
    double theirs, ours;
} figure_comparison;

typedef enum { CLAIM_NONE, CLAIM_HOLDS, CLAIM_FAILS, CLAIM_NOT_TESTABLE } claim_verdict;

#define CLAIM_TOLERANCE 0.1 /* share by which our number may differ from a paper's that counts as met */

typedef struct {
    int count[2][CLAIM_NOT_TESTABLE + 1]; /* of statements, of numbers; by verdict */
} claim_tally;

claim_verdict comparison_verdict(const figure_comparison *comparison);
const char *claim_verdict_words(claim_verdict verdict);          /* "holds here" */
const char *statement_words(const figure_comparison *statement); /* the same, of anybody */

struct banyan_figure {
    banyan_reproduction *owner;
    const banyan_paper *paper;
    banyan_figure_head head; /* its texts are ours */
    figure_point *points;
    size_t point_count, point_capacity;
    figure_comparison *comparisons;
    size_t comparison_count, comparison_capacity;
};

struct banyan_reproduction {
    banyan_reproduce_progress *progress;
    void *context;
    const banyan_paper *paper; /* the one that runs */
    size_t done, total;        /* of its jobs */
    int failed;                /* an allocation did */
    const char *command;       /* that made it, for the page; may be NULL */
    banyan_figure **figures;
    size_t figure_count, figure_capacity;
};

/* The distinct series (or labels) of a figure in the order of first mention: indices of points. */
typedef struct {
    size_t *first; /* by series: the point that mentions it first */
    int count;
} figure_names;

banyan_status figure_find_series(const banyan_figure *figure, figure_names *out, banyan_error *err);
banyan_status figure_find_labels(const banyan_figure *figure, figure_names *out, banyan_error *err);
void figure_names_fini(figure_names *names);

/* The point of a series at a label, or NULL. */
const figure_point *figure_find(const banyan_figure *figure, const char *series, const char *label);

const char *origin_name(banyan_origin origin); /* 'ours', 'paper', 'other' */

const char *whose_name(banyan_origin origin); /* of a comparison: 'ours', 'paper', 'others' */

/* Four digits: 12.34, 1235, 0.00012. */
void add_short_number(banyan_text *text, double value);

/* Each appends; failures are the text's. */
banyan_status figure_add_table(const banyan_figure *figure, banyan_text *text, banyan_error *err);
void figure_add_comparisons(const banyan_figure *figure, banyan_text *text);
/* A file of its own has its title in the picture; on the page it is the heading, and a phone gets a picture
 * of its own, with the legend below. */
typedef enum { FIGURE_ALONE, FIGURE_WIDE, FIGURE_NARROW } figure_shape;
banyan_status figure_add_svg(const banyan_figure *figure, figure_shape shape, banyan_text *text,
                             banyan_error *err);
banyan_status figure_add_csv(const banyan_figure *figure, banyan_text *text, banyan_error *err);
void paper_add_json(const banyan_reproduction *reproduction, const banyan_paper *paper, banyan_text *text);
banyan_status paper_add_text(const banyan_reproduction *reproduction, const banyan_paper *paper,
                             banyan_text *text, banyan_error *err);
banyan_status reproduction_add_page(const banyan_reproduction *reproduction, banyan_text *text,
                                    banyan_error *err);

claim_tally tally_claims(const banyan_reproduction *reproduction, const banyan_paper *paper); /* NULL: all */
void reproduction_add_claims(const banyan_reproduction *reproduction, banyan_text *text);     /* HTML */

int paper_was_run(const banyan_reproduction *reproduction, const banyan_paper *paper);

/* Fields of a JSON object: "" and NAN where they are missing. */
const char *banyan_reproduce_string_of(const banyan_json *object, const char *key);
double banyan_reproduce_number_of(const banyan_json *object, const char *key);

#endif
