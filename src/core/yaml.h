/* SPDX-License-Identifier: Apache-2.0 */
/* core/yaml.h: reading the YAML of configuration files into a flat list of values, in document order, with
 * line numbers. Read are block and flow sequences and mappings, plain and quoted scalars on one line, and
 * comments, of one document. Anchors, tags, block scalars and lines that continue a scalar are refused with
 * their line, so that nothing is read otherwise than it is meant. */
#ifndef BANYAN_CORE_YAML_H
#define BANYAN_CORE_YAML_H

#include <stddef.h>

#include "core/status.h"

typedef enum { BANYAN_YAML_SCALAR, BANYAN_YAML_SEQUENCE, BANYAN_YAML_MAPPING } banyan_yaml_kind;

typedef struct {
    banyan_yaml_kind kind;
    int line;
    int next;         /* index of the first value after its subtree: children are i+1, then their next, ... */
    const char *text; /* of a scalar, "" for none; NULL otherwise */
} banyan_yaml_value;

/* A mapping's children are keys and values in turn; keys are scalars, and none comes twice. */
typedef struct {
    int count;
    banyan_yaml_value *values; /* the first one is the document */
    char *pool;
} banyan_yaml;

banyan_status banyan_yaml_parse(const char *text, size_t length, banyan_yaml **out, banyan_error *err);
void banyan_yaml_destroy(banyan_yaml *document); /* accepts NULL */

/* The value of the key in the mapping, or -1. */
int banyan_yaml_find(const banyan_yaml *document, int mapping, const char *key);

#endif
