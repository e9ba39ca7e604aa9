/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/forest-replan.c: a link fails or slows down; most trees need little change. Lost cables come back as
 * ghosts of next to no width, so that the old trees are whole but for cables that are far too full: moves take
 * every tree off them and level what the others bear (solve/level.h), no deeper than a new plan would be. Heavy
 * trees are split before, into lighter ones that find room more easily, and some very light ones that even out
 * the rest. Whatever comes of it is held against the bound; where it falls short we plan from the beginning. */
#include "algorithms/forest.h"

#include <math.h>
#include <string.h>

#include "algorithms/flows.h"
#include "algorithms/packed-parts.h"
#include "core/alloc.h"
#include "solve/level.h"
#include "solve/strength.h"

#define GHOST 4096 /* times narrower than the narrowest cable */
#define MOST_GHOSTS 256
#define GOOD 0.9912   /* of what all cables together allow: what we aim at */
#define BETTER 0.996  /* the same, where that is tried again */
#define ENOUGH 0.9902 /* of the bound: below this we plan anew */
#define MOVES_PER_TREE 40
#define HEAVY 3.0 /* trees of more than this many times the usual weight are halved if they must move */

typedef struct {
    const banyan_graph *graph;
    const banyan_schedule *old;
    banyan_graph *ghostly; /* the graph's arcs, then ghosts */
    int ghost[MOST_GHOSTS][2], ghost_count;
    int *parent, *via; /* by tree and node, as solve/level.h has them */
    double *weight;    /* of all trees together: 1 */
    int tree_count, tree_limit, depth_limit;
    double best; /* the bound, once it had to be found; 0: not yet */
    double most; /* the best rate if all cables could be full; rates are in units of the ghostly graph */
} mender;

static void mender_fini(mender *m)
{
    banyan_graph_destroy(m->ghostly);
    banyan_free(m->parent);
    banyan_free(m->via);
    banyan_free(m->weight);
}

static int find_arc(const banyan_graph *graph, int src, int dst)
{
    for (int i = graph->out_first[src]; i < graph->out_first[src + 1]; i++)
        if (graph->arcs[graph->out_arc[i]].dst == dst)
            return graph->out_arc[i];
    return -1;
}

/* Pairs of nodes that the old trees join and that have no link now. 0: too many. */
static int find_ghosts(mender *m)
{
    for (size_t i = 0; i < m->old->transfer_count; i++) {
        const banyan_transfer *t = &m->old->transfers[i];
        int a = t->src < t->dst ? t->src : t->dst, b = a == t->src ? t->dst : t->src, g = 0;

        if (t->action != BANYAN_ACTION_COPY || find_arc(m->graph, t->src, t->dst) >= 0)
            continue;
        while (g < m->ghost_count && (m->ghost[g][0] != a || m->ghost[g][1] != b))
            g++;
        if (g == MOST_GHOSTS)
            return 0;
        m->ghost[g][0] = a;
        m->ghost[g][1] = b;
        m->ghost_count = g + 1 > m->ghost_count ? g + 1 : m->ghost_count;
    }
    return 1;
}

static banyan_status add_ghosts(mender *m, banyan_error *err)
{
    const banyan_graph *graph = m->graph;
    size_t arcs = (size_t)(graph->arc_count + 2 * m->ghost_count);
    int *src = banyan_alloc(arcs, sizeof *src), *dst = banyan_alloc(arcs, sizeof *dst);
    double *capacity = banyan_alloc(arcs, sizeof *capacity), narrowest = 0;
    banyan_status status = src && dst && capacity ? BANYAN_SUCCESS : banyan_fail_memory(err);

    for (int i = 0; !status && i < graph->arc_count; i++) {
        src[i] = graph->arcs[i].src;
        dst[i] = graph->arcs[i].dst;
        capacity[i] = GHOST * (double)graph->arcs[i].capacity;
        narrowest = i == 0 || capacity[i] < narrowest ? capacity[i] : narrowest;
    }
    for (int g = 0; !status && g < m->ghost_count; g++)
        for (int back = 0; back < 2; back++) {
            int i = graph->arc_count + 2 * g + back;

            src[i] = m->ghost[g][back];
            dst[i] = m->ghost[g][1 - back];
            capacity[i] = narrowest / GHOST; /* whole numbers are soon brought to a common unit */
        }
    if (!status) {
        banyan_graph_input input = {graph->node_count, graph->role, (int)arcs, src, dst, capacity, NULL};

        status = banyan_graph_create(&input, &m->ghostly, err);
    }
    banyan_free(src);
    banyan_free(dst);
    banyan_free(capacity);
    return status;
}

