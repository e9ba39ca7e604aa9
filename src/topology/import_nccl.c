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
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/xml.h"
#include "topology/build.h"
#include "topology/hardware.h"
#include "topology/import.h"
#include "topology/names.h"
#include "topology/scan.h"

enum { MAX_CPUS = 4096 };

/* What an element of the file becomes. */
typedef enum { NOTHING, SYSTEM, CPU, BRIDGE, NIC, GPU } role;

typedef struct {
    role role;
    int system, host;
    int up;             /* the element that it hangs below: a CPU, a bridge or a NIC */
    int cpu;            /* the CPU above it */
    int is_useful;      /* GPUs and NICs in its subtree */
    int first_gpu;      /* of a <pci>: its first <gpu>, which speaks for its NVLinks */
    int node;           /* in the topology */
    double bytes_per_s; /* of the link upwards */
} place;

typedef struct {
    int element, system, rank, host, device;
} gpu;

typedef struct {
    int system, host, element;
    uint64_t busid;
} address;

typedef struct {
    int src, dst;
    double bytes_per_s, latency_s;
} wire;

typedef struct {
    banyan_xml *xml;
    place *places; /* one an element */
    gpu *gpus;
    address *addresses;
    wire *wires;   /* NVLinks and the like, one way each */
    int *nvswitch; /* of each system: its node + 1 */
    size_t gpu_capacity, address_capacity, wire_capacity;
    int gpu_count, address_count, wire_count;
    int system_count, has_gpu_elements;
    banyan_names hosts;
    banyan_topology_builder builder;
} reader;

static int is_element(const reader *in, int i, const char *name)
{
    return i >= 0 && !strcmp(in->xml->elements[i].name, name);
}

static int line_of(const reader *in, int i)
{
    return in->xml->elements[i].line;
}

/* An attribute that may be absent. */
static banyan_status read_integer(const reader *in, int i, const char *attribute, int low, int high,
                                  int absent, int *out, banyan_error *err)
{
    const char *value = banyan_xml_get(in->xml, i, attribute);

    *out = absent;
    return value && *value ? banyan_xml_integer(in->xml, i, attribute, low, high, out, err) : BANYAN_SUCCESS;
}

static int has_class(const reader *in, int i, const char *attribute, const char *prefix)
{
    const char *value = banyan_xml_get(in->xml, i, attribute);

    return value && !strncmp(value, prefix, strlen(prefix));
}

/* «0000:1a:00.0» without its marks, as one number. */
static banyan_status read_busid(const reader *in, int i, const char *attribute, uint64_t *out,
                                banyan_error *err)
{
    const char *value = banyan_xml_get(in->xml, i, attribute);
    int digits = 0;

    if (!value)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: <%.40s> lacks the attribute %s",
                           line_of(in, i), in->xml->elements[i].name, attribute);
    *out = 0;
    for (const char *c = value; *c; c++) {
        int digit = *c >= '0' && *c <= '9'                 ? *c - '0'
                    : (*c | 32) >= 'a' && (*c | 32) <= 'f' ? (*c | 32) - 'a' + 10
                                                           : -1;

        if (*c == ':' || *c == '.')
            continue;
        if (digit < 0 || ++digits > 16)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: %s=\"%s\" is not a PCI address",
                               line_of(in, i), attribute,
                               banyan_word_show((banyan_word){value, strlen(value)}).text);
        *out = *out << 4 | (uint64_t)digit;
    }
    return BANYAN_SUCCESS;
}

/* «8 GT/s», «16.0 GT/s PCIe», «Unknown speed» and nothing are what kernels say. */
static banyan_status read_pcie(const reader *in, int i, double *bytes_per_s, banyan_error *err)
{
    const char *speed = banyan_xml_get(in->xml, i, "link_speed");
    banyan_word rest = {speed ? speed : "", speed ? strlen(speed) : 0}, word = rest;
    double gigatransfers = 0;
    int lanes;
    banyan_status status = read_integer(in, i, "link_width", 0, 255, 0, &lanes, err);

    if (status)
        return status;
    if (banyan_word_take(&rest, &word) && !banyan_word_begins(word, "Unknown") &&
        (!banyan_word_number(word, &gigatransfers) || gigatransfers < 0 || gigatransfers > 1000))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "line %d: link_speed=\"%s\" is not a PCIe speed such as 8 GT/s", line_of(in, i),
                           banyan_word_show((banyan_word){speed, strlen(speed)}).text);
    *bytes_per_s = banyan_hardware_pcie(gigatransfers, lanes);
    return BANYAN_SUCCESS;
}

