/* SPDX-License-Identifier: Apache-2.0 */
/* core/xml.c: the one file that meets expat. Names and values go to one pool; while it grows, elements and
 * attributes hold offsets, which become pointers at the end. */
#include "core/xml.h"

#include <errno.h>
#include <expat.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/text.h"

typedef struct {
    XML_Parser parser;
    banyan_xml *document;
    size_t element_capacity, attribute_capacity;
    banyan_text pool;
    int open;                    /* the element that we are in, or -1 */
    size_t *element_name;        /* offsets */
    size_t (*attribute_text)[2]; /* offsets of name and value */
    size_t name_capacity, text_capacity;
    banyan_status status;
    banyan_error *err;
} reader;

static size_t keep(reader *in, const char *string)
{
    size_t offset = in->pool.length;

    banyan_text_add_bytes(&in->pool, string, strlen(string) + 1);
    return offset;
}

static void stop(reader *in, banyan_status status)
{
    in->status = status;
    XML_StopParser(in->parser, XML_FALSE);
}

static int make_room(reader *in)
{
    banyan_xml *document = in->document;
    void *elements = document->elements, *names = in->element_name;
    int fits = banyan_grow(&elements, (size_t)document->element_count, &in->element_capacity,
                           sizeof *document->elements);

    document->elements = elements;
    fits = fits &&
           banyan_grow(&names, (size_t)document->element_count, &in->name_capacity, sizeof *in->element_name);
    in->element_name = names;
    return fits;
}

static int make_attribute_room(reader *in)
{
    banyan_xml *document = in->document;
    void *attributes = document->attributes, *texts = in->attribute_text;
    int fits = banyan_grow(&attributes, (size_t)document->attribute_count, &in->attribute_capacity,
                           sizeof *document->attributes);

    document->attributes = attributes;
    fits = fits && banyan_grow(&texts, (size_t)document->attribute_count, &in->text_capacity,
                               sizeof *in->attribute_text);
    in->attribute_text = texts;
    return fits;
}

static void XMLCALL on_start(void *context, const XML_Char *name, const XML_Char **attributes)
{
    reader *in = context;
    banyan_xml *document = in->document;
    banyan_xml_element *element;

    if (in->status)
        return;
    if (document->element_count == INT_MAX / 2 || !make_room(in)) {
        stop(in, banyan_fail_memory(in->err));
        return;
    }
    element = &document->elements[document->element_count];
    element->line = (int)XML_GetCurrentLineNumber(in->parser);
    element->parent = in->open;
    element->attribute = document->attribute_count;
    element->attribute_count = 0;
    in->element_name[document->element_count] = keep(in, name);
    for (; *attributes; attributes += 2) {
        if (!make_attribute_room(in)) {
            stop(in, banyan_fail_memory(in->err));
            return;
        }
        in->attribute_text[document->attribute_count][0] = keep(in, attributes[0]);
        in->attribute_text[document->attribute_count][1] = keep(in, attributes[1]);
        document->attribute_count++;
        element->attribute_count++;
    }
    in->open = document->element_count++;
}

static void XMLCALL on_end(void *context, const XML_Char *name)
{
    reader *in = context;

    (void)name;
    if (in->status || in->open < 0)
        return;
    in->document->elements[in->open].next = in->document->element_count;
    in->open = in->document->elements[in->open].parent;
}

static void XMLCALL on_doctype(void *context, const XML_Char *name, const XML_Char *system_id,
                               const XML_Char *public_id, int has_subset)
{
    reader *in = context;

    (void)name, (void)system_id, (void)public_id, (void)has_subset;
    stop(in, banyan_fail(in->err, BANYAN_INVALID_ARGUMENT, "line %lu: a DOCTYPE is not allowed",
                         (unsigned long)XML_GetCurrentLineNumber(in->parser)));
}

static void set_pointers(reader *in)
{
    banyan_xml *document = in->document;

    document->pool = in->pool.bytes;
    for (int i = 0; i < document->element_count; i++)
        document->elements[i].name = document->pool + in->element_name[i];
    for (int i = 0; i < document->attribute_count; i++) {
        document->attributes[i].name = document->pool + in->attribute_text[i][0];
        document->attributes[i].value = document->pool + in->attribute_text[i][1];
    }
    in->pool = (banyan_text)BANYAN_TEXT_EMPTY;
}

static void *resize(void *memory, size_t bytes)
{
    return banyan_realloc(memory, bytes, 1);
}

banyan_status banyan_xml_parse(const char *text, size_t length, banyan_xml **out, banyan_error *err)
{
    static const XML_Memory_Handling_Suite suite = {banyan_malloc, resize, banyan_free};
    reader in = {.open = -1, .err = err};

    *out = NULL;
    if (length > INT_MAX)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "the XML text is larger than 2 GiB");
    in.document = banyan_alloc(1, sizeof *in.document);
    in.parser = XML_ParserCreate_MM("UTF-8", &suite, NULL);
    if (!in.document || !in.parser) {
        in.status = banyan_fail_memory(err);
        goto out;
    }
    XML_SetUserData(in.parser, &in);
    XML_SetElementHandler(in.parser, on_start, on_end);
    XML_SetStartDoctypeDeclHandler(in.parser, on_doctype);
    if (XML_Parse(in.parser, text, (int)length, 1) != XML_STATUS_OK && !in.status) {
        enum XML_Error code = XML_GetErrorCode(in.parser);

        in.status =
            code == XML_ERROR_NO_MEMORY
                ? banyan_fail_memory(err)
                : banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %lu: %s",
                              (unsigned long)XML_GetCurrentLineNumber(in.parser), XML_ErrorString(code));
    }
    if (!in.status && in.pool.failed)
        in.status = banyan_fail_memory(err);
    if (in.status)
        goto out;
    set_pointers(&in);
    *out = in.document;
    in.document = NULL;
out:
    if (in.parser)
        XML_ParserFree(in.parser);
    banyan_text_fini(&in.pool);
    banyan_free(in.element_name);
    banyan_free(in.attribute_text);
    banyan_xml_destroy(in.document);
    return in.status;
}

void banyan_xml_destroy(banyan_xml *document)
{
    if (!document)
        return;
    banyan_free(document->elements);
    banyan_free(document->attributes);
    banyan_free(document->pool);
    banyan_free(document);
}

const char *banyan_xml_get(const banyan_xml *document, int element, const char *attribute)
{
    const banyan_xml_element *e = &document->elements[element];

    for (int i = 0; i < e->attribute_count; i++)
        if (!strcmp(document->attributes[e->attribute + i].name, attribute))
            return document->attributes[e->attribute + i].value;
    return NULL;
}

banyan_status banyan_xml_integer(const banyan_xml *document, int element, const char *attribute, int low,
                                 int high, int *out, banyan_error *err)
{
    const banyan_xml_element *e = &document->elements[element];
    const char *value = banyan_xml_get(document, element, attribute);
    char *end;
    long number;

    if (!value)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: <%s> lacks the attribute %s", e->line,
                           e->name, attribute);
    errno = 0;
    number = strtol(value, &end, 10);
    if (errno || end == value || *end || number < low || number > high)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "line %d: %s=\"%.40s\" of <%s> is not an integer from %d to %d", e->line,
                           attribute, value, e->name, low, high);
    *out = (int)number;
    return BANYAN_SUCCESS;
}
