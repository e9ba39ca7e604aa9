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

const char *banyan_show_bytes(double bytes, char *buffer, size_t size)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};

    return scale(bytes, 1024, units, 6, buffer, size);
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