/* Broadcom's switches show two levels of bridges but carry all ports at full speed. 0: not one of them. */
static int broadcom(const reader *in, int i, int level)
{
    if (!has_class(in, i, "vendor", "0x1000") || !has_class(in, i, "subsystem_vendor", "0x1000"))
        return 0;
    if (has_class(in, i, "device", "0xc010"))
        return has_class(in, i, "subsystem_device", "0xa") ? 4 : 0;
    if (has_class(in, i, "device", "0xc030"))
        return has_class(in, i, "subsystem_device", level ? "0x1" : "0x0") ? 5 : 0;
    return 0;
}

static banyan_status place_cpu(reader *in, int i, int system, banyan_error *err)
{
    const char *hash = banyan_xml_get(in->xml, i, "host_hash");
    char key[80];

    snprintf(key, sizeof key, "%d/%.60s", system, hash ? hash : "");
    in->places[i].role = CPU;
    in->places[i].cpu = i;
    in->places[i].host = banyan_names_add(&in->hosts, (banyan_word){key, strlen(key)});
    return in->places[i].host < 0 ? banyan_fail_memory(err) : BANYAN_SUCCESS;
}

static int count_children(const reader *in, int i, const char *name)
{
    int count = 0;

    for (int child = i + 1; child < in->xml->elements[i].next; child = in->xml->elements[child].next)
        count += is_element(in, child, name);
    return count;
}

static banyan_status place_pci(reader *in, int i, banyan_error *err)
{
    place *self = &in->places[i];
    void *addresses = in->addresses;
    int gpus = count_children(in, i, "gpu");
    banyan_status status = read_pcie(in, i, &self->bytes_per_s, err);

    if (gpus == 1 ||
        (!in->has_gpu_elements && (has_class(in, i, "class", "0x03") || has_class(in, i, "class", "0x12"))))
        self->role = GPU;
    else if (count_children(in, i, "nic") || has_class(in, i, "class", "0x02"))
        self->role = NIC;
    else if (gpus || !(has_class(in, i, "class", "0x03") || has_class(in, i, "class", "0x0680")))
        self->role = BRIDGE;
    if (status || self->role == NOTHING)
        return status;
    if (!banyan_grow(&addresses, (size_t)in->address_count, &in->address_capacity, sizeof *in->addresses))
        return banyan_fail_memory(err);
    in->addresses = addresses;
    in->addresses[in->address_count] = (address){self->system, self->host, i, 0};
    return read_busid(in, i, "busid", &in->addresses[in->address_count++].busid, err);
}

/* A GPU's element is <gpu>, or <pci> in files that know no <gpu>. */
static banyan_status keep_gpu(reader *in, int i, banyan_error *err)
{
    void *gpus = in->gpus;
    gpu found = {.element = i, .system = in->places[i].system, .host = in->places[i].host};
    banyan_status status = read_integer(in, i, "rank", -1, INT_MAX, -1, &found.rank, err);

    if (!status)
        status = read_integer(in, i, "dev", -1, INT_MAX, -1, &found.device, err);
    if (status)
        return status;
    if (!banyan_grow(&gpus, (size_t)in->gpu_count, &in->gpu_capacity, sizeof *in->gpus))
        return banyan_fail_memory(err);
    in->gpus = gpus;
    in->gpus[in->gpu_count++] = found;
    return BANYAN_SUCCESS;
}

