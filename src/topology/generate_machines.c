/* SPDX-License-Identifier: Apache-2.0 */
/* topology/generate_machines.c: machines that can be bought.
 *
 *   dgx1     8 GPUs in NVIDIA's hybrid cube mesh: two fully joined fours, and four cables between them. Each
 *            GPU has six NVLinks of 25 GB/s each way; where two run side by side the cable has 50 GB/s.
 *   dgx2     16 GPUs on NVSwitches that act as one: 6 NVLinks of 25 GB/s, 150 GB/s a GPU.
 *   abci     ABCI's first machine (Ueno and Yokota, 'Exhaustive study of hierarchical AllReduce patterns',
 *            CCGRID 2019): nodes of four V100, each pair joined by two NVLinks (50 GB/s), two GPUs on a PCIe
 *            switch (gen 3, 16 lanes: 15.75 GB/s) with one EDR adapter (12.5 GB/s). 32 of a rack's 34 nodes
 *            are used; in a rack there is full bisection, between racks a third of it: 34 x 25 / 3 GB/s. */
#include "topology/generator.h"

#define BOX_GPUS 8
#define ABCI_NODE 4
#define ABCI_RACK (32 * ABCI_NODE)

static void build_dgx1(const banyan_generator_request *request, banyan_topology_builder *builder)
{
    static const struct {
        int a, b, nvlinks;
    } cables[] = {{0, 1, 1}, {0, 2, 1}, {0, 3, 2}, {1, 2, 2}, {1, 3, 1}, {2, 3, 2}, {4, 5, 1}, {4, 6, 1},
                  {4, 7, 2}, {5, 6, 2}, {5, 7, 1}, {6, 7, 2}, {0, 4, 2}, {1, 5, 2}, {2, 6, 1}, {3, 7, 1}};

    banyan_generator_add_box(builder, "dgx", 0, 0, BOX_GPUS);
    for (size_t i = 0; i < sizeof cables / sizeof *cables; i++)
        banyan_topology_add_cable(builder, cables[i].a, cables[i].b,
                                  cables[i].nvlinks * request->settings.bytes_per_s,
                                  request->settings.latency_s);
}

static void build_dgx2(const banyan_generator_request *request, banyan_topology_builder *builder)
{
    int middle;

    banyan_generator_add_box(builder, "dgx", 0, 0, 2 * BOX_GPUS);
    middle = banyan_generator_add_switch(request, builder, "nvsw", 0);
    for (int i = 0; i < 2 * BOX_GPUS; i++)
        banyan_topology_add_cable(builder, i, middle, request->settings.bytes_per_s,
                                  request->settings.latency_s);
    banyan_topology_set_policy(builder, BANYAN_ROUTES_UPDOWN);
}

/* One node: NVLink between its GPUs, its PCIe switches (two GPUs each) and their adapters into the rack. */
static void join_abci_node(const banyan_generator_request *request, banyan_topology_builder *builder,
                           int first, int count, int first_pcie, int rack)
{
    const banyan_generator_settings *settings = &request->settings;

    for (int a = 0; a < count; a++)
        for (int b = a + 1; b < count; b++)
            banyan_topology_add_cable(builder, first + a, first + b, settings->local_bytes_per_s,
                                      settings->local_latency_s);
    for (int a = 0; a < count; a++)
        banyan_topology_add_cable(builder, first + a, first_pcie + (first + a) / 2, BANYAN_GBYTES(15.75),
                                  settings->local_latency_s);
    for (int p = first / 2; p < (first + count + 1) / 2; p++)
        banyan_topology_add_cable(builder, first_pcie + p, rack, settings->bytes_per_s, settings->latency_s);
}

static void build_abci(const banyan_generator_request *request, banyan_topology_builder *builder)
{
    int workers = banyan_shape_value(&request->shape, 0, 0);
    int bridges = (workers + 1) / 2, racks = (workers + ABCI_RACK - 1) / ABCI_RACK;
    int net;

    if (!banyan_generator_fits(request, builder, workers, 6.0 * workers + 2.0 * bridges + 2.0 * racks))
        return;
    for (int first = 0; first < workers; first += ABCI_NODE)
        banyan_generator_add_box(builder, "n", first / ABCI_NODE, first,
                                 first + ABCI_NODE < workers ? ABCI_NODE : workers - first);
    for (int p = 0; p < bridges; p++)
        banyan_generator_add_switch(request, builder, "p", p);
    for (int r = 0; r < racks; r++)
        banyan_generator_add_switch(request, builder, "r", r);
    for (int first = 0; first < workers; first += ABCI_NODE)
        join_abci_node(request, builder, first, first + ABCI_NODE < workers ? ABCI_NODE : workers - first,
                       workers, workers + bridges + first / ABCI_RACK);
    if (racks == 1)
        return;
    net = banyan_generator_add_switch(request, builder, "net", -1);
    for (int r = 0; r < racks; r++)
        banyan_topology_add_cable(builder, workers + bridges + r, net, request->settings.rack_bytes_per_s,
                                  request->settings.latency_s);
}

const banyan_generator banyan_generator_dgx1 = {
    .info = {"dgx1", "dgx1", "DGX-1V hybrid cube mesh: 8 GPUs, 25 GB/s an NVLink (gbps changes it), 1 us"},
    .defaults = {.bytes_per_s = BANYAN_GBYTES(25), .latency_s = BANYAN_DEFAULT_LATENCY_S},
    .build = build_dgx1,
};

const banyan_generator banyan_generator_dgx2 = {
    .info = {"dgx2", "dgx2", "DGX-2: 16 GPUs at 150 GB/s on one NVSwitch nvsw0, 1 us"},
    .options = BANYAN_GENERATOR_SWITCH,
    .defaults = {.bytes_per_s = BANYAN_GBYTES(150), .latency_s = BANYAN_DEFAULT_LATENCY_S},
    .build = build_dgx2,
};

const banyan_generator banyan_generator_abci = {
    .info = {"abci", "abci:N",
             "N GPUs of ABCI: nodes of 4 V100, 50 GB/s a pair (local_gbps), two 12.5 GB/s adapters a node "
             "(gbps), racks of 32 nodes at 283 GB/s (rack_gbps), 1 us"},
    .least_parts = 1,
    .most_parts = 1,
    .options = BANYAN_GENERATOR_LOCAL | BANYAN_GENERATOR_RACK | BANYAN_GENERATOR_SWITCH,
    .defaults = {.bytes_per_s = BANYAN_GBYTES(12.5),
                 .latency_s = BANYAN_DEFAULT_LATENCY_S,
                 .local_bytes_per_s = BANYAN_GBYTES(50),
                 .local_latency_s = BANYAN_DEFAULT_LATENCY_S,
                 .rack_bytes_per_s = BANYAN_GBYTES(34 * 25.0 / 3)},
    .build = build_abci,
};
