/* SPDX-License-Identifier: Apache-2.0 */
/* solve/cut/pods.c: what trees cost at the least, cell by cell. In an in-tree whoever is not the root sends
 * once, and somebody takes what it sends:
 *
 *      (a a a i)  (a a a)       From each cell but the root's at least one sends to another cell, the others
 *          \  \     |           to whomever is cheapest, here or there. An idle worker in a tree sends, too,
 *       ---- switches ----      so it is one more; but one in a cell is as good as many. Each cell decides
 *                               for itself whether it has one, and may send to any cell's if there is one at
 *                               all.
 *
 * Somebody sends to the root itself, and somebody into its cell, even if others take for less: what that
 * costs more comes on top.
 *
 * Out-trees are the same, backwards. Cost: a shortest-path search among switches for each cell. */
#include "solve/cut/pods.h"

#include <string.h>

#define FAR ((banyan_wide)1 << 100)

void banyan_pods_fini(banyan_pods *cells)
{
    banyan_scratch_free(&cells->memory);
    memset(cells, 0, sizeof *cells);
}

/* The switch behind which the worker is, if all its links lead there, and some do each way; -1: it is not
 * so. */
static int switch_of(const banyan_graph *graph, int v)
{
    int out = graph->out_first[v], in = graph->in_first[v], s;

    if (graph->out_first[v + 1] == out || graph->in_first[v + 1] == in)
        return -1;
    s = graph->arcs[graph->out_arc[out]].dst;
    for (int i = out; i < graph->out_first[v + 1]; i++)
        if (graph->arcs[graph->out_arc[i]].dst != s)
            return -1;
    for (int i = in; i < graph->in_first[v + 1]; i++)
        if (graph->arcs[graph->in_arc[i]].src != s)
            return -1;
    return graph->role[s] ? -1 : s;
}

banyan_status banyan_pods_find(const banyan_graph *graph, banyan_pods *out, banyan_error *err)
{
    const unsigned both = BANYAN_NODE_ADDS | BANYAN_NODE_COPIES;
    size_t nodes = (size_t)graph->node_count;
    banyan_pods cells = {0};

    cells.home = banyan_scratch_take(&cells.memory, nodes, sizeof(int));
    cells.cell = banyan_scratch_take(&cells.memory, nodes, sizeof(int));
    cells.active = banyan_scratch_take(&cells.memory, nodes, sizeof(int));
    cells.idle = banyan_scratch_take(&cells.memory, nodes, sizeof(int));
    *out = cells;
    if (cells.memory.failed)
        return banyan_fail_memory(err);
    for (int v = 0; v < graph->node_count; v++)
        cells.cell[v] = -1;
    for (int v = 0; v < graph->node_count; v++) {
        int is_active = graph->role[v] & BANYAN_NODE_ACTIVE, s;

        if (!graph->role[v] || (!is_active && graph->out_first[v] == graph->out_first[v + 1] &&
                                graph->in_first[v] == graph->in_first[v + 1]))
            continue;
        s = (graph->role[v] & both) == both ? switch_of(graph, v) : -1;
        if (s < 0) {
            cells.count = 0;
            break;
        }
        if (cells.cell[s] < 0) {
            cells.cell[s] = cells.count;
            cells.home[cells.count++] = s;
        }
        cells.cell[v] = cells.cell[s];
        (is_active ? cells.active : cells.idle)[cells.cell[s]]++;
    }
    out->count = cells.count;
    return BANYAN_SUCCESS;
}

/* Prices of one kind of tree. */
typedef struct {
    const banyan_graph *graph;
    const banyan_pods *cells;
    const int64_t *price;
    int backwards;              /* out-trees: whoever takes from the one above stands for who sends */
    int64_t *send[2], *take[2]; /* per cell: the least of an active worker's, of an idle one's */
    banyan_wide *distance;      /* per node */
    banyan_wide *way;           /* [from * cells + to]: between their switches */
    banyan_wide *other[2];      /* per cell: the least for what another cell takes; there is an idle one */
    banyan_wide *apart, *with;  /* per cell that is not the root's: without an idle worker, with one, */
    banyan_wide *apart_at, *with_at;      /* and the root's, which is active */
    banyan_wide *from_active, *from_idle; /* per cell: the cheapest tree with such a root there */
    unsigned char *done;
    banyan_scratch memory;
} costs;

