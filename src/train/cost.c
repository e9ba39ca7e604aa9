/* SPDX-License-Identifier: Apache-2.0 */
/* train/cost.c: what an all-reduce costs, alone and beside others.
 *
 * The paper's gamma says how much longer each of two takes per byte, and says nothing about the link: with
 * gamma 1.5 two all-reduces together move a third more than one, even where one already fills the link.
 * So rate(c) = min(1 / (gamma_c b), 1 / (c b_link)), gamma_c = gamma^log2(c). */
#include "train/train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int is_number_above(double value, double low)
{
    return isfinite(value) && value > low;
}

banyan_status banyan_cost_linear(double start_s, double s_per_byte, double gamma, double link_s_per_byte,
                                 banyan_cost *out, banyan_error *err)
{
    if (!isfinite(start_s) || start_s < 0 || start_s > 3600)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "a start-up of %g s is not from 0 to 3600 s",
                           start_s);
    if (!is_number_above(s_per_byte, 0) || s_per_byte > 1)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "%g s per byte is not above 0 and at most 1",
                           s_per_byte);
    if (!isfinite(gamma) || gamma < 1 || gamma > 16)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "gamma %g is not from 1 to 16", gamma);
    if (!isfinite(link_s_per_byte) || link_s_per_byte < 0 || link_s_per_byte > 1)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "the link's %g s per byte are not from 0 to 1",
                           link_s_per_byte);
    out->start_s = start_s;
    out->s_per_byte = fmax(s_per_byte, link_s_per_byte);
    out->least_s_per_byte = out->s_per_byte;
    out->point_count = 0;
    out->gamma = gamma;
    out->speed[0] = 1;
    for (int c = 1; c <= BANYAN_MAX_STREAMS; c++)
        out->speed[c] = out->s_per_byte / fmax(pow(gamma, log2((double)c)) * s_per_byte, c * link_s_per_byte);
    return BANYAN_SUCCESS;
}

/* Least squares of (a + b m - t) / t: the normal equations with weights 1 / t^2. */
static void solve_line(const double *bytes, const double *seconds, int count, double *a, double *b)
{
    double w = 0, wm = 0, wmm = 0, wt = 0, wmt = 0, determinant;

    for (int i = 0; i < count; i++) {
        double weight = 1 / (seconds[i] * seconds[i]);

        w += weight;
        wm += weight * bytes[i];
        wmm += weight * bytes[i] * bytes[i];
        wt += weight * seconds[i];
        wmt += weight * bytes[i] * seconds[i];
    }
    determinant = w * wmm - wm * wm;
    *b = determinant > 0 ? (w * wmt - wm * wt) / determinant : 0;
    *a = (wt - *b * wm) / w;
    if (*a < 0) {
        *a = 0;
        *b = wmt / wmm;
    }
}

banyan_status banyan_cost_fit(const double *bytes, const double *seconds, int count, banyan_cost *out,
                              double *worst_error, banyan_error *err)
{
    double a, b;

    if (count < 2)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "a line needs two sizes, not %d", count);
    for (int i = 0; i < count; i++)
        if (!is_number_above(bytes[i], 0) || !is_number_above(seconds[i], 0))
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "%g bytes in %g s fit no line", bytes[i],
                               seconds[i]);
    solve_line(bytes, seconds, count, &a, &b);
    if (!is_number_above(b, 0))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "the time of %d sizes does not grow with size",
                           count);
    *worst_error = 0;
    for (int i = 0; i < count; i++)
        *worst_error = fmax(*worst_error, fabs((a + b * bytes[i]) / seconds[i] - 1));
    return banyan_cost_linear(a, b, 2, b, out, err);
}

banyan_status banyan_cost_set_speeds(banyan_cost *cost, const double *speeds, int count, banyan_error *err)
{
    if (count < 1 || count > BANYAN_MAX_STREAMS)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "%d speeds are not 1 to %d", count,
                           BANYAN_MAX_STREAMS);
    for (int i = 0; i < count; i++)
        if (!is_number_above(speeds[i], 0))
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "speed %g of each of %d is not above 0",
                               speeds[i], i + 1);
    /* Measurements scatter; that more company makes one faster is never meant. */
    for (int c = 2; c <= BANYAN_MAX_STREAMS; c++) {
        double speed = c <= count ? speeds[c - 1] / speeds[0] : cost->speed[count] * count / c;

        cost->speed[c] = fmin(speed, cost->speed[c - 1]);
    }
    cost->gamma = 1 / cost->speed[2];
    return BANYAN_SUCCESS;
}
