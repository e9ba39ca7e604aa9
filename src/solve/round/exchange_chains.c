/* SPDX-License-Identifier: Apache-2.0 */
/* solve/round/exchange_chains.c: augmenting chains, as in matroid partition (Edmonds 1965), for trees whose
 * edges may be paths.
 *
 *      x is too full          tree A can leave x if it takes y instead, but y is full; tree B can leave y if
 *      A: x -> y              it takes z, which has room. So A and B both exchange an edge, x bears one tree
 *      B:      y -> z         less and z one more. A search in breadth over cables finds the shortest such
 *                             chain.
 *
 * To leave a cable, the tree is cut open there; idle nodes that only passed on come out with the edge. From
 * the one part we go on, over cables with room and through nodes outside the tree, until the other part is
 * met; ways with one full cable in them lead on to that cable. Where every node is active and edges are
 * single cables, that is matroid partition, and finds what there is; with idle nodes and switches it is a
 * local search, and a strong one. Trees of a chain are all different, so that their exchanges do not touch
 * each other. Cost: O(V + E) a tree that is cut open, and a search cuts open at most every tree at every
 * cable. */
#include "solve/round/exchange_chains.h"

#include <string.h>

#include "core/alloc.h"
#include "solve/round/tree_layout.h"

enum { MOST_STUCK = 4, MOST_SHIFTS = 10 };

typedef struct {
    banyan_tree_layout laid;
    const banyan_exchange_chains_problem *problem;
    int *children;       /* of the current tree */
    unsigned char *side; /* 1: the part that came off, 2: the rest, 0: outside */
    int *via,
        *source; /* of nodes met by cables with room: the last arc, -2 none; where in the part it began */
    int *full;   /* of nodes met behind one full cable: that cable; -1 none */
    int *queue, *behind; /* nodes in the order they were met, without and with a full cable */
    int *hops;           /* scratch: distances in the part */
    int *met, season;    /* per cable: the season it was last met in */
    int *before,
        /* per cable met: the cable before it in the chain, and the tree that left that one for it */
        *leaving;
    double *need;          /* per cable met: units that it has to give up */
    int *line, line_count; /* cables met, in order */
    int left;              /* the cable that a tree is about to leave */
    long tries;
} search;

typedef enum { STUCK, SHIFTED, RELIEVED } outcome;

/* A tree cut open: what hangs below bottom came off, and all between it and above. */
typedef struct {
    int tree, bottom, above;
} opening;

static void search_fini(search *s)
{
    banyan_tree_layout_fini(&s->laid);
    banyan_free(s->children);
    banyan_free(s->side);
    banyan_free(s->via);
    banyan_free(s->source);
    banyan_free(s->full);
    banyan_free(s->queue);
    banyan_free(s->behind);
    banyan_free(s->hops);
    banyan_free(s->met);
    banyan_free(s->before);
    banyan_free(s->leaving);
    banyan_free(s->need);
    banyan_free(s->line);
}

static banyan_status search_init(search *s, const banyan_graph *graph, int tree_count, banyan_error *err)
{
    size_t nodes = (size_t)graph->node_count, arcs = (size_t)graph->arc_count;
    banyan_status status = banyan_tree_layout_init(&s->laid, graph, s->problem->weight, tree_count, err);

    if (status)
        return status;
    s->laid.scale = 1; /* its prices are not used */
    s->children = banyan_alloc(nodes, sizeof(int));
    s->side = banyan_alloc(nodes, 1);
    s->via = banyan_alloc(nodes, sizeof(int));
    s->source = banyan_alloc(nodes, sizeof(int));
    s->full = banyan_alloc(nodes, sizeof(int));
    s->queue = banyan_alloc(nodes, sizeof(int));
    s->behind = banyan_alloc(nodes, sizeof(int));
    s->hops = banyan_alloc(nodes, sizeof(int));
    s->met = banyan_alloc(arcs, sizeof(int));
    s->before = banyan_alloc(arcs, sizeof(int));
    s->leaving = banyan_alloc(arcs, sizeof(int));
    s->need = banyan_alloc(arcs, sizeof(double));
    s->line = banyan_alloc(arcs, sizeof(int));
    return s->children && s->side && s->via && s->source && s->full && s->queue && s->behind && s->hops &&
                   s->met && s->before && s->leaving && s->need && s->line
               ? BANYAN_SUCCESS
               : banyan_fail_memory(err);
}

