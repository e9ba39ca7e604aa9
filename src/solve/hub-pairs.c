/* SPDX-License-Identifier: Apache-2.0 */
/* solve/hub-pairs.c: a worker behind a switch has one link each way, and what limits it is how many others hang on it. An active
 * one must send each byte up once and get each sum once; whatever else its links can do, and all that those of idle workers can,
 * is its service: children in in-trees are served by the link towards it, in out-trees by the one from it.
 *
 *        hub ──── hub                 Each tree takes its share of all service from as few hubs as possible, each of which
 *       / | \    / | \                gives all that it has to one tree, or nearly so: an idle hub costs a tree an edge
 *      w  w  w  w  w  w               more. Behind a switch whose links to others are narrow every tree has hubs of its own.
 *
 * Ways lead through the switches that bear the least so far. Then pairs settle (solve/settle.h). Cost: a search through the
 * switches a worker and tree. */
#include "solve/hub-pairs.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "solve/pairing.h"
#include "solve/settle.h"

#define STEEPNESS                                                                                            \
    24.0 /* doublings of a link's price from an empty one to one that bears what it should by then */
#define NON_BLOCKING                                                                                         \
    0.5 /* of what its workers' links carry: a switch with so much to others needs no hub of its own */
#define FEW 0.02   /* of the active workers without a place: no idle hub more is worth it */
#define AIM 0.9906 /* of the bound, at least */
#define DEEPER                                                                                               \
    0.1 /* of the price of a link that bears what it should, for each hop between a hub and the root */
#define LUMPS                                                                                                \
    4 /* that those without a place make at first: more hubs that are overdone by less are a chain */
#define A_LITTLE_MORE 1.0003 /* times what will do is aimed at */
#define LEAST_RATE 0.95      /* of the aim: no lower one is looked for that suits whole hubs, */
#define FEW_SERVED 0.25      /* of what a hub serves: if active workers do more, hubs need not be whole, */
#define NEARLY_WHOLE 0.9995  /* of such a rate will do */
#define MOST_IN_CHAIN 16     /* active hubs that each serve a few, while there is an idle one */
#define TURNS 6
#define MORE_HOPS 2

typedef struct {
    const banyan_graph *graph;
    double rate; /* aimed at */
    int pair_count, group_count;
    double weight, placed;            /* of each pair, and of all so far, in the graph's units */
    int *worker, worker_count, *home; /* nodes that add; per node: its switch */
    int *group;                       /* per node; the last one is behind all switches that do not block */
    double *service;                  /* [2 * v + d]: what is left; d is 0 for in-trees, 1 for out-trees */
    double *idle[2], *all[2];         /* per group: service of idle workers, of all, at first */
    double *lag[2];        /* per group: children that idle hubs should have had so far and have not, */
    double *due[2];        /* and all hubs */
    double *given;         /* per switch: children of its workers so far */
    double lump[2];        /* children that an idle hub should have in a tree */
    int *need;             /* per group: children of the tree at hand without a place */
    int *slots;            /* per node: places that it has left in the tree at hand */
    int *depth;            /* per hub in the tree at hand */
    unsigned char *is_hub; /* 2: in the tree */
    int *hubs, hub_count;
    double *load, *price; /* per arc */
    double *distance;
    int *via, *open, open_count, *way;
    banyan_trees trees;
    int *root;
} maker;

static void maker_fini(maker *m)
{
    banyan_free(m->service);
    banyan_free(m->group);
    for (int d = 0; d < 2; d++) {
        banyan_free(m->idle[d]);
        banyan_free(m->all[d]);
        banyan_free(m->lag[d]);
        banyan_free(m->due[d]);
    }
    banyan_free(m->need);
    banyan_free(m->worker);
    banyan_free(m->home);
    banyan_free(m->given);
    banyan_free(m->slots);
    banyan_free(m->depth);
    banyan_free(m->is_hub);
    banyan_free(m->hubs);
    banyan_free(m->load);
    banyan_free(m->price);
    banyan_free(m->distance);
    banyan_free(m->via);
    banyan_free(m->open);
    banyan_free(m->way);
    banyan_free(m->root);
    banyan_trees_fini(&m->trees);
}

static int is_active(const maker *m, int v)
{
    return (m->graph->role[v] & BANYAN_NODE_ACTIVE) != 0;
}

static int adds(const maker *m, int v)
{
    return (m->graph->role[v] & BANYAN_NODE_ADDS) != 0;
}

