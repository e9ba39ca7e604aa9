/* SPDX-License-Identifier: Apache-2.0 */
/* engine/unreduced.c: two gradients that are under way at a time must not share memory: each is reduced in
 * place, on its own, and the other's sum would be lost.
 *
 * Those under way are kept in the order of their addresses. They share nothing, so a new one has only its two
 * neighbours to be compared with. */
#include <stdint.h>
#include <string.h>

#include "engine/engine.h"

static uintptr_t begin_of(const banyan_engine_tensor *t)
{
    return (uintptr_t)(t->data ? t->data : t->own);
}

/* Whether b, which does not begin before a, begins within it. */
static int reaches(const banyan_engine_tensor *a, const banyan_engine_tensor *b)
{
    return begin_of(b) - begin_of(a) < a->count * banyan_datatype_bytes(a->type);
}

/* The first place whose gradient does not begin before this one. */
static int find_place(const banyan_train *train, int tensor)
{
    int low = 0, high = train->unreduced_count;

    while (low < high) {
        int middle = (low + high) / 2;

        if (begin_of(&train->tensors[train->unreduced[middle]]) < begin_of(&train->tensors[tensor]))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int banyan_engine_add_unreduced(banyan_train *train, int tensor)
{
    const banyan_engine_tensor *t = &train->tensors[tensor];
    int place, *unreduced = train->unreduced;

    if (!t->count)
        return -1;
    place = find_place(train, tensor);
    if (place > 0 && reaches(&train->tensors[unreduced[place - 1]], t))
        return unreduced[place - 1];
    if (place < train->unreduced_count && reaches(t, &train->tensors[unreduced[place]]))
        return unreduced[place];
    memmove(unreduced + place + 1, unreduced + place,
            (size_t)(train->unreduced_count++ - place) * sizeof *unreduced);
    unreduced[place] = tensor;
    return -1;
}

void banyan_engine_give_back(banyan_train *train, int tensor)
{
    int place = find_place(train, tensor);

    memmove(train->unreduced + place, train->unreduced + place + 1,
            (size_t)(--train->unreduced_count - place) * sizeof *train->unreduced);
}