static int *parents(const search *s, int tree)
{
    return s->laid.parent + banyan_tree_layout_cell(&s->laid, tree, 0);
}

static int has_room(const search *s, int cable, int tree)
{
    return s->laid.uses[cable] + s->laid.weight[tree] <= s->problem->room[cable];
}

/* Takes the tree off the cables between bottom and above, or puts it there again. */
static void count_opening(search *s, opening o, int sign)
{
    const int *parent = parents(s, o.tree);

    for (int u = o.bottom; u != o.above; u = parent[u]) {
        size_t cell = banyan_tree_layout_cell(&s->laid, o.tree, u);

        for (int i = 0; i < s->laid.path_length[cell]; i++)
            s->laid.uses[banyan_graph_cable(s->laid.graph, s->laid.arcs[s->laid.path[cell] + (size_t)i])] +=
                sign * s->laid.weight[o.tree];
    }
}

/* An idle node that only passes on: one child, and a parent. */
static int is_passage(const search *s, const int *parent, int v)
{
    return !banyan_tree_layout_is_active(&s->laid, v) && parent[v] >= 0 && s->children[v] == 1;
}

static void mark_sides(search *s, opening o)
{
    const int *parent = parents(s, o.tree);

    banyan_tree_layout_mark_part(&s->laid, o.tree, o.bottom, s->side);
    for (int u = parent[o.bottom]; u != o.above; u = parent[u])
        s->side[u] = 0;
}

/* At the edge above v, to leave the cable. */
static opening cut_open(search *s, int tree, int v, int cable)
{
    const int *parent = parents(s, tree);
    opening o = {tree, v, parent[v]};

    s->tries++;
    s->left = cable;
    memset(s->children, 0, (size_t)s->laid.node_count * sizeof(int));
    for (int u = 0; u < s->laid.node_count; u++)
        if (parent[u] >= 0)
            s->children[parent[u]]++;
    while (is_passage(s, parent, o.bottom)) {
        int child = 0;

        while (parent[child] != o.bottom)
            child++;
        o.bottom = child;
    }
    while (is_passage(s, parent, o.above))
        o.above = parent[o.above];
    mark_sides(s, o);
    count_opening(s, o, -1);
    return o;
}

/* How deep nodes of the part would be, hung up at source on far. */
static int depth_when_hung(search *s, opening o, int source, int far)
{
    const int *parent = parents(s, o.tree);
    int above = 1, deepest = 0, hops = 0;

    for (int v = far; parent[v] >= 0; v = parent[v])
        above++;
    for (int v = 0; v < s->laid.node_count; v++)
        s->hops[v] = -1;
    for (int v = source;; v = parent[v]) {
        s->hops[v] = hops++;
        if (v == o.bottom)
            break;
    }
    for (int v = 0; v < s->laid.node_count; v++) {
        int u = v, steps = 0;

        if (s->side[v] != 1)
            continue;
        for (; s->hops[u] < 0; u = parent[u])
            steps++;
        steps += s->hops[u];
        deepest = steps > deepest ? steps : deepest;
        for (u = v; s->hops[u] < 0; u = parent[u])
            s->hops[u] = steps--;
    }
    return above + deepest;
}

