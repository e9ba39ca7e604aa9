/* SPDX-License-Identifier: Apache-2.0 */
/* topology/import_nccl.c: the XML that NCCL and RCCL write to NCCL_TOPO_DUMP_FILE and read from
 * NCCL_TOPO_FILE.
 *
 *     <system version="1">                                            cpu0 ──── cpu1     between CPUs
 *       <cpu numaid="0" arch="x86_64" ...>                             │          │
 *         <pci busid="0000:17:00.0" class="0x060400"                  pci0       pci1    PCIe
 *              link_speed="8 GT/s" link_width="16">                   │  │       │  │
 *           <pci ...> <gpu dev="0" sm="70" rank="0">                 g0  nic0   g1  nic1
 *             <nvlink target="0000:1a:00.0" count="2" .../>           └──────────┘       NVLink
 *
 * GPUs are the workers g0, g1, ..., in the order of their ranks (without ranks: of their device numbers, host
 * by host), so that worker i is NCCL's rank i. CPUs (NUMA nodes), PCIe bridges and NICs are switches; bridges
 * with neither GPU nor NIC below are left out, and the two levels that some Broadcom switches show are one.
 * CPUs of one host are cabled pairwise. All NVSwitches together are one switch, as in NCCL. Hosts differ in
 * the host_hash of their CPUs, or are several <system>s within <systems>; the network ports of several hosts
 * meet in one switch, net. NVLinks to GPUs that are not in the file are ignored. Bandwidths: hardware.c.
 *
 * What NCCL reads from the file, and the defaults for what is absent, follows its src/graph/topo.cc. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "topology/build.h"
#include "topology/hardware.h"
#include "topology/import.h"
#include "topology/names.h"
#include "topology/nccl_places.h"
#include "topology/scan.h"

enum { MAX_CPUS = 4096 };

/* One way of an NVLink or the like. */
typedef struct {
    int src, dst;
    double bytes_per_s, latency_s;
} wire;

typedef struct {
    banyan_nccl_places file;
    wire *wires;
    size_t wire_capacity;
    int wire_count;
    int *nvswitch; /* of each system: its node + 1 */
    banyan_topology_builder builder;
} reader;

/* The one way to the builder's links, because the cap here is lower than its own. */
static void link(reader *in, int src, int dst, double bytes_per_s, double latency_s)
{
    if (!in->builder.status && in->builder.topology->link_count >= BANYAN_IMPORT_MAX_LINKS)
        banyan_topology_builder_fail(&in->builder, BANYAN_INVALID_ARGUMENT, "more than %d links",
                                     BANYAN_IMPORT_MAX_LINKS);
    banyan_topology_add_link(&in->builder, src, dst, bytes_per_s, latency_s);
}

static void cable(reader *in, int a, int b, double bytes_per_s, double latency_s)
{
    link(in, a, b, bytes_per_s, latency_s);
    link(in, b, a, bytes_per_s, latency_s);
}

static void build_workers(reader *in)
{
    for (int i = 0; i < in->file.hosts.count; i++) {
        char name[16];

        snprintf(name, sizeof name, "h%d", i);
        banyan_topology_add_host(&in->builder, name);
    }
    for (int i = 0; i < in->file.gpu_count; i++) {
        int element = in->file.gpus[i].element, up = in->file.xml->elements[element].parent;

        in->file.places[element].node =
            banyan_topology_add_worker_f(&in->builder, in->file.gpus[i].host, "g%d", i);
        /* A <pci> that is one GPU is found by its busid, so it has the GPU's node. */
        if (in->file.places[up].role == GPU)
            in->file.places[up].node = in->file.places[element].node;
    }
}

static banyan_status build_cpu(reader *in, banyan_names *cpus, int i, banyan_error *err)
{
    char name[48], host[16] = "";
    int numa, known = cpus->count, id;
    banyan_status status = banyan_nccl_integer(&in->file, i, "numaid", -1, INT_MAX, -1, &numa, err);

    if (status)
        return status;
    if (in->file.hosts.count > 1)
        snprintf(host, sizeof host, "h%d", in->file.places[i].host);
    if (numa < 0)
        snprintf(name, sizeof name, "%scpu", host);
    else
        snprintf(name, sizeof name, "%scpu%d", host, numa);
    id = banyan_names_add(cpus, (banyan_word){name, strlen(name)});
    if (id < 0)
        return banyan_fail_memory(err);
    if (id == MAX_CPUS)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: more than %d CPUs",
                           banyan_nccl_line(&in->file, i), MAX_CPUS);
    if (id < known)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "line %d: the NUMA node %d of this host is there already",
                           banyan_nccl_line(&in->file, i), numa);
    in->file.places[i].node = banyan_topology_add_switch(&in->builder, name);
    return BANYAN_SUCCESS;
}

