/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce/field_networks.c: networks as the evaluations of TE-CCL (Liu et al., SIGCOMM 2024, and
 * microsoft/TE-CCL), TACOS (Won et al., MICRO 2024, and its tests), BFB (Zhao et al., arXiv
 * 2202.03356) and ForestColl (Zhao et al., 2024, and liangyuRain/ForestColl) describe them. */
#include "reproduce/field_networks.h"

#include "topology/build.h"

static const double gigabyte = 1e9, microsecond = 1e-6;

static int size_of(const field_grid *grid)
{
    int size = 1;

    for (int d = 0; d < grid->dimensions; d++)
        size *= grid->extent[d];
    return size;
}

banyan_status field_grid_build(const field_grid *grid, banyan_topology **out, banyan_error *err)
{
    banyan_topology_builder builder;
    banyan_grid facts = {.dimension_count = grid->dimensions};
    int size = size_of(grid);

    for (int d = 0; d < grid->dimensions; d++) {
        facts.extent[d] = grid->extent[d];
        facts.wraps[d] = grid->wraps && grid->extent[d] > 2;
    }
    banyan_topology_builder_init(&builder, "grid");
    for (int i = 0; i < size; i++)
        banyan_topology_add_worker_f(&builder, -1, "g%d", i);
    for (int i = 0; i < size; i++)
        for (int d = grid->dimensions - 1, step = 1; d >= 0; step *= grid->extent[d--]) {
            int at = i / step % grid->extent[d];

            if (at + 1 < grid->extent[d])
                banyan_topology_add_cable(&builder, i, i + step, grid->bytes_per_s[d], grid->latency_s);
            else if (grid->wraps && grid->extent[d] > 2)
                banyan_topology_add_cable(&builder, i, i - at * step, grid->bytes_per_s[d], grid->latency_s);
        }
    banyan_topology_set_grid(&builder, &facts);
    return banyan_topology_builder_finish(&builder, out, err);
}

banyan_status field_circulant_build(const field_circulant *circulant, banyan_topology **out,
                                    banyan_error *err)
{
    banyan_topology_builder builder;
    int size = circulant->workers;

    banyan_topology_builder_init(&builder, "circulant");
    for (int i = 0; i < size; i++)
        banyan_topology_add_worker_f(&builder, -1, "g%d", i);
    for (int i = 0; i < size; i++)
        for (int jump = circulant->jump; jump <= circulant->jump + 1; jump++)
            banyan_topology_add_cable(&builder, i, (i + jump) % size, 12.5 * gigabyte, circulant->latency_s);
    return banyan_topology_builder_finish(&builder, out, err);
}

/* The DGX-1 matrix: 2 is 50 GB/s, 1 is 25 GB/s. */
static const char ndv2[8][9] = {"02112000", "20120100", "11020020", "12200001",
                                "20000211", "01002012", "00201102", "00011220"};

static void add_ndv2(banyan_topology_builder *builder, int machine)
{
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++)
            if (ndv2[i][j] != '0')
                banyan_topology_add_link(builder, 8 * machine + i, 8 * machine + j,
                                         (ndv2[i][j] - '0') * 25 * gigabyte, 0.7 * microsecond);
}

/* Two machines: GPU 0 of each sends to GPU 1 of the other. Four: GPU 0 sends to a switch, GPU 1 receives. */
banyan_status field_ndv2_build(int machines, int copies, banyan_topology **out, banyan_error *err)
{
    banyan_topology_builder builder;
    int net = -1;

    banyan_topology_builder_init(&builder, "ndv2");
    for (int i = 0; i < 8 * machines; i++)
        banyan_topology_add_worker_f(&builder, -1, "g%d", i);
    for (int m = 0; m < machines; m++)
        add_ndv2(&builder, m);
    if (machines > 2) {
        net = banyan_topology_add_switch(&builder, "net");
        banyan_topology_set_abilities(&builder, net, copies, 0);
    }
    for (int m = 0; m < machines; m++) {
        if (machines == 2) {
            banyan_topology_add_link(&builder, 8 * m, 8 * (1 - m) + 1, 12.5 * gigabyte, 1.3 * microsecond);
        } else {
            banyan_topology_add_link(&builder, 8 * m, net, 12.5 * gigabyte, 1.3 * microsecond);
            banyan_topology_add_link(&builder, net, 8 * m + 1, 12.5 * gigabyte, 1.3 * microsecond);
        }
    }
    return banyan_topology_builder_finish(&builder, out, err);
}

