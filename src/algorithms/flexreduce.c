/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/flexreduce.c: reduce-scatter up an uneven tree, each rank with a share that its place deserves.
 *
 *          root           twelve items; level 0: in each host,     level 1: between hosts,
 *        /      \         equal shares                             halves of these
 *      h0        h1
 *     /  \     / | \      0 [0,6)   1 [6,12)                       0 [2,5)   1 [7,10)
 *    0    1   2  3  4     2 [0,4)   3 [4,8)   4 [8,12)             2 [0,2)   3 [5,7)   4 [10,12)
 *
 *     Rank 0 sends items 0 and 1 to 2, and adds what 2 has of 2 and 3 and what 3 has of 4: as much leaves
 *     each host as enters it, half of the vector.
 *
 * Level by level from the bottom: a branch of degree m leaves each rank below it 1/m of what it had. The new
 * shares follow one another in the order of the old ones' ends, so that each mostly lies within the old one.
 * Who has what of a new share sends it: exactly one rank of each child, as the ranks of a child always share
 * out the whole vector. All-gather takes the same way back. Where a new share leaves the old one, its rank
 * holds a stale part there, which the first to arrive overwrites.
 *
 * Shares are whole numbers: `whole` is the least multiple of all products of degrees, so nothing is rounded
 * unless that passes 2^40. Cost: 2 sum over levels of max (m-1)(a + n/(m w)), m degree and w speed; no branch
 * sends more than (m-1)/m n over the links of its children, which is the least possible for each.
 *
 * Paper: J. Lee et al., FlexReduce: Flexible All-reduce for Distributed Deep Learning on Asymmetric Network
 * Topology, 2020. */
#include <stdlib.h>
#include <string.h>

#include "algorithms/hierarchy.h"
#include "core/alloc.h"

#define LARGEST_WHOLE ((int64_t)1 << 40)

typedef struct {
    int64_t begin, end;
} share;

/* One reduce: what the ranks who have it hold of an interval goes to its owner. There is one such rank below
 * each child of the branch, in the order of children. */
typedef struct {
    share part;
    int level; /* from the bottom, empty levels left out */
    int owner, owner_child;
    int first_holder, holder_count; /* in the plan's holders */
} call;

typedef struct {
    const banyan_problem *problem;
    banyan_hierarchy tree;
    int64_t whole;
    share *now, *next; /* of each rank */
    int *sorted;       /* ranks below a branch */
    call *calls;
    size_t call_count, call_capacity;
    int *holders;
    size_t holder_count, holder_capacity;
    int64_t *cut;
    int cut_count;
    int *level_round; /* the first round of each level, and after the last one that of the all-gather */
    int level_count;
} plan;

static void plan_fini(plan *p)
{
    banyan_hierarchy_fini(&p->tree);
    banyan_free(p->now);
    banyan_free(p->next);
    banyan_free(p->sorted);
    banyan_free(p->calls);
    banyan_free(p->holders);
    banyan_free(p->cut);
    banyan_free(p->level_round);
}

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* The least multiple of the products of degrees above each rank, or 2^40 where that is larger. */
static int64_t find_whole(const banyan_hierarchy *tree)
{
    int64_t whole = 1;

    for (int node = 0; node < tree->node_count; node++) {
        int64_t product = 1, factor;

        if (tree->rank[node] < 0)
            continue;
        for (int up = tree->parent[node]; up >= 0; up = tree->parent[up]) {
            if (product > LARGEST_WHOLE / tree->degree[up])
                return LARGEST_WHOLE;
            product *= tree->degree[up];
        }
        factor = product / common_divisor(whole, product);
        if (whole > LARGEST_WHOLE / factor)
            return LARGEST_WHOLE;
        whole *= factor;
    }
    return whole;
}

static banyan_status plan_init(plan *p, const banyan_problem *problem, banyan_error *err)
{
    size_t ranks = (size_t)problem->active_count;
    banyan_status status = banyan_hierarchy_find(problem, &p->tree, err);

    if (status)
        return status;
    p->problem = problem;
    p->now = banyan_alloc(ranks, sizeof *p->now);
    p->next = banyan_alloc(ranks, sizeof *p->next);
    p->sorted = banyan_alloc(ranks, sizeof *p->sorted);
    if (!p->now || !p->next || !p->sorted)
        return banyan_fail_memory(err);
    p->whole = find_whole(&p->tree);
    for (size_t i = 0; i < ranks; i++)
        p->now[i] = p->next[i] = (share){0, p->whole};
    return BANYAN_SUCCESS;
}

static int comes_before(const plan *p, int a, int b)
{
    const share *x = &p->now[a], *y = &p->now[b];

    if (x->end != y->end)
        return x->end < y->end;
    return x->begin != y->begin ? x->begin < y->begin : a < b;
}

/* Ranks below a branch, by the ends of their shares; a merge would pay only beyond thousands of ranks. */
static int sort_ranks(plan *p, int branch)
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

static banyan_status add_holder(plan *p, int rank, banyan_error *err)
{
    void *holders = p->holders;

    if (2.0 * (double)p->holder_count > BANYAN_MOST_TRANSFERS)
        return banyan_problem_check_transfers(p->problem, "flexreduce", 2.0 * (double)p->holder_count, err);
    if (!banyan_grow(&holders, p->holder_count, &p->holder_capacity, sizeof *p->holders))
        return banyan_fail_memory(err);
    p->holders = holders;
    p->holders[p->holder_count++] = rank;
    return BANYAN_SUCCESS;
}