/* From the part over cables with room; the node of the rest that was met, or -1. *count: nodes met. */
static int look_for_room(search *s, opening o, int *count)
{
    const banyan_graph *graph = s->laid.graph;

    *count = 0;
    for (int v = 0; v < s->laid.node_count; v++) {
        s->via[v] = s->side[v] == 1 ? -1 : -2;
        if (s->side[v] != 1)
            continue;
        s->source[v] = v;
        s->queue[(*count)++] = v;
    }
    for (int i = 0; i < *count; i++) {
        int v = s->queue[i];

        for (int j = graph->out_first[v]; j < graph->out_first[v + 1]; j++) {
            int arc = graph->out_arc[j], w = graph->arcs[arc].dst, cable = banyan_graph_cable(graph, arc);

            if (s->via[w] != -2 || cable == s->left || !has_room(s, cable, o.tree))
                continue;
            if (s->side[w] != 2) {
                s->queue[(*count)++] = w;
            } else if (depth_when_hung(s, o, s->source[v], w) > s->problem->depth_limit) {
                continue; /* from elsewhere it may do */
            }
            s->via[w] = arc;
            s->source[w] = s->source[v];
            if (s->side[w] == 2)
                return w;
        }
    }
    return -1;
}

/* The chain can go on at the full cable: the tree would come to it from the current one. */
static void note_full(search *s, int cable, int tree)
{
    s->met[cable] = s->season;
    s->before[cable] = s->left;
    s->leaving[cable] = tree;
    s->need[cable] = s->laid.weight[tree];
    s->line[s->line_count++] = cable;
}

/* Full cables with which the nodes that were met, and cables with room, make a way to the rest. */
static void look_behind_full(search *s, opening o, int count)
{
    const banyan_graph *graph = s->laid.graph;
    int found = 0;

    for (int v = 0; v < s->laid.node_count; v++)
        s->full[v] = -1;
    for (int i = 0; i < count + found; i++) {
        int v = i < count ? s->queue[i] : s->behind[i - count], crossed = i < count ? -1 : s->full[v];

        if (crossed >= 0 && s->met[crossed] == s->season)
            continue;
        for (int j = graph->out_first[v]; j < graph->out_first[v + 1]; j++) {
            int arc = graph->out_arc[j], w = graph->arcs[arc].dst, cable = banyan_graph_cable(graph, arc);
            int over = has_room(s, cable, o.tree) ? crossed : cable;

            if (s->via[w] != -2 || s->full[w] >= 0 || over < 0 || (crossed >= 0 && over != crossed) ||
                cable == s->left || s->met[over] == s->season ||
                s->problem->room[over] < s->laid.weight[o.tree])
                continue;
            if (s->side[w] == 2) {
                note_full(s, over, o.tree);
                if (crossed >= 0)
                    break;
            } else {
                s->full[w] = over;
                s->behind[found++] = w;
            }
        }
    }
}

static void hang(search *s, opening o, int far)
{
    int *parent = parents(s, o.tree);

    for (int u = parent[o.bottom]; u != o.above;) {
        int next = parent[u];

        parent[u] = BANYAN_TREE_LAYOUT_OUTSIDE;
        u = next;
    }
    banyan_tree_layout_hang(&s->laid, o.tree, o.bottom, far, s->source[far], s->via);
}

/* The tree leaves the cable by ways with room. 0: there are none any more. */
static int leave(search *s, int tree, int cable)
{
    for (int at = s->laid.first_user[cable]; at >= 0; at = s->laid.users[at].next) {
        size_t cell = banyan_tree_layout_cell(&s->laid, tree, s->laid.users[at].v);
        opening o;
        int far, count;

        if (s->laid.users[at].tree != tree || s->laid.parent[cell] < 0 ||
            !banyan_tree_layout_path_uses(&s->laid, cell, cable))
            continue;
        o = cut_open(s, tree, s->laid.users[at].v, cable);
        far = look_for_room(s, o, &count);
        if (far >= 0)
            hang(s, o, far);
        else
            count_opening(s, o, 1);
        return far >= 0;
    }
    return 0;
}

