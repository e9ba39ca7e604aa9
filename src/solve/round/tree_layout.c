/* SPDX-License-Identifier: Apache-2.0 */
/* solve/round/tree_layout.c: what is known of trees that lie over cables, kept true while single edges move.
 * Prices grow exponentially with what a cable bears. Every cable has a list of the ways over it; entries that
 * are out of date are left there until somebody comes by. */
#include "solve/round/tree_layout.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"

#define STEEP 120.0 /* price of the fullest cable over that of an empty one, as an exponent of e */

void banyan_tree_layout_fini(banyan_tree_layout *l)
{
    banyan_free(l->parent);
    banyan_free(l->path);
    banyan_free(l->path_length);
    banyan_free(l->arcs);
    banyan_free(l->uses);
    banyan_free(l->price);
    banyan_free(l->users);
    banyan_free(l->first_user);
    banyan_free(l->depth);
}

banyan_status banyan_tree_layout_init(banyan_tree_layout *l, const banyan_graph *graph, const double *weight,
                                      int tree_count, banyan_error *err)
{
    size_t nodes = (size_t)graph->node_count, cells = nodes * (size_t)tree_count,
           arcs = (size_t)graph->arc_count;

    *l = (banyan_tree_layout){.graph = graph,
                              .weight = weight,
                              .node_count = graph->node_count,
                              .tree_count = tree_count,
                              .scale = 1,
                              .free_user = -1};
    l->parent = banyan_alloc(cells, sizeof(int));
    l->path = banyan_alloc(cells, sizeof(size_t));
    l->path_length = banyan_alloc(cells, sizeof(int));
    l->uses = banyan_alloc(arcs, sizeof(double));
    l->price = banyan_alloc(arcs, sizeof(double));
    l->first_user = banyan_alloc(arcs, sizeof(int));
    l->depth = banyan_alloc(nodes, sizeof(int));
    if (!l->parent || !l->path || !l->path_length || !l->uses || !l->price || !l->first_user || !l->depth)
        return banyan_fail_memory(err);
    for (size_t i = 0; i < arcs; i++)
        l->first_user[i] = -1;
    return BANYAN_SUCCESS;
}

int banyan_tree_layout_is_active(const banyan_tree_layout *l, int v)
{
    return l->graph->role[v] & BANYAN_NODE_ACTIVE;
}

static int can_branch(const banyan_tree_layout *l, int v)
{
    return l->graph->role[v] & BANYAN_NODE_ADDS;
}

double banyan_tree_layout_load(const banyan_tree_layout *l, int cable)
{
    return l->uses[cable] / (double)l->graph->arcs[cable].capacity;
}

/* What one more use, by a tree of the weight that prices are made for, would cost beside the fullest
 * cable. */
static void set_price(banyan_tree_layout *l, int cable)
{
    double load = (l->uses[cable] + l->price_weight) / (double)l->graph->arcs[cable].capacity;
    int twin = l->graph->arcs[cable].twin;

    l->price[cable] = l->price[twin] = 1 + exp(STEEP * (load / l->scale - 0.5));
}

void banyan_tree_layout_price_all(banyan_tree_layout *l)
{
    for (int i = 0; i < l->graph->arc_count; i++)
        if (banyan_graph_cable(l->graph, i) == i)
            set_price(l, i);
}

/* Prices are kept for one weight: mostly all trees have the same. */
void banyan_tree_layout_price_for(banyan_tree_layout *l, int tree)
{
    if (l->price_weight == l->weight[tree])
        return;
    l->price_weight = l->weight[tree];
    banyan_tree_layout_price_all(l);
}

void banyan_tree_layout_count(banyan_tree_layout *l, int tree, int v, int sign)
{
    size_t cell = banyan_tree_layout_cell(l, tree, v);

    for (int i = 0; i < l->path_length[cell]; i++) {
        int cable = banyan_graph_cable(l->graph, l->arcs[l->path[cell] + (size_t)i]);

        l->uses[cable] += sign * l->weight[tree];
        set_price(l, cable);
    }
}

