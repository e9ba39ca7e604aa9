/* SPDX-License-Identifier: Apache-2.0 */
/* solve/oracle/key_vertex.c: a rooted tree answers what a flip is worth by walks on it (after Uchoa and
 * Werneck 2010).
 *
 *   a ---- o ---- b      v joins by its cheapest cable. Each further cable, v-b, closes a circle with the way
 *    \           /       from a to b in the tree: the most expensive stretch on it goes, if it costs more. A
 *     `-- v -- -´        stretch runs between nodes that must stay: active ones, and those with three cables
 *                        or more.
 *
 *   x --- v --- y        v leaves, with the stretches that end at it: the parts are joined again by the
 *    `- - - - - ´        cheapest cables between them, which are looked for around all parts but the largest.
 *
 * Where v has many cables, as where all pairs are cabled, all of them are looked at in one pass over the
 * tree, from its leaves on (Chin and Houck 1978), and no stretch counts for more than its most expensive
 * cable.
 *
 * Cost: the length of a few ways, or the size of the smaller parts; of the tree, where v has many cables. */
#include "solve/oracle/key_vertex.h"

#include <string.h>

#include "core/alloc.h"

enum { MOST_CABLES = 8 }; /* of a node: where it has more, other ways are taken */

struct banyan_key_vertex {
    const banyan_graph *graph;
    const int64_t *cost;
    int *first, *next, *half; /* cables at v: half edges 2i, 2i+1 of the i-th */
    int *parent;              /* -1: the root; -2: outside */
    int64_t *up;              /* cost of the cable to the parent */
    int *depth, *degree;
    int *order, *place, *size; /* from the root on, and where what hangs below v ends */
    unsigned char *cut;        /* the cable above v was taken out */
    int *way, *stack, *spare;
    int64_t
        /* the most expensive cable on the best way from what hangs below to a node that joins; -1: none */
        *near;
    int node_count;
};

void banyan_key_vertex_destroy(banyan_key_vertex *f)
{
    if (!f)
        return;
    banyan_free(f->first);
    banyan_free(f->next);
    banyan_free(f->half);
    banyan_free(f->parent);
    banyan_free(f->up);
    banyan_free(f->depth);
    banyan_free(f->degree);
    banyan_free(f->order);
    banyan_free(f->place);
    banyan_free(f->size);
    banyan_free(f->cut);
    banyan_free(f->way);
    banyan_free(f->stack);
    banyan_free(f->spare);
    banyan_free(f->near);
    banyan_free(f);
}

banyan_status banyan_key_vertex_create(const banyan_graph *graph, banyan_key_vertex **out, banyan_error *err)
{
    size_t nodes = (size_t)graph->node_count;
    banyan_key_vertex *f = banyan_alloc(1, sizeof *f);

    *out = NULL;
    if (!f)
        return banyan_fail_memory(err);
    f->graph = graph;
    f->node_count = graph->node_count;
    f->first = banyan_alloc(nodes, sizeof *f->first);
    f->next = banyan_alloc(2 * nodes, sizeof *f->next);
    f->half = banyan_alloc(2 * nodes, sizeof *f->half);
    f->parent = banyan_alloc(nodes, sizeof *f->parent);
    f->up = banyan_alloc(nodes, sizeof *f->up);
    f->depth = banyan_alloc(nodes, sizeof *f->depth);
    f->degree = banyan_alloc(nodes, sizeof *f->degree);
    f->order = banyan_alloc(nodes, sizeof *f->order);
    f->place = banyan_alloc(nodes, sizeof *f->place);
    f->size = banyan_alloc(nodes, sizeof *f->size);
    f->cut = banyan_alloc(nodes, 1);
    f->way = banyan_alloc(2 * nodes, sizeof *f->way);
    f->stack = banyan_alloc(nodes, sizeof *f->stack);
    f->spare = banyan_alloc(nodes, sizeof *f->spare);
    f->near = banyan_alloc(nodes, sizeof *f->near);
    if (!f->first || !f->next || !f->half || !f->parent || !f->up || !f->depth || !f->degree || !f->order ||
        !f->place || !f->size || !f->cut || !f->way || !f->stack || !f->spare || !f->near) {
        banyan_key_vertex_destroy(f);
        return banyan_fail_memory(err);
    }
    *out = f;
    return BANYAN_SUCCESS;
}

