/* SPDX-License-Identifier: Apache-2.0 */
/* solve/presolve/bypass.c: at a forwarder, the widest arc in and the widest arc out become one arc past it,
 * as wide as the narrower of them, and again with what is left.
 *
 *      a ==+   +== c        a ====== c      Wide with wide, so that trees of some weight can use what comes
 *          (f)                              of it: spread evenly over all pairs, arcs would be too narrow
 *      b --+   +-- d        b ------ d      for any. Of arcs that are equally wide a seeded number decides,
 *                                           so that forwarders join different pairs.
 *
 * Cables stay cables. What is lost is what the widest arcs have more than all others together. */
#include "solve/presolve/bypass.h"

#include <string.h>

#include "core/alloc.h"
#include "core/random.h"
#include "core/scratch.h"

typedef struct {
    const banyan_graph *graph;
    int64_t *left;  /* per arc: capacity */
    uint64_t *turn; /* per arc: of the widest, the highest */
    size_t count;
    int *src, *dst, *link;
    double *capacity;
    banyan_bypass *out;
    banyan_scratch memory;
} maker;

/* Every pair leaves an arc without capacity, and has one back where links are symmetric. */
static banyan_status maker_init(maker *m, banyan_error *err)
{
    size_t arcs = (size_t)m->graph->arc_count, room = 2 * arcs;
    banyan_random random = {1};

    m->left = banyan_scratch_take(&m->memory, arcs, sizeof *m->left);
    m->turn = banyan_scratch_take(&m->memory, arcs, sizeof *m->turn);
    m->src = banyan_scratch_take(&m->memory, room, sizeof *m->src);
    m->dst = banyan_scratch_take(&m->memory, room, sizeof *m->dst);
    m->link = banyan_scratch_take(&m->memory, room, sizeof *m->link);
    m->capacity = banyan_scratch_take(&m->memory, room, sizeof *m->capacity);
    m->out->first = banyan_alloc(room, sizeof *m->out->first);
    m->out->second = banyan_alloc(room, sizeof *m->out->second);
    if (m->memory.failed || !m->out->first || !m->out->second)
        return banyan_fail_memory(err);
    for (size_t i = 0; i < arcs; i++) {
        m->left[i] = m->graph->arcs[i].capacity;
        m->turn[i] = banyan_random_next(&random);
    }
    return BANYAN_SUCCESS;
}

static int is_active(const maker *m, int v)
{
    return m->graph->role[v] & BANYAN_NODE_ACTIVE;
}

static void add(maker *m, int first, int second, int64_t capacity)
{
    size_t i = m->count++;

    m->src[i] = m->graph->arcs[first].src;
    m->dst[i] = m->graph->arcs[second < 0 ? first : second].dst;
    m->link[i] = (int)i;
    m->capacity[i] = (double)capacity * m->graph->unit;
    m->out->first[i] = first;
    m->out->second[i] = second;
}

/* The widest arc into the node, or out of it, from an active node or to one but not that one; -1: none has
 * anything left. */
static int find_widest(const maker *m, int v, int is_out, int other_than)
{
    const banyan_graph *graph = m->graph;
    const int *first = is_out ? graph->out_first : graph->in_first,
              *arcs = is_out ? graph->out_arc : graph->in_arc;
    int best = -1;

    for (int i = first[v]; i < first[v + 1]; i++) {
        int arc = arcs[i], end = is_out ? graph->arcs[arc].dst : graph->arcs[arc].src;

        if (m->left[arc] <= 0 || end == other_than || !is_active(m, end))
            continue;
        if (best < 0 || m->left[arc] > m->left[best] ||
            (m->left[arc] == m->left[best] && m->turn[arc] > m->turn[best]))
            best = arc;
    }
    return best;
}

static void pass(maker *m, int in, int out, int64_t capacity)
{
    m->left[in] -= capacity;
    m->left[out] -= capacity;
    add(m, in, out, capacity);
}

static void join_past(maker *m, int v)
{
    const banyan_arc *arcs = m->graph->arcs;

    for (int in; (in = find_widest(m, v, 0, -1)) >= 0;) {
        int out = find_widest(m, v, 1, arcs[in].src);
        int64_t capacity;

        if (out < 0) {
            m->left[in] = 0;
            continue;
        }
        capacity = m->left[in] < m->left[out] ? m->left[in] : m->left[out];
        pass(m, in, out, capacity);
        if (m->graph->symmetric)
            pass(m, arcs[out].twin, arcs[in].twin, capacity);
    }
}

banyan_status banyan_bypass_make(const banyan_graph *graph, banyan_bypass *out, banyan_error *err)
{
    maker m = {.graph = graph, .out = out};
    banyan_status status;

    memset(out, 0, sizeof *out);
    status = maker_init(&m, err);
    for (int i = 0; !status && i < graph->arc_count; i++)
        if (is_active(&m, graph->arcs[i].src) && is_active(&m, graph->arcs[i].dst))
            add(&m, i, -1, graph->arcs[i].capacity);
    for (int v = 0; !status && v < graph->node_count; v++)
        if (!is_active(&m, v))
            join_past(&m, v);
    if (!status && m.count) {
        banyan_graph_input input = {graph->node_count, graph->role, (int)m.count, m.src, m.dst,
                                    m.capacity,        m.link};

        status = banyan_graph_create(&input, &out->graph, err);
    }
    banyan_scratch_free(&m.memory);
    if (status)
        banyan_bypass_fini(out);
    return status;
}

void banyan_bypass_fini(banyan_bypass *bypass)
{
    banyan_graph_destroy(bypass->graph);
    banyan_free(bypass->first);
    banyan_free(bypass->second);
    memset(bypass, 0, sizeof *bypass);
}

void banyan_bypass_lift(const banyan_bypass *bypass, const banyan_trees *trees, banyan_trees *out)
{
    for (size_t t = 0; t < trees->tree_count; t++) {
        banyan_trees_begin(out);
        for (size_t e = trees->first_edge[t]; e < banyan_trees_edges_end(trees, t); e++) {
            banyan_trees_add_edge(out, trees->edges[e].src, trees->edges[e].dst);
            for (size_t a = trees->edges[e].first_arc; a < banyan_trees_arcs_end(trees, e); a++) {
                int link = bypass->graph->arcs[trees->arcs[a]].link;

                banyan_trees_add_arc(out, bypass->first[link]);
                if (bypass->second[link] >= 0)
                    banyan_trees_add_arc(out, bypass->second[link]);
            }
        }
    }
}
