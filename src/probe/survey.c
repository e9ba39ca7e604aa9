/* SPDX-License-Identifier: Apache-2.0 */
/* probe/survey.c: what is measured, in which order. Every rank knows every result, so all decide the same.
 *
 *     pings              hosts in disjoint pairs, all rounds of a tournament; neighbours within hosts
 *     inside hosts       every rank to its neighbour, at once
 *     one flow           every host to every other, or to some others where hosts are many
 *     one to all, all to one host at once
 *     all at once        host i to host i + s, for every s, in several orders of the hosts; the better of two
 *     racks              all hosts of a rack to those of other racks, and back
 *
 * The number of measurements grows with the number of hosts, not with its square (beyond FEW_HOSTS). Ranks of
 * a host take turns. */
#include <string.h>

#include "core/alloc.h"
#include "core/clock.h"
#include "core/random.h"
#include "probe/survey.h"

#define MOST_UNDER_WAY 8388608.0
#define LOCAL_S 0.02
#define LOCAL_TIMES 3 /* the best counts: others may be at work on the host */
#define LOCAL_UNDER_WAY 1048576.0
#define FEW_HOSTS 5
#define PARTNERS 3   /* of a host, where hosts are many */
#define MOST_FANS 4  /* hosts that one host talks to at once */
#define FAN_HOSTS 32 /* above, one flow has to do */
#define ORDERS 3

/* A first look: each host to the next. */
static banyan_status look_around(banyan_survey *s, banyan_error *err)
{
    banyan_probe_findings *f = &s->findings;
    int hosts = f->host_count;
    double fastest = 0, longest_s = 0;
    banyan_status status;

    for (int i = 0; i < hosts; i++) {
        s->pairs[2 * i] = i;
        s->pairs[2 * i + 1] = (i + 1) % hosts;
    }
    banyan_survey_pick_ranks(s, hosts);
    status = banyan_survey_measure(s, hosts, 0, s->rates, err);
    for (int i = 0; i < hosts && !status; i++) {
        double before = s->rates[(i + hosts - 1) % hosts];

        s->speeds[i] = s->rates[i] > before ? s->rates[i] : before;
        fastest = s->speeds[i] > fastest ? s->speeds[i] : fastest;
    }
    for (int i = 0; i < hosts * hosts; i++)
        longest_s = f->latency_s[i] > longest_s ? f->latency_s[i] : longest_s;
    s->wire_bytes = 2 * 2 * longest_s * fastest;
    s->wire_bytes = s->wire_bytes > MOST_UNDER_WAY ? MOST_UNDER_WAY : s->wire_bytes;
    return status;
}

static banyan_status measure_inside(banyan_survey *s, banyan_error *err)
{
    banyan_probe_findings *f = &s->findings;
    banyan_status status = BANYAN_SUCCESS;
    int count = 0, pairs = 0;

    for (int h = 0; h < f->host_count; h++)
        for (int i = s->first[h]; i < s->first[h + 1] && s->first[h + 1] - s->first[h] > 1; i++) {
            int next = i + 1 < s->first[h + 1] ? i + 1 : s->first[h];

            s->flows[count++] = (banyan_probe_flow){s->ranks[i], s->ranks[next]};
        }
    for (int again = 0; again < LOCAL_TIMES && count && !status; again++) {
        status = banyan_probe_flows(s->gauge, s->flows, count, LOCAL_S, LOCAL_UNDER_WAY, s->second, err);
        for (int i = 0; i < count && !status; i++)
            s->rates[i] = !again || s->second[i] > s->rates[i] ? s->second[i] : s->rates[i];
    }
    banyan_survey_step(s);
    for (int i = 0; i < count && !status; i++) /* on average over the host's ranks */
        f->local[f->host_of[s->flows[i].src]] += s->rates[i];
    for (int h = 0; h < f->host_count; h++)
        f->local[h] /= s->first[h + 1] - s->first[h];
    for (int h = 0; h < f->host_count; h++)
        if (s->first[h + 1] - s->first[h] > 1)
            s->flows[pairs++] = (banyan_probe_flow){s->ranks[s->first[h]], s->ranks[s->first[h] + 1]};
    if (!status && pairs)
        status = banyan_probe_pings(s->gauge, s->flows, pairs, s->rates, err);
    banyan_survey_step(s);
    for (int i = 0; i < pairs && !status; i++)
        f->local_latency_s[f->host_of[s->flows[i].src]] = s->rates[i];
    return status;
}

