/* SPDX-License-Identifier: Apache-2.0 */
/* cli/flat_ring.c: algorithms for several levels of a network (hierarchical, blueconnect) fall back to a flat
 * ring where they find none. Whoever compares them should know. */
#include "flat_ring.h"

#include "core/alloc.h"

/* Fills next[node] with the only node that it sends to, or -1; 0 if some node sends to two. */
static int find_successors(const int *src, const int *dst, size_t count, int *next, int nodes)
{
    for (int i = 0; i < nodes; i++)
        next[i] = -1;
    for (size_t i = 0; i < count; i++) {
        if (next[src[i]] >= 0 && next[src[i]] != dst[i])
            return 0;
        next[src[i]] = dst[i];
    }
    return 1;
}

/* Whether the first of these steps that leads back to the start is the last one. */
static int is_circle(const int *next, int start, int steps)
{
    int at = start;

    for (int i = 0; i < steps; i++) {
        at = next[at];
        if (at < 0 || (at == start && i + 1 < steps))
            return 0;
    }
    return at == start;
}

int cli_is_flat_ring(const banyan_schedule *schedule)
{
    banyan_schedule_info info = {.size = sizeof info};
    banyan_schedule_arrays arrays = {.size = sizeof arrays};
    int *next = NULL, found = 0;

    if (banyan_schedule_get_info(schedule, &info, NULL) || info.active_count < 3)
        return 0;
    arrays.src = banyan_alloc(info.transfer_count, sizeof *arrays.src);
    arrays.dst = banyan_alloc(info.transfer_count, sizeof *arrays.dst);
    arrays.active = banyan_alloc((size_t)info.active_count, sizeof *arrays.active);
    next = banyan_alloc((size_t)info.node_count, sizeof *next);
    if (arrays.src && arrays.dst && arrays.active && next &&
        !banyan_schedule_get_arrays(schedule, &arrays, NULL))
        found = find_successors(arrays.src, arrays.dst, info.transfer_count, next, info.node_count) &&
                is_circle(next, arrays.active[0], info.active_count);
    banyan_free(arrays.src);
    banyan_free(arrays.dst);
    banyan_free(arrays.active);
    banyan_free(next);
    return found;
}
