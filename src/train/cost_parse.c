/* SPDX-License-Identifier: Apache-2.0 */
/* train/cost_parse.c: a cost that a user states: a line or a table. */
#include <stdlib.h>
#include <string.h>

#include "train/train.h"

static banyan_status bad_form(const char *text, banyan_error *err)
{
    return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                       "cost '%.60s' is not linear:A,B[,GAMMA[,LINK]] with A in seconds, B and LINK in "
                       "seconds per byte, such as linear:1.4e-3,1.7e-9,1.5, and no table:BYTES=SECONDS,...",
                       text);
}

/* Reads up to four numbers with commas between; returns how many, or 0 where the text is something else. */
static int scan_numbers(const char *text, double numbers[4])
{
    for (int count = 1; count <= 4; count++) {
        char *end;

        if (count == 4 && !strcmp(text, "none")) {
            numbers[3] = 0;
            return 4;
        }
        numbers[count - 1] = strtod(text, &end);
        if (end == text)
            return 0;
        if (!*end)
            return count;
        if (*end != ',')
            return 0;
        text = end + 1;
    }
    return 0;
}

banyan_status banyan_cost_parse(const char *text, banyan_cost *out, banyan_error *err)
{
    double numbers[4] = {0, 0, 2, 0};
    int count;

    if (!strncmp(text, "table:", 6))
        return banyan_cost_parse_table(text, out, err);
    if (strncmp(text, "linear:", 7) != 0)
        return bad_form(text, err);
    count = scan_numbers(text + 7, numbers);
    if (count < 2)
        return bad_form(text, err);
    if (count < 4)
        numbers[3] = numbers[1];
    return banyan_cost_linear(numbers[0], numbers[1], numbers[2], numbers[3], out, err);
}
