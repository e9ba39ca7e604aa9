/* SPDX-License-Identifier: Apache-2.0 */
/* planner/wisdom.h: choices worth keeping: which algorithm, with which setting, was best for a network, its
 * active workers, a collective, a range of sizes and a type of elements. A text file
 * (docs/formats/wisdom.md), as FFTW's users know it. What is remembered is only the choice: the plan is built
 * and proven anew, so a wrong file can cost time but no correctness. */
#ifndef BANYAN_PLANNER_WISDOM_H
#define BANYAN_PLANNER_WISDOM_H

#include "planner/planner.h"

typedef struct {
    char topology[17], active[17]; /* digests */
    banyan_collective collective;
    int root;
    size_t min_bytes, max_bytes;            /* inclusive */
    char type[16];                          /* of the elements: 'float32'; "": whatever it is */
    char algorithm[48], key[32], value[32]; /* key "": no variant */
    double predicted_s;                     /* at the size that was asked; effort timed: measured */
    banyan_effort effort;
} banyan_wisdom_entry;

typedef struct {
    int count;
    size_t capacity;
    banyan_wisdom_entry *entries;
    int changed; /* since it was read */
} banyan_wisdom;

void banyan_wisdom_init(banyan_wisdom *wisdom);
void banyan_wisdom_fini(banyan_wisdom *wisdom);

banyan_status banyan_wisdom_parse(const char *text, size_t length, banyan_wisdom *out, banyan_error *err);
banyan_status banyan_wisdom_format(const banyan_wisdom *wisdom, char **out, banyan_error *err);

/* From a file, empty where there is none; and back to it, if anything has changed. */
banyan_status banyan_wisdom_load(const char *path, banyan_wisdom *out, banyan_error *err);
banyan_status banyan_wisdom_save(const banyan_wisdom *wisdom, const char *path, banyan_error *err);

/* The entry for the problem that was found with at least this effort, or NULL. type is the elements', ""
 * where nobody knows. What was found for that very type goes before all else, then the greater effort, then
 * what holds for all types; what was found for another type serves where there is nothing better. */
const banyan_wisdom_entry *banyan_wisdom_find(const banyan_wisdom *wisdom, const banyan_problem *problem,
                                              const char *type, banyan_effort effort);

/* Whether the answer to such a problem may depend on the type. */
int banyan_wisdom_is_typed(const banyan_wisdom *wisdom, const banyan_problem *problem);

/* Remembers the plan for the type ("": all) and the sizes between the powers of two around the problem's;
 * replaces what was there. */
banyan_status banyan_wisdom_remember(banyan_wisdom *wisdom, const banyan_problem *problem, const char *type,
                                     const banyan_plan *plan, banyan_effort effort, banyan_error *err);

/* The plan that the entry speaks of; UNSUPPORTED where the entry is of no use (an algorithm that is gone,
 * say). */
banyan_status banyan_wisdom_recall(const banyan_wisdom_entry *entry, const banyan_problem *problem,
                                   banyan_plan *out, banyan_error *err);

/* The plan that wisdom knows, or the best of all candidates, which is then remembered. wisdom may be NULL.
 * *explanation (the caller frees it) says why; it may be NULL. */
banyan_status banyan_plan_search(const banyan_problem *problem, banyan_effort effort, banyan_wisdom *wisdom,
                                 banyan_plan *out, char **explanation, banyan_error *err);

/* The same with the limit of banyan_plan_candidates_until. */
banyan_status banyan_plan_search_until(const banyan_problem *problem, banyan_effort effort,
                                       int64_t deadline_ns, banyan_wisdom *wisdom, banyan_plan *out,
                                       char **explanation, banyan_error *err);

#endif
