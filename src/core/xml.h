/* SPDX-License-Identifier: Apache-2.0 */
/* core/xml.h: reading small XML files into a flat list of elements, in document order, with line numbers.
 * Character data, comments and processing instructions are skipped; a DOCTYPE is refused (no entities, no
 * files). */
#ifndef BANYAN_CORE_XML_H
#define BANYAN_CORE_XML_H

#include <stddef.h>

#include "core/status.h"

typedef struct {
    const char *name;
    int line;
    int parent;    /* index of the element around it; -1 for the first */
    int next;      /* index of the first element after its subtree: children are i+1, then their next, ... */
    int attribute; /* index of its first attribute */
    int attribute_count;
} banyan_xml_element;

typedef struct {
    const char *name, *value;
} banyan_xml_attribute;

typedef struct {
    int element_count, attribute_count;
    banyan_xml_element *elements;
    banyan_xml_attribute *attributes;
    char *pool;
} banyan_xml;

banyan_status banyan_xml_parse(const char *text, size_t length, banyan_xml **out, banyan_error *err);
void banyan_xml_destroy(banyan_xml *document); /* accepts NULL */

/* The attribute's value, or NULL. */
const char *banyan_xml_get(const banyan_xml *document, int element, const char *attribute);

/* The attribute as a whole decimal integer; a sentence with the line when it is absent or not one. */
banyan_status banyan_xml_integer(const banyan_xml *document, int element, const char *attribute, int low,
                                 int high, int *out, banyan_error *err);

#endif