/* A tournament: in each round every host is in one pair; with an odd number of hosts one sits out. */
static banyan_status ping_hosts(banyan_survey *s, banyan_error *err)
{
    banyan_probe_findings *f = &s->findings;
    int hosts = f->host_count, even = hosts + hosts % 2;
    banyan_status status = BANYAN_SUCCESS;

    for (int round = 0; round < even - 1 && !status; round++) {
        int count = 0;

        for (int i = 0; i < even / 2; i++) {
            int a = i ? (round + i) % (even - 1) : even - 1, b = (round + even - 1 - i) % (even - 1);

            if (a >= hosts || b >= hosts)
                continue;
            s->pairs[2 * count] = a;
            s->pairs[2 * count + 1] = b;
            s->flows[count++] = (banyan_probe_flow){s->ranks[s->first[a]], s->ranks[s->first[b]]};
        }
        status = banyan_probe_pings(s->gauge, s->flows, count, s->rates, err);
        for (int i = 0; i < count && !status; i++)
            f->latency_s[s->pairs[2 * i] * hosts + s->pairs[2 * i + 1]] = s->rates[i];
        banyan_survey_step(s);
    }
    return status;
}

static int is_partner(const banyan_survey *s, int from, int to)
{
    int hosts = s->findings.host_count, shift = (to - from + hosts) % hosts;

    if (hosts <= FEW_HOSTS)
        return 1;
    for (int i = 0; i < PARTNERS; i++)
        if (shift == 1 + i * (hosts - 2) / (PARTNERS - 1))
            return 1;
    return 0;
}

static banyan_status measure_alone(banyan_survey *s, banyan_error *err)
{
    banyan_probe_findings *f = &s->findings;
    banyan_status status = BANYAN_SUCCESS;

    for (int from = 0; from < f->host_count; from++)
        for (int to = 0; to < f->host_count && !status; to++) {
            if (from == to || !is_partner(s, from, to))
                continue;
            s->pairs[0] = from;
            s->pairs[1] = to;
            status = banyan_survey_measure_sum(s, 1, &f->alone[from * f->host_count + to], err);
        }
    return status;
}

/* Once, and again where it shows something new. */
static banyan_status measure_fan(banyan_survey *s, int host, int is_out, int count, banyan_error *err)
{
    banyan_probe_findings *f = &s->findings;
    double known = is_out ? banyan_probe_host_out(f, host) : banyan_probe_host_in(f, host), sum = 0;
    banyan_status status;

    banyan_survey_pick_ranks(s, count);
    status = banyan_survey_measure(s, count, 1, s->rates, err);
    for (int i = 0; i < count && !status; i++)
        sum += s->rates[i];
    if (!status && sum > known / BANYAN_SURVEY_SUSPICIOUS)
        status = banyan_survey_measure_sum(s, count, is_out ? &f->fan_out[host] : &f->fan_in[host], err);
    return status;
}

/* A host may be faster than each of the others: then it takes several of them to see it. */
static banyan_status measure_fans(banyan_survey *s, banyan_error *err)
{
    banyan_probe_findings *f = &s->findings;
    int hosts = f->host_count, others = hosts - 1 < MOST_FANS ? hosts - 1 : MOST_FANS;
    banyan_status status = BANYAN_SUCCESS;

    for (int i = 0; i < 2 * hosts && hosts > 2 && hosts <= FAN_HOSTS && !status; i++) {
        int host = i / 2, is_out = i % 2;

        for (int k = 0; k < others; k++) {
            int other = (host + 1 + k * (hosts - 1) / others) % hosts;

            s->pairs[2 * k] = is_out ? host : other;
            s->pairs[2 * k + 1] = is_out ? other : host;
        }
        status = measure_fan(s, host, is_out, others, err);
    }
    return status;
}

