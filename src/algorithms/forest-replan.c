/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/forest-replan.c: a link fails; most trees never used it. The lost cables come back as ghosts of
 * next to no width, so that the old trees are whole but for a cable that is far too full: exchanges take every
 * tree off it, as shallow as they were, and even out what the others bear. Then one linear program weighs the
 * trees anew, if that is still worth it. */
#include "algorithms/forest.h"

#include <string.h>

#include "algorithms/flows.h"
#include "algorithms/packed-parts.h"
#include "core/alloc.h"
#include "solve/exchange.h"
#include "solve/oracle.h"
#include "solve/packing.h"

#define ATTEMPTS 700
#define GHOST 4096 /* times narrower than the narrowest cable */
#define MOST_GHOSTS 256
#define GOOD 0.993  /* of what all cables together allow */
#define FAIR 0.9901 /* the same: below this the linear program is asked */

typedef struct {
    const banyan_graph *graph;
    const banyan_schedule *old;
    banyan_graph *ghostly; /* the graph's arcs, then ghosts */
    int ghost[MOST_GHOSTS][2], ghost_count;
    size_t *by_flow, *first; /* copies of the old schedule, sorted by flow */
    banyan_trees trees;
    double *weight;
    unsigned char *halved;
    int depth_limit, tree_limit;
} mender;

static void mender_fini(mender *m)
{
    banyan_graph_destroy(m->ghostly);
    banyan_free(m->by_flow);
    banyan_free(m->first);
    banyan_free(m->weight);
    banyan_free(m->halved);
    banyan_trees_fini(&m->trees);
}

static int find_arc(const banyan_graph *graph, int src, int dst)
{
    for (int i = graph->out_first[src]; i < graph->out_first[src + 1]; i++)
        if (graph->arcs[graph->out_arc[i]].dst == dst)
            return graph->out_arc[i];
    return -1;
}

static banyan_status sort_by_flow(mender *m, banyan_error *err)
{
    const banyan_schedule *old = m->old;
    size_t *at;

    m->by_flow = banyan_alloc(old->transfer_count, sizeof *m->by_flow);
    m->first = banyan_alloc((size_t)old->flow_count + 2, sizeof *m->first);
    if (!m->by_flow || !m->first)
        return banyan_fail_memory(err);
    at = m->first + 1;
    for (size_t i = 0; i < old->transfer_count; i++)
        if (old->transfers[i].action == BANYAN_ACTION_COPY)
            at[old->transfers[i].flow + 1]++;
    for (int f = 0; f < old->flow_count; f++)
        at[f + 1] += at[f];
    for (size_t i = 0; i < old->transfer_count; i++)
        if (old->transfers[i].action == BANYAN_ACTION_COPY)
            m->by_flow[at[old->transfers[i].flow]++] = i;
    return BANYAN_SUCCESS;
}

