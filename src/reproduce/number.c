/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce/number.c: how numbers are written in tables, charts and sentences. */
#include <math.h>

#include "reproduce/internal.h"

void add_short_number(banyan_text *text, double value)
{
    if (!isfinite(value))
        banyan_text_add(text, "-");
    else if (fabs(value) >= 1000 && fabs(value) < 1e15)
        banyan_text_add(text, "%.0f", value);
    else
        banyan_text_add(text, "%.4g", value);
}
