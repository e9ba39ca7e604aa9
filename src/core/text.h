/* SPDX-License-Identifier: Apache-2.0 */
/* core/text.h: a text that grows as one appends to it.
 * A failed allocation is remembered, not reported: append freely and ask once, at the end. */
#ifndef BANYAN_CORE_TEXT_H
#define BANYAN_CORE_TEXT_H

#include <stddef.h>

#include "core/status.h"

typedef struct {
    char *bytes; /* NUL-terminated once anything was appended */
    size_t length, capacity;
    int failed;
} banyan_text;

#define BANYAN_TEXT_EMPTY                                                                                    \
    {                                                                                                        \
        NULL, 0, 0, 0                                                                                        \
    }

void banyan_text_add(banyan_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void banyan_text_add_bytes(banyan_text *text, const char *bytes, size_t length);

/* Appends the string with quotes and JSON escapes; the shortest decimal that reads back as the same
 * double. */
void banyan_text_add_json_string(banyan_text *text, const char *string);
void banyan_text_add_number(banyan_text *text, double value);

/* Appends ,"name":[...] with the indices of the flags that are set. */
void banyan_text_add_json_set(banyan_text *text, const char *name, const char *flags, int size);

/* What stands before item i of count in a sentence: nothing, ", " or " and ". */
const char *banyan_text_separator(int i, int count);

/* Appends the string with &, <, >, and quotes made safe for XML, SVG and HTML. */
void banyan_text_add_xml(banyan_text *text, const char *string);

/* Gives the text away (the caller frees it with banyan_free) or says that memory ran out. */
banyan_status banyan_text_take(banyan_text *text, char **out, banyan_error *err);
void banyan_text_fini(banyan_text *text);

#endif