static banyan_status make_room(mender *m, banyan_error *err)
{
    size_t most = (size_t)(m->old->flow_count > m->tree_limit ? m->old->flow_count : m->tree_limit),
           cells = most * (size_t)m->graph->node_count;

    m->parent = banyan_alloc(cells, sizeof *m->parent);
    m->via = banyan_alloc(cells, sizeof *m->via);
    m->weight = banyan_alloc(most, sizeof *m->weight);
    return m->parent && m->via && m->weight ? BANYAN_SUCCESS : banyan_fail_memory(err);
}

/* Every node but one has a parent, and all lead to that one. */
static int is_tree(const int *parent, int node_count)
{
    int roots = 0;

    for (int v = 0; v < node_count; v++) {
        int steps = 0;

        roots += parent[v] < 0;
        for (int u = v; parent[u] >= 0; u = parent[u])
            if (++steps == node_count)
                return 0;
    }
    return roots == 1;
}

/* The trees by which the old plan's sums go out; 0: these are no trees. */
static int take_old_trees(mender *m)
{
    const banyan_schedule *old = m->old;
    size_t nodes = (size_t)m->graph->node_count;

    m->tree_count = old->flow_count;
    for (size_t i = 0; i < (size_t)old->flow_count * nodes; i++)
        m->parent[i] = m->via[i] = -1;
    for (size_t i = 0; i < old->transfer_count; i++) {
        const banyan_transfer *t = &old->transfers[i];
        size_t cell = (size_t)t->flow * nodes + (size_t)t->dst;

        if (t->action != BANYAN_ACTION_COPY)
            continue;
        if (m->parent[cell] >= 0 || t->piece_count != 1 || t->first_piece != t->flow)
            return 0;
        m->parent[cell] = t->src;
        m->via[cell] = banyan_graph_cable(m->ghostly, find_arc(m->ghostly, t->src, t->dst));
    }
    for (int f = 0; f < old->flow_count; f++) {
        m->weight[f] = (double)(old->cut[f + 1] - old->cut[f]) / (double)old->whole;
        if (!is_tree(m->parent + (size_t)f * nodes, m->graph->node_count))
            return 0;
    }
    return 1;
}

/* A copy of the tree takes part of its weight. */
static void split_off(mender *m, int tree, double weight)
{
    size_t nodes = (size_t)m->graph->node_count, from = (size_t)tree * nodes,
           to = (size_t)m->tree_count * nodes;

    memcpy(m->parent + to, m->parent + from, nodes * sizeof(int));
    memcpy(m->via + to, m->via + from, nodes * sizeof(int));
    m->weight[m->tree_count++] = weight;
    m->weight[tree] -= weight;
}

static int uses_ghost(const mender *m, int tree)
{
    const int *via = m->via + (size_t)tree * (size_t)m->graph->node_count;

    for (int v = 0; v < m->graph->node_count; v++)
        if (via[v] >= m->graph->arc_count)
            return 1;
    return 0;
}

/* The heaviest of the trees that must move, if it is much heavier than others; -1: none. */
static int find_heavy(const mender *m)
{
    int heavy = -1;

    for (int t = 0; t < m->tree_count; t++)
        if (m->weight[t] > HEAVY / m->tree_limit && (heavy < 0 || m->weight[t] > m->weight[heavy]) &&
            uses_ghost(m, t))
            heavy = t;
    return heavy;
}

static int find_heaviest(const mender *m)
{
    int heaviest = 0;

    for (int t = 1; t < m->tree_count; t++)
        heaviest = m->weight[t] > m->weight[heaviest] * (1 + 1e-9) ? t : heaviest;
    return heaviest;
}

/* As many more trees as are allowed: heavy ones in halves, then a part of each usual one in turn, first and second
 * parts alternating; of the heaviest ones where few trees have all the weight. */
static void split_trees(mender *m, double first, double second)
{
    int whole = m->tree_count, turn = 0;

    for (int parts = 0; m->tree_count < m->tree_limit;) {
        int heavy = find_heavy(m);

        while (turn < whole && m->weight[turn] > HEAVY / 2 / m->tree_limit)
            turn++;
        if (heavy >= 0) {
            split_off(m, heavy, m->weight[heavy] / 2);
        } else {
            int tree = turn < whole ? turn++ : find_heaviest(m);

            split_off(m, tree, (parts++ % 2 ? second : first) * m->weight[tree]);
        }
    }
}

