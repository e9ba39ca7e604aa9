/* SPDX-License-Identifier: Apache-2.0 */
/* topology/hardware.h: what a link of a known kind carries. Files name the kind; these tables give the
 * number. */
#ifndef BANYAN_TOPOLOGY_HARDWARE_H
#define BANYAN_TOPOLOGY_HARDWARE_H

/* Bytes a second, each way. */
double banyan_hardware_nvlink(int sm);                              /* one link; compute capability x 10 */
double banyan_hardware_xgmi(const char *gcn);                       /* one link; NULL: unknown */
double banyan_hardware_pcie(double gigatransfers_per_s, int lanes); /* 0: unknown */
double banyan_hardware_between_cpus(const char *arch, const char *vendor, /* NULL: unknown */
                                    int family, int model);

#define BANYAN_HARDWARE_INSIDE_BYTES_PER_S 5000e9  /* inside one chip: never the narrowest part */
#define BANYAN_HARDWARE_NETWORK_BYTES_PER_S 1.25e9 /* a port that does not say its speed: 10 Gbit/s */

/* Seconds for one hop. */
#define BANYAN_HARDWARE_NVLINK_S 0.6e-6
#define BANYAN_HARDWARE_NVSWITCH_S 0.3e-6 /* half a way: there are two of them */
#define BANYAN_HARDWARE_PCIE_S 0.5e-6
#define BANYAN_HARDWARE_BETWEEN_CPUS_S 0.2e-6
#define BANYAN_HARDWARE_NETWORK_S 1.35e-6

#endif
