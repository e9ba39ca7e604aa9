/* SPDX-License-Identifier: Apache-2.0 */
/* solve/start/hub_trees.c: behind a switch every worker has one narrow cable, and a tree's worker with many
 * neighbours fills it. But over many trees all that counts is the sum. So in each tree a few workers are
 * hubs, at least one behind each switch: the others behind that switch hang on it, and hubs form a tree among
 * themselves, each with two below.
 *
 *        hub ──── hub ──── ...            the least busy so far are the hubs, and the least busy of these
 * stand / | \    / | \                    above the others; so after some trees everybody has done the same.
 *      w  w  w  w  w  w
 *
 * Idle workers that add are the best hubs: they have no data of their own to send, and cost a tree one edge
 * more each, so that few of them with many others each are better than many with few. Behind a switch with
 * such, some trees have only idle hubs, as few as their cables allow, and the others only active ones: in
 * such a proportion that in the end all cables have done the same.
 *
 * Prices grow with what a cable carries, relative to its capacity, so hubs join by the emptier ways. What is
 * still uneven at the end is for solve/round/edge_exchange.h to mend. Cost: a shortest-path search a worker
 * and tree. */
#include "solve/start/hub_trees.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "solve/oracle/closure.h"

#define STEEPNESS 10 /* doublings of the price */
#define NEARLY 0.9   /* of a group have a place on idle hubs: another is not worth it */

typedef struct {
    const banyan_graph *graph;
    banyan_closure closure; /* on the nodes that add */
    int worker_count, group_count, tree_count;
    int *group;          /* per worker (closure index): those behind one switch */
    double *width;       /* per worker: of its widest cable */
    int *group_size;     /* active ones of the group */
    int *hubs_wanted;    /* per group */
    double *level;       /* per group: what a cable of width 1 there bears in the end */
    double *idle_width;  /* per group */
    double *served;      /* per group: that many have hung on idle hubs so far */
    double *room;        /* per group: that many can hang on the hubs of the current tree */
    unsigned char *idly; /* per group: the hubs of the current tree are idle */
    double *load;        /* per cable: uses so far over capacity */
    int64_t *price;      /* per arc */
    double *busy;        /* per worker: the fullest of its cables */
    int *hub, hub_count;
    unsigned char *is_hub;
    int *children; /* per worker, in the current tree */
    int *taken;
    int *parent;  /* [tree * worker_count + worker], closure indices; -1 at the root */
    size_t *path; /* its arcs from the worker to the parent, in arcs */
    int *path_length;
    int *arcs;
    size_t arc_count, arc_capacity;
    int failed;
} packer;

static void packer_fini(packer *p)
{
    banyan_closure_fini(&p->closure);
    banyan_free(p->group);
    banyan_free(p->width);
    banyan_free(p->group_size);
    banyan_free(p->hubs_wanted);
    banyan_free(p->level);
    banyan_free(p->idle_width);
    banyan_free(p->served);
    banyan_free(p->room);
    banyan_free(p->idly);
    banyan_free(p->load);
    banyan_free(p->price);
    banyan_free(p->busy);
    banyan_free(p->hub);
    banyan_free(p->is_hub);
    banyan_free(p->children);
    banyan_free(p->taken);
    banyan_free(p->parent);
    banyan_free(p->path);
    banyan_free(p->path_length);
    banyan_free(p->arcs);
}

static int is_idle(const packer *p, int worker)
{
    return !(p->graph->role[p->closure.node[worker]] & BANYAN_NODE_ACTIVE);
}

/* The forwarder at the end of the widest cable; a worker without one is its own group. */
static int home_of(const banyan_graph *graph, int v, double *width)
{
    int home = v;
    int64_t widest = 0;

    for (int i = graph->out_first[v]; i < graph->out_first[v + 1]; i++) {
        const banyan_arc *arc = &graph->arcs[graph->out_arc[i]];

        if (!(graph->role[arc->dst] & BANYAN_NODE_ADDS) && arc->capacity > widest) {
            widest = arc->capacity;
            home = arc->dst;
        }
    }
    *width = (double)widest;
    return home;
}

/* A tree takes two ends of cables for each of its workers, on all cables alike, but one at least of each
 * active one. */
