/* SPDX-License-Identifier: Apache-2.0 */
/* topology/nccl_places.h: the first half of import_nccl.c's work: what each element of NCCL's XML stands for
 * and where it hangs. For import_nccl.c alone. */
#ifndef BANYAN_TOPOLOGY_NCCL_PLACES_H
#define BANYAN_TOPOLOGY_NCCL_PLACES_H

#include <stdint.h>

#include "core/xml.h"
#include "topology/names.h"

typedef enum { NOTHING, SYSTEM, CPU, BRIDGE, NIC, GPU } banyan_nccl_role;

typedef struct {
    banyan_nccl_role role;
    int system, host;
    int up;             /* the element that it hangs below: a CPU, a bridge or a NIC */
    int cpu;            /* the CPU above it */
    int is_useful;      /* is there a GPU or a NIC in its subtree? */
    int first_gpu;      /* of a <pci>: its first <gpu>, which speaks for its NVLinks */
    int node;           /* in the topology; import_nccl.c fills it */
    double bytes_per_s; /* of the link upwards */
} banyan_nccl_place;

typedef struct {
    int element, system, rank, host, device;
} banyan_nccl_gpu;

typedef struct {
    int system, host, element;
    uint64_t busid;
} banyan_nccl_address;

typedef struct {
    banyan_xml *xml;
    banyan_nccl_place *places;      /* one per element */
    banyan_nccl_gpu *gpus;          /* in the order of the workers */
    banyan_nccl_address *addresses; /* sorted */
    size_t gpu_capacity, address_capacity;
    int gpu_count, address_count, system_count;
    int has_gpu_elements; /* files for virtual machines have none: <pci> is all they know */
    banyan_names hosts;   /* one name a host; the name itself means nothing */
} banyan_nccl_places;

/* Reads all of it but what is in NVLinks and network ports. Give it zeroes; fini also after a failure. */
banyan_status banyan_nccl_places_read(banyan_nccl_places *in, const char *text, size_t length,
                                      banyan_error *err);
void banyan_nccl_places_fini(banyan_nccl_places *in);

int banyan_nccl_is(const banyan_nccl_places *in, int element, const char *name);
int banyan_nccl_line(const banyan_nccl_places *in, int element);

/* Does the attribute begin so? */
int banyan_nccl_begins(const banyan_nccl_places *in, int element, const char *attribute, const char *prefix);

/* An integer attribute that may be absent. */
banyan_status banyan_nccl_integer(const banyan_nccl_places *in, int element, const char *attribute, int low,
                                  int high, int absent, int *out, banyan_error *err);

/* The <pci> that the attribute target names, or -1. */
banyan_status banyan_nccl_find_target(const banyan_nccl_places *in, int element, int *out, banyan_error *err);

#endif
