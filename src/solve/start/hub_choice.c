/* SPDX-License-Identifier: Apache-2.0 */
/* solve/start/hub_choice.c: a worker behind a switch has links there alone, and what limits it is how many
 * children it has. An active one must send each byte up once and get each sum once; whatever else its links
 * can do, and all that those of idle workers can, is its service: children in in-trees are served by the
 * links towards it, in out-trees by those from it.
 *
 *        hub ──── hub                 Each tree takes its share of all service from as few hubs as possible,
 *       / | \    / | \                each of which gives all that it has to one tree, or nearly so: an idle
 *      w  w  w  w  w  w               hub costs a tree an edge more. Behind a switch whose links to others
 *                                     are narrow every tree has hubs of its own.
 *
 * All links at workers bear that many idle hubs a tree and no more. Where groups are small one would serve
 * too few in its own: then it serves others, too, first those of groups that have little service. */
#include "solve/start/hub_choice.h"

#include <math.h>
#include <string.h>

#include "solve/start/hub_pairs.h"

/* share of the active workers that may be left unserved rather than add an idle hub */
#define UNSERVED_SHARE 0.02
/* lumps that unserved workers are divided into when no hub has room: each lump overloads another hub */
#define MIN_LUMPS 4
#define MAX_CHAIN 16 /* active hubs that each serve some workers while there is an idle hub */

void banyan_hub_choice_fini(banyan_hub_choice *c)
{
    banyan_scratch_free(&c->memory);
}

static banyan_status make_arrays(banyan_hub_choice *c, banyan_error *err)
{
    size_t nodes = (size_t)c->graph->node_count;

    for (int d = 0; d < 2; d++) {
        c->idle[d] = banyan_scratch_take(&c->memory, nodes + 1, sizeof(double));
        c->all[d] = banyan_scratch_take(&c->memory, nodes + 1, sizeof(double));
        c->lag[d] = banyan_scratch_take(&c->memory, nodes + 1, sizeof(double));
        c->due[d] = banyan_scratch_take(&c->memory, nodes + 1, sizeof(double));
    }
    c->service = banyan_scratch_take(&c->memory, 2 * nodes, sizeof(double));
    c->group = banyan_scratch_take(&c->memory, nodes, sizeof(int));
    c->need = banyan_scratch_take(&c->memory, nodes + 1, sizeof(int));
    c->worker = banyan_scratch_take(&c->memory, nodes, sizeof(int));
    c->home = banyan_scratch_take(&c->memory, nodes, sizeof(int));
    c->given = banyan_scratch_take(&c->memory, nodes, sizeof(double));
    c->slots = banyan_scratch_take(&c->memory, nodes, sizeof(int));
    c->is_hub = banyan_scratch_take(&c->memory, nodes, 1);
    c->hubs = banyan_scratch_take(&c->memory, nodes, sizeof(int));
    return banyan_scratch_check(&c->memory, err);
}

static int is_active(const banyan_hub_choice *c, int v)
{
    return (c->graph->role[v] & BANYAN_NODE_ACTIVE) != 0;
}

static int adds(const banyan_hub_choice *c, int v)
{
    return (c->graph->role[v] & BANYAN_NODE_ADDS) != 0;
}

/* Groups: behind one switch that blocks; else all together. */
static void find_groups(banyan_hub_choice *c)
{
    const banyan_graph *graph = c->graph;

    c->group_count = graph->node_count + 1;
    for (int s = 0; s < graph->node_count; s++) {
        int group = !graph->role[s] && banyan_hub_pairs_blocks(graph, s) ? s : graph->node_count;

        for (int i = graph->out_first[s]; i < graph->out_first[s + 1] && !graph->role[s]; i++)
            c->group[graph->arcs[graph->out_arc[i]].dst] = group;
    }
}

static void find_service(banyan_hub_choice *c)
{
    const banyan_graph *graph = c->graph;

    for (int v = 0; v < graph->node_count; v++)
        if (adds(c, v) && graph->out_first[v] < graph->out_first[v + 1]) {
            c->worker[c->worker_count++] = v;
            c->home[v] = graph->arcs[graph->out_arc[graph->out_first[v]]].dst;
        }
    for (int v = 0; v < graph->node_count; v++)
        for (int d = 0; d < 2 && adds(c, v); d++) {
            double width = fmax(0, (double)banyan_graph_width(graph, v, d) - (is_active(c, v) ? c->rate : 0));

            c->service[2 * v + d] = width;
            c->all[d][c->group[v]] += width;
            c->idle[d][c->group[v]] += is_active(c, v) ? 0 : width;
        }
}

/* All links at workers together bear that many idle hubs a tree and no more, and these have to give all that
 * idle workers can. */
