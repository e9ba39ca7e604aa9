/* SPDX-License-Identifier: Apache-2.0 */
/* planner/wisdom.c: remembering, and finding again. */
#include "planner/wisdom.h"

#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/digest.h"

void banyan_wisdom_init(banyan_wisdom *wisdom)
{
    *wisdom = (banyan_wisdom){0};
}

void banyan_wisdom_fini(banyan_wisdom *wisdom)
{
    banyan_free(wisdom->entries);
    banyan_wisdom_init(wisdom);
}

/* The problem as a key; sizes are the powers of two around its own. */
static banyan_wisdom_entry key_of(const banyan_problem *problem)
{
    banyan_wisdom_entry key = {
        .collective = problem->collective, .root = problem->root, .min_bytes = problem->bytes};
    banyan_digest digest;

    banyan_topology_digest(problem->topology, key.topology);
    banyan_digest_init(&digest);
    for (int i = 0; i < problem->active_count; i++)
        banyan_digest_add_integer(&digest, problem->active[i]);
    banyan_digest_format(&digest, key.active);
    for (key.min_bytes = problem->bytes ? 1 : 0; key.min_bytes && key.min_bytes <= problem->bytes / 2;)
        key.min_bytes *= 2;
    key.max_bytes = key.min_bytes ? key.min_bytes - 1 + key.min_bytes : 0;
    return key;
}

static int is_same_task(const banyan_wisdom_entry *a, const banyan_wisdom_entry *b)
{
    return !strcmp(a->topology, b->topology) && !strcmp(a->active, b->active) &&
           a->collective == b->collective && a->root == b->root;
}

static int holds_for(const banyan_wisdom_entry *entry, const banyan_wisdom_entry *key, size_t bytes)
{
    return is_same_task(entry, key) && entry->min_bytes <= bytes && bytes <= entry->max_bytes;
}

static int is_nearer(const banyan_wisdom_entry *a, const banyan_wisdom_entry *b, const char *type)
{
    int is_a_same = !strcmp(a->type, type), is_b_same = !strcmp(b->type, type);

    if (is_a_same != is_b_same)
        return is_a_same;
    if (a->effort != b->effort)
        return a->effort > b->effort;
    return !*a->type && *b->type;
}

const banyan_wisdom_entry *banyan_wisdom_find(const banyan_wisdom *wisdom, const banyan_problem *problem,
                                              const char *type, banyan_effort effort)
{
    banyan_wisdom_entry key = key_of(problem);
    const banyan_wisdom_entry *best = NULL;

    for (int i = 0; i < wisdom->count; i++) {
        const banyan_wisdom_entry *entry = &wisdom->entries[i];

        if (holds_for(entry, &key, problem->bytes) && entry->effort >= effort &&
            (!best || is_nearer(entry, best, type)))
            best = entry;
    }
    return best;
}

int banyan_wisdom_is_typed(const banyan_wisdom *wisdom, const banyan_problem *problem)
{
    banyan_wisdom_entry key = key_of(problem);

    for (int i = 0; i < wisdom->count; i++)
        if (*wisdom->entries[i].type && holds_for(&wisdom->entries[i], &key, problem->bytes))
            return 1;
    return 0;
}

banyan_status banyan_wisdom_remember(banyan_wisdom *wisdom, const banyan_problem *problem, const char *type,
                                     const banyan_plan *plan, banyan_effort effort, banyan_error *err)
{
    banyan_wisdom_entry entry = key_of(problem);
    void *entries = wisdom->entries;
    int place = 0;

    snprintf(entry.algorithm, sizeof entry.algorithm, "%s", plan->algorithm->name);
    snprintf(entry.key, sizeof entry.key, "%s", plan->variant.key ? plan->variant.key : "");
    snprintf(entry.value, sizeof entry.value, "%s", plan->variant.key ? plan->variant.value : "");
    snprintf(entry.type, sizeof entry.type, "%s", type);
    entry.predicted_s = plan->predicted_s;
    entry.effort = effort;
    while (place < wisdom->count && !(is_same_task(&wisdom->entries[place], &entry) &&
                                      wisdom->entries[place].min_bytes == entry.min_bytes &&
                                      !strcmp(wisdom->entries[place].type, entry.type)))
        place++;
    if (place == wisdom->count) {
        if (!banyan_grow(&entries, (size_t)wisdom->count, &wisdom->capacity, sizeof *wisdom->entries))
            return banyan_fail_memory(err);
        wisdom->entries = entries;
        wisdom->count++;
    }
    wisdom->entries[place] = entry;
    wisdom->changed = 1;
    return BANYAN_SUCCESS;
}

/* The algorithm's own words for the entry's setting, which live on; key NULL: it has none, or no such one. */
static banyan_parameter find_variant(const banyan_algorithm *algorithm, const banyan_wisdom_entry *entry)
{
    for (const banyan_parameter *v = algorithm->variants; v && v->key; v++)
        if (!strcmp(v->key, entry->key) && !strcmp(v->value, entry->value))
            return *v;
    return (banyan_parameter){NULL, NULL};
}

banyan_status banyan_wisdom_recall(const banyan_wisdom_entry *entry, const banyan_problem *problem,
                                   banyan_plan *out, banyan_error *err)
{
    const banyan_algorithm *algorithm = banyan_algorithm_find(entry->algorithm);
    banyan_parameter variant = {entry->key, entry->value};
    banyan_problem own = *problem;
    banyan_status status;

    if (!algorithm)
        return banyan_fail(err, BANYAN_UNSUPPORTED, "wisdom names %.48s, which is not there",
                           entry->algorithm);
    if (*entry->key) {
        own.parameters = &variant;
        own.parameter_count = 1;
    }
    status = banyan_algorithm_applies(algorithm, &own, err);
    if (!status)
        status = banyan_plan_make(algorithm, &own, out, err);
    if (!status)
        out->variant = find_variant(algorithm, entry);
    return status == BANYAN_INVALID_ARGUMENT ? BANYAN_UNSUPPORTED : status;
}
