/* SPDX-License-Identifier: Apache-2.0 */
/* solve/pack/weigh.c: prices of the arcs, the least in all by which every pair costs 1: this program has a
 * row a pair, so it is much smaller than that of the weights, which are what its rows are worth. Where most
 * trees are as they were the last time, it begins with those prices. */
#include "solve/pack/weigh.h"

#include <math.h>

#include "core/alloc.h"
#include "core/scratch.h"
#include "solve/start/pair_tools.h"

/* Which pairs use each arc, and how often. */
typedef struct {
    int *first, *latest; /* per arc: where its users begin, and the latest found */
    int *pair;           /* users of all arcs, one after the other, */
    double *value;       /* and how often each uses it */
    banyan_scratch memory;
} users;

static void list_users(users *u, int arcs, const banyan_trees *trees)
{
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < arcs; i++)
            u->latest[i] = -1;
        for (int k = 0; k < (int)(trees->tree_count / 2); k++)
            for (size_t a = banyan_trees_arcs_begin(trees, 2 * (size_t)k);
                 a < banyan_trees_arcs_close(trees, 2 * (size_t)k + 1); a++) {
                int arc = trees->arcs[a], is_new = u->latest[arc] != k;

                u->latest[arc] = k;
                if (pass == 0) {
                    u->first[arc + 1] += is_new;
                } else if (is_new) {
                    u->pair[u->first[arc]] = k;
                    u->value[u->first[arc]++] = 1;
                } else {
                    u->value[u->first[arc] - 1]++;
                }
            }
        for (int i = 0; pass == 0 && i < arcs; i++)
            u->first[i + 1] += u->first[i];
    }
    for (int i = arcs; i > 0; i--)
        u->first[i] = u->first[i - 1];
    u->first[0] = 0;
}

static banyan_status users_init(users *u, const banyan_graph *graph, const banyan_trees *trees,
                                banyan_error *err)
{
    size_t arcs = (size_t)graph->arc_count;

    u->first = banyan_scratch_take(&u->memory, arcs + 1, sizeof *u->first);
    u->latest = banyan_scratch_take(&u->memory, arcs, sizeof *u->latest);
    u->pair = banyan_scratch_take(&u->memory, trees->arc_count, sizeof *u->pair);
    u->value = banyan_scratch_take(&u->memory, trees->arc_count, sizeof *u->value);
    if (u->memory.failed)
        return banyan_fail_memory(err);
    list_users(u, graph->arc_count, trees);
    return BANYAN_SUCCESS;
}

banyan_status banyan_weigh_pairs(const banyan_graph *graph, double unit, const banyan_trees *trees,
                                 banyan_lp **like, double *weight, double *total, banyan_error *err)
{
    int pairs = (int)(trees->tree_count / 2);
    double *lower = banyan_alloc((size_t)pairs, sizeof *lower);
    users u = {0};
    banyan_lp *lp = NULL;
    banyan_status status = lower ? users_init(&u, graph, trees, err) : banyan_fail_memory(err);

    for (int k = 0; !status && k < pairs; k++)
        lower[k] = 1;
    if (!status)
        status = banyan_lp_create(pairs, lower, NULL, &lp, err);
    for (int i = 0; !status && i < graph->arc_count; i++)
        banyan_lp_add_column(lp, -(double)graph->arcs[i].capacity / unit, u.first[i + 1] - u.first[i],
                             u.pair + u.first[i], u.value + u.first[i]);
    if (!status && *like)
        banyan_lp_begin_like(lp, *like);
    if (!status)
        status = banyan_lp_solve(lp, err);
    *total = 0;
    for (int k = 0; !status && k < pairs; k++)
        *total += weight[k] = fmax(0, -banyan_lp_price(lp, k)) * unit;
    banyan_lp_destroy(*like);
    *like = lp;
    banyan_free(lower);
    banyan_scratch_free(&u.memory);
    return status;
}

banyan_status banyan_weigh_trees(const banyan_graph *graph, double unit, const banyan_trees *trees,
                                 banyan_pair_packing *packing, banyan_error *err)
{
    double *weight = banyan_alloc(trees->tree_count, sizeof *weight);
    banyan_lp *lp = NULL;
    banyan_status status =
        weight ? banyan_pair_tools_mirror(graph, trees, weight, packing, err) : banyan_fail_memory(err);

    if (!status)
        status = banyan_weigh_pairs(graph, unit, &packing->trees, &lp, weight, &packing->total, err);
    for (size_t t = 0; !status && t < packing->trees.tree_count; t++)
        packing->weight[t] = weight[t / 2];
    banyan_lp_destroy(lp);
    banyan_free(weight);
    return status;
}