/* Elements come in document order, so what is above an element has its place already. */
static banyan_status place_element(reader *in, int i, banyan_error *err)
{
    int up = in->xml->elements[i].parent;
    place *self = &in->places[i];
    const place *above = up < 0 ? NULL : &in->places[up];

    if (is_element(in, i, "system") &&
        (up < 0 || (is_element(in, up, "systems") && in->xml->elements[up].parent < 0))) {
        *self = (place){.role = SYSTEM, .system = in->system_count++};
        return BANYAN_SUCCESS;
    }
    if (!above || above->role == NOTHING)
        return BANYAN_SUCCESS;
    *self = (place){.system = above->system, .host = above->host, .up = up, .cpu = above->cpu};
    if (is_element(in, i, "cpu") && above->role == SYSTEM)
        return place_cpu(in, i, self->system, err);
    if (is_element(in, i, "pci") && (above->role == CPU || above->role == BRIDGE))
        return place_pci(in, i, err);
    if (is_element(in, i, "nic") && above->role == CPU) {
        self->role = NIC;
        self->bytes_per_s = BANYAN_HARDWARE_INSIDE_BYTES_PER_S;
    }
    if (is_element(in, i, "gpu") && is_element(in, up, "pci") &&
        (above->role == GPU || above->role == BRIDGE)) {
        self->role = GPU;
        self->up = above->role == GPU ? above->up : up;
        self->bytes_per_s = above->role == GPU ? above->bytes_per_s : BANYAN_HARDWARE_INSIDE_BYTES_PER_S;
        if (!above->first_gpu)
            in->places[up].first_gpu = i;
        return keep_gpu(in, i, err);
    }
    return BANYAN_SUCCESS;
}

static int by_busid(const void *a, const void *b)
{
    const address *x = a, *y = b;

    if (x->system != y->system)
        return x->system < y->system ? -1 : 1;
    if (x->host != y->host)
        return x->host < y->host ? -1 : 1;
    if (x->busid != y->busid)
        return x->busid < y->busid ? -1 : 1;
    return 0;
}

/* Ranked GPUs first, by rank; then by host, device and line. A <system> is a run of its own. */
static int by_rank(const void *a, const void *b)
{
    const gpu *x = a, *y = b;
    const int keys[][2] = {{x->system, y->system}, {x->rank < 0, y->rank < 0}, {x->rank, y->rank},
                           {x->host, y->host},     {x->device, y->device},     {x->element, y->element}};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    return 0;
}

static banyan_status order(reader *in, banyan_error *err)
{
    if (in->address_count)
        qsort(in->addresses, (size_t)in->address_count, sizeof *in->addresses, by_busid);
    for (int i = 1; i < in->address_count; i++)
        if (!by_busid(&in->addresses[i - 1], &in->addresses[i])) {
            int a = line_of(in, in->addresses[i - 1].element), b = line_of(in, in->addresses[i].element);

            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: the busid is that of line %d already",
                               a > b ? a : b, a > b ? b : a);
        }
    if (in->gpu_count)
        qsort(in->gpus, (size_t)in->gpu_count, sizeof *in->gpus, by_rank);
    for (int i = 1; i < in->gpu_count; i++)
        if (in->gpus[i].rank >= 0 && in->gpus[i].rank == in->gpus[i - 1].rank &&
            in->gpus[i].system == in->gpus[i - 1].system)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: rank %d is that of line %d already",
                               line_of(in, in->gpus[i].element), in->gpus[i].rank,
                               line_of(in, in->gpus[i - 1].element));
    if (!in->gpu_count)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "there is no GPU in the file");
    return BANYAN_SUCCESS;
}

static banyan_status place_all(reader *in, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    if (!is_element(in, 0, "system") && !is_element(in, 0, "systems"))
        return banyan_fail(
            err, BANYAN_INVALID_ARGUMENT, "line %d: expected <system>, not <%s>", line_of(in, 0),
            banyan_word_show((banyan_word){in->xml->elements[0].name, strlen(in->xml->elements[0].name)})
                .text);
    in->places = banyan_alloc((size_t)in->xml->element_count, sizeof *in->places);
    if (!in->places)
        return banyan_fail_memory(err);
    for (int i = 0; i < in->xml->element_count; i++)
        in->has_gpu_elements |= is_element(in, i, "gpu");
    for (int i = 0; !status && i < in->xml->element_count; i++) {
        status = place_element(in, i, err);
        if (!status && in->places[i].role == GPU && !in->has_gpu_elements)
            status = keep_gpu(in, i, err);
    }
    for (int i = in->xml->element_count - 1; !status && i > 0; i--) {
        place *self = &in->places[i];

        self->is_useful += self->role == GPU || self->role == NIC;
        in->places[in->xml->elements[i].parent].is_useful += self->is_useful > 0;
    }
    return status ? status : order(in, err);
}

