/* SPDX-License-Identifier: Apache-2.0 */
/* solve/pack/thin.c: a linear program has about as many trees in its answer as there are full arcs. With a
 * little less rate to reach, fewer arcs are full; and of all the weights that reach it, those are wanted that
 * are 0 on most trees. So the program minimises the sum of all weights, each divided by what it was in the
 * answer before: light trees get expensive and go (Candes, Wakin, Boyd 2008). At the end the pairs that are
 * left are weighed for the most that they can carry. Cost: some ten linear programs. */
#include "solve/pack/thin.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "solve/net/lp.h"

#define LEAST_WEIGHT 1e-9 /* of a pair that counts, in parts of all */

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
            p->weight[tree] <= LEAST_WEIGHT * p->total))
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

        if (share > LEAST_WEIGHT * p->total) {
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

banyan_status banyan_thin_add_pairs(banyan_pair_packing *packing, const banyan_pair_packing *other,
                                    banyan_error *err)
{
    list l = {0};
    banyan_status status = BANYAN_SUCCESS;

    for (size_t t = 0; !status && t < packing->trees.tree_count; t++)
        status = add_tree(&l, packing, t, packing->weight[t], err);
    for (size_t t = 0; !status && t < other->trees.tree_count; t++)
        status = add_tree(&l, other, t, 0, err);
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

typedef struct {
    const banyan_graph *graph;
    const banyan_pair_packing *packing;
    size_t count;  /* of pairs */
    banyan_lp *lp; /* rows: arcs, and what all weigh */
    double unit;
    int *row;
    double *value, *used, *weight;
} scale;

static void scale_fini(scale *s)
{
    banyan_lp_destroy(s->lp);
    banyan_free(s->row);
    banyan_free(s->value);
    banyan_free(s->used);
    banyan_free(s->weight);
}

static banyan_status make_program(scale *s, double least, banyan_error *err)
{
    int arcs = s->graph->arc_count;
    double *lower = banyan_alloc((size_t)arcs + 1, sizeof *lower),
           *upper = banyan_alloc((size_t)arcs + 1, sizeof *upper);
    banyan_status status = lower && upper ? BANYAN_SUCCESS : banyan_fail_memory(err);

    for (int i = 0; !status && i < arcs; i++) {
        lower[i] = -1e300;
        upper[i] = (double)s->graph->arcs[i].capacity / s->unit;
    }
    if (!status) {
        lower[arcs] = least / s->unit;
        upper[arcs] = 1e300;
        status = banyan_lp_create(arcs + 1, lower, upper, &s->lp, err);
    }
    banyan_free(lower);
    banyan_free(upper);
    return status;
}

static void add_pair(scale *s, size_t pair)
{
    const banyan_trees *trees = &s->packing->trees;
    int count = 0;

    for (size_t a = banyan_trees_arcs_begin(trees, 2 * pair);
         a < banyan_trees_arcs_close(trees, 2 * pair + 1); a++) {
        if (s->used[trees->arcs[a]] == 0)
            s->row[count++] = trees->arcs[a];
        s->used[trees->arcs[a]]++;
    }
    for (int i = 0; i < count; i++) {
        s->value[i] = s->used[s->row[i]];
        s->used[s->row[i]] = 0;
    }
    s->row[count] = s->graph->arc_count;
    s->value[count++] = 1;
    banyan_lp_add_column(s->lp, 0, count, s->row, s->value);
}

static banyan_status scale_init(scale *s, double least, banyan_error *err)
{
    size_t entries = (size_t)(s->graph->arc_count + 1);
    banyan_status status;

    s->count = s->packing->trees.tree_count / 2;
    s->row = banyan_alloc(entries, sizeof *s->row);
    s->value = banyan_alloc(entries, sizeof *s->value);
    s->used = banyan_alloc(entries, sizeof *s->used);
    s->weight = banyan_alloc(s->count + 1, sizeof *s->weight);
    if (!s->row || !s->value || !s->used || !s->weight)
        return banyan_fail_memory(err);
    for (int i = 0; i < s->graph->arc_count; i++)
        s->unit = fmax(s->unit, (double)s->graph->arcs[i].capacity);
    status = make_program(s, least, err);
    for (size_t k = 0; !status && k < s->count; k++) {
        add_pair(s, k);
        s->weight[k] = s->packing->weight[2 * k];
    }
    return status;
}

static size_t count_weights(const scale *s)
{
    size_t count = 0;

    for (size_t k = 0; k < s->count; k++)
        count += s->weight[k] > 0;
    return count;
}

static banyan_status weigh(scale *s, banyan_error *err)
{
    banyan_status status = banyan_lp_solve(s->lp, err);

    for (size_t k = 0; !status && k < s->count; k++) {
        double value = banyan_lp_values(s->lp)[k] * s->unit;

        s->weight[k] = value > LEAST_WEIGHT * s->packing->total ? value : 0;
    }
    return status;
}

/* Pairs that weigh nothing stay out, the others carry what they can. */
static banyan_status weigh_most(scale *s, banyan_error *err)
{
    for (size_t k = 0; k < s->count; k++) {
        banyan_lp_set_cost(s->lp, (int)k, 1);
        if (!(s->weight[k] > 0))
            banyan_lp_bound_column(s->lp, (int)k, 0, 0);
    }
    return weigh(s, err);
}

static void take_scale(const scale *s, banyan_pair_packing *packing)
{
    packing->total = 0;
    for (size_t k = 0; k < s->count; k++) {
        packing->weight[2 * k] = packing->weight[2 * k + 1] = s->weight[k];
        packing->total += s->weight[k];
    }
}

/* The lightest pairs, that many of those that weigh something, weigh nothing. */
static void drop_lightest(scale *s, size_t count)
{
    for (; count > 0; count--) {
        size_t lightest = s->count;

        for (size_t k = 0; k < s->count; k++)
            if (s->weight[k] > 0 && (lightest == s->count || s->weight[k] < s->weight[lightest]))
                lightest = k;
        s->weight[lightest] = 0;
    }
}

banyan_status banyan_thin_out(const banyan_graph *graph, int pair_limit, banyan_pair_packing *packing,
                              banyan_error *err)
{
    scale s = {.graph = graph, .packing = packing};
    banyan_status status = scale_init(&s, 0, err);
    size_t limit = (size_t)pair_limit;

    for (size_t count = s.count; !status && (count = count_weights(&s)) > limit;) {
        drop_lightest(&s, (count - limit + 2) / 3);
        status = weigh_most(&s, err);
    }
    if (!status)
        take_scale(&s, packing);
    scale_fini(&s);
    return status;
}