static void find_lumps(banyan_hub_choice *c)
{
    double width[2] = {0, 0}, idle[2] = {0, 0}, hubs;

    for (int d = 0; d < 2; d++)
        for (int g = 0; g < c->group_count; g++) {
            width[d] += c->all[d][g];
            idle[d] += c->idle[d][g];
        }
    hubs = fmin(width[0], width[1]) / c->rate;
    hubs = (hubs + c->graph->active_count) / 2 - (c->graph->active_count - 1);
    for (int d = 0; d < 2; d++)
        c->lump[d] = hubs > 0 ? idle[d] / c->rate / hubs : c->graph->active_count;
}

static int slots_of(const banyan_hub_choice *c, int v, int d)
{
    return (int)floor(fmax(0, c->service[2 * v + d]) / c->weight + 1e-6);
}

/* The worker serves that many more in the current tree. */
static void serve(banyan_hub_choice *c, int v, int d, int slots)
{
    if (!c->is_hub[v])
        c->hubs[c->hub_count++] = v;
    c->is_hub[v] = 1;
    c->slots[v] += slots;
    c->service[2 * v + d] -= slots * c->weight;
    c->given[c->home[v]] += slots;
    c->due[d][c->group[v]] -= slots;
    if (!is_active(c, v))
        c->lag[d][c->group[v]] -= slots;
}

/* Of two that have as much to give, the one whose switch has given less. */
static int is_better(const banyan_hub_choice *c, int v, double much, int best, double most)
{
    if (best < 0 || much > most * (1 + 1e-9))
        return 1;
    return much > most * (1 - 1e-9) && c->given[c->home[v]] < c->given[c->home[best]];
}

/* The one with the most service left, idle or active, in the group; -1: none has any. */
static int most_service(const banyan_hub_choice *c, int g, int d, int idle)
{
    int best = -1;

    for (int i = 0; i < c->worker_count; i++) {
        int v = c->worker[i];

        if (c->group[v] == g && is_active(c, v) != idle && !c->is_hub[v] && slots_of(c, v, d) > 0 &&
            is_better(c, v, c->service[2 * v + d], best, best < 0 ? 0 : c->service[2 * best + d]))
            best = v;
    }
    return best;
}

/* Who is overdone least by one more. */
static int least_overdone(const banyan_hub_choice *c, int g, int d)
{
    int best = -1;

    for (int i = 0; i < c->worker_count; i++) {
        int v = c->worker[i];

        if (c->group[v] == g && (is_active(c, v) || c->is_hub[v]) &&
            (best < 0 || c->service[2 * v + d] > c->service[2 * best + d]))
            best = v;
    }
    return best;
}

static int is_due(const banyan_hub_choice *c, int g, int d, int slots)
{
    return c->lag[d][g] > 0.25 * slots;
}

/* Children for an idle hub of the group: all of the group's, and others if it should have more. */
static int wanted_of(const banyan_hub_choice *c, int g, int d)
{
    int all = 0;

    for (int i = 0; i < c->group_count; i++)
        all += c->need[i];
    all = all < c->lump[d] ? all : (int)ceil(c->lump[d]);
    return all > c->need[g] ? all : c->need[g];
}

/* Idle hubs, while it is their turn, or while anybody is left without a place. */
static void choose_idle(banyan_hub_choice *c, int g, int d, int always)
{
    for (int v; c->need[g] > 0 && (v = most_service(c, g, d, 1)) >= 0;) {
        int most = slots_of(c, v, d), wanted = 1 + (always ? c->need[g] : wanted_of(c, g, d));
        int slots = most < wanted ? most : wanted;

        if (slots < 2 || (!always && !is_due(c, g, d, slots)))
            break;
        serve(c, v, d, slots);
        c->need[g] -= slots - 1;
    }
}

/* Active ones that serve at least that many. */
static void choose_active(banyan_hub_choice *c, int g, int d, int least)
{
    for (int v; c->need[g] > 0 && (v = most_service(c, g, d, 0)) >= 0;) {
        int most = slots_of(c, v, d), slots = most < c->need[g] ? most : c->need[g];

        if (slots < least)
            break;
        serve(c, v, d, slots);
        c->need[g] -= slots;
    }
}

/* Hubs of the group: active ones, then whoever there is. */
static void choose_hubs(banyan_hub_choice *c, int g, int d)
{
    int v;

    choose_active(c, g, d, c->need[g] / MAX_CHAIN);
    if (c->need[g] > UNSERVED_SHARE * c->graph->active_count)
        choose_idle(c, g, d, 1);
    choose_active(c, g, d, 1);
    while (c->need[g] > 0 && (v = least_overdone(c, g, d)) >= 0) {
        int slots = (c->need[g] + MIN_LUMPS - 1) / MIN_LUMPS;

        serve(c, v, d, slots);
        c->need[g] -= slots;
    }
}