static int is_in_chain(const search *s, int cable, int tree)
{
    for (; s->before[cable] >= 0; cable = s->before[cable])
        if (s->leaving[cable] == tree)
            return 1;
    return 0;
}

/* The chain from its end: every exchange makes the room for the one before. */
static outcome follow_back(search *s, int cable)
{
    for (; s->before[cable] >= 0; cable = s->before[cable])
        if (!leave(s, s->leaving[cable], s->before[cable]))
            return SHIFTED;
    return RELIEVED;
}

/* One tree after the other is cut open at the cable. */
static outcome try_users(search *s, int cable)
{
    int *link = &s->laid.first_user[cable];
    const banyan_tree_layout_user *user;

    while (s->tries < s->problem->try_limit &&
           (user = banyan_tree_layout_next_user(&s->laid, cable, &link))) {
        int tree = user->tree, v = user->v, count, far;
        opening o;

        link = &s->laid.users[*link].next;
        if (s->laid.weight[tree] < s->need[cable] || is_in_chain(s, cable, tree))
            continue;
        o = cut_open(s, tree, v, cable);
        far = look_for_room(s, o, &count);
        if (far >= 0) {
            hang(s, o, far);
            return follow_back(s, cable);
        }
        look_behind_full(s, o, count);
        count_opening(s, o, 1);
    }
    return STUCK;
}

static outcome relieve(search *s, int start)
{
    outcome result = STUCK;

    s->season++;
    s->met[start] = s->season;
    s->before[start] = -1;
    s->need[start] = 0;
    s->line[0] = start;
    s->line_count = 1;
    for (int i = 0; i < s->line_count && result == STUCK && !s->laid.failed; i++)
        result = try_users(s, s->line[i]);
    return result;
}

static void run(search *s, double *stuck)
{
    const banyan_graph *graph = s->laid.graph;

    for (int i = 0, stuck_count = 0; i < graph->arc_count && stuck_count < MOST_STUCK; i++) {
        int shifts = 0;

        while (banyan_graph_cable(graph, i) == i && s->laid.uses[i] > s->problem->room[i] &&
               shifts < MOST_SHIFTS && s->tries < s->problem->try_limit && !s->laid.failed) {
            outcome result = relieve(s, i);

            banyan_tree_layout_collect(&s->laid);
            shifts += result == SHIFTED;
            if (result != STUCK)
                continue;
            for (int k = 0; k < s->line_count; k++) {
                stuck[s->line[k]]++;
                stuck[graph->arcs[s->line[k]].twin]++;
            }
            stuck_count++;
            break;
        }
    }
}

banyan_status banyan_exchange_chains_relieve(const banyan_graph *graph,
                                             const banyan_exchange_chains_problem *problem,
                                             banyan_trees *trees, double *over, double *stuck,
                                             banyan_error *err)
{
    search s = {.problem = problem};
    banyan_trees better;
    banyan_status status = search_init(&s, graph, (int)trees->tree_count, err);

    banyan_trees_init(&better);
    if (!status) {
        banyan_tree_layout_take(&s.laid, trees);
        if (!s.laid.failed)
            run(&s, stuck);
        for (int t = 0; t < s.laid.tree_count && !s.laid.failed; t++)
            banyan_tree_layout_give(&s.laid, t, &better);
        if (s.laid.failed || better.failed)
            status = banyan_fail_memory(err);
    }
    if (!status) {
        *over = 0;
        for (int i = 0; i < graph->arc_count; i++)
            if (banyan_graph_cable(graph, i) == i && s.laid.uses[i] > problem->room[i])
                *over += s.laid.uses[i] - problem->room[i];
        banyan_trees_fini(trees);
        *trees = better;
        banyan_trees_init(&better);
    }
    banyan_trees_fini(&better);
    search_fini(&s);
    return status;
}