void banyan_key_vertex_take_tree(banyan_key_vertex *f, const int64_t *cost, const int *arc, int count)
{
    int root = f->graph->active[0], held = 1, at = 0;

    f->cost = cost;
    for (int v = 0; v < f->node_count; v++) {
        f->first[v] = -1;
        f->parent[v] = -2;
        f->degree[v] = 0;
    }
    for (int i = 0; i < count; i++)
        for (int end = 0; end < 2; end++) {
            int v = end ? f->graph->arcs[arc[i]].dst : f->graph->arcs[arc[i]].src;

            f->half[2 * i + end] = arc[i];
            f->next[2 * i + end] = f->first[v];
            f->first[v] = 2 * i + end;
            f->degree[v]++;
        }
    f->parent[root] = -1;
    f->depth[root] = 0;
    f->stack[0] = root;
    while (held) {
        int v = f->stack[--held];

        f->place[v] = at;
        f->order[at++] = v;
        f->size[v] = 1;
        for (int h = f->first[v]; h >= 0; h = f->next[h]) {
            const banyan_arc *cable = &f->graph->arcs[f->half[h]];
            int w = cable->src == v ? cable->dst : cable->src;

            if (w == f->parent[v])
                continue;
            f->parent[w] = v;
            f->up[w] = cost[f->half[h]];
            f->depth[w] = f->depth[v] + 1;
            f->stack[held++] = w;
        }
    }
    for (int i = at - 1; i > 0; i--)
        f->size[f->parent[f->order[i]]] += f->size[f->order[i]];
}

/* A node at which a stretch ends. */
static int stays(const banyan_key_vertex *f, int v)
{
    return (f->graph->role[v] & BANYAN_NODE_ACTIVE) || f->degree[v] != 2;
}

/* A stretch of the way: its cables are those above way[begin .. end). */
typedef struct {
    int64_t cost;
    int begin, end;
} stretch;

/* The way from a to b as the nodes whose upper cables it takes, in its order; their number, or -1 where it
 * was cut. *turn: how many of them are on a's side. */
static int find_way(banyan_key_vertex *f, int a, int b, int *turn)
{
    int count = 0, back = 2 * f->node_count, held;

    while (a != b) {
        int *end = f->depth[a] >= f->depth[b] ? &a : &b;

        if (f->cut[*end])
            return -1;
        if (end == &a)
            f->way[count++] = a;
        else
            f->way[--back] = b;
        *end = f->parent[*end];
    }
    *turn = count;
    held = 2 * f->node_count - back;
    memmove(f->way + count, f->way + back, (size_t)held * sizeof *f->way);
    return count + held;
}

static stretch costliest(const banyan_key_vertex *f, int count, int turn)
{
    stretch best = {-1, 0, 0}, now = {0, 0, 0};

    for (int i = 0; i < count; i++) {
        /* on a's side the cable ends at the parent, on b's at the node itself */
        int end = i < turn ? f->parent[f->way[i]] : f->way[i];

        now.cost += f->up[f->way[i]];
        now.end = i + 1;
        if (i + 1 == count || stays(f, end)) {
            if (now.cost > best.cost)
                best = now;
            now = (stretch){0, i + 1, i + 1};
        }
    }
    return best;
}

