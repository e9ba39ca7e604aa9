/* SPDX-License-Identifier: Apache-2.0 */
/* topology/generate_boxes.c: clusters of boxes of GPUs. The GPUs of a box are joined inside, and each has an
 * adapter of its own into one switch that joins all boxes.
 *
 *   dgxh100:2          ib                     mi300x:2       net
 *                 //        \\                           //        \\
 *              g0 .. g7   g8 .. g15                   g0 .. g7   g8 .. g15
 *                 \\        //                        each pair of a box joined
 *               nvsw0      nvsw1
 *
 *   dgxa100  8 A100; 12 NVLinks of 25 GB/s each way a GPU, a 200 Gb/s adapter (NVIDIA, "DGX A100 System
 *            Architecture", WP-10083).
 *   dgxh100  8 H100; 18 NVLinks of 25 GB/s, a 400 Gb/s adapter (NVIDIA, "DGX H100/H200 User Guide").
 *   dgxb200  8 B200; 18 NVLinks of 50 GB/s, a 400 Gb/s adapter (NVIDIA, "DGX B200 User Guide").
 *   nvl72    racks of 72 B200 on one NVLink switch, 18 NVLinks of 50 GB/s a GPU; 18 trays of 4 GPUs, each of
 *            which is a host, with a 400 Gb/s adapter a GPU (NVIDIA, "GB200 NVL72" data sheet).
 *   mi300x   8 MI300X, each pair joined by one Infinity Fabric link of 64 GB/s each way (AMD, "CDNA 3
 *            Architecture" white paper), a 400 Gb/s adapter a GPU. */
#include "topology/generator.h"

#define BOX_GPUS 8
#define TRAY_GPUS 4
#define RACK_GPUS 72

#define BOX_DEFAULTS(network_GBps, local_GBps)                                                               \
    {                                                                                                        \
        .bytes_per_s = BANYAN_GBYTES(network_GBps), .latency_s = BANYAN_DEFAULT_LATENCY_S,                   \
        .local_bytes_per_s = BANYAN_GBYTES(local_GBps), .local_latency_s = BANYAN_DEFAULT_LATENCY_S          \
    }

static int count_boxes(const banyan_generator_request *request)
{
    return request->shape.part_count ? banyan_shape_value(&request->shape, 0, 0) : 1;
}

static void add_local(const banyan_generator_request *request, banyan_topology_builder *builder, int a, int b)
{
    banyan_topology_add_cable(builder, a, b, request->settings.local_bytes_per_s,
                              request->settings.local_latency_s);
}

static void add_network(const banyan_generator_request *request, banyan_topology_builder *builder, int gpu,
                        int net)
{
    banyan_topology_add_cable(builder, gpu, net, request->settings.bytes_per_s, request->settings.latency_s);
}

/* Domains of GPUs on one NVLink switch each, made of hosts of equal size. */
static void build_domains(const banyan_generator_request *request, banyan_topology_builder *builder,
                          int domain_gpus, int host_gpus, const char *host_prefix)
{
    int domains = count_boxes(request), workers, ib;

    if (!banyan_generator_fits(request, builder, (double)domains * domain_gpus, 4.0 * domains * domain_gpus))
        return;
    workers = domains * domain_gpus;
    for (int first = 0; first < workers; first += host_gpus)
        banyan_generator_add_box(builder, host_prefix, first / host_gpus, first, host_gpus);
    for (int domain = 0; domain < domains; domain++)
        banyan_generator_add_switch(request, builder, "nvsw", domain);
    ib = banyan_generator_add_switch(request, builder, "ib", -1);
    for (int i = 0; i < workers; i++) {
        add_local(request, builder, i, workers + i / domain_gpus);
        add_network(request, builder, i, ib);
    }
}

static void build_dgx(const banyan_generator_request *request, banyan_topology_builder *builder)
{
    build_domains(request, builder, BOX_GPUS, BOX_GPUS, "dgx");
}

