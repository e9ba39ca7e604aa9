/* SPDX-License-Identifier: Apache-2.0 */
/* topology/hardware.c: bandwidths by kind of link.
 *
 * The figures are those that NCCL and RCCL reckon with when they read the same files: what a link really
 * carries, some 20 % below the signalling rate. Sources: NVIDIA/nccl src/graph/topo.h and topo.cc (2.28 and
 * later) for NVLink, PCIe and CPUs, ROCm/rccl src/graph/topo.h for XGMI. Latencies follow the hardware
 * latencies in NCCL's src/graph/tuning.cc (NVLink 0.6 us, PCIe 1.0 us, network 2.7 us for a whole way), cut
 * in two where a way has two hops; 0.2 us between CPUs is our assumption. */
#include "topology/hardware.h"

#include <stddef.h>
#include <string.h>

static const struct {
    int sm_from;
    double bytes_per_s;
} nvlink[] = {{100, 40.1e9}, {90, 20.6e9}, {87, 20e9}, {86, 12e9}, {80, 20e9}, {70, 20e9}, {60, 18e9}};

static const struct {
    const char *gcn;
    double bytes_per_s;
} xgmi[] = {{"gfx95", 48e9},  {"gfx94", 48e9}, {"942", 48e9},
            {"gfx90a", 36e9}, {"910", 36e9},   {"gfx908", 24e9}};

static const struct {
    double gigatransfers_per_s, bytes_per_s_per_lane;
} pcie[] = {{2.5, 0.1875e9}, {5, 0.375e9}, {8, 0.75e9}, {16, 1.5e9}, {32, 3e9}, {64, 6e9}};

/* The first row that fits counts; vendor NULL and family 0 fit all. AMD's families come in two spellings,
 * because older files put the two halves of the number side by side. */
static const struct {
    const char *arch, *vendor;
    int family, model_from, model_to;
    double bytes_per_s;
} cpus[] = {
    {"ppc64", NULL, 0, 0, 0x7fffffff, 32e9},
    {"arm64", NULL, 0, 0, 0x7fffffff, 6e9},
    {"x86_64", "GenuineIntel", 6, 0xcf, 0x7fffffff, 40e9}, /* Emerald Rapids and later */
    {"x86_64", "GenuineIntel", 6, 0xad, 0xaf, 40e9},       /* Granite Rapids, Sierra Forest */
    {"x86_64", "GenuineIntel", 6, 0x8f, 0x7fffffff, 22e9}, /* Sapphire Rapids */
    {"x86_64", "GenuineIntel", 6, 0x55, 0x7fffffff, 10e9}, /* Skylake */
    {"x86_64", "GenuineIntel", 0, 0, 0x7fffffff, 6e9},
    {"x86_64", "AuthenticAMD", 0x1a, 0, 0x7fffffff, 32e9}, /* Zen 5 */
    {"x86_64", "AuthenticAMD", 0xbf, 0, 0x7fffffff, 32e9},
    {"x86_64", "AuthenticAMD", 0x19, 0, 0x7fffffff, 24e9}, /* Zen 3 and 4 */
    {"x86_64", "AuthenticAMD", 0xaf, 0, 0x7fffffff, 24e9},
    {"x86_64", "AuthenticAMD", 0, 0, 0x7fffffff, 16e9},
    {"x86_64", "CentaurHauls", 7, 0x5b, 0x5b, 9e9},
    {"x86_64", "CentaurHauls", 0, 0, 0x7fffffff, 6e9},
    {"x86_64", "  Shanghai  ", 7, 0x5b, 0x5b, 9e9},
    {"x86_64", "  Shanghai  ", 0, 0, 0x7fffffff, 6e9},
};

double banyan_hardware_nvlink(int sm)
{
    for (size_t i = 0; i < sizeof nvlink / sizeof *nvlink; i++)
        if (sm >= nvlink[i].sm_from)
            return nvlink[i].bytes_per_s;
    return 20e9;
}

double banyan_hardware_xgmi(const char *gcn)
{
    for (size_t i = 0; gcn && i < sizeof xgmi / sizeof *xgmi; i++)
        if (!strncmp(gcn, xgmi[i].gcn, strlen(xgmi[i].gcn)))
            return xgmi[i].bytes_per_s;
    return 24e9;
}

double banyan_hardware_pcie(double gigatransfers_per_s, int lanes)
{
    double per_lane = 0.75e9; /* generation 3 where it is not said, as NCCL takes it */

    for (size_t i = 0; i < sizeof pcie / sizeof *pcie; i++)
        if (gigatransfers_per_s >= pcie[i].gigatransfers_per_s)
            per_lane = pcie[i].bytes_per_s_per_lane;
    return per_lane * (lanes > 0 && lanes <= 32 ? lanes : 16);
}

double banyan_hardware_between_cpus(const char *arch, const char *vendor, int family, int model)
{
    for (size_t i = 0; arch && i < sizeof cpus / sizeof *cpus; i++)
        if (!strcmp(arch, cpus[i].arch) && (!cpus[i].vendor || (vendor && !strcmp(vendor, cpus[i].vendor))) &&
            (!cpus[i].family ||
             (family == cpus[i].family && model >= cpus[i].model_from && model <= cpus[i].model_to)))
            return cpus[i].bytes_per_s;
    return 10e9;
}
