/* SPDX-License-Identifier: Apache-2.0 */
/* topology/names.c: a hash table with open addressing; FNV-1a, so that it is the same on every machine. */
#include "topology/names.h"

#include <string.h>

#include "core/alloc.h"

static size_t hash(banyan_word name)
{
    uint64_t value = 14695981039346656037u;

    for (size_t i = 0; i < name.length; i++)
        value = (value ^ (unsigned char)name.at[i]) * 1099511628211u;
    return (size_t)(value ^ (value >> 32));
}

const char *banyan_names_text(const banyan_names *names, int number)
{
    return names->pool.bytes + names->offset[number];
}

/* The slot that holds the name, or the free one where it belongs. */
static size_t find_slot(const banyan_names *names, banyan_word name)
{
    size_t at = hash(name) & (names->slot_count - 1);

    while (names->slot[at] && !banyan_word_is(name, banyan_names_text(names, names->slot[at] - 1)))
        at = (at + 1) & (names->slot_count - 1);
    return at;
}

/* Keeps at least half of the slots free. */
static int make_room(banyan_names *names)
{
    int *old = names->slot;
    size_t wanted = names->slot_count ? 2 * names->slot_count : 64;

    if (2 * (size_t)names->count < names->slot_count)
        return 1;
    names->slot = banyan_alloc(wanted, sizeof *names->slot);
    if (!names->slot) {
        names->slot = old;
        return 0;
    }
    names->slot_count = wanted;
    for (int i = 0; i < names->count; i++) {
        const char *text = banyan_names_text(names, i);

        names->slot[find_slot(names, (banyan_word){text, strlen(text)})] = i + 1;
    }
    banyan_free(old);
    return 1;
}

int banyan_names_add(banyan_names *names, banyan_word name)
{
    void *offset = names->offset;
    size_t at;

    if (!make_room(names))
        return -1;
    at = find_slot(names, name);
    if (names->slot[at])
        return names->slot[at] - 1;
    if (!banyan_grow(&offset, (size_t)names->count, &names->offset_capacity, sizeof *names->offset))
        return -1;
    names->offset = offset;
    names->offset[names->count] = names->pool.length;
    banyan_text_add_bytes(&names->pool, name.at, name.length);
    banyan_text_add_bytes(&names->pool, "", 1);
    if (names->pool.failed)
        return -1;
    names->slot[at] = ++names->count;
    return names->count - 1;
}

int banyan_names_find(const banyan_names *names, banyan_word name)
{
    return names->slot_count ? names->slot[find_slot(names, name)] - 1 : -1;
}

void banyan_names_fini(banyan_names *names)
{
    banyan_free(names->offset);
    banyan_free(names->slot);
    banyan_text_fini(&names->pool);
    *names = (banyan_names){0};
}
