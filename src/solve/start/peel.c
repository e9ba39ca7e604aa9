/* SPDX-License-Identifier: Apache-2.0 */
/* solve/start/peel.c: take a tree off the network with as much weight as leaves the rest optimal, and again.
 *
 * Let R be what is still to be packed: every partition into p parts has crossing capacity at least R (p - 1).
 * Tree T may get weight w if afterwards this still holds for R - w. A partition that is tight (equality) is
 * no hindrance when T crosses it just p - 1 times, so T is a minimum spanning tree for costs that count in
 * how many of the tight partitions a cable crosses. For others the largest w is  slack / (crossings - (p -
 * 1)),  found by Newton steps with one search for the worst partition each. Every tree makes a cable full or
 * a partition tight, so there are few: an 8x8 torus needs 34 where a linear program's vertex has 128.
 *
 * Among the trees that fit we take shallow ones: equal costs go to the cable nearest to a root in the middle
 * of the network, which makes breadth-first trees, and then to the one with the most room. Roots take
 * turns. */
#include "solve/start/peel.h"

#include <string.h>

#include "core/alloc.h"
#include "solve/cut/strength.h"
#include "solve/cut/worst_partition.h"
#include "solve/oracle/spanning.h"
#include "solve/start/matroid_partition.h"

#define FULL ((int64_t)1 << 55)
#define MAX_MULTIPLE 600 /* quanta in a unit, at most */
#define MIN_COARSE 8     /* quanta in a unit, at least, where fewer trees are wanted */
#define MAX_COARSE 16    /* quanta in a unit, at most, where fewer trees are wanted */
#define MAX_TRIES 40     /* trees that are tried from one root until one may have some weight */
#define MIN_QUANTA 16    /* quanta in what is to be packed, about: fewer leave no choice of trees */
#define LATEST 8         /* trees whose mean weight tells what the next ones will have */
#define MAX_LOT 8        /* trees that are taken before the worst partition is searched for again */
/* partitions in networks of many widths: with more, each tree meets new ones */
#define MAX_PARTITIONS 12
#define MAX_REST 8 /* quanta that are packed at once in the end */

typedef struct {
    const banyan_graph *graph;
    const banyan_peel_problem *problem;
    banyan_worst_partition *loads;
    banyan_spanning *spanning;
    banyan_peel *peel;
    int64_t *room, *after, *before; /* per arc */
    int64_t *tight;                 /* per arc: tight partitions that it crosses */
    int *known;                     /* partitions met so far, one array of parts by node each */
    int64_t
        *asked; /* per known partition: the most that a tree wanted to cross it beyond its need, in vain */
    size_t known_count, known_capacity;
    int64_t *cost;
    int64_t rest;     /* R, in quanta */
    int64_t heaviest; /* quanta that a tree gets at most */
    double quantum;   /* in the graph's units */
    int is_rounded;   /* capacities are no whole numbers of them */
    int *part, *level, *queue;
    int *root, root_count, turn;
    size_t weight_capacity;
    banyan_scratch memory;
} peeler;

static void peeler_fini(peeler *p)
{
    banyan_worst_partition_destroy(p->loads);
    banyan_spanning_destroy(p->spanning);
    banyan_free(p->known);
    banyan_free(p->asked);
    banyan_scratch_free(&p->memory);
}

/* Hops from the root over cables that have room; returns the largest. */
static int number_levels(peeler *p, int root)
{
    const banyan_graph *graph = p->graph;
    int count = 1;

    for (int v = 0; v < graph->node_count; v++)
        p->level[v] = -1;
    p->level[root] = 0;
    p->queue[0] = root;
    for (int i = 0; i < count; i++) {
        int v = p->queue[i];

        for (int j = graph->out_first[v]; j < graph->out_first[v + 1]; j++) {
            int w = graph->arcs[graph->out_arc[j]].dst;

            if (p->room[graph->out_arc[j]] > 0 && p->level[w] < 0) {
                p->level[w] = p->level[v] + 1;
                p->queue[count++] = w;
            }
        }
    }
    return p->level[p->queue[count - 1]];
}

