/* SPDX-License-Identifier: Apache-2.0 */
/* solve/oracle/arborescence.c: Edmonds' algorithm (1967) in O(count^2), dense. Walk backwards over cheapest
 * entering edges; a walk that meets itself is a cycle and becomes one node, whose entering edges are those of
 * its nodes less what the cycle's own edge into that node costs; a walk that meets the finished part is
 * finished. Then open the cycles from the outside in: the edge that enters one breaks it where it enters. */
#include "solve/oracle/arborescence.h"

#include <string.h>

#include "core/alloc.h"
#include "core/scratch.h"
#include "solve/net/work.h"
#include "solve/oracle/closure.h"

struct banyan_arborescence {
    int count, limit; /* nodes, and nodes with all contracted ones: 2 count */
    int64_t *enter;   /* [v * count + u]: cheapest edge from u into v, as reduced; FAR: none */
    int *enter_at;    /* the plain node where that edge arrives */
    int64_t *paid;    /* reduced cost of the chosen edge */
    int *from, *at;   /* the chosen edge, between plain nodes */
    int *up;          /* the contracted node that holds it, or -1 */
    int *leader;      /* union-find over all nodes */
    int *top;         /* the node that a union-find class is now */
    int *state;       /* 0 not seen, 1 on the walk, 2 finished */
    int *walk;
    int *child_first, *child_next; /* children of contracted nodes as lists */
    int *stack;
    banyan_scratch memory;
};

banyan_status banyan_arborescence_create(int count, banyan_arborescence **out, banyan_error *err)
{
    size_t nodes = (size_t)count, limit = 2 * nodes;
    banyan_arborescence *w = banyan_alloc(1, sizeof *w);

    *out = NULL;
    if (!w)
        return banyan_fail_memory(err);
    w->count = count;
    w->limit = 2 * count;
    w->enter = banyan_scratch_take(&w->memory, limit * nodes, sizeof *w->enter);
    w->enter_at = banyan_scratch_take(&w->memory, limit * nodes, sizeof(int));
    w->paid = banyan_scratch_take(&w->memory, limit, sizeof *w->paid);
    w->from = banyan_scratch_take(&w->memory, limit, sizeof(int));
    w->at = banyan_scratch_take(&w->memory, limit, sizeof(int));
    w->up = banyan_scratch_take(&w->memory, limit, sizeof(int));
    w->leader = banyan_scratch_take(&w->memory, limit, sizeof(int));
    w->top = banyan_scratch_take(&w->memory, limit, sizeof(int));
    w->state = banyan_scratch_take(&w->memory, limit, sizeof(int));
    w->walk = banyan_scratch_take(&w->memory, limit, sizeof(int));
    w->child_first = banyan_scratch_take(&w->memory, limit, sizeof(int));
    w->child_next = banyan_scratch_take(&w->memory, limit, sizeof(int));
    w->stack = banyan_scratch_take(&w->memory, limit, sizeof(int));
    if (w->memory.failed) {
        banyan_arborescence_destroy(w);
        return banyan_fail_memory(err);
    }
    *out = w;
    return BANYAN_SUCCESS;
}

void banyan_arborescence_destroy(banyan_arborescence *w)
{
    if (!w)
        return;
    banyan_scratch_free(&w->memory);
    banyan_free(w);
}

static int find_top(banyan_arborescence *w, int v)
{
    return w->top[banyan_graph_find_top(w->leader, v)];
}

static void begin(banyan_arborescence *w, const int64_t *cost, int transposed, const unsigned char *member,
                  int root)
{
    int n = w->count;

    for (int v = 0; v < n; v++) {
        int in = !member || member[v] || v == root;

        w->leader[v] = w->top[v] = v;
        w->up[v] = -1;
        w->state[v] = in && v != root ? 0 : 2;
        for (int u = 0; u < n; u++) {
            int other = !member || member[u] || u == root;
            size_t at = (size_t)v * (size_t)n + (size_t)u;

            w->enter[at] = !in || !other || u == v ? BANYAN_FAR
                           : transposed            ? cost[at]
                                                   : cost[(size_t)u * (size_t)n + (size_t)v];
            w->enter_at[at] = v;
        }
    }
}

