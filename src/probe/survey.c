/* SPDX-License-Identifier: Apache-2.0 */
/* probe/survey.c: what is measured, in which order. Every rank knows every result, so all decide the same.
 *
 *     inside hosts       every rank to its neighbour, at once
 *     pings              hosts in disjoint pairs, rounds of a tournament; neighbours within hosts
 *     rounds             many hosts at once, as probe/rounds.c chooses
 *
 * A round takes some milliseconds: long enough for the flows to share what they share, short enough to be
 * squeezed in between two calls. Ranks of a host take turns. */
#include "probe/survey.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/clock.h"
#include "core/sort.h"
#include "probe/infer.h"
#include "probe/measure.h"

#define LOCAL_S 0.005
#define LOCAL_TIMES 3 /* the best counts: others may be at work on the host */
#define LOCAL_UNDER_WAY 1048576.0
#define LOCAL_BYTES 3e7
#define PING_ROUNDS 7 /* of the tournament, at most */

/* How long a flow is, in times what is under way of it, so that it is as exact on slow links as on fast ones.
 * Of six segments four are left when all flows have begun, and their median bears one that was disturbed. */
#define SEGMENTS 6
/* Likewise between hosts in pairs, which do nothing else: of five that are left, two may be disturbed. */
#define PAIR_SEGMENTS 8
/* Of a round: ranks begin within a small part of it. */
#define MIN_S 0.004
/* Rounds that decide are few, and last at least that many times as long: longer than processes wait for a
 * processor that others use. */
#define DECIDING 3
/* Of any round: calls wait for it. Below 4 MB/s a flow goes on until it has SEGMENTS, but not for longer than
 * probe/measure.c allows. */
#define MAX_S 0.05
/* Times what is expected, a flow may be that fast: all of a host that was expected to share itself. */
#define UNEXPECTED 2.0
/* What may wait in the queues of a switch. */
#define QUEUE_S 0.0005
/* Two blocks: while one is acknowledged, the other is on its way. */
#define MIN_UNDER_WAY 32768.0
/* Linux gives a connection 6 MiB, unless it is told otherwise. */
#define MAX_UNDER_WAY 8388608.0
/* Before any speed is known. */
#define FIRST_UNDER_WAY 65536.0

/* A survey of n hosts ends when it has sent this many times 1 + log2(n) what all hosts send in a round. One
 * that nobody disturbs sends less. */
#define BUDGET_ROUNDS 8
/* It also ends when it has taken this long times 1 + log2(n). */
#define BUDGET_S 0.5
/* The same for slow links: times the time in which as much comes as is under way. */
#define BUDGET_TURNS 600
/* Fewer hosts than these may have as much: what is in doubt between few is measured more often. */
#define BUDGET_HOSTS 8

typedef enum { INSIDE, PINGS, ROUNDS, DONE } stage;

struct banyan_survey {
    const banyan_probe_options *options;
    banyan_probe_gauge *gauge;
    banyan_probe_findings findings;
    stage stage;
    int ping_round, steps;
    int *ranks, *first;                  /* ranks of host h: ranks[first[h] .. first[h + 1]) */
    double longest_s;                    /* of all latencies, */
    double usual_s;                      /* and the mean of their medians in each round */
    double bytes_before, seconds_before; /* of the first round */
    banyan_probe_flow *flows;
    double *rates, *second; /* by flow */
    double *out, *in;       /* by host */
    int *pairs;             /* hosts of the flows */
};

static banyan_status measure_inside(banyan_survey *s, banyan_error *err)
{
    banyan_probe_findings *f = &s->findings;
    banyan_status status = BANYAN_SUCCESS;
    int count = 0, pairs = 0;

    for (int h = 0; h < f->host_count; h++)
        for (int i = s->first[h]; i < s->first[h + 1] && s->first[h + 1] - s->first[h] > 1; i++) {
            int next = i + 1 < s->first[h + 1] ? i + 1 : s->first[h];

            s->flows[count++] =
                (banyan_probe_flow){s->ranks[i], s->ranks[next], LOCAL_S, LOCAL_BYTES, LOCAL_UNDER_WAY, 0};
        }
    for (int again = 0; again < LOCAL_TIMES && count && !status; again++) {
        status = banyan_probe_flows(s->gauge, s->flows, count, s->second, err);
        for (int i = 0; i < count && !status; i++)
            s->rates[i] = !again || s->second[i] > s->rates[i] ? s->second[i] : s->rates[i];
    }
    for (int i = 0; i < count && !status; i++) /* on average over the host's ranks */
        f->local[f->host_of[s->flows[i].src]] += s->rates[i];
    for (int h = 0; h < f->host_count; h++)
        f->local[h] /= s->first[h + 1] - s->first[h];
    for (int h = 0; h < f->host_count; h++)
        if (s->first[h + 1] - s->first[h] > 1)
            s->flows[pairs++] =
                (banyan_probe_flow){.src = s->ranks[s->first[h]], .dst = s->ranks[s->first[h] + 1]};
    if (!status && pairs)
        status = banyan_probe_pings(s->gauge, s->flows, pairs, s->rates, err);
    for (int i = 0; i < pairs && !status; i++)
        f->local_latency_s[f->host_of[s->flows[i].src]] = s->rates[i];
    return status;
}

