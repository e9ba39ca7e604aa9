/* SPDX-License-Identifier: Apache-2.0 */
/* solve/oracle/pair_oracle.c: trees of each kind through a closure of its own, on the nodes that may branch
 * in it (solve/oracle/steiner.h); the cheapest ones by tables, lists or, where these do not reach, a search
 * (solve/oracle/branch_and_bound.h). */
#include "solve/oracle/pair_oracle.h"

#include <string.h>

#include "core/alloc.h"

void banyan_pair_oracle_fini(banyan_pair_oracle *o)
{
    banyan_steiner_destroy(o->in_steiner);
    banyan_steiner_destroy(o->out_steiner);
    banyan_closure_fini(&o->in);
    banyan_closure_fini(&o->out);
    banyan_branch_and_bound_destroy(o->in_search);
    banyan_branch_and_bound_destroy(o->out_search);
    banyan_trees_fini(&o->found);
    banyan_free(o->root);
}

banyan_status banyan_pair_oracle_init(banyan_pair_oracle *o, const banyan_graph *graph, banyan_error *err)
{
    const unsigned both = BANYAN_NODE_ADDS | BANYAN_NODE_COPIES;
    banyan_status status;

    memset(o, 0, sizeof *o);
    o->graph = graph;
    o->root = banyan_alloc((size_t)graph->node_count, sizeof(int));
    if (!o->root)
        return banyan_fail_memory(err);
    for (int v = 0; v < graph->node_count; v++)
        if ((graph->role[v] & both) == both)
            o->root[o->root_count++] = v;
    status = banyan_closure_init(&o->in, graph, BANYAN_NODE_ADDS, err);
    if (!status)
        status = banyan_closure_init(&o->out, graph, BANYAN_NODE_COPIES, err);
    if (!status)
        status = banyan_steiner_create(&o->in, &o->in_steiner, err);
    if (!status)
        status = banyan_steiner_create(&o->out, &o->out_steiner, err);
    return status;
}

banyan_status banyan_pair_oracle_allow_search(banyan_pair_oracle *o, int effort, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    if (!banyan_steiner_is_exact(o->in_steiner))
        status = banyan_branch_and_bound_create_rooted(o->graph, 1, effort, &o->in_search, err);
    if (!status && !banyan_steiner_is_exact(o->out_steiner))
        status = banyan_branch_and_bound_create_rooted(o->graph, 0, effort, &o->out_search, err);
    return status;
}

int banyan_pair_oracle_is_exact(const banyan_pair_oracle *o)
{
    return (o->in_search || banyan_steiner_is_exact(o->in_steiner)) &&
           (o->out_search || banyan_steiner_is_exact(o->out_steiner));
}

int banyan_pair_oracle_is_slow(const banyan_pair_oracle *o)
{
    return banyan_steiner_is_slow(o->in_steiner) || banyan_steiner_is_slow(o->out_steiner);
}

static void measure(banyan_closure *closure, banyan_steiner *steiner, int towards, int quick,
                    const int64_t *price)
{
    banyan_closure_measure(closure, price);
    if (quick)
        banyan_steiner_turn(steiner, towards);
    else
        banyan_steiner_prepare(steiner, towards);
}

void banyan_pair_packing_measure_in(banyan_pair_oracle *o, const int64_t *price)
{
    measure(&o->in, o->in_steiner, 1, o->quick, price);
    o->in_price = price;
}

void banyan_pair_packing_measure_out(banyan_pair_oracle *o, const int64_t *price)
{
    measure(&o->out, o->out_steiner, 0, o->quick, price);
    o->out_price = price;
}

static int64_t find_tree(const banyan_pair_oracle *o, banyan_steiner *steiner, int root, banyan_trees *trees)
{
    return o->quick ? banyan_steiner_quick_tree(steiner, root, o->careful, trees)
                    : banyan_steiner_tree(steiner, root, trees);
}

/* A cheap tree of that cost is there, the latest one; one that is cheaper than all others takes its place. */
static int64_t search_tree(banyan_pair_oracle *o, banyan_branch_and_bound *search, int root,
                           const int64_t *price, int64_t cost, banyan_trees *trees)
{
    if (o->quick || !search || cost < 0)
        return cost;
    cost = banyan_branch_and_bound_search_rooted(search, root, price, cost, trees ? &o->found : NULL);
    if (o->found.tree_count) {
        banyan_trees_drop_last(trees);
        banyan_trees_copy(trees, &o->found, 0);
        banyan_trees_drop_last(&o->found);
        trees->failed |= o->found.failed;
    }
    return cost;
}

int64_t banyan_pair_packing_in_tree(banyan_pair_oracle *o, int root, banyan_trees *trees)
{
    int64_t cost = find_tree(o, o->in_steiner, o->in.index[root], trees);

    return search_tree(o, o->in_search, root, o->in_price, cost, trees);
}

int64_t banyan_pair_packing_out_tree(banyan_pair_oracle *o, int root, banyan_trees *trees)
{
    int64_t cost = find_tree(o, o->out_steiner, o->out.index[root], trees);

    return search_tree(o, o->out_search, root, o->out_price, cost, trees);
}
