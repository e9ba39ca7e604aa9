/* SPDX-License-Identifier: Apache-2.0 */
/* tests/reference.h: the reference networks of tests/data/rates.json, one per line. */
#ifndef BANYAN_TESTS_REFERENCE_H
#define BANYAN_TESTS_REFERENCE_H

#include "bound/bound.h"
#include "core/alloc.h"
#include "core/file.h"
#include "core/json.h"

typedef struct {
    banyan_topology *topology;
    int *active, active_count;
    banyan_relays relays;
    const char *name;
    banyan_json *line; /* the fields */
} reference;

/* "32/15" as a number; 0 when the field is not there. */
static inline double reference_rate(const reference *ref, const char *key)
{
    const char *text;
    long num, den;

    if (!banyan_json_get_string(banyan_json_field(ref->line, key), &text))
        return 0;
    assert_int_equal(sscanf(text, "%ld/%ld", &num, &den), 2);
    return (double)num / (double)den;
}

/* The text of the object that begins at text, which has no braces inside strings. */
static inline size_t object_length(const char *text)
{
    size_t length = 0;
    int depth = 0;

    do {
        depth += text[length] == '{';
        depth -= text[length] == '}';
    } while (text[length++] && depth);
    return length;
}

static inline reference reference_read(const char *line)
{
    const char *topology = strstr(line, "\"topology\":") + strlen("\"topology\":"), *text;
    reference ref = {0};
    banyan_error err;

    if (banyan_json_parse(line, object_length(line), &ref.line, &err) ||
        banyan_topology_parse(topology, object_length(topology), &ref.topology, &err))
        fail_msg("%s", err.text);
    assert_true(banyan_json_get_string(banyan_json_field(ref.line, "active"), &text));
    if (banyan_topology_parse_active(ref.topology, text, &ref.active, &ref.active_count, &err))
        fail_msg("%s", err.text);
    assert_true(banyan_json_get_string(banyan_json_field(ref.line, "relays"), &text));
    assert_int_equal(banyan_relays_parse(text, &ref.relays, &err), BANYAN_SUCCESS);
    ref.name = ref.topology->name;
    return ref;
}

static inline void reference_fini(reference *ref)
{
    banyan_topology_destroy(ref->topology);
    banyan_free(ref->active);
    banyan_json_destroy(ref->line);
}

/* Calls each on every reference network. */
static inline void for_each_reference(void (*each)(const reference *ref))
{
    banyan_error err;
    char *text;
    size_t length;
    int count = 0;

    if (banyan_file_load(TEST_DATA "/data/rates.json", &text, &length, &err))
        fail_msg("%s", err.text);
    for (char *line = strstr(text, "\n{"); line; line = strstr(line + 1, "\n{")) {
        reference ref = reference_read(line + 1);

        each(&ref);
        reference_fini(&ref);
        count++;
    }
    assert_true(count >= 50);
    banyan_free(text);
}

#endif
