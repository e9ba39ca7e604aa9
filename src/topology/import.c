/* SPDX-License-Identifier: Apache-2.0 */
/* topology/import.c: the list of importers. A file is offered to them in this order: AMD's tables before
 * NVIDIA's, whose header they share, and the matrix last, because nearly any text with commas looks like
 * one. */
#include "topology/import.h"

#include <string.h>

static const banyan_importer *const importers[] = {
    &banyan_import_nccl,      &banyan_import_rocm,       &banyan_import_smi,
    &banyan_import_slurm,     &banyan_import_slurm_yaml, &banyan_import_ib,
    &banyan_import_topograph, &banyan_import_nccl_tests, &banyan_import_matrix};

int banyan_importer_count(void)
{
    return (int)(sizeof importers / sizeof *importers);
}

const banyan_importer *banyan_importer_at(int i)
{
    return i >= 0 && i < banyan_importer_count() ? importers[i] : NULL;
}

const banyan_importer *banyan_importer_find(const char *name)
{
    for (int i = 0; i < banyan_importer_count(); i++)
        if (!strcmp(name, importers[i]->name))
            return importers[i];
    return NULL;
}