/* The first order is the hosts' own; the others are drawn, the same on all ranks. */
static void draw_order(int *order, int count, int number)
{
    banyan_random random = {.state = (uint64_t)number};

    for (int i = 0; i < count; i++)
        order[i] = i;
    for (int i = count - 1; i > 0 && number; i--) {
        int k = banyan_random_below(&random, i + 1), kept = order[i];

        order[i] = order[k];
        order[k] = kept;
    }
}

static banyan_status measure_loaded(banyan_survey *s, banyan_error *err)
{
    banyan_probe_findings *f = &s->findings;
    int hosts = f->host_count, orders = hosts < 4 ? 1 : hosts <= 16 ? ORDERS : 1;
    int *order = banyan_alloc((size_t)hosts, sizeof *order);
    banyan_status status = order ? BANYAN_SUCCESS : banyan_fail_memory(err);

    for (int number = 0; number < orders && !status; number++) {
        draw_order(order, hosts, number);
        for (int shift = 1; shift < hosts && !status; shift++) {
            for (int i = 0; i < hosts; i++) {
                s->pairs[2 * i] = order[i];
                s->pairs[2 * i + 1] = order[(i + shift) % hosts];
            }
            status = banyan_survey_measure_each(s, hosts, err);
            for (int i = 0; i < hosts && !status; i++)
                status = banyan_probe_add_load(f, s->pairs[2 * i], s->pairs[2 * i + 1], s->rates[i], err);
        }
    }
    banyan_free(order);
    return status;
}

static banyan_status measure_racks(banyan_survey *s, banyan_error *err)
{
    banyan_probe_findings *f = &s->findings;
    banyan_status status = banyan_probe_find_racks(f, err);

    for (int i = 0; i < 2 * f->rack_count && !status; i++) {
        int rack = i / 2, is_out = i % 2, count = banyan_probe_rack_flows(f, rack, is_out, s->pairs);

        if (count)
            status =
                banyan_survey_measure_sum(s, count, is_out ? &f->rack_out[rack] : &f->rack_in[rack], err);
    }
    return status;
}

/* A guess for the bar; racks come on top. */
static int count_steps(int hosts)
{
    int partners = hosts <= FEW_HOSTS ? hosts - 1 : PARTNERS;
    int fans = hosts > 2 && hosts <= FAN_HOSTS ? 4 * hosts : 0;
    int orders = hosts < 4 ? 1 : hosts <= 16 ? ORDERS : 1;

    return hosts < 2 ? 2 : 2 + hosts + 1 + 2 * hosts * partners + fans + 2 * orders * (hosts - 1);
}

static banyan_status measure_all(banyan_survey *s, banyan_error *err)
{
    banyan_status status;

    s->total = count_steps(s->findings.host_count);
    status = measure_inside(s, err);
    if (status || s->findings.host_count < 2)
        return status;
    status = ping_hosts(s, err);
    if (!status)
        status = look_around(s, err);
    if (!status)
        status = measure_alone(s, err);
    if (!status)
        status = measure_fans(s, err);
    if (!status)
        status = measure_loaded(s, err);
    return status ? status : measure_racks(s, err);
}

static int count_hosts(const banyan_probe_options *o)
{
    int count = 0;

    for (int i = 0; i < o->size; i++) {
        int first = 0;

        while (strcmp(o->hosts[first], o->hosts[i]) != 0)
            first++;
        count += first == i;
    }
    return count;
}

