/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the reader of what ibnetdiscover prints: any bytes give a topology or a sentence. */
#include <stdint.h>
#include <stdlib.h>

#include "topology/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    banyan_topology *topology;
    banyan_error err = {{0}};

    banyan_import_ib.looks_like((const char *)data, size);
    if (banyan_import_ib.parse((const char *)data, size, &topology, &err) ? !*err.text || topology
                                                                          : !topology)
        abort();
    banyan_topology_destroy(topology);
    return 0;
}
