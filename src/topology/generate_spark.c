/* SPDX-License-Identifier: Apache-2.0 */
/* topology/generate_spark.c: small machines cabled to one another without a switch, each with two ports that
 * are faster together than the machine itself.
 *
 *   spark:3    g0 -> tx0 -> rx1 -> g1       each machine has a cable to the one before and the one after:
 *                       \-> rx2 -> g2       a pair, a triangle, a ring
 *
 * A cap per machine below the sum of its ports is two nodes: what leaves the worker passes tx, what arrives
 * passes rx, each over one link that is as fast as the machine. Nothing leads from rx to tx: an adapter does
 * not forward, so data for a third machine pass through the worker and count against its cap.
 *
 * DGX Spark has a ConnectX-7 with two 200 Gb/s ports behind two PCIe 5 links of four lanes (ServeTheHome,
 * "The NVIDIA GB10 ConnectX-7 200GbE Networking is Really Different", 2025); about 26 GB/s of it can be used
 * (luxingcom/aicad-nccl-optimization, issue 1). */
#include "topology/generator.h"

static void join(const banyan_generator_request *request, banyan_topology_builder *builder, int a, int b,
                 int machines)
{
    const banyan_generator_settings *settings = &request->settings;
    int first_tx = machines, first_rx = 2 * machines;

    banyan_topology_add_link(builder, first_tx + a, first_rx + b, settings->bytes_per_s, settings->latency_s);
    banyan_topology_add_link(builder, first_tx + b, first_rx + a, settings->bytes_per_s, settings->latency_s);
}

static void build_spark(const banyan_generator_request *request, banyan_topology_builder *builder)
{
    const banyan_generator_settings *settings = &request->settings;
    int machines = banyan_shape_value(&request->shape, 0, 0);
    int cables = machines > 2 ? machines : machines - 1;

    if (!banyan_generator_fits(request, builder, machines, 2.0 * machines + 2.0 * cables))
        return;
    for (int i = 0; i < machines; i++)
        banyan_generator_add_box(builder, "spark", i, i, 1);
    for (int i = 0; i < machines; i++)
        banyan_generator_add_switch(request, builder, "tx", i);
    for (int i = 0; i < machines; i++)
        banyan_generator_add_switch(request, builder, "rx", i);
    for (int i = 0; i < machines; i++) {
        banyan_topology_add_link(builder, i, machines + i, settings->local_bytes_per_s,
                                 settings->local_latency_s);
        banyan_topology_add_link(builder, 2 * machines + i, i, settings->local_bytes_per_s,
                                 settings->local_latency_s);
    }
    for (int i = 0; i < cables; i++)
        join(request, builder, i, (i + 1) % machines, machines);
}

const banyan_generator banyan_generator_spark = {
    .info = {"spark", "spark:N",
             "N DGX Spark in a ring without a switch, 200 Gb/s a cable, 208 Gb/s a machine each way "
             "(local_gbps); 1 us a cable"},
    .least_parts = 1,
    .most_parts = 1,
    .options = BANYAN_GENERATOR_LOCAL,
    .defaults = {.bytes_per_s = BANYAN_GBPS(200),
                 .latency_s = BANYAN_DEFAULT_LATENCY_S,
                 .local_bytes_per_s = BANYAN_GBYTES(26)},
    .build = build_spark,
};