/* Broadcom's switches show two levels of bridges but carry all ports at full speed. 0: not one of them. */
static int broadcom(const reader *in, int i, int level)
{
    if (!banyan_nccl_begins(&in->file, i, "vendor", "0x1000") ||
        !banyan_nccl_begins(&in->file, i, "subsystem_vendor", "0x1000"))
        return 0;
    if (banyan_nccl_begins(&in->file, i, "device", "0xc010"))
        return banyan_nccl_begins(&in->file, i, "subsystem_device", "0xa") ? 4 : 0;
    if (banyan_nccl_begins(&in->file, i, "device", "0xc030"))
        return banyan_nccl_begins(&in->file, i, "subsystem_device", level ? "0x1" : "0x0") ? 5 : 0;
    return 0;
}

static banyan_status build_switches(reader *in, banyan_names *cpus, banyan_error *err)
{
    int bridges = 0, nics = 0;
    banyan_status status = BANYAN_SUCCESS;

    for (int i = 0; !status && i < in->file.xml->element_count; i++) {
        banyan_nccl_place *self = &in->file.places[i];

        if (in->builder.topology && in->builder.topology->node_count > BANYAN_IMPORT_MAX_NODES)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: more than %d nodes",
                               banyan_nccl_line(&in->file, i), BANYAN_IMPORT_MAX_NODES);
        if (self->role == CPU) {
            status = build_cpu(in, cpus, i, err);
        } else if (self->role == NIC) {
            self->node = banyan_topology_add_switch_f(&in->builder, "nic%d", nics++);
        } else if (self->role == BRIDGE && self->is_useful) {
            int level = broadcom(in, i, 1);

            if (level && in->file.places[self->up].role == BRIDGE && broadcom(in, self->up, 0) == level)
                self->node = in->file.places[self->up].node;
            else
                self->node = banyan_topology_add_switch_f(&in->builder, "pci%d", bridges++);
        }
    }
    return status;
}

static int has_node(const reader *in, int i)
{
    const banyan_nccl_place *self = &in->file.places[i];

    if (self->role == GPU)
        return banyan_nccl_is(&in->file, i, "gpu") || !in->file.has_gpu_elements;
    return self->role == NIC || (self->role == BRIDGE && self->is_useful);
}

static void build_tree(reader *in)
{
    for (int i = 0; i < in->file.xml->element_count; i++) {
        const banyan_nccl_place *self = &in->file.places[i];

        if (has_node(in, i) && self->node != in->file.places[self->up].node)
            cable(in, self->node, in->file.places[self->up].node, self->bytes_per_s, BANYAN_HARDWARE_PCIE_S);
    }
}

/* NCCL asks the first of two CPUs for the bandwidth between them. */
static banyan_status build_between_cpus(reader *in, banyan_error *err)
{
    int family, model;
    banyan_status status = BANYAN_SUCCESS;

    for (int i = 0; !status && i < in->file.xml->element_count; i++) {
        double bytes_per_s;

        if (in->file.places[i].role != CPU)
            continue;
        status = banyan_nccl_integer(&in->file, i, "familyid", 0, INT_MAX, 0, &family, err);
        if (!status)
            status = banyan_nccl_integer(&in->file, i, "modelid", 0, INT_MAX, 0, &model, err);
        if (status)
            return status;
        bytes_per_s = banyan_hardware_between_cpus(banyan_xml_get(in->file.xml, i, "arch"),
                                                   banyan_xml_get(in->file.xml, i, "vendor"), family, model);
        for (int j = in->file.xml->elements[i].next;
             j < in->file.xml->elements[in->file.places[i].up].next && !in->builder.status;
             j = in->file.xml->elements[j].next)
            if (in->file.places[j].role == CPU && in->file.places[j].host == in->file.places[i].host)
                cable(in, in->file.places[i].node, in->file.places[j].node, bytes_per_s,
                      BANYAN_HARDWARE_BETWEEN_CPUS_S);
    }
    return status;
}

static banyan_status keep_wire(reader *in, int src, int dst, double bytes_per_s, double latency_s,
                               banyan_error *err)
{
    void *wires = in->wires;

    if (!banyan_grow(&wires, (size_t)in->wire_count, &in->wire_capacity, sizeof *in->wires))
        return banyan_fail_memory(err);
    in->wires = wires;
    in->wires[in->wire_count++] = (wire){src, dst, bytes_per_s, latency_s};
    return BANYAN_SUCCESS;
}