static banyan_status costs_init(costs *c, banyan_error *err)
{
    size_t cells = (size_t)c->cells->count, nodes = (size_t)c->graph->node_count;

    for (int k = 0; k < 2; k++) {
        c->send[k] = banyan_scratch_take(&c->memory, cells, sizeof(int64_t));
        c->take[k] = banyan_scratch_take(&c->memory, cells, sizeof(int64_t));
        c->other[k] = banyan_scratch_take(&c->memory, cells, sizeof(banyan_wide));
    }
    c->distance = banyan_scratch_take(&c->memory, nodes, sizeof(banyan_wide));
    c->way = banyan_scratch_take(&c->memory, cells * cells, sizeof(banyan_wide));
    c->apart = banyan_scratch_take(&c->memory, cells, sizeof(banyan_wide));
    c->with = banyan_scratch_take(&c->memory, cells, sizeof(banyan_wide));
    c->apart_at = banyan_scratch_take(&c->memory, cells, sizeof(banyan_wide));
    c->with_at = banyan_scratch_take(&c->memory, cells, sizeof(banyan_wide));
    c->from_active = banyan_scratch_take(&c->memory, cells, sizeof(banyan_wide));
    c->from_idle = banyan_scratch_take(&c->memory, cells, sizeof(banyan_wide));
    c->done = banyan_scratch_take(&c->memory, nodes, 1);
    return banyan_scratch_check(&c->memory, err);
}

static banyan_wide lesser(banyan_wide a, banyan_wide b)
{
    return a < b ? a : b;
}

static void find_ends(costs *c)
{
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < c->cells->count; i++)
            c->send[k][i] = c->take[k][i] = INT64_MAX;
    for (int i = 0; i < c->graph->arc_count; i++) {
        const banyan_arc *arc = &c->graph->arcs[i];
        int leaves = c->graph->role[arc->src] != 0, v = leaves ? arc->src : arc->dst, idle;
        int64_t *least;

        if (!c->graph->role[v])
            continue;
        idle = !(c->graph->role[v] & BANYAN_NODE_ACTIVE);
        least = (leaves != c->backwards ? c->send : c->take)[idle] + c->cells->cell[v];
        *least = c->price[i] < *least ? c->price[i] : *least;
    }
}

static void measure_from(costs *c, int home)
{
    const banyan_graph *graph = c->graph;
    const int *first = c->backwards ? graph->in_first : graph->out_first,
              *arcs = c->backwards ? graph->in_arc : graph->out_arc;

    for (int v = 0; v < graph->node_count; v++) {
        c->distance[v] = FAR;
        c->done[v] = graph->role[v] != 0;
    }
    c->distance[home] = 0;
    for (;;) {
        int at = -1;

        for (int v = 0; v < graph->node_count; v++)
            if (!c->done[v] && c->distance[v] < FAR && (at < 0 || c->distance[v] < c->distance[at]))
                at = v;
        if (at < 0)
            return;
        c->done[at] = 1;
        for (int j = first[at]; j < first[at + 1]; j++) {
            int to = c->backwards ? graph->arcs[arcs[j]].src : graph->arcs[arcs[j]].dst;

            c->distance[to] = lesser(c->distance[to], c->distance[at] + c->price[arcs[j]]);
        }
    }
}

static void find_others(costs *c)
{
    int count = c->cells->count;

    for (int i = 0; i < count; i++) {
        measure_from(c, c->cells->home[i]);
        c->other[0][i] = c->other[1][i] = FAR;
        for (int j = 0; j < count; j++) {
            banyan_wide way = c->way[i * count + j] = c->distance[c->cells->home[j]];

            for (int k = 0; k < 2 && j != i; k++) {
                c->other[1][i] = lesser(c->other[1][i], way + c->take[k][j]);
                c->other[0][i] = k ? c->other[0][i] : lesser(c->other[0][i], way + c->take[k][j]);
            }
        }
    }
}

/* What having an idle worker costs more than having none, where that is least, in cells but this one. */
static banyan_wide least_excess(const costs *c, int but)
{
    banyan_wide least = FAR;

    for (int i = 0; i < c->cells->count; i++)
        if (i != but)
            least = lesser(least, c->with[i] - lesser(c->apart[i], c->with[i]));
    return least;
}

/* What it costs more, at the least, that another cell sends into this one, for that much there. helped: there
 * are idle workers in the tree; whoever has none but idle ones pays for being in it, but for what is paid for
 * some anyway. */
static banyan_wide more_to_cell(const costs *c, int r, int helped, banyan_wide take, banyan_wide paid)
{
    banyan_wide more = FAR;
    int count = c->cells->count;

    for (int i = 0; i < count; i++) {
        banyan_wide way = c->way[i * count + r] + take;

        if (i != r && c->cells->active[i])
            more = lesser(more, way - c->other[helped][i]);
        else if (i != r && helped && c->cells->idle[i])
            more = lesser(more, c->send[1][i] + way - paid);
    }
    return more;
}

/* The same for somebody who sends to the root, idle or not: from another cell, or from this one, where the
 * others send for that much; then somebody else comes from another cell. */