/* Enters the way from v to its parent in the lists of its cables. */
static void enter_path(banyan_tree_layout *l, int tree, int v)
{
    size_t cell = banyan_tree_layout_cell(l, tree, v);

    for (int i = 0; i < l->path_length[cell] && !l->failed; i++) {
        int cable = banyan_graph_cable(l->graph, l->arcs[l->path[cell] + (size_t)i]), at = l->free_user;

        if (at >= 0) {
            l->free_user = l->users[at].next;
        } else if (banyan_grow((void **)&l->users, (size_t)l->user_count, &l->user_capacity,
                               sizeof *l->users)) {
            at = l->user_count++;
        } else {
            l->failed = 1;
            return;
        }
        l->users[at] = (banyan_tree_layout_user){tree, v, l->first_user[cable]};
        l->first_user[cable] = at;
    }
}

double banyan_tree_layout_path_price(const banyan_tree_layout *l, int tree, int v)
{
    size_t cell = banyan_tree_layout_cell(l, tree, v);
    double sum = 0;

    for (int i = 0; i < l->path_length[cell]; i++)
        sum += l->price[l->arcs[l->path[cell] + (size_t)i]];
    return sum;
}

/* Room for arcs at the end; 0: memory ran out. */
static int make_room(banyan_tree_layout *l, int length)
{
    while (l->arc_count + (size_t)length > l->arc_capacity)
        if (!banyan_grow((void **)&l->arcs, l->arc_capacity, &l->arc_capacity, sizeof *l->arcs)) {
            l->failed = 1;
            return 0;
        }
    return 1;
}

/* Paths that are replaced leave their arcs behind: once in a while those in use move together. */
void banyan_tree_layout_collect(banyan_tree_layout *l)
{
    size_t cells = (size_t)l->tree_count * (size_t)l->node_count, used = 0, at = 0;
    int *kept;

    for (size_t c = 0; c < cells; c++)
        used += l->parent[c] >= 0 ? (size_t)l->path_length[c] : 0;
    if (l->arc_count < 4 * used + 4096)
        return;
    kept = banyan_alloc(used + 1, sizeof *kept);
    if (!kept) {
        l->failed = 1;
        return;
    }
    for (size_t c = 0; c < cells; c++)
        if (l->parent[c] >= 0) {
            memcpy(kept + at, l->arcs + l->path[c], (size_t)l->path_length[c] * sizeof *kept);
            l->path[c] = at;
            at += (size_t)l->path_length[c];
        }
    banyan_free(l->arcs);
    l->arcs = kept;
    l->arc_count = at;
    l->arc_capacity = used + 1;
}

int banyan_tree_layout_path_uses(const banyan_tree_layout *laid, size_t cell, int cable)
{
    for (int i = 0; i < laid->path_length[cell]; i++)
        if (banyan_graph_cable(laid->graph, laid->arcs[laid->path[cell] + (size_t)i]) == cable)
            return 1;
    return 0;
}

const banyan_tree_layout_user *banyan_tree_layout_next_user(banyan_tree_layout *laid, int cable, int **link)
{
    while (**link >= 0) {
        int at = **link;
        banyan_tree_layout_user *user = &laid->users[at];
        size_t cell = banyan_tree_layout_cell(laid, user->tree, user->v);

        if (laid->parent[cell] >= 0 && banyan_tree_layout_path_uses(laid, cell, cable))
            return user;
        **link = user->next;
        user->next = laid->free_user;
        laid->free_user = at;
    }
    return NULL;
}

void banyan_tree_layout_mark_part(const banyan_tree_layout *laid, int tree, int top, unsigned char *side)
{
    const int *parent = laid->parent + banyan_tree_layout_cell(laid, tree, 0);

    memset(side, 0, (size_t)laid->node_count);
    side[top] = 1;
    for (int v = 0; v < laid->node_count; v++) {
        unsigned char mark;
        int u = v;

        if (parent[v] == BANYAN_TREE_LAYOUT_OUTSIDE)
            continue;
        while (!side[u] && parent[u] >= 0)
            u = parent[u];
        mark = side[u] ? side[u] : 2;
        for (u = v; u >= 0 && !side[u]; u = parent[u])
            side[u] = mark;
    }
}