static double median(double *values, int count)
{
    banyan_sort_doubles(values, (size_t)count);
    return count ? values[count / 2] : 0;
}

static int count_ping_rounds(int hosts)
{
    int even = hosts + hosts % 2;

    return hosts < 2 ? 0 : even - 1 < PING_ROUNDS ? even - 1 : PING_ROUNDS;
}

/* A tournament: in each round every host is in one pair; with an odd number of hosts one sits out. */
static banyan_status ping_hosts(banyan_survey *s, int round, banyan_error *err)
{
    banyan_probe_findings *f = &s->findings;
    int hosts = f->host_count, even = hosts + hosts % 2, count = 0;
    banyan_status status;

    for (int i = 0; i < even / 2; i++) {
        int a = i ? (round + i) % (even - 1) : even - 1, b = (round + even - 1 - i) % (even - 1);

        if (a >= hosts || b >= hosts)
            continue;
        s->pairs[2 * count] = a;
        s->pairs[2 * count + 1] = b;
        s->flows[count++] = (banyan_probe_flow){.src = s->ranks[s->first[a]], .dst = s->ranks[s->first[b]]};
    }
    status = banyan_probe_pings(s->gauge, s->flows, count, s->rates, err);
    for (int i = 0; i < count && !status; i++) {
        f->latency_s[s->pairs[2 * i] * hosts + s->pairs[2 * i + 1]] = s->rates[i];
        s->longest_s = fmax(s->longest_s, s->rates[i]);
    }
    if (!status)
        s->usual_s += (median(s->rates, count) - s->usual_s) / (round + 1);
    return status;
}

/* The mean rate in the last round that sent across the racks that are supposed; 0: there was none. */
static double mean_across(const banyan_probe_findings *f)
{
    for (int k = f->round_count - 1; k >= 0; k--) {
        int begin = banyan_probe_round_begin(f, k), end = f->rounds[k].end;
        double sum = 0;

        for (int i = begin; i < end; i++)
            sum += f->loads[i].bytes_per_s;
        if (f->rounds[k].kind == BANYAN_ROUND_ACROSS)
            return sum / (end - begin);
    }
    return 0;
}

/* How long it takes until as much has come as should be under way: the wires hold that, and a little waits
 * in queues. */
static double turn_s(double bytes_per_s, double latency_s)
{
    return fmax(2 * latency_s + QUEUE_S, MIN_UNDER_WAY / bytes_per_s);
}

/* Where nobody measured it, it may be the longest. */
static double latency_between(const banyan_survey *s, int a, int b)
{
    const banyan_probe_findings *f = &s->findings;
    double latency_s = fmax(f->latency_s[a * f->host_count + b], f->latency_s[b * f->host_count + a]);

    return latency_s > 0 ? latency_s : s->longest_s;
}

/* What each flow of a round may reach, as far as is known; 0: nothing is. */
static void expect(banyan_survey *s, banyan_round_kind kind, uint64_t grouping, int count, double *speeds)
{
    int is_trunk = kind == BANYAN_ROUND_ACROSS || (kind == BANYAN_ROUND_LONG && grouping);
    double across = is_trunk ? mean_across(&s->findings) : 0;

    banyan_probe_host_speeds(&s->findings, s->out, s->in);
    for (int i = 0; i < count; i++) {
        int src = s->pairs[2 * i], dst = s->pairs[2 * i + 1], out_uses = 0, in_uses = 0;

        for (int j = 0; j < count; j++) {
            out_uses += s->pairs[2 * j] == src;
            in_uses += s->pairs[2 * j + 1] == dst;
        }
        speeds[i] = fmin(s->out[src] / out_uses, s->in[dst] / in_uses);
        if (across > 0)
            speeds[i] = fmin(speeds[i], across);
    }
}

/* What flows may reach says how long they are, and how much of them is under way: all flows of a round are at
 * work until the slowest has sent enough. Those of hosts in pairs have nothing in common: each ends on its
 * own. */