/* The far end of a GPU's link as a node, or -1 where the file does not have it. */
static banyan_status find_partner(reader *in, int i, int *node, double *latency_s, banyan_error *err)
{
    int cpu = in->file.places[in->file.places[i].cpu].node, system = in->file.places[i].system, target;
    banyan_status status = BANYAN_SUCCESS;

    *node = -1;
    *latency_s = BANYAN_HARDWARE_NVLINK_S;
    if (banyan_nccl_is(&in->file, i, "c2c")) {
        *node = cpu;
        return BANYAN_SUCCESS;
    }
    status = banyan_nccl_find_target(&in->file, i, &target, err);
    if (status)
        return status;
    if (target >= 0 && in->file.places[target].first_gpu) {
        *node = in->file.places[target].node;
    } else if (banyan_nccl_begins(&in->file, i, "tclass", "0x068001")) { /* a CPU with NVLinks: POWER9 */
        *node = cpu;
    } else if (banyan_nccl_begins(&in->file, i, "tclass", "0x0680")) {
        if (!in->nvswitch[system])
            in->nvswitch[system] = 1 + (in->file.system_count > 1
                                            ? banyan_topology_add_switch_f(&in->builder, "nvswitch%d", system)
                                            : banyan_topology_add_switch(&in->builder, "nvswitch"));
        *node = in->nvswitch[system] - 1;
        *latency_s = BANYAN_HARDWARE_NVSWITCH_S;
    }
    return BANYAN_SUCCESS;
}

/* One link of this kind, in bytes a second. */
static banyan_status read_rate(const reader *in, int i, double *bytes_per_s, banyan_error *err)
{
    int from = in->file.xml->elements[i].parent, number;
    banyan_status status;

    if (banyan_nccl_is(&in->file, i, "c2c")) {
        status = banyan_xml_integer(in->file.xml, i, "bw", 1, INT_MAX, &number, err);
        *bytes_per_s = number * 1e6;
    } else if (banyan_nccl_is(&in->file, i, "xgmi")) {
        status = BANYAN_SUCCESS;
        *bytes_per_s = banyan_hardware_xgmi(banyan_xml_get(in->file.xml, from, "gcn"));
    } else {
        status = banyan_nccl_integer(&in->file, from, "sm", 0, 9999, 0, &number, err);
        *bytes_per_s = banyan_hardware_nvlink(number);
    }
    return status;
}

static banyan_status read_gpu_link(reader *in, int i, banyan_error *err)
{
    int from = in->file.xml->elements[i].parent, card = in->file.xml->elements[from].parent, count, partner;
    double bytes_per_s, latency_s;
    banyan_status status = banyan_xml_integer(in->file.xml, i, "count", 1, 4096, &count, err);

    /* GPUs that share a card share its links, and each of them lists them. */
    if (status || in->file.places[card].first_gpu != from)
        return status;
    status = read_rate(in, i, &bytes_per_s, err);
    if (!status)
        status = find_partner(in, i, &partner, &latency_s, err);
    if (status || partner < 0)
        return status;
    if (partner == in->file.places[card].node && !in->builder.status)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "line %d: the link leads to the GPU that it comes from",
                           banyan_nccl_line(&in->file, i));
    return keep_wire(in, in->file.places[card].node, partner, count * bytes_per_s, latency_s, err);
}

/* Two bridges that are one PCIe switch inside. */
static banyan_status read_pci_link(reader *in, int i, banyan_error *err)
{
    int from = in->file.xml->elements[i].parent, target;
    banyan_status status = banyan_nccl_find_target(&in->file, i, &target, err);

    if (status || target < 0 || in->file.places[target].role != BRIDGE ||
        !in->file.places[target].is_useful || !in->file.places[from].is_useful ||
        in->file.places[from].node == in->file.places[target].node)
        return status;
    return keep_wire(in, in->file.places[from].node, in->file.places[target].node,
                     BANYAN_HARDWARE_INSIDE_BYTES_PER_S, BANYAN_HARDWARE_PCIE_S, err);
}

static int by_ends(const void *a, const void *b)
{
    const wire *x = a, *y = b;

    if (x->src != y->src)
        return x->src < y->src ? -1 : 1;
    return (x->dst > y->dst) - (x->dst < y->dst);
}

/* Wires with the same ends are one link. Both ends should list theirs; where one does not, the way back is as
 * wide as the way there. */
static void build_wires(reader *in)
{
    int count = 0;

    if (!in->wire_count)
        return;
    qsort(in->wires, (size_t)in->wire_count, sizeof *in->wires, by_ends);
    for (int i = 0; i < in->wire_count; i++) {
        if (count && !by_ends(&in->wires[count - 1], &in->wires[i]))
            in->wires[count - 1].bytes_per_s += in->wires[i].bytes_per_s;
        else
            in->wires[count++] = in->wires[i];
    }
    for (int i = 0; i < count; i++) {
        wire one = in->wires[i], back = {.src = one.dst, .dst = one.src};

        link(in, one.src, one.dst, one.bytes_per_s, one.latency_s);
        if (!bsearch(&back, in->wires, (size_t)count, sizeof back, by_ends))
            link(in, one.dst, one.src, one.bytes_per_s, one.latency_s);
    }
}

