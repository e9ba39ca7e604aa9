/* SPDX-License-Identifier: Apache-2.0 */
/* execute/vector.c: a binary search finds the part of an element; most vectors have one part. */
#include "execute/vector.h"

#include <string.h>

/* The part that holds the element; cuts *elements off where the part ends. */
static const banyan_part *part_of(const banyan_vector *vector, size_t element, size_t *elements)
{
    size_t low = 0, high = vector->part_count, end;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (vector->parts[middle].first <= element)
            low = middle;
        else
            high = middle;
    }
    end = high < vector->part_count ? vector->parts[high].first : vector->count;
    if (*elements > end - element)
        *elements = end - element;
    return &vector->parts[low];
}

char *banyan_vector_into(const banyan_vector *vector, size_t element, size_t *elements)
{
    const banyan_part *part = part_of(vector, element, elements);

    return part->into + (element - part->first) * vector->element_bytes;
}

const char *banyan_vector_from(const banyan_vector *vector, size_t element, size_t *elements)
{
    const banyan_part *part = part_of(vector, element, elements);

    return part->from + (element - part->first) * vector->element_bytes;
}

size_t banyan_vector_parts_apart(const banyan_vector *vector)
{
    size_t apart = 0;

    for (size_t i = 0; i < vector->part_count; i++)
        apart += vector->parts[i].into != vector->parts[i].from;
    return apart;
}

void banyan_vector_copy(const banyan_vector *vector, size_t begin, size_t end)
{
    while (begin < end) {
        size_t elements = end - begin;
        const banyan_part *part = part_of(vector, begin, &elements);
        size_t offset = (begin - part->first) * vector->element_bytes;

        if (part->into != part->from)
            memcpy(part->into + offset, part->from + offset, elements * vector->element_bytes);
        begin += elements;
    }
}
