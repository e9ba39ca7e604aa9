/* SPDX-License-Identifier: Apache-2.0 */
/* core/json.c: the one file that meets jansson. */
#include "core/json.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

/* banyan_json is never defined: a pointer to it is a json_t pointer. */
static const json_t *inside(const banyan_json *value)
{
    return (const json_t *)(const void *)value;
}

static banyan_json *outside(json_t *value)
{
    return (banyan_json *)(void *)value;
}

banyan_status banyan_json_parse(const char *text, size_t length, banyan_json **out, banyan_error *err)
{
    json_error_t why;
    json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &why);

    *out = NULL;
    if (!root) {
        /* Where an allocation failed, jansson most often says nothing at all. */
        if (!why.text[0] || json_error_code(&why) == json_error_out_of_memory)
            return banyan_fail_memory(err);
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d, column %d: %s", why.line, why.column,
                           why.text);
    }
    *out = outside(root);
    return BANYAN_SUCCESS;
}

void banyan_json_destroy(banyan_json *document)
{
    if (document)
        json_decref((json_t *)(void *)document);
}

banyan_json_type banyan_json_kind(const banyan_json *value)
{
    switch (json_typeof(inside(value))) {
    case JSON_OBJECT:
        return BANYAN_JSON_OBJECT;
    case JSON_ARRAY:
        return BANYAN_JSON_ARRAY;
    case JSON_STRING:
        return BANYAN_JSON_STRING;
    case JSON_INTEGER:
    case JSON_REAL:
        return BANYAN_JSON_NUMBER;
    case JSON_TRUE:
    case JSON_FALSE:
        return BANYAN_JSON_BOOLEAN;
    case JSON_NULL:
        break;
    }
    return BANYAN_JSON_NULL;
}

const char *banyan_json_kind_name(const banyan_json *value)
{
    static const char *const names[] = {"null", "a boolean", "a number", "a string", "an array", "an object"};

    return value ? names[banyan_json_kind(value)] : "nothing";
}

size_t banyan_json_count(const banyan_json *value)
{
    return json_is_array(inside(value)) ? json_array_size(inside(value)) : json_object_size(inside(value));
}

const banyan_json *banyan_json_item(const banyan_json *array, size_t i)
{
    return outside(json_array_get(inside(array), i));
}

const banyan_json *banyan_json_field(const banyan_json *object, const char *key)
{
    return outside(json_object_get(inside(object), key));
}

const char *banyan_json_key(const banyan_json *object, size_t i)
{
    json_t *whole = (json_t *)(uintptr_t)inside(object);
    void *at = json_object_iter(whole);

    while (at && i--)
        at = json_object_iter_next(whole, at);
    return at ? json_object_iter_key(at) : NULL;
}

const char *banyan_json_unknown_field(const banyan_json *object, const char *const *known, int count)
{
    json_t *whole = (json_t *)(uintptr_t)inside(object);
    const char *key;
    json_t *value;

    json_object_foreach(whole, key, value)
    {
        int i = 0;

        while (i < count && strcmp(key, known[i]) != 0)
            i++;
        if (i == count)
            return key;
    }
    return NULL;
}

int banyan_json_get_string(const banyan_json *value, const char **out)
{
    if (!value || !json_is_string(inside(value)))
        return 0;
    *out = json_string_value(inside(value));
    return 1;
}

int banyan_json_get_number(const banyan_json *value, double *out)
{
    if (!value || !json_is_number(inside(value)))
        return 0;
    *out = json_number_value(inside(value));
    return 1;
}

int banyan_json_get_integer(const banyan_json *value, int64_t *out)
{
    double real;

    if (!value)
        return 0;
    if (json_is_integer(inside(value))) {
        *out = json_integer_value(inside(value));
        return 1;
    }
    if (!json_is_real(inside(value)))
        return 0;
    real = json_real_value(inside(value));
    if (fabs(real) > 9e15 || real != floor(real))
        return 0;
    *out = (int64_t)real;
    return 1;
}

int banyan_json_get_boolean(const banyan_json *value, int *out)
{
    if (!value || !json_is_boolean(inside(value)))
        return 0;
    *out = json_is_true(inside(value));
    return 1;
}
