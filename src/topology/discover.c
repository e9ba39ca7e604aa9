/* SPDX-License-Identifier: Apache-2.0 */
/* topology/discover.c: this machine, or one that lstopo wrote to an XML file, by hwloc. The one file that
 * meets hwloc.
 *
 *     with GPUs                                    without
 *
 *        pkg0 ─────── pkg1     between CPUs           pkg0 ─────── pkg1     between CPUs
 *       /    \         │                             /    \         │
 *     g0    pci0      g3       PCIe               numa0  numa1    numa2     40 GB/s, only where a package has
 *           /  \                                  / | \  / | \    / | \     several NUMA nodes
 *          g1──g2              NVLink, XGMI      c0 c1 c2 c3 ..             10 GB/s a core
 *
 * Workers are the GPUs (PCI display and accelerator devices; consoles' VGA chips do not count), or, where
 * there is none, the cores that we may run on. Packages are switches, cabled pairwise; NUMA nodes are
 * switches below their package where it has several; PCIe bridges are switches where the ways to GPUs part.
 * hwloc tells the PCIe link speed where the system does (else 12 GB/s: generation 3, 16 lanes) and NVLink and
 * XGMI bandwidths where it was built with their libraries. All other figures are assumptions: a core copies
 * 10 GB/s with 0.1 us, NUMA nodes of one package exchange 40 GB/s with 0.1 us, packages what hardware.c says
 * of unknown CPUs.
 *
 * In containers hwloc shows what the cgroup allows. Where it shows nothing at all, we count processors and
 * hang them on one switch, so that there is always an answer. */
#include <hwloc.h>
#include <string.h>
#include <unistd.h>

#include "core/alloc.h"
#include "topology/build.h"
#include "topology/hardware.h"
#include "topology/import.h"
#include "topology/scan.h"

static const double core_bytes_per_s = 10e9, core_s = 0.1e-6, numa_bytes_per_s = 40e9, numa_s = 0.1e-6;

/* An hwloc object that has a node. */
typedef struct {
    hwloc_obj_t object;
    int node;
} placed;

typedef struct {
    hwloc_topology_t machine;
    placed *list;
    size_t capacity;
    int count;
    int packages, numas, bridges;
    banyan_topology_builder builder;
} finder;

static int find_node(const finder *in, hwloc_obj_t object)
{
    for (int i = 0; i < in->count; i++)
        if (in->list[i].object == object)
            return in->list[i].node;
    return -1;
}

static int keep_node(finder *in, hwloc_obj_t object, int node)
{
    void *list = in->list;

    if (!banyan_grow(&list, (size_t)in->count, &in->capacity, sizeof *in->list)) {
        banyan_topology_builder_fail(&in->builder, BANYAN_SYSTEM_ERROR, "out of memory");
        return -1;
    }
    in->list = list;
    in->list[in->count++] = (placed){object, node};
    return node;
}

/* The package that holds the object; the machine itself stands for it where there is none. */
static hwloc_obj_t package_of(const finder *in, hwloc_obj_t object)
{
    hwloc_obj_t package = object->type == HWLOC_OBJ_PACKAGE
                              ? object
                              : hwloc_get_ancestor_obj_by_type(in->machine, HWLOC_OBJ_PACKAGE, object);

    /* A device that hangs on the whole machine goes to the first package. */
    if (!package && hwloc_get_nbobjs_by_type(in->machine, HWLOC_OBJ_PACKAGE) > 0)
        package = hwloc_get_obj_by_type(in->machine, HWLOC_OBJ_PACKAGE, 0);
    return package ? package : hwloc_get_root_obj(in->machine);
}

static int package_node(finder *in, hwloc_obj_t object)
{
    hwloc_obj_t package = package_of(in, object);
    int node = find_node(in, package), first = in->count;

    if (node >= 0 || in->builder.status)
        return node;
    node = keep_node(in, package, banyan_topology_add_switch_f(&in->builder, "pkg%d", in->packages++));
    for (int i = 0; i < first; i++)
        if (in->list[i].object->type == HWLOC_OBJ_PACKAGE)
            banyan_topology_add_cable(&in->builder, in->list[i].node, node,
                                      banyan_hardware_between_cpus(NULL, NULL, 0, 0),
                                      BANYAN_HARDWARE_BETWEEN_CPUS_S);
    return node;
}

