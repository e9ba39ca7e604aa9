/* SPDX-License-Identifier: Apache-2.0 */
/* bench/flit.c: how many flit-hops a second the flit engine moves on one core, cycle by cycle.
 *
 * Uniform traffic is the hard case: nothing can be moved in bulk. All-reduces show what skipping and bulk
 * moves are worth. Times are the processor's, so that other work on the machine matters little. Use:
 * bench_flit [SIZE of the all-reduces in MiB, default 1 [CASE, a part of its name: only those]] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/algorithms.h"
#include "core/alloc.h"
#include "core/clock.h"
#include "simulate/flit.h"

static void print_rate(const char *what, int64_t hops, double seconds)
{
    printf("%-44s %12lld flit-hops %8.2f s %8.1f M a second\n", what, (long long)hops, seconds,
           (double)hops / seconds / 1e6);
}

static int fail(const banyan_error *err)
{
    fprintf(stderr, "bench_flit: %s\n", err->text);
    return 1;
}

static int bench_traffic(const char *what, double rate, int flits, int buffer, const char *only)
{
    banyan_flit_settings settings = banyan_flit_defaults();
    banyan_flit_load load = {
        .rate = rate, .packet_flits = flits, .warmup_cycles = 2000, .measure_cycles = 8000};
    banyan_flit_traffic_result result;
    banyan_topology *topology;
    banyan_error err;
    double start_s;

    if (!strstr(what, only))
        return 0;
    if (banyan_topology_load("torus:8x8,GBps=16,latency=2ns", &topology, &err))
        return fail(&err);
    settings.buffer_flits = buffer;
    settings.switching = BANYAN_SWITCHING_WORMHOLE;
    start_s = banyan_clock_cpu_s();
    if (banyan_flit_traffic(topology, &settings, &load, &result, &err))
        return fail(&err);
    print_rate(what, result.flit_hops, banyan_clock_cpu_s() - start_s);
    banyan_topology_destroy(topology);
    return 0;
}

static int bench_allreduce(const char *name, banyan_flow_control flow, size_t bytes, const char *only)
{
    banyan_problem problem = {.collective = BANYAN_COLLECTIVE_ALLREDUCE, .bytes = bytes};
    banyan_flit_settings settings = banyan_flit_defaults();
    banyan_flit_report *report;
    banyan_schedule *schedule;
    banyan_topology *topology;
    banyan_error err;
    char what[80];
    double start_s;
    int *active;

    snprintf(what, sizeof what, "%s, 8x8 torus, %zu MiB, %s", name, bytes >> 20,
             flow == BANYAN_FLOW_PACKET ? "packets" : "messages");
    if (!strstr(what, only))
        return 0;
    if (banyan_topology_load("torus:8x8,GBps=16,latency=150ns", &topology, &err) ||
        banyan_topology_parse_active(topology, NULL, &active, &problem.active_count, &err))
        return fail(&err);
    problem.topology = topology;
    problem.active = active;
    if (banyan_algorithm_build(banyan_algorithm_find(name), &problem, &schedule, &err))
        return fail(&err);
    settings.flow = flow;
    start_s = banyan_clock_cpu_s();
    if (banyan_flit_run(schedule, topology, bytes, &settings, NULL, &report, &err))
        return fail(&err);
    print_rate(what, report->flit_hops, banyan_clock_cpu_s() - start_s);
    banyan_flit_report_destroy(report);
    banyan_schedule_destroy(schedule);
    banyan_free(active);
    banyan_topology_destroy(topology);
    return 0;
}

int main(int count, char **words)
{
    static const char *const names[] = {"ring", "multitree", "ring2d"};
    size_t bytes = (size_t)(count > 1 ? strtoul(words[1], NULL, 10) : 1) << 20;
    const char *only = count > 2 ? words[2] : "";
    int failed = bench_traffic("uniform traffic, 1 flit, load 0.3", 0.3, 1, 8, only) ||
                 bench_traffic("uniform traffic, 17 flits, load 0.3", 0.3, 17, 32, only);

    for (int i = 0; !failed && i < 3; i++)
        failed = bench_allreduce(names[i], BANYAN_FLOW_PACKET, bytes, only) ||
                 bench_allreduce(names[i], BANYAN_FLOW_MESSAGE, bytes, only);
    return failed;
}