/* Pairs of nodes that the old trees join and that have no link now. 0: too many. */
static int find_ghosts(mender *m)
{
    for (size_t i = 0; i < m->first[m->old->flow_count]; i++) {
        const banyan_transfer *t = &m->old->transfers[m->by_flow[i]];
        int a = t->src < t->dst ? t->src : t->dst, b = a == t->src ? t->dst : t->src, g = 0;

        if (find_arc(m->graph, t->src, t->dst) >= 0)
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
        capacity[i] = (double)graph->arcs[i].capacity;
        narrowest = i == 0 || capacity[i] < narrowest ? capacity[i] : narrowest;
    }
    for (int g = 0; !status && g < m->ghost_count; g++)
        for (int back = 0; back < 2; back++) {
            int i = graph->arc_count + 2 * g + back;

            src[i] = m->ghost[g][back];
            dst[i] = m->ghost[g][1 - back];
            capacity[i] = narrowest / GHOST;
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

static banyan_status take_old_trees(mender *m, banyan_error *err)
{
    const banyan_schedule *old = m->old;

    m->weight = banyan_alloc((size_t)(old->flow_count + m->tree_limit), sizeof *m->weight);
    m->halved = banyan_alloc((size_t)old->flow_count, 1);
    if (!m->weight || !m->halved)
        return banyan_fail_memory(err);
    for (int f = 0; f < old->flow_count; f++) {
        banyan_trees_begin(&m->trees);
        m->weight[f] = (double)(old->cut[f + 1] - old->cut[f]) / (double)old->whole;
        for (size_t i = m->first[f]; i < m->first[f + 1]; i++) {
            const banyan_transfer *t = &old->transfers[m->by_flow[i]];

            banyan_trees_add_edge(&m->trees, t->src, t->dst);
            banyan_trees_add_arc(&m->trees, find_arc(m->ghostly, t->src, t->dst));
        }
    }
    return m->trees.failed ? banyan_fail_memory(err) : BANYAN_SUCCESS;
}

/* Light trees twice at half their weight, as far as trees are allowed: what each bears is then finer to spread. */
static banyan_status halve_light_trees(mender *m, banyan_error *err)
{
    size_t count = m->trees.tree_count;

    for (size_t made = count; made < (size_t)m->tree_limit && made < 2 * count; made++) {
        size_t light = 0;

        for (size_t t = 1; t < count; t++) /* the lightest that is whole yet: halves come later in turn */
            if (!m->halved[t] && (m->halved[light] || m->weight[t] < m->weight[light]))
                light = t;
        banyan_trees_copy(&m->trees, &m->trees, light);
        if (m->trees.failed)
            return banyan_fail_memory(err);
        m->halved[light] = 1;
        m->weight[made] = m->weight[light] /= 2;
    }
    return BANYAN_SUCCESS;
}

/* All trees together, over the fullest cable; the best that could be had if all cables were full; in the
 * graph's units. *whole: no tree needs a ghost. */
static banyan_status weigh_up(const mender *m, double *rate, double *most, int *whole, banyan_error *err)
{
    double *load = banyan_alloc((size_t)m->graph->arc_count, sizeof *load), fullest = 0;

    if (!load)
        return banyan_fail_memory(err);
    *whole = 1;
    *most = 0;
    for (size_t t = 0; t < m->trees.tree_count; t++)
        for (size_t a = banyan_trees_arcs_begin(&m->trees, t); a < banyan_trees_arcs_close(&m->trees, t);
             a++) {
            int arc = m->trees.arcs[a];

            *whole &= arc < m->graph->arc_count;
            if (arc < m->graph->arc_count)
                load[banyan_graph_cable(m->graph, arc)] += m->weight[t];
        }
    for (int i = 0; i < m->graph->arc_count; i++) {
        double capacity = (double)m->graph->arcs[i].capacity;

        *most += capacity / 2 / (m->graph->active_count - 1);
        fullest = load[i] / capacity > fullest ? load[i] / capacity : fullest;
    }
    *rate = fullest > 0 ? 1 / fullest : 0;
    banyan_free(load);
    return BANYAN_SUCCESS;
}

static banyan_status exchange(mender *m, banyan_error *err)
{
    double usual = 0, fullest;
    banyan_exchange_problem problem = {
        .weight = m->weight, .attempt_limit = ATTEMPTS, .depth_limit = m->depth_limit};

    for (int i = 0; i < m->graph->arc_count; i++)
        usual += (double)m->ghostly->arcs[i].capacity / 2 / (m->graph->active_count - 1);
    problem.usual = 1 / usual;
    problem.enough = 1 / (GOOD * usual);
    return banyan_exchange(m->ghostly, &problem, &m->trees, &fullest, err);
}

/* The trees weighed by one linear program. */
static banyan_status weigh_anew(const mender *m, banyan_flows *flows, banyan_error *err)
{
    banyan_packing_problem problem = {.oracle = banyan_oracle_tree,
                                      .tolerance = 0.009,
                                      .warm_trees = 1,
                                      .seed = &m->trees,
                                      .round_limit = 0};
    banyan_packing packing;
    banyan_oracle *oracle;
    banyan_status status = banyan_oracle_create(m->graph, &oracle, err);

    if (status)
        return status;
    problem.context = oracle;
    status = banyan_packing_solve(m->graph, &problem, &packing, err);
    banyan_oracle_destroy(oracle);
    if (status)
        return status;
    banyan_packed_take(flows, m->graph, &packing);
    banyan_packing_fini(&packing);
    return BANYAN_SUCCESS;
}

static banyan_status mend_trees(mender *m, int *whole, banyan_flows *flows, banyan_error *err)
{
    double rate, most;
    banyan_status status = sort_by_flow(m, err);

    *whole = 0;
    if (status || !find_ghosts(m))
        return status;
    status = banyan_packed_radius(m->graph, &m->depth_limit, err);
    m->depth_limit += 2;
    if (!status)
        status = add_ghosts(m, err);
    if (!status)
        status = take_old_trees(m, err);
    if (!status)
        status = halve_light_trees(m, err);
    if (!status)
        status = exchange(m, err);
    if (!status)
        status = weigh_up(m, &rate, &most, whole, err);
    if (status || !*whole)
        return status;
    if (rate < FAIR * most)
        return weigh_anew(m, flows, err);
    for (size_t t = 0; t < m->trees.tree_count; t++)
        banyan_flows_add_tree(flows, m->graph, &m->trees, t, -1, m->weight[t]);
    return flows->failed ? banyan_fail_memory(err) : BANYAN_SUCCESS;
}

static int can_mend(const banyan_graph *graph, const banyan_problem *problem, const banyan_schedule *old)
{
    if (!graph->symmetric || graph->active_count != problem->topology->node_count ||
        old->node_count != problem->topology->node_count || old->active_count != problem->active_count ||
        old->collective != BANYAN_COLLECTIVE_ALLREDUCE || old->flow_count != old->piece_count)
        return 0;
    return memcmp(old->active, problem->active, (size_t)old->active_count * sizeof(int)) == 0;
}

static banyan_status mend(const banyan_problem *problem, const banyan_graph *graph,
                          const banyan_schedule *old, int max_trees, banyan_schedule **out, banyan_error *err)
{
    mender m = {.graph = graph, .old = old, .tree_limit = max_trees};
    banyan_flows flows;
    int whole;
    banyan_status status;

    banyan_trees_init(&m.trees);
    banyan_flows_init(&flows);
    status = mend_trees(&m, &whole, &flows, err);
    if (!status && whole)
        status = banyan_flows_limit(&flows, problem->topology, (size_t)max_trees, err);
    if (!status)
        status = whole ? banyan_flows_build(&flows, problem, out, err)
                       : banyan_algorithm_build(banyan_algorithm_find("forest"), problem, out, err);
    banyan_flows_fini(&flows);
    mender_fini(&m);
    return status;
}

banyan_status banyan_forest_replan(const banyan_problem *problem, const banyan_schedule *old,
                                   banyan_schedule **out, banyan_error *err)
{
    banyan_packed_options options;
    banyan_graph *graph = NULL;
    banyan_status status = banyan_packed_options_read(problem, &options, err);

    *out = NULL;
    if (!status)
        status = banyan_network_graph(problem->topology, problem->active, problem->active_count,
                                      options.relays, &graph, err);
    if (!status) {
        if (can_mend(graph, problem, old))
            status = mend(problem, graph, old, options.max_trees, out, err);
        else
            status = banyan_algorithm_build(banyan_algorithm_find("forest"), problem, out, err);
    }
    banyan_graph_destroy(graph);
    return status;
}
