/* SPDX-License-Identifier: Apache-2.0 */
/* train/cost_table.c: what an all-reduce of that many bytes costs, where a line is not good enough.
 *
 *     seconds |            /      Small all-reduces take the algorithm with the fewest hops, large ones the
 *             |      __--/        one that moves the fewest bytes, and caches and windows fill on the way: a
 *             |  _--/             line through all sizes is wrong by tens of per cent somewhere. A table is
 *     start_s |-/                 straight between the sizes that were measured, and goes on beyond the last
 *                                 one as it did before it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "train/train.h"

static double slope(banyan_cost_point from, banyan_cost_point to)
{
    return (to.work_s - from.work_s) / (to.bytes - from.bytes);
}

double banyan_cost_work(const banyan_cost *cost, double bytes)
{
    banyan_cost_point from = {0, 0};
    int i = 0;

    if (!cost->point_count)
        return bytes * cost->s_per_byte;
    while (i < cost->point_count - 1 && cost->points[i].bytes < bytes)
        from = cost->points[i++];
    return from.work_s + (bytes - from.bytes) * slope(from, cost->points[i]);
}

double banyan_cost_seconds(const banyan_cost *cost, double bytes)
{
    return cost->start_s + banyan_cost_work(cost, bytes);
}

static banyan_status check_points(const double *bytes, const double *seconds, int count, banyan_error *err)
{
    if (count < 2 || count > BANYAN_MAX_POINTS)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "a table has 2 to %d sizes, not %d",
                           BANYAN_MAX_POINTS, count);
    for (int i = 0; i < count; i++) {
        if (!isfinite(seconds[i]) || !(seconds[i] > 0))
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "%g bytes in %g s", bytes[i], seconds[i]);
        if (!isfinite(bytes[i]) || !(bytes[i] > (i ? bytes[i - 1] : 0)))
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "size %d, %g bytes, is not above the one before",
                               i, bytes[i]);
    }
    return BANYAN_SUCCESS;
}

/* What no group escapes, whatever its size: between two points it is reached at one of them. */
static double least_work(const banyan_cost *cost)
{
    const banyan_cost_point *last = &cost->points[cost->point_count - 1];
    double least = slope(last[-1], *last);

    for (int i = 0; i < cost->point_count; i++)
        least = fmin(least, cost->points[i].work_s / cost->points[i].bytes);
    return least;
}

banyan_status banyan_cost_table(const double *bytes, const double *seconds, int count, banyan_cost *out,
                                double *worst_error, banyan_error *err)
{
    banyan_status status = check_points(bytes, seconds, count, err);
    double first_slope, worst = 0;

    if (!status)
        status = banyan_cost_fit(bytes, seconds, count, out, &worst, err);
    if (status)
        return status;
    first_slope = fmax(0, (seconds[1] - seconds[0]) / (bytes[1] - bytes[0]));
    out->start_s = fmax(0, seconds[0] - first_slope * bytes[0]);
    for (int i = 0; i < count; i++) {
        double least_s = i ? out->points[i - 1].work_s : 0;

        out->points[i] = (banyan_cost_point){bytes[i], fmax(least_s, seconds[i] - out->start_s)};
    }
    out->point_count = count;
    out->least_s_per_byte = least_work(out);
    if (worst_error)
        *worst_error = worst;
    return BANYAN_SUCCESS;
}

void banyan_cost_scale(banyan_cost *cost, double factor)
{
    cost->start_s *= factor;
    cost->s_per_byte *= factor;
    cost->least_s_per_byte *= factor;
    for (int i = 0; i < cost->point_count; i++)
        cost->points[i].work_s *= factor;
}

/* ---- As text. */

static banyan_status bad_table(const char *text, banyan_error *err)
{
    return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                       "cost '%.60s' is not table:BYTES=SECONDS,BYTES=SECONDS,...[;SPEED,...], such as "
                       "table:4096=1e-4,1048576=2e-3;0.6",
                       text);
}

/* Reads up to most numbers with commas between, of pairs with = between where second is given, up to a
 * semicolon or the end. Returns how many, or 0 where the text is something else. */
static int scan(const char **text, double *first, double *second, int most)
{
    for (int count = 0; count < most; count++) {
        char *end;

        first[count] = strtod(*text, &end);
        if (end == *text || (second && *end != '='))
            return 0;
        if (second) {
            const char *from = end + 1;

            second[count] = strtod(from, &end);
            if (end == from)
                return 0;
        }
        *text = end;
        if (!*end || *end == ';')
            return count + 1;
        if (*end != ',')
            return 0;
        *text = end + 1;
    }
    return 0;
}

banyan_status banyan_cost_parse_table(const char *text, banyan_cost *out, banyan_error *err)
{
    double bytes[BANYAN_MAX_POINTS], seconds[BANYAN_MAX_POINTS], speeds[BANYAN_MAX_STREAMS] = {1};
    const char *rest = text + strlen("table:");
    int count = scan(&rest, bytes, seconds, BANYAN_MAX_POINTS), speed_count = 0;
    banyan_status status;

    if (!count)
        return bad_table(text, err);
    if (*rest == ';') {
        rest++;
        speed_count = scan(&rest, speeds + 1, NULL, BANYAN_MAX_STREAMS - 1);
        if (!speed_count || *rest)
            return bad_table(text, err);
    }
    status = banyan_cost_table(bytes, seconds, count, out, NULL, err);
    if (!status && speed_count)
        status = banyan_cost_set_speeds(out, speeds, speed_count + 1, err);
    return status;
}

banyan_status banyan_cost_format(const banyan_cost *cost, char **out, banyan_error *err)
{
    banyan_text text = BANYAN_TEXT_EMPTY;
    int count = cost->point_count ? cost->point_count : 2;

    banyan_text_add(&text, "table:");
    for (int i = 0; i < count; i++) {
        double bytes = cost->point_count ? cost->points[i].bytes : i ? 1e9 : 1;

        banyan_text_add(&text, "%s", i ? "," : "");
        banyan_text_add_number(&text, bytes);
        banyan_text_add(&text, "=");
        banyan_text_add_number(&text, banyan_cost_seconds(cost, bytes));
    }
    for (int c = 2; c <= BANYAN_MAX_STREAMS; c++) {
        banyan_text_add(&text, "%s", c > 2 ? "," : ";");
        banyan_text_add_number(&text, cost->speed[c]);
    }
    return banyan_text_take(&text, out, err);
}
