/* SPDX-License-Identifier: Apache-2.0 */
/* probe/racks.c: which hosts hang on the same switch.
 *
 *     h0 h1      h2 h3        Every host sends to one and receives from one, in all shifts. Between hosts of
 *      \ /        \ /         a rack nothing is in the way; between racks the trunk may be, either always (it
 *      r0 ======== r1         is slower than a host) or when several flows meet in it. So a pair that was
 *           trunk             slower than both its hosts can be, though each had only this one flow, spans
 *                             racks.
 *
 * Pairs that were slow in many measurements are far apart, pairs that never were are close; hosts are joined
 * from the closest (average linkage) until what is left is further apart than SAME_RACK, or a little more
 * where even the closest were slow at times. What is taken for a rack by mistake does no harm: its trunk will
 * not show (infer.c). Cost: hosts^3. */
#include <string.h>

#include "core/alloc.h"
#include "core/sort.h"
#include "probe/infer.h"

#define FAR 0.85 /* of what both hosts can do, when nobody else sends */
#define FAN_SHOWS 1.2
#define SAME_RACK 0.21 /* share of slow measurements that may be noise */
#define NOISE 0.6      /* more than that is none: then nobody is close */
#define NOISE_COUNTS 0.8
#define LEAST_CALM 0.6
#define SURE 100.0

banyan_status banyan_probe_findings_init(banyan_probe_findings *out, int rank_count, int host_count,
                                         banyan_error *err)
{
    size_t hosts = (size_t)host_count;
    banyan_probe_findings f = {.rank_count = rank_count, .host_count = host_count, .rack_count = 1};

    f.host_of = banyan_alloc((size_t)rank_count, sizeof *f.host_of);
    f.names = banyan_alloc(hosts, sizeof *f.names);
    f.alone = banyan_alloc(hosts * hosts, sizeof *f.alone);
    f.latency_s = banyan_alloc(hosts * hosts, sizeof *f.latency_s);
    f.fan_out = banyan_alloc(hosts, sizeof *f.fan_out);
    f.fan_in = banyan_alloc(hosts, sizeof *f.fan_in);
    f.local = banyan_alloc(hosts, sizeof *f.local);
    f.local_latency_s = banyan_alloc(hosts, sizeof *f.local_latency_s);
    f.rack_of = banyan_alloc(hosts, sizeof *f.rack_of);
    f.rack_out = banyan_alloc(hosts, sizeof *f.rack_out);
    f.rack_in = banyan_alloc(hosts, sizeof *f.rack_in);
    *out = f;
    if (f.host_of && f.names && f.alone && f.latency_s && f.fan_out && f.fan_in && f.local &&
        f.local_latency_s && f.rack_of && f.rack_out && f.rack_in)
        return BANYAN_SUCCESS;
    banyan_probe_findings_fini(out);
    return banyan_fail_memory(err);
}

void banyan_probe_findings_fini(banyan_probe_findings *findings)
{
    banyan_free(findings->host_of);
    banyan_free(findings->names);
    banyan_free(findings->alone);
    banyan_free(findings->latency_s);
    banyan_free(findings->fan_out);
    banyan_free(findings->fan_in);
    banyan_free(findings->local);
    banyan_free(findings->local_latency_s);
    banyan_free(findings->loads);
    banyan_free(findings->rack_of);
    banyan_free(findings->rack_out);
    banyan_free(findings->rack_in);
    *findings = (banyan_probe_findings){0};
}

banyan_status banyan_probe_add_load(banyan_probe_findings *findings, int src, int dst, double bytes_per_s,
                                    banyan_error *err)
{
    void *array = findings->loads;
    int fits =
        banyan_grow(&array, (size_t)findings->load_count, &findings->load_capacity, sizeof *findings->loads);

    findings->loads = array;
    if (!fits)
        return banyan_fail_memory(err);
    findings->loads[findings->load_count++] = (banyan_probe_load){src, dst, bytes_per_s};
    return BANYAN_SUCCESS;
}

