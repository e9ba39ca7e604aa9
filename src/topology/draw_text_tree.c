/* SPDX-License-Identifier: Apache-2.0 */
/* topology/draw_text_tree.c: networks whose groups hang together like a tree, from the middle outwards.
 *
 *   net
 *   ├── 10 Gb/s ── h0 ── 2 × 100 Gb/s ── g0 g1
 *   └── 10 Gb/s ── h1 ── 3 × 100 Gb/s ── g2-g4
 *
 * A fat-tree is one of these as well: its spines are the same and thus one group. Cables between workers of
 * one host would close circles (NVLink beside adapters); where every host has them between all its workers in
 * the same way, they are told in one line below, and the rest may be a tree. Siblings that look the same are
 * drawn as the first, the last and a count. Cost: linear in the groups' cables, but for sorting siblings'
 * shapes. */
#include <stdint.h>
#include <string.h>

#include "core/alloc.h"
#include "topology/draw_text.h"

enum { DEEPEST = 48, MAX_IDENTICAL = 8 };

typedef struct {
    const banyan_cables *cables;
    const banyan_cable *local; /* what joins all workers of a host, told in a line of its own; or NULL */
    int *parent;               /* group; -1 at a root, -2 before it was seen */
    int *order;                /* groups, each after its parent, tree after tree */
    int *depth;                /* below the root */
    uint64_t *looks;           /* groups with the same number look the same, with all that hangs on them */
    banyan_text *text, prefix;
} tree;

static int size_of(const tree *t, int group)
{
    return t->cables->start[group + 1] - t->cables->start[group];
}

static int is_local(const banyan_topology *topology, int a, int b)
{
    return topology->nodes[a].kind == BANYAN_NODE_WORKER && topology->nodes[b].kind == BANYAN_NODE_WORKER &&
           topology->nodes[a].host >= 0 && topology->nodes[a].host == topology->nodes[b].host;
}

/* The next neighbouring group in the cables of this group's first node, from *at on; -1 at the end. Members
 * of a group follow each other, so their cables are one run. */
static int next_neighbour(const tree *t, int group, int *at, const banyan_cable **cable)
{
    const banyan_cables *cables = t->cables;
    int v = cables->start[group], end = cables->first[v + 1];

    while (*at < end) {
        const banyan_cable *c = &cables->cables[*at];
        int other = cables->group_of[c->peer];

        while (*at < end && cables->group_of[cables->cables[*at].peer] == other)
            ++*at;
        if (other == group || (t->local && is_local(cables->topology, v, c->peer)))
            continue;
        *cable = c;
        return other;
    }
    return -1;
}

static int first_cable(const tree *t, int group)
{
    return t->cables->first[t->cables->start[group]];
}

/* Breadth first from the root into order[begin ..]. Returns where it ends, or -1 when there is a circle. */
static int spread(tree *t, int root, int begin)
{
    int end = begin;

    t->parent[root] = -1;
    t->depth[root] = 0;
    t->order[end++] = root;
    for (int head = begin; head < end; head++) {
        int group = t->order[head], at = first_cable(t, group), other;
        const banyan_cable *cable;

        while ((other = next_neighbour(t, group, &at, &cable)) >= 0) {
            if (other == t->parent[group])
                continue;
            if (t->parent[other] != -2)
                return -1;
            t->parent[other] = group;
            t->depth[other] = t->depth[group] + 1;
            t->order[end++] = other;
        }
    }
    return end;
}

static void forget(tree *t, int begin, int end)
{
    for (int i = begin; i < end; i++)
        t->parent[t->order[i]] = -2;
}

static int is_switch(const tree *t, int group)
{
    return t->cables->topology->nodes[t->cables->start[group]].kind == BANYAN_NODE_SWITCH;
}

/* Half-way along a longest path. Of two middles a switch is better, and then the later one: 'net' comes
 * last. */
static int find_middle(tree *t, int begin, int end)
{
    int far = t->order[end - 1], middle, other;

    forget(t, begin, end);
    spread(t, far, begin);
    middle = t->order[end - 1];
    for (int steps = t->depth[middle] / 2; steps > 0; steps--)
        middle = t->parent[middle];
    other = t->parent[middle];
    if (t->depth[t->order[end - 1]] % 2 == 0)
        return middle;
    if (is_switch(t, middle) != is_switch(t, other))
        return is_switch(t, middle) ? middle : other;
    return middle > other ? middle : other;
}

