/* SPDX-License-Identifier: Apache-2.0 */
/* topology/generate_hosts.c: machines with several workers each, of equal or unequal size.
 *
 *   hosts:2+3        net              racks:2x2x1         net            pcie:2x2    nic0 ------ nic1
 *                   /    \                               /    \                      /  \        /  \
 *                  h0     h1                           r0      r1                   g0--g1      g2--g3
 *                 / \    / | \                        /  \    /  \
 *                g0 g1 g2 g3 g4                      h0  h1  h2  h3
 *                                                    g0  g1  g2  g3
 *
 * local_gbps is the speed inside a host, gbps that of a host's own cable, rack_gbps that of a rack's
 * trunk. */
#include "topology/generator.h"

#define HOSTS_DEFAULTS                                                                                       \
    {                                                                                                        \
        .bytes_per_s = BANYAN_GBPS(10), .latency_s = BANYAN_DEFAULT_LATENCY_S,                               \
        .local_bytes_per_s = BANYAN_GBPS(100), .local_latency_s = BANYAN_DEFAULT_LATENCY_S                   \
    }

/* Hosts h0.. with their workers; the shape's part says how many. */
static void add_hosts(banyan_topology_builder *builder, const banyan_shape *shape, int part, int hosts)
{
    int worker = 0;

    for (int h = 0; h < hosts; h++) {
        char name[16];
        int host;

        banyan_generator_name(name, "h", h);
        host = banyan_topology_add_host(builder, name);
        for (int i = 0; i < banyan_shape_value(shape, part, h); i++)
            banyan_topology_add_worker_f(builder, host, "g%d", worker++);
    }
}

static double sum_of(const banyan_shape *shape, int part, int count)
{
    double sum = 0;

    for (int i = 0; i < count; i++)
        sum += banyan_shape_value(shape, part, i);
    return sum;
}

/* A list must have one size for each thing it describes; a single size describes them all. */
static int list_fits(const banyan_generator_request *request, banyan_topology_builder *builder, int part,
                     double wanted, const char *things)
{
    int length = banyan_shape_part_length(&request->shape, part);

    if (length == 1 || length == wanted)
        return 1;
    banyan_topology_builder_fail(builder, BANYAN_INVALID_ARGUMENT, "%s: a list of %d sizes for %.0f %s",
                                 request->spec, length, wanted, things);
    return 0;
}

static void join_host(const banyan_generator_request *request, banyan_topology_builder *builder, int worker,
                      int count, int bridge)
{
    for (int i = 0; i < count; i++)
        banyan_topology_add_cable(builder, worker + i, bridge, request->settings.local_bytes_per_s,
                                  request->settings.local_latency_s);
}

static void build_hosts(const banyan_generator_request *request, banyan_topology_builder *builder)
{
    const banyan_shape *shape = &request->shape;
    int part = shape->part_count - 1; /* hosts:2+3, or hosts:8x4 for eight hosts of four */
    int hosts = part ? banyan_shape_value(shape, 0, 0) : banyan_shape_part_length(shape, 0);
    double workers;
    int worker = 0, net;

    if (!list_fits(request, builder, part, hosts, "hosts"))
        return;
    workers = sum_of(shape, part, hosts);
    if (!banyan_generator_fits(request, builder, workers, 2 * (workers + hosts)))
        return;
    add_hosts(builder, shape, part, hosts);
    for (int h = 0; h < hosts; h++)
        banyan_generator_add_switch(request, builder, "h", h);
    net = banyan_generator_add_switch(request, builder, "net", -1);
    for (int h = 0; h < hosts; h++) {
        int bridge = (int)workers + h;

        join_host(request, builder, worker, banyan_shape_value(shape, part, h), bridge);
        worker += banyan_shape_value(shape, part, h);
        banyan_topology_add_cable(builder, bridge, net, request->settings.bytes_per_s,
                                  request->settings.latency_s);
    }
    banyan_topology_set_policy(builder, BANYAN_ROUTES_UPDOWN);
}

/* Host h and its workers, and its cable to the switch of its rack. */
static void join_racks(const banyan_generator_request *request, banyan_topology_builder *builder, int racks,
                       int first_host, int first_rack)
{
    const banyan_shape *shape = &request->shape;
    const banyan_generator_settings *settings = &request->settings;
    int net = first_rack + racks, worker = 0, h = 0;

    for (int r = 0; r < racks; r++) {
        for (int last = h + banyan_shape_value(shape, 1, r); h < last; h++) {
            join_host(request, builder, worker, banyan_shape_value(shape, 2, h), first_host + h);
            worker += banyan_shape_value(shape, 2, h);
            banyan_topology_add_cable(builder, first_host + h, first_rack + r, settings->bytes_per_s,
                                      settings->latency_s);
        }
        banyan_topology_add_cable(builder, first_rack + r, net, settings->rack_bytes_per_s,
                                  settings->latency_s);
    }
}