/* The moves, off cables that are fuller than at this part of the best rate; *rate is what the trees reach then. */
static banyan_status level(mender *m, double target, double usual, double *rate, banyan_error *err)
{
    double best = m->best > 0 ? m->best : m->most;
    banyan_level_problem problem = {.tree_count = m->tree_count,
                                    .weight = m->weight,
                                    .enough = 1 / (target * best),
                                    .usual = 1 / (usual * best),
                                    .depth_limit = m->depth_limit,
                                    .depth_most = m->depth_limit + 1,
                                    .move_limit = (long)MOVES_PER_TREE * m->tree_count};
    double fullest = 0;
    banyan_status status = banyan_level(m->ghostly, &problem, m->parent, m->via, &fullest, err);

    *rate = fullest > 0 ? 1 / fullest : 0;
    return status;
}

static banyan_status find_best(mender *m, banyan_error *err)
{
    banyan_fraction strength;
    int *part = banyan_alloc((size_t)m->graph->node_count, sizeof *part), part_count;
    banyan_status status =
        part ? banyan_strength(m->graph, &strength, part, &part_count, err) : banyan_fail_memory(err);

    if (!status)
        m->best = banyan_fraction_value(strength) * GHOST / m->ghostly->unit;
    banyan_free(part);
    return status;
}

/* Whether the rate is near enough to the best of the network as it is now. All cables full is an easy bound, and
 * mostly the true one, so at first we look no further. */
static banyan_status judge(mender *m, double rate, int at_first, int *good, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    *good = 0;
    for (int t = 0; t < m->tree_count; t++)
        if (uses_ghost(m, t))
            return BANYAN_SUCCESS;
    *good = rate >= ENOUGH * m->most;
    if (*good || at_first)
        return BANYAN_SUCCESS;
    if (!(m->best > 0))
        status = find_best(m, err);
    *good = !status && rate >= ENOUGH * m->best;
    return status;
}

static void give_tree(const mender *m, int tree, banyan_trees *trees, int *root)
{
    const int *parent = m->parent + (size_t)tree * (size_t)m->graph->node_count;
    const int *via = m->via + (size_t)tree * (size_t)m->graph->node_count;

    banyan_trees_begin(trees);
    for (int v = 0; v < m->graph->node_count; v++) {
        if (parent[v] < 0) {
            *root = v;
            continue;
        }
        banyan_trees_add_edge(trees, parent[v], v);
        banyan_trees_add_arc(trees, m->graph->arcs[via[v]].src == v ? m->graph->arcs[via[v]].twin : via[v]);
    }
}

static banyan_status give_trees(const mender *m, banyan_flows *flows, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;
    banyan_trees trees;

    banyan_trees_init(&trees);
    for (int t = 0; t < m->tree_count && !trees.failed; t++) {
        int root = -1; /* in the centre already */

        give_tree(m, t, &trees, &root);
        if (!trees.failed)
            banyan_flows_add_tree(flows, m->graph, &trees, (size_t)t, root, m->weight[t]);
    }
    if (trees.failed || flows->failed)
        status = banyan_fail_memory(err);
    banyan_trees_fini(&trees);
    return status;
}

/* Whether each cable that bears a multiple of half a usual tree can be full enough. */
static int halves_will_do(const mender *m)
{
    for (int i = 0; i < m->graph->arc_count; i++) {
        double halves = 2 * m->old->flow_count * (double)m->ghostly->arcs[i].capacity / m->most;

        if (ceil(halves) * GOOD > halves)
            return 0;
    }
    return 1;
}

/* Loads come in steps of the lightest trees: halves where these divide what cables have to bear, else quarters too. Mostly it is enough to relieve cables that are too full; relieving all that
 * are fuller than others takes longer. */
static banyan_status try_lights(mender *m, int *good, banyan_error *err)
{
    static const struct {
        double light, target, usual;
    } tries[] = {{0, GOOD, GOOD}, {0, GOOD, 1}, {0.25, BETTER, BETTER}};
    banyan_status status = BANYAN_SUCCESS;

    for (size_t i = 0; !status && !*good && i < sizeof tries / sizeof *tries; i++) {
        double rate, light = tries[i].light;

        if (!take_old_trees(m))
            return BANYAN_SUCCESS;
        split_trees(m, 0.5, light > 0 ? light : halves_will_do(m) ? 0.5 : 0.25);
        status = level(m, tries[i].target, tries[i].usual, &rate, err);
        if (!status)
            status = judge(m, rate, i == 0, good, err);
    }
    return status;
}

