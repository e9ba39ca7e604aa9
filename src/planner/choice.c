/* SPDX-License-Identifier: Apache-2.0 */
/* planner/choice.c: reads the items between the commas one by one; each changes one choice, or,
 * where it has no collective, all of them.
 *
 * A name alone binds the all-reduce, which is what algorithms are made for. Of the other collectives many
 * algorithms can do only some, and programs such as PyTorch's DDP call several of them, so there a name is a
 * preference. */
#include "planner/choice.h"

#include <string.h>

#include "core/near.h"

#define MAX_ITEM_BYTES 80

static banyan_status refuse_collective(const char *name, banyan_error *err)
{
    const char *known[BANYAN_COLLECTIVE_COUNT];
    int near;

    for (int i = 0; i < BANYAN_COLLECTIVE_COUNT; i++)
        known[i] = banyan_collective_name((banyan_collective)i);
    near = banyan_near_find(name, known, BANYAN_COLLECTIVE_COUNT);
    if (near >= 0)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "no collective is named %s (did you mean %s?)", name,
                           known[near]);
    return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "no collective is named %s", *name ? name : "''");
}

static banyan_status find_algorithm(const char *name, const banyan_algorithm **out, banyan_error *err)
{
    *out = banyan_algorithm_find(name);
    if (*out || !strcmp(name, "auto"))
        return BANYAN_SUCCESS;
    for (int i = 0; i < banyan_algorithm_count(); i++) {
        const char *candidate = banyan_algorithm_at(i)->name;

        if (banyan_near_find(name, &candidate, 1) == 0)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "no algorithm is named %s (did you mean %s?)",
                               name, candidate);
    }
    return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "no algorithm is named %s", *name ? name : "''");
}

static void choose_for_all(const banyan_algorithm *algorithm, banyan_choice *out)
{
    for (int i = 0; i < BANYAN_COLLECTIVE_COUNT; i++) {
        int is_binding = i == BANYAN_COLLECTIVE_ALLREDUCE;
        int can = algorithm && (is_binding || algorithm->collectives & (1u << i));

        out[i] = (banyan_choice){can ? algorithm : NULL, can && is_binding};
    }
}

static banyan_status read_item(char *item, banyan_choice *out, banyan_error *err)
{
    char *colon = strchr(item, ':');
    const banyan_algorithm *algorithm;
    banyan_status status = find_algorithm(colon ? colon + 1 : item, &algorithm, err);
    int collective;

    if (status)
        return status;
    if (!colon) {
        choose_for_all(algorithm, out);
        return BANYAN_SUCCESS;
    }
    *colon = '\0';
    collective = banyan_collective_find(item);
    if (collective < 0)
        return refuse_collective(item, err);
    if (algorithm && !(algorithm->collectives & (1u << collective)))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "%s cannot do %s", algorithm->name, item);
    out[collective] = (banyan_choice){algorithm, algorithm != NULL};
    return BANYAN_SUCCESS;
}

banyan_status banyan_choices_parse(const char *text, banyan_choice out[BANYAN_COLLECTIVE_COUNT],
                                   banyan_error *err)
{
    banyan_choice choices[BANYAN_COLLECTIVE_COUNT] = {{NULL, 0}};
    char item[MAX_ITEM_BYTES + 1];

    for (const char *end; text; text = *end ? end + 1 : NULL) {
        banyan_status status;
        size_t bytes;

        end = text + strcspn(text, ",");
        bytes = (size_t)(end - text);
        if (bytes > MAX_ITEM_BYTES)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "there is no algorithm '%.80s...'", text);
        memcpy(item, text, bytes);
        item[bytes] = '\0';
        status = read_item(item, choices, err);
        if (status)
            return status;
    }
    memcpy(out, choices, sizeof choices);
    return BANYAN_SUCCESS;
}