static void build_racks(const banyan_generator_request *request, banyan_topology_builder *builder)
{
    const banyan_shape *shape = &request->shape;
    int racks = banyan_shape_value(shape, 0, 0);
    double hosts, workers, each;

    if (!list_fits(request, builder, 1, racks, "racks"))
        return;
    hosts = sum_of(shape, 1, racks);
    each = banyan_shape_part_length(shape, 2) == 1 ? banyan_shape_value(shape, 2, 0) : 1;
    if (!banyan_generator_fits(request, builder, hosts * each, 2 * (hosts * each + hosts + racks)) ||
        !list_fits(request, builder, 2, hosts, "hosts"))
        return;
    workers = sum_of(shape, 2, (int)hosts);
    if (!banyan_generator_fits(request, builder, workers, 2 * (workers + hosts + racks)))
        return;
    add_hosts(builder, shape, 2, (int)hosts);
    for (int h = 0; h < (int)hosts; h++)
        banyan_generator_add_switch(request, builder, "h", h);
    for (int r = 0; r < racks; r++)
        banyan_generator_add_switch(request, builder, "r", r);
    banyan_generator_add_switch(request, builder, "net", -1);
    join_racks(request, builder, racks, (int)workers, (int)(workers + hosts));
    banyan_topology_set_policy(builder, BANYAN_ROUTES_UPDOWN);
}

static void join_each_with_each(banyan_topology_builder *builder, int first, int count, double bytes_per_s,
                                double latency_s)
{
    for (int a = 0; a < count; a++)
        for (int b = a + 1; b < count; b++)
            banyan_topology_add_cable(builder, first + a, first + b, bytes_per_s, latency_s);
}

static void build_pcie(const banyan_generator_request *request, banyan_topology_builder *builder)
{
    const banyan_generator_settings *settings = &request->settings;
    int hosts = banyan_shape_value(&request->shape, 0, 0);
    int each = banyan_shape_value(&request->shape, 1, 0);
    double workers = (double)hosts * each;

    if (!banyan_generator_fits(request, builder, workers, workers * (each + 1) + (double)hosts * (hosts - 1)))
        return;
    add_hosts(builder, &request->shape, 1, hosts);
    for (int h = 0; h < hosts; h++) {
        int nic = banyan_generator_add_switch(request, builder, "nic", h);

        join_each_with_each(builder, h * each, each, settings->local_bytes_per_s, settings->local_latency_s);
        join_host(request, builder, h * each, each, nic);
    }
    join_each_with_each(builder, hosts * each, hosts,
                        request->shape.has_tail ? BANYAN_GBPS(request->shape.tail) : settings->bytes_per_s,
                        settings->latency_s);
}

const banyan_generator banyan_generator_hosts = {
    .info = {"hosts", "hosts:W+W+... or hosts:HxW",
             "hosts of the given sizes, workers at 100 Gb/s on the host's own switch h0.., each host at 10 "
             "Gb/s on the switch net; 1 us a cable"},
    .least_parts = 1,
    .most_parts = 2,
    .lists = 3,
    .options = BANYAN_GENERATOR_LOCAL | BANYAN_GENERATOR_SWITCH,
    .defaults = HOSTS_DEFAULTS,
    .build = build_hosts,
};

const banyan_generator banyan_generator_racks = {
    .info = {"racks", "racks:RxHxW",
             "R racks r0.. of H hosts h0.. of W workers (H and W may be lists, 2x2+3x4); 100 Gb/s in a host, "
             "10 Gb/s a host, 10 Gb/s a rack to the switch net; 1 us a cable"},
    .least_parts = 3,
    .most_parts = 3,
    .lists = 6,
    .options = BANYAN_GENERATOR_LOCAL | BANYAN_GENERATOR_RACK | BANYAN_GENERATOR_SWITCH,
    .defaults = HOSTS_DEFAULTS,
    .build = build_racks,
};

const banyan_generator banyan_generator_pcie = {
    .info = {"pcie", "pcie:HxW[:GBPS]",
             "H hosts of W workers; worker pairs in a host and worker to bridge nic0.. 100 Gb/s, every pair "
             "of hosts GBPS (10 Gb/s); 1 us a cable"},
    .least_parts = 2,
    .most_parts = 2,
    .has_tail = 1,
    .options = BANYAN_GENERATOR_LOCAL | BANYAN_GENERATOR_SWITCH,
    .defaults = HOSTS_DEFAULTS,
    .build = build_pcie,
};