/* Many flows at once count only where they show more than one does: their sum is a little less exact. */
static double best_of(const banyan_probe_findings *f, int host, int is_out, double fan)
{
    double best = 0;

    for (int i = 0; i < f->host_count; i++) {
        double rate = f->alone[is_out ? host * f->host_count + i : i * f->host_count + host];

        best = rate > best ? rate : best;
    }
    for (int i = 0; i < f->load_count;
         i++) { /* a host has one flow each way then, so it may show what it can */
        const banyan_probe_load *load = &f->loads[i];

        if ((is_out ? load->src : load->dst) == host && load->bytes_per_s > best)
            best = load->bytes_per_s;
    }
    return fan > FAN_SHOWS * best ? fan : best;
}

double banyan_probe_host_out(const banyan_probe_findings *findings, int host)
{
    return best_of(findings, host, 1, findings->fan_out[host]);
}

double banyan_probe_host_in(const banyan_probe_findings *findings, int host)
{
    return best_of(findings, host, 0, findings->fan_in[host]);
}

int banyan_probe_rack_size(const banyan_probe_findings *findings, int rack)
{
    int count = 0;

    for (int i = 0; i < findings->host_count; i++)
        count += findings->rack_of[i] == rack;
    return count;
}

typedef struct {
    int count;          /* of hosts */
    double *slow, *all; /* [a * count + b], both ways together */
    double *out, *in;
} distances;

static double could_be(const distances *d, int src, int dst)
{
    return d->out[src] < d->in[dst] ? d->out[src] : d->in[dst];
}

static void note(distances *d, int src, int dst, int is_slow, double weight)
{
    int ab = src * d->count + dst, ba = dst * d->count + src;

    d->all[ab] += weight;
    d->slow[ab] += is_slow ? weight : 0;
    d->all[ba] = d->all[ab];
    d->slow[ba] = d->slow[ab];
}

/* How much of their speed the better half of flows kept when all hosts were busy: where ranks are short of
 * processors that is less than all, trunk or no trunk. Only pairs count that are fast when alone. */
static banyan_status find_calm(const banyan_probe_findings *f, const distances *d, double *out,
                               banyan_error *err)
{
    double *kept = banyan_alloc((size_t)f->load_count + 1, sizeof *kept);
    int count = 0;

    if (!kept)
        return banyan_fail_memory(err);
    for (int i = 0; i < f->load_count; i++) {
        const banyan_probe_load *load = &f->loads[i];
        double could = could_be(d, load->src, load->dst);
        double alone = f->alone[load->src * f->host_count + load->dst];

        if (could > 0 && !(alone > 0 && alone < FAR * could))
            kept[count++] = load->bytes_per_s / could;
    }
    banyan_sort_doubles(kept, (size_t)count);
    *out = count ? kept[count * 3 / 4] : 1;
    *out = *out > 1 ? 1 : *out < LEAST_CALM ? LEAST_CALM : *out;
    banyan_free(kept);
    return BANYAN_SUCCESS;
}

static banyan_status measure_distances(const banyan_probe_findings *f, distances *d, banyan_error *err)
{
    size_t hosts = (size_t)f->host_count;
    banyan_status status;
    double calm = 1;

    *d = (distances){.count = f->host_count};
    d->slow = banyan_alloc(hosts * hosts, sizeof *d->slow);
    d->all = banyan_alloc(hosts * hosts, sizeof *d->all);
    d->out = banyan_alloc(hosts, sizeof *d->out);
    d->in = banyan_alloc(hosts, sizeof *d->in);
    if (!d->slow || !d->all || !d->out || !d->in)
        return banyan_fail_memory(err);
    for (int i = 0; i < f->host_count; i++) {
        d->out[i] = banyan_probe_host_out(f, i);
        d->in[i] = banyan_probe_host_in(f, i);
    }
    status = find_calm(f, d, &calm, err);
    for (int i = 0; i < f->load_count && !status; i++) {
        const banyan_probe_load *load = &f->loads[i];

        note(d, load->src, load->dst, load->bytes_per_s < FAR * calm * could_be(d, load->src, load->dst), 1);
    }
    /* What one flow alone shows is beyond doubt. */
    for (int i = 0; i < f->host_count * f->host_count && !status; i++) {
        int src = i / f->host_count, dst = i % f->host_count;

        if (f->alone[i] > 0)
            note(d, src, dst, f->alone[i] < FAR * could_be(d, src, dst),
                 f->alone[i] < FAR * could_be(d, src, dst) ? SURE : 1);
    }
    return status;
}