/* The one door to the builder's links, because the cap here is lower than its own. */
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
    for (int i = 0; i < in->hosts.count; i++) {
        char name[16];

        snprintf(name, sizeof name, "h%d", i);
        banyan_topology_add_host(&in->builder, name);
    }
    for (int i = 0; i < in->gpu_count; i++) {
        int element = in->gpus[i].element, up = in->xml->elements[element].parent;

        in->places[element].node = banyan_topology_add_worker_f(&in->builder, in->gpus[i].host, "g%d", i);
        /* A <pci> that is one GPU is found by its busid, so it has the GPU's node. */
        if (in->places[up].role == GPU)
            in->places[up].node = in->places[element].node;
    }
}

static banyan_status build_cpu(reader *in, banyan_names *cpus, int i, banyan_error *err)
{
    char name[48], host[16] = "";
    int numa, known = cpus->count, id;
    banyan_status status = read_integer(in, i, "numaid", -1, INT_MAX, -1, &numa, err);

    if (status)
        return status;
    if (in->hosts.count > 1)
        snprintf(host, sizeof host, "h%d", in->places[i].host);
    if (numa < 0)
        snprintf(name, sizeof name, "%scpu", host);
    else
        snprintf(name, sizeof name, "%scpu%d", host, numa);
    id = banyan_names_add(cpus, (banyan_word){name, strlen(name)});
    if (id < 0)
        return banyan_fail_memory(err);
    if (id == MAX_CPUS)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: more than %d CPUs", line_of(in, i),
                           MAX_CPUS);
    if (id < known)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "line %d: the NUMA node %d of this host is there already", line_of(in, i), numa);
    in->places[i].node = banyan_topology_add_switch(&in->builder, name);
    return BANYAN_SUCCESS;
}

static banyan_status build_switches(reader *in, banyan_names *cpus, banyan_error *err)
{
    int bridges = 0, nics = 0;
    banyan_status status = BANYAN_SUCCESS;

    for (int i = 0; !status && i < in->xml->element_count; i++) {
        place *self = &in->places[i];

        if (in->builder.topology && in->builder.topology->node_count > BANYAN_IMPORT_MAX_NODES)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: more than %d nodes", line_of(in, i),
                               BANYAN_IMPORT_MAX_NODES);
        if (self->role == CPU) {
            status = build_cpu(in, cpus, i, err);
        } else if (self->role == NIC) {
            self->node = banyan_topology_add_switch_f(&in->builder, "nic%d", nics++);
        } else if (self->role == BRIDGE && self->is_useful) {
            int level = broadcom(in, i, 1);

            if (level && in->places[self->up].role == BRIDGE && broadcom(in, self->up, 0) == level)
                self->node = in->places[self->up].node;
            else
                self->node = banyan_topology_add_switch_f(&in->builder, "pci%d", bridges++);
        }
    }
    return status;
}

static int has_node(const reader *in, int i)
{
    const place *self = &in->places[i];

    if (self->role == GPU)
        return is_element(in, i, "gpu") || !in->has_gpu_elements;
    return self->role == NIC || (self->role == BRIDGE && self->is_useful);
}

static void build_tree(reader *in)
{
    for (int i = 0; i < in->xml->element_count; i++) {
        const place *self = &in->places[i];

        if (has_node(in, i) && self->node != in->places[self->up].node)
            cable(in, self->node, in->places[self->up].node, self->bytes_per_s, BANYAN_HARDWARE_PCIE_S);
    }
}