static void build_nvl72(const banyan_generator_request *request, banyan_topology_builder *builder)
{
    build_domains(request, builder, RACK_GPUS, TRAY_GPUS, "tray");
}

static void build_mi300x(const banyan_generator_request *request, banyan_topology_builder *builder)
{
    int boxes = count_boxes(request), workers, net;

    if (!banyan_generator_fits(request, builder, (double)boxes * BOX_GPUS,
                               (double)boxes * BOX_GPUS * (BOX_GPUS + 1)))
        return;
    workers = boxes * BOX_GPUS;
    for (int box = 0; box < boxes; box++)
        banyan_generator_add_box(builder, "box", box, box * BOX_GPUS, BOX_GPUS);
    net = banyan_generator_add_switch(request, builder, "net", -1);
    for (int i = 0; i < workers; i++) {
        for (int j = i + 1; j / BOX_GPUS == i / BOX_GPUS; j++)
            add_local(request, builder, i, j);
        add_network(request, builder, i, net);
    }
}

const banyan_generator banyan_generator_dgxa100 = {
    .info = {"dgxa100", "dgxa100[:N]",
             "N boxes of 8 A100, 300 GB/s a GPU on the box's NVSwitch nvsw0.. (local_gbps), 25 GB/s a GPU on "
             "the switch ib (gbps), 1 us"},
    .least_parts = 0,
    .most_parts = 1,
    .options = BANYAN_GENERATOR_LOCAL | BANYAN_GENERATOR_SWITCH,
    .defaults = BOX_DEFAULTS(25, 300),
    .build = build_dgx,
};

const banyan_generator banyan_generator_dgxh100 = {
    .info = {"dgxh100", "dgxh100[:N]",
             "N boxes of 8 H100, 450 GB/s a GPU on the box's NVSwitch nvsw0.. (local_gbps), 50 GB/s a GPU on "
             "the switch ib (gbps), 1 us"},
    .least_parts = 0,
    .most_parts = 1,
    .options = BANYAN_GENERATOR_LOCAL | BANYAN_GENERATOR_SWITCH,
    .defaults = BOX_DEFAULTS(50, 450),
    .build = build_dgx,
};

const banyan_generator banyan_generator_dgxb200 = {
    .info = {"dgxb200", "dgxb200[:N]",
             "N boxes of 8 B200, 900 GB/s a GPU on the box's NVSwitch nvsw0.. (local_gbps), 50 GB/s a GPU on "
             "the switch ib (gbps), 1 us"},
    .least_parts = 0,
    .most_parts = 1,
    .options = BANYAN_GENERATOR_LOCAL | BANYAN_GENERATOR_SWITCH,
    .defaults = BOX_DEFAULTS(50, 900),
    .build = build_dgx,
};

const banyan_generator banyan_generator_nvl72 = {
    .info = {"nvl72", "nvl72[:N]",
             "N racks of 72 B200 in trays of 4, 900 GB/s a GPU on the rack's NVLink switch nvsw0.. "
             "(local_gbps), 50 GB/s a GPU on the switch ib (gbps), 1 us"},
    .least_parts = 0,
    .most_parts = 1,
    .options = BANYAN_GENERATOR_LOCAL | BANYAN_GENERATOR_SWITCH,
    .defaults = BOX_DEFAULTS(50, 900),
    .build = build_nvl72,
};

const banyan_generator banyan_generator_mi300x = {
    .info = {"mi300x", "mi300x[:N]",
             "N boxes of 8 MI300X, 64 GB/s a GPU pair of a box (local_gbps), 50 GB/s a GPU on the switch net "
             "(gbps), 1 us"},
    .least_parts = 0,
    .most_parts = 1,
    .options = BANYAN_GENERATOR_LOCAL | BANYAN_GENERATOR_SWITCH,
    .defaults = BOX_DEFAULTS(50, 64),
    .build = build_mi300x,
};
