/* SPDX-License-Identifier: Apache-2.0 */
/* core/json.h: reading JSON. The document owns all its values; what is borrowed lives as long as it does.
 * Duplicate keys, NaN and infinities are refused by the parser, so readers need not look for them. */
#ifndef BANYAN_CORE_JSON_H
#define BANYAN_CORE_JSON_H

#include <stdint.h>

#include "core/status.h"

/* The library's own value behind another name, so that only json.c knows the library. */
typedef struct banyan_json banyan_json;

typedef enum {
    BANYAN_JSON_NULL,
    BANYAN_JSON_BOOLEAN,
    BANYAN_JSON_NUMBER,
    BANYAN_JSON_STRING,
    BANYAN_JSON_ARRAY,
    BANYAN_JSON_OBJECT
} banyan_json_type;

/* On failure the sentence names line and column. */
banyan_status banyan_json_parse(const char *text, size_t length, banyan_json **out, banyan_error *err);
void banyan_json_destroy(banyan_json *document); /* accepts NULL */

banyan_json_type banyan_json_kind(const banyan_json *value);
const char *banyan_json_kind_name(const banyan_json *value); /* 'a string', for error sentences */

/* Items of an array or fields of an object; 0 for anything else. */
size_t banyan_json_count(const banyan_json *value);
const banyan_json *banyan_json_item(const banyan_json *array, size_t i);
const banyan_json *banyan_json_field(const banyan_json *object, const char *key); /* NULL if absent */

/* The i-th key of an object, in the order of the text; NULL beyond the last. */
const char *banyan_json_key(const banyan_json *object, size_t i);

/* A key of the object that is not in the list, or NULL. */
const char *banyan_json_unknown_field(const banyan_json *object, const char *const *known, int count);

/* Each returns 1 and sets *out when the value is of that kind, else 0. An integer is a number without
 * fraction. */
int banyan_json_get_string(const banyan_json *value, const char **out);
int banyan_json_get_number(const banyan_json *value, double *out);
int banyan_json_get_integer(const banyan_json *value, int64_t *out);
int banyan_json_get_boolean(const banyan_json *value, int *out);

#endif