/* Where a core hangs: its NUMA node if its package has several, else the package. */
static int numa_node(finder *in, hwloc_obj_t core)
{
    hwloc_obj_t package = package_of(in, core), numa;
    int up = package_node(in, core), node;

    if (!core->nodeset || !package->nodeset || hwloc_bitmap_weight(package->nodeset) < 2)
        return up;
    numa = hwloc_get_numanode_obj_by_os_index(in->machine, (unsigned)hwloc_bitmap_first(core->nodeset));
    if (!numa)
        return up;
    node = find_node(in, numa);
    if (node >= 0 || in->builder.status)
        return node;
    node = keep_node(in, numa, banyan_topology_add_switch_f(&in->builder, "numa%d", in->numas++));
    banyan_topology_add_cable(&in->builder, node, up, numa_bytes_per_s, numa_s);
    return node;
}

static void build_cores(finder *in, int host)
{
    hwloc_obj_type_t type =
        hwloc_get_nbobjs_by_type(in->machine, HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
    int count = hwloc_get_nbobjs_by_type(in->machine, type);

    count = count > BANYAN_IMPORT_MAX_NODES / 2 ? BANYAN_IMPORT_MAX_NODES / 2 : count;
    for (int i = 0; i < count; i++)
        banyan_topology_add_worker_f(&in->builder, host, "c%d", i);
    for (int i = 0; i < count; i++)
        banyan_topology_add_cable(&in->builder, i,
                                  numa_node(in, hwloc_get_obj_by_type(in->machine, type, (unsigned)i)),
                                  core_bytes_per_s, core_s);
}

/* 3D controllers, other display devices and accelerators; of VGA devices only those of NVIDIA and AMD. */
static int is_gpu(hwloc_obj_t device)
{
    unsigned kind = device->attr->pcidev.class_id, vendor = device->attr->pcidev.vendor_id;

    return kind == 0x0302 || kind == 0x0380 || kind >> 8 == 0x12 ||
           (kind == 0x0300 && (vendor == 0x10de || vendor == 0x1002));
}

static int is_pci_bridge(hwloc_obj_t object)
{
    return object->type == HWLOC_OBJ_BRIDGE && object->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_PCI;
}

/* GPUs below an object of the I/O tree. */
static int count_gpus(const finder *in, hwloc_obj_t object)
{
    int count = 0;

    for (int i = 0; i < in->count; i++) {
        hwloc_obj_t at = in->list[i].object;

        while (at && at != object)
            at = at->parent;
        count += at != NULL && in->list[i].object->type == HWLOC_OBJ_PCI_DEVICE;
    }
    return count;
}

static double pcie_bytes_per_s(hwloc_obj_t object)
{
    float gigabytes =
        is_pci_bridge(object) ? object->attr->bridge.upstream.pci.linkspeed : object->attr->pcidev.linkspeed;

    return gigabytes > 0.01f && gigabytes < 10000 ? (double)gigabytes * 1e9 : banyan_hardware_pcie(0, 0);
}

/* Hangs the object below the nearest bridge where the ways to GPUs part, or below its package. */
static void hang(finder *in, hwloc_obj_t object, int node)
{
    int below = count_gpus(in, object), up = -1;
    hwloc_obj_t at = object->parent;

    for (; at && up < 0 && (at->type == HWLOC_OBJ_BRIDGE); at = at->parent) {
        if (!is_pci_bridge(at) || count_gpus(in, at) == below)
            continue;
        up = find_node(in, at);
        if (up < 0 && !in->builder.status) {
            up = keep_node(in, at, banyan_topology_add_switch_f(&in->builder, "pci%d", in->bridges++));
            hang(in, at, up);
        }
        break;
    }
    if (up < 0)
        up = package_node(in, hwloc_get_non_io_ancestor_obj(in->machine, object));
    banyan_topology_add_cable(&in->builder, node, up, pcie_bytes_per_s(object), BANYAN_HARDWARE_PCIE_S);
}

static int build_gpus(finder *in, int host)
{
    int count = 0;

    for (hwloc_obj_t device = hwloc_get_next_pcidev(in->machine, NULL); device && count < 1024;
         device = hwloc_get_next_pcidev(in->machine, device))
        if (is_gpu(device)) {
            keep_node(in, device, banyan_topology_add_worker_f(&in->builder, host, "g%d", count));
            count++;
        }
    for (int i = 0; i < count && !in->builder.status; i++)
        hang(in, in->list[i].object, in->list[i].node);
    return count;
}

/* The node of an object in a table of bandwidths: a GPU behind its OS device, or else a switch between
 * GPUs. */
static int end_node(const finder *in, hwloc_obj_t object, int hub)
{
    int node = -1;

    for (hwloc_obj_t at = object; at && node < 0; at = at->parent)
        if (at->type == HWLOC_OBJ_PCI_DEVICE)
            node = find_node(in, at);
    return node >= 0 ? node : hub;
}

/* NVLinks or XGMI, in MB/s a pair. All switches between GPUs are one. */
static void build_peers(finder *in, const char *table, const char *hub_name)
{
    struct hwloc_distances_s *distances;
    unsigned found = 1;
    int hub = -1;

    if (hwloc_distances_get_by_name(in->machine, table, &found, &distances, 0) || !found)
        return;
    for (unsigned i = 0; i < distances->nbobjs && hub < 0; i++)
        if (distances->objs[i] && end_node(in, distances->objs[i], -1) < 0)
            hub = banyan_topology_add_switch(&in->builder, hub_name);
    for (unsigned i = 0; i < distances->nbobjs; i++)
        for (unsigned j = 0; j < distances->nbobjs; j++) {
            hwloc_uint64_t megabytes = distances->values[(size_t)i * distances->nbobjs + j];
            int src = distances->objs[i] ? end_node(in, distances->objs[i], hub) : -1;
            int dst = distances->objs[j] ? end_node(in, distances->objs[j], hub) : -1;

            if (src >= 0 && dst >= 0 && src != dst && megabytes > 0 && megabytes < 100000000)
                banyan_topology_add_link(&in->builder, src, dst, (double)megabytes * 1e6,
                                         hub < 0 ? BANYAN_HARDWARE_NVLINK_S : BANYAN_HARDWARE_NVSWITCH_S);
        }
    hwloc_distances_release(in->machine, distances);
}

/* No hwloc: the processors that are online, on one switch. */
static void build_flat(finder *in, int host)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    int count = online < 1 ? 1 : online > 4096 ? 4096 : (int)online, hub;

    for (int i = 0; i < count; i++)
        banyan_topology_add_worker_f(&in->builder, host, "c%d", i);
    hub = banyan_topology_add_switch(&in->builder, "pkg0");
    for (int i = 0; i < count; i++)
        banyan_topology_add_cable(&in->builder, i, hub, core_bytes_per_s, core_s);
}