/* Whether all its links lead to and from one node that only forwards. */
static int is_behind_one(const banyan_graph *graph, int v)
{
    int out = graph->out_first[v], in = graph->in_first[v], home;

    if (out == graph->out_first[v + 1] || in == graph->in_first[v + 1])
        return 0;
    home = graph->arcs[graph->out_arc[out]].dst;
    for (int i = out; i < graph->out_first[v + 1]; i++)
        if (graph->arcs[graph->out_arc[i]].dst != home)
            return 0;
    for (int i = in; i < graph->in_first[v + 1]; i++)
        if (graph->arcs[graph->in_arc[i]].src != home)
            return 0;
    return !graph->role[home];
}

int banyan_hub_pairs_apply(const banyan_graph *graph)
{
    const unsigned both = BANYAN_NODE_ADDS | BANYAN_NODE_COPIES;

    for (int v = 0; v < graph->node_count; v++) {
        if (!graph->role[v] ||
            (graph->out_first[v] == graph->out_first[v + 1] && !(graph->role[v] & BANYAN_NODE_ACTIVE)))
            continue;
        if ((graph->role[v] & both) != both || !is_behind_one(graph, v))
            return 0;
    }
    return 1;
}

static banyan_status maker_init(maker *m, banyan_error *err)
{
    const banyan_graph *graph = m->graph;
    size_t nodes = (size_t)graph->node_count, arcs = (size_t)graph->arc_count;
    int whole = 1;

    m->weight = m->rate / m->pair_count;
    banyan_trees_init(&m->trees);
    m->service = banyan_alloc(2 * nodes, sizeof(double));
    m->group = banyan_alloc(nodes, sizeof(int));
    for (int d = 0; d < 2; d++) {
        m->idle[d] = banyan_alloc(nodes + 1, sizeof(double));
        m->all[d] = banyan_alloc(nodes + 1, sizeof(double));
        m->lag[d] = banyan_alloc(nodes + 1, sizeof(double));
        m->due[d] = banyan_alloc(nodes + 1, sizeof(double));
        whole &= m->idle[d] && m->all[d] && m->lag[d] && m->due[d];
    }
    m->need = banyan_alloc(nodes + 1, sizeof(int));
    m->worker = banyan_alloc(nodes, sizeof(int));
    m->home = banyan_alloc(nodes, sizeof(int));
    m->given = banyan_alloc(nodes, sizeof(double));
    m->slots = banyan_alloc(nodes, sizeof(int));
    m->depth = banyan_alloc(nodes, sizeof(int));
    m->is_hub = banyan_alloc(nodes, 1);
    m->hubs = banyan_alloc(nodes, sizeof(int));
    m->load = banyan_alloc(arcs, sizeof(double));
    m->price = banyan_alloc(arcs, sizeof(double));
    m->distance = banyan_alloc(nodes, sizeof(double));
    m->via = banyan_alloc(nodes, sizeof(int));
    m->open = banyan_alloc(nodes, sizeof(int));
    m->way = banyan_alloc(nodes, sizeof(int));
    m->root = banyan_alloc(2 * (size_t)m->pair_count, sizeof(int));
    if (!whole || !m->service || !m->group || !m->need || !m->worker || !m->home || !m->given || !m->slots ||
        !m->depth || !m->is_hub || !m->hubs || !m->load || !m->price || !m->distance || !m->via || !m->open ||
        !m->way || !m->root)
        return banyan_fail_memory(err);
    return BANYAN_SUCCESS;
}

/* Groups: behind one switch, if its links to other switches are narrower than those to workers; else all together. */
static void find_groups(maker *m)
{
    const banyan_graph *graph = m->graph;
    int common = graph->node_count;

    m->group_count = graph->node_count + 1;
    for (int s = 0; s < graph->node_count; s++) {
        double inner[2] = {0, 0}, outer[2] = {0, 0};
        int blocks = 0;

        if (graph->role[s])
            continue;
        for (int side = 0; side < 2; side++) {
            const int *first = side ? graph->out_first : graph->in_first,
                      *arcs = side ? graph->out_arc : graph->in_arc;

            for (int i = first[s]; i < first[s + 1]; i++) {
                const banyan_arc *arc = &graph->arcs[arcs[i]];

                *(graph->role[side ? arc->dst : arc->src] ? &inner[side] : &outer[side]) +=
                    (double)arc->capacity;
            }
        }
        blocks = outer[0] > 0 && (outer[0] < NON_BLOCKING * inner[1] || outer[1] < NON_BLOCKING * inner[0]);
        for (int i = graph->out_first[s]; i < graph->out_first[s + 1]; i++)
            if (graph->role[graph->arcs[graph->out_arc[i]].dst])
                m->group[graph->arcs[graph->out_arc[i]].dst] = blocks ? s : common;
    }
}

