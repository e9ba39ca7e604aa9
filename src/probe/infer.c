/* SPDX-License-Identifier: Apache-2.0 */
/* probe/infer.c: the tree that the findings amount to, in plain numbers.
 *
 *            net
 *           /   \             A rack gets a switch of its own only when its trunk is slower than what its
 *         r0     h4           hosts, or those they talk to, can do; else its hosts hang on 'net'.
 *        /  \      \
 *      h0    h1     g4
 *     /  \     \
 *    g0   g1    g2
 *
 * Measured numbers differ by a few per cent where the cables are the same. Planners do better with equal
 * ones, and so do people: bandwidths within NEAR of each other become their median, with three digits. */
#include "probe/infer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "topology/build.h"

#define NEAR 1.08
#define NEAR_LATENCY 1.6
#define FAST_INSIDE 10.0 /* times its cable: a host whose inside nobody measured */
#define LEAST_LATENCY_S 1e-7

typedef struct {
    double up, down, latency_s;
} cable;

typedef struct {
    const banyan_probe_findings *findings;
    cable *hosts, *racks, *locals;
    char *has_switch; /* by rack */
} drawing;

static int by_value(const void *a, const void *b)
{
    const double *x = *(double *const *)a, *y = *(double *const *)b;

    return (*x > *y) - (*x < *y);
}

static double round_to(double value, int digits)
{
    double unit = pow(10, floor(log10(value)) - digits + 1);

    return value > 0 ? round(value / unit) * unit : 0;
}

/* Numbers within the factor of the lowest of them become their median. Zeros stay. */
static banyan_status make_equal(double **values, int count, double factor, int digits, banyan_error *err)
{
    int first = 0, last;

    qsort(values, (size_t)count, sizeof *values, by_value);
    while (first < count && !(*values[first] > 0))
        first++;
    for (; first < count; first = last) {
        double lowest = *values[first], middle;

        for (last = first; last < count && *values[last] <= lowest * factor; last++)
            continue;
        middle = round_to(*values[first + (last - first) / 2], digits);
        if (!isfinite(middle))
            return banyan_fail(err, BANYAN_INTERNAL_ERROR, "a measured value is not a number");
        for (int i = first; i < last; i++)
            *values[i] = middle;
    }
    return BANYAN_SUCCESS;
}

/* Both ways of cables, and their latencies, made plain. */
static banyan_status make_plain(cable *cables, int count, cable *more, int more_count, banyan_error *err)
{
    int all = count + more_count;
    double **values = banyan_alloc((size_t)(2 * all) + 1, sizeof *values);
    banyan_status status;

    if (!values)
        return banyan_fail_memory(err);
    for (int i = 0; i < all; i++) {
        cable *c = i < count ? &cables[i] : &more[i - count];

        values[2 * i] = &c->up;
        values[2 * i + 1] = &c->down;
    }
    status = make_equal(values, 2 * all, NEAR, 3, err);
    for (int i = 0; i < all; i++)
        values[i] = i < count ? &cables[i].latency_s : &more[i - count].latency_s;
    if (!status)
        status = make_equal(values, all, NEAR_LATENCY, 2, err);
    banyan_free(values);
    return status;
}

