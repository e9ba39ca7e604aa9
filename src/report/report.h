/* SPDX-License-Identifier: Apache-2.0 */
/* report/report.h: everything that is known about a plan, on one page that needs nothing else.
 *
 *     what others found (plain values) ─> banyan_report_format ─> JSON ─> banyan_report_page ─> one HTML file
 *
 * The page draws in the reader's browser and asks nobody for anything: no fonts, no libraries, no
 * requests. */
#ifndef BANYAN_REPORT_H
#define BANYAN_REPORT_H

#include <time.h>

#include "schedule/timeline.h"
#include "topology/topology.h"

/* One algorithm on this network. */
typedef struct {
    const char *algorithm, *summary;
    const char *why_not; /* not NULL: it does not serve here, and nothing below holds */
    double predicted_s;  /* at the report's size */
    const char *model;   /* who predicted */
    double bytes_per_s;  /* of vector as size grows */
    double volume;       /* the most that a worker sends, in vectors */
    int rounds, flows, depth;
    size_t transfers;
    const double *curve_s; /* by size; NULL: no curve */
    const char *is_walked; /* by size: 1 where the walk predicted it, 0 the fluid model */
} banyan_report_result;

/* What no algorithm can pass, and why. */
typedef struct {
    double bytes_per_s; /* NAN: not known, and nothing below holds */
    const char *kind;   /* 'cut', 'partition', 'prices' */
    const char *words;
    int part_count;
    const int *part;      /* by node; -1: does not matter */
    const int64_t *price; /* by link; 0: not part of the proof */
} banyan_report_bound;

/* All borrowed. */
typedef struct {
    const banyan_topology *topology;
    const banyan_schedule *schedule; /* the chosen plan */
    const int *path_of;              /* by transfer: its path */
    const int *path_first;           /* links of path i: path_link[path_first[i] .. path_first[i+1]) */
    const int *path_link;
    const banyan_timeline *predicted;
    const banyan_timeline *measured; /* NULL: none; transfers that were not measured have NAN */
    const char *why;                 /* the choice in a sentence; NULL: none */
    const char *command;             /* that makes the page; NULL: a call of the library */
    time_t made_at;
    size_t bytes;
    int result_count, chosen; /* chosen: the result whose schedule it is */
    const banyan_report_result *results;
    int size_count;
    const size_t *sizes; /* of the curves */
    banyan_report_bound bound;
} banyan_report;

/* UNSUPPORTED for a network that is too large to draw; asked before anything is planned for it. */
banyan_status banyan_report_check(const banyan_topology *topology, banyan_error *err);

/* The data of the page as JSON (docs/verbs/banyan-report.md names the keys); at most about four megabytes:
 * what is more than that is taken together, and the data says so. The caller frees *out. UNSUPPORTED for a
 * network that is too large to draw. */
banyan_status banyan_report_format(const banyan_report *report, char **out, banyan_error *err);

/* The page around the data; the caller frees *out. */
banyan_status banyan_report_page(const char *title, const char *data, char **out, banyan_error *err);

/* A measured timeline of the schedule from a Chrome trace as banyan-trace(5) describes it. INVALID_ARGUMENT
 * with a sentence where it is the trace of another schedule. */
banyan_status banyan_report_parse_trace(const char *text, size_t length, const banyan_schedule *schedule,
                                        const banyan_topology *topology, banyan_timeline **out,
                                        banyan_error *err);

#endif