/* The first rank of a host names it. */
static void place_ranks(banyan_survey *s)
{
    const banyan_probe_options *o = s->options;
    banyan_probe_findings *f = &s->findings;
    int next = 0, hosts = 0;

    for (int i = 0; i < o->size; i++) {
        int first = 0;

        while (strcmp(o->hosts[first], o->hosts[i]) != 0)
            first++;
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
    size_t most = (size_t)(2 * hosts > s->options->size ? 2 * hosts : s->options->size) + MOST_FANS;
    banyan_status status = banyan_probe_findings_init(&s->findings, s->options->size, hosts, err);

    if (status)
        return status;
    s->ranks = banyan_alloc((size_t)s->options->size, sizeof *s->ranks);
    s->first = banyan_alloc((size_t)hosts + 1, sizeof *s->first);
    s->turn = banyan_alloc((size_t)hosts, sizeof *s->turn);
    s->flows = banyan_alloc(most, sizeof *s->flows);
    s->rates = banyan_alloc(most, sizeof *s->rates);
    s->second = banyan_alloc(most, sizeof *s->second);
    s->sorted = banyan_alloc(most, sizeof *s->sorted);
    s->speeds = banyan_alloc((size_t)hosts, sizeof *s->speeds);
    s->pairs = banyan_alloc(2 * most, sizeof *s->pairs);
    if (!s->ranks || !s->first || !s->turn || !s->flows || !s->rates || !s->second || !s->sorted ||
        !s->speeds || !s->pairs)
        return banyan_fail_memory(err);
    place_ranks(s);
    return banyan_probe_gauge_create(s->options, &s->gauge, err);
}

/* Everybody's bytes, added up. */
static banyan_status finish(banyan_survey *s, double begin_s, const banyan_topology *topology,
                            banyan_probe_report *report, banyan_error *err)
{
    const banyan_probe_options *o = s->options;
    uint64_t mine = banyan_probe_sent_bytes(s->gauge), *all = banyan_alloc((size_t)o->size, sizeof *all);
    int64_t deadline_ns = banyan_clock_ns() + (int64_t)o->timeout_ms * 1000000;
    banyan_status status = all ? BANYAN_SUCCESS : banyan_fail_memory(err);

    if (!status)
        status = o->exchange.allgather(o->exchange.context, &mine, sizeof mine, all, deadline_ns, err);
    if (!status && report) {
        *report = (banyan_probe_report){.seconds = banyan_clock_s() - begin_s,
                                        .measurement_count = s->done,
                                        .host_count = s->findings.host_count};
        for (int i = 0; i < o->size; i++)
            report->bytes += all[i];
        report->rack_count =
            topology->node_count - topology->worker_count - topology->host_count - (topology->host_count > 1);
    }
    banyan_free(all);
    return status;
}

banyan_status banyan_probe_run(const banyan_probe_options *options, banyan_topology **out,
                               banyan_probe_report *report, banyan_error *err)
{
    banyan_survey s = {.options = options};
    double begin_s = banyan_clock_s();
    banyan_topology *topology = NULL;
    banyan_status status = prepare(&s, err);

    *out = NULL;
    if (!status)
        status = measure_all(&s, err);
    if (!status)
        status = banyan_probe_infer(&s.findings, &topology, err);
    if (!status)
        status = finish(&s, begin_s, topology, report, err);
    if (status) {
        banyan_topology_destroy(topology);
        options->endpoint->transport->withdraw(options->endpoint); /* the gauge's memory may be under way */
    } else {
        *out = topology;
    }
    banyan_probe_gauge_destroy(s.gauge);
    banyan_probe_findings_fini(&s.findings);
    banyan_free(s.ranks);
    banyan_free(s.first);
    banyan_free(s.turn);
    banyan_free(s.flows);
    banyan_free(s.rates);
    banyan_free(s.second);
    banyan_free(s.sorted);
    banyan_free(s.speeds);
    banyan_free(s.pairs);
    return status;
}
