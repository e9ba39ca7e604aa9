/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/flit.c: a schedule, or traffic alone, on a fabric from beginning to end. */
#include "simulate/flit.h"

#include "core/alloc.h"
#include "simulate/flit_engine.h"
#include "simulate/flit_normal.h"
#include "simulate/flit_tables.h"

typedef struct {
    flit_job *job;
    flit_fabric *fabric;
    flit_normal *normal;
    uint8_t *has_interface;
} simulation;

static void destroy(simulation *s)
{
    flit_fabric_destroy(s->fabric);
    flit_normal_destroy(s->normal);
    flit_job_destroy(s->job);
    banyan_free(s->has_interface);
}

/* A route must begin at src, end at dst and hang together. */
static banyan_status check_routes(const flit_job *job, const banyan_topology *topology, banyan_error *err)
{
    const banyan_schedule *schedule = job->schedule;
    const banyan_paths *paths = job->paths;

    for (size_t i = 0; i < schedule->transfer_count; i++) {
        const banyan_transfer *t = &schedule->transfers[i];
        int at = t->src, p = paths->path_of[i];

        for (int k = paths->first[p]; k < paths->first[p + 1] && at == topology->links[paths->link[k]].src;
             k++)
            at = topology->links[paths->link[k]].dst;
        if (at != t->dst || paths->first[p] == paths->first[p + 1])
            return banyan_fail(
                err, BANYAN_INVALID_ARGUMENT, "the route of transfer %zu does not lead from %.60s to %.60s",
                i, banyan_topology_node_name(topology, t->src), banyan_topology_node_name(topology, t->dst));
    }
    return BANYAN_SUCCESS;
}

static void mark_interfaces(const simulation *s, const banyan_topology *topology, int has_traffic)
{
    const banyan_schedule *schedule = s->job ? s->job->schedule : NULL;

    for (size_t i = 0; schedule && i < schedule->transfer_count; i++)
        s->has_interface[schedule->transfers[i].src] = s->has_interface[schedule->transfers[i].dst] = 1;
    for (int w = 0; has_traffic && w < topology->worker_count; w++)
        s->has_interface[topology->workers[w]] = 1;
}

static banyan_status build(simulation *s, const banyan_topology *topology,
                           const banyan_flit_settings *settings, int64_t traffic_until, banyan_error *err)
{
    banyan_status status;

    s->has_interface = banyan_alloc((size_t)topology->node_count, 1);
    if (!s->has_interface)
        return banyan_fail_memory(err);
    mark_interfaces(s, topology, settings->normal_rate > 0);
    status = flit_fabric_create(topology, settings, s->has_interface, &s->fabric, err);
    if (!status)
        status = flit_normal_set_paths(s->fabric, s->job, &s->normal, err);
    for (int v = 0; !status && v < topology->node_count; v++) {
        flit_router *router = &s->fabric->routers[v];

        if (!s->has_interface[v])
            continue;
        status = flit_interface_create(s->fabric, router, s->job, &router->interface, err);
        if (!status && settings->normal_rate > 0 && topology->nodes[v].kind == BANYAN_NODE_WORKER)
            flit_normal_start(router->interface, s->normal, traffic_until);
    }
    return status;
}

static banyan_status make_timeline(const simulation *s, const banyan_flit_report *report,
                                   banyan_timeline **out, banyan_error *err)
{
    const flit_job *job = s->job;
    double cycle_s = 1 / report->clock_hz;
    banyan_status status = banyan_timeline_create(job->schedule->transfer_count, out, err);

    if (status)
        return status;
    for (size_t i = 0; i < job->schedule->transfer_count; i++) {
        (*out)->begin_s[i] = (double)job->begin[i] * cycle_s;
        (*out)->end_s[i] = (double)job->end[i] * cycle_s;
    }
    (*out)->total_s = (double)report->cycles * cycle_s;
    return BANYAN_SUCCESS;
}

static void count_normal(const flit_fabric *f, banyan_flit_report *report)
{
    double cycles = 0;

    for (int v = 0; v < f->router_count; v++) {
        const flit_interface *i = f->routers[v].interface;

        if (!i)
            continue;
        report->normal_packets += i->arrived_packets;
        cycles += (double)i->arrived_cycles;
        if (i->worst_cycles > report->normal_worst_cycles)
            report->normal_worst_cycles = i->worst_cycles;
    }
    report->normal_mean_cycles = report->normal_packets ? cycles / (double)report->normal_packets : 0;
}