/* The cables from v into the tree, cheapest first. */
static int list_cables(const banyan_key_vertex *f, int v, int *list)
{
    const banyan_graph *graph = f->graph;
    int count = 0;

    for (int i = graph->out_first[v]; i < graph->out_first[v + 1]; i++) {
        int arc = graph->out_arc[i], at;

        if (f->parent[graph->arcs[arc].dst] == -2)
            continue;
        if (count == MOST_CABLES && f->cost[list[count - 1]] <= f->cost[arc])
            continue;
        count += count < MOST_CABLES;
        for (at = count - 1; at > 0 && f->cost[list[at - 1]] > f->cost[arc]; at--)
            list[at] = list[at - 1];
        list[at] = arc;
    }
    return count;
}

/* The nodes inside the stretch, which nothing else needs. */
static int list_inside(const banyan_key_vertex *f, stretch s, int turn, int *list)
{
    int count = 0;

    for (int i = s.begin; i + 1 < s.end; i++)
        list[count++] = i < turn ? f->parent[f->way[i]] : f->way[i];
    return count;
}

/* Of the cable above u and the best way from below it to v, the cheaper stays; the other is a way for what is
 * above. */
static int64_t join_by_all(banyan_key_vertex *f, int v)
{
    const banyan_graph *graph = f->graph;
    int count = f->size[f->order[0]];
    int64_t gain = 0;

    for (int i = 0; i < count; i++)
        f->near[f->order[i]] = -1;
    for (int i = graph->out_first[v]; i < graph->out_first[v + 1]; i++) {
        int u = graph->arcs[graph->out_arc[i]].dst;
        int64_t cost = f->cost[graph->out_arc[i]];

        if (f->parent[u] != -2 && (f->near[u] < 0 || cost < f->near[u]))
            f->near[u] = cost;
    }
    for (int i = count - 1; i > 0; i--) {
        int u = f->order[i], above = f->parent[u];
        int64_t way = f->near[u];

        if (way >= 0 && way < f->up[u]) {
            gain += f->up[u] - way;
            way = f->up[u];
        }
        if (way >= 0 && (f->near[above] < 0 || way < f->near[above]))
            f->near[above] = way;
    }
    return f->near[f->order[0]] < 0 ? 0 : gain - f->near[f->order[0]];
}

int64_t banyan_key_vertex_joining(banyan_key_vertex *f, int v, unsigned char *member)
{
    int list[MOST_CABLES], joined[MOST_CABLES], cables = list_cables(f, v, list), joints = 1;
    int cut_count = 0, gone = 0;
    int64_t gain;

    if (cables < 2)
        return 0;
    if (f->graph->out_first[v + 1] - f->graph->out_first[v] > MOST_CABLES)
        return join_by_all(f, v);
    gain = -f->cost[list[0]];
    joined[0] = f->graph->arcs[list[0]].dst;
    for (int i = 1; i < cables; i++) {
        int b = f->graph->arcs[list[i]].dst, count = -1, turn = 0;
        stretch s;

        for (int j = 0; j < joints && count < 0; j++)
            count = find_way(f, joined[j], b, &turn);
        if (count <= 0)
            continue;
        s = costliest(f, count, turn);
        if (s.cost <= f->cost[list[i]])
            continue;
        gain += s.cost - f->cost[list[i]];
        joined[joints++] = b;
        gone += list_inside(f, s, turn, f->spare + gone);
        for (int k = s.begin; k < s.end; k++) {
            f->cut[f->way[k]] = 1;
            f->stack[cut_count++] = f->way[k];
        }
    }
    for (int k = 0; k < cut_count; k++)
        f->cut[f->stack[k]] = 0;
    for (int k = 0; gain > 0 && k < gone; k++)
        member[f->spare[k]] = 0;
    return gain;
}

