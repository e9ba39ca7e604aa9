/* SPDX-License-Identifier: Apache-2.0 */
/* core/heap.h: a queue of numbered items, the least key first; among equal keys the lowest number. */
#ifndef BANYAN_CORE_HEAP_H
#define BANYAN_CORE_HEAP_H

#include <stddef.h>

typedef struct {
    double key;
    int number;
} banyan_heap_item;

typedef struct {
    banyan_heap_item *items;
    size_t count, capacity;
} banyan_heap; /* {0}: empty */

int banyan_heap_push(banyan_heap *heap, double key, int number); /* 0: out of memory */

banyan_heap_item banyan_heap_pop(banyan_heap *heap); /* count > 0 */

void banyan_heap_fini(banyan_heap *heap);

#endif