static void find_levels(packer *p)
{
    for (int i = 0; i < p->worker_count; i++) {
        int g = p->group[i];

        p->level[g] += p->width[i];
        p->idle_width[g] += is_idle(p, i) ? p->width[i] : 0;
    }
    for (int g = 0; g < p->group_count; g++)
        p->level[g] = p->level[g] > 0 ? 2.0 * p->tree_count * p->group_size[g] / p->level[g] : 0;
    for (int i = 0; i < p->worker_count; i++)
        if (!is_idle(p, i) && p->width[i] > 0)
            p->level[p->group[i]] = fmax(p->level[p->group[i]], p->tree_count / p->width[i]);
}

/* Idle workers behind a switch without active ones are lent to the group that has the least width for its
 * size. */
static void lend_hubs(packer *p)
{
    for (int i = 0; i < p->worker_count; i++)
        p->idle_width[p->group[i]] += p->width[i]; /* here: of all of them */
    for (int i = 0; i < p->worker_count; i++) {
        int from = p->group[i], to = -1;

        for (int g = 0; g < p->group_count && p->group_size[from] == 0; g++)
            if (p->group_size[g] &&
                (to < 0 || p->idle_width[g] * p->group_size[to] < p->idle_width[to] * p->group_size[g]))
                to = g;
        if (to < 0)
            continue;
        p->group[i] = to;
        p->idle_width[to] += p->width[i];
    }
    memset(p->idle_width, 0, (size_t)p->worker_count * sizeof(double));
}

static banyan_status find_groups(packer *p, banyan_error *err)
{
    int *number = banyan_alloc((size_t)p->graph->node_count, sizeof *number);

    if (!number)
        return banyan_fail_memory(err);
    for (int i = 0; i < p->worker_count; i++) {
        int home = home_of(p->graph, p->closure.node[i], &p->width[i]);

        if (number[home] == 0)
            number[home] = ++p->group_count;
        p->group[i] = number[home] - 1;
        p->group_size[p->group[i]] += !is_idle(p, i);
    }
    lend_hubs(p);
    for (int g = 0; g < p->group_count; g++) {
        p->hubs_wanted[g] = (2 * p->group_size[g] + p->tree_count - 1) / p->tree_count;
        if (p->hubs_wanted[g] < 1 && p->group_size[g])
            p->hubs_wanted[g] = 1;
    }
    find_levels(p);
    banyan_free(number);
    return BANYAN_SUCCESS;
}

static banyan_status packer_init(packer *p, const banyan_graph *graph, int tree_count, banyan_error *err)
{
    size_t workers, arcs = (size_t)graph->arc_count, cells;
    banyan_status status;

    memset(p, 0, sizeof *p);
    p->graph = graph;
    p->tree_count = tree_count;
    status = banyan_closure_init(&p->closure, graph, BANYAN_NODE_ADDS, err);
    if (status)
        return status;
    p->worker_count = p->closure.count;
    workers = (size_t)p->worker_count;
    cells = workers * (size_t)tree_count;
    p->group = banyan_alloc(workers, sizeof(int));
    p->width = banyan_alloc(workers, sizeof(double));
    p->group_size = banyan_alloc(workers, sizeof(int));
    p->hubs_wanted = banyan_alloc(workers, sizeof(int));
    p->level = banyan_alloc(workers, sizeof(double));
    p->idle_width = banyan_alloc(workers, sizeof(double));
    p->served = banyan_alloc(workers, sizeof(double));
    p->room = banyan_alloc(workers, sizeof(double));
    p->idly = banyan_alloc(workers, 1);
    p->load = banyan_alloc(arcs, sizeof(double));
    p->price = banyan_alloc(arcs, sizeof(int64_t));
    p->busy = banyan_alloc(workers, sizeof(double));
    p->hub = banyan_alloc(workers, sizeof(int));
    p->is_hub = banyan_alloc(workers, 1);
    p->children = banyan_alloc(workers, sizeof(int));
    p->taken = banyan_alloc(workers, sizeof(int));
    p->parent = banyan_alloc(cells, sizeof(int));
    p->path = banyan_alloc(cells, sizeof(size_t));
    p->path_length = banyan_alloc(cells, sizeof(int));
    if (!p->group || !p->width || !p->group_size || !p->hubs_wanted || !p->level || !p->idle_width ||
        !p->served || !p->room || !p->idly || !p->load || !p->price || !p->busy || !p->hub || !p->is_hub ||
        !p->children || !p->parent || !p->taken || !p->path || !p->path_length)
        return banyan_fail_memory(err);
    for (size_t c = 0; c < cells; c++)
        p->parent[c] = -1;
    return find_groups(p, err);
}

