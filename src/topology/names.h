/* SPDX-License-Identifier: Apache-2.0 */
/* topology/names.h: numbers for names, in the order in which the names come. */
#ifndef BANYAN_TOPOLOGY_NAMES_H
#define BANYAN_TOPOLOGY_NAMES_H

#include <stdint.h>

#include "core/text.h"
#include "topology/scan.h"

typedef struct {
    int count;
    size_t *offset; /* of each name in the pool */
    size_t offset_capacity;
    banyan_text pool; /* the names, NUL-terminated */
    int *slot;        /* a hash table of numbers + 1; 0 is free */
    size_t slot_count;
} banyan_names;

/* The name's number, new (then it is the old count) or known; -1 when memory ran out. */
int banyan_names_add(banyan_names *names, banyan_word name);

int banyan_names_find(const banyan_names *names, banyan_word name);   /* -1: unknown */
const char *banyan_names_text(const banyan_names *names, int number); /* borrowed until the next add */
void banyan_names_fini(banyan_names *names);

#endif
