/* SPDX-License-Identifier: Apache-2.0 */
/* core/show.c: numbers with the unit that makes them short. */
#include "core/show.h"

#include <math.h>
#include <stdio.h>

static const char *scale(double value, double step, const char *const *units, int count, char *buffer,
                         size_t size)
{
    int i = 0;

    if (!isfinite(value)) {
        snprintf(buffer, size, "-");
        return buffer;
    }
    while (i < count - 1 && fabs(value) >= step) {
        value /= step;
        i++;
    }
    snprintf(buffer, size, "%.4g %s", value, units[i]);
    return buffer;
}

/* Whether four digits are enough for the number, in the largest unit that keeps it at 1 or above. */
static int is_short(double value, double step)
{
    double digits;

    while (value >= step)
        value /= step;
    digits = value * (value < 10 ? 1000 : value < 100 ? 100 : value < 1000 ? 10 : 1);
    return digits == floor(digits);
}

/* Powers of 1024, unless the number is short in powers of 1000 alone: 64MB is not shown as 61.04 MiB. */
const char *banyan_show_bytes(double bytes, char *buffer, size_t size)
{
    static const char *const binary[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    static const char *const decimal[] = {"B", "kB", "MB", "GB", "TB", "PB"};

    if (bytes >= 1000 && isfinite(bytes) && is_short(bytes, 1000) && !is_short(bytes, 1024))
        return scale(bytes, 1000, decimal, 6, buffer, size);
    return scale(bytes, 1024, binary, 6, buffer, size);
}

const char *banyan_show_seconds(double seconds, char *buffer, size_t size)
{
    static const char *const units[] = {"ns", "us", "ms", "s"};

    return scale(seconds * 1e9, 1000, units, 4, buffer, size);
}

const char *banyan_show_rate(double bytes_per_s, char *buffer, size_t size)
{
    static const char *const units[] = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s"};

    return scale(bytes_per_s, 1000, units, 5, buffer, size);
}
