/* SPDX-License-Identifier: Apache-2.0 */
/* planner/select.c: some algorithms, by their names. */
#include <string.h>

#include "core/alloc.h"
#include "planner/planner.h"

static banyan_status add_algorithm(const char *name, const banyan_algorithm **list, int *count,
                                   banyan_error *err)
{
    const banyan_algorithm *found;
    banyan_status status = banyan_plan_find(name, &found, err);

    if (status)
        return status;
    for (int i = 0; i < *count; i++)
        if (list[i] == found)
            return BANYAN_SUCCESS;
    list[(*count)++] = found;
    return BANYAN_SUCCESS;
}

static banyan_status add_names(char *names, const banyan_algorithm **list, int *count, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;
    char *rest;

    for (char *name = strtok_r(names, ",", &rest); name && !status; name = strtok_r(NULL, ",", &rest))
        status = add_algorithm(name, list, count, err);
    if (!status && !*count)
        status = banyan_fail(err, BANYAN_INVALID_ARGUMENT, "no algorithm is named");
    return status;
}

banyan_status banyan_plan_select(const char *names, const banyan_algorithm ***out, int *count,
                                 banyan_error *err)
{
    const banyan_algorithm **list;
    banyan_status status;
    char *copy;

    *out = NULL;
    *count = banyan_algorithm_count();
    if (!names || !strcmp(names, "auto") || !strcmp(names, "all"))
        return BANYAN_SUCCESS;
    list = banyan_alloc((size_t)*count, sizeof *list);
    copy = banyan_strdup(names);
    *count = 0;
    status = list && copy ? add_names(copy, list, count, err) : banyan_fail_memory(err);
    banyan_free(copy);
    if (status)
        banyan_free(list);
    else
        *out = list;
    return status;
}