/* The stretch from v on, over its neighbour w. */
static int64_t stretch_from(const banyan_key_vertex *f, int v, int w)
{
    int64_t sum = 0;

    for (;;) {
        int after = -1;

        sum += f->parent[v] == w ? f->up[v] : f->up[w];
        if (stays(f, w))
            return sum;
        for (int h = f->first[w]; h >= 0; h = f->next[h]) {
            const banyan_arc *cable = &f->graph->arcs[f->half[h]];
            int x = cable->src == w ? cable->dst : cable->src;

            if (x != v)
                after = x;
        }
        v = w;
        w = after;
    }
}

/* What is left when v leaves: the parts below its children, 1.., and 0, the rest. */
typedef struct {
    int v, child[MOST_CABLES], count;
    int64_t least[MOST_CABLES + 1][MOST_CABLES + 1]; /* cheapest cable between two parts; -1: none */
} remains;

static int part_of(const banyan_key_vertex *f, const remains *r, int w)
{
    if (w == r->v || f->parent[w] == -2)
        return -1;
    for (int i = 0; i < r->count; i++)
        if (f->place[w] >= f->place[r->child[i]] &&
            f->place[w] < f->place[r->child[i]] + f->size[r->child[i]])
            return i + 1;
    return 0;
}

static void look_from(const banyan_key_vertex *f, remains *r, int part, int begin, int end)
{
    for (int i = begin; i < end; i++) {
        int w = f->order[i];

        for (int j = f->graph->out_first[w]; j < f->graph->out_first[w + 1]; j++) {
            int arc = f->graph->out_arc[j], other = part_of(f, r, f->graph->arcs[arc].dst);

            if (other >= 0 && other != part &&
                (r->least[part][other] < 0 || f->cost[arc] < r->least[part][other]))
                r->least[part][other] = r->least[other][part] = f->cost[arc];
        }
    }
}

/* Looks around all parts but the largest; returns that one. */
static int look_around(const banyan_key_vertex *f, remains *r)
{
    int all = f->size[f->order[0]], largest = 0, most = all - f->size[r->v];

    for (int i = 0; i < r->count; i++)
        if (f->size[r->child[i]] > most) {
            most = f->size[r->child[i]];
            largest = i + 1;
        }
    for (int i = 0; i < r->count; i++)
        if (i + 1 != largest)
            look_from(f, r, i + 1, f->place[r->child[i]], f->place[r->child[i]] + f->size[r->child[i]]);
    if (largest) {
        look_from(f, r, 0, 0, f->place[r->v]);
        look_from(f, r, 0, f->place[r->v] + f->size[r->v], all);
    }
    return largest;
}

/* The least sum that joins the parts, as Prim does; -1: they cannot be joined. */
static int64_t join_parts(const remains *r, int begin)
{
    unsigned char in[MOST_CABLES + 1] = {0};
    int64_t sum = 0;

    in[begin] = 1;
    for (int joined = 0; joined < r->count; joined++) {
        int64_t best = -1;
        int to = -1;

        for (int p = 0; p <= r->count; p++)
            for (int q = 0; in[p] && q <= r->count; q++)
                if (!in[q] && r->least[p][q] >= 0 && (best < 0 || r->least[p][q] < best)) {
                    best = r->least[p][q];
                    to = q;
                }
        if (to < 0)
            return -1;
        in[to] = 1;
        sum += best;
    }
    return sum;
}

int64_t banyan_key_vertex_leaving(banyan_key_vertex *f, int v)
{
    remains r = {.v = v};
    int64_t old = 0, sum;

    if (f->degree[v] > MOST_CABLES)
        return 1; /* nothing but trying tells */
    memset(r.least, -1, sizeof r.least);
    for (int h = f->first[v]; h >= 0; h = f->next[h]) {
        const banyan_arc *cable = &f->graph->arcs[f->half[h]];
        int w = cable->src == v ? cable->dst : cable->src;

        old += stretch_from(f, v, w);
        if (w != f->parent[v])
            r.child[r.count++] = w;
    }
    sum = join_parts(&r, look_around(f, &r));
    return sum < 0 ? 0 : old - sum;
}