/* Between two sets of hosts: the shares of slow measurements of their pairs, added up, and how many pairs
 * those are. What nobody measured says nothing. */
static void begin_linkage(distances *d)
{
    for (int i = 0; i < d->count * d->count; i++) {
        int is_measured = d->all[i] > 0;

        d->slow[i] = is_measured ? d->slow[i] / d->all[i] : 0;
        d->all[i] = is_measured;
    }
}

static double distance(const distances *d, int a, int b)
{
    double pairs = d->all[a * d->count + b];

    return pairs > 0 ? d->slow[a * d->count + b] / pairs : 1;
}

/* While hosts are joined, a rack has the number of its first host. */
static void join_racks(banyan_probe_findings *f, distances *d, int a, int b)
{
    for (int i = 0; i < d->count; i++) {
        int ai = a * d->count + i, bi = b * d->count + i, ia = i * d->count + a;

        d->slow[ia] = d->slow[ai] = d->slow[ai] + d->slow[bi];
        d->all[ia] = d->all[ai] = d->all[ai] + d->all[bi];
        if (f->rack_of[i] == b)
            f->rack_of[i] = a;
    }
    f->rack_count--;
}

/* The two that are closest, and how close; 2: there is one alone. */
static double find_nearest(const banyan_probe_findings *f, const distances *d, int *a, int *b)
{
    double nearest = 2;

    for (int i = 0; i < d->count; i++)
        for (int k = i + 1; k < d->count && f->rack_of[i] == i; k++)
            if (f->rack_of[k] == k && distance(d, i, k) < nearest) {
                nearest = distance(d, i, k);
                *a = i;
                *b = k;
            }
    return nearest;
}

static void number_racks(banyan_probe_findings *f)
{
    int next = 0;

    for (int i = 0; i < f->host_count; i++) /* a rack's first host comes before its others */
        f->rack_of[i] = f->rack_of[i] == i ? next++ : -1 - f->rack_of[i];
    for (int i = 0; i < f->host_count; i++)
        if (f->rack_of[i] < 0)
            f->rack_of[i] = f->rack_of[-1 - f->rack_of[i]];
}

banyan_status banyan_probe_find_racks(banyan_probe_findings *findings, banyan_error *err)
{
    distances d;
    double cut = -1;
    int a = 0, b = 0;
    banyan_status status = measure_distances(findings, &d, err);

    findings->rack_count = findings->host_count;
    for (int i = 0; i < findings->host_count; i++)
        findings->rack_of[i] = i;
    if (!status)
        begin_linkage(&d);
    while (!status && findings->rack_count > 1) {
        double nearest = find_nearest(findings, &d, &a, &b);

        if (cut < 0) /* the closest hosts of all are as far apart as noise makes them */
            cut = nearest < NOISE ? SAME_RACK + NOISE_COUNTS * nearest : SAME_RACK;
        if (nearest > cut)
            break;
        join_racks(findings, &d, a, b);
    }
    number_racks(findings);
    banyan_free(d.slow);
    banyan_free(d.all);
    banyan_free(d.out);
    banyan_free(d.in);
    return status;
}

/* The n-th host outside of the rack, taking one of each other rack in turn: no single trunk should decide. */
static int outsider(const banyan_probe_findings *f, int rack, int n)
{
    for (int depth = 0; depth < f->host_count; depth++)
        for (int r = 0; r < f->rack_count; r++) {
            int before = 0;

            for (int i = 0; i < f->host_count && r != rack; i++)
                if (f->rack_of[i] == r && before++ == depth && n-- == 0)
                    return i;
        }
    return -1;
}

int banyan_probe_rack_flows(const banyan_probe_findings *findings, int rack, int is_out, int *pairs)
{
    int members = banyan_probe_rack_size(findings, rack), outside = findings->host_count - members, count = 0;
    int each = outside > 1 ? 2 : 1;

    if (members < 2 || !outside)
        return 0;
    for (int i = 0; i < findings->host_count; i++)
        for (int k = 0; k < each && findings->rack_of[i] == rack; k++, count++) {
            int other = outsider(findings, rack, count % outside);

            pairs[2 * count] = is_out ? i : other;
            pairs[2 * count + 1] = is_out ? other : i;
        }
    return count;
}