/* Depths of all nodes, counted from the memory of those above. */
int banyan_tree_layout_measure(banyan_tree_layout *l, int tree)
{
    const int *parent = l->parent + banyan_tree_layout_cell(l, tree, 0);
    int deepest = 0;

    for (int v = 0; v < l->node_count; v++)
        l->depth[v] = parent[v] == BANYAN_TREE_LAYOUT_ROOT ? 0 : -1;
    for (int v = 0; v < l->node_count; v++) {
        int u = v, steps = 0;

        if (parent[v] == BANYAN_TREE_LAYOUT_OUTSIDE)
            continue;
        for (; l->depth[u] < 0; u = parent[u])
            steps++;
        steps += l->depth[u];
        deepest = steps > deepest ? steps : deepest;
        for (u = v; l->depth[u] < 0; u = parent[u])
            l->depth[u] = steps--;
    }
    return deepest;
}

/* The part's nodes from u up to top get their parents turned round, so that u has none. */
static void turn_part(banyan_tree_layout *l, int tree, int u, int top)
{
    int v = u, above = BANYAN_TREE_LAYOUT_ROOT, length = 0;
    size_t path = 0;

    for (;;) {
        size_t cell = banyan_tree_layout_cell(l, tree, v), old_path = l->path[cell];
        int next = l->parent[cell], old_length = l->path_length[cell];

        l->parent[cell] = above;
        l->path[cell] = path;
        l->path_length[cell] = length;
        if (above >= 0)
            enter_path(l, tree, v);
        if (v == top)
            return;
        for (int i = 0; i < old_length / 2; i++) { /* the way back: other end first, over twins */
            int swap = l->arcs[old_path + (size_t)i];

            l->arcs[old_path + (size_t)i] = l->arcs[old_path + (size_t)(old_length - 1 - i)];
            l->arcs[old_path + (size_t)(old_length - 1 - i)] = swap;
        }
        for (int i = 0; i < old_length; i++)
            l->arcs[old_path + (size_t)i] = l->graph->arcs[l->arcs[old_path + (size_t)i]].twin;
        above = v;
        path = old_path;
        length = old_length;
        v = next;
    }
}

/* Hangs the part on far by the way found; idle nodes that add, on the way, become nodes of the tree. */
void banyan_tree_layout_hang(banyan_tree_layout *l, int tree, int top, int far, int source, const int *via)
{
    const banyan_graph *graph = l->graph;
    int u = source, length = 0, below;

    for (int v = far; v != u; v = graph->arcs[via[v]].src)
        length++;
    if (!make_room(l, length))
        return;
    turn_part(l, tree, u, top);
    for (int v = far, i = length; v != u; v = graph->arcs[via[v]].src)
        l->arcs[l->arc_count + (size_t)--i] = via[v];
    below = u;
    for (int i = 0, begin = 0; i < length; i++) {
        int v = graph->arcs[l->arcs[l->arc_count + (size_t)i]].dst;

        if (i + 1 < length && !can_branch(l, v))
            continue;
        l->parent[banyan_tree_layout_cell(l, tree, below)] = v;
        l->path[banyan_tree_layout_cell(l, tree, below)] = l->arc_count + (size_t)begin;
        l->path_length[banyan_tree_layout_cell(l, tree, below)] = i + 1 - begin;
        banyan_tree_layout_count(l, tree, below, 1);
        enter_path(l, tree, below);
        below = v;
        begin = i + 1;
    }
    l->arc_count += (size_t)length;
}

