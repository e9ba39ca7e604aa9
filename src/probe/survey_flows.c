/* SPDX-License-Identifier: Apache-2.0 */
/* probe/survey_flows.c: the instruments of a survey: flows between hosts at once, for as long and with as
 * much under way as is needed, and again where noise may have spoilt them. */
#include "core/sort.h"
#include "probe/survey.h"

#define FIRST_S 0.02 /* a first look at the speed */
#define LEAST_S 0.04 /* of a measurement */
#define MOST_S 0.4
#define WANTED_BYTES 2.5e6
#define LEAST_BYTES 6e5
#define BUFFER_BYTES 524288.0
#define LEAST_UNDER_WAY 65536.0
#define AGREES 1.04

static int rank_of(banyan_survey *s, int host)
{
    int count = s->first[host + 1] - s->first[host];

    return s->ranks[s->first[host] + s->turn[host]++ % count];
}

void banyan_survey_step(banyan_survey *s)
{
    s->done++;
    if (s->options->progress)
        s->options->progress(s->options->context, s->done < s->total ? s->done : s->total, s->total);
}

/* What a flow will do, as far as one can know before. */
static double expect(const banyan_survey *s, int src, int dst)
{
    double alone = s->findings.alone[src * s->findings.host_count + dst];
    double slower = s->speeds[src] < s->speeds[dst] ? s->speeds[src] : s->speeds[dst];

    return alone > 0 ? alone : slower;
}

/* Long enough for most flows, and for the slowest to be told from one that is slower still; as much under way
 * as buffers in switches hold, or the wires themselves. */
static void set_pace(banyan_survey *s, int count, int is_shared, double *seconds, double *under_way_bytes)
{
    double *speeds = s->sorted, enough_s, least_s;

    for (int i = 0; i < count; i++)
        speeds[i] = expect(s, s->pairs[2 * i], s->pairs[2 * i + 1]);
    banyan_sort_doubles(speeds, (size_t)count);
    enough_s = speeds[count / 2] > 0 ? WANTED_BYTES / speeds[count / 2] : FIRST_S;
    least_s = speeds[0] > 0 ? LEAST_BYTES / speeds[0] : FIRST_S;
    *seconds = enough_s > least_s ? enough_s : least_s;
    *seconds = *seconds < LEAST_S ? LEAST_S : *seconds > MOST_S ? MOST_S : *seconds;
    *under_way_bytes = is_shared ? BUFFER_BYTES / count : BUFFER_BYTES;
    if (*under_way_bytes < LEAST_UNDER_WAY)
        *under_way_bytes = LEAST_UNDER_WAY;
    if (*under_way_bytes < s->wire_bytes)
        *under_way_bytes = s->wire_bytes;
}

/* The flows of s->pairs at once; shared: one cable carries them all. */
banyan_status banyan_survey_measure(banyan_survey *s, int count, int is_shared, double *rates,
                                    banyan_error *err)
{
    double seconds, under_way_bytes;

    set_pace(s, count, is_shared, &seconds, &under_way_bytes);
    banyan_survey_step(s);
    return banyan_probe_flows(s->gauge, s->flows, count, seconds, under_way_bytes, rates, err);
}

void banyan_survey_pick_ranks(banyan_survey *s, int count)
{
    for (int i = 0; i < count; i++)
        s->flows[i] = (banyan_probe_flow){rank_of(s, s->pairs[2 * i]), rank_of(s, s->pairs[2 * i + 1])};
}

static double middle_of(double a, double b, double c)
{
    double low = a < b ? a : b, high = a < b ? b : a;

    return c < low ? low : c > high ? high : c;
}

/* The sum of flows that share a buffer: twice, and where that differs the middle of three. */
banyan_status banyan_survey_measure_sum(banyan_survey *s, int count, double *out, banyan_error *err)
{
    double sums[3] = {0};
    banyan_status status = BANYAN_SUCCESS;
    int done = 0;

    banyan_survey_pick_ranks(s, count);
    for (; done < 3 && !status; done++) {
        if (done == 2 && sums[0] < AGREES * sums[1] && sums[1] < AGREES * sums[0])
            break;
        status = banyan_survey_measure(s, count, 1, s->rates, err);
        for (int i = 0; i < count && !status; i++)
            sums[done] += s->rates[i];
    }
    *out = done == 2 ? (sums[0] + sums[1]) / 2 : middle_of(sums[0], sums[1], sums[2]);
    for (int i = 0; i < done && count == 1; i++) /* a flow alone is made slower by noise, never faster */
        *out = sums[i] > *out ? sums[i] : *out;
    return status;
}

static int is_any_slow(const banyan_survey *s, int count)
{
    for (int i = 0; i < count; i++) {
        double out = banyan_probe_host_out(&s->findings, s->pairs[2 * i]);
        double in = banyan_probe_host_in(&s->findings, s->pairs[2 * i + 1]);

        if (s->rates[i] < BANYAN_SURVEY_SUSPICIOUS * (out < in ? out : in))
            return 1;
    }
    return 0;
}

/* The better of two for each flow: noise makes flows slower, and a trunk does so both times. */
banyan_status banyan_survey_measure_each(banyan_survey *s, int count, banyan_error *err)
{
    banyan_status status;

    banyan_survey_pick_ranks(s, count);
    status = banyan_survey_measure(s, count, 0, s->rates, err);
    if (status || !is_any_slow(s, count))
        return status;
    status = banyan_survey_measure(s, count, 0, s->second, err);
    for (int i = 0; i < count && !status; i++)
        s->rates[i] = s->second[i] > s->rates[i] ? s->second[i] : s->rates[i];
    return status;
}