/* The call for what begins here: its holders, and how far all of them reach. */
static banyan_status add_call(plan *p, int branch, int owner, int64_t begin, int64_t *end, banyan_error *err)
{
    call made = {{begin, *end}, p->level_count, owner, 0, (int)p->holder_count, 0};
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

/* Gives each rank below the branch 1/degree of its share, and calls for it. */
static banyan_status plan_branch(plan *p, int branch, banyan_error *err)
{
    int count = sort_ranks(p, branch), degree = p->tree.degree[branch];
    int64_t before = 0;

    for (int i = 0; i < count; i++) {
        int rank = p->sorted[i];
        int64_t after = before + p->now[rank].end - p->now[rank].begin;
        share next = {before / degree, after / degree};

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

static banyan_status plan_level(plan *p, int depth, banyan_error *err)
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

static int compare_cuts(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Pieces are what lies between any two ends of calls. */
static banyan_status find_cuts(plan *p, banyan_error *err)
{
    size_t count = 2 * p->call_count + 2, kept = 1;

    p->cut = banyan_alloc(count, sizeof *p->cut);
    if (!p->cut)
        return banyan_fail_memory(err);
    for (size_t i = 0; i < p->call_count; i++) {
        p->cut[2 * i] = p->calls[i].part.begin;
        p->cut[2 * i + 1] = p->calls[i].part.end;
    }
    p->cut[count - 1] = p->whole;
    qsort(p->cut, count, sizeof *p->cut, compare_cuts);
    for (size_t i = 1; i < count; i++)
        if (p->cut[i] > p->cut[kept - 1])
            p->cut[kept++] = p->cut[i];
    p->cut_count = (int)kept - 1;
    return BANYAN_SUCCESS;
}

static int piece_at(const plan *p, int64_t where)
{
    const int64_t *found = bsearch(&where, p->cut, (size_t)p->cut_count + 1, sizeof *p->cut, compare_cuts);

    return (int)(found - p->cut);
}

static int owner_holds(const plan *p, const call *c)
{
    for (int i = 0; i < c->holder_count; i++)
        if (p->holders[c->first_holder + i] == c->owner)
            return 1;
    return 0;
}

/* A level takes a round for each child but one, and one more where a stale part must be overwritten first. */
static banyan_status find_rounds(plan *p, banyan_error *err)
{
    p->level_round = banyan_alloc((size_t)p->level_count + 1, sizeof *p->level_round);
    if (!p->level_round)
        return banyan_fail_memory(err);
    for (size_t i = 0; i < p->call_count; i++) {
        const call *c = &p->calls[i];
        int rounds = c->holder_count - owner_holds(p, c);

        if (rounds > p->level_round[c->level + 1])
            p->level_round[c->level + 1] = rounds;
    }
    for (int level = 0; level < p->level_count; level++)
        p->level_round[level + 1] += p->level_round[level];
    return BANYAN_SUCCESS;
}

/* Children send in turns, each first to the next one, then to the one after: nobody is sent to by all at
 * once. A stale part comes anew from the owner's own child, before the others. */
static void append_call(const plan *p, banyan_builder *builder, const call *c)
{
    const int *active = p->problem->active, *holder = p->holders + c->first_holder;
    int first = piece_at(p, c->part.begin), count = piece_at(p, c->part.end) - first;
    int is_stale = !owner_holds(p, c), last = 2 * p->level_round[p->level_count] - 1;

    for (int turn = is_stale ? 0 : 1; turn < c->holder_count; turn++) {
        int from = holder[(c->owner_child + c->holder_count - turn) % c->holder_count];
        int round = p->level_round[c->level] + turn - !is_stale;

        if (turn == 0)
            banyan_builder_copy(builder, round, active[from], active[c->owner], first, count, c->owner);
        else
            banyan_builder_reduce(builder, round, active[from], active[c->owner], first, count, c->owner);
        banyan_builder_copy(builder, last - round, active[c->owner], active[from], first, count, c->owner);
    }
}

static banyan_status make_plan(plan *p, const banyan_problem *problem, banyan_error *err)
{
    banyan_status status = plan_init(p, problem, err);

    if (status)
        return status;
    for (int depth = banyan_hierarchy_depth(&p->tree); !status && depth >= 0; depth--)
        status = plan_level(p, depth, err);
    if (!status)
        status = find_cuts(p, err);
    return status ? status : find_rounds(p, err);
}

static banyan_status build(const banyan_problem *problem, banyan_schedule **out, banyan_error *err)
{
    banyan_builder builder;
    plan p = {.tree = {.open_node = -1}};
    banyan_status status = make_plan(&p, problem, err);

    if (!status) {
        banyan_problem_begin(problem, &builder);
        banyan_builder_cut(&builder, p.whole, p.cut, p.cut_count);
        for (size_t i = 0; i < p.call_count; i++)
            append_call(&p, &builder, &p.calls[i]);
        status = banyan_builder_finish(&builder, out, err);
    }
    plan_fini(&p);
    return status;
}

static const banyan_algorithm_option options[] = {BANYAN_TREE_OPTION, {NULL, NULL, NULL}};

const banyan_algorithm banyan_algorithm_flexreduce = {
    .name = "flexreduce",
    .summary = "reduce-scatter up an uneven tree of hosts and switches, with shares of unlike size",
    .paper =
        "Lee et al.: FlexReduce: Flexible All-reduce for Distributed Deep Learning on Asymmetric Network "
        "Topology, 2020",
    .cost = "2 sum over levels of (m-1)(a + n b/m), m the degree and b of the level's links",
    .collectives = BANYAN_CAN(ALLREDUCE),
    .options = options,
    .build = build,
};
