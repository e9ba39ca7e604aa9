/* SPDX-License-Identifier: Apache-2.0 */
/* execute/vector.h: where the elements of a vector lie: in one buffer or in many, in place or not.
 *
 *     elements      0 .............. 99 | 100 . 129 | 130 ..................
 *     parts         [ into, from ]        [ ... ]     [ ... ]
 *
 * A part holds elements from its first up to the next part's first. `from` is what the caller gives and stays
 * as it is; `into` is where the result goes. In place they are the same. */
#ifndef BANYAN_EXECUTE_VECTOR_H
#define BANYAN_EXECUTE_VECTOR_H

#include <stddef.h>

typedef struct {
    size_t first; /* element */
    char *into;
    const char *from;
} banyan_part;

typedef struct {
    const banyan_part *parts; /* ascending, none empty; the first begins with element 0 */
    size_t part_count;
    size_t count; /* elements */
    size_t element_bytes;
} banyan_vector;

/* The elements' places, and how many of them, at most `elements`, lie there one after the other. */
char *banyan_vector_into(const banyan_vector *vector, size_t element, size_t *elements);
const char *banyan_vector_from(const banyan_vector *vector, size_t element, size_t *elements);

/* In how many parts the results do not go where the inputs are. */
size_t banyan_vector_parts_apart(const banyan_vector *vector);

/* Copies inputs to where the results go. */
void banyan_vector_copy(const banyan_vector *vector, size_t begin, size_t end);

#endif
