/* SPDX-License-Identifier: Apache-2.0 */
/* accelerate/parse.c: an accelerator as a short text: 'default', or 'RxC[xN][,clock=HZ][,bytes=N]'. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "accelerate/accelerate.h"
#include "core/value.h"

static banyan_status read_shape(const char *text, banyan_accelerator *a, banyan_error *err)
{
    int rows, columns, elements = a->element_count, used = 0;
    int count = sscanf(text, "%6dx%6d%nx%6d%n", &rows, &columns, &used, &elements, &used);

    if (count < 2 || text[used] || rows < 1 || columns < 1 || elements < 1 || rows > 65536 ||
        columns > 65536 || elements > 65536)
        return banyan_fail(
            err, BANYAN_INVALID_ARGUMENT,
            "an accelerator is 'default', or ROWSxCOLUMNS or ROWSxCOLUMNSxARRAYS, each from 1 to "
            "65536, not '%.40s'",
            text);
    a->rows = rows;
    a->columns = columns;
    a->element_count = elements;
    return BANYAN_SUCCESS;
}

static banyan_status read_setting(char *item, banyan_accelerator *a, banyan_error *err)
{
    char *equals = strchr(item, '='), *end;
    int64_t number;
    double clock_hz;
    banyan_status status;

    if (!equals)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "expected clock=HZ or bytes=N, not '%.40s'", item);
    *equals = '\0';
    if (!strcmp(item, "bytes")) {
        status = banyan_value_integer(equals + 1, 1, 16, &number, err);
        a->bytes_per_value = (int)number;
        return status;
    }
    if (strcmp(item, "clock"))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "expected clock=HZ or bytes=N, not '%.40s'", item);
    clock_hz = strtod(equals + 1, &end);
    clock_hz *= !strcmp(end, "GHz") ? 1e9 : !strcmp(end, "MHz") ? 1e6 : !*end || !strcmp(end, "Hz") ? 1 : 0;
    if (!(clock_hz >= 1 && clock_hz <= 1e15))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "a clock of '%.40s' is impossible: from 1 Hz to 1e15", equals + 1);
    a->clock_hz = clock_hz;
    return BANYAN_SUCCESS;
}

banyan_status banyan_accelerator_parse(const char *text, banyan_accelerator *out, banyan_error *err)
{
    banyan_accelerator a = banyan_accelerator_default();
    banyan_status status = BANYAN_SUCCESS;

    for (int i = 0; !status && (*text || i == 0); i++) {
        size_t length = strcspn(text, ",");
        char item[64];

        snprintf(item, sizeof item, "%.*s", (int)(length < sizeof item ? length : sizeof item - 1), text);
        text += length + (text[length] == ',');
        if (i == 0 && strcmp(item, "default"))
            status = read_shape(item, &a, err);
        else if (i > 0)
            status = read_setting(item, &a, err);
    }
    if (!status)
        *out = a;
    return status;
}