/* The nodes from which the farthest is nearest. */
static void find_roots(peeler *p)
{
    int best = p->graph->node_count + 1;

    for (int i = 0; i < p->graph->active_count; i++) {
        int far = number_levels(p, p->graph->active[i]);

        if (far < best)
            p->root_count = 0;
        if (far <= best) {
            best = far;
            p->root[p->root_count++] = p->graph->active[i];
        }
    }
}

/* Keeps the partition in p->part. 0: memory ran out. */
static int remember(peeler *p)
{
    size_t nodes = (size_t)p->graph->node_count;

    if (p->known_count == p->known_capacity) {
        size_t capacity = p->known_capacity ? 2 * p->known_capacity : 16;
        int *known = banyan_realloc(p->known, capacity * nodes, sizeof *known);
        int64_t *asked;

        if (!known)
            return 0;
        p->known = known;
        asked = banyan_realloc(p->asked, capacity, sizeof *asked);
        if (!asked)
            return 0;
        p->asked = asked;
        p->known_capacity = capacity;
    }
    p->asked[p->known_count] = 0;
    memcpy(p->known + p->known_count++ * nodes, p->part, nodes * sizeof(int));
    return 1;
}

static int count_parts(const peeler *p, const int *part)
{
    int count = 0;

    for (int v = 0; v < p->graph->node_count; v++)
        count += part[v] == v;
    return count;
}

/* Crossing capacity that a partition has beyond what R needs. */
static int64_t slack_of(const peeler *p, const int *part)
{
    int64_t room = 0;

    for (int i = 0; i < p->graph->arc_count; i++)
        if (part[p->graph->arcs[i].src] != part[p->graph->arcs[i].dst])
            room += p->room[i];
    return room / 2 - p->rest * (count_parts(p, part) - 1);
}

static void count_tight(peeler *p)
{
    memset(p->tight, 0, (size_t)p->graph->arc_count * sizeof *p->tight);
    for (size_t k = 0; k < p->known_count; k++) {
        const int *part = p->known + k * (size_t)p->graph->node_count;

        if (slack_of(p, part) > p->asked[k])
            continue;
        for (int i = 0; i < p->graph->arc_count; i++)
            p->tight[i] += part[p->graph->arcs[i].src] != part[p->graph->arcs[i].dst];
    }
}

/* Everything is counted in quanta: weights are whole numbers of them, so there are at most R trees, and with
 * whole capacities a packing of floor(R) always exists. The smallest multiple whose rounding loses next to
 * nothing; coarse: one that makes few trees. */
static void choose_quantum(peeler *p, int coarse, banyan_fraction strength)
{
    int64_t multiple = coarse ? MIN_COARSE : 1, limit = coarse ? MAX_COARSE : MAX_MULTIPLE,
            divisor = strength.num / strength.den / 1600 + 1, best = 1;
    double best_share = 0;

    for (; divisor == 1 && multiple <= limit; multiple++) {
        banyan_wide exact = (banyan_wide)strength.num * multiple;
        double share = (double)(exact / strength.den) * (double)strength.den / (double)exact;

        if (share > best_share + 1e-12) {
            best_share = share;
            best = multiple;
        }
        if (share >= p->problem->enough)
            break;
    }
    /* Few quanta leave no choice of trees, and the search for one would take long. */
    best *= 1 + MIN_QUANTA / (strength.num * best / strength.den / divisor + 1);
    p->quantum = (double)divisor / (double)best;
    p->is_rounded = divisor > 1;
    for (int i = 0; i < p->graph->arc_count; i++)
        p->room[i] = p->graph->arcs[i].capacity * best / divisor;
    p->rest = (int64_t)((banyan_wide)strength.num * best / strength.den / divisor);
    if (divisor > 1) { /* capacities were rounded down: so must R be */
        int64_t below = banyan_worst_partition_spare(p->loads, p->room, p->rest, p->part);

        for (; below < 0 && p->rest > 0;
             below = banyan_worst_partition_spare(p->loads, p->room, p->rest, p->part))
            p->rest--;
    }
}