static void find_service(maker *m)
{
    const banyan_graph *graph = m->graph;

    for (int v = 0; v < graph->node_count; v++)
        if (adds(m, v) && graph->out_first[v] < graph->out_first[v + 1]) {
            m->worker[m->worker_count++] = v;
            m->home[v] = graph->arcs[graph->out_arc[graph->out_first[v]]].dst;
        }
    for (int v = 0; v < graph->node_count; v++)
        for (int d = 0; d < 2 && adds(m, v); d++) {
            const int *first = d ? graph->out_first : graph->in_first,
                      *arcs = d ? graph->out_arc : graph->in_arc;
            double width = 0;

            for (int i = first[v]; i < first[v + 1]; i++)
                width += (double)graph->arcs[arcs[i]].capacity;
            width = fmax(0, width - (is_active(m, v) ? m->rate : 0));
            m->service[2 * v + d] = width;
            m->all[d][m->group[v]] += width;
            m->idle[d][m->group[v]] += is_active(m, v) ? 0 : width;
        }
}

/* All links at workers together bear so many idle hubs a tree and no more, and these have to give all that idle workers can. */
static void find_lumps(maker *m)
{
    double width[2] = {0, 0}, idle[2] = {0, 0}, hubs;

    for (int d = 0; d < 2; d++)
        for (int g = 0; g < m->group_count; g++) {
            width[d] += m->all[d][g];
            idle[d] += m->idle[d][g];
        }
    hubs = fmin(width[0], width[1]) / m->rate;
    hubs = (hubs + m->graph->active_count) / 2 - (m->graph->active_count - 1);
    for (int d = 0; d < 2; d++)
        m->lump[d] = hubs > 0 ? idle[d] / m->rate / hubs : m->graph->active_count;
}

static int slots_of(const maker *m, int v, int d)
{
    return (int)floor(fmax(0, m->service[2 * v + d]) / m->weight + 1e-6);
}

/* The worker serves so many more in the tree at hand. */
static void serve(maker *m, int v, int d, int slots)
{
    if (!m->is_hub[v])
        m->hubs[m->hub_count++] = v;
    m->is_hub[v] = 1;
    m->slots[v] += slots;
    m->service[2 * v + d] -= slots * m->weight;
    m->given[m->home[v]] += slots;
    m->due[d][m->group[v]] -= slots;
    if (!is_active(m, v))
        m->lag[d][m->group[v]] -= slots;
}

/* Of two that have as much to give, the one whose switch has given less. */
static int is_better(const maker *m, int v, double much, int best, double most)
{
    if (best < 0 || much > most * (1 + 1e-9))
        return 1;
    return much > most * (1 - 1e-9) && m->given[m->home[v]] < m->given[m->home[best]];
}

/* The one with the most service left, idle or active, in the group; -1: none has any. */
static int most_service(const maker *m, int g, int d, int idle)
{
    int best = -1;

    for (int i = 0; i < m->worker_count; i++) {
        int v = m->worker[i];

        if (m->group[v] == g && is_active(m, v) != idle && !m->is_hub[v] && slots_of(m, v, d) > 0 &&
            is_better(m, v, m->service[2 * v + d], best, best < 0 ? 0 : m->service[2 * best + d]))
            best = v;
    }
    return best;
}

/* Who is overdone least by one more. */
static int least_overdone(const maker *m, int g, int d)
{
    int best = -1;

    for (int i = 0; i < m->worker_count; i++) {
        int v = m->worker[i];

        if (m->group[v] == g && (is_active(m, v) || m->is_hub[v]) &&
            (best < 0 || m->service[2 * v + d] > m->service[2 * best + d]))
            best = v;
    }
    return best;
}

static int is_due(const maker *m, int g, int d, int slots)
{
    return m->lag[d][g] > 0.25 * slots;
}

/* Children for an idle hub of the group: all of the group's, and others if it should have more. */
static int wanted_of(const maker *m, int g, int d)
{
    int all = 0;

    for (int i = 0; i < m->group_count; i++)
        all += m->need[i];
    all = all < m->lump[d] ? all : (int)ceil(m->lump[d]);
    return all > m->need[g] ? all : m->need[g];
}