static banyan_status read_wires(reader *in, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    in->nvswitch = banyan_alloc((size_t)in->file.system_count, sizeof *in->nvswitch);
    if (!in->nvswitch)
        return banyan_fail_memory(err);
    for (int i = 1; !status && i < in->file.xml->element_count; i++) {
        int from = in->file.xml->elements[i].parent;

        if (banyan_nccl_is(&in->file, i, "pcilink") && in->file.places[from].role == BRIDGE)
            status = read_pci_link(in, i, err);
        else if ((banyan_nccl_is(&in->file, i, "nvlink") || banyan_nccl_is(&in->file, i, "xgmi") ||
                  banyan_nccl_is(&in->file, i, "c2c")) &&
                 banyan_nccl_is(&in->file, from, "gpu") && in->file.places[from].role == GPU)
            status = read_gpu_link(in, i, err);
    }
    return status;
}

static banyan_status read_port(reader *in, int i, int net, banyan_error *err)
{
    int nic = in->file.xml->elements[i].parent, megabits, device, is_used;
    const char *text = banyan_xml_get(in->file.xml, i, "latency");
    double latency_us = 0, bytes_per_s = BANYAN_HARDWARE_NETWORK_BYTES_PER_S;
    banyan_status status = banyan_nccl_integer(&in->file, i, "speed", -1, INT_MAX, 0, &megabits, err);

    if (!status)
        status = banyan_nccl_integer(&in->file, i, "dev", -1, INT_MAX, -1, &device, err);
    if (!status)
        status = banyan_nccl_integer(&in->file, i, "net", 0, INT_MAX, 1, &is_used, err);
    if (!status && text &&
        (!banyan_word_number((banyan_word){text, strlen(text)}, &latency_us) || latency_us < 0 ||
         latency_us > 1e9))
        status = banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                             "line %d: latency=\"%.40s\" is not a number of microseconds",
                             banyan_nccl_line(&in->file, i), text);
    if (in->file.places[nic].role != NIC)
        nic = in->file.xml->elements[nic].parent;
    if (status || device < 0 || !is_used || in->file.places[nic].role != NIC || net < 0)
        return status;
    if (megabits > 0)
        bytes_per_s = megabits * 1e6 / 8;
    cable(in, in->file.places[nic].node, net, bytes_per_s, BANYAN_HARDWARE_NETWORK_S + latency_us * 1e-6);
    return BANYAN_SUCCESS;
}

/* Ports are checked in any file; one host alone needs no network. */
static banyan_status build_network(reader *in, banyan_error *err)
{
    int net = in->file.hosts.count > 1 ? banyan_topology_add_switch(&in->builder, "net") : -1;
    banyan_status status = BANYAN_SUCCESS;

    for (int i = 1; !status && i < in->file.xml->element_count; i++)
        if (banyan_nccl_is(&in->file, i, "net") &&
            banyan_nccl_is(&in->file, in->file.xml->elements[i].parent, "nic"))
            status = read_port(in, i, net, err);
    return status;
}

static banyan_status read_system(reader *in, const char *text, size_t length, banyan_error *err)
{
    banyan_names cpus = {0};
    banyan_status status = banyan_nccl_places_read(&in->file, text, length, err);

    if (!status && in->file.gpu_count > BANYAN_IMPORT_MAX_NODES)
        status = banyan_fail(err, BANYAN_INVALID_ARGUMENT, "more than %d GPUs", BANYAN_IMPORT_MAX_NODES);
    if (status)
        return status;
    build_workers(in);
    status = build_switches(in, &cpus, err);
    banyan_names_fini(&cpus);
    if (!status)
        build_tree(in);
    if (!status)
        status = build_between_cpus(in, err);
    if (!status)
        status = read_wires(in, err);
    if (!status)
        build_wires(in);
    return status ? status : build_network(in, err);
}

static banyan_status parse(const char *text, size_t length, banyan_topology **out, banyan_error *err)
{
    reader in = {0};
    banyan_error problem;
    banyan_status status;

    banyan_topology_builder_init(&in.builder, "nccl");
    status = read_system(&in, text, length, &problem);
    if (status)
        banyan_topology_builder_fail(&in.builder, status, "%s", problem.text);
    banyan_nccl_places_fini(&in.file);
    banyan_free(in.wires);
    banyan_free(in.nvswitch);
    return banyan_topology_builder_finish(&in.builder, out, err);
}

static int looks_like(const char *text, size_t length)
{
    return memmem(text, length < 65536 ? length : 65536, "<system", 7) != NULL;
}

const banyan_importer banyan_import_nccl = {.name = "nccl",
                                            .summary = "the XML of NCCL_TOPO_DUMP_FILE and NCCL_TOPO_FILE",
                                            .extension = ".xml",
                                            .looks_like = looks_like,
                                            .parse = parse};