static void set_pace(banyan_survey *s, banyan_round_kind kind, uint64_t grouping, int count)
{
    int is_pairs = kind == BANYAN_ROUND_LONG && !grouping;
    double least_s = (kind == BANYAN_ROUND_LONG ? DECIDING : 1) * MIN_S;
    double *speeds = s->second, seconds = least_s, fastest = 0;

    expect(s, kind, grouping, count, speeds);
    for (int i = 0; i < s->findings.host_count; i++)
        fastest = fmax(fastest, s->out[i]);
    for (int i = 0; i < count; i++) {
        banyan_probe_flow *flow = &s->flows[i];
        double latency_s = latency_between(s, s->pairs[2 * i], s->pairs[2 * i + 1]), most;

        flow->is_alone = is_pairs;
        flow->seconds = least_s;
        flow->under_way_bytes = FIRST_UNDER_WAY;
        flow->max_bytes = MAX_UNDER_WAY;
        if (!(speeds[i] > 0))
            continue;
        most = fmin(UNEXPECTED * speeds[i], fastest);
        flow->under_way_bytes = fmin(most * turn_s(most, latency_s), MAX_UNDER_WAY);
        flow->seconds = (is_pairs ? PAIR_SEGMENTS : SEGMENTS) * flow->under_way_bytes / speeds[i];
        flow->seconds = fmin(fmax(flow->seconds, least_s), MAX_S);
        flow->max_bytes = fmax(speeds[i] * flow->seconds, SEGMENTS * flow->under_way_bytes);
        seconds = fmax(seconds, flow->seconds);
    }
    for (int i = 0; i < count && !is_pairs && fastest > 0; i++) {
        s->flows[i].seconds = seconds;
        s->flows[i].max_bytes = fmax(UNEXPECTED * fastest * seconds, SEGMENTS * s->flows[i].under_way_bytes);
    }
}

/* What a round between hosts of the usual speed takes says what all rounds may take: enough for a survey that
 * nobody disturbs, and for some rounds more. */
static int is_spent(banyan_survey *s)
{
    int hosts = s->findings.host_count;
    double many = fmax(hosts, BUDGET_HOSTS), growth = 1 + log2(many), speed, turn;

    if (!s->findings.round_count)
        return 0;
    banyan_probe_host_speeds(&s->findings, s->out, s->in);
    speed = median(s->out, hosts);
    if (!(speed > 0))
        return 0;
    turn = turn_s(speed, s->usual_s);
    return banyan_probe_all_bytes(s->gauge) - s->bytes_before >
               growth * BUDGET_ROUNDS * many * SEGMENTS * turn * speed ||
           banyan_probe_all_seconds(s->gauge) - s->seconds_before >
               growth * fmax(BUDGET_S, BUDGET_TURNS * turn);
}

/* One rank of a host takes part in a round, so that the host's flows begin together. */
static int rank_of(const banyan_survey *s, int host)
{
    int count = s->first[host + 1] - s->first[host];

    return s->ranks[s->first[host] + s->findings.round_count % count];
}

static banyan_status measure_round(banyan_survey *s, int *is_last, banyan_error *err)
{
    banyan_round_kind kind;
    uint64_t grouping;
    int count;
    banyan_status status;

    *is_last = is_spent(s);
    if (*is_last) /* with what is known */
        return banyan_probe_judge_racks(&s->findings, err);
    status = banyan_probe_next_round(&s->findings, &kind, &grouping, s->pairs, &count, err);
    *is_last = !status && !count;
    if (status || !count)
        return status ? status : banyan_probe_judge_racks(&s->findings, err);
    for (int i = 0; i < count; i++)
        s->flows[i] =
            (banyan_probe_flow){.src = rank_of(s, s->pairs[2 * i]), .dst = rank_of(s, s->pairs[2 * i + 1])};
    set_pace(s, kind, grouping, count);
    if (!s->findings.round_count) /* new connections, and processes that were asleep, are slow */
        status = banyan_probe_flows(s->gauge, s->flows, count, s->rates, err);
    if (!status)
        status = banyan_probe_flows(s->gauge, s->flows, count, s->rates, err);
    if (!status)
        status = banyan_probe_add_round(&s->findings, kind, grouping, s->pairs, s->rates, count, err);
    return status;
}

/* Of the budget, all counts from here on. */
static void begin_rounds(banyan_survey *s)
{
    s->bytes_before = banyan_probe_all_bytes(s->gauge);
    s->seconds_before = banyan_probe_all_seconds(s->gauge);
    s->stage = s->findings.host_count > 1 ? ROUNDS : DONE;
}

