/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/flit_settings.c: defaults, what is derived from the topology, and what cannot be. */
#include <math.h>

#include "simulate/flit_fabric.h"

banyan_flit_settings banyan_flit_defaults(void)
{
    return (banyan_flit_settings){.virtual_channels = 4,
                                  .flit_bytes = 16,
                                  .packet_bytes = 256,
                                  .credit_cycles = 1,
                                  .interface_packets = 58,
                                  .adder_bytes = 128,
                                  .adder_cycles = 16,
                                  .flow = BANYAN_FLOW_PACKET,
                                  .switching = BANYAN_SWITCHING_CUT_THROUGH,
                                  .lockstep = BANYAN_LOCKSTEP_ESTIMATE,
                                  .normal_flits = 17,
                                  .seed = 1};
}

static banyan_status check_range(const char *what, int64_t value, int64_t low, int64_t high,
                                 banyan_error *err)
{
    if (value < low || value > high)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "%s must be from %lld to %lld, not %lld", what,
                           (long long)low, (long long)high, (long long)value);
    return BANYAN_SUCCESS;
}

static banyan_status check_numbers(const banyan_flit_settings *s, banyan_error *err)
{
    const struct {
        const char *what;
        int64_t value, low, high;
    } all[] = {{"the number of virtual channels", s->virtual_channels, 1, FLIT_MAX_LANES},
               {"the buffer of a virtual channel, in flits,", s->buffer_flits, 0, 1 << 24},
               {"the bytes of a flit", s->flit_bytes, 1, 1 << 16},
               {"the bytes of a packet", s->packet_bytes, 1, 1 << 20},
               {"the cycles of a credit", s->credit_cycles, 0, 1 << 16},
               {"the ports of an interface", s->ports, 0, 64},
               {"any_port", s->any_port, 0, 1},
               {"the packets that an interface buffers", s->interface_packets, 0, 1 << 20},
               {"the bytes that an adder takes in a cycle", s->adder_bytes, 0, 1 << 20},
               {"the least cycles of an adder", s->adder_cycles, 1, 1 << 20},
               {"the flits of a normal packet", s->normal_flits, 1, 1 << 16}};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        banyan_status status = check_range(all[i].what, all[i].value, all[i].low, all[i].high, err);

        if (status)
            return status;
    }
    if (!(s->normal_rate >= 0 && s->normal_rate <= 1))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "the rate of normal traffic must be from 0 to 1 flits a cycle, not %g",
                           s->normal_rate);
    return BANYAN_SUCCESS;
}

/* The credit loop of the longest link: there and back, and the routers' part of it. */
static banyan_status find_buffers(const banyan_topology *topology, banyan_flit_settings *s, banyan_error *err)
{
    int packet = (s->packet_bytes + s->flit_bytes - 1) / s->flit_bytes + 1;
    double longest = 0;

    if (s->normal_rate > 0 && s->normal_flits > packet)
        packet = s->normal_flits;
    for (int i = 0; i < topology->link_count; i++)
        longest = fmax(longest, topology->links[i].latency_s * s->clock_hz);
    if (!s->buffer_flits) {
        if (longest > 1 << 22)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                               "a link of %.0f cycles is too long to find buffers for: set their size",
                               longest);
        s->buffer_flits = 2 * (int)lround(longest) + 18;
        s->buffer_flits = s->buffer_flits < packet ? packet : s->buffer_flits;
    }
    if (s->switching == BANYAN_SWITCHING_CUT_THROUGH && s->buffer_flits < packet)
        return banyan_fail(
            err, BANYAN_INVALID_ARGUMENT,
            "buffers of %d flits are smaller than a packet of %d: cut-through needs room for all of "
            "it (wormhole does not)",
            s->buffer_flits, packet);
    return BANYAN_SUCCESS;
}

/* The clock at which the fastest link moves a flit a cycle, unless one was asked for. */
static banyan_status find_clock(const banyan_topology *topology, banyan_flit_settings *s, banyan_error *err)
{
    double fastest = 0;
    int which = 0;

    for (int i = 0; i < topology->link_count; i++)
        if (topology->links[i].bytes_per_s > fastest) {
            fastest = topology->links[i].bytes_per_s;
            which = i;
        }
    if (s->clock_hz == 0)
        s->clock_hz = fastest > 0 ? fastest / s->flit_bytes : 1e9;
    if (!(s->clock_hz >= 1 && s->clock_hz <= 1e15))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "a clock of %g Hz is impossible: from 1 to 1e15",
                           s->clock_hz);
    if (fastest > s->clock_hz * s->flit_bytes * (1 + 1e-9)) {
        char name[128];

        return banyan_fail(
            err, BANYAN_INVALID_ARGUMENT,
            "link %s carries %g B/s, but a flit of %d B a cycle at %g Hz is only %g B/s: raise the "
            "clock or the flit",
            banyan_topology_link_name(topology, which, name, sizeof name), fastest, s->flit_bytes,
            s->clock_hz, s->clock_hz * s->flit_bytes);
    }
    return BANYAN_SUCCESS;
}

static banyan_status check_links(const banyan_topology *topology, const banyan_flit_settings *s,
                                 banyan_error *err)
{
    for (int i = 0; i < topology->link_count; i++) {
        const banyan_link *link = &topology->links[i];
        char name[128];

        if (!(link->bytes_per_s > 0) || s->clock_hz * s->flit_bytes / link->bytes_per_s > 1e6)
            return banyan_fail(
                err, BANYAN_INVALID_ARGUMENT,
                "link %s is too slow for this clock: %g B/s is a flit in more than a million cycles",
                banyan_topology_link_name(topology, i, name, sizeof name), link->bytes_per_s);
        if (!(link->latency_s * s->clock_hz < 1e9))
            return banyan_fail(
                err, BANYAN_INVALID_ARGUMENT, "link %s takes more than 1e9 cycles: %g s at %g Hz",
                banyan_topology_link_name(topology, i, name, sizeof name), link->latency_s, s->clock_hz);
    }
    return BANYAN_SUCCESS;
}

static int most_links_out(const banyan_topology *topology)
{
    int most = 1;

    for (int i = 0; i < topology->worker_count; i++) {
        int v = topology->workers[i], count = topology->out_first[v + 1] - topology->out_first[v];

        most = count > most ? count : most;
    }
    return most < 64 ? most : 64;
}

banyan_status flit_settings_resolve(const banyan_flit_settings *settings, const banyan_topology *topology,
                                    banyan_flit_settings *out, banyan_error *err)
{
    banyan_flit_settings s = *settings;
    banyan_status status = check_numbers(&s, err);

    if (!status)
        status = find_clock(topology, &s, err);
    if (!status)
        status = check_links(topology, &s, err);
    if (!status)
        status = find_buffers(topology, &s, err);
    if (status)
        return status;
    if (!s.ports)
        s.ports = most_links_out(topology);
    *out = s;
    return BANYAN_SUCCESS;
}