/* Idle hubs, while it is their turn, or while anybody is left without a place. */
static void choose_idle(maker *m, int g, int d, int always)
{
    for (int v; m->need[g] > 0 && (v = most_service(m, g, d, 1)) >= 0;) {
        int most = slots_of(m, v, d), wanted = 1 + (always ? m->need[g] : wanted_of(m, g, d));
        int slots = most < wanted ? most : wanted;

        if (slots < 2 || (!always && !is_due(m, g, d, slots)))
            break;
        serve(m, v, d, slots);
        m->need[g] -= slots - 1;
    }
}

/* Active ones that serve at least so many. */
static void choose_active(maker *m, int g, int d, int least)
{
    for (int v; m->need[g] > 0 && (v = most_service(m, g, d, 0)) >= 0;) {
        int most = slots_of(m, v, d), slots = most < m->need[g] ? most : m->need[g];

        if (slots < least)
            break;
        serve(m, v, d, slots);
        m->need[g] -= slots;
    }
}

/* Hubs of the group: active ones, then whoever there is. */
static void choose_hubs(maker *m, int g, int d)
{
    int v;

    choose_active(m, g, d, m->need[g] / MOST_IN_CHAIN);
    if (m->need[g] > FEW * m->graph->active_count)
        choose_idle(m, g, d, 1);
    choose_active(m, g, d, 1);
    while (m->need[g] > 0 && (v = least_overdone(m, g, d)) >= 0) {
        int slots = (m->need[g] + LUMPS - 1) / LUMPS;

        serve(m, v, d, slots);
        m->need[g] -= slots;
    }
}

/* The root of a pair: who has the most of both kinds of service; idle if it is the turn of those. */
static int choose_root(const maker *m)
{
    int best = -1, best_fits = 0;
    double most = 0;

    for (int i = 0; i < m->worker_count; i++) {
        int v = m->worker[i], g = m->group[v], fits = 1;
        double both = fmin(m->service[2 * v], m->service[2 * v + 1]);

        for (int d = 0; d < 2; d++)
            fits &= slots_of(m, v, d) > 0 &&
                    (is_active(m, v) ? !is_due(m, g, d, 2 * slots_of(m, v, d)) || m->idle[d][g] <= 0
                                     : slots_of(m, v, d) > 1 && is_due(m, g, d, slots_of(m, v, d)));
        if (!is_active(m, v) && !fits)
            continue;
        if (best < 0 || fits > best_fits || (fits == best_fits && is_better(m, v, both, best, most))) {
            best = v;
            best_fits = fits;
            most = both;
        }
    }
    return best;
}

static void set_price(maker *m, int arc)
{
    double due = (double)m->graph->arcs[arc].capacity * (m->placed + m->weight) / m->rate;

    m->price[arc] = 1e-3 + exp2(fmin(60, STEEPNESS * ((m->load[arc] + m->weight) / due - 1)));
}

static int is_free_end(const maker *m, int v, int child, int g, int strict)
{
    return m->is_hub[v] == 2 && v != child && (!strict || m->slots[v] > 0) && (g < 0 || m->group[v] == g);
}

/* The nearest hub with a slot, through switches; -1: none. */
static int nearest(maker *m, int child, int d, int g, int strict)
{
    const banyan_graph *graph = m->graph;
    const int *first = d ? graph->in_first : graph->out_first, *arcs = d ? graph->in_arc : graph->out_arc;
    int best = -1, at = child;
    double far = HUGE_VAL;

    for (int v = 0; v < graph->node_count; v++)
        m->distance[v] = HUGE_VAL;
    m->open_count = 0;
    m->distance[child] = 0;
    for (;;) {
        int next = 0;

        for (int i = first[at]; i < first[at + 1]; i++) {
            int arc = arcs[i], w = d ? graph->arcs[arc].src : graph->arcs[arc].dst;
            double cost = m->distance[at] + m->price[arc];

            if (m->is_hub[w] == 2)
                cost += DEEPER * m->depth[w];
            if (cost >= m->distance[w] || cost >= far)
                continue;
            if (graph->role[w]) {
                if (!is_free_end(m, w, child, g, strict))
                    continue;
                best = w;
                far = cost;
            } else if (m->distance[w] == HUGE_VAL) {
                m->open[m->open_count++] = w;
            }
            m->distance[w] = cost;
            m->via[w] = arc;
        }
        if (!m->open_count)
            return best;
        for (int i = 1; i < m->open_count; i++)
            next = m->distance[m->open[i]] < m->distance[m->open[next]] ? i : next;
        at = m->open[next];
        m->open[next] = m->open[--m->open_count];
        if (m->distance[at] >= far)
            return best;
    }
}

