/* SPDX-License-Identifier: Apache-2.0 */
/* bootstrap/join_tree.c: an array of ranks in order of arrival, of which a prefix has no room left. Adding is
 * O(1) amortised; removing is one pass over the array, in which parents come before their children. */
#include "bootstrap/join_tree.h"

#include "core/alloc.h"

banyan_status banyan_join_tree_init(banyan_join_tree *tree, int size, banyan_error *err)
{
    *tree = (banyan_join_tree){.size = size,
                               .nodes = banyan_alloc((size_t)size, sizeof *tree->nodes),
                               .order = banyan_alloc((size_t)size, sizeof *tree->order)};
    if (tree->nodes && tree->order)
        return BANYAN_SUCCESS;
    banyan_join_tree_fini(tree);
    return banyan_fail_memory(err);
}

void banyan_join_tree_fini(banyan_join_tree *tree)
{
    banyan_free(tree->nodes);
    banyan_free(tree->order);
    *tree = (banyan_join_tree){0};
}

static int is_open(const banyan_join_node *node)
{
    return !node->is_leaf && node->child_count < BANYAN_JOIN_CHILDREN;
}

static int find_parent(banyan_join_tree *tree, int visit)
{
    if (tree->root_child_count < (visit > 1 ? BANYAN_JOIN_ROOT_CHILDREN : BANYAN_JOIN_CHILDREN))
        return BANYAN_JOIN_ROOT;
    while (tree->first_open < tree->count && !is_open(&tree->nodes[tree->order[tree->first_open]]))
        tree->first_open++;
    return tree->first_open < tree->count ? tree->order[tree->first_open] : BANYAN_JOIN_ROOT;
}

static int *child_count_of(banyan_join_tree *tree, int parent)
{
    return parent == BANYAN_JOIN_ROOT ? &tree->root_child_count : &tree->nodes[parent].child_count;
}

int banyan_join_tree_add(banyan_join_tree *tree, int rank, int visit, int is_leaf)
{
    int parent = find_parent(tree, visit);

    tree->nodes[rank] = (banyan_join_node){.visit = visit, .parent = parent, .is_leaf = is_leaf};
    tree->order[tree->count++] = rank;
    (*child_count_of(tree, parent))++;
    return parent;
}

void banyan_join_tree_remove(banyan_join_tree *tree, int rank)
{
    int kept = 0;

    tree->nodes[rank].visit = 0;
    for (int i = 0; i < tree->count; i++) {
        banyan_join_node *node = &tree->nodes[tree->order[i]];

        if (node->parent != BANYAN_JOIN_ROOT && !tree->nodes[node->parent].visit)
            node->visit = 0;
        if (node->visit)
            tree->order[kept++] = tree->order[i];
        else
            (*child_count_of(tree, node->parent))--;
    }
    tree->count = kept;
    tree->first_open = 0;
}