static int load(hwloc_topology_t *machine)
{
    if (hwloc_topology_init(machine))
        return 0;
    /* GPUs are found on the PCI bus; these two start drivers and talk to displays. */
    hwloc_topology_set_components(*machine, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "opencl");
    hwloc_topology_set_components(*machine, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "gl");
    hwloc_topology_set_io_types_filter(*machine, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    if (!hwloc_topology_load(*machine))
        return 1;
    hwloc_topology_destroy(*machine);
    return 0;
}

banyan_status banyan_topology_discover(banyan_topology **out, banyan_error *err)
{
    finder in = {0};
    int is_loaded, host;

    if (!out)
        return banyan_fail_null("out", err);
    is_loaded = load(&in.machine);
    banyan_topology_builder_init(&in.builder, "discovered");
    host = banyan_topology_add_host(&in.builder, "h0");
    if (!is_loaded || hwloc_get_nbobjs_by_type(in.machine, HWLOC_OBJ_PU) < 1) {
        build_flat(&in, host);
    } else if (build_gpus(&in, host)) {
        build_peers(&in, "NVLinkBandwidth", "nvswitch");
        build_peers(&in, "XGMIBandwidth", "xgmi");
    } else {
        build_cores(&in, host);
    }
    if (is_loaded)
        hwloc_topology_destroy(in.machine);
    banyan_free(in.list);
    return banyan_topology_builder_finish(&in.builder, out, err);
}
