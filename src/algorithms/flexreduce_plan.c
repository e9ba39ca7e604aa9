/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/flexreduce_plan.c: shares level by level, from the leaves to the root.
 *
 * A branch of degree m leaves each rank below it 1/m of its share, or what its child's links deserve where
 * these differ. The new shares follow one another in the order of the old ones' ends, so that each mostly
 * lies within the old one; ranks below a child always share out the whole vector, so exactly one of them
 * holds any item. Shares are whole numbers: `whole` is the least multiple of all products of degrees (or
 * weights), so nothing is rounded unless that passes 2^40, and then only to its units. */
#include "algorithms/flexreduce_plan.h"

#include <string.h>

#include "algorithms/flexreduce_shares.h"
#include "core/alloc.h"
#include "core/gcd.h"

#define LARGEST_WHOLE ((int64_t)1 << 40)

/* Into how many units does a branch divide a share? */
static int units_of(const banyan_flexreduce_call_plan *p, int branch)
{
    return p->total[branch] ? p->total[branch] : p->tree.degree[branch];
}

/* How many of these does the child above a rank get? */
static int units_above(const banyan_flexreduce_call_plan *p, int branch, int rank)
{
    int child = branch + 1;

    if (!p->total[branch])
        return 1;
    while (p->tree.end[child] <= p->leaf[rank])
        child = p->tree.end[child];
    return p->weight[child];
}

/* The least multiple of the products of units above each rank, or 2^40 where that is larger. */
static int64_t find_whole(const banyan_flexreduce_call_plan *p)
{
    const banyan_hierarchy *tree = &p->tree;
    int64_t whole = 1;

    for (int node = 0; node < tree->node_count; node++) {
        int64_t product = 1, factor;

        if (tree->rank[node] < 0)
            continue;
        for (int up = tree->parent[node]; up >= 0; up = tree->parent[up]) {
            if (product > LARGEST_WHOLE / units_of(p, up))
                return LARGEST_WHOLE;
            product *= units_of(p, up);
        }
        factor = product / banyan_gcd(whole, product);
        if (whole > LARGEST_WHOLE / factor)
            return LARGEST_WHOLE;
        whole *= factor;
    }
    return whole;
}

/* At first everybody has everything. */
static banyan_status set_out(banyan_flexreduce_call_plan *p, int by_bandwidth, banyan_error *err)
{
    size_t ranks = (size_t)p->problem->active_count;
    banyan_status status = banyan_hierarchy_find(p->problem, &p->tree, err);

    if (status)
        return status;
    p->weight = banyan_alloc((size_t)p->tree.node_count, sizeof *p->weight);
    p->total = banyan_alloc((size_t)p->tree.node_count, sizeof *p->total);
    p->leaf = banyan_alloc(ranks, sizeof *p->leaf);
    p->now = banyan_alloc(ranks, sizeof *p->now);
    p->next = banyan_alloc(ranks, sizeof *p->next);
    p->sorted = banyan_alloc(ranks, sizeof *p->sorted);
    if (!p->now || !p->next || !p->sorted || !p->weight || !p->total || !p->leaf)
        return banyan_fail_memory(err);
    for (int node = 0; node < p->tree.node_count; node++)
        if (p->tree.rank[node] >= 0)
            p->leaf[p->tree.rank[node]] = node;
    if (by_bandwidth)
        status = banyan_shares_by_bandwidth(p->problem, &p->tree, p->weight, p->total, &p->is_weighted, err);
    if (status)
        return status;
    p->whole = find_whole(p);
    for (size_t i = 0; i < ranks; i++)
        p->now[i] = p->next[i] = (banyan_share){0, p->whole};
    return BANYAN_SUCCESS;
}

static int comes_before(const banyan_flexreduce_call_plan *p, int a, int b)
{
    const banyan_share *x = &p->now[a], *y = &p->now[b];

    if (x->end != y->end)
        return x->end < y->end;
    return x->begin != y->begin ? x->begin < y->begin : a < b;
}

/* Ranks below a branch, by the ends of their shares; a merge would pay only beyond thousands of ranks. */
static int sort_ranks(banyan_flexreduce_call_plan *p, int branch)
{
    int count = 0;

    for (int node = branch + 1; node < p->tree.end[branch]; node++) {
        int rank = p->tree.rank[node], place = count;

        if (rank < 0)
            continue;
        while (place > 0 && comes_before(p, rank, p->sorted[place - 1])) {
            p->sorted[place] = p->sorted[place - 1];
            place--;
        }
        p->sorted[place] = rank;
        count++;
    }
    return count;
}

