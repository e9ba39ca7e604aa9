/* SPDX-License-Identifier: Apache-2.0 */
/* solve/oracle/steiner.c: three ways to choose helpers, by the size of the case.
 *
 * Few terminals: Dreyfus and Wagner (1971). best(M, v) is the cheapest tree from v to the terminals of M:
 * either it splits at v into two such trees of smaller sets, or it runs from v to some u first. One table
 * serves every root. O(3^t k + 2^t k^2). Few helpers: try every set of them. Else: local search from none and
 * from all. */
#include "solve/oracle/steiner.h"

#include <string.h>

#include "core/alloc.h"
#include "solve/net/effort.h"
#include "solve/net/work.h"
#include "solve/oracle/steiner_parts.h"

#define FEW BANYAN_STEINER_TERMINALS

static banyan_status make_table(banyan_steiner *s, banyan_error *err)
{
    size_t count = (size_t)s->closure->count, masks = (size_t)1 << s->terminal_count;

    s->by_table = 1;
    s->short_way = banyan_scratch_take(&s->memory, count * count, sizeof *s->short_way);
    s->step = banyan_scratch_take(&s->memory, count * count, sizeof *s->step);
    s->best = banyan_scratch_take(&s->memory, masks * count, sizeof *s->best);
    s->choice = banyan_scratch_take(&s->memory, masks * count, sizeof *s->choice);
    return banyan_scratch_check(&s->memory, err);
}

banyan_status banyan_steiner_create(const banyan_closure *closure, banyan_steiner **out, banyan_error *err)
{
    size_t count = (size_t)closure->count;
    banyan_steiner *s = banyan_alloc(1, sizeof *s);
    banyan_status status;

    *out = NULL;
    if (!s)
        return banyan_fail_memory(err);
    s->closure = closure;
    s->terminal = banyan_scratch_take(&s->memory, count, sizeof(int));
    s->helper = banyan_scratch_take(&s->memory, count, sizeof(int));
    s->member = banyan_scratch_take(&s->memory, count, 1);
    s->kept = banyan_scratch_take(&s->memory, count, 1);
    s->parent = banyan_scratch_take(&s->memory, count, sizeof(int));
    s->kept_parent = banyan_scratch_take(&s->memory, count, sizeof(int));
    s->key = banyan_scratch_take(&s->memory, count, sizeof *s->key);
    status = banyan_scratch_check(&s->memory, err);
    if (!status)
        status = banyan_arborescence_create(closure->count, &s->arborescence, err);
    if (status)
        goto out;
    for (int i = 0; i < closure->count; i++)
        if (closure->graph->role[closure->node[i]] & BANYAN_NODE_ACTIVE)
            s->terminal[s->terminal_count++] = i;
        else
            s->helper[s->helper_count++] = i;
    if (s->helper_count && s->terminal_count <= FEW && s->helper_count > 3)
        status = make_table(s, err);
    if (status)
        goto out;
    *out = s;
    s = NULL;
out:
    banyan_steiner_destroy(s);
    return status;
}

void banyan_steiner_destroy(banyan_steiner *s)
{
    if (!s)
        return;
    banyan_arborescence_destroy(s->arborescence);
    banyan_scratch_free(&s->memory);
    banyan_free(s);
}

int banyan_steiner_is_exact(const banyan_steiner *s)
{
    return s->by_table || s->helper_count <= FEW;
}

int banyan_steiner_is_slow(const banyan_steiner *s)
{
    return s->helper_count > 1;
}

/* Floyd and Warshall, over chosen nodes, remembering the first step. */
static void find_short_ways(banyan_steiner *s)
{
    size_t n = (size_t)s->closure->count;

    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            s->short_way[i * n + j] = s->closure->distance[s->transposed ? j * n + i : i * n + j];
            s->step[i * n + j] = (int)j;
        }
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                if (s->short_way[i * n + k] + s->short_way[k * n + j] < s->short_way[i * n + j]) {
                    s->short_way[i * n + j] = s->short_way[i * n + k] + s->short_way[k * n + j];
                    s->step[i * n + j] = s->step[i * n + k];
                }
}

