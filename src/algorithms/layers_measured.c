/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/layers_measured.c: the time of one layer of nested rings, by measurement where there is one.
 *
 *     within a node, or from it    the row of this ring size; else as the plain model has it
 *     within a rack                the row of this ring size with the nearest message: its time without
 *                                  latency grows with the message, its latency does not, which is what makes
 *                                  short messages inefficient. Sizes without a row:
 *                                  (p-1) step + (2 (p-1) + fill) / p bytes / link
 *     across racks                 not less than within one; the workers of a rack share its uplinks, as
 *                                  many at a time as the ring has hops between racks. The
 *                                  measured layer nearest in that is another limit, since mixed layers meet
 *                                  hot spots, and at two racks the only one: they have the spine alone.
 *
 * Paper: Y. Ueno, R. Yokota, Exhaustive Study of Hierarchical AllReduce Patterns for Large Messages Between
 * GPUs, 2019, sections V-B3 to V-B5, which names these effects without a formula for them. */
#include "algorithms/layers_measured.h"

#include <math.h>
#include <stddef.h>

/* Messages that pass a link, as a part of what the layer reduces. */
static double traffic(int extent)
{
    return 2.0 * (extent - 1) / extent;
}

static double distance(double a, double b)
{
    return a > b ? a / b : b / a;
}

/* The row of this place and ring size whose message is nearest, or NULL. */
static const banyan_measured_layer *find_row(const banyan_layers_measured *m, banyan_rings_place place,
                                             int extent, double bytes)
{
    const banyan_measured_layer *best = NULL;

    for (int i = 0; i < m->row_count; i++) {
        const banyan_measured_layer *row = &m->rows[i];

        if (row->place == place && row->extent == extent &&
            (!best || distance(bytes, row->bytes) < distance(bytes, best->bytes)))
            best = row;
    }
    return best;
}

/* The row between racks that is nearest in its part of hops that cross, or NULL. */
static const banyan_measured_layer *find_crossing(const banyan_layers_measured *m, double crossing)
{
    const banyan_measured_layer *best = NULL;

    for (int i = 0; i < m->row_count; i++) {
        const banyan_measured_layer *row = &m->rows[i];

        if (row->place == BANYAN_RINGS_ACROSS_RACKS &&
            (!best || distance(crossing, row->crossing) < distance(crossing, best->crossing)))
            best = row;
    }
    return best;
}

/* A row's rate without its latency; at least half of its time is taken to be transfer. */
static double net_bytes_per_s(const banyan_measured_layer *row, double step_s)
{
    double sent = traffic(row->extent) * row->bytes, seconds = sent / row->bytes_per_s;

    return sent / fmax(seconds - (row->extent - 1) * step_s, seconds / 2);
}

static double row_s(const banyan_measured_layer *row, double step_s, int extent, double bytes)
{
    double latency_s = (extent - 1) * step_s, whole = traffic(row->extent) * row->bytes / row->bytes_per_s;

    if (distance(bytes, row->bytes) < 1 + 1e-9)
        return whole;
    return latency_s + traffic(extent) * bytes / net_bytes_per_s(row, step_s);
}

static double in_rack_s(const banyan_layers_measured *m, int extent, double bytes)
{
    const banyan_measured_layer *row = find_row(m, BANYAN_RINGS_IN_RACK, extent, bytes);

    if (row)
        return row_s(row, m->step_s, extent, bytes);
    return (extent - 1) * m->step_s + (2.0 * (extent - 1) + m->fill) / extent * bytes / m->link_bytes_per_s;
}

static double across_racks_s(const banyan_layers_measured *m, int stride, int extent, int ranks, double bytes)
{
    double crossing = stride < m->rack_size ? (double)stride / m->rack_size : 1;
    double bytes_per_s = m->uplink_bytes_per_s / (m->rack_size * crossing);
    const banyan_measured_layer *row = find_crossing(m, crossing);
    double net = row ? net_bytes_per_s(row, m->uplink_step_s) : bytes_per_s;

    if (ranks <= 2L * m->rack_size)
        bytes_per_s = net;
    else
        bytes_per_s = fmin(bytes_per_s, net);
    return fmax(in_rack_s(m, extent, bytes),
                (extent - 1) * m->uplink_step_s + traffic(extent) * bytes / bytes_per_s);
}

double banyan_measured_layer_s(const banyan_layers_measured *measured, int node_size,
                               const banyan_plain_ring *plain, int stride, int extent, int ranks,
                               double bytes)
{
    long reach = (long)stride * extent;
    const banyan_measured_layer *row;

    if (stride >= node_size && reach <= measured->rack_size)
        return in_rack_s(measured, extent, bytes);
    if (stride >= node_size)
        return across_racks_s(measured, stride, extent, ranks, bytes);
    row =
        find_row(measured, reach <= node_size ? BANYAN_RINGS_IN_NODE : BANYAN_RINGS_FROM_NODE, extent, bytes);
    if (row && (reach <= node_size || stride == 1))
        return row_s(row, 2 * plain->step_s, extent, bytes);
    return 2.0 * (extent - 1) * (plain->step_s + bytes / extent / plain->bytes_per_s);
}
