/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/hierarchy_tree.c: building the tree in the order of a walk from the root, and its shape. */
#include <string.h>

#include "algorithms/hierarchy.h"
#include "core/alloc.h"

void banyan_hierarchy_fini(banyan_hierarchy *hierarchy)
{
    banyan_free(hierarchy->parent);
    banyan_free(hierarchy->end);
    banyan_free(hierarchy->rank);
    banyan_free(hierarchy->depth);
    banyan_free(hierarchy->degree);
    *hierarchy = (banyan_hierarchy){.open_node = -1};
}

static int grow_all(banyan_hierarchy *hierarchy)
{
    int **arrays[] = {&hierarchy->parent, &hierarchy->end, &hierarchy->rank, &hierarchy->depth,
                      &hierarchy->degree};
    size_t capacity = hierarchy->capacity;

    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        void *array = *arrays[i];

        capacity = hierarchy->capacity;
        if (!banyan_grow(&array, (size_t)hierarchy->node_count, &capacity, sizeof(int)))
            return 0;
        *arrays[i] = array;
    }
    hierarchy->capacity = capacity;
    return 1;
}

static int add_node(banyan_hierarchy *hierarchy, int rank)
{
    int node = hierarchy->node_count, parent = hierarchy->open_node;

    if (!grow_all(hierarchy))
        return 0;
    hierarchy->parent[node] = parent;
    hierarchy->end[node] = node + 1;
    hierarchy->rank[node] = rank;
    hierarchy->depth[node] = parent < 0 ? 0 : hierarchy->depth[parent] + 1;
    hierarchy->degree[node] = 0;
    if (parent >= 0)
        hierarchy->degree[parent]++;
    hierarchy->node_count++;
    return 1;
}

int banyan_hierarchy_open(banyan_hierarchy *hierarchy)
{
    if (!add_node(hierarchy, -1))
        return 0;
    hierarchy->open_node = hierarchy->node_count - 1;
    return 1;
}

int banyan_hierarchy_leaf(banyan_hierarchy *hierarchy, int rank)
{
    return add_node(hierarchy, rank);
}

void banyan_hierarchy_close(banyan_hierarchy *hierarchy)
{
    hierarchy->end[hierarchy->open_node] = hierarchy->node_count;
    hierarchy->open_node = hierarchy->parent[hierarchy->open_node];
}

int banyan_hierarchy_depth(const banyan_hierarchy *hierarchy)
{
    int depth = 0;

    for (int node = 0; node < hierarchy->node_count; node++)
        if (hierarchy->rank[node] < 0 && hierarchy->depth[node] > depth)
            depth = hierarchy->depth[node];
    return depth;
}

int banyan_hierarchy_shape(const banyan_hierarchy *hierarchy, int *degrees, int most)
{
    int levels = banyan_hierarchy_depth(hierarchy) + 1;

    if (levels > most)
        return 0;
    memset(degrees, 0, (size_t)levels * sizeof *degrees);
    for (int node = 0; node < hierarchy->node_count; node++) {
        int depth = hierarchy->depth[node];

        if (hierarchy->rank[node] >= 0) {
            if (depth != levels)
                return 0;
        } else if (degrees[depth] && degrees[depth] != hierarchy->degree[node]) {
            return 0;
        } else {
            degrees[depth] = hierarchy->degree[node];
        }
    }
    return levels;
}
