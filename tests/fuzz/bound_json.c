/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a bound of a small network: read or refused, and judged without harm. */
#include <stdint.h>

#include "bound/json.h"
#include "core/alloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    banyan_topology *topology;
    banyan_bound bound;
    banyan_error err;
    int *active, count, claims_tight;

    if (banyan_topology_load("hosts:1+2", &topology, &err))
        return 0;
    if (!banyan_bound_parse((const char *)data, size, topology, &active, &count, &bound, &err)) {
        banyan_bound_check_certificate(topology, active, count, &bound, &err);
        banyan_bound_fini(&bound);
        banyan_free(active);
    }
    banyan_bound_check((const char *)data, size, topology, &claims_tight, &err);
    banyan_topology_destroy(topology);
    return 0;
}