/* Parents by a walk from an active node in the middle over the tree's edges. */
static void walk_tree(banyan_tree_layout *l, const banyan_trees *trees, size_t tree, int root)
{
    size_t first = trees->first_edge[tree], end = banyan_trees_edges_end(trees, tree);
    int *parent = l->parent + banyan_tree_layout_cell(l, (int)tree, 0), found = 1;

    for (int v = 0; v < l->node_count; v++)
        parent[v] = BANYAN_TREE_LAYOUT_OUTSIDE;
    parent[root] = BANYAN_TREE_LAYOUT_ROOT;
    l->depth[root] = 0;
    while (found) {
        found = 0;
        for (size_t e = first; e < end; e++) {
            int a = trees->edges[e].src, b = trees->edges[e].dst,
                above = parent[a] != BANYAN_TREE_LAYOUT_OUTSIDE ? a : b, below = above == a ? b : a;

            if ((parent[a] != BANYAN_TREE_LAYOUT_OUTSIDE) == (parent[b] != BANYAN_TREE_LAYOUT_OUTSIDE))
                continue;
            parent[below] = above;
            l->depth[below] = l->depth[above] + 1;
            l->path[banyan_tree_layout_cell(l, (int)tree, below)] = e; /* for now: the edge */
            found = 1;
        }
    }
}

static int farthest(const banyan_tree_layout *l, int tree)
{
    const int *parent = l->parent + banyan_tree_layout_cell(l, tree, 0);
    int far = -1;

    for (int v = 0; v < l->node_count; v++)
        if (parent[v] != BANYAN_TREE_LAYOUT_OUTSIDE && (far < 0 || l->depth[v] > l->depth[far]))
            far = v;
    return far;
}

static int middle(banyan_tree_layout *l, const banyan_trees *trees, size_t tree)
{
    int end, half;

    walk_tree(l, trees, tree, l->graph->active[0]);
    walk_tree(l, trees, tree, farthest(l, (int)tree));
    end = farthest(l, (int)tree);
    for (half = l->depth[end] / 2; half > 0; half--)
        end = l->parent[banyan_tree_layout_cell(l, (int)tree, end)];
    while (!banyan_tree_layout_is_active(l, end) &&
           l->parent[banyan_tree_layout_cell(l, (int)tree, end)] >= 0)
        end = l->parent[banyan_tree_layout_cell(l, (int)tree, end)];
    return banyan_tree_layout_is_active(l, end) ? end : l->graph->active[0];
}

/* The arcs of an edge, from the lower end to the upper. */
static void take_path(banyan_tree_layout *l, const banyan_trees *trees, int tree, int v)
{
    size_t cell = banyan_tree_layout_cell(l, tree, v), edge = l->path[cell],
           first = trees->edges[edge].first_arc;
    int length = (int)(banyan_trees_arcs_end(trees, edge) - first);

    if (!make_room(l, length))
        return;
    l->path[cell] = l->arc_count;
    l->path_length[cell] = length;
    for (int i = 0; i < length; i++)
        l->arcs[l->arc_count + (size_t)i] =
            trees->edges[edge].src == v ? trees->arcs[first + (size_t)i]
                                        : l->graph->arcs[trees->arcs[first + (size_t)(length - 1 - i)]].twin;
    l->arc_count += (size_t)length;
    banyan_tree_layout_count(l, tree, v, 1);
    enter_path(l, tree, v);
}

void banyan_tree_layout_take(banyan_tree_layout *l, const banyan_trees *trees)
{
    for (int t = 0; t < l->tree_count && !l->failed; t++) {
        walk_tree(l, trees, (size_t)t, middle(l, trees, (size_t)t));
        for (int v = 0; v < l->node_count && !l->failed; v++)
            if (l->parent[banyan_tree_layout_cell(l, t, v)] >= 0)
                take_path(l, trees, t, v);
    }
}

void banyan_tree_layout_give(banyan_tree_layout *l, int tree, banyan_trees *out)
{
    const int *parent = l->parent + banyan_tree_layout_cell(l, tree, 0);

    banyan_tree_layout_measure(l, tree);
    banyan_trees_begin(out);
    for (int depth = 1, found = 1; found; depth++) {
        found = 0;
        for (int v = 0; v < l->node_count; v++) {
            size_t cell = banyan_tree_layout_cell(l, tree, v);

            if (parent[v] < 0 || l->depth[v] != depth)
                continue;
            found = 1;
            banyan_trees_add_edge(out, parent[v], v);
            for (int i = l->path_length[cell] - 1; i >= 0; i--)
                banyan_trees_add_arc(out, l->graph->arcs[l->arcs[l->path[cell] + (size_t)i]].twin);
        }
    }
}
