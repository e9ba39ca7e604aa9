/* SPDX-License-Identifier: Apache-2.0 */
/* topology/scan.h: what the readers of plain text share: lines with their numbers, words, numbers and names.
 * Texts are borrowed and not NUL-terminated; nothing here allocates. */
#ifndef BANYAN_TOPOLOGY_SCAN_H
#define BANYAN_TOPOLOGY_SCAN_H

#include <stddef.h>

#include "core/status.h"

/* The largest network that an importer makes. */
enum { BANYAN_IMPORT_MAX_NODES = 65536, BANYAN_IMPORT_MAX_LINKS = 4194304 };

typedef struct {
    const char *at;
    size_t length;
} banyan_word;

typedef struct {
    const char *at, *end; /* what is left to read */
    banyan_word line;     /* the line that was read last, without its end */
    int number;           /* its number, from 1 */
} banyan_scan;

/* Begins after a byte order mark, where there is one. */
void banyan_scan_init(banyan_scan *scan, const char *text, size_t length);

/* Moves to the next line; 0 at the end. */
int banyan_scan_next_line(banyan_scan *scan);

/* Refuses text that is empty, not UTF-8, or holds control bytes other than tab, line ends and escape. */
banyan_status banyan_scan_check_text(const char *text, size_t length, banyan_error *err);

banyan_word banyan_word_trim(banyan_word word);              /* without blanks and tabs at both ends */
int banyan_word_take(banyan_word *rest, banyan_word *taken); /* the next run of non-blanks; 0: none left */
int banyan_word_is(banyan_word word, const char *text);      /* case counts */
int banyan_word_is_like(banyan_word word, const char *text); /* case does not */
int banyan_word_begins(banyan_word word, const char *text);

/* A decimal number, such as '-1.5e3', whatever the locale is; 0 if it is none. Too large is infinite. */
int banyan_word_number(banyan_word word, double *out);

/* Digits alone, at most high; 0 if not. */
int banyan_word_integer(banyan_word word, int high, int *out);

/* As much of the word as an error sentence can carry, cut between characters. */
typedef struct {
    char text[52];
} banyan_shown;
banyan_shown banyan_word_show(banyan_word word);

/* A name must have 1 to 255 bytes and neither blanks nor control characters. */
banyan_status banyan_word_check_name(banyan_word word, int line, banyan_error *err);

#endif