static banyan_wide more_to_root(const costs *c, int r, int idle, int helped, int senders, banyan_wide here)
{
    banyan_wide within = FAR, paid = helped && !idle ? least_excess(c, r) : 0;

    if (senders) {
        within = c->take[idle][r] - here;
        if (c->cells->active[r] < c->graph->active_count)
            within += more_to_cell(c, r, helped,
                                   helped ? lesser(c->take[0][r], c->take[1][r]) : c->take[0][r], paid);
    }
    return lesser(within, more_to_cell(c, r, helped, c->take[idle][r], paid));
}

/* What the cell's active workers send for, and what each of them pays at the least if there are idle ones
 * somewhere, or here. */
typedef struct {
    banyan_wide sends, here, nearest;
} share;

static share share_of(const costs *c, int i)
{
    int count = c->cells->active[i];
    banyan_wide here = lesser(c->take[0][i], c->other[1][i]);

    return (share){(banyan_wide)count * (count ? c->send[0][i] : 0), here, lesser(here, c->take[1][i])};
}

static void find_shares(costs *c, int i)
{
    int count = c->cells->active[i];
    share s = share_of(c, i);

    c->apart[i] = count ? s.sends + (count - 1) * s.here + c->other[1][i] : 0;
    c->with[i] = FAR;
    if (c->cells->idle[i])
        c->with[i] = s.sends + c->send[1][i] + count * s.nearest + c->other[1][i];
}

/* The same with the root. */
static void find_root_shares(costs *c, int i)
{
    int count = c->cells->active[i];
    share s = share_of(c, i);

    c->apart_at[i] = c->with_at[i] = c->from_idle[i] = FAR;
    if (count)
        c->apart_at[i] =
            s.sends - c->send[0][i] + (count - 1) * s.here + more_to_root(c, i, 0, 1, count - 1, s.here);
    if (count && c->cells->idle[i])
        c->with_at[i] = s.sends - c->send[0][i] + c->send[1][i] + count * s.nearest +
                        more_to_root(c, i, 0, 1, 1, s.nearest);
    if (c->cells->idle[i])
        c->from_idle[i] = s.sends + count * s.nearest + more_to_root(c, i, 1, 1, count, s.nearest);
}

/* A cell's share if there is no idle worker in the tree. */
static banyan_wide share_without(const costs *c, int i, int is_root)
{
    int count = c->cells->active[i];
    banyan_wide here = lesser(c->take[0][i], c->other[0][i]);

    if (!count)
        return 0;
    return (count - is_root) * (banyan_wide)c->send[0][i] + (count - 1) * here +
           (is_root ? more_to_root(c, i, 0, 0, count - 1, here) : c->other[0][i]);
}

/* Trees without an idle worker, or with one in the cell that pays the least for it, or with such a root. */
static void find_trees(costs *c)
{
    int count = c->cells->count;
    banyan_wide without = 0, all = 0;

    for (int i = 0; i < count; i++) {
        find_shares(c, i);
        all += lesser(c->apart[i], c->with[i]);
        without += share_without(c, i, 0);
    }
    for (int r = 0; r < count; r++) {
        banyan_wide rest = all - lesser(c->apart[r], c->with[r]), at;

        find_root_shares(c, r);
        at = lesser(c->apart_at[r], c->with_at[r]);
        c->from_idle[r] += rest;
        c->from_active[r] = FAR;
        if (c->cells->active[r])
            c->from_active[r] = lesser(without - share_without(c, r, 0) + share_without(c, r, 1),
                                       rest + at + lesser(least_excess(c, r), c->with_at[r] - at));
    }
}

static banyan_status find_costs(costs *c, banyan_error *err)
{
    banyan_status status = costs_init(c, err);

    if (!status) {
        find_ends(c);
        find_others(c);
        find_trees(c);
    }
    return status;
}

banyan_status banyan_pods_cost(const banyan_graph *graph, const int64_t *price, banyan_wide *out,
                               banyan_error *err)
{
    banyan_pods cells;
    costs in = {.graph = graph, .cells = &cells, .price = price},
          back = {.graph = graph, .cells = &cells, .price = price, .backwards = 1};
    banyan_status status = banyan_pods_find(graph, &cells, err);

    *out = -1;
    if (!status && cells.count > 0)
        status = find_costs(&in, err);
    if (!status && cells.count > 0)
        status = find_costs(&back, err);
    if (!status && cells.count > 0) {
        *out = FAR;
        for (int r = 0; r < cells.count; r++)
            *out = lesser(
                *out, lesser(in.from_active[r] + back.from_active[r], in.from_idle[r] + back.from_idle[r]));
        if (*out >= FAR)
            *out = -1;
    }
    banyan_scratch_free(&in.memory);
    banyan_scratch_free(&back.memory);
    banyan_pods_fini(&cells);
    return status;
}