/* 16 GPUs on a switch each; odd GPU 2i+1 of one sends to even GPU 2i of the other. */
banyan_status field_dgx2_build(banyan_topology **out, banyan_error *err)
{
    banyan_topology_builder builder;

    banyan_topology_builder_init(&builder, "dgx2");
    for (int i = 0; i < 32; i++)
        banyan_topology_add_worker_f(&builder, -1, "g%d", i);
    for (int m = 0; m < 2; m++) {
        int chassis = banyan_topology_add_switch_f(&builder, "nvsw%d", m);

        for (int i = 0; i < 16; i++)
            banyan_topology_add_cable(&builder, 16 * m + i, chassis, 125 * gigabyte, 0.35 * microsecond);
        for (int i = 0; i < 16; i += 2)
            banyan_topology_add_link(&builder, 16 * m + i + 1, 16 * (1 - m) + i, 12.5 * gigabyte,
                                     2.6 * microsecond);
    }
    return banyan_topology_builder_finish(&builder, out, err);
}

/* Eight GPUs on an NVSwitch, each with an adapter; those of even and odd GPUs have switches of their own. */
banyan_status field_a100_build(int machines, banyan_topology **out, banyan_error *err)
{
    banyan_topology_builder builder;
    int net[2];

    banyan_topology_builder_init(&builder, "a100");
    for (int i = 0; i < 8 * machines; i++)
        banyan_topology_add_worker_f(&builder, -1, "g%d", i);
    for (int i = 0; i < 2; i++)
        net[i] = banyan_topology_add_switch_f(&builder, "ib%d", i);
    for (int m = 0; m < machines; m++) {
        int inside = banyan_topology_add_switch_f(&builder, "nvsw%d", m);

        for (int i = 0; i < 8; i++) {
            banyan_topology_add_cable(&builder, 8 * m + i, inside, 300 * gigabyte, 0);
            banyan_topology_add_cable(&builder, 8 * m + i, net[i % 2], 25 * gigabyte, 0);
        }
    }
    return banyan_topology_builder_finish(&builder, out, err);
}

/* xGMI links of 50 GB/s between the 16 GPUs (dies) of eight MI250: pairs with i < j, and how many. */
static const struct {
    int i, j, count;
} mi250[] = {{0, 1, 4},   {0, 4, 2},   {0, 8, 1},   {1, 5, 1},   {1, 9, 1},   {1, 10, 1},  {2, 3, 4},
             {2, 6, 1},   {2, 9, 1},   {2, 10, 1},  {3, 7, 2},   {3, 11, 1},  {4, 5, 4},   {4, 6, 1},
             {5, 6, 1},   {5, 7, 1},   {6, 7, 4},   {8, 9, 4},   {8, 12, 2},  {9, 13, 1},  {10, 11, 4},
             {10, 14, 1}, {11, 15, 2}, {12, 13, 4}, {12, 14, 1}, {13, 14, 1}, {13, 15, 1}, {14, 15, 4}};

banyan_status field_mi250_build(int machines, banyan_topology **out, banyan_error *err)
{
    banyan_topology_builder builder;
    int net;

    banyan_topology_builder_init(&builder, "mi250");
    for (int i = 0; i < 16 * machines; i++)
        banyan_topology_add_worker_f(&builder, -1, "g%d", i);
    net = machines > 1 ? banyan_topology_add_switch(&builder, "ib") : -1;
    for (int m = 0; m < machines; m++) {
        for (size_t k = 0; k < sizeof mi250 / sizeof *mi250; k++)
            banyan_topology_add_cable(&builder, 16 * m + mi250[k].i, 16 * m + mi250[k].j,
                                      mi250[k].count * 50 * gigabyte, 0);
        for (int i = 0; i < 16 && machines > 1; i++)
            banyan_topology_add_cable(&builder, 16 * m + i, net, 16 * gigabyte, 0);
    }
    return banyan_topology_builder_finish(&builder, out, err);
}
