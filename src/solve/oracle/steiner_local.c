/* SPDX-License-Identifier: Apache-2.0 */
/* solve/oracle/steiner_local.c: a cheap tree with a direction, quickly. It grows from the root to the next
 * nearest terminal, always by a shortest way; with the helpers on these ways its best form is one
 * arborescence. Then helpers join that give others cheaper parents: behind a switch no helper lies on a
 * shortest way, but many are good middles. A careful search also tries the tree without each of its helpers.
 * Cost: O(nodes^2), and as much again for each helper that joins. */
#include <string.h>

#include "solve/oracle/steiner_parts.h"

static int is_terminal(const banyan_steiner *s, int v)
{
    return s->closure->graph->role[s->closure->node[v]] & BANYAN_NODE_ACTIVE;
}

/* From u to v on the tree's way: away from the root, or back to it. */
static int64_t way(const banyan_steiner *s, int u, int v)
{
    size_t n = (size_t)s->closure->count, from = (size_t)(s->transposed ? v : u),
           to = (size_t)(s->transposed ? u : v);

    return s->closure->distance[from * n + to];
}

/* What is nearest to the tree and has not been looked at since it came so near; -1: nothing. */
static int nearest(const banyan_steiner *s)
{
    int best = -1;

    for (int v = 0; v < s->closure->count; v++)
        if (!s->kept[v] && s->key[v] < BANYAN_FAR && (best < 0 || s->key[v] < s->key[best]))
            best = v;
    return best;
}

/* Members: the next nearest terminal joins by a shortest way, and so do helpers on it (Takahashi and
 * Matsuyama 1980). */
static int grow_members(banyan_steiner *s, int root)
{
    int joined = 0, v = root;

    memset(s->member, 0, (size_t)s->closure->count);
    memset(s->kept, 0, (size_t)s->closure->count); /* here: has been looked at */
    for (int u = 0; u < s->closure->count; u++)
        s->key[u] = BANYAN_FAR;
    s->parent[root] = -1;
    for (s->key[root] = 0; v >= 0; v = nearest(s)) {
        if (!s->member[v] && (v == root || is_terminal(s, v))) {
            for (int u = v; u >= 0 && !s->member[u]; u = s->parent[u]) {
                s->member[u] = 1;
                s->key[u] = 0;
                s->kept[u] = 0;
                joined += is_terminal(s, u);
            }
            if (joined == s->terminal_count)
                return 1;
            continue;
        }
        s->kept[v] = 1;
        for (int u = 0; u < s->closure->count; u++)
            if (u != v && s->key[v] + way(s, v, u) < s->key[u]) {
                s->key[u] = s->key[v] + way(s, v, u);
                s->parent[u] = v;
                s->kept[u] = 0;
            }
    }
    return 0;
}

/* The tree's node that a helper can be attached to at the least cost. */
static int place_for(const banyan_steiner *s, int helper)
{
    int best = -1;

    for (int v = 0; v < s->closure->count; v++)
        if (s->parent[v] != -2 && (best < 0 || way(s, v, helper) < way(s, best, helper)))
            best = v;
    return best;
}

/* What is saved if the helper joins at a node of the tree, and all that gain by it move to it; adopt != 0:
 * they do. */
static int64_t attach_helper(banyan_steiner *s, int helper, int on, int adopt)
{
    int64_t saved = -way(s, on, helper);

    memset(s->kept, 0, (size_t)s->closure->count); /* here: what must stay above the helper */
    for (int v = on; v >= 0; v = s->parent[v])
        s->kept[v] = 1;
    for (int v = 0; v < s->closure->count; v++) {
        int64_t before;

        if (s->parent[v] < 0 || s->kept[v])
            continue;
        before = way(s, s->parent[v], v);
        if (way(s, helper, v) >= before)
            continue;
        saved += before - way(s, helper, v);
        if (adopt)
            s->parent[v] = helper;
    }
    if (adopt)
        s->parent[helper] = on;
    return saved;
}

/* Helpers outside the tree join while that makes it cheaper, the best first. */
static void add_helpers(banyan_steiner *s)
{
    for (;;) {
        int best = -1;
        int64_t most = 0;

        for (int i = 0; i < s->helper_count; i++) {
            int64_t saved = s->parent[s->helper[i]] == -2
                                ? attach_helper(s, s->helper[i], place_for(s, s->helper[i]), 0)
                                : 0;

            if (saved > most) {
                most = saved;
                best = s->helper[i];
            }
        }
        if (best < 0)
            return;
        attach_helper(s, best, place_for(s, best), 1);
    }
}

static int64_t cost_of(const banyan_steiner *s)
{
    int64_t sum = 0;

    for (int v = 0; v < s->closure->count; v++)
        sum += s->parent[v] >= 0 ? way(s, s->parent[v], v) : 0;
    return sum;
}

/* Helpers of the tree one by one without it, as long as that makes it cheaper. */
static int64_t leave_out(banyan_steiner *s, int root, int64_t best)
{
    for (int i = 0; i < s->helper_count; i++) {
        int h = s->helper[i];
        int64_t cost;

        if (h == root || s->kept_parent[h] < 0)
            continue;
        for (int v = 0; v < s->closure->count; v++)
            s->member[v] = s->kept_parent[v] >= 0 && v != h;
        cost = banyan_steiner_try_members(s, root);
        if (cost >= 0 && cost < best) {
            best = cost;
            add_helpers(s);
            best = cost_of(s);
            banyan_steiner_keep(s);
            banyan_steiner_prune(s, root);
        }
    }
    return best;
}

int64_t banyan_steiner_search_near(banyan_steiner *s, int root, int careful)
{
    int64_t cost = grow_members(s, root) ? banyan_steiner_try_members(s, root) : -1;

    if (cost >= 0) {
        add_helpers(s);
        cost = cost_of(s);
    }
    banyan_steiner_keep(s);
    if (cost >= 0)
        banyan_steiner_prune(s, root);
    return cost < 0 || !careful ? cost : leave_out(s, root, cost);
}