/* The best split of mask at v, into s->best and s->choice; single terminals need none. */
static void split(banyan_steiner *s, unsigned mask, size_t v)
{
    size_t n = (size_t)s->closure->count, at = mask * n + v;

    for (unsigned part = (mask - 1) & mask; part > (mask ^ part); part = (part - 1) & mask) {
        int64_t cost = s->best[part * n + v] + s->best[(mask ^ part) * n + v];

        if (cost < s->best[at]) {
            s->best[at] = cost;
            s->choice[at] = -1 - (int)part;
        }
    }
}

/* From v straight to u and then on. Short ways are a metric, so one pass is enough, over a copy of the
 * row. */
static void run_on(banyan_steiner *s, unsigned mask, int64_t *row)
{
    size_t n = (size_t)s->closure->count;

    memcpy(row, s->best + mask * n, n * sizeof *row);
    for (size_t v = 0; v < n; v++)
        for (size_t u = 0; u < n; u++)
            if (row[u] < BANYAN_FAR && s->short_way[v * n + u] + row[u] < s->best[mask * n + v]) {
                s->best[mask * n + v] = s->short_way[v * n + u] + row[u];
                s->choice[mask * n + v] = (int)u;
            }
}

static void fill_table(banyan_steiner *s)
{
    size_t n = (size_t)s->closure->count;
    int64_t *row = s->best; /* mask 0 is free to be scratch */

    banyan_work_add(BANYAN_WORK_TREE, (int64_t)((n * n) << s->terminal_count));
    for (unsigned mask = 1; mask < 1u << s->terminal_count; mask++) {
        for (size_t v = 0; v < n; v++) {
            s->best[mask * n + v] = BANYAN_FAR;
            s->choice[mask * n + v] = (int)v;
        }
        if ((mask & (mask - 1)) == 0) {
            int t = 0;

            while (1u << t != mask)
                t++;
            s->best[mask * n + (size_t)s->terminal[t]] = 0;
        } else {
            for (size_t v = 0; v < n; v++)
                split(s, mask, v);
        }
        run_on(s, mask, row);
    }
}

void banyan_steiner_prepare(banyan_steiner *s, int transposed)
{
    s->transposed = transposed;
    if (s->by_table) {
        find_short_ways(s);
        fill_table(s);
    }
}

/* Marks the nodes that the table's tree from v to mask goes through. */
static void mark_used(banyan_steiner *s, unsigned mask, int v)
{
    size_t n = (size_t)s->closure->count;

    for (;;) {
        int choice = s->choice[mask * n + (size_t)v];

        s->member[v] = 1;
        if (choice == v) /* the terminal itself */
            return;
        if (choice >= 0) {
            while (v != choice) {
                v = s->step[(size_t)v * n + (size_t)choice];
                s->member[v] = 1;
            }
            /* what follows at u is a split or the end, never another run */
            if (s->choice[mask * n + (size_t)v] >= 0)
                return;
            continue;
        }
        mark_used(s, mask ^ (unsigned)(-1 - choice), v);
        mask = (unsigned)(-1 - choice);
    }
}

int64_t banyan_steiner_try_members(banyan_steiner *s, int root)
{
    return banyan_arborescence_find(s->arborescence, s->closure->distance, s->transposed, s->member, root,
                                    s->parent);
}

void banyan_steiner_keep(banyan_steiner *s)
{
    size_t n = (size_t)s->closure->count;

    memcpy(s->kept, s->member, n);
    memcpy(s->kept_parent, s->parent, n * sizeof(int));
}

static void only_terminals(banyan_steiner *s)
{
    memset(s->member, 0, (size_t)s->closure->count);
    for (int i = 0; i < s->terminal_count; i++)
        s->member[s->terminal[i]] = 1;
}

