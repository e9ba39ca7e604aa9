/* SPDX-License-Identifier: Apache-2.0 */
/* calls/memory.c: memory for vectors that the ranks of a host reach in place (transport/shared.h). */
#include <banyan/banyan.h>

#include "transport/shared.h"

banyan_status banyan_mem_alloc(void **memory, size_t bytes)
{
    return memory ? banyan_shared_memory_alloc(bytes, memory, NULL) : BANYAN_INVALID_ARGUMENT;
}

banyan_status banyan_mem_free(void *memory)
{
    return banyan_shared_memory_free(memory, NULL);
}