static int hang(maker *m, int child, int d, int g)
{
    const banyan_graph *graph = m->graph;
    int hub = nearest(m, child, d, g, 1), length = 0;

    if (hub < 0 && g >= 0)
        hub = nearest(m, child, d, -1, 1);
    if (hub < 0)
        hub = nearest(m, child, d, g, 0);
    if (hub < 0)
        hub = nearest(m, child, d, -1, 0);
    if (hub < 0)
        return 0;
    m->slots[hub]--;
    m->depth[child] = m->depth[hub] + 1;
    banyan_trees_add_edge(&m->trees, d ? hub : child, d ? child : hub);
    for (int v = hub; v != child; v = d ? graph->arcs[m->via[v]].dst : graph->arcs[m->via[v]].src)
        m->way[length++] = m->via[v];
    for (int i = 0; i < length; i++) {
        int arc = m->way[d ? i : length - 1 - i];

        banyan_trees_add_arc(&m->trees, arc);
        m->load[arc] += m->weight;
        set_price(m, arc);
    }
    return 1;
}

static void sort_hubs(maker *m, int root)
{
    for (int i = 1; i < m->hub_count; i++) {
        int v = m->hubs[i], j = i;

        for (; j > 0 && (v == root || (m->hubs[j - 1] != root && m->slots[m->hubs[j - 1]] < m->slots[v]));
             j--)
            m->hubs[j] = m->hubs[j - 1];
        m->hubs[j] = v;
    }
}

static void add_lags(maker *m, int d)
{
    for (int i = 0; i < m->graph->active_count; i++) {
        int g = m->group[m->graph->active[i]];

        m->lag[d][g] += m->all[d][g] > 0 ? m->idle[d][g] / m->all[d][g] : 0;
    }
}

/* The group with hubs that have the most to give, or (need) that needs the most beyond what its hubs should have. */
static int most_due(const maker *m, int d, int need)
{
    int best = -1;

    for (int g = 0; g < m->group_count; g++) {
        double much = (need ? -1 : 1) * (m->due[d][g] - m->need[g]);

        if ((need ? m->need[g] > 0 : m->all[d][g] > 0) &&
            (best < 0 || much > (need ? -1 : 1) * (m->due[d][best] - m->need[best])))
            best = g;
    }
    return best;
}

/* Whom a group's hubs cannot serve, others do, through links between switches; what idle hubs give beyond their group's need is
 * for those that need it most. */
static void share_needs(maker *m, int d)
{
    int left = 0;

    for (int g = 0; g < m->group_count; g++) {
        int most = (int)fmax(0, floor(m->due[d][g] + 0.5));

        if (m->need[g] >= 0 && m->need[g] <= most)
            continue;
        if (m->need[g] < 0)
            most = 0;
        left += m->need[g] - most;
        m->need[g] = most;
    }
    for (int g; left > 0 && (g = most_due(m, d, 0)) >= 0; left--)
        m->need[g]++;
    for (int g; left < 0 && (g = most_due(m, d, 1)) >= 0; left++)
        m->need[g]--;
}

static int make_tree(maker *m, int root, int d)
{
    const banyan_graph *graph = m->graph;
    int slots = slots_of(m, root, d), g = m->group[root], wanted;

    m->hub_count = 0;
    memset(m->is_hub, 0, (size_t)graph->node_count);
    memset(m->slots, 0, (size_t)graph->node_count * sizeof(int));
    memset(m->need, 0, (size_t)m->group_count * sizeof(int));
    for (int i = 0; i < graph->active_count; i++)
        m->need[m->group[graph->active[i]]]++;
    m->need[g] -= is_active(m, root);
    for (int i = 0; i < m->group_count; i++)
        m->due[d][i] += m->all[d][i] / m->rate;
    wanted = is_active(m, root) ? m->need[g] : wanted_of(m, g, d);
    slots = slots < wanted ? slots : wanted;
    serve(m, root, d, slots);
    m->need[g] -= slots;
    for (g = 0; g < m->group_count; g++)
        choose_idle(m, g, d, 0);
    share_needs(m, d);
    for (g = 0; g < m->group_count; g++)
        if (m->need[g] > 0)
            choose_hubs(m, g, d);
    sort_hubs(m, root);
    for (int i = 0; i < graph->arc_count; i++)
        set_price(m, i);
    banyan_trees_begin(&m->trees);
    m->is_hub[root] = 2;
    m->depth[root] = 0;
    for (int j = 1; j < m->hub_count; j++) {
        if (!hang(m, m->hubs[j], d, -1))
            return 0;
        m->is_hub[m->hubs[j]] = 2;
    }
    for (int i = 0; i < graph->active_count; i++) {
        int v = graph->active[i];

        if (!m->is_hub[v] && !hang(m, v, d, m->group[v] == graph->node_count ? -1 : m->group[v]))
            return 0;
    }
    return 1;
}