static int compare_doubles(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* The median latency from a host to others: of its own rack, or of others; 0: none is known. */
static double median_latency(const banyan_probe_findings *f, int host, int of_own_rack, double *buffer)
{
    int count = 0;

    for (int i = 0; i < f->host_count; i++) {
        double there = f->latency_s[host * f->host_count + i], back = f->latency_s[i * f->host_count + host];
        double latency_s = there > 0 ? there : back;

        if (i != host && latency_s > 0 && (f->rack_of[i] == f->rack_of[host]) == of_own_rack)
            buffer[count++] = latency_s;
    }
    qsort(buffer, (size_t)count, sizeof *buffer, compare_doubles);
    return count ? buffer[count / 2] : 0;
}

static void find_host_cables(drawing *d, double *buffer)
{
    const banyan_probe_findings *f = d->findings;
    double *out = buffer, *in = buffer + f->host_count;

    banyan_probe_host_speeds(f, out, in);
    for (int i = 0; i < f->host_count; i++)
        d->hosts[i] = (cable){.up = out[i], .down = in[i]};
    for (int i = 0; i < f->host_count; i++) {
        double latency_s = median_latency(f, i, 1, buffer);

        if (!(latency_s > 0))
            latency_s = median_latency(f, i, 0, buffer);
        d->hosts[i].latency_s = latency_s > 0 ? latency_s / 2 : LEAST_LATENCY_S;
    }
}

static void find_local_cables(drawing *d)
{
    const banyan_probe_findings *f = d->findings;

    for (int i = 0; i < f->host_count; i++) {
        double most = d->hosts[i].up > d->hosts[i].down ? d->hosts[i].up : d->hosts[i].down;
        double inside = f->local[i] > 0 ? f->local[i] : most > 0 ? FAST_INSIDE * most : 1e10;
        double latency_s = f->local_latency_s[i] > 0 ? f->local_latency_s[i] / 2 : LEAST_LATENCY_S;

        d->locals[i] = (cable){inside, inside, latency_s};
    }
}

/* One way of a rack's trunk: what was measured where it shows, else what its hosts can do. */
static double trunk(const drawing *d, int rack, int is_out)
{
    const banyan_probe_findings *f = d->findings;
    double measured = is_out ? f->rack_out[rack] : f->rack_in[rack], all = 0;

    for (int i = 0; i < f->host_count; i++)
        if (f->rack_of[i] == rack)
            all += is_out ? d->hosts[i].up : d->hosts[i].down;
    return measured > 0 ? measured : all;
}

static void find_trunks(drawing *d, double *buffer)
{
    const banyan_probe_findings *f = d->findings;

    for (int rack = 0; rack < f->rack_count; rack++) {
        double longest_s = 0, here_s = 0;

        if (!(f->rack_out[rack] > 0) && !(f->rack_in[rack] > 0))
            continue;
        d->racks[rack].up = trunk(d, rack, 1);
        d->racks[rack].down = trunk(d, rack, 0);
        d->has_switch[rack] = 1;
        for (int i = 0; i < f->host_count; i++)
            if (f->rack_of[i] == rack) {
                double away_s = median_latency(f, i, 0, buffer);

                longest_s = away_s > longest_s ? away_s : longest_s;
                here_s = d->hosts[i].latency_s > here_s ? d->hosts[i].latency_s : here_s;
            }
        d->racks[rack].latency_s =
            longest_s / 2 - here_s > LEAST_LATENCY_S ? longest_s / 2 - here_s : LEAST_LATENCY_S;
    }
}

/* A host's switch bears its name, unless another node has it. */
static void name_host(const banyan_probe_findings *f, int host, char *out, size_t size)
{
    const char *name = f->names[host];
    int number = 0, is_taken = !strcmp(name, "net") || !*name;
    char rest;

    is_taken |= sscanf(name, "g%d%c", &number, &rest) == 1 || sscanf(name, "r%d%c", &number, &rest) == 1;
    for (int i = 0; i < f->host_count; i++)
        is_taken |= i != host && !strcmp(name, f->names[i]);
    if (is_taken)
        snprintf(out, size, "%.50s-%d", *name ? name : "host", host);
    else
        snprintf(out, size, "%.63s", name);
}

static void add_both(banyan_topology_builder *builder, int low, int high, const cable *c)
{
    banyan_topology_add_link(builder, low, high, c->up, c->latency_s);
    banyan_topology_add_link(builder, high, low, c->down, c->latency_s);
}

/* What every verb shows of a topology says how sure its racks are. */
static void name_network(const banyan_probe_findings *f, char *out, size_t size)
{
    if (f->rack_count > 1)
        snprintf(out, size, "probed (%d racks explain %.0f %% of what flows lacked)", f->rack_count,
                 100 * f->explained);
    else
        snprintf(out, size, "probed");
}

static banyan_status build(const drawing *d, banyan_topology **out, banyan_error *err)
{
    const banyan_probe_findings *f = d->findings;
    banyan_topology_builder builder;
    int first_host = f->rank_count, net = -1, rack = -1;
    char name[80];

    name_network(f, name, sizeof name);
    banyan_topology_builder_init(&builder, name);
    for (int i = 0; i < f->host_count; i++) {
        name_host(f, i, name, sizeof name);
        banyan_topology_add_host(&builder, name);
    }
    for (int i = 0; i < f->rank_count; i++)
        banyan_topology_add_worker_f(&builder, f->host_of[i], "g%d", i);
    for (int i = 0; i < f->host_count; i++) {
        name_host(f, i, name, sizeof name);
        banyan_topology_add_switch(&builder, name);
    }
    for (int i = 0; i < f->rank_count; i++)
        add_both(&builder, i, first_host + f->host_of[i], &d->locals[f->host_of[i]]);
    if (f->host_count > 1)
        net = banyan_topology_add_switch(&builder, "net");
    for (int r = 0, number = 0; r < f->rack_count && net >= 0; r++) {
        rack = d->has_switch[r] ? banyan_topology_add_switch_f(&builder, "r%d", number++) : -1;
        for (int i = 0; i < f->host_count; i++)
            if (f->rack_of[i] == r)
                add_both(&builder, first_host + i, rack >= 0 ? rack : net, &d->hosts[i]);
        if (rack >= 0)
            add_both(&builder, rack, net, &d->racks[r]);
    }
    banyan_topology_set_policy(&builder, BANYAN_ROUTES_UPDOWN);
    return banyan_topology_builder_finish(&builder, out, err);
}

banyan_status banyan_probe_infer(const banyan_probe_findings *findings, banyan_topology **out,
                                 banyan_error *err)
{
    size_t hosts = (size_t)findings->host_count;
    drawing d = {.findings = findings};
    double *buffer = banyan_alloc(2 * hosts, sizeof *buffer);
    banyan_status status = BANYAN_SUCCESS;

    *out = NULL;
    d.hosts = banyan_alloc(hosts, sizeof *d.hosts);
    d.racks = banyan_alloc(hosts, sizeof *d.racks);
    d.locals = banyan_alloc(hosts, sizeof *d.locals);
    d.has_switch = banyan_alloc(hosts, 1);
    if (!buffer || !d.hosts || !d.racks || !d.locals || !d.has_switch)
        status = banyan_fail_memory(err);
    if (!status) {
        find_host_cables(&d, buffer);
        find_local_cables(&d);
        find_trunks(&d, buffer);
        status = make_plain(d.hosts, findings->host_count, d.racks, findings->rack_count, err);
    }
    if (!status)
        status = make_plain(d.locals, findings->host_count, NULL, 0, err);
    if (!status)
        status = build(&d, out, err);
    banyan_free(buffer);
    banyan_free(d.hosts);
    banyan_free(d.racks);
    banyan_free(d.locals);
    banyan_free(d.has_switch);
    return status;
}
