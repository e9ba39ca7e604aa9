/* SPDX-License-Identifier: Apache-2.0 */
/* core/effort.c: the efforts, by name. Each step of the dial allows ten times the work of the one before;
 * what was timed was planned patiently. */
#include "core/effort.h"

#include <string.h>

static const struct {
    const char *name;
    banyan_budget budget;
} efforts[] = {{"estimate", {0.99, 0.99, 0, 400000000, 20000000, 32}},
               {"measure", {0.99, 0.999, 100000000, 4000000000, 200000000, 96}},
               {"patient", {0.999, 0.9995, 1000000000, 40000000000, 2000000000, 256}},
               {"timed", {0.999, 0.9995, 1000000000, 40000000000, 2000000000, 256}}};

const banyan_budget *banyan_effort_budget(banyan_effort effort)
{
    return &efforts[effort].budget;
}

const char *banyan_effort_name(banyan_effort effort)
{
    return efforts[effort].name;
}

banyan_status banyan_effort_parse(const char *text, banyan_effort *out, banyan_error *err)
{
    for (int i = 0; i < (int)(sizeof efforts / sizeof *efforts); i++)
        if (!strcmp(text, efforts[i].name)) {
            *out = (banyan_effort)i;
            return BANYAN_SUCCESS;
        }
    return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "effort %.40s is not estimate, measure or patient",
                       text);
}