static banyan_status peeler_init(peeler *p, const banyan_graph *graph, const banyan_peel_problem *problem,
                                 int coarse, banyan_peel *peel, banyan_error *err)
{
    size_t nodes = (size_t)graph->node_count, arcs = (size_t)graph->arc_count;
    banyan_fraction strength;
    int part_count;
    banyan_status status;

    memset(p, 0, sizeof *p);
    p->graph = graph;
    p->problem = problem;
    p->peel = peel;
    p->room = banyan_scratch_take(&p->memory, arcs, sizeof(int64_t));
    p->after = banyan_scratch_take(&p->memory, arcs, sizeof(int64_t));
    p->before = banyan_scratch_take(&p->memory, arcs, sizeof(int64_t));
    p->tight = banyan_scratch_take(&p->memory, arcs, sizeof(int64_t));
    p->cost = banyan_scratch_take(&p->memory, arcs, sizeof(int64_t));
    p->part = banyan_scratch_take(&p->memory, nodes, sizeof(int));
    p->level = banyan_scratch_take(&p->memory, nodes, sizeof(int));
    p->queue = banyan_scratch_take(&p->memory, nodes, sizeof(int));
    p->root = banyan_scratch_take(&p->memory, nodes, sizeof(int));
    status = banyan_scratch_check(&p->memory, err);
    if (!status)
        status = banyan_worst_partition_create(graph, &p->loads, err);
    if (!status)
        status = banyan_spanning_create(graph, &p->spanning, err);
    if (!status)
        status = banyan_strength(graph, &strength, p->part, &part_count, err);
    if (!status && strength.num <= 0)
        status = banyan_fail(err, BANYAN_INVALID_ARGUMENT, "the active workers are not all connected");
    if (status)
        return status;
    choose_quantum(p, coarse, strength);
    /* A plan in which one tree carries a fifth is hard to mend when that tree loses a cable. */
    p->heaviest = 1 + 2 * p->rest / problem->tree_limit;
    peel->optimum = banyan_fraction_value(strength);
    find_roots(p);
    return BANYAN_SUCCESS;
}

/* What the root does not reach counts as farther than anything: costs must never be below 0. */
static int64_t level_or_last(const peeler *p, int node)
{
    return p->level[node] < 0 ? p->graph->node_count : p->level[node];
}

/* Appends the shallow tree from the root that crosses the tight partitions least. 0: none. */
static int make_tree(peeler *p, int root)
{
    const banyan_graph *graph = p->graph;
    int64_t most = 1, cost;

    number_levels(p, root);
    for (int i = 0; i < graph->arc_count; i++)
        most = p->room[i] > most ? p->room[i] : most;
    for (int i = 0; i < graph->arc_count; i++) {
        int64_t level = level_or_last(p, graph->arcs[i].src) + level_or_last(p, graph->arcs[i].dst);
        int64_t scarce = 1023 - (int64_t)((banyan_wide)p->room[i] * 1023 / most);

        p->cost[i] = p->room[i] <= 0 ? FULL : (p->tight[i] << 36) + (level << 12) + scarce;
    }
    cost = banyan_spanning_tree(p->spanning, NULL, p->cost, &p->peel->trees);
    if (p->peel->trees.failed || cost < 0)
        return 0;
    if (cost >= FULL)
        banyan_trees_drop_last(&p->peel->trees);
    return cost < FULL;
}

/* How often the latest tree crosses the partition, less parts - 1. */
static int64_t excess(const peeler *p, const int *part)
{
    const banyan_trees *trees = &p->peel->trees;
    int64_t count = 0;

    for (size_t a = banyan_trees_arcs_begin(trees, trees->tree_count - 1); a < trees->arc_count; a++) {
        const banyan_arc *arc = &p->graph->arcs[trees->arcs[a]];

        count += part[arc->src] != part[arc->dst];
    }
    return count - (count_parts(p, part) - 1);
}

static void subtract(const peeler *p, int64_t *room, int64_t weight)
{
    const banyan_trees *trees = &p->peel->trees;

    for (size_t a = banyan_trees_arcs_begin(trees, trees->tree_count - 1); a < trees->arc_count; a++) {
        room[trees->arcs[a]] -= weight;
        room[p->graph->arcs[trees->arcs[a]].twin] -= weight;
    }
}