static banyan_status take_step(banyan_survey *s, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;
    int is_last = 0;

    switch (s->stage) {
    case INSIDE:
        status = measure_inside(s, err);
        s->stage = s->findings.host_count > 1 ? PINGS : DONE;
        break;
    case PINGS:
        status = ping_hosts(s, s->ping_round++, err);
        if (s->ping_round == count_ping_rounds(s->findings.host_count))
            begin_rounds(s);
        break;
    case ROUNDS:
        status = measure_round(s, &is_last, err);
        s->stage = is_last ? DONE : ROUNDS;
        break;
    case DONE:
        break;
    }
    return status;
}

banyan_status banyan_survey_step(banyan_survey *s, int *is_done, banyan_error *err)
{
    double begin_s = banyan_clock_s();
    banyan_status status;

    s->steps += s->stage != DONE;
    status = take_step(s, err);
    banyan_probe_spend_time(s->gauge, banyan_clock_s() - begin_s);
    *is_done = !status && s->stage == DONE;
    return status;
}

void banyan_survey_restart(banyan_survey *s)
{
    banyan_probe_findings_restart(&s->findings);
    begin_rounds(s);
}

static int first_of_host(const banyan_probe_options *o, int rank)
{
    int first = 0;

    while (strcmp(o->hosts[first], o->hosts[rank]) != 0)
        first++;
    return first;
}

static int count_hosts(const banyan_probe_options *o)
{
    int count = 0;

    for (int i = 0; i < o->size; i++)
        count += first_of_host(o, i) == i;
    return count;
}

/* The first rank of a host names it. */
static void place_ranks(banyan_survey *s)
{
    const banyan_probe_options *o = s->options;
    banyan_probe_findings *f = &s->findings;
    int next = 0, hosts = 0;

    for (int i = 0; i < o->size; i++) {
        int first = first_of_host(o, i);

        f->host_of[i] = first == i ? hosts++ : f->host_of[first];
        if (first == i)
            f->names[f->host_of[i]] = o->names[i];
    }
    for (int h = 0; h < hosts; h++) {
        s->first[h] = next;
        for (int i = 0; i < o->size; i++)
            if (f->host_of[i] == h)
                s->ranks[next++] = i;
    }
    s->first[hosts] = next;
}

static banyan_status prepare(banyan_survey *s, banyan_error *err)
{
    int hosts = count_hosts(s->options);
    size_t most = (size_t)(2 * hosts > s->options->size ? 2 * hosts : s->options->size);
    banyan_status status = banyan_probe_findings_init(&s->findings, s->options->size, hosts, err);

    if (status)
        return status;
    s->ranks = banyan_alloc((size_t)s->options->size, sizeof *s->ranks);
    s->first = banyan_alloc((size_t)hosts + 1, sizeof *s->first);
    s->flows = banyan_alloc(most, sizeof *s->flows);
    s->rates = banyan_alloc(most, sizeof *s->rates);
    s->second = banyan_alloc(most, sizeof *s->second);
    s->out = banyan_alloc((size_t)hosts, sizeof *s->out);
    s->in = banyan_alloc((size_t)hosts, sizeof *s->in);
    s->pairs = banyan_alloc(2 * most, sizeof *s->pairs);
    if (!s->ranks || !s->first || !s->flows || !s->rates || !s->second || !s->out || !s->in || !s->pairs)
        return banyan_fail_memory(err);
    place_ranks(s);
    return banyan_probe_gauge_create(s->options, &s->gauge, err);
}

banyan_status banyan_survey_create(const banyan_probe_options *options, banyan_survey **out,
                                   banyan_error *err)
{
    banyan_survey *survey = banyan_alloc(1, sizeof *survey);
    banyan_status status;

    *out = NULL;
    if (!survey)
        return banyan_fail_memory(err);
    survey->options = options;
    status = prepare(survey, err);
    if (status)
        banyan_survey_destroy(survey);
    else
        *out = survey;
    return status;
}

void banyan_survey_destroy(banyan_survey *s)
{
    if (!s)
        return;
    banyan_probe_gauge_destroy(s->gauge);
    banyan_probe_findings_fini(&s->findings);
    banyan_free(s->ranks);
    banyan_free(s->first);
    banyan_free(s->flows);
    banyan_free(s->rates);
    banyan_free(s->second);
    banyan_free(s->out);
    banyan_free(s->in);
    banyan_free(s->pairs);
    banyan_free(s);
}

const banyan_probe_findings *banyan_survey_findings(const banyan_survey *survey)
{
    return &survey->findings;
}

int banyan_survey_host_count(const banyan_survey *survey)
{
    return survey->findings.host_count;
}

int banyan_survey_step_count(const banyan_survey *survey)
{
    return survey->steps;
}

uint64_t banyan_survey_sent_bytes(const banyan_survey *survey)
{
    return banyan_probe_sent_bytes(survey->gauge);
}