/* Prices double STEEPNESS times from an empty cable to the fullest. */
static void set_prices(packer *p)
{
    double fullest = 1e-9;

    for (int i = 0; i < p->graph->arc_count; i++)
        fullest = p->load[i] > fullest ? p->load[i] : fullest;
    for (int i = 0; i < p->graph->arc_count; i++)
        p->price[i] =
            64 + (int64_t)(64 * exp2(STEEPNESS * p->load[banyan_graph_cable(p->graph, i)] / fullest));
}

static void set_busy(packer *p)
{
    const banyan_graph *graph = p->graph;

    for (int i = 0; i < p->worker_count; i++) {
        int v = p->closure.node[i];

        p->busy[i] = 0;
        for (int j = graph->out_first[v]; j < graph->out_first[v + 1]; j++) {
            double load = p->load[banyan_graph_cable(graph, graph->out_arc[j])];

            p->busy[i] = load > p->busy[i] ? load : p->busy[i];
        }
    }
}

/* Insertion into the list of hubs, least busy first. */
static void add_hub(packer *p, int worker)
{
    int i = p->hub_count++;

    for (; i > 0 && p->busy[worker] < p->busy[p->hub[i - 1]]; i--)
        p->hub[i] = p->hub[i - 1];
    p->hub[i] = worker;
    p->is_hub[worker] = 1;
}

/* Which groups have idle hubs this time: those whose share of it has not been had yet. */
static void choose_sides(packer *p, int tree)
{
    for (int g = 0; g < p->group_count; g++) {
        double due = fmin(p->idle_width[g] * p->level[g] / p->tree_count, p->group_size[g]) * (tree + 0.5);

        p->idly[g] = p->idle_width[g] > 0 && p->served[g] < due;
        p->served[g] += p->idly[g] ? p->group_size[g] : 0;
        p->room[g] = 0;
    }
}

/* Whether the group wants a hub more: that many, or idle ones until everybody has a place. */
static int wants_hub(const packer *p, int g)
{
    return p->idly[g] ? p->room[g] < NEARLY * p->group_size[g] : p->taken[g] < p->hubs_wanted[g];
}

static void choose_hubs(packer *p)
{
    p->hub_count = 0;
    memset(p->is_hub, 0, (size_t)p->worker_count);
    memset(p->taken, 0, (size_t)p->worker_count * sizeof(int));
    for (int added = 1; added;) { /* in passes: the least busy of each group that wants another */
        added = 0;
        memset(p->children, -1, (size_t)p->worker_count * sizeof(int)); /* per group: the best candidate */
        for (int i = 0; i < p->worker_count; i++) {
            int g = p->group[i];

            if (!p->is_hub[i] && is_idle(p, i) == p->idly[g] && wants_hub(p, g) &&
                (p->children[g] < 0 || p->busy[i] < p->busy[p->children[g]]))
                p->children[g] = i;
        }
        for (int g = 0; g < p->group_count; g++)
            if (p->children[g] >= 0) {
                add_hub(p, p->children[g]);
                p->taken[g]++;
                p->room[g] += fmax(1, (p->level[g] - p->busy[p->children[g]]) * p->width[p->children[g]]);
                added = 1;
            }
    }
    memset(p->children, 0, (size_t)p->worker_count * sizeof(int));
}

static void count_path(packer *p, size_t cell, double sign)
{
    for (int i = 0; i < p->path_length[cell]; i++) {
        int cable = banyan_graph_cable(p->graph, p->arcs[p->path[cell] + (size_t)i]);

        p->load[cable] += sign / (double)p->graph->arcs[cable].capacity;
    }
}

/* Hangs the child to the parent by the way just measured from the child. */
static void join(packer *p, int tree, int child, int parent)
{
    const banyan_graph *graph = p->graph;
    const int *via = p->closure.via + (size_t)child * (size_t)graph->node_count;
    size_t cell = (size_t)tree * (size_t)p->worker_count + (size_t)child;
    int length = 0;

    for (int v = p->closure.node[parent]; v != p->closure.node[child]; v = graph->arcs[via[v]].src)
        length++;
    while (!p->failed && p->arc_count + (size_t)length > p->arc_capacity)
        p->failed = !banyan_grow((void **)&p->arcs, p->arc_capacity, &p->arc_capacity, sizeof *p->arcs);
    if (p->failed)
        return;
    p->parent[cell] = parent;
    p->path[cell] = p->arc_count;
    p->path_length[cell] = length;
    p->arc_count += (size_t)length;
    for (int v = p->closure.node[parent], i = length - 1; i >= 0; v = graph->arcs[via[v]].src, i--)
        p->arcs[p->path[cell] + (size_t)i] = via[v];
    count_path(p, cell, 1);
}

