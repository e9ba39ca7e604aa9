/* SPDX-License-Identifier: Apache-2.0 */
/* probe/findings.c: the memory of what was measured. */
#include "probe/findings.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"

#define FAN_SHOWS 1.2 /* times what single flows show */
#define AGREES 0.85   /* a speed that is as high as this share of another one agrees with it */
#define CLEARLY 0.92  /* of what could be: less is less */

banyan_status banyan_probe_findings_init(banyan_probe_findings *out, int rank_count, int host_count,
                                         banyan_error *err)
{
    size_t hosts = (size_t)host_count;
    banyan_probe_findings f = {
        .rank_count = rank_count, .host_count = host_count, .rack_count = 1, .odd_round = -1};

    f.host_of = banyan_alloc((size_t)rank_count, sizeof *f.host_of);
    f.names = banyan_alloc(hosts, sizeof *f.names);
    f.latency_s = banyan_alloc(hosts * hosts, sizeof *f.latency_s);
    f.local = banyan_alloc(hosts, sizeof *f.local);
    f.local_latency_s = banyan_alloc(hosts, sizeof *f.local_latency_s);
    f.rack_of = banyan_alloc(hosts, sizeof *f.rack_of);
    f.rack_out = banyan_alloc(hosts, sizeof *f.rack_out);
    f.rack_in = banyan_alloc(hosts, sizeof *f.rack_in);
    *out = f;
    if (f.host_of && f.names && f.latency_s && f.local && f.local_latency_s && f.rack_of && f.rack_out &&
        f.rack_in)
        return BANYAN_SUCCESS;
    banyan_probe_findings_fini(out);
    return banyan_fail_memory(err);
}

void banyan_probe_findings_fini(banyan_probe_findings *findings)
{
    banyan_free(findings->host_of);
    banyan_free(findings->names);
    banyan_free(findings->latency_s);
    banyan_free(findings->local);
    banyan_free(findings->local_latency_s);
    banyan_free(findings->loads);
    banyan_free(findings->rounds);
    banyan_free(findings->rack_of);
    banyan_free(findings->rack_out);
    banyan_free(findings->rack_in);
    *findings = (banyan_probe_findings){0};
}

void banyan_probe_findings_restart(banyan_probe_findings *f)
{
    f->load_count = f->round_count = 0;
    f->rack_count = 1;
    f->odd_round = -1;
    f->lacking = f->explained = 0;
    memset(f->rack_of, 0, (size_t)f->host_count * sizeof *f->rack_of);
    memset(f->rack_out, 0, (size_t)f->host_count * sizeof *f->rack_out);
    memset(f->rack_in, 0, (size_t)f->host_count * sizeof *f->rack_in);
}

static int has_room(void **array, int count, size_t *capacity, size_t bytes)
{
    return banyan_grow(array, (size_t)count, capacity, bytes);
}

banyan_status banyan_probe_add_round(banyan_probe_findings *f, banyan_round_kind kind, uint64_t grouping,
                                     const int *pairs, const double *rates, int count, banyan_error *err)
{
    void *rounds = f->rounds;
    int before = f->load_count, fits;

    fits = has_room(&rounds, f->round_count, &f->round_capacity, sizeof *f->rounds);
    f->rounds = rounds;
    for (int i = 0; i < count && fits; i++) {
        void *loads = f->loads;

        fits = has_room(&loads, f->load_count, &f->load_capacity, sizeof *f->loads);
        f->loads = loads;
        if (fits)
            f->loads[f->load_count++] = (banyan_probe_load){pairs[2 * i], pairs[2 * i + 1], rates[i]};
    }
    if (!fits) {
        f->load_count = before;
        return banyan_fail_memory(err);
    }
    f->rounds[f->round_count++] = (banyan_probe_round){kind, grouping, f->load_count};
    return BANYAN_SUCCESS;
}

int banyan_probe_round_begin(const banyan_probe_findings *findings, int round)
{
    return round ? findings->rounds[round - 1].end : 0;
}