/* What full cables and the partitions met so far allow. */
static int64_t weight_by_known(peeler *p)
{
    const banyan_trees *trees = &p->peel->trees;
    int64_t weight = p->rest < p->heaviest ? p->rest : p->heaviest;

    for (size_t a = banyan_trees_arcs_begin(trees, trees->tree_count - 1); a < trees->arc_count; a++)
        if (p->room[trees->arcs[a]] < weight)
            weight = p->room[trees->arcs[a]];
    for (size_t k = 0; k < p->known_count && weight > 0; k++) {
        const int *part = p->known + k * (size_t)p->graph->node_count;
        int64_t over = excess(p, part), slack = over > 0 ? slack_of(p, part) : 0;

        if (over > 0 && slack / over < weight)
            weight = slack / over;
        if (over > 0 && weight == 0 && over > p->asked[k])
            p->asked[k] = over;
    }
    return weight > 0 ? weight : 0;
}

/* The most that the latest tree may carry; -1: memory ran out. */
static int64_t largest_weight(peeler *p)
{
    int64_t weight = weight_by_known(p);

    while (weight > 0) {
        memcpy(p->after, p->room, (size_t)p->graph->arc_count * sizeof(int64_t));
        subtract(p, p->after, weight);
        if (banyan_worst_partition_spare(p->loads, p->after, p->rest - weight, p->part) >= 0)
            break;
        if (excess(p, p->part) <= 0)
            return 0; /* cannot be; the tree then gets nothing */
        if (!remember(p))
            return -1;
        weight = weight_by_known(p);
    }
    return weight;
}

static banyan_status keep_tree(peeler *p, int64_t weight, banyan_error *err)
{
    banyan_peel *peel = p->peel;

    if (!banyan_grow((void **)&peel->weight, peel->trees.tree_count - 1, &p->weight_capacity,
                     sizeof *peel->weight))
        return banyan_fail_memory(err);
    peel->weight[peel->trees.tree_count - 1] = (double)weight * p->quantum;
    peel->total += (double)weight * p->quantum;
    subtract(p, p->room, weight);
    p->rest -= weight;
    return BANYAN_SUCCESS;
}

/* One more tree, by one of the next roots; *weight 0 if none can carry anything worth having. */
static banyan_status take_one(peeler *p, int64_t *weight, banyan_error *err)
{
    *weight = 0;
    for (int tries = 0; tries < MAX_TRIES && *weight == 0; tries++) {
        count_tight(p);
        if (!make_tree(p, p->root[p->turn % p->root_count]))
            return p->peel->trees.failed ? banyan_fail_memory(err) : BANYAN_SUCCESS;
        *weight = largest_weight(p);
        if (*weight < 0)
            return banyan_fail_memory(err);
        if (*weight == 0)
            banyan_trees_drop_last(&p->peel->trees);
    }
    p->turn++;
    return *weight ? keep_tree(p, *weight, err) : BANYAN_SUCCESS;
}

/* Trees get lighter with time: if those that are still allowed, as heavy as the latest ones, are too few to
 * come as far as is asked for, they are not worth their search; nor where each of them makes some partition
 * tight. */
static int is_hopeless(const peeler *p)
{
    size_t count = p->peel->trees.tree_count, left = (size_t)p->problem->tree_limit - count;
    double latest = 0;

    if (count < LATEST || !(p->problem->least > 0))
        return 0;
    if (p->is_rounded && p->known_count > MAX_PARTITIONS)
        return 1;
    for (size_t t = count - LATEST; t < count; t++)
        latest += p->peel->weight[t] / LATEST;
    return p->peel->total + (double)left * latest < p->problem->least * p->peel->optimum;
}

/* What a lot of trees begins with, and goes back to. */
static void swap_rooms(peeler *p)
{
    int64_t *room = p->room;

    p->room = p->before;
    p->before = room;
}

/* Several trees, as heavy as the partitions met so far allow, and one search for a worse one in the end.
 * *good: there is none; else they are all taken back. */