static banyan_status add_holder(banyan_flexreduce_call_plan *p, int rank, banyan_error *err)
{
    void *holders = p->holders;
    banyan_status status =
        banyan_problem_check_transfers(p->problem, "flexreduce", 2.0 * (double)p->holder_count, err);

    if (status)
        return status;
    if (!banyan_grow(&holders, p->holder_count, &p->holder_capacity, sizeof *p->holders))
        return banyan_fail_memory(err);
    p->holders = holders;
    p->holders[p->holder_count++] = rank;
    return BANYAN_SUCCESS;
}

/* The call for what begins here: its holders, and how far all of them reach. */
static banyan_status add_call(banyan_flexreduce_call_plan *p, int branch, int owner, int64_t begin,
                              int64_t *end, banyan_error *err)
{
    banyan_flexreduce_call made = {
        .part = {begin, *end}, .level = p->level_count, .owner = owner, .first_holder = (int)p->holder_count};
    void *calls = p->calls;
    int child = -1;

    for (int node = branch + 1; node < p->tree.end[branch]; node++) {
        int rank = p->tree.rank[node];
        banyan_status status;

        child += p->tree.parent[node] == branch;
        if (rank == owner)
            made.owner_child = child;
        if (rank < 0 || begin < p->now[rank].begin || begin >= p->now[rank].end)
            continue;
        status = add_holder(p, rank, err);
        if (status)
            return status;
        made.holder_count++;
        made.owner_holds = made.owner_holds || rank == owner;
        if (p->now[rank].end < made.part.end)
            made.part.end = p->now[rank].end;
    }
    if (!banyan_grow(&calls, p->call_count, &p->call_capacity, sizeof *p->calls))
        return banyan_fail_memory(err);
    p->calls = calls;
    p->calls[p->call_count++] = made;
    *end = made.part.end;
    return BANYAN_SUCCESS;
}

/* Gives each rank below the branch its child's part of its share, and calls for it. */
static banyan_status plan_branch(banyan_flexreduce_call_plan *p, int branch, banyan_error *err)
{
    int count = sort_ranks(p, branch), units = units_of(p, branch);
    int64_t before = 0;

    for (int i = 0; i < count; i++) {
        int rank = p->sorted[i];
        int64_t after = before + (p->now[rank].end - p->now[rank].begin) * units_above(p, branch, rank);
        banyan_share next = {before / units, after / units};

        for (int64_t begin = next.begin, end; begin < next.end; begin = end) {
            banyan_status status;

            end = next.end;
            status = add_call(p, branch, rank, begin, &end, err);
            if (status)
                return status;
        }
        p->next[rank] = next;
        before = after;
    }
    return BANYAN_SUCCESS;
}

static banyan_status plan_level(banyan_flexreduce_call_plan *p, int depth, banyan_error *err)
{
    size_t before = p->call_count;

    for (int node = 0; node < p->tree.node_count; node++)
        if (p->tree.rank[node] < 0 && p->tree.depth[node] == depth && p->tree.degree[node] > 1) {
            banyan_status status = plan_branch(p, node, err);

            if (status)
                return status;
        }
    memcpy(p->now, p->next, (size_t)p->problem->active_count * sizeof *p->now);
    p->level_count += p->call_count > before;
    return BANYAN_SUCCESS;
}

void banyan_flexreduce_call_plan_fini(banyan_flexreduce_call_plan *plan)
{
    banyan_hierarchy_fini(&plan->tree);
    banyan_free(plan->weight);
    banyan_free(plan->total);
    banyan_free(plan->leaf);
    banyan_free(plan->now);
    banyan_free(plan->next);
    banyan_free(plan->sorted);
    banyan_free(plan->calls);
    banyan_free(plan->holders);
}

banyan_status banyan_flexreduce_call_plan_init(banyan_flexreduce_call_plan *plan,
                                               const banyan_problem *problem, int by_bandwidth,
                                               banyan_error *err)
{
    banyan_status status;

    *plan = (banyan_flexreduce_call_plan){.problem = problem, .tree = {.open_node = -1}};
    status = set_out(plan, by_bandwidth, err);
    for (int depth = status ? -1 : banyan_hierarchy_depth(&plan->tree); !status && depth >= 0; depth--)
        status = plan_level(plan, depth, err);
    return status;
}
