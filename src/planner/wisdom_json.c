/* SPDX-License-Identifier: Apache-2.0 */
/* planner/wisdom_json.c: wisdom as a text file. */
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/json.h"
#include "core/text.h"
#include "planner/wisdom.h"

banyan_status banyan_wisdom_format(const banyan_wisdom *wisdom, char **out, banyan_error *err)
{
    banyan_text text = BANYAN_TEXT_EMPTY;

    banyan_text_add(&text, "{\"format\":\"banyan-wisdom\",\"version\":1,\"entries\":[");
    for (int i = 0; i < wisdom->count; i++) {
        const banyan_wisdom_entry *e = &wisdom->entries[i];

        banyan_text_add(&text,
                        "%s\n{\"topology\":\"%s\",\"active\":\"%s\",\"collective\":\"%s\",\"root\":%d,"
                        "\"min_bytes\":%zu,\"max_bytes\":%zu,",
                        i ? "," : "", e->topology, e->active, banyan_collective_name(e->collective), e->root,
                        e->min_bytes, e->max_bytes);
        if (*e->type)
            banyan_text_add(&text, "\"type\":\"%s\",", e->type);
        banyan_text_add(&text, "\"algorithm\":");
        banyan_text_add_json_string(&text, e->algorithm);
        banyan_text_add(&text, ",\"key\":");
        banyan_text_add_json_string(&text, e->key);
        banyan_text_add(&text, ",\"value\":");
        banyan_text_add_json_string(&text, e->value);
        banyan_text_add(&text, ",\"effort\":\"%s\",\"predicted_s\":", banyan_effort_name(e->effort));
        banyan_text_add_number(&text, e->predicted_s);
        banyan_text_add(&text, "}");
    }
    banyan_text_add(&text, "]}\n");
    return banyan_text_take(&text, out, err);
}

static banyan_status wrong(banyan_error *err, size_t index, const char *field)
{
    return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "entry %zu: \"%s\" is missing or wrong", index, field);
}

/* Copies a string field that fits; 0 otherwise. */
static int take_string(const banyan_json *item, const char *field, char *out, size_t size)
{
    const char *text;

    if (!banyan_json_get_string(banyan_json_field(item, field), &text) || strlen(text) >= size)
        return 0;
    snprintf(out, size, "%s", text);
    return 1;
}

/* As banyan_digest_format writes it: nothing else can be written back as it was. */
static int take_digest(const banyan_json *item, const char *field, char out[17])
{
    return take_string(item, field, out, 17) && strspn(out, "0123456789abcdef") == 16;
}

static int take_size(const banyan_json *item, const char *field, size_t *out)
{
    int64_t value;

    if (!banyan_json_get_integer(banyan_json_field(item, field), &value) || value < 0)
        return 0;
    *out = (size_t)value;
    return 1;
}

/* Files that are older than types have none. */
static int take_type(const banyan_json *item, char *out, size_t size)
{
    if (!banyan_json_field(item, "type"))
        return 1;
    if (!take_string(item, "type", out, size))
        return 0;
#define ENTRY(id, number, text, bytes)                                                                       \
    if (!strcmp(out, text))                                                                                  \
        return 1;
    BANYAN_DATATYPE_MAP(ENTRY)
#undef ENTRY
    return 0;
}

static banyan_status read_entry(const banyan_json *item, size_t index, banyan_wisdom_entry *out,
                                banyan_error *err)
{
    char collective[32], effort[32];
    size_t root;
    int found;

    if (banyan_json_kind(item) != BANYAN_JSON_OBJECT)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "entry %zu should be an object", index);
    if (!take_digest(item, "topology", out->topology))
        return wrong(err, index, "topology");
    if (!take_digest(item, "active", out->active))
        return wrong(err, index, "active");
    if (!take_string(item, "collective", collective, sizeof collective) ||
        (found = banyan_collective_find(collective)) < 0)
        return wrong(err, index, "collective");
    out->collective = (banyan_collective)found;
    if (!take_size(item, "root", &root) || root > 1 << 24)
        return wrong(err, index, "root");
    out->root = (int)root;
    if (!take_size(item, "min_bytes", &out->min_bytes))
        return wrong(err, index, "min_bytes");
    if (!take_size(item, "max_bytes", &out->max_bytes) || out->max_bytes < out->min_bytes)
        return wrong(err, index, "max_bytes");
    if (!take_type(item, out->type, sizeof out->type))
        return wrong(err, index, "type");
    if (!take_string(item, "algorithm", out->algorithm, sizeof out->algorithm))
        return wrong(err, index, "algorithm");
    if (!take_string(item, "key", out->key, sizeof out->key))
        return wrong(err, index, "key");
    if (!take_string(item, "value", out->value, sizeof out->value))
        return wrong(err, index, "value");
    if (!take_string(item, "effort", effort, sizeof effort) ||
        banyan_effort_parse(effort, &out->effort, NULL))
        return wrong(err, index, "effort");
    if (!banyan_json_get_number(banyan_json_field(item, "predicted_s"), &out->predicted_s) ||
        out->predicted_s < 0)
        return wrong(err, index, "predicted_s");
    return BANYAN_SUCCESS;
}

static banyan_status read_entries(const banyan_json *root, banyan_wisdom *out, banyan_error *err)
{
    const banyan_json *array;
    const char *format = "";
    int64_t version = 0;
    banyan_status status = BANYAN_SUCCESS;

    if (banyan_json_kind(root) != BANYAN_JSON_OBJECT ||
        !banyan_json_get_string(banyan_json_field(root, "format"), &format) ||
        strcmp(format, "banyan-wisdom") != 0)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "\"format\" should be \"banyan-wisdom\"");
    if (!banyan_json_get_integer(banyan_json_field(root, "version"), &version) || version != 1)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "\"version\" should be 1");
    array = banyan_json_field(root, "entries");
    if (!array || banyan_json_kind(array) != BANYAN_JSON_ARRAY)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "\"entries\" should be an array");
    for (size_t i = 0; !status && i < banyan_json_count(array); i++) {
        void *entries = out->entries;
        banyan_wisdom_entry entry = {.root = 0};

        status = read_entry(banyan_json_item(array, i), i, &entry, err);
        if (!status && !banyan_grow(&entries, (size_t)out->count, &out->capacity, sizeof entry))
            status = banyan_fail_memory(err);
        if (status)
            break;
        out->entries = entries;
        out->entries[out->count++] = entry;
    }
    return status;
}

banyan_status banyan_wisdom_parse(const char *text, size_t length, banyan_wisdom *out, banyan_error *err)
{
    banyan_json *root;
    banyan_status status = banyan_json_parse(text, length, &root, err);

    banyan_wisdom_init(out);
    if (status)
        return status;
    status = read_entries(root, out, err);
    banyan_json_destroy(root);
    if (status)
        banyan_wisdom_fini(out);
    return status;
}