static banyan_status make_report(const simulation *s, banyan_flit_report **out, banyan_error *err)
{
    const flit_fabric *f = s->fabric;
    banyan_flit_report *report = banyan_alloc(1, sizeof *report);
    int64_t quiet = f->last_credit + 1;
    banyan_status status;

    if (!report)
        return banyan_fail_memory(err);
    report->link_count = f->topology->link_count;
    report->link_flits = banyan_alloc((size_t)f->topology->link_count, sizeof *report->link_flits);
    if (!report->link_flits) {
        banyan_free(report);
        return banyan_fail_memory(err);
    }
    report->clock_hz = f->settings.clock_hz;
    report->applied_cycles = s->job->applied_at;
    report->cycles = report->applied_cycles;
    if (f->settings.normal_rate == 0 && s->job->schedule->transfer_count && quiet > report->cycles)
        report->cycles = quiet;
    report->flit_hops = f->flit_hops;
    report->head_flit_count = f->head_flits;
    report->arbitrations = f->arbitrations;
    report->busiest_link = -1;
    for (int i = 0; i < f->topology->link_count; i++) {
        const flit_router *dst = &f->routers[f->topology->links[i].dst];
        int64_t sent = dst->inputs[f->link_input[i]].line.sent;

        report->link_flits[i] = sent;
        report->link_flit_count += sent;
        if (sent > (report->busiest_link < 0 ? 0 : report->link_flits[report->busiest_link]))
            report->busiest_link = i;
    }
    count_normal(f, report);
    status = flit_tables_measure(s->job, &f->settings, f->router_count, &report->table_entries,
                                 &report->table_bits, err);
    if (status)
        banyan_flit_report_destroy(report);
    else
        *out = report;
    return status;
}

void banyan_flit_report_destroy(banyan_flit_report *report)
{
    if (!report)
        return;
    banyan_free(report->link_flits);
    banyan_free(report);
}

static banyan_status run(simulation *s, const banyan_schedule *schedule, const banyan_topology *topology,
                         size_t bytes, const banyan_flit_settings *settings, banyan_error *err)
{
    banyan_flit_settings resolved;
    banyan_status status = flit_settings_resolve(settings, topology, &resolved, err);

    if (!status)
        status = flit_job_create(schedule, topology, bytes, &resolved, &s->job, err);
    if (!status)
        status = check_routes(s->job, topology, err);
    if (!status)
        status = build(s, topology, &resolved, FLIT_NEVER, err);
    if (!status)
        status = flit_engine_run(s->fabric, s->job, FLIT_NEVER, err);
    return status;
}

banyan_status banyan_flit_run(const banyan_schedule *schedule, const banyan_topology *topology, size_t bytes,
                              const banyan_flit_settings *settings, banyan_timeline **timeline,
                              banyan_flit_report **report, banyan_error *err)
{
    simulation s = {0};
    banyan_flit_report *made = NULL;
    banyan_timeline *line = NULL;
    banyan_status status = run(&s, schedule, topology, bytes, settings, err);

    if (!status)
        status = make_report(&s, &made, err);
    if (!status && timeline)
        status = make_timeline(&s, made, &line, err);
    destroy(&s);
    if (timeline)
        *timeline = line;
    if (report)
        *report = status ? NULL : made;
    if (status || !report)
        banyan_flit_report_destroy(made);
    return status;
}

static void sum_traffic(const flit_fabric *f, banyan_flit_traffic_result *out)
{
    double cycles = 0, routers = 0;

    *out = (banyan_flit_traffic_result){.flit_hops = f->flit_hops};
    for (int v = 0; v < f->router_count; v++) {
        const flit_interface *i = f->routers[v].interface;

        if (!i)
            continue;
        out->packets += i->arrived_packets;
        cycles += (double)i->arrived_cycles;
        routers += (double)i->arrived_routers;
    }
    out->mean_cycles = out->packets ? cycles / (double)out->packets : 0;
    out->mean_routers = out->packets ? routers / (double)out->packets : 0;
}

banyan_status banyan_flit_traffic(const banyan_topology *topology, const banyan_flit_settings *settings,
                                  const banyan_flit_load *load, banyan_flit_traffic_result *out,
                                  banyan_error *err)
{
    int64_t end = load->warmup_cycles + load->measure_cycles;
    banyan_flit_settings s = *settings, resolved;
    simulation sim = {0};
    banyan_status status;

    s.normal_rate = load->rate;
    s.normal_flits = load->packet_flits;
    s.ports = 1;
    if (!(load->rate > 0) || load->warmup_cycles < 0 || load->measure_cycles < 1 || end > INT64_C(1) << 40)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "traffic needs a rate above 0 and up to 2^40 cycles");
    status = flit_settings_resolve(&s, topology, &resolved, err);
    if (!status)
        status = build(&sim, topology, &resolved, FLIT_NEVER, err);
    for (int v = 0; !status && v < topology->node_count; v++)
        if (sim.fabric->routers[v].interface) {
            sim.fabric->routers[v].interface->measure_from = load->warmup_cycles;
            sim.fabric->routers[v].interface->measure_until = end;
        }
    /* Packets made in the measured time get as long again to arrive, while others keep coming. */
    if (!status)
        status = flit_engine_run(sim.fabric, NULL, 2 * end, err);
    if (!status) {
        sum_traffic(sim.fabric, out);
        out->cycles = 2 * end;
    }
    destroy(&sim);
    return status;
}
