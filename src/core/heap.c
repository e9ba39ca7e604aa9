/* SPDX-License-Identifier: Apache-2.0 */
#include "core/heap.h"

#include "core/alloc.h"

static int is_before(banyan_heap_item a, banyan_heap_item b)
{
    return a.key != b.key ? a.key < b.key : a.number < b.number;
}

int banyan_heap_push(banyan_heap *heap, double key, int number)
{
    banyan_heap_item item = {key, number};
    void *items = heap->items;
    size_t at = heap->count;

    if (!banyan_grow(&items, heap->count, &heap->capacity, sizeof *heap->items))
        return 0;
    heap->items = items;
    heap->count++;
    for (; at && is_before(item, heap->items[(at - 1) / 2]); at = (at - 1) / 2)
        heap->items[at] = heap->items[(at - 1) / 2];
    heap->items[at] = item;
    return 1;
}

banyan_heap_item banyan_heap_pop(banyan_heap *heap)
{
    banyan_heap_item top = heap->items[0], last = heap->items[--heap->count];
    size_t at = 0;

    for (size_t child; (child = 2 * at + 1) < heap->count; at = child) {
        if (child + 1 < heap->count && is_before(heap->items[child + 1], heap->items[child]))
            child++;
        if (!is_before(heap->items[child], last))
            break;
        heap->items[at] = heap->items[child];
    }
    heap->items[at] = last;
    return top;
}

void banyan_heap_fini(banyan_heap *heap)
{
    banyan_free(heap->items);
    *heap = (banyan_heap){0};
}
