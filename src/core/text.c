/* SPDX-License-Identifier: Apache-2.0 */
/* core/text.c: a growing text with a sticky failure. */
#include "core/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"

static int make_room(banyan_text *text, size_t more)
{
    size_t wanted = text->capacity ? text->capacity : 256;
    char *bigger;

    if (text->failed)
        return 0;
    if (text->length + more + 1 <= text->capacity)
        return 1;
    while (wanted < text->length + more + 1)
        wanted *= 2;
    bigger = banyan_realloc(text->bytes, wanted, 1);
    if (!bigger) {
        text->failed = 1;
        return 0;
    }
    text->bytes = bigger;
    text->capacity = wanted;
    return 1;
}

void banyan_text_add(banyan_text *text, const char *format, ...)
{
    va_list arguments;
    char small[256];
    int length;

    va_start(arguments, format);
    length = vsnprintf(small, sizeof small, format, arguments);
    va_end(arguments);
    if (length < 0)
        return;
    if ((size_t)length < sizeof small) {
        banyan_text_add_bytes(text, small, (size_t)length);
        return;
    }
    if (!make_room(text, (size_t)length))
        return;
    va_start(arguments, format);
    vsnprintf(text->bytes + text->length, (size_t)length + 1, format, arguments);
    va_end(arguments);
    text->length += (size_t)length;
}

void banyan_text_add_bytes(banyan_text *text, const char *bytes, size_t length)
{
    if (!make_room(text, length))
        return;
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
    text->bytes[text->length] = 0;
}

void banyan_text_add_json_set(banyan_text *text, const char *name, const char *flags, int size)
{
    int count = 0;

    banyan_text_add(text, ",\"%s\":[", name);
    for (int i = 0; i < size; i++)
        if (flags[i])
            banyan_text_add(text, "%s%d", count++ ? "," : "", i);
    banyan_text_add(text, "]");
}

void banyan_text_add_json_string(banyan_text *text, const char *string)
{
    banyan_text_add_bytes(text, "\"", 1);
    for (const unsigned char *c = (const unsigned char *)string; *c; c++) {
        if (*c == '"' || *c == '\\')
            banyan_text_add(text, "\\%c", *c);
        else if (*c < 0x20)
            banyan_text_add(text, "\\u%04x", *c);
        else
            banyan_text_add_bytes(text, (const char *)c, 1);
    }
    banyan_text_add_bytes(text, "\"", 1);
}

void banyan_text_add_number(banyan_text *text, double value)
{
    char digits[40];

    for (int precision = 6; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        if (strtod(digits, NULL) == value)
            break;
    }
    banyan_text_add(text, "%s", digits);
}

const char *banyan_text_separator(int i, int count)
{
    return i == 0 ? "" : i + 1 == count ? " and " : ", ";
}

void banyan_text_add_xml(banyan_text *text, const char *string)
{
    for (const char *c = string; *c; c++) {
        switch (*c) {
        case '&':
            banyan_text_add(text, "&amp;");
            break;
        case '<':
            banyan_text_add(text, "&lt;");
            break;
        case '>':
            banyan_text_add(text, "&gt;");
            break;
        case '"':
            banyan_text_add(text, "&quot;");
            break;
        case '\'':
            banyan_text_add(text, "&#39;");
            break;
        default:
            banyan_text_add_bytes(text, c, 1);
        }
    }
}

banyan_status banyan_text_take(banyan_text *text, char **out, banyan_error *err)
{
    *out = NULL;
    if (!text->failed && !text->bytes)
        banyan_text_add_bytes(text, "", 0);
    if (text->failed) {
        banyan_text_fini(text);
        return banyan_fail_memory(err);
    }
    *out = text->bytes;
    *text = (banyan_text)BANYAN_TEXT_EMPTY;
    return BANYAN_SUCCESS;
}

void banyan_text_fini(banyan_text *text)
{
    banyan_free(text->bytes);
    *text = (banyan_text)BANYAN_TEXT_EMPTY;
}