int banyan_probe_is_long(const banyan_probe_findings *f, int round)
{
    return f->rounds[round].kind == BANYAN_ROUND_LONG && !f->rounds[round].grouping;
}

/* One host's flows of a round, one way: their number and sum. */
static int add_up(const banyan_probe_findings *f, int round, int host, int is_out, double *sum)
{
    int count = 0;

    *sum = 0;
    for (int i = banyan_probe_round_begin(f, round); i < f->rounds[round].end; i++)
        if ((is_out ? f->loads[i].src : f->loads[i].dst) == host) {
            *sum += f->loads[i].bytes_per_s;
            count++;
        }
    return count;
}

/* The two highest values of several: the second one has been reached twice. */
typedef struct {
    double first, second;
    int count;
} top;

static void add_to(top *t, double value)
{
    t->count++;
    t->second = fmax(t->second, fmin(t->first, value));
    t->first = fmax(t->first, value);
}

/* One that happened only once has to be believed. */
static double reached_twice(const top *t)
{
    return t->count > 1 ? t->second : t->first;
}

/* What a host did one way: with a single flow, with a long one, and with several at once. */
typedef struct {
    top single, longer, fan;
    int is_limit; /* a long flow's other end can do clearly more */
} record;

static double best_single(const banyan_probe_findings *f, int host, int is_out)
{
    top singles = {0};
    double sum;

    for (int k = 0; k < f->round_count; k++)
        if (add_up(f, k, host, is_out, &sum) == 1)
            add_to(&singles, sum);
    return reached_twice(&singles);
}

/* Whether the other end of a host's only flow in this round is of the same rack and can do clearly more. */
static int shows_limit(const banyan_probe_findings *f, int round, int host, int is_out, double speed)
{
    for (int i = banyan_probe_round_begin(f, round); i < f->rounds[round].end; i++)
        if ((is_out ? f->loads[i].src : f->loads[i].dst) == host &&
            f->rack_of[f->loads[i].src] == f->rack_of[f->loads[i].dst])
            return speed < CLEARLY * best_single(f, is_out ? f->loads[i].dst : f->loads[i].src, !is_out);
    return 0;
}

static record look_at(const banyan_probe_findings *f, int host, int is_out)
{
    record r = {0};
    double sum;

    for (int k = 0; k < f->round_count; k++) {
        int count = add_up(f, k, host, is_out, &sum), is_long = banyan_probe_is_long(f, k);

        if (count == 1)
            add_to(&r.single, sum);
        if (count == 1 && is_long) {
            add_to(&r.longer, sum);
            r.is_limit |= shows_limit(f, k, host, is_out, sum);
        } else if (count > 1) {
            add_to(&r.fan, sum);
        }
    }
    return r;
}

/* A short flow may be what a switch had saved up for it, or have been held up. */
static double single_speed(const record *r)
{
    double longer = reached_twice(&r->longer), single = reached_twice(&r->single);

    return longer > AGREES * single ? longer : single;
}

static int shows_more(const record *r, double several)
{
    return several > FAN_SHOWS * single_speed(r) &&
           !(r->is_limit && reached_twice(&r->longer) == single_speed(r));
}

static double speed_of(const banyan_probe_findings *f, int host, int is_out)
{
    record r = look_at(f, host, is_out);

    return shows_more(&r, r.fan.second) ? r.fan.second : single_speed(&r);
}

int banyan_probe_find_doubtful(const banyan_probe_findings *findings, int is_out)
{
    for (int i = 0; i < findings->host_count; i++) {
        record r = look_at(findings, i, is_out);

        if (r.fan.count == 1 && shows_more(&r, r.fan.first))
            return i;
    }
    return -1;
}

void banyan_probe_host_speeds(const banyan_probe_findings *findings, double *out, double *in)
{
    for (int i = 0; i < findings->host_count; i++) {
        out[i] = speed_of(findings, i, 1);
        in[i] = speed_of(findings, i, 0);
    }
}

int banyan_probe_rack_size(const banyan_probe_findings *findings, int rack)
{
    int count = 0;

    for (int i = 0; i < findings->host_count; i++)
        count += findings->rack_of[i] == rack;
    return count;
}