/* The cheapest edge into node v from outside it; 0 if there is none. */
static int choose_edge(banyan_arborescence *w, int v)
{
    const int64_t *row = w->enter + (size_t)v * (size_t)w->count;
    int best = -1;

    for (int u = 0; u < w->count; u++)
        if (row[u] < BANYAN_FAR && (best < 0 || row[u] < row[best]) && find_top(w, u) != v)
            best = u;
    if (best < 0)
        return 0;
    w->paid[v] = row[best];
    w->from[v] = best;
    w->at[v] = w->enter_at[(size_t)v * (size_t)w->count + (size_t)best];
    return 1;
}

/* The nodes walk[begin..end-1] become node made. */
static void contract(banyan_arborescence *w, int made, int begin_at, int end)
{
    size_t n = (size_t)w->count;
    int64_t *row = w->enter + (size_t)made * n;

    for (size_t u = 0; u < n; u++)
        row[u] = BANYAN_FAR;
    w->leader[made] = w->top[made] = made;
    w->up[made] = w->child_first[made] = -1;
    for (int i = begin_at; i < end; i++) {
        int v = w->walk[i], name;
        const int64_t *other = w->enter + (size_t)v * n;

        for (size_t u = 0; u < n; u++)
            if (other[u] < BANYAN_FAR && other[u] - w->paid[v] < row[u]) {
                row[u] = other[u] - w->paid[v];
                w->enter_at[(size_t)made * n + u] = w->enter_at[(size_t)v * n + u];
            }
        w->up[v] = made;
        w->child_next[v] = w->child_first[made];
        w->child_first[made] = v;
        for (name = v; w->leader[name] != name; name = w->leader[name])
            ;
        w->leader[name] = made;
    }
}

/* Walks back from v until the finished part; contracts what cycles it makes. 0: some node has no edge. */
static int walk_back(banyan_arborescence *w, int v, int *made)
{
    int length = 0;

    w->walk[length++] = v;
    w->state[v] = 1;
    for (;;) {
        int end = w->walk[length - 1], next;

        if (!choose_edge(w, end))
            return 0;
        next = find_top(w, w->from[end]);
        if (w->state[next] == 2)
            break;
        if (w->state[next] == 1) {
            int begin_at = length - 1;

            while (w->walk[begin_at] != next)
                begin_at--;
            contract(w, *made, begin_at, length);
            length = begin_at;
            next = (*made)++;
        }
        w->walk[length++] = next;
        w->state[next] = 1;
    }
    for (int i = 0; i < length; i++)
        w->state[w->walk[i]] = 2;
    return 1;
}

/* Takes the chosen edges of the outermost nodes, and inside each contracted node all but the one replaced. */
static void open_cycles(banyan_arborescence *w, int made, int root, const unsigned char *member, int *parent)
{
    int count = 0;

    for (int v = 0; v < made; v++)
        if (w->up[v] < 0 && v != root && (v >= w->count || !member || member[v]))
            w->stack[count++] = v;
    while (count) {
        int v = w->stack[--count], inner = w->at[v];

        parent[inner] = w->from[v];
        for (; inner != v; inner = w->up[inner])
            for (int c = w->child_first[w->up[inner]]; c >= 0; c = w->child_next[c])
                if (c != inner)
                    w->stack[count++] = c;
    }
}

int64_t banyan_arborescence_find(banyan_arborescence *w, const int64_t *cost, int transposed,
                                 const unsigned char *member, int root, int *parent)
{
    int made = w->count;
    int64_t total = 0;

    banyan_work_add(BANYAN_WORK_TREE, (int64_t)w->count * w->count);
    begin(w, cost, transposed, member, root);
    for (int v = 0; v < w->count; v++) {
        int top = find_top(w, v);

        parent[v] = v == root ? -1 : -2;
        if (w->state[top] == 0 && !walk_back(w, top, &made))
            return -1;
    }
    open_cycles(w, made, root, member, parent);
    for (int v = 0; v < w->count; v++)
        if (parent[v] >= 0) {
            size_t u = (size_t)parent[v], n = (size_t)w->count;

            total += transposed ? cost[(size_t)v * n + u] : cost[u * n + (size_t)v];
        }
    return total;
}
