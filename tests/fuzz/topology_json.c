/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a topology: what is accepted must write and read back as the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "topology/topology.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    banyan_topology *topology, *again;
    banyan_error err;
    char *text, first[17], second[17];

    if (banyan_topology_parse((const char *)data, size, &topology, &err))
        return 0;
    if (banyan_topology_format(topology, &text, &err) ||
        banyan_topology_parse(text, strlen(text), &again, &err))
        abort();
    banyan_topology_digest(topology, first);
    banyan_topology_digest(again, second);
    if (strcmp(first, second) != 0)
        abort();
    banyan_free(text);
    banyan_topology_destroy(topology);
    banyan_topology_destroy(again);
    return 0;
}