static banyan_status make_trees(maker *m, int *whole, banyan_error *err)
{
    *whole = 1;
    for (int k = 0; *whole && k < m->pair_count; k++) {
        add_lags(m, 0);
        add_lags(m, 1);
        m->root[2 * k] = m->root[2 * k + 1] = choose_root(m);
        for (int d = 0; d < 2 && *whole; d++)
            *whole = make_tree(m, m->root[2 * k], d);
        m->placed += m->weight;
    }
    return m->trees.failed ? banyan_fail_memory(err) : BANYAN_SUCCESS;
}

/* Widths of all active and of all idle workers' links, in or out (d), and of the widest idle one. */
static void add_widths(const banyan_graph *graph, int d, double *active, double *idle, double *widest)
{
    const int *first = d ? graph->out_first : graph->in_first, *arcs = d ? graph->out_arc : graph->in_arc;

    *active = *idle = 0;
    for (int v = 0; v < graph->node_count; v++) {
        double width = 0;

        if (!(graph->role[v] & BANYAN_NODE_ADDS))
            continue;
        for (int i = first[v]; i < first[v + 1]; i++)
            width += (double)graph->arcs[arcs[i]].capacity;
        *(graph->role[v] & BANYAN_NODE_ACTIVE ? active : idle) += width;
        *widest = graph->role[v] & BANYAN_NODE_ACTIVE ? *widest : fmax(*widest, width);
    }
}

/* If the widest idle worker serves so many in a tree, this takes as many of them as serve all who send, themselves included. If all
 * links cannot bear as many edges the rate is too high, and the next to try is that at which one more is served. */
double banyan_hub_pairs_whole(const banyan_graph *graph, double rate, int pairs)
{
    double active[2], idle[2], widest = 0, all, tried = rate, sends = graph->active_count - 1;

    for (int d = 0; d < 2; d++)
        add_widths(graph, d, &active[d], &idle[d], &widest);
    all = fmin(active[0] + idle[0], active[1] + idle[1]);
    while (widest > 0 && tried >= LEAST_RATE * rate) {
        double served = floor(pairs * widest / tried * (1 + 1e-9));
        double by_active = fmax(active[0], active[1]) / tried - graph->active_count;

        if (served < 2 || by_active > FEW_SERVED * served ||
            2 * (sends + ceil(sends / (served - 1) - 1e-9)) * tried <= all)
            return tried;
        tried = pairs * widest / (served + 1);
    }
    return rate;
}

banyan_status banyan_hub_pairs_find(const banyan_graph *graph, const banyan_hub_pairs_problem *problem,
                                    banyan_coupled *packing, banyan_error *err)
{
    double rate = fmax(AIM * packing->bound_value, A_LITTLE_MORE * problem->enough);
    maker m = {.graph = graph,
               .rate = banyan_hub_pairs_whole(graph, rate, problem->pair_limit),
               .pair_count = problem->pair_limit};
    banyan_settle_problem settle = {.aim = m.rate,
                                    .enough = m.rate < rate ? NEARLY_WHOLE * m.rate : problem->enough,
                                    .turn_limit = TURNS,
                                    .more_hops = MORE_HOPS,
                                    .in_hurry = problem->in_hurry};
    double total = 0, *weight = banyan_alloc((size_t)m.pair_count, sizeof *weight);
    int whole = 0;
    banyan_status status = weight ? maker_init(&m, err) : banyan_fail_memory(err);

    if (!status) {
        find_groups(&m);
        find_service(&m);
        find_lumps(&m);
        status = make_trees(&m, &whole, err);
    }
    for (int k = 0; weight && k < m.pair_count; k++)
        weight[k] = m.weight;
    if (!status && whole)
        status = banyan_settle(graph, &settle, &m.trees, m.root, weight, &total, err);
    if (!status && total > problem->least) {
        status = banyan_pairing_hand_over(packing, &m.trees, &m.root, weight, err);
        packing->total = total;
    }
    maker_fini(&m);
    banyan_free(weight);
    return status;
}