static void add_lags(banyan_hub_choice *c, int d)
{
    for (int i = 0; i < c->graph->active_count; i++) {
        int g = c->group[c->graph->active[i]];

        c->lag[d][g] += c->all[d][g] > 0 ? c->idle[d][g] / c->all[d][g] : 0;
    }
}

/* The group with hubs that have the most to give, or (need) that needs the most beyond what its hubs should
 * have. */
static int most_due(const banyan_hub_choice *c, int d, int need)
{
    int best = -1;

    for (int g = 0; g < c->group_count; g++) {
        double much = (need ? -1 : 1) * (c->due[d][g] - c->need[g]);

        if ((need ? c->need[g] > 0 : c->all[d][g] > 0) &&
            (best < 0 || much > (need ? -1 : 1) * (c->due[d][best] - c->need[best])))
            best = g;
    }
    return best;
}

/* Whom a group's hubs cannot serve, others do, through links between switches; what idle hubs give beyond
 * their group's need is for those that need it most. */
static void share_needs(banyan_hub_choice *c, int d)
{
    int left = 0;

    for (int g = 0; g < c->group_count; g++) {
        int most = (int)fmax(0, floor(c->due[d][g] + 0.5));

        if (c->need[g] >= 0 && c->need[g] <= most)
            continue;
        if (c->need[g] < 0)
            most = 0;
        left += c->need[g] - most;
        c->need[g] = most;
    }
    for (int g; left > 0 && (g = most_due(c, d, 0)) >= 0; left--)
        c->need[g]++;
    for (int g; left < 0 && (g = most_due(c, d, 1)) >= 0; left++)
        c->need[g]--;
}

/* One of each group is attached to a hub of another, at first on the root or near it. */
static void count_needs(banyan_hub_choice *c, int root)
{
    const banyan_graph *graph = c->graph;
    int g = c->group[root];

    memset(c->need, 0, (size_t)c->group_count * sizeof(int));
    for (int i = 0; i < graph->active_count; i++)
        c->need[c->group[graph->active[i]]]++;
    c->need[g] -= is_active(c, root);
    for (int i = 0; i < c->group_count; i++)
        if (i != g && c->need[i] > 0) {
            c->need[i]--;
            c->need[g]++;
        }
}

banyan_status banyan_hub_choice_init(banyan_hub_choice *c, banyan_error *err)
{
    banyan_status status = make_arrays(c, err);

    if (status)
        return status;
    find_groups(c);
    find_service(c);
    find_lumps(c);
    return BANYAN_SUCCESS;
}

void banyan_hub_choice_next(banyan_hub_choice *c)
{
    add_lags(c, 0);
    add_lags(c, 1);
}

int banyan_hub_choice_root(const banyan_hub_choice *c)
{
    int best = -1, best_fits = 0;
    double most = 0;

    for (int i = 0; i < c->worker_count; i++) {
        int v = c->worker[i], g = c->group[v], fits = 1;
        double both = fmin(c->service[2 * v], c->service[2 * v + 1]);

        for (int d = 0; d < 2; d++)
            fits &= slots_of(c, v, d) > 0 &&
                    (is_active(c, v) ? !is_due(c, g, d, 2 * slots_of(c, v, d)) || c->idle[d][g] <= 0
                                     : slots_of(c, v, d) > 1 && is_due(c, g, d, slots_of(c, v, d)));
        if (!is_active(c, v) && !fits)
            continue;
        if (best < 0 || fits > best_fits || (fits == best_fits && is_better(c, v, both, best, most))) {
            best = v;
            best_fits = fits;
            most = both;
        }
    }
    return best;
}

void banyan_hub_choice_make(banyan_hub_choice *c, int root, int d)
{
    int slots = slots_of(c, root, d), g = c->group[root], wanted;

    c->hub_count = 0;
    memset(c->is_hub, 0, (size_t)c->graph->node_count);
    memset(c->slots, 0, (size_t)c->graph->node_count * sizeof(int));
    count_needs(c, root);
    for (int i = 0; i < c->group_count; i++)
        c->due[d][i] += c->all[d][i] / c->rate;
    wanted = is_active(c, root) ? c->need[g] : wanted_of(c, g, d);
    slots = slots < wanted ? slots : wanted;
    serve(c, root, d, slots);
    c->need[g] -= slots;
    for (g = 0; g < c->group_count; g++)
        choose_idle(c, g, d, 0);
    share_needs(c, d);
    for (g = 0; g < c->group_count; g++)
        if (c->need[g] > 0)
            choose_hubs(c, g, d);
}