/* Roots every component at its middle; 0 when one of them has a circle or is too deep to be drawn. */
static int plant(tree *t)
{
    int begin = 0;

    for (int group = 0; group < t->cables->group_count; group++)
        t->parent[group] = -2;
    for (int group = 0; group < t->cables->group_count; group++) {
        int end, middle;

        if (t->parent[group] != -2)
            continue;
        end = spread(t, group, begin);
        if (end < 0)
            return 0;
        middle = find_middle(t, begin, end);
        forget(t, begin, end);
        spread(t, middle, begin);
        if (t->depth[t->order[end - 1]] > DEEPEST)
            return 0;
        begin = end;
    }
    return 1;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

static uint64_t bits_of(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void find_looks(tree *t)
{
    for (int i = t->cables->group_count - 1; i >= 0; i--) {
        int group = t->order[i], at = first_cable(t, group), other;
        uint64_t looks = mix((uint64_t)size_of(t, group), (uint64_t)is_switch(t, group));
        const banyan_cable *cable;

        while ((other = next_neighbour(t, group, &at, &cable)) >= 0) {
            looks = mix(looks, bits_of(cable->out_bytes_per_s));
            looks = mix(looks, bits_of(cable->in_bytes_per_s));
            looks = mix(looks, other == t->parent[group] ? 1 : t->looks[other]);
        }
        t->looks[group] = looks;
    }
}

static void add_cable(const tree *t, int group, int child, const banyan_cable *cable)
{
    long count = (long)size_of(t, group) * size_of(t, child);

    banyan_text_add(t->text, "── ");
    if (count > 1)
        banyan_text_add(t->text, "%ld × ", count);
    banyan_cables_add_label(t->text, cable);
    banyan_text_add(t->text, " ── ");
}

static void add_label(const tree *t, int group)
{
    int parent = t->parent[group];
    const banyan_topology *topology = t->cables->topology;

    const banyan_cable *inside;
    int v = t->cables->start[group];

    banyan_cables_add_group(t->cables, group,
                            parent < 0 ? NULL : banyan_topology_node_name(topology, t->cables->start[parent]),
                            t->text);
    inside = size_of(t, group) > 1 ? banyan_cables_between(t->cables, v, v + 1) : NULL;
    if (inside && !t->local) {
        banyan_text_add(t->text, ", each with each ");
        banyan_cables_add_label(t->text, inside);
    }
    if (t->cables->first[v] == t->cables->first[v + 1])
        banyan_text_add(t->text, ": no links");
}

static int next_child(const tree *t, int group, int *at, const banyan_cable **cable)
{
    int other = next_neighbour(t, group, at, cable);

    return other >= 0 && other == t->parent[group] ? next_neighbour(t, group, at, cable) : other;
}

static int count_children(const tree *t, int group, int *only, const banyan_cable **cable)
{
    const banyan_cable *c;
    int at = first_cable(t, group), count = 0, other;

    while ((other = next_child(t, group, &at, &c)) >= 0) {
        *only = other;
        *cable = c;
        count++;
    }
    return count;
}

static void draw(tree *t, int group);

/* A child on a line of its own; the prefix carries the uprights for what hangs below it. */
static void draw_child(tree *t, int group, int child, const banyan_cable *cable, int is_last)
{
    size_t length = t->prefix.length;

    banyan_text_add(t->text, "%s%s", t->prefix.bytes, is_last ? "└" : "├");
    add_cable(t, group, child, cable);
    banyan_text_add(&t->prefix, "%s", is_last ? "    " : "│   ");
    if (t->prefix.failed)
        return;
    draw(t, child);
    t->prefix.length = length;
    t->prefix.bytes[length] = 0;
}

/* How many siblings from here on look the same. */
static int count_identical(const tree *t, int group, int child, int at)
{
    const banyan_cable *cable;
    int count = 1, other;

    while ((other = next_child(t, group, &at, &cable)) >= 0 && t->looks[other] == t->looks[child])
        count++;
    return count;
}

/* One line for `count` siblings, with their names. */
static void skip_identical(tree *t, int group, int *at, int count)
{
    const banyan_cable *cable;
    int *ids = banyan_alloc((size_t)t->cables->topology->node_count, sizeof *ids), used = 0;

    if (!ids) {
        t->text->failed = 1;
        return;
    }
    for (int i = 0; i < count; i++) {
        int child = next_child(t, group, at, &cable);

        for (int k = 0; k < size_of(t, child); k++)
            ids[used++] = t->cables->start[child] + k;
    }
    banyan_text_add(t->text, "%s┊   %d more that look the same: ", t->prefix.bytes, count);
    banyan_cables_add_names(t->text, t->cables->topology, ids, used, 8);
    banyan_text_add(t->text, "\n");
    banyan_free(ids);
}

static void draw_children(tree *t, int group, int count)
{
    const banyan_cable *cable;
    int at = first_cable(t, group), left = count, child, identical = 0;

    while ((child = next_child(t, group, &at, &cable)) >= 0 && !t->text->failed && !t->prefix.failed) {
        left--;
        identical = identical > 1 ? identical - 1 : count_identical(t, group, child, at);
        draw_child(t, group, child, cable, !left);
        if (identical <= MAX_IDENTICAL || t->prefix.failed)
            continue;
        skip_identical(t, group, &at, identical - 2);
        left -= identical - 2;
        identical = 2;
    }
}

static void draw(tree *t, int group)
{
    int only = -1, count;
    const banyan_cable *cable = NULL;

    add_label(t, group);
    count = count_children(t, group, &only, &cable);
    while (count == 1) {
        banyan_text_add(t->text, " ");
        add_cable(t, group, only, cable);
        group = only;
        add_label(t, group);
        count = count_children(t, group, &only, &cable);
    }
    banyan_text_add(t->text, "\n");
    if (count)
        draw_children(t, group, count);
}

/* The cable that joins every two workers of every host; NULL where some are not joined, or not equal. */
static const banyan_cable *find_local(const banyan_cables *cables, const int *host_size)
{
    const banyan_topology *topology = cables->topology;
    const banyan_cable *found = NULL;

    for (int i = 0; i < topology->worker_count; i++) {
        int v = topology->workers[i], host = topology->nodes[v].host, count = 0;

        for (int c = cables->first[v]; c < cables->first[v + 1]; c++) {
            if (!is_local(topology, v, cables->cables[c].peer))
                continue;
            found = found ? found : &cables->cables[c];
            if (!banyan_cables_alike(found, &cables->cables[c]))
                return NULL;
            count++;
        }
        if (host >= 0 && count != host_size[host] - 1)
            return NULL;
    }
    return found;
}

/* Local cables stay in the tree where they are all there is, or where they are not the same everywhere. */
static void set_local(tree *t)
{
    const banyan_topology *topology = t->cables->topology;
    int *host_size = banyan_alloc((size_t)topology->host_count + 1, sizeof *host_size);

    if (!host_size) {
        t->text->failed = 1;
        return;
    }
    for (int i = 0; i < topology->worker_count; i++)
        if (topology->nodes[topology->workers[i]].host >= 0)
            host_size[topology->nodes[topology->workers[i]].host]++;
    if (topology->node_count > topology->worker_count)
        t->local = find_local(t->cables, host_size);
    banyan_free(host_size);
}

static void draw_all(tree *t)
{
    find_looks(t);
    for (int i = 0; i < t->cables->group_count; i++)
        if (t->parent[t->order[i]] == -1) {
            banyan_text_add(&t->prefix, "  ");
            banyan_text_add(t->text, "  ");
            if (t->prefix.failed)
                return;
            draw(t, t->order[i]);
            t->prefix.length = 0;
        }
    if (!t->local)
        return;
    banyan_text_add(t->text, "  in every host the workers are joined, each with each: ");
    banyan_cables_add_label(t->text, t->local);
    banyan_text_add(t->text, "\n");
}

int banyan_draw_text_tree(const banyan_cables *cables, banyan_text *text)
{
    size_t groups = (size_t)cables->group_count;
    tree t = {.cables = cables, .text = text, .prefix = BANYAN_TEXT_EMPTY};
    int drawn = 0;

    t.parent = banyan_alloc(groups, sizeof *t.parent);
    t.order = banyan_alloc(groups, sizeof *t.order);
    t.depth = banyan_alloc(groups, sizeof *t.depth);
    t.looks = banyan_alloc(groups, sizeof *t.looks);
    if (!t.parent || !t.order || !t.depth || !t.looks)
        text->failed = 1;
    else
        set_local(&t);
    if (!text->failed && plant(&t)) {
        draw_all(&t);
        drawn = 1;
    }
    text->failed |= t.prefix.failed;
    banyan_text_fini(&t.prefix);
    banyan_free(t.parent);
    banyan_free(t.order);
    banyan_free(t.depth);
    banyan_free(t.looks);
    return drawn;
}