static banyan_status take_lot(peeler *p, int count, int *good, banyan_error *err)
{
    size_t trees = p->peel->trees.tree_count;
    int64_t rest = p->rest, weight = 1;
    double total = p->peel->total;
    int turn = p->turn;
    banyan_status status = BANYAN_SUCCESS;

    *good = 0;
    memcpy(p->before, p->room, (size_t)p->graph->arc_count * sizeof *p->room);
    for (int i = 0; i < count && weight && p->rest > 0 && !status; i++) {
        count_tight(p);
        if (!make_tree(p, p->root[p->turn++ % p->root_count]))
            break;
        weight = weight_by_known(p);
        if (weight)
            status = keep_tree(p, weight, err);
        else
            banyan_trees_drop_last(&p->peel->trees);
    }
    if (p->peel->trees.failed)
        return banyan_fail_memory(err);
    *good = p->peel->trees.tree_count > trees &&
            banyan_worst_partition_spare(p->loads, p->room, p->rest, p->part) >= 0;
    if (status || *good)
        return status;
    while (p->peel->trees.tree_count > trees)
        banyan_trees_drop_last(&p->peel->trees);
    swap_rooms(p);
    p->rest = rest;
    p->turn = turn;
    p->peel->total = total;
    return BANYAN_SUCCESS;
}

/* One by one while partitions get tight; else more at once each time, since the search for these is most of
 * the work. In even networks many are tight all the time once the first one is. */
static banyan_status take_all(peeler *p, banyan_error *err)
{
    const banyan_peel *peel = p->peel;
    banyan_status status = BANYAN_SUCCESS;
    int64_t weight = 1;
    int lot = 2;

    while (!status && weight && p->rest > 0 && peel->trees.tree_count < (size_t)p->problem->tree_limit &&
           !is_hopeless(p)) {
        size_t left = (size_t)p->problem->tree_limit - peel->trees.tree_count, known = p->known_count;
        int good = 1;

        if (lot > 1)
            status = take_lot(p, (size_t)lot < left ? lot : (int)left, &good, err);
        else
            status = take_one(p, &weight, err);
        good = good && p->known_count == known;
        lot = good && lot ? (lot < MAX_LOT ? 2 * lot : lot) : p->is_rounded;
    }
    return status;
}

/* Where the search for one tree after the other ends early, the little that is left is packed as a whole. */
static banyan_status take_rest(peeler *p, banyan_error *err)
{
    size_t before = p->peel->trees.tree_count;
    int found;
    banyan_status status;

    if (p->rest == 0 || p->rest > MAX_REST || before + (size_t)p->rest > (size_t)p->problem->tree_limit)
        return BANYAN_SUCCESS;
    status = banyan_matroid_partition_trees(p->graph, p->room, (int)p->rest, &p->peel->trees, &found, err);
    for (size_t t = before; !status && t < p->peel->trees.tree_count; t++) {
        if (!banyan_grow((void **)&p->peel->weight, t, &p->weight_capacity, sizeof *p->peel->weight))
            return banyan_fail_memory(err);
        p->peel->weight[t] = p->quantum;
        p->peel->total += p->quantum;
    }
    return status;
}

static banyan_status solve(const banyan_graph *graph, const banyan_peel_problem *problem, int coarse,
                           banyan_peel *out, int *is_rounded, banyan_error *err)
{
    peeler p;
    banyan_status status;

    memset(out, 0, sizeof *out);
    status = peeler_init(&p, graph, problem, coarse, out, err);
    if (!status)
        status = take_all(&p, err);
    if (!status)
        status = take_rest(&p, err);
    *is_rounded = p.is_rounded;
    peeler_fini(&p);
    if (status)
        banyan_peel_fini(out);
    return status;
}

/* With many nodes there may be more partitions to make tight than trees allowed; with coarse quanta there are
 * fewer. */
banyan_status banyan_peel_solve(const banyan_graph *graph, const banyan_peel_problem *problem,
                                banyan_peel *out, banyan_error *err)
{
    banyan_peel other, less;
    int is_rounded;
    banyan_status status = solve(graph, problem, 0, out, &is_rounded, err);

    if (status || is_rounded || out->total >= problem->least * out->optimum)
        return status;
    status = solve(graph, problem, 1, &other, &is_rounded, err);
    if (status) {
        banyan_peel_fini(out);
        return status;
    }
    less = other.total > out->total ? *out : other;
    *out = other.total > out->total ? other : *out;
    banyan_peel_fini(&less);
    return BANYAN_SUCCESS;
}

void banyan_peel_fini(banyan_peel *peel)
{
    banyan_trees_fini(&peel->trees);
    banyan_free(peel->weight);
    memset(peel, 0, sizeof *peel);
}