/* NCCL asks the first of two CPUs for the bandwidth between them. */
static banyan_status build_between_cpus(reader *in, banyan_error *err)
{
    int family, model;
    banyan_status status = BANYAN_SUCCESS;

    for (int i = 0; !status && i < in->xml->element_count; i++) {
        double bytes_per_s;

        if (in->places[i].role != CPU)
            continue;
        status = read_integer(in, i, "familyid", 0, INT_MAX, 0, &family, err);
        if (!status)
            status = read_integer(in, i, "modelid", 0, INT_MAX, 0, &model, err);
        if (status)
            return status;
        bytes_per_s = banyan_hardware_between_cpus(banyan_xml_get(in->xml, i, "arch"),
                                                   banyan_xml_get(in->xml, i, "vendor"), family, model);
        for (int j = in->xml->elements[i].next;
             j < in->xml->elements[in->places[i].up].next && !in->builder.status;
             j = in->xml->elements[j].next)
            if (in->places[j].role == CPU && in->places[j].host == in->places[i].host)
                cable(in, in->places[i].node, in->places[j].node, bytes_per_s,
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

/* The device at the other end, as an element, or -1. */
static banyan_status find_target(const reader *in, int i, int *out, banyan_error *err)
{
    address key = {.system = in->places[i].system, .host = in->places[i].host};
    const address *found;
    banyan_status status = read_busid(in, i, "target", &key.busid, err);

    *out = -1;
    if (status || !in->address_count)
        return status;
    found = bsearch(&key, in->addresses, (size_t)in->address_count, sizeof key, by_busid);
    if (found)
        *out = found->element;
    return BANYAN_SUCCESS;
}

/* The far end of a GPU's link as a node, or -1 where the file does not have it. */
static banyan_status find_partner(reader *in, int i, int *node, double *latency_s, banyan_error *err)
{
    int cpu = in->places[in->places[i].cpu].node, system = in->places[i].system, target;
    banyan_status status = BANYAN_SUCCESS;

    *node = -1;
    *latency_s = BANYAN_HARDWARE_NVLINK_S;
    if (is_element(in, i, "c2c")) {
        *node = cpu;
        return BANYAN_SUCCESS;
    }
    status = find_target(in, i, &target, err);
    if (status)
        return status;
    if (target >= 0 && in->places[target].first_gpu) {
        *node = in->places[target].node;
    } else if (has_class(in, i, "tclass", "0x068001")) { /* a CPU with NVLinks: POWER9 */
        *node = cpu;
    } else if (has_class(in, i, "tclass", "0x0680")) {
        if (!in->nvswitch[system])
            in->nvswitch[system] =
                1 + (in->system_count > 1 ? banyan_topology_add_switch_f(&in->builder, "nvswitch%d", system)
                                          : banyan_topology_add_switch(&in->builder, "nvswitch"));
        *node = in->nvswitch[system] - 1;
        *latency_s = BANYAN_HARDWARE_NVSWITCH_S;
    }
    return BANYAN_SUCCESS;
}

/* One link of this kind, in bytes a second. */
static banyan_status read_rate(const reader *in, int i, double *bytes_per_s, banyan_error *err)
{
    int from = in->xml->elements[i].parent, number;
    banyan_status status;

    if (is_element(in, i, "c2c")) {
        status = banyan_xml_integer(in->xml, i, "bw", 1, INT_MAX, &number, err);
        *bytes_per_s = number * 1e6;
    } else if (is_element(in, i, "xgmi")) {
        status = BANYAN_SUCCESS;
        *bytes_per_s = banyan_hardware_xgmi(banyan_xml_get(in->xml, from, "gcn"));
    } else {
        status = read_integer(in, from, "sm", 0, 9999, 0, &number, err);
        *bytes_per_s = banyan_hardware_nvlink(number);
    }
    return status;
}

static banyan_status read_gpu_link(reader *in, int i, banyan_error *err)
{
    int from = in->xml->elements[i].parent, card = in->xml->elements[from].parent, count, partner;
    double bytes_per_s, latency_s;
    banyan_status status = banyan_xml_integer(in->xml, i, "count", 1, 4096, &count, err);

    /* GPUs that share a card share its links, and each of them lists them. */
    if (status || in->places[card].first_gpu != from)
        return status;
    status = read_rate(in, i, &bytes_per_s, err);
    if (!status)
        status = find_partner(in, i, &partner, &latency_s, err);
    if (status || partner < 0)
        return status;
    if (partner == in->places[card].node && !in->builder.status)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "line %d: the link leads to the GPU that it comes from", line_of(in, i));
    return keep_wire(in, in->places[card].node, partner, count * bytes_per_s, latency_s, err);
}

/* Two bridges that are one PCIe switch inside. */
static banyan_status read_pci_link(reader *in, int i, banyan_error *err)
{
    int from = in->xml->elements[i].parent, target;
    banyan_status status = find_target(in, i, &target, err);

    if (status || target < 0 || in->places[target].role != BRIDGE || !in->places[target].is_useful ||
        !in->places[from].is_useful || in->places[from].node == in->places[target].node)
        return status;
    return keep_wire(in, in->places[from].node, in->places[target].node, BANYAN_HARDWARE_INSIDE_BYTES_PER_S,
                     BANYAN_HARDWARE_PCIE_S, err);
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

    in->nvswitch = banyan_alloc((size_t)in->system_count, sizeof *in->nvswitch);
    if (!in->nvswitch)
        return banyan_fail_memory(err);
    for (int i = 1; !status && i < in->xml->element_count; i++) {
        int from = in->xml->elements[i].parent;

        if (is_element(in, i, "pcilink") && in->places[from].role == BRIDGE)
            status = read_pci_link(in, i, err);
        else if ((is_element(in, i, "nvlink") || is_element(in, i, "xgmi") || is_element(in, i, "c2c")) &&
                 is_element(in, from, "gpu") && in->places[from].role == GPU)
            status = read_gpu_link(in, i, err);
    }
    return status;
}

static banyan_status read_port(reader *in, int i, int net, banyan_error *err)
{
    int nic = in->xml->elements[i].parent, megabits, device, is_used;
    const char *text = banyan_xml_get(in->xml, i, "latency");
    double latency_us = 0, bytes_per_s = BANYAN_HARDWARE_NETWORK_BYTES_PER_S;
    banyan_status status = read_integer(in, i, "speed", -1, INT_MAX, 0, &megabits, err);

    if (!status)
        status = read_integer(in, i, "dev", -1, INT_MAX, -1, &device, err);
    if (!status)
        status = read_integer(in, i, "net", 0, INT_MAX, 1, &is_used, err);
    if (!status && text &&
        (!banyan_word_number((banyan_word){text, strlen(text)}, &latency_us) || latency_us < 0 ||
         latency_us > 1e9))
        status =
            banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                        "line %d: latency=\"%.40s\" is not a number of microseconds", line_of(in, i), text);
    if (in->places[nic].role != NIC)
        nic = in->xml->elements[nic].parent;
    if (status || device < 0 || !is_used || in->places[nic].role != NIC || net < 0)
        return status;
    if (megabits > 0)
        bytes_per_s = megabits * 1e6 / 8;
    cable(in, in->places[nic].node, net, bytes_per_s, BANYAN_HARDWARE_NETWORK_S + latency_us * 1e-6);
    return BANYAN_SUCCESS;
}

/* Ports are checked in any file; one host alone needs no network. */
static banyan_status build_network(reader *in, banyan_error *err)
{
    int net = in->hosts.count > 1 ? banyan_topology_add_switch(&in->builder, "net") : -1;
    banyan_status status = BANYAN_SUCCESS;

    for (int i = 1; !status && i < in->xml->element_count; i++)
        if (is_element(in, i, "net") && is_element(in, in->xml->elements[i].parent, "nic"))
            status = read_port(in, i, net, err);
    return status;
}

static banyan_status read_system(reader *in, const char *text, size_t length, banyan_error *err)
{
    banyan_names cpus = {0};
    banyan_status status = banyan_xml_parse(text, length, &in->xml, err);

    if (!status)
        status = place_all(in, err);
    if (!status && in->gpu_count > BANYAN_IMPORT_MAX_NODES)
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
    status = length ? read_system(&in, text, length, &problem)
                    : banyan_fail(&problem, BANYAN_INVALID_ARGUMENT, "the file is empty");
    if (status)
        banyan_topology_builder_fail(&in.builder, status, "%s", problem.text);
    banyan_xml_destroy(in.xml);
    banyan_names_fini(&in.hosts);
    banyan_free(in.places);
    banyan_free(in.gpus);
    banyan_free(in.addresses);
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