static banyan_status mend_trees(mender *m, int *good, banyan_flows *flows, banyan_error *err)
{
    banyan_status status;

    *good = 0;
    if (!find_ghosts(m))
        return BANYAN_SUCCESS;
    status = add_ghosts(m, err);
    if (!status)
        status = make_room(m, err);
    if (!status)
        status = banyan_packed_radius(m->graph, &m->depth_limit, err);
    m->depth_limit++;
    for (int i = 0; !status && i < m->graph->arc_count; i++)
        m->most += (double)m->ghostly->arcs[i].capacity / 2 / (m->graph->active_count - 1);
    if (!status)
        status = try_lights(m, good, err);
    return !status && *good ? give_trees(m, flows, err) : status;
}

static int can_mend(const banyan_graph *graph, const banyan_problem *problem, const banyan_schedule *old)
{
    if (!graph->symmetric || graph->active_count != problem->topology->node_count ||
        old->node_count != problem->topology->node_count || old->active_count != problem->active_count ||
        old->collective != BANYAN_COLLECTIVE_ALLREDUCE || old->flow_count != old->piece_count)
        return 0;
    return memcmp(old->active, problem->active, (size_t)old->active_count * sizeof(int)) == 0;
}

/* How many of the old trees still have all their edges, whichever node is their root now. */
static int count_kept(const mender *m)
{
    const banyan_schedule *old = m->old;
    size_t nodes = (size_t)m->graph->node_count;
    int kept = old->flow_count;

    for (int f = 0; f < old->flow_count; f++)
        m->weight[f] = 1; /* no longer wanted: whether the tree is as it was */
    for (size_t i = 0; i < old->transfer_count; i++) {
        const banyan_transfer *t = &old->transfers[i];
        const int *parent = m->parent + (size_t)t->flow * nodes;

        if (t->action != BANYAN_ACTION_COPY || parent[t->dst] == t->src || parent[t->src] == t->dst)
            continue;
        kept -= m->weight[t->flow] > 0;
        m->weight[t->flow] = 0;
    }
    return kept;
}

/* As plans from the beginning are labelled, so that this one can be mended in its turn. */
static banyan_status label(banyan_schedule *schedule, const banyan_problem *problem, banyan_error *err)
{
    banyan_free(schedule->algorithm);
    banyan_free(schedule->topology);
    schedule->algorithm = banyan_strdup("forest");
    schedule->topology = banyan_strdup(problem->topology->name);
    return schedule->algorithm && schedule->topology ? BANYAN_SUCCESS : banyan_fail_memory(err);
}

static banyan_status build_mended(const banyan_flows *flows, const banyan_problem *problem,
                                  banyan_schedule **out, banyan_error *err)
{
    banyan_schedule *schedule;
    banyan_status status = banyan_flows_build(flows, problem, &schedule, err);

    if (status)
        return status;
    status = label(schedule, problem, err);
    if (status)
        banyan_schedule_destroy(schedule);
    else
        *out = schedule;
    return status;
}

static banyan_status mend(const banyan_problem *problem, const banyan_graph *graph,
                          const banyan_schedule *old, int max_trees, banyan_replan *how,
                          banyan_schedule **out, banyan_error *err)
{
    mender m = {.graph = graph, .old = old, .tree_limit = max_trees};
    banyan_flows flows;
    int good;
    banyan_status status;

    banyan_flows_init(&flows);
    status = mend_trees(&m, &good, &flows, err);
    *how = (banyan_replan){good, m.tree_count ? old->flow_count : 0, good ? count_kept(&m) : 0};
    if (!status && good)
        status = banyan_flows_limit(&flows, problem->topology, (size_t)max_trees, err);
    if (!status)
        status = good ? build_mended(&flows, problem, out, err)
                      : banyan_algorithm_build(banyan_algorithm_find("forest"), problem, out, err);
    banyan_flows_fini(&flows);
    mender_fini(&m);
    return status;
}

banyan_status banyan_forest_replan(const banyan_problem *problem, const banyan_schedule *old,
                                   banyan_replan *how, banyan_schedule **out, banyan_error *err)
{
    banyan_replan nobody_asks;
    banyan_packed_options options;
    banyan_graph *graph = NULL;
    banyan_status status = banyan_packed_options_read(problem, &options, err);

    *out = NULL;
    how = how ? how : &nobody_asks;
    *how = (banyan_replan){0, 0, 0};
    if (!status)
        status = banyan_network_graph(problem->topology, problem->active, problem->active_count,
                                      options.relays, &graph, err);
    if (!status) {
        if (can_mend(graph, problem, old))
            status = mend(problem, graph, old, options.max_trees, how, out, err);
        else
            status = banyan_algorithm_build(banyan_algorithm_find("forest"), problem, out, err);
    }
    banyan_graph_destroy(graph);
    return status;
}
