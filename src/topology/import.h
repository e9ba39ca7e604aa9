/* SPDX-License-Identifier: Apache-2.0 */
/* topology/import.h: networks written down by others. Each reader takes a whole text and gives a topology. */
#ifndef BANYAN_TOPOLOGY_IMPORT_H
#define BANYAN_TOPOLOGY_IMPORT_H

#include "topology/topology.h"

typedef struct {
    const char *name; /* as in 'topo convert --from NAME' */
    const char *summary;
    const char *extension;                              /* a file name that ends so is probably this */
    int (*looks_like)(const char *text, size_t length); /* by the first bytes */
    banyan_status (*parse)(const char *text, size_t length, banyan_topology **out, banyan_error *err);
} banyan_importer;

extern const banyan_importer banyan_import_nccl;       /* NCCL_TOPO_DUMP_FILE's XML */
extern const banyan_importer banyan_import_matrix;     /* N x N bandwidths, Gbit/s, CSV */
extern const banyan_importer banyan_import_slurm;      /* topology.conf */
extern const banyan_importer banyan_import_smi;        /* nvidia-smi topo -m */
extern const banyan_importer banyan_import_slurm_yaml; /* topology.yaml */
extern const banyan_importer banyan_import_topograph;  /* NVIDIA Topograph's instances, JSON */
extern const banyan_importer banyan_import_ib;         /* ibnetdiscover */
extern const banyan_importer banyan_import_rocm;       /* rocm-smi --showtopo */
extern const banyan_importer banyan_import_nccl_tests; /* measured rates, JSON */

/* All importers, in the order in which a file is offered to them. */
int banyan_importer_count(void);
const banyan_importer *banyan_importer_at(int i);
const banyan_importer *banyan_importer_find(const char *name); /* NULL: none */

#endif
