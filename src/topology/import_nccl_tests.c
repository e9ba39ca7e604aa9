/* SPDX-License-Identifier: Apache-2.0 */
/* topology/import_nccl_tests.c: the network that a run of nccl-tests shows from outside: one switch.
 *
 *        net           Each rank hangs on it with the bus bandwidth of the run's best size. That is what the
 *     // || || \\      bus bandwidth means: the rate of each rank's link with which an optimal algorithm on
 *    g0 g1 .. gN-1     a switch takes the measured time (n/(2(n-1)) of it for an all-reduce).
 *
 * A cable's latency is such that ceil(log2 N) steps over the switch, the fewest that join N ranks, take the
 * time of the smallest size. One number for all links is all that one collective over all ranks tells;
 * banyan-probe(1) measures a network link by link. */
#include <stdio.h>

#include "topology/build.h"
#include "topology/import.h"
#include "topology/nccl_tests.h"

static double best_rate(const banyan_nccl_tests *results)
{
    double best = 0;

    for (int i = 0; i < results->row_count; i++)
        if (results->rows[i].bus_bytes_per_s > best)
            best = results->rows[i].bus_bytes_per_s;
    return best;
}

static double cable_latency(const banyan_nccl_tests *results)
{
    const banyan_nccl_tests_row *smallest = results->rows;
    int steps = 0;

    for (int i = 1; i < results->row_count; i++)
        if (results->rows[i].bytes < smallest->bytes)
            smallest = &results->rows[i];
    while (1 << steps < results->rank_count)
        steps++;
    return steps ? smallest->seconds / (2 * steps) : 0;
}

static void build(const banyan_nccl_tests *results, banyan_topology_builder *builder)
{
    double bytes_per_s = best_rate(results), latency_s = cable_latency(results);
    int net;

    if (bytes_per_s <= 0) {
        banyan_topology_builder_fail(
            builder, BANYAN_INVALID_ARGUMENT,
            "no row has a bus bandwidth above zero: %.60s over %d rank%s tells no rates",
            *results->program ? results->program : "a run", results->rank_count,
            results->rank_count == 1 ? "" : "s");
        return;
    }
    for (int i = 0; i < results->host_count; i++)
        banyan_topology_add_host(builder, results->hosts[i]);
    for (int i = 0; i < results->rank_count; i++)
        banyan_topology_add_worker_f(builder, results->host_of[i], "g%d", i);
    net = banyan_topology_add_switch(builder, "net");
    for (int i = 0; i < results->rank_count; i++)
        banyan_topology_add_cable(builder, i, net, bytes_per_s, latency_s);
}

static banyan_status parse(const char *text, size_t length, banyan_topology **out, banyan_error *err)
{
    banyan_topology_builder builder;
    banyan_nccl_tests *results;
    banyan_error problem;
    banyan_status status = banyan_nccl_tests_parse(text, length, &results, &problem);

    banyan_topology_builder_init(&builder, "nccl-tests");
    if (status)
        banyan_topology_builder_fail(&builder, status, "%s", problem.text);
    else
        build(results, &builder);
    banyan_nccl_tests_destroy(results);
    return banyan_topology_builder_finish(&builder, out, err);
}

const banyan_importer banyan_import_nccl_tests = {
    .name = "nccl-tests",
    .summary = "rates that nccl-tests measured (-J FILE), as one switch",
    .extension = NULL,
    .looks_like = banyan_nccl_tests_looks_like,
    .parse = parse};
