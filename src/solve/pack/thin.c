/* SPDX-License-Identifier: Apache-2.0 */
/* solve/pack/thin.c: trees of a linear program become pairs, root by root, and the lightest of these go. What
 * that loses, rebalancing makes up for (solve/round/rebalance.h). */
#include "solve/pack/thin.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "solve/net/tolerance.h"

typedef struct {
    banyan_trees trees;
    banyan_tree_kind *kind;
    int *root;
    double *weight;
    size_t capacity, root_capacity, weight_capacity;
} list;

static void list_fini(list *l)
{
    banyan_trees_fini(&l->trees);
    banyan_free(l->kind);
    banyan_free(l->root);
    banyan_free(l->weight);
}

static banyan_status add_tree(list *l, const banyan_pair_packing *from, size_t tree, double weight,
                              banyan_error *err)
{
    size_t at = l->trees.tree_count;

    if (!banyan_grow((void **)&l->kind, at, &l->capacity, sizeof *l->kind) ||
        !banyan_grow((void **)&l->root, at, &l->root_capacity, sizeof *l->root) ||
        !banyan_grow((void **)&l->weight, at, &l->weight_capacity, sizeof *l->weight))
        return banyan_fail_memory(err);
    banyan_trees_copy(&l->trees, &from->trees, tree);
    if (l->trees.failed)
        return banyan_fail_memory(err);
    l->kind[at] = from->kind[tree];
    l->root[at] = from->root[tree];
    l->weight[at] = weight;
    return BANYAN_SUCCESS;
}

static void take_list(banyan_pair_packing *packing, list *l)
{
    banyan_pair_packing_replace(packing, l->kind, l->root, l->weight, &l->trees);
    memset(l, 0, sizeof *l);
}

/* The next tree of the kind at the root that weighs something, from this one on. */
static size_t next_tree(const banyan_pair_packing *p, size_t tree, int root, int is_in)
{
    while (tree < p->trees.tree_count &&
           (p->root[tree] != root || (p->kind[tree] == BANYAN_TREE_IN) != is_in ||
            p->weight[tree] <= BANYAN_SAME * p->total))
        tree++;
    return tree;
}

/* At the root, weights of the in-trees laid end to end against the out-trees': every overlap is a pair. */
static banyan_status pair_at(const banyan_pair_packing *p, int root, list *l, banyan_error *err)
{
    size_t in = next_tree(p, 0, root, 1), out = next_tree(p, 0, root, 0), count = p->trees.tree_count;
    double in_used = 0, out_used = 0;
    banyan_status status = BANYAN_SUCCESS;

    while (!status && in < count && out < count) {
        double in_left = p->weight[in] - in_used, out_left = p->weight[out] - out_used,
               share = fmin(in_left, out_left);

        if (share > BANYAN_SAME * p->total) {
            status = add_tree(l, p, in, share, err);
            if (!status)
                status = add_tree(l, p, out, share, err);
        }
        in_used += share;
        out_used += share;
        if (in_left <= out_left) {
            in = next_tree(p, in + 1, root, 1);
            in_used = 0;
        }
        if (out_left <= in_left) {
            out = next_tree(p, out + 1, root, 0);
            out_used = 0;
        }
    }
    return status;
}

banyan_status banyan_thin_make_pairs(const banyan_graph *graph, banyan_pair_packing *packing,
                                     banyan_error *err)
{
    list l = {0};
    banyan_status status = BANYAN_SUCCESS;

    for (int v = 0; !status && v < graph->node_count; v++)
        status = pair_at(packing, v, &l, err);
    if (!status)
        take_list(packing, &l);
    list_fini(&l);
    return status;
}

banyan_status banyan_thin_keep_heaviest(int pair_limit, banyan_pair_packing *packing, banyan_error *err)
{
    list l = {0};
    size_t count = packing->trees.tree_count / 2;
    const double *weight = packing->weight;
    banyan_status status = BANYAN_SUCCESS;

    for (size_t k = 0; !status && k < count; k++) {
        int heavier = 0;

        for (size_t j = 0; j < count; j++)
            heavier += weight[2 * j] > weight[2 * k] || (!(weight[2 * j] < weight[2 * k]) && j < k);
        for (size_t t = 2 * k; !status && heavier < pair_limit && t < 2 * k + 2; t++)
            status = add_tree(&l, packing, t, weight[t], err);
    }
    if (!status)
        take_list(packing, &l);
    list_fini(&l);
    return status;
}