static int64_t try_every_set(banyan_steiner *s, int root)
{
    int64_t best = -1;

    for (unsigned set = 0; set < 1u << s->helper_count; set++) {
        int64_t cost;

        only_terminals(s);
        for (int i = 0; i < s->helper_count; i++)
            s->member[s->helper[i]] = (set >> i) & 1;
        cost = banyan_steiner_try_members(s, root);
        if (cost >= 0 && (best < 0 || cost < best)) {
            best = cost;
            banyan_steiner_keep(s);
        }
    }
    return best;
}

/* Helpers without children bring nothing. */
void banyan_steiner_prune(banyan_steiner *s, int root)
{
    for (int again = 1; again;) {
        again = 0;
        for (int i = 0; i < s->helper_count; i++) {
            int v = s->helper[i], has_child = 0;

            if (v == root || s->kept_parent[v] < 0)
                continue;
            for (int u = 0; u < s->closure->count; u++)
                has_child |= s->kept_parent[u] == v;
            if (!has_child) {
                s->kept_parent[v] = -2;
                again = 1;
            }
        }
    }
}

static int64_t search_from(banyan_steiner *s, int root)
{
    int64_t best;

    only_terminals(s);
    for (int i = 0; i < s->helper_count; i++)
        s->member[s->helper[i]] = 1;
    best = banyan_steiner_try_members(s, root);
    banyan_steiner_keep(s);
    for (int flipped = 1, passes = 0; flipped && passes < 3; passes++) {
        flipped = 0;
        for (int i = 0; i < s->helper_count; i++) {
            int64_t cost;

            s->member[s->helper[i]] ^= 1;
            cost = banyan_steiner_try_members(s, root);
            if (cost >= 0 && (best < 0 || cost < best)) {
                best = cost;
                banyan_steiner_keep(s);
                flipped = 1;
            } else {
                s->member[s->helper[i]] ^= 1;
            }
        }
    }
    return best;
}

static int64_t choose_helpers(banyan_steiner *s, int root)
{
    if (s->by_table) {
        only_terminals(s);
        if (s->best[(((size_t)1 << s->terminal_count) - 1) * (size_t)s->closure->count + (size_t)root] >=
            BANYAN_FAR)
            return -1;
        mark_used(s, (1u << s->terminal_count) - 1, root);
        {
            int64_t cost = banyan_steiner_try_members(s, root);

            banyan_steiner_keep(s);
            return cost;
        }
    }
    return s->helper_count <= FEW ? try_every_set(s, root) : search_from(s, root);
}

/* Appends the tree that was kept. */
static int64_t take_kept(banyan_steiner *s, banyan_trees *trees)
{
    size_t n = (size_t)s->closure->count;
    int64_t total = 0;

    if (trees)
        banyan_trees_begin(trees);
    for (int v = 0; v < s->closure->count; v++) {
        int u = s->kept_parent[v];

        if (u < 0)
            continue;
        total += s->closure->distance[s->transposed ? (size_t)v * n + (size_t)u : (size_t)u * n + (size_t)v];
        if (trees)
            banyan_closure_add_path(s->closure, s->transposed ? v : u, s->transposed ? u : v, trees);
    }
    return total;
}

int64_t banyan_steiner_tree(banyan_steiner *s, int root, banyan_trees *trees)
{
    if (choose_helpers(s, root) < 0)
        return -1;
    banyan_steiner_prune(s, root);
    return take_kept(s, trees);
}

void banyan_steiner_turn(banyan_steiner *s, int transposed)
{
    s->transposed = transposed;
}

int64_t banyan_steiner_quick_tree(banyan_steiner *s, int root, int careful, banyan_trees *trees)
{
    if (banyan_steiner_search_near(s, root, careful) < 0)
        return -1;
    banyan_steiner_prune(s, root);
    return take_kept(s, trees);
}