/* Each hub below the nearest earlier one that has room for a child. */
static int join_hubs(packer *p, int tree)
{
    for (int j = 1; j < p->hub_count; j++) {
        const int64_t *distance = p->closure.distance + (size_t)p->hub[j] * (size_t)p->worker_count;
        int best = -1;

        banyan_closure_measure_from(&p->closure, p->price, p->hub[j]);
        for (int i = 0; i < j; i++)
            if (p->children[p->hub[i]] < 2 + (i == 0) && distance[p->hub[i]] < BANYAN_FAR &&
                (best < 0 || distance[p->hub[i]] < distance[p->hub[best]]))
                best = i;
        if (best < 0)
            return 0;
        join(p, tree, p->hub[j], p->hub[best]);
        p->children[p->hub[best]]++;
    }
    return 1;
}

/* Everybody else on a hub of the same group, the ones with the fewest first. */
static int join_others(packer *p, int tree)
{
    for (int i = 0; i < p->worker_count; i++) {
        const int64_t *distance = p->closure.distance + (size_t)i * (size_t)p->worker_count;
        int best = -1;

        if (p->is_hub[i] || is_idle(p, i))
            continue;
        banyan_closure_measure_from(&p->closure, p->price, i);
        for (int j = 0; j < p->hub_count; j++) {
            int h = p->hub[j];

            if (p->group[h] != p->group[i] || distance[h] >= BANYAN_FAR)
                continue;
            if (best < 0 || p->busy[h] + p->children[h] < p->busy[best] + p->children[best])
                best = h;
        }
        if (best < 0)
            return 0;
        join(p, tree, i, best);
        p->children[best]++;
    }
    return 1;
}

static void leave(packer *p, size_t cell)
{
    count_path(p, cell, -1);
    p->parent[cell] = -1;
}

/* Idle hubs that nobody hangs on go again; a root with one below it hands over to that one. */
static void drop_idle_ends(packer *p, int tree)
{
    size_t first = (size_t)tree * (size_t)p->worker_count;
    int j = p->hub_count;

    while (--j > 0) {
        size_t cell = first + (size_t)p->hub[j];

        if (is_idle(p, p->hub[j]) && p->children[p->hub[j]] == 0) {
            p->children[p->parent[cell]]--;
            leave(p, cell);
        }
    }
    for (int root = p->hub[0]; is_idle(p, root) && p->children[root] == 1;) {
        int child = 0;

        while (p->parent[first + (size_t)child] != root)
            child++;
        leave(p, first + (size_t)child);
        p->children[root] = 0;
        root = child;
    }
}

static void give_trees(const packer *p, banyan_trees *trees)
{
    for (int t = 0; t < p->tree_count; t++) {
        banyan_trees_begin(trees);
        for (int w = 0; w < p->worker_count; w++) {
            size_t cell = (size_t)t * (size_t)p->worker_count + (size_t)w;

            if (p->parent[cell] < 0)
                continue;
            banyan_trees_add_edge(trees, p->closure.node[w], p->closure.node[p->parent[cell]]);
            for (int i = 0; i < p->path_length[cell]; i++)
                banyan_trees_add_arc(trees, p->arcs[p->path[cell] + (size_t)i]);
        }
    }
}

banyan_status banyan_hub_trees_pack(const banyan_graph *graph, int tree_count, banyan_trees *trees,
                                    banyan_error *err)
{
    packer p;
    banyan_status status = packer_init(&p, graph, tree_count, err);
    int whole = 1;

    for (int t = 0; !status && whole && t < tree_count; t++) {
        set_prices(&p);
        set_busy(&p);
        choose_sides(&p, t);
        choose_hubs(&p);
        p.parent[(size_t)t * (size_t)p.worker_count + (size_t)p.hub[0]] = -1;
        whole = join_hubs(&p, t) && join_others(&p, t);
        if (whole && !p.failed)
            drop_idle_ends(&p, t);
    }
    if (!status && whole && !p.failed)
        give_trees(&p, trees);
    if (!status && (p.failed || trees->failed))
        status = banyan_fail_memory(err);
    packer_fini(&p);
    return status;
}
